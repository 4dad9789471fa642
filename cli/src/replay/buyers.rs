//! Who pays for his hold, and when: the payments of a sale, put among its arrivals.
//!
//! Buyers of a kind are spread evenly over the orders, so that a share is exact and anybody can count along: with a
//! share of 0.75 the first, the fifth, the ninth buyer does not pay in time. When somebody pays is drawn from the seed.

use clap::Args;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::sale::{Arrival, Sale, Timetable};
use super::stock::Share;

/// Holds with a deadline, and who pays for them.
#[derive(Args)]
#[command(next_help_heading = "Holds that end")]
pub struct HoldOptions {
    /// Every order is a hold that ends after MS milliseconds unless it is paid for: from 2, so that there is a time
    /// before the deadline, to a year, 31536000000.
    ///
    /// The run has a clock of its own. It shows the time of the arrival that was sent last: with --time-column as the
    /// file says, otherwise each arrival (an order, a cancel or a return) comes one millisecond after the one before.
    /// The sale closes a millisecond after the last arrival; holds that are open then stay open.
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(2..=A_YEAR_MS))]
    hold: Option<u64>,

    /// Share of buyers that pay in time (with --hold): at a random time before their deadline, or when the sale closes.
    #[arg(long, value_name = "SHARE", default_value = "0.75", requires = "hold",
          value_parser = Share::part, allow_negative_numbers = true)]
    pay_share: Share,

    /// Share of the other buyers that pay late: at a random time up to MS milliseconds after their deadline.
    ///
    /// They get their units again if these are still there; otherwise their payment is lost and must be returned. Who
    /// pays neither in time nor late never does.
    #[arg(long, value_name = "SHARE", default_value = "0.5", requires = "hold",
          value_parser = Share::part, allow_negative_numbers = true)]
    late_share: Share,
}

const A_YEAR_MS: u64 = 365 * 24 * 60 * 60 * 1000;

impl HoldOptions {
    /// What a title says about it.
    pub fn title(&self) -> String {
        self.hold.map_or_else(String::new, |ms| format!(", holds of {} s", ms as f64 / 1000.0))
    }
}

/// Makes the orders of a sale holds, if that was asked for, and adds their payments. A file's own times are kept in
/// step.
pub fn plan(sale: &mut Sale, own_times: Option<Vec<u64>>, options: &HoldOptions, seed: u64) {
    let Some(hold_ms) = options.hold else {
        return;
    };
    let in_step = own_times.is_some();
    let times = own_times.unwrap_or_else(|| (0..).take(sale.arrivals.len()).collect());
    let closing = times.last().map_or(0, |last| last + 1);
    let mut buyers = Buyers { options, hold_ms, closing, random: ChaCha8Rng::seed_from_u64(seed), all: 0, others: 0 };
    let mut timed = Vec::new();
    for (time, &arrival) in times.into_iter().zip(&sale.arrivals) {
        timed.push((time, arrival));
        if let Arrival::Order(number) | Arrival::OrderTwice(number) = arrival
            && number == buyers.all
        {
            timed.extend(buyers.next_pays(time).map(|time| (time, Arrival::Pay(number))));
        }
    }
    timed.sort_by_key(|&(time, _)| time);
    let (times, arrivals) = timed.into_iter().unzip();
    sale.arrivals = arrivals;
    sale.timetable = Some(Timetable { hold_ms, times, in_step });
}

/// The buyers of a sale, one after the other in the order of their orders.
struct Buyers<'a> {
    options: &'a HoldOptions,
    hold_ms: u64,
    closing: u64,
    random: ChaCha8Rng,
    /// How many there were.
    all: usize,
    /// How many of them do not pay in time.
    others: usize,
}

impl Buyers<'_> {
    /// When the next buyer pays for what he orders now, if he does before the sale closes.
    fn next_pays(&mut self, ordered: u64) -> Option<u64> {
        self.all += 1;
        if self.options.pay_share.takes(self.all) {
            return Some((ordered + self.random.random_range(1..self.hold_ms)).min(self.closing));
        }
        self.others += 1;
        if !self.options.late_share.takes(self.others) {
            return None;
        }
        let late = ordered + self.random.random_range(self.hold_ms..=2 * self.hold_ms);
        (late <= self.closing).then_some(late)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use Arrival::{Order, OrderTwice, Pay, Return};

    fn options(pay_share: &str, late_share: &str) -> HoldOptions {
        let part = |text| Share::part(text).unwrap();
        HoldOptions { hold: Some(10), pay_share: part(pay_share), late_share: part(late_share) }
    }

    /// 1,000 orders, one after the other, with these shares.
    fn planned(pay_share: &str, late_share: &str) -> Sale {
        let mut sale = Sale { arrivals: (0..1_000).map(Order).collect(), ..Sale::default() };
        plan(&mut sale, None, &options(pay_share, late_share), 1);
        sale
    }

    /// How long after each order its payment came, by number of the order.
    fn delays(sale: &Sale) -> Vec<Option<u64>> {
        let mut delays = vec![None; 1_000];
        for (arrival, time) in sale.arrivals.iter().zip(&sale.timetable.as_ref().unwrap().times) {
            if let Pay(number) = *arrival {
                assert_eq!(delays[number].replace(time - number as u64), None, "one payment for each");
            }
        }
        delays
    }

    #[test]
    fn shares_are_exact_and_spread_evenly() {
        let delays = delays(&planned("0.75", "0.5"));
        let in_time = |delay: &Option<u64>| delay.is_some_and(|ms| (1..10).contains(&ms));
        let late = |delay: &Option<u64>| delay.is_some_and(|ms| (10..=20).contains(&ms));
        assert_eq!(delays.iter().filter(|it| in_time(it)).count(), 750);
        assert_eq!(delays.iter().filter(|it| late(it)).count(), 123, "of 125 two are late for the closing, too");
        assert_eq!(delays.iter().filter(|it| it.is_none()).count(), 127);
        for (number, delay) in delays.iter().enumerate() {
            assert_eq!(in_time(delay), number % 4 != 0, "{number}");
        }
    }

    #[test]
    fn everything_comes_in_time_order_and_ends_when_the_sale_closes() {
        let sale = planned("1", "0");
        let times = sale.timetable.as_ref().unwrap().times.clone();
        assert!(times.is_sorted());
        assert_eq!((times.len(), times.last()), (2_000, Some(&1_000)));
        assert!(delays(&sale).iter().all(Option::is_some));
    }

    #[test]
    fn a_repeat_is_not_paid_for_again_and_a_return_not_at_all() {
        let mut sale = Sale { arrivals: vec![OrderTwice(0), Return(0), Order(0), Order(1)], ..Sale::default() };
        plan(&mut sale, None, &options("1", "0"), 1);
        let pays = sale.arrivals.iter().filter(|arrival| matches!(arrival, Pay(_))).count();
        assert_eq!((pays, sale.arrivals.len()), (2, 6));
    }

    #[test]
    fn without_holds_nothing_changes() {
        let mut sale = Sale { arrivals: vec![Order(0)], ..Sale::default() };
        plan(&mut sale, None, &HoldOptions { hold: None, ..options("1", "0") }, 1);
        assert_eq!(sale.arrivals, [Order(0)]);
        assert!(sale.timetable.is_none());
    }
}
