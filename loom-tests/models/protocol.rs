//! The protocol: reserve, cancel, pay and reads against each other, on one row and on two.

use stockade_loom::model::{Class, Loads};

use crate::run::{Expect, Model, TWO_THREADS};
use crate::shop::{cancel, left, pay, race, reserve, reserve_too_late, shop, shop_with_order, state};

const WITH_INDEX: &[Class] = &[Class::Protocol, Class::Cells];

pub const MODELS: &[Model] = &[
    Model {
        name: "last unit: reserve, reserve",
        expect: Expect::Exactly(&["new short left 0", "short new left 0"]),
        race: last_unit,
        ..TWO_THREADS
    },
    Model {
        name: "reader: stock then order, reserve",
        expect: Expect::Exactly(&["1 none", "1 reserved", "0 reserved"]),
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
        ..TWO_THREADS
    },
    Model {
        name: "reader: order then stock, reserve",
        expect: Expect::Exactly(&["none 1", "none 0", "reserved 0"]),
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
        ..TWO_THREADS
    },
    Model {
        name: "cancel seen, then reserve",
        expect: Expect::Exactly(&["not seen left 1", "seen new left 0"]),
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
        ..TWO_THREADS
    },
    Model {
        name: "cancel, pay",
        expect: Expect::Exactly(&["from INVENTORY_RESERVED, invalid in CANCELLED left 1", "from PAID, done left 1"]),
        race: || {
            let (shop, a) = shop_with_order(1, 1);
            let [cancel, pay] =
                race(&shop, [Box::new(|shop| cancel(shop, "first")), Box::new(|shop| pay(shop, "first"))]);
            format!("{cancel}, {pay} left {}", left(&shop, a))
        },
        ..TWO_THREADS
    },
    Model {
        name: "cancel, cancel",
        expect: Expect::Exactly(&[
            "from INVENTORY_RESERVED, already left 1",
            "already, from INVENTORY_RESERVED left 1",
        ]),
        race: || {
            let (shop, a) = shop_with_order(1, 1);
            let [one, other] =
                race(&shop, [Box::new(|shop| cancel(shop, "first")), Box::new(|shop| cancel(shop, "first"))]);
            format!("{one}, {other} left {}", left(&shop, a))
        },
        ..TWO_THREADS
    },
    Model {
        name: "same id: reserve, reserve",
        expect: Expect::Exactly(&["new replay left 1", "replay new left 1"]),
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
        ..TWO_THREADS
    },
    // `both` has looked and found enough, then its first row is written off: on its way to a refusal it freezes the second. Nobody may be
    // refused for that; whoever meets it finishes it.
    Model {
        name: "must fail beside must not be refused",
        expect: Expect::Exactly(&["both short, one new, alone", "both short, one new, helping"]),
        second: Loads::PlainLoads,
        race: || {
            let (shop, b) = shop(1);
            let a = shop.add_sku("A2", 1).unwrap();
            let [both, one] = race(
                &shop,
                [
                    Box::new(move |shop| reserve_too_late(shop, "both", [(b, 1), (a, 1)])),
                    Box::new(move |shop| reserve(shop, "one", &[(a, 1)])),
                ],
            );
            assert_eq!(left(&shop, a), 0);
            left(&shop, b);
            let helping = if shop.stats().helped > 0 { "helping" } else { "alone" };
            format!("both {both}, one {one}, {helping}")
        },
        ..TWO_THREADS
    },
    Model {
        name: "two rows, two orders crossing",
        expect: Expect::Exactly(&["new short left 0 0", "short new left 0 0"]),
        second: Loads::PlainLoads,
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
        ..TWO_THREADS
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
