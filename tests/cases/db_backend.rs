//! Class `db-backend`: outcomes a database behind the engine will have to match, from the engine alone.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use crate::support::{Said::*, *};
use stockade::State;

/// Database backend left for later.
#[test]
fn c99_no_error_of_the_machinery_reaches_a_caller() {
    for _ in 0..rounds() / 10 {
        let engine = shop(&[("A", 10)]);
        for n in 0..10 {
            engine.add_sku(&format!("B{n}"), 1).unwrap();
        }
        let said = together(20, |i| match i {
            0..10 => reserve(&engine, &format!("O{i}"), &[("A", 1)]),
            _ => reserve(&engine, &format!("P{i}"), &[(&format!("B{}", i - 10), 1)]),
        });
        assert_eq!(count(&said, &New), 20, "{said:?}");
        assert_eq!(book(&engine, "A"), (0, 10, 0));
        assert_eq!(reserve(&engine, "Q", &[("A", 1)]), short(&["A"]));
        settled(&engine);
    }
}

/// Database backend left for later. The 30 seconds at the payment provider are a wait for the other two.
#[test]
fn c101_a_row_is_not_locked_during_payment() {
    within(30, || {
        let engine = shop(&[("A", 2)]);
        let (at_the_provider, others_done) = (Barrier::new(3), Barrier::new(3));
        let said = together(3, |i| match i {
            0 => {
                let first = reserve(&engine, "O1", &[("A", 1)]);
                at_the_provider.wait();
                others_done.wait();
                (vec![first, pay(&engine, "O1")], Duration::ZERO)
            }
            i => {
                at_the_provider.wait();
                let asked = Instant::now();
                let said = match i {
                    1 => reserve(&engine, "O2", &[("A", 1)]),
                    _ => cancel(&engine, "O1"),
                };
                let took = asked.elapsed();
                others_done.wait();
                (vec![said], took)
            }
        });
        assert_eq!(said[0].0, [New, InvalidState(State::Cancelled)]);
        assert_eq!(said[1].0, [New]);
        assert_eq!(said[2].0, [Released(State::InventoryReserved, 1)]);
        assert!(said.iter().all(|(_, took)| *took < Duration::from_millis(500)), "{said:?}");
        assert_eq!(book(&engine, "A"), (1, 1, 0));
        settled(&engine);
    });
}
