//! Which orders change in part, and how, and when: the changes of a sale, put among its arrivals.
//!
//! All of it is drawn from the seed, with a stream of its own, so that the rest of the sale stays as it is.

use std::collections::HashMap;

use clap::Args;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::generate::proportion;
use super::sale::{Arrival, Change, Does, Line, Sale};

/// Without holds a change comes at most this many arrivals after what it waits for.
const SOON: u64 = 1_000;

/// Orders that are changed in part.
#[derive(Args)]
#[command(next_help_heading = "Orders that change in part")]
pub struct PartOptions {
    /// Share of orders that are changed in part after they were accepted: of three such orders, one ships in two parts,
    /// one loses some of its units, and one is amended.
    ///
    /// An order is paid for before it ships; with --hold that is for its buyer to do, and what is not paid for does
    /// not ship. Units that an order loses go back to the stock; of half of these orders the rest ships later. An amend
    /// asks for a unit more, which can be refused, and later for a unit less than the order has then. An order of one
    /// unit can only ship whole, end by the loss of its unit, or have two for a while.
    ///
    /// Which orders, which units and when is drawn from the seed: a change comes up to 1,000 arrivals after what it
    /// waits for, or with --hold up to MS milliseconds, but not after the sale closes.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = proportion, allow_negative_numbers = true)]
    part_share: f64,
}

impl PartOptions {
    /// What a title says about it.
    pub fn title(&self) -> String {
        if self.part_share > 0.0 { format!(", {} changed in part", self.part_share) } else { String::new() }
    }
}

/// Adds the changes of orders, if that was asked for.
pub fn plan(sale: &mut Sale, options: &PartOptions, seed: u64) {
    if options.part_share == 0.0 {
        return;
    }
    let times = match &mut sale.timetable {
        Some(timetable) => std::mem::take(&mut timetable.times),
        None => (0..).take(sale.arrivals.len()).collect(),
    };
    let mut planner = Planner::new(sale, &times, seed);
    let mut orders = sale.orders.iter().enumerate().peekable();
    for (time, &arrival) in times.into_iter().zip(&sale.arrivals) {
        planner.timed.push((time, arrival));
        if let Arrival::Order(sent) | Arrival::OrderTwice(sent) = arrival
            && let Some((number, order)) = orders.next_if(|&(number, _)| number == sent)
            && planner.random.random_bool(options.part_share)
        {
            planner.change(number, &order.lines, time);
        }
    }
    let Planner { mut timed, changes, .. } = planner;
    timed.sort_by_key(|&(time, _)| time);
    let (times, arrivals) = timed.into_iter().unzip();
    (sale.arrivals, sale.changes) = (arrivals, changes);
    if let Some(timetable) = &mut sale.timetable {
        timetable.times = times;
    }
}

struct Planner {
    random: ChaCha8Rng,
    /// When each order is paid for, if the orders are holds.
    payments: Option<HashMap<usize, u64>>,
    /// A change comes at most so much later than what it waits for,
    within: u64,
    /// and not after this.
    closing: u64,
    timed: Vec<(u64, Arrival)>,
    changes: Vec<Change>,
}

impl Planner {
    fn new(sale: &Sale, times: &[u64], seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(1);
        let payment = |(&time, arrival): (&u64, &Arrival)| match *arrival {
            Arrival::Pay(number) => Some((number, time)),
            _ => None,
        };
        let holds = sale.timetable.as_ref();
        Planner {
            random,
            payments: holds.map(|_| times.iter().zip(&sale.arrivals).filter_map(payment).collect()),
            within: holds.map_or(SOON, |timetable| timetable.hold_ms),
            closing: holds.and(times.last().copied()).unwrap_or(u64::MAX),
            timed: Vec::new(),
            changes: Vec::new(),
        }
    }

    /// Draws what becomes of an order.
    fn change(&mut self, order: usize, lines: &[Line], ordered: u64) {
        let (some, rest) = self.divide(lines);
        match self.random.random_range(0..3) {
            0 => {
                let paid = self.paid(order, ordered);
                let first = self.add(order, Does::Ship, vec![some], paid);
                if !rest.is_empty() {
                    self.add(order, Does::Ship, rest, first);
                }
            }
            1 => {
                let lost = self.add(order, Does::Lose, vec![some], ordered);
                if !rest.is_empty() && self.random.random_bool(0.5) {
                    let paid = self.paid(order, lost);
                    self.add(order, Does::Ship, rest, paid);
                }
            }
            _ => {
                let unit = vec![(some.0, 1)];
                let raise = self.changes.len();
                let raised = self.add(order, Does::Raise, unit.clone(), ordered);
                self.add(order, Does::Lower(raise), unit, raised);
            }
        }
    }

    /// Some units of one line, and the rest of the order. Of an order of one unit there is no rest.
    fn divide(&mut self, lines: &[Line]) -> (Line, Vec<Line>) {
        let (sku, units) = lines[self.random.random_range(0..lines.len())];
        let most = if lines.len() > 1 { units } else { (units - 1).max(1) };
        let some = self.random.random_range(1..=most);
        let rest = lines.iter().map(|&(other, units)| (other, if other == sku { units - some } else { units }));
        ((sku, some), rest.filter(|line| line.1 > 0).collect())
    }

    /// From when on an order can ship, if not before this time. Where orders are no holds its payment is added here.
    fn paid(&mut self, order: usize, from: u64) -> u64 {
        if let Some(payments) = &self.payments {
            return payments.get(&order).map_or(from, |&paid| paid.max(from));
        }
        let paid = self.later(from);
        self.timed.push((paid, Arrival::Pay(order)));
        paid
    }

    /// Adds a change, and says when it comes.
    fn add(&mut self, order: usize, does: Does, lines: Vec<Line>, from: u64) -> u64 {
        let time = self.later(from);
        self.timed.push((time, Arrival::Change(self.changes.len())));
        self.changes.push(Change { order, does, lines });
        time
    }

    fn later(&mut self, from: u64) -> u64 {
        (from + self.random.random_range(1..=self.within)).min(self.closing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::sale::{Order, Timetable};

    /// Orders with these lines, one after the other, of which so many are changed; as holds, if they last so long.
    fn planned(part_share: f64, lines: &[Line], hold_ms: Option<u64>) -> Sale {
        let order = |number: usize| Order { id: number.to_string(), lines: lines.into() };
        let mut sale = Sale { orders: (0..3_000).map(order).collect(), ..Sale::default() };
        sale.arrivals = (0..3_000).map(Arrival::Order).collect();
        if let Some(hold_ms) = hold_ms {
            // The even ones are paid for, each in the instant in which it comes.
            let pays = |number: usize| number.is_multiple_of(2).then_some(Arrival::Pay(number));
            let arrivals = (0..3_000).flat_map(|number| [Some(Arrival::Order(number)), pays(number)]);
            sale.arrivals = arrivals.flatten().collect();
            let times = sale.arrivals.iter().map(|arrival| order_of(&sale, *arrival) as u64).collect();
            sale.timetable = Some(Timetable { hold_ms, times, in_step: false });
        }
        plan(&mut sale, &PartOptions { part_share }, 1);
        sale
    }

    fn order_of(sale: &Sale, arrival: Arrival) -> usize {
        match arrival {
            Arrival::Change(number) => sale.changes[number].order,
            Arrival::Order(number) | Arrival::Pay(number) => number,
            _ => panic!("there are no others"),
        }
    }

    /// The changes of each order that is changed.
    fn by_order(sale: &Sale) -> Vec<&[Change]> {
        sale.changes.chunk_by(|one, next| one.order == next.order).collect()
    }

    #[test]
    fn a_share_of_the_orders_is_changed_and_a_third_of_them_each_way() {
        let sale = planned(0.5, &[(0, 2), (1, 3)], None);
        let near = |count: usize, wanted: usize| count.abs_diff(wanted) < 100;
        let orders = by_order(&sale);
        let kind = |does| orders.iter().filter(|changes| changes[0].does == does).count();
        assert!(near(orders.len(), 1_500), "{}", orders.len());
        let kinds = [kind(Does::Ship), kind(Does::Lose)];
        assert!(kinds.iter().all(|&count| near(count, 500)), "{kinds:?}");
        let lose = |changes: &&&[Change]| changes[0].does == Does::Lose && changes.len() == 2;
        assert!(near(orders.iter().filter(lose).count(), 250), "of half of them the rest ships");
    }

    #[test]
    fn parts_make_the_whole() {
        let lines = [(3, 2), (4, 1), (7, 3)];
        for changes in by_order(&planned(1.0, &lines, None)) {
            match changes {
                [raise, lower] if raise.does == Does::Raise => {
                    assert!(matches!(lower.does, Does::Lower(_)));
                    assert_eq!((raise.units(), &raise.lines), (1, &lower.lines));
                }
                [some] => assert_eq!((some.does, some.lines.len()), (Does::Lose, 1)),
                [some, rest] => {
                    assert!(some.does != rest.does || some.does == Does::Ship);
                    let of =
                        |change: &Change, sku| change.lines.iter().find(|line| line.0 == sku).map_or(0, |line| line.1);
                    assert!(lines.iter().all(|&(sku, units)| of(some, sku) + of(rest, sku) == units));
                    assert!(some.units() > 0 && rest.units() > 0);
                }
                more => panic!("{more:?}"),
            }
        }
    }

    #[test]
    fn an_order_of_one_unit_ships_whole_or_ends_or_is_amended() {
        let sale = planned(1.0, &[(0, 1)], None);
        for changes in by_order(&sale) {
            let does: Vec<_> = changes.iter().map(|change| change.does).collect();
            assert!(matches!(does[..], [Does::Ship] | [Does::Lose] | [Does::Raise, Does::Lower(_)]), "{does:?}");
            assert!(changes.iter().all(|change| change.lines == [(0, 1)]));
        }
    }

    /// Where each change comes, and each payment.
    fn places(sale: &Sale) -> (Vec<usize>, HashMap<usize, usize>) {
        let (mut changes, mut payments) = (vec![0; sale.changes.len()], HashMap::new());
        for (place, arrival) in sale.arrivals.iter().enumerate() {
            match *arrival {
                Arrival::Change(number) => changes[number] = place,
                Arrival::Pay(number) => assert_eq!(payments.insert(number, place), None, "one payment for each"),
                _ => {}
            }
        }
        (changes, payments)
    }

    #[test]
    fn changes_come_one_after_the_other_and_what_ships_is_paid_for_first() {
        for hold_ms in [None, Some(50)] {
            let sale = planned(1.0, &[(0, 3)], hold_ms);
            let (places, payments) = places(&sale);
            for (number, change) in sale.changes.iter().enumerate() {
                if number > 0 && sale.changes[number - 1].order == change.order {
                    assert!(places[number - 1] < places[number]);
                }
                if change.does == Does::Ship && (hold_ms.is_none() || change.order.is_multiple_of(2)) {
                    assert!(payments[&change.order] < places[number]);
                }
            }
        }
    }

    #[test]
    fn changes_of_holds_have_their_times_and_end_with_the_sale() {
        let sale = planned(1.0, &[(0, 3)], Some(50));
        let times = &sale.timetable.as_ref().map(|timetable| timetable.times.clone()).unwrap_or_default();
        assert_eq!((times.len(), times.last()), (sale.arrivals.len(), Some(&2_999)));
        assert!(times.is_sorted());
        let after = |(&time, &arrival): (&u64, &Arrival)| time - order_of(&sale, arrival) as u64;
        assert!(times.iter().zip(&sale.arrivals).all(|timed| after(timed) <= 100), "two changes, each within 50");
    }

    #[test]
    fn a_seed_fixes_the_changes_and_no_share_leaves_the_sale_alone() {
        let planned_changes = |share| planned(share, &[(0, 3)], None).changes;
        let first: Vec<_> = planned_changes(0.5).into_iter().take(3).collect();
        let change = |order, does, units| Change { order, does, lines: vec![(0, units)] };
        assert_eq!(first, [change(1, Does::Lose, 2), change(3, Does::Raise, 1), change(3, Does::Lower(1), 1)]);
        let sale = planned(0.0, &[(0, 3)], None);
        assert_eq!((sale.changes.len(), sale.arrivals.len()), (0, 3_000));
    }
}
