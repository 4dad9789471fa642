//! Class `oversell`: two callers see the same free unit before either of them takes it.

use crate::support::{Said::*, *};
use stockade::State;

#[test]
fn c01_two_buyers_one_unit() {
    for _ in 0..rounds() {
        let engine = shop(&[("A", 1)]);
        let ids = ["O1", "O2"];
        let said = together(2, |i| reserve(&engine, ids[i], &[("A", 1)]));

        assert_eq!((count(&said, &New), count(&said, &short(&["A"]))), (1, 1), "{said:?}");
        let loser = ids[usize::from(said[0] == New)];
        assert_eq!(state(&engine, loser), None);
        assert_eq!(book(&engine, "A"), (0, 1, 0));
        settled(&engine);
    }
}

#[test]
fn c01_two_buyers_whose_orders_were_created_before() {
    for _ in 0..rounds() {
        let engine = shop(&[("A", 1)]);
        let ids = ["O1", "O2"];
        for id in ids {
            let _ = engine.create(id, &[("A", 1)]).unwrap();
        }
        // One names the lines again, the other moves the order it has.
        let yes = together(2, |i| match i {
            0 => engine.reserve(ids[0], &[("A", 1)]).is_ok(),
            _ => engine.transition(ids[1], State::Created, State::InventoryReserved).is_ok(),
        });
        assert!(yes[0] != yes[1], "{yes:?}");
        let loser = engine.order(ids[usize::from(yes[0])]).unwrap();
        assert_eq!((loser.state, loser.version), (State::Created, 0));
        assert_eq!(book(&engine, "A"), (0, 1, 0));
        settled(&engine);
    }
}

#[test]
fn c01_eight_buyers_of_two_units_each_on_a_row_of_seven() {
    for _ in 0..rounds() / 3 {
        let engine = shop(&[("A", 7)]);
        let said = together(8, |i| reserve(&engine, &format!("O{i}"), &[("A", 2)]));
        assert_eq!((count(&said, &New), count(&said, &short(&["A"]))), (3, 5), "{said:?}");
        assert_eq!(book(&engine, "A"), (1, 6, 0));
        settled(&engine);
    }
}

#[test]
fn c01_two_buyers_who_meet_in_the_last_of_several_lines() {
    for _ in 0..rounds() {
        let engine = shop(&[("A", 9), ("B", 9), ("C", 1)]);
        let orders = [[("A", 1), ("C", 1)], [("C", 1), ("B", 1)]];
        let said = together(2, |i| reserve(&engine, ["O1", "O2"][i], &orders[i]));
        assert_eq!((count(&said, &New), count(&said, &short(&["C"]))), (1, 1), "{said:?}");
        let (a, b) = if said[0] == New { ((8, 1, 0), (9, 0, 0)) } else { ((9, 0, 0), (8, 1, 0)) };
        assert_eq!((book(&engine, "A"), book(&engine, "B")), (a, b));
        assert_eq!(book(&engine, "C"), (0, 1, 0));
        settled(&engine);
    }
}

#[test]
fn c02_a_counter_that_never_wraps_below_zero() {
    for _ in 0..rounds() / 10 {
        let engine = shop(&[("A", 10)]);
        let said = watched(
            || assert!(free(&engine, "A") <= 10),
            || together(64, |i| reserve(&engine, &format!("O{i}"), &[("A", 1)])),
        );
        assert_eq!((count(&said, &New), count(&said, &short(&["A"]))), (10, 54));
        assert_eq!(book(&engine, "A"), (0, 10, 0));
        settled(&engine);
    }
}

#[test]
fn c03_different_paths_into_the_same_row() {
    let mut winners = [0; 6];
    for _ in 0..rounds() {
        let engine = shop(&[("A", 5)]);
        let _ = engine.create("O4", &[("A", 5)]).unwrap();
        let yes = together(6, |i| match i {
            0 => engine.reserve("O1", &[("A", 5)]).is_ok(),
            1 => engine.hold("O2", &[("A", 5)]).is_ok_and(|hold| hold.keep().is_ok()),
            2 => engine.write_off("A", 5).is_ok(),
            3 => engine.transition("O4", State::Created, State::InventoryReserved).is_ok(),
            4 => engine.set_available("A", 0, 0).is_ok(),
            _ => reserve_for(&engine, "O5", &[("A", 5)], 60) == New,
        });
        assert_eq!(yes.iter().filter(|yes| **yes).count(), 1, "{yes:?}");
        let winner = yes.iter().position(|yes| *yes).unwrap();
        winners[winner] += 1;
        let removed = winner == 2 || winner == 4;
        assert_eq!(book(&engine, "A"), if removed { (0, 0, 0) } else { (0, 5, 0) });
        settled(&engine);
    }
    println!("reserve, hold, write_off, transition, set_available, reserve_for won {winners:?}");
}

/// Orders that grow are buyers like others.
#[test]
fn c03_orders_that_grow_and_a_buyer() {
    for _ in 0..rounds() {
        let engine = shop(&[("A", 4), ("B", 2)]);
        for id in ["O1", "O2"] {
            assert_eq!(reserve(&engine, id, &[("A", 1), ("B", 1)]), New);
        }
        let said = together(4, |i| match i {
            0 | 1 => amend(&engine, ["O1", "O2"][i], &[("A", 3), ("B", 1)]),
            2 => amend(&engine, "O2", &[("A", 3)]),
            _ => reserve(&engine, "O3", &[("A", 2)]),
        });
        // O2 is amended twice, to the same three.
        let grown = [said[0] == Left(4), said[1] == Left(4) || said[2] == Left(3), said[3] == New];
        assert_eq!(grown.iter().filter(|yes| **yes).count(), 1, "{said:?}");
        assert_eq!(book(&engine, "A"), (0, 4, 0));
        settled(&engine);
    }
}

/// The same paths into a row that only a dead hold fills.
#[test]
fn c03_different_paths_into_the_units_of_a_dead_hold() {
    let mut winners = [0; 5];
    for _ in 0..rounds() {
        let (engine, clock) = timed_shop(&[("A", 5)]);
        assert_eq!(reserve_for(&engine, "dead", &[("A", 5)], 10), New);
        let _ = engine.create("O4", &[("A", 5)]).unwrap();
        at(&clock, 10);
        let yes = together(5, |i| match i {
            0 => engine.reserve("O1", &[("A", 5)]).is_ok(),
            1 => reserve_for(&engine, "O2", &[("A", 5)], 60) == New,
            2 => engine.write_off("A", 5).is_ok(),
            3 => engine.transition("O4", State::Created, State::InventoryReserved).is_ok(),
            _ => pay_again(&engine, "dead") == Again,
        });
        assert_eq!(yes.iter().filter(|yes| **yes).count(), 1, "{yes:?}");
        let winner = yes.iter().position(|yes| *yes).unwrap();
        winners[winner] += 1;
        assert_eq!(book(&engine, "A"), if winner == 2 { (0, 0, 0) } else { (0, 5, 0) });
        settled(&engine);
    }
    println!("reserve, reserve_for, write_off, transition, pay_or_reserve_again won {winners:?}");
}

#[test]
fn c04_every_yes_has_its_order() {
    let engine = shop(&[("A", 1000)]);
    let kept: Vec<String> = together(8, |thread| {
        let ids = (0..100).map(|n| format!("{thread}/{n}"));
        ids.filter(|id| reserve(&engine, id, &[("A", 1)]) == New).collect::<Vec<_>>()
    })
    .concat();

    assert_eq!(kept.len(), 800);
    assert_eq!(engine.orders().count(), 800);
    for id in &kept {
        assert_eq!(state(&engine, id), Some(State::InventoryReserved));
        assert_eq!(lines(&engine, id), [("A".to_string(), 1)]);
    }
    assert_eq!(book(&engine, "A"), (200, 800, 0));
    for id in &kept {
        assert_eq!(cancel(&engine, id), Released(State::InventoryReserved, 1));
    }
    assert_eq!(book(&engine, "A"), (1000, 0, 0));
    settled(&engine);
}
