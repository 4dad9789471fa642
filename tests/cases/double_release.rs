//! Class `double-release`: each unit is credited once, in the right amount.

use crate::support::{Said::*, *};
use stockade::{CancelReason, Cancelled, Line, State};

#[test]
fn c24_cancel_twice() {
    for paid in [false, true] {
        for threads in [2, 8] {
            for _ in 0..ROUNDS / threads {
                let engine = shop(&[("A", 10)]);
                assert_eq!(reserve(&engine, "O1", &[("A", 3)]), New);
                let from = if paid { State::Paid } else { State::InventoryReserved };
                if paid {
                    assert_eq!(pay(&engine, "O1"), Done);
                }
                let said = together(threads, |_| cancel(&engine, "O1"));
                assert_eq!(count(&said, &Released(from, 3)), 1, "{said:?}");
                assert_eq!(count(&said, &Already), threads - 1, "{said:?}");
                assert_eq!(cancel(&engine, "O1"), Already);
                assert_eq!(book(&engine, "A"), (10, 0, 0));
                settled(&engine);
            }
        }
    }
}

#[test]
fn c24_cancelled_in_five_ways_at_once() {
    for _ in 0..ROUNDS {
        let engine = shop(&[("A", 10), ("B", 10)]);
        let hold = engine.hold("O1", &[("A", 3), ("B", 1)]).unwrap();
        let hold = std::sync::Mutex::new(Some(hold));
        let said = together(5, |i| match i {
            0 => cancel(&engine, "O1"),
            1 => void(&engine, "O1"),
            2 => match engine.transition("O1", State::InventoryReserved, State::Cancelled) {
                Ok(_) => Done,
                Err(_) => Already,
            },
            3 => cancel(&engine, "O1"),
            _ => {
                drop(hold.lock().unwrap().take());
                Already
            }
        });
        let released = count(&said, &Released(State::InventoryReserved, 4));
        let moved = count(&said, &Done);
        let dropped = engine.order("O1").unwrap().cancelled == Some(CancelReason::HoldDropped);
        assert_eq!(released + moved + usize::from(dropped), 1, "{said:?}");
        assert_eq!((book(&engine, "A"), book(&engine, "B")), ((10, 0, 0), (10, 0, 0)));
        assert_eq!(engine.order("O1").unwrap().version, 2);
        assert_eq!(engine.stock("A").unwrap().version, 2);
        settled(&engine);
    }
}

#[test]
fn c24_cancelled_at_its_deadline() {
    for round in 0..ROUNDS {
        let (engine, clock) = timed_shop(&[("A", 10), ("B", 10)]);
        let way = [cancel, void][round % 2];
        assert_eq!(reserve_for(&engine, "O1", &[("A", 3), ("B", 1)], 10), New);
        at(&clock, 9);
        let (said, swept) = both(
            || way(&engine, "O1"),
            || {
                at(&clock, 10);
                expire(&engine)
            },
        );
        if said == Already {
            assert_eq!((swept, reason(&engine, "O1")), (vec!["O1".to_string()], Some(CancelReason::Expired)));
        } else {
            assert_eq!((said, swept), (Released(State::InventoryReserved, 4), vec![]));
            assert_ne!(reason(&engine, "O1"), Some(CancelReason::Expired));
        }
        assert_eq!((book(&engine, "A"), book(&engine, "B")), ((10, 0, 0), (10, 0, 0)));
        assert_eq!(engine.order("O1").unwrap().version, 2);
        assert_eq!(engine.stock("A").unwrap().version, 2);
        settled(&engine);
    }
}

#[test]
fn c25_the_credit_is_the_quantity_not_its_square_and_not_one() {
    let engine = shop(&[("A", 25)]);
    assert_eq!(reserve(&engine, "O1", &[("A", 5)]), New);
    assert_eq!(book(&engine, "A"), (20, 5, 0));
    assert_eq!(cancel(&engine, "O1"), Released(State::InventoryReserved, 5));
    assert_eq!(book(&engine, "A"), (25, 0, 0));
    settled(&engine);
}

#[test]
fn c25_of_several_lines_each_in_its_own_amount() {
    let engine = shop(&[("A", 100), ("B", 100), ("C", 100)]);
    let skus = ["A", "B", "C"].map(|sku| engine.sku(sku).unwrap());
    for n in 1..=50 {
        let id = format!("O{n}");
        assert_eq!(reserve(&engine, &id, &[("C", 2 * n), ("A", n), ("B", 1)]), New);
        let lines = [(0, n), (1, 1), (2, 2 * n)];
        let lines = lines.map(|(row, quantity)| Line { sku: skus[row], quantity }).to_vec();
        let from = State::InventoryReserved;
        assert_eq!(engine.cancel(&id), Ok(Cancelled::Released { from, lines }));
        for sku in ["A", "B", "C"] {
            assert_eq!(book(&engine, sku), (100, 0, 0));
        }
    }
}

/// Part cancel left for later: the whole cancel alone gives back what the order holds.
#[test]
fn c26_a_cancel_after_payment_never_ends_above_the_starting_stock() {
    let engine = shop(&[("A", 100)]);
    assert_eq!((reserve(&engine, "O1", &[("A", 6)]), pay(&engine, "O1")), (New, Done));
    assert_eq!(book(&engine, "A"), (94, 6, 0));
    assert_eq!(cancel(&engine, "O1"), Released(State::Paid, 6));
    assert_eq!(cancel(&engine, "O1"), Already);
    assert_eq!(book(&engine, "A"), (100, 0, 0));
    assert_eq!(state(&engine, "O1"), Some(State::Cancelled));
    settled(&engine);
}

/// Part cancel left for later.
#[test]
fn c30_pack_and_parts_come_back_together() {
    let engine = shop(&[("P", 4), ("I", 24)]);
    assert_eq!(reserve(&engine, "O1", &[("P", 2), ("I", 12)]), New);
    assert_eq!((book(&engine, "P"), book(&engine, "I")), ((2, 2, 0), (12, 12, 0)));
    assert_eq!(cancel(&engine, "O1"), Released(State::InventoryReserved, 14));
    assert_eq!((book(&engine, "P"), book(&engine, "I")), ((4, 0, 0), (24, 0, 0)));
    settled(&engine);
}
