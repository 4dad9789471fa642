//! Every verb against every verb that can meet it: on one order, on two orders that share a row, and on two orders that
//! cross two rows. Two threads, no bound.

use stockade_loom::State::{self, Cancelled, Created, Fulfilled, InventoryReserved, Paid};
use stockade_loom::model::Class;

use crate::run::Model;
use crate::scenes::{
    Given, Scene,
    Verb::{self, *},
};
use crate::shop;

const WITH_INDEX: &[Class] = &[Class::Protocol, Class::Cells];

const TO_RESERVED: Verb = Transition(Created, InventoryReserved);
const TO_PAID: Verb = Transition(InventoryReserved, Paid);
const TO_FULFILLED: Verb = Transition(Paid, Fulfilled);
const RESERVED_TO_CANCELLED: Verb = Transition(InventoryReserved, Cancelled);
const PAID_TO_CANCELLED: Verb = Transition(Paid, Cancelled);

pub fn models() -> Vec<Model> {
    let mut models = vec![entered_once(Reserve), entered_once(Void)];
    models.extend(one_order(None, &[Create, Reserve, Cancel, Void, Pay, Order]));
    models.extend(one_order(Some(Created), &[Create, Reserve, TO_RESERVED, Cancel, Void, Pay, Order]));
    let reserved = [DropHold, Reserve, Cancel, Void, Pay, Fulfil, TO_PAID, RESERVED_TO_CANCELLED, Order];
    models.extend(one_order(Some(InventoryReserved), &reserved));
    let paid = [DropHold, Reserve, Cancel, Void, Pay, Fulfil, TO_FULFILLED, PAID_TO_CANCELLED, Order];
    models.extend(one_order(Some(Paid), &paid));
    models.extend(two_orders("one row", &["A"], &["A"]));
    models.extend(two_orders("two rows", &["A", "B"], &["B", "A"]));
    models.extend(one_order_of_two_rows());
    models
}

/// Each of these verbs, and those of the row, with itself and with those after it, on one order of one line.
fn one_order(state: Option<State>, verbs: &[Verb]) -> Vec<Model> {
    let verbs = [verbs, &[Stock, Restock, WriteOff, SetAvailable, Audit]].concat();
    let pairs = verbs.iter().enumerate().flat_map(|(i, one)| verbs[i..].iter().map(move |other| (*one, *other)));
    let race =
        |(one, other): &(Verb, Verb)| (one.changes() || other.changes()) && (*one, *other) != (DropHold, DropHold);
    let model = |(one, other)| {
        let scene = Scene { units: 1, orders: vec![Given(&["A"], state)], actors: vec![(one, 0), (other, 0)] };
        let model = scene.model(&format!("one order, {}", in_words(state)));
        match (state, one, other) {
            (None, Reserve, Reserve | Void) => Model { deep: true, words: WITH_INDEX, ..model },
            // Only an order that is not there yet can be entered into the index.
            (None, ..) => Model { words: WITH_INDEX, ..model },
            _ => model,
        }
    };
    pairs.filter(race).map(model).collect()
}

/// The two largest races on an order that is not there, with every interleaving of what comes once the index is through.
/// "index: create, create" has those of the index.
fn entered_once(other: Verb) -> Model {
    let scene = Scene { units: 2, orders: vec![Given(&["A"], None)], actors: vec![(Reserve, 0), (other, 0)] };
    scene.model("one order, unknown, index apart")
}

/// Verbs that change rows, on two orders. Where both take, there is enough for one of them.
fn two_orders(title: &str, first: &'static [&'static str], second: &'static [&'static str]) -> Vec<Model> {
    let model = |units, before: Option<State>, one, state: Option<State>, other| {
        let orders = vec![Given(first, before), Given(second, state)];
        let title = format!("{title}, {} and {}", in_words(before), in_words(state));
        let model = Scene { units, orders, actors: vec![(one, 0), (other, 1)] }.model(&title);
        // Both take, over two rows, and at least one of them looks first: minutes for each.
        let deep = first.len() > 1 && (one, other) != (TO_RESERVED, TO_RESERVED) && takes(one) && takes(other);
        Model { deep, ..model }
    };
    let (created, held, paid) = (Some(Created), Some(InventoryReserved), Some(Paid));
    vec![
        model(1, None, Reserve, None, Reserve),
        model(1, None, Reserve, created, Reserve),
        model(1, created, Reserve, created, TO_RESERVED),
        model(1, created, TO_RESERVED, created, TO_RESERVED),
        model(1, held, Cancel, None, Reserve),
        model(1, held, DropHold, None, Reserve),
        model(1, paid, Cancel, created, Reserve),
        model(1, held, Void, created, TO_RESERVED),
        model(2, held, Cancel, held, Cancel),
        model(2, held, DropHold, paid, PAID_TO_CANCELLED),
    ]
}

/// An order of two rows, and verbs of one of them.
fn one_order_of_two_rows() -> Vec<Model> {
    let model = |(state, one, other)| {
        let orders = vec![Given(&["B", "A"], state), Given(&["A"], None)];
        let title = format!("one of two rows, {}", in_words(state));
        Scene { units: 1, orders, actors: vec![(one, 0), (other, 1)] }.model(&title)
    };
    let races = [Stock, Restock, WriteOff, SetAvailable, Audit].into_iter();
    let races = races.flat_map(|verb| [(None, Reserve, verb), (Some(InventoryReserved), Cancel, verb)]);
    races.chain([(None, Reserve, Reserve), (Some(InventoryReserved), Cancel, Reserve)]).map(model).collect()
}

fn takes(verb: Verb) -> bool {
    matches!(verb, Reserve | TO_RESERVED)
}

fn in_words(state: Option<State>) -> &'static str {
    state.map_or("unknown", shop::in_words)
}
