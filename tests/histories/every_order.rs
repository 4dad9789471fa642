//! The checker is checked: on histories of five calls, by trying every order of them.

use super::answer::{kind, unnumbered};
use super::dice::Dice;
use super::history::{Event, History};
use super::op::Op;
use super::plan::{Step, plan};
use super::spec;

const CALLS: usize = 5;

/// Without search and without memory: any order of the calls that returned, and of any of those that did not.
pub fn has_an_order(history: &History) -> bool {
    let calls = history.events.len();
    let (open, returned): (Vec<_>, Vec<_>) = (0..calls).partition(|call| history.events[*call].ret.is_none());
    let mut sets = vec![returned];
    for call in open {
        let with = sets.iter().map(|set| [&set[..], &[call]].concat()).collect::<Vec<_>>();
        sets.extend(with);
    }
    sets.iter().flat_map(|set| orders(set)).any(|order| fits(history, &order))
}

fn orders(calls: &[usize]) -> Vec<Vec<usize>> {
    let Some((last, others)) = calls.split_last() else { return vec![vec![]] };
    let insert = |order: Vec<usize>| {
        (0..=order.len()).map(move |at| [&order[..at], &[*last], &order[at..]].concat()).collect::<Vec<_>>()
    };
    orders(others).into_iter().flat_map(insert).collect()
}

fn fits(history: &History, order: &[usize]) -> bool {
    let event = |call: &usize| &history.events[*call];
    let in_time = (1..order.len()).all(|at| !order[..at].iter().any(|a| event(&order[at]).returned_before(event(a))));
    let mut plain = spec::engine(&history.rows, history.keep_ms);
    let mut right = |event: &Event| {
        let answer = spec::take(&mut plain, &event.op);
        event.ret.is_none() || answer == unnumbered(&event.answer)
    };
    in_time && order.iter().all(|call| right(event(call)))
}

/// A right history: calls take effect one after the other, in the middle of times that overlap. Then, mostly, something
/// is changed, which may make it wrong.
pub fn tiny(seed: u64) -> History {
    let mut dice = Dice::new(seed, 99);
    let plan = plan(seed);
    let steps = plan.threads.into_iter().flatten();
    let ops: Vec<Op> = steps.filter_map(|step| if let Step::Do(op) = step { Some(op) } else { None }).collect();
    let mut plain = spec::engine(&plan.rows, plan.keep_ms);
    let mut events: Vec<Event> = Vec::new();
    for op in ops {
        let answer = spec::take(&mut plain, &op);
        // That a key is bound has an instant of its own, and there would be too many orders to try.
        if events.len() == CALLS || kind(&answer) == "Err Reused" {
            continue;
        }
        let thread = events.len();
        let instant = 100 + 20 * thread as u64;
        let (call, ret) = (instant - dice.roll(50) as u64, Some(instant + dice.roll(50) as u64));
        events.push(Event { thread, call, ret, op, answer });
    }
    tamper(&mut events, &mut dice);
    events.sort_by_key(|event| event.call);
    History { rows: plan.rows, keep_ms: plan.keep_ms, events }
}

fn tamper(events: &mut [Event], dice: &mut Dice) {
    let (one, other) = (dice.roll(events.len()), dice.roll(events.len()));
    match dice.roll(8) {
        0 => {}
        1..=3 => {
            let answer = events[one].answer.clone();
            events[one].answer = std::mem::replace(&mut events[other].answer, answer);
        }
        4 => (events[one].ret, events[one].answer) = (None, String::new()),
        5 => events[one].answer = events[one].answer.replace('1', "2"),
        _ => {
            let (shift, back) = (dice.roll(90) as u64, dice.roll(2) == 0);
            let shifted = |stamp: u64| if back { stamp.saturating_sub(shift) } else { stamp + shift };
            (events[one].call, events[one].ret) = (shifted(events[one].call), events[one].ret.map(shifted));
        }
    }
}
