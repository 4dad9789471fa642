//! Request keys: what their documentation says, what many threads make of one key, and interleavings that would go
//! wrong if one line of the engine were another (`tests/slips`).

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "support/resident.rs"]
mod resident;
#[path = "keys/schedules.rs"]
mod schedules;
#[path = "support/stopped.rs"]
mod stopped;
#[path = "keys/threads.rs"]
mod threads;

use std::sync::Arc;

use resident::resident_kib;
use stockade::{
    AmendError, CancelLinesError, FulfilLinesError, Invalid, Keep, Keyed, KeyedError, MAX_UNITS, ManualClock, Once,
    RequestField, RequestKey, RestockError, SetAvailableError, State, Stock, Stockade, UnknownSku, WriteOffError,
};

fn shop() -> Stockade {
    stocked(Stockade::new())
}

/// Ten units of A and of B.
fn stocked(shop: Stockade) -> Stockade {
    shop.add_sku("A", 10).unwrap();
    shop.add_sku("B", 10).unwrap();
    shop
}

fn under<'a>(shop: &'a Stockade, id: &'a str) -> Keyed<'a> {
    shop.keyed(RequestKey { id, issued: 7 })
}

fn available(shop: &Stockade, sku: &str) -> u64 {
    shop.stock(sku).unwrap().available
}

/// An order of four units of A and two of B, paid for.
fn paid(shop: &Stockade, id: &str) {
    assert!(shop.reserve(id, &[("A", 4), ("B", 2)]).unwrap().is_new());
    let _ = shop.pay(id).unwrap();
}

fn is_sound(shop: &Stockade) {
    let audit = shop.audit();
    assert!(audit.is_sound() && audit.in_motion.is_empty(), "{audit:?}");
}

/// What each verb answers the first time, and after the row or the order has moved on.
#[test]
fn a_repeat_gets_the_first_answer_whatever_has_happened_since() {
    let shop = shop();
    let restocked = Stock { available: 15, version: 1 };
    let written_off = Stock { available: 12, version: 2 };
    let set = Stock { available: 40, version: 3 };
    assert_eq!(under(&shop, "restock").restock("A", 5), Ok(Once::New(restocked)));
    assert_eq!(under(&shop, "write off").write_off("A", 3), Ok(Once::New(written_off)));
    assert_eq!(under(&shop, "set").set_available("A", 2, 40), Ok(Once::New(set)));
    paid(&shop, "order");
    let cancelled = under(&shop, "cancel").cancel_lines("order", &[("A", 1)]).unwrap().answer();
    let fulfilled = under(&shop, "fulfil").fulfil_lines("order", &[("A", 1)]).unwrap().answer();
    let amended = under(&shop, "amend").amend("order", &[("A", 9), ("B", 1)]).unwrap().answer();
    assert_eq!([cancelled.open, fulfilled.open, amended.open], [5, 4, 8]);
    let moves: [fn(&Stockade); 3] =
        [|_| (), |shop| _ = shop.fulfil("order").unwrap(), |shop| _ = shop.restock("A", 1).unwrap()];
    for moved in moves {
        moved(&shop);
        let before = (shop.stock("A"), shop.order("order"), shop.stats().revised);
        assert_eq!(under(&shop, "restock").restock("A", 5), Ok(Once::Replayed(restocked)));
        assert_eq!(under(&shop, "write off").write_off("A", 3), Ok(Once::Replayed(written_off)));
        assert_eq!(under(&shop, "set").set_available("A", 2, 40), Ok(Once::Replayed(set)));
        assert_eq!(under(&shop, "cancel").cancel_lines("order", &[("A", 1)]), Ok(Once::Replayed(cancelled)));
        assert_eq!(under(&shop, "fulfil").fulfil_lines("order", &[("A", 1)]), Ok(Once::Replayed(fulfilled)));
        assert_eq!(under(&shop, "amend").amend("order", &[("A", 9), ("B", 1)]), Ok(Once::Replayed(amended)));
        assert_eq!((shop.stock("A"), shop.order("order"), shop.stats().revised), before);
        is_sound(&shop);
    }
    assert_eq!((shop.stats().replays, shop.stats().revised), (18, 3));
}

#[test]
fn an_answer_says_how_the_order_ended() {
    let shop = shop();
    for (ends, closed) in [("cancelled", State::Cancelled), ("shipped", State::Fulfilled)] {
        let _ = shop.reserve(ends, &[("A", 2)]).unwrap();
        if closed == State::Fulfilled {
            let _ = shop.pay(ends).unwrap();
            let _ = under(&shop, "first").fulfil_lines(ends, &[("A", 1)]).unwrap();
            let _ = under(&shop, ends).fulfil_lines(ends, &[("A", 1)]).unwrap();
            let again = under(&shop, ends).fulfil_lines(ends, &[("A", 1)]).unwrap();
            assert!(
                matches!(again, Once::Replayed(left) if left.closed == Some(closed) && left.open == 0),
                "{again:?}"
            );
        } else {
            let _ = under(&shop, ends).cancel_lines(ends, &[("A", 2)]).unwrap();
            let again = under(&shop, ends).cancel_lines(ends, &[("A", 2)]).unwrap();
            assert!(
                matches!(again, Once::Replayed(left) if left.closed == Some(closed) && left.open == 0),
                "{again:?}"
            );
        }
        assert_eq!(shop.order(ends).unwrap().state, closed);
    }
}

/// A key that came with the one request, and now comes with the other.
fn differs<T: std::fmt::Debug, E: std::fmt::Debug>(answer: Result<Once<T>, KeyedError<E>>, in_what: RequestField) {
    assert!(matches!(&answer, Err(KeyedError::Reused { field }) if *field == in_what), "{answer:?}, not {in_what}");
}

#[test]
fn what_differs_is_named_and_nothing_is_done() {
    use RequestField::{ExpectedVersion, Lines, Order, Sku, Units, Verb};
    let shop = shop();
    paid(&shop, "order");
    paid(&shop, "other");
    let _ = under(&shop, "restock").restock("A", 5).unwrap();
    let _ = under(&shop, "write off").write_off("A", 5).unwrap();
    let _ = under(&shop, "set").set_available("B", 2, 5).unwrap();
    let _ = under(&shop, "cancel").cancel_lines("order", &[("A", 1)]).unwrap();
    let _ = under(&shop, "fulfil").fulfil_lines("order", &[("A", 1)]).unwrap();
    let _ = under(&shop, "amend").amend("order", &[("A", 5), ("B", 1)]).unwrap();
    let before = (shop.stock("A"), shop.stock("B"), shop.order("order"), shop.order("other"));

    differs(under(&shop, "restock").restock("A", 6), Units);
    differs(under(&shop, "restock").restock("B", 5), Sku);
    differs(under(&shop, "restock").restock("B", 6), Sku);
    differs(under(&shop, "restock").write_off("A", 5), Verb);
    differs(under(&shop, "write off").write_off("A", 4), Units);
    differs(under(&shop, "write off").write_off("B", 5), Sku);
    differs(under(&shop, "write off").restock("A", 5), Verb);
    differs(under(&shop, "set").set_available("B", 3, 5), ExpectedVersion);
    differs(under(&shop, "set").set_available("B", 2, 6), Units);
    differs(under(&shop, "set").set_available("A", 2, 5), Sku);
    differs(under(&shop, "set").restock("B", 5), Verb);
    differs(under(&shop, "cancel").cancel_lines("other", &[("A", 1)]), Order);
    differs(under(&shop, "cancel").cancel_lines("order", &[("A", 2)]), Lines);
    differs(under(&shop, "cancel").cancel_lines("order", &[("B", 1)]), Lines);
    differs(under(&shop, "cancel").cancel_lines("order", &[("A", 1), ("B", 1)]), Lines);
    differs(under(&shop, "cancel").fulfil_lines("order", &[("A", 1)]), Verb);
    differs(under(&shop, "cancel").amend("order", &[("A", 1)]), Verb);
    differs(under(&shop, "cancel").restock("A", 1), Verb);
    differs(under(&shop, "fulfil").fulfil_lines("other", &[("A", 1)]), Order);
    differs(under(&shop, "fulfil").fulfil_lines("order", &[("A", 2)]), Lines);
    differs(under(&shop, "fulfil").cancel_lines("order", &[("A", 1)]), Verb);
    differs(under(&shop, "amend").amend("other", &[("A", 5), ("B", 1)]), Order);
    differs(under(&shop, "amend").amend("order", &[("A", 5), ("B", 2)]), Lines);
    differs(under(&shop, "amend").cancel_lines("order", &[("A", 5)]), Verb);

    assert_eq!((shop.stock("A"), shop.stock("B"), shop.order("order"), shop.order("other")), before);
    assert_eq!(shop.stats().refusals.key_reused, 24);
    is_sound(&shop);
}

#[test]
fn what_was_refused_can_be_tried_again_and_not_changed() {
    let shop = shop();
    let short = Err(KeyedError::Refused(WriteOffError::Insufficient { wanted: 12, available: 10 }));
    for _ in 0..3 {
        assert_eq!(under(&shop, "loss").write_off("A", 12), short);
    }
    differs(under(&shop, "loss").write_off("A", 3), RequestField::Units);
    let _ = shop.restock("A", 4).unwrap();
    let left = Stock { available: 2, version: 2 };
    assert_eq!(under(&shop, "loss").write_off("A", 12), Ok(Once::New(left)));
    assert_eq!(under(&shop, "loss").write_off("A", 12), Ok(Once::Replayed(left)));

    // A version once passed never comes again.
    let conflict = under(&shop, "set").set_available("B", 1, 3);
    assert!(matches!(conflict, Err(KeyedError::Refused(SetAvailableError::VersionConflict { expected: 1, .. }))));
    let _ = shop.restock("B", 1).unwrap();
    assert!(matches!(under(&shop, "set").set_available("B", 1, 3), Ok(Once::New(_))));
    assert!(matches!(under(&shop, "set").set_available("B", 1, 3), Ok(Once::Replayed(_))));

    let unknown = under(&shop, "part").cancel_lines("late", &[("B", 1)]);
    assert_eq!(unknown, Err(KeyedError::Refused(CancelLinesError::UnknownOrder)));
    let unpaid = under(&shop, "parcel").fulfil_lines("late", &[("B", 1)]);
    assert_eq!(unpaid, Err(KeyedError::Refused(FulfilLinesError::UnknownOrder)));
    let _ = shop.reserve("late", &[("B", 2)]).unwrap();
    let unpaid = under(&shop, "parcel").fulfil_lines("late", &[("B", 1)]);
    assert_eq!(unpaid, Err(KeyedError::Refused(FulfilLinesError::InvalidState { actual: State::InventoryReserved })));
    assert!(matches!(under(&shop, "part").cancel_lines("late", &[("B", 1)]), Ok(Once::New(left)) if left.open == 1));
    let _ = shop.pay("late").unwrap();
    let more = under(&shop, "more").amend("late", &[("A", 3), ("B", 2)]);
    assert!(matches!(more, Err(KeyedError::Refused(AmendError::Insufficient { .. }))), "{more:?}");
    differs(under(&shop, "more").amend("late", &[("A", 2), ("B", 2)]), RequestField::Lines);
    let _ = shop.restock("A", 1).unwrap();
    assert!(matches!(under(&shop, "more").amend("late", &[("A", 3), ("B", 2)]), Ok(Once::New(left)) if left.open == 4));
    assert!(matches!(under(&shop, "parcel").fulfil_lines("late", &[("B", 1)]), Ok(Once::New(left)) if left.open == 3));
    is_sound(&shop);
}

#[test]
fn what_cannot_be_at_all_leaves_the_key_free() {
    let shop = shop();
    let nowhere = || UnknownSku { sku: "nowhere".into() };
    assert_eq!(under(&shop, "key").restock("nowhere", 1), Err(KeyedError::Refused(nowhere().into())));
    assert_eq!(
        under(&shop, "key").cancel_lines("order", &[("nowhere", 1)]),
        Err(KeyedError::Refused(nowhere().into()))
    );
    let no_lines = under(&shop, "key").amend::<&str>("order", &[]);
    assert_eq!(no_lines, Err(KeyedError::Refused(Invalid::NoLines.into())));
    let no_units = under(&shop, "key").fulfil_lines("order", &[("A", 0)]);
    assert_eq!(no_units, Err(KeyedError::Refused(Invalid::ZeroQuantity { sku: "A".into() }.into())));
    assert!(matches!(under(&shop, "key").restock("A", 1), Ok(Once::New(_))));
}

#[test]
fn lines_in_another_order_or_in_pieces_are_the_same_request() {
    let shop = shop();
    paid(&shop, "order");
    let _ = under(&shop, "cancel").cancel_lines("order", &[("A", 2), ("B", 1)]).unwrap();
    let a = shop.sku("A").unwrap();
    let same: [&[(&str, u32)]; 3] = [&[("B", 1), ("A", 2)], &[("A", 1), ("B", 1), ("A", 1)], &[("A", 2), ("B", 1)]];
    for lines in same {
        assert!(matches!(under(&shop, "cancel").cancel_lines("order", lines), Ok(Once::Replayed(_))), "{lines:?}");
    }
    let by_handle = under(&shop, "cancel").cancel_lines("order", &[(a, 2), (shop.sku("B").unwrap(), 1)]);
    assert!(matches!(by_handle, Ok(Once::Replayed(_))));
    let _ = under(&shop, "restock").restock("A", 1).unwrap();
    assert!(matches!(under(&shop, "restock").restock(a, 1), Ok(Once::Replayed(_))));
}

/// It is decided when its thread lets go of it, and there is nothing to be finished.
#[test]
fn who_carries_out_a_request_undisturbed_helps_nobody() {
    let shop = shop();
    let _ = under(&shop, "more").restock("A", 1).unwrap();
    assert_eq!(shop.stats().helped, 0);
}

#[test]
fn keys_orders_and_skus_of_one_name_are_three_things() {
    let shop = shop();
    let _ = shop.reserve("A", &[("A", 1)]).unwrap();
    let _ = under(&shop, "A").restock("A", 1).unwrap();
    let _ = under(&shop, "B").cancel_lines("A", &[("A", 1)]).unwrap();
    assert_eq!(shop.order("B"), None);
    assert!(shop.reserve("B", &[("A", 1)]).unwrap().is_new());
    assert_eq!(shop.orders().count(), 2);
    // The same id issued at another time is another key.
    let later = shop.keyed(RequestKey { id: "A", issued: 8 });
    assert!(matches!(later.restock("A", 1), Ok(Once::New(_))));
    assert!(matches!(later.restock("A", 1), Ok(Once::Replayed(_))));
    assert_eq!(available(&shop, "A"), 11);
}

#[test]
fn hostile_keys_are_answered() {
    let shop = shop();
    let restock = |id: &str, issued| shop.keyed(RequestKey { id, issued }).restock("A", 1);
    assert_eq!(restock("", 1), Err(KeyedError::Invalid(Invalid::EmptyKey)));
    assert_eq!(restock(&"k".repeat(256), 1), Err(KeyedError::Invalid(Invalid::KeyTooLong { bytes: 256 })));
    for id in ["k".repeat(255), "\0".into(), "k\0".into(), "\u{10ffff}".into()] {
        for issued in [0, 1, u64::MAX] {
            assert!(matches!(restock(&id, issued), Ok(Once::New(_))), "{id:?} {issued}");
            assert!(matches!(restock(&id, issued), Ok(Once::Replayed(_))), "{id:?} {issued}");
        }
    }
    assert_eq!((available(&shop, "A"), shop.stats().refusals.invalid), (22, 2));
}

#[test]
fn units_up_to_the_limit_and_an_overflow_that_is_not_remembered_as_done() {
    let shop = shop();
    let full = Err(KeyedError::Refused(RestockError::Overflow { units: MAX_UNITS }));
    for _ in 0..2 {
        assert_eq!(under(&shop, "all").restock("A", MAX_UNITS), full);
    }
    for units in [MAX_UNITS + 1, u64::MAX] {
        let id = units.to_string();
        let overflow = Err(KeyedError::Refused(RestockError::Overflow { units }));
        assert_eq!(under(&shop, &id).restock("A", units), overflow);
        let id = format!("set {units}");
        let overflow = Err(KeyedError::Refused(SetAvailableError::Overflow { units }));
        assert_eq!(under(&shop, &id).set_available("A", 0, units), overflow);
        let id = format!("lost {units}");
        let short = Err(KeyedError::Refused(WriteOffError::Insufficient { wanted: units, available: 10 }));
        assert_eq!(under(&shop, &id).write_off("A", units), short);
    }
    is_sound(&shop);
    let _ = shop.write_off("A", 10).unwrap();
    let all = Stock { available: MAX_UNITS, version: 2 };
    assert_eq!(under(&shop, "all").restock("A", MAX_UNITS), Ok(Once::New(all)));
    assert_eq!(under(&shop, "all").restock("A", MAX_UNITS), Ok(Once::Replayed(all)));
    let none = Stock { available: 0, version: 3 };
    assert_eq!(under(&shop, "lost").write_off("A", MAX_UNITS), Ok(Once::New(none)));
    assert_eq!(under(&shop, "back").set_available("A", 3, MAX_UNITS).map(Once::answer).unwrap().available, MAX_UNITS);
    assert_eq!(shop.balance("A").unwrap().received, MAX_UNITS);
    is_sound(&shop);
}

#[test]
fn an_amendment_repeated_after_a_later_one_does_not_take_that_back() {
    let shop = shop();
    paid(&shop, "order");
    let _ = under(&shop, "first").amend("order", &[("A", 5), ("B", 2)]).unwrap();
    let _ = under(&shop, "second").amend("order", &[("A", 1), ("B", 2)]).unwrap();
    let again = under(&shop, "first").amend("order", &[("A", 5), ("B", 2)]);
    assert!(matches!(again, Ok(Once::Replayed(left)) if left.open == 7), "{again:?}");
    assert_eq!(available(&shop, "A"), 9);
}

/// The order has these lines already; the key counts all the same.
#[test]
fn an_amendment_that_changes_nothing_is_remembered_too() {
    let shop = shop();
    paid(&shop, "order");
    let same = [("A", 4), ("B", 2)];
    assert!(matches!(under(&shop, "same").amend("order", &same), Ok(Once::New(left)) if left.open == 6));
    let _ = shop.amend("order", &[("A", 1)]).unwrap();
    assert!(matches!(under(&shop, "same").amend("order", &same), Ok(Once::Replayed(left)) if left.open == 6));
    assert_eq!((available(&shop, "A"), available(&shop, "B")), (9, 10));
}

#[test]
fn a_repeat_is_answered_when_its_order_is_closed_or_forgotten() {
    let clock = Arc::new(ManualClock::default());
    let builder = Stockade::builder().clock(Arc::clone(&clock)).keep_finished(Keep::ForMs(16));
    let shop = stocked(builder.build().unwrap());
    let _ = shop.reserve("order", &[("A", 4)]).unwrap();
    let first = under(&shop, "part").cancel_lines("order", &[("A", 1)]).unwrap().answer();
    let again = || under(&shop, "part").cancel_lines("order", &[("A", 1)]);
    let _ = shop.cancel("order").unwrap();
    assert_eq!(again(), Ok(Once::Replayed(first)));
    clock.advance_ms(20);
    assert_eq!((shop.forget_finished(1_000), shop.order("order")), (1, None));
    assert_eq!(again(), Ok(Once::Replayed(first)));
    // Somebody else's order under the same id is none of this request's business.
    let _ = shop.reserve("order", &[("A", 4)]).unwrap();
    assert_eq!(again(), Ok(Once::Replayed(first)));
    assert_eq!(available(&shop, "A"), 6);
    is_sound(&shop);
}

/// A shop that remembers so many keys.
fn forgetful(keys: u64) -> Stockade {
    stocked(Stockade::builder().keep_keys(keys).build().unwrap())
}

/// Restocks A by one, under a key issued then.
fn restock(shop: &Stockade, issued: u64) -> Result<Once<Stock>, KeyedError<RestockError>> {
    shop.keyed(RequestKey { id: "key", issued }).restock("A", 1)
}

#[test]
fn the_youngest_are_remembered_and_no_more() {
    for keys in [0, 1, 2, 4, 100] {
        let shop = forgetful(keys);
        let keys = keys.max(1);
        for issued in 1..=3 * keys {
            assert!(matches!(restock(&shop, issued), Ok(Once::New(_))));
            let oldest = (issued + 1).saturating_sub(keys).max(1);
            for known in oldest..=issued {
                assert!(
                    matches!(restock(&shop, known), Ok(Once::Replayed(at)) if at.version == known),
                    "{known} of {issued}"
                );
            }
            let too_old = Err(KeyedError::TooOld { forgotten_to: oldest - 1 });
            assert!((1..oldest).all(|issued| restock(&shop, issued) == too_old));
        }
        assert_eq!(available(&shop, "A"), 10 + 3 * keys);
        is_sound(&shop);
    }
}

#[test]
fn a_key_older_than_all_that_there_is_room_for_is_too_old() {
    let shop = forgetful(2);
    for issued in [10, 11] {
        assert!(matches!(restock(&shop, issued), Ok(Once::New(_))));
    }
    for _ in 0..2 {
        assert_eq!(restock(&shop, 5), Err(KeyedError::TooOld { forgotten_to: 5 }));
    }
    assert!([10, 11].iter().all(|issued| matches!(restock(&shop, *issued), Ok(Once::Replayed(_)))));
    // Younger than what was forgotten, and older than what is remembered: there is no room, but it was not begun
    // either.
    assert_eq!(restock(&shop, 7), Err(KeyedError::TooOld { forgotten_to: 7 }));
    assert!([10, 11].iter().all(|issued| matches!(restock(&shop, *issued), Ok(Once::Replayed(_)))));
    assert_eq!((available(&shop, "A"), shop.stats().refusals.key_too_old), (12, 3));
}

#[test]
fn keys_of_one_age_are_remembered_or_too_old() {
    let shop = forgetful(4);
    let restock = |n: u64| shop.keyed(RequestKey { id: &n.to_string(), issued: 3 }).restock("A", 1);
    for _ in 0..3 {
        let told: Vec<_> = (0..9).map(restock).collect();
        let new = (0..9).filter(|n| told[*n as usize].is_ok()).count();
        assert!(new <= 4, "{told:?}");
        let others = told.iter().filter(|it| it.is_err());
        assert!(others.into_iter().all(|it| *it == Err(KeyedError::TooOld { forgotten_to: 3 })), "{told:?}");
    }
    assert_eq!(available(&shop, "A"), 14);
    assert!(matches!(shop.keyed(RequestKey { id: "younger", issued: 4 }).restock("A", 1), Ok(Once::New(_))));
}

#[test]
fn a_request_that_was_refused_can_be_too_old_when_it_comes_again() {
    let shop = forgetful(1);
    let loss = shop.keyed(RequestKey { id: "loss", issued: 1 });
    assert!(matches!(loss.write_off("A", 99), Err(KeyedError::Refused(_))));
    assert!(restock(&shop, 2).is_ok());
    assert_eq!(loss.write_off("A", 99), Err(KeyedError::TooOld { forgotten_to: 1 }));
    assert_eq!(loss.write_off("A", 1), Err(KeyedError::TooOld { forgotten_to: 1 }));
    assert_eq!(available(&shop, "A"), 11);
}

/// The case of that number, and what it costs: after the first hundred thousand of them memory does not grow any more.
#[test]
fn c23_a_delivery_repeated_after_a_million_others() {
    let shop = shop();
    let delivery = shop.keyed(RequestKey { id: "K1", issued: 1 });
    let first = Stock { available: 15, version: 1 };
    assert_eq!(delivery.restock("A", 5), Ok(Once::New(first)));
    assert_eq!(delivery.restock("A", 5), Ok(Once::Replayed(first)));
    differs(delivery.restock("A", 6), RequestField::Units);
    let mut before = None;
    for n in 0..1_000_000 {
        let key = RequestKey { id: &format!("delivery-{n}"), issued: 2 + n };
        assert!(matches!(shop.keyed(key).restock("B", 1), Ok(Once::New(_))));
        if n == 200_000 {
            before = resident_kib();
        }
    }
    // A hundredth of what they would take, if they were all remembered. Other tests run beside this one.
    if let (Some(before), Some(after)) = (before, resident_kib()) {
        assert!(after < before + 8_192, "from {before} KiB to {after}");
    }
    assert!(matches!(delivery.restock("A", 5), Err(KeyedError::TooOld { .. })));
    assert!(matches!(delivery.restock("A", 6), Err(KeyedError::TooOld { .. })));
    assert_eq!((available(&shop, "A"), available(&shop, "B")), (15, 1_000_010));
    is_sound(&shop);
}
