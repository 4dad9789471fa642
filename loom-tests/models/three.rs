//! Three threads. All interleavings of three do not end in a life, so these have a bound: the highest that ends in half
//! a minute, and one more in the deep run.

use stockade_loom::State::{self, InventoryReserved};

use crate::run::{Bounds, Model};
use crate::scenes::{
    Given,
    Holds::Firm,
    Scene,
    Verb::{self, *},
};

/// The rows and the state of an order, and what is done to it.
type Buyer = (&'static [&'static str], Option<State>, Verb);

pub fn models() -> Vec<Model> {
    let held = Some(InventoryReserved);
    let (a, ab, bc, c): (&[_], &[_], &[_], &[_]) = (&["A"], &["A", "B"], &["B", "C"], &["C"]);
    vec![
        on_orders("three buyers, one unit", up_to(4), [(a, None, Reserve), (a, None, Reserve), (a, None, Reserve)]),
        on_orders(
            "reserve beside a cancel, and a reader",
            up_to(7),
            [(a, held, Cancel), (a, None, Reserve), (a, None, Stock)],
        ),
        // The first is blocked by the second, which is blocked by the third.
        on_orders("helper of a helper", up_to(4), [(ab, None, Reserve), (bc, None, Reserve), (c, None, Reserve)]),
        on_one_order("one id from three", Bounds { orderings: 1, ..up_to(3) }, None, [Reserve, Reserve, Reserve]),
        on_one_order("one order from three", up_to(4), held, [DropHold, Pay, Cancel]),
    ]
}

fn on_orders(title: &str, bounds: Bounds, buyers: [Buyer; 3]) -> Model {
    let orders = buyers.iter().map(|(rows, state, _)| Given(rows, *state)).collect();
    let actors = buyers.iter().enumerate().map(|(i, (.., verb))| (*verb, i)).collect();
    Model { bounds, ..Scene { units: 1, holds: Firm, changed: false, orders, actors }.model(title) }
}

fn on_one_order(title: &str, bounds: Bounds, state: Option<State>, verbs: [Verb; 3]) -> Model {
    let actors = verbs.iter().map(|verb| (*verb, 0)).collect();
    Model {
        bounds,
        ..Scene { units: 3, holds: Firm, changed: false, orders: vec![Given(&["A"], state)], actors }.model(title)
    }
}

fn up_to(preemptions: usize) -> Bounds {
    Bounds { interleavings: Some(preemptions), orderings: 2 }
}
