//! Class `line-sum`: each line of a SKU fits alone, only their sum does not.

use crate::support::{Said::*, *};
use stockade::{Created, ReserveError, Shortage, Shortages, State};

#[test]
fn c07_same_sku_split_over_two_lines() {
    let engine = shop(&[("A", 5)]);
    assert_eq!(reserve(&engine, "O1", &[("A", 5), ("A", 5)]), short(&["A"]));
    assert_eq!(book(&engine, "A"), (5, 0, 0));
    assert_eq!(reserve(&engine, "O2", &[("A", 2), ("A", 3)]), New);
    assert_eq!(book(&engine, "A"), (0, 5, 0));
    assert_eq!(cancel(&engine, "O2"), Released(State::InventoryReserved, 5));
    assert_eq!(book(&engine, "A"), (5, 0, 0));
    settled(&engine);
}

#[test]
fn c07_the_refusal_names_the_sum_once() {
    let engine = shop(&[("A", 5), ("B", 9)]);
    let answer = engine.reserve("O1", &[("A", 2), ("B", 1), ("A", 2), ("B", 1), ("A", 2)]);
    let a = Shortage { sku: "A".into(), wanted: 6, available: 5 };
    assert_eq!(answer, Err(ReserveError::Insufficient { short: Shortages(vec![a]) }));
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((5, 0, 0), (9, 0, 0)));
}

#[test]
fn c07_lines_apart_from_each_other_are_summed_by_every_verb() {
    let engine = shop(&[("A", 20), ("B", 20)]);
    let split = [("A", 2), ("B", 1), ("A", 1), ("B", 1), ("A", 1)];
    assert_eq!(engine.create("O1", &split), Ok(Created::New));
    let _ = engine.hold("O2", &split).unwrap().keep().unwrap();
    for id in ["O1", "O2"] {
        assert_eq!(lines(&engine, id), [("A".to_string(), 4), ("B".to_string(), 2)]);
    }
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((16, 4, 0), (18, 2, 0)));

    // Split another way, or in another order, they are still the same lines.
    assert_eq!(reserve(&engine, "O1", &[("B", 2), ("A", 4)]), New);
    assert_eq!(reserve(&engine, "O2", &[("A", 1), ("A", 3), ("B", 2)]), Replayed);
    assert_eq!(reserve(&engine, "O2", &[("A", 1), ("A", 4), ("B", 2)]), LinesDiffer);
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((12, 8, 0), (16, 4, 0)));

    // Changes in part sum what they are given, and are refused for the sum.
    assert_eq!(cancel_part(&engine, "O1", &[("A", 3), ("B", 1), ("A", 2)]), too_much("A", 4));
    assert_eq!(amend(&engine, "O1", &[("A", 11), ("B", 2), ("A", 10)]), short(&["A"]));
    let order = engine.order("O1");
    assert_eq!((amend(&engine, "O1", &split), engine.order("O1")), (Left(6), order));
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((12, 8, 0), (16, 4, 0)));

    for (id, version) in [("O1", 1), ("O2", 1)] {
        assert_eq!(engine.order(id).unwrap().version, version);
        assert_eq!(cancel(&engine, id), Released(State::InventoryReserved, 6));
    }
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((20, 0, 0), (20, 0, 0)));
    settled(&engine);
}

#[test]
fn c07_two_orders_of_split_lines_at_once() {
    for _ in 0..rounds() {
        let engine = shop(&[("A", 5)]);
        let said = together(2, |i| reserve(&engine, ["O1", "O2"][i], &[("A", 2), ("A", 1)]));
        assert_eq!((count(&said, &New), count(&said, &short(&["A"]))), (1, 1), "{said:?}");
        assert_eq!(book(&engine, "A"), (2, 3, 0));
    }
}
