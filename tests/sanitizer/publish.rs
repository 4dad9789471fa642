//! Whoever sees the effect of a verb sees what its caller had written before: for every verb that has an effect, and
//! the ways in which it can be seen.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use stockade_hooked::State::{self, Cancelled, Created, Fulfilled, InventoryReserved, Paid};
use stockade_hooked::{Keep, Keyed, RequestKey, ReserveError, Stockade, TransitionError};

use crate::pace;
use crate::plain::Plain;

/// More than a segment of the index holds, so that it grows meanwhile.
const ROUNDS: usize = 2_000;

/// A verb, what must be there before, and how another thread sees that it has happened. The key names a row, and the
/// order of its one unit.
struct Way {
    name: &'static str,
    before: fn(&Stockade, &str),
    act: fn(&Stockade, &str),
    seen: fn(&Stockade, &str) -> bool,
}

const fn way(
    name: &'static str,
    before: fn(&Stockade, &str),
    act: fn(&Stockade, &str),
    seen: fn(&Stockade, &str) -> bool,
) -> Way {
    Way { name, before, act, seen }
}

const WAYS: &[Way] = &[
    way("add_sku", |_, _| {}, stocked, |s, k| s.sku(k).is_some()),
    way("restock", empty, restock, can_be_taken),
    way("restock, in the books", empty, restock, |s, k| s.balance(k).is_ok_and(|it| it.received == 1)),
    way("write_off", stocked, |s, k| _ = s.write_off(k, 1).unwrap(), is_gone),
    way("set_available", empty, |s, k| _ = s.set_available(k, 0, 1).unwrap(), can_be_taken),
    way("create", stocked, create, |s, k| is(s, k, Created)),
    way("create, among all orders", stocked, create, |s, k| s.orders().any(|order| order.id == k)),
    way("reserve", stocked, reserve, |s, k| is(s, k, InventoryReserved)),
    way("reserve, in the stock", stocked, reserve, is_gone),
    way("reserve, by a refusal", stocked, reserve, is_short),
    way("reserve of a created order", created, reserve, |s, k| is(s, k, InventoryReserved)),
    way("transition", created, |s, k| _ = s.transition(k, Created, InventoryReserved).unwrap(), is_gone),
    way("hold", stocked, |s, k| _ = s.hold(k, &[(k, 1)]).unwrap().keep().unwrap(), is_gone),
    way("hold dropped", stocked, |s, k| drop(s.hold(k, &[(k, 1)]).unwrap()), |s, k| is(s, k, Cancelled)),
    way("pay", reserved, pay, |s, k| is(s, k, Paid)),
    way("fulfil", paid, |s, k| _ = s.fulfil(k).unwrap(), |s, k| is(s, k, Fulfilled)),
    way("cancel", reserved, cancel, |s, k| is(s, k, Cancelled)),
    way("cancel, in the stock", paid, cancel, is_back),
    way("cancel, by a refusal", created, cancel, is_closed),
    way("void", reserved, void, is_back),
    way("void of an unknown id", stocked, void, is_closed),
    way("cancel_lines", two_paid, cancel_one, one_open),
    way("cancel_lines, in the stock", two_paid, cancel_one, is_back),
    way("cancel_lines, by the end of the order", reserved, cancel_one, |s, k| is(s, k, Cancelled)),
    way("amend", two_paid, amend, one_open),
    way("amend, in the stock", two_paid, amend, is_back),
    way("fulfil_lines", two_paid, fulfil_one, one_open),
    way("fulfil_lines, in the books", two_paid, fulfil_one, |s, k| s.balance(k).is_ok_and(|it| it.shipped == 1)),
    way("fulfil_lines, by a refusal", paid, fulfil_one, |s, k| {
        s.transition(k, Created, Cancelled)
            == Err(TransitionError::InvalidState { expected: Created, actual: Fulfilled })
    }),
    way("restock with a key", empty, |s, k| _ = keyed(s, k).restock(k, 1).unwrap(), can_be_taken),
    way("write_off with a key", stocked, |s, k| _ = keyed(s, k).write_off(k, 1).unwrap(), is_gone),
    way("amend with a key", two_paid, |s, k| _ = keyed(s, k).amend(k, &[(k, 1)]).unwrap(), one_open),
    way("cancel_lines with a key", two_paid, |s, k| _ = keyed(s, k).cancel_lines(k, &[(k, 1)]).unwrap(), is_back),
    way("fulfil_lines with a key", two_paid, |s, k| _ = keyed(s, k).fulfil_lines(k, &[(k, 1)]).unwrap(), one_open),
];

/// The same in an engine that forgets.
const FORGETTING: &[Way] = &[
    way("forget_finished", old, forget, |s, k| s.sku(k).is_some() && s.order(k).is_none()),
    way("forget_finished, by a new order", old, forget, |s, k| s.sku(k).is_some() && s.reserve(k, &[(k, 1)]).is_ok()),
];

fn keyed<'a>(shop: &'a Stockade, key: &'a str) -> Keyed<'a> {
    shop.keyed(RequestKey { id: key, issued: 1 })
}

/// An order that ended before enough others did. The row comes last: whoever sees it knows that the order was there.
fn old(shop: &Stockade, key: &str) {
    void(shop, key);
    (0..17).for_each(|other| void(shop, &format!("{key}/{other}")));
    stocked(shop, key);
}

fn forget(shop: &Stockade, _: &str) {
    assert!(shop.forget_finished(usize::MAX) > 0);
}

fn empty(shop: &Stockade, key: &str) {
    shop.add_sku(key, 0).unwrap();
}

fn stocked(shop: &Stockade, key: &str) {
    shop.add_sku(key, 1).unwrap();
}

fn created(shop: &Stockade, key: &str) {
    stocked(shop, key);
    create(shop, key);
}

fn reserved(shop: &Stockade, key: &str) {
    stocked(shop, key);
    reserve(shop, key);
}

fn paid(shop: &Stockade, key: &str) {
    reserved(shop, key);
    pay(shop, key);
}

/// The order of two, of two units that there are.
fn two_paid(shop: &Stockade, key: &str) {
    shop.add_sku(key, 2).unwrap();
    let _ = shop.reserve(key, &[(key, 2)]).unwrap();
    pay(shop, key);
}

fn restock(shop: &Stockade, key: &str) {
    shop.restock(key, 1).unwrap();
}

fn create(shop: &Stockade, key: &str) {
    let _ = shop.create(key, &[(key, 1)]).unwrap();
}

fn reserve(shop: &Stockade, key: &str) {
    let _ = shop.reserve(key, &[(key, 1)]).unwrap();
}

fn pay(shop: &Stockade, key: &str) {
    let _ = shop.pay(key).unwrap();
}

fn cancel(shop: &Stockade, key: &str) {
    let _ = shop.cancel(key).unwrap();
}

fn void(shop: &Stockade, key: &str) {
    let _ = shop.void(key).unwrap();
}

fn cancel_one(shop: &Stockade, key: &str) {
    let _ = shop.cancel_lines(key, &[(key, 1)]).unwrap();
}

fn fulfil_one(shop: &Stockade, key: &str) {
    let _ = shop.fulfil_lines(key, &[(key, 1)]).unwrap();
}

fn amend(shop: &Stockade, key: &str) {
    let _ = shop.amend(key, &[(key, 1)]).unwrap();
}

fn one_open(shop: &Stockade, key: &str) -> bool {
    shop.order(key).is_some_and(|order| order.lines[0].open == 1)
}

fn is(shop: &Stockade, key: &str, state: State) -> bool {
    shop.order(key).is_some_and(|order| order.state == state)
}

fn is_gone(shop: &Stockade, key: &str) -> bool {
    shop.stock(key).is_ok_and(|stock| stock.available == 0)
}

fn is_back(shop: &Stockade, key: &str) -> bool {
    shop.stock(key).is_ok_and(|stock| (stock.available, stock.version) == (1, 2))
}

fn can_be_taken(shop: &Stockade, key: &str) -> bool {
    shop.reserve(&format!("next {key}"), &[(key, 1)]).is_ok()
}

fn is_short(shop: &Stockade, key: &str) -> bool {
    match shop.reserve(&format!("next {key}"), &[(key, 2)]) {
        Err(ReserveError::Insufficient { short }) => short.0[0].available == 0,
        _ => false,
    }
}

fn is_closed(shop: &Stockade, key: &str) -> bool {
    matches!(shop.reserve(key, &[(key, 1)]), Err(ReserveError::Closed { .. }))
}

/// For every way: one thread writes plain memory and acts, another waits until it sees that and writes there, too.
pub fn run() {
    pass_on(WAYS, Stockade::new);
    pass_on(FORGETTING, || Stockade::builder().keep_finished(Keep::Newest(1)).build().unwrap());
    println!("{} ways to pass something on, {ROUNDS} times each", WAYS.len() + FORGETTING.len());
}

fn pass_on(ways: &'static [Way], engine: fn() -> Stockade) {
    for way in ways {
        let shop: &Stockade = Box::leak(Box::new(engine()));
        let memory: &[Plain] = Vec::leak((0..ROUNDS).map(|_| Plain::default()).collect());
        let turn: &AtomicUsize = Box::leak(Box::default());
        let writer = pace::spawn(1, move |_| {
            for (round, plain) in memory.iter().enumerate() {
                // Not further ahead: what the engine does for the next key must not make up for this one.
                while turn.load(Relaxed) < round {
                    thread::yield_now();
                }
                let key = format!("key {round}");
                (way.before)(shop, &key);
                plain.touch();
                (way.act)(shop, &key);
            }
        });
        let reader = pace::spawn(2, move |_| {
            for (round, plain) in memory.iter().enumerate() {
                let key = format!("key {round}");
                while !(way.seen)(shop, &key) {
                    thread::yield_now();
                }
                assert_eq!(plain.touch(), 2, "{}", way.name);
                turn.store(round + 1, Relaxed);
            }
        });
        writer.join().unwrap();
        reader.join().unwrap();
    }
}
