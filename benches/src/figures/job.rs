//! One measurement: what is asked of a child process, and what it answers.

use serde::{Deserialize, Serialize};
use stockade_benches::contender::Contender;
use stockade_benches::peers::{Actor, DashmapEntry, Engine, File, Memory, MutexMaps, PapayaInsert, SccEntry, Sqlite};

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Peer {
    Stockade,
    MutexMaps,
    DashmapEntry,
    SccEntry,
    PapayaInsert,
    Actor,
    SqliteMemory,
    SqliteWal,
    Redis,
    Postgres,
}

/// Stockade and the peers that keep their orders in a map in the same memory.
pub const MAPS: [Peer; 5] = [Peer::Stockade, Peer::MutexMaps, Peer::DashmapEntry, Peer::SccEntry, Peer::PapayaInsert];

impl Peer {
    pub fn name(self) -> &'static str {
        match self {
            Peer::Stockade => Engine::NAME,
            Peer::MutexMaps => MutexMaps::NAME,
            Peer::DashmapEntry => DashmapEntry::NAME,
            Peer::SccEntry => SccEntry::NAME,
            Peer::PapayaInsert => PapayaInsert::NAME,
            Peer::Actor => Actor::NAME,
            Peer::SqliteMemory => Sqlite::<Memory>::NAME,
            Peer::SqliteWal => Sqlite::<File>::NAME,
            Peer::Redis => "redis",
            Peer::Postgres => "postgres",
        }
    }

    /// Whether it may be missing on a machine.
    pub fn is_server(self) -> bool {
        matches!(self, Peer::Redis | Peer::Postgres)
    }
}

/// What is done with the orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Reserve each once.
    Fresh,
    /// Reserve again what is known.
    Repeat,
    /// Reserve, then cancel.
    Cancel,
    /// Reserve each once, with a reading of the clock after each.
    Latency,
    /// Reserve each once, 64 in one call.
    Batch,
    /// No engine at all: the work that no engine can leave out.
    Floor,
    /// No engine at all: a word that is changed as often as there are orders.
    Transfer { bits: Bits, words: Words },
}

/// How wide a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bits {
    /// As an order's state.
    Narrow,
    /// As a stock row.
    Wide,
}

/// Which word a thread changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Words {
    /// Its own.
    Own,
    /// The same as all others, whenever it comes to it.
    Same,
    /// The same as all others, in turns: every change finds the line with another core.
    Turns,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub peer: Peer,
    pub work: Work,
    pub orders: usize,
    pub threads: usize,
    /// Whether the contender is told beforehand how many orders come.
    pub capacity: bool,
    pub rows: usize,
    pub lines: usize,
}

impl Job {
    /// Reserves under fresh ids, with capacity, one line, 10,000 rows.
    pub fn fresh(peer: Peer, orders: usize, threads: usize) -> Job {
        Job { peer, work: Work::Fresh, orders, threads, capacity: true, rows: 10_000, lines: 1 }
    }

    pub fn growing(self) -> Job {
        Job { capacity: false, ..self }
    }

    pub fn work(self, work: Work) -> Job {
        Job { work, ..self }
    }

    pub fn rows(self, rows: usize) -> Job {
        Job { rows, ..self }
    }

    pub fn lines(self, lines: usize) -> Job {
        Job { lines, ..self }
    }
}

/// What a measurement gave.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// From the first thread's start to the last one's end, over all orders.
    pub ns_per_order: f64,
    /// Growth of the resident memory, for each order.
    pub bytes_per_order: Option<f64>,
    /// Nanoseconds for each order of the first thread, part by part.
    pub windows: Vec<f64>,
    pub latency: Option<Latency>,
}

/// Each call's time: from the end of the thread's call before it to its own. The next call begins at once, so this is
/// the service time of a caller that never rests, and not what one would wait in a queue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Latency {
    /// Percentile and nanoseconds.
    pub percentiles: Vec<(f64, u64)>,
    /// The longest call, in nanoseconds, of each of so many equal parts of the orders.
    pub longest: Vec<u64>,
}

/// The percentiles that are kept; the last is the longest call.
pub const PERCENTILES: [f64; 7] = [50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0];
