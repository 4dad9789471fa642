//! Ten times as many orders as are kept: memory is that of the first round, and the index does not grow.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use stockade_hooked::hooks::{Step, with_hook};
use stockade_hooked::{Keep, ManualClock, Reserved, Stockade};

use crate::resident::{alone, resident_kib};
use crate::{KEPT_MS, LATEST_MS};

/// Orders that are kept.
const KEPT: u64 = 8_000;
const ROUNDS: u64 = 12;
const THREADS: u64 = 2;

/// What one thread saw in one round.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// The highest number of a record.
    number: u64,
    /// How often it divided a segment of the index.
    divided: u64,
}

/// Two threads buy, restock and forget. After the first rounds no more records are in use, no segment of the index is
/// divided, and the process is as big as it was.
#[test]
fn memory_stays_flat() {
    let _alone = alone();
    let clock = Arc::new(ManualClock::default());
    let builder = Stockade::builder().clock(Arc::clone(&clock)).keep_finished(Keep::Newest(KEPT)).keep_keys(100);
    let shop = builder.build().unwrap();
    shop.add_sku("A", 1_000).unwrap();
    shop.add_sku("B", 1_000).unwrap();
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        let seen: Vec<Seen> = std::thread::scope(|scope| {
            let (shop, clock) = (&shop, &clock);
            let threads =
                (0..THREADS).map(|thread| scope.spawn(move || one_round(shop, clock, round * THREADS + thread)));
            let threads: Vec<_> = threads.collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let number = seen.iter().map(|it| it.number).max().unwrap();
        rounds.push((number, seen.iter().map(|it| it.divided).sum::<u64>(), resident_kib()));
        let audit = shop.audit();
        assert!(audit.is_sound() && audit.in_motion.is_empty(), "{audit:?}");
    }
    let stats = shop.stats();
    assert!(stats.forgotten > (ROUNDS - 2) * KEPT && stats.expired > 0 && stats.revised > 0, "{stats:?}");
    let [(numbers, _, before), .., (last, _, after)] = rounds[2..] else { panic!() };
    assert!(last < numbers + numbers / 8, "records: {rounds:?}");
    // A leaf that happens to be full of what is kept is divided still, ever more seldom; the first rounds divided
    // dozens.
    let divided = rounds.iter().map(|(_, divided, _)| divided);
    let (first, since): (u64, u64) = (divided.clone().take(3).sum(), divided.skip(3).sum());
    assert!(first > 30 && since < first / 2, "segments divided: {rounds:?}");
    // A quarter of what the orders of nine rounds would take, if they were kept. Other tests run beside this one.
    if let (Some(before), Some(after)) = (before, after) {
        assert!(after < before + 3_072, "KiB resident: {rounds:?}");
    }
}

/// As many orders as are kept, by all threads together.
fn one_round(shop: &Stockade, clock: &ManualClock, name: u64) -> Seen {
    let divided = Rc::new(Cell::new(0));
    let count = Rc::clone(&divided);
    let hook = move |step| {
        if step == Step::ChildrenPublished {
            count.set(count.get() + 1);
        }
    };
    let number = with_hook(hook, || (0..KEPT / THREADS).map(|n| one_order(shop, clock, name, n)).max());
    Seen { number: number.unwrap(), divided: divided.get() }
}

/// An order from beginning to end, and something that is forgotten for it; the number of its record.
fn one_order(shop: &Stockade, clock: &ManualClock, name: u64, n: u64) -> u64 {
    let id = format!("an order with an id of 36 b {name:02}-{n:05}");
    let taken = match n % 8 {
        0 => shop.reserve_for(&id, &[("A", 1), ("B", 1)], 1),
        _ => shop.reserve(&id, &[("A", 2), ("B", 1)]),
    };
    let number = match taken.unwrap() {
        Reserved::New(it) | Reserved::Replayed(it) => it.number,
    };
    let ended = match n % 8 {
        // It is not told to anybody; who restocks lets go of it.
        0 => {
            clock.advance_ms(1);
            shop.restock("A", 0).is_ok()
        }
        1 | 2 => shop.cancel(&id).is_ok(),
        3 => shop.amend(&id, &[("A", 1)]).is_ok() && shop.cancel_lines(&id, &[("A", 1)]).is_ok(),
        4 => shop.pay(&id).is_ok() && shop.fulfil_lines(&id, &[("A", 1)]).is_ok() && shop.cancel(&id).is_ok(),
        _ => shop.pay(&id).is_ok() && shop.fulfil(&id).is_ok(),
    };
    assert!(ended, "{id}");
    assert!(shop.restock("A", 2).is_ok() && shop.restock("B", 1).is_ok());
    shop.forget_finished(3);
    number
}

/// Holds that ended and of which nobody was told are in the set of deadlines until their orders are forgotten.
#[test]
fn the_set_of_deadlines_stays_flat_too() {
    let _alone = alone();
    let clock = Arc::new(ManualClock::default());
    let builder = Stockade::builder().clock(Arc::clone(&clock)).keep_finished(Keep::ForMs(KEPT_MS));
    let shop = builder.build().unwrap();
    shop.add_sku("A", 1).unwrap();
    let mut before = None;
    for n in 0..100_000 {
        assert!(shop.reserve_for(&format!("order {n}"), &[("A", 1)], 1).is_ok_and(Reserved::is_new));
        clock.advance_ms(1);
        if n % 100 == 0 {
            clock.advance_ms(LATEST_MS);
            shop.forget_finished(1_000);
        }
        if n == 20_000 {
            before = resident_kib();
        }
    }
    assert!(shop.stats().forgotten > 90_000, "{:?}", shop.stats());
    // Less than half of what eighty thousand entries would take. Other tests run beside this one.
    if let (Some(before), Some(after)) = (before, resident_kib()) {
        assert!(after < before + 3_072, "from {before} KiB to {after}");
    }
}
