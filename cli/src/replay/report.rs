//! The report of a replay: its figures, as a table for people or as JSON.

use std::time::Duration;

use serde::Serialize;
use stockade::Audit;

use super::by_clock::ByClock;
use super::part_tally::Parts;
use super::sale::{Conflict, LineCounts, Sale};
use super::tally::{Holds, Tally, Units};
use crate::failure::Failure;
use crate::output::{self, Format, thousands};

/// The figures. Names and order are those of the JSON.
#[derive(Serialize)]
pub struct Report<'a> {
    orders: Orders,
    returns: Returns,
    cancels: Cancels,
    #[serde(skip_serializing_if = "Option::is_none")]
    holds: Option<Holds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<Parts>,
    units: Units,
    skus: usize,
    skus_sold_out: usize,
    lines: &'a LineCounts,
    told_yes_twice: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused_while_free: Option<u64>,
    conserved: bool,
    threads: usize,
    elapsed_s: f64,
    reserves_per_s: f64,
    conflicts: &'a [Conflict],
}

/// What became of the orders; an order that was sent several times counts each time.
#[derive(Serialize)]
struct Orders {
    accepted: u64,
    refused: u64,
    empty: u64,
    replayed: u64,
    closed: u64,
    conflicting: u64,
}

#[derive(Serialize)]
struct Returns {
    applied: u64,
    empty: u64,
}

#[derive(Serialize)]
struct Cancels {
    applied: u64,
    without_effect: u64,
}

impl<'a> Report<'a> {
    /// Puts the figures together.
    pub fn new(
        sale: &'a Sale,
        tally: &Tally,
        by_clock: Option<ByClock>,
        audit: &Audit,
        threads: usize,
        elapsed: Duration,
    ) -> Self {
        let elapsed_s = elapsed.as_secs_f64();
        let promised_twice = by_clock.as_ref().map_or(0, |by_clock| by_clock.promised_twice);
        Report {
            orders: Orders {
                accepted: tally.accepted,
                refused: tally.refused,
                empty: sale.empty_orders,
                replayed: tally.replayed,
                closed: tally.closed,
                conflicting: sale.conflicts.len() as u64,
            },
            returns: Returns { applied: tally.returned, empty: sale.empty_returns },
            cancels: Cancels { applied: tally.cancelled, without_effect: tally.not_cancelled },
            holds: sale.timetable.is_some().then(|| tally.holds.clone()),
            parts: (!sale.changes.is_empty()).then(|| tally.parts.clone()),
            units: tally.total(),
            skus: tally.units.len(),
            skus_sold_out: tally.units.iter().filter(|units| units.available == 0).count(),
            lines: &sale.lines,
            told_yes_twice: tally.told_yes_twice().max(promised_twice),
            refused_while_free: by_clock.map(|by_clock| by_clock.refused_while_free),
            conserved: tally.conserved(audit),
            threads,
            elapsed_s,
            reserves_per_s: if elapsed_s > 0.0 { tally.reserves() as f64 / elapsed_s } else { 0.0 },
            conflicts: &sale.conflicts,
        }
    }

    /// The report as it is printed.
    pub fn show(&self, format: Format, title: &str) -> Result<String, Failure> {
        match format {
            Format::Text => Ok(self.text(title)),
            Format::Json => output::json(self),
        }
    }

    /// An error if somebody was told yes twice, or no without a reason, or the books do not add up.
    pub fn verdict(&self) -> Result<(), Failure> {
        if self.told_yes_twice > 0 {
            let times = thousands(self.told_yes_twice);
            return Err(Failure::Unsound(format!("told yes {times} times too often")));
        }
        if let Some(times @ 1..) = self.refused_while_free {
            let times = thousands(times);
            return Err(Failure::Unsound(format!("refused {times} times while a unit was free or its hold dead")));
        }
        if !self.conserved {
            return Err(Failure::Unsound("the books do not add up: units were lost or made up".into()));
        }
        Ok(())
    }

    fn text(&self, title: &str) -> String {
        let rows: Vec<_> = self.rows().into_iter().filter(|row| row.always || row.figure != 0).collect();
        let groups = rows.chunk_by(|one, next| one.about == next.about);
        let table: String =
            groups.flat_map(|group| group.iter().enumerate()).map(|(i, row)| row.text(i == 0)).collect();
        let conserved = if self.conserved {
            "yes, the callers' books and the engine's agree on every SKU"
        } else {
            "NO, the books do not add up"
        };
        format!(
            "{title}\n\n{table}\n{threads}, {elapsed:.1?}, {rate} reserves per second\n\n\
             TOLD YES TWICE: {twice}\n{refused}CONSERVED: {conserved}\n",
            threads = if self.threads == 1 { "1 thread".into() } else { format!("{} threads", self.threads) },
            elapsed = Duration::from_secs_f64(self.elapsed_s),
            rate = thousands(self.reserves_per_s as u64),
            twice = self.told_yes_twice,
            refused =
                self.refused_while_free.map_or_else(String::new, |times| format!("REFUSED WHILE FREE: {times}\n")),
        )
    }

    fn rows(&self) -> Vec<Row> {
        let Report { orders, returns, cancels, units, lines, .. } = self;
        let mut rows = vec![
            Row::always("orders", "accepted", orders.accepted, "yes, and took the stock"),
            Row::always("orders", "refused", orders.refused, "no, the stock was short"),
            Row::not_0("orders", "replayed", orders.replayed, "sent again, told yes again, took nothing"),
            Row::not_0("orders", "closed", orders.closed, "sent again after they were cancelled: no"),
            Row::not_0("orders", "empty", orders.empty, "nothing left after skipping lines"),
            Row::not_0("orders", "conflicting", orders.conflicting, "not sent, the id came before with other lines"),
            Row::not_0("cancels", "applied", cancels.applied, "gave the stock back"),
            Row::not_0("cancels", "without effect", cancels.without_effect, "there was nothing to cancel"),
            Row::not_0("returns", "applied", returns.applied, "goods put back"),
            Row::not_0("returns", "empty", returns.empty, "nothing left after skipping lines"),
        ];
        rows.extend(self.holds.iter().flat_map(Row::of_holds));
        rows.extend(self.parts.iter().flat_map(Row::of_parts));
        rows.extend([
            Row::always("units", "initial", units.initial, ""),
            Row::always("units", "+ returned", units.returned, "goods sent back later"),
            Row::always("units", "- sold", units.sold, "promised and not given back"),
            Row::always("units", "= available", units.available, "as the engine says at the end"),
            Row::always("SKUs", "all", self.skus as u64, ""),
            Row::always("SKUs", "sold out", self.skus_sold_out as u64, ""),
            Row::always("lines", "all", lines.read, ""),
            Row::not_0("lines", "skipped: SKU", lines.skipped_sku, "does not match the pattern"),
            Row::not_0("lines", "skipped: quantity", lines.skipped_quantity, "wrong sign for an order or a return"),
        ]);
        rows
    }
}

/// A line of the table.
struct Row {
    about: &'static str,
    label: &'static str,
    figure: i128,
    note: &'static str,
    always: bool,
}

impl Row {
    fn always(about: &'static str, label: &'static str, figure: impl Into<i128>, note: &'static str) -> Self {
        Row { about, label, figure: figure.into(), note, always: true }
    }

    /// Left out if 0: most runs have no cancels, returns or oddities.
    fn not_0(about: &'static str, label: &'static str, figure: u64, note: &'static str) -> Self {
        Row { always: false, ..Row::always(about, label, figure, note) }
    }

    fn of_holds(holds: &Holds) -> [Row; 6] {
        [
            Row::always("holds", "paid in time", holds.paid_in_time, ""),
            Row::always("holds", "expired", holds.expired, "the deadline came before the payment; of these:"),
            Row::always("holds", "  late, again", holds.paid_late_taken_again, "paid late, and the units taken again"),
            Row::always("holds", "  late, lost", holds.paid_late_lost, "paid late, and the units were gone"),
            Row::not_0("holds", "without effect", holds.paid_without_effect, "cancelled before the payment came"),
            Row::always("holds", "open", holds.open, "neither paid nor expired when the sale closed"),
        ]
    }

    fn of_parts(parts: &Parts) -> [Row; 8] {
        [
            Row::always("parts", "shipped in parts", parts.shipped_in_parts, "orders, in two parts until FULFILLED"),
            Row::always("parts", "shipped once", parts.shipped_once, "orders, whole, or what a loss or cancel left"),
            Row::always("parts", "lost units", parts.lost_parts, "orders; of these:"),
            Row::always("parts", "  ended", parts.ended, "nothing was left of them"),
            Row::always("parts", "  units given back", parts.units_given_back, ""),
            Row::always("parts", "amended", parts.amended, "orders, to a unit more or a unit less"),
            Row::always("parts", "amends refused", parts.amends_refused, "there was no unit more"),
            Row::not_0("parts", "without effect", parts.without_effect, "refused, cancelled, expired, or not paid for"),
        ]
    }

    fn text(&self, first_of_group: bool) -> String {
        let Row { about, label, figure, note, .. } = self;
        let about = if first_of_group { about } else { "" };
        let line = format!("  {about:<8} {label:<18} {:>13}   {note}", thousands(*figure));
        format!("{}\n", line.trim_end())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::replay::changes::Changed;
    use crate::replay::drive::{Entry, Told};
    use crate::replay::sale::{Change, Does, Order, Timetable};

    const TIME: Duration = Duration::from_millis(500);

    /// The report on an order of 2 units of one SKU, of which there are 2 at first.
    fn report(told: &[Told], available: u64) -> (String, String, Option<String>) {
        report_by_clock(told, available, None)
    }

    /// The same of a sale of holds, if it has been judged by the clock.
    fn report_by_clock(told: &[Told], available: u64, by_clock: Option<ByClock>) -> (String, String, Option<String>) {
        let mut sale = Sale { orders: vec![Order { id: "1".into(), lines: vec![(0, 2)] }], ..Sale::default() };
        sale.timetable = by_clock.is_some().then(|| Timetable { hold_ms: 10, times: vec![0], in_step: true });
        let log: Vec<_> = told.iter().map(|&told| Entry::for_tests(0, told)).collect();
        let tally = Tally::new(&sale, &[2], &[available], &log);
        let mut audit = Audit::default();
        audit.rows = 1;
        let report = Report::new(&sale, &tally, by_clock, &audit, 2, TIME);
        let show = |format| report.show(format, "title").unwrap();
        (show(Format::Text), show(Format::Json), report.verdict().err().map(|failure| failure.to_string()))
    }

    #[test]
    fn good_books_have_no_verdict() {
        let (text, json, verdict) = report(&[Told::New, Told::Replayed], 0);
        assert!(text.starts_with("title\n\n  orders   accepted "), "{text}");
        assert!(
            text.contains("\n2 threads, 500.0ms, 4 reserves per second\n\nTOLD YES TWICE: 0\nCONSERVED: yes"),
            "{text}"
        );
        for absent in ["returns", "holds", "parts", "REFUSED"] {
            assert!(!text.contains(absent), "what there was none of is left out: {text}");
        }
        assert!(json.contains("\"told_yes_twice\": 0,\n  \"conserved\": true"), "{json}");
        assert_eq!(verdict, None);
    }

    #[test]
    fn yes_twice_is_told_everywhere() {
        let (text, json, verdict) = report(&[Told::New, Told::New], 0);
        assert!(text.contains("TOLD YES TWICE: 3\nCONSERVED: NO"), "{text}");
        assert!(json.contains("\"told_yes_twice\": 3"), "{json}");
        assert_eq!(verdict.unwrap(), "told yes 3 times too often");
    }

    #[test]
    fn lost_units_are_told_everywhere() {
        let (text, json, verdict) = report(&[Told::Refused], 1);
        assert!(text.contains("TOLD YES TWICE: 0\nCONSERVED: NO"), "{text}");
        assert!(json.contains("\"conserved\": false"), "{json}");
        assert!(verdict.unwrap().contains("do not add up"));
    }

    #[test]
    fn holds_have_their_rows() {
        let told = [Told::New, Told::PaidAgain];
        let (text, json, verdict) = report_by_clock(&told, 0, Some(ByClock::default()));
        assert!(text.contains("\n  holds    paid in time                   0\n           expired  "), "{text}");
        assert!(text.contains("TOLD YES TWICE: 0\nREFUSED WHILE FREE: 0\nCONSERVED: yes"), "{text}");
        assert!(
            json.contains("\"paid_late_taken_again\": 1,") && json.contains("\"refused_while_free\": 0,"),
            "{json}"
        );
        assert_eq!(verdict, None);
    }

    #[test]
    fn parts_have_their_rows_if_there_are_changes() {
        let mut sale = Sale { orders: vec![Order { id: "1".into(), lines: vec![(0, 2)] }], ..Sale::default() };
        sale.changes.push(Change { order: 0, does: Does::Lose, lines: vec![(0, 1)] });
        let log = [Told::New, Told::Changed(Changed::Lost)].map(|told| Entry::for_tests(0, told));
        let tally = Tally::new(&sale, &[2], &[1], &log);
        let report = Report::new(&sale, &tally, None, &Audit::default(), 1, TIME);
        let [text, json] = [Format::Text, Format::Json].map(|format| report.show(format, "title").unwrap());
        assert!(text.contains("\n           lost units                     1   orders; of these:\n"), "{text}");
        assert!(!text.contains("without effect"), "{text}");
        let parts = "\"parts\": {\n    \"shipped_in_parts\": 0,\n    \"shipped_once\": 0,\n    \"lost_parts\": 1,";
        assert!(json.contains(parts), "{json}");
    }

    #[test]
    fn what_the_clock_says_is_told_everywhere() {
        let told = [Told::New, Told::PaidInTime];
        let judged = |refused_while_free, promised_twice| Some(ByClock { refused_while_free, promised_twice });
        let (text, _, verdict) = report_by_clock(&told, 0, judged(3, 0));
        assert!(text.contains("REFUSED WHILE FREE: 3\n"), "{text}");
        assert_eq!(verdict.unwrap(), "refused 3 times while a unit was free or its hold dead");
        let (text, _, verdict) = report_by_clock(&told, 0, judged(0, 2));
        assert!(text.contains("TOLD YES TWICE: 2\n"), "{text}");
        assert_eq!(verdict.unwrap(), "told yes 2 times too often");
    }

    #[test]
    fn a_run_that_took_no_time_has_no_rate() {
        let sale = Sale::default();
        let report = Report::new(&sale, &Tally::default(), None, &Audit::default(), 1, Duration::ZERO);
        assert_eq!(report.reserves_per_s, 0.0);
    }
}
