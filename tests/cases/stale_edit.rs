//! Class `stale-edit`: absolute numbers written against a row that moves.

use crate::support::{Said::*, *};
use stockade::{SetAvailableError, State, Stock, Stockade, WriteOffError};

/// `set_stock_if_version` of the cases: units on hand, of which some are held.
fn set_on_hand(engine: &Stockade, sku: &str, version: u64, on_hand: u64) -> Result<Stock, SetAvailableError> {
    let held = engine.balance(sku).unwrap().held;
    engine.set_available(sku, version, on_hand.checked_sub(held).expect("more is held"))
}

fn version(engine: &Stockade, sku: &str) -> u64 {
    engine.stock(sku).unwrap().version
}

#[test]
fn c60_admin_saves_an_old_form() {
    let engine = shop(&[("A", 10)]);
    let v = version(&engine, "A");
    assert_eq!(reserve(&engine, "O1", &[("A", 5)]), New);
    let current = Stock { available: 5, version: 1 };
    assert_eq!(set_on_hand(&engine, "A", v, 10), Err(SetAvailableError::VersionConflict { expected: v, current }));
    assert_eq!(book(&engine, "A"), (5, 5, 0));
    let w = version(&engine, "A");
    assert_eq!(set_on_hand(&engine, "A", w, 12), Ok(Stock { available: 7, version: 2 }));
    assert_eq!(book(&engine, "A"), (7, 5, 0));
    settled(&engine);
}

#[test]
fn c60_whatever_moved_the_row_since() {
    type Move = fn(&Stockade);
    let moves: [Move; 6] = [
        |engine| _ = engine.reserve("new", &[("A", 1)]).unwrap(),
        |engine| _ = engine.cancel("held").unwrap(),
        |engine| _ = engine.void("held").unwrap(),
        |engine| _ = engine.restock("A", 1).unwrap(),
        |engine| _ = engine.write_off("A", 1).unwrap(),
        |engine| _ = engine.set_available("A", 1, 4).unwrap(),
    ];
    for (n, change) in moves.into_iter().enumerate() {
        let engine = shop(&[("A", 10)]);
        assert_eq!(reserve(&engine, "held", &[("A", 2)]), New);
        let seen = version(&engine, "A");
        change(&engine);
        let current = engine.stock("A").unwrap();
        assert_eq!(current.version, seen + 1, "change {n}");
        assert_eq!(
            engine.set_available("A", seen, 99),
            Err(SetAvailableError::VersionConflict { expected: seen, current })
        );
        assert_eq!(engine.stock("A").unwrap(), current);
        settled(&engine);
    }
}

/// The number comes back to what it was, the version does not.
#[test]
fn c60_there_and_back_again_is_still_a_change() {
    let engine = shop(&[("A", 10)]);
    assert_eq!(reserve(&engine, "O1", &[("A", 5)]), New);
    assert_eq!(cancel(&engine, "O1"), Released(State::InventoryReserved, 5));
    let current = Stock { available: 10, version: 2 };
    assert_eq!(engine.set_available("A", 0, 12), Err(SetAvailableError::VersionConflict { expected: 0, current }));
}

#[test]
fn c60_two_editors_and_a_buyer_at_once() {
    for _ in 0..rounds() {
        let engine = shop(&[("A", 10)]);
        let yes = together(3, |i| match i {
            0 => reserve(&engine, "O1", &[("A", 4)]) == New,
            i => engine.set_available("A", 0, 20 + i as u64).is_ok(),
        });
        assert!(yes[0], "there was always enough");
        // The sale never vanishes: either the edits came too late, or one came first and the sale was taken off it.
        let expected = match (yes[1], yes[2]) {
            (false, false) => 6,
            (true, false) => 21 - 4,
            (false, true) => 22 - 4,
            (true, true) => panic!("both edits were made from version 0"),
        };
        assert_eq!(book(&engine, "A"), (expected, 4, 0));
        settled(&engine);
    }
}

#[test]
fn c62_differences_from_several_channels() {
    let engine = shop(&[("A", 25)]);
    let said = watched(
        || assert!(free(&engine, "A") <= 4025),
        || {
            together(8, |thread| {
                let step = |n| match thread % 2 {
                    0 => engine.restock("A", 1).map(|_| Done).unwrap(),
                    _ => reserve(&engine, &format!("{thread}/{n}"), &[("A", 1)]),
                };
                (0..1000).map(step).collect::<Vec<_>>()
            })
        },
    )
    .concat();
    let k = count(&said, &New) as u64;
    assert_eq!(count(&said, &Done), 4000);
    assert_eq!(k + count(&said, &short(&["A"])) as u64, 4000);
    assert_eq!(book(&engine, "A"), (4025 - k, k, 0));
    assert_eq!(version(&engine, "A"), 4000 + k);
    settled(&engine);
}

#[test]
fn c62_each_channel_adds_what_it_takes_away() {
    let engine = shop(&[("A", 25)]);
    together(4, |_| {
        for _ in 0..1000 {
            engine.restock("A", 3).unwrap();
            engine.write_off("A", 3).unwrap();
        }
    });
    assert_eq!(engine.stock("A").unwrap(), Stock { available: 25, version: 8000 });
    settled(&engine);
}

/// Set by units on hand left for later, and with it the answer InUse: a number of free units is never below what is
/// held.
#[test]
fn c63_stock_count_above_and_at_what_is_held() {
    let engine = shop(&[("A", 20)]);
    assert_eq!(reserve(&engine, "O1", &[("A", 5)]), New);
    assert!(set_on_hand(&engine, "A", version(&engine, "A"), 8).is_ok());
    assert_eq!(book(&engine, "A"), (3, 5, 0));
    assert!(set_on_hand(&engine, "A", version(&engine, "A"), 5).is_ok());
    assert_eq!(book(&engine, "A"), (0, 5, 0));
    assert_eq!(cancel(&engine, "O1"), Released(State::InventoryReserved, 5));
    assert_eq!(book(&engine, "A"), (5, 0, 0));
    settled(&engine);
}

/// Set by units on hand (InUse while the unit is held) left for later.
#[test]
fn c64_a_feed_that_already_contains_the_sale() {
    let engine = shop(&[("A", 1)]);
    assert_eq!(reserve(&engine, "O1", &[("A", 1)]), New);
    let zero = || engine.set_available("A", version(&engine, "A"), 0).unwrap().available;
    assert_eq!((zero(), book(&engine, "A")), (0, (0, 1, 0)));
    assert_eq!((pay(&engine, "O1"), fulfil(&engine, "O1")), (Done, Done));
    assert_eq!(book(&engine, "A"), (0, 0, 1));
    assert_eq!((zero(), book(&engine, "A")), (0, (0, 0, 1)));
    settled(&engine);
}

#[test]
fn c66_write_off_larger_than_what_is_free() {
    let engine = shop(&[("A", 3)]);
    let refused = |wanted, available| Err(WriteOffError::Insufficient { wanted, available });
    assert_eq!(engine.write_off("A", 5), refused(5, 3));
    assert_eq!(book(&engine, "A"), (3, 0, 0));
    assert_eq!(reserve(&engine, "O1", &[("A", 2)]), New);
    assert_eq!(engine.write_off("A", 2), refused(2, 1));
    assert_eq!(book(&engine, "A"), (1, 2, 0));
    assert_eq!(engine.write_off("A", 1), Ok(Stock { available: 0, version: 2 }));
    assert_eq!(book(&engine, "A"), (0, 2, 0));
    settled(&engine);
}

#[test]
fn c66_several_write_offs_at_once() {
    for _ in 0..rounds() / 3 {
        let engine = shop(&[("A", 7)]);
        let yes = together(6, |_| engine.write_off("A", 2).is_ok());
        assert_eq!(yes.iter().filter(|yes| **yes).count(), 3);
        assert_eq!((book(&engine, "A"), version(&engine, "A")), ((1, 0, 0), 3));
        settled(&engine);
    }
}
