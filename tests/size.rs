//! Room from the beginning, a limit on orders, many orders in one call, and what changes in part cost.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "support/resident.rs"]
mod resident;

use std::sync::{Arc, Barrier};

use resident::resident_kib;
use stockade::{
    AmendError, BuildError, CancelLinesError, Cancelled, CreateError, FulfilLinesError, Invalid, ManualClock,
    PayAgainError, ReserveError, Reserved, State, Stockade, VoidError,
};

fn ids(n: usize) -> Vec<String> {
    (0..n).map(|i| format!("order-{i}")).collect()
}

#[test]
fn room_from_the_beginning_changes_no_answer() {
    for capacity in [0, 1, 300, 301, 5_000, 40_000] {
        let shop = Stockade::with_capacity(capacity).unwrap();
        shop.add_sku("A", 50_000).unwrap();
        for id in ids(2 * capacity + 10) {
            assert!(shop.reserve(&id, &[("A", 1)]).unwrap().is_new(), "{id} of {capacity}");
            assert!(!shop.reserve(&id, &[("A", 1)]).map_or(true, Reserved::is_new), "{id} of {capacity}");
            if shop.stock("A").unwrap().available == 0 {
                shop.restock("A", 50_000).unwrap();
            }
        }
        assert_eq!(shop.orders().count(), 2 * capacity + 10);
        assert!(shop.audit().is_sound());
    }
}

#[test]
fn room_that_no_engine_can_have_is_an_error() {
    let error = Stockade::with_capacity(usize::MAX).map(|_| ()).unwrap_err();
    assert!(matches!(error, BuildError::TooManyOrders { capacity: usize::MAX, max: 268_435_455 }));
    assert!(error.to_string().contains("268435455"), "{error}");
}

#[test]
fn past_the_limit_a_new_id_is_full_and_nothing_changes() {
    let shop = Stockade::builder().max_orders(3).build().unwrap();
    shop.add_sku("A", 9).unwrap();
    let _ = shop.reserve("one", &[("A", 1)]).unwrap();
    let _ = shop.create("two", &[("A", 1)]).unwrap();
    let _ = shop.void("three").unwrap();
    assert_eq!(shop.reserve("four", &[("A", 1)]), Err(ReserveError::Full));
    assert_eq!(shop.create("four", &[("A", 1)]), Err(CreateError::Full));
    assert_eq!(shop.void("four"), Err(VoidError::Full));
    assert_eq!(shop.order("four"), None);
    assert_eq!(shop.stock("A").unwrap().available, 8);
    // What is known goes on, and a refusal for the stock comes before one for the room.
    assert!(shop.reserve("two", &[("A", 1)]).unwrap().is_new());
    assert!(matches!(shop.reserve("one", &[("A", 1)]), Ok(Reserved::Replayed(_))));
    assert!(matches!(shop.reserve("four", &[("A", 99)]), Err(ReserveError::Insufficient { .. })));
    // A cancelled order keeps its id, and its place.
    assert!(matches!(shop.cancel("one"), Ok(Cancelled::Released { .. })));
    assert_eq!(shop.reserve("four", &[("A", 1)]), Err(ReserveError::Full));
    assert_eq!(shop.stats().refusals.full, 4);
}

#[test]
fn a_limit_holds_against_many_threads_to_the_last_order() {
    let shop = Stockade::builder().max_orders(500).build().unwrap();
    shop.add_sku("A", 10_000).unwrap();
    shop.add_sku("short", 50).unwrap();
    let start = Barrier::new(8);
    let new: usize = std::thread::scope(|scope| {
        let buyers = [0, 1, 2, 3, 4, 5, 6, 7].map(|buyer| {
            let (shop, start) = (&shop, &start);
            scope.spawn(move || {
                start.wait();
                // Every id is asked for by two; half of the orders meet a row on which others are refused in a race.
                let tries = (0..400).map(|i| {
                    let sku = if i % 2 == 0 { "A" } else { "short" };
                    shop.reserve(&format!("{}-{i}", buyer / 2), &[(sku, 1)]).is_ok_and(Reserved::is_new)
                });
                tries.filter(|new| *new).count()
            })
        });
        buyers.into_iter().map(|buyer| buyer.join().unwrap()).sum()
    });
    assert_eq!(new, 500, "50 of the short row, and as many as there is room for");
    assert_eq!(shop.orders().count(), 500);
    assert!(shop.audit().is_sound());
}

#[test]
fn a_batch_answers_as_the_calls_would() {
    let [together, alone] = [(), ()].map(|()| {
        let shop = Stockade::new();
        shop.add_sku("A", 120).unwrap();
        shop.add_sku("B", 3).unwrap();
        shop
    });
    let long = "k".repeat(256);
    let mut ids = ids(200);
    ids.extend(["order-7".into(), String::new(), long]);
    let lines: Vec<Vec<(&str, u32)>> = (0..ids.len())
        .map(|i| match i % 5 {
            0 => vec![("A", 1), ("B", 1)],
            1 => vec![("A", 0)],
            2 => vec![("nowhere", 1)],
            _ => vec![("A", 2)],
        })
        .collect();
    let requests: Vec<(&str, &[(&str, u32)])> = ids.iter().zip(&lines).map(|(id, lines)| (&**id, &**lines)).collect();
    for _ in 0..2 {
        let answers = together.reserve_batch(&requests);
        let expected: Vec<_> = requests.iter().map(|(id, lines)| alone.reserve(id, lines)).collect();
        assert_eq!(answers.len(), expected.len());
        for (i, (answer, expected)) in answers.into_iter().zip(expected).enumerate() {
            assert_eq!(answer.map(Reserved::is_new), expected.map(Reserved::is_new), "request {i}");
        }
        assert_eq!(together.stats().refusals, alone.stats().refusals);
        assert_eq!(together.stock("A"), alone.stock("A"));
    }
    assert_eq!(together.reserve_batch(&requests[202..]), [Err(Invalid::KeyTooLong { bytes: 256 }.into())]);
    assert!(together.reserve_batch::<&str>(&[]).is_empty());
}

#[test]
fn batches_that_cross_accept_each_order_once() {
    let shop = Stockade::new();
    shop.add_sku("A", 700).unwrap();
    let ids = ids(1_000);
    let line = [("A", 1)];
    let mut requests: Vec<(&str, &[(&str, u32)])> = ids.iter().map(|id| (&**id, &line[..])).collect();
    let forth = requests.clone();
    requests.reverse();
    let new: usize = std::thread::scope(|scope| {
        let batches = [&forth, &requests].map(|requests| scope.spawn(|| shop.reserve_batch(requests)));
        let answers = batches.into_iter().flat_map(|batch| batch.join().unwrap());
        answers.filter(|answer| answer.as_ref().is_ok_and(|reserved| reserved.is_new())).count()
    });
    assert_eq!(new, 700);
    assert!(shop.audit().is_sound());
}

/// An order of one line takes 80 bytes for its first change (16 for its ledger, and a record of 64), 64 for its
/// second, and after that none: the next edition gets the memory of the one before the last. An edition is 8 bytes and
/// 24 for each line, 48 of them in a record. Ledgers come by the thousand, so few orders that are changed among many
/// cost up to 16 KiB each.
#[test]
fn what_a_change_in_part_costs_in_bytes() {
    const ORDERS: u64 = 1 << 17;
    let shop = Stockade::new();
    let sku = shop.add_sku("A", 100 * ORDERS).unwrap();
    let ids = ids(ORDERS as usize);
    for id in &ids {
        assert!(shop.reserve(id, &[(sku, 100)]).unwrap().is_new());
    }
    // Other tests run beside this one, so there is some room in the numbers.
    for most in [80 + 40, 64 + 40, 40, 40] {
        let before = resident_kib();
        for id in &ids {
            let _ = shop.cancel_lines(id, &[(sku, 1)]).unwrap();
        }
        if let (Some(before), Some(after)) = (before, resident_kib()) {
            let each = after.saturating_sub(before) * 1024 / ORDERS;
            println!("{each} bytes");
            assert!(each <= most, "{each} bytes for each change");
        }
    }
    assert!(shop.audit().is_sound());
}

/// As often as the counter of changes allows, then a typed answer; the order can still go every other way. Changes take
/// no room from the limit on orders, and no more memory.
#[test]
fn an_order_is_changed_in_part_a_million_times() {
    const CHANGES: u32 = (1 << 20) - 3;
    let clock = Arc::new(ManualClock::default());
    let shop = Stockade::builder().clock(Arc::clone(&clock)).max_orders(3).build().unwrap();
    shop.add_sku("A", 1 << 35).unwrap();
    let all = [("A", u32::MAX)];
    let _ = (shop.reserve("cancelled", &all).unwrap(), shop.reserve("fulfilled", &all).unwrap());
    let _ = (shop.reserve_for("amended", &[("A", 1)], 10).unwrap(), shop.pay("fulfilled").unwrap());
    let before = resident_kib();
    std::thread::scope(|scope| {
        scope.spawn(|| (0..CHANGES).for_each(|_| _ = shop.cancel_lines("cancelled", &[("A", 1)]).unwrap()));
        scope.spawn(|| (0..CHANGES).for_each(|_| _ = shop.fulfil_lines("fulfilled", &[("A", 1)]).unwrap()));
        scope.spawn(|| (0..CHANGES).for_each(|n| _ = shop.amend("amended", &[("A", 2 - n % 2)]).unwrap()));
    });
    if let (Some(before), Some(after)) = (before, resident_kib()) {
        assert!(after.saturating_sub(before) < 24 << 10, "{} KiB", after - before);
    }
    assert_eq!(shop.stats().revised, 3 * u64::from(CHANGES));

    let open = u64::from(u32::MAX - CHANGES);
    assert_eq!(shop.cancel_lines("cancelled", &[("A", 1)]), Err(CancelLinesError::Exhausted));
    assert_eq!(shop.fulfil_lines("fulfilled", &[("A", 1)]), Err(FulfilLinesError::Exhausted));
    assert_eq!(shop.amend("amended", &[("A", 1)]), Err(AmendError::Exhausted));
    assert_eq!(shop.amend("amended", &[("A", 2)]).map(|same| same.open), Ok(2), "to what it is already");
    assert_eq!(shop.stock("A").unwrap().available, (1 << 35) - open - u64::from(u32::MAX) - 2);

    let _ = shop.pay("cancelled").unwrap();
    assert_eq!(shop.cancel("cancelled").unwrap().units(), open);
    let _ = shop.fulfil("fulfilled").unwrap();
    assert_eq!(shop.balance("A").unwrap().shipped, u64::from(u32::MAX));
    clock.set_ms(10);
    assert_eq!(shop.expire_due(9), ["amended"]);
    assert_eq!(shop.pay_or_reserve_again("amended"), Err(PayAgainError::Exhausted));
    assert_eq!(shop.order("amended").unwrap().state, State::Cancelled);
    assert!(shop.audit().is_sound());
}
