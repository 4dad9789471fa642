//! Files, folders and their CSV rows: from paths to the fields of named columns, each with its line number.

use std::fs;
use std::path::{Path, PathBuf};

use csv::{ErrorKind, Position, ReaderBuilder, StringRecord};

use super::problem::{BadInput, Problem, unreadable};
use super::quoting::{self, line_breaks};

/// The columns to take from a file, and what to do if one is missing.
pub struct Columns<'a, const N: usize> {
    /// Their names in the header.
    pub names: [&'a str; N],
    /// Advice for a person whose file has other names.
    pub help: &'static str,
}

/// Puts the `*.csv` files of a folder, by name, in the folder's place.
pub fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>, BadInput> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            files.extend(csv_files_in(path)?);
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

/// As a shell reads `*.csv`: hidden files are not part of it.
fn csv_files_in(folder: &Path) -> Result<Vec<PathBuf>, BadInput> {
    let bad = |problem| BadInput::file(folder, problem);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| bad(error.into()))? {
        let path = entry.map_err(|error| bad(error.into()))?.path();
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        if name.ends_with(b".csv") && !name.starts_with(b".") && !path.is_dir() {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() { Err(bad(Problem::NoCsv)) } else { Ok(files) }
}

/// Calls `row` with line number and fields of every row of a file.
pub fn for_each_row<const N: usize>(
    file: &Path,
    columns: &Columns<'_, N>,
    row: impl FnMut(u64, [&str; N]) -> Result<(), Problem>,
) -> Result<(), BadInput> {
    let bytes = fs::read(file).map_err(|error| BadInput::file(file, unreadable(file, error)))?;
    rows_of(&bytes, columns, row).map_err(|(line, problem)| BadInput::line(file, line, problem))
}

/// The same for the bytes of a file; a problem comes with its line.
fn rows_of<const N: usize>(
    bytes: &[u8],
    columns: &Columns<'_, N>,
    mut row: impl FnMut(u64, [&str; N]) -> Result<(), Problem>,
) -> Result<(), (u64, Problem)> {
    let text = decode(bytes)?;
    quoting::check(text).map_err(|(byte, problem)| (1 + line_breaks(&text[..byte]), problem))?;

    let mut reader = ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let mut lines = Lines { text, byte: 0, line: 1 };
    let mut record = StringRecord::new();
    let mut places = None;
    while reader.read_record(&mut record).map_err(|error| lines.locate(error))? {
        let line = lines.of(record.position());
        let told = match places {
            Some(places) => row(line, fields_at(places, &record)),
            None => find(columns, &record).map(|found| places = Some(found)),
        };
        told.map_err(|problem| (line, problem))?;
    }
    places.map(drop).ok_or((1, Problem::NoHeader))
}

/// The text without a byte order mark, or the line that is not UTF-8.
fn decode(bytes: &[u8]) -> Result<&str, (u64, Problem)> {
    let text = str::from_utf8(bytes).map_err(|error| {
        let good = str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
        (1 + line_breaks(good), Problem::NotUtf8)
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// Where the wanted columns stand in the header.
fn find<const N: usize>(columns: &Columns<'_, N>, header: &StringRecord) -> Result<[usize; N], Problem> {
    let mut places = [0; N];
    for (place, wanted) in places.iter_mut().zip(columns.names) {
        let mut found = header.iter().enumerate().filter(|&(_, name)| name == wanted);
        *place = found.next().map(|(place, _)| place).ok_or_else(|| Problem::NoColumn {
            wanted: wanted.into(),
            found: header.iter().map(String::from).collect(),
            help: columns.help,
        })?;
        if found.next().is_some() {
            return Err(Problem::ColumnTwice(wanted.into()));
        }
    }
    Ok(places)
}

fn fields_at<const N: usize>(places: [usize; N], record: &StringRecord) -> [&str; N] {
    places.map(|place| record.get(place).unwrap_or_default())
}

/// Turns byte positions into line numbers, going only forward.
///
/// The csv crate's own line numbers are off by one after CRLF and after empty lines.
struct Lines<'a> {
    text: &'a str,
    byte: usize,
    line: u64,
}

impl Lines<'_> {
    /// The line on which the record at this position starts.
    fn of(&mut self, position: Option<&Position>) -> u64 {
        let start = position.and_then(|position| usize::try_from(position.byte()).ok()).unwrap_or(self.byte);
        let ahead = self.text.get(start..).unwrap_or_default();
        let start = self.text.len() - ahead.trim_start_matches(['\r', '\n']).len();
        self.line += self.text.get(self.byte..start).map_or(0, line_breaks);
        self.byte = start;
        self.line
    }

    fn locate(&mut self, error: csv::Error) -> (u64, Problem) {
        let line = self.of(error.position());
        match *error.kind() {
            ErrorKind::UnequalLengths { expected_len: wanted, len: found, .. } => {
                (line, Problem::Ragged { found, wanted })
            }
            _ => (line, Problem::Unreadable(error.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    const AB: Columns<'_, 2> = Columns { names: ["a", "b"], help: "help" };

    type Rows = Vec<(u64, String, String)>;

    fn rows(bytes: &[u8]) -> Result<Rows, (u64, Problem)> {
        let mut rows = Vec::new();
        rows_of(bytes, &AB, |line, [a, b]| {
            rows.push((line, a.into(), b.into()));
            Ok(())
        })?;
        Ok(rows)
    }

    fn row(line: u64, a: &str, b: &str) -> (u64, String, String) {
        (line, a.into(), b.into())
    }

    #[test]
    fn columns_are_found_by_name() {
        assert_eq!(rows(b"x,b,a\n1,2,3\n").unwrap(), [row(2, "3", "2")]);
        assert!(matches!(rows(b"a,c\n").unwrap_err(), (1, Problem::NoColumn { .. })));
        assert!(matches!(rows(b"a,b,a\n").unwrap_err(), (1, Problem::ColumnTwice(_))));
        assert!(matches!(rows(b"").unwrap_err(), (1, Problem::NoHeader)));
        assert!(matches!(rows(b"\xef\xbb\xbf\n").unwrap_err(), (1, Problem::NoHeader)));
    }

    #[test]
    fn byte_order_mark_line_ends_and_a_missing_last_one_do_not_matter() {
        let wanted = [row(2, "1", "2"), row(4, "3", "4\n5"), row(6, "6", "7")];
        assert_eq!(rows(b"a,b\n1,2\n\n3,\"4\n5\"\n6,7\n").unwrap(), wanted);
        let crlf = rows(b"\xef\xbb\xbfa,b\r\n1,2\r\n\r\n3,\"4\n5\"\r\n6,7").unwrap();
        assert_eq!(crlf, wanted);
        assert_eq!(rows(b"\xef\xbb\xbf\"a\",b\n1,2\n").unwrap(), [row(2, "1", "2")]);
        assert_eq!(rows(b"a,b\r1,2\r\r3,\"4\n5\"\r6,7\r").unwrap(), wanted);
    }

    #[test]
    fn problems_name_their_line() {
        assert!(matches!(rows(b"a,b\r\n1,2\r\n\r\n3\r\n").unwrap_err(), (4, Problem::Ragged { found: 1, wanted: 2 })));
        assert!(matches!(rows(b"a,b\n1,2\n1,\xff\n").unwrap_err(), (3, Problem::NotUtf8)));
        assert!(matches!(rows(b"a,b\n1,2\n1,\"x\n").unwrap_err(), (3, Problem::QuoteNeverEnds)));
        let stop =
            rows_of(b"a,b\n1,2\n3,4\n", &AB, |line, _| if line == 3 { Err(Problem::StrayQuote) } else { Ok(()) });
        assert!(matches!(stop.unwrap_err(), (3, Problem::StrayQuote)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = rows(&bytes);
        }

        /// After a header, and of the characters that matter, so that most cases get past the first checks.
        #[test]
        fn lines_count_up_and_stay_within_the_file(body in "[ab\",\r\n\u{feff}é]{0,60}") {
            let text = format!("a,b\n{body}");
            let last = 1 + line_breaks(&text);
            match rows(text.as_bytes()) {
                Ok(rows) => {
                    prop_assert!(rows.iter().all(|row| 2 <= row.0 && row.0 <= last));
                    prop_assert!(rows.is_sorted_by(|one, next| one.0 < next.0));
                }
                Err((line, _)) => prop_assert!(line <= last),
            }
        }
    }
}
