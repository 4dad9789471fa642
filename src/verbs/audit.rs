//! The books: for every row, whether received = available + held + shipped.
//!
//! Nothing of this is kept while orders run: what is held and shipped is added up from the orders themselves, and
//! compared with what the row says and what it was ever given. So the audit finds what the engine got wrong.

use std::collections::HashMap;

use crate::row::Books;
use crate::{BalanceError, SkuRef, State, Stock, Stockade};

/// The books of one row at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Balance {
    /// The row's name.
    pub sku: Box<str>,
    /// Units ever put in, less write-offs, and less what orders shipped that have been forgotten.
    pub received: u64,
    /// Units free to promise.
    pub available: u64,
    /// Units open in orders in INVENTORY_RESERVED or PAID.
    pub held: u64,
    /// Units that were fulfilled.
    pub shipped: u64,
}

impl Balance {
    /// Whether nothing is lost and nothing is promised twice.
    pub fn is_sound(&self) -> bool {
        self.received == self.available + self.held + self.shipped
    }
}

/// What [`Stockade::audit`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Audit {
    /// Rows there are.
    pub rows: usize,
    /// Rows whose books do not balance. Never anything but empty, or the engine is broken.
    pub mismatches: Vec<Balance>,
    /// Names of rows that changed while the audit ran: nothing is said about them.
    pub in_motion: Vec<Box<str>>,
}

impl Audit {
    /// Whether no row is known to be wrong.
    pub fn is_sound(&self) -> bool {
        self.mismatches.is_empty()
    }
}

/// What a row says of itself.
#[derive(PartialEq, Eq)]
struct Account {
    stock: Stock,
    books: Books,
}

/// Units of one row in orders.
#[derive(Clone, Copy, Default)]
struct Promised {
    held: u64,
    shipped: u64,
}

impl Stockade {
    /// Checks for every row whether received = available + held + shipped.
    ///
    /// Other threads may run meanwhile. A row at the same version before and after all orders were read has
    /// gained and lost no unit in between, so its sums are exact; of the others it says that they were in motion.
    ///
    /// Lock-free; reads every order once.
    ///
    /// ```
    /// # use stockade::Stockade;
    /// let shop = Stockade::new();
    /// shop.add_sku("mug", 3).unwrap();
    /// let _ = shop.reserve("order-1", &[("mug", 2)]).unwrap();
    /// let audit = shop.audit();
    /// assert!(audit.is_sound() && audit.in_motion.is_empty());
    /// ```
    pub fn audit(&self) -> Audit {
        let _pin = self.protocol.retention.pin();
        let rows = self.row_numbers();
        rows.iter().for_each(|row| _ = self.protocol.let_go(*row, || true));
        let before: Vec<Option<Account>> = rows.iter().map(|row| self.account(*row)).collect();
        let promised = self.promised();
        let mut audit = Audit { rows: rows.len(), ..Audit::default() };
        for (row, before) in rows.into_iter().zip(before) {
            match self.unmoved(row, before) {
                None => audit.in_motion.push(self.protocol.rows.name(row)),
                Some(account) => {
                    let balance = self.balanced(row, &account, promised.get(&row).copied().unwrap_or_default());
                    if !balance.is_sound() {
                        audit.mismatches.push(balance);
                    }
                }
            }
        }
        audit
    }

    /// The books of one row, for tests and reports: reads every order. Like [`audit`](Stockade::audit) it says nothing
    /// of a row that changes meanwhile.
    ///
    /// Lock-free. Linearization point: any instant between its first and its last look at the row.
    ///
    /// # Errors
    ///
    /// [`UnknownSku`](BalanceError::UnknownSku), [`InMotion`](BalanceError::InMotion).
    ///
    /// ```
    /// # use stockade::Stockade;
    /// let shop = Stockade::new();
    /// shop.add_sku("mug", 3).unwrap();
    /// let _ = shop.reserve("order-1", &[("mug", 2)]).unwrap();
    /// let mug = shop.balance("mug").unwrap();
    /// assert_eq!((mug.received, mug.available, mug.held, mug.shipped), (3, 1, 2, 0));
    /// ```
    pub fn balance(&self, sku: impl SkuRef) -> Result<Balance, BalanceError> {
        let _pin = self.protocol.retention.pin();
        let row = sku.row(self)?;
        self.protocol.let_go(row, || true);
        let before = self.account(row);
        let promised = self.promised().get(&row).copied().unwrap_or_default();
        let account = self.unmoved(row, before);
        let account = account.ok_or_else(|| BalanceError::InMotion { sku: self.protocol.rows.name(row) })?;
        Ok(self.balanced(row, &account, promised))
    }

    /// `None`: an edit is half entered.
    fn account(&self, row: u32) -> Option<Account> {
        let books = self.protocol.rows.get(row).books();
        let stock = self.protocol.read(row).stock();
        (!books.in_motion()).then_some(Account { stock, books })
    }

    /// The account if it is still the same: no edit and no order has touched the row in between.
    fn unmoved(&self, row: u32, before: Option<Account>) -> Option<Account> {
        let stock = self.protocol.read(row).stock();
        let books = self.protocol.rows.get(row).books();
        before.filter(|it| *it == Account { stock, books })
    }

    fn balanced(&self, row: u32, account: &Account, promised: Promised) -> Balance {
        Balance {
            sku: self.protocol.rows.name(row),
            received: account.books.received(),
            available: account.stock.available,
            held: promised.held,
            shipped: promised.shipped,
        }
    }

    /// Adds up all orders, each in the state it is in when it is read.
    fn promised(&self) -> HashMap<u32, Promised> {
        let mut sums: HashMap<u32, Promised> = HashMap::new();
        let mut from = Some(0);
        while let Some(hash) = from {
            let (orders, next) = self.visit_orders(hash, |found| {
                let counts = found.word.shown()?.holds() || found.word.shown()? == State::Fulfilled;
                counts.then(|| self.protocol.parts(found.slot, found.word))
            });
            for (word, parts) in orders {
                let holds = word.shown().is_some_and(State::holds);
                for part in parts {
                    let sum = sums.entry(part.row).or_default();
                    sum.held += u64::from(if holds { part.open() } else { 0 });
                    sum.shipped += u64::from(part.fulfilled);
                }
            }
            from = next;
        }
        sums
    }
}
