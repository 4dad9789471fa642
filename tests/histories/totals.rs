//! What no single answer shows: what the engine counted is what it answered, and all who were told yes for one id were
//! told the same number, which is nobody else's.

use std::collections::BTreeMap;

use stockade::{OrdersByState, Refusals, State};

use super::answer::{field, kind};
use super::history::{Event, History};
use super::op::{Name, Op};
use super::sequential::Sequential;

pub fn agree(history: &History, end: &Sequential, counted: Option<String>) -> Result<(), String> {
    one_number_for_one_id(history)?;
    let answered = counts(history, end);
    match counted {
        Some(counted) if counted != answered => Err(format!("answers: {answered}\nengine:  {counted}")),
        _ => Ok(()),
    }
}

/// Unless an id had several lives: then it has several numbers, and somebody else may have one of them by now.
fn one_number_for_one_id(history: &History) -> Result<(), String> {
    if history.events.iter().any(|event| kind(&event.answer) == "Forgot") {
        return Ok(());
    }
    let mut told: BTreeMap<Name, u64> = BTreeMap::new();
    for Event { op, answer, .. } in &history.events {
        let (Op::Reserve(id, _) | Op::ReserveFor(id, ..) | Op::Hold(id, _) | Op::Keep(id, _)) = op else { continue };
        let Some(number) = field(answer, "number") else { continue };
        let taken = told.iter().any(|(other, its)| other != id && *its == number);
        if taken || *told.entry(id).or_insert(number) != number {
            return Err(format!("{op} was told number {number}; before that: {told:?}"));
        }
    }
    Ok(())
}

/// In the words of the engine's own counts.
fn counts(history: &History, end: &Sequential) -> String {
    let mut refusals = Refusals::default();
    let mut replays = 0;
    for event in &history.events {
        match counter(&event.op, &kind(&event.answer), &mut refusals) {
            Some(counter) => *counter += 1,
            None if is_replay(&event.op, &kind(&event.answer)) => replays += 1,
            None => {}
        }
    }
    let count = |state| end.orders.values().filter(|order| order.state == state).count() as u64;
    let crowd = history.events.iter().map(|event| if let Op::Crowd(from, to) = event.op { to - from } else { 0 });
    let mut orders = OrdersByState::default();
    orders.created = count(State::Created) + crowd.sum::<u64>();
    orders.inventory_reserved = count(State::InventoryReserved);
    orders.paid = count(State::Paid);
    orders.fulfilled = count(State::Fulfilled);
    orders.cancelled = count(State::Cancelled);
    format!("{refusals:?} {orders:?} replays {replays} out of balance []")
}

/// An answer that an earlier, equal call had been given. Closing a hold is no request.
fn is_replay(op: &Op, kind: &str) -> bool {
    (kind == "Replayed" || kind == "Already") && !matches!(op, Op::Keep(..) | Op::Drop(_) | Op::DropReplayed(_))
}

fn counter<'a>(op: &Op, kind: &str, refusals: &'a mut Refusals) -> Option<&'a mut u64> {
    Some(match kind.strip_prefix("Err ")? {
        "HoldClosed" => return None,
        "Expired" => &mut refusals.expired,
        "InvalidState" | "NoDeadline" | "PartlyFulfilled" => &mut refusals.invalid_state,
        "Insufficient" => &mut refusals.insufficient,
        "TooMuch" | "TooFew" => &mut refusals.too_much,
        "Reused" => &mut refusals.key_reused,
        "LinesDiffer" => &mut refusals.lines_differ,
        "Closed" => &mut refusals.closed,
        "UnknownSku" => &mut refusals.unknown_sku,
        "UnknownOrder" => &mut refusals.unknown_order,
        "SkuExists" => &mut refusals.sku_exists,
        "Overflow" => &mut refusals.overflow,
        "VersionConflict" => &mut refusals.version_conflict,
        "Full" | "Exhausted" => &mut refusals.full,
        "NoLines" | "ZeroQuantity" | "QuantityOverflow" | "TooManyLines" | "EmptyKey" | "KeyTooLong" | "ZeroTtl"
        | "NotAllowed" => &mut refusals.invalid,
        other => panic!("{op} was refused for a reason without a counter: {other}"),
    })
}
