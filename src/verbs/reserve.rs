//! Verbs that make orders: create and reserve.

use crate::arena::Full;
use crate::engine::{Found, Unknown};
use crate::hooks::{Step, step};
use crate::layout::LAST_RESERVE_TAG;
use crate::protocol::{Look, Verdict};
use crate::request::{PerLine, RowLines, check_key};
use crate::row::{Op, RowWord};
use crate::state::{OrderWord, Phase};
use crate::{CreateError, Created, Reservation, ReserveError, Reserved, SkuRef, State, Stockade};

impl Stockade {
    /// Makes an order in CREATED, which holds nothing. Lines of one SKU are summed.
    ///
    /// A known id is never replaced: with the same lines the answer is [`Created::Replayed`].
    ///
    /// Lock-free. Linearization point: the CAS that enters the order in the index.
    ///
    /// # Errors
    ///
    /// The first that applies: [`Invalid`](CreateError::Invalid); for a known id [`Closed`](CreateError::Closed) or
    /// [`LinesDiffer`](CreateError::LinesDiffer); [`UnknownSku`](CreateError::UnknownSku); [`Full`](CreateError::Full).
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
        self.told(self.try_create(id, lines))
    }

    fn try_create<S: SkuRef>(&self, id: &str, lines: &[(S, u32)]) -> Result<Created, CreateError> {
        check_key(id)?;
        let hash = self.hash(id);
        loop {
            let resolved = self.resolve(lines)?;
            let known = self.find_settled(id, hash);
            match (known, resolved) {
                (Ok(found), _) if found.word.phase() == Phase::Cancelled => {
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
                    let draft = self.protocol.records.draft(id, &lines, Phase::Created, 0)?;
                    step(Step::Drafted);
                    if self.enter(id, unknown, draft.slot)? {
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
    /// The first that applies: [`Invalid`](ReserveError::Invalid); for a known id [`Closed`](ReserveError::Closed) or
    /// [`LinesDiffer`](ReserveError::LinesDiffer); [`UnknownSku`](ReserveError::UnknownSku);
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
        self.told(self.try_reserve(id, lines)).map(|(reserved, _)| reserved)
    }

    /// The same for an id whose hash is known.
    pub(super) fn reserve_hashed<S: SkuRef>(
        &self,
        id: &str,
        hash: u64,
        lines: &[(S, u32)],
    ) -> Result<Reserved, ReserveError> {
        let answer = check_key(id).map_err(Into::into).and_then(|()| self.try_reserve_hashed(id, hash, lines));
        self.told(answer).map(|(reserved, _)| reserved)
    }

    /// Also names the operation that took the stock, for who wants to give it back.
    pub(super) fn try_reserve<S: SkuRef>(&self, id: &str, lines: &[(S, u32)]) -> Result<(Reserved, Op), ReserveError> {
        check_key(id)?;
        self.try_reserve_hashed(id, self.hash(id), lines)
    }

    fn try_reserve_hashed<S: SkuRef>(
        &self,
        id: &str,
        hash: u64,
        lines: &[(S, u32)],
    ) -> Result<(Reserved, Op), ReserveError> {
        loop {
            let resolved = self.resolve(lines)?;
            match (self.find_settled(id, hash), resolved) {
                (Ok(found), _) if found.word.phase() == Phase::Cancelled => {
                    return Err(ReserveError::Closed { state: State::Cancelled });
                }
                (Ok(_), Err(_)) if self.resolve(lines)?.is_err() => return Err(ReserveError::LinesDiffer),
                // The SKU has come meanwhile.
                (Ok(_), Err(_)) => {}
                (Err(_), Err(no_sku)) => return Err(no_sku.into()),
                (Ok(found), Ok(lines)) => {
                    if !self.same_lines(found, &lines) {
                        return Err(ReserveError::LinesDiffer);
                    }
                    if found.word.phase() != Phase::Created {
                        return Ok((Reserved::Replayed(reservation(found.slot)), found.op()));
                    }
                    if let Some(op) = self.reserve_created(found, &lines)? {
                        return Ok((Reserved::New(reservation(op.slot)), op));
                    }
                }
                (Err(unknown), Ok(lines)) => {
                    if let Some(op) = self.reserve_unknown(id, unknown, &lines)? {
                        return Ok((Reserved::New(reservation(op.slot)), op));
                    }
                }
            }
        }
    }

    /// One attempt to reserve for an id that was not known. `None`: something moved, try again.
    fn reserve_unknown(&self, id: &str, unknown: Unknown<'_>, lines: &RowLines) -> Result<Option<Op>, ReserveError> {
        let seen = match self.look(lines) {
            Ok(seen) => seen,
            // Still no order: so there was none at the instant of the shortage either.
            Err(refusal) => return if self.find(id, unknown.hash).is_none() { Err(refusal) } else { Ok(None) },
        };
        let records = &self.protocol.records;
        let draft = records.draft(id, lines, Phase::Reserving, 0)?;
        let busy = draft.record().state();
        step(Step::Drafted);
        if !self.enter(id, unknown, draft.slot)? {
            return Ok(None);
        }
        let slot = draft.publish();
        step(Step::Published);
        let verdict = self.attempt(slot, busy, lines, seen);
        if !matches!(verdict, Ok(Some(_))) {
            // Only now may the record be recycled: had others been free to do so, this thread could not know its verdict.
            records.kill(slot, busy.to(Phase::Refused));
            step(Step::MarkedDead);
        }
        verdict
    }

    /// One attempt to reserve for a CREATED order. `None`: something moved, try again.
    pub(super) fn reserve_created(&self, found: Found, lines: &RowLines) -> Result<Option<Op>, ReserveError> {
        let order = self.protocol.records.get(found.slot);
        let seen = match self.look(lines) {
            Ok(seen) => seen,
            Err(refusal) => {
                // Still CREATED, so it held nothing at the instant of the shortage either.
                let still = order.state().shown() == Some(State::Created);
                return if still { Err(refusal) } else { Ok(None) };
            }
        };
        if found.word.tag() >= LAST_RESERVE_TAG {
            return Err(ReserveError::Exhausted);
        }
        let busy = found.word.begin(Phase::Retrying);
        if !order.advance(found.word, busy) {
            return Ok(None);
        }
        step(Step::RetryBegun);
        self.attempt(found.slot, busy, lines, seen)
    }

    /// The rows as they are, or the refusal that these lines would get right now.
    fn look(&self, lines: &RowLines) -> Result<PerLine<RowWord>, ReserveError> {
        let refusal = match self.protocol.look(lines) {
            (Look::Enough | Look::Moving, seen) => return Ok(seen),
            (Look::Short(short), _) => ReserveError::Insufficient { short: self.protocol.shortages(short) },
            (Look::Exhausted, _) => ReserveError::Exhausted,
        };
        step(Step::ShortageSeen);
        Err(refusal)
    }

    /// Runs an attempt that has begun. Who did not decide it cannot say what was short, and has to try again (`None`).
    fn attempt(
        &self,
        slot: u32,
        busy: OrderWord,
        lines: &RowLines,
        seen: PerLine<RowWord>,
    ) -> Result<Option<Op>, ReserveError> {
        let op = Op { slot, tag: busy.tag() };
        match self.protocol.drive(slot, busy, lines, seen) {
            Verdict::Witnessed(short) if short.is_empty() => Ok(Some(op)),
            Verdict::Witnessed(short) => Err(ReserveError::Insufficient { short: self.protocol.shortages(short) }),
            Verdict::Unseen => Ok(self.protocol.records.get(slot).state().accepted(op.tag).then_some(op)),
        }
    }

    pub(super) fn same_lines(&self, found: Found, lines: &RowLines) -> bool {
        self.protocol.records.lines(found.slot).eq(lines.iter().copied())
    }
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
