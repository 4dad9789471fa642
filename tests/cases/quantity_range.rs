//! Class `quantity-range`: numbers at the edge of their type. More edges are in `limits.rs`.

use crate::support::{Said::*, *};
use stockade::{CreateError, Invalid, ReserveError, State};

/// Part cancel left for later; the type has no negative quantities.
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
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((998, 0, 0), (6, 3, 0)));
    settled(&engine);
}

/// Part cancel left for later.
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
    for (id, part) in [("R1", 333), ("R2", 333), ("R3", 334)] {
        assert_eq!(reserve(&engine, id, &[("A", part)]), New);
    }
    assert_eq!(book(&engine, "A"), (0, 1000, 0));
    for (id, part, back) in [("R1", 333, 333), ("R2", 333, 666), ("R3", 334, 1000)] {
        assert_eq!(cancel(&engine, id), Released(State::InventoryReserved, part));
        assert_eq!(book(&engine, "A"), (back, 1000 - back, 0));
    }
    settled(&engine);
}
