//! The protocol: reserve, cancel, pay and reads against each other, on one row and on two.

use std::sync::Arc;

use stockade_loom::hooks::{Step, with_hook};
use stockade_loom::model::{Class, set_shard};
use stockade_loom::{AdvanceError, Advanced, CancelError, Cancelled, ReserveError, Reserved, Sku, State, Stockade};

use crate::run::{Expect, Model};

const PROTOCOL: &[Class] = &[Class::Protocol];
const WITH_INDEX: &[Class] = &[Class::Protocol, Class::Cells];

pub const MODELS: &[Model] = &[
    Model {
        name: "last unit: reserve, reserve",
        expect: Expect::Exactly(&["new short left 0", "short new left 0"]),
        preemptions: None,
        words: PROTOCOL,
        race: last_unit,
    },
    Model {
        name: "reader: stock then order, reserve",
        expect: Expect::Exactly(&["1 none", "1 reserved", "0 reserved"]),
        preemptions: None,
        words: WITH_INDEX,
        race: || {
            let (shop, a) = shop(1);
            let [read, _] = race(
                &shop,
                [
                    Box::new(move |shop| {
                        let stock = shop.stock(a).unwrap().available;
                        format!("{stock} {}", state(shop, "first"))
                    }),
                    Box::new(move |shop| reserve(shop, "first", &[(a, 1)])),
                ],
            );
            read
        },
    },
    Model {
        name: "reader: order then stock, reserve",
        expect: Expect::Exactly(&["none 1", "none 0", "reserved 0"]),
        preemptions: None,
        words: WITH_INDEX,
        race: || {
            let (shop, a) = shop(1);
            let [read, _] = race(
                &shop,
                [
                    Box::new(move |shop| {
                        let order = state(shop, "first");
                        format!("{order} {}", shop.stock(a).unwrap().available)
                    }),
                    Box::new(move |shop| reserve(shop, "first", &[(a, 1)])),
                ],
            );
            read
        },
    },
    Model {
        name: "cancel seen, then reserve",
        expect: Expect::Exactly(&["not seen left 1", "seen new left 0"]),
        preemptions: None,
        words: PROTOCOL,
        race: || {
            let (shop, a) = shop_with_order(1, 1);
            let [seen, _] = race(
                &shop,
                [
                    Box::new(move |shop| match state(shop, "first").as_str() {
                        "cancelled" => format!("seen {}", reserve(shop, "second", &[(a, 1)])),
                        _ => "not seen".into(),
                    }),
                    Box::new(|shop| cancel(shop, "first")),
                ],
            );
            format!("{seen} left {}", left(&shop, a))
        },
    },
    Model {
        name: "cancel, pay",
        expect: Expect::Exactly(&["from INVENTORY_RESERVED, invalid in CANCELLED left 1", "from PAID, done left 1"]),
        preemptions: None,
        words: PROTOCOL,
        race: || {
            let (shop, a) = shop_with_order(1, 1);
            let [cancel, pay] =
                race(&shop, [Box::new(|shop| cancel(shop, "first")), Box::new(|shop| pay(shop, "first"))]);
            format!("{cancel}, {pay} left {}", left(&shop, a))
        },
    },
    Model {
        name: "cancel, cancel",
        expect: Expect::Exactly(&[
            "from INVENTORY_RESERVED, already left 1",
            "already, from INVENTORY_RESERVED left 1",
        ]),
        preemptions: None,
        words: PROTOCOL,
        race: || {
            let (shop, a) = shop_with_order(1, 1);
            let [one, other] =
                race(&shop, [Box::new(|shop| cancel(shop, "first")), Box::new(|shop| cancel(shop, "first"))]);
            format!("{one}, {other} left {}", left(&shop, a))
        },
    },
    Model {
        name: "same id: reserve, reserve",
        expect: Expect::Exactly(&["new replay left 1", "replay new left 1"]),
        preemptions: None,
        words: PROTOCOL,
        race: || {
            let (shop, a) = shop(2);
            let [one, other] = race(
                &shop,
                [
                    Box::new(move |shop| reserve(shop, "first", &[(a, 1)])),
                    Box::new(move |shop| reserve(shop, "first", &[(a, 1)])),
                ],
            );
            format!("{one} {other} left {}", left(&shop, a))
        },
    },
    // `both` has looked and found enough, then B is written off: on its way to a refusal it has A frozen. Nobody may be
    // refused for that; whoever meets it finishes it.
    Model {
        name: "must fail beside must not be refused",
        expect: Expect::Exactly(&["both short, one new, alone", "both short, one new, helping"]),
        preemptions: None,
        words: PROTOCOL,
        race: || {
            let (shop, a) = shop(1);
            let b = shop.add_sku("B", 1).unwrap();
            let [both, one] = race(
                &shop,
                [
                    Box::new(move |shop| {
                        let meddler = Arc::clone(shop);
                        let write_off = move |step| {
                            if step == Step::Drafted {
                                let _ = meddler.write_off(b, 1);
                            }
                        };
                        with_hook(write_off, || reserve(shop, "both", &[(a, 1), (b, 1)]))
                    }),
                    Box::new(move |shop| reserve(shop, "one", &[(a, 1)])),
                ],
            );
            assert_eq!((left(&shop, a), left(&shop, b)), (0, 0));
            let helping = if shop.stats().helped > 0 { "helping" } else { "alone" };
            format!("both {both}, one {one}, {helping}")
        },
    },
    Model {
        name: "two rows, two orders crossing",
        expect: Expect::Exactly(&["new short left 0 0", "short new left 0 0"]),
        preemptions: None,
        words: PROTOCOL,
        race: || {
            let (shop, a) = shop(1);
            let b = shop.add_sku("B", 1).unwrap();
            let [one, other] = race(
                &shop,
                [
                    Box::new(move |shop| reserve(shop, "first", &[(a, 1), (b, 1)])),
                    Box::new(move |shop| reserve(shop, "second", &[(b, 1), (a, 1)])),
                ],
            );
            format!("{one} {other} left {} {}", left(&shop, a), left(&shop, b))
        },
    },
];

/// Two orders, one unit.
pub fn last_unit() -> String {
    let (shop, a) = shop(1);
    let [first, second] = race(
        &shop,
        [
            Box::new(move |shop| reserve(shop, "first", &[(a, 1)])),
            Box::new(move |shop| reserve(shop, "second", &[(a, 1)])),
        ],
    );
    format!("{first} {second} left {}", left(&shop, a))
}

type Actor = Box<dyn FnOnce(&Arc<Stockade>) -> String + Send>;

fn shop(units: u64) -> (Arc<Stockade>, Sku) {
    let shop = Stockade::new();
    let a = shop.add_sku("A", units).unwrap();
    (Arc::new(shop), a)
}

/// Runs the actors, the first on this thread, and tells what each was answered.
fn race<const N: usize>(shop: &Arc<Stockade>, actors: [Actor; N]) -> [String; N] {
    let mut actors = actors.into_iter();
    let first = actors.next().unwrap();
    let others: Vec<_> = actors
        .enumerate()
        .map(|(i, actor)| {
            let shop = Arc::clone(shop);
            loom::thread::spawn(move || {
                set_shard(i + 1);
                actor(&shop)
            })
        })
        .collect();
    let mut answers = vec![first(shop)];
    answers.extend(others.into_iter().map(|other| other.join().unwrap()));
    answers.try_into().unwrap()
}

fn reserve(shop: &Stockade, id: &str, lines: &[(Sku, u32)]) -> String {
    match shop.reserve(id, lines) {
        Ok(Reserved::New(_)) => "new",
        Ok(Reserved::Replayed(_)) => "replay",
        Err(ReserveError::Insufficient { .. }) => "short",
        Err(ReserveError::Closed { .. }) => "closed",
        Err(other) => panic!("{other}"),
    }
    .into()
}

/// A shop in which order `first` holds some units.
fn shop_with_order(units: u64, held: u32) -> (Arc<Stockade>, Sku) {
    let (shop, a) = shop(units);
    assert_eq!(reserve(&shop, "first", &[(a, held)]), "new");
    (shop, a)
}

fn cancel(shop: &Stockade, id: &str) -> String {
    match shop.cancel(id) {
        Ok(Cancelled::Released { from, .. }) => format!("from {from}"),
        Ok(Cancelled::Already) => "already".into(),
        Ok(Cancelled::Unknown) => "unknown".into(),
        Err(CancelError::InvalidState { actual }) => format!("invalid in {actual}"),
        Err(other) => panic!("{other}"),
    }
}

fn pay(shop: &Stockade, id: &str) -> String {
    match shop.pay(id) {
        Ok(Advanced::Done { .. }) => "done".into(),
        Ok(Advanced::Already { .. }) => "already".into(),
        Err(AdvanceError::InvalidState { actual }) => format!("invalid in {actual}"),
        Err(other) => panic!("{other}"),
    }
}

fn state(shop: &Stockade, id: &str) -> String {
    match shop.order(id).map(|order| order.state) {
        None => "none",
        Some(State::Created) => "created",
        Some(State::InventoryReserved) => "reserved",
        Some(State::Paid) => "paid",
        Some(State::Fulfilled) => "fulfilled",
        Some(State::Cancelled) => "cancelled",
    }
    .into()
}

fn left(shop: &Stockade, sku: Sku) -> u64 {
    let left = shop.balance(sku).unwrap();
    assert!(left.is_sound(), "{left:?}");
    left.available
}
