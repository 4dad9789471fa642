//! The linearizability checker: is there an order of the calls, in which no call comes before one that had returned
//! before it was made, and in which the sequential engine gives every call the answer it got?
//!
//! The search is that of J. Wing and C. Gong, "Testing and verifying concurrent objects" (1993): take any call that may
//! come next and got the right answer, go on, come back if that leads nowhere. It remembers where it has been, as in G.
//! Lowe, "Testing for linearizability" (2017): the same calls done and the same state reached is a dead end the second
//! time too. Without that, histories of eight threads can take forever. The set of calls done is a bit set as in A.
//! Horn and D. Kroening, "Faster linearizability checking via P-compositionality" (2015).
//!
//! Why not a crate: `stateright` 0.31 (`LinearizabilityTester`) does not remember, and brings a model checker and a web
//! server; `todc-utils` 0.1.1 (`WGLChecker`) does, but answers only yes or no, knows no calls that have not returned,
//! and has not moved since 2023. What a failure needs is the place where the search got stuck. This is 100 lines.

use std::collections::HashSet;

use super::answer::unnumbered;
use super::history::History;
use super::sequential::Sequential;
use super::spec;

/// A set of calls, by their places in the history.
type Calls = u128;

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
    assert!(history.events.len() <= Calls::BITS as usize, "a history too long for a bit set");
    let mut search = Search::new(history);
    match search.go(0, spec::engine(&history.rows)) {
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
            let answer = spec::take(&mut after, &self.history.events[call].op);
            if self.answers[call].as_ref().is_some_and(|given| *given != answer) {
                stuck.push((call, answer));
                continue;
            }
            let done = done | 1 << call;
            if self.been.insert((done, after.clone())) {
                self.order.push(call);
                if let Some(end) = self.go(done, after) {
                    return Some(end);
                }
                self.order.pop();
            }
        }
        if self.refusal.next.is_empty() || self.order.len() > self.refusal.longest.len() {
            self.refusal = Refused { longest: self.order.clone(), next: stuck };
        }
        None
    }

    /// The calls that may come next: all that had returned before they were made are done.
    fn next(&self, done: Calls) -> Vec<usize> {
        let may = |call: &usize| done & (1 << call) == 0 && self.earlier[*call] & !done == 0;
        (0..self.history.events.len()).filter(may).collect()
    }
}
