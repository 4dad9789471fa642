//! The same sources with a hook at every step of the protocol (`tests/hooked`): here a thread pauses there at random,
//! so that others, also on a machine with few cores, come in between any two steps of an operation.

use std::cell::RefCell;
use std::rc::Rc;

pub use stockade_hooked as engine;

use super::dice::Dice;
use super::record::{Caller, Clock, Engine};

#[allow(clippy::duplicate_mod)] // over another crate
#[path = "drive.rs"]
mod drive;

pub struct Paused(drive::Shop);

impl Paused {
    pub fn new(keep_ms: Option<u64>) -> Self {
        Paused(drive::Shop::new(keep_ms))
    }
}

impl Engine for Paused {
    fn caller<'a>(&'a self, clock: &'a Clock, dice: Dice) -> Caller<'a> {
        let mut caller = self.0.caller(clock, dice.clone());
        let dice = Rc::new(RefCell::new(dice));
        Box::new(move |op| {
            let dice = Rc::clone(&dice);
            engine::hooks::with_hook(move |_| dice.borrow_mut().pause(3), || caller(op))
        })
    }

    fn counts(&self) -> Option<String> {
        self.0.counts()
    }

    fn meetings(&self) -> u64 {
        self.0.meetings()
    }
}
