//! Class `quantity-range`: numbers at the edge of their type. More edges are in `limits.rs`.

use crate::support::{Said::*, *};
use stockade::{CreateError, Invalid, ReserveError, State};

/// The type has no negative quantities.
#[test]
fn c67_zero_quantities() {
    let engine = shop(&[("A", 998), ("B", 9)]);
    let zero = || Invalid::ZeroQuantity { sku: "A".into() };
    let nothing: [(&str, u32); 0] = [];
    assert_eq!(engine.reserve("O1", &[("A", 0)]), Err(ReserveError::Invalid(zero())));
    assert_eq!(engine.reserve("O3", &[("B", 3), ("A", 0)]), Err(ReserveError::Invalid(zero())));
    assert_eq!(engine.reserve("O4", &nothing), Err(ReserveError::Invalid(Invalid::NoLines)));
    // A zero that a second line of the SKU would make good, and the other verbs.
    assert_eq!(engine.reserve("O6", &[("A", 0), ("A", 1)]), Err(ReserveError::Invalid(zero())));
    assert_eq!(engine.create("O7", &[("A", 0)]), Err(CreateError::Invalid(zero())));
    assert_eq!(engine.create("O8", &nothing), Err(CreateError::Invalid(Invalid::NoLines)));
    assert_eq!(engine.hold("O9", &[("A", 0)]).err(), Some(ReserveError::Invalid(zero())));
    assert_eq!(engine.hold("O10", &nothing).err(), Some(ReserveError::Invalid(Invalid::NoLines)));
    assert_eq!(engine.orders().count(), 0);

    assert_eq!(reserve(&engine, "O5", &[("B", 3)]), New);
    let order = engine.order("O5");
    for lines in [&[("B", 0)][..], &[("B", 1), ("A", 0)], &[("B", 0), ("B", 1)], &[]] {
        assert_eq!(cancel_part(&engine, "O5", lines), Invalid);
        assert_eq!(fulfil_part(&engine, "O5", lines), Invalid);
        assert_eq!(amend(&engine, "O5", lines), Invalid);
    }
    assert_eq!(engine.order("O5"), order);
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((998, 0, 0), (6, 3, 0)));
    settled(&engine);
}

#[test]
fn c70_thousandths_add_up() {
    let engine = shop(&[("A", 1000)]);
    for n in 0..10 {
        assert_eq!(reserve(&engine, &format!("O{n}"), &[("A", 100)]), New);
    }
    assert_eq!(book(&engine, "A"), (0, 1000, 0));
    assert_eq!(reserve(&engine, "P", &[("A", 1)]), short(&["A"]));
    for n in 0..10 {
        assert_eq!(cancel(&engine, &format!("O{n}")), Released(State::InventoryReserved, 100));
    }
    assert_eq!(book(&engine, "A"), (1000, 0, 0));
    assert_eq!(reserve(&engine, "R", &[("A", 1000)]), New);
    for (part, back) in [(333, 333), (333, 666), (334, 1000)] {
        let expected = if back == 1000 { Ended(State::Cancelled) } else { Left(1000 - back) };
        assert_eq!(cancel_part(&engine, "R", &[("A", part)]), expected);
        assert_eq!(book(&engine, "A"), (back, 1000 - back, 0));
    }
    assert_eq!(cancel_part(&engine, "R", &[("A", 1)]), InvalidState(State::Cancelled));
    settled(&engine);
}

/// A thousand thousandths, each cancelled or fulfilled alone: nothing is left over, and the last one ends the order.
#[test]
fn c70_thousandths_one_by_one() {
    for fulfilled in [0, 1, 500, 999, 1000] {
        let engine = shop(&[("A", 1000)]);
        assert_eq!((reserve(&engine, "R", &[("A", 1000)]), pay(&engine, "R")), (New, Done));
        let end = if fulfilled == 0 { State::Cancelled } else { State::Fulfilled };
        for n in 0..1000 {
            let verb = if n % 1000 < fulfilled { fulfil_part } else { cancel_part };
            let expected = if n == 999 { Ended(end) } else { Left(999 - n) };
            assert_eq!(verb(&engine, "R", &[("A", 1)]), expected);
        }
        assert_eq!(book(&engine, "A"), (1000 - fulfilled, 0, fulfilled));
        settled(&engine);
    }
}
