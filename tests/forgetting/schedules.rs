//! Interleavings, arranged step by step, in the build with hooks.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, OnceLock};

use stockade_hooked::hooks::{Step, with_hook};
use stockade_hooked::{Cancelled, Clock, Keep, ManualClock, PaidLate, ReserveError, Reserved, State, Stockade};

use crate::resident::{alone, resident_kib};
use crate::stopped::Stopped;
use crate::{KEPT_MS, LATEST_MS};

type Shop = Arc<Stockade>;

fn shop_by(clock: impl Clock + 'static, keep: Keep) -> Shop {
    let shop = Stockade::builder().clock(clock).keep_finished(keep).build().unwrap();
    shop.add_sku("A", 100).unwrap();
    shop.add_sku("B", 1_000_000).unwrap();
    Arc::new(shop)
}

fn shop() -> (Shop, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::default());
    (shop_by(Arc::clone(&clock), Keep::ForMs(KEPT_MS)), clock)
}

fn is_sound(shop: &Stockade) {
    let audit = shop.audit();
    assert!(audit.is_sound() && audit.in_motion.is_empty(), "{audit:?}");
}

fn number(taken: Result<Reserved, ReserveError>) -> u64 {
    let (Reserved::New(it) | Reserved::Replayed(it)) = taken.unwrap();
    it.number
}

/// So many orders come, end and are forgotten, or as many as it takes until one is `enough`: then this one stays. The
/// highest number of a record among them.
fn churn(shop: &Stockade, clock: &ManualClock, orders: usize, enough: impl Fn(u64) -> bool) -> u64 {
    let mut highest = 0;
    for n in 0..orders {
        let id = format!("{} {n}", clock.now_ms());
        let this = number(shop.reserve(&id, &[("B", 3)]));
        highest = highest.max(this);
        if enough(this) {
            break;
        }
        let _ = shop.cancel(&id).unwrap();
        if n % 50 == 49 {
            clock.advance_ms(LATEST_MS);
            shop.forget_finished(usize::MAX);
        }
    }
    highest
}

type Meddle = Box<dyn FnOnce(&Shop, &ManualClock) + Send>;

/// A clock at whose next reading something happens.
#[derive(Default)]
struct Interrupted {
    clock: ManualClock,
    shop: OnceLock<Shop>,
    then: Mutex<Option<Meddle>>,
}

impl Clock for Interrupted {
    fn now_ms(&self) -> u64 {
        let now_ms = self.clock.now_ms();
        let then = self.then.lock().unwrap().take();
        if let Some(then) = then {
            then(self.shop.get().unwrap(), &self.clock);
        }
        now_ms
    }
}

/// A thread has found an order and is about to compare its lines. Meanwhile the order is cancelled and forgotten, and
/// thousands come after it: none of them in its record, as long as the thread may look at that.
#[test]
fn a_record_that_somebody_has_in_hand_is_not_used_again() {
    let clock = Arc::new(Interrupted::default());
    let shop = shop_by(Arc::clone(&clock), Keep::ForMs(KEPT_MS));
    assert!(clock.shop.set(Arc::clone(&shop)).is_ok());
    let line = [("A", 1)];
    let mine = number(shop.reserve_for("order", &line, 1_000_000));
    *clock.then.lock().unwrap() = Some(Box::new(move |shop, clock| {
        let _ = shop.cancel("order").unwrap();
        clock.advance_ms(LATEST_MS);
        assert_eq!(shop.forget_finished(usize::MAX), 1);
        churn(shop, clock, 3_000, |number| number == mine);
    }));
    let again = shop.reserve_for("order", &line, 1_000_000);
    assert!(matches!(again, Ok(Reserved::Replayed(_))), "{again:?}");
    assert!(clock.then.lock().unwrap().is_none());
    assert_eq!(shop.order("order"), None);
    is_sound(&shop);
}

/// A thread inside a verb delays that memory is used again, and nothing else. What waits for it is not much more than
/// the orders themselves.
#[test]
fn a_thread_that_is_stopped_inside_a_verb_delays_nothing_but_reuse() {
    const ORDERS: usize = 20_000;
    let _alone = alone();
    let (shop, clock) = shop();
    let _ = shop.reserve("order", &[("A", 1)]).unwrap();
    let stopped = Stopped::at(Step::OrderSeen, &shop, |shop| shop.pay("order").is_ok());
    let before = resident_kib();
    let meanwhile = churn(&shop, &clock, ORDERS, |_| false);
    assert!(meanwhile > ORDERS as u64, "{meanwhile} records for {ORDERS} orders: some have been used again");
    if let (Some(before), Some(after)) = (before, resident_kib()) {
        let each = after.saturating_sub(before) * 1024 / ORDERS as u64;
        assert!(each < 800, "{each} bytes wait for each order");
    }
    assert_eq!(shop.stats().forgotten, ORDERS as u64);
    is_sound(&shop);
    assert!(stopped.wakes());
    let afterwards = churn(&shop, &clock, ORDERS, |_| false);
    assert!(afterwards < meanwhile + ORDERS as u64 / 4, "{meanwhile}, then {afterwards}: little has been used again");
    assert_eq!(shop.order("order").unwrap().state, State::Paid);
    is_sound(&shop);
}

/// The payment comes between the last look at the expired order and its end.
#[test]
fn an_order_that_is_paid_for_in_the_same_moment_is_not_forgotten() {
    let (shop, clock) = shop();
    let _ = shop.reserve_for("order", &[("A", 1)], 1).unwrap();
    clock.advance_ms(1);
    assert_eq!(shop.expire_due(9), ["order"]);
    clock.advance_ms(LATEST_MS);
    let sweeper = Stopped::at(Step::ForgetBegun, &shop, |shop| shop.forget_finished(9));
    assert!(matches!(shop.pay_or_reserve_again("order"), Ok(PaidLate::Again { .. })));
    assert_eq!(sweeper.wakes(), 0);
    assert_eq!(shop.order("order").unwrap().state, State::Paid);
    assert_eq!((shop.stock("A").unwrap().available, shop.stats().forgotten), (99, 0));
    is_sound(&shop);
}

/// Two sweepers, one order.
#[test]
fn an_order_is_forgotten_once() {
    let (shop, clock) = shop();
    let _ = shop.reserve("order", &[("A", 1)]).unwrap();
    assert!(shop.pay("order").is_ok() && shop.fulfil("order").is_ok());
    clock.advance_ms(LATEST_MS);
    let one = Stopped::at(Step::ForgetBegun, &shop, |shop| shop.forget_finished(9));
    assert_eq!(shop.forget_finished(9), 1);
    assert_eq!(one.wakes(), 0);
    assert_eq!((shop.stats().forgotten, shop.balance("A").unwrap().received), (1, 99));
    is_sound(&shop);
}

/// The thread panicked when its cancel was decided and the row not finished. Then the order is forgotten, and its
/// record used again: what the row carries of it would mean nothing any more.
#[test]
fn an_order_is_finished_before_it_is_forgotten() {
    let (shop, clock) = shop();
    let mine = number(shop.reserve("order", &[("A", 5)]));
    let hook = |step| {
        if step == Step::Decided {
            resume_unwind(Box::new(()));
        }
    };
    assert!(catch_unwind(AssertUnwindSafe(|| with_hook(hook, || shop.cancel("order")))).is_err());
    clock.advance_ms(LATEST_MS);
    assert_eq!(shop.forget_finished(9), 1);
    churn(&shop, &clock, 3_000, |number| number == mine);
    assert_eq!(shop.stock("A").unwrap().available, 100);
    is_sound(&shop);
}

/// A sweeper is stopped, or panics, before and after the instant at which the order is gone.
#[test]
fn books_are_sound_while_somebody_forgets() {
    for at in [Step::ForgetBegun, Step::Forgotten] {
        let shipped = || {
            let (shop, clock) = shop();
            let _ = shop.reserve("order", &[("A", 5), ("B", 7)]).unwrap();
            assert!(shop.pay("order").is_ok() && shop.fulfil("order").is_ok());
            clock.advance_ms(LATEST_MS);
            shop
        };
        let shop = shipped();
        let sweeper = Stopped::at(at, &shop, |shop| shop.forget_finished(9));
        let audit = shop.audit();
        assert!(audit.is_sound() && audit.in_motion.len() == 2, "{at:?}: {audit:?}");
        assert!(
            shop.restock("A", 3).is_ok()
                && shop.reserve("order", &[("A", 1)]).is_ok_and(Reserved::is_new) == (at == Step::Forgotten)
        );
        assert_eq!(sweeper.wakes(), 1);
        is_sound(&shop);

        let shop = shipped();
        let hook = move |step| {
            if step == at {
                resume_unwind(Box::new(()));
            }
        };
        assert!(catch_unwind(AssertUnwindSafe(|| with_hook(hook, || shop.forget_finished(9)))).is_err());
        is_sound(&shop);
        assert_eq!(shop.forget_finished(9), usize::from(at == Step::ForgetBegun));
        let [a, b] = ["A", "B"].map(|sku| shop.balance(sku).unwrap());
        assert_eq!((a.received, b.received, a.shipped + b.shipped), (95, 999_993, 0), "{at:?}");
        is_sound(&shop);
    }
}

/// Of two threads that cancel or fulfil one order, both may come as far as the last exchange. One order has ended.
#[test]
fn who_is_late_to_end_an_order_has_ended_none() {
    let shop = shop_by(ManualClock::default(), Keep::Newest(16));
    let _ = shop.void("first").unwrap();
    for n in 0..12 {
        let (id, other) = (format!("{n}"), format!("{n}"));
        let _ = shop.reserve(&id, &[("A", 1)]).unwrap();
        if n % 2 == 0 {
            let late = Stopped::at(Step::AllInstalled, &shop, move |shop| shop.cancel(&other));
            assert!(shop.cancel(&id).is_ok());
            assert!(matches!(late.wakes(), Ok(Cancelled::Released { .. } | Cancelled::Already)));
        } else {
            let _ = shop.pay(&id).unwrap();
            let late = Stopped::at(Step::TransitionComputed, &shop, move |shop| shop.fulfil(&other));
            assert!(shop.fulfil(&id).is_ok() && late.wakes().is_ok());
        }
        assert_eq!(shop.forget_finished(usize::MAX), 0, "after {n} others");
    }
    assert!(shop.order("first").is_some());
    is_sound(&shop);
}

/// Whoever paid late loses his race for the stock: the order has ended as it had before, and not once more.
#[test]
fn a_late_payment_that_loses_its_race_has_ended_none() {
    let clock = Arc::new(ManualClock::default());
    let shop = shop_by(Arc::clone(&clock), Keep::Newest(16));
    let _ = shop.reserve_for("late", &[("A", 100)], 1).unwrap();
    clock.advance_ms(1);
    assert_eq!(shop.expire_due(9), ["late"]);
    for n in 1..=20 {
        let payment = Stopped::at(Step::TransitionComputed, &shop, |shop| shop.pay_or_reserve_again("late"));
        shop.write_off("A", 1).unwrap();
        assert!(payment.wakes().is_err());
        shop.restock("A", 1).unwrap();
        assert_eq!(shop.forget_finished(usize::MAX), 0, "after {n} payments");
    }
    is_sound(&shop);
}

/// The thread is stopped for longer than the mark is to be kept, before anybody can find it.
#[test]
fn a_mark_is_as_old_as_it_is_there() {
    let (shop, clock) = shop();
    let void = Stopped::at(Step::Drafted, &shop, |shop| shop.void("order"));
    clock.advance_ms(2 * KEPT_MS);
    assert_eq!(void.wakes(), Ok(Cancelled::Unknown));
    assert_eq!(shop.forget_finished(usize::MAX), 0);
    assert!(matches!(shop.reserve("order", &[("A", 1)]), Err(ReserveError::Closed { .. })));
    clock.advance_ms(LATEST_MS);
    assert_eq!(shop.forget_finished(usize::MAX), 1);
}
