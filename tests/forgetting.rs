//! Orders that are forgotten: what the documentation says, memory that stays flat, and interleavings that would go
//! wrong if one line of the engine were another (`tests/slips`).

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "support/resident.rs"]
mod resident;
#[path = "forgetting/schedules.rs"]
mod schedules;
#[path = "forgetting/soak.rs"]
mod soak;
#[path = "support/stopped.rs"]
mod stopped;

use std::sync::Arc;

use stockade::{
    AdvanceError, AmendError, CancelLinesError, CancelReason, Cancelled, Clock, CreateError, ExtendError, HoldClosed,
    Keep, ManualClock, PaidLate, PayAgainError, ReserveError, State, Stockade, TransitionError,
};

/// Kept for so long: sixteen ages of ten.
const KEPT_MS: u64 = 160;
/// The longest that anything is kept, if a sweep comes past it at once.
const LATEST_MS: u64 = KEPT_MS + KEPT_MS / 16;

/// A hundred units of A and of B.
fn stocked(shop: Stockade) -> Stockade {
    shop.add_sku("A", 100).unwrap();
    shop.add_sku("B", 100).unwrap();
    shop
}

/// The clock is past its first age, so that to be of no age is to be old.
fn shop() -> (Stockade, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::default());
    clock.set_ms(100 * KEPT_MS + 3);
    let builder = Stockade::builder().clock(Arc::clone(&clock)).keep_finished(Keep::ForMs(KEPT_MS));
    (stocked(builder.build().unwrap()), clock)
}

/// Goes round all orders once.
fn forget_all(shop: &Stockade) -> usize {
    shop.forget_finished(usize::MAX)
}

fn is_sound(shop: &Stockade) {
    let audit = shop.audit();
    assert!(audit.is_sound() && audit.in_motion.is_empty(), "{audit:?}");
}

/// Of A: received, available, held, shipped.
fn books(shop: &Stockade) -> [u64; 4] {
    let balance = shop.balance("A").unwrap();
    [balance.received, balance.available, balance.held, balance.shipped]
}

fn reserve(shop: &Stockade, id: &str) {
    assert!(shop.reserve(id, &[("A", 2)]).unwrap().is_new());
}

type Ends = fn(&Stockade, &ManualClock);

/// Every way in which an order ends: by name, how it comes about, and the state it has then.
const ENDS: [(&str, Ends, State); 12] = [
    ("cancelled", |s, _| drop((reserve(s, "id"), s.cancel("id"))), State::Cancelled),
    ("paid and cancelled", |s, _| drop((reserve(s, "id"), s.pay("id"), s.cancel("id"))), State::Cancelled),
    ("created and cancelled", |s, _| drop((s.create("id", &[("A", 2)]), s.cancel("id"))), State::Cancelled),
    ("moved", |s, _| drop((reserve(s, "id"), s.transition("id", RESERVED, State::Cancelled))), State::Cancelled),
    ("voided", |s, _| drop((reserve(s, "id"), s.void("id"))), State::Cancelled),
    ("marked", |s, _| drop(s.void("id")), State::Cancelled),
    ("dropped", |s, _| drop(s.hold("id", &[("A", 2)])), State::Cancelled),
    ("cancelled in parts", |s, _| drop((reserve(s, "id"), s.cancel_lines("id", &[("A", 2)]))), State::Cancelled),
    ("fulfilled", |s, _| drop((reserve(s, "id"), s.pay("id"), s.fulfil("id"))), State::Fulfilled),
    ("sent in parts", sent_in_parts, State::Fulfilled),
    ("sent in part", sent_in_part, State::Fulfilled),
    ("expired", expired, State::Cancelled),
];

const RESERVED: State = State::InventoryReserved;

fn sent_in_parts(shop: &Stockade, _: &ManualClock) {
    reserve(shop, "id");
    let _ = shop.pay("id").unwrap();
    assert!((0..2).all(|_| shop.fulfil_lines("id", &[("A", 1)]).is_ok()));
}

/// One is sent, the other cancelled.
fn sent_in_part(shop: &Stockade, _: &ManualClock) {
    reserve(shop, "id");
    let _ = shop.pay("id").unwrap();
    assert_eq!(shop.fulfil_lines("id", &[("A", 1)]).unwrap().open, 1);
    assert_eq!(shop.cancel("id").unwrap().units(), 1);
}

fn expired(shop: &Stockade, clock: &ManualClock) {
    assert!(shop.reserve_for("id", &[("A", 2)], 1).unwrap().is_new());
    clock.advance_ms(1);
    assert_eq!(shop.order("id").unwrap().cancelled, Some(CancelReason::Expired));
}

#[test]
fn every_order_that_has_ended_is_kept_as_long_as_said_and_at_most_a_sixteenth_longer() {
    for (name, ends, state) in ENDS {
        for began_ms in [0, 1, 6, 9] {
            let (shop, clock) = shop();
            clock.advance_ms(began_ms);
            ends(&shop, &clock);
            let ended_ms = clock.now_ms();
            assert_eq!(shop.order("id").unwrap().state, state, "{name}");
            while clock.now_ms() <= ended_ms + KEPT_MS {
                assert_eq!(forget_all(&shop), 0, "{name} {began_ms} at {}", clock.now_ms() - ended_ms);
                clock.advance_ms(1);
            }
            let before = shop.order("id").unwrap();
            assert_eq!((before.state, shop.stats().forgotten), (state, 0), "{name}");
            clock.set_ms(ended_ms + LATEST_MS);
            assert_eq!((forget_all(&shop), shop.order("id")), (1, None), "{name} {began_ms}");
            assert_eq!((forget_all(&shop), shop.stats().forgotten, shop.orders().count()), (0, 1, 0), "{name}");
            let left = shop.stats().orders;
            assert_eq!(
                [left.created, left.inventory_reserved, left.paid, left.fulfilled, left.cancelled],
                [0; 5],
                "{name}"
            );
            is_sound(&shop);
        }
    }
}

#[test]
fn what_shipped_leaves_the_books_with_its_order() {
    for (name, ends, _) in ENDS {
        let (shop, clock) = shop();
        let others = |shop: &Stockade| {
            assert!(shop.reserve("held", &[("A", 7), ("B", 1)]).unwrap().is_new());
        };
        others(&shop);
        ends(&shop, &clock);
        let [received, available, held, shipped] = books(&shop);
        assert_eq!((received, held, available + held + shipped), (100, 7, 100), "{name}");
        is_sound(&shop);
        clock.advance_ms(LATEST_MS);
        assert_eq!(forget_all(&shop), 1, "{name}");
        assert_eq!(books(&shop), [100 - shipped, available, 7, 0], "{name}");
        is_sound(&shop);
    }
}

#[test]
fn what_holds_something_or_may_come_to_is_never_forgotten() {
    let (shop, clock) = shop();
    let _ = shop.create("created", &[("A", 1)]).unwrap();
    let _ = shop.reserve("reserved", &[("A", 1)]).unwrap();
    let _ = shop.reserve("paid", &[("A", 1)]).unwrap();
    let _ = shop.pay("paid").unwrap();
    let _ = shop.reserve("sent in part", &[("A", 2)]).unwrap();
    let _ = shop.pay("sent in part").unwrap();
    let _ = shop.fulfil_lines("sent in part", &[("A", 1)]).unwrap();
    let _ = shop.reserve_for("held", &[("A", 1)], 1_000 * KEPT_MS).unwrap();
    for _ in 0..300 {
        clock.advance_ms(KEPT_MS / 2);
        assert_eq!(forget_all(&shop), 0);
    }
    assert_eq!(shop.orders().count(), 5);
    assert_eq!(books(&shop), [100, 95, 4, 1]);
    // Nor is one that an expired hold made, until that has ended; its payment begins it anew.
    clock.advance_ms(1_000 * KEPT_MS);
    assert_eq!(forget_all(&shop), 0, "nobody has come across it yet");
    assert_eq!(shop.expire_due(9), ["held"]);
    clock.advance_ms(KEPT_MS);
    assert!(matches!(shop.pay_or_reserve_again("held"), Ok(PaidLate::Again { .. })));
    clock.advance_ms(3 * KEPT_MS);
    assert_eq!(forget_all(&shop), 0);
    let _ = shop.fulfil("held").unwrap();
    assert_eq!(forget_all(&shop), 0, "it has ended just now, not when it expired");
    clock.advance_ms(LATEST_MS);
    assert_eq!(forget_all(&shop), 1);
    is_sound(&shop);
}

#[test]
fn an_open_hold_keeps_its_order_from_being_forgotten() {
    let (shop, clock) = shop();
    let hold = shop.hold("id", &[("A", 2)]).unwrap();
    let _ = shop.cancel("id").unwrap();
    clock.advance_ms(3 * KEPT_MS);
    let forgotten = forget_all(&shop);
    // Dropped, it would look for ever for an order that is not there.
    std::mem::forget(hold);
    assert_eq!(forgotten, 0);
}

#[test]
fn a_hold_keeps_its_order_until_it_is_kept_or_dropped() {
    for is_kept in [false, true] {
        for is_ended in [false, true] {
            let (shop, clock) = shop();
            let hold = shop.hold("id", &[("A", 2)]).unwrap();
            // Somebody else's, which is no guard of the order.
            let replay = shop.hold("id", &[("A", 2)]).unwrap();
            if is_ended {
                let _ = shop.cancel("id").unwrap();
            }
            clock.advance_ms(3 * KEPT_MS);
            assert_eq!(forget_all(&shop), 0);
            drop(replay);
            assert_eq!(forget_all(&shop), 0);
            if is_kept {
                let closed = Err(HoldClosed { state: State::Cancelled });
                assert_eq!(hold.keep().map(|_| ()), if is_ended { closed } else { Ok(()) });
            } else {
                drop(hold);
            }
            let is_over = is_ended || !is_kept;
            assert_eq!(forget_all(&shop), usize::from(is_ended), "kept {is_kept}, ended {is_ended}");
            clock.advance_ms(LATEST_MS);
            assert_eq!(forget_all(&shop), usize::from(is_over && !is_ended));
            assert_eq!(shop.order("id").is_none(), is_over);
            is_sound(&shop);
        }
    }
}

#[test]
fn a_hold_whose_order_is_forgotten_has_nothing_to_keep_or_give_back() {
    let (shop, clock) = shop();
    reserve(&shop, "id");
    let [kept, dropped] = [(), ()].map(|()| shop.hold("id", &[("A", 2)]).unwrap());
    let _ = shop.cancel("id").unwrap();
    clock.advance_ms(LATEST_MS);
    assert_eq!(forget_all(&shop), 1);
    assert_eq!(kept.keep().map(|_| ()), Err(HoldClosed { state: State::Cancelled }));
    // It is another order by now, and none of its business.
    reserve(&shop, "id");
    drop(dropped);
    assert_eq!(books(&shop), [100, 98, 2, 0]);
}

/// What a late repeat gets: it is an id that nobody has used.
#[test]
fn a_forgotten_id_is_one_that_nobody_has_used() {
    for (name, ends, _) in ENDS {
        let (shop, clock) = shop();
        ends(&shop, &clock);
        clock.advance_ms(LATEST_MS);
        assert_eq!(forget_all(&shop), 1);
        assert_eq!(shop.order("id"), None);
        assert_eq!(shop.cancel("id"), Ok(Cancelled::Unknown));
        assert_eq!(shop.pay("id"), Err(AdvanceError::UnknownOrder));
        assert_eq!(shop.fulfil("id"), Err(AdvanceError::UnknownOrder));
        assert_eq!(shop.pay_or_reserve_again("id"), Err(PayAgainError::UnknownOrder));
        assert_eq!(shop.extend("id", 5), Err(ExtendError::UnknownOrder));
        assert_eq!(shop.transition("id", State::Paid, State::Fulfilled), Err(TransitionError::UnknownOrder));
        assert_eq!(shop.cancel_lines("id", &[("A", 1)]), Err(CancelLinesError::UnknownOrder));
        assert_eq!(shop.amend("id", &[("A", 1)]), Err(AmendError::UnknownOrder));
        assert_eq!(shop.expire_due(9), [""; 0], "{name}");
        let [received, available, ..] = books(&shop);
        // Other lines: it is another order.
        assert!(shop.reserve("id", &[("A", 1), ("B", 3)]).unwrap().is_new(), "{name}");
        assert!(matches!(shop.reserve("id", &[("A", 2)]), Err(ReserveError::LinesDiffer)), "{name}");
        assert_eq!(books(&shop), [received, available - 1, 1, 0], "{name}");
        let order = shop.order("id").unwrap();
        assert_eq!((order.state, order.version, order.cancelled, order.lines.len()), (RESERVED, 1, None, 2), "{name}");
        is_sound(&shop);
    }
}

#[test]
fn void_marks_a_forgotten_id_and_create_makes_it_anew() {
    let (shop, clock) = shop();
    expired(&shop, &clock);
    clock.advance_ms(LATEST_MS);
    assert_eq!(forget_all(&shop), 1);
    assert_eq!(shop.void("id"), Ok(Cancelled::Unknown));
    assert!(matches!(shop.reserve("id", &[("A", 1)]), Err(ReserveError::Closed { state: State::Cancelled })));
    clock.advance_ms(KEPT_MS);
    assert_eq!(forget_all(&shop), 0);
    clock.advance_ms(LATEST_MS);
    assert_eq!(forget_all(&shop), 1);
    assert!(matches!(shop.create("id", &[("A", 1)]), Ok(stockade::Created::New)));
    assert_eq!(shop.create("id", &[("A", 2)]), Err(CreateError::LinesDiffer));
    is_sound(&shop);
}

/// Told or not, an expired order is forgotten; who asks afterwards is not told of it.
#[test]
fn an_expired_order_that_nobody_was_told_of_is_forgotten() {
    for is_told in [false, true] {
        let (shop, clock) = shop();
        expired(&shop, &clock);
        if is_told {
            assert_eq!(shop.expire_due(9), ["id"]);
        }
        clock.advance_ms(KEPT_MS);
        assert_eq!(forget_all(&shop), 0);
        clock.advance_ms(KEPT_MS);
        assert_eq!(forget_all(&shop), 1);
        assert_eq!(shop.expire_due(9), [""; 0]);
        // The same id again, with a hold that ends: this one is told.
        expired(&shop, &clock);
        assert_eq!(shop.expire_due(9), ["id"]);
        is_sound(&shop);
    }
}

/// Until so many others have ended after it, and then at most a sixteenth of them more.
#[test]
fn orders_are_kept_until_so_many_others_have_ended() {
    for kept in [16, 160, 1_600] {
        let shop = stocked(Stockade::builder().keep_finished(Keep::Newest(kept)).build().unwrap());
        for first in [0, 5, 5 * kept] {
            let end = |n: u64| _ = shop.void(&format!("{first} {n}")).unwrap();
            (0..first).for_each(|n| _ = shop.void(&format!("before {first} {n}")).unwrap());
            end(0);
            let id = format!("{first} 0");
            for others in 1..kept {
                end(others);
                if others % 16 == 0 || others + 1 == kept {
                    forget_all(&shop);
                    assert!(shop.order(&id).is_some(), "{first} of {kept}, after {others}");
                }
            }
            (kept..=kept + kept / 16).for_each(end);
            forget_all(&shop);
            assert_eq!(shop.order(&id), None, "{first} of {kept}");
            let left = shop.orders().count() as u64;
            assert!(left >= kept && left <= kept + kept / 16 + 1, "{left} of {kept}");
        }
    }
}

/// Whatever is said, it is rounded up to a multiple of sixteen.
#[test]
fn little_is_kept_in_sixteenths_too() {
    for (said, rounded) in [(0, 16), (1, 16), (16, 16), (17, 32), (100, 112), (1_000, 1_008)] {
        let clock = Arc::new(ManualClock::default());
        let builder = Stockade::builder().clock(Arc::clone(&clock)).keep_finished(Keep::ForMs(said));
        let shop = stocked(builder.build().unwrap());
        for began_ms in [0, 1, 5, 17] {
            clock.advance_ms(began_ms);
            let ended_ms = clock.now_ms();
            let _ = shop.void("id").unwrap();
            clock.set_ms(ended_ms + rounded);
            assert_eq!(forget_all(&shop), 0, "{said}");
            clock.set_ms(ended_ms + rounded + rounded / 16);
            assert_eq!(forget_all(&shop), 1, "{said}");
        }
    }
    for for_ever in [Keep::ForMs(u64::MAX), Keep::Newest(u64::MAX)] {
        let clock = Arc::new(ManualClock::default());
        let builder = Stockade::builder().clock(Arc::clone(&clock)).keep_finished(for_ever);
        let shop = stocked(builder.build().unwrap());
        let _ = shop.void("id").unwrap();
        clock.set_ms(u64::MAX);
        assert_eq!(forget_all(&shop), 0);
    }
}

#[test]
fn without_a_rule_nothing_is_forgotten() {
    let clock = Arc::new(ManualClock::default());
    let shop = stocked(Stockade::builder().clock(Arc::clone(&clock)).build().unwrap());
    reserve(&shop, "id");
    let _ = shop.cancel("id").unwrap();
    clock.set_ms(u64::MAX / 2);
    assert_eq!((forget_all(&shop), shop.stats().forgotten), (0, 0));
    assert_eq!(shop.cancel("id"), Ok(Cancelled::Already));
}

#[test]
fn a_call_looks_at_a_few_and_the_next_goes_on() {
    let (shop, clock) = shop();
    (0..5_000).for_each(|n| _ = shop.void(&format!("{n}")).unwrap());
    clock.advance_ms(LATEST_MS);
    assert_eq!(shop.forget_finished(0), 0);
    let mut calls = Vec::new();
    while calls.iter().sum::<usize>() < 5_000 {
        calls.push(shop.forget_finished(1));
        assert!(calls.len() < 200, "{calls:?}");
    }
    // No call takes more than a segment of the index at a time.
    assert!(calls.len() > 20 && calls.iter().all(|forgotten| *forgotten <= 256), "{calls:?}");
    assert_eq!((shop.orders().count(), shop.stats().orders.cancelled), (0, 0));
}

#[test]
fn a_limit_on_orders_gets_its_room_back() {
    let clock = Arc::new(ManualClock::default());
    let builder = Stockade::builder().clock(Arc::clone(&clock)).max_orders(10).keep_finished(Keep::ForMs(KEPT_MS));
    let shop = stocked(builder.build().unwrap());
    for round in 0..50 {
        for n in 0..10 {
            assert!(shop.reserve(&format!("{round} {n}"), &[("A", 1)]).unwrap().is_new());
        }
        assert_eq!(shop.reserve("one more", &[("A", 1)]), Err(ReserveError::Full));
        assert_eq!(forget_all(&shop), 0);
        (0..10).for_each(|n| _ = shop.cancel(&format!("{round} {n}")).unwrap());
        assert_eq!(shop.reserve("one more", &[("A", 1)]), Err(ReserveError::Full));
        clock.advance_ms(LATEST_MS);
        assert_eq!(forget_all(&shop), 10);
    }
    assert_eq!(shop.stats().forgotten, 500);
    is_sound(&shop);
}

#[test]
fn a_replayed_guard_keeps_no_other_order_of_its_id() {
    let engine = Stockade::builder().keep_finished(Keep::Newest(16)).build().unwrap();
    engine.add_sku("A", 100).unwrap();
    let first = engine.hold("O", &[("A", 1)]).unwrap();
    let replayed = engine.hold("O", &[("A", 1)]).unwrap();
    drop(first);
    (0..100).for_each(|n| drop(engine.void(&format!("{n}"))));
    while engine.forget_finished(1_000) > 0 {}
    assert!(engine.reserve("O", &[("A", 7)]).unwrap().is_new());
    assert!(replayed.keep().is_err());
}
