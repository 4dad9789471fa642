//! Class `double-release`: each unit is credited once, in the right amount.

use crate::support::{Said::*, *};
use stockade::{CancelReason, Cancelled, Line, State};

#[test]
fn c24_cancel_twice() {
    for paid in [false, true] {
        for threads in [2, 8] {
            for _ in 0..rounds() / threads {
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
    for _ in 0..rounds() {
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
    for round in 0..rounds() {
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

#[test]
fn c26_part_cancel_then_whole_cancel() {
    for paid in [true, false] {
        let engine = shop(&[("A", 100)]);
        assert_eq!(reserve(&engine, "O1", &[("A", 6)]), New);
        let from = if paid { State::Paid } else { State::InventoryReserved };
        if paid {
            assert_eq!(pay(&engine, "O1"), Done);
        }
        assert_eq!(cancel_part(&engine, "O1", &[("A", 4)]), Left(2));
        assert_eq!((book(&engine, "A"), state(&engine, "O1")), ((98, 2, 0), Some(from)));
        assert_eq!(cancel(&engine, "O1"), Released(from, 2));
        assert_eq!((book(&engine, "A"), state(&engine, "O1")), ((100, 0, 0), Some(State::Cancelled)));
        assert_eq!(parts(&engine, "O1"), [("A".to_string(), [6, 0, 0, 6])]);
        assert_eq!(cancel(&engine, "O1"), Already);
        assert_eq!(cancel_part(&engine, "O1", &[("A", 1)]), InvalidState(State::Cancelled));
        assert_eq!((book(&engine, "A"), engine.stock("A").unwrap().version), ((100, 0, 0), 3));
        settled(&engine);
    }
}

/// However many cancel parts, and the whole at the same time: never more comes back than was taken.
#[test]
fn c26_parts_cancelled_by_many_at_once() {
    for round in 0..rounds() / 3 {
        let engine = shop(&[("A", 100), ("B", 100)]);
        assert_eq!(reserve(&engine, "O1", &[("A", 5), ("B", 5)]), New);
        let whole = round % 2;
        let said = together(8, |i| match i {
            0 if whole == 1 => cancel(&engine, "O1"),
            _ => cancel_part(&engine, "O1", &[("A", 1), ("B", 1)]),
        });
        let parted = said.iter().filter(|said| matches!(said, Left(_) | Ended(State::Cancelled))).count() as u64;
        let released: u64 = said.iter().map(|said| if let Released(_, units) = said { *units } else { 0 }).sum();
        assert_eq!(2 * parted + released, 10, "{said:?}");
        let too_late = said.iter().filter(|said| matches!(said, InvalidState(State::Cancelled) | Already)).count();
        assert!(parted as usize + too_late + usize::from(released > 0) == 8, "{said:?}");
        let order = engine.order("O1").unwrap();
        assert_eq!((order.state, order.version), (State::Cancelled, 1 + parted + u64::from(released > 0)));
        assert_eq!((book(&engine, "A"), book(&engine, "B")), ((100, 0, 0), (100, 0, 0)));
        settled(&engine);
    }
}

#[test]
fn c30_pack_and_parts_come_back_together() {
    let engine = shop(&[("P", 4), ("I", 24)]);
    assert_eq!(reserve(&engine, "O1", &[("P", 2), ("I", 12)]), New);
    assert_eq!((book(&engine, "P"), book(&engine, "I")), ((2, 2, 0), (12, 12, 0)));
    assert_eq!(cancel_part(&engine, "O1", &[("P", 1), ("I", 6)]), Left(7));
    assert_eq!((book(&engine, "P"), book(&engine, "I")), ((3, 1, 0), (18, 6, 0)));
    assert_eq!(cancel(&engine, "O1"), Released(State::InventoryReserved, 7));
    assert_eq!((book(&engine, "P"), book(&engine, "I")), ((4, 0, 0), (24, 0, 0)));
    settled(&engine);
}

/// Whatever is done to them, nobody ever sees an order with a pack and not its six parts.
#[test]
fn c30_no_reader_sees_a_pack_without_its_parts() {
    let engine = shop(&[("P", 50), ("I", 300)]);
    assert_eq!(reserve(&engine, "O1", &[("P", 40), ("I", 240)]), New);
    let look = || {
        let order = engine.order("O1").unwrap();
        let [pack, parts] = order.lines[..] else { panic!("{order:?}") };
        assert_eq!((parts.open, parts.cancelled), (6 * pack.open, 6 * pack.cancelled), "{order:?}");
        assert_eq!(pack.ordered, pack.open + pack.fulfilled + pack.cancelled, "{order:?}");
    };
    let said = watched(look, || {
        together(4, |i| {
            let once = |n: u32| match (i + n as usize) % 4 {
                0 => amend(&engine, "O1", &[("P", 50), ("I", 300)]),
                1 => amend(&engine, "O1", &[("P", 45), ("I", 270)]),
                _ => cancel_part(&engine, "O1", &[("P", 1), ("I", 6)]),
            };
            (0..20).map(once).collect::<Vec<_>>()
        })
        .concat()
    });
    let left = |said: &Said| matches!(said, Left(_) | TooFew(..) | Ended(State::Cancelled));
    assert!(said.iter().all(|said| left(said) || *said == InvalidState(State::Cancelled)), "{said:?}");
    let _ = engine.cancel("O1").unwrap();
    assert_eq!((book(&engine, "P"), book(&engine, "I")), ((50, 0, 0), (300, 0, 0)));
    settled(&engine);
}
