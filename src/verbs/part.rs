//! Verbs that change an order in part: cancel_lines, fulfil_lines, amend.

use crate::arena::Full;
use crate::change::Change;
use crate::engine::Found;
use crate::layout::LAST_RESERVE_TAG;
use crate::ledger::Part;
use crate::record::RowLine;
use crate::request::RowLines;
use crate::row::Op;
use crate::state::Phase;
use crate::{
    AmendError, CancelLinesError, FulfilLinesError, Invalid, Once, ReserveError, Revised, SkuRef, State, Stockade,
    UnknownSku,
};

/// Why an order cannot be changed in part, whatever the change.
enum Closed {
    Unknown,
    Expired,
    InvalidState(State),
    Exhausted,
    Full,
}

/// What [`Protocol::look_closely`] refused.
struct Short(ReserveError);

/// A line with less open than was asked for.
struct TooMuch {
    sku: Box<str>,
    wanted: u32,
    open: u32,
}

macro_rules! refusals {
    ($($error:ident),*) => {$(
        impl From<Closed> for $error {
            fn from(closed: Closed) -> Self {
                match closed {
                    Closed::Unknown => $error::UnknownOrder,
                    Closed::Expired => $error::Expired,
                    Closed::InvalidState(actual) => $error::InvalidState { actual },
                    Closed::Exhausted => $error::Exhausted,
                    Closed::Full => $error::Full,
                }
            }
        }
    )*};
}

refusals!(CancelLinesError, FulfilLinesError, AmendError);

macro_rules! too_much {
    ($($error:ident),*) => {$(
        impl From<TooMuch> for $error {
            fn from(TooMuch { sku, wanted, open }: TooMuch) -> Self {
                $error::TooMuch { sku, wanted, open }
            }
        }

        /// Never: who takes nothing finds no row short.
        impl From<Short> for $error {
            fn from(_: Short) -> Self {
                $error::Exhausted
            }
        }
    )*};
}

too_much!(CancelLinesError, FulfilLinesError);

impl From<Short> for AmendError {
    fn from(Short(refusal): Short) -> Self {
        match refusal {
            ReserveError::Insufficient { short } => AmendError::Insufficient { short },
            _ => AmendError::Exhausted,
        }
    }
}

impl Stockade {
    /// Cancels units of an order's lines and gives them back, all or none. Only open units can be cancelled. If nothing
    /// is open afterwards, the order is FULFILLED if anything was fulfilled, else CANCELLED.
    ///
    /// Each call cancels what it names, also when it is repeated: an order that is to be brought to a certain size is
    /// [`amend`](Stockade::amend)ed, which has no second effect.
    ///
    /// Lock-free. Linearization point: the CAS on the order's state once every row that changes is frozen for the
    /// order; of a refusal, the load of the state.
    ///
    /// # Errors
    ///
    /// The first that applies: [`Invalid`](CancelLinesError::Invalid),
    /// [`UnknownOrder`](CancelLinesError::UnknownOrder), [`Expired`](CancelLinesError::Expired),
    /// [`InvalidState`](CancelLinesError::InvalidState) in any state but INVENTORY_RESERVED and PAID,
    /// [`UnknownSku`](CancelLinesError::UnknownSku), [`TooMuch`](CancelLinesError::TooMuch),
    /// [`Exhausted`](CancelLinesError::Exhausted), [`Full`](CancelLinesError::Full).
    ///
    /// ```
    /// # use stockade::{CancelLinesError, State, Stockade};
    /// let shop = Stockade::new();
    /// shop.add_sku("mug", 5).unwrap();
    /// let _ = shop.reserve("order-1", &[("mug", 5)]).unwrap();
    ///
    /// assert_eq!(shop.cancel_lines("order-1", &[("mug", 2)])?.open, 3);
    /// assert_eq!(shop.stock("mug").unwrap().available, 2);
    /// assert!(matches!(
    ///     shop.cancel_lines("order-1", &[("mug", 4)]),
    ///     Err(CancelLinesError::TooMuch { wanted: 4, open: 3, .. }),
    /// ));
    /// assert_eq!(shop.cancel_lines("order-1", &[("mug", 3)])?.closed, Some(State::Cancelled));
    /// # Ok::<(), CancelLinesError>(())
    /// ```
    pub fn cancel_lines<S: SkuRef>(&self, id: &str, lines: &[(S, u32)]) -> Result<Revised, CancelLinesError> {
        self.verb(|| self.try_cancel_lines(id, lines, None)).map(Once::answer)
    }

    pub(super) fn try_cancel_lines<S: SkuRef>(
        &self,
        id: &str,
        lines: &[(S, u32)],
        request: Option<Op>,
    ) -> Result<Once<Revised>, CancelLinesError> {
        self.revise(id, lines, request, holds, |parts, lines| {
            self.settle_lines(parts, lines, |part, quantity| {
                part.cancelled += quantity;
                part.change = -i64::from(quantity);
            })
        })
    }

    /// Marks units of a PAID order's lines as fulfilled: they have left for good. If nothing is open afterwards, the
    /// order is FULFILLED. [`fulfil`](Stockade::fulfil) fulfils what is open of all lines.
    ///
    /// Each call fulfils what it names, also when it is repeated.
    ///
    /// Lock-free; touches no row. Linearization point: the CAS on the order's state; of a refusal, its load.
    ///
    /// # Errors
    ///
    /// The first that applies: [`Invalid`](FulfilLinesError::Invalid),
    /// [`UnknownOrder`](FulfilLinesError::UnknownOrder), [`Expired`](FulfilLinesError::Expired),
    /// [`InvalidState`](FulfilLinesError::InvalidState) in any state but PAID,
    /// [`UnknownSku`](FulfilLinesError::UnknownSku), [`TooMuch`](FulfilLinesError::TooMuch),
    /// [`Exhausted`](FulfilLinesError::Exhausted), [`Full`](FulfilLinesError::Full).
    ///
    /// ```
    /// # use stockade::{State, Stockade};
    /// let shop = Stockade::new();
    /// shop.add_sku("mug", 5).unwrap();
    /// let _ = shop.reserve("order-1", &[("mug", 5)]).unwrap();
    /// let _ = shop.pay("order-1").unwrap();
    ///
    /// assert_eq!(shop.fulfil_lines("order-1", &[("mug", 2)])?.open, 3);
    /// let mug = shop.order("order-1").unwrap().lines[0];
    /// assert_eq!((mug.ordered, mug.open, mug.fulfilled, mug.cancelled), (5, 3, 2, 0));
    ///
    /// assert_eq!(shop.cancel("order-1").unwrap().units(), 3); // the rest does not come
    /// assert_eq!(shop.order("order-1").unwrap().state, State::Fulfilled);
    /// # Ok::<(), stockade::FulfilLinesError>(())
    /// ```
    pub fn fulfil_lines<S: SkuRef>(&self, id: &str, lines: &[(S, u32)]) -> Result<Revised, FulfilLinesError> {
        self.verb(|| self.try_fulfil_lines(id, lines, None)).map(Once::answer)
    }

    pub(super) fn try_fulfil_lines<S: SkuRef>(
        &self,
        id: &str,
        lines: &[(S, u32)],
        request: Option<Op>,
    ) -> Result<Once<Revised>, FulfilLinesError> {
        let is_paid = |phase| phase == Phase::Paid;
        self.revise(id, lines, request, is_paid, |parts, lines| {
            self.settle_lines(parts, lines, |part, quantity| part.fulfilled += quantity)
        })
    }

    /// Changes what an order has ordered to these lines, all or nothing in one instant: lines are raised and lowered,
    /// those that are new are added, those that are left out are dropped. Only the difference is tested against the
    /// stock: an order is never measured against what it holds itself. An order with these lines already is not
    /// changed.
    ///
    /// Units that are fulfilled or cancelled count: a line of 5 of which 2 are fulfilled, amended to 4, has 2 open. If
    /// nothing is open afterwards, the order is FULFILLED if anything was fulfilled, else CANCELLED.
    ///
    /// A repeated [`reserve`](Stockade::reserve) is still compared with the lines it was made with. The deadline stays.
    ///
    /// Lock-free. Linearization point: the CAS on the order's state once every row that changes is frozen for the
    /// order; of a refusal, one instant at which every listed row was short; of the other answers, the load of the
    /// state.
    ///
    /// # Errors
    ///
    /// The first that applies: [`Invalid`](AmendError::Invalid), [`UnknownOrder`](AmendError::UnknownOrder),
    /// [`Expired`](AmendError::Expired), [`InvalidState`](AmendError::InvalidState) in any state but INVENTORY_RESERVED
    /// and PAID, [`UnknownSku`](AmendError::UnknownSku), [`TooFew`](AmendError::TooFew),
    /// [`Insufficient`](AmendError::Insufficient), [`Exhausted`](AmendError::Exhausted), [`Full`](AmendError::Full).
    ///
    /// ```
    /// # use stockade::{AmendError, Stockade};
    /// let shop = Stockade::new();
    /// shop.add_sku("mug", 12).unwrap();
    /// shop.add_sku("jug", 1).unwrap();
    /// let _ = shop.reserve("order-1", &[("mug", 10)]).unwrap();
    ///
    /// assert_eq!(shop.amend("order-1", &[("mug", 12)])?.open, 12); // 2 more, and 2 were there
    /// let Err(AmendError::Insufficient { short }) = shop.amend("order-1", &[("mug", 13), ("jug", 1)]) else { panic!() };
    /// assert_eq!(short.to_string(), r#""mug" wanted 1, available 0"#);
    /// assert_eq!(shop.amend("order-1", &[("mug", 9), ("jug", 1)])?.open, 10);
    /// assert_eq!(shop.stock("mug").unwrap().available, 3);
    /// # Ok::<(), AmendError>(())
    /// ```
    pub fn amend<S: SkuRef>(&self, id: &str, lines: &[(S, u32)]) -> Result<Revised, AmendError> {
        self.verb(|| self.try_amend(id, lines, None)).map(Once::answer)
    }

    pub(super) fn try_amend<S: SkuRef>(
        &self,
        id: &str,
        lines: &[(S, u32)],
        request: Option<Op>,
    ) -> Result<Once<Revised>, AmendError> {
        self.revise(id, lines, request, holds, |parts, lines| self.amended(parts, lines))
    }

    /// The lines after some of their open units are settled.
    fn settle_lines<E: From<TooMuch>>(
        &self,
        mut parts: Vec<Part>,
        lines: &RowLines,
        settle: impl Fn(&mut Part, u32),
    ) -> Result<Vec<Part>, E> {
        for line in lines.iter() {
            let part = parts.binary_search_by_key(&line.row, |part| part.row).ok().and_then(|at| parts.get_mut(at));
            let open = part.as_ref().map_or(0, |part| part.open());
            match part {
                Some(part) if open >= line.quantity => settle(part, line.quantity),
                _ => {
                    let sku = self.protocol.rows.name(line.row);
                    return Err(TooMuch { sku, wanted: line.quantity, open }.into());
                }
            }
        }
        Ok(parts)
    }

    /// The lines after they are set to others.
    fn amended(&self, parts: Vec<Part>, lines: &RowLines) -> Result<Vec<Part>, AmendError> {
        let (mut parts, mut wanted) = (parts.into_iter().peekable(), lines.iter().peekable());
        let mut amended = Vec::with_capacity(parts.len() + wanted.len());
        // Both are in ascending row order.
        while let Some(row) =
            [parts.peek().map(|part| part.row), wanted.peek().map(|line| line.row)].iter().flatten().min()
        {
            let row = *row;
            let line = wanted.next_if(|line| line.row == row).copied().unwrap_or(RowLine { row, quantity: 0 });
            let before = parts.next_if(|part| part.row == row).unwrap_or(Part::new(RowLine { row, quantity: 0 }));
            if line.quantity < before.settled() {
                let (sku, settled) = (self.protocol.rows.name(row), before.settled());
                return Err(AmendError::TooFew { sku, wanted: line.quantity, settled });
            }
            let change = i64::from(line.quantity) - i64::from(before.ordered);
            amended.push(Part { ordered: line.quantity, change, ..before });
        }
        Ok(amended)
    }

    /// Changes an order in part: `edit` makes new lines of those it has, in ascending row order.
    fn revise<S: SkuRef, E>(
        &self,
        id: &str,
        lines: &[(S, u32)],
        request: Option<Op>,
        may: impl Fn(Phase) -> bool,
        edit: impl Fn(Vec<Part>, &RowLines) -> Result<Vec<Part>, E>,
    ) -> Result<Once<Revised>, E>
    where
        E: From<Invalid> + From<UnknownSku> + From<Closed> + From<Short>,
    {
        let hash = self.hash(id);
        let moment = self.protocol.timers.moment();
        loop {
            let resolved = self.resolve(lines)?;
            let found = self.find_settled(id, hash, &moment).map_err(|_| Closed::Unknown);
            if let Some(answer) = request.and_then(|request| self.answer_of(request, found.as_ref().ok())) {
                return Ok(Once::Replayed(answer));
            }
            let found = found?;
            if found.word.is_expired() {
                return Err(Closed::Expired.into());
            }
            if !may(found.word.phase()) {
                let Some(actual) = found.word.shown() else { continue };
                return Err(Closed::InvalidState(actual).into());
            }
            let (word, parts) = self.protocol.parts(found.slot, found.word);
            if word != found.word {
                continue;
            }
            let lines = match resolved {
                Ok(lines) => lines,
                // Unless the SKU has come meanwhile.
                Err(_) => match self.resolve(lines)? {
                    Ok(_) => continue,
                    Err(unknown) => return Err(unknown.into()),
                },
            };
            let before = parts.clone();
            let parts = edit(parts, &lines)?;
            // A request with a key is answered together with a change, be it of nothing.
            if parts == before && request.is_none() {
                return Ok(Once::New(Revised { open: open(&parts), closed: None }));
            }
            if let Some(revised) = self.revise_found::<E>(found, parts, request)? {
                return Ok(Once::New(revised));
            }
        }
    }

    /// What a request was answered by all that has been done to its order so far.
    fn answer_of(&self, request: Op, found: Option<&Found>) -> Option<Revised> {
        if let Some(found) = found {
            // Otherwise it may have been accepted, and nobody has noted it yet.
            self.protocol.finish(found.op(), found.word);
        }
        self.protocol.revised(request)
    }

    /// One attempt to give an order these lines. `None`: something moved, try again.
    fn revise_found<E: From<Closed> + From<Short>>(
        &self,
        found: Found,
        parts: Vec<Part>,
        request: Option<Op>,
    ) -> Result<Option<Revised>, E> {
        let (word, order) = (found.word, self.protocol.records.get(found.slot));
        let more = parts.iter().filter(|part| part.change > 0).filter_map(Part::touched);
        let more: RowLines = more.map(Change::line).collect();
        if !more.is_empty()
            && let Err(refusal) = self.protocol.look_closely(&more)
        {
            // Still as it was, so it held no more at the instant of the shortage either.
            return if order.state() == word { Err(Short(refusal).into()) } else { Ok(None) };
        }
        if word.tag() >= LAST_RESERVE_TAG {
            return Err(Closed::Exhausted.into());
        }
        let left = self.protocol.revise(found.slot, word, &parts, request).map_err(|Full| Closed::Full)?;
        Ok(left.map(|left| Revised { open: open(&parts), closed: left.closed() }))
    }
}

fn holds(phase: Phase) -> bool {
    matches!(phase, Phase::Reserved | Phase::Paid)
}

fn open(parts: &[Part]) -> u64 {
    parts.iter().map(|part| u64::from(part.open())).sum()
}
