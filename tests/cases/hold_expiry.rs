//! Class `hold-expiry`: the clock, the sweeper, the payer and the retry. What they do at the same moment is in
//! `expiry_races`.

use std::sync::Arc;
use std::time::Duration;

use crate::support::{Said::*, *};
use stockade::{
    CancelReason, CreateError, ManualClock, Order, Reserved, SetAvailableError, State, Stock, Stockade, TransitionError,
};

/// The order as it stands once its hold has ended by its deadline.
fn is_expired(order: &Order) -> bool {
    (order.state, order.cancelled, order.deadline_ms) == (State::Cancelled, Some(CancelReason::Expired), None)
}

#[test]
fn c42_abandoned_hold_comes_back_at_the_deadline() {
    let (engine, clock) = timed_shop(&[("A", 10)]);
    assert_eq!(reserve_for(&engine, "O1", &[("A", 4)], 600), New);
    clock.set_ms(599_999);
    assert_eq!((free(&engine, "A"), deadline(&engine, "O1")), (6, Some(600)));
    at(&clock, 600);
    assert_eq!(free(&engine, "A"), 10);
    assert!(is_expired(&engine.order("O1").unwrap()));
    assert_eq!((book(&engine, "A"), expire(&engine)), ((10, 0, 0), vec!["O1".to_string()]));
    settled(&engine);
}

/// Whoever comes across it first finds it dead, lets go of all its rows, and takes the notice from nobody.
#[test]
fn c42_dead_for_everybody_who_looks() {
    type Look = fn(&Stockade) -> bool;
    const O1: [(&str, u32); 2] = [("A", 1), ("B", 1)];
    let looks: [(&str, Look); 23] = [
        ("stock", |engine| free(engine, "A") == 1),
        ("rows", |engine| engine.rows().all(|(_, stock)| stock.available == 1)),
        ("order", |engine| is_expired(&engine.order("O1").unwrap())),
        ("orders", |engine| engine.orders().all(|order| order.id == "O2" || is_expired(&order))),
        ("balance", |engine| book(engine, "B") == (1, 0, 0)),
        ("audit", |engine| engine.audit().is_sound() && book(engine, "A") == (1, 0, 0)),
        ("reserve", |engine| reserve(engine, "O1", &O1) == Closed(State::Cancelled)),
        ("reserve_for", |engine| reserve_for(engine, "O1", &O1, 10) == Closed(State::Cancelled)),
        ("reserve other lines", |engine| reserve(engine, "O1", &[("A", 1)]) == Closed(State::Cancelled)),
        ("create", |engine| matches!(engine.create("O1", &O1), Err(CreateError::Closed { .. }))),
        ("hold", |engine| said(engine.hold("O1", &O1).map(|it| it.reserved())) == Closed(State::Cancelled)),
        ("reserve another", |engine| (reserve(engine, "O3", &O1), cancel(engine, "O3")).0 == New),
        ("hold another", |engine| engine.hold("O3", &[("A", 1)]).is_ok()),
        ("batch", |engine| {
            let yes = engine.reserve_batch(&[("O3", &[("B", 1)])]).remove(0).is_ok();
            yes && cancel(engine, "O3") == Released(State::InventoryReserved, 1)
        }),
        ("reserve by transition", |engine| {
            let yes = engine.transition("O2", State::Created, State::InventoryReserved) == Ok(1);
            yes && cancel(engine, "O2") == Released(State::InventoryReserved, 2)
        }),
        ("restock", |engine| engine.restock("A", 0).unwrap().available == 1),
        ("write_off", |engine| engine.write_off("A", 1).is_ok() && engine.restock("A", 1).is_ok()),
        ("set_available", |engine| {
            // The row has moved since the editor read it, with nobody there but the clock.
            let seen = Stock { available: 1, version: 2 };
            engine.set_available("A", 1, 9) == Err(SetAvailableError::VersionConflict { expected: 1, current: seen })
        }),
        ("pay", |engine| (pay(engine, "O1"), fulfil(engine, "O1")) == (Expired, Expired)),
        ("pay by transition", |engine| {
            let (expected, actual) = (State::InventoryReserved, State::Cancelled);
            let no = Err(TransitionError::InvalidState { expected, actual });
            engine.transition("O1", expected, State::Paid) == no && engine.transition("O1", expected, actual) == no
        }),
        ("extend", |engine| extend(engine, "O1", 10) == Expired),
        ("cancel", |engine| cancel(engine, "O1") == Already),
        ("void", |engine| void(engine, "O1") == Already),
    ];
    for (name, look) in looks {
        let (engine, clock) = timed_shop(&[("A", 1), ("B", 1)]);
        assert_eq!(reserve_for(&engine, "O1", &O1, 10), New);
        let _ = engine.create("O2", &O1).unwrap();
        at(&clock, 10);
        assert!(look(&engine), "{name}");
        assert_eq!(["A", "B"].map(|sku| book(&engine, sku)), [(1, 0, 0); 2], "{name}");
        let order = engine.order("O1").unwrap();
        assert!(is_expired(&order) && order.version == 2, "{name}: {order:?}");
        assert_eq!((expire(&engine), expire(&engine)), (vec!["O1".to_string()], vec![]), "{name}");
        assert_eq!((engine.stats().expired, engine.stats().orders.inventory_reserved), (1, 0), "{name}");
        settled(&engine);
    }
}

/// Before its deadline the hold is nobody's but its owner's, whatever else is dead on the row.
#[test]
fn c42_only_the_dead_are_let_go() {
    let (engine, clock) = timed_shop(&[("A", 6)]);
    for (id, seconds) in [("O1", 10), ("O2", 20), ("O3", 10)] {
        assert_eq!(reserve_for(&engine, id, &[("A", 2)], seconds), New);
    }
    at(&clock, 10);
    assert_eq!(reserve(&engine, "O4", &[("A", 5)]), short(&["A"]));
    assert_eq!((free(&engine, "A"), deadline(&engine, "O2")), (4, Some(20)));
    assert_eq!((pay(&engine, "O2"), reserve(&engine, "O4", &[("A", 4)])), (Done, New));
    assert_eq!(expire(&engine), ["O1", "O3"]);
    assert_eq!(book(&engine, "A"), (0, 6, 0));
    settled(&engine);
}

/// Of two holds in the way one is dead: nothing is taken, and only the living one is in the answer.
#[test]
fn c42_a_refusal_names_only_what_the_living_hold() {
    let (engine, clock) = timed_shop(&[("A", 1), ("B", 1)]);
    assert_eq!((reserve_for(&engine, "O1", &[("A", 1)], 10), reserve(&engine, "O2", &[("B", 1)])), (New, New));
    at(&clock, 10);
    assert_eq!(reserve(&engine, "O3", &[("A", 1), ("B", 1)]), short(&["B"]));
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((1, 0, 0), (0, 1, 0)));
    settled(&engine);
}

#[test]
fn c43_sweeper_meets_payer() {
    let mut paid = 0;
    for _ in 0..rounds() {
        let (engine, clock) = timed_shop(&[("A", 1)]);
        assert_eq!(reserve_for(&engine, "O1", &[("A", 1)], 10), New);
        at(&clock, 9);
        let (payer, swept) = both(
            || pay(&engine, "O1"),
            || {
                at(&clock, 10);
                expire(&engine)
            },
        );
        let second = reserve(&engine, "O2", &[("A", 1)]);
        if payer == Done {
            assert_eq!((swept, second), (vec![], short(&["A"])));
            assert_eq!(state(&engine, "O1"), Some(State::Paid));
            paid += 1;
        } else {
            assert_eq!((payer, swept, second), (Expired, vec!["O1".to_string()], New));
            assert!(is_expired(&engine.order("O1").unwrap()));
        }
        assert_eq!((book(&engine, "A"), expire(&engine)), ((0, 1, 0), vec![]));
        settled(&engine);
    }
    println!("paid in time in {paid} of {} rounds", rounds());
}

#[test]
fn c44_several_sweepers_release_each_hold_once() {
    for round in 0..rounds() / 10 {
        let (engine, clock) = timed_shop(&[("A", 100)]);
        let ids: Vec<_> = (0..50).map(|n| format!("O{n:02}")).collect();
        for id in &ids {
            assert_eq!(reserve_for(&engine, id, &[("A", 1)], 10), New);
        }
        at(&clock, 10);
        let limit = [1, 7, usize::MAX][round % 3];
        let swept = together(4, |_| {
            let some = std::iter::repeat_with(|| engine.expire_due(limit)).take_while(|ids| !ids.is_empty());
            some.flatten().collect::<Vec<_>>()
        });
        assert!(swept.iter().all(|ids| ids.is_sorted()), "{swept:?}");
        let mut all = swept.concat();
        all.sort();
        assert_eq!(all, ids);
        assert!(ids.iter().all(|id| engine.order(id).unwrap().version == 2 && reason(&engine, id).is_some()));
        assert_eq!((engine.stats().expired, engine.stock("A").unwrap()), (50, Stock { available: 100, version: 100 }));
        assert_eq!(book(&engine, "A"), (100, 0, 0));
        settled(&engine);
    }
}

#[test]
fn c48_a_failed_change_does_not_reset_the_timer() {
    let (engine, clock) = timed_shop(&[("A", 1)]);
    assert_eq!(reserve_for(&engine, "O1", &[("A", 1)], 10), New);
    let order = engine.order("O1");
    for second in 1..10 {
        at(&clock, second);
        assert_eq!(amend(&engine, "O1", &[("A", 2)]), short(&["A"]));
        assert_eq!((engine.order("O1"), deadline(&engine, "O1")), (order.clone(), Some(10)));
    }
    at(&clock, 10);
    assert_eq!(free(&engine, "A"), 1);
    assert!(is_expired(&engine.order("O1").unwrap()));
    assert_eq!(amend(&engine, "O1", &[("A", 2)]), Expired);
    settled(&engine);
}

/// Nor does a change that succeeds, in whichever direction; and the units that came to the hold die with it.
#[test]
fn c48_no_change_in_part_moves_the_deadline() {
    let (engine, clock) = timed_shop(&[("A", 5), ("B", 5)]);
    assert_eq!(reserve_for(&engine, "O1", &[("A", 1)], 10), New);
    for second in 1..10 {
        at(&clock, second);
        let units = 2 + second % 2;
        assert_eq!(amend(&engine, "O1", &[("A", units as u32), ("B", 3)]), Left(units + 3));
        assert_eq!(amend(&engine, "O1", &[("A", units as u32), ("B", 3)]), Left(units + 3));
        assert_eq!(amend(&engine, "O1", &[("A", 6)]), short(&["A"]));
        assert_eq!(fulfil_part(&engine, "O1", &[("B", 1)]), InvalidState(State::InventoryReserved));
        assert_eq!(deadline(&engine, "O1"), Some(10));
    }
    assert_eq!((cancel_part(&engine, "O1", &[("B", 2)]), deadline(&engine, "O1")), (Left(4), Some(10)));
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((2, 3, 0), (4, 1, 0)));
    at(&clock, 10);
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((5, 0, 0), (5, 0, 0)));
    assert_eq!(expire(&engine), ["O1"]);

    // What is paid for in time keeps what it was changed to, and has no deadline.
    assert_eq!(reserve_for(&engine, "O2", &[("A", 1)], 10), New);
    assert_eq!((amend(&engine, "O2", &[("B", 5)]), pay(&engine, "O2")), (Left(5), Done));
    at(&clock, 100);
    assert_eq!((book(&engine, "A"), book(&engine, "B"), expire(&engine)), ((5, 0, 0), (0, 5, 0), vec![]));
    settled(&engine);
}

/// The timer can be moved as before, and a hold that was changed is extended with all its rows.
#[test]
fn c48_a_changed_hold_is_extended_whole() {
    let (engine, clock) = timed_shop(&[("A", 5), ("B", 5)]);
    assert_eq!(reserve_for(&engine, "O1", &[("A", 5)], 10), New);
    assert_eq!((amend(&engine, "O1", &[("A", 5), ("B", 5)]), extend(&engine, "O1", 20)), (Left(10), Until(20)));
    at(&clock, 19);
    assert_eq!(reserve(&engine, "O2", &[("A", 1), ("B", 1)]), short(&["A", "B"]));
    at(&clock, 20);
    assert_eq!(reserve(&engine, "O2", &[("A", 5), ("B", 5)]), New);
    assert_eq!((expire(&engine), extend(&engine, "O1", 20)), (vec!["O1".to_string()], Expired));
    settled(&engine);
}

#[test]
fn c49_a_replay_renews_nothing() {
    let (engine, clock) = timed_shop(&[("A", 1)]);
    let first = engine.reserve_for("O1", &[("A", 1)], 10_000).unwrap().reservation();
    let order = engine.order("O1").unwrap();
    assert_eq!(order.deadline_ms, Some(10_000));
    for second in [3, 6, 9] {
        at(&clock, second);
        assert_eq!(engine.reserve_for("O1", &[("A", 1)], 10_000), Ok(Reserved::Replayed(first)));
        assert_eq!(engine.order("O1").as_ref(), Some(&order));
    }
    at(&clock, 10);
    assert_eq!(free(&engine, "A"), 1);
    at(&clock, 11);
    assert_eq!(reserve_for(&engine, "O1", &[("A", 1)], 10), Closed(State::Cancelled));
    assert_eq!(book(&engine, "A"), (1, 0, 0));
    settled(&engine);
}

/// Nor does a repeat in another form, or a request that fails: the one thing that moves a deadline is `extend`.
#[test]
fn c49_nothing_but_extend_moves_the_deadline() {
    let (engine, clock) = timed_shop(&[("A", 1), ("B", 1)]);
    assert_eq!(reserve_for(&engine, "O1", &[("A", 1)], 10), New);
    let order = engine.order("O1");
    for second in 1..10 {
        at(&clock, second);
        assert_eq!(reserve(&engine, "O1", &[("A", 1)]), Replayed);
        assert_eq!(reserve_for(&engine, "O1", &[("A", 1)], 1000), Replayed);
        drop(engine.hold("O1", &[("A", 1)]).unwrap());
        assert_eq!(reserve_for(&engine, "O1", &[("A", 2)], 1000), LinesDiffer);
        assert_eq!(reserve_for(&engine, "O1", &[("A", 1), ("B", 1)], 1000), LinesDiffer);
        assert_eq!(extend(&engine, "O1", 0), Invalid);
        assert_eq!(extend(&engine, "O1", 10 - second), Until(10), "never shorter");
        assert_eq!(fulfil(&engine, "O1"), InvalidState(State::InventoryReserved));
        assert_eq!((expire(&engine), engine.order("O1")), (vec![], order.clone()));
    }
    assert_eq!((extend(&engine, "O1", 3), deadline(&engine, "O1")), (Until(12), Some(12)));
    at(&clock, 10);
    assert_eq!((expire(&engine), free(&engine, "A")), (vec![], 0));
    at(&clock, 12);
    assert_eq!((expire(&engine), free(&engine, "A")), (vec!["O1".to_string()], 1));
    settled(&engine);
}

#[test]
fn c50_payment_after_expiry_takes_again_if_possible() {
    let (engine, clock) = timed_shop(&[("A", 2), ("B", 1)]);
    assert_eq!(reserve_for(&engine, "O1", &[("A", 1)], 10), New);
    assert_eq!(reserve_for(&engine, "O2", &[("B", 1)], 10), New);
    at(&clock, 11);
    assert_eq!((pay(&engine, "O1"), pay_again(&engine, "O1")), (Expired, Again));
    assert_eq!((state(&engine, "O1"), reason(&engine, "O1"), deadline(&engine, "O1")), (Some(State::Paid), None, None));
    assert_eq!(book(&engine, "A"), (1, 1, 0));

    assert_eq!(reserve(&engine, "O3", &[("B", 1)]), New);
    assert_eq!((pay(&engine, "O2"), pay_again(&engine, "O2")), (Expired, short(&["B"])));
    assert!(is_expired(&engine.order("O2").unwrap()));
    assert_eq!(book(&engine, "B"), (0, 1, 0));
    // Who is served after all need not be told that it ended.
    assert_eq!(expire(&engine), ["O2"]);
    settled(&engine);
}

/// What a revived order is afterwards: an order like any other.
#[test]
fn c50_a_revived_order_goes_on_as_if_nothing_had_been() {
    let (engine, clock) = timed_shop(&[("A", 2)]);
    let first = engine.reserve_for("O1", &[("A", 1)], 10_000).unwrap().reservation();
    at(&clock, 10);
    assert_eq!((expire(&engine), pay_again(&engine, "O1")), (vec!["O1".to_string()], Again));
    assert_eq!(engine.reserve("O1", &[("A", 1)]), Ok(Reserved::Replayed(first)));
    assert_eq!((pay(&engine, "O1"), extend(&engine, "O1", 10)), (Already, InvalidState(State::Paid)));
    at(&clock, 1_000_000);
    assert_eq!((expire(&engine), state(&engine, "O1")), (vec![], Some(State::Paid)));
    assert_eq!((fulfil(&engine, "O1"), pay_again(&engine, "O1")), (Done, Already));
    assert_eq!((book(&engine, "A"), engine.order("O1").unwrap().version), ((1, 0, 1), 4));
    settled(&engine);
}

#[test]
fn c51_a_dead_hold_of_several_lines_revives_no_part() {
    let (engine, clock) = timed_shop(&[("A", 1), ("B", 1)]);
    let order = [("A", 1), ("B", 1)];
    assert_eq!(reserve_for(&engine, "O1", &order, 10), New);
    at(&clock, 11);
    assert_eq!(reserve(&engine, "O2", &[("B", 1)]), New);
    at(&clock, 12);
    assert_eq!(extend(&engine, "O1", 10), Expired);
    assert_eq!(reserve_for(&engine, "O1", &order, 10), Closed(State::Cancelled));
    assert_eq!(pay_again(&engine, "O1"), short(&["B"]));
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((1, 0, 0), (0, 1, 0)));
    assert!(is_expired(&engine.order("O1").unwrap()));
    settled(&engine);
}

/// A change in part of a dead hold is no renewal either, and a late payment takes all that was changed, or nothing.
#[test]
fn c51_a_dead_hold_that_was_changed_revives_no_part() {
    let (engine, clock) = timed_shop(&[("A", 2), ("B", 1), ("C", 1)]);
    assert_eq!(reserve_for(&engine, "O1", &[("A", 1), ("C", 1)], 10), New);
    assert_eq!(amend(&engine, "O1", &[("A", 1), ("B", 1)]), Left(2));
    at(&clock, 11);
    assert_eq!(amend(&engine, "O1", &[("A", 1)]), Expired);
    assert_eq!((cancel_part(&engine, "O1", &[("A", 1)]), fulfil_part(&engine, "O1", &[("B", 1)])), (Expired, Expired));
    assert_eq!(reserve(&engine, "O2", &[("B", 1)]), New);
    assert_eq!(pay_again(&engine, "O1"), short(&["B"]));
    assert_eq!(["A", "B", "C"].map(|sku| book(&engine, sku)), [(2, 0, 0), (0, 1, 0), (1, 0, 0)]);
    assert!(is_expired(&engine.order("O1").unwrap()));
    assert_eq!((cancel(&engine, "O2"), pay_again(&engine, "O1")), (Released(State::InventoryReserved, 1), Again));
    assert_eq!(["A", "B", "C"].map(|sku| book(&engine, sku)), [(1, 1, 0), (0, 1, 0), (1, 0, 0)]);
    settled(&engine);
}

/// The fault in the middle of a release left for later.
#[test]
fn c52_one_order_that_cannot_expire_does_not_stop_the_sweep() {
    let (engine, clock) = timed_shop(&[("A", 10)]);
    for id in ["O1", "O2", "O3", "O4"] {
        assert_eq!(reserve_for(&engine, id, &[("A", 1)], 10), New);
    }
    at(&clock, 5);
    assert_eq!(pay(&engine, "O3"), Done);
    at(&clock, 9);
    assert_eq!(cancel(&engine, "O2"), Released(State::InventoryReserved, 1));
    at(&clock, 10);
    assert_eq!(expire(&engine), ["O1", "O4"]);
    assert_eq!(book(&engine, "A"), (9, 1, 0));
    let states = ["O1", "O2", "O3", "O4"].map(|id| (state(&engine, id).unwrap(), reason(&engine, id)));
    let expired = (State::Cancelled, Some(CancelReason::Expired));
    let cancelled = (State::Cancelled, Some(CancelReason::Cancelled));
    assert_eq!(states, [expired, cancelled, (State::Paid, None), expired]);
    settled(&engine);
}

/// Every hold in the units of one row.
const MASS: u32 = 20_000;

/// A row of which each unit is in a hold of its own that is dead by now, and the ids in the order of their creation.
fn mass_expiry() -> (Stockade, Vec<String>) {
    let (engine, clock) = timed_shop(&[("A", u64::from(MASS))]);
    let ids: Vec<_> = (0..MASS).map(|n| format!("O{n:05}")).collect();
    for id in &ids {
        assert_eq!(reserve_for(&engine, id, &[("A", 1)], 10), New);
    }
    assert_eq!(book(&engine, "A"), (0, u64::from(MASS), 0));
    at(&clock, 10);
    (engine, ids)
}

#[test]
fn c53_mass_expiry_then_one_order_for_everything() {
    let (engine, ids) = mass_expiry();
    let sweeps: Vec<_> =
        std::iter::repeat_with(|| engine.expire_due(999)).take_while(|some| !some.is_empty()).collect();
    assert_eq!(sweeps.iter().map(Vec::len).sum::<usize>(), ids.len());
    assert!(sweeps.concat() == ids, "each once, in the order of creation");
    assert_eq!(reserve(&engine, "BIG", &[("A", MASS)]), New);
    assert_eq!((book(&engine, "A"), engine.stats().expired), ((0, u64::from(MASS), 0), u64::from(MASS)));
    settled(&engine);
}

#[test]
fn c53_one_order_for_everything_without_a_sweep() {
    let (engine, ids) = mass_expiry();
    assert_eq!(reserve(&engine, "BIG", &[("A", MASS)]), New);
    assert_eq!((book(&engine, "A"), engine.stats().expired), ((0, u64::from(MASS), 0), u64::from(MASS)));
    assert!(expire(&engine) == ids, "told afterwards, each once, in the order of creation");
    assert_eq!(expire(&engine), [""; 0]);
    settled(&engine);
}

#[test]
fn c53_two_sweepers_and_a_buyer_of_everything() {
    let (engine, ids) = mass_expiry();
    let swept = together(3, |i| match i {
        0 | 1 => expire(&engine),
        _ => {
            assert_eq!(reserve(&engine, "BIG", &[("A", MASS)]), New);
            vec![]
        }
    });
    assert!(swept.iter().all(|ids| ids.is_sorted()));
    // Both sweepers went on until nothing was due, so nothing is left to tell.
    let mut all = swept.concat();
    all.sort();
    assert!(all == ids && expire(&engine).is_empty(), "each once");
    assert_eq!(book(&engine, "A"), (0, u64::from(MASS), 0));
    settled(&engine);
}

/// The first deadline first, whatever order the holds were made in and whoever has let go of some in passing.
#[test]
fn c53_told_in_the_order_of_deadlines() {
    let (engine, clock) = timed_shop(&[("A", 9), ("B", 9)]);
    for (id, sku, seconds) in [("O1", "A", 40), ("O2", "B", 20), ("O3", "A", 10), ("O4", "B", 30), ("O5", "A", 20)] {
        assert_eq!(reserve_for(&engine, id, &[(sku, 1)], seconds), New);
    }
    assert_eq!(extend(&engine, "O3", 25), Until(25));
    at(&clock, 20);
    assert_eq!(engine.expire_due(0), [""; 0]);
    assert_eq!(engine.expire_due(1), ["O2"]);
    at(&clock, 40);
    assert_eq!((free(&engine, "A"), reason(&engine, "O4")), (9, Some(CancelReason::Expired)));
    assert_eq!(engine.expire_due(2), ["O5", "O3"]);
    assert_eq!(engine.expire_due(9), ["O4", "O1"]);
    assert_eq!(expire(&engine), [""; 0]);
    settled(&engine);
}

#[test]
fn c55_zero_huge_and_missing_time_limits() {
    let (engine, clock) = timed_shop(&[("A", 5)]);
    assert_eq!(said(engine.reserve_for("O1", &[("A", 1)], 0)), Invalid);
    assert_eq!((state(&engine, "O1"), free(&engine, "A")), (None, 5));
    at(&clock, 5);
    assert_eq!(said(engine.reserve_for("O2", &[("A", 1)], u64::MAX)), New);
    assert_eq!(reserve(&engine, "O3", &[("A", 1)]), New);
    assert!(engine.order("O2").unwrap().deadline_ms.is_some_and(|ms| ms > 1 << 41));
    assert_eq!(engine.order("O3").unwrap().deadline_ms, None);
    // The last one is more than a deadline can say; what never ends must not end then either.
    for ms in [1_000_000_000_000, 1 << 43, u64::MAX] {
        clock.set_ms(ms);
        assert_eq!(expire(&engine), [""; 0]);
        for id in ["O2", "O3"] {
            assert_eq!(state(&engine, id), Some(State::InventoryReserved), "{id} at {ms}");
        }
        assert_eq!(book(&engine, "A"), (3, 2, 0));
    }
    assert_eq!((extend(&engine, "O3", 1), pay(&engine, "O2"), pay(&engine, "O3")), (NoDeadline, Done, Done));
    settled(&engine);
}

/// In a system without sub-minute holds several buyers got through within the minute.
#[test]
fn c55_a_millisecond_is_a_time_limit() {
    let (engine, clock) = timed_shop(&[("A", 1)]);
    for n in 0..100 {
        assert_eq!(said(engine.reserve_for(&format!("O{n}"), &[("A", 1)], 1)), New);
        assert_eq!(said(engine.reserve_for(&format!("P{n}"), &[("A", 1)], 1)), short(&["A"]));
        clock.advance_ms(1);
    }
    assert_eq!((expire(&engine).len(), book(&engine, "A")), (100, (1, 0, 0)));
    settled(&engine);
}

/// A limit for all holds cuts what is asked for beyond it, also what is asked for bit by bit.
#[test]
fn c55_no_hold_outlives_the_limit_of_the_shop() {
    let clock = Arc::new(ManualClock::default());
    let engine = Stockade::builder().clock(Arc::clone(&clock)).max_hold_ms(15_000).build().unwrap();
    let engine = stocked(engine, &[("A", 3)]);
    at(&clock, 100);
    assert_eq!(said(engine.reserve_for("O1", &[("A", 1)], u64::MAX)), New);
    assert_eq!((reserve_for(&engine, "O2", &[("A", 1)], 10), reserve(&engine, "O3", &[("A", 1)])), (New, New));
    assert_eq!((deadline(&engine, "O1"), deadline(&engine, "O2")), (Some(115), Some(110)));
    for (second, until) in [(101, 111), (105, 115), (109, 115), (114, 115)] {
        at(&clock, second);
        assert_eq!((extend(&engine, "O2", 10), extend(&engine, "O1", 1000)), (Until(until), Until(115)));
    }
    at(&clock, 115);
    assert_eq!((extend(&engine, "O1", 1), extend(&engine, "O2", 1)), (Expired, Expired));
    assert_eq!((expire(&engine), free(&engine, "A")), (vec!["O1".to_string(), "O2".to_string()], 2));
    assert_eq!(state(&engine, "O3"), Some(State::InventoryReserved));
    settled(&engine);
}

/// The clock of a shop that is given none.
#[test]
fn c55_by_the_system_clock() {
    let engine = shop(&[("A", 1), ("B", 1)]);
    assert_eq!(said(engine.reserve_for("O1", &[("A", 1)], 20)), New);
    assert_eq!(reserve_for(&engine, "O2", &[("B", 1)], 600), New);
    std::thread::sleep(Duration::from_millis(21));
    assert_eq!((free(&engine, "A"), free(&engine, "B"), expire(&engine)), (1, 0, vec!["O1".to_string()]));
    settled(&engine);
}
