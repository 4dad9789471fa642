//! The figures program on small sizes: it ends well, every goal has its row, and what it writes can be read.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::process::Command;

use serde_json::Value;

/// Rows of the table, by the figures' names, and how many of them have a goal.
const ROWS: [(&str, usize, usize); 15] = [
    ("fresh-capacity", 6, 6),
    ("fresh-growing", 6, 4),
    ("repeats", 2, 2),
    ("cancel", 2, 2),
    ("floor", 2, 2),
    ("longest", 1, 1),
    ("latency", 5, 1),
    ("memory", 3, 3),
    ("scale", 2, 2),
    ("hot-row", 1, 1),
    ("transfer", 3, 0),
    ("lines", 2, 2),
    ("batch", 2, 2),
    ("threads", 4, 1),
    ("others", 6, 0),
];

fn figures() -> Command {
    let mut figures = Command::new(env!("CARGO_BIN_EXE_figures"));
    figures.arg("--quick");
    figures
}

#[test]
fn every_row_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let (json, plots) = (folder.path().join("figures.json"), folder.path().join("plots"));
    let output = figures().arg("--json").arg(&json).arg("--plots").arg(&plots).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();

    let rows = report["figures"].as_array().unwrap();
    for (group, count, goals) in ROWS {
        let of_group: Vec<&Value> = rows.iter().filter(|row| row["group"] == group).collect();
        assert_eq!(of_group.len(), count, "{group}");
        assert_eq!(of_group.iter().filter(|row| !row["goal"].is_null()).count(), goals, "{group}");
        of_group.into_iter().for_each(check);
    }
    assert_eq!(rows.len(), ROWS.iter().map(|row| row.1).sum::<usize>());

    for name in ["cpu", "cores", "memory", "system", "rustc", "date", "commit"] {
        assert!(!report["machine"][name].is_null(), "{name}");
    }
    assert_eq!(report["machine"]["crates"]["stockade"], env!("CARGO_PKG_VERSION"));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("QUICK"), "{text}");
    assert!(rows.iter().all(|row| text.contains(row["title"].as_str().unwrap())), "{text}");
    for plot in ["throughput.svg", "latency.svg", "longest.svg", "bytes.svg"] {
        assert!(std::fs::read_to_string(plots.join(plot)).unwrap().contains("stockade"), "{plot}");
    }
}

/// A row has a figure within its spread and a verdict if it has a goal, or says why not.
fn check(row: &Value) {
    if row["spread"].is_null() {
        // Where each thread has a core only now and then, no line moves.
        let known = [("batch", "no batch verb yet"), ("transfer", "not measured")];
        let said = (row["group"].as_str().unwrap(), row["absent"].as_str().unwrap());
        // Resident memory is read from Linux.
        assert!(known.contains(&said) || !cfg!(target_os = "linux") && said.0 == "memory", "{row}");
        return;
    }
    let number = |name| row["spread"][name].as_f64().unwrap();
    assert!(number("min") <= number("figure") && number("figure") <= number("max"), "{row}");
    assert_eq!(row["goal"].is_null(), row["met"].is_null(), "{row}");
    for beside in row["beside"].as_array().unwrap() {
        assert!(!beside["spread"].is_null() || row["group"] == "transfer", "{row}");
    }
}

#[test]
fn a_single_figure_can_be_asked_for() {
    let output = figures().args(["--only", "floor"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("share of the floor") && !text.contains("fresh reserves"), "{text}");
    assert_eq!(figures().args(["--only", "flor"]).output().unwrap().status.code(), Some(2));
}

#[cfg(not(feature = "servers"))]
#[test]
fn servers_need_their_feature() {
    let output = figures().arg("--redis").output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("--features servers"));
}
