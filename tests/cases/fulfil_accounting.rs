//! Class `fulfil-accounting`: held units become shipped units exactly once.

use crate::support::{Said::*, *};
use stockade::{State, Stockade};

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
        for _ in 0..ROUNDS / threads {
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
    for round in 0..ROUNDS {
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
    println!("shipped first in {shipped} of {ROUNDS} rounds");
}

#[test]
fn c78_with_the_payment_still_on_its_way() {
    for _ in 0..ROUNDS {
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

/// Part fulfil left for later.
#[test]
fn c80_fulfilment_ships_what_was_held_and_no_more() {
    let engine = paid(5);
    assert_eq!(book(&engine, "A"), (5, 5, 0));
    assert_eq!(fulfil(&engine, "O1"), Done);
    assert_eq!(book(&engine, "A"), (5, 0, 5));
    assert_eq!(fulfil(&engine, "O1"), Already);
    assert_eq!(book(&engine, "A"), (5, 0, 5));
    settled(&engine);
}

/// restock=false left for later: it will say in one step what cancel and write_off say in two.
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
    settled(&engine);
}
