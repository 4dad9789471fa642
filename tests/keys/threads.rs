//! Many threads, one key; and many keys, of which few are remembered.

use std::collections::HashSet;
use std::fmt::Debug;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use stockade::{KeyedError, Once, RequestKey, Stockade};

use crate::{available, is_sound, paid, stocked, under};

const THREADS: usize = 6;
const ROUNDS: u64 = 150;

/// What so many threads are told that start together.
fn together<R: Send>(work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let start = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (start, work) = (&start, &work);
                scope.spawn(move || {
                    start.wait();
                    work(thread)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Exactly one has carried it out, and all are told the same.
fn once<T: Debug + PartialEq + Copy, E: Debug>(told: &[Result<Once<T>, KeyedError<E>>]) {
    let new = told.iter().filter(|it| matches!(it, Ok(Once::New(_)))).count();
    let answers: Vec<T> = told.iter().filter_map(|it| it.as_ref().ok().map(|it| it.answer())).collect();
    assert!(new == 1 && answers.len() == told.len(), "{told:?}");
    assert!(answers.iter().all(|it| *it == answers[0]), "{told:?}");
}

#[test]
fn one_key_from_many_threads_takes_effect_once() {
    for round in 0..ROUNDS {
        let shop = stocked(Stockade::new());
        paid(&shop, "order");
        let others = |thread: usize| {
            // Half of them come while the row and the order are changing anyhow.
            if thread % 2 == 1 {
                drop((shop.restock("A", 1), shop.write_off("A", 1), shop.amend("order", &[("A", 4), ("B", 2)])));
            }
        };
        match round % 6 {
            0 => once(&together(|thread| {
                others(thread);
                under(&shop, "key").restock("A", 3)
            })),
            1 => once(&together(|thread| {
                others(thread);
                under(&shop, "key").write_off("A", 3)
            })),
            2 => once(&together(|_| under(&shop, "key").set_available("A", 1, 20))),
            3 => once(&together(|_| under(&shop, "key").cancel_lines("order", &[("A", 1)]))),
            4 => once(&together(|_| under(&shop, "key").fulfil_lines("order", &[("A", 1), ("B", 2)]))),
            _ => once(&together(|thread| {
                others(thread);
                under(&shop, "key").amend("order", &[("A", 6), ("B", 1)])
            })),
        }
        is_sound(&shop);
    }
}

/// Every unit that somebody was told of is there, and no other: also if the keys are forgotten meanwhile.
#[test]
fn keys_that_are_forgotten_meanwhile_have_no_second_effect() {
    let shop = stocked(Stockade::builder().keep_keys(4).build().unwrap());
    let (restocked, cancelled) = (AtomicU64::new(0), AtomicU64::new(0));
    let _ = shop.restock("B", 100_000).unwrap();
    let _ = shop.reserve("order", &[("B", 100_000)]).unwrap();
    together(|thread| {
        for n in 0..2_000_u64 {
            // Two threads each share their keys, so that every request comes twice or more, sooner or later.
            let issued = 3 * n + thread as u64 % 3;
            let id = format!("{issued}");
            for _ in 0..2 {
                let told = shop.keyed(RequestKey { id: &id, issued }).restock("A", 1);
                restocked.fetch_add(u64::from(matches!(told, Ok(Once::New(_)))), Relaxed);
                assert!(matches!(told, Ok(_) | Err(KeyedError::TooOld { .. })), "{told:?}");
            }
            let id = format!("part {issued}");
            let told = shop.keyed(RequestKey { id: &id, issued }).cancel_lines("order", &[("B", 1)]);
            cancelled.fetch_add(u64::from(matches!(told, Ok(Once::New(_)))), Relaxed);
            assert!(matches!(told, Ok(_) | Err(KeyedError::TooOld { .. })), "{told:?}");
        }
    });
    let (restocked, cancelled) = (restocked.into_inner(), cancelled.into_inner());
    assert!(restocked <= 6_000 && cancelled <= 6_000, "{restocked} {cancelled}");
    assert_eq!(available(&shop, "A"), 10 + restocked);
    assert_eq!(available(&shop, "B"), 10 + cancelled);
    is_sound(&shop);
    // However they raced, no more are remembered than were to be.
    let known =
        (0..6_000_u64).flat_map(|issued| [format!("{issued}"), format!("part {issued}")].map(|id| (id, issued)));
    let known: HashSet<_> = known.filter(|(id, issued)| shop_knows(&shop, id, *issued)).collect();
    assert!(known.len() <= 4, "{known:?}");
}

/// Whether a key is remembered: with something else it is refused by name then.
fn shop_knows(shop: &Stockade, id: &str, issued: u64) -> bool {
    matches!(shop.keyed(RequestKey { id, issued }).restock("B", u64::MAX), Err(KeyedError::Reused { .. }))
}
