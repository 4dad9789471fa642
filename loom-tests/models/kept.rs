//! What is remembered, and what is forgotten: requests under one key, which take effect once; finished orders, which
//! are forgotten beside those who repeat, read or finish them.

use stockade_loom::State::{self, Cancelled, Fulfilled, InventoryReserved, Paid};
use stockade_loom::model::Class;

use crate::pairs::pairs;
use crate::run::{Bounds, Model};
use crate::scenes::{
    Given,
    Holds::{self, Expired, Firm},
    Scene,
    Verb::{self, *},
};
use crate::shop;

/// Rows, states, answers and editions.
const WORDS: &[Class] = &[Class::Protocol, Class::Ledgers];
const WITH_INDEX: &[Class] = &[Class::Protocol, Class::Ledgers, Class::Cells];
const LEDGERS: &[Class] = &[Class::Ledgers];

/// A request is as long as an order that is made and driven; two threads that go through it for each other need a
/// bound.
const KEYS: Bounds = Bounds { interleavings: Some(3), orderings: 1 };
const FORGETTING: Bounds = Bounds { interleavings: Some(4), orderings: 1 };

/// Everything races there.
const REUSED: Bounds = Bounds { interleavings: Some(3), orderings: 2 };

pub fn models() -> Vec<Model> {
    let mut models = rows();
    models.extend(orders());
    models.extend(forgetting());
    models
}

/// Requests about a row of one unit, which a buyer may want.
fn rows() -> Vec<Model> {
    let of_the_row = [KeyedRestock, KeyedWriteOff, KeyedSetAvailable];
    let others = [Reserve, Stock, Restock, WriteOff, SetAvailable, Audit];
    let beside = of_the_row.iter().flat_map(|one| others.map(|other| (*one, other)));
    pairs(&of_the_row)
        .chain(beside)
        .map(|(one, other)| model("key, a row", Firm, None, &[(one, 0), (other, 0)]))
        .collect()
}

/// Requests about an order that holds one unit of two.
fn orders() -> Vec<Model> {
    let held = Some(InventoryReserved);
    let others = [CancelLines, Raise, Cancel, Pay, Order, Stock];
    let verbs = [KeyedCancelLines, KeyedRaise];
    let beside = verbs.iter().flat_map(|one| others.map(|other| (*one, other)));
    pairs(&verbs)
        .chain(beside)
        .map(|(one, other)| model("key, an order", Firm, held, &[(one, 0), (other, 0)]))
        .collect()
}

/// Finished orders that have been kept for long enough, beside all who may still ask for them; and such as finish while
/// they are forgotten.
fn forgetting() -> Vec<Model> {
    let of_the_order = [Forget, Order, Reserve, Create, Cancel, Void, Pay, Fulfil, Audit, Stock];
    let finished = [Cancelled, Fulfilled].into_iter().flat_map(|state| of_the_order.map(|other| (Firm, state, other)));
    let expired = [PayLate, ExpireDue, Order, Reserve].map(|other| (Expired, InventoryReserved, other));
    let old = finished.chain(expired);
    let old = old.map(|(holds, state, other)| model("forgotten", holds, Some(state), &[(Forget, 0), (other, 0)]));
    let ends = [(InventoryReserved, Cancel), (Paid, Cancel), (Paid, Fulfil), (InventoryReserved, CancelLines)];
    let ends =
        ends.map(|(state, verb)| model("forgotten as it ends", Firm, Some(state), &[(TickAndForget, 0), (verb, 0)]));
    let helped = [(Cancel, Reserve), (Cancel, Stock), (Cancel, Cancel)];
    let helped = helped.map(|(one, other)| {
        let actors = [(one, 0), (other, 0), (TickAndForget, 0)];
        model("forgotten beside a helper", Firm, Some(InventoryReserved), &actors)
    });
    let reused = [Order, Cancel].map(|verb| {
        let orders = vec![Given(&["A"], Some(Cancelled))];
        let scene =
            Scene { units: 2, holds: Firm, changed: false, orders, actors: vec![(verb, 0), (ForgetAndReuse, 0)] };
        Model {
            words: Class::ALL,
            bounds: REUSED,
            stale: LEDGERS,
            ..scene.model("forgotten, and its memory used again")
        }
    });
    old.chain(ends).chain(helped).chain(reused).collect()
}

fn model(title: &str, holds: Holds, state: Option<State>, actors: &[(Verb, usize)]) -> Model {
    let orders = vec![Given(&["A"], state)];
    let title = state.map_or(title.into(), |state| format!("{title}, {}", shop::in_words(state)));
    let scene = Scene { units: 2, holds, changed: false, orders, actors: actors.to_vec() };
    let model = scene.model(&title);
    let three = Bounds { interleavings: Some(3), orderings: 2 };
    let forgets = actors.iter().any(|(verb, _)| matches!(verb, Forget | TickAndForget));
    let bounds = if actors.len() > 2 {
        three
    } else if forgets {
        FORGETTING
    } else {
        KEYS
    };
    let enters = actors.iter().any(|(verb, _)| matches!(verb, Reserve | Create | Void));
    Model { words: if enters { WITH_INDEX } else { WORDS }, bounds, stale: LEDGERS, ..model }
}
