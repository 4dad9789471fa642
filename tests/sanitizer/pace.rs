//! Threads that give way in the middle of a verb, so that others find its work half done also on few cores.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::thread::{self, JoinHandle};

use stockade_hooked::hooks::{Step, with_hook};

/// A small seeded generator (xorshift).
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: usize) -> Self {
        Dice(0x9e37_79b9_7f4a_7c15 ^ seed as u64)
    }

    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

/// Starts a thread that gives way at every tenth step or so. Its result comes with the steps that it passed.
///
/// What it works on is leaked: std's locks, scopes and the last drop of an `Arc` are not instrumented, and would be
/// reported.
pub fn spawn<T: Send + 'static>(
    number: usize,
    work: impl FnOnce(Dice) -> T + Send + 'static,
) -> JoinHandle<(T, HashSet<Step>)> {
    thread::spawn(move || {
        let passed = Rc::new(RefCell::new(HashSet::new()));
        let (seen, giving_way) = (Rc::clone(&passed), RefCell::new(Dice::new(number)));
        let hook = move |step| {
            seen.borrow_mut().insert(step);
            if giving_way.borrow_mut().roll(10) == 0 {
                thread::yield_now();
            }
        };
        let result = with_hook(hook, || work(Dice::new(number + 100)));
        (result, passed.take())
    })
}
