//! The verbs that a request key makes idempotent.

use crate::keys::{Content, Unkept};
use crate::protocol::Protocol;
use crate::request::{RowLines, check_key};
use crate::row::Op;
use crate::{
    AmendError, CancelLinesError, FulfilLinesError, Invalid, KeyedError, Once, RestockError, Revised,
    SetAvailableError, SkuRef, Stock, Stockade, UnknownSku, WriteOffError,
};

/// What makes two requests one: an id, and when it was issued.
///
/// **Whoever repeats a request repeats both**: the same id with another `issued` is another request, and is carried
/// out.
///
/// `issued` is any number that does not get smaller from request to request: the time in milliseconds, a sequence
/// number. It must come from a source that is trusted, and be finer than the bursts in which keys come: a request that
/// has never come before is too old as well, once as many keys as are kept have come with the same number or a later
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestKey<'a> {
    /// The caller's name for the request, 1 to [`MAX_KEY_BYTES`](crate::MAX_KEY_BYTES) bytes.
    pub id: &'a str,
    /// When it was first made, or which in a row it was.
    pub issued: u64,
}

/// An engine to which requests are made under a key: see [`Stockade::keyed`].
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Keyed<'a> {
    engine: &'a Stockade,
    key: RequestKey<'a>,
}

impl Stockade {
    /// Makes the next verb idempotent: under the same key it takes effect once, however often and from however many
    /// threads it is called, and everybody gets the first answer. A key with another verb or other content is refused,
    /// and the error names the field that differs. A request that was refused can be tried again under its key, but not
    /// changed. The key counts as used from when the request came, which may be before it is carried out.
    ///
    /// The engine remembers the youngest [`Builder::keep_keys`](crate::Builder::keep_keys) keys, by `issued`. One that
    /// is as old as the last that was forgotten, or older, and not remembered itself, is refused as
    /// [`TooOld`](KeyedError::TooOld): it may have been carried out or not, and is never carried out a second time.
    ///
    /// Lock-free: whoever comes with a key whose request is under way finishes it.
    ///
    /// ```
    /// # use stockade::{KeyedError, Once, RequestField, RequestKey, Stock, Stockade};
    /// let shop = Stockade::new();
    /// shop.add_sku("mug", 10).unwrap();
    /// let delivery = RequestKey { id: "delivery-17", issued: 1_717_171_717_000 };
    ///
    /// let first = shop.keyed(delivery).restock("mug", 5).unwrap();
    /// assert_eq!(first, Once::New(Stock { available: 15, version: 1 }));
    /// let again = shop.keyed(delivery).restock("mug", 5).unwrap();
    /// assert_eq!(again, Once::Replayed(Stock { available: 15, version: 1 }));
    /// assert_eq!(shop.keyed(delivery).restock("mug", 6), Err(KeyedError::Reused { field: RequestField::Units }));
    /// ```
    pub fn keyed<'a>(&'a self, key: RequestKey<'a>) -> Keyed<'a> {
        // So there is a number beyond every one.
        Keyed { engine: self, key: RequestKey { issued: key.issued.min(u64::MAX - 1), ..key } }
    }
}

impl Keyed<'_> {
    /// [`Stockade::restock`], once.
    ///
    /// # Errors
    ///
    /// The first that applies: [`Invalid`](KeyedError::Invalid) key; what is [`Refused`](KeyedError::Refused) whatever
    /// the stock (an unknown SKU); [`Reused`](KeyedError::Reused), [`TooOld`](KeyedError::TooOld); what else is
    /// `Refused`; [`Full`](KeyedError::Full).
    pub fn restock(&self, sku: impl SkuRef, units: u64) -> Result<Once<Stock>, KeyedError<RestockError>> {
        self.verb(|protocol| {
            let row = self.row(sku)?;
            let request = self.request(Content::Restock { row, units })?;
            let may = || {
                protocol.let_go(row, || true);
                if protocol.read(row).is_worn_out() { Err(RestockError::Exhausted) } else { Ok((0, units)) }
            };
            protocol.edit_once(request, row, may, || RestockError::Overflow { units })
        })
    }

    /// [`Stockade::write_off`], once.
    ///
    /// # Errors
    ///
    /// As [`restock`](Self::restock).
    pub fn write_off(&self, sku: impl SkuRef, units: u64) -> Result<Once<Stock>, KeyedError<WriteOffError>> {
        self.verb(|protocol| {
            let row = self.row(sku)?;
            let request = self.request(Content::WriteOff { row, units })?;
            let may = || {
                let seen = protocol.read_live(row);
                match seen.available() {
                    available if available < units => Err(WriteOffError::Insufficient { wanted: units, available }),
                    _ if seen.is_worn_out() => Err(WriteOffError::Exhausted),
                    _ => Ok((units, 0)),
                }
            };
            protocol.edit_once(request, row, may, || WriteOffError::Exhausted)
        })
    }

    /// [`Stockade::set_available`], once.
    ///
    /// # Errors
    ///
    /// As [`restock`](Self::restock).
    pub fn set_available(
        &self,
        sku: impl SkuRef,
        expected_version: u64,
        available: u64,
    ) -> Result<Once<Stock>, KeyedError<SetAvailableError>> {
        self.verb(|protocol| {
            let row = self.row(sku)?;
            let (expected, units) = (expected_version, available);
            let request = self.request(Content::SetAvailable { row, expected, units })?;
            let may = || {
                let seen = protocol.read_live(row);
                match seen.version() {
                    version if version != expected => {
                        Err(SetAvailableError::VersionConflict { expected, current: seen.stock() })
                    }
                    _ if seen.is_worn_out() => Err(SetAvailableError::Exhausted),
                    _ => Ok((seen.available(), units)),
                }
            };
            protocol.edit_once(request, row, may, || SetAvailableError::Overflow { units })
        })
    }

    /// [`Stockade::cancel_lines`], once.
    ///
    /// # Errors
    ///
    /// As [`restock`](Self::restock).
    pub fn cancel_lines<S: SkuRef>(
        &self,
        id: &str,
        lines: &[(S, u32)],
    ) -> Result<Once<Revised>, KeyedError<CancelLinesError>> {
        self.verb(|_| {
            let request = self.request(Content::CancelLines { order: id.into(), lines: self.lines(lines)? })?;
            self.engine.try_cancel_lines(id, lines, Some(request)).map_err(KeyedError::Refused)
        })
    }

    /// [`Stockade::fulfil_lines`], once.
    ///
    /// # Errors
    ///
    /// As [`restock`](Self::restock).
    pub fn fulfil_lines<S: SkuRef>(
        &self,
        id: &str,
        lines: &[(S, u32)],
    ) -> Result<Once<Revised>, KeyedError<FulfilLinesError>> {
        self.verb(|_| {
            let request = self.request(Content::FulfilLines { order: id.into(), lines: self.lines(lines)? })?;
            self.engine.try_fulfil_lines(id, lines, Some(request)).map_err(KeyedError::Refused)
        })
    }

    /// [`Stockade::amend`], once: a repeat that comes after a later amendment does not take that back.
    ///
    /// # Errors
    ///
    /// As [`restock`](Self::restock).
    pub fn amend<S: SkuRef>(&self, id: &str, lines: &[(S, u32)]) -> Result<Once<Revised>, KeyedError<AmendError>> {
        self.verb(|_| {
            let request = self.request(Content::Amend { order: id.into(), lines: self.lines(lines)? })?;
            self.engine.try_amend(id, lines, Some(request)).map_err(KeyedError::Refused)
        })
    }

    fn row<E: From<UnknownSku>>(&self, sku: impl SkuRef) -> Result<u32, KeyedError<E>> {
        sku.row(self.engine).map_err(|unknown| KeyedError::Refused(unknown.into()))
    }

    fn lines<S: SkuRef, E>(&self, lines: &[(S, u32)]) -> Result<RowLines, KeyedError<E>>
    where
        E: From<Invalid> + From<UnknownSku>,
    {
        let resolved = self.engine.resolve(lines).map_err(|invalid| KeyedError::Refused(invalid.into()))?;
        resolved.map_err(|unknown| KeyedError::Refused(unknown.into()))
    }

    fn request<E>(&self, content: Content) -> Result<Op, KeyedError<E>> {
        Ok(self.engine.protocol.request(self.key.id, self.key.issued, content)?)
    }

    /// Runs a verb with its key checked, pinned whatever is kept: a request is forgotten sooner or later.
    fn verb<T, E>(
        &self,
        run: impl FnOnce(&Protocol) -> Result<Once<T>, KeyedError<E>>,
    ) -> Result<Once<T>, KeyedError<E>>
    where
        Once<T>: super::Counted,
        KeyedError<E>: super::Counted,
    {
        let _pin = crate::sync::pin();
        self.engine.verb(|| {
            check_key(self.key.id)?;
            run(&self.engine.protocol)
        })
    }
}

impl<E> From<Unkept> for KeyedError<E> {
    fn from(unkept: Unkept) -> Self {
        match unkept {
            Unkept::Differs(field) => KeyedError::Reused { field },
            Unkept::TooOld { forgotten_to } => KeyedError::TooOld { forgotten_to },
            Unkept::Full => KeyedError::Full,
        }
    }
}
