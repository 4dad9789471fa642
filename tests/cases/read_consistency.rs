//! Class `read-consistency`: reads show states that existed. More of this is in `consistency.rs`.

use std::sync::Barrier;

use crate::support::{Said::*, *};
use stockade::State;

#[test]
fn c103_read_your_own_write() {
    for _ in 0..rounds() / 3 {
        let engine = shop(&[("A", 1)]);
        let signal = Barrier::new(9);
        let seen = || (free(&engine, "A"), state(&engine, "O1"));
        let read = together(9, |i| {
            let own = (i == 0).then(|| (reserve(&engine, "O1", &[("A", 1)]), seen()));
            signal.wait();
            (own, seen())
        });
        let taken = (0, Some(State::InventoryReserved));
        assert_eq!(read[0], (Some((New, taken)), taken));
        assert!(read[1..].iter().all(|read| *read == (None, taken)), "{read:?}");
        settled(&engine);
    }
}

#[test]
fn c103_of_every_verb_and_every_line() {
    let engine = shop(&[("A", 9), ("B", 9)]);
    let sees = |a, b, now| {
        let read = together(4, |_| (free(&engine, "A"), free(&engine, "B"), state(&engine, "O1")));
        assert_eq!(read, [(a, b, now); 4]);
    };
    sees(9, 9, None);
    let _ = engine.create("O1", &[("A", 2), ("B", 3)]).unwrap();
    sees(9, 9, Some(State::Created));
    assert_eq!(reserve(&engine, "O1", &[("A", 2), ("B", 3)]), New);
    sees(7, 6, Some(State::InventoryReserved));
    engine.restock("A", 10).unwrap();
    sees(17, 6, Some(State::InventoryReserved));
    engine.write_off("B", 6).unwrap();
    sees(17, 0, Some(State::InventoryReserved));
    assert_eq!(pay(&engine, "O1"), Done);
    sees(17, 0, Some(State::Paid));
    assert_eq!(cancel_part(&engine, "O1", &[("B", 2)]), Left(3));
    sees(17, 2, Some(State::Paid));
    assert_eq!(amend(&engine, "O1", &[("A", 4), ("B", 3)]), Left(5));
    sees(15, 2, Some(State::Paid));
    assert_eq!(cancel(&engine, "O1"), Released(State::Paid, 5));
    sees(19, 3, Some(State::Cancelled));
    engine.set_available("A", 4, 1).unwrap();
    sees(1, 3, Some(State::Cancelled));
}
