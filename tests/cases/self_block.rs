//! Class `self-block`: an order is measured against its own hold.

use crate::support::{Said::*, *};
use stockade::{AmendError, Shortage, Shortages, State};

#[test]
fn c73_an_amend_does_not_count_the_own_units_as_taken() {
    let engine = shop(&[("A", 12), ("B", 1)]);
    assert_eq!((reserve(&engine, "O1", &[("A", 10)]), book(&engine, "A")), (New, (2, 10, 0)));
    assert_eq!((amend(&engine, "O1", &[("A", 9)]), book(&engine, "A")), (Left(9), (3, 9, 0)));
    assert_eq!((amend(&engine, "O1", &[("A", 12)]), book(&engine, "A")), (Left(12), (0, 12, 0)));
    assert_eq!((amend(&engine, "O1", &[("A", 13)]), book(&engine, "A")), (short(&["A"]), (0, 12, 0)));
    assert_eq!(amend(&engine, "O1", &[("A", 12), ("B", 1)]), Left(13));
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((0, 12, 0), (0, 1, 0)));
    settled(&engine);
}

/// A refusal names the difference, and only of the lines that are short; what would be lowered is not lowered.
#[test]
fn c73_a_refused_amend_names_the_difference() {
    let engine = shop(&[("A", 12), ("B", 3), ("C", 5)]);
    assert_eq!(reserve(&engine, "O1", &[("A", 10), ("C", 5)]), New);
    let shortage = |sku: &str, wanted, available| Shortage { sku: sku.into(), wanted, available };
    let short = Shortages(vec![shortage("A", 3, 2), shortage("B", 4, 3)]);
    assert_eq!(engine.amend("O1", &[("A", 13), ("B", 4), ("C", 1)]), Err(AmendError::Insufficient { short }));
    assert_eq!(["A", "B", "C"].map(|sku| book(&engine, sku)), [(2, 10, 0), (3, 0, 0), (0, 5, 0)]);
    assert_eq!(amend(&engine, "O1", &[("A", 12), ("B", 3), ("C", 1)]), Left(16));
    assert_eq!(["A", "B", "C"].map(|sku| book(&engine, sku)), [(0, 12, 0), (0, 3, 0), (4, 1, 0)]);
    settled(&engine);
}

/// Up and down by many threads at once, each order with as many units as it may ever want: none is refused for its own.
#[test]
fn c73_amended_up_and_down_by_many_threads() {
    within(60, || {
        let engine = shop(&[("A", 12), ("B", 6)]);
        for id in ["O1", "O2"] {
            assert_eq!(reserve(&engine, id, &[("A", 6), ("B", 3)]), New);
        }
        together(6, |i| {
            let id = ["O1", "O2"][i % 2];
            for n in 0..100 {
                let (a, b) = ((i + n) as u32 % 6 + 1, (i + n / 3) as u32 % 4);
                let lines = [("A", a), ("B", b)];
                let lines = if b == 0 { &lines[..1] } else { &lines[..] };
                assert_eq!(amend(&engine, id, lines), Left(u64::from(a + b)));
            }
        });
        let held = |id: &str| engine.order(id).unwrap().lines.iter().map(|line| u64::from(line.open)).sum::<u64>();
        assert_eq!(held("O1") + held("O2"), book(&engine, "A").1 + book(&engine, "B").1);
        settled(&engine);
        for id in ["O1", "O2"] {
            let _ = engine.cancel(id).unwrap();
        }
        assert_eq!((book(&engine, "A"), book(&engine, "B")), ((12, 0, 0), (6, 0, 0)));
    });
}

/// Who lowers his order in the same moment makes no more room for the other than he gives up.
#[test]
fn c73_one_order_grows_by_what_the_other_gives_up() {
    let mut grew = 0;
    for _ in 0..rounds() {
        let engine = shop(&[("A", 10)]);
        assert_eq!((reserve(&engine, "O1", &[("A", 6)]), reserve(&engine, "O2", &[("A", 4)])), (New, New));
        let (lowered, raised) = both(|| amend(&engine, "O1", &[("A", 3)]), || amend(&engine, "O2", &[("A", 7)]));
        assert_eq!(lowered, Left(3));
        if raised == Left(7) {
            grew += 1;
            assert_eq!(book(&engine, "A"), (0, 10, 0));
        } else {
            assert_eq!((raised, book(&engine, "A")), (short(&["A"]), (3, 7, 0)));
        }
        settled(&engine);
    }
    println!("in time in {grew} of {} rounds", rounds());
}

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

/// In parts, too: what is shipped needs nothing that is free.
#[test]
fn c74_fulfil_in_parts_when_nothing_is_free() {
    let engine = shop(&[("A", 4), ("B", 4)]);
    for id in ["O1", "O2"] {
        assert_eq!((reserve(&engine, id, &[("A", 2), ("B", 2)]), pay(&engine, id)), (New, Done));
    }
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((0, 4, 0), (0, 4, 0)));
    let steps = [("O1", "A", Left(3)), ("O2", "B", Left(3)), ("O1", "B", Left(2)), ("O2", "A", Left(2))];
    for (id, sku, left) in steps {
        assert_eq!(fulfil_part(&engine, id, &[(sku, 1)]), left);
    }
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((0, 2, 2), (0, 2, 2)));
    for id in ["O1", "O2"] {
        assert_eq!(fulfil_part(&engine, id, &[("A", 1), ("B", 1)]), Ended(State::Fulfilled));
    }
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((0, 0, 4), (0, 0, 4)));
    settled(&engine);
}

#[test]
fn c74_all_of_them_at_once() {
    for _ in 0..rounds() / 3 {
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
