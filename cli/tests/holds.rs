//! Holds that end: sales by the times of a file that one can follow by hand, and generated ones.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::fs;

use serde_json::{Value, json};
use support::{assert_sound, folder, path, stockade};

/// Buyers 1, 3 and 5 do not pay in time with a share of 0.5; there are two units with one of 0.34.
const SALE: &str = "\
buyer,at,note
a,2021-03-12T12:00:00Z,does not pay in time
b,2021-03-12T12:00:03Z,
c,2021-03-12T12:00:09Z,a has still a second
d,2021-03-12T12:00:10Z,takes what a had
e,2021-03-12T12:00:30Z,all is paid for
f,2021-03-12T12:00:30Z,
";

/// Replays a file by its clock with holds of ten seconds; the report and the decisions.
fn by_clock(rows: &str, args: &[&str]) -> (Value, String) {
    let folder = folder(&[("sale.csv", rows.as_bytes())]);
    let [sale, told] = ["sale.csv", "told.csv"].map(|name| path(&folder, name));
    let columns = ["--order-column", "buyer", "--time-column", "at", "--hold", "10000", "--pay-share", "0.5"];
    let more = ["--threads", "1", "--format", "json", "--write-decisions", &told];
    let report = stockade(&[&["replay", &sale], &columns[..], &more, args].concat()).json();
    let verdict = (&report["told_yes_twice"], &report["refused_while_free"], &report["conserved"]);
    assert_eq!(verdict, (&json!(0), &json!(0), &json!(true)));
    (report, fs::read_to_string(told).unwrap())
}

/// The figures of holds in the order of the report.
fn holds(figures: [u64; 6]) -> Value {
    let [paid_in_time, expired, again, lost, paid_without_effect, open] = figures;
    json!({
        "paid_in_time": paid_in_time, "expired": expired, "paid_late_taken_again": again, "paid_late_lost": lost,
        "paid_without_effect": paid_without_effect, "open": open,
    })
}

#[test]
fn a_dead_hold_is_there_for_the_next() {
    let decisions = "a,accepted\nb,accepted\nc,refused\nd,accepted\ne,refused\nf,refused\n";
    let (report, told) = by_clock(SALE, &["--stock-share", "0.34", "--late-share", "0"]);
    assert_eq!((&report["holds"], told.as_str()), (&holds([2, 1, 0, 0, 0, 0]), decisions));
    assert_eq!(report["units"], json!({"initial": 2, "sold": 2, "returned": 0, "available": 0}));

    let (report, told) = by_clock(SALE, &["--stock-share", "0.34", "--late-share", "1"]);
    assert_eq!((&report["holds"], told.as_str()), (&holds([2, 1, 0, 1, 0, 0]), decisions), "a comes after d");
}

#[test]
fn a_stock_file_says_how_many_items_there_are() {
    let folder = folder(&[("stock.csv", b"sku,available\nother,9\nitem,2\n")]);
    let (report, _) = by_clock(SALE, &["--stock", &path(&folder, "stock.csv"), "--late-share", "0"]);
    assert_eq!((&report["orders"]["refused"], &report["units"]["available"]), (&json!(3), &json!(9)));
}

#[test]
fn who_pays_late_has_his_unit_if_it_is_still_there() {
    let rows = SALE
        .replace("c,2021-03-12T12:00:09Z", "c,2021-03-12T12:00:25Z")
        .replace("d,2021-03-12T12:00:10Z", "d,2021-03-12T12:00:25Z");
    let (report, told) = by_clock(&rows, &["--stock-share", "0.34", "--late-share", "1"]);
    assert_eq!(told, "a,accepted\nb,accepted\nc,refused\nd,refused\ne,refused\nf,refused\n");
    assert_eq!(report["holds"], holds([1, 1, 1, 0, 0, 0]));

    let (report, told) = by_clock(&rows, &["--stock-share", "0.34", "--late-share", "0"]);
    assert_eq!(told, "a,accepted\nb,accepted\nc,accepted\nd,refused\ne,refused\nf,refused\n");
    assert_eq!(report["holds"], holds([1, 1, 0, 0, 0, 1]), "the sale closes while c has still five seconds");
}

#[test]
fn the_same_instant_can_be_shared_by_threads() {
    let same = "buyer,at\n".to_string() + &(0..400).map(|n| format!("{n},2021-03-12T12:00:00Z\n")).collect::<String>();
    let later = (0..400).map(|n| format!("late-{n},2021-03-12T12:00:10Z\n")).collect::<String>();
    let folder = folder(&[("sale.csv", (same + &later).as_bytes())]);
    let sale = path(&folder, "sale.csv");
    let args = [&sale, "--order-column", "buyer", "--time-column", "at", "--stock-share", "0.25", "--hold", "10000"];
    for threads in ["1", "2", "8"] {
        let report = assert_sound(&[&args[..], &["--pay-share", "0"]].concat(), threads);
        assert_eq!((&report["orders"]["accepted"], &report["orders"]["refused"]), (&json!(400), &json!(400)));
        assert_eq!((&report["holds"]["expired"], &report["holds"]["open"]), (&json!(200), &json!(200)));
        assert_eq!(report["refused_while_free"], 0);
    }
}

/// One buyer after the other, too many, and each of them loses or ships his unit, or asks for another one.
#[test]
fn by_the_clock_nobody_is_refused_what_a_change_has_given_back() {
    let row = |n: usize| format!("{n},2021-03-12T12:{:02}:{:02}.{}00Z\n", n / 600, n / 10 % 60, n % 10);
    let rows = "buyer,at\n".to_string() + &(0..3_000).map(row).collect::<String>();
    let folder = folder(&[("sale.csv", rows.as_bytes())]);
    let sale = path(&folder, "sale.csv");
    let args = [&sale, "--order-column", "buyer", "--time-column", "at", "--stock-share", "0.4", "--hold", "30000"];
    for threads in ["1", "2", "8"] {
        let report = assert_sound(&[&args[..], &["--part-share", "1"]].concat(), threads);
        assert_eq!((&report["refused_while_free"], &report["parts"]["shipped_in_parts"]), (&json!(0), &json!(0)));
        for figure in ["shipped_once", "ended", "amended", "amends_refused"] {
            assert!(report["parts"][figure].as_u64().unwrap() > 0, "{figure} of {report}");
        }
        assert_eq!(report["parts"]["units_given_back"], report["parts"]["ended"], "an order has one unit to lose");
    }
}

#[test]
fn a_generated_sale_of_holds_that_change_in_part() {
    let args = ["--orders", "5000", "--skus", "20", "--hold", "1000", "--pay-share", "0.5", "--part-share", "1"];
    for threads in ["1", "2", "8"] {
        let report = assert_sound(&args, threads);
        for (figure, count) in report["parts"].as_object().unwrap() {
            assert!(count.as_u64().unwrap() > 0, "{figure} of {report}");
        }
        for figure in ["expired", "paid_late_taken_again", "paid_late_lost"] {
            assert!(report["holds"][figure].as_u64().unwrap() > 0, "{report}");
        }
    }
}

#[test]
fn a_generated_sale_of_holds() {
    let args = ["--orders", "5000", "--skus", "20", "--cancel", "0", "--hold", "1000", "--pay-share", "0.5"];
    for threads in ["1", "2", "8"] {
        let report = assert_sound(&args, threads);
        let count = |name: &str| report["holds"][name].as_u64().unwrap();
        for figure in ["paid_in_time", "expired", "paid_late_taken_again", "paid_late_lost"] {
            assert!(count(figure) > 0, "{report}");
        }
        assert_eq!(report["orders"]["accepted"], count("paid_in_time") + count("expired") + count("open"), "{report}");
        assert_eq!(report["refused_while_free"], Value::Null, "the threads run free, so nobody can say");
    }
}

#[test]
fn a_generated_sale_of_holds_is_the_same_every_time_with_one_thread() {
    let args = ["replay", "--orders", "3000", "--hold", "500", "--threads", "1", "--format", "json"];
    let run = |seed: &str| stockade(&[&args[..], &["--seed", seed]].concat()).json()["holds"].clone();
    assert_eq!(run("1"), run("1"));
    assert_ne!(run("1"), run("2"));
}

/// Of holds that all are paid for nothing is left to expire, and of those that nobody pays for everything.
#[test]
fn the_ends_of_the_shares() {
    let args = ["--orders", "2000", "--skus", "5", "--cancel", "0", "--hold", "100", "--stock-share", "1"];
    let holds_of = |pay: &str, late: &str| {
        let shares = ["--pay-share", pay, "--late-share", late];
        assert_sound(&[&args[..], &shares].concat(), "1")["holds"].clone()
    };
    assert_eq!(holds_of("1", "1"), holds([2_000, 0, 0, 0, 0, 0]));
    assert_eq!(holds_of("0", "0"), holds([0, 1_900, 0, 0, 0, 100]));
}

#[test]
fn the_report_for_people_tells_of_holds() {
    let ran = stockade(&["replay", "--orders", "3000", "--hold", "500", "--threads", "1"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.starts_with("generated flash sale of 3,000 orders for 1,000 SKUs, seed 1, holds of 0.5 s\n"));
    for part in ["paid in time", "paid late, and the units taken again", "paid late, and the units were gone"] {
        assert!(ran.stdout.contains(part), "{}", ran.stdout);
    }
}

#[test]
fn arguments_that_do_not_fit() {
    let folder = folder(&[("sale.csv", SALE.as_bytes())]);
    let sale = path(&folder, "sale.csv");
    let timed = [sale.as_str(), "--stock-share", "1", "--time-column", "at"];
    let cases: [(&[&str], &str); 12] = [
        (&["--hold", "0"], "2..=31536000000"),
        (&["--hold", "1"], "2..=31536000000"),
        (&["--hold", "10s"], "--hold"),
        (&["--hold", "10", "--pay-share", "1.5"], "write a share from 0 to 1"),
        (&["--hold", "10", "--pay-share", "-0.1"], "write a share from 0 to 1"),
        (&["--hold", "10", "--late-share", "NaN"], "write a share from 0 to 1"),
        (&["--pay-share", "0.5"], "--hold <MS>"),
        (&["--late-share", "0.5"], "--hold <MS>"),
        (&timed, "--hold <MS>"),
        (&["--time-column", "at", "--hold", "10"], "<FILE>"),
        (&[&timed[..], &["--hold", "10", "--sku-column", "x"]].concat(), "cannot be used with"),
        (&[&timed[..], &["--hold", "10", "--return-prefix", "x"]].concat(), "cannot be used with"),
    ];
    for (args, part) in cases {
        let ran = stockade(&[&["replay"], args].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{args:?}");
        assert!(ran.stderr.contains(part), "no {part:?} in {}", ran.stderr);
    }
}

#[test]
fn bad_times_are_told_with_their_line() {
    let row = "b,2021-03-12T12:00:03Z";
    let cases = [
        ("b,2021-03-12 12:00:03", "\"2021-03-12 12:00:03\" is no time in UTC; write it like 2021-03-12T17:46:56Z"),
        ("b,2021-03-12T11:59:59Z", "is earlier than the time of a row before; sort the rows by time"),
        ("b,2221-03-12T12:00:03Z", "is more than 100 years after the first row; correct it"),
        (",2021-03-12T12:00:03Z", "the order id is empty"),
    ];
    for (bad, part) in cases {
        let folder = folder(&[("sale.csv", SALE.replace(row, bad).as_bytes())]);
        let sale = path(&folder, "sale.csv");
        let args =
            ["replay", &sale, "--order-column", "buyer", "--time-column", "at", "--stock-share", "1", "--hold", "9"];
        let ran = stockade(&args);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{bad}");
        assert!(ran.stderr.contains("sale.csv:3: ") && ran.stderr.contains(part), "{}", ran.stderr);
    }
    let folder = folder(&[("sale.csv", SALE.as_bytes())]);
    let ran =
        stockade(&["replay", &path(&folder, "sale.csv"), "--time-column", "when", "--stock-share", "1", "--hold", "9"]);
    assert!(
        ran.stderr.contains("sale.csv:1: no column \"order\"") && ran.stderr.contains("--time-column"),
        "{}",
        ran.stderr
    );
}
