//! What the tests of the command line share: running the binary, files to run it on, and a second opinion.

#![allow(dead_code, reason = "each test file is a program of its own and uses a part of this")]

pub mod sequential;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

use sequential::Outcome;

/// What a run of the binary left.
pub struct Ran {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// The report of a run that ended well.
    pub fn json(&self) -> Value {
        assert_eq!(self.status, 0, "{}", self.stderr);
        serde_json::from_str(&self.stdout).unwrap()
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let ran =
            Ran { status: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) };
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
        ran
    }
}

/// The binary, ready to be given arguments.
pub fn command() -> Command {
    Command::new(env!("CARGO_BIN_EXE_stockade"))
}

/// Runs the binary.
pub fn stockade(args: &[&str]) -> Ran {
    command().args(args).output().unwrap().into()
}

/// A folder with these files.
pub fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

/// The path of a file in it, as an argument.
pub fn path(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).to_str().unwrap().into()
}

/// The shared real data, which not every checkout has: a test without it says so and ends.
pub fn shared_data(name: &str) -> Option<PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data").join(name);
    if data.exists() {
        return Some(data);
    }
    println!("SKIPPED: no real data at {}", data.display());
    None
}

/// Replays with one thread and compares everything, to the unit and to the byte, with the sequential program.
pub fn assert_same(args: &[&str], wanted: &Outcome) {
    let folder = folder(&[]);
    let (stock, decisions) = (path(&folder, "stock.csv"), path(&folder, "decisions.csv"));
    let more = ["--threads", "1", "--format", "json", "--write-stock", &stock, "--write-decisions", &decisions];
    let mut report = stockade(&[&["replay"], args, &more].concat()).json();
    let report = report.as_object_mut().unwrap();
    for figure in ["elapsed_s", "reserves_per_s"] {
        assert!(report.remove(figure).unwrap().is_f64());
    }
    assert_eq!(report.remove("threads"), Some(json!(1)));
    let conflicts = report.remove("conflicts").unwrap();
    assert_eq!(conflicts.as_array().map(Vec::len), report["orders"]["conflicting"].as_u64().map(|n| n as usize));
    assert_eq!(Value::Object(report.clone()), wanted.figures());
    assert_eq!(fs::read_to_string(stock).unwrap(), wanted.stock_file());
    assert_eq!(fs::read_to_string(decisions).unwrap(), wanted.decisions_file());
}

/// Replays with several threads and checks what must hold however they run into each other.
pub fn assert_sound(args: &[&str], threads: &str) -> Value {
    let report = stockade(&[&["replay"], args, &["--threads", threads, "--format", "json"]].concat()).json();
    assert_eq!((&report["told_yes_twice"], &report["conserved"]), (&json!(0), &json!(true)));
    let units = |name: &str| report["units"][name].as_u64().unwrap();
    assert_eq!(units("initial") + units("returned"), units("sold") + units("available"));
    report
}
