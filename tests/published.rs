//! The eight published results of issue 2, through the public API, with their exact numbers.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[allow(dead_code, reason = "every test file uses its own part")]
#[path = "cases/support.rs"]
mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use stockade::{
    CancelReason, Cancelled, HoldClosed, ReserveError, Reserved, SetAvailableError, Shortage, Shortages, State, Stock,
    Stockade, TransitionError,
};
use support::{book, rounds, settled, shop, together};

#[test]
fn result_1_200_concurrent_reserves_on_a_row_of_50() {
    let engine = shop(&[("A", 50)]);
    let answers = together(200, |i| engine.reserve(&format!("order-{i}"), &[("A", 1)]));

    let new = answers.iter().filter(|a| matches!(a, Ok(Reserved::New(_)))).count();
    let sold_out =
        ReserveError::Insufficient { short: Shortages(vec![Shortage { sku: "A".into(), wanted: 1, available: 0 }]) };
    let refused = answers.iter().filter(|a| a.as_ref().err() == Some(&sold_out)).count();
    assert_eq!((new, refused), (50, 150));
    assert_eq!(engine.stock("A").unwrap(), Stock { available: 0, version: 50 });
    assert_eq!(book(&engine, "A"), (0, 50, 0));

    let stats = engine.stats();
    assert_eq!(stats.orders.inventory_reserved, 50);
    assert_eq!(stats.refusals.insufficient, 150);
    assert_eq!(engine.orders().count(), 50, "a refused reserve leaves nothing behind");
    settled(&engine);
}

#[test]
fn result_2_a_stale_version_is_a_conflict_and_changes_nothing() {
    let engine = shop(&[("A", 5)]);
    let seen = engine.stock("A").unwrap();
    assert_eq!(seen, Stock { available: 5, version: 0 });

    let _ = engine.reserve("behind the writer's back", &[("A", 1)]).unwrap();
    let current = Stock { available: 4, version: 1 };
    assert_eq!(
        engine.set_available("A", seen.version, 9),
        Err(SetAvailableError::VersionConflict { expected: 0, current })
    );
    assert_eq!(engine.stock("A").unwrap(), current);
    assert_eq!(engine.stats().refusals.version_conflict, 1);
}

#[test]
fn result_3_a_reserve_whose_cas_loses_retries_and_succeeds() {
    const THREADS: usize = 8;
    const EACH: usize = 200;
    let all = (THREADS * EACH) as u64;
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let engine = shop(&[("A", all)]);
        // There is enough for everybody, so no lost race may ever show as a no.
        together(THREADS, |thread| {
            for n in 0..EACH {
                let answer = engine.reserve(&format!("{thread}-{n}"), &[("A", 1)]);
                assert!(matches!(answer, Ok(Reserved::New(_))), "{answer:?}");
            }
        });
        assert_eq!(engine.stock("A").unwrap(), Stock { available: 0, version: all });
        assert_eq!(book(&engine, "A"), (0, all, 0));
        let stats = engine.stats();
        if stats.lost_cas + stats.helped > 0 {
            break;
        }
        assert!(Instant::now() < deadline, "no CAS lost in 20 s of contention: nothing was shown");
    }
}

#[test]
fn result_4_20_concurrent_duplicates_of_one_reserve() {
    for _ in 0..rounds() / 10 {
        let engine = shop(&[("A", 10)]);
        let answers = together(20, |_| engine.reserve("order", &[("A", 1)]).unwrap());

        assert_eq!(engine.stock("A").unwrap(), Stock { available: 9, version: 1 });
        assert_eq!(answers.iter().filter(|a| a.is_new()).count(), 1);
        let told = answers[0].reservation();
        assert_eq!(told.version, 1);
        assert!(answers.iter().all(|a| a.reservation() == told), "{answers:?}");
        assert_eq!(engine.stats().replays, 19);
        settled(&engine);
    }
}

#[test]
fn result_5_a_repeated_payment_callback_through_transition() {
    let engine = shop(&[("A", 10)]);
    let _ = engine.reserve("order", &[("A", 1)]).unwrap();
    let callback = || engine.transition("order", State::InventoryReserved, State::Paid);

    assert_eq!(callback(), Ok(2));
    let repeated = TransitionError::InvalidState { expected: State::InventoryReserved, actual: State::Paid };
    assert_eq!(callback(), Err(repeated));

    let order = engine.order("order").unwrap();
    assert_eq!((order.state, order.version), (State::Paid, 2));
    assert_eq!(engine.stats().refusals.invalid_state, 1);
}

#[test]
fn result_6_first_and_second_with_stock_1_exactly_one_succeeds() {
    let mut winners = [0; 2];
    for _ in 0..rounds() {
        let engine = shop(&[("A", 1)]);
        let yes = first_and_second(&engine);
        assert!(yes[0] != yes[1], "exactly one: {yes:?}");
        winners[usize::from(yes[1])] += 1;
        assert_eq!(book(&engine, "A"), (0, 1, 0));
    }
    println!("first won {} rounds, second {}", winners[0], winners[1]);
}

#[test]
fn result_6_first_and_second_with_stock_2_both_succeed() {
    for _ in 0..rounds() {
        let engine = shop(&[("A", 2)]);
        assert_eq!(first_and_second(&engine), [true, true]);
        assert_eq!(book(&engine, "A"), (0, 2, 0));
    }
}

/// Who was told yes.
fn first_and_second(engine: &Stockade) -> Vec<bool> {
    together(2, |i| match engine.reserve(["first", "second"][i], &[("A", 1)]) {
        Ok(Reserved::New(_)) => true,
        Err(ReserveError::Insufficient { .. }) => false,
        other => panic!("{other:?}"),
    })
}

#[test]
fn result_7_replay_other_lines_and_cancel_once() {
    let engine = shop(&[("A", 10), ("B", 10)]);
    let first = engine.reserve("order", &[("A", 3)]).unwrap();
    assert!(first.is_new());
    assert_eq!(engine.reserve("order", &[("A", 3)]), Ok(Reserved::Replayed(first.reservation())));
    assert_eq!(engine.stats().replays, 1);
    for other in [&[("A", 4)][..], &[("B", 3)], &[("A", 3), ("B", 1)]] {
        assert_eq!(engine.reserve("order", other), Err(ReserveError::LinesDiffer));
    }
    assert_eq!(engine.stats().refusals.lines_differ, 3);
    assert_eq!(engine.stock("A").unwrap(), Stock { available: 7, version: 1 });
    assert_eq!(engine.stock("B").unwrap(), Stock { available: 10, version: 0 });

    let released = engine.cancel("order").unwrap();
    assert_eq!(released.units(), 3);
    assert!(matches!(released, Cancelled::Released { from: State::InventoryReserved, .. }));
    let closed = engine.order("order").unwrap();
    assert_eq!((closed.state, closed.version), (State::Cancelled, 2));
    assert_eq!(engine.stock("A").unwrap(), Stock { available: 10, version: 2 });

    assert_eq!(engine.cancel("order"), Ok(Cancelled::Already));
    let again = engine.reserve("order", &[("A", 3)]);
    assert_eq!(again, Err(ReserveError::Closed { state: State::Cancelled }));
    assert_eq!(engine.stats().refusals.closed, 1);
    assert_eq!(engine.cancel("never seen"), Ok(Cancelled::Unknown));

    assert_eq!(engine.order("order"), Some(closed), "the id is kept as it was");
    assert_eq!(engine.order("never seen"), None);
    assert_eq!(engine.stock("A").unwrap(), Stock { available: 10, version: 2 });
    settled(&engine);
}

#[test]
fn result_8_a_panic_in_the_callers_own_work_gives_everything_back() {
    let engine = shop(&[("A", 5), ("B", 5)]);
    let crash = catch_unwind(AssertUnwindSafe(|| {
        let _hold = engine.hold("order", &[("A", 2), ("B", 3)]).unwrap();
        assert_eq!((book(&engine, "A"), book(&engine, "B")), ((3, 2, 0), (2, 3, 0)));
        panic!("the caller's own work failed");
    }));
    assert!(crash.is_err());
    everything_came_back(&engine);
}

#[test]
fn result_8_an_error_in_the_callers_own_work_gives_everything_back() {
    let engine = shop(&[("A", 5), ("B", 5)]);
    let checkout = || -> Result<(), Box<dyn std::error::Error>> {
        let hold = engine.hold("order", &[("A", 2), ("B", 3)])?;
        let _card: u32 = "not a number".parse()?;
        hold.keep()?;
        Ok(())
    };
    assert!(checkout().is_err());
    everything_came_back(&engine);
}

#[test]
fn result_8_what_is_kept_stays() {
    let engine = shop(&[("A", 5), ("B", 5)]);
    let hold = engine.hold("order", &[("A", 2), ("B", 3)]).unwrap();
    let taken = hold.reserved();
    assert!(taken.is_new());
    assert_eq!(hold.keep(), Ok(taken.reservation()));
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((3, 2, 0), (2, 3, 0)));

    // A replayed hold is not the one that took the stock: dropping it gives nothing back.
    let replayed = engine.hold("order", &[("A", 2), ("B", 3)]).unwrap();
    assert_eq!(replayed.reserved(), Reserved::Replayed(taken.reservation()));
    drop(replayed);
    assert_eq!(engine.order("order").unwrap().state, State::InventoryReserved);

    // Nothing left to keep: somebody cancelled in the meantime, and the stock came back once.
    let late = engine.hold("late", &[("A", 1)]).unwrap();
    assert_eq!(engine.cancel("late").unwrap().units(), 1);
    assert_eq!(late.keep(), Err(HoldClosed { state: State::Cancelled }));
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((3, 2, 0), (2, 3, 0)));
    settled(&engine);
}

fn everything_came_back(engine: &Stockade) {
    for sku in ["A", "B"] {
        assert_eq!(book(engine, sku), (5, 0, 0));
        assert_eq!(engine.stock(sku).unwrap(), Stock { available: 5, version: 2 });
    }
    let order = engine.order("order").unwrap();
    assert_eq!((order.state, order.version), (State::Cancelled, 2));
    assert_eq!(order.cancelled, Some(CancelReason::HoldDropped));
    settled(engine);
}
