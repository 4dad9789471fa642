//! The index: one id entered twice, and finds and inserts while a segment is divided or cleaned. A segment has four cells
//! in the loom build.

use stockade_loom::model::Class;

use crate::run::{Expect, Model, TWO_THREADS};
use crate::shop::{Shop, create, race, shop, state};

const INDEX: &[Class] = &[Class::Cells, Class::Growth];

pub const MODELS: &[Model] = &[
    Model {
        name: "index: create, create one id",
        expect: Expect::Exactly(&["new replay, 1 order", "replay new, 1 order"]),
        words: &[Class::Cells],
        race: || {
            let (shop, a) = shop(1);
            let [one, other] = race(
                &shop,
                [
                    Box::new(move |shop| create(shop, "id", &[(a, 1)])),
                    Box::new(move |shop| create(shop, "id", &[(a, 1)])),
                ],
            );
            format!("{one} {other}, {}", orders(&shop))
        },
        ..TWO_THREADS
    },
    Model {
        name: "index: find while a segment is divided",
        expect: Expect::Exactly(&["created new, 5 orders"]),
        words: INDEX,
        race: || {
            let shop = crowded(4);
            let [found, new] = race(
                &shop,
                [
                    Box::new(|shop| state(shop, "old-0")),
                    Box::new(|shop| create(shop, "new", &[(shop.sku("A").unwrap(), 1)])),
                ],
            );
            format!("{found} {new}, {}", orders(&shop))
        },
        ..TWO_THREADS
    },
    // Bounded: a division has too many steps for all of its interleavings with a find that starts over.
    Model {
        name: "index: find what is entered in a division",
        expect: Expect::Exactly(&["none new, 5 orders", "created new, 5 orders"]),
        preemptions: Some(2),
        words: INDEX,
        race: || {
            let shop = crowded(4);
            let [found, new] = race(
                &shop,
                [
                    Box::new(|shop| state(shop, "new")),
                    Box::new(|shop| create(shop, "new", &[(shop.sku("A").unwrap(), 1)])),
                ],
            );
            format!("{found} {new}, {}", orders(&shop))
        },
        ..TWO_THREADS
    },
];

/// A shop with so many orders in its index.
fn crowded(orders: usize) -> Shop {
    let (shop, a) = shop(9);
    for i in 0..orders {
        assert_eq!(create(&shop, &format!("old-{i}"), &[(a, 1)]), "new");
    }
    shop
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
