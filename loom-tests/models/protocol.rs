//! Races that say something a pair of verbs does not: what a thread may conclude from what it has seen before, and one
//! order that must be refused beside one that must not.

use stockade_loom::model::Class;

use crate::run::{Expect, Model};
use crate::shop::{Shop, cancel, create, left, reserve, shop, shop_with_order, state, take, take_too_late, two};

const WITH_INDEX: &[Class] = &[Class::Protocol, Class::Cells];

pub fn models() -> Vec<Model> {
    vec![must_fail_beside_must_not(), stock_then_order(), order_then_stock(), cancel_seen()]
}

/// `both` has looked and found enough, then its first row is written off: on its way to a refusal it freezes the
/// second. Nobody may be refused for that; whoever meets it finishes it. (The ids have different fingerprints in the
/// index, or each find would look at the other's order as well, and the executions were eight times as many.)
fn must_fail_beside_must_not() -> Model {
    let outcomes = Expect::exactly(&["both short, one done, alone", "both short, one done, helping"]);
    let race = || {
        let (shop, b) = shop(1);
        let a = shop.add_sku("A2", 1).unwrap();
        assert_eq!(create(&shop, "both", &[(b, 1), (a, 1)]), "new");
        assert_eq!(create(&shop, "single", &[(a, 1)]), "new");
        let [both, one] = two(&shop, |shop| take_too_late(shop, "both", b), |shop| take(shop, "single"));
        assert_eq!(left(&shop, a), 0);
        left(&shop, b);
        let helping = if shop.stats().helped > 0 { "helping" } else { "alone" };
        format!("both {both}, one {one}, {helping}")
    };
    Model::new("must fail beside must not be refused", outcomes, race)
}

fn stock_then_order() -> Model {
    let race = || {
        let (shop, a) = shop(1);
        let read = |shop: &Shop| {
            let stock = shop.stock(a).unwrap().available;
            format!("{stock} {}", state(shop, "first"))
        };
        let [read, _] = two(&shop, read, move |shop| reserve(shop, "first", &[(a, 1)]));
        read
    };
    let outcomes = Expect::exactly(&["1 none", "1 reserved", "0 reserved"]);
    Model { words: WITH_INDEX, ..Model::new("reader: stock then order, reserve", outcomes, race) }
}

fn order_then_stock() -> Model {
    let race = || {
        let (shop, a) = shop(1);
        let read = |shop: &Shop| {
            let order = state(shop, "first");
            format!("{order} {}", shop.stock(a).unwrap().available)
        };
        let [read, _] = two(&shop, read, move |shop| reserve(shop, "first", &[(a, 1)]));
        read
    };
    let outcomes = Expect::exactly(&["none 1", "none 0", "reserved 0"]);
    Model { words: WITH_INDEX, ..Model::new("reader: order then stock, reserve", outcomes, race) }
}

/// Who has seen an order cancelled finds its units.
fn cancel_seen() -> Model {
    let race = || {
        let (shop, a) = shop_with_order(1, 1);
        let reserve_if_cancelled = |shop: &Shop| match state(shop, "first").as_str() {
            "cancelled" => format!("seen {}", reserve(shop, "second", &[(a, 1)])),
            _ => "not seen".into(),
        };
        let [seen, _] = two(&shop, reserve_if_cancelled, |shop| cancel(shop, "first"));
        format!("{seen} left {}", left(&shop, a))
    };
    let outcomes = Expect::exactly(&["not seen left 1", "seen new left 0"]);
    Model::new("cancel seen, then reserve", outcomes, race)
}

/// Two orders, one unit.
pub fn last_unit() -> String {
    let (shop, a) = shop(1);
    let [first, second] =
        two(&shop, |shop| reserve(shop, "first", &[(a, 1)]), move |shop| reserve(shop, "second", &[(a, 1)]));
    format!("{first} {second} left {}", left(&shop, a))
}
