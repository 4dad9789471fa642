//! What a step costs while all threads are at work, on a machine where they are not always: parts of so many steps are
//! timed, and those count in which no thread was alone. A thread that waits for a core leaves the others what they
//! contend for, and a mean over everything would call that cheap.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::race;

/// Where threads share a core, no part ever counts: enough is enough.
const LONGEST: Duration = Duration::from_millis(500);

/// How long is measured.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// Steps of one thread in a part.
    pub steps: usize,
    /// Parts of a thread that must count.
    pub wanted: usize,
    /// Parts of a thread, counted or not.
    pub most: usize,
}

/// A part that counts.
#[derive(Clone, Debug)]
pub struct Part<const N: usize> {
    /// For each step of whichever thread.
    pub ns: f64,
    /// By how much what was read has grown.
    pub grown: [u64; N],
}

/// Lets the threads do `step` with their number and whether it is over, until one of them is done; false says that the
/// step was held up. `read` says first how many steps all threads have done. The parts that count come back, the
/// fastest first.
pub fn overlap<const N: usize>(
    threads: usize,
    parts: Parts,
    step: impl Fn(usize, &AtomicBool) -> bool + Sync,
    read: impl Fn() -> [u64; N] + Sync,
) -> Vec<Part<N>> {
    let (start, is_over) = (Instant::now(), AtomicBool::new(false));
    let (_, done) = race(threads, |number| {
        let mut counted = Vec::with_capacity(parts.wanted);
        for _ in 0..parts.most {
            if counted.len() == parts.wanted || start.elapsed() > LONGEST || is_over.load(Ordering::Relaxed) {
                break;
            }
            let (start, before) = (Instant::now(), read());
            let is_smooth = (0..parts.steps).fold(true, |smooth, _| step(number, &is_over) && smooth);
            let (ns, after) = (start.elapsed().as_secs_f64() * 1e9, read());
            let grown = std::array::from_fn(|it| after[it].saturating_sub(before[it]));
            if is_smooth && is_shared(grown[0], parts.steps as u64, threads as u64) {
                counted.push(Part { ns: ns / grown[0] as f64, grown });
            }
        }
        // Who is left over would be alone.
        is_over.store(true, Ordering::Relaxed);
        counted
    });
    let mut counted: Vec<Part<N>> = done.into_iter().flatten().collect();
    counted.sort_by(|a, b| a.ns.total_cmp(&b.ns));
    counted
}

/// Whether the thread that did `own` of all steps did about as many as each other thread.
fn is_shared(all: u64, own: u64, threads: u64) -> bool {
    all * 3 >= own * threads * 2 && all <= own * threads * 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn a_part_in_which_one_thread_was_alone_does_not_count() {
        assert!(is_shared(100, 100, 1) && is_shared(200, 100, 2));
        assert!(!is_shared(100, 100, 2) && !is_shared(5_000, 100, 2));
    }

    #[test]
    fn steps_that_were_held_up_do_not_count() {
        let steps = AtomicU64::new(0);
        let step = |_, _: &AtomicBool| !steps.fetch_add(1, Ordering::Relaxed).is_multiple_of(100);
        let counted = overlap(1, Parts { steps: 60, wanted: 9, most: 5 }, step, || [steps.load(Ordering::Relaxed)]);
        // Steps 0, 100 and 200 are held up, in the first, second and fourth of five parts.
        assert_eq!(steps.load(Ordering::Relaxed), 300);
        assert!(counted.len() == 2 && counted.iter().all(|part| part.grown == [60]));
    }
}
