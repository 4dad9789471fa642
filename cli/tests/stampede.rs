//! The demonstration must show the bug every time, and that the engine does not have it.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use serde_json::{Value, json};
use support::stockade;

fn run(mode: &str, buyers: &str) -> Value {
    stockade(&["stampede", "--mode", mode, "--buyers", buyers, "--format", "json"]).json()
}

#[test]
fn unsafe_tells_two_buyers_yes_every_time() {
    for _ in 0..20 {
        assert_eq!(run("unsafe", "2")["unsafe"]["told_yes_twice"], 1);
    }
}

#[test]
fn safe_tells_one_buyer_yes_every_time() {
    for _ in 0..20 {
        assert_eq!(run("safe", "2")["safe"]["told_yes_twice"], 0);
    }
}

#[test]
fn sixty_four_buyers() {
    let report = run("both", "64");
    assert_eq!(report["unsafe"]["told_yes_twice"], 63);
    assert_eq!(report["safe"]["told_yes_twice"], 0);
    assert_eq!(report["safe"]["answers"].as_array().unwrap().len(), 64);
}

#[test]
fn who_is_refused_learns_who_has_the_slot() {
    let safe = &run("safe", "16")["safe"];
    let ever_told_yes = safe["ever_told_yes"].as_array().unwrap();
    assert_eq!(ever_told_yes.len(), 1, "a list that should only ever have one name");
    let mut refused = 0;
    for answer in safe["answers"].as_array().unwrap() {
        if answer["answer"] == "no" {
            assert_eq!(answer["holder"], ever_told_yes[0]);
            refused += 1;
        }
    }
    assert_eq!(refused, 15);
}

#[test]
fn the_report_for_people() {
    let ran = stockade(&["stampede"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stdout.starts_with("slot 10:30, 2 buyers at the same time\n"), "{}", ran.stdout);
    let verdicts: Vec<_> = ran.stdout.lines().filter(|line| line.starts_with("TOLD YES TWICE: ")).collect();
    assert_eq!(verdicts, ["TOLD YES TWICE: 1", "TOLD YES TWICE: 0"]);
    assert!(ran.stdout.contains("ever told yes: buyer-1, buyer-2\n"), "{}", ran.stdout);
    let first_or_second = |buyer: &str| ran.stdout.contains(&format!("no, {buyer} has it\n"));
    assert!(first_or_second("buyer-1") ^ first_or_second("buyer-2"), "{}", ran.stdout);
}

#[test]
fn the_slot_has_the_name_it_is_given() {
    let report = stockade(&["stampede", "--slot", "table 7, 19:00", "--format", "json"]).json();
    assert_eq!((&report["slot"], &report["buyers"]), (&json!("table 7, 19:00"), &json!(2)));
}

#[test]
fn bad_arguments() {
    let long = "x".repeat(256);
    for args in [["--buyers", "1"], ["--buyers", "1025"], ["--slot", ""], ["--slot", &long], ["--mode", "x"]] {
        assert_eq!(stockade(&[&["stampede"], &args[..]].concat()).status, 2, "{args:?}");
    }
}
