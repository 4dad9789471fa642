//! Interleavings of orders that change in part which would go wrong if one line of the engine were another
//! (`tests/slips`), arranged step by step.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "support/stopped.rs"]
mod stopped;

use std::cell::Cell;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use stockade_hooked::hooks::{Step, with_hook};
use stockade_hooked::{
    Advanced, AmendError, CancelLinesError, CancelReason, ExtendError, Extended, ManualClock, PaidLate, PayAgainError,
    Reserved, Revised, State, Stockade,
};
use stopped::Stopped;

type Shop = Arc<Stockade>;

/// What a thread answers that has nobody to wait for.
fn in_time<R: Send + 'static>(shop: &Shop, work: impl FnOnce(&Stockade) -> R + Send + 'static) -> R {
    let (done, is_done) = channel();
    let shop = Arc::clone(shop);
    std::thread::spawn(move || done.send(work(&shop)));
    is_done.recv_timeout(Duration::from_secs(5)).expect("it goes round in circles")
}

/// Ten units of A and one of B.
fn shop() -> (Shop, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::default());
    let shop = Stockade::builder().clock(Arc::clone(&clock)).build().unwrap();
    shop.add_sku("A", 10).unwrap();
    shop.add_sku("B", 1).unwrap();
    (Arc::new(shop), clock)
}

/// The order "one" has four units of A.
fn shop_with_one() -> Shop {
    let (shop, _) = shop();
    let _ = shop.reserve("one", &[("A", 4)]).unwrap();
    shop
}

/// The same, paid for.
fn shop_with_one_paid() -> Shop {
    let shop = shop_with_one();
    let _ = shop.pay("one").unwrap();
    shop
}

/// Two units of A are held until 5 by the order "held".
fn shop_with_a_hold() -> (Shop, Arc<ManualClock>) {
    let (shop, clock) = shop();
    let _ = shop.reserve_for("held", &[("A", 2)], 5).unwrap();
    (shop, clock)
}

/// The same; the hold has expired.
fn shop_with_an_expired_hold() -> Shop {
    let (shop, clock) = shop_with_a_hold();
    clock.set_ms(5);
    assert_eq!(shop.expire_due(9), ["held"]);
    shop
}

fn cancel_a(shop: &Stockade, id: &str) -> Result<Revised, CancelLinesError> {
    shop.cancel_lines(id, &[("A", 1)])
}

/// What is left open by a change that was made.
fn open<E: std::fmt::Debug>(revised: Result<Revised, E>) -> u64 {
    revised.unwrap().open
}

fn available(shop: &Stockade, sku: &str) -> u64 {
    shop.stock(sku).unwrap().available
}

/// Units of the order that are still to come, over all lines.
fn open_in(shop: &Stockade, id: &str) -> u32 {
    shop.order(id).unwrap().lines.iter().map(|line| line.open).sum()
}

fn books_balance(shop: &Stockade) {
    let audit = shop.audit();
    assert!(audit.is_sound() && audit.in_motion.is_empty(), "{audit:?}");
}

fn gets_b(shop: &Stockade, id: &str) -> bool {
    shop.reserve(id, &[("B", 1)]).is_ok_and(Reserved::is_new)
}

/// The one who has announced a change is stopped. Somebody else goes through with it first, and only then changes the
/// order himself; the first learns that his change has been made, and does not make it again.
#[test]
fn a_change_that_others_went_through_with_is_made_once() {
    for others in 1..=3 {
        let shop = shop_with_one();
        let first = Stopped::at(Step::RevisionAnnounced, &shop, |shop| cancel_a(shop, "one"));
        for n in 1..=others {
            assert_eq!(open(in_time(&shop, |shop| cancel_a(shop, "one"))), 3 - n.min(3));
        }
        assert_eq!(open(first.wakes()), 3);
        assert_eq!((available(&shop, "A"), open_in(&shop, "one")), (6 + 1 + others, 3 - others as u32));
        books_balance(&shop);
    }
}

/// The same where the others only go through with it: pay, or cancel what it leaves.
#[test]
fn a_change_that_others_have_begun_is_made_once() {
    let shop = shop_with_one();
    let first = Stopped::at(Step::RevisionBegun, &shop, |shop| cancel_a(shop, "one"));
    let _ = shop.pay("one").unwrap();
    assert_eq!(open(first.wakes()), 3);
    assert_eq!((available(&shop, "A"), open_in(&shop, "one")), (7, 3));

    let first = Stopped::at(Step::RevisionBegun, &shop, |shop| cancel_a(shop, "one"));
    assert_eq!(shop.cancel("one").unwrap().units(), 2);
    assert_eq!(open(first.wakes()), 2);
    assert_eq!(available(&shop, "A"), 10);
}

/// One who goes through with another's change is stopped when it has begun: its writer ends it.
#[test]
fn a_writer_does_not_wait_for_who_began_his_change() {
    let shop = shop_with_one();
    let writer = Stopped::at(Step::RevisionAnnounced, &shop, |shop| cancel_a(shop, "one"));
    let other = Stopped::at(Step::RevisionBegun, &shop, |shop| cancel_a(shop, "one"));
    assert_eq!(open(in_time(&shop, |_| writer.wakes())), 3);
    assert_eq!(open(other.wakes()), 2);
    assert_eq!(available(&shop, "A"), 8);
}

/// A thread has read the order's lines and sleeps through three changes: the place in which it was to announce its own
/// is that of the edition which the order now has.
#[test]
fn who_slept_through_three_changes_does_not_overwrite_the_lines() {
    let shop = shop_with_one();
    let late = Stopped::at(Step::EditionRead, &shop, |shop| cancel_a(shop, "one"));
    for left in [3, 2, 1] {
        assert_eq!(open(cancel_a(&shop, "one")), left);
    }
    let revised = late.wakes().unwrap();
    assert_eq!((revised.open, revised.closed), (0, Some(State::Cancelled)));
    assert_eq!(available(&shop, "A"), 10);
    books_balance(&shop);
}

/// The order is paid for between the announcement of a change and its beginning: the tag stays, the state does not.
#[test]
fn an_order_may_be_paid_for_before_an_announced_change_begins() {
    let shop = shop_with_one();
    let change = Stopped::at(Step::RevisionAnnounced, &shop, |shop| cancel_a(shop, "one"));
    let _ = shop.pay("one").unwrap();
    assert_eq!(open(change.wakes()), 3);
    assert_eq!((available(&shop, "A"), shop.order("one").unwrap().state), (7, State::Paid));
    books_balance(&shop);
}

/// The same with fulfil: the change comes too late, now and later.
#[test]
fn an_announced_change_does_not_begin_once_the_order_is_fulfilled() {
    let shop = shop_with_one_paid();
    let change = Stopped::at(Step::RevisionAnnounced, &shop, |shop| cancel_a(shop, "one"));
    let _ = shop.fulfil("one").unwrap();
    assert_eq!(change.wakes(), Err(CancelLinesError::InvalidState { actual: State::Fulfilled }));
    assert_eq!(shop.order("one").unwrap().state, State::Fulfilled);
    assert_eq!(available(&shop, "A"), 6);
}

/// A cancel takes the tag for which a change was announced.
#[test]
fn an_announced_change_does_not_begin_under_a_cancel() {
    for step in [Step::ReleaseBegun, Step::Decided] {
        let shop = shop_with_one();
        let change = Stopped::at(Step::RevisionAnnounced, &shop, |shop| cancel_a(shop, "one"));
        let cancel = Stopped::at(step, &shop, |shop| shop.cancel("one").unwrap().units());
        let change = in_time(&shop, |_| change.wakes());
        assert_eq!(change, Err(CancelLinesError::InvalidState { actual: State::Cancelled }));
        assert_eq!((cancel.wakes(), available(&shop, "A")), (4, 10));
        books_balance(&shop);
    }
}

/// Two have written an edition each, for one tag: the first announced is the one.
#[test]
fn of_two_changes_under_one_tag_the_first_announced_comes_first() {
    let (shop, _) = shop();
    let _ = shop.reserve("one", &[("A", 4), ("B", 1)]).unwrap();
    let late = Stopped::at(Step::EditionWritten, &shop, |shop| cancel_a(shop, "one"));
    let first = Stopped::at(Step::RevisionAnnounced, &shop, |shop| shop.cancel_lines("one", &[("B", 1)]));
    assert_eq!(open(late.wakes()), 3);
    assert_eq!(open(first.wakes()), 4);
    assert_eq!((available(&shop, "A"), available(&shop, "B")), (7, 1));
    books_balance(&shop);
}

/// The reserve is decided, its row not finished: what it took must be gone from the row before the change begins, under
/// whose tag the reserve's intent means nothing. Also where somebody else begins what was announced.
#[test]
fn a_change_begins_after_what_was_taken_has_left_the_row() {
    for announced in [false, true] {
        let (shop, _) = shop();
        let reserve = Stopped::at(Step::Decided, &shop, |shop| shop.reserve("one", &[("A", 4)]).is_ok());
        let first = announced.then(|| Stopped::at(Step::RevisionAnnounced, &shop, |shop| cancel_a(shop, "one")));
        let left = open(cancel_a(&shop, "one"));
        assert_eq!(available(&shop, "A"), 10 - left);
        assert!(first.is_none_or(|first| first.wakes().is_ok()) && reserve.wakes());
        books_balance(&shop);
    }
}

/// The change before is decided, its row not finished.
#[test]
fn a_change_begins_after_the_one_before_has_left_the_row() {
    let shop = shop_with_one();
    let before = Stopped::at(Step::Decided, &shop, |shop| cancel_a(shop, "one"));
    assert_eq!(open(cancel_a(&shop, "one")), 2);
    assert_eq!(available(&shop, "A"), 8);
    assert_eq!(open(before.wakes()), 3);
    books_balance(&shop);
}

/// A row that had enough when the change looked, and not when it froze it.
#[test]
fn a_change_that_loses_its_race_takes_nothing() {
    let shop = shop_with_one();
    let raise = Stopped::at(Step::RevisionAnnounced, &shop, |shop| shop.amend("one", &[("A", 6)]));
    shop.write_off("A", 6).unwrap();
    // Somebody else refuses it, and changes the order after that.
    assert_eq!(open(cancel_a(&shop, "one")), 3);
    assert!(matches!(raise.wakes(), Err(AmendError::Insufficient { .. })));
    assert_eq!((available(&shop, "A"), open_in(&shop, "one")), (1, 3));
    books_balance(&shop);
}

/// The same where nobody changes the order after it.
#[test]
fn a_change_that_others_have_refused_is_not_made() {
    let shop = shop_with_one();
    let raise = Stopped::at(Step::RevisionBegun, &shop, |shop| shop.amend("one", &[("A", 6)]));
    shop.write_off("A", 5).unwrap();
    let _ = shop.pay("one").unwrap();
    assert!(matches!(raise.wakes(), Err(AmendError::Insufficient { .. })));
    assert_eq!((available(&shop, "A"), open_in(&shop, "one")), (1, 4));
}

/// Two bring an order to one size; the second finds the row short by what the first took for the same order.
#[test]
fn nobody_is_refused_what_the_order_itself_has_taken() {
    let shop = shop_with_one();
    let repeated = Stopped::at(Step::EditionRead, &shop, |shop| shop.amend("one", &[("A", 10)]));
    assert_eq!(open(shop.amend("one", &[("A", 10)])), 10);
    assert_eq!(open(repeated.wakes()), 10);
    assert_eq!(available(&shop, "A"), 0);
}

/// The change touches no row: nothing but the order itself says that it is undecided.
#[test]
fn a_change_without_a_row_is_gone_through_with() {
    let shop = shop_with_one_paid();
    let first = Stopped::at(Step::RevisionBegun, &shop, |shop| shop.fulfil_lines("one", &[("A", 1)]));
    assert_eq!(open(in_time(&shop, |shop| shop.fulfil_lines("one", &[("A", 1)]))), 2);
    assert_eq!(open(first.wakes()), 3);
    books_balance(&shop);
}

/// A reader has found the order's edition. Three changes later the memory it read from is that of another edition.
#[test]
fn a_reader_shows_no_lines_of_another_edition() {
    let shop = shop_with_one();
    assert_eq!(open(cancel_a(&shop, "one")), 3);
    let reader = Stopped::at(Step::EditionFound, &shop, |shop| shop.order("one").unwrap());
    assert_eq!(open(cancel_a(&shop, "one")), 2);
    assert_eq!(open(shop.amend("one", &[("A", 5)])), 3);
    assert_eq!(open(shop.amend("one", &[("A", 7)])), 5);
    let (order, version) = (reader.wakes(), shop.order("one").unwrap().version);
    assert_eq!((order.version, order.lines[0].open), (version, 5));
}

/// What is announced and not decided is nobody's yet.
#[test]
fn a_change_that_is_announced_does_not_show() {
    let shop = shop_with_one();
    for left in [3, 2] {
        let change = Stopped::at(Step::RevisionAnnounced, &shop, |shop| cancel_a(shop, "one"));
        assert_eq!(open_in(&shop, "one"), left + 1);
        assert_eq!(open(change.wakes()), u64::from(left));
    }
}

/// An order has given back what it has open, not what it was made with.
#[test]
fn a_decided_cancel_shows_in_the_row_what_was_open() {
    let shop = shop_with_one();
    assert_eq!(open(shop.amend("one", &[("A", 6)])), 6);
    let cancel = Stopped::at(Step::Decided, &shop, |shop| shop.cancel("one").unwrap().units());
    assert_eq!(available(&shop, "A"), 10);
    assert_eq!(cancel.wakes(), 6);
}

/// A cancel of an order that is fulfilled in part ends in FULFILLED, and gives back.
#[test]
fn the_rest_of_an_order_goes_back_though_it_ends_fulfilled() {
    let shop = shop_with_one_paid();
    assert_eq!(open(shop.fulfil_lines("one", &[("A", 1)])), 3);
    let cancel = Stopped::at(Step::Decided, &shop, |shop| shop.cancel("one").unwrap().units());
    assert_eq!(available(&shop, "A"), 9);
    assert_eq!(cancel.wakes(), 3);
    let line = shop.order("one").unwrap().lines[0];
    assert_eq!((line.open, line.fulfilled, line.cancelled), (0, 1, 3));
    books_balance(&shop);
}

/// The last change was of one row; a cancel gives back all of them.
#[test]
fn a_cancel_gives_back_also_what_the_last_change_left_alone() {
    let (shop, _) = shop();
    let _ = shop.reserve("one", &[("A", 4), ("B", 1)]).unwrap();
    assert_eq!(open(cancel_a(&shop, "one")), 4);
    assert_eq!(shop.cancel("one").unwrap().units(), 4);
    assert_eq!((available(&shop, "A"), available(&shop, "B")), (10, 1));
    books_balance(&shop);
}

/// What is dropped from an order is none of its lines any more.
#[test]
fn a_dropped_line_does_not_show() {
    let (shop, _) = shop();
    let _ = shop.reserve("one", &[("A", 4), ("B", 1)]).unwrap();
    assert_eq!(open(shop.amend("one", &[("A", 4)])), 4);
    assert_eq!(shop.order("one").unwrap().lines.len(), 1);
}

/// The payment took an expired order's units again, by the help of others, and was not told yet when the order was
/// changed.
#[test]
fn who_paid_late_is_told_so_though_the_order_has_been_changed() {
    for changes in 1..=2 {
        let shop = shop_with_an_expired_hold();
        let payment = Stopped::at(Step::RetryBegun, &shop, |shop| shop.pay_or_reserve_again("held"));
        assert_eq!(open(shop.amend("held", &[("A", 3)])), 3);
        (1..changes).for_each(|_| assert!(cancel_a(&shop, "held").is_ok()));
        let payment = payment.wakes();
        assert!(matches!(payment, Ok(PaidLate::Again { .. })), "{payment:?}");
        books_balance(&shop);
    }
}

/// The same, and the change comes when the payment is about to learn what was decided.
#[test]
fn who_paid_late_is_told_so_though_the_order_is_being_changed() {
    let shop = shop_with_an_expired_hold();
    let (others, helped, changed) = (Arc::clone(&shop), Cell::new(false), Cell::new(false));
    let hook = move |at| {
        if at == Step::RetryBegun && !helped.replace(true) {
            assert!(matches!(others.pay("held"), Ok(Advanced::Already { .. })));
        } else if at == Step::DecisionSeen && !changed.replace(true) {
            assert_eq!(open(cancel_a(&others, "held")), 1);
        }
    };
    let payment = with_hook(hook, || shop.pay_or_reserve_again("held"));
    assert!(matches!(payment, Ok(PaidLate::Again { .. })), "{payment:?}");
}

/// Of two late payments one has taken the units; the other was refused before that, by others, and learns so.
#[test]
fn who_was_refused_is_not_told_of_another_ones_late_payment() {
    let shop = shop_with_an_expired_hold();
    let refused = Stopped::at(Step::RetryBegun, &shop, |shop| shop.pay_or_reserve_again("held"));
    shop.write_off("A", 9).unwrap();
    assert!(matches!(shop.pay_or_reserve_again("held"), Err(PayAgainError::Insufficient { .. })));
    shop.restock("A", 9).unwrap();
    assert!(matches!(shop.pay_or_reserve_again("held"), Ok(PaidLate::Again { .. })));
    assert_eq!(open(cancel_a(&shop, "held")), 1);
    assert_eq!(refused.wakes(), Ok(PaidLate::Already { state: State::Paid }));
}

/// The reserve of an order that has expired since, been paid for late, and then been changed: it took the stock all the
/// same.
#[test]
fn who_reserved_is_told_so_whatever_became_of_the_order() {
    let (shop, clock) = shop();
    let reserve = Stopped::at(Step::Published, &shop, |shop| shop.reserve_for("held", &[("A", 2)], 5));
    assert!(matches!(shop.extend("held", 5), Ok(Extended { .. })));
    clock.set_ms(5);
    assert!(matches!(shop.pay_or_reserve_again("held"), Ok(PaidLate::Again { .. })));
    assert_eq!(open(cancel_a(&shop, "held")), 1);
    let reserve = reserve.wakes();
    assert!(matches!(reserve, Ok(Reserved::New(_))), "{reserve:?}");
}

/// A change that leaves nothing cancels the order, also one that had expired before it was paid for.
#[test]
fn what_is_cancelled_line_by_line_has_not_expired() {
    let shop = shop_with_an_expired_hold();
    assert!(matches!(shop.pay_or_reserve_again("held"), Ok(PaidLate::Again { .. })));
    assert_eq!(shop.cancel_lines("held", &[("A", 2)]).unwrap().closed, Some(State::Cancelled));
    assert_eq!(shop.order("held").unwrap().cancelled, Some(CancelReason::Cancelled));
    assert!(shop.pay_or_reserve_again("held").is_err());
}

/// The row that a change adds to a hold: once the hold is dead, its units are free.
#[test]
fn a_dead_hold_is_found_in_a_row_that_a_change_has_added() {
    for stopped in [None, Some(Step::Decided)] {
        let (shop, clock) = shop_with_a_hold();
        let add = |shop: &Stockade| shop.amend("held", &[("A", 1), ("B", 1)]);
        let change = stopped.map(|step| Stopped::at(step, &shop, add));
        assert!(change.is_some() || add(&shop).is_ok());
        clock.set_ms(5);
        assert!(gets_b(&shop, "buyer"));
        assert!(change.is_none_or(|change| change.wakes().is_ok()));
        books_balance(&shop);
    }
}

/// The extension has read which rows the hold is in, and a change adds one more before the deadline is moved: there it
/// is entered with the old end, and must be found by the new one.
#[test]
fn a_dead_hold_is_found_in_a_row_that_was_added_while_it_was_extended() {
    let (shop, clock) = shop_with_a_hold();
    clock.set_ms(4);
    let extension = Stopped::at(Step::ExtensionEntered, &shop, |shop| shop.extend("held", 10));
    assert_eq!(open(shop.amend("held", &[("A", 2), ("B", 1)])), 3);
    assert!(extension.wakes().is_ok_and(|extended| extended.deadline_ms == 14));
    clock.set_ms(5);
    assert!(!gets_b(&shop, "too early"));
    assert_eq!(shop.expire_due(9), [""; 0]);
    clock.set_ms(14);
    assert!(gets_b(&shop, "buyer"));
    assert_eq!(shop.expire_due(9), ["held"]);
}

/// A hold that is dead does not show because somebody is changing it.
#[test]
fn a_dead_hold_does_not_show_while_somebody_changes_it() {
    let (shop, clock) = shop_with_a_hold();
    let change = Stopped::at(Step::RevisionBegun, &shop, |shop| shop.amend("held", &[("A", 1)]));
    clock.set_ms(5);
    assert_eq!(shop.order("held").unwrap().state, State::Cancelled);
    assert_eq!(open(change.wakes()), 1);
    assert_eq!(shop.extend("held", 5), Err(ExtendError::Expired));
    assert_eq!(available(&shop, "A"), 10);
}

/// A clerk has found the edition of a decided change. When he reads it, its memory is that of a later one, which takes
/// far more than the row had then.
#[test]
fn nobody_reckons_with_the_lines_of_another_edition() {
    let shop = shop_with_one();
    let change = Stopped::at(Step::Decided, &shop, |shop| shop.amend("one", &[("A", 6)]));
    let clerk = Stopped::at(Step::EditionFound, &shop, |shop| shop.restock("A", 1).unwrap().available);
    assert_eq!(open(change.wakes()), 6);
    shop.restock("A", 1_000).unwrap();
    assert_eq!(open(cancel_a(&shop, "one")), 5);
    assert_eq!(open(cancel_a(&shop, "one")), 4);
    assert_eq!(open(shop.amend("one", &[("A", 902)])), 900);
    assert_eq!(clerk.wakes(), 111);
    books_balance(&shop);
}

/// An extension has found the order's edition. When it reads which rows the hold is in, the memory is that of an order
/// with a long id: anything may stand there.
#[test]
fn whatever_stands_in_memory_that_is_used_again_nobody_stumbles_over_it() {
    let (shop, _) = shop_with_a_hold();
    assert_eq!(open(cancel_a(&shop, "held")), 1);
    let extension = Stopped::at(Step::EditionFound, &shop, |shop| shop.extend("held", 10));
    let _ = shop.amend("held", &[("A", 3)]).unwrap();
    let _ = shop.amend("held", &[("A", 4)]).unwrap();
    for letter in "abcd".chars() {
        let _ = shop.create(&letter.to_string().repeat(32), &[("A", 1)]).unwrap();
    }
    assert_eq!(extension.wakes().unwrap().deadline_ms, 10);
    books_balance(&shop);
}

/// A helper is about to note in an edition what was decided, when its memory is an order that has just taken its units.
#[test]
fn a_verdict_is_not_noted_in_memory_that_is_used_again() {
    let shop = shop_with_one();
    let change = Stopped::at(Step::Decided, &shop, |shop| cancel_a(shop, "one"));
    // It looks up what is open, and finishes the change before it cancels, for which it looks the edition up twice.
    let helper = Stopped::at_pass(3, Step::EditionFound, &shop, |shop| shop.cancel("one").is_ok());
    assert_eq!(open(change.wakes()), 3);
    assert_eq!(open(cancel_a(&shop, "one")), 2);
    assert_eq!(open(cancel_a(&shop, "one")), 1);
    let two = Stopped::at(Step::Decided, &shop, |shop| shop.reserve("two", &[("A", 5)]).is_ok());
    assert!(helper.wakes());
    assert_eq!(available(&shop, "A"), 5);
    assert!(shop.cancel("two").is_ok() && two.wakes());
    assert_eq!(available(&shop, "A"), 10);
    books_balance(&shop);
}
