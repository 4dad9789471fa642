//! Orders that change in part: each verb that does it against every verb that can meet it, on orders that were never
//! changed and on such as were; on two orders that want one row, or cross two; and on holds that end.
//!
//! A change has a dozen steps more than a cancel, so few pairs can be explored whole: those with a verb that only
//! looks. With a verb of few steps, four preemptions end in seconds; where both threads change or end the order or take
//! from one row, or the hold ends, three; two with three threads. The builds for orderings have one preemption, or two
//! with three threads or a verb that looks; in the large ones there is one such build, and only of the ledgers does it
//! show old values, and only to the first thread.

use stockade_loom::State::{self, Cancelled, Fulfilled, InventoryReserved, Paid};
use stockade_loom::model::Class;

use crate::pairs::pairs;
use crate::run::{Bounds, Model, WHOLE};
use crate::scenes::{
    Given,
    Holds::{self, Dead, Expired, Firm, Live},
    Scene,
    Verb::{self, *},
};
use crate::shop;

/// Rows, states, and which editions orders have.
const WORDS: &[Class] = &[Class::Protocol, Class::Ledgers];
const WITH_DEADLINES: &[Class] = &[Class::Protocol, Class::Ledgers, Class::Deadlines];

const LEDGERS: &[Class] = &[Class::Ledgers];

const RESERVED_TO_CANCELLED: Verb = Transition(InventoryReserved, Cancelled);
const PAID_TO_CANCELLED: Verb = Transition(Paid, Cancelled);
const TO_FULFILLED: Verb = Transition(Paid, Fulfilled);

pub fn models() -> Vec<Model> {
    let mut models = Vec::new();
    models.extend(reserved());
    models.extend(paid());
    models.extend(two_orders());
    models.extend(two_rows());
    models.extend(deadlines());
    models.extend(three());
    models
}

/// An order of two units of A, of which one more is left.
fn one_order(state: State, changed: bool, one: Verb, other: Verb) -> Model {
    // There is one hold, and it is the first actor's.
    let (one, other) = if matches!(other, DropHold | KeepHold) { (other, one) } else { (one, other) };
    let orders = vec![Given(&["A", "A"], Some(state))];
    let title = format!("parts, {}{}", shop::in_words(state), if changed { ", changed" } else { "" });
    race(&title, Scene { units: 3, holds: Firm, changed, orders, actors: vec![(one, 0), (other, 0)] })
}

/// Each of these with each of those.
fn each_with(verbs: &[Verb], others: &[Verb]) -> Vec<(Verb, Verb)> {
    verbs.iter().flat_map(|one| others.iter().map(|other| (*one, *other))).collect()
}

fn reserved() -> Vec<Model> {
    let verbs = [CancelLines, Raise, Lower];
    let of_the_order = [Cancel, Void, RESERVED_TO_CANCELLED, Pay, Fulfil, Reserve, DropHold, KeepHold, Order, Audit];
    let of_the_row = [Stock, Restock, WriteOff, SetAvailable];
    let all = pairs(&verbs).chain(each_with(&verbs, &of_the_order)).chain(each_with(&verbs, &of_the_row));
    let unchanged = all.map(|(one, other)| one_order(InventoryReserved, false, one, other));
    let others = [Cancel, Pay, Reserve, DropHold, Order, Audit, Stock, WriteOff];
    let all = pairs(&verbs).chain(each_with(&[CancelLines, Raise], &others));
    unchanged.chain(all.map(|(one, other)| one_order(InventoryReserved, true, one, other))).collect()
}

fn paid() -> Vec<Model> {
    let of_the_order =
        [Cancel, Void, PAID_TO_CANCELLED, Pay, Fulfil, TO_FULFILLED, Reserve, DropHold, KeepHold, Order, Audit];
    let fulfil = each_with(&[FulfilLines], &[&of_the_order[..], &[Stock, WriteOff]].concat());
    let changes = each_with(&[CancelLines, Raise], &[Cancel, Fulfil, DropHold, Order, Stock, WriteOff]);
    let all = pairs(&[FulfilLines, CancelLines, Raise, Lower]).chain(fulfil).chain(changes);
    let unchanged = all.map(|(one, other)| one_order(Paid, false, one, other));
    let changed = each_with(&[FulfilLines], &[FulfilLines, CancelLines, Cancel, Fulfil, Order, Stock]);
    unchanged.chain(changed.into_iter().map(|(one, other)| one_order(Paid, true, one, other))).collect()
}

/// Two orders that want, or have, units of one row. Where both take, there is enough for one of them.
fn two_orders() -> Vec<Model> {
    let held = Some(InventoryReserved);
    let model = |units, one, (state, other)| {
        let orders = vec![Given(&["A", "A"], held), Given(&["A"], state)];
        let actors = vec![(one, 0), (other, 1)];
        race("parts, one row of two orders", Scene { units, holds: Firm, changed: false, orders, actors })
    };
    let others = [(Some(State::Created), Reserve), (held, Raise)];
    let taking = others.iter().flat_map(|it| [model(3 + u64::from(it.0 == held), Raise, *it)]);
    let giving =
        others.iter().flat_map(|it| [CancelLines, Lower].map(|one| model(2 + u64::from(it.0 == held), one, *it)));
    taking.chain(giving).chain([model(3, Raise, (held, Cancel))]).collect()
}

/// Changes that take from one row and give back to another.
fn two_rows() -> Vec<Model> {
    let held = Some(InventoryReserved);
    let model = |units, second, other| {
        let orders = vec![Given(&["A", "A"], held), second];
        let scene = Scene { units, holds: Firm, changed: false, orders, actors: vec![(Swap, 0), other] };
        let title = if other.1 == 0 { "parts, two rows" } else { "parts, two rows of two orders" };
        race(title, scene)
    };
    let nobody = Given(&["B"], None);
    let alone = [Swap, Raise, CancelLines, Cancel, Order, Audit, Stock].map(|verb| model(3, nobody, (verb, 0)));
    let beside = [(2, Given(&["A", "B"], Some(State::Created)), Reserve), (2, Given(&["B", "B"], held), Cancel)];
    let beside = beside.map(|(units, second, verb)| model(units, second, (verb, 1)));
    let crossing = [model(3, Given(&["B", "B"], held), (Swap, 1))];
    alone.into_iter().chain(beside).chain(crossing).collect()
}

/// A hold of two units of A, of which one more is left.
fn one_hold(holds: Holds, one: Verb, other: Verb) -> Model {
    let orders = vec![Given(&["A", "A"], Some(InventoryReserved))];
    race(title(holds), Scene { units: 3, holds, changed: false, orders, actors: vec![(one, 0), (other, 0)] })
}

fn title(holds: Holds) -> &'static str {
    match holds {
        Dead => "parts, deadline come",
        Expired => "parts, deadline past",
        _ => "parts, deadline ahead",
    }
}

fn deadlines() -> Vec<Model> {
    let live = each_with(&[CancelLines, Raise], &[Tick, Extend, ExpireDue, Pay, PayLate, Cancel, ReserveFor, Order]);
    let live = pairs(&[CancelLines, Raise]).chain(live).map(|(one, other)| one_hold(Live, one, other));
    let dead = [ExpireDue, PayLate, Pay, Extend, Cancel, Reserve, Order, Stock];
    let dead = each_with(&[CancelLines, Raise], &dead).into_iter().map(|(one, other)| one_hold(Dead, one, other));
    let expired = each_with(&[CancelLines, Raise], &[PayLate]).into_iter();
    let expired = expired.map(|(one, other)| one_hold(Expired, one, other));
    let added = [Tick, Extend, Order].map(|verb| beside_a_buyer(Live, vec![(Swap, 0), (verb, 0)]));
    let bought = [vec![(Swap, 0), (Reserve, 1)], vec![(Swap, 0), (Tick, 0), (Reserve, 1)]];
    let bought = bought.map(|actors| beside_a_buyer(Live, actors));
    live.chain(dead).chain(expired).chain(added).chain(bought).collect()
}

/// A hold of A that may get a unit of B, and somebody who wants both units of B.
fn beside_a_buyer(holds: Holds, actors: Vec<(Verb, usize)>) -> Model {
    let orders = vec![Given(&["A", "A"], Some(InventoryReserved)), Given(&["B", "B"], None)];
    race(&format!("{}, a row more", title(holds)), Scene { units: 2, holds, changed: false, orders, actors })
}

/// Three threads on one order.
fn three() -> Vec<Model> {
    let model = |holds, changed, verbs: [Verb; 3]| {
        let orders = vec![Given(&["A", "A", "A"], Some(InventoryReserved))];
        let actors = verbs.iter().map(|verb| (*verb, 0)).collect();
        let title = if holds == Firm { "parts from three" } else { "parts, deadline past, from three" };
        race(title, Scene { units: 4, holds, changed, orders, actors })
    };
    vec![
        model(Firm, false, [CancelLines, CancelLines, CancelLines]),
        model(Firm, false, [CancelLines, Raise, Order]),
        model(Firm, false, [Raise, Cancel, Pay]),
        model(Expired, false, [PayLate, PayLate, CancelLines]),
    ]
}

/// The model of a scene, with the words and the bounds that its verbs ask for.
fn race(title: &str, scene: Scene) -> Model {
    let verbs: Vec<Verb> = scene.actors.iter().map(|(verb, _)| *verb).collect();
    let any = |few: &[Verb]| verbs.iter().any(|verb| few.contains(verb));
    let up_to = |preemptions| Bounds { interleavings: Some(preemptions), orderings: 1 };
    let is_small = scene.holds == Firm && verbs.len() == 2;
    let (bounds, stale) = if is_small && any(&[Order, Stock, KeepHold]) {
        (Bounds { orderings: 2, ..WHOLE }, Class::ALL)
    } else if is_small && any(&[Pay, Fulfil, TO_FULFILLED, Restock, WriteOff, SetAvailable, Audit]) {
        (up_to(4), Class::ALL)
    } else {
        (if verbs.len() == 2 { up_to(3) } else { Bounds { orderings: 2, ..up_to(2) } }, LEDGERS)
    };
    let words = if scene.holds == Firm { WORDS } else { WITH_DEADLINES };
    Model { words, bounds, stale, ..scene.model(title) }
}
