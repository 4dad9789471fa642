//! Stockade itself, called as a hot caller would: ids by reference, rows by [`Sku`] handle.

use std::hint::black_box;

use anyhow::Result;
use stockade::{AdvanceError, Advanced, CancelError, Cancelled, ReserveError, Reserved, Sku, Stockade};

use crate::contender::{Advance, Cancel, Contender, Order, Request, Reserve, Short, State};

/// The engine, and its rows' names, by which refusals name them.
pub struct Engine {
    shop: Stockade,
    names: Vec<(String, Sku)>,
}

impl Contender for Engine {
    const NAME: &'static str = "stockade";
    type Row = Sku;

    fn open(skus: &[(String, u64)], orders: usize) -> Result<(Self, Vec<Sku>)> {
        let shop = Stockade::with_capacity(orders)?;
        let rows = skus.iter().map(|(name, units)| shop.add_sku(name, *units)).collect::<Result<Vec<_>, _>>()?;
        let names = skus.iter().map(|sku| sku.0.clone()).zip(rows.iter().copied()).collect();
        Ok((Engine { shop, names }, rows))
    }

    #[inline]
    fn reserve(&self, id: &str, lines: &[(Sku, u32)]) -> Reserve<Sku> {
        self.answer(self.shop.reserve(id, lines))
    }

    #[inline]
    fn cancel(&self, id: &str) -> Cancel {
        match black_box(self.shop.cancel(id)) {
            Ok(Cancelled::Unknown) => Cancel::Unknown,
            Ok(Cancelled::Already) => Cancel::Already,
            Ok(released) => Cancel::Released { units: released.units() },
            Err(CancelError::InvalidState { .. }) => Cancel::Refused,
            Err(error) => panic!("cancel({id}): {error}"),
        }
    }

    #[inline]
    fn pay(&self, id: &str) -> Advance {
        advance(self.shop.pay(id))
    }

    #[inline]
    fn fulfil(&self, id: &str) -> Advance {
        advance(self.shop.fulfil(id))
    }

    #[inline]
    fn stock(&self, row: Sku) -> u64 {
        match self.shop.stock(row) {
            Ok(it) => it.available,
            Err(error) => panic!("stock: {error}"),
        }
    }

    #[inline]
    fn order(&self, id: &str) -> Option<Order<Sku>> {
        let order = self.shop.order(id)?;
        let state = match order.state {
            stockade::State::InventoryReserved => State::Reserved,
            stockade::State::Paid => State::Paid,
            stockade::State::Fulfilled => State::Fulfilled,
            stockade::State::Cancelled => State::Cancelled,
            other => panic!("order({id}) is {other:?}, which no verb of this bench makes"),
        };
        Some(Order { state, lines: order.lines.iter().map(|line| (line.sku, line.ordered)).collect() })
    }

    fn reserve_many(&self, orders: &[Request<'_, Sku>]) -> Option<Vec<Reserve<Sku>>> {
        Some(self.shop.reserve_batch(orders).into_iter().map(|it| self.answer(it)).collect())
    }
}

impl Engine {
    #[inline]
    fn answer(&self, answer: Result<Reserved, ReserveError>) -> Reserve<Sku> {
        match answer {
            Ok(Reserved::New(_)) => Reserve::New,
            Ok(Reserved::Replayed(_)) => Reserve::Replayed,
            Err(error) => self.refusal(error),
        }
    }

    #[cold]
    fn refusal(&self, error: ReserveError) -> Reserve<Sku> {
        match error {
            ReserveError::Insufficient { short } => {
                let short = short.0.into_iter().filter_map(|it| {
                    let row = self.names.iter().find(|row| *row.0 == *it.sku)?.1;
                    Some(Short { row, wanted: it.wanted, available: it.available })
                });
                Reserve::Insufficient { short: short.collect() }
            }
            ReserveError::LinesDiffer => Reserve::LinesDiffer,
            ReserveError::Closed { .. } => Reserve::Closed,
            ReserveError::UnknownSku(_) => Reserve::UnknownRow,
            ReserveError::Invalid(_) => Reserve::Invalid,
            other => panic!("reserve: {other}"),
        }
    }
}

#[inline]
fn advance(answer: Result<Advanced, AdvanceError>) -> Advance {
    match answer {
        Ok(Advanced::Done { .. }) => Advance::Done,
        Ok(Advanced::Already { .. }) => Advance::Already,
        Err(AdvanceError::UnknownOrder) => Advance::Unknown,
        Err(_) => Advance::Refused,
    }
}
