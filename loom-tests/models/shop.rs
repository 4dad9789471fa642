//! What the models have in common: a shop, actors that race in it, and answers as short words.

use std::sync::Arc;

use stockade_loom::hooks::{Step, with_hook};
use stockade_loom::model::set_shard;
use stockade_loom::{
    AdvanceError, Advanced, CancelError, Cancelled, CreateError, Created, ReserveError, Reserved, Sku, State, Stockade,
};

pub type Shop = Arc<Stockade>;
pub type Actor = Box<dyn FnOnce(&Shop) -> String + Send>;

/// A shop with one row, A.
pub fn shop(units: u64) -> (Shop, Sku) {
    let shop = Stockade::new();
    let a = shop.add_sku("A", units).unwrap();
    (Arc::new(shop), a)
}

/// A shop in which order `first` holds some units.
pub fn shop_with_order(units: u64, held: u32) -> (Shop, Sku) {
    let (shop, a) = shop(units);
    assert_eq!(reserve(&shop, "first", &[(a, held)]), "new");
    (shop, a)
}

/// Runs the actors, the first on this thread, and tells what each was answered.
pub fn race<const N: usize>(shop: &Shop, actors: [Actor; N]) -> [String; N] {
    let mut actors = actors.into_iter();
    let first = actors.next().unwrap();
    let start = |(i, actor): (usize, Actor)| {
        let shop = Arc::clone(shop);
        loom::thread::spawn(move || {
            set_shard(i + 1);
            actor(&shop)
        })
    };
    let others: Vec<_> = actors.enumerate().map(start).collect();
    let mut answers = vec![first(shop)];
    answers.extend(others.into_iter().map(|other| other.join().unwrap()));
    answers.try_into().unwrap()
}

/// A reserve that finds enough when it looks, while its first row is written off before it takes.
pub fn reserve_too_late(shop: &Shop, id: &str, lines: [(Sku, u32); 2]) -> String {
    let meddler = Arc::clone(shop);
    let write_off = move |step| {
        if step == Step::Drafted {
            let _ = meddler.write_off(lines[0].0, 1);
        }
    };
    with_hook(write_off, || reserve(shop, id, &lines))
}

pub fn reserve(shop: &Stockade, id: &str, lines: &[(Sku, u32)]) -> String {
    match shop.reserve(id, lines) {
        Ok(Reserved::New(_)) => "new",
        Ok(Reserved::Replayed(_)) => "replay",
        Err(ReserveError::Insufficient { .. }) => "short",
        Err(ReserveError::Closed { .. }) => "closed",
        Err(other) => panic!("{other}"),
    }
    .into()
}

pub fn create(shop: &Stockade, id: &str, lines: &[(Sku, u32)]) -> String {
    match shop.create(id, lines) {
        Ok(Created::New) => "new".into(),
        Ok(Created::Replayed { .. }) => "replay".into(),
        Err(CreateError::Closed { .. }) => "closed".into(),
        Err(other) => panic!("{other}"),
    }
}

pub fn cancel(shop: &Stockade, id: &str) -> String {
    match shop.cancel(id) {
        Ok(Cancelled::Released { from, .. }) => format!("from {from}"),
        Ok(Cancelled::Already) => "already".into(),
        Ok(Cancelled::Unknown) => "unknown".into(),
        Err(CancelError::InvalidState { actual }) => format!("invalid in {actual}"),
        Err(other) => panic!("{other}"),
    }
}

pub fn pay(shop: &Stockade, id: &str) -> String {
    advanced(shop.pay(id))
}

fn advanced(answer: Result<Advanced, AdvanceError>) -> String {
    match answer {
        Ok(Advanced::Done { .. }) => "done".into(),
        Ok(Advanced::Already { .. }) => "already".into(),
        Err(AdvanceError::InvalidState { actual }) => format!("invalid in {actual}"),
        Err(AdvanceError::UnknownOrder) => "unknown".into(),
        Err(other) => panic!("{other}"),
    }
}

pub fn state(shop: &Stockade, id: &str) -> String {
    match shop.order(id).map(|order| order.state) {
        None => "none",
        Some(State::Created) => "created",
        Some(State::InventoryReserved) => "reserved",
        Some(State::Paid) => "paid",
        Some(State::Fulfilled) => "fulfilled",
        Some(State::Cancelled) => "cancelled",
    }
    .into()
}

/// Units left of a row, whose books must balance.
pub fn left(shop: &Stockade, sku: Sku) -> u64 {
    let left = shop.balance(sku).unwrap();
    assert!(left.is_sound(), "{left:?}");
    left.available
}
