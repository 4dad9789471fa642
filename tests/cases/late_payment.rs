//! Class `late-payment`: payment notices that are late, repeated or meet a closed order.

use crate::support::{Said::*, *};
use stockade::{AdvanceError, Advanced, State};

/// Payment ids left for later: a second payment is told apart from a repeated notice only then.
#[test]
fn c36_one_payment_reported_three_times() {
    for threads in [3, 8] {
        for _ in 0..ROUNDS / threads {
            let engine = shop(&[("A", 10)]);
            assert_eq!(reserve(&engine, "O1", &[("A", 1)]), New);
            let answers = together(threads, |_| engine.pay("O1").unwrap());
            let done = Advanced::Done { version: 2 };
            let already = Advanced::Already { state: State::Paid };
            assert_eq!(answers.iter().filter(|a| **a == done).count(), 1, "{answers:?}");
            assert_eq!(answers.iter().filter(|a| **a == already).count(), threads - 1);
            assert_eq!(pay(&engine, "O1"), Already);
            assert_eq!(book(&engine, "A"), (9, 1, 0));
            assert_eq!(engine.order("O1").unwrap().version, 2);
            settled(&engine);
        }
    }
}

#[test]
fn c36_and_once_more_after_the_goods_have_left() {
    let engine = shop(&[("A", 10)]);
    let steps = (reserve(&engine, "O1", &[("A", 1)]), pay(&engine, "O1"), fulfil(&engine, "O1"));
    assert_eq!(steps, (New, Done, Done));
    assert_eq!(engine.pay("O1"), Ok(Advanced::Already { state: State::Fulfilled }));
    assert_eq!(book(&engine, "A"), (9, 0, 1));
    assert_eq!(engine.order("O1").unwrap().version, 3);
}

#[test]
fn c36_the_strict_form_tells_only_one_callback_yes() {
    for _ in 0..ROUNDS {
        let engine = shop(&[("A", 10)]);
        assert_eq!(reserve(&engine, "O1", &[("A", 1)]), New);
        let yes = together(3, |_| engine.transition("O1", State::InventoryReserved, State::Paid).is_ok());
        assert_eq!(yes.iter().filter(|yes| **yes).count(), 1, "{yes:?}");
        assert_eq!(engine.order("O1").unwrap().version, 2);
        assert_eq!(book(&engine, "A"), (9, 1, 0));
    }
}

#[test]
fn c36_a_payment_for_an_order_that_holds_nothing() {
    let engine = shop(&[("A", 10)]);
    assert_eq!(engine.pay("O1"), Err(AdvanceError::UnknownOrder));
    let _ = engine.create("O1", &[("A", 1)]).unwrap();
    assert_eq!(pay(&engine, "O1"), InvalidState(State::Created));
    assert_eq!(fulfil(&engine, "O1"), InvalidState(State::Created));
    assert_eq!(book(&engine, "A"), (10, 0, 0));
}

#[test]
fn c38_pay_meets_cancel() {
    let mut paid_first = 0;
    for round in 0..ROUNDS {
        let engine = shop(&[("A", 10)]);
        let way = [cancel, void][round % 2];
        assert_eq!(reserve(&engine, "O1", &[("A", 1)]), New);
        let said = together(2, |i| match i {
            0 => pay(&engine, "O1"),
            _ => way(&engine, "O1"),
        });
        let cancelled = InvalidState(State::Cancelled);
        let pay_first = said == [Done, Released(State::Paid, 1)];
        let cancel_first = said == [cancelled, Released(State::InventoryReserved, 1)];
        assert!(pay_first || cancel_first, "{said:?}");
        paid_first += usize::from(pay_first);
        let order = engine.order("O1").unwrap();
        assert_eq!((order.state, order.version), (State::Cancelled, 2 + u64::from(pay_first)));
        assert_eq!(book(&engine, "A"), (10, 0, 0));
        settled(&engine);
    }
    println!("paid first in {paid_first} of {ROUNDS} rounds");
}

#[test]
fn c39_a_cancelled_order_is_not_revived() {
    let engine = shop(&[("A", 1)]);
    assert_eq!(reserve(&engine, "O1", &[("A", 1)]), New);
    assert_eq!(cancel(&engine, "O1"), Released(State::InventoryReserved, 1));
    assert_eq!(reserve(&engine, "O2", &[("A", 1)]), New);
    assert_eq!(reserve(&engine, "O1", &[("A", 1)]), Closed(State::Cancelled));
    assert_eq!(pay(&engine, "O1"), InvalidState(State::Cancelled));
    assert_eq!(cancel(&engine, "O1"), Already);
    assert_eq!(book(&engine, "A"), (0, 1, 0));
    settled(&engine);
}

#[test]
fn c39_nothing_leads_out_of_cancelled_or_fulfilled() {
    let engine = shop(&[("A", 9)]);
    for id in ["cancelled", "fulfilled"] {
        assert_eq!(reserve(&engine, id, &[("A", 2)]), New);
    }
    assert_eq!(cancel(&engine, "cancelled"), Released(State::InventoryReserved, 2));
    assert_eq!((pay(&engine, "fulfilled"), fulfil(&engine, "fulfilled")), (Done, Done));
    let before = (engine.order("cancelled"), engine.order("fulfilled"), engine.stock("A"));
    for id in ["cancelled", "fulfilled"] {
        for from in State::ALL {
            for to in State::ALL {
                assert!(engine.transition(id, from, to).is_err(), "{id}: {from} to {to}");
            }
        }
        let _ = (reserve(&engine, id, &[("A", 2)]), reserve(&engine, id, &[("A", 1)]));
        let _ = (engine.create(id, &[("A", 2)]), engine.hold(id, &[("A", 2)]).map(drop));
        let _ = (pay(&engine, id), fulfil(&engine, id), cancel(&engine, id), void(&engine, id));
    }
    assert_eq!(before, (engine.order("cancelled"), engine.order("fulfilled"), engine.stock("A")));
    assert_eq!(book(&engine, "A"), (7, 0, 2));
    settled(&engine);
}

/// Timed hold left for later: the late notice is a lapse.
#[test]
fn c41_expiry_notice_after_payment() {
    let engine = shop(&[("A", 10)]);
    assert_eq!((reserve(&engine, "O1", &[("A", 1)]), pay(&engine, "O1")), (New, Done));
    assert_eq!(lapse(&engine, "O1"), InvalidState(State::Paid));
    assert_eq!(book(&engine, "A"), (9, 1, 0));
    assert_eq!(fulfil(&engine, "O1"), Done);
    assert_eq!(book(&engine, "A"), (9, 0, 1));
    assert_eq!(lapse(&engine, "O1"), InvalidState(State::Fulfilled));
    assert_eq!(book(&engine, "A"), (9, 0, 1));
    settled(&engine);
}
