//! Class `all-or-nothing`: every line of an order or none, for every order, under contention.

use crate::support::{Said::*, *};
use stockade::{ReserveError, Shortage, State, Stockade};

#[test]
fn c09_the_last_line_fails_and_nothing_stays_taken() {
    let engine = shop(&[("A", 2), ("B", 2), ("C", 0)]);
    assert_eq!(reserve(&engine, "O1", &[("A", 1), ("B", 1), ("C", 1)]), short(&["C"]));
    assert_eq!(reserve(&engine, "O1b", &[("A", 1), ("Z", 1)]), UnknownSku("Z".into()));
    for (sku, free) in [("A", 2), ("B", 2), ("C", 0)] {
        assert_eq!(book(&engine, sku), (free, 0, 0));
        assert_eq!(engine.stock(sku).unwrap().version, 0, "a refusal is no change of the row");
    }
    assert_eq!(engine.orders().count(), 0);
    assert_eq!(reserve(&engine, "O2", &[("A", 2), ("B", 2)]), New);
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((0, 2, 0), (0, 2, 0)));
    settled(&engine);
}

#[test]
fn c09_whichever_lines_are_short_all_of_them_are_named() {
    const SKUS: [&str; 5] = ["A", "B", "C", "D", "E"];
    for pattern in 1..1 << SKUS.len() {
        let is_short = |i: usize| pattern & 1 << i != 0;
        let rows: Vec<_> = (0..SKUS.len()).map(|i| (SKUS[i], if is_short(i) { 1 } else { 2 })).collect();
        let engine = shop(&rows);
        let order = SKUS.map(|sku| (sku, 2));
        let Err(ReserveError::Insufficient { short }) = engine.reserve("O", &order) else {
            panic!("pattern {pattern:b}");
        };
        let expected: Vec<_> = (0..SKUS.len())
            .filter(|i| is_short(*i))
            .map(|i| Shortage { sku: SKUS[i].into(), wanted: 2, available: 1 })
            .collect();
        assert_eq!(short.0, expected);
        for (sku, available) in rows {
            assert_eq!(book(&engine, sku), (available, 0, 0));
        }
        assert_eq!(state(&engine, "O"), None);
    }
}

#[test]
fn c09_an_order_that_must_fail_beside_one_that_must_not_be_refused() {
    for _ in 0..rounds() {
        let engine = shop(&[("A", 1), ("B", 0)]);
        let said = together(2, |i| match i {
            0 => reserve(&engine, "fails", &[("A", 1), ("B", 1)]),
            _ => reserve(&engine, "fits", &[("A", 1)]),
        });
        // The failing order may have found A taken as well; it never takes A from the other.
        assert!(said[0] == short(&["B"]) || said[0] == short(&["A", "B"]), "{said:?}");
        assert_eq!(said[1], New);
        assert_eq!((book(&engine, "A"), book(&engine, "B")), ((0, 1, 0), (0, 0, 0)));
        settled(&engine);
    }
}

#[test]
fn c10_opposite_line_order_neither_deadlocks_nor_refuses() {
    within(30, || {
        let engine = shop(&[("A", 1000), ("B", 1000)]);
        let said = together(8, |thread| {
            let order = if thread % 2 == 0 { [("A", 1), ("B", 1)] } else { [("B", 1), ("A", 1)] };
            (0..50).map(|n| reserve(&engine, &format!("{thread}/{n}"), &order)).collect::<Vec<_>>()
        })
        .concat();
        assert_eq!(count(&said, &New), 400, "{said:?}");
        assert_eq!((book(&engine, "A"), book(&engine, "B")), ((600, 400, 0), (600, 400, 0)));
        settled(&engine);
    });
}

#[test]
fn c10_a_ring_of_three_rows_taken_and_given_back() {
    const RING: [[&str; 2]; 6] = [["A", "B"], ["B", "C"], ["C", "A"], ["B", "A"], ["C", "B"], ["A", "C"]];
    within(30, || {
        // Each thread holds at most one unit of a row, so six units mean nobody is ever refused.
        let engine = shop(&[("A", 6), ("B", 6), ("C", 6)]);
        together(6, |thread| {
            for n in 0..100 {
                let id = format!("{thread}/{n}");
                let [first, second] = RING[thread];
                assert_eq!(reserve(&engine, &id, &[(first, 1), (second, 1)]), New);
                assert_eq!(cancel(&engine, &id), Released(State::InventoryReserved, 2));
            }
        });
        for sku in ["A", "B", "C"] {
            assert_eq!(book(&engine, sku), (6, 0, 0));
            assert_eq!(engine.stock(sku).unwrap().version, 800, "400 orders took and gave back");
        }
        settled(&engine);
    });
}

/// Faults in the middle left for later.
#[test]
fn c13_no_line_moves_without_the_order() {
    let engine = shop(&[("A", 1), ("B", 1)]);
    let books = || (book(&engine, "A"), book(&engine, "B"), state(&engine, "O1").unwrap());
    assert_eq!(reserve(&engine, "O1", &[("A", 1), ("B", 1)]), New);
    assert_eq!(fulfil_part(&engine, "O1", &[("A", 1), ("B", 1)]), InvalidState(State::InventoryReserved));
    assert_eq!(books(), ((0, 1, 0), (0, 1, 0), State::InventoryReserved));
    assert_eq!(pay(&engine, "O1"), Done);
    let order = engine.order("O1");
    assert_eq!(fulfil_part(&engine, "O1", &[("A", 1), ("B", 2)]), too_much("B", 1));
    assert_eq!((books(), engine.order("O1")), (((0, 1, 0), (0, 1, 0), State::Paid), order));
    assert_eq!(fulfil_part(&engine, "O1", &[("A", 1), ("B", 1)]), Ended(State::Fulfilled));
    assert_eq!(books(), ((0, 0, 1), (0, 0, 1), State::Fulfilled));
    settled(&engine);
}

/// The same of every change in part, and of every line that stands in its way.
#[test]
fn c13_one_line_that_cannot_change_keeps_the_others_from_changing() {
    const ROWS: [(&str, u64); 3] = [("A", 9), ("B", 9), ("C", 9)];
    type Verb = fn(&Stockade, &str, &[(&str, u32)]) -> Said;
    let verbs: [(Verb, u32); 3] = [(cancel_part, 1), (fulfil_part, 1), (amend, 5)];
    for (verb, usual) in verbs {
        for fails in ["A", "B", "C"] {
            let engine = shop(&ROWS);
            assert_eq!(reserve(&engine, "O1", &ROWS.map(|(sku, _)| (sku, 4))), New);
            assert_eq!(pay(&engine, "O1"), Done);
            let before = (engine.order("O1"), engine.rows().collect::<Vec<_>>());
            let lines = ROWS.map(|(sku, _)| (sku, if sku == fails { 10 } else { usual }));
            let said = verb(&engine, "O1", &lines);
            assert!(said == too_much(fails, 4) || said == short(&[fails]), "{said:?}");
            assert_eq!(before, (engine.order("O1"), engine.rows().collect()));
            settled(&engine);
        }
    }
}

/// Two orders grow and shrink across the same rows in opposite directions, each line with units of its own.
#[test]
fn c13_changes_of_several_lines_cross_and_neither_fails() {
    within(30, || {
        let engine = shop(&[("A", 8), ("B", 8)]);
        for id in ["O1", "O2"] {
            assert_eq!(reserve(&engine, id, &[("A", 1), ("B", 3)]), New);
        }
        together(2, |i| {
            let id = ["O1", "O2"][i];
            for n in 0..200 {
                let (a, b) = if (n + i) % 2 == 0 { (4, 1) } else { (1, 4) };
                assert_eq!(amend(&engine, id, &[("A", a), ("B", b)]), Left(5));
            }
        });
        let held = (book(&engine, "A").1, book(&engine, "B").1);
        assert_eq!(held, (5, 5), "one has gone one way, the other the other");
        settled(&engine);
    });
}

#[test]
fn c14_a_stay_of_several_nights() {
    let engine = shop(&[("N1", 4), ("N2", 4), ("N3", 4), ("N4", 4)]);
    for (id, night, rooms) in [("P1", "N1", 2), ("P2", "N2", 2), ("P3", "N3", 3), ("P4", "N4", 1)] {
        assert_eq!(reserve(&engine, id, &[(night, rooms)]), New);
    }
    let nights = || ["N1", "N2", "N3", "N4"].map(|night| book(&engine, night));
    let after_s1 = [(1, 3, 0), (1, 3, 0), (0, 4, 0), (3, 1, 0)];

    assert_eq!(reserve(&engine, "S1", &[("N1", 1), ("N2", 1), ("N3", 1)]), New);
    assert_eq!(nights(), after_s1);
    assert_eq!(reserve(&engine, "S2", &[("N2", 1), ("N3", 1), ("N4", 1)]), short(&["N3"]));
    assert_eq!(nights(), after_s1);
    settled(&engine);
}

#[test]
fn c14_two_stays_that_overlap_in_one_night() {
    for _ in 0..rounds() {
        let engine = shop(&[("N1", 1), ("N2", 1), ("N3", 1)]);
        let stays = [[("N1", 1), ("N2", 1)], [("N2", 1), ("N3", 1)]];
        let said = together(2, |i| reserve(&engine, ["S1", "S2"][i], &stays[i]));
        assert_eq!((count(&said, &New), count(&said, &short(&["N2"]))), (1, 1), "{said:?}");
        // The night only the loser wanted is free again.
        let spare = if said[0] == New { "N3" } else { "N1" };
        assert_eq!((book(&engine, spare), book(&engine, "N2")), ((1, 0, 0), (0, 1, 0)));
        settled(&engine);
    }
}
