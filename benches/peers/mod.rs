//! The contenders: the engine, and what a user would write instead of it.
//!
//! All do the same job, and [`contract::check`] holds each of them to it before anything is timed: a known id gets
//! the first answer again, other lines under a known id are an error, a short order is refused with every short line
//! named, an order of many lines is taken whole or not at all, and a cancel gives back once and says what.
//!
//! What is the same for all, so that the order path is compared and nothing else:
//!
//! - Rows are named by a handle that is resolved beforehand: [`stockade::Sku`] for the engine, a `u32` key into their
//!   row map for the others. Nobody hashes a SKU string while the clock runs.
//! - Ids come as `&str`. Whoever has to own the id copies it, and that copy is part of the verb's cost.
//! - Ids come from outside, so the peers keep the default hasher of their maps (SipHash with random keys).
//! - A row shows `available` and a version that each change moves; an order keeps its state, version and lines, also
//!   after it is cancelled.
//!
//! The peers go to the map once, by `entry` with an owned key. Looking by reference first was tried in both: repeats
//! gain up to 10 %, fresh orders mostly lose as much or more. Rows as atomic words instead of behind the row map's own
//! lock made no difference above the noise.
//!
//! Where the others promise less than the engine, and may be faster for it: `mutex_maps` makes everybody wait for a
//! thread that is stopped while it has the lock, `dashmap_entry` everybody who needs the same shard. `dashmap_entry`
//! takes the lines of an order one by one, so a reader can see half an order, and units that a failing order holds
//! for a moment can make another order be refused falsely.

pub mod contract;
pub mod dashmap_entry;
pub mod engine;
pub mod mutex_maps;

pub use dashmap_entry::DashmapEntry;
pub use engine::Engine;
pub use mutex_maps::MutexMaps;

/// One engine under test.
pub trait Contender: Send + Sync + Sized {
    /// The name in reports.
    const NAME: &'static str;
    /// A row, resolved beforehand.
    type Row: Copy + Send + Sync;

    /// A fresh engine with these rows (name, units), and their handles in the same order.
    fn open(skus: &[(String, u64)]) -> (Self, Vec<Self::Row>);
    /// Takes all lines or none, once for each id.
    fn reserve(&self, id: &str, lines: &[(Self::Row, u32)]) -> Reserve;
    /// Gives back what the order holds, once.
    fn cancel(&self, id: &str) -> Cancel;
    /// The row as it stands.
    fn stock(&self, row: Self::Row) -> Stock;
}

/// What `reserve` answers.
#[derive(Debug, PartialEq, Eq)]
pub enum Reserve {
    /// This call took the units; the order is at this version.
    New { version: u64 },
    /// The order was there with the same lines: the first answer again.
    Replayed { version: u64 },
    /// Refused, nothing taken: every short line.
    Insufficient { short: Vec<Short> },
    /// The id is known with other lines.
    LinesDiffer,
    /// The order was cancelled.
    Closed,
    /// A line names a row that is not there.
    UnknownSku,
    /// Empty or over-long id, no lines, a quantity of 0 or a sum past the maximum.
    Invalid,
}

/// A line that could not be served.
#[derive(Debug, PartialEq, Eq)]
pub struct Short {
    /// Name of the row.
    pub sku: Box<str>,
    /// Units asked for.
    pub wanted: u32,
    /// Units there were.
    pub available: u64,
}

/// What `cancel` answers.
///
/// Each contender tells its caller which lines went back; here only their sum is left, after `black_box` has seen the
/// lines.
#[derive(Debug, PartialEq, Eq)]
pub enum Cancel {
    /// This call gave back so many units.
    Released { units: u64 },
    /// Cancelled before, nothing changed.
    Already,
    /// No such order, nothing changed.
    Unknown,
}

/// A row at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stock {
    /// Units free to promise.
    pub available: u64,
    /// Number of changes.
    pub version: u64,
}

/// What the peers keep in their maps, and the rules that do not depend on how they lock.
mod record {
    use super::Reserve;

    /// A line as the peers store it: row, units.
    pub type Line = (u32, u32);

    #[derive(Clone, Copy, PartialEq, Eq)]
    pub enum State {
        Reserved,
        Cancelled,
    }

    pub struct Order {
        pub state: State,
        pub version: u64,
        /// Sorted by row, one line for each.
        pub lines: Vec<Line>,
    }

    impl Order {
        pub fn reserved(lines: Vec<Line>) -> Self {
            Order { state: State::Reserved, version: 1, lines }
        }

        /// What `reserve` answers to an id that is known.
        pub fn again(&self, asked: &[Line]) -> Reserve {
            if self.state == State::Cancelled {
                Reserve::Closed
            } else if self.lines == asked || self.lines == normalised(asked) {
                Reserve::Replayed { version: 1 }
            } else {
                Reserve::LinesDiffer
            }
        }
    }

    /// Whether the request can be taken at all, whatever the stock.
    #[inline]
    pub fn valid(id: &str, lines: &[Line]) -> bool {
        let id_fits = (1..=stockade::MAX_KEY_BYTES).contains(&id.len());
        let units = lines.iter().try_fold(0_u32, |sum, line| sum.checked_add(line.1));
        let certainly_fit = lines.len() <= stockade::MAX_LINES && units.is_some();
        let counted = !lines.is_empty() && lines.iter().all(|line| line.1 > 0);
        id_fits && counted && (certainly_fit || fit_row_by_row(lines))
    }

    /// A large order fits if its rows are not too many and the sum for each is not too much.
    #[cold]
    fn fit_row_by_row(lines: &[Line]) -> bool {
        let mut lines = lines.to_vec();
        lines.sort_unstable();
        let mut rows = 0;
        let sums_fit = lines.chunk_by(|one, next| one.0 == next.0).all(|row| {
            rows += 1;
            row.iter().map(|line| u64::from(line.1)).sum::<u64>() <= u64::from(u32::MAX)
        });
        sums_fit && rows <= stockade::MAX_LINES
    }

    /// The lines sorted by row, those of one row summed.
    pub fn normalised(lines: &[Line]) -> Vec<Line> {
        let mut lines = lines.to_vec();
        if lines.len() > 1 {
            lines.sort_unstable_by_key(|line| line.0);
            lines.dedup_by(|later, kept| {
                let same = later.0 == kept.0;
                if same {
                    kept.1 += later.1;
                }
                same
            });
        }
        lines
    }
}
