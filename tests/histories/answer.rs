//! Answers as text, in full: with every number, every short line, every state. Two answers are the same if their texts
//! are, and a history that was written to a file is still the whole history.
//!
//! SKU handles are written as names, because handles of two engines differ.

use std::fmt::{Debug, Display};

pub fn told<E: Debug>(answer: Result<String, E>) -> String {
    answer.unwrap_or_else(|refusal| format!("Err({refusal:?})"))
}

pub fn say<T: Debug, E: Debug>(answer: Result<T, E>) -> String {
    told(answer.map(|yes| format!("{yes:?}")))
}

/// What an accepted cancel or void gave back.
pub fn released(from: impl Display, lines: &[(String, u32)]) -> String {
    format!("Released from {from} {lines:?}")
}

/// What a change in part left of its order, or how it ended by that.
pub fn left(units: u64, ended: Option<impl Display>) -> String {
    match ended {
        None => format!("Left {units}"),
        Some(state) => format!("{state} by this, {units} open"),
    }
}

/// What was answered to a request with a key, for the first time or once more; `first` writes what that was.
pub fn once<T>(is_new: bool, answer: T, first: impl Fn(T) -> String) -> String {
    format!("{} {}", if is_new { "New" } else { "Replayed" }, first(answer))
}

/// How many orders were forgotten.
pub fn forgot(orders: usize) -> String {
    if orders == 0 { "Nothing".to_string() } else { format!("Forgot {orders}") }
}

/// An order as a reader sees it; of each line the units ordered, open, fulfilled, cancelled.
pub fn seen(
    state: impl Display,
    version: u64,
    lines: &[(String, [u32; 4])],
    cancelled: impl Debug,
    deadline_ms: Option<u64>,
) -> String {
    let until = deadline_ms.map(|ms| format!(" until {ms}")).unwrap_or_default();
    format!("{state} version {version} {lines:?} cancelled {cancelled:?}{until}")
}

/// The number that follows `name` in an answer.
pub fn field(answer: &str, name: &str) -> Option<u64> {
    let (_, after) = answer.split_once(&format!("{name}: "))?;
    after.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Which number an order gets is the engine's affair: the sequential engine writes `_`. That all callers are told the
/// same number is looked at in `totals.rs`.
pub fn unnumbered(answer: &str) -> String {
    match field(answer, "number") {
        Some(number) => answer.replacen(&format!("number: {number}"), "number: _", 1),
        None => answer.to_string(),
    }
}

/// The answer without its data: `Err InvalidState`, `Replayed`.
pub fn kind(answer: &str) -> String {
    let other = |c: char| !c.is_ascii_alphabetic() && c != '_';
    let mut names = answer.split(other).filter(|word| !matches!(*word, "" | "_"));
    match names.next() {
        Some("Err") => match names.next() {
            Some("Invalid") => format!("Err {}", names.next().unwrap_or("Invalid")),
            refusal => format!("Err {}", refusal.unwrap_or_default()),
        },
        name => name.unwrap_or_default().to_string(),
    }
}
