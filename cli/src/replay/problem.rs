//! What can be wrong with a file, told so that a person can put it right.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use stockade::{MAX_KEY_BYTES, MAX_LINES, MAX_UNITS};

/// A file that cannot be taken, where in it and why.
#[derive(Debug, Error)]
pub struct BadInput {
    file: PathBuf,
    line: Option<u64>,
    problem: Problem,
}

impl BadInput {
    /// Something wrong with the file as a whole.
    pub fn file(file: &Path, problem: Problem) -> Self {
        BadInput { file: file.into(), line: None, problem }
    }

    /// Something wrong on one line, the first being 1.
    pub fn line(file: &Path, line: u64, problem: Problem) -> Self {
        BadInput { file: file.into(), line: Some(line), problem }
    }
}

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}", self.problem)
    }
}

/// What is wrong and what to do about it.
#[derive(Debug, Error)]
pub enum Problem {
    #[error("cannot be read: {0}; check the path")]
    Unreadable(#[from] io::Error),
    #[error("no file has this name; standard input is read as /dev/stdin (on Unix)")]
    Dash,
    #[error("this folder has no *.csv file; name another folder, or the files themselves")]
    NoCsv,
    #[error("not UTF-8; convert the file first, for example with: iconv -f LATIN1 -t UTF-8")]
    NotUtf8,
    #[error("the file is empty; its first line must name the columns")]
    NoHeader,
    #[error("no column {wanted:?}; the columns are: {}; {help}", list(found))]
    NoColumn { wanted: String, found: Vec<String>, help: &'static str },
    #[error("there is more than one column {0:?}; rename one of them")]
    ColumnTwice(String),
    #[error("{found} fields, but the header has {wanted}; complete the line, or quote fields that hold a comma")]
    Ragged { found: u64, wanted: u64 },
    #[error("a quoted field opens here and never ends; add the closing quote, or get the rest of the file")]
    QuoteNeverEnds,
    #[error(
        "a quoted field opens here, ends on line {0} and is followed by text; write a quote inside it twice (\"\")"
    )]
    TextAfterQuote(u64),
    #[error("a quote inside a field that is not quoted; quote the whole field and write the inner quote twice (\"\")")]
    StrayQuote,
    #[error("the {0} is empty; fill it in")]
    EmptyKey(&'static str),
    #[error("the {what} has {bytes} bytes; at most {max} are allowed, shorten it", max = MAX_KEY_BYTES)]
    KeyTooLong { what: &'static str, bytes: usize },
    #[error("{what} {:?} is not a whole number; write digits only, such as 3", short(found))]
    NotWhole { what: &'static str, found: String },
    #[error("{what} {:?} is more than {max}, the most {limit}", short(found))]
    TooLarge { what: &'static str, found: String, max: u64, limit: &'static str },
    #[error("the lines of SKU {0:?} in this order add up to more than {max} units; split the order", max = u32::MAX)]
    SumTooLarge(String),
    #[error("this is the order's SKU number {}; it may have {max}, split the order", MAX_LINES + 1, max = MAX_LINES)]
    TooManySkus,
    #[error("{:?} is no time in UTC; write it like 2021-03-12T17:46:56Z", short(.0))]
    NoTime(String),
    #[error("{:?} is earlier than the time of a row before; sort the rows by time", short(.0))]
    TimeGoesBack(String),
    #[error("{:?} is more than 100 years after the first row; correct it, or leave the row out", short(.0))]
    TooLate(String),
    #[error("SKU {sku:?} was on line {first_line} already; keep one of the two")]
    StockTwice { sku: String, first_line: u64 },
}

/// Column names as one readable list.
fn list(names: &[String]) -> String {
    names.iter().map(|name| format!("{:?}", short(name))).collect::<Vec<_>>().join(", ")
}

/// A value from a file, cut so that a message stays a line.
fn short(value: &str) -> String {
    const LONGEST: usize = 40;
    match value.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &value[..end]),
        None => value.into(),
    }
}

/// Why a file could not be read. Who writes - for a file means standard input.
pub fn unreadable(file: &Path, error: io::Error) -> Problem {
    if file == Path::new("-") && error.kind() == io::ErrorKind::NotFound {
        return Problem::Dash;
    }
    error.into()
}

/// Checks an order id or a SKU against the limits of the engine.
pub fn check_key(what: &'static str, key: &str) -> Result<(), Problem> {
    match key.len() {
        0 => Err(Problem::EmptyKey(what)),
        1..=MAX_KEY_BYTES => Ok(()),
        bytes => Err(Problem::KeyTooLong { what, bytes }),
    }
}

/// Reads a quantity: whole units, with a minus sign for goods that come back.
pub fn parse_quantity(text: &str) -> Result<i64, Problem> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let most = (u32::MAX.into(), "one line can hold; split or correct it");
    let units = parse_whole("quantity", digits, text, most)?.cast_signed();
    Ok(if digits.len() < text.len() { -units } else { units })
}

/// Reads the starting stock of a row.
pub fn parse_available(text: &str) -> Result<u64, Problem> {
    let most = (MAX_UNITS, "a row can receive; divide it over several SKUs, or correct it");
    parse_whole("available", text, text, most)
}

/// The limit comes with what it is the limit of, for the message.
fn parse_whole(
    what: &'static str,
    digits: &str,
    shown: &str,
    (max, limit): (u64, &'static str),
) -> Result<u64, Problem> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Problem::NotWhole { what, found: shown.into() });
    }
    match digits.parse() {
        Ok(units) if units <= max => Ok(units),
        _ => Err(Problem::TooLarge { what, found: shown.into(), max, limit }),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn quantities_are_whole_units() {
        let good = [("3", 3), ("0", 0), ("-0", 0), ("-12", -12), ("007", 7), ("4294967295", 4_294_967_295)];
        for (text, units) in good {
            assert_eq!(parse_quantity(text).unwrap(), units, "{text}");
        }
        for text in ["", "-", "--1", "+1", " 1", "1 ", "1.5", "1e3", "0x1", "\u{663}", "1,000"] {
            assert!(matches!(parse_quantity(text), Err(Problem::NotWhole { .. })), "{text:?}");
        }
        for text in ["4294967296", "-4294967296", "99999999999", "99999999999999999999999"] {
            assert!(matches!(parse_quantity(text), Err(Problem::TooLarge { .. })), "{text:?}");
        }
    }

    #[test]
    fn stock_is_never_negative() {
        assert_eq!(parse_available("68719476735").unwrap(), MAX_UNITS);
        assert!(matches!(parse_available("-1"), Err(Problem::NotWhole { .. })));
        assert!(matches!(parse_available("68719476736"), Err(Problem::TooLarge { .. })));
    }

    #[test]
    fn keys_have_1_to_255_bytes() {
        assert!(check_key("SKU", &"x".repeat(255)).is_ok());
        assert!(matches!(check_key("SKU", ""), Err(Problem::EmptyKey(_))));
        assert!(matches!(check_key("SKU", &"é".repeat(128)), Err(Problem::KeyTooLong { bytes: 256, .. })));
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        assert_eq!(short("abc"), "abc");
        assert_eq!(short(&"é".repeat(41)), format!("{}...", "é".repeat(40)));
    }
}
