//! The engine: rows and orders by name. What users call on it is in `verbs/`.

use siphasher::sip::SipHasher13;

use crate::arena::Full;
use crate::hooks::{Step, step};
use crate::keys::Requests;
use crate::protocol::Protocol;
use crate::record::{Records, RowLine};
use crate::retention::Retention;
use crate::row::Op;
use crate::rows::Rows;
use crate::state::{OrderWord, Phase};
use crate::stats::{Event, Tally};
use crate::sync::{WideWord, serial};
use crate::table::{Entries, Table, Vacancy};
use crate::timers::{Moment, Timers};
use crate::{BuildError, Builder, Line, Sku, UnknownSku};

/// A lock-free in-memory engine for reserving stock, seats and slots.
///
/// `Send + Sync`; share it behind an [`Arc`](std::sync::Arc) or in a `static`
/// [`LazyLock`](std::sync::LazyLock). No verb takes `&mut self`, none blocks, none is async.
///
/// # Cost
///
/// An order takes 64 bytes if its id and lines need at most 48 (40 bytes of id and one line do), and 64 more for each
/// further 48; a line is 8 bytes, an id is rounded up to 8. Its place in the index takes about 13 more. Finished orders
/// keep their memory, because they keep their id, until [`forget_finished`](Self::forget_finished). An order with a
/// deadline, or one made by `create`, takes 8 bytes more (with an id of 33 to 40 bytes that is another 64), and a hold
/// with a deadline some 70 bytes for each line and as many again in an ordered set, until it is paid for or
/// [`expire_due`](Self::expire_due) has told of its end. A SKU takes 328 bytes. An empty engine takes about 290 KiB;
/// memory grows by about 64 KiB at a time, and nobody ever has to clear or copy more than that at once. An order that
/// was changed in part takes 16 bytes more (in chunks of a thousand orders) and two editions of its lines, each of 8
/// bytes and 24 for each line, 48 of them in 64; a request key some 300 bytes.
///
/// With millions of orders the wait for memory is most of a call: the index cell of the id is seldom near, nor is the
/// record of an old order. Besides these, with handles and nothing in the way, for an order of *n* lines:
///
/// | verb | waits | compare-and-swaps |
/// | --- | --- | --- |
/// | `reserve`, new | the cell | 3 + 2 *n*: fresh record, cell, state, each row twice |
/// | `reserve`, known | the cell, the record | none |
/// | `reserve`, refused | the cell | none |
/// | `cancel` | the cell, the record | 2 + 2 *n*: state twice, each row twice |
/// | `reserve_for`, new | as `reserve`, and 1 + *n* entries into an ordered set | as `reserve`, and the set's |
/// | `extend` | the cell, the record, 2 + 2 *n* changes of the set | 1: deadline |
/// | `pay_or_reserve_again`, late | the cell, the record | 2 + 2 *n* |
/// | `pay`, `fulfil` | the cell, the record | 1: state |
/// | `cancel_lines`, `fulfil_lines`, `amend` | the cell, the record, two editions | 7, and 2 for each row that changes |
/// | `keyed` | as the verb, and the set of requests | as the verb, and 7 |
/// | `forget_finished` | each record it looks at | 4 for each it forgets, and 2 for each row it shipped from |
/// | `order` | the cell, the record | none |
/// | `stock` | none | none |
/// | `restock`, `write_off`, `set_available` | none | 3: books, row, books |
/// | `reserve_batch` | as `reserve`, 64 at a time | as `reserve` |
///
/// Each state that is counted in [`Stats`](crate::Stats) costs one more locked addition, on a line of the thread's own.
///
/// ```
/// use std::sync::Arc;
/// use stockade::Stockade;
///
/// let shop = Arc::new(Stockade::new());
/// shop.add_sku("seat-12A", 1)?;
/// let yes = (0..4)
///     .map(|i| {
///         let shop = Arc::clone(&shop);
///         std::thread::spawn(move || shop.reserve(&format!("buyer-{i}"), &[("seat-12A", 1)]).is_ok())
///     })
///     .map(|buyer| buyer.join().unwrap())
///     .filter(|yes| *yes)
///     .count();
/// assert_eq!(yes, 1);
/// # Ok::<(), stockade::AddSkuError>(())
/// ```
pub struct Stockade {
    pub(crate) protocol: Protocol,
    orders: Table,
    skus: Table,
    /// Names come from outside, so the hash is keyed at random: nobody can choose ids that collide.
    keyed: SipHasher13,
    /// Told apart from other engines by this number, which handles carry.
    serial: u32,
}

/// An order as the index found it.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub(crate) slot: u32,
    pub(crate) word: OrderWord,
}

impl Found {
    /// The operation its tag names.
    pub(crate) fn op(self) -> Op {
        Op { slot: self.slot, tag: self.word.tag() }
    }
}

/// An id that no order has, when it was looked for.
pub(crate) struct Unknown<'a> {
    pub(crate) hash: u64,
    vacancy: Option<Vacancy<'a>>,
}

impl Entries for Protocol {
    fn any_garbage(&self) -> bool {
        self.records.any_dead()
    }

    fn is_garbage(&self, slot: u32) -> bool {
        self.records.get(slot).state().is_garbage()
    }

    fn recycle(&self, slot: u32) {
        if self.records.get(slot).state().is_forgotten() {
            self.retention.retire(slot);
        } else {
            self.records.recycle(slot);
        }
        self.records.count_out();
    }
}

/// Rows are never garbage.
impl Entries for Rows {
    fn any_garbage(&self) -> bool {
        false
    }

    fn is_garbage(&self, _: u32) -> bool {
        false
    }

    fn recycle(&self, _: u32) {}
}

#[cfg(not(stockade_loom))]
fn keyed() -> SipHasher13 {
    let random = || std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), ());
    SipHasher13::new_with_keys(random(), random())
}

/// A model must run the same way every time.
#[cfg(stockade_loom)]
fn keyed() -> SipHasher13 {
    SipHasher13::new()
}

impl Default for Stockade {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Stockade {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stockade").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

impl Stockade {
    /// An empty engine. Memory grows with what is put into it.
    pub fn new() -> Self {
        Builder::default().empty()
    }

    /// An empty engine with room for so many orders: [`builder`](Self::builder) says what that means.
    ///
    /// # Errors
    ///
    /// As [`Builder::build`].
    pub fn with_capacity(orders: usize) -> Result<Self, BuildError> {
        Self::builder().capacity(orders).build()
    }

    /// For an engine with room from the beginning, or with a limit.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn limited(max_orders: Option<u64>, timers: Timers, retention: Retention, requests: Requests) -> Self {
        let (rows, records, tally) = (Rows::new(), Records::new(max_orders), Tally::default());
        Stockade {
            protocol: Protocol { rows, records, tally, timers, retention, requests },
            orders: Table::new(),
            skus: Table::new(),
            keyed: keyed(),
            serial: serial(),
        }
    }

    /// Claims and touches memory for so many orders. Only before the engine is shared.
    pub(crate) fn provide(&mut self, orders: usize) -> Result<(), Full> {
        self.protocol.records.arena.provide_up_to(orders)?;
        self.orders = Table::with_capacity(orders)?;
        Ok(())
    }

    /// Whether the stock rows are lock-free here: whether the processor has a 128-bit compare-and-swap (every x86-64
    /// since 2006 and every AArch64 has). Where it has none, a short spin lock stands in.
    pub fn is_lock_free() -> bool {
        WideWord::is_lock_free()
    }

    pub(crate) fn hash(&self, key: &str) -> u64 {
        self.keyed.hash(key.as_bytes())
    }

    /// The order of this id, busy or not. A refused attempt is no order.
    #[inline]
    pub(crate) fn find(&self, id: &str, hash: u64) -> Option<Found> {
        self.orders.find(hash, |slot| self.order_at(slot, id))
    }

    /// What `view` makes of the order of this id. It looks at the record while the index names it, not afterwards, when
    /// an attempt that was refused may have made room for another order.
    pub(crate) fn view_order<R>(&self, id: &str, view: impl Fn(Found) -> Option<R>) -> Option<R> {
        self.orders.find(self.hash(id), |slot| view(self.order_at(slot, id)?))
    }

    /// The record that the first cell for this hash names, if that may be its own.
    #[inline]
    pub(crate) fn first_named(&self, hash: u64) -> Option<u32> {
        self.orders.first_named(hash)
    }

    /// Enters a draft, unless the id is known. `unknown` is what [`find_settled`](Self::find_settled) answered.
    pub(crate) fn enter(&self, id: &str, unknown: Unknown<'_>, slot: u32) -> Result<bool, Full> {
        if unknown.vacancy.is_some_and(|vacancy| vacancy.fill(slot)) {
            return Ok(true);
        }
        let known = self.orders.insert(unknown.hash, slot, &self.protocol, |slot| self.order_at(slot, id))?;
        Ok(known.is_none())
    }

    #[inline]
    fn order_at(&self, slot: u32, id: &str) -> Option<Found> {
        let word = self.protocol.records.get(slot).state();
        let is_order = !word.is_forgotten() && !matches!(word.phase(), Phase::Vacant | Phase::Refused | Phase::Dead);
        if !is_order || !self.protocol.records.has_id(slot, id) {
            return None;
        }
        step(Step::OrderSeen);
        Some(Found { slot, word })
    }

    /// The order of this id with nothing busy or dead on it: what is busy is helped first, and a dead hold let go. Of
    /// an id that is not known, what it takes to enter it.
    #[inline]
    pub(crate) fn find_settled(&self, id: &str, hash: u64, moment: &Moment<'_>) -> Result<Found, Unknown<'_>> {
        loop {
            let sought = self.orders.seek(hash, |slot| self.order_at(slot, id));
            let found = sought.map_err(|vacancy| Unknown { hash, vacancy })?;
            if found.word.is_busy() {
                self.protocol.help(found.op());
            } else if !self.protocol.let_go_if_dead(found, moment) {
                return Ok(found);
            }
        }
    }

    /// What `view` makes of every order, a few hundred at a time.
    pub(crate) fn visit_orders<R>(&self, from: u64, view: impl Fn(Found) -> Option<R>) -> (Vec<R>, Option<u64>) {
        self.orders.visit(from, |slot| view(Found { slot, word: self.protocol.records.get(slot).state() }))
    }

    /// The rows, in ascending order.
    pub(crate) fn row_numbers(&self) -> Vec<u32> {
        let mut rows = Vec::new();
        let mut from = Some(0);
        while let Some(hash) = from {
            let (some, next) = self.skus.visit(hash, Some);
            rows.extend(some);
            from = next;
        }
        rows.sort_unstable();
        rows
    }

    pub(crate) fn row_named(&self, name: &str) -> Option<u32> {
        self.skus.find(self.hash(name), |row| self.protocol.rows.has_name(row, name).then_some(row))
    }

    /// Makes a row, unless the name is taken.
    pub(crate) fn new_row(&self, name: &str, available: u64) -> Result<Option<u32>, Full> {
        let rows = &self.protocol.rows;
        let number = rows.draft(name, available)?;
        let taken = |row: u32| rows.has_name(row, name).then_some(());
        let entered = self.skus.insert(self.hash(name), number, rows, taken);
        if matches!(entered, Ok(None)) {
            self.protocol.tally.add(Event::Row);
            return Ok(Some(number));
        }
        rows.free(number);
        entered.map(|_| None)
    }

    pub(crate) fn handle(&self, row: u32) -> Sku {
        Sku { engine: self.serial, row }
    }

    pub(crate) fn line(&self, line: RowLine) -> Line {
        Line { sku: self.handle(line.row), quantity: line.quantity }
    }

    #[inline]
    pub(crate) fn row_of(&self, sku: Sku) -> Result<u32, UnknownSku> {
        if sku.engine == self.serial {
            return Ok(sku.row);
        }
        Err(UnknownSku { sku: "(a handle of another engine)".into() })
    }
}
