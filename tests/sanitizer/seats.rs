//! Two seats of one unit each. Whoever holds a seat, or both, uses its plain memory; there are many ways to take
//! a seat and to give it back.

use stockade_hooked::{Advanced, Cancelled, Reserved, State, Stockade};

use crate::pace::{self, Dice};
use crate::plain::Plain;

const THREADS: usize = 4;
const TURNS: usize = 50_000;
const SEATS: [&str; 2] = ["left", "right"];

#[derive(Default)]
struct Hall {
    shop: Stockade,
    memory: [Plain; 2],
}

pub fn run() {
    let hall: &Hall = Box::leak(Box::default());
    for seat in SEATS {
        hall.shop.add_sku(seat, 1).unwrap();
    }
    let guests: Vec<_> = (0..THREADS)
        .map(|guest| {
            pace::spawn(guest, move |mut dice| {
                (0..TURNS).map(|turn| sit(hall, &format!("{guest}/{turn}"), &mut dice)).sum::<u64>()
            })
        })
        .collect();
    let sat: u64 = guests.into_iter().map(|guest| guest.join().unwrap().0).sum();
    let touched: u64 = hall.memory.iter().map(|plain| plain.touch() - 1).sum();
    assert_eq!(sat, touched);
    assert!(hall.shop.audit().is_sound());
    println!("two seats, taken {sat} times in {} turns", THREADS * TURNS);
}

/// Tries to take one seat or both; how many were taken.
fn sit(hall: &Hall, id: &str, dice: &mut Dice) -> u64 {
    let wanted = [&[0][..], &[1], &[0, 1], &[1, 0]][dice.roll(4)];
    let lines: Vec<_> = wanted.iter().map(|seat| (SEATS[*seat], 1)).collect();
    let shop = &hall.shop;
    let use_them = || wanted.iter().for_each(|seat| _ = hall.memory[*seat].touch());
    match dice.roll(4) {
        0 => {
            let Ok(hold) = shop.hold(id, &lines) else { return 0 };
            use_them();
            drop(hold);
            return lines.len() as u64;
        }
        1 => {
            let _ = shop.create(id, &lines).unwrap();
            if shop.transition(id, State::Created, State::InventoryReserved).is_err() {
                assert!(matches!(shop.cancel(id), Ok(Cancelled::Released { .. })));
                return 0;
            }
        }
        _ if shop.reserve(id, &lines).is_ok_and(Reserved::is_new) => {}
        _ => return 0,
    }
    use_them();
    leave(shop, id, &lines, dice);
    lines.len() as u64
}

fn leave(shop: &Stockade, id: &str, lines: &[(&str, u32)], dice: &mut Dice) {
    match dice.roll(5) {
        0 => _ = shop.cancel(id).unwrap(),
        1 => _ = shop.void(id).unwrap(),
        2 => _ = shop.transition(id, State::InventoryReserved, State::Cancelled).unwrap(),
        3 => {
            assert!(matches!(shop.pay(id), Ok(Advanced::Done { .. })));
            let _ = shop.cancel(id).unwrap();
        }
        // The seat goes away with its guest, and a new one comes.
        _ => {
            let _ = shop.pay(id).unwrap();
            let _ = shop.fulfil(id).unwrap();
            lines.iter().for_each(|(seat, units)| _ = shop.restock(*seat, u64::from(*units)).unwrap());
        }
    }
}
