//! The linearizability checker: is there an order of the calls, in which no call comes before one that had returned
//! before it was made, and in which the sequential engine gives every call the answer it got?
//!
//! The search is that of J. Wing and C. Gong, "Testing and verifying concurrent objects" (1993): take any call that may
//! come next and got the right answer, go on, come back if that leads nowhere. It remembers where it has been, as in G.
//! Lowe, "Testing for linearizability" (2017): the same calls done and the same state reached is a dead end the second
//! time too. Without that, histories of eight threads can take forever. The set of calls done is a bit set as in A.
//! Horn and D. Kroening, "Faster linearizability checking via P-compositionality" (2015).
//!
//! Two verbs have more than one instant. `forget_finished` forgets each order at its own: one step for each, any of
//! which may be left out (another call may be about to forget that one), and in the end as many as the answer says. And
//! a key is bound to what is asked for, which may be before that is carried out: so others are told that it is used for
//! something else, while nothing has happened yet.
//!
//! Why not a crate: `stateright` 0.31 (`LinearizabilityTester`) does not remember, and brings a model checker and a web
//! server; `todc-utils` 0.1.1 (`WGLChecker`) does, but answers only yes or no, knows no calls that have not returned,
//! and has not moved since 2023. What a failure needs is the place where the search got stuck. This is 100 lines.

use std::collections::HashSet;

use super::answer::{forgot, kind, unnumbered};
use super::history::{Event, History};
use super::op::{IDS, Name, Op};
use super::sequential::Sequential;
use super::spec;

/// A set of calls, by their places in the history; after them come the parts of calls.
type Calls = u128;

/// What a call may do at an instant of its own, before the call itself has its place in the order.
#[derive(Clone, Copy)]
enum Part {
    Binds,
    Forgets(Name),
}

/// There is no such order.
#[derive(Debug)]
pub struct Refused {
    /// As many calls as could be put in order.
    pub longest: Vec<usize>,
    /// For each call that might have come next: its place, and what the sequential engine would have answered.
    pub next: Vec<(usize, String)>,
}

/// The state in which the sequential engine ends, in the first order that fits.
pub fn check(history: &History) -> Result<Sequential, Refused> {
    let mut search = Search::new(history);
    let steps = history.events.len() + search.parts.len();
    assert!(steps <= Calls::BITS as usize, "a history too long for a bit set");
    match search.go(0, spec::engine(&history.rows, history.keep_ms)) {
        Some(end) => Ok(end),
        None => Err(search.refusal),
    }
}

struct Search<'a> {
    history: &'a History,
    /// For each call the answer that is right; `None` if it has not returned: then any is.
    answers: Vec<Option<String>>,
    /// For each call the calls that had returned before it was made.
    earlier: Vec<Calls>,
    /// The calls that must be in the order: those that returned.
    returned: Calls,
    /// With the places of the calls that they are parts of.
    parts: Vec<(usize, Part)>,
    been: HashSet<(Calls, Sequential)>,
    order: Vec<usize>,
    refusal: Refused,
}

impl<'a> Search<'a> {
    fn new(history: &'a History) -> Self {
        let set = |those: &dyn Fn(usize) -> bool| (0..history.events.len()).filter(|i| those(*i)).map(|i| 1 << i).sum();
        let events = &history.events;
        Search {
            history,
            answers: events.iter().map(|event| event.ret.map(|_| unnumbered(&event.answer))).collect(),
            earlier: events.iter().map(|event| set(&|i| events[i].returned_before(event))).collect(),
            returned: set(&|i| events[i].ret.is_some()),
            parts: events
                .iter()
                .enumerate()
                .flat_map(|(call, event)| parts(history, event).map(move |it| (call, it)))
                .collect(),
            been: HashSet::new(),
            order: Vec::new(),
            refusal: Refused { longest: Vec::new(), next: Vec::new() },
        }
    }

    /// Puts the calls that are not `done` in order, after those that are and led to `state`.
    fn go(&mut self, done: Calls, state: Sequential) -> Option<Sequential> {
        if done & self.returned == self.returned {
            return Some(state);
        }
        let mut stuck = Vec::new();
        for call in self.next(done) {
            let mut after = state.clone();
            let answer = match self.history.events[call].op {
                Op::Forget => forgot((done & self.parts_of(call)).count_ones() as usize),
                ref op => spec::take(&mut after, op),
            };
            if self.answers[call].as_ref().is_some_and(|given| *given != answer) {
                stuck.push((call, answer));
                continue;
            }
            spec::note_number(&mut after, &self.history.events[call].op, &self.history.events[call].answer);
            self.order.push(call);
            if let Some(end) = self.go_on(done | 1 << call, after) {
                return Some(end);
            }
            self.order.pop();
        }
        for part in 0..self.parts.len() {
            if let Some(after) = self.take_part(done, part, &state)
                && let Some(end) = self.go_on(done | self.bit(part), after)
            {
                return Some(end);
            }
        }
        if self.refusal.next.is_empty() || self.order.len() > self.refusal.longest.len() {
            self.refusal = Refused { longest: self.order.clone(), next: stuck };
        }
        None
    }

    /// The same, unless it has been there.
    fn go_on(&mut self, done: Calls, after: Sequential) -> Option<Sequential> {
        if self.been.insert((done, after.clone())) { self.go(done, after) } else { None }
    }

    fn bit(&self, part: usize) -> Calls {
        1 << (self.history.events.len() + part)
    }

    fn parts_of(&self, call: usize) -> Calls {
        self.parts.iter().enumerate().filter(|(_, (of, _))| *of == call).map(|(part, _)| self.bit(part)).sum()
    }

    /// The state after a part of a call that may come next, if it does anything then.
    fn take_part(&self, done: Calls, part: usize, state: &Sequential) -> Option<Sequential> {
        let (call, what) = self.parts[part];
        let may = done & (self.bit(part) | 1 << call) == 0 && self.earlier[call] & !done == 0;
        let mut after = may.then(|| state.clone())?;
        let does = match what {
            Part::Binds => spec::bind(&mut after, &self.history.events[call].op),
            Part::Forgets(id) => after.forget(id).is_some(),
        };
        does.then_some(after)
    }

    /// The calls that may come next: all that had returned before they were made are done.
    fn next(&self, done: Calls) -> Vec<usize> {
        let may = |call: &usize| done & (1 << call) == 0 && self.earlier[*call] & !done == 0;
        (0..self.history.events.len()).filter(may).collect()
    }
}

/// The parts of a call that can make a difference.
fn parts<'a>(history: &'a History, event: &'a Event) -> impl Iterator<Item = Part> + 'a {
    let forgets = event.op == Op::Forget && kind(&event.answer) != "Nothing";
    let told = |other: &Event| match (&event.op, &other.op) {
        (Op::Keyed(key, _), Op::Keyed(its, _)) => key == its && kind(&other.answer) == "Err Reused",
        _ => false,
    };
    let binds = history.events.iter().any(told).then_some(Part::Binds);
    let ids = IDS.into_iter().filter(move |_| forgets).map(Part::Forgets);
    binds.into_iter().chain(ids)
}
