//! Class `lost-restock`: every way out of an order leaves the stock as it should be.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::support::{Said::*, *};
use stockade::{CancelReason, ManualClock, State, Stockade};

#[test]
fn c56_every_way_out_returns_the_stock() {
    let (engine, clock) = timed_shop(&[("A", 8)]);
    for id in ["O1", "O2", "O4"] {
        assert_eq!(reserve(&engine, id, &[("A", 2)]), New);
    }
    assert_eq!(reserve_for(&engine, "O3", &[("A", 2)], 10), New);
    assert_eq!(cancel(&engine, "O1"), Released(State::InventoryReserved, 2));
    assert_eq!(cancel_part(&engine, "O2", &[("A", 2)]), Ended(State::Cancelled));
    at(&clock, 10);
    assert_eq!((free(&engine, "A"), reason(&engine, "O3")), (6, Some(CancelReason::Expired)));
    assert_eq!((pay(&engine, "O4"), cancel(&engine, "O4")), (Done, Released(State::Paid, 2)));
    assert_eq!(book(&engine, "A"), (8, 0, 0));
    for id in ["O1", "O2", "O3", "O4"] {
        assert_eq!(state(&engine, id), Some(State::Cancelled));
    }
    settled(&engine);
}

#[test]
fn c56_every_way_out_of_every_state_for_one_line_and_for_many() {
    type Way = fn(&Stockade, State);
    let ways: [Way; 5] = [
        |engine, _| _ = engine.cancel("O").unwrap(),
        |engine, _| _ = engine.void("O").unwrap(),
        |engine, from| _ = engine.transition("O", from, State::Cancelled).unwrap(),
        |engine, _| {
            together(3, |_| _ = engine.cancel("O").unwrap());
        },
        |engine, _| {
            together(3, |_| _ = engine.void("O").unwrap());
        },
    ];
    let names: Vec<_> = (0..20).map(|n| format!("R{n}")).collect();
    for way in ways {
        for from in [State::Created, State::InventoryReserved, State::Paid] {
            for count in [1, 2, names.len()] {
                let rows: Vec<_> = names.iter().map(|name| (name.as_str(), 5)).collect();
                let engine = shop(&rows);
                let order: Vec<_> = names[..count].iter().map(|name| (name, 3)).collect();
                let _ = engine.create("O", &order).unwrap();
                if from != State::Created {
                    let _ = engine.reserve("O", &order).unwrap();
                }
                if from == State::Paid {
                    let _ = engine.pay("O").unwrap();
                }
                way(&engine, from);
                assert_eq!(state(&engine, "O"), Some(State::Cancelled));
                for name in &names {
                    assert_eq!(book(&engine, name), (5, 0, 0), "from {from}, {count} lines");
                }
                settled(&engine);
            }
        }
    }
}

/// The same after everything has been changed: a line dropped, one added, one lowered, one cancelled in part.
#[test]
fn c56_every_way_out_of_an_order_that_was_changed_in_part() {
    type Way = fn(&Stockade, &ManualClock) -> bool;
    let ways: [(&str, Way); 8] = [
        ("cancel", |engine, _| cancel(engine, "O") == Released(State::InventoryReserved, 5)),
        ("void", |engine, _| void(engine, "O") == Released(State::InventoryReserved, 5)),
        ("transition", |engine, _| engine.transition("O", State::InventoryReserved, State::Cancelled).is_ok()),
        ("paid, then cancel", |engine, _| (pay(engine, "O"), cancel(engine, "O")) == (Done, Released(State::Paid, 5))),
        ("its parts", |engine, _| {
            let first = cancel_part(engine, "O", &[("A", 1), ("C", 2)]);
            (first, cancel_part(engine, "O", &[("C", 2)])) == (Left(2), Ended(State::Cancelled))
        }),
        ("amended to what is cancelled", |engine, _| amend(engine, "O", &[("A", 1)]) == Ended(State::Cancelled)),
        ("its deadline", |engine, clock| {
            at(clock, 10);
            expire(engine) == ["O"]
        }),
        ("its deadline, somebody else", |engine, clock| {
            at(clock, 10);
            let said = reserve(engine, "P", &[("C", 5)]);
            (said, cancel(engine, "P")) == (New, Released(State::InventoryReserved, 5))
        }),
    ];
    for (name, way) in ways {
        let (engine, clock) = timed_shop(&[("A", 5), ("B", 5), ("C", 5)]);
        assert_eq!(reserve_for(&engine, "O", &[("A", 3), ("B", 5)], 10), New);
        assert_eq!(amend(&engine, "O", &[("A", 2), ("C", 4)]), Left(6));
        assert_eq!(cancel_part(&engine, "O", &[("A", 1)]), Left(5));
        assert_eq!(["A", "B", "C"].map(|sku| book(&engine, sku)), [(4, 1, 0), (5, 0, 0), (1, 4, 0)]);
        assert!(way(&engine, &clock), "{name}");
        assert_eq!(state(&engine, "O"), Some(State::Cancelled), "{name}");
        assert_eq!(["A", "B", "C"].map(|sku| book(&engine, sku)), [(5, 0, 0); 3], "{name}");
        settled(&engine);
    }
}

#[test]
fn c56_by_its_deadline_out_of_an_order_that_was_created_before() {
    let (engine, clock) = timed_shop(&[("A", 5), ("B", 5)]);
    let order = [("A", 3), ("B", 1)];
    let _ = engine.create("O", &order).unwrap();
    assert_eq!((reserve(&engine, "O1", &[("A", 4)]), reserve_for(&engine, "O", &order, 10)), (New, short(&["A"])));
    // A refused try leaves no deadline: the order is CREATED for as long as it likes.
    at(&clock, 20);
    assert_eq!((expire(&engine), state(&engine, "O")), (vec![], Some(State::Created)));
    assert_eq!(cancel(&engine, "O1"), Released(State::InventoryReserved, 4));
    assert_eq!((reserve_for(&engine, "O", &order, 10), deadline(&engine, "O")), (New, Some(30)));
    at(&clock, 30);
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((5, 0, 0), (5, 0, 0)));
    assert_eq!((expire(&engine), reason(&engine, "O")), (vec!["O".to_string()], Some(CancelReason::Expired)));
    settled(&engine);
}

#[test]
fn c56_a_hold_that_is_dropped_in_whatever_state_it_got_to() {
    let engine = shop(&[("A", 8), ("B", 8)]);
    let order = [("A", 2), ("B", 1)];
    drop(engine.hold("dropped", &order).unwrap());
    let crash = catch_unwind(AssertUnwindSafe(|| {
        let _hold = engine.hold("panicked", &order).unwrap();
        panic!("in the caller's own work");
    }));
    assert!(crash.is_err());
    {
        let _hold = engine.hold("paid", &order).unwrap();
        assert_eq!(pay(&engine, "paid"), Done);
    }
    for id in ["dropped", "panicked", "paid"] {
        assert_eq!(state(&engine, id), Some(State::Cancelled));
    }
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((8, 0, 0), (8, 0, 0)));

    // Once the goods have left there is nothing to give back.
    {
        let _hold = engine.hold("shipped", &order).unwrap();
        assert_eq!((pay(&engine, "shipped"), fulfil(&engine, "shipped")), (Done, Done));
    }
    assert_eq!(state(&engine, "shipped"), Some(State::Fulfilled));
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((6, 0, 2), (7, 0, 1)));
    settled(&engine);
}

#[test]
fn c57_every_line_is_released() {
    let (engine, clock) = timed_shop(&[("A", 5), ("B", 5), ("C", 5)]);
    let order = [("A", 1), ("B", 2), ("C", 3)];
    let rows = || ["A", "B", "C"].map(|sku| book(&engine, sku));
    assert_eq!(reserve(&engine, "O1", &order), New);
    assert_eq!(rows(), [(4, 1, 0), (3, 2, 0), (2, 3, 0)]);
    assert_eq!(cancel(&engine, "O1"), Released(State::InventoryReserved, 6));
    assert_eq!(rows(), [(5, 0, 0); 3]);
    assert_eq!(reserve_for(&engine, "O2", &order, 10), New);
    assert_eq!(rows(), [(4, 1, 0), (3, 2, 0), (2, 3, 0)]);
    at(&clock, 10);
    assert_eq!(expire(&engine), ["O2"]);
    assert_eq!(rows(), [(5, 0, 0); 3]);
    settled(&engine);
}

#[test]
fn c57_every_line_of_a_dead_hold_whoever_comes_across_one() {
    let names: Vec<_> = (0..100).map(|n| format!("R{n}")).collect();
    let rows: Vec<_> = names.iter().map(|name| (name.as_str(), 5)).collect();
    let order: Vec<_> = names.iter().map(|name| (name.as_str(), 5)).collect();
    for found in ["R0", "R57", "R99"] {
        let (engine, clock) = timed_shop(&rows);
        assert_eq!(reserve_for(&engine, "O1", &order, 10), New);
        at(&clock, 10);
        assert_eq!(reserve(&engine, "O2", &[(found, 5)]), New);
        for name in &names {
            let left = if name == found { 0 } else { 5 };
            assert_eq!(free(&engine, name), left, "{name}");
        }
        assert_eq!(expire(&engine), ["O1"]);
        settled(&engine);
    }
}

#[test]
fn c57_what_was_taken_again_for_a_late_payment_is_released_once_more() {
    let (engine, clock) = timed_shop(&[("A", 5), ("B", 5)]);
    assert_eq!(reserve_for(&engine, "O1", &[("A", 1), ("B", 5)], 10), New);
    at(&clock, 10);
    assert_eq!((expire(&engine), pay_again(&engine, "O1")), (vec!["O1".to_string()], Again));
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((4, 1, 0), (0, 5, 0)));
    assert_eq!(cancel(&engine, "O1"), Released(State::Paid, 6));
    assert_eq!((cancel(&engine, "O1"), pay_again(&engine, "O1")), (Already, InvalidState(State::Cancelled)));
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((5, 0, 0), (5, 0, 0)));
    settled(&engine);
}

/// A line that was added to a hold dies with it, and one that was dropped is not given back again.
#[test]
fn c57_every_line_of_an_amended_hold() {
    for found in ["A", "B", "C"] {
        let (engine, clock) = timed_shop(&[("A", 5), ("B", 5), ("C", 5)]);
        assert_eq!(reserve_for(&engine, "O1", &[("A", 5), ("B", 5)], 10), New);
        assert_eq!(amend(&engine, "O1", &[("B", 4), ("C", 5)]), Left(9));
        at(&clock, 10);
        assert_eq!(reserve(&engine, "O2", &[(found, 5)]), New);
        let free = ["A", "B", "C"].map(|sku| free(&engine, sku));
        assert_eq!(free, ["A", "B", "C"].map(|sku| if sku == found { 0 } else { 5 }));
        assert_eq!(expire(&engine), ["O1"]);

        // Late, but there: what is taken again is what the order was when its hold ended.
        assert_eq!(cancel(&engine, "O2"), Released(State::InventoryReserved, 5));
        assert_eq!(pay_again(&engine, "O1"), Again);
        assert_eq!(["A", "B", "C"].map(|sku| book(&engine, sku)), [(5, 0, 0), (1, 4, 0), (0, 5, 0)]);
        assert_eq!(cancel(&engine, "O1"), Released(State::Paid, 9));
        assert_eq!(["A", "B", "C"].map(|sku| book(&engine, sku)), [(5, 0, 0); 3]);
        settled(&engine);
    }
}
