//! What it costs to move a cache line from one core to another: words that are changed by compare-exchange, and nothing
//! else. `benches/SCALING.md` says what follows from it for an engine.
//!
//! As in the engine, a word is read before it is changed, so a change that finds the line elsewhere fetches it and then
//! claims it. Only those times count in which all threads were at work; where there are none, nothing is measured.

use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed},
};
use std::thread::yield_now;

use portable_atomic::AtomicU128;
use stockade_benches::work::{Parts, overlap};

use super::job::{Bits, Words};

/// Parts of each thread that are timed.
const PARTS: usize = 100;
/// Parts without which nothing is said.
const ENOUGH: usize = 10;
/// Looks at a word that is not this thread's turn, before somebody else may have the core.
const PATIENCE: usize = 1_000;

/// A counter.
trait Word: Default + Sync {
    fn get(&self) -> u64;
    /// Adds one if it is still `seen`; if not, says what it is.
    fn exchange(&self, seen: u64) -> Result<(), u64>;
}

impl Word for AtomicU64 {
    fn get(&self) -> u64 {
        self.load(Acquire)
    }

    #[inline]
    fn exchange(&self, seen: u64) -> Result<(), u64> {
        self.compare_exchange(seen, seen + 1, AcqRel, Acquire).map(|_| ())
    }
}

impl Word for AtomicU128 {
    fn get(&self) -> u64 {
        self.load(Acquire) as u64
    }

    #[inline]
    fn exchange(&self, seen: u64) -> Result<(), u64> {
        let seen = u128::from(seen);
        self.compare_exchange(seen, seen + 1, AcqRel, Acquire).map(|_| ()).map_err(|now| now as u64)
    }
}

/// Two lines long, because processors like to fetch two at a time.
#[derive(Default)]
#[repr(align(128))]
struct Alone<W>(W);

/// Nanoseconds for each successful change, over all threads; the median of the parts that count.
pub fn run(bits: Bits, words: Words, threads: usize, changes: usize) -> Option<f64> {
    match bits {
        Bits::Narrow => of_width::<AtomicU64>(words, threads, changes),
        Bits::Wide => of_width::<AtomicU128>(words, threads, changes),
    }
}

fn of_width<W: Word>(words: Words, threads: usize, changes: usize) -> Option<f64> {
    let all: Vec<Alone<W>> = (0..threads).map(|_| Alone::default()).collect();
    let step = |number: usize, is_over: &AtomicBool| match words {
        Words::Own => change(&all[number].0),
        Words::Same => change(&all[0].0),
        Words::Turns => turn(&all[0].0, number, threads, is_over),
    };
    let parts = Parts { steps: (changes / threads / PARTS).max(1), wanted: PARTS, most: usize::MAX };
    let counted = overlap(threads, parts, step, || [all.iter().map(|it| it.0.get()).sum()]);
    (counted.len() >= ENOUGH).then(|| counted[counted.len() / 2].ns)
}

#[inline]
fn change(word: &impl Word) -> bool {
    let mut seen = word.get();
    while let Err(now) = word.exchange(seen) {
        seen = now;
    }
    true
}

/// Changes the word when the others have; not at all if that is over. Whether they came without delay.
#[inline]
fn turn(word: &impl Word, number: usize, threads: usize, is_over: &AtomicBool) -> bool {
    for look in 0.. {
        let seen = word.get();
        if seen as usize % threads == number && word.exchange(seen).is_ok() {
            return look < PATIENCE;
        }
        if look % PATIENCE == PATIENCE - 1 {
            if is_over.load(Relaxed) {
                break;
            }
            yield_now();
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use stockade_benches::work::race;

    #[test]
    fn turns_are_taken_one_after_the_other() {
        let (word, is_over) = (AtomicU128::default(), AtomicBool::new(false));
        let (_, seen) = race(3, |number| {
            let take = |_| {
                let before = word.get();
                turn(&word, number, 3, &is_over);
                (before, word.get())
            };
            (0..100).map(take).collect::<Vec<_>>()
        });
        assert_eq!(word.get(), 300);
        for (number, seen) in seen.into_iter().enumerate() {
            for (round, (before, after)) in seen.into_iter().enumerate() {
                // Between two turns of one thread each other thread has one.
                let own = (round * 3 + number) as u64;
                assert!(before <= own && (own + 1..=own + 3).contains(&after), "{number}: {before} {own} {after}");
            }
        }
    }
}
