//! Class `hold-expiry`: the sweeper, the payer and the retry. There is no clock yet: where a hold's time is up, the
//! test lets it lapse, that is cancels it on the condition that it is still unpaid.

use crate::support::{Said::*, *};
use stockade::{Reserved, State};

/// Clock left for later.
#[test]
fn c43_sweeper_meets_payer() {
    for _ in 0..ROUNDS {
        let engine = shop(&[("A", 1)]);
        assert_eq!(reserve(&engine, "O1", &[("A", 1)]), New);
        let said = together(2, |i| match i {
            0 => pay(&engine, "O1"),
            _ => lapse(&engine, "O1"),
        });
        let second = reserve(&engine, "O2", &[("A", 1)]);
        if said == [Done, InvalidState(State::Paid)] {
            assert_eq!(second, short(&["A"]));
        } else {
            assert_eq!(said, [InvalidState(State::Cancelled), Done]);
            assert_eq!(second, New);
        }
        assert_eq!(book(&engine, "A"), (0, 1, 0));
        settled(&engine);
    }
}

/// Clock left for later.
#[test]
fn c44_several_sweepers_release_each_hold_once() {
    for _ in 0..ROUNDS / 10 {
        let engine = shop(&[("A", 100)]);
        let ids: Vec<_> = (0..50).map(|n| format!("O{n}")).collect();
        for id in &ids {
            assert_eq!(reserve(&engine, id, &[("A", 1)]), New);
        }
        let swept = together(4, |_| ids.iter().filter(|id| lapse(&engine, id) == Done).count());
        assert_eq!(swept.iter().sum::<usize>(), 50, "{swept:?}");
        assert!(ids.iter().all(|id| state(&engine, id) == Some(State::Cancelled)));
        assert_eq!(book(&engine, "A"), (100, 0, 0));
        settled(&engine);
    }
}

/// Deadlines left for later: what can be seen is that a replay changes nothing about the order.
#[test]
fn c49_a_replay_renews_nothing() {
    let engine = shop(&[("A", 1)]);
    let first = engine.reserve("O1", &[("A", 1)]).unwrap().reservation();
    let order = engine.order("O1");
    for _ in 0..3 {
        assert_eq!(engine.reserve("O1", &[("A", 1)]), Ok(Reserved::Replayed(first)));
        assert_eq!(engine.order("O1"), order);
    }
    assert_eq!(lapse(&engine, "O1"), Done);
    assert_eq!(free(&engine, "A"), 1);
    assert_eq!(reserve(&engine, "O1", &[("A", 1)]), Closed(State::Cancelled));
    assert_eq!(book(&engine, "A"), (1, 0, 0));
    settled(&engine);
}

/// pay_or_retake left for later: the caller reserves under a new id, as the case says.
#[test]
fn c50_payment_after_expiry_takes_again_if_possible() {
    let engine = shop(&[("A", 2), ("B", 1)]);
    assert_eq!((reserve(&engine, "O1", &[("A", 1)]), lapse(&engine, "O1")), (New, Done));
    assert_eq!(pay(&engine, "O1"), InvalidState(State::Cancelled));
    assert_eq!((reserve(&engine, "O1 again", &[("A", 1)]), pay(&engine, "O1 again")), (New, Done));
    assert_eq!(book(&engine, "A"), (1, 1, 0));

    assert_eq!((reserve(&engine, "O2", &[("B", 1)]), lapse(&engine, "O2")), (New, Done));
    assert_eq!(reserve(&engine, "O3", &[("B", 1)]), New);
    assert_eq!(pay(&engine, "O2"), InvalidState(State::Cancelled));
    assert_eq!(reserve(&engine, "O2 again", &[("B", 1)]), short(&["B"]));
    assert_eq!(state(&engine, "O2"), Some(State::Cancelled));
    assert_eq!(book(&engine, "B"), (0, 1, 0));
    settled(&engine);
}

/// renew left for later: the same request once more is what a client without it would send.
#[test]
fn c51_a_dead_hold_of_several_lines_revives_no_part() {
    let engine = shop(&[("A", 1), ("B", 1)]);
    let order = [("A", 1), ("B", 1)];
    assert_eq!((reserve(&engine, "O1", &order), lapse(&engine, "O1")), (New, Done));
    assert_eq!(reserve(&engine, "O2", &[("B", 1)]), New);
    assert_eq!(reserve(&engine, "O1", &order), Closed(State::Cancelled));
    assert_eq!(reserve(&engine, "O1 again", &order), short(&["B"]));
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((1, 0, 0), (0, 1, 0)));
    assert_eq!(state(&engine, "O1"), Some(State::Cancelled));
    settled(&engine);
}

/// Clock and the fault in the middle left for later.
#[test]
fn c52_one_order_that_cannot_lapse_does_not_stop_the_sweep() {
    let engine = shop(&[("A", 10)]);
    for id in ["O1", "O2", "O3", "O4"] {
        assert_eq!(reserve(&engine, id, &[("A", 1)]), New);
    }
    assert_eq!(pay(&engine, "O3"), Done);
    assert_eq!(cancel(&engine, "O2"), Released(State::InventoryReserved, 1));
    let sweep = ["O1", "O2", "O3", "O4"].map(|id| lapse(&engine, id));
    assert_eq!(sweep, [Done, InvalidState(State::Cancelled), InvalidState(State::Paid), Done]);
    assert_eq!(book(&engine, "A"), (9, 1, 0));
    settled(&engine);
}

/// Clock and order of expiry left for later.
#[test]
fn c53_mass_expiry_then_one_order_for_everything() {
    const ALL: u32 = 20_000;
    let engine = shop(&[("A", u64::from(ALL))]);
    let ids: Vec<_> = (0..ALL).map(|n| format!("O{n}")).collect();
    for id in &ids {
        assert_eq!(reserve(&engine, id, &[("A", 1)]), New);
    }
    assert_eq!(book(&engine, "A"), (0, u64::from(ALL), 0));
    let swept = together(2, |_| ids.iter().filter(|id| lapse(&engine, id) == Done).count());
    assert_eq!(swept.iter().sum::<usize>(), ids.len());
    assert_eq!(reserve(&engine, "BIG", &[("A", ALL)]), New);
    assert_eq!(book(&engine, "A"), (0, u64::from(ALL), 0));
    settled(&engine);
}
