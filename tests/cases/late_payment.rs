//! Class `late-payment`: payment notices that are late, repeated or meet a closed order.

use crate::support::{Said::*, *};
use stockade::{AdvanceError, Advanced, State, Stockade};

/// Payment ids left for later: a second payment is told apart from a repeated notice only then.
#[test]
fn c36_one_payment_reported_three_times() {
    for threads in [3, 8] {
        for _ in 0..rounds() / threads {
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
    for _ in 0..rounds() {
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
fn c36_one_late_payment_reported_three_times() {
    for round in 0..rounds() {
        let (engine, clock) = timed_shop(&[("A", 1), ("B", 1)]);
        assert_eq!(reserve_for(&engine, "O1", &[("B", 1), ("A", 1)], 10), New);
        at(&clock, 10);
        if round % 2 == 0 {
            assert_eq!(expire(&engine), ["O1"]);
        }
        let said = together(3, |_| pay_again(&engine, "O1"));
        assert_eq!((count(&said, &Again), count(&said, &Already)), (1, 2), "{said:?}");
        let order = engine.order("O1").unwrap();
        assert_eq!((order.state, order.version, order.deadline_ms), (State::Paid, 3, None));
        assert_eq!((book(&engine, "A"), book(&engine, "B")), ((0, 1, 0), (0, 1, 0)));
        assert_eq!((engine.stats().expired, engine.stats().revived), (1, 1));
        assert_eq!((pay(&engine, "O1"), pay_again(&engine, "O1")), (Already, Already));
        settled(&engine);
    }
}

#[test]
fn c38_pay_meets_cancel() {
    let mut paid_first = 0;
    for round in 0..rounds() {
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
    println!("paid first in {paid_first} of {} rounds", rounds());
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
        let _ = (reserve_for(&engine, id, &[("A", 2)], 10), extend(&engine, id, 10), pay_again(&engine, id));
        let _ = (cancel_part(&engine, id, &[("A", 1)]), fulfil_part(&engine, id, &[("A", 1)]));
        let _ = (amend(&engine, id, &[("A", 1)]), amend(&engine, id, &[("A", 2)]), amend(&engine, id, &[("A", 3)]));
    }
    assert_eq!(before, (engine.order("cancelled"), engine.order("fulfilled"), engine.stock("A")));
    assert_eq!(book(&engine, "A"), (7, 0, 2));
    settled(&engine);
}

/// Only what ended by its deadline, and by nobody's will, is revived; and only into stock that is there.
#[test]
fn c39_a_late_payment_revives_no_order_that_somebody_closed() {
    let (engine, clock) = timed_shop(&[("A", 9)]);
    for id in ["cancelled", "voided"] {
        assert_eq!(reserve_for(&engine, id, &[("A", 2)], 10), New);
    }
    assert_eq!(cancel(&engine, "cancelled"), Released(State::InventoryReserved, 2));
    assert_eq!(void(&engine, "voided"), Released(State::InventoryReserved, 2));
    assert_eq!(void(&engine, "marked"), Unknown);
    drop(engine.hold("dropped", &[("A", 2)]).unwrap());
    let _ = engine.create("created", &[("A", 2)]).unwrap();
    at(&clock, 10);
    for id in ["cancelled", "voided", "marked", "dropped"] {
        assert_eq!(pay_again(&engine, id), InvalidState(State::Cancelled), "{id}");
    }
    assert_eq!(pay_again(&engine, "created"), InvalidState(State::Created));
    assert_eq!(pay_again(&engine, "never seen"), Unknown);
    assert_eq!((expire(&engine), book(&engine, "A")), (vec![], (9, 0, 0)));
    settled(&engine);
}

/// The report's "10 for 5": back and forth between dead and revived.
#[test]
fn c39_revived_and_cancelled_gives_back_what_it_took() {
    let (engine, clock) = timed_shop(&[("A", 5)]);
    assert_eq!(reserve_for(&engine, "O1", &[("A", 5)], 10), New);
    at(&clock, 10);
    assert_eq!(reserve_for(&engine, "O2", &[("A", 3)], 10), New);
    for _ in 0..3 {
        assert_eq!(pay_again(&engine, "O1"), short(&["A"]));
        assert_eq!((pay(&engine, "O1"), book(&engine, "A")), (Expired, (2, 3, 0)));
    }
    at(&clock, 20);
    assert_eq!((pay_again(&engine, "O1"), book(&engine, "A")), (Again, (0, 5, 0)));
    assert_eq!((pay_again(&engine, "O2"), state(&engine, "O2")), (short(&["A"]), Some(State::Cancelled)));
    assert_eq!((cancel(&engine, "O1"), book(&engine, "A")), (Released(State::Paid, 5), (5, 0, 0)));
    assert_eq!((pay_again(&engine, "O1"), book(&engine, "A")), (InvalidState(State::Cancelled), (5, 0, 0)));
    settled(&engine);
}

#[test]
fn c41_expiry_notice_after_payment() {
    let (engine, clock) = timed_shop(&[("A", 10)]);
    assert_eq!(reserve_for(&engine, "O1", &[("A", 1)], 10), New);
    at(&clock, 5);
    assert_eq!((pay(&engine, "O1"), deadline(&engine, "O1")), (Done, None));
    at(&clock, 20);
    assert_eq!((expire(&engine), state(&engine, "O1")), (vec![], Some(State::Paid)));
    assert_eq!(book(&engine, "A"), (9, 1, 0));
    at(&clock, 21);
    assert_eq!(fulfil(&engine, "O1"), Done);
    assert_eq!((expire(&engine), book(&engine, "A")), (vec![], (9, 0, 1)));
    settled(&engine);
}

/// Whichever verb takes the payment, no deadline is left behind it.
#[test]
fn c41_a_deadline_is_gone_with_every_way_to_pay() {
    type Way = fn(&Stockade);
    let ways: [Way; 3] = [
        |engine| assert_eq!(pay(engine, "O1"), Done),
        |engine| assert_eq!(pay_again(engine, "O1"), Done),
        |engine| _ = engine.transition("O1", State::InventoryReserved, State::Paid).unwrap(),
    ];
    for way in ways {
        let (engine, clock) = timed_shop(&[("A", 1)]);
        assert_eq!((reserve_for(&engine, "O1", &[("A", 1)], 10), extend(&engine, "O1", 12)), (New, Until(12)));
        way(&engine);
        assert_eq!(extend(&engine, "O1", 99), InvalidState(State::Paid));
        for second in [10, 12, 1_000_000] {
            at(&clock, second);
            assert_eq!(reserve(&engine, "O2", &[("A", 1)]), short(&["A"]));
            assert_eq!((expire(&engine), state(&engine, "O1")), (vec![], Some(State::Paid)));
        }
        assert_eq!((engine.stats().expired, book(&engine, "A")), (0, (0, 1, 0)));
        settled(&engine);
    }
}
