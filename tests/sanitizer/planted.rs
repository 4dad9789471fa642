//! The race that must be reported, or silence about `sound` means nothing: two buyers, one seat, and the one
//! who was told no sits down all the same.

#![allow(clippy::unwrap_used)]

mod plain;

use std::thread;

use plain::Plain;
use stockade_hooked::Stockade;

fn main() {
    let shop: &Stockade = Box::leak(Box::default());
    let memory: &Plain = Box::leak(Box::default());
    shop.add_sku("seat", 1).unwrap();
    let buyers = ["one", "two"].map(|buyer| {
        thread::spawn(move || {
            let told_yes = shop.reserve(buyer, &[("seat", 1)]).is_ok();
            memory.touch();
            told_yes
        })
    });
    let told_yes = buyers.map(|buyer| buyer.join().unwrap());
    assert!(told_yes[0] != told_yes[1], "{told_yes:?}");
}
