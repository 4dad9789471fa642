//! Stockade itself, called as a hot caller would: ids by reference, rows by [`Sku`] handle.

use std::hint::black_box;

use stockade::{Cancelled, ReserveError, Reserved, Sku, Stockade};

use super::{Cancel, Contender, Reserve, Short, Stock};

pub struct Engine(Stockade);

impl Contender for Engine {
    const NAME: &'static str = "stockade";
    type Row = Sku;

    fn open(skus: &[(String, u64)]) -> (Self, Vec<Sku>) {
        let engine = Stockade::new();
        let add = |(name, units): &(String, u64)| match engine.add_sku(name, *units) {
            Ok(sku) => sku,
            Err(error) => panic!("add_sku({name}): {error}"),
        };
        let rows = skus.iter().map(add).collect();
        (Engine(engine), rows)
    }

    #[inline]
    fn reserve(&self, id: &str, lines: &[(Sku, u32)]) -> Reserve {
        match self.0.reserve(id, lines) {
            Ok(Reserved::New(it)) => Reserve::New { version: it.version },
            Ok(Reserved::Replayed(it)) => Reserve::Replayed { version: it.version },
            Err(error) => refusal(error),
        }
    }

    #[inline]
    fn cancel(&self, id: &str) -> Cancel {
        match black_box(self.0.cancel(id)) {
            Ok(Cancelled::Unknown) => Cancel::Unknown,
            Ok(Cancelled::Already) => Cancel::Already,
            Ok(released) => Cancel::Released { units: released.units() },
            Err(error) => panic!("cancel({id}): {error}"),
        }
    }

    fn stock(&self, row: Sku) -> Stock {
        match self.0.stock(row) {
            Ok(it) => Stock { available: it.available, version: it.version },
            Err(error) => panic!("stock: {error}"),
        }
    }
}

#[cold]
fn refusal(error: ReserveError) -> Reserve {
    match error {
        ReserveError::Insufficient { short } => {
            let line = |it: stockade::Shortage| Short { sku: it.sku, wanted: it.wanted, available: it.available };
            Reserve::Insufficient { short: short.0.into_iter().map(line).collect() }
        }
        ReserveError::LinesDiffer => Reserve::LinesDiffer,
        ReserveError::Closed { .. } => Reserve::Closed,
        ReserveError::UnknownSku(_) => Reserve::UnknownSku,
        ReserveError::Invalid(_) => Reserve::Invalid,
        other => panic!("reserve: {other}"),
    }
}
