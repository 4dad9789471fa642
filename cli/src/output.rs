//! Printing for people and programs: never a panic when nobody reads, and numbers one can read.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};

use clap::ValueEnum;
use serde::Serialize;

use crate::failure::Failure;

/// How a report is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for people.
    Text,
    /// One JSON object on stdout, nothing else.
    Json,
}

/// Prints a report. A reader that went away (`| head`) is not an error.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Unprintable(error)),
        _ => Ok(()),
    }
}

/// A report as JSON.
pub fn json(report: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(report).map_err(io::Error::from);
    Ok(text.map_err(Failure::Unprintable)? + "\n")
}

/// One line on stderr. If stderr is gone there is nobody left to tell.
pub fn complain(line: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// 1234567 as "1,234,567".
pub fn thousands(number: impl Into<i128>) -> String {
    let number = number.into();
    let digits = number.unsigned_abs().to_string();
    let mut text = String::from(if number < 0 { "-" } else { "" });
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::thousands;

    #[test]
    fn thousands_are_grouped_from_the_right() {
        let shown = [0, 7, 999, 1_000, 123_456, 1_234_567, -5, -1_000_i64].map(thousands);
        assert_eq!(shown, ["0", "7", "999", "1,000", "123,456", "1,234,567", "-5", "-1,000"]);
    }
}
