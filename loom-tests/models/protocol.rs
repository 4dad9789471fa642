//! The protocol: reserve, cancel, pay and reads against each other, on one row and on two.

use std::sync::Arc;

use stockade_loom::model::{Class, set_shard};
use stockade_loom::{ReserveError, Reserved, Sku, Stockade};

use crate::run::{Model, Runner};

pub fn run(runner: &mut Runner) {
    for model in MODELS {
        runner.check(model);
    }
}

const MODELS: &[Model] = &[Model {
    name: "last unit: reserve, reserve",
    outcomes: &["new short left 0", "short new left 0"],
    preemptions: None,
    words: &[Class::Protocol],
    race: last_unit,
}];

/// Two orders, one unit.
pub fn last_unit() -> String {
    let (shop, a) = shop(1);
    let [first, second] = race(
        &shop,
        [
            Box::new(move |shop: &Stockade| reserve(shop, "first", &[(a, 1)])),
            Box::new(move |shop: &Stockade| reserve(shop, "second", &[(a, 1)])),
        ],
    );
    format!("{first} {second} left {}", left(&shop, a))
}

type Actor = Box<dyn FnOnce(&Stockade) -> String + Send>;

fn shop(units: u64) -> (Arc<Stockade>, Sku) {
    let shop = Stockade::new();
    let a = shop.add_sku("A", units).unwrap();
    (Arc::new(shop), a)
}

/// Runs the actors, the first on this thread, and tells what each was answered.
fn race<const N: usize>(shop: &Arc<Stockade>, actors: [Actor; N]) -> [String; N] {
    let mut actors = actors.into_iter();
    let first = actors.next().unwrap();
    let others: Vec<_> = actors
        .enumerate()
        .map(|(i, actor)| {
            let shop = Arc::clone(shop);
            loom::thread::spawn(move || {
                set_shard(i + 1);
                actor(&shop)
            })
        })
        .collect();
    let mut answers = vec![first(shop)];
    answers.extend(others.into_iter().map(|other| other.join().unwrap()));
    answers.try_into().unwrap()
}

fn reserve(shop: &Stockade, id: &str, lines: &[(Sku, u32)]) -> String {
    match shop.reserve(id, lines) {
        Ok(Reserved::New(_)) => "new",
        Ok(Reserved::Replayed(_)) => "replay",
        Err(ReserveError::Insufficient { .. }) => "short",
        Err(ReserveError::Closed { .. }) => "closed",
        Err(other) => panic!("{other}"),
    }
    .into()
}

fn left(shop: &Stockade, sku: Sku) -> u64 {
    let left = shop.balance(sku).unwrap();
    assert!(left.is_sound(), "{left:?}");
    left.available
}
