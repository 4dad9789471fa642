//! The specification: what the plain sequential engine (`support/sequential.rs`, the one that `properties.rs` uses)
//! answers to a call, as text. Whoever wants to know what is right reads that file; nothing is decided here.

use std::fmt::Debug;
use std::sync::LazyLock;

use stockade::{KeyedError, Line, Once, RequestKey, Sku, State, Stockade};

use super::answer::{field, forgot, left, once, released, say, seen, told};
use super::op::{Name, Op, SKUS};
use super::sequential::keyed::First;
use super::sequential::{Kept, Left, Order, Sequential};

/// The sequential engine does not make handles; these stand for its rows.
static HANDLES: LazyLock<[Sku; SKUS.len()]> = LazyLock::new(|| {
    let engine = Stockade::new();
    SKUS.map(|sku| engine.add_sku(sku, 0).expect("a new row"))
});

fn handle(sku: Name) -> Option<Sku> {
    HANDLES.iter().copied().zip(SKUS).find(|(_, name)| *name == sku).map(|(handle, _)| handle)
}

/// A sequential engine with these rows, that keeps finished orders for so long.
pub fn engine(rows: &[(Name, u64)], keep_ms: Option<u64>) -> Sequential {
    let mut plain = Sequential::default();
    plain.keep = keep_ms.map(Kept::ForMs);
    for (sku, units) in rows {
        plain.add_sku(sku, *units, handle(sku)).expect("a new row");
    }
    plain
}

/// Whether an order is the one of which a hold was told this number. Another may have come under its id by now; and one
/// of which nobody has been told a number is not the hold's.
fn is_the(order: &Order, number: Option<u64>) -> bool {
    number.is_none() || order.number == number
}

/// Notes the number that a caller was told of an order.
pub fn note_number(plain: &mut Sequential, op: &Op, answer: &str) {
    let (Op::Reserve(id, _) | Op::ReserveFor(id, ..) | Op::Hold(id, _)) = op else { return };
    if let (Some(number), Some(order)) = (field(answer, "number"), plain.orders.get_mut(*id)) {
        order.number = Some(number);
    }
}

/// One call to the sequential engine.
pub fn take(plain: &mut Sequential, op: &Op) -> String {
    match op {
        Op::AddSku(sku, units) => say(plain.add_sku(sku, *units, handle(sku)).map(|_| ())),
        Op::Stock(sku) => stock(plain, sku),
        Op::Restock(sku, units) => say(plain.restock(sku, *units)),
        Op::WriteOff(sku, units) => say(plain.write_off(sku, *units)),
        Op::SetAvailable(sku, version, units) => say(plain.set_available(sku, *version, *units)),
        Op::Create(id, lines) => told(plain.create(id, lines).map(|new| match new {
            true => "New".to_string(),
            false => format!("Replayed {{ state: {:?} }}", plain.orders[*id].state),
        })),
        Op::Reserve(id, lines) | Op::Hold(id, lines) => told(plain.reserve(id, lines).map(reserved)),
        Op::ReserveFor(id, lines, ttl_ms) => told(plain.reserve_for(id, lines, *ttl_ms).map(reserved)),
        Op::Extend(id, ttl_ms) => say(plain.extend(id, *ttl_ms)),
        Op::Keep(id, number) => match plain.orders.get(*id).filter(|order| is_the(order, *number)).map(|it| it.state) {
            None | Some(State::Cancelled) => "Err(HoldClosed { state: Cancelled })".to_string(),
            Some(_) => RESERVATION.to_string(),
        },
        Op::Drop(id) => {
            plain.drop_hold(id);
            "dropped".to_string()
        }
        Op::DropReplayed(_) => "dropped".to_string(),
        Op::Cancel(id) => {
            let known = plain.orders.contains_key(*id);
            told(plain.cancel(id).map(|gone| cancelled(plain, gone, known)))
        }
        Op::Void(id) => {
            let known = plain.orders.contains_key(*id);
            told(plain.void(id).map(|gone| cancelled(plain, gone, known)))
        }
        Op::Pay(id) => say(plain.pay(id)),
        Op::PayOrReserveAgain(id) => say(plain.pay_or_reserve_again(id)),
        Op::Fulfil(id) => say(plain.fulfil(id)),
        Op::Transition(id, from, to) => say(plain.transition(id, *from, *to)),
        Op::CancelLines(id, lines) => told(plain.cancel_lines(id, lines).map(revised)),
        Op::FulfilLines(id, lines) => told(plain.fulfil_lines(id, lines).map(revised)),
        Op::Amend(id, lines) => told(plain.amend(id, lines).map(revised)),
        Op::Keyed(key, op) => keyed(plain, RequestKey { id: key, issued: 1 }, op),
        Op::Forget => forgot(plain.forget_finished().len()),
        Op::Order(id) => order(plain, id),
        Op::Wait(ms) => {
            plain.advance_ms(*ms);
            String::new()
        }
        Op::Crowd(..) => String::new(),
    }
}

fn keyed(plain: &mut Sequential, key: RequestKey<'_>, op: &Op) -> String {
    match op {
        Op::Restock(sku, units) => first(plain.keyed_restock(key, sku, *units)),
        Op::WriteOff(sku, units) => first(plain.keyed_write_off(key, sku, *units)),
        Op::SetAvailable(sku, version, units) => first(plain.keyed_set_available(key, sku, *version, *units)),
        Op::CancelLines(id, lines) => first(plain.keyed_cancel_lines(key, id, lines)),
        Op::FulfilLines(id, lines) => first(plain.keyed_fulfil_lines(key, id, lines)),
        Op::Amend(id, lines) => first(plain.keyed_amend(key, id, lines)),
        other => unreachable!("it cannot have a key: {other}"),
    }
}

/// Binds the key of a request, without carrying that out; whether it was not bound, and can be.
pub fn bind(plain: &mut Sequential, op: &Op) -> bool {
    let Op::Keyed(key, _) = op else { return false };
    let mut carried_out = plain.clone();
    take(&mut carried_out, op);
    plain.bind(RequestKey { id: key, issued: 1 }, &carried_out)
}

fn first<E: Debug>(answer: Result<Once<First>, KeyedError<E>>) -> String {
    let first = |first| match first {
        First::Row(stock) => format!("{stock:?}"),
        First::Order(left) => revised(left),
    };
    match answer {
        Ok(Once::New(it)) => once(true, it, first),
        Ok(Once::Replayed(it)) => once(false, it, first),
        Err(KeyedError::Refused(refusal)) => told(Err(refusal)),
        Err(key) => told(Err(key)),
    }
}

/// Every accepted reserve is the step from version 0 to 1.
const RESERVATION: &str = "Reservation { number: _, version: 1 }";

fn reserved(new: bool) -> String {
    let who = if new { "New" } else { "Replayed" };
    format!("{who}({RESERVATION})")
}

fn stock(plain: &Sequential, sku: Name) -> String {
    let row = plain.rows.iter().find(|row| row.name == sku).map(|row| row.stock);
    say(row.ok_or_else(|| stockade::UnknownSku { sku: sku.into() }))
}

fn cancelled(plain: &Sequential, gone: Option<(State, Vec<Line>)>, known: bool) -> String {
    let name = |line: &Line| {
        let row = plain.rows.iter().find(|row| row.sku == line.sku);
        (row.expect("a row of this engine").name.clone(), line.quantity)
    };
    match gone {
        Some((from, lines)) => released(from, &lines.iter().map(name).collect::<Vec<_>>()),
        None => if known { "Already" } else { "Unknown" }.to_string(),
    }
}

fn revised(revised: Left) -> String {
    match revised {
        Left::Open { units } => left(units, None::<State>),
        Left::Ended(state) => left(0, Some(state)),
    }
}

fn order(plain: &Sequential, id: Name) -> String {
    let Some(order) = plain.orders.get(id) else { return "no order".to_string() };
    let lines = order.lines.iter().map(|(row, part)| {
        (plain.rows[*row].name.clone(), [part.ordered(), part.open, part.fulfilled, part.cancelled])
    });
    seen(order.state, order.version, &lines.collect::<Vec<_>>(), order.cancelled, order.deadline_ms)
}
