//! Hostile input: keys, quantities and orders at every edge, handles of another engine, refusals by the hundred
//! thousand, ids that collide by the million. Bad input is an answer with data in it; nothing has changed, nothing
//! panics, nothing is left behind.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[allow(dead_code, reason = "every test file uses its own part")]
#[path = "cases/support.rs"]
mod support;

#[path = "support/resident.rs"]
mod resident;

use std::fmt::Display;

use resident::resident_kib;
use stockade::{
    AddSkuError, AdvanceError, AmendError, CancelError, CancelLinesError, Cancelled, CreateError, FulfilLinesError,
    HoldClosed, Invalid, Line, MAX_KEY_BYTES, MAX_LINES, MAX_UNITS, ReserveError, RestockError, SetAvailableError,
    Shortage, Shortages, Sku, SkuRef, State, Stock, Stockade, TransitionError, UnknownSku, VoidError, WriteOffError,
};
use support::{
    Said, amend, at, book, cancel_part, fulfil, fulfil_part, lines, parts, pay, reserve, reserve_for, settled, shop,
    state, timed_shop, too_much,
};

const NO_LINES: [(&str, u32); 0] = [];

fn unknown(sku: &str) -> UnknownSku {
    UnknownSku { sku: sku.into() }
}

// Keys.

#[test]
fn keys_of_one_byte_to_the_longest_are_all_different() {
    let engine = shop(&[("A", 255)]);
    let keys: Vec<_> = (1..=MAX_KEY_BYTES).map(|bytes| "k".repeat(bytes)).collect();
    assert_eq!(keys.len(), 255);
    for (n, key) in keys.iter().enumerate() {
        engine.add_sku(key, n as u64).unwrap();
        assert_eq!(reserve(&engine, key, &[("A", 1)]), Said::New);
    }
    for (n, key) in keys.iter().enumerate() {
        assert_eq!(engine.stock(key).unwrap().available, n as u64);
        assert_eq!(engine.sku_name(engine.sku(key).unwrap()).unwrap().to_string(), *key);
        assert_eq!(engine.order(key).unwrap().id, *key);
        assert_eq!(reserve(&engine, key, &[("A", 1)]), Said::Replayed);
    }
    assert_eq!(book(&engine, "A"), (0, 255, 0));
    settled(&engine);
}

#[test]
fn long_keys_that_differ_only_in_their_last_or_first_byte() {
    let engine = shop(&[("A", 100)]);
    for bytes in [2, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 32, 33, 63, 64, 65, 254, 255] {
        let same = "k".repeat(bytes - 1);
        for key in [format!("{same}1"), format!("{same}2"), format!("1{same}"), format!("2{same}")] {
            assert_eq!(reserve(&engine, &key, &[("A", 1)]), Said::New, "{key}");
            engine.add_sku(&key, 1).unwrap();
        }
    }
    assert_eq!(engine.orders().count(), 72);
    assert_eq!(book(&engine, "A"), (28, 72, 0));
}

#[test]
fn empty_and_over_long_keys_are_refused_by_everything_that_would_keep_them() {
    let engine = shop(&[("A", 5)]);
    let long = "k".repeat(MAX_KEY_BYTES + 1);
    let wide = "\u{1F980}".repeat(64); // 64 characters, 256 bytes
    let bad = [
        ("", Invalid::EmptyKey),
        (&long, Invalid::KeyTooLong { bytes: 256 }),
        (&wide, Invalid::KeyTooLong { bytes: 256 }),
    ];
    for (key, why) in bad {
        assert_eq!(engine.add_sku(key, 1), Err(AddSkuError::Invalid(why.clone())));
        let order = [("A", 1)];
        assert_eq!(engine.create(key, &order), Err(CreateError::Invalid(why.clone())));
        assert_eq!(engine.reserve(key, &order), Err(ReserveError::Invalid(why.clone())));
        let hold = engine.hold(key, &order).map(drop);
        assert_eq!(hold, Err(ReserveError::Invalid(why.clone())));
        assert_eq!(engine.void(key), Err(VoidError::Invalid(why.clone())));

        // What only looks for the key says that it is not there.
        assert_eq!(engine.cancel(key), Ok(Cancelled::Unknown));
        assert_eq!(engine.pay(key), Err(AdvanceError::UnknownOrder));
        assert_eq!(engine.fulfil(key), Err(AdvanceError::UnknownOrder));
        assert_eq!(engine.cancel_lines(key, &order), Err(CancelLinesError::UnknownOrder));
        assert_eq!(engine.fulfil_lines(key, &order), Err(FulfilLinesError::UnknownOrder));
        assert_eq!(engine.amend(key, &order), Err(AmendError::UnknownOrder));
        let step = engine.transition(key, State::Created, State::Cancelled);
        assert_eq!(step, Err(TransitionError::UnknownOrder));
        assert_eq!(engine.order(key), None);
        assert_eq!(engine.sku(key), None);
        assert_eq!(engine.stock(key), Err(unknown(key)));
        assert_eq!(engine.balance(key), Err(unknown(key).into()));
        assert_eq!(engine.restock(key, 1), Err(RestockError::UnknownSku(unknown(key))));
        assert_eq!(engine.write_off(key, 1), Err(WriteOffError::UnknownSku(unknown(key))));
        let set = engine.set_available(key, 0, 1);
        assert_eq!(set, Err(SetAvailableError::UnknownSku(unknown(key))));

        // As the SKU of a line it is either no key or no row; in no case is it taken.
        let answer = engine.reserve("order", &[("A", 1), (key, 1)]);
        assert!(
            answer == Err(ReserveError::UnknownSku(unknown(key))) || answer == Err(ReserveError::Invalid(why)),
            "{answer:?}"
        );
    }
    assert_eq!((engine.rows().count(), engine.orders().count()), (1, 0));
    assert_eq!(engine.stock("A").unwrap(), Stock { available: 5, version: 0 });
    settled(&engine);
}

#[test]
fn a_multi_byte_key_of_exactly_255_bytes() {
    let engine = Stockade::new();
    let key = "\u{20AC}".repeat(85);
    assert_eq!(key.len(), MAX_KEY_BYTES);
    engine.add_sku(&key, 1).unwrap();
    assert_eq!(reserve(&engine, &key, &[(&key, 1)]), Said::New);
    assert_eq!(engine.order(&key).unwrap().id, key);
}

#[test]
fn keys_are_bytes_not_pictures() {
    let keys = [
        "\0",
        "\0\0",
        "a",
        "a\0",
        "a\0b",
        "\0a",
        "b\0a", // NUL is a byte like any other
        "caf\u{e9}",
        "cafe\u{301}", // one picture, two normalisations, two keys
        "\u{212b}",
        "\u{c5}",
        "A\u{30a}", // three of the same
        "I",
        "i",
        "\u{131}",
        "\u{130}",
        "stra\u{df}e",
        "strasse",
        "STRASSE", // case is not folded
        " ",
        "  ",
        " a",
        "a ",
        "\t",
        "\n",
        "a\r\n",
        "\u{a0}",
        "\u{feff}a", // nothing is trimmed
        "\u{202e}abc",
        "abc",
        "\u{1f468}\u{200d}\u{1f373}",
        "\u{1f468}", // joiners, directions
        "../../etc/passwd",
        "%s%n",
        "'; DROP TABLE orders; --",
        "{\"id\":1}", // not code either
        "null",
        "None",
        "0",
        "-1",
        "1e9",
        "NaN",
    ];
    let engine = shop(&[("stock", 1000)]);
    for key in keys {
        engine.add_sku(key, 2).unwrap();
        assert_eq!(reserve(&engine, key, &[("stock", 1), (key, 1)]), Said::New, "{key:?}");
    }
    for key in keys {
        assert_eq!(engine.sku_name(engine.sku(key).unwrap()).unwrap().to_string(), key);
        let expected = [("stock".to_string(), 1), (key.to_string(), 1)];
        assert_eq!(lines(&engine, key), expected);
        assert_eq!(book(&engine, key), (1, 1, 0), "{key:?}");
        assert_eq!(engine.order(key).unwrap().id, key);
    }
    assert_eq!(engine.orders().count(), keys.len());
    assert_eq!(engine.rows().count(), keys.len() + 1);
    settled(&engine);
}

// Quantities.

#[test]
fn quantities_at_every_edge_of_a_line() {
    for quantity in [1, 2, (1 << 31) - 1, 1 << 31, u32::MAX - 1, u32::MAX] {
        let units = u64::from(quantity);
        let engine = shop(&[("A", units)]);
        assert_eq!(reserve(&engine, "all", &[("A", quantity)]), Said::New);
        assert_eq!(book(&engine, "A"), (0, units, 0));
        assert_eq!(engine.cancel("all").unwrap().units(), units);
        assert_eq!(engine.write_off("A", 1).unwrap().available, units - 1);
        let short = Shortage { sku: "A".into(), wanted: quantity, available: units - 1 };
        assert_eq!(
            engine.reserve("one too many", &[("A", quantity)]),
            Err(ReserveError::Insufficient { short: Shortages(vec![short]) })
        );
        assert_eq!(book(&engine, "A"), (units - 1, 0, 0));
        settled(&engine);
    }
}

#[test]
fn lines_that_add_up_to_the_largest_quantity_and_to_one_more() {
    let engine = shop(&[("A", MAX_UNITS), ("B", 5)]);
    let half = 1 << 31;
    assert_eq!(reserve(&engine, "fits", &[("A", half), ("A", half - 1)]), Said::New);
    assert_eq!(lines(&engine, "fits"), [("A".to_string(), u32::MAX)]);
    assert_eq!(book(&engine, "A"), (MAX_UNITS - u64::from(u32::MAX), u64::from(u32::MAX), 0));

    let too_many = [
        &[("A", half), ("B", 1), ("A", half)][..],
        &[("A", u32::MAX), ("A", 1)],
        &[("A", 1), ("A", u32::MAX)],
        &[("A", u32::MAX), ("A", u32::MAX), ("A", 2)], // 2^33, which wraps to 0 in 32 bits
        &[("A", u32::MAX); 4096],
    ];
    let why = || Invalid::QuantityOverflow { sku: "A".into() };
    for order in too_many {
        assert_eq!(engine.create("O", order), Err(CreateError::Invalid(why())));
        assert_eq!(engine.reserve("O", order), Err(ReserveError::Invalid(why())));
        assert_eq!(engine.reserve("fits", order), Err(ReserveError::Invalid(why())));
        assert_eq!(engine.hold("O", order).map(drop), Err(ReserveError::Invalid(why())));
    }
    assert_eq!(engine.orders().count(), 1);
    assert_eq!(book(&engine, "B"), (5, 0, 0));
    settled(&engine);
}

#[test]
fn many_orders_of_the_largest_quantity_from_one_row() {
    let engine = shop(&[("A", MAX_UNITS)]);
    let each = u64::from(u32::MAX);
    for n in 1..=16 {
        assert_eq!(reserve(&engine, &format!("O{n}"), &[("A", u32::MAX)]), Said::New);
        assert_eq!(book(&engine, "A"), (MAX_UNITS - n * each, n * each, 0));
    }
    assert_eq!(MAX_UNITS - 16 * each, 15, "MAX_UNITS is 2^36 - 1");
    assert_eq!(reserve(&engine, "O17", &[("A", 16)]), support::short(&["A"]));
    assert_eq!((pay(&engine, "O1"), fulfil(&engine, "O1")), (Said::Done, Said::Done));
    assert_eq!(book(&engine, "A"), (15, 15 * each, each));
    for n in 2..=16 {
        assert_eq!(engine.cancel(&format!("O{n}")).unwrap().units(), each);
    }
    assert_eq!(book(&engine, "A"), (MAX_UNITS - each, 0, each));
    settled(&engine);
}

#[test]
fn a_row_filled_to_the_brim_and_past_it() {
    let engine = Stockade::new();
    for units in [MAX_UNITS + 1, u64::MAX] {
        assert_eq!(engine.add_sku("A", units), Err(AddSkuError::Overflow));
        assert_eq!(engine.sku("A"), None);
    }
    engine.add_sku("A", MAX_UNITS - 10).unwrap();
    let overflow = |units| Err(RestockError::Overflow { units });
    for units in [11, MAX_UNITS, u64::MAX - MAX_UNITS + 11, u64::MAX] {
        assert_eq!(engine.restock("A", units), overflow(units));
    }
    assert_eq!(engine.restock("A", 10), Ok(Stock { available: MAX_UNITS, version: 1 }));
    assert_eq!(engine.restock("A", 1), overflow(1));

    // Held and shipped units count as received: taking them out of `available` makes no room.
    assert_eq!(reserve(&engine, "held", &[("A", 7)]), Said::New);
    assert_eq!(engine.restock("A", 1), overflow(1));
    assert_eq!(reserve(&engine, "shipped", &[("A", 3)]), Said::New);
    assert_eq!((pay(&engine, "shipped"), fulfil(&engine, "shipped")), (Said::Done, Said::Done));
    assert_eq!(engine.restock("A", 1), overflow(1));
    for units in [MAX_UNITS - 9, MAX_UNITS, MAX_UNITS + 1, u64::MAX] {
        let answer = engine.set_available("A", 3, units);
        assert_eq!(answer, Err(SetAvailableError::Overflow { units }));
    }
    assert_eq!(engine.stock("A"), Ok(Stock { available: MAX_UNITS - 10, version: 3 }));

    // A write-off does.
    for wanted in [MAX_UNITS - 9, u64::MAX] {
        let available = MAX_UNITS - 10;
        assert_eq!(engine.write_off("A", wanted), Err(WriteOffError::Insufficient { wanted, available }));
    }
    engine.write_off("A", 4).unwrap();
    assert_eq!(engine.restock("A", 5), overflow(5));
    engine.restock("A", 4).unwrap();
    assert_eq!(engine.cancel("held").unwrap().units(), 7);
    assert_eq!(book(&engine, "A"), (MAX_UNITS - 3, 0, 3));
    assert_eq!(engine.balance("A").unwrap().received, MAX_UNITS);

    // Down to nothing and up again.
    engine.write_off("A", MAX_UNITS - 3).unwrap();
    assert_eq!(book(&engine, "A"), (0, 0, 3));
    let version = engine.stock("A").unwrap().version;
    assert_eq!(engine.set_available("A", version, MAX_UNITS - 3).unwrap().available, MAX_UNITS - 3);
    settled(&engine);
}

#[test]
fn a_stale_version_is_said_before_an_overflow() {
    let engine = shop(&[("A", 1)]);
    let current = Stock { available: 1, version: 0 };
    for expected in [1, 1 << 28, 1 << 44, u64::MAX] {
        assert_eq!(
            engine.set_available("A", expected, u64::MAX),
            Err(SetAvailableError::VersionConflict { expected, current })
        );
    }
    assert_eq!(engine.stock("A"), Ok(current));
}

#[test]
fn a_row_refilled_past_32_bits_while_units_are_held_gets_all_of_them_back() {
    let engine = shop(&[("A", u64::from(u32::MAX)), ("B", 3)]);
    assert_eq!(reserve(&engine, "O", &[("A", u32::MAX), ("B", 3)]), Said::New);
    let refill = (1 << 32) + 12_345;
    assert_eq!(engine.restock("A", refill), Ok(Stock { available: refill, version: 2 }));
    assert_eq!(reserve(&engine, "P", &[("A", u32::MAX)]), Said::New);
    assert_eq!(engine.restock("A", refill).unwrap().available, 2 * refill - u64::from(u32::MAX));
    assert_eq!(engine.cancel("O").unwrap().units(), u64::from(u32::MAX) + 3);
    assert_eq!(book(&engine, "A"), (2 * refill, u64::from(u32::MAX), 0));
    assert_eq!(engine.cancel("P").unwrap().units(), u64::from(u32::MAX));
    assert_eq!(book(&engine, "A"), (2 * refill + u64::from(u32::MAX), 0, 0));
    assert_eq!(engine.stock("A").unwrap().version, 6);
    assert_eq!(book(&engine, "B"), (3, 0, 0));
    settled(&engine);
}

/// Whether a change by nothing counts as a change is left open; that it moves no unit and no version backwards is not.
#[test]
fn a_change_by_no_units() {
    let engine = shop(&[("A", 5), ("empty", 0)]);
    for sku in ["A", "empty"] {
        let before = engine.stock(sku).unwrap();
        let after = [engine.restock(sku, 0).unwrap(), engine.write_off(sku, 0).unwrap()];
        for (n, stock) in after.into_iter().enumerate() {
            assert_eq!(stock.available, before.available);
            assert!(stock.version <= before.version + n as u64 + 1, "{stock:?}");
        }
        assert!(after[1].version >= after[0].version && after[0].version >= before.version);
        assert_eq!(engine.stock(sku), Ok(after[1]));
    }
    settled(&engine);
}

#[test]
fn a_row_is_never_added_twice() {
    let engine = shop(&[("A", 5)]);
    for units in [0, 5, 6, MAX_UNITS] {
        assert_eq!(engine.add_sku("A", units), Err(AddSkuError::SkuExists { sku: "A".into() }));
    }
    assert_eq!(engine.stock("A"), Ok(Stock { available: 5, version: 0 }));
    assert_eq!(engine.balance("A").unwrap().received, 5);
}

// Orders.

#[test]
fn an_order_without_lines() {
    let engine = shop(&[("A", 5)]);
    for id in ["live", "closed"] {
        assert_eq!(reserve(&engine, id, &[("A", 1)]), Said::New);
    }
    let _ = engine.cancel("closed").unwrap();
    for id in ["new", "live", "closed"] {
        let why = Invalid::NoLines;
        assert_eq!(engine.create(id, &NO_LINES), Err(CreateError::Invalid(why.clone())));
        assert_eq!(engine.reserve(id, &NO_LINES), Err(ReserveError::Invalid(why.clone())));
        assert_eq!(engine.hold(id, &NO_LINES).map(drop), Err(ReserveError::Invalid(why)));
    }
    assert_eq!(state(&engine, "new"), None);
    assert_eq!(book(&engine, "A"), (4, 1, 0));
}

#[test]
fn an_order_of_as_many_skus_as_there_may_be_and_of_one_more() {
    let engine = Stockade::new();
    let order: Vec<_> =
        (0..=MAX_LINES).map(|n| (engine.add_sku(&format!("R{n}"), 4).unwrap(), 1 + n as u32 % 3)).collect();
    assert_eq!(order.len(), 4097);
    let full = &order[..MAX_LINES];

    let why = Invalid::TooManyLines { skus: 4097 };
    assert_eq!(engine.reserve("O", &order), Err(ReserveError::Invalid(why.clone())));
    assert_eq!(engine.create("O", &order), Err(CreateError::Invalid(why)));
    assert_eq!(engine.orders().count(), 0);

    assert!(engine.reserve("O", full).unwrap().is_new());
    let backwards: Vec<_> = full.iter().rev().copied().collect();
    assert!(!engine.reserve("O", &backwards).unwrap().is_new());
    let line = |&(sku, quantity): &(Sku, u32)| Line { sku, quantity };
    let expected: Vec<_> = full.iter().map(line).collect();
    let lines = engine.order("O").unwrap().lines;
    assert_eq!(lines.iter().map(|line| Line { sku: line.sku, quantity: line.ordered }).collect::<Vec<_>>(), expected);

    // The next one finds two thirds of the rows short; every one of them is named.
    let Err(ReserveError::Insufficient { short }) =
        engine.reserve("P", &full.iter().map(|(sku, _)| (sku, 3)).collect::<Vec<_>>())
    else {
        panic!("not short")
    };
    assert_eq!(short.0.len(), full.iter().filter(|(_, taken)| *taken > 1).count());
    assert!(short.0.iter().all(|s| s.wanted == 3 && s.available < 3));

    let from = State::InventoryReserved;
    assert_eq!(engine.cancel("O"), Ok(Cancelled::Released { from, lines: expected }));
    assert!(engine.rows().all(|(_, stock)| stock.available == 4));
    settled(&engine);
}

#[test]
fn one_sku_ten_thousand_times_in_one_order_is_one_line() {
    let engine = shop(&[("A", 10_001), ("B", 10_000)]);
    assert_eq!(reserve(&engine, "O", &vec![("A", 1); 10_000]), Said::New);
    assert_eq!(lines(&engine, "O"), [("A".to_string(), 10_000)]);
    assert_eq!(reserve(&engine, "O", &[("A", 10_000)]), Said::Replayed);

    let both: Vec<_> = (0..20_000).map(|n| (["A", "B"][n % 2], 1)).collect();
    assert_eq!(reserve(&engine, "P", &both), support::short(&["A"]));
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((1, 10_000, 0), (10_000, 0, 0)));
    settled(&engine);
}

#[test]
fn more_lines_than_skus_may_be_is_no_matter_if_the_skus_are_few_enough() {
    let engine = Stockade::new();
    let skus: Vec<_> = (0..MAX_LINES).map(|n| engine.add_sku(&format!("R{n}"), 3).unwrap()).collect();
    let order: Vec<_> = skus.iter().chain(&skus).chain(&skus).map(|sku| (*sku, 1)).collect();
    assert!(engine.reserve("O", &order).unwrap().is_new());
    assert!(engine.rows().all(|(_, stock)| stock.available == 0));
}

/// Invalid comes before anything that depends on the id or the stock; a known id comes before an unknown SKU.
#[test]
fn the_first_of_several_reasons_is_the_answer() {
    let engine = shop(&[("A", 1)]);
    for id in ["live", "closed"] {
        let _ = engine.create(id, &[("A", 1)]).unwrap();
    }
    let _ = engine.cancel("closed").unwrap();
    let zero = || ReserveError::Invalid(Invalid::ZeroQuantity { sku: "A".into() });
    let overflow = || ReserveError::Invalid(Invalid::QuantityOverflow { sku: "Z".into() });
    for id in ["new", "live", "closed"] {
        assert_eq!(engine.reserve(id, &[("A", 9), ("A", 0)]), Err(zero()));
        assert_eq!(engine.reserve(id, &[("Z", 1), ("A", 0)]), Err(zero()));
        assert_eq!(engine.reserve(id, &[("Z", u32::MAX), ("Z", 1)]), Err(overflow()));
    }
    let z = [("A", 9), ("Z", 1)];
    assert_eq!(engine.reserve("new", &z), Err(ReserveError::UnknownSku(unknown("Z"))));
    assert_eq!(engine.create("new", &z), Err(CreateError::UnknownSku(unknown("Z"))));
    assert_eq!(engine.reserve("live", &z), Err(ReserveError::LinesDiffer));
    assert_eq!(engine.create("live", &z), Err(CreateError::LinesDiffer));
    let closed = State::Cancelled;
    assert_eq!(engine.reserve("closed", &z), Err(ReserveError::Closed { state: closed }));
    assert_eq!(engine.create("closed", &z), Err(CreateError::Closed { state: closed }));
    assert_eq!(engine.orders().count(), 2);
    assert_eq!(engine.stock("A"), Ok(Stock { available: 1, version: 0 }));
}

#[test]
fn too_many_skus_is_said_before_a_sku_that_is_not_there() {
    let engine = shop(&[("A", 1)]);
    let names: Vec<_> = (0..=MAX_LINES).map(|n| format!("not there {n}")).collect();
    let order: Vec<_> = names.iter().map(|name| (name, 1)).collect();
    let why = Invalid::TooManyLines { skus: 4097 };
    assert_eq!(engine.reserve("O", &order), Err(ReserveError::Invalid(why)));
    let missing = ReserveError::UnknownSku(unknown("not there 0"));
    assert_eq!(engine.reserve("O", &order[..MAX_LINES]), Err(missing));
    assert_eq!(engine.rows().count(), 1);
}

// Changes in part.

/// Why each of the three verbs calls its lines invalid.
fn invalid<S: SkuRef>(engine: &Stockade, id: &str, lines: &[(S, u32)]) -> [Option<Invalid>; 3] {
    let cancel = match engine.cancel_lines(id, lines) {
        Err(CancelLinesError::Invalid(why)) => Some(why),
        _ => None,
    };
    let fulfil = match engine.fulfil_lines(id, lines) {
        Err(FulfilLinesError::Invalid(why)) => Some(why),
        _ => None,
    };
    let amend = match engine.amend(id, lines) {
        Err(AmendError::Invalid(why)) => Some(why),
        _ => None,
    };
    [cancel, fulfil, amend]
}

/// What each of the three verbs says.
fn all_three(engine: &Stockade, id: &str, lines: &[(&str, u32)]) -> [Said; 3] {
    [cancel_part(engine, id, lines), fulfil_part(engine, id, lines), amend(engine, id, lines)]
}

/// Invalid comes before anything that depends on the order, its state or the stock.
#[test]
fn lines_that_no_change_in_part_can_name() {
    let engine = shop(&[("A", 9), ("B", 9)]);
    for id in ["live", "closed"] {
        assert_eq!(reserve(&engine, id, &[("A", 2)]), Said::New);
    }
    let _ = engine.cancel("closed").unwrap();
    let before = (engine.order("live"), engine.order("closed"), engine.rows().collect::<Vec<_>>());
    let zero = |sku: &str| Some(Invalid::ZeroQuantity { sku: sku.into() });
    let overflow = |sku: &str| Some(Invalid::QuantityOverflow { sku: sku.into() });
    let names: Vec<_> = (0..=MAX_LINES).map(|n| format!("not there {n}")).collect();
    let too_many: Vec<_> = names.iter().map(|name| (name, 1)).collect();
    for id in ["new", "live", "closed", ""] {
        assert_eq!(invalid(&engine, id, &NO_LINES), [(); 3].map(|()| Some(Invalid::NoLines)));
        for lines in [&[("A", 0)][..], &[("A", 1), ("A", 0)], &[("Z", 1), ("A", 0)], &[("A", u32::MAX), ("A", 0)]] {
            assert_eq!(invalid(&engine, id, lines), [(); 3].map(|()| zero("A")));
        }
        for lines in
            [&[("A", u32::MAX), ("A", 1)][..], &[("A", 1 << 31), ("B", 1), ("A", 1 << 31)], &[("A", 1 << 20); 4096]]
        {
            assert_eq!(invalid(&engine, id, lines), [(); 3].map(|()| overflow("A")));
        }
        assert_eq!(invalid(&engine, id, &[("Z", u32::MAX), ("Z", 1)]), [(); 3].map(|()| overflow("Z")));
        assert_eq!(invalid(&engine, id, &too_many), [(); 3].map(|()| Some(Invalid::TooManyLines { skus: 4097 })));
    }
    assert_eq!(before, (engine.order("live"), engine.order("closed"), engine.rows().collect()));
    assert_eq!((engine.stats().refusals.invalid, engine.stats().revised), (4 * 10 * 3, 0));
    settled(&engine);
}

/// The state comes before an unknown SKU, that before what the lines have, and that before what the stock has.
#[test]
fn the_first_of_several_reasons_not_to_change_a_part() {
    let (engine, clock) = timed_shop(&[("A", 9), ("B", 9)]);
    let _ = engine.create("created", &[("A", 2)]).unwrap();
    for id in ["cancelled", "fulfilled", "paid", "reserved"] {
        assert_eq!(reserve(&engine, id, &[("A", 1), ("B", 1)]), Said::New);
    }
    assert_eq!(reserve_for(&engine, "expired", &[("A", 1)], 10), Said::New);
    let _ = (engine.cancel("cancelled").unwrap(), engine.void("marked").unwrap());
    for id in ["fulfilled", "paid"] {
        assert_eq!(pay(&engine, id), Said::Done);
    }
    assert_eq!(fulfil(&engine, "fulfilled"), Said::Done);
    at(&clock, 10);
    let everything = || (engine.orders().collect::<Vec<_>>(), engine.rows().collect::<Vec<_>>());
    let before = everything();

    let no = |state| [(); 3].map(|()| Said::InvalidState(state));
    for lines in [&[("Z", 1)][..], &[("A", 99)], &[("A", 1), ("B", 1)], &[("A", 99), ("Z", 1)]] {
        assert_eq!(all_three(&engine, "new", lines), [Said::Unknown, Said::Unknown, Said::Unknown]);
        assert_eq!(all_three(&engine, "expired", lines), [Said::Expired, Said::Expired, Said::Expired]);
        assert_eq!(all_three(&engine, "created", lines), no(State::Created));
        assert_eq!(all_three(&engine, "fulfilled", lines), no(State::Fulfilled));
        for id in ["cancelled", "marked"] {
            assert_eq!(all_three(&engine, id, lines), no(State::Cancelled));
        }
        assert_eq!(fulfil_part(&engine, "reserved", lines), Said::InvalidState(State::InventoryReserved));
    }
    let z = || Said::UnknownSku("Z".into());
    assert_eq!(all_three(&engine, "paid", &[("A", 99), ("Z", 1)]), [z(), z(), z()]);
    // Of two lines the first row is named, in whatever order they are written.
    for lines in [[("A", 99), ("B", 98)], [("B", 98), ("A", 99)]] {
        let much = || too_much("A", 1);
        let expected = [much(), much(), support::short(&["A", "B"])];
        assert_eq!(all_three(&engine, "paid", &lines), expected);
    }
    assert_eq!(before, everything());
    settled(&engine);
}

#[test]
fn a_change_in_part_names_skus_in_any_way_but_not_those_of_another_engine() {
    let (engine, other) = (shop(&[("A", 9), ("B", 9)]), shop(&[("A", 9)]));
    let (own, foreign) = (engine.sku("A").unwrap(), other.sku("A").unwrap());
    let beyond = (0..100).map(|n| other.add_sku(&format!("R{n}"), 1).unwrap()).last().unwrap();
    let _ = (engine.reserve("O", &[(own, 5)]).unwrap(), engine.pay("O").unwrap());
    for sku in [foreign, beyond] {
        for lines in [&[(sku, 1)][..], &[(own, 1), (sku, 1)], &[(sku, 1), (own, 9)]] {
            assert!(matches!(engine.cancel_lines("O", lines), Err(CancelLinesError::UnknownSku(_))));
            assert!(matches!(engine.fulfil_lines("O", lines), Err(FulfilLinesError::UnknownSku(_))));
            assert!(matches!(engine.amend("O", lines), Err(AmendError::UnknownSku(_))));
        }
    }
    assert_eq!(engine.cancel_lines("O", &[(&own, 1)]).unwrap().open, 4);
    assert_eq!(engine.fulfil_lines("O", &[(String::from("A"), 1)]).unwrap().open, 3);
    assert_eq!(engine.amend("O", &[(own, 1), (own, 3)]).unwrap().open, 2);
    assert_eq!(parts(&engine, "O"), [("A".to_string(), [4, 2, 1, 1])]);
    assert_eq!((book(&engine, "A"), book(&other, "A")), ((6, 2, 1), (9, 0, 0)));
    settled(&engine);
}

#[test]
fn units_of_a_line_that_add_up_to_the_largest_quantity() {
    let engine = shop(&[("A", MAX_UNITS)]);
    let (all, half) = (u32::MAX, 1 << 31);
    for id in ["summed", "thousandfold", "grown"] {
        assert_eq!(reserve(&engine, id, &[("A", all)]), Said::New);
        assert_eq!(pay(&engine, id), Said::Done);
    }
    assert_eq!(cancel_part(&engine, "summed", &[("A", half), ("A", half - 2)]), Said::Left(1));
    assert_eq!(fulfil_part(&engine, "summed", &[("A", 1), ("A", 1)]), too_much("A", 1));
    assert_eq!(fulfil_part(&engine, "summed", &[("A", 1)]), Said::Ended(State::Fulfilled));
    assert_eq!(parts(&engine, "summed"), [("A".to_string(), [all, 0, 1, all - 1])]);

    assert_eq!(cancel_part(&engine, "thousandfold", &vec![("A", 1); 10_000]), Said::Left(u64::from(all) - 10_000));
    assert_eq!(fulfil_part(&engine, "thousandfold", &vec![("A", 1); 10_000]), Said::Left(u64::from(all) - 20_000));
    assert_eq!(amend(&engine, "thousandfold", &vec![("A", 1); 20_000]), Said::Ended(State::Fulfilled));

    // Down to one unit and up to all again: what is lacking is the difference.
    assert_eq!(amend(&engine, "grown", &[("A", 1)]), Said::Left(1));
    let rest = engine.stock("A").unwrap().available;
    engine.write_off("A", rest - u64::from(all) + 2).unwrap();
    let short = Shortages(vec![Shortage { sku: "A".into(), wanted: all - 1, available: u64::from(all) - 2 }]);
    assert_eq!(engine.amend("grown", &[("A", all)]), Err(AmendError::Insufficient { short }));
    engine.restock("A", 1).unwrap();
    assert_eq!(amend(&engine, "grown", &[("A", half), ("A", half - 1)]), Said::Left(all.into()));
    assert_eq!(book(&engine, "A"), (0, all.into(), 10_001));
    settled(&engine);
}

/// Units that come back in parts never find the row too full for them.
#[test]
fn a_row_filled_to_the_brim_takes_every_part_back() {
    let engine = shop(&[("A", MAX_UNITS)]);
    assert_eq!((reserve(&engine, "O", &[("A", 10)]), pay(&engine, "O")), (Said::New, Said::Done));
    let overflow = |units| Err(RestockError::Overflow { units });
    assert_eq!((engine.restock("A", 1), fulfil_part(&engine, "O", &[("A", 3)])), (overflow(1), Said::Left(7)));
    assert_eq!((engine.restock("A", 1), cancel_part(&engine, "O", &[("A", 3)])), (overflow(1), Said::Left(4)));
    assert_eq!((engine.restock("A", 1), amend(&engine, "O", &[("A", 8)])), (overflow(1), Said::Left(2)));
    assert_eq!((engine.restock("A", 1), engine.cancel("O").unwrap().units()), (overflow(1), 2));
    assert_eq!(book(&engine, "A"), (MAX_UNITS - 3, 0, 3));
    engine.write_off("A", 1).unwrap();
    assert_eq!(engine.restock("A", 1).unwrap().available, MAX_UNITS - 3);
    settled(&engine);
}

#[test]
fn an_order_of_as_many_skus_as_there_may_be_is_changed_to_as_many_others() {
    let engine = Stockade::new();
    let rows: Vec<_> = (0..2 * MAX_LINES).map(|n| (engine.add_sku(&format!("R{n}"), 4).unwrap(), 2)).collect();
    let (first, second) = rows.split_at(MAX_LINES);
    let full = 2 * MAX_LINES as u64;
    assert!(engine.reserve("O", first).unwrap().is_new());
    let available = |rows: &[(Sku, u32)]| {
        let mut units: Vec<_> = rows.iter().map(|(sku, _)| engine.stock(*sku).unwrap().available).collect();
        units.dedup();
        units
    };
    for _ in 0..3 {
        assert_eq!(engine.amend("O", second).unwrap().open, full);
        assert_eq!((available(first), available(second)), (vec![4], vec![2]));
        assert_eq!(engine.order("O").unwrap().lines.len(), MAX_LINES);
        assert_eq!(engine.amend("O", first).unwrap().open, full);
        assert_eq!((available(first), available(second)), (vec![2], vec![4]));
    }
    let why = Invalid::TooManyLines { skus: 4097 };
    assert_eq!(engine.amend("O", &rows[..=MAX_LINES]), Err(AmendError::Invalid(why)));

    // With one unit of the last line gone for good, that line has to stay.
    let last = first[MAX_LINES - 1].0;
    assert_eq!(engine.cancel_lines("O", &[(last, 1)]).unwrap().open, full - 1);
    let sku = engine.sku_name(last).unwrap();
    assert_eq!(engine.amend("O", second), Err(AmendError::TooFew { sku, wanted: 0, settled: 1 }));
    assert_eq!(engine.amend("O", &rows[MAX_LINES - 1..2 * MAX_LINES - 1]).unwrap().open, full - 1);

    // All short, all named; all cancelled, one by one and at once.
    let three: Vec<_> = second.iter().map(|(sku, _)| (*sku, 3)).collect();
    assert!(engine.reserve("P", &three[..MAX_LINES - 1]).is_err());
    let ones: Vec<_> = rows[MAX_LINES - 1..2 * MAX_LINES - 1].iter().map(|(sku, _)| (*sku, 1)).collect();
    assert_eq!(engine.cancel_lines("O", &ones).unwrap().open, full / 2 - 1);
    assert_eq!(engine.cancel("O").unwrap().units(), full / 2 - 1);
    assert!(engine.rows().all(|(_, stock)| stock.available == 4));
    settled(&engine);
}

/// A refusal of a change in part is no change: it costs the order none of those it may have, and leaves nothing behind.
#[test]
fn a_hundred_thousand_refused_changes_in_part() {
    let engine = shop(&[("A", 3), ("B", 0)]);
    assert_eq!((reserve(&engine, "O", &[("A", 2)]), pay(&engine, "O")), (Said::New, Said::Done));
    assert_eq!(cancel_part(&engine, "O", &[("A", 1)]), Said::Left(1));
    let before = (engine.order("O"), engine.rows().collect::<Vec<_>>());
    for _ in 0..25_000 {
        assert_eq!(cancel_part(&engine, "O", &[("A", 2)]), too_much("A", 1));
        assert_eq!(fulfil_part(&engine, "O", &[("A", 1), ("B", 1)]), too_much("B", 0));
        assert_eq!(amend(&engine, "O", &[("B", 1)]), Said::TooFew("A".into(), 1));
        assert_eq!(amend(&engine, "O", &[("A", 3), ("B", 1)]), support::short(&["B"]));
    }
    let stats = engine.stats();
    assert_eq!((stats.refusals.too_much, stats.refusals.insufficient, stats.revised), (75_000, 25_000, 1));
    assert_eq!(before, (engine.order("O"), engine.rows().collect()));
    assert_eq!(fulfil_part(&engine, "O", &[("A", 1)]), Said::Ended(State::Fulfilled));
    settled(&engine);
}

// Handles.

#[test]
fn a_sku_may_be_named_in_any_way() {
    let engine = shop(&[("A", 10)]);
    let (handle, name) = (engine.sku("A").unwrap(), String::from("A"));
    assert!(engine.reserve("O", &[("A", 2)]).unwrap().is_new());
    assert!(!engine.reserve("O", &[(name.clone(), 2)]).unwrap().is_new());
    assert!(!engine.reserve("O", &[(&name, 2)]).unwrap().is_new());
    assert!(!engine.reserve("O", &[(handle, 2)]).unwrap().is_new());
    assert!(!engine.reserve("O", &[(&handle, 1), (&handle, 1)]).unwrap().is_new());
    assert_eq!(engine.stock(handle), engine.stock("A"));
    assert_eq!(engine.stock(&name), engine.stock(handle));
    assert_eq!(engine.balance(handle).unwrap().sku, "A".into());
    let zero = Invalid::ZeroQuantity { sku: "A".into() };
    assert_eq!(engine.reserve("P", &[(handle, 0)]), Err(ReserveError::Invalid(zero)));
    let short = Shortages(vec![Shortage { sku: "A".into(), wanted: 9, available: 8 }]);
    assert_eq!(engine.reserve("P", &[(handle, 9)]), Err(ReserveError::Insufficient { short }));
}

#[test]
fn a_handle_of_another_engine_is_an_unknown_sku() {
    let (engine, other) = (shop(&[("A", 5), ("B", 5)]), shop(&[("A", 7)]));
    let (own, foreign) = (engine.sku("A").unwrap(), other.sku("A").unwrap());
    assert_ne!(own, foreign);
    assert_eq!(engine.sku_name(foreign), None);
    assert!(engine.stock(foreign).is_err());
    assert!(engine.balance(foreign).is_err());
    assert!(matches!(engine.restock(foreign, 1), Err(RestockError::UnknownSku(_))));
    assert!(matches!(engine.write_off(foreign, 1), Err(WriteOffError::UnknownSku(_))));
    let set = engine.set_available(foreign, 0, 1);
    assert!(matches!(set, Err(SetAvailableError::UnknownSku(_))));
    for order in [&[(foreign, 1)][..], &[(own, 1), (foreign, 1)], &[(foreign, 1), (own, 1)]] {
        assert!(matches!(engine.create("O", order), Err(CreateError::UnknownSku(_))));
        assert!(matches!(engine.reserve("O", order), Err(ReserveError::UnknownSku(_))));
        let hold = engine.hold("O", order).map(drop);
        assert!(matches!(hold, Err(ReserveError::UnknownSku(_))));
    }
    assert!(engine.reserve("live", &[(own, 1)]).unwrap().is_new());
    assert_eq!(engine.reserve("live", &[(foreign, 1)]), Err(ReserveError::LinesDiffer));

    // A row the other engine has and this one has not, by number.
    let beyond = (0..100).map(|n| other.add_sku(&format!("R{n}"), 1).unwrap()).last().unwrap();
    assert!(engine.stock(beyond).is_err());
    assert!(matches!(engine.reserve("O", &[(beyond, 1)]), Err(ReserveError::UnknownSku(_))));

    assert_eq!(engine.orders().count(), 1);
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((4, 1, 0), (5, 0, 0)));
    assert_eq!(book(&other, "A"), (7, 0, 0));
}

#[test]
fn a_handle_outlives_its_engine_without_harm() {
    let handle = shop(&[("A", 5)]).sku("A").unwrap();
    let engine = shop(&[("A", 5)]);
    assert!(engine.stock(handle).is_err());
    assert_eq!(engine.sku_name(handle), None);
}

// Growth.

#[test]
fn a_hundred_thousand_refused_reserves_leave_nothing_behind() {
    const EACH: usize = 50_000;
    let engine = shop(&[("A", 1), ("B", 0)]);
    support::together(2, |thread| {
        for n in 0..EACH {
            let answer = engine.reserve(&format!("{thread}/{n}"), &[("A", 1), ("B", 1)]);
            assert!(matches!(answer, Err(ReserveError::Insufficient { .. })), "{answer:?}");
        }
    });
    assert_eq!(engine.orders().count(), 0);
    let stats = engine.stats();
    let orders = stats.orders;
    let known = [orders.created, orders.inventory_reserved, orders.paid, orders.fulfilled];
    assert_eq!((known, orders.cancelled), ([0; 4], 0));
    assert_eq!(stats.refusals.insufficient, 2 * EACH as u64);
    assert_eq!(engine.order("0/0"), None);
    assert_eq!(engine.stock("A"), Ok(Stock { available: 1, version: 0 }));
    settled(&engine);

    // Any of the ids may try again.
    engine.restock("B", 1).unwrap();
    assert_eq!(reserve(&engine, "1/49999", &[("A", 1), ("B", 1)]), Said::New);
    assert_eq!(engine.orders().count(), 1);
}

#[test]
fn one_id_refused_a_hundred_thousand_times_may_still_try_again() {
    let engine = shop(&[("A", 0)]);
    let _ = engine.create("created", &[("A", 1)]).unwrap();
    for _ in 0..100_000 {
        assert!(engine.reserve("new", &[("A", 1)]).is_err());
        assert!(engine.reserve("created", &[("A", 1)]).is_err());
    }
    assert_eq!(engine.orders().count(), 1);
    engine.restock("A", 2).unwrap();
    assert_eq!(reserve(&engine, "new", &[("A", 1)]), Said::New);
    assert_eq!(reserve(&engine, "created", &[("A", 1)]), Said::New);
    assert_eq!(engine.order("created").unwrap().version, 1);
    assert_eq!(book(&engine, "A"), (0, 2, 0));
}

const MILLION: u32 = 1 << 20;

/// "Aa" and "BB" are the same to every hash that multiplies by 31 and adds a byte, as Java's does; so are these twenty
/// of them in a row, one for each bit of a number.
fn colliding(number: u32) -> String {
    (0..20).map(|bit| if number >> bit & 1 == 0 { "Aa" } else { "BB" }).collect()
}

#[test]
fn a_million_ids_that_collide_under_an_unkeyed_hash() {
    let hash = |id: String| id.bytes().fold(0_u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    assert!((0..1000).all(|n| hash(colliding(n)) == hash(colliding(MILLION - 1 - n))));

    let before = resident_kib();
    support::within(60, move || {
        let engine = shop(&[("A", MILLION.into())]);
        let sku = engine.sku("A").unwrap();
        for n in 0..MILLION {
            assert!(engine.reserve(&colliding(n), &[(sku, 1)]).unwrap().is_new());
        }
        assert_eq!(book(&engine, "A"), (0, MILLION.into(), 0));
        for n in (0..MILLION).step_by(1001) {
            assert!(!engine.reserve(&colliding(n), &[(sku, 1)]).unwrap().is_new());
        }
        // Documented: 77 bytes for an order like these. Other tests run beside this one.
        if let (Some(before), Some(after)) = (before, resident_kib()) {
            let each = after.saturating_sub(before) * 1024 / u64::from(MILLION);
            assert!(each < 100, "{each} bytes for each order");
        }
    });
}

#[test]
fn no_two_engines_hash_alike() {
    // Orders are listed as their hashes lie, so that a list which repeats would tell an attacker which ids collide.
    let listed = || {
        let engine = shop(&[("A", 64)]);
        for n in 0..64 {
            assert_eq!(reserve(&engine, &n.to_string(), &[("A", 1)]), Said::New);
        }
        engine.orders().map(|order| order.id).collect::<Vec<_>>()
    };
    assert_ne!(listed(), listed());
}

// Words.

#[test]
fn every_error_says_what_is_the_matter_and_with_what() {
    let state = State::Cancelled;
    let (from, to) = (State::Paid, State::Created);
    let (expected, actual) = (State::InventoryReserved, State::Paid);
    let current = Stock { available: 4, version: 17 };
    let short = || {
        let line = |sku: &str, wanted| Shortage { sku: sku.into(), wanted, available: 41 };
        Shortages(vec![line("bolts", 42), line("nuts", 43)])
    };
    let sku = || "bolts".into();
    let u = || unknown("bolts");

    tells(Invalid::EmptyKey, &["at least one byte"]);
    tells(Invalid::KeyTooLong { bytes: 256 }, &["at most 255", "256"]);
    tells(Invalid::NoLines, &["at least one line"]);
    tells(Invalid::TooManyLines { skus: 4097 }, &["at most 4096", "4097"]);
    tells(Invalid::ZeroQuantity { sku: sku() }, &["bolts", "at least one"]);
    tells(Invalid::QuantityOverflow { sku: sku() }, &["bolts", "4294967295"]);
    tells(u(), &["bolts", "add_sku"]);
    tells(short(), &["bolts", "42", "41", "nuts", "43"]);

    tells(AddSkuError::Invalid(Invalid::EmptyKey), &["at least one byte"]);
    tells(AddSkuError::Overflow, &[&MAX_UNITS.to_string()]);
    tells(AddSkuError::SkuExists { sku: sku() }, &["bolts", "restock"]);
    tells(AddSkuError::Full, &["full"]);
    tells(RestockError::UnknownSku(u()), &["bolts", "add_sku"]);
    tells(RestockError::Overflow { units: 99 }, &["99", &MAX_UNITS.to_string()]);
    tells(RestockError::Exhausted, &["new SKU"]);
    tells(WriteOffError::UnknownSku(u()), &["bolts", "add_sku"]);
    tells(WriteOffError::Insufficient { wanted: 5, available: 3 }, &["5", "3"]);
    tells(WriteOffError::Exhausted, &["new SKU"]);
    tells(SetAvailableError::UnknownSku(u()), &["bolts", "add_sku"]);
    tells(SetAvailableError::VersionConflict { expected: 16, current }, &["16", "17", "read it again"]);
    tells(SetAvailableError::Overflow { units: 99 }, &["99", &MAX_UNITS.to_string()]);
    tells(SetAvailableError::Exhausted, &["new SKU"]);

    tells(CreateError::Invalid(Invalid::NoLines), &["at least one line"]);
    tells(CreateError::Closed { state }, &["CANCELLED", "new id"]);
    tells(CreateError::LinesDiffer, &["other lines"]);
    tells(CreateError::UnknownSku(u()), &["bolts", "add_sku"]);
    tells(CreateError::Full, &["full"]);
    tells(ReserveError::Invalid(Invalid::NoLines), &["at least one line"]);
    tells(ReserveError::Closed { state }, &["CANCELLED", "new id"]);
    tells(ReserveError::LinesDiffer, &["other lines"]);
    tells(ReserveError::UnknownSku(u()), &["bolts", "add_sku"]);
    tells(ReserveError::Insufficient { short: short() }, &["bolts", "42", "41", "nuts", "43"]);
    tells(ReserveError::Exhausted, &["new SKU", "new id"]);
    tells(ReserveError::Full, &["full"]);

    tells(CancelError::InvalidState { actual: State::Fulfilled }, &["cancel", "FULFILLED"]);
    tells(VoidError::Invalid(Invalid::EmptyKey), &["at least one byte"]);
    tells(VoidError::InvalidState { actual: State::Fulfilled }, &["cancel", "FULFILLED"]);
    tells(VoidError::Full, &["full"]);
    tells(AdvanceError::UnknownOrder, &["unknown order"]);
    tells(AdvanceError::InvalidState { actual }, &["PAID"]);
    tells(TransitionError::NotAllowed { from, to }, &["PAID", "CREATED"]);
    tells(TransitionError::UnknownOrder, &["unknown order"]);
    tells(TransitionError::InvalidState { expected, actual }, &["expected INVENTORY_RESERVED", "PAID"]);
    tells(TransitionError::Insufficient { short: short() }, &["bolts", "42", "41"]);
    tells(TransitionError::Exhausted, &["new SKU", "new id"]);
    tells(TransitionError::PartlyFulfilled, &["in part", "FULFILLED"]);
    tells(CancelLinesError::Invalid(Invalid::NoLines), &["at least one line"]);
    tells(CancelLinesError::UnknownOrder, &["unknown order"]);
    tells(CancelLinesError::Expired, &["expired"]);
    tells(CancelLinesError::InvalidState { actual }, &["PAID"]);
    tells(CancelLinesError::UnknownSku(u()), &["bolts", "add_sku"]);
    tells(CancelLinesError::TooMuch { sku: sku(), wanted: 42, open: 41 }, &["bolts", "42", "41", "open"]);
    tells(CancelLinesError::Exhausted, &["counter", "whole"]);
    tells(CancelLinesError::Full, &["full", "whole"]);
    tells(FulfilLinesError::Invalid(Invalid::NoLines), &["at least one line"]);
    tells(FulfilLinesError::UnknownOrder, &["unknown order"]);
    tells(FulfilLinesError::Expired, &["expired", "pay_or_reserve_again"]);
    tells(FulfilLinesError::InvalidState { actual: expected }, &["INVENTORY_RESERVED"]);
    tells(FulfilLinesError::UnknownSku(u()), &["bolts", "add_sku"]);
    tells(FulfilLinesError::TooMuch { sku: sku(), wanted: 42, open: 41 }, &["bolts", "42", "41", "open"]);
    tells(FulfilLinesError::Exhausted, &["counter", "whole"]);
    tells(FulfilLinesError::Full, &["full", "whole"]);
    tells(AmendError::Invalid(Invalid::NoLines), &["at least one line"]);
    tells(AmendError::UnknownOrder, &["unknown order"]);
    tells(AmendError::Expired, &["expired", "new id"]);
    tells(AmendError::InvalidState { actual: state }, &["CANCELLED"]);
    tells(AmendError::UnknownSku(u()), &["bolts", "add_sku"]);
    tells(AmendError::TooFew { sku: sku(), wanted: 41, settled: 42 }, &["bolts", "41", "42"]);
    tells(AmendError::Insufficient { short: short() }, &["bolts", "42", "41", "nuts", "43"]);
    tells(AmendError::Exhausted, &["new SKU", "new id"]);
    tells(AmendError::Full, &["full"]);
    tells(HoldClosed { state }, &["CANCELLED"]);
}

/// The text is a sentence for people: it has these words, and no names of Rust things.
fn tells(error: impl Display, words: &[&str]) {
    let text = error.to_string();
    assert!(text.len() > 5 && text.len() < 200, "{text:?}");
    for word in words {
        assert!(text.contains(word), "{text:?} does not say {word:?}");
    }
    for noise in ["{", "}", "Some(", "Box", "::", "Shortage"] {
        assert!(!text.contains(noise), "{text:?} says {noise:?}");
    }
}
