//! One hot SKU as several rows: what a user would write over the public API. `SCALING.md` says when it pays.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use stockade::{AddSkuError, ReserveError, Reserved, Sku, Stockade};

/// The rows that together are one SKU. Each holds less than 2^32 - 1 units.
pub struct Parts(Vec<Sku>);

impl Parts {
    /// Adds `name#0`, `name#1` … with about as many units each.
    ///
    /// # Errors
    ///
    /// A row cannot be added; those before it have been.
    pub fn add(shop: &Stockade, name: &str, units: u64, parts: u64) -> Result<Parts, AddSkuError> {
        let share = |part| units * (part + 1) / parts - units * part / parts;
        (0..parts).map(|part| shop.add_sku(&format!("{name}#{part}"), share(part))).collect::<Result<_, _>>().map(Parts)
    }

    /// Takes `units` from the buyer's own part, or else from another, or else from several. `None`: at one instant
    /// during the call all parts together had less.
    ///
    /// # Errors
    ///
    /// As [`Stockade::reserve`], but for `Insufficient`.
    pub fn reserve(&self, shop: &Stockade, id: &str, units: u32) -> Result<Option<Reserved>, ReserveError> {
        let own = BuildHasherDefault::<DefaultHasher>::default().hash_one(id) as usize % self.0.len();
        for part in self.0[own..].iter().chain(&self.0[..own]) {
            match shop.reserve(id, &[(*part, units)]) {
                Err(ReserveError::Insufficient { .. }) => {}
                Err(ReserveError::LinesDiffer) => return self.repeat(shop, id, units),
                answer => return answer.map(Some),
            }
        }
        self.reserve_from_all(shop, id, units)
    }

    /// Each part said no at an instant of its own, which proves nothing about all of them. To ask each for more than it
    /// can have, in one order, is refused with what each had at one instant.
    fn reserve_from_all(&self, shop: &Stockade, id: &str, units: u32) -> Result<Option<Reserved>, ReserveError> {
        let everything: Vec<(Sku, u32)> = self.0.iter().map(|part| (*part, u32::MAX)).collect();
        let mut lines: Vec<(Box<str>, u32)> = Vec::new();
        loop {
            let asked =
                if lines.is_empty() { shop.reserve(id, &everything) } else { shop.reserve(id, &borrowed(&lines)) };
            match asked {
                // What was there has gone meanwhile: look again.
                Err(ReserveError::Insufficient { .. }) if !lines.is_empty() => lines.clear(),
                Err(ReserveError::Insufficient { short }) => {
                    let mut left = units;
                    for part in short.0 {
                        let take = part.available.min(u64::from(left)) as u32;
                        left -= take;
                        lines.extend((take > 0).then_some((part.sku, take)));
                    }
                    if left > 0 {
                        return Ok(None);
                    }
                }
                Err(ReserveError::LinesDiffer) => return self.repeat(shop, id, units),
                answer => return answer.map(Some),
            }
        }
    }

    /// The id is known with other lines: a repeat, if they are of these parts and as many units.
    fn repeat(&self, shop: &Stockade, id: &str, units: u32) -> Result<Option<Reserved>, ReserveError> {
        let known = shop.order(id).map(|order| order.lines).unwrap_or_default();
        let sum: u64 = known.iter().map(|line| u64::from(line.ordered)).sum();
        if sum != u64::from(units) || !known.iter().all(|line| self.0.contains(&line.sku)) {
            return Err(ReserveError::LinesDiffer);
        }
        let lines: Vec<(Sku, u32)> = known.iter().map(|line| (line.sku, line.ordered)).collect();
        shop.reserve(id, &lines).map(Some)
    }
}

fn borrowed(lines: &[(Box<str>, u32)]) -> Vec<(&str, u32)> {
    lines.iter().map(|(sku, quantity)| (&**sku, *quantity)).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::work::race;

    #[test]
    fn an_order_larger_than_a_part_is_served_and_known_again() {
        let shop = Stockade::new();
        let gig = Parts::add(&shop, "gig", 8, 4).unwrap();
        let ask = |id, units| gig.reserve(&shop, id, units);
        assert!(ask("a", 5).unwrap().unwrap().is_new());
        assert!(!ask("a", 5).unwrap().unwrap().is_new());
        assert_eq!(ask("a", 4), Err(ReserveError::LinesDiffer));
        assert_eq!(ask("b", 4), Ok(None));
        assert!(ask("b", 3).unwrap().unwrap().is_new());
        assert_eq!(shop.cancel("a").unwrap().units(), 5);
        assert!(matches!(ask("a", 5), Err(ReserveError::Closed { .. })));
    }

    #[test]
    fn an_id_that_is_known_elsewhere_is_no_repeat() {
        let shop = Stockade::new();
        let gig = Parts::add(&shop, "gig", 8, 2).unwrap();
        let mug = shop.add_sku("mug", 1).unwrap();
        let _ = shop.reserve("a", &[(mug, 1)]).unwrap();
        assert_eq!(gig.reserve(&shop, "a", 1), Err(ReserveError::LinesDiffer));
    }

    #[test]
    fn threads_sell_every_unit_once_and_say_no_only_when_all_is_gone() {
        let shop = Stockade::new();
        let gig = Parts::add(&shop, "gig", 1_000, 8).unwrap();
        // Both send the same ids; every third order is larger than what is soon left in a part.
        let (_, sold) = race(2, |_| {
            let units = |order: u32| if order.is_multiple_of(3) { 60 } else { 1 };
            let take = |order: u32| {
                let answer = gig.reserve(&shop, &order.to_string(), units(order)).unwrap();
                answer.filter(|it| it.is_new()).map_or(0, |_| u64::from(units(order)))
            };
            (0..1_200).map(take).sum::<u64>()
        });
        assert_eq!(sold.into_iter().sum::<u64>(), 1_000);
        assert!(shop.audit().is_sound());
    }
}
