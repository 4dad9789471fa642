//! Replays of small files that one can follow by hand, of random files against the sequential program, and of
//! generated sales.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::Stdio;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use support::sequential::{Rules, Start, replay};
use support::{Ran, assert_same, assert_sound, command, folder, path, stockade};

/// Every rule once. A starts with 5 and b with 1; C only comes back, so it starts with none.
const DAY: &str = "\
order,sku,quantity
1,A,3
1,A,1
2,A,2
2,b,1
3,A,1
3,gift,9
4,A,-1
R1,A,-4
R1,C,-2
R2,gift,-1
2,b,1
2,A,2
1,A,4
5,A,1
";

const SALE: [&str; 5] = ["replay", "--orders", "3000", "--skus", "20"];

#[test]
fn a_day_that_can_be_followed_by_hand() {
    let folder = folder(&[("day.csv", DAY.as_bytes()), ("start.csv", b"sku,available\nA,5\nb,1\n")]);
    let [day, start, end, told] = ["day.csv", "start.csv", "end.csv", "told.csv"].map(|name| path(&folder, name));
    let args = ["replay", &day, "--stock", &start, "--sku-pattern", "[A-Za-z]", "--return-prefix", "R"];
    let more = ["--threads", "1", "--format", "json", "--write-stock", &end, "--write-decisions", &told];
    let report = stockade(&[&args[..], &more].concat()).json();
    let orders = json!({"accepted": 4, "refused": 1, "empty": 1, "replayed": 1, "closed": 0, "conflicting": 0});
    assert_eq!(report["orders"], orders);
    assert_eq!(report["returns"], json!({"applied": 1, "empty": 1}));
    assert_eq!(report["units"], json!({"initial": 6, "sold": 9, "returned": 6, "available": 3}));
    assert_eq!((&report["skus"], &report["skus_sold_out"]), (&json!(3), &json!(1)));
    assert_eq!(report["lines"], json!({"read": 14, "skipped_sku": 2, "skipped_quantity": 1}));
    assert_eq!((&report["told_yes_twice"], &report["conserved"]), (&json!(0), &json!(true)));
    assert_eq!(fs::read_to_string(&told).unwrap(), "1,accepted\n2,refused\n3,accepted\n2,accepted\n5,accepted\n");
    assert_eq!(fs::read_to_string(&end).unwrap(), "sku,available\nA,1\nC,2\nb,0\n");

    let next_day = stockade(&["replay", &day, "--stock", &end, "--format", "json"]).json();
    assert_eq!(next_day["units"]["initial"], 3, "the stock that was written can be read");
}

#[test]
fn the_report_for_people() {
    let folder = folder(&[("day.csv", DAY.as_bytes())]);
    let ran = stockade(&["replay", &path(&folder, "day.csv"), "--stock-share", "0.5", "--threads", "1"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(ran.stderr, "", "no progress bar and no warnings");
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert!(lines[0].starts_with("replay of ") && lines[0].ends_with("day.csv"), "{}", ran.stdout);
    assert_eq!(lines.iter().filter(|line| **line == "TOLD YES TWICE: 0").count(), 1, "{}", ran.stdout);
    assert!(lines.last().unwrap().starts_with("CONSERVED: yes"), "{}", ran.stdout);
}

#[test]
fn files_are_read_in_the_order_given_and_folders_by_name() {
    let (first, second) = ("order,sku,quantity\n1,A,1\n2,A,1\n", "sku,order,quantity\nA,2,1\nA,3,1\n");
    let folder = folder(&[
        ("b.csv", second.as_bytes()),
        ("a.csv", first.as_bytes()),
        ("c.txt", b"not read"),
        (".d.csv", b"not read"),
        ("stock.txt", b"sku,available\nA,3\n"),
    ]);
    let told_of = |inputs: &[&str]| {
        let (stock, told) = (path(&folder, "stock.txt"), path(&folder, "told.txt"));
        let more = ["--stock", &stock, "--write-decisions", &told, "--threads", "1"];
        let ran = stockade(&[&["replay"], inputs, &more].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        fs::read_to_string(&told).unwrap()
    };
    let by_name = told_of(&[folder.path().to_str().unwrap()]);
    assert_eq!(by_name, "1,accepted\n2,accepted\n3,refused\n", "2 goes on in the second file: one order of 2");
    let turned = told_of(&[&path(&folder, "b.csv"), &path(&folder, "a.csv")]);
    assert_eq!(turned, "2,accepted\n3,accepted\n1,accepted\n", "2 comes back with the same lines");
}

#[test]
fn ids_and_skus_are_quoted_where_they_must_be() {
    let orders = "order,sku,quantity\n\"a,\"\"b\"\"\",\"7\"\" plate, blue\",1\n";
    let folder = folder(&[("orders.csv", orders.as_bytes())]);
    let [orders, end, told] = ["orders.csv", "end.csv", "told.csv"].map(|name| path(&folder, name));
    stockade(&["replay", &orders, "--stock-share", "2", "--write-stock", &end, "--write-decisions", &told]);
    assert_eq!(fs::read_to_string(&told).unwrap(), "\"a,\"\"b\"\"\",accepted\n");
    let again = stockade(&["replay", &orders, "--stock", &end, "--format", "json"]).json();
    assert_eq!(again["units"], json!({"initial": 1, "sold": 1, "returned": 0, "available": 0}));
}

/// Orders, returns, repeats, conflicts and lines to skip in every mixture.
fn random_file(seed: u64) -> String {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut file = String::from("order,sku,quantity\n");
    for _ in 0..400 {
        let id = format!("{}{}", ["", "", "", "R"][random.random_range(0..4)], random.random_range(0..100));
        for _ in 0..random.random_range(1..4) {
            let sku = ["A", "B", "C", "D", "post"][random.random_range(0..5)];
            file += &format!("{id},{sku},{}\n", random.random_range(-2..3));
        }
    }
    file
}

#[test]
fn random_files_are_reproduced_to_the_unit() {
    let is_goods = |sku: &str| sku.len() == 1;
    let rules = Rules { order: "order", sku: "sku", quantity: "quantity", is_goods, return_prefix: Some("R") };
    for seed in 0..12 {
        let folder = folder(&[("orders.csv", random_file(seed).as_bytes())]);
        let orders = path(&folder, "orders.csv");
        let args = [&orders, "--stock-share", "0.29", "--sku-pattern", "[A-Z]", "--return-prefix", "R"];
        assert_same(&args, &replay(&[PathBuf::from(&orders)], &rules, Start::Hundredths(29)));
        assert_sound(&args, "8");
    }
}

/// With enough for all, whoever asks for a unit more gets it and gives it back. So of what the sequential program sells
/// only the units that were cancelled come back.
#[test]
fn orders_that_change_in_part_differ_by_the_units_they_give_back() {
    let is_goods = |sku: &str| sku.len() == 1;
    let rules = Rules { order: "order", sku: "sku", quantity: "quantity", is_goods, return_prefix: Some("R") };
    for seed in 0..12 {
        let folder = folder(&[("orders.csv", random_file(seed).as_bytes())]);
        let [orders, told] = ["orders.csv", "told.csv"].map(|name| path(&folder, name));
        let args = [&orders, "--sku-pattern", "[A-Z]", "--return-prefix", "R", "--part-share", "1", "--stock-share"];
        let args = |stock_share| [&args[..], &[stock_share]].concat();
        let report = assert_sound(&[args("2"), vec!["--write-decisions", &told]].concat(), "1");
        let wanted = replay(&[PathBuf::from(&orders)], &rules, Start::Hundredths(200));
        assert_eq!(fs::read_to_string(&told).unwrap(), wanted.decisions_file());
        let (parts, wanted) = (&report["parts"], wanted.figures());
        let count = |figure: &Value| figure.as_u64().unwrap();
        let given_back = count(&parts["units_given_back"]);
        assert_eq!(count(&report["units"]["sold"]) + given_back, count(&wanted["units"]["sold"]));
        assert_eq!((&parts["amends_refused"], &parts["without_effect"]), (&json!(0), &json!(0)), "{report}");
        for figure in ["shipped_in_parts", "shipped_once", "lost_parts", "ended", "amended"] {
            assert!(count(&parts[figure]) > 0, "{report}");
        }
        assert_sound(&args("0.29"), "8");
    }
}

#[test]
fn a_generated_sale_whose_orders_change_in_part() {
    for threads in ["1", "2", "8"] {
        let report = assert_sound(&[&SALE[1..], &["--part-share", "0.8"]].concat(), threads);
        for (figure, count) in report["parts"].as_object().unwrap() {
            assert!(count.as_u64().unwrap() > 0, "{figure} of {report}");
        }
    }
    let run =
        || timeless(&stockade(&[&SALE[..], &["--threads", "1", "--format", "json", "--part-share", "1"]].concat()));
    assert_eq!(run(), run());
}

/// Without the figures that depend on time.
fn timeless(ran: &Ran) -> Value {
    let mut report = ran.json();
    report.as_object_mut().unwrap().retain(|figure, _| !figure.ends_with("_s"));
    report
}

#[test]
fn a_generated_sale_is_the_same_every_time_with_one_thread() {
    let run =
        |seed| timeless(&stockade(&[&SALE[..], &["--threads", "1", "--format", "json", "--seed", seed]].concat()));
    assert_eq!(run("1"), run("1"));
    assert_ne!(run("1"), run("2"));
}

#[test]
fn a_generated_sale_sells_out_and_tells_nobody_yes_twice() {
    for threads in ["1", "2", "8"] {
        let report = assert_sound(&SALE[1..], threads);
        let count = |group: &str, name: &str| report[group][name].as_u64().unwrap();
        assert_eq!(report["skus"], 20);
        assert!(count("units", "available") * 100 < count("units", "initial"), "{report}");
        for answer in ["accepted", "refused", "replayed"] {
            assert!(count("orders", answer) > 0, "{report}");
        }
        assert!(count("cancels", "applied") > 0, "{report}");
    }
}

/// Enough for all: every order is accepted once, however its two senders run into each other.
#[test]
fn orders_that_are_sent_twice_are_new_once() {
    let args = ["--orders", "2000", "--skus", "5", "--repeat", "1", "--cancel", "0", "--stock-share", "1"];
    for threads in ["1", "2", "8"] {
        let report = assert_sound(&args, threads);
        assert_eq!((&report["orders"]["accepted"], &report["orders"]["replayed"]), (&json!(2_000), &json!(2_000)));
        assert_eq!(report["units"]["available"], 0);
    }
}

#[test]
fn a_file_without_orders_is_no_reason_to_fail() {
    let folder = folder(&[("orders.csv", b"order,sku,quantity")]);
    let report = assert_sound(&[&path(&folder, "orders.csv"), "--stock-share", "0.5"], "2");
    assert_eq!((&report["skus"], &report["reserves_per_s"]), (&json!(0), &json!(0.0)));
}

#[test]
fn arguments_that_do_not_fit_together() {
    let folder = folder(&[("day.csv", DAY.as_bytes())]);
    let day = path(&folder, "day.csv");
    let cases: [(&[&str], &str); 15] = [
        (&[&day], "--stock <FILE>|--stock-share <F>"),
        (&[&day, "--stock", &day, "--stock-share", "1"], "cannot be used with"),
        (&[&day, "--stock-share", "1", "--seed", "2"], "cannot be used with"),
        (&["--stock", &day], "<FILE>"),
        (&["--order-column", "x"], "<FILE>"),
        (&["--stock-share=-1"], "write a share as a decimal"),
        (&["--stock-share", "-1"], "write a share as a decimal"),
        (&["--hot", "-1"], "write a share from 0 to 1"),
        (&["--repeat", "-0.5"], "write a share from 0 to 1"),
        (&["--part-share", "-1"], "write a share from 0 to 1"),
        (&["--cancel", "-1"], "write a share from 0 to 1"),
        (&["--threads", "0"], "--threads"),
        (&["--hot", "1.5"], "write a share from 0 to 1"),
        (&[&day, "--stock-share", "1", "--sku-pattern", "("], "unclosed group"),
        (&[&day, "--stock-share", "1", "--return-prefix", ""], "--return-prefix"),
    ];
    for (args, part) in cases {
        let ran = stockade(&[&["replay"], args].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{args:?}");
        assert!(ran.stderr.contains(part), "no {part:?} in {}", ran.stderr);
    }
}

#[test]
fn help_is_enough_to_start() {
    for command in ["replay", "stampede"] {
        let help = stockade(&[command, "--help"]);
        assert_eq!(help.status, 0);
        for part in ["Examples:", "Exit status:", "stockade "] {
            assert!(help.stdout.contains(part), "{}", help.stdout);
        }
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    for args in [&[&SALE[..], &["--format", "json"]].concat()[..], &["stampede", "--buyers", "64"]] {
        let mut child = command().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
    }
}
