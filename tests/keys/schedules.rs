//! Interleavings, arranged step by step, in the build with hooks.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::{Arc, Mutex, OnceLock};

use stockade_hooked::hooks::{Step, with_hook};
use stockade_hooked::{
    AmendError, CancelLinesError, Clock, Keep, KeyedError, MAX_UNITS, ManualClock, Once, RequestKey, RestockError,
    Revised, Stock, Stockade,
};

use crate::stopped::Stopped;

type Shop = Arc<Stockade>;
type Restocked = Result<Once<Stock>, KeyedError<RestockError>>;
type Cancelled = Result<Once<Revised>, KeyedError<CancelLinesError>>;

/// Ten units of A and B, of which an order holds five of B; so many keys are remembered.
fn shop(keys: u64) -> Shop {
    stocked(Stockade::builder().keep_keys(keys).build().unwrap())
}

fn stocked(shop: Stockade) -> Shop {
    shop.add_sku("A", 10).unwrap();
    shop.add_sku("B", 10).unwrap();
    let _ = shop.reserve("order", &[("B", 5)]).unwrap();
    Arc::new(shop)
}

/// Restocks A by five, under a key issued then.
fn restock(shop: &Stockade, issued: u64) -> Restocked {
    shop.keyed(RequestKey { id: "key", issued }).restock("A", 5)
}

/// Cancels one of the order's units of B, under a key issued then.
fn cancel(shop: &Stockade, issued: u64) -> Cancelled {
    shop.keyed(RequestKey { id: "key", issued }).cancel_lines("order", &[("B", 1)])
}

fn stock(shop: &Stockade, sku: &str) -> u64 {
    shop.stock(sku).unwrap().available
}

fn is_sound(shop: &Stockade) {
    let audit = shop.audit();
    assert!(audit.is_sound() && audit.in_motion.is_empty(), "{audit:?}");
}

const FIVE_MORE: Stock = Stock { available: 15, version: 1 };

/// Runs `work`; when it first passes the first step, the first of `then` runs, then that of the next step, and so on.
fn interrupted<R>(then: Vec<(Step, Box<dyn Fn()>)>, work: impl FnOnce() -> R) -> R {
    let (next, busy) = (Cell::new(0), Cell::new(false));
    let hook = move |step| {
        let Some((at, meddle)) = then.get(next.get()) else { return };
        if *at == step && !busy.replace(true) {
            next.set(next.get() + 1);
            meddle();
            busy.set(false);
        }
    };
    with_hook(hook, work)
}

/// Runs `work`, which panics when it passes the step.
fn panics<R>(at: Step, work: impl FnOnce() -> R) {
    let hook = move |step| {
        if step == at {
            resume_unwind(Box::new(()));
        }
    };
    assert!(catch_unwind(AssertUnwindSafe(|| with_hook(hook, work))).is_err(), "it does not pass {at:?}");
}

/// What the key's entry is replaced by in the set is not known yet: who comes now finds the entry, or knows that it is
/// too old.
#[test]
fn a_key_that_is_being_forgotten_is_not_begun_again() {
    let shop = shop(1);
    assert!(restock(&shop, 1).is_ok());
    let forgetting = Stopped::at(Step::KeysTooOld, &shop, |shop| restock(shop, 2));
    let again = restock(&shop, 1);
    assert!(matches!(again, Ok(Once::Replayed(FIVE_MORE)) | Err(KeyedError::TooOld { .. })), "{again:?}");
    assert!(forgetting.wakes().is_ok());
    assert_eq!(stock(&shop, "A"), 20);
}

/// A thread has not found the key, and enters it. Between the two the key came, was carried out and forgotten. So it is
/// in the set again, and whoever finds it there must not carry it out.
#[test]
fn a_key_entered_again_after_it_was_forgotten_is_too_old_for_who_finds_it() {
    let shop = shop(1);
    let found = Rc::new(Cell::new(false));
    let (first, again, seen) = (Arc::clone(&shop), Arc::clone(&shop), Rc::clone(&found));
    let carried_out_and_forgotten = move || assert!(restock(&first, 1).is_ok() && restock(&first, 2).is_ok());
    let comes_again = move || {
        assert_eq!(restock(&again, 1), Err(KeyedError::TooOld { forgotten_to: 1 }));
        seen.set(true);
    };
    let late = interrupted(
        vec![(Step::Drafted, Box::new(carried_out_and_forgotten)), (Step::KeysTooOld, Box::new(comes_again))],
        || restock(&shop, 1),
    );
    assert!(found.get());
    assert_eq!(late, Err(KeyedError::TooOld { forgotten_to: 1 }));
    assert_eq!(stock(&shop, "A"), 20);
    is_sound(&shop);
}

/// The same, and it is the thread that enters the key again which must not.
#[test]
fn who_enters_a_key_again_after_it_was_forgotten_does_not_carry_it_out() {
    let shop = shop(1);
    let others = Arc::clone(&shop);
    let forgotten = move || assert!(cancel(&others, 1).is_ok() && cancel(&others, 2).is_ok());
    let late = interrupted(vec![(Step::Drafted, Box::new(forgotten))], || cancel(&shop, 1));
    assert_eq!(late, Err(KeyedError::TooOld { forgotten_to: 1 }));
    assert_eq!(stock(&shop, "B"), 7);
    is_sound(&shop);
}

/// A request that nobody can find any more, but its own thread: what it left in the row if that thread panicked would
/// be lost.
#[test]
fn a_request_that_was_forgotten_before_it_began_is_not_begun() {
    let shop = shop(1);
    let one = Stopped::at(Step::EditOpened, &shop, |shop| restock(shop, 1));
    assert!(restock(&shop, 2).is_ok());
    assert_eq!(one.wakes(), Err(KeyedError::TooOld { forgotten_to: 1 }));
    assert_eq!(stock(&shop, "A"), 15);
    is_sound(&shop);
}

/// Enters and carries out so many keys, each a little later than the one before.
fn churn(shop: &Stockade, keys: u64) {
    for issued in 10..10 + keys {
        let _ = shop.keyed(RequestKey { id: "other", issued }).restock("B", 1).unwrap();
    }
}

/// A thread has its request in hand when that is forgotten, and thousands come after it: none of them in its record.
#[test]
fn the_record_of_a_request_that_somebody_has_in_hand_is_not_used_again() {
    let shop = shop(1);
    let one = Stopped::at(Step::EditOpened, &shop, |shop| restock(shop, 1));
    churn(&shop, 2_000);
    let one = one.wakes();
    assert!(matches!(one, Err(KeyedError::TooOld { .. })), "{one:?}");
    assert_eq!(stock(&shop, "A"), 10);
    is_sound(&shop);
}

/// Somebody who has no key is about to note the answer of a request that is in his way, for its thread. It is answered
/// and forgotten, and thousands come after it: one of them in its record.
#[test]
fn who_is_late_to_note_an_answer_replaces_none() {
    const KEPT: u64 = 500;
    for _ in 0..4 {
        let shop = shop(KEPT);
        let first = Stopped::at(Step::AllInstalled, &shop, |shop| restock(shop, 1));
        let late = Stopped::at(Step::IntentInstalled, &shop, |shop| shop.restock("A", 1).is_ok());
        assert!(first.wakes().is_ok());
        churn(&shop, 4 * KEPT);
        assert!(late.wakes());
        for n in 3 * KEPT..4 * KEPT {
            let again = shop.keyed(RequestKey { id: "other", issued: 10 + n }).restock("B", 1);
            assert_eq!(again, Ok(Once::Replayed(Stock { available: 6 + n, version: 2 + n })));
        }
        assert_eq!(stock(&shop, "A"), 16);
        is_sound(&shop);
    }
}

/// The same of a request about an order: who cancels that is about to answer it. It is answered and forgotten, and in
/// its record comes one that was refused, which nobody has carried out.
#[test]
fn who_is_late_to_answer_a_request_answers_no_other() {
    const KEPT: u64 = 500;
    for pass in 1..=4 {
        let shop = shop(KEPT);
        let first = Stopped::at(Step::Decided, &shop, |shop| cancel(shop, 1));
        let late = Stopped::at_pass(pass, Step::EditionFound, &shop, |shop| shop.cancel("order").is_ok());
        assert!(first.wakes().is_ok());
        let loss = |n: u64| shop.keyed(RequestKey { id: "loss", issued: 10 + n }).write_off("B", 99);
        for n in 0..4 * KEPT {
            assert!(matches!(loss(n), Err(KeyedError::Refused(_))));
        }
        assert!(late.wakes());
        let _ = shop.restock("B", 99 * KEPT).unwrap();
        for n in 3 * KEPT..4 * KEPT {
            let told = loss(n);
            assert!(matches!(told, Ok(Once::New(_))), "{told:?}");
        }
        assert_eq!(stock(&shop, "B"), 10);
        is_sound(&shop);
    }
}

/// The thread panicked when its request was decided and the row not finished. Then the key is forgotten, and its record
/// used again: what the row carries of it would mean nothing any more.
#[test]
fn a_request_is_finished_before_it_is_forgotten() {
    let shop = shop(1);
    panics(Step::Decided, || restock(&shop, 1));
    churn(&shop, 2_000);
    assert_eq!(stock(&shop, "A"), 15);
    is_sound(&shop);
}

#[test]
fn who_comes_right_after_the_decision_is_given_the_answer() {
    let shop = shop(9);
    let first = Stopped::at(Step::Decided, &shop, |shop| restock(shop, 1));
    assert_eq!(restock(&shop, 1), Ok(Once::Replayed(FIVE_MORE)));
    assert_eq!(first.wakes(), Ok(Once::New(FIVE_MORE)));
}

/// The thread that repeats it carries it out, and the answer is the first one's.
#[test]
fn who_finishes_a_request_for_another_notes_the_answer() {
    let shop = shop(9);
    let first = Stopped::at(Step::RequestBegun, &shop, |shop| restock(shop, 1));
    assert_eq!(restock(&shop, 1), Ok(Once::Replayed(FIVE_MORE)));
    let _ = shop.restock("A", 1).unwrap();
    assert_eq!(restock(&shop, 1), Ok(Once::Replayed(FIVE_MORE)));
    assert_eq!(first.wakes(), Ok(Once::New(FIVE_MORE)));
    assert_eq!(stock(&shop, "A"), 16);
    is_sound(&shop);
}

/// Two threads are about to begin one request, under one tag. Only one does, and only one enters it in the books.
#[test]
fn who_did_not_begin_a_request_enters_nothing_in_the_books() {
    let shop = shop(9);
    let second = Stopped::at(Step::EditOpened, &shop, |shop| restock(shop, 1));
    assert_eq!(restock(&shop, 1), Ok(Once::New(FIVE_MORE)));
    assert_eq!(second.wakes(), Ok(Once::Replayed(FIVE_MORE)));
    assert_eq!(shop.balance("A").unwrap().received, 15);
    is_sound(&shop);
}

/// A panic between beginning and decision: what the row will have received must be in the books.
#[test]
fn a_request_whose_thread_panics_is_in_the_books_if_it_is_carried_out() {
    for at in [Step::RequestBegun, Step::IntentInstalled, Step::AllInstalled, Step::Decided, Step::RowComputed] {
        let shop = shop(9);
        panics(at, || restock(&shop, 1));
        assert_eq!(restock(&shop, 1).unwrap().answer(), FIVE_MORE, "{at:?}");
        assert_eq!(shop.balance("A").unwrap().received, 15, "{at:?}");
        is_sound(&shop);
    }
}

/// The order is changed, and nobody has told the request yet.
#[test]
fn a_change_in_part_that_is_decided_is_not_made_again() {
    let shop = shop(9);
    let first = Stopped::at(Step::Decided, &shop, |shop| cancel(shop, 1));
    let again = cancel(&shop, 1);
    assert!(matches!(again, Ok(Once::Replayed(left)) if left.open == 4), "{again:?}");
    assert!(matches!(first.wakes(), Ok(Once::New(left)) if left.open == 4));
    assert_eq!(stock(&shop, "B"), 6);
    is_sound(&shop);
}

/// The same at every step of it, and then the order is changed again, so that its state does not tell of the first
/// change.
#[test]
fn a_change_in_part_is_made_once_wherever_its_thread_is_stopped() {
    let steps = [Step::RequestEntered, Step::EditionWritten, Step::RevisionAnnounced, Step::RevisionBegun];
    for at in steps.into_iter().chain([Step::AllInstalled, Step::Decided, Step::RowComputed]) {
        let shop = shop(9);
        let first = Stopped::at(at, &shop, |shop| cancel(shop, 1));
        let _ = shop.amend("order", &[("A", 1), ("B", 5)]).unwrap();
        let second = cancel(&shop, 1).unwrap();
        let first = first.wakes().unwrap();
        assert_eq!(first.answer(), second.answer(), "{at:?}");
        assert!(
            matches!((first, second), (Once::New(_), Once::Replayed(_)) | (Once::Replayed(_), Once::New(_))),
            "{at:?}"
        );
        assert_eq!((stock(&shop, "A"), stock(&shop, "B")), (9, 6), "{at:?}");
        is_sound(&shop);
    }
}

/// The row had enough when the thread looked, and not when it took: others have been faster, or the order is cancelled.
#[test]
fn a_change_in_part_that_loses_its_race_is_not_answered() {
    let more = |shop: &Stockade| shop.keyed(RequestKey { id: "more", issued: 1 }).amend("order", &[("A", 9), ("B", 5)]);
    let shop = shop(9);
    let first = Stopped::at(Step::RevisionBegun, &shop, more);
    shop.write_off("A", 2).unwrap();
    for told in [first.wakes(), more(&shop)] {
        assert!(matches!(told, Err(KeyedError::Refused(AmendError::Insufficient { .. }))), "{told:?}");
    }
    shop.restock("A", 1).unwrap();
    assert!(matches!(more(&shop), Ok(Once::New(left)) if left.open == 14));
    is_sound(&shop);

    let shop = stocked(Stockade::new());
    let first = Stopped::at(Step::RevisionAnnounced, &shop, more);
    assert!(shop.cancel("order").is_ok());
    for told in [first.wakes(), more(&shop)] {
        assert!(matches!(told, Err(KeyedError::Refused(AmendError::InvalidState { .. }))), "{told:?}");
    }
    assert_eq!((stock(&shop, "A"), stock(&shop, "B")), (10, 10));
    is_sound(&shop);
}

/// The thread panicked when the order was closed by its request; the order is forgotten before anybody repeats that.
#[test]
fn a_request_is_answered_before_its_order_is_forgotten() {
    let clock = Arc::new(ManualClock::default());
    let builder = Stockade::builder().clock(Arc::clone(&clock)).keep_finished(Keep::ForMs(16));
    let shop = stocked(builder.build().unwrap());
    let all = |shop: &Stockade| shop.keyed(RequestKey { id: "all", issued: 1 }).cancel_lines("order", &[("B", 5)]);
    panics(Step::Decided, || all(&shop));
    clock.advance_ms(20);
    assert_eq!(shop.forget_finished(1_000), 1);
    let _ = shop.reserve("order", &[("B", 5)]).unwrap();
    let again = all(&shop);
    assert!(matches!(again, Ok(Once::Replayed(left)) if left.open == 0), "{again:?}");
    assert_eq!(stock(&shop, "B"), 5);
    is_sound(&shop);
}

/// Two threads are about to forget the same key, so only one has gone when both are done.
#[test]
fn as_many_are_forgotten_as_are_too_many() {
    let shop = shop(2);
    assert!(restock(&shop, 1).is_ok() && restock(&shop, 2).is_ok());
    let one = Stopped::at(Step::KeysTooOld, &shop, |shop| restock(shop, 3));
    assert!(restock(&shop, 4).is_ok());
    assert!(one.wakes().is_ok());
    assert_eq!(restock(&shop, 2), Err(KeyedError::TooOld { forgotten_to: 2 }));
    assert!([3, 4].iter().all(|issued| matches!(restock(&shop, *issued), Ok(Once::Replayed(_)))));
}

/// One thread is about to forget a key that another forgets first; then the same key is entered again, by a thread that
/// had not found it and panics. That entry is not the first thread's to take out.
#[test]
fn who_comes_too_late_to_forget_a_key_takes_out_no_other_of_that_name() {
    let shop = shop(2);
    let (first, wakes) = (Arc::clone(&shop), Rc::new(Cell::new(None)));
    let stopped = Rc::clone(&wakes);
    let twice_forgotten = move || {
        assert!(restock(&first, 1).is_ok() && restock(&first, 2).is_ok());
        stopped.set(Some(Stopped::at(Step::KeysTooOld, &first, |shop| restock(shop, 3))));
        assert!(restock(&first, 4).is_ok());
    };
    let panic = || resume_unwind(Box::new(()));
    let late = || {
        interrupted(vec![(Step::Drafted, Box::new(twice_forgotten)), (Step::KeysTooOld, Box::new(panic))], || {
            restock(&shop, 1)
        })
    };
    assert!(catch_unwind(AssertUnwindSafe(late)).is_err());
    assert!(wakes.take().unwrap().wakes().is_ok());
    assert!(restock(&shop, 5).is_ok() && restock(&shop, 6).is_ok());
    assert!([5, 6].iter().all(|issued| matches!(restock(&shop, *issued), Ok(Once::Replayed(_)))), "one too few");
}

/// A clock at whose first reading from now on the key's request is carried out by somebody else.
#[derive(Default)]
struct Interrupted {
    shop: OnceLock<Shop>,
    is_armed: Mutex<bool>,
}

impl Clock for Interrupted {
    fn now_ms(&self) -> u64 {
        if std::mem::take(&mut *self.is_armed.lock().unwrap()) {
            assert!(matches!(write_off_all(self.shop.get().unwrap()), Ok(Once::New(_))));
        }
        0
    }
}

fn write_off_all(shop: &Stockade) -> Result<Once<Stock>, KeyedError<stockade_hooked::WriteOffError>> {
    shop.keyed(RequestKey { id: "loss", issued: 1 }).write_off("A", 10)
}

/// The request is looked at and not carried out; then somebody else carries it out; then the row is looked at, and is
/// short.
#[test]
fn a_repeat_is_not_refused_for_what_its_own_request_took() {
    let clock = Arc::new(Interrupted::default());
    let shop = stocked(Stockade::builder().clock(Arc::clone(&clock)).build().unwrap());
    assert!(clock.shop.set(Arc::clone(&shop)).is_ok());
    // Without a hold nobody reads the clock.
    assert!(shop.reserve_for("held", &[("B", 1)], 5).is_ok());
    *clock.is_armed.lock().unwrap() = true;
    let again = write_off_all(&shop);
    assert_eq!(again, Ok(Once::Replayed(Stock { available: 0, version: 1 })));
    is_sound(&shop);
}

/// There was room when the second looked; the first has taken it by now, for this very request.
#[test]
fn nobody_is_refused_for_room_that_the_request_itself_has_taken() {
    let shop = Arc::new(Stockade::new());
    shop.add_sku("A", MAX_UNITS - 5).unwrap();
    let second = Stopped::at(Step::ShortageSeen, &shop, |shop| restock(shop, 1));
    let carried_out = Stock { available: MAX_UNITS, version: 1 };
    assert_eq!(restock(&shop, 1), Ok(Once::New(carried_out)));
    assert_eq!(second.wakes(), Ok(Once::Replayed(carried_out)));
    is_sound(&shop);
}
