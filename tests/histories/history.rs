//! A recorded history: who called what, from when to when, and what came back. As text it is one line for each call,
//! which can be saved, read by people and read back:
//!
//! ```text
//! rows A=1 B=0
//! t0 0..3 reserve one A1 = New(Reservation { number: 0, version: 1 })
//! t1 1..2 stock A = Stock { available: 1, version: 0 }
//! ```
//!
//! `rows A=1 B=0 keep_ms=16` if the engine forgets what ended so long ago.

use std::fmt;
use std::str::FromStr;

use super::answer::kind;
use super::op::{Name, Op, name, number};

/// One call, with the instants between which it ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub thread: usize,
    pub call: u64,
    /// `None`: it had not returned when the history ended.
    pub ret: Option<u64>,
    pub op: Op,
    /// Empty as long as it has not returned.
    pub answer: String,
}

impl Event {
    pub fn returned_before(&self, other: &Event) -> bool {
        self.ret.is_some_and(|ret| ret < other.call)
    }

    pub fn overlaps(&self, other: &Event) -> bool {
        self.thread != other.thread && !self.returned_before(other) && !other.returned_before(self)
    }

    /// Whether it is certain that the call changed nothing.
    pub fn is_idle(&self) -> bool {
        let reads = matches!(self.op, Op::Stock(_) | Op::Order(_) | Op::Keep(..) | Op::DropReplayed(_) | Op::Crowd(..));
        let unknown = matches!(self.op, Op::Cancel(_)) && self.answer == "Unknown";
        let kind = kind(&self.answer);
        // A request that is refused binds its key.
        let refused = kind.starts_with("Err ") && (!matches!(self.op, Op::Keyed(..)) || kind == "Err Reused");
        reads || unknown || refused || kind == "Replayed" || kind == "Already" || kind == "Nothing"
    }
}

/// Among the rows, what names no row.
const KEEP_MS: &str = "keep_ms";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// The rows at the start.
    pub rows: Vec<(Name, u64)>,
    /// How long finished orders are kept, if they are forgotten.
    pub keep_ms: Option<u64>,
    /// In the order of the calls.
    pub events: Vec<Event>,
}

impl History {
    /// How many calls ran while another thread's did.
    pub fn overlapping(&self) -> usize {
        let calls = || self.events.iter().filter(|event| !matches!(event.op, Op::Crowd(..)));
        calls().filter(|event| calls().any(|other| event.overlaps(other))).count()
    }

    /// The history with a bar for each call, time from left to right.
    pub fn timeline(&self) -> String {
        let last = self.events.iter().map(|event| event.ret.unwrap_or(event.call)).max().unwrap_or(0);
        let width = last as usize + 2;
        let mut text = format!("{}\n", self.head());
        for event in &self.events {
            let to = event.ret.map_or(width, |ret| ret as usize + 1);
            let bar = "=".repeat(to - event.call as usize);
            let gap = " ".repeat(event.call as usize);
            text += &format!("{:width$}  t{} {} = {}\n", gap + &bar, event.thread, event.op, event.answer);
        }
        text
    }

    fn head(&self) -> String {
        let rows = self.rows.iter().map(|(sku, units)| format!(" {sku}={units}"));
        let keep = self.keep_ms.map(|ms| format!(" {KEEP_MS}={ms}"));
        "rows".to_string() + &rows.chain(keep).collect::<String>()
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.head())?;
        for Event { thread, call, ret, op, answer } in &self.events {
            let ret = ret.map(|ret| ret.to_string()).unwrap_or_default();
            writeln!(f, "t{thread} {call}..{ret} {op} = {answer}")?;
        }
        Ok(())
    }
}

impl FromStr for History {
    type Err = String;

    /// Empty lines and lines that begin with `#` say nothing.
    fn from_str(text: &str) -> Result<History, String> {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let rows = lines.next().and_then(|line| line.strip_prefix("rows ")).ok_or("the first line names no rows")?;
        let row = |row: &str| {
            let (sku, units) = row.split_once('=').ok_or_else(|| format!("no row: {row}"))?;
            Ok::<_, String>((name(sku)?, number(units)?))
        };
        let keep_ms = rows.split_whitespace().find_map(|word| word.strip_prefix(KEEP_MS)?.strip_prefix('='));
        let keep_ms = keep_ms.map(number).transpose()?;
        let rows = rows.split_whitespace().filter(|word| !word.starts_with(KEEP_MS));
        let rows = rows.map(row).collect::<Result<_, _>>()?;
        let mut events = lines.map(str::parse).collect::<Result<Vec<Event>, String>>()?;
        events.sort_by_key(|event| event.call);
        Ok(History { rows, keep_ms, events })
    }
}

impl FromStr for Event {
    type Err = String;

    fn from_str(line: &str) -> Result<Event, String> {
        let parts = || {
            let (thread, rest) = line.strip_prefix('t')?.split_once(' ')?;
            let (span, rest) = rest.split_once(' ')?;
            let (op, answer) = rest.split_once(" =")?;
            let (call, ret) = span.split_once("..")?;
            Some((thread, call, ret, op, answer.trim()))
        };
        let (thread, call, ret, op, answer) = parts().ok_or_else(|| format!("no call: {line}"))?;
        let ret = if ret.is_empty() { None } else { Some(number(ret)?) };
        Ok(Event { thread: number(thread)?, call: number(call)?, ret, op: op.parse()?, answer: answer.to_string() })
    }
}
