//! Interleavings that once went wrong, or would if one line of the engine were another (`tests/slips`), arranged step
//! by step.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "support/stopped.rs"]
mod stopped;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use stockade_hooked::hooks::{Step, with_hook};
use stockade_hooked::{Cancelled, ReserveError, Reserved, State, Stockade};
use stopped::Stopped;

/// What a thread answers that has nobody to wait for.
fn in_time<R: Send + 'static>(shop: &Arc<Stockade>, work: impl FnOnce(&Stockade) -> R + Send + 'static) -> R {
    let (done, is_done) = channel();
    let shop = Arc::clone(shop);
    std::thread::spawn(move || done.send(work(&shop)));
    is_done.recv_timeout(Duration::from_secs(5)).expect("it goes round in circles")
}

fn shop(units: u64) -> Arc<Stockade> {
    let shop = Stockade::new();
    shop.add_sku("A", units).unwrap();
    shop.add_sku("B", 1).unwrap();
    Arc::new(shop)
}

/// A cancel has begun to give back and is stopped. The hold's drop saw that its own operation was over, and
/// returned while the units were still gone: the next buyer was refused.
#[test]
fn a_dropped_hold_finishes_a_release_that_another_has_begun() {
    let shop = shop(1);
    let hold = shop.hold("one", &[("A", 1)]).unwrap();
    let cancel = Stopped::at(Step::ReleaseBegun, &shop, |shop| shop.cancel("one"));
    drop(hold);
    assert_eq!(shop.stock("A").unwrap().available, 1);
    assert_eq!(shop.order("one").unwrap().state, State::Cancelled);
    assert!(shop.reserve("two", &[("A", 1)]).unwrap().is_new());
    assert!(matches!(cancel.wakes(), Ok(Cancelled::Released { .. })));
    assert_eq!(shop.stock("A").unwrap().available, 0);
}

/// The same, and another order that is not decided is in the way of the release.
#[test]
fn a_dropped_hold_finishes_a_release_and_what_is_in_its_way() {
    let shop = shop(2);
    let hold = shop.hold("one", &[("A", 1)]).unwrap();
    let other = Stopped::at(Step::AllInstalled, &shop, |shop| shop.reserve("two", &[("A", 1)]).is_ok());
    let cancel = Stopped::at(Step::ReleaseBegun, &shop, |shop| shop.cancel("one").is_ok());
    drop(hold);
    assert_eq!(shop.stock("A").unwrap().available, 1);
    assert_eq!(shop.order("one").unwrap().state, State::Cancelled);
    assert!(other.wakes() && cancel.wakes());
}

/// A reader has found the attempt of "one" and is stopped. The attempt is refused, the index grows and recycles its
/// record, another order gets it: and the reader showed that one under the name of "one".
#[test]
fn an_order_is_never_shown_under_another_id() {
    let shop = shop(1);
    let reserve = Stopped::at(Step::Published, &shop, |shop| shop.reserve("one", &[("A", 1)]).is_err());
    let reader = Stopped::at(Step::OrderSeen, &shop, |shop| shop.order("one"));
    shop.write_off("A", 1).unwrap();
    assert!(reserve.wakes());
    for i in 0..3_000 {
        let _ = shop.create(&format!("more-{i}"), &[("B", 1)]).unwrap();
    }
    assert_eq!(reader.wakes(), None);
}

/// Each refused attempt of one id leaves a dead entry at the same place of the index. The index took the crowd for a
/// lack of room and divided, which cannot part them, until it was as deep as it can be: that id was told `Full` for
/// ever.
#[test]
fn an_id_may_lose_any_number_of_races() {
    let shop = shop(1);
    for _ in 0..3_000 {
        let meddler = Arc::clone(&shop);
        let taken = Cell::new(false);
        let hook = move |at| {
            if at == Step::Drafted && !taken.replace(true) {
                meddler.write_off("A", 1).unwrap();
            }
        };
        let lost = with_hook(hook, || shop.reserve("one", &[("A", 1)]));
        assert!(matches!(lost, Err(ReserveError::Insufficient { .. })), "{lost:?}");
        shop.restock("A", 1).unwrap();
    }
    assert!(shop.reserve("one", &[("A", 1)]).unwrap().is_new());
}

/// A helper that has read the row before the order's state sees afterwards that the order is decided. The other way
/// round it would announce an operation that is over, in a row that carries its effect already.
#[test]
fn a_late_helper_takes_nothing_a_second_time() {
    let shop = shop(2);
    let reserve = Stopped::at(Step::Published, &shop, |shop| shop.reserve("one", &[("A", 1)]).is_ok());
    let helper = Stopped::at(Step::RowLoaded, &shop, |shop| shop.pay("one").is_ok());
    assert!(reserve.wakes() && helper.wakes());
    assert_eq!(shop.stock("A").unwrap().available, 1);
    assert!(shop.audit().is_sound());
}

/// A helper comes late to an attempt that was refused, when the order has been cancelled: what it announces is the
/// attempt's and gives nothing back.
#[test]
fn a_cancel_out_of_created_gives_nothing_back() {
    let shop = shop(1);
    let (refused, helper) = refused_under_a_helper(&shop, Step::RowSeen);
    assert!(refused);
    assert!(matches!(shop.cancel("one"), Ok(Cancelled::Released { .. })));
    helper.wakes();
    assert_eq!(shop.stock("A").unwrap().available, 1);
    assert!(shop.audit().is_sound());
}

/// A helper has frozen the first row for an attempt that was then refused, and goes on during the next attempt. It must
/// not decide that one by what it saw of the one before: the first row has been sold out meanwhile.
#[test]
fn an_attempt_is_not_decided_by_a_helper_of_the_one_before() {
    let shop = shop(1);
    let (refused, helper) = refused_under_a_helper(&shop, Step::IntentInstalled);
    assert!(refused);
    shop.restock("B", 1).unwrap();
    let again = Stopped::at(Step::RetryBegun, &shop, |shop| shop.reserve("one", &[("A", 1), ("B", 1)]));
    shop.write_off("A", 1).unwrap();
    helper.wakes();
    let again = again.wakes();
    assert!(matches!(again, Err(ReserveError::Insufficient { .. })), "{again:?}");
    assert!(shop.audit().is_sound());
}

/// An attempt to reserve the CREATED order "one", refused because B is gone, and a helper of it that was stopped at a
/// step of the first row.
fn refused_under_a_helper(shop: &Arc<Stockade>, step: Step) -> (bool, Stopped<()>) {
    let _ = shop.create("one", &[("A", 1), ("B", 1)]).unwrap();
    let attempt = Stopped::at(Step::RetryBegun, shop, |shop| shop.reserve("one", &[("A", 1), ("B", 1)]).is_err());
    shop.write_off("B", 1).unwrap();
    let helper = Stopped::at(step, shop, |shop| drop(shop.pay("one")));
    (attempt.wakes(), helper)
}

/// A was short until it was given back, and only then B was taken: there was no instant at which both were short.
#[test]
fn a_refusal_names_what_was_short_at_one_instant() {
    let shop = shop(1);
    let _ = shop.reserve("has-a", &[("A", 1)]).unwrap();
    let takes_b = Stopped::at(Step::AllInstalled, &shop, |shop| shop.reserve("has-b", &[("B", 1)]).is_ok());
    let both = Stopped::at(Step::RowRead, &shop, |shop| shop.reserve("both", &[("A", 1), ("B", 1)]));
    assert_eq!(shop.cancel("has-a").unwrap().units(), 1);
    assert!(takes_b.wakes());
    assert_eq!(short(both.wakes()), r#""B" wanted 1, available 0"#);
}

/// The same, but before the second look both rows move once more, so that there is enough: that all of them have moved
/// proves nothing.
#[test]
fn rows_that_have_all_moved_are_no_reason_to_refuse() {
    let shop = shop(1);
    let _ = shop.reserve("has-a", &[("A", 1)]).unwrap();
    let takes_b = Stopped::at(Step::AllInstalled, &shop, |shop| shop.reserve("has-b", &[("B", 1)]).is_ok());
    let (others, takes_b) = (Arc::clone(&shop), Cell::new(Some(takes_b)));
    let hook = move |at| {
        if at == Step::RowRead {
            assert_eq!(others.cancel("has-a").unwrap().units(), 1);
            assert!(takes_b.take().is_some_and(Stopped::wakes));
        } else if at == Step::ShortRowSeen {
            others.restock("B", 1).unwrap();
        }
    };
    assert!(with_hook(hook, || shop.reserve("both", &[("A", 1), ("B", 1)])).unwrap().is_new());
}

/// Both rows had enough when they were looked at, and neither when they were frozen.
#[test]
fn a_refusal_in_a_race_names_every_short_line() {
    let shop = shop(1);
    let both = Stopped::at(Step::Drafted, &shop, |shop| shop.reserve("both", &[("A", 1), ("B", 1)]));
    shop.write_off("A", 1).unwrap();
    shop.write_off("B", 1).unwrap();
    assert_eq!(short(both.wakes()), r#""A" wanted 1, available 0, "B" wanted 1, available 0"#);
}

/// A reserve of the one B that finds it when it looks, and not when it takes.
fn loses_a_race(shop: &Arc<Stockade>, id: &str) {
    let meddler = Arc::clone(shop);
    let write_off = move |at| {
        if at == Step::Drafted {
            meddler.write_off("B", 1).unwrap();
        }
    };
    assert_eq!(short(with_hook(write_off, || shop.reserve(id, &[("B", 1)]))), r#""B" wanted 1, available 0"#);
    shop.restock("B", 1).unwrap();
}

fn create(shop: &Stockade, id: &str) {
    let _ = shop.create(id, &[("B", 1)]).unwrap();
}

fn short(answer: Result<Reserved, ReserveError>) -> String {
    match answer {
        Err(ReserveError::Insufficient { short }) => short.to_string(),
        other => panic!("{other:?}"),
    }
}

/// The units are back the moment the cancel is decided; the row still carries its intent and says 0.
#[test]
fn nobody_is_refused_what_a_decided_cancel_gives_back() {
    let shop = shop(1);
    let _ = shop.reserve("one", &[("A", 1)]).unwrap();
    let cancel = Stopped::at(Step::Decided, &shop, |shop| shop.cancel("one").is_ok());
    assert!(shop.reserve("two", &[("A", 1)]).unwrap().is_new());
    assert!(cancel.wakes());
    assert_eq!(shop.stock("A").unwrap().available, 0);
}

/// Each order holds the row that the other wants next, if they take their rows as the callers named them.
#[test]
fn orders_that_cross_do_not_help_each_other_for_ever() {
    let shop = shop(1);
    let one = Stopped::at(Step::IntentInstalled, &shop, |shop| shop.reserve("one", &[("A", 1), ("B", 1)]).is_ok());
    assert!(in_time(&shop, |shop| shop.reserve("other", &[("B", 1), ("A", 1)]).is_err()));
    assert!(one.wakes());
}

/// Two calls with one id, and the second sees the row when the first has taken the last unit.
#[test]
fn a_repeated_reserve_is_not_refused_for_what_its_own_id_took() {
    let shop = shop(2);
    let other = Stopped::at(Step::AllInstalled, &shop, |shop| shop.reserve("other", &[("A", 1)]).is_ok());
    let repeated = Stopped::at(Step::RowRead, &shop, |shop| shop.reserve("one", &[("A", 1)]));
    assert!(other.wakes());
    assert!(shop.reserve("one", &[("A", 1)]).unwrap().is_new());
    let repeated = repeated.wakes();
    assert!(matches!(repeated, Ok(Reserved::Replayed(_))), "{repeated:?}");
}

/// The same for an order that was CREATED when both calls found it.
#[test]
fn a_repeated_reserve_of_a_created_order_is_not_refused_for_what_the_order_took() {
    let shop = shop(1);
    let _ = shop.create("one", &[("A", 1)]).unwrap();
    let repeated = Stopped::at(Step::OrderSeen, &shop, |shop| shop.reserve("one", &[("A", 1)]));
    assert!(shop.reserve("one", &[("A", 1)]).unwrap().is_new());
    let repeated = repeated.wakes();
    assert!(matches!(repeated, Ok(Reserved::Replayed(_))), "{repeated:?}");
}

/// The unit is promised when the reader comes, but the row does not say so yet. By the time the reader looks at the
/// order, a release has begun: the intent it saw means nothing any more, and the unit is not back.
#[test]
fn a_reader_does_not_take_a_finished_intent_for_one_without_effect() {
    let shop = shop(1);
    let reserve = Stopped::at(Step::Decided, &shop, |shop| shop.reserve("one", &[("A", 1)]).is_ok());
    let reader = Stopped::at(Step::RowRead, &shop, |shop| shop.stock("A").unwrap().available);
    let cancel = Stopped::at(Step::ReleaseBegun, &shop, |shop| shop.cancel("one").is_ok());
    assert_eq!(reader.wakes(), 0);
    assert!(reserve.wakes() && cancel.wakes());
}

/// A thread has seen a free record and the one below it. Both are taken, the first comes back: the list looks as it
/// did, and the second is not free.
#[test]
fn a_record_in_use_is_not_taken_for_free() {
    let shop = shop(1);
    // An id this long takes several records, and they come back when another call is the first to enter it.
    let long = "long".repeat(50);
    let late = Stopped::at(Step::Drafted, &shop, {
        let long = long.clone();
        move |shop| create(shop, &long)
    });
    create(&shop, &long);
    late.wakes();

    let stopped = Stopped::at(Step::FreeSlotSeen, &shop, move |shop| create(shop, "stopped"));
    let first = Stopped::at(Step::Drafted, &shop, move |shop| create(shop, "twice"));
    create(&shop, "second");
    create(&shop, "twice");
    first.wakes();
    stopped.wakes();
    create(&shop, "last");
    for id in [&*long, "stopped", "second", "twice", "last"] {
        assert!(shop.order(id).is_some_and(|order| order.id == id), "{id}");
    }
}

/// The reserve is decided, its row not finished: what it took must be gone from the row before a release begins, under
/// whose tag the reserve's intent means nothing.
#[test]
fn a_cancel_gives_back_only_what_has_been_taken() {
    let shop = shop(1);
    let reserve = Stopped::at(Step::Decided, &shop, |shop| shop.reserve("one", &[("A", 1)]).is_ok());
    assert_eq!(shop.cancel("one").unwrap().units(), 1);
    assert_eq!(shop.stock("A").unwrap().available, 1);
    assert!(reserve.wakes());
    assert!(shop.audit().is_sound());
}

/// Another call of the same shard is faster to take a run of fresh records: what the slower one took beside its own
/// comes back, and its own does not.
#[test]
fn a_run_of_records_that_lost_its_race_is_given_back_but_for_the_first() {
    let shop = shop(1);
    let faster = Arc::clone(&shop);
    let taken = Cell::new(false);
    let hook = move |at| {
        if at == Step::RunClaimed && !taken.replace(true) {
            create(&faster, "faster");
        }
    };
    with_hook(hook, || create(&shop, "slower"));
    let ids: Vec<String> = (0..60).map(|i| format!("more-{i}")).collect();
    ids.iter().for_each(|id| create(&shop, id));
    for id in ids.iter().map(String::as_str).chain(["faster", "slower"]) {
        assert!(shop.order(id).is_some_and(|order| order.id == id), "{id}");
    }
}

/// A late helper has announced an attempt that was refused, whose record is another order's by now, in a row that this
/// one does not have: nobody can finish it by its order, whoever meets it takes it away.
#[test]
fn an_intent_whose_record_is_used_again_is_in_nobodys_way() {
    let shop = shop(1);
    let lines = [("A", 1), ("B", 1)];
    let reserve = Stopped::at(Step::Published, &shop, move |shop| shop.reserve("one", &lines).is_err());
    let helper = Stopped::at(Step::RowSeen, &shop, |shop| shop.pay("one").is_err());
    shop.write_off("B", 1).unwrap();
    assert!(reserve.wakes());
    (0..3_000).for_each(|i| create(&shop, &format!("more-{i}")));
    assert!(helper.wakes());
    assert_eq!(in_time(&shop, |shop| shop.stock("A").unwrap().available), 1);
    assert!(in_time(&shop, |shop| shop.reserve("two", &[("A", 1)]).is_ok()));
    assert!(shop.audit().is_sound());
}

/// Somebody else decides what this call has begun, and goes on with the order: the call that took the stock is told so,
/// and it alone.
#[test]
fn who_did_not_decide_is_told_what_was_decided() {
    type Others = fn(&Arc<Stockade>) -> Option<Stopped<bool>>;
    let goes_on: [Others; 6] = [
        |shop| shop.reserve("one", &[("A", 1)]).map(|_| None).unwrap(),
        |shop| shop.pay("one").map(|_| None).unwrap(),
        |shop| shop.pay("one").and_then(|_| shop.fulfil("one")).map(|_| None).unwrap(),
        |shop| shop.cancel("one").map(|_| None).unwrap(),
        |shop| Some(Stopped::at(Step::ReleaseBegun, shop, |shop| shop.cancel("one").is_ok())),
        |shop| {
            let _ = shop.pay("one").unwrap();
            Some(Stopped::at(Step::ReleaseBegun, shop, |shop| shop.cancel("one").is_ok()))
        },
    ];
    for (n, others) in goes_on.into_iter().enumerate() {
        for begun in [Step::Published, Step::RetryBegun] {
            let shop = shop(1);
            if begun == Step::RetryBegun {
                let _ = shop.create("one", &[("A", 1)]).unwrap();
            }
            let reserve = Stopped::at(begun, &shop, |shop| shop.reserve("one", &[("A", 1)]));
            let stopped = others(&shop);
            assert!(reserve.wakes().unwrap().is_new(), "{n}");
            assert!(stopped.is_none_or(Stopped::wakes));
        }
    }
}

/// Somebody else refuses what this call has begun, and the order goes on without it: the call has taken nothing.
#[test]
fn who_did_not_decide_is_not_told_another_ones_success() {
    let refused = |others: fn(&Stockade)| {
        let shop = shop(1);
        let _ = shop.create("one", &[("A", 1)]).unwrap();
        let reserve = Stopped::at(Step::RetryBegun, &shop, |shop| shop.reserve("one", &[("A", 1)]));
        shop.write_off("A", 1).unwrap();
        assert!(shop.pay("one").is_err());
        others(&shop);
        reserve.wakes()
    };
    assert!(matches!(refused(|_| ()), Err(ReserveError::Insufficient { .. })));
    assert!(matches!(refused(|shop| assert!(shop.cancel("one").is_ok())), Err(ReserveError::Closed { .. })));
    let taken_by_another = refused(|shop| {
        shop.restock("A", 1).unwrap();
        assert!(shop.reserve("one", &[("A", 1)]).unwrap().is_new());
    });
    assert!(matches!(taken_by_another, Ok(Reserved::Replayed(_))));
}

/// Others have refused what this call has begun, and it is about to learn that when another call reserves the order.
#[test]
fn who_was_refused_is_not_told_of_a_success_after_that() {
    let shop = shop(1);
    let _ = shop.create("one", &[("A", 1)]).unwrap();
    let (others, refused, reserved) = (Arc::clone(&shop), Cell::new(false), Cell::new(false));
    let hook = move |at| {
        if at == Step::RetryBegun && !refused.replace(true) {
            others.write_off("A", 1).unwrap();
            assert!(others.pay("one").is_err());
            others.restock("A", 1).unwrap();
        } else if at == Step::DecisionSeen && !reserved.replace(true) {
            assert!(others.reserve("one", &[("A", 1)]).unwrap().is_new());
        }
    };
    let told = with_hook(hook, || shop.reserve("one", &[("A", 1)]));
    assert!(matches!(told, Ok(Reserved::Replayed(_))), "{told:?}");
}

/// An edit has entered one of books and row and not the other.
#[test]
fn an_audit_is_not_alarmed_by_an_edit_under_way() {
    for step in [Step::EditOpened, Step::RowEdited] {
        let shop = shop(1);
        let restock = Stopped::at(step, &shop, |shop| shop.restock("A", 1).is_ok());
        let audit = shop.audit();
        assert!(audit.is_sound(), "{audit:?}");
        assert_eq!(audit.in_motion, ["A".into()]);
        assert!(restock.wakes());
        assert!(shop.audit().in_motion.is_empty());
    }
}

/// A segment of the index is sealed and its successor not made: what is not in it is nowhere.
#[test]
fn a_find_does_not_wait_for_a_segment_to_be_divided() {
    let shop = shop(1);
    let fill = |shop: &Stockade| (0..600).for_each(|i| create(shop, &format!("more-{i}")));
    let divides = Stopped::at(Step::SegmentSealed, &shop, fill);
    assert!(in_time(&shop, |shop| shop.order("nobody").is_none()));
    divides.wakes();
}

/// The row is frozen for an order that nobody decides: the clerk decides it first.
#[test]
fn an_edit_finishes_the_order_in_its_way() {
    let shop = shop(1);
    let reserve = Stopped::at(Step::AllInstalled, &shop, |shop| shop.reserve("one", &[("A", 1)]).is_ok());
    assert_eq!(in_time(&shop, |shop| shop.restock("A", 4).unwrap().available), 4);
    assert!(reserve.wakes());
}

/// Between the two looks A goes and comes back, and B is about to: what is available is the same, the version is not.
/// The two were never short together, so this is no refusal by look, and B is not even looked at again.
#[test]
fn as_many_units_as_before_are_not_the_row_as_it_was() {
    let shop = shop(1);
    let _ = shop.reserve("has-a", &[("A", 1)]).unwrap();
    let takes_b = Stopped::at(Step::AllInstalled, &shop, |shop| shop.reserve("has-b", &[("B", 1)]).is_ok());
    let (others, takes_b) = (Arc::clone(&shop), RefCell::new(vec![takes_b]));
    let reads_of_b = Rc::new(Cell::new(0));
    let seen = Rc::clone(&reads_of_b);
    let hook = move |at| match at {
        Step::RowRead => {
            seen.set(seen.get() + 1);
            assert_eq!(others.cancel(if seen.get() == 1 { "has-a" } else { "has-a-too" }).unwrap().units(), 1);
            assert!(takes_b.borrow_mut().pop().is_some_and(Stopped::wakes));
        }
        Step::ShortRowSeen => {
            assert_eq!(others.cancel("has-b").unwrap().units(), 1);
            assert!(others.reserve("has-a-too", &[("A", 1)]).is_ok());
            let again = Stopped::at(Step::AllInstalled, &others, |shop| shop.reserve("has-b-too", &[("B", 1)]).is_ok());
            takes_b.borrow_mut().push(again);
        }
        _ => {}
    };
    let _ = with_hook(hook, || shop.reserve("both", &[("A", 1), ("B", 1)]));
    assert_eq!(reads_of_b.get(), 1);
}

/// Two threads clean one segment, and one is stopped before it publishes its copy. What the other has recycled is in
/// use again when it wakes.
#[test]
fn who_loses_a_cleaning_recycles_nothing() {
    let shop = shop(200);
    for _ in 0..64 {
        loses_a_race(&shop, "one");
    }
    let loser = Stopped::at(Step::SegmentCopied, &shop, |shop| create(shop, "one"));
    let ids: Vec<String> = (0..120).map(|i| format!("live-{i}")).collect();
    for id in &ids {
        assert!(shop.reserve(id, &[("A", 1)]).unwrap().is_new());
    }
    loser.wakes();
    for id in &ids {
        assert!(shop.order(id).is_some(), "{id} is lost");
    }
    assert!(shop.audit().is_sound());
}

/// Under a limit an order that is refused in a race gives its place back, and its memory, or so many losers would leave
/// no room.
#[test]
fn what_lost_its_race_leaves_room() {
    let shop = Stockade::builder().max_orders(1).build().unwrap();
    shop.add_sku("B", 1).unwrap();
    let shop = Arc::new(shop);
    for _ in 0..3_000 {
        loses_a_race(&shop, "one");
    }
    let told = shop.reserve("two", &[("B", 1)]).unwrap().reservation();
    assert!(told.number < 1_000, "the records of the losers are not used again: {told:?}");
    shop.restock("B", 1).unwrap();
    assert_eq!(shop.reserve("three", &[("B", 1)]), Err(ReserveError::Full));
}
