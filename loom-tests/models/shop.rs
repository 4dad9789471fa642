//! What the models have in common: a shop, actors that race in it, and answers as short words.

use std::sync::Arc;

use stockade_loom::hooks::{Step, with_hook};
use stockade_loom::model::{set_shard, start_trace, stop_trace};
use stockade_loom::{
    AdvanceError, Advanced, AmendError, CancelError, CancelLinesError, Cancelled, CreateError, Created, ExtendError,
    FulfilLinesError, Hold, KeyedError, Once, Order, PaidLate, PayAgainError, ReserveError, Reserved, Revised,
    SetAvailableError, Sku, State, Stock, Stockade, TransitionError, VoidError, WriteOffError,
};

pub type Shop = Arc<Stockade>;
pub type Actor = Box<dyn FnOnce(&Shop) -> String + Send>;

/// A shop with one row, A.
pub fn shop(units: u64) -> (Shop, Sku) {
    let shop = Stockade::new();
    let a = shop.add_sku("A", units).unwrap();
    (Arc::new(shop), a)
}

/// A shop in which order `first` holds some units.
pub fn shop_with_order(units: u64, held: u32) -> (Shop, Sku) {
    let (shop, a) = shop(units);
    assert_eq!(reserve(&shop, "first", &[(a, held)]), "new");
    (shop, a)
}

/// Runs the actors, the first on this thread, and tells what each was answered.
pub fn race(shop: &Shop, first: impl FnOnce(&Shop) -> String, others: Vec<Actor>) -> Vec<String> {
    let start = |(i, actor): (usize, Actor)| {
        let shop = Arc::clone(shop);
        loom::thread::spawn(move || {
            set_shard(i + 1);
            actor(&shop)
        })
    };
    start_trace();
    let others: Vec<_> = others.into_iter().enumerate().map(start).collect();
    let mut answers = vec![first(shop)];
    answers.extend(others.into_iter().map(|other| other.join().unwrap()));
    stop_trace();
    answers
}

/// The same for two.
pub fn two(
    shop: &Shop,
    first: impl FnOnce(&Shop) -> String,
    second: impl FnOnce(&Shop) -> String + Send + 'static,
) -> [String; 2] {
    race(shop, first, vec![Box::new(second)]).try_into().unwrap()
}

/// A CREATED order that finds enough when it looks, while its first row is written off before it takes.
pub fn take_too_late(shop: &Shop, id: &str, first: Sku) -> String {
    let meddler = Arc::clone(shop);
    let write_off = move |step| {
        if step == Step::RetryBegun {
            let _ = meddler.write_off(first, 1);
        }
    };
    with_hook(write_off, || take(shop, id))
}

/// What `reserve` does to a CREATED order.
pub fn take(shop: &Shop, id: &str) -> String {
    transition(shop, id, State::Created, State::InventoryReserved)
}

pub fn reserve(shop: &Stockade, id: &str, lines: &[(Sku, u32)]) -> String {
    reserved(shop.reserve(id, lines))
}

fn reserved(answer: Result<Reserved, ReserveError>) -> String {
    match answer {
        Ok(Reserved::New(_)) => "new",
        Ok(Reserved::Replayed(_)) => "replay",
        Err(ReserveError::Insufficient { .. }) => "short",
        Err(ReserveError::Closed { .. }) => "closed",
        Err(ReserveError::Full) => "full",
        Err(other) => panic!("{other}"),
    }
    .into()
}

pub fn reserve_for(shop: &Stockade, id: &str, lines: &[(Sku, u32)], ttl_ms: u64) -> String {
    reserved(shop.reserve_for(id, lines, ttl_ms))
}

pub fn extend(shop: &Stockade, id: &str, ttl_ms: u64) -> String {
    match shop.extend(id, ttl_ms) {
        Ok(extended) => format!("until {}", extended.deadline_ms),
        Err(ExtendError::Expired) => "expired".into(),
        Err(ExtendError::InvalidState { actual }) => format!("invalid in {actual}"),
        Err(ExtendError::UnknownOrder) => "unknown".into(),
        Err(other) => panic!("{other}"),
    }
}

pub fn expire_due(shop: &Stockade) -> String {
    format!("let go {:?}", shop.expire_due(1))
}

pub fn pay_late(shop: &Stockade, id: &str) -> String {
    match shop.pay_or_reserve_again(id) {
        Ok(PaidLate::InTime { version }) => format!("in time@{version}"),
        Ok(PaidLate::Again { version }) => format!("again@{version}"),
        Ok(PaidLate::Already { .. }) => "already".into(),
        Err(PayAgainError::Insufficient { .. }) => "sold".into(),
        Err(PayAgainError::InvalidState { actual }) => format!("invalid in {actual}"),
        Err(PayAgainError::UnknownOrder) => "unknown".into(),
        Err(other) => panic!("{other}"),
    }
}

pub fn create(shop: &Stockade, id: &str, lines: &[(Sku, u32)]) -> String {
    match shop.create(id, lines) {
        Ok(Created::New) => "new".into(),
        Ok(Created::Replayed { .. }) => "replay".into(),
        Err(CreateError::Closed { .. }) => "closed".into(),
        Err(CreateError::Full) => "full".into(),
        Err(other) => panic!("{other}"),
    }
}

pub fn cancel(shop: &Stockade, id: &str) -> String {
    match shop.cancel(id) {
        Ok(answer) => cancelled(&answer),
        Err(CancelError::InvalidState { actual }) => format!("invalid in {actual}"),
        Err(other) => panic!("{other}"),
    }
}

pub fn void(shop: &Stockade, id: &str) -> String {
    match shop.void(id) {
        Ok(answer) => cancelled(&answer),
        Err(VoidError::InvalidState { actual }) => format!("invalid in {actual}"),
        Err(other) => panic!("{other}"),
    }
}

fn cancelled(answer: &Cancelled) -> String {
    match answer {
        Cancelled::Released { from, .. } => format!("{} back from {from}", answer.units()),
        Cancelled::Already => "already".into(),
        Cancelled::Unknown => "unknown".into(),
    }
}

pub fn cancel_lines(shop: &Stockade, id: &str, lines: &[(Sku, u32)]) -> String {
    match shop.cancel_lines(id, lines) {
        Ok(answer) => revised(answer),
        Err(CancelLinesError::TooMuch { open, .. }) => format!("only {open} open"),
        Err(CancelLinesError::InvalidState { actual }) => format!("invalid in {actual}"),
        Err(CancelLinesError::Expired) => "expired".into(),
        Err(other) => panic!("{other}"),
    }
}

pub fn fulfil_lines(shop: &Stockade, id: &str, lines: &[(Sku, u32)]) -> String {
    match shop.fulfil_lines(id, lines) {
        Ok(answer) => revised(answer),
        Err(FulfilLinesError::TooMuch { open, .. }) => format!("only {open} open"),
        Err(FulfilLinesError::InvalidState { actual }) => format!("invalid in {actual}"),
        Err(FulfilLinesError::Expired) => "expired".into(),
        Err(other) => panic!("{other}"),
    }
}

pub fn amend(shop: &Stockade, id: &str, lines: &[(Sku, u32)]) -> String {
    match shop.amend(id, lines) {
        Ok(answer) => revised(answer),
        Err(AmendError::Insufficient { .. }) => "short".into(),
        Err(AmendError::TooFew { settled, .. }) => format!("{settled} settled"),
        Err(AmendError::InvalidState { actual }) => format!("invalid in {actual}"),
        Err(AmendError::Expired) => "expired".into(),
        Err(other) => panic!("{other}"),
    }
}

/// What a request with a key was answered.
pub fn once<T: std::fmt::Debug, E: std::fmt::Debug>(answer: Result<Once<T>, KeyedError<E>>) -> String {
    match answer {
        Ok(Once::New(it)) => format!("new {it:?}"),
        Ok(Once::Replayed(it)) => format!("replayed {it:?}"),
        Err(KeyedError::Refused(it)) => format!("refused {it:?}"),
        Err(KeyedError::Reused { field }) => format!("other {field}"),
        Err(other) => panic!("{other:?}"),
    }
}

fn revised(Revised { open, closed, .. }: Revised) -> String {
    format!("{open} open{}", closed.map(|state| format!(", {}", in_words(state))).unwrap_or_default())
}

pub fn keep(hold: Option<Hold<'_>>) -> String {
    hold.map_or("no hold", |hold| if hold.keep().is_ok() { "kept" } else { "closed" }).into()
}

pub fn pay(shop: &Stockade, id: &str) -> String {
    advanced(shop.pay(id))
}

pub fn advanced(answer: Result<Advanced, AdvanceError>) -> String {
    match answer {
        Ok(Advanced::Done { .. }) => "done".into(),
        Ok(Advanced::Already { .. }) => "already".into(),
        Err(AdvanceError::InvalidState { actual }) => format!("invalid in {actual}"),
        Err(AdvanceError::UnknownOrder) => "unknown".into(),
        Err(AdvanceError::Expired) => "expired".into(),
        Err(other) => panic!("{other}"),
    }
}

pub fn transition(shop: &Stockade, id: &str, from: State, to: State) -> String {
    match shop.transition(id, from, to) {
        Ok(_) => "done".into(),
        Err(TransitionError::InvalidState { actual, .. }) => format!("invalid in {actual}"),
        Err(TransitionError::Insufficient { .. }) => "short".into(),
        Err(TransitionError::PartlyFulfilled) => "partly fulfilled".into(),
        Err(other) => panic!("{other}"),
    }
}

/// The row's units and version.
pub fn stock(shop: &Stockade, sku: Sku) -> String {
    shown(shop.stock(sku).unwrap())
}

fn shown(row: Stock) -> String {
    format!("{}@{}", row.available, row.version)
}

pub fn restock(shop: &Stockade, sku: Sku) -> String {
    shown(shop.restock(sku, 1).unwrap())
}

pub fn write_off(shop: &Stockade, sku: Sku) -> String {
    match shop.write_off(sku, 1) {
        Ok(row) => shown(row),
        Err(WriteOffError::Insufficient { available, .. }) => format!("only {available}"),
        Err(other) => panic!("{other}"),
    }
}

pub fn set_available(shop: &Stockade, sku: Sku, version: u64, units: u64) -> String {
    match shop.set_available(sku, version, units) {
        Ok(row) => shown(row),
        Err(SetAvailableError::VersionConflict { current, .. }) => format!("conflict {}", shown(current)),
        Err(other) => panic!("{other}"),
    }
}

/// Books that do not balance are never found, whatever runs meanwhile.
pub fn audit(shop: &Stockade) -> String {
    let audit = shop.audit();
    assert!(audit.is_sound(), "{audit:?}");
    "sound".into()
}

/// The order's state, version and why it was cancelled.
pub fn order(shop: &Stockade, id: &str) -> String {
    shop.order(id).map_or("none".into(), |order| in_short(&order))
}

/// The same, and what became of each line: units open, fulfilled, cancelled.
pub fn order_and_lines(shop: &Stockade, id: &str) -> String {
    let Some(order) = shop.order(id) else { return "none".into() };
    let lines = order.lines.iter().map(|line| format!("{}+{}+{}", line.open, line.fulfilled, line.cancelled));
    format!("{} of {}", in_short(&order), lines.collect::<Vec<_>>().join(" "))
}

fn in_short(order: &Order) -> String {
    let reason = order.cancelled.map(|reason| format!(" {reason:?}")).unwrap_or_default();
    let deadline = order.deadline_ms.map(|ms| format!(" until {ms}")).unwrap_or_default();
    format!("{}@{}{reason}{deadline}", in_words(order.state), order.version)
}

pub fn state(shop: &Stockade, id: &str) -> String {
    shop.order(id).map_or("none", |order| in_words(order.state)).into()
}

pub fn in_words(state: State) -> &'static str {
    match state {
        State::Created => "created",
        State::InventoryReserved => "reserved",
        State::Paid => "paid",
        State::Fulfilled => "fulfilled",
        State::Cancelled => "cancelled",
    }
}

/// Units left of a row, whose books must balance.
pub fn left(shop: &Stockade, sku: Sku) -> u64 {
    let left = shop.balance(sku).unwrap();
    assert!(left.is_sound(), "{left:?}");
    left.available
}
