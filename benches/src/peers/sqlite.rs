//! SQLite, in memory or as a file with a write-ahead log: one transaction for each verb.
//!
//! One connection behind a mutex, its statements prepared once. Writers of SQLite queue anyway, and a queue in the
//! process is faster than SQLite's own, which sleeps. The file is synced at checkpoints only (`synchronous = NORMAL`):
//! after a power cut the last orders can be missing. It lies in the directory for temporary files, which may be memory.

use std::marker::PhantomData;

use anyhow::Result;
use parking_lot::{Mutex, MutexGuard};
use rusqlite::{Connection, OptionalExtension, Params, params};
use tempfile::TempDir;

use super::record::{Line, normalised, refusal, units, valid};
use crate::contender::{Advance, Cancel, Contender, Order, Reserve, State};

const SCHEMA: &str = "
    CREATE TABLE rows (row INTEGER PRIMARY KEY, available INTEGER NOT NULL CHECK (available >= 0));
    CREATE TABLE orders (id TEXT PRIMARY KEY, state INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE lines (id TEXT, row INTEGER, units INTEGER NOT NULL, PRIMARY KEY (id, row)) WITHOUT ROWID;";

/// Where the database is.
pub trait Place: Send + Sync {
    /// The contender's name.
    const NAME: &'static str;
    /// Whether it is a file.
    const FILE: bool;
}

/// In memory.
pub struct Memory;
/// A file with a write-ahead log.
pub struct File;

impl Place for Memory {
    const NAME: &'static str = "sqlite_memory";
    const FILE: bool = false;
}

impl Place for File {
    const NAME: &'static str = "sqlite_wal";
    const FILE: bool = true;
}

/// A database with tables for rows, orders and lines.
pub struct Sqlite<P> {
    connection: Mutex<Connection>,
    /// Removed when the database is closed.
    _folder: Option<TempDir>,
    place: PhantomData<P>,
}

impl<P: Place> Contender for Sqlite<P> {
    const NAME: &'static str = P::NAME;
    type Row = u32;

    fn open(skus: &[(String, u64)], _orders: usize) -> Result<(Self, Vec<u32>)> {
        let folder = P::FILE.then(tempfile::tempdir).transpose()?;
        let mut connection = match &folder {
            Some(folder) => Connection::open(folder.path().join("shop.sqlite"))?,
            None => Connection::open_in_memory()?,
        };
        if P::FILE {
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", "NORMAL")?;
        }
        connection.execute_batch(SCHEMA)?;
        let transaction = connection.transaction()?;
        for (row, (_, units)) in (0_u32..).zip(skus) {
            transaction.execute("INSERT INTO rows VALUES (?, ?)", params![row, i64::try_from(*units)?])?;
        }
        transaction.commit()?;
        let rows = (0..).take(skus.len()).collect();
        Ok((Sqlite { connection: Mutex::new(connection), _folder: folder, place: PhantomData }, rows))
    }

    fn reserve(&self, id: &str, lines: &[Line]) -> Reserve<u32> {
        if !valid(id, lines) {
            return Reserve::Invalid;
        }
        self.within(|shop| {
            if let Some(known) = shop.order(id)? {
                return Ok(known.state.again(&known.lines, lines));
            }
            let lines = normalised(lines);
            for &(row, wanted) in &lines {
                if shop.available(row)?.is_none_or(|available| available < u64::from(wanted)) {
                    let all = lines.iter().map(|line| Ok((line.0, shop.available(line.0)?)));
                    let seen = all.collect::<rusqlite::Result<Vec<_>>>()?;
                    return Ok(refusal(&lines, |row| seen.iter().find(|it| it.0 == row)?.1));
                }
            }
            shop.run("INSERT INTO orders VALUES (?, ?)", params![id, State::Reserved as u8])?;
            for (row, units) in lines {
                shop.run("UPDATE rows SET available = available - ? WHERE row = ?", params![units, row])?;
                shop.run("INSERT INTO lines VALUES (?, ?, ?)", params![id, row, units])?;
            }
            Ok(Reserve::New)
        })
    }

    fn cancel(&self, id: &str) -> Cancel {
        self.within(|shop| {
            let Some(order) = shop.order(id)? else {
                return Ok(Cancel::Unknown);
            };
            if let Err(answer) = order.state.may_cancel() {
                return Ok(answer);
            }
            shop.run("UPDATE orders SET state = ? WHERE id = ?", params![State::Cancelled as u8, id])?;
            for (row, units) in &order.lines {
                shop.run("UPDATE rows SET available = available + ? WHERE row = ?", params![units, row])?;
            }
            Ok(Cancel::Released { units: units(&order.lines) })
        })
    }

    fn pay(&self, id: &str) -> Advance {
        self.advance(id, State::Reserved, State::Paid)
    }

    fn fulfil(&self, id: &str) -> Advance {
        self.advance(id, State::Paid, State::Fulfilled)
    }

    fn stock(&self, row: u32) -> u64 {
        let shop = Shop(self.connection.lock());
        match shop.available(row) {
            Ok(Some(available)) => available,
            Ok(None) => panic!("no row {row}"),
            Err(error) => panic!("{}: stock({row}): {error}", P::NAME),
        }
    }

    fn order(&self, id: &str) -> Option<Order<u32>> {
        self.within(|shop| shop.order(id))
    }

    fn close(self) {
        drop(self);
    }
}

impl<P: Place> Sqlite<P> {
    /// One transaction. What goes wrong in it is no answer of the shop, so it ends the measurement.
    fn within<T>(&self, verb: impl FnOnce(&Shop) -> rusqlite::Result<T>) -> T {
        let shop = Shop(self.connection.lock());
        let within = || {
            shop.run("BEGIN IMMEDIATE", [])?;
            let answer = verb(&shop)?;
            shop.run("COMMIT", [])?;
            Ok::<T, rusqlite::Error>(answer)
        };
        match within() {
            Ok(answer) => answer,
            Err(error) => panic!("{}: {error}", P::NAME),
        }
    }

    fn advance(&self, id: &str, from: State, to: State) -> Advance {
        self.within(|shop| {
            let Some(state) = shop.state(id)? else {
                return Ok(Advance::Unknown);
            };
            if let Err(answer) = state.may_advance(from, to) {
                return Ok(answer);
            }
            shop.run("UPDATE orders SET state = ? WHERE id = ?", params![to as u8, id])?;
            Ok(Advance::Done)
        })
    }
}

/// The connection, while it is ours.
struct Shop<'a>(MutexGuard<'a, Connection>);

impl Shop<'_> {
    fn run(&self, sql: &str, params: impl Params) -> rusqlite::Result<usize> {
        self.0.prepare_cached(sql)?.execute(params)
    }

    fn available(&self, row: u32) -> rusqlite::Result<Option<u64>> {
        let mut statement = self.0.prepare_cached("SELECT available FROM rows WHERE row = ?")?;
        statement.query_row([row], |it| it.get::<_, i64>(0)).optional().map(|it| it.map(i64::unsigned_abs))
    }

    fn state(&self, id: &str) -> rusqlite::Result<Option<State>> {
        let mut statement = self.0.prepare_cached("SELECT state FROM orders WHERE id = ?")?;
        statement.query_row([id], |it| it.get(0).map(State::from_number)).optional()
    }

    fn order(&self, id: &str) -> rusqlite::Result<Option<Order<u32>>> {
        let Some(state) = self.state(id)? else {
            return Ok(None);
        };
        let mut statement = self.0.prepare_cached("SELECT row, units FROM lines WHERE id = ? ORDER BY row")?;
        let lines = statement.query_map([id], |it| Ok((it.get(0)?, it.get(1)?)))?.collect::<Result<_, _>>()?;
        Ok(Some(Order { state, lines }))
    }
}
