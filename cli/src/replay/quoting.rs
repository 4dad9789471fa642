//! Whether the quotes of a CSV file make sense.
//!
//! The csv crate reads on through broken quotes and returns something; an order must never be made of that.

use super::problem::Problem;

/// What the byte just read belongs to.
#[derive(Clone, Copy)]
enum At {
    FieldStart,
    Plain,
    /// Inside quotes that opened at this byte.
    Quoted(usize),
    /// Just after a quote inside quotes: the field ends here, or the quote was the first of two.
    Ending(usize),
}

/// Finds the first broken quote: the byte to point at, and what is wrong there.
pub fn check(text: &str) -> Result<(), (usize, Problem)> {
    let mut at = At::FieldStart;
    for (here, byte) in text.bytes().enumerate() {
        at = match (at, byte) {
            (At::FieldStart, b'"') => At::Quoted(here),
            (At::Plain, b'"') => return Err((here, Problem::StrayQuote)),
            (At::Quoted(opened), b'"') => At::Ending(opened),
            (At::Quoted(opened), _) => At::Quoted(opened),
            (At::Ending(opened), b'"') => At::Quoted(opened),
            (_, b',' | b'\n' | b'\r') => At::FieldStart,
            (At::FieldStart | At::Plain, _) => At::Plain,
            (At::Ending(opened), _) => {
                let closed_line = 1 + line_breaks(&text[..here]);
                return Err((opened, Problem::TextAfterQuote(closed_line)));
            }
        };
    }
    match at {
        At::Quoted(opened) => Err((opened, Problem::QuoteNeverEnds)),
        _ => Ok(()),
    }
}

/// Counts line ends: LF, CRLF or a lone CR.
pub fn line_breaks(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let ends = bytes.iter().enumerate().filter(|&(i, byte)| match byte {
        b'\n' => true,
        b'\r' => bytes.get(i + 1) != Some(&b'\n'),
        _ => false,
    });
    ends.count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_quotes_pass() {
        for text in ["", "a,b\n1,2", "\"a\",\"b\"\r\n\"x \"\"y\"\"\",\"1\n2\"", "\"\"\n", "\"\"\"\"", "a,\"\""] {
            assert!(check(text).is_ok(), "{text:?}");
        }
    }

    #[test]
    fn broken_quotes_are_found_where_they_open() {
        assert!(matches!(check("a,b\n1,\"x\n2,3"), Err((6, Problem::QuoteNeverEnds))));
        assert!(matches!(check("1,\"x\n\"y\n"), Err((2, Problem::TextAfterQuote(2)))));
        assert!(matches!(check("1,7\" plate\n"), Err((3, Problem::StrayQuote))));
    }

    #[test]
    fn every_kind_of_line_end_counts_once() {
        assert_eq!(line_breaks("a\nb\r\nc\rd"), 3);
        assert_eq!(line_breaks("\r\r\n\n"), 3);
    }
}
