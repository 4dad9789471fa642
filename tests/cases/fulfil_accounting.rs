//! Class `fulfil-accounting`: held units become shipped units exactly once.

use crate::support::{Said::*, *};
use stockade::{State, Stockade, TransitionError};

/// A row of ten with O1, paid, for some of it.
fn paid(quantity: u32) -> Stockade {
    let engine = shop(&[("A", 10)]);
    assert_eq!(reserve(&engine, "O1", &[("A", quantity)]), New);
    assert_eq!(pay(&engine, "O1"), Done);
    engine
}

#[test]
fn c76_cancel_after_complete_fulfilment() {
    let (engine, clock) = timed_shop(&[("A", 100)]);
    let steps = (reserve_for(&engine, "O1", &[("A", 5)], 10), pay(&engine, "O1"), fulfil(&engine, "O1"));
    assert_eq!(steps, (New, Done, Done));
    at(&clock, 10);
    assert_eq!(expire(&engine), [""; 0]);
    for way in [cancel, void] {
        assert_eq!(way(&engine, "O1"), InvalidState(State::Fulfilled));
        assert_eq!(book(&engine, "A"), (95, 0, 5));
        assert_eq!(state(&engine, "O1"), Some(State::Fulfilled));
    }
    settled(&engine);
}

#[test]
fn c77_fulfil_twice() {
    for threads in [2, 8] {
        for _ in 0..rounds() / threads {
            let engine = paid(3);
            let said = together(threads, |_| fulfil(&engine, "O1"));
            assert_eq!((count(&said, &Done), count(&said, &Already)), (1, threads - 1), "{said:?}");
            assert_eq!(fulfil(&engine, "O1"), Already);
            assert_eq!(book(&engine, "A"), (7, 0, 3));
            assert_eq!(engine.order("O1").unwrap().version, 3);
            assert_eq!(engine.stock("A").unwrap().version, 1, "shipping frees nothing");
            settled(&engine);
        }
    }
}

#[test]
fn c78_cancel_meets_fulfil() {
    let mut shipped = 0;
    for round in 0..rounds() {
        let engine = paid(2);
        let way = [cancel, void][round % 2];
        let said = together(2, |i| match i {
            0 => way(&engine, "O1"),
            _ => fulfil(&engine, "O1"),
        });
        if said[1] == Done {
            shipped += 1;
            assert_eq!(said[0], InvalidState(State::Fulfilled));
            assert_eq!(state(&engine, "O1"), Some(State::Fulfilled));
            assert_eq!(book(&engine, "A"), (8, 0, 2));
        } else {
            assert_eq!(said, [Released(State::Paid, 2), InvalidState(State::Cancelled)]);
            assert_eq!(state(&engine, "O1"), Some(State::Cancelled));
            assert_eq!(book(&engine, "A"), (10, 0, 0));
        }
        settled(&engine);
    }
    println!("shipped first in {shipped} of {} rounds", rounds());
}

#[test]
fn c78_with_the_payment_still_on_its_way() {
    for _ in 0..rounds() {
        let engine = shop(&[("A", 10)]);
        assert_eq!(reserve(&engine, "O1", &[("A", 2)]), New);
        let said = together(3, |i| match i {
            0 => cancel(&engine, "O1"),
            1 => pay(&engine, "O1"),
            _ => fulfil(&engine, "O1"),
        });
        let order = engine.order("O1").unwrap();
        if said[2] == Done {
            assert_eq!(said[..2], [InvalidState(State::Fulfilled), Done]);
            assert_eq!((order.state, order.version), (State::Fulfilled, 3));
            assert_eq!(book(&engine, "A"), (8, 0, 2));
        } else {
            let from = if said[1] == Done { State::Paid } else { State::InventoryReserved };
            assert_eq!(said[0], Released(from, 2), "{said:?}");
            assert_eq!(order.state, State::Cancelled);
            assert_eq!(book(&engine, "A"), (10, 0, 0));
        }
        settled(&engine);
    }
}

/// What has left has left: a cancel gets the rest.
#[test]
fn c78_cancel_meets_a_part_fulfilment() {
    for round in 0..rounds() {
        let engine = paid(3);
        let way = [cancel, void][round % 2];
        let said = together(2, |i| match i {
            0 => way(&engine, "O1"),
            _ => fulfil_part(&engine, "O1", &[("A", 2)]),
        });
        if said[1] == Left(1) {
            assert_eq!((said[0].clone(), state(&engine, "O1")), (Released(State::Paid, 1), Some(State::Fulfilled)));
            assert_eq!(parts(&engine, "O1"), [("A".to_string(), [3, 0, 2, 1])]);
            assert_eq!(book(&engine, "A"), (8, 0, 2));
        } else {
            assert_eq!(said, [Released(State::Paid, 3), InvalidState(State::Cancelled)]);
            assert_eq!(state(&engine, "O1"), Some(State::Cancelled));
            assert_eq!(book(&engine, "A"), (10, 0, 0));
        }
        settled(&engine);
    }
}

#[test]
fn c80_part_fulfilment_ships_its_part() {
    let engine = paid(5);
    assert_eq!(fulfil_part(&engine, "O1", &[("A", 2)]), Left(3));
    assert_eq!((book(&engine, "A"), state(&engine, "O1")), ((5, 3, 2), Some(State::Paid)));
    assert_eq!(fulfil_part(&engine, "O1", &[("A", 4)]), too_much("A", 3));
    assert_eq!((book(&engine, "A"), state(&engine, "O1")), ((5, 3, 2), Some(State::Paid)));
    assert_eq!(fulfil_part(&engine, "O1", &[("A", 3)]), Ended(State::Fulfilled));
    assert_eq!((book(&engine, "A"), state(&engine, "O1")), ((5, 0, 5), Some(State::Fulfilled)));
    assert_eq!(fulfil_part(&engine, "O1", &[("A", 1)]), InvalidState(State::Fulfilled));
    assert_eq!(fulfil(&engine, "O1"), Already);
    assert_eq!((book(&engine, "A"), engine.stock("A").unwrap().version), ((5, 0, 5), 1));
    settled(&engine);
}

/// Whole verbs take what is open of an order that was fulfilled in part, and nothing else.
#[test]
fn c80_the_rest_of_an_order_of_which_a_part_has_left() {
    let rest = || {
        let engine = paid(5);
        assert_eq!(fulfil_part(&engine, "O1", &[("A", 2)]), Left(3));
        assert_eq!(engine.transition("O1", State::Paid, State::Cancelled), Err(TransitionError::PartlyFulfilled));
        engine
    };
    let engine = rest();
    assert_eq!((fulfil(&engine, "O1"), book(&engine, "A")), (Done, (5, 0, 5)));
    let engine = rest();
    assert_eq!(engine.transition("O1", State::Paid, State::Fulfilled), Ok(4));
    assert_eq!(book(&engine, "A"), (5, 0, 5));
    for way in [cancel, void] {
        let engine = rest();
        assert_eq!((way(&engine, "O1"), book(&engine, "A")), (Released(State::Paid, 3), (8, 0, 2)));
        assert_eq!((way(&engine, "O1"), pay(&engine, "O1")), (InvalidState(State::Fulfilled), Already));
    }
    let engine = rest();
    assert_eq!((amend(&engine, "O1", &[("A", 2)]), book(&engine, "A")), (Ended(State::Fulfilled), (8, 0, 2)));
    let engine = rest();
    assert_eq!(amend(&engine, "O1", &[("A", 1)]), TooFew("A".into(), 2));
    assert_eq!((amend(&engine, "O1", &[("A", 9)]), book(&engine, "A")), (Left(7), (1, 7, 2)));
    assert_eq!((fulfil(&engine, "O1"), book(&engine, "A")), (Done, (1, 0, 9)));
    settled(&engine);
}

/// Eight threads fulfil and cancel parts of one order at once: each unit goes one way, and the sums come out.
#[test]
fn c80_parts_fulfilled_and_cancelled_by_many_at_once() {
    for _ in 0..rounds() / 30 {
        let engine = shop(&[("A", 100), ("B", 100)]);
        assert_eq!((reserve(&engine, "O1", &[("A", 50), ("B", 70)]), pay(&engine, "O1")), (New, Done));
        let told = together(8, |i| {
            let (verb, sku) = ([fulfil_part, cancel_part][i % 2], ["A", "B"][i / 2 % 2]);
            let units = 1 + i as u32 / 4;
            let yes = || matches!(verb(&engine, "O1", &[(sku, units)]), Left(_) | Ended(_));
            (0..).take_while(|_| yes()).count() as u32 * units
        });
        let sum = |of: &[usize]| of.iter().map(|i| told[*i]).sum::<u32>();
        // Who takes two at a time may leave one. Where cores are few, all may be cancelled before anybody fulfils.
        let rest = fulfil(&engine, "O1");
        for (sku, ordered, fulfilled, cancelled) in [("A", 50, &[0, 4], &[1, 5]), ("B", 70, &[2, 6], &[3, 7])] {
            let line = parts(&engine, "O1").into_iter().find(|line| line.0 == sku).unwrap().1;
            let left = ordered - sum(fulfilled) - sum(cancelled);
            assert!(left <= 1, "{told:?}");
            assert_eq!(line, [ordered, 0, sum(fulfilled) + left, sum(cancelled)], "{told:?}");
            assert_eq!(book(&engine, sku), (100 - u64::from(line[2]), 0, line[2].into()));
        }
        let end = if sum(&[0, 2, 4, 6]) > 0 || rest == Done { State::Fulfilled } else { State::Cancelled };
        assert_eq!(state(&engine, "O1"), Some(end));
        settled(&engine);
    }
}

/// The engine has no restock=false. Who cannot put back what is cancelled writes it off, in a second step: in between
/// it is free, and if somebody else is faster, the write-off is told so.
#[test]
fn c81_cancel_without_putting_back() {
    let engine = shop(&[("A", 20)]);
    assert_eq!((reserve(&engine, "O1", &[("A", 5)]), pay(&engine, "O1")), (New, Done));
    assert_eq!(cancel(&engine, "O1"), Released(State::Paid, 5));
    assert_eq!(engine.write_off("A", 5).unwrap().available, 15);
    assert_eq!((cancel(&engine, "O1"), book(&engine, "A")), (Already, (15, 0, 0)));
    assert_eq!((reserve(&engine, "O2", &[("A", 5)]), book(&engine, "A")), (New, (10, 5, 0)));
    assert_eq!(cancel(&engine, "O2"), Released(State::InventoryReserved, 5));
    assert_eq!(book(&engine, "A"), (15, 0, 0));

    // One of five that breaks on its way out: cancelled and written off, the rest as if nothing had been.
    assert_eq!((reserve(&engine, "O3", &[("A", 5)]), pay(&engine, "O3")), (New, Done));
    assert_eq!(cancel_part(&engine, "O3", &[("A", 1)]), Left(4));
    assert_eq!(engine.write_off("A", 1).unwrap().available, 10);
    assert_eq!((fulfil(&engine, "O3"), book(&engine, "A")), (Done, (10, 0, 4)));
    settled(&engine);
}
