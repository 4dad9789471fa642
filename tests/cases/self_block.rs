//! Class `self-block`: an order is measured against its own hold.

use crate::support::{Said::*, *};

#[test]
fn c74_fulfil_when_nothing_is_free() {
    let engine = shop(&[("A", 4)]);
    for id in ["O1", "O2", "O3", "O4"] {
        assert_eq!(reserve(&engine, id, &[("A", 1)]), New);
        assert_eq!(pay(&engine, id), Done);
    }
    assert_eq!(book(&engine, "A"), (0, 4, 0));
    for (id, shipped) in [("O3", 1), ("O1", 2), ("O4", 3), ("O2", 4)] {
        assert_eq!(fulfil(&engine, id), Done);
        assert_eq!(book(&engine, "A"), (0, 4 - shipped, shipped));
    }
    settled(&engine);
}

#[test]
fn c74_the_own_hold_does_not_stand_in_the_way_of_a_retry() {
    let engine = shop(&[("A", 3), ("B", 1)]);
    let order = [("A", 3), ("B", 1)];
    assert_eq!(reserve(&engine, "O1", &order), New);
    assert_eq!(book(&engine, "A"), (0, 3, 0));
    assert_eq!(reserve(&engine, "O1", &order), Replayed);
    assert_eq!((pay(&engine, "O1"), reserve(&engine, "O1", &order)), (Done, Replayed));
    assert_eq!((fulfil(&engine, "O1"), reserve(&engine, "O1", &order)), (Done, Replayed));
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((0, 0, 3), (0, 0, 1)));
    settled(&engine);
}

#[test]
fn c74_all_of_them_at_once() {
    for _ in 0..ROUNDS / 3 {
        let engine = shop(&[("A", 4)]);
        let said = together(4, |i| {
            let id = format!("O{i}");
            [reserve(&engine, &id, &[("A", 1)]), pay(&engine, &id), fulfil(&engine, &id)]
        });
        assert!(said.iter().all(|said| *said == [New, Done, Done]), "{said:?}");
        assert_eq!(book(&engine, "A"), (0, 0, 4));
        settled(&engine);
    }
}
