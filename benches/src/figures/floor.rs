//! The floor: what an engine that finds orders by id cannot leave out, and nothing else.
//!
//! For each order: the keyed hash of its id, one random cache line changed by a compare-and-swap (its place in an index
//! of twice as many words as orders), and one record of 64 bytes written, one after the other. The hash is the standard
//! library's `RandomState`, SipHash-1-3 with random keys; a faster keyed hash would lower this floor. The memory of
//! both has been touched before. What is missing: looking whether the id is known, the row, the order's state.

use std::hash::{BuildHasher, RandomState};
use std::hint::black_box;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use stockade_benches::work::{Plan, race};

/// As large and as aligned as an order's record is.
#[derive(Clone)]
#[repr(align(64))]
struct Record([u8; 64]);

pub fn run(plan: &Plan, threads: usize) -> Duration {
    let keyed = RandomState::new();
    // Not zeroes: those the kernel would hand out untouched.
    let index: Vec<AtomicU64> = (0..plan.orders() as u64 * 2).map(|it| AtomicU64::new(it | 1)).collect();
    let mut records = vec![Record([1; 64]); plan.orders()];
    let mut rest = records.as_mut_slice();
    let mut shares = Vec::new();
    for number in 0..threads {
        let (share, after) = std::mem::take(&mut rest).split_at_mut(plan.share(number, threads).len());
        shares.push(Mutex::new(share));
        rest = after;
    }
    let (span, _) = race(threads, |number| {
        let Ok(mut records) = shares[number].lock() else {
            return;
        };
        for (order, record) in plan.share(number, threads).zip(records.iter_mut()) {
            let id = plan.id(order);
            let hash = keyed.hash_one(id);
            let place = (u128::from(hash) * index.len() as u128) >> 64;
            change(&index[place as usize], hash);
            record.0[..id.len()].copy_from_slice(id.as_bytes());
            record.0[56..].copy_from_slice(&hash.to_ne_bytes());
            black_box(&record);
        }
    });
    span
}

/// Until it succeeds, as it does at once but for a collision of the threads.
#[inline]
fn change(word: &AtomicU64, to: u64) {
    let mut seen = word.load(Ordering::Acquire);
    while let Err(now) = word.compare_exchange(seen, to, Ordering::AcqRel, Ordering::Acquire) {
        seen = now;
    }
}
