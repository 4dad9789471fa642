//! Every verb against every verb that can meet it: on one order, on two orders that share a row, and on two orders that
//! cross two rows. Two threads, no bound.

use stockade_loom::State::{self, Cancelled, Created, Fulfilled, InventoryReserved, Paid};
use stockade_loom::model::Class;

use crate::run::{Bounds, Model, WHOLE};
use crate::scenes::{
    Given,
    Holds::Firm,
    Scene,
    Verb::{self, *},
};
use crate::shop;

const WITH_INDEX: &[Class] = &[Class::Protocol, Class::Cells];

const TWO_ATTEMPTS: Bounds = Bounds { interleavings: Some(5), ..WHOLE };
/// Six hundred thousand executions each without a bound, in which they were run once, and passed.
const TWO_ROWS: Bounds = Bounds { interleavings: Some(7), ..WHOLE };

const TO_RESERVED: Verb = Transition(Created, InventoryReserved);
const TO_PAID: Verb = Transition(InventoryReserved, Paid);
const TO_FULFILLED: Verb = Transition(Paid, Fulfilled);
const CREATED_TO_CANCELLED: Verb = Transition(Created, Cancelled);
const RESERVED_TO_CANCELLED: Verb = Transition(InventoryReserved, Cancelled);
const PAID_TO_CANCELLED: Verb = Transition(Paid, Cancelled);

const OF_THE_ROW: [Verb; 4] = [Stock, Restock, WriteOff, SetAvailable];

pub fn models() -> Vec<Model> {
    let mut models = Vec::new();
    let unknown = [Reserve, Create, Cancel, Void, Pay, Fulfil, Order, Audit];
    models.extend(one_order(None, &unknown, &[Reserve]));
    let created = [Reserve, TO_RESERVED, CREATED_TO_CANCELLED, Create, Cancel, Void, Pay, Fulfil, Order, Audit];
    models.extend(one_order(Some(Created), &created, &[Reserve, TO_RESERVED]));
    let reserved =
        [DropHold, Cancel, Void, RESERVED_TO_CANCELLED, KeepHold, Reserve, Pay, Fulfil, TO_PAID, Order, Audit];
    models.extend(one_order(Some(InventoryReserved), &reserved, &reserved[..4]));
    let paid = [DropHold, Cancel, Void, PAID_TO_CANCELLED, KeepHold, Reserve, Pay, Fulfil, TO_FULFILLED, Order, Audit];
    models.extend(one_order(Some(Paid), &paid, &paid[..4]));
    models.extend(row_alone());
    models.extend(two_orders("one row", &["A"], &["A"]));
    models.extend(two_orders("two rows", &["A", "B"], &["B", "A"]));
    models.extend(one_order_of_two_rows());
    models
}

/// Each of these verbs with itself and with those after it, on one order of one line; and those that then touch the row
/// with the verbs of the row. (The others cannot meet them: they have no word in common.)
fn one_order(state: Option<State>, verbs: &[Verb], on_row: &[Verb]) -> Vec<Model> {
    let on_row = on_row.iter().flat_map(|one| OF_THE_ROW.map(|other| (*one, other)));
    let model = |(one, other)| {
        let scene = Scene {
            units: 1,
            holds: Firm,
            changed: false,
            orders: vec![Given(&["A"], state)],
            actors: vec![(one, 0), (other, 0)],
        };
        let model = scene.model(&format!("one order, {}", in_words(state)));
        match state {
            // Only an order that is not there yet can be entered into the index.
            None => Model { words: WITH_INDEX, ..model },
            // Two attempts on one order, each of which may run the other's: millions.
            Some(Created) if takes(one) && takes(other) => Model { bounds: TWO_ATTEMPTS, ..model },
            Some(_) => model,
        }
    };
    // There is one hold, and it is the first actor's.
    let one_hold = |(one, other): &(Verb, Verb)| match (one, other) {
        (_, DropHold) => false,
        (one, KeepHold) => *one != DropHold,
        _ => true,
    };
    let held_first = |(one, other)| if other == KeepHold { (other, one) } else { (one, other) };
    pairs(verbs).chain(on_row).filter(one_hold).map(held_first).map(model).collect()
}

/// The verbs of a row among themselves; the order is not there.
fn row_alone() -> Vec<Model> {
    let scene = |(one, other)| Scene {
        units: 1,
        holds: Firm,
        changed: false,
        orders: vec![Given(&["A"], None)],
        actors: vec![(one, 0), (other, 0)],
    };
    let verbs = [&OF_THE_ROW[..], &[Audit]].concat();
    pairs(&verbs).map(|pair| scene(pair).model("one row, no order")).collect()
}

/// Each with itself and with those after it. Two reads cannot disturb each other.
pub fn pairs(verbs: &[Verb]) -> impl Iterator<Item = (Verb, Verb)> {
    let pairs = verbs.iter().enumerate().flat_map(|(i, one)| verbs[i..].iter().map(|other| (*one, *other)));
    pairs.filter(|(one, other)| one.changes() || other.changes())
}

/// Verbs that change rows, on two orders. Where both take, there is enough for one of them.
fn two_orders(title: &str, first: &'static [&'static str], second: &'static [&'static str]) -> Vec<Model> {
    let model = |units, before: Option<State>, one, state: Option<State>, other| {
        let orders = vec![Given(first, before), Given(second, state)];
        let title = format!("{title}, {} and {}", in_words(before), in_words(state));
        let model =
            Scene { units, holds: Firm, changed: false, orders, actors: vec![(one, 0), (other, 1)] }.model(&title);
        // Of the largest races over two rows, more than half a million executions each, one that takes and one that
        // gives back.
        let large = first.len() > 1 && (takes(one) && takes(other) || gives_back(one) && gives_back(other));
        let deep = large && ![(TO_RESERVED, TO_RESERVED), (Cancel, Cancel)].contains(&(one, other));
        // What is entered into the index races there too; over two rows only the rows and orders do, or it would not
        // end.
        let words = if first.len() == 1 { WITH_INDEX } else { model.words };
        let bounds = if large && !deep { TWO_ROWS } else { model.bounds };
        Model { deep, words, bounds, ..model }
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
        let model =
            Scene { units: 1, holds: Firm, changed: false, orders, actors: vec![(one, 0), (other, 1)] }.model(&title);
        Model { words: WITH_INDEX, ..model }
    };
    let races = [Stock, Restock, WriteOff, SetAvailable, Audit].into_iter();
    let races = races.flat_map(|verb| [(None, Reserve, verb), (Some(InventoryReserved), Cancel, verb)]);
    races.chain([(None, Reserve, Reserve), (Some(InventoryReserved), Cancel, Reserve)]).map(model).collect()
}

fn takes(verb: Verb) -> bool {
    matches!(verb, Reserve | TO_RESERVED)
}

fn gives_back(verb: Verb) -> bool {
    matches!(verb, Cancel | DropHold | PAID_TO_CANCELLED)
}

fn in_words(state: Option<State>) -> &'static str {
    state.map_or("unknown", shop::in_words)
}
