//! Class `duplicate-request`: retries, double clicks, repeated deliveries.

use crate::support::{Said::*, *};
use stockade::{Created, Reserved, State};

#[test]
fn c15_a_retry_holds_once_and_names_the_same_reservation() {
    let engine = shop(&[("A", 10)]);
    let first = engine.reserve("O1", &[("A", 2)]).unwrap();
    assert!(first.is_new());
    for _ in 0..2 {
        assert_eq!(engine.reserve("O1", &[("A", 2)]), Ok(Reserved::Replayed(first.reservation())));
    }
    assert_eq!(book(&engine, "A"), (8, 2, 0));
    assert_eq!(cancel(&engine, "O1"), Released(State::InventoryReserved, 2));
    assert_eq!(book(&engine, "A"), (10, 0, 0));
    settled(&engine);
}

#[test]
fn c15_a_retry_in_any_live_state_gets_the_first_result() {
    let engine = shop(&[("A", 10), ("B", 10)]);
    let order = [("A", 2), ("B", 1)];
    let first = engine.reserve("O1", &order).unwrap().reservation();
    let other = engine.reserve("O2", &order).unwrap().reservation();
    assert_ne!(first.number, other.number);

    for reached in [State::InventoryReserved, State::Paid, State::Fulfilled] {
        match reached {
            State::Paid => assert_eq!(pay(&engine, "O1"), Done),
            State::Fulfilled => assert_eq!(fulfil(&engine, "O1"), Done),
            _ => {}
        }
        assert_eq!(state(&engine, "O1"), Some(reached));
        assert_eq!(engine.reserve("O1", &order), Ok(Reserved::Replayed(first)));
    }
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((6, 2, 2), (8, 1, 1)));
    settled(&engine);
}

#[test]
fn c16_twins_in_flight() {
    for threads in [2, 8, 20] {
        for _ in 0..rounds() / threads {
            let engine = shop(&[("A", 10)]);
            let twins = together(threads, |_| engine.reserve("O1", &[("A", 2)]).unwrap());
            assert_eq!(twins.iter().filter(|twin| twin.is_new()).count(), 1);
            assert!(twins.iter().all(|twin| twin.reservation() == twins[0].reservation()));
            assert_eq!(book(&engine, "A"), (8, 2, 0));
            assert_eq!(cancel(&engine, "O1"), Released(State::InventoryReserved, 2));
            assert_eq!(book(&engine, "A"), (10, 0, 0));
            settled(&engine);
        }
    }
}

#[test]
fn c16_twins_of_many_lines_of_which_the_stock_serves_only_one() {
    for _ in 0..rounds() / 3 {
        let engine = shop(&[("A", 2), ("B", 3), ("C", 1)]);
        let one = [("A", 2), ("B", 3), ("C", 1)];
        let two = [("C", 1), ("B", 1), ("A", 2), ("B", 2)];
        let said = together(6, |i| reserve(&engine, "O1", if i % 2 == 0 { &one } else { &two }));
        assert_eq!((count(&said, &New), count(&said, &Replayed)), (1, 5), "{said:?}");
        for (sku, held) in one {
            assert_eq!(book(&engine, sku), (0, u64::from(held), 0));
        }
        settled(&engine);
    }
}

#[test]
fn c16_twins_of_create_and_of_hold() {
    for _ in 0..rounds() / 3 {
        let engine = shop(&[("A", 10)]);
        let made = together(4, |_| engine.create("O1", &[("A", 2)]).unwrap());
        assert_eq!(made.iter().filter(|made| **made == Created::New).count(), 1);
        assert_eq!((book(&engine, "A"), engine.orders().count()), ((10, 0, 0), 1));

        // A twin that is a replay lets go without effect, whatever the moment.
        let new = together(4, |_| {
            let hold = engine.hold("O1", &[("A", 2)]).unwrap();
            let new = hold.reserved().is_new();
            if new {
                assert!(hold.keep().is_ok());
            }
            new
        });
        assert_eq!(new.iter().filter(|new| **new).count(), 1);
        assert_eq!(book(&engine, "A"), (8, 2, 0));
        settled(&engine);
    }
}

#[test]
fn c18_same_id_different_content() {
    let engine = shop(&[("A", 10), ("B", 10)]);
    assert_eq!(reserve(&engine, "O1", &[("A", 2)]), New);
    assert_eq!(reserve(&engine, "O1", &[("A", 3)]), LinesDiffer);
    assert_eq!(reserve(&engine, "O1", &[("A", 2), ("B", 1)]), LinesDiffer);
    assert_eq!(reserve(&engine, "O1", &[("B", 2)]), LinesDiffer);
    assert_eq!(reserve(&engine, "O1", &[("A", 2)]), Replayed);
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((8, 2, 0), (10, 0, 0)));
    settled(&engine);
}

/// What an order was changed to since does not make the first request another one.
#[test]
fn c18_the_request_is_compared_with_the_first_whatever_became_of_the_order() {
    let engine = shop(&[("A", 10), ("B", 10)]);
    let first = engine.reserve("O1", &[("A", 2)]).unwrap().reservation();
    assert_eq!(amend(&engine, "O1", &[("A", 3), ("B", 1)]), Left(4));
    assert_eq!(engine.reserve("O1", &[("A", 2)]), Ok(Reserved::Replayed(first)));
    assert_eq!(reserve(&engine, "O1", &[("A", 3), ("B", 1)]), LinesDiffer);
    assert_eq!((cancel_part(&engine, "O1", &[("A", 3)]), pay(&engine, "O1")), (Left(1), Done));
    assert_eq!(engine.reserve("O1", &[("A", 2)]), Ok(Reserved::Replayed(first)));
    assert_eq!(engine.create("O1", &[("A", 2)]), Ok(Created::Replayed { state: State::Paid }));
    assert_eq!(fulfil_part(&engine, "O1", &[("B", 1)]), Ended(State::Fulfilled));
    assert_eq!(engine.reserve("O1", &[("A", 2)]), Ok(Reserved::Replayed(first)));
    assert_eq!((book(&engine, "A"), book(&engine, "B")), ((10, 0, 0), (9, 0, 1)));
    settled(&engine);
}

/// An amend says where the order is to be, so a repeated one has no second effect, nor have twins in flight.
#[test]
fn c16_twins_of_an_amend() {
    for _ in 0..rounds() / 4 {
        let engine = shop(&[("A", 10), ("B", 1)]);
        assert_eq!(reserve(&engine, "O1", &[("A", 6)]), New);
        let said = together(4, |_| amend(&engine, "O1", &[("A", 9), ("B", 1)]));
        assert!(said.iter().all(|said| *said == Left(10)), "{said:?}");
        assert_eq!((book(&engine, "A"), book(&engine, "B")), ((1, 9, 0), (0, 1, 0)));
        assert_eq!((engine.order("O1").unwrap().version, engine.stock("A").unwrap().version), (2, 2));
        settled(&engine);
    }
}

#[test]
fn c18_same_id_different_content_at_once() {
    for _ in 0..rounds() {
        let engine = shop(&[("A", 10)]);
        let wanted = [1, 4];
        let said = together(2, |i| reserve(&engine, "O2", &[("A", wanted[i])]));
        assert_eq!((count(&said, &New), count(&said, &LinesDiffer)), (1, 1), "{said:?}");
        let won = wanted[usize::from(said[1] == New)];
        assert_eq!(lines(&engine, "O2"), [("A".to_string(), won)]);
        assert_eq!(book(&engine, "A"), (10 - u64::from(won), u64::from(won), 0));
        settled(&engine);
    }
}

#[test]
fn c18_a_created_order_is_not_replaced_either() {
    for _ in 0..rounds() {
        let engine = shop(&[("A", 10)]);
        let yes = together(2, |i| match i {
            0 => engine.create("O1", &[("A", 1)]).is_ok(),
            _ => engine.reserve("O1", &[("A", 4)]).is_ok(),
        });
        assert!(yes[0] != yes[1], "{yes:?}");
        let (quantity, now) = if yes[0] { (1, State::Created) } else { (4, State::InventoryReserved) };
        assert_eq!(lines(&engine, "O1"), [("A".to_string(), quantity)]);
        assert_eq!(state(&engine, "O1"), Some(now));
        assert_eq!(book(&engine, "A"), if yes[0] { (10, 0, 0) } else { (6, 4, 0) });
    }
}

#[test]
fn c19_a_refusal_is_not_remembered() {
    let engine = shop(&[("A", 0)]);
    assert_eq!(reserve(&engine, "O1", &[("A", 1)]), short(&["A"]));
    engine.restock("A", 1).unwrap();
    assert_eq!(reserve(&engine, "O1", &[("A", 1)]), New);
    assert_eq!(reserve(&engine, "O1", &[("A", 1)]), Replayed);
    assert_eq!(book(&engine, "A"), (0, 1, 0));
    settled(&engine);
}

#[test]
fn c19_neither_are_its_lines_nor_the_way_it_was_asked() {
    let engine = shop(&[("A", 1), ("B", 0)]);
    for n in 0..100 {
        assert_eq!(reserve(&engine, "O1", &[("A", 1), ("B", 1 + n)]), short(&["B"]));
        assert!(engine.hold("O1", &[("B", 1)]).is_err());
    }
    assert_eq!(state(&engine, "O1"), None);
    assert_eq!(reserve(&engine, "O1", &[("A", 1)]), New);

    // A created order that was refused stays CREATED at version 0 and tries again.
    let _ = engine.create("O2", &[("B", 2)]).unwrap();
    for _ in 0..100 {
        assert_eq!(reserve(&engine, "O2", &[("B", 2)]), short(&["B"]));
        assert!(engine.transition("O2", State::Created, State::InventoryReserved).is_err());
    }
    assert_eq!(engine.order("O2").unwrap().version, 0);
    engine.restock("B", 2).unwrap();
    assert_eq!(reserve(&engine, "O2", &[("B", 2)]), New);
    assert_eq!(engine.order("O2").unwrap().version, 1);
    settled(&engine);
}

#[test]
fn c19_the_retry_races_the_restock() {
    for _ in 0..rounds() {
        let engine = shop(&[("A", 0), ("B", 5)]);
        let order = [("A", 1), ("B", 1)];
        let said = together(3, |i| match i {
            0 => engine.restock("A", 1).map(|_| Done).unwrap(),
            _ => reserve(&engine, "O1", &order),
        });
        let last = reserve(&engine, "O1", &order);
        let yes = said[1..].iter().chain([&last]).filter(|said| **said == New).count();
        assert_eq!(yes, 1, "{said:?} {last:?}");
        assert_eq!((book(&engine, "A"), book(&engine, "B")), ((0, 1, 0), (4, 1, 0)));
        settled(&engine);
    }
}

#[test]
fn c21_a_retry_that_was_read_before_the_order_ended() {
    for _ in 0..rounds() {
        let engine = shop(&[("A", 10)]);
        assert_eq!(reserve(&engine, "O1", &[("A", 2)]), New);
        let said = together(2, |i| match i {
            0 => reserve(&engine, "O1", &[("A", 2)]),
            _ => cancel(&engine, "O1"),
        });
        assert!(said[0] == Replayed || said[0] == Closed(State::Cancelled), "{said:?}");
        assert_eq!(said[1], Released(State::InventoryReserved, 2));
        assert_eq!(state(&engine, "O1"), Some(State::Cancelled));
        assert_eq!(reserve(&engine, "O1", &[("A", 2)]), Closed(State::Cancelled));
        assert_eq!(book(&engine, "A"), (10, 0, 0));
        settled(&engine);
    }
}

#[test]
fn c21_the_first_try_itself_meets_cancels_and_retries() {
    for _ in 0..rounds() {
        let engine = shop(&[("A", 10)]);
        let said = together(4, |i| match i {
            0 | 1 => reserve(&engine, "O1", &[("A", 2)]),
            _ => cancel(&engine, "O1"),
        });
        // A cancel that came before the order has no effect, so the order may stand at the end.
        let released = count(&said, &Released(State::InventoryReserved, 2));
        assert_eq!(count(&said, &New), 1, "{said:?}");
        assert!(released <= 1, "{said:?}");
        assert_eq!(book(&engine, "A"), if released == 1 { (10, 0, 0) } else { (8, 2, 0) });
        settled(&engine);
    }
}
