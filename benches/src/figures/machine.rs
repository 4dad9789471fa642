//! What the figures were measured on and with: without it they say nothing.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::SystemTime;

use serde::Serialize;

/// Crates whose versions are named with the figures.
const CRATES: [&str; 10] = [
    "stockade",
    "dashmap",
    "papaya",
    "scc",
    "parking_lot",
    "crossbeam-channel",
    "rusqlite",
    "redis",
    "postgres",
    "hdrhistogram",
];

#[derive(Serialize)]
pub struct Machine {
    pub cpu: String,
    pub cores: usize,
    pub memory: String,
    pub system: String,
    pub rustc: &'static str,
    pub date: String,
    /// Of the repository, `-dirty` with changes that are not committed.
    pub commit: String,
    pub optimised: bool,
    pub crates: BTreeMap<String, String>,
}

impl Machine {
    pub fn read() -> Machine {
        let field = |file, name| field(file, name).unwrap_or_else(|| "unknown".into());
        Machine {
            cpu: field("/proc/cpuinfo", "model name"),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            memory: field("/proc/meminfo", "MemTotal"),
            system: std::fs::read_to_string("/proc/sys/kernel/osrelease")
                .map_or_else(|_| std::env::consts::OS.into(), |it| format!("Linux {}", it.trim())),
            rustc: env!("STOCKADE_RUSTC"),
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            commit: commit().unwrap_or_else(|| "unknown".into()),
            optimised: !cfg!(debug_assertions),
            crates: crates(include_str!("../../../Cargo.lock")),
        }
    }

    /// One line for each thing.
    pub fn text(&self) -> String {
        let Machine { cpu, cores, memory, system, rustc, date, commit, optimised, crates } = self;
        let crates: Vec<String> = crates.iter().map(|(name, version)| format!("{name} {version}")).collect();
        let build = if *optimised { "optimised" } else { "NOT optimised" };
        format!(
            "{cpu}, {cores} cores, {memory}, {system}\n{rustc}, {build}, commit {commit}\n{}\n{date}",
            crates.join(", ")
        )
    }
}

/// The first value of this name in a file of `name: value` lines.
fn field(file: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    fields.find(|field| field.0.trim() == name).map(|field| field.1.trim().to_owned())
}

/// What of this process lies in memory; `None` where the system does not say.
pub fn resident_bytes() -> Option<u64> {
    let kib = field("/proc/self/status", "VmRSS")?;
    kib.split_whitespace().next()?.parse().ok().map(|kib: u64| kib * 1024)
}

fn commit() -> Option<String> {
    let describe = ["describe", "--always", "--dirty"];
    let output = Command::new("git").arg("-C").arg(env!("CARGO_MANIFEST_DIR")).args(describe).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Versions by name, as the lock file has them.
fn crates(lock: &str) -> BTreeMap<String, String> {
    let packages = lock.split("[[package]]").filter_map(|package| {
        let value = |key| package.lines().find_map(|line| line.strip_prefix(key)?.strip_suffix('"'));
        Some((value("name = \"")?.to_owned(), value("version = \"")?.to_owned()))
    });
    packages.filter(|package| CRATES.contains(&package.0.as_str())).collect()
}
