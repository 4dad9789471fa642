//! Class `release-without-hold`: a credit needs a matching debit.

use crate::support::{Said::*, *};
use stockade::State;

#[test]
fn c31_cancel_an_order_that_never_took_stock() {
    for way in [cancel, void] {
        let engine = shop(&[("A", 10)]);
        let _ = engine.create("O1", &[("A", 4)]).unwrap();
        assert_eq!(way(&engine, "O1"), Released(State::Created, 0));
        assert_eq!(book(&engine, "A"), (10, 0, 0));
        assert_eq!(engine.stock("A").unwrap().version, 0);
        assert_eq!(state(&engine, "O1"), Some(State::Cancelled));
        assert_eq!(reserve(&engine, "O1", &[("A", 4)]), Closed(State::Cancelled));
        assert_eq!(way(&engine, "O1"), Already);
        assert_eq!(book(&engine, "A"), (10, 0, 0));
        settled(&engine);
    }
}

/// Nor can a part be cancelled of what holds nothing: of an order that is CREATED, or is none, or never had that line.
#[test]
fn c31_cancel_a_part_that_never_took_stock() {
    let engine = shop(&[("A", 10), ("B", 10)]);
    let _ = engine.create("O1", &[("A", 4)]).unwrap();
    assert_eq!(cancel_part(&engine, "O1", &[("A", 1)]), InvalidState(State::Created));
    assert_eq!(cancel_part(&engine, "O2", &[("A", 1)]), Unknown);
    assert_eq!(reserve(&engine, "O1", &[("A", 4)]), New);
    assert_eq!(cancel_part(&engine, "O1", &[("B", 1)]), too_much("B", 0));
    assert_eq!(cancel_part(&engine, "O1", &[("A", 4), ("B", 1)]), too_much("B", 0));
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((6, 4, 0), (10, 0, 0)));
    settled(&engine);
}

#[test]
fn c31_while_it_is_just_taking_its_stock() {
    for _ in 0..rounds() {
        let engine = shop(&[("A", 10), ("B", 10)]);
        let order = [("A", 4), ("B", 1)];
        let _ = engine.create("O1", &order).unwrap();
        let said = together(2, |i| match i {
            0 => reserve(&engine, "O1", &order),
            _ => cancel(&engine, "O1"),
        });
        let took_first = said == [New, Released(State::InventoryReserved, 5)];
        let closed_first = said == [Closed(State::Cancelled), Released(State::Created, 0)];
        assert!(took_first || closed_first, "{said:?}");
        assert_eq!((book(&engine, "A"), book(&engine, "B")), ((10, 0, 0), (10, 0, 0)));
        assert_eq!(state(&engine, "O1"), Some(State::Cancelled));
        settled(&engine);
    }
}

#[test]
fn c32_cancel_after_a_reserve_that_failed_half_way() {
    let engine = shop(&[("A", 5), ("B", 0)]);
    let order = [("A", 1), ("B", 1)];
    assert_eq!(reserve(&engine, "O1", &order), short(&["B"]));
    assert_eq!(void(&engine, "O1"), Unknown, "marked, nothing released");
    engine.restock("B", 1).unwrap();
    assert_eq!(reserve(&engine, "O1", &order), Closed(State::Cancelled));
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((5, 0, 0), (1, 0, 0)));
    settled(&engine);
}

#[test]
fn c32_a_plain_cancel_leaves_no_mark() {
    let engine = shop(&[("A", 5), ("B", 0)]);
    let order = [("A", 1), ("B", 1)];
    assert_eq!(reserve(&engine, "O1", &order), short(&["B"]));
    assert_eq!(cancel(&engine, "O1"), Unknown);
    assert_eq!(state(&engine, "O1"), None);
    engine.restock("B", 1).unwrap();
    assert_eq!(reserve(&engine, "O1", &order), New);
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((4, 1, 0), (0, 1, 0)));
    settled(&engine);
}

#[test]
fn c32_the_failing_reserve_and_the_cancel_at_once() {
    for _ in 0..rounds() {
        let engine = shop(&[("A", 5), ("B", 0)]);
        let said = together(2, |i| match i {
            0 => reserve(&engine, "O1", &[("A", 1), ("B", 1)]),
            _ => void(&engine, "O1"),
        });
        assert!(said[0] == short(&["B"]) || said[0] == Closed(State::Cancelled), "{said:?}");
        assert_eq!(said[1], Unknown);
        assert_eq!((book(&engine, "A"), book(&engine, "B")), ((5, 0, 0), (0, 0, 0)));
        assert_eq!(state(&engine, "O1"), Some(State::Cancelled));
        settled(&engine);
    }
}

#[test]
fn c34_several_cancels_and_the_late_reserve_at_once() {
    within(30, || {
        for cancels in [2, 5] {
            for _ in 0..rounds() {
                let engine = shop(&[("A", 10)]);
                let mut said = together(cancels + 1, |i| match i {
                    0 => reserve(&engine, "O9", &[("A", 2)]),
                    _ => void(&engine, "O9"),
                });
                let first = said.remove(0);
                if first == New {
                    assert_eq!(count(&said, &Released(State::InventoryReserved, 2)), 1, "{said:?}");
                } else {
                    assert_eq!(first, Closed(State::Cancelled));
                    assert_eq!(count(&said, &Unknown), 1, "one cancel made the mark: {said:?}");
                }
                assert_eq!(count(&said, &Already), cancels - 1, "{said:?}");
                assert_eq!(state(&engine, "O9"), Some(State::Cancelled));
                assert_eq!(book(&engine, "A"), (10, 0, 0));
                settled(&engine);
            }
        }
    });
}

#[test]
fn c35_which_counter_to_credit_depends_on_the_state() {
    let engine = shop(&[("A", 10)]);
    assert_eq!(reserve(&engine, "O1", &[("A", 3)]), New);
    assert_eq!((reserve(&engine, "O2", &[("A", 3)]), pay(&engine, "O2")), (New, Done));
    assert_eq!(book(&engine, "A"), (4, 6, 0));
    assert_eq!(cancel(&engine, "O1"), Released(State::InventoryReserved, 3));
    assert_eq!(book(&engine, "A"), (7, 3, 0));
    assert_eq!(cancel(&engine, "O2"), Released(State::Paid, 3));
    assert_eq!(book(&engine, "A"), (10, 0, 0));
    settled(&engine);
}
