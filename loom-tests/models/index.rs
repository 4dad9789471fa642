//! The index: one key entered twice, and finds, inserts, listings and rewrites while a segment is divided or cleaned. A
//! segment has four cells in the loom build.

use stockade_loom::hooks::{Step, with_hook};
use stockade_loom::model::Class;
use stockade_loom::{AddSkuError, Sku, Stockade};

use crate::run::{Bounds, Expect, Model, WHOLE};
use crate::shop::{Shop, create, reserve, shop, state, stock, two};

const INDEX: &[Class] = &[Class::Cells, Class::Growth];

/// A rewrite has too many steps for all of its interleavings with what starts over when it meets one.
const PART: Bounds = Bounds { interleavings: Some(3), orderings: 1 };

pub fn models() -> Vec<Model> {
    vec![
        create_create(),
        add_add(),
        add_and_look(),
        taken_from_one_free_list(),
        last_place(),
        place_of_the_refused(),
        growing("find an old one, division", WHOLE, full, find_old, &["created new, 7 orders"]),
        growing("find a new one, division", PART, full, find_new, &["none new, 7 orders", "created new, 7 orders"]),
        crowded("list, division", full, list, &["4 new, 7 orders", "5 new, 7 orders"]),
        crowded("enter another, division", full, enter_another, &["new new, 8 orders"]),
        crowded("enter the same, division", full, enter_new, &["new replay, 7 orders", "replay new, 7 orders"]),
        growing("find an old one, cleaning", WHOLE, dirty, find_old, &["created new, 5 orders"]),
        // Its record serves the new order when the segment is clean.
        growing("find a refused one, cleaning", PART, dirty, |shop| state(shop, "dead-0"), &["none new, 5 orders"]),
        crowded("list, cleaning", dirty, list, &["2 new, 5 orders", "3 new, 5 orders"]),
        crowded("enter another, cleaning", dirty, enter_another, &["new new, 6 orders"]),
        crowded("enter the same, cleaning", dirty, enter_new, &["new replay, 5 orders", "replay new, 5 orders"]),
    ]
}

fn create_create() -> Model {
    let race = || {
        let (shop, a) = shop(1);
        let [one, other] = two(&shop, |shop| create(shop, "id", &[(a, 1)]), move |shop| create(shop, "id", &[(a, 1)]));
        format!("{one} {other}, {}", orders(&shop))
    };
    let outcomes = Expect::exactly(&["new replay, 1 order", "replay new, 1 order"]);
    Model { words: &[Class::Cells], ..Model::new("index: create, create one id", outcomes, race) }
}

fn add_add() -> Model {
    let race = || {
        let (shop, _) = shop(1);
        let [one, other] = two(&shop, |shop| add(shop, 1), |shop| add(shop, 2));
        format!("{one} {other} {}", stock(&shop, shop.sku("B").unwrap()))
    };
    let outcomes = Expect::exactly(&["added exists 1@0", "exists added 2@0"]);
    Model { words: &[Class::Cells], ..Model::new("index: add, add one row", outcomes, race) }
}

fn add_and_look() -> Model {
    let race = || {
        let (shop, _) = shop(1);
        let look =
            |shop: &Shop| shop.stock("B").map_or("no row".into(), |row| format!("{}@{}", row.available, row.version));
        let [seen, _] = two(&shop, look, |shop| add(shop, 2));
        seen
    };
    let outcomes = Expect::exactly(&["no row", "2@0"]);
    Model { words: &[Class::Cells], ..Model::new("index: add a row, read it", outcomes, race) }
}

/// Two records and a segment are free; two orders come, and the second needs a record that was never used.
fn taken_from_one_free_list() -> Model {
    let race = || {
        let shop = dirty();
        assert_eq!(enter_new(&shop), "new");
        let [one, other] = two(&shop, enter_another, |shop| create(shop, "third", &[(shop.sku("A").unwrap(), 1)]));
        format!("{one} {other}, {}", orders(&shop))
    };
    let outcomes = Expect::exactly(&["new new, 5 orders"]);
    Model { words: &[Class::Memory], ..Model::new("index: two take from one free list", outcomes, race) }
}

/// Room for one order, and two that come.
fn last_place() -> Model {
    let race = || {
        let (shop, a) = limited(1);
        let [one, other] =
            two(&shop, |shop| create(shop, "one", &[(a, 1)]), move |shop| create(shop, "other", &[(a, 1)]));
        format!("{one} {other}, {}", orders(&shop))
    };
    let outcomes = Expect::exactly(&["new full, 1 order", "full new, 1 order"]);
    Model { words: &[Class::Memory], ..Model::new("index: the last place, two ids", outcomes, race) }
}

/// Room for one order, which is refused in a race: its place is free again, once.
fn place_of_the_refused() -> Model {
    let race = || {
        let (shop, a) = limited(1);
        let [refused, other] =
            two(&shop, |shop| refused_in_a_race(shop, "refused"), move |shop| create(shop, "other", &[(a, 1)]));
        let after = create(&shop, "after", &[(a, 1)]);
        format!("{refused} {other} {after}, {}", orders(&shop))
    };
    let outcomes = ["short new full, 1 order", "short full new, 1 order", "full new full, 1 order"];
    let outcomes = Expect::exactly(&outcomes);
    Model { words: &[Class::Memory], ..Model::new("index: the place of a refused order", outcomes, race) }
}

fn limited(orders: u64) -> (Shop, Sku) {
    let shop = Stockade::builder().max_orders(orders).build().unwrap();
    let a = shop.add_sku("A", 9).unwrap();
    (Shop::new(shop), a)
}

/// What `act` sees while a new order makes the index rewrite its only segment.
fn growing(name: &str, bounds: Bounds, begin: fn() -> Shop, act: fn(&Shop) -> String, outcomes: &[&str]) -> Model {
    let race = move || {
        let shop = begin();
        let [seen, new] = two(&shop, act, enter_new);
        // They take memory that the rewrite gave back: was it given back twice, they are one.
        for id in ["later-0", "later-1"] {
            assert_eq!(create(&shop, id, &[(shop.sku("A").unwrap(), 1)]), "new");
        }
        format!("{seen} {new}, {}", orders(&shop))
    };
    Model { words: INDEX, bounds, ..Model::new(&format!("index: {name}"), Expect::exactly(outcomes), race) }
}

/// The same for an act that reads or writes so many cells that only the nodes' old values can be shown.
fn crowded(name: &str, begin: fn() -> Shop, act: fn(&Shop) -> String, outcomes: &[&str]) -> Model {
    Model { stale: &[Class::Growth], ..growing(name, PART, begin, act, outcomes) }
}

/// A shop whose index has a full segment.
fn full() -> Shop {
    with_orders(4)
}

/// A shop whose index has a full segment, half of which is what refused attempts left behind.
fn dirty() -> Shop {
    let shop = with_orders(2);
    for id in ["dead-0", "dead-1"] {
        assert_eq!(refused_in_a_race(&shop, id), "short");
    }
    shop
}

/// A reserve that finds enough when it looks, and nothing when it takes.
fn refused_in_a_race(shop: &Shop, id: &str) -> String {
    let a = shop.sku("A").unwrap();
    let meddler = Shop::clone(shop);
    let write_off = move |step| {
        if step == Step::Drafted {
            meddler.write_off(a, 9).unwrap();
        }
    };
    let answer = with_hook(write_off, || reserve(shop, id, &[(a, 9)]));
    if answer == "short" {
        let _ = shop.restock(a, 9).unwrap();
    }
    answer
}

fn with_orders(orders: usize) -> Shop {
    let (shop, a) = shop(9);
    for i in 0..orders {
        assert_eq!(create(&shop, &format!("old-{i}"), &[(a, 1)]), "new");
    }
    shop
}

fn find_old(shop: &Shop) -> String {
    state(shop, "old-0")
}

fn find_new(shop: &Shop) -> String {
    state(shop, "new")
}

fn enter_new(shop: &Shop) -> String {
    create(shop, "new", &[(shop.sku("A").unwrap(), 1)])
}

fn enter_another(shop: &Shop) -> String {
    create(shop, "other", &[(shop.sku("A").unwrap(), 1)])
}

fn add(shop: &Shop, units: u64) -> String {
    match shop.add_sku("B", units) {
        Ok(_) => "added".into(),
        Err(AddSkuError::SkuExists { .. }) => "exists".into(),
        Err(other) => panic!("{other}"),
    }
}

/// How many orders are listed; those that were there before are among them.
fn list(shop: &Shop) -> String {
    let ids: Vec<String> = shop.orders().map(|order| order.id).collect();
    let old = ids.iter().filter(|id| id.starts_with("old")).count();
    assert!(ids.len() - old <= 1, "{ids:?}");
    ids.len().to_string()
}

/// How many orders there are; each must come once.
fn orders(shop: &Shop) -> String {
    let mut ids: Vec<String> = shop.orders().map(|order| order.id).collect();
    let all = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), all, "an order came twice");
    for id in &ids {
        assert!(shop.order(id).is_some(), "{id} is listed and not found");
    }
    format!("{all} order{}", if all == 1 { "" } else { "s" })
}
