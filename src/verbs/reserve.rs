//! Verbs that make orders: create and reserve.

use crate::arena::Full;
use crate::engine::{Found, Unknown};
use crate::hooks::{Step, step};
use crate::layout::{LAST_RESERVE_TAG, NEVER};
use crate::protocol::{Targets, Verdict};
use crate::record::{Deadline, Descriptor};
use crate::request::{RowLines, check_key};
use crate::row::Op;
use crate::state::{OrderWord, Phase};
use crate::{CreateError, Created, Invalid, Reservation, ReserveError, Reserved, SkuRef, State, Stockade};

impl Stockade {
    /// Makes an order in CREATED, which holds nothing. Lines of one SKU are summed.
    ///
    /// A known id is never replaced: with the same lines the answer is [`Created::Replayed`].
    ///
    /// Lock-free. Linearization point: the CAS that enters the order in the index.
    ///
    /// # Errors
    ///
    /// The first that applies: [`Invalid`](CreateError::Invalid); for a known id [`Closed`](CreateError::Closed),
    /// then [`LinesDiffer`](CreateError::LinesDiffer); [`UnknownSku`](CreateError::UnknownSku);
    /// [`Full`](CreateError::Full).
    ///
    /// ```
    /// # use stockade::{Created, State, Stockade};
    /// let shop = Stockade::new();
    /// shop.add_sku("mug", 1).unwrap();
    /// assert_eq!(shop.create("order-1", &[("mug", 1)])?, Created::New);
    /// assert_eq!(shop.create("order-1", &[("mug", 1)])?, Created::Replayed { state: State::Created });
    /// assert_eq!(shop.stock("mug").unwrap().available, 1);
    /// # Ok::<(), stockade::CreateError>(())
    /// ```
    pub fn create<S: SkuRef>(&self, id: &str, lines: &[(S, u32)]) -> Result<Created, CreateError> {
        self.verb(|| self.try_create(id, lines))
    }

    fn try_create<S: SkuRef>(&self, id: &str, lines: &[(S, u32)]) -> Result<Created, CreateError> {
        check_key(id)?;
        let hash = self.hash(id);
        let moment = self.protocol.timers.moment();
        loop {
            let resolved = self.resolve(lines)?;
            let known = self.find_settled(id, hash, &moment);
            match (known, resolved) {
                (Ok(found), _) if found.word.shown() == Some(State::Cancelled) => {
                    return Err(CreateError::Closed { state: State::Cancelled });
                }
                (Ok(found), Ok(lines)) => {
                    let state = found.word.shown().unwrap_or(State::Created);
                    let same = self.same_lines(found, &lines);
                    return if same { Ok(Created::Replayed { state }) } else { Err(CreateError::LinesDiffer) };
                }
                (Ok(_), Err(_)) if self.resolve(lines)?.is_err() => return Err(CreateError::LinesDiffer),
                // The SKU has come meanwhile.
                (Ok(_), Err(_)) => {}
                (Err(_), Err(no_sku)) => return Err(no_sku.into()),
                (Err(unknown), Ok(lines)) => {
                    let draft = self.protocol.records.draft(id, Some(NEVER), &lines, Phase::Created, 0)?;
                    step(Step::Drafted);
                    if self.enter(id, unknown, draft.order.slot)? {
                        draft.publish();
                        return Ok(Created::New);
                    }
                }
            }
        }
    }

    /// Takes stock for an order, all lines or none, and makes the order if it is not known. Lines of one SKU are
    /// summed.
    ///
    /// The id is the idempotency key: the same id with the same lines, in any state but CANCELLED, is
    /// [`Reserved::Replayed`] with the first result and has no second effect. A refused reserve leaves nothing behind.
    ///
    /// Lock-free. Linearization point: accepted, the CAS on the order's state word once every row is frozen for the
    /// order; replayed, the load of that word; refused, one instant at which every listed row was short and the id
    /// was no order that holds stock.
    ///
    /// # Errors
    ///
    /// The first that applies: [`Invalid`](ReserveError::Invalid); for a known id [`Closed`](ReserveError::Closed),
    /// then [`LinesDiffer`](ReserveError::LinesDiffer); [`UnknownSku`](ReserveError::UnknownSku);
    /// [`Insufficient`](ReserveError::Insufficient) with every short line;
    /// [`Exhausted`](ReserveError::Exhausted); [`Full`](ReserveError::Full).
    ///
    /// ```
    /// # use stockade::{ReserveError, Reserved, Stockade};
    /// let shop = Stockade::new();
    /// shop.add_sku("mug", 2).unwrap();
    /// shop.add_sku("jug", 1).unwrap();
    ///
    /// let first = shop.reserve("order-1", &[("mug", 1), ("jug", 1)])?;
    /// let again = shop.reserve("order-1", &[("jug", 1), ("mug", 1)])?;
    /// assert_eq!(again, Reserved::Replayed(first.reservation()));
    ///
    /// let Err(ReserveError::Insufficient { short }) = shop.reserve("order-2", &[("mug", 1), ("jug", 1)])
    ///     else { panic!() };
    /// assert_eq!(short.to_string(), r#""jug" wanted 1, available 0"#);
    /// assert_eq!(shop.stock("mug").unwrap().available, 1); // all or nothing
    /// # Ok::<(), ReserveError>(())
    /// ```
    pub fn reserve<S: SkuRef>(&self, id: &str, lines: &[(S, u32)]) -> Result<Reserved, ReserveError> {
        self.verb(|| self.try_reserve(id, lines, None)).map(|(reserved, _)| reserved)
    }

    /// As [`reserve`](Stockade::reserve), but the hold ends by itself, `ttl_ms` milliseconds from now: a hold lives
    /// while it is earlier than its deadline. From then on it is dead for everybody, whether anybody has looked or not:
    /// its units are free, and the order is CANCELLED as [`Expired`](crate::CancelReason::Expired).
    /// [`pay`](Stockade::pay) removes the deadline, [`extend`](Stockade::extend) moves it; repeats do not, whatever
    /// time they ask for.
    ///
    /// No thread has to look after that: whoever comes across a dead hold lets go of it first. No reserve, with a
    /// deadline or without, is refused while dead holds cover what it lacks; it lets go of as many as that takes, in
    /// the order of their deadlines, at most as many as it lacks units. [`expire_due`](Stockade::expire_due) lets go of
    /// them all, and tells whose they were.
    ///
    /// A time to live past the end of time (2^42 ms) never ends; one past
    /// [`Builder::max_hold_ms`](crate::Builder::max_hold_ms) is cut to that.
    ///
    /// Lock-free. Linearization point: as `reserve`. It costs one entry for each line, and one more, in an ordered set
    /// of deadlines, until the order is paid for or ends.
    ///
    /// # Errors
    ///
    /// As `reserve`; [`Invalid`](ReserveError::Invalid) also for 0 ms.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use stockade::{ManualClock, Stockade};
    /// let clock = Arc::new(ManualClock::default());
    /// let shop = Stockade::builder().clock(Arc::clone(&clock)).build().unwrap();
    /// shop.add_sku("seat-12A", 1).unwrap();
    ///
    /// let _ = shop.reserve_for("order-1", &[("seat-12A", 1)], 600_000)?;
    /// clock.set_ms(599_999);
    /// assert!(shop.reserve("order-2", &[("seat-12A", 1)]).is_err());
    /// clock.set_ms(600_000);
    /// assert!(shop.reserve("order-2", &[("seat-12A", 1)])?.is_new());
    /// # Ok::<(), stockade::ReserveError>(())
    /// ```
    pub fn reserve_for<S: SkuRef>(&self, id: &str, lines: &[(S, u32)], ttl_ms: u64) -> Result<Reserved, ReserveError> {
        self.verb(|| self.try_reserve(id, lines, Some(ttl_ms))).map(|(reserved, _)| reserved)
    }

    /// The same for an id whose hash is known.
    pub(super) fn reserve_hashed<S: SkuRef>(
        &self,
        id: &str,
        hash: u64,
        lines: &[(S, u32)],
    ) -> Result<Reserved, ReserveError> {
        let answer = self.verb(|| {
            check_key(id)?;
            self.try_reserve_hashed(id, hash, lines, None)
        });
        answer.map(|(reserved, _)| reserved)
    }

    /// Also names the operation that took the stock, for who wants to give it back.
    pub(super) fn try_reserve<S: SkuRef>(
        &self,
        id: &str,
        lines: &[(S, u32)],
        ttl_ms: Option<u64>,
    ) -> Result<(Reserved, Op), ReserveError> {
        check_key(id)?;
        check_ttl(ttl_ms)?;
        self.try_reserve_hashed(id, self.hash(id), lines, ttl_ms)
    }

    fn try_reserve_hashed<S: SkuRef>(
        &self,
        id: &str,
        hash: u64,
        lines: &[(S, u32)],
        ttl_ms: Option<u64>,
    ) -> Result<(Reserved, Op), ReserveError> {
        let moment = self.protocol.timers.moment();
        let ends = || ttl_ms.map(|ttl_ms| self.protocol.timers.end_of(moment.ms(), moment.ms(), ttl_ms));
        loop {
            let resolved = self.resolve(lines)?;
            let taken = match self.find_settled(id, hash, &moment) {
                Err(unknown) => self.reserve_unknown(id, unknown, &resolved?, ends())?,
                Ok(found) if found.word.shown() == Some(State::Cancelled) => {
                    return Err(ReserveError::Closed { state: State::Cancelled });
                }
                Ok(found) => match resolved {
                    Err(_) if self.resolve(lines)?.is_err() => return Err(ReserveError::LinesDiffer),
                    // The SKU has come meanwhile.
                    Err(_) => None,
                    Ok(lines) if !self.same_lines(found, &lines) => return Err(ReserveError::LinesDiffer),
                    Ok(lines) if found.word.phase() == Phase::Created => self.reserve_created(found, &lines, ends())?,
                    Ok(_) => return Ok((Reserved::Replayed(reservation(found.slot)), found.op())),
                },
            };
            if let Some(op) = taken {
                return Ok((Reserved::New(reservation(op.slot)), op));
            }
        }
    }

    /// One attempt to reserve for an id that was not known. `None`: something moved, try again.
    fn reserve_unknown(
        &self,
        id: &str,
        unknown: Unknown<'_>,
        lines: &RowLines,
        ends_ms: Option<u64>,
    ) -> Result<Option<Op>, ReserveError> {
        let seen = match self.protocol.look(lines) {
            Ok(seen) => seen,
            // Still no order: so there was none at the instant of the shortage either.
            Err(refusal) => return if self.find(id, unknown.hash).is_none() { Err(refusal) } else { Ok(None) },
        };
        let records = &self.protocol.records;
        let draft = records.draft(id, ends_ms, lines, Phase::Reserving, 0)?;
        let busy = draft.order.record.state();
        step(Step::Drafted);
        if !self.enter(id, unknown, draft.order.slot)? {
            return Ok(None);
        }
        let order = draft.publish();
        step(Step::Published);
        let verdict = self.attempt(order, busy, seen);
        if !matches!(verdict, Ok(Some(_))) {
            // Only now may the record be recycled: had others been free to do so, this thread could not know its
            // verdict.
            let refused = busy.to(Phase::Refused);
            records.kill(order.slot, refused, refused.to(Phase::Dead));
            step(Step::MarkedDead);
        }
        verdict
    }

    /// One attempt to reserve for a CREATED order. `None`: something moved, try again.
    pub(super) fn reserve_created(
        &self,
        found: Found,
        lines: &RowLines,
        ends_ms: Option<u64>,
    ) -> Result<Option<Op>, ReserveError> {
        let order = self.protocol.records.descriptor(found.slot);
        let seen = match self.protocol.look_closely(lines) {
            Ok(seen) => seen,
            Err(refusal) => {
                // Still CREATED, so it held nothing at the instant of the shortage either.
                let still = order.record.state().shown() == Some(State::Created);
                return if still { Err(refusal) } else { Ok(None) };
            }
        };
        if found.word.tag() >= LAST_RESERVE_TAG {
            return Err(ReserveError::Exhausted);
        }
        let busy = found.word.begin(Phase::Retrying);
        let is_mine = self.announce(found, busy.tag(), ends_ms.unwrap_or(NEVER));
        step(Step::AttemptAnnounced);
        match is_mine {
            Announced::Mine => {
                let has_begun = order.record.advance(found.word, busy) || order.record.state() == busy;
                step(Step::RetryBegun);
                if has_begun {
                    return self.attempt(order, busy, seen);
                }
                // Somebody else has begun and ended it, or has cancelled the order under the same tag.
                Ok(self.outcome(order.slot, busy))
            }
            Announced::Others => {
                order.record.advance(found.word, busy);
                self.protocol.help(Op { slot: found.slot, tag: busy.tag() });
                Ok(None)
            }
            Announced::Moved => Ok(None),
        }
    }

    /// Says in a CREATED order's deadline when the hold ends that the attempt `tag` is to take. So the deadline is
    /// there before the attempt can be decided, and whose attempt it is, is settled: one announcement for each tag.
    fn announce(&self, found: Found, tag: u32, ends_ms: u64) -> Announced {
        let records = &self.protocol.records;
        match records.deadline(found.slot) {
            Some(before) if before.tag() == tag => Announced::Others,
            Some(before) if before.tag() < tag => {
                let mine = records.set_deadline(found.slot, before, Deadline::new(ends_ms, tag));
                if mine { Announced::Mine } else { Announced::Moved }
            }
            _ => Announced::Moved,
        }
    }

    /// Runs an attempt that has begun. Who did not decide it cannot say what was short, and has to try again (`None`);
    /// so has who was refused what dead holds may cover.
    #[inline(always)]
    pub(super) fn attempt(
        &self,
        order: Descriptor<'_>,
        busy: OrderWord,
        seen: Targets<'_>,
    ) -> Result<Option<Op>, ReserveError> {
        let op = Op { slot: order.slot, tag: busy.tag() };
        match self.protocol.drive(order, busy, seen) {
            Verdict::Accepted => Ok(Some(op)),
            Verdict::Refused(_) if self.protocol.timers.any() => Ok(None),
            Verdict::Refused(short) => Err(ReserveError::Insufficient { short: self.protocol.shortages(short) }),
            Verdict::Unseen => Ok(self.outcome(order.slot, busy)),
        }
    }

    /// The operation of an attempt that others have decided, if it was accepted.
    fn outcome(&self, slot: u32, busy: OrderWord) -> Option<Op> {
        let records = &self.protocol.records;
        let (word, tag) = (records.get(slot).state(), busy.tag());
        step(Step::DecisionSeen);
        // Read after the state: before an operation that it may name began, the deadline said whose units there are.
        let deadline = records.deadline(slot);
        let is_revival = busy.phase() == Phase::Reviving;
        let accepted = if is_revival {
            word.revived(tag, deadline.and_then(Deadline::taken_again))
        } else {
            word.accepted(tag, deadline.map(Deadline::tag))
        };
        accepted.then_some(Op { slot, tag })
    }

    pub(super) fn same_lines(&self, found: Found, lines: &RowLines) -> bool {
        self.protocol.records.lines(found.slot).eq(lines.iter().copied())
    }
}

/// How the announcement of an attempt went.
enum Announced {
    Mine,
    /// Somebody else has announced one: it comes first.
    Others,
    /// The order has changed.
    Moved,
}

pub(super) fn check_ttl(ttl_ms: Option<u64>) -> Result<(), Invalid> {
    if ttl_ms == Some(0) { Err(Invalid::ZeroTtl) } else { Ok(()) }
}

fn reservation(slot: u32) -> Reservation {
    // Every accepted reserve is the transition from version 0 to 1.
    Reservation { number: u64::from(slot), version: 1 }
}

impl From<Full> for CreateError {
    fn from(_: Full) -> Self {
        CreateError::Full
    }
}

impl From<Full> for ReserveError {
    fn from(_: Full) -> Self {
        ReserveError::Full
    }
}
