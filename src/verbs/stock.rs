//! Verbs on stock rows: add_sku, stock, restock, write_off, set_available.

use crate::arena::Full;
use crate::layout::MAX_UNITS;
use crate::request::check_key;
use crate::row::RowWord;
use crate::{AddSkuError, RestockError, SetAvailableError, Sku, SkuRef, Stock, Stockade, UnknownSku, WriteOffError};

impl Stockade {
    /// Adds a row with `available` units, at version 0.
    ///
    /// Lock-free. Linearization point: the CAS that enters the name in the index.
    ///
    /// # Errors
    ///
    /// The first that applies: [`Invalid`](AddSkuError::Invalid) name, [`Overflow`](AddSkuError::Overflow),
    /// [`SkuExists`](AddSkuError::SkuExists) (the stock in use is never overwritten),
    /// [`Full`](AddSkuError::Full).
    ///
    /// ```
    /// # use stockade::{AddSkuError, Stock, Stockade};
    /// let shop = Stockade::new();
    /// shop.add_sku("mug", 10)?;
    /// assert!(matches!(shop.add_sku("mug", 99), Err(AddSkuError::SkuExists { .. })));
    /// assert_eq!(shop.stock("mug").unwrap(), Stock { available: 10, version: 0 });
    /// # Ok::<(), AddSkuError>(())
    /// ```
    pub fn add_sku(&self, sku: &str, available: u64) -> Result<Sku, AddSkuError> {
        self.verb(|| self.try_add_sku(sku, available))
    }

    fn try_add_sku(&self, sku: &str, available: u64) -> Result<Sku, AddSkuError> {
        check_key(sku)?;
        if available > MAX_UNITS {
            return Err(AddSkuError::Overflow);
        }
        let exists = || AddSkuError::SkuExists { sku: sku.into() };
        if self.row_named(sku).is_some() {
            return Err(exists());
        }
        match self.new_row(sku, available) {
            Ok(Some(row)) => Ok(self.handle(row)),
            Ok(None) => Err(exists()),
            Err(Full) => Err(AddSkuError::Full),
        }
    }

    /// The handle of a row, for callers that name it often. Lock-free.
    ///
    /// ```
    /// # use stockade::Stockade;
    /// let shop = Stockade::new();
    /// assert_eq!(shop.sku("mug"), None);
    /// let mug = shop.add_sku("mug", 10).unwrap();
    /// assert_eq!(shop.sku("mug"), Some(mug));
    /// assert!(shop.reserve("order-1", &[(mug, 2)]).is_ok());
    /// ```
    pub fn sku(&self, name: &str) -> Option<Sku> {
        self.row_named(name).map(|row| self.handle(row))
    }

    /// The name of a row; `None` for a handle of another engine.
    ///
    /// ```
    /// # use stockade::Stockade;
    /// let shop = Stockade::new();
    /// let mug = shop.add_sku("mug", 10).unwrap();
    /// assert_eq!(shop.sku_name(mug).as_deref(), Some("mug"));
    /// assert_eq!(Stockade::new().sku_name(mug), None);
    /// ```
    pub fn sku_name(&self, sku: Sku) -> Option<Box<str>> {
        let row = self.row_of(sku).ok()?;
        Some(self.protocol.rows.name(row))
    }

    /// Units available and version of a row, as they were together at one instant. Dead holds on it are let go first,
    /// all of them, each by whoever comes first, and each moves the version; the same goes for every verb that names a
    /// row.
    ///
    /// Lock-free: it starts over only when the row has changed. Linearization point: the load of the row; if an order
    /// is changing it at that moment, the load of that order's state.
    ///
    /// # Errors
    ///
    /// [`UnknownSku`]: a row that is not there is never shown as zero.
    ///
    /// ```
    /// # use stockade::Stockade;
    /// let shop = Stockade::new();
    /// shop.add_sku("mug", 10).unwrap();
    /// let _ = shop.reserve("order-1", &[("mug", 3)]).unwrap();
    /// let mug = shop.stock("mug")?;
    /// assert_eq!((mug.available, mug.version), (7, 1));
    /// assert!(shop.stock("jug").is_err());
    /// # Ok::<(), stockade::UnknownSku>(())
    /// ```
    pub fn stock(&self, sku: impl SkuRef) -> Result<Stock, UnknownSku> {
        self.verb(|| sku.row(self).map(|row| self.protocol.read_live(row).stock()))
    }

    /// Every row with its name and its stock, each at an instant of its own. The set of rows is that of the call.
    ///
    /// ```
    /// # use stockade::Stockade;
    /// let shop = Stockade::new();
    /// shop.add_sku("mug", 10).unwrap();
    /// shop.add_sku("jug", 0).unwrap();
    /// let sold_out: Vec<_> = shop.rows().filter(|(_, stock)| stock.available == 0).map(|(sku, _)| sku).collect();
    /// assert_eq!(sold_out, ["jug".into()]);
    /// ```
    pub fn rows(&self) -> impl Iterator<Item = (Box<str>, Stock)> + '_ {
        let stock = move |row| {
            let _pin = self.protocol.retention.pin();
            (self.protocol.rows.name(row), self.protocol.read_live(row).stock())
        };
        self.row_numbers().into_iter().map(stock)
    }

    /// Adds `units` that have arrived; answers the new row. The version moves by one, also for 0 units.
    ///
    /// Lock-free. Linearization point: the CAS on the row.
    ///
    /// # Errors
    ///
    /// The first that applies: [`UnknownSku`](RestockError::UnknownSku), [`Overflow`](RestockError::Overflow),
    /// [`Exhausted`](RestockError::Exhausted).
    ///
    /// ```
    /// # use stockade::{Stock, Stockade};
    /// let shop = Stockade::new();
    /// shop.add_sku("mug", 10).unwrap();
    /// assert_eq!(shop.restock("mug", 5)?, Stock { available: 15, version: 1 });
    /// # Ok::<(), stockade::RestockError>(())
    /// ```
    pub fn restock(&self, sku: impl SkuRef, units: u64) -> Result<Stock, RestockError> {
        self.verb(|| self.try_restock(sku, units))
    }

    fn try_restock(&self, sku: impl SkuRef, units: u64) -> Result<Stock, RestockError> {
        let row = sku.row(self)?;
        self.protocol.let_go(row, || true);
        self.protocol.edit(
            row,
            units,
            |seen| {
                let next = next_version(seen).ok_or(RestockError::Exhausted)?;
                // Not past the limit: available is never more than received, where the units are entered already.
                Ok(RowWord::new(seen.available() + units, next))
            },
            || RestockError::Overflow { units },
        )
    }

    /// Takes away `units` that are lost, broken or gone; answers the new row. Only available units can be written
    /// off, not those that orders hold.
    ///
    /// Lock-free. Linearization point: the CAS on the row; of a refusal, the load of the row.
    ///
    /// # Errors
    ///
    /// The first that applies: [`UnknownSku`](WriteOffError::UnknownSku),
    /// [`Insufficient`](WriteOffError::Insufficient), [`Exhausted`](WriteOffError::Exhausted).
    ///
    /// ```
    /// # use stockade::{Stock, Stockade, WriteOffError};
    /// let shop = Stockade::new();
    /// shop.add_sku("mug", 10).unwrap();
    /// assert_eq!(shop.write_off("mug", 4)?, Stock { available: 6, version: 1 });
    /// assert_eq!(shop.write_off("mug", 7), Err(WriteOffError::Insufficient { wanted: 7, available: 6 }));
    /// # Ok::<(), WriteOffError>(())
    /// ```
    pub fn write_off(&self, sku: impl SkuRef, units: u64) -> Result<Stock, WriteOffError> {
        self.verb(|| self.try_write_off(sku, units))
    }

    fn try_write_off(&self, sku: impl SkuRef, units: u64) -> Result<Stock, WriteOffError> {
        let row = sku.row(self)?;
        loop {
            let available = self.protocol.read_live(row).available();
            if available < units {
                return Err(WriteOffError::Insufficient { wanted: units, available });
            }
            let written_off = self.protocol.edit(
                row,
                0,
                |seen| {
                    let left = seen.available().checked_sub(units).ok_or(None)?;
                    Ok(RowWord::new(left, next_version(seen).ok_or(Some(WriteOffError::Exhausted))?))
                },
                || Some(WriteOffError::Exhausted),
            );
            match written_off {
                Ok(row) => return Ok(row),
                Err(Some(refusal)) => return Err(refusal),
                // Less by now: look again, also for dead holds.
                Err(None) => {}
            }
        }
    }

    /// Sets the units available, if the row is still at the version the caller read; answers the new row. What orders
    /// hold is not touched.
    ///
    /// Lock-free. Linearization point: the CAS on the row; of a conflict, the load of the row.
    ///
    /// # Errors
    ///
    /// The first that applies: [`UnknownSku`](SetAvailableError::UnknownSku),
    /// [`VersionConflict`](SetAvailableError::VersionConflict), [`Overflow`](SetAvailableError::Overflow),
    /// [`Exhausted`](SetAvailableError::Exhausted).
    ///
    /// ```
    /// # use stockade::{SetAvailableError, Stockade};
    /// let shop = Stockade::new();
    /// shop.add_sku("mug", 5).unwrap();
    /// let seen = shop.stock("mug").unwrap();
    /// let _ = shop.reserve("order-1", &[("mug", 1)]).unwrap(); // behind the editor's back
    ///
    /// let Err(SetAvailableError::VersionConflict { current, .. }) = shop.set_available("mug", seen.version, 9)
    ///     else { panic!() };
    /// assert_eq!((current.available, current.version), (4, 1));
    /// assert!(shop.set_available("mug", current.version, 9).is_ok());
    /// ```
    pub fn set_available(
        &self,
        sku: impl SkuRef,
        expected_version: u64,
        available: u64,
    ) -> Result<Stock, SetAvailableError> {
        self.verb(|| self.try_set_available(sku, expected_version, available))
    }

    fn try_set_available(&self, sku: impl SkuRef, expected: u64, available: u64) -> Result<Stock, SetAvailableError> {
        let row = sku.row(self)?;
        let conflict = |current: Stock| SetAvailableError::VersionConflict { expected, current };
        let before = self.protocol.read_live(row).stock();
        if before.version != expected {
            return Err(conflict(before));
        }
        let more = available.saturating_sub(before.available);
        self.protocol.edit(
            row,
            more,
            |seen| {
                if seen.version() != expected {
                    return Err(conflict(seen.stock()));
                }
                Ok(RowWord::new(available, next_version(seen).ok_or(SetAvailableError::Exhausted)?))
            },
            || SetAvailableError::Overflow { units: available },
        )
    }
}

fn next_version(seen: RowWord) -> Option<u64> {
    (!seen.is_worn_out()).then_some(seen.version() + 1)
}
