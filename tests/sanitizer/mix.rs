//! Random verbs of many threads over few rows and ids, with audits beside them, until every step of the protocol
//! has been passed: growth, helping, refusals in a race and the memory they leave; and in an engine that remembers few
//! keys and soon forgets what has ended, so that records are used again while others still look at them.

use std::collections::HashSet;

use stockade_hooked::hooks::Step;
use stockade_hooked::{Keep, RequestKey, State, Stockade};

use crate::pace::{self, Dice};

const THREADS: usize = 4;
const TURNS: usize = 100_000;

pub fn run() {
    let mut passed = verbs(Box::leak(Box::default()));
    let forgetful = Stockade::builder().keep_finished(Keep::Newest(64)).keep_keys(8).build().unwrap();
    passed.extend(verbs(Box::leak(Box::new(forgetful))));
    let missing: Vec<_> = Step::ALL.iter().filter(|step| !passed.contains(step)).collect();
    assert!(missing.is_empty(), "never passed: {missing:?}");
}

/// The steps that were passed.
fn verbs(shop: &'static Stockade) -> HashSet<Step> {
    for (sku, units) in [("A", 1), ("B", 2), ("C", 30)] {
        shop.add_sku(sku, units).unwrap();
    }
    let workers = (0..THREADS).map(|worker| {
        pace::spawn(worker, move |mut dice| {
            for turn in 0..TURNS {
                // Ids that all threads use at the same time, and new ones after a while.
                let id = format!("{}/{}", turn / 20, dice.roll(6));
                match dice.roll(8) {
                    0 => any_request(shop, turn, &mut dice),
                    1 if dice.roll(8) == 0 => _ = shop.forget_finished(dice.roll(300)),
                    _ => any_verb(shop, &id, &mut dice),
                }
                if turn.is_multiple_of(2_000) {
                    let audit = shop.audit();
                    assert!(audit.is_sound(), "{audit:?}");
                }
            }
        })
    });
    let workers: Vec<_> = workers.collect();
    let passed: HashSet<Step> = workers.into_iter().flat_map(|worker| worker.join().unwrap().1).collect();
    let audit = shop.audit();
    assert!(audit.is_sound() && audit.in_motion.is_empty(), "{audit:?}");
    println!("{} random verbs: {:?}", THREADS * TURNS, shop.stats());
    passed
}

/// Mostly the same requests from all threads at about the same time, some a little late.
fn any_request(shop: &Stockade, turn: usize, dice: &mut Dice) {
    let (issued, number) = ((turn / 20).saturating_sub(dice.roll(6)), dice.roll(6));
    let id = format!("{issued}/{number}");
    let keyed = shop.keyed(RequestKey { id: &id, issued: issued as u64 });
    match if dice.roll(20) == 0 { dice.roll(6) } else { (issued + number) % 6 } {
        0 => _ = keyed.restock("B", 1),
        1 => _ = keyed.write_off("B", 1),
        2 if dice.roll(4) == 0 => _ = keyed.set_available("A", shop.stock("A").unwrap().version, 1),
        2 | 3 => _ = keyed.cancel_lines(&id, &[("B", 1)]),
        4 => _ = keyed.amend(&id, &[("C", 2), ("A", 1)]),
        _ => _ = keyed.fulfil_lines(&id, &[("C", 1)]),
    }
}

fn any_verb(shop: &Stockade, id: &str, dice: &mut Dice) {
    let lines: [&[(&str, u32)]; 6] = [
        &[("A", 1)],
        &[("B", 1)],
        &[("A", 1), ("B", 1)],
        &[("C", 1), ("B", 1), ("A", 1)],
        &[("C", 3)],
        &[("C", 2), ("A", 1)],
    ];
    // Nearly always the lines that belong to the id.
    let own = id.bytes().last().unwrap_or_default() as usize;
    let lines = lines[if dice.roll(20) == 0 { dice.roll(6) } else { own } % 6];
    match dice.roll(24) {
        0 => _ = shop.create(id, lines),
        1..=5 => _ = shop.reserve(id, lines),
        6 => _ = shop.hold(id, lines).map(|hold| hold.keep()),
        7 => drop(shop.hold(id, lines)),
        8 | 9 => _ = shop.cancel(id),
        10 => _ = shop.void(id),
        11 => _ = shop.pay(id),
        // Holds that end while others look.
        16 => _ = shop.reserve_for(id, lines, 1 + dice.roll(3) as u64),
        17 => _ = shop.extend(id, 4),
        18 => _ = shop.pay_or_reserve_again(id),
        19 => _ = shop.expire_due(3),
        // Orders that are changed in part.
        20 => _ = shop.cancel_lines(id, &[(lines[0].0, 1)]),
        21 => _ = shop.amend(id, &[(lines[0].0, 1 + dice.roll(3) as u32), ("B", 1)]),
        22 => _ = shop.amend(id, lines),
        23 if dice.roll(10) == 0 && shop.fulfil_lines(id, &[("C", 1)]).is_ok() => _ = shop.restock("C", 1),
        12 if dice.roll(50) == 0 => _ = shop.fulfil(id),
        12 => _ = shop.transition(id, State::Paid, State::Cancelled),
        13 => _ = shop.transition(id, State::Created, State::InventoryReserved),
        14 if dice.roll(2) == 0 => _ = shop.restock("B", 1),
        14 => _ = shop.write_off("B", 1),
        _ => {
            let seen = shop.stock("A").unwrap();
            _ = shop.set_available("A", seen.version, 1);
        }
    }
}
