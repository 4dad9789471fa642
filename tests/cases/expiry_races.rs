//! Class `hold-expiry`, the same kind of fault wherever it can happen: a deadline that comes while somebody pays,
//! extends, buys, pays late or looks. One of them wins, everybody learns how it ended, and the owner is told once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{Said::*, *};
use stockade::{CancelReason, ManualClock, State, Stockade};

/// The clock gets to 10, then everything that is due goes.
fn sweep(engine: &Stockade, clock: &ManualClock) -> Vec<String> {
    at(clock, 10);
    expire(engine)
}

#[test]
fn c43_sweeper_meets_an_extension() {
    let mut extended = 0;
    for _ in 0..rounds() {
        let (engine, clock) = timed_shop(&[("A", 1), ("B", 1)]);
        assert_eq!(reserve_for(&engine, "O1", &[("B", 1), ("A", 1)], 10), New);
        at(&clock, 9);
        let (said, swept) = both(|| extend(&engine, "O1", 10), || sweep(&engine, &clock));
        if said == Until(19) {
            assert_eq!((swept, deadline(&engine, "O1")), (vec![], Some(19)));
            assert_eq!(reserve(&engine, "O2", &[("A", 1)]), short(&["A"]));
            clock.set_ms(18_999);
            assert_eq!((expire(&engine), state(&engine, "O1")), (vec![], Some(State::InventoryReserved)));
            at(&clock, 19);
            assert_eq!(expire(&engine), ["O1"]);
            extended += 1;
        } else {
            assert_eq!((said, swept), (Expired, vec!["O1".to_string()]));
        }
        assert_eq!(reason(&engine, "O1"), Some(CancelReason::Expired));
        assert_eq!((book(&engine, "A"), book(&engine, "B")), ((1, 0, 0), (1, 0, 0)));
        at(&clock, 99);
        assert_eq!(expire(&engine), [""; 0]);
        settled(&engine);
    }
    println!("extended in time in {extended} of {} rounds", rounds());
}

#[test]
fn c43_sweeper_meets_another_buyer() {
    for _ in 0..rounds() {
        let (engine, clock) = timed_shop(&[("A", 1)]);
        assert_eq!(reserve_for(&engine, "O1", &[("A", 1)], 10), New);
        at(&clock, 9);
        let (buyer, swept) = both(|| reserve_for(&engine, "O2", &[("A", 1)], 10), || sweep(&engine, &clock));
        assert_eq!(swept, ["O1"]);
        assert_eq!(reason(&engine, "O1"), Some(CancelReason::Expired));
        if buyer == New {
            assert_eq!(book(&engine, "A"), (0, 1, 0));
            // He may have read the clock at 9 and still have found the hold dead.
            assert!(matches!(deadline(&engine, "O2"), Some(19 | 20)));
        } else {
            assert_eq!((buyer, book(&engine, "A")), (short(&["A"]), (1, 0, 0)));
        }
        settled(&engine);
    }
}

/// The hold is dead before anybody starts: nobody can be refused for it, swept or not.
#[test]
fn c43_of_the_buyers_of_a_dead_hold_one_gets_it() {
    for _ in 0..rounds() {
        let (engine, clock) = timed_shop(&[("A", 1)]);
        assert_eq!(reserve_for(&engine, "O1", &[("A", 1)], 10), New);
        at(&clock, 10);
        let said = together(4, |i| match i {
            0 => pay(&engine, "O1"),
            1 => extend(&engine, "O1", 10),
            i => reserve(&engine, &format!("O{i}"), &[("A", 1)]),
        });
        assert_eq!(said[..2], [Expired, Expired]);
        assert_eq!((count(&said, &New), count(&said, &short(&["A"]))), (1, 1), "{said:?}");
        assert_eq!((expire(&engine), book(&engine, "A")), (vec!["O1".to_string()], (0, 1, 0)));
        settled(&engine);
    }
}

#[test]
fn c43_everybody_at_the_same_tick() {
    let mut expired = 0;
    for _ in 0..rounds() {
        let (engine, clock) = timed_shop(&[("A", 1)]);
        assert_eq!(reserve_for(&engine, "O1", &[("A", 1)], 10), New);
        at(&clock, 9);
        let said = together(4, |i| match i {
            0 => (pay(&engine, "O1"), vec![]),
            1 => (extend(&engine, "O1", 10), vec![]),
            2 => (reserve(&engine, "O2", &[("A", 1)]), vec![]),
            _ => (Done, sweep(&engine, &clock)),
        });
        let (swept, [payer, extender, buyer]) = (&said[3].1, [0, 1, 2].map(|i| &said[i].0));
        if swept.is_empty() {
            assert_eq!((payer, buyer), (&Done, &short(&["A"])));
            assert!([Until(19), InvalidState(State::Paid)].contains(extender), "{said:?}");
            assert_eq!((state(&engine, "O1"), deadline(&engine, "O1")), (Some(State::Paid), None));
        } else {
            assert_eq!((swept.as_slice(), payer, extender), (&["O1".to_string()][..], &Expired, &Expired));
            assert!([New, short(&["A"])].contains(buyer), "{said:?}");
            assert_eq!(reason(&engine, "O1"), Some(CancelReason::Expired));
            expired += 1;
        }
        let held = u64::from(*payer == Done || *buyer == New);
        assert_eq!(book(&engine, "A"), (1 - held, held, 0));
        at(&clock, 99);
        assert_eq!((expire(&engine), book(&engine, "A")), (vec![], (1 - held, held, 0)));
        settled(&engine);
    }
    println!("expired in {expired} of {} rounds", rounds());
}

#[test]
fn c43_extended_paid_and_cancelled_at_the_same_tick() {
    for _ in 0..rounds() {
        let (engine, clock) = timed_shop(&[("A", 2), ("B", 1)]);
        assert_eq!(reserve_for(&engine, "O1", &[("A", 2), ("B", 1)], 10), New);
        at(&clock, 9);
        let said = together(4, |i| match i {
            0 => (pay(&engine, "O1"), vec![]),
            1 => (extend(&engine, "O1", 10), vec![]),
            2 => (cancel(&engine, "O1"), vec![]),
            _ => (Done, sweep(&engine, &clock)),
        });
        let (swept, [payer, extender, closer]) = (&said[3].1, [0, 1, 2].map(|i| &said[i].0));
        let closed = InvalidState(State::Cancelled);
        if swept.is_empty() {
            let from = if *payer == Done { State::Paid } else { State::InventoryReserved };
            assert!(*payer == Done || *payer == closed, "{said:?}");
            assert_eq!(*closer, Released(from, 3), "{said:?}");
            let paid = *payer == Done && *extender == InvalidState(State::Paid);
            assert!(paid || *extender == Until(19) || *extender == closed, "{said:?}");
            assert_eq!(reason(&engine, "O1"), Some(CancelReason::Cancelled));
        } else {
            assert_eq!(
                (swept.as_slice(), payer, extender, closer),
                (&["O1".to_string()][..], &Expired, &Expired, &Already)
            );
            assert_eq!(reason(&engine, "O1"), Some(CancelReason::Expired));
        }
        at(&clock, 99);
        assert_eq!((expire(&engine), book(&engine, "A"), book(&engine, "B")), (vec![], (2, 0, 0), (1, 0, 0)));
        settled(&engine);
    }
}

/// Each buyer finds the dead hold on a row of his own, and a third needs both.
#[test]
fn c51_the_rows_of_a_dead_hold_are_free_together() {
    for _ in 0..rounds() {
        let (engine, clock) = timed_shop(&[("A", 1), ("B", 1)]);
        assert_eq!(reserve_for(&engine, "O1", &[("A", 1), ("B", 1)], 10), New);
        at(&clock, 10);
        let orders: [&[_]; 3] = [&[("A", 1)], &[("B", 1)], &[("B", 1), ("A", 1)]];
        let said = together(3, |i| reserve(&engine, &format!("O{}", i + 2), orders[i]));
        if said[2] == New {
            assert_eq!(said[..2], [short(&["A"]), short(&["B"])]);
        } else {
            assert_eq!(said[..2], [New, New]);
            assert!([short(&["A"]), short(&["B"]), short(&["A", "B"])].contains(&said[2]), "{said:?}");
        }
        assert_eq!((book(&engine, "A"), book(&engine, "B")), ((0, 1, 0), (0, 1, 0)));
        assert_eq!(expire(&engine), ["O1"]);
        settled(&engine);
    }
}

/// Two rows in one hold: whoever looks at one and then at the other finds both free, or in the first still held.
#[test]
fn c51_no_reader_sees_half_a_dead_hold() {
    for _ in 0..rounds() {
        let (engine, clock) = timed_shop(&[("A", 1), ("B", 1)]);
        assert_eq!(reserve_for(&engine, "O1", &[("A", 1), ("B", 1)], 10), New);
        at(&clock, 9);
        let (seen, swept) = both(
            || [("A", "B"), ("B", "A")].map(|(one, other)| (free(&engine, one), free(&engine, other))),
            || sweep(&engine, &clock),
        );
        assert!(seen.iter().all(|(one, other)| one <= other) && seen[0].1 <= seen[1].0, "{seen:?}");
        assert_eq!(swept, ["O1"]);
        settled(&engine);
    }
}

#[test]
fn c50_late_payment_meets_another_buyer() {
    let mut answers = [0; 3];
    for _ in 0..rounds() {
        let (engine, clock) = timed_shop(&[("A", 1), ("B", 1)]);
        assert_eq!(reserve_for(&engine, "O1", &[("A", 1), ("B", 1)], 10), New);
        at(&clock, 9);
        let said = together(3, |i| match i {
            0 => (pay_again(&engine, "O1"), vec![]),
            1 => (reserve(&engine, "O2", &[("B", 1)]), vec![]),
            _ => (Done, sweep(&engine, &clock)),
        });
        let told = said[2].1 == ["O1"];
        assert!(told || said[2].1.is_empty(), "{said:?}");
        let (answer, allowed) = match (&said[0].0, &said[1].0) {
            (Done, buyer) => (0, *buyer == short(&["B"]) && !told),
            // Told or not: the sweep may have come before it was revived, or after.
            (Again, buyer) => (1, *buyer == short(&["B"])),
            (late, buyer) => (2, *late == short(&["B"]) && *buyer == New && told),
        };
        assert!(allowed, "{said:?}");
        answers[answer] += 1;
        let paid = answer < 2;
        assert_eq!(state(&engine, "O1"), Some(if paid { State::Paid } else { State::Cancelled }));
        assert_eq!((book(&engine, "A"), book(&engine, "B")), (if paid { (0, 1, 0) } else { (1, 0, 0) }, (0, 1, 0)));
        at(&clock, 99);
        assert_eq!(expire(&engine), [""; 0]);
        settled(&engine);
    }
    println!("in time, again, too late: {answers:?}");
}

/// Sweepers beside those who let go in passing: whoever does it, the owner is told by a sweeper, and once.
#[test]
fn c44_sweepers_and_passers_by() {
    for _ in 0..rounds() / 10 {
        let (engine, clock) = timed_shop(&[("A", 60), ("B", 60)]);
        let ids: Vec<_> = (0..60).map(|n| format!("O{n:02}")).collect();
        for (n, id) in (0..).zip(&ids) {
            assert_eq!(reserve_for(&engine, id, &[(["A", "B"][n % 2], 1)], 10 + n as u64 / 20), New);
        }
        at(&clock, 12);
        let swept = together(5, |i| match i {
            0 | 1 => expire(&engine),
            2 => {
                assert_eq!(reserve(&engine, "BIG", &[("A", 60)]), New);
                vec![]
            }
            3 => {
                assert_eq!(free(&engine, "B"), 60);
                vec![]
            }
            _ => {
                assert!(engine.orders().all(|order| order.id == "BIG" || reason(&engine, &order.id).is_some()));
                vec![]
            }
        });
        assert!(swept.iter().all(|ids| ids.is_sorted()), "{swept:?}");
        let mut all = swept.concat();
        all.sort();
        assert_eq!(all, ids);
        assert_eq!((expire(&engine), engine.stats().expired), (vec![], 60));
        assert_eq!((book(&engine, "A"), book(&engine, "B")), ((0, 60, 0), (60, 0, 0)));
        settled(&engine);
    }
}

/// An order of many lines that ends at 10, now at 5, so that to extend it takes its time.
fn held_by_many_lines() -> (Stockade, Arc<ManualClock>) {
    let names: Vec<_> = (0..20).map(|n| format!("R{n}")).collect();
    let rows: Vec<_> = names.iter().map(|name| (name.as_str(), 1)).collect();
    let order: Vec<_> = names.iter().map(|name| (name.as_str(), 1)).collect();
    let (engine, clock) = timed_shop(&rows);
    assert_eq!(reserve_for(&engine, "O1", &order, 10), New);
    at(&clock, 5);
    (engine, clock)
}

/// The clock gets to the new deadline while the extension is still at work, and a buyer comes across the hold.
#[test]
fn c44_an_extension_overtaken_by_its_own_deadline_is_told() {
    let mut extended = 0;
    for _ in 0..rounds() * 5 {
        let (engine, clock) = held_by_many_lines();
        let (said, buyer) = both(
            || extend(&engine, "O1", 10),
            || {
                at(&clock, 15);
                reserve(&engine, "O2", &[("R7", 1)])
            },
        );
        assert!([Until(15), Expired].contains(&said), "{said:?}");
        extended += usize::from(said == Until(15));
        assert_eq!((buyer, reason(&engine, "O1")), (New, Some(CancelReason::Expired)));
        assert_eq!(expire(&engine), ["O1"], "{said:?}");
        assert_eq!((book(&engine, "R0"), book(&engine, "R7")), ((1, 0, 0), (0, 1, 0)));
        settled(&engine);
    }
    println!("extended in time in {extended} of {} rounds", rounds() * 5);
}

/// Five tabs extend one hold to the same instant, and the sweeper is close behind. More threads than processors, so
/// that now and then one is stopped in the middle of it.
#[test]
fn c44_extensions_to_one_instant_are_told_once() {
    for _ in 0..rounds() * 5 {
        let (engine, clock) = held_by_many_lines();
        let said = together(6, |i| match i {
            0..5 => (extend(&engine, "O1", 10), vec![]),
            _ => {
                at(&clock, 15);
                (Done, expire(&engine))
            }
        });
        assert!(said[..5].iter().all(|(said, _)| [Until(15), Expired].contains(said)), "{said:?}");
        assert_eq!(said[5].1, ["O1"]);
        at(&clock, 99);
        assert_eq!(expire(&engine), [""; 0], "told once more: {said:?}");
        settled(&engine);
    }
}

/// A hold so short that it is over while those who help to take it are still at work.
#[test]
fn c44_a_hold_that_ends_while_it_is_taken_is_told_once() {
    for round in 0..rounds() {
        let (engine, clock) = timed_shop(&[("A", 20), ("B", 20)]);
        let over = AtomicBool::new(false);
        let told = together(3, |i| {
            let mut told = vec![];
            if i < 2 {
                for n in 0..10 {
                    let order = [("A", 1), ("B", 1)];
                    assert_eq!(said(engine.reserve_for(&format!("O{i}{n}"), &order, 1)), New);
                }
                over.store(true, Ordering::Release);
            } else {
                while !over.load(Ordering::Acquire) {
                    clock.advance_ms(1);
                    told.extend(expire(&engine));
                }
            }
            told
        });
        clock.advance_ms(99);
        let mut all = [told.concat(), expire(&engine), expire(&engine)].concat();
        all.sort();
        let ids: Vec<_> = (0..20).map(|n| format!("O{n:02}")).collect();
        assert_eq!(all, ids, "round {round}");
        assert_eq!((book(&engine, "A"), book(&engine, "B")), ((20, 0, 0), (20, 0, 0)));
        settled(&engine);
    }
}

/// An order that grows while its deadline comes: in time or not, no unit of it stands in anybody's way afterwards.
#[test]
fn c48_a_change_in_part_meets_the_deadline() {
    let mut in_time = 0;
    for round in 0..rounds() {
        let (engine, clock) = timed_shop(&[("A", 2), ("B", 1)]);
        assert_eq!(reserve_for(&engine, "O1", &[("A", 1)], 10), New);
        at(&clock, 9);
        let (changed, second) = both(
            || match round % 2 {
                0 => amend(&engine, "O1", &[("A", 2), ("B", 1)]),
                _ => cancel_part(&engine, "O1", &[("A", 1)]),
            },
            || {
                at(&clock, 10);
                reserve(&engine, "O2", &[("A", 2), ("B", 1)])
            },
        );
        assert_eq!(second, New, "beside {changed:?}");
        let (is_amended, is_cancelled) = (changed == Left(3), changed == Ended(State::Cancelled));
        assert!(is_amended || is_cancelled || changed == Expired, "{changed:?}");
        in_time += usize::from(changed != Expired);
        let expected = if is_cancelled { CancelReason::Cancelled } else { CancelReason::Expired };
        assert_eq!(reason(&engine, "O1"), Some(expected));
        assert_eq!(expire(&engine).len(), usize::from(!is_cancelled), "told once, if it has expired");
        assert_eq!((book(&engine, "A"), book(&engine, "B")), ((0, 2, 0), (0, 1, 0)));
        settled(&engine);
    }
    println!("changed in time in {in_time} of {} rounds", rounds());
}
