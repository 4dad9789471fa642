//! Holds that end: every verb against every verb that can meet it while a hold lives, when its deadline has come and
//! nobody has looked, after it has been let go, and while the clock moves on. Where both threads of a pair go through a
//! whole release or a whole attempt before they decide anything of their own, hundreds of thousands of interleavings
//! differ only in who helped whom: those pairs have a bound, and so have three threads.

use stockade_loom::State::{self, Cancelled, Created, InventoryReserved};
use stockade_loom::model::Class;

use crate::pairs::pairs;
use crate::run::{Bounds, Model};
use crate::scenes::{
    Given,
    Holds::{self, Dead, Expired, Live},
    Scene,
    Verb::{self, *},
};

/// Rows, states, the clock and deadlines.
const WORDS: &[Class] = &[Class::Protocol, Class::Deadlines];
const WITH_INDEX: &[Class] = &[Class::Protocol, Class::Deadlines, Class::Cells];

/// For pairs that both release or take.
const LARGE: Bounds = Bounds { interleavings: Some(4), orderings: 1 };

const OF_THE_ROW: [Verb; 4] = [Stock, Restock, WriteOff, SetAvailable];

pub fn models() -> Vec<Model> {
    let held = Some(InventoryReserved);
    let mut models = Vec::new();
    models.extend(with(ReserveFor, &[ReserveFor, Reserve, Create, Cancel, Void, Order], None, Live));
    models.extend(with(ReserveFor, &[ReserveFor, Reserve, Cancel, Void, Order], Some(Created), Live));
    let live = [Extend, Pay, PayLate, Cancel, Void, ReserveFor, Order, ExpireDue, Tick];
    models.extend(each(&live, held, Live));
    models.extend(with(Tick, &OF_THE_ROW, held, Live));
    let dead = [ExpireDue, PayLate, Pay, Extend, Cancel, Void, Reserve, Order];
    models.extend(each(&dead, held, Dead));
    models.extend([ExpireDue, PayLate, Order].into_iter().flat_map(|verb| with(verb, &OF_THE_ROW, held, Dead)));
    models.extend(with(PayLate, &[PayLate, Cancel, Reserve, Order, ExpireDue, Stock, WriteOff], held, Expired));
    models.extend([Pay, PayLate, Extend, Cancel, ExpireDue, Order].map(|verb| beside_a_buyer(Dead, &[verb])));
    models.push(beside_a_buyer(Expired, &[PayLate]));
    models.extend([Tick, Extend].map(|verb| beside_a_buyer(Live, &[verb])));
    models.extend([Pay, PayLate, Extend].map(|verb| beside_a_buyer(Live, &[Tick, verb])));
    models.push(beside_a_buyer(Dead, &[ExpireDue, Pay]));
    models
}

/// A verb with each of these, on one order of one unit.
fn with(verb: Verb, others: &[Verb], state: Option<State>, holds: Holds) -> Vec<Model> {
    others.iter().map(|other| one_order(verb, *other, state, holds)).collect()
}

/// Each with itself and with those after it.
fn each(verbs: &[Verb], state: Option<State>, holds: Holds) -> Vec<Model> {
    pairs(verbs).map(|(one, other)| one_order(one, other, state, holds)).collect()
}

fn one_order(one: Verb, other: Verb, state: Option<State>, holds: Holds) -> Model {
    let scene = Scene {
        units: 1,
        holds,
        changed: false,
        orders: vec![Given(&["A"], state)],
        actors: vec![(one, 0), (other, 0)],
    };
    let words = if state.is_none() { WITH_INDEX } else { WORDS };
    let model = scene.model(title(state, holds));
    let both = |verbs: &[Verb]| verbs.contains(&one) && verbs.contains(&other);
    let is_large = holds != Live || state != Some(InventoryReserved) || both(&[Extend]) || both(&[Cancel, Void]);
    let bounds = if is_large { LARGE } else { model.bounds };
    Model { words, bounds, ..model }
}

fn title(state: Option<State>, holds: Holds) -> &'static str {
    match (state, holds) {
        (None, _) => "deadline, unknown",
        (Some(Created), _) => "deadline, created",
        (_, Dead) => "deadline come",
        (_, Expired) => "deadline past",
        _ => "deadline ahead",
    }
}

/// Verbs on an order that has the last unit, or had it, beside somebody who wants it.
fn beside_a_buyer(holds: Holds, verbs: &[Verb]) -> Model {
    let orders = vec![Given(&["A"], Some(InventoryReserved)), Given(&["A"], None)];
    let actors = verbs.iter().map(|verb| (*verb, 0)).chain([(Reserve, 1)]).collect();
    let scene = Scene { units: 1, holds, changed: false, orders, actors };
    let model = scene.model(&format!("{}, and a buyer", title(Some(Cancelled), holds)));
    let bounds = if verbs.len() > 1 { Bounds { interleavings: Some(3), orderings: 1 } } else { LARGE };
    Model { words: WORDS, bounds, ..model }
}
