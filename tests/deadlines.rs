//! Interleavings of holds that end by themselves which would go wrong if one line of the engine were another
//! (`tests/slips`), arranged step by step. What happens without deadlines is in `interleavings.rs`.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "support/stopped.rs"]
mod stopped;

use std::sync::{Arc, Mutex, OnceLock};

use stockade_hooked::hooks::Step;
use stockade_hooked::{Clock, ExtendError, ManualClock, PaidLate, PayAgainError, ReserveError, State, Stockade};
use stopped::Stopped;

type Shop = Arc<Stockade>;

fn shop(units: u64) -> (Shop, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::default());
    (shop_by(Arc::clone(&clock), units), clock)
}

fn shop_by(clock: impl Clock + 'static, units: u64) -> Shop {
    let shop = Stockade::builder().clock(clock).build().unwrap();
    shop.add_sku("A", units).unwrap();
    Arc::new(shop)
}

/// A unit of A that is held until 5.
fn held_until_5(shop: &Shop) {
    assert!(shop.reserve_for("held", &[("A", 1)], 5).unwrap().is_new());
}

fn gets_a(shop: &Stockade, id: &str) -> bool {
    shop.reserve(id, &[("A", 1)]).is_ok_and(|reserved| reserved.is_new())
}

/// A shop whose only unit is held by an order that is dead since 5; it is 5.
fn shop_of_a_dead_hold() -> (Shop, Arc<ManualClock>) {
    let (shop, clock) = shop(1);
    held_until_5(&shop);
    clock.set_ms(5);
    (shop, clock)
}

/// The entry is still in the set when the second caller comes.
#[test]
fn who_ended_is_told_once_while_the_first_caller_is_stopped() {
    let (shop, _) = shop_of_a_dead_hold();
    let first = Stopped::at(Step::HolderTold, &shop, |shop| shop.expire_due(9));
    assert_eq!(shop.expire_due(9), [""; 0]);
    assert_eq!(first.wakes(), ["held"]);
}

/// The extension read the clock in time; the sweeper has seen the old deadline before it is moved, and releases after.
#[test]
fn what_has_been_extended_does_not_expire_by_the_deadline_before() {
    let (shop, clock) = shop(1);
    held_until_5(&shop);
    clock.set_ms(4);
    let extension = Stopped::at(Step::ExtensionEntered, &shop, |shop| shop.extend("held", 10));
    clock.set_ms(5);
    let sweeper = Stopped::at(Step::TransitionComputed, &shop, |shop| shop.expire_due(9));
    assert_eq!(extension.wakes(), Err(ExtendError::Expired));
    assert_eq!(sweeper.wakes(), ["held"]);
}

/// The hold is decided, and dead before its thread goes on.
#[test]
fn a_hold_is_found_dead_whose_thread_is_stopped_right_after_the_decision() {
    let (shop, clock) = shop(1);
    let held = Stopped::at(Step::Decided, &shop, |shop| shop.reserve_for("held", &[("A", 1)], 5).is_ok());
    clock.set_ms(5);
    assert!(gets_a(&shop, "buyer"));
    assert!(held.wakes());
    assert_eq!(shop.stock("A").unwrap().available, 0);
}

/// A clock at which something happens right after the n-th reading.
#[derive(Default)]
struct Interrupted {
    clock: ManualClock,
    shop: OnceLock<Shop>,
    after: Mutex<u32>,
}

impl Interrupted {
    /// Whether this reading is the one.
    fn is_due(&self) -> bool {
        let mut after = self.after.lock().unwrap();
        *after = after.wrapping_sub(1);
        *after == 0
    }
}

impl Clock for Interrupted {
    fn now_ms(&self) -> u64 {
        let now_ms = self.clock.now_ms();
        if self.is_due() {
            self.clock.set_ms(5);
            assert!(gets_a(self.shop.get().unwrap(), "in between"));
        }
        now_ms
    }
}

/// Of four units two are held until 5. A buyer of two has read the clock, whenever he does that, and only then it is 5
/// and somebody else takes one: from then on three are free less that one, and before that two were free.
#[test]
fn nobody_is_refused_by_a_reading_of_the_clock_before_the_row() {
    for n in 1..=3 {
        for ttl_ms in [None, Some(100)] {
            let clock = Arc::new(Interrupted::default());
            let shop = shop_by(Arc::clone(&clock), 4);
            assert!(clock.shop.set(Arc::clone(&shop)).is_ok());
            assert!(shop.reserve_for("held", &[("A", 2)], 5).is_ok());
            *clock.after.lock().unwrap() = n;
            let buyer = match ttl_ms {
                None => shop.reserve("buyer", &[("A", 2)]),
                Some(ttl_ms) => shop.reserve_for("buyer", &[("A", 2)], ttl_ms),
            };
            assert!(buyer.is_ok(), "{buyer:?} after reading {n}, to live {ttl_ms:?}");
        }
    }
}

/// Somebody has read the row, and is about to read the clock. The dead hold that he has seen is let go of meanwhile,
/// and one of its units taken.
#[test]
fn a_dead_hold_does_not_show_that_another_has_let_go_of() {
    let clock = Arc::new(Interrupted::default());
    let shop = shop_by(Arc::clone(&clock), 2);
    assert!(clock.shop.set(Arc::clone(&shop)).is_ok());
    assert!(shop.reserve_for("held", &[("A", 2)], 5).is_ok());
    clock.clock.set_ms(5);
    *clock.after.lock().unwrap() = 1;
    assert_eq!(shop.stock("A").unwrap().available, 1);
}

/// A buyer has found the row short. Before he looks for dead holds, somebody else lets go of the only one.
#[test]
fn nobody_is_refused_for_a_dead_hold_that_another_has_let_go_of() {
    let (shop, _) = shop_of_a_dead_hold();
    let buyer = Stopped::at(Step::ShortRowSeen, &shop, |shop| gets_a(shop, "buyer"));
    assert_eq!(shop.expire_due(9), ["held"]);
    assert!(buyer.wakes());
}

/// The payment read the clock in time. The sweeper has marked the deadline, and comes too late to release the order.
#[test]
fn who_has_paid_in_the_same_moment_is_not_told_to_have_expired() {
    let (shop, clock) = shop(1);
    held_until_5(&shop);
    let payment = Stopped::at(Step::TransitionComputed, &shop, |shop| shop.pay("held").is_ok());
    clock.set_ms(5);
    let sweeper = Stopped::at(Step::DeadlineMarked, &shop, |shop| shop.expire_due(9));
    assert!(payment.wakes());
    assert_eq!(sweeper.wakes(), [""; 0]);
    assert_eq!((shop.order("held").unwrap().state, shop.stats().expired), (State::Paid, 0));
}

/// The cancel took the very tag that the attempt was to have: what is installed under it gives back what never was
/// taken.
#[test]
fn an_attempt_that_a_cancel_came_before_touches_no_row() {
    let (shop, _) = shop(1);
    let _ = shop.create("one", &[("A", 1)]).unwrap();
    let attempt = Stopped::at(Step::AttemptAnnounced, &shop, |shop| shop.reserve_for("one", &[("A", 1)], 5));
    assert!(shop.cancel("one").is_ok());
    let attempt = attempt.wakes();
    assert_eq!(shop.stock("A").unwrap().available, 1);
    assert_eq!(attempt, Err(ReserveError::Closed { state: State::Cancelled }));
    assert!(shop.audit().is_sound());
}

/// Whoever lets go of the dead hold is stopped before the order is released; another buyer must find it too.
#[test]
fn a_dead_hold_is_found_that_a_stopped_thread_is_about_to_let_go_of() {
    let (shop, _) = shop_of_a_dead_hold();
    let stopped = Stopped::at(Step::DeadlineMarked, &shop, |shop| gets_a(shop, "stopped"));
    assert!(gets_a(&shop, "buyer"));
    assert!(!stopped.wakes());
}

/// The same one step further: the release has begun and gives nothing back yet.
#[test]
fn a_release_of_a_dead_hold_is_finished_by_who_needs_its_units() {
    let (shop, _) = shop_of_a_dead_hold();
    let stopped = Stopped::at(Step::ReleaseBegun, &shop, |shop| gets_a(shop, "stopped"));
    assert!(gets_a(&shop, "buyer"));
    assert!(!stopped.wakes());
}

/// The release is decided, its row not finished: under the tag of the revival its intent would mean nothing any more.
#[test]
fn a_late_payment_takes_again_only_what_has_been_given_back() {
    let (shop, _) = shop_of_a_dead_hold();
    let release = Stopped::at(Step::Decided, &shop, |shop| shop.expire_due(9));
    assert!(matches!(shop.pay_or_reserve_again("held"), Ok(PaidLate::Again { .. })));
    assert_eq!(shop.stock("A").unwrap().available, 0);
    let _ = release.wakes();
    assert!(shop.audit().is_sound());
}

/// The row had enough when the payment looked, and not when it took.
#[test]
fn a_late_payment_that_loses_its_race_gives_nothing_back() {
    let (shop, _) = shop_of_a_dead_hold();
    assert_eq!(shop.expire_due(9), ["held"]);
    let payment = Stopped::at(Step::TransitionComputed, &shop, |shop| shop.pay_or_reserve_again("held"));
    shop.write_off("A", 1).unwrap();
    let payment = payment.wakes();
    assert!(matches!(payment, Err(PayAgainError::Insufficient { .. })), "{payment:?}");
    assert_eq!(shop.stock("A").unwrap().available, 0);
    assert!(shop.audit().is_sound());
}

/// An order that is being given back shows as it was before, but not as a hold that outlives its deadline.
#[test]
fn a_dead_hold_does_not_show_while_somebody_releases_it() {
    let (shop, _) = shop_of_a_dead_hold();
    let sweeper = Stopped::at(Step::ReleaseBegun, &shop, |shop| shop.expire_due(9));
    assert_eq!(shop.order("held").unwrap().state, State::Cancelled);
    assert_eq!(sweeper.wakes(), ["held"]);
}

/// The new deadline is in the set, and is not the hold's yet.
#[test]
fn a_hold_dies_by_its_old_deadline_as_long_as_that_has_not_moved() {
    let (shop, clock) = shop(1);
    held_until_5(&shop);
    clock.set_ms(4);
    let extension = Stopped::at(Step::ExtensionEntered, &shop, |shop| shop.extend("held", 10));
    clock.set_ms(5);
    assert!(gets_a(&shop, "buyer"));
    assert_eq!(extension.wakes(), Err(ExtendError::Expired));
}

/// Two calls are about to reserve one CREATED order: it is reserved as the first has announced, and the first has done
/// it.
#[test]
fn of_two_attempts_under_one_tag_the_first_announced_counts() {
    let (shop, _) = shop(1);
    let _ = shop.create("one", &[("A", 1)]).unwrap();
    let first = Stopped::at(Step::AttemptAnnounced, &shop, |shop| shop.reserve_for("one", &[("A", 1)], 5));
    let second = shop.reserve_for("one", &[("A", 1)], 9).unwrap();
    assert_eq!((first.wakes().unwrap().is_new(), second.is_new()), (true, false));
    assert_eq!(shop.order("one").unwrap().deadline_ms, Some(5));
}
