//! PostgreSQL, one function for each verb, each call one transaction.
//!
//! Nothing is synced (`fsync = off`, `synchronous_commit = off`), over a Unix socket, one connection for each thread,
//! calls prepared: as fast as it can be asked one order at a time.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use postgres::types::ToSql;
use postgres::{Client, Config, NoTls, Row};

use super::record::{Line, normalised, refusal, units, valid};
use super::server::{Pool, Server, Shared, missing};
use crate::contender::{Advance, Cancel, Contender, Order, Reserve, State};

static SERVER: Shared = Shared::new();

/// Tables and functions, in a schema of each contender's own.
const SCHEMA: &str = include_str!("postgres.sql");

const RESERVE: &str = "SELECT state, rows, units, available FROM reserve($1, $2, $3)";
const CANCEL: &str = "SELECT state, rows, units FROM cancel($1)";
const ADVANCE: &str = "SELECT advance($1, $2, $3)";
const STOCK: &str = "SELECT available FROM stock WHERE row = $1";
const ORDER: &str = "SELECT state, rows, units FROM orders WHERE id = $1";

/// A schema of its own in a server that was started for this process.
pub struct Postgres {
    schema: String,
    pool: Pool<Connected>,
    server: Arc<Server>,
}

/// A connection with its statements.
struct Connected {
    client: Client,
    verbs: Vec<(&'static str, postgres::Statement)>,
}

/// Which user the server runs as: it refuses to be root, whose files it then may not read either.
fn as_user(command: &mut Command, user: Option<(u32, u32)>) -> &mut Command {
    match user {
        Some((uid, gid)) => command.uid(uid).gid(gid),
        None => command,
    }
}

/// The user of Debian's package, if we are root.
fn user() -> Result<Option<(u32, u32)>> {
    let own = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self")?);
    if own != 0 {
        return Ok(None);
    }
    let users = std::fs::read_to_string("/etc/passwd")?;
    let user = users.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|it| it[0] == "postgres");
    let user = user.context("there is no user postgres to run the server as: install Debian's package postgresql")?;
    Ok(Some((user[2].parse()?, user[3].parse()?)))
}

/// The newest version's folder of programs, where Debian puts them.
fn programs() -> Result<PathBuf> {
    let version = |path: &Path| path.parent()?.file_name()?.to_str()?.parse::<u32>().ok();
    let found = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let found = found.map(|it| it.path().join("bin")).filter(|path| path.join("initdb").exists());
    found.max_by_key(|path| version(path)).with_context(|| missing("postgres"))
}

fn start() -> Result<Server> {
    let (programs, user) = (programs()?, user()?);
    let folder = tempfile::tempdir()?;
    if let Some((uid, gid)) = user {
        chown(folder.path(), Some(uid), Some(gid))?;
    }
    let data = folder.path().join("data");
    let mut initdb = Command::new(programs.join("initdb"));
    initdb.args(["--auth=trust", "--username=stockade", "--no-sync", "--encoding=UTF8", "--locale=C", "--pgdata"]);
    let made = as_user(initdb.arg(&data), user).current_dir(folder.path()).output()?;
    ensure!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr).trim());
    let mut command = Command::new(programs.join("postgres"));
    command.arg("-D").arg(&data).arg("-k").arg(folder.path()).current_dir(folder.path());
    for setting in ["listen_addresses=", "fsync=off", "synchronous_commit=off", "full_page_writes=off"] {
        command.args(["-c", setting]);
    }
    as_user(&mut command, user);
    let mut stop = Command::new(programs.join("pg_ctl"));
    stop.args(["stop", "--mode=immediate", "--silent", "--pgdata"]).arg(&data).current_dir(folder.path());
    as_user(&mut stop, user);
    Server::start(folder, command, Some(stop), |folder| connect(folder.path(), "public").map(drop))
}

fn connect(folder: &Path, schema: &str) -> Result<Client> {
    let mut config = Config::new();
    config.user("stockade").dbname("postgres").host_path(folder).options(&format!("-c search_path={schema}"));
    Ok(config.connect(NoTls)?)
}

impl Postgres {
    fn connected(&self) -> Result<Connected> {
        let mut client = connect(self.server.folder.path(), &self.schema)?;
        let prepare = |sql| Ok((sql, client.prepare(sql)?));
        let verbs = [RESERVE, CANCEL, ADVANCE, STOCK, ORDER].into_iter().map(prepare).collect::<Result<_>>()?;
        Ok(Connected { client, verbs })
    }

    /// The row that a verb answers, if any.
    fn call(&self, verb: &'static str, arguments: &[&(dyn ToSql + Sync)]) -> Option<Row> {
        let answer = self.pool.with(
            || self.connected(),
            |it| {
                let prepared = it.verbs.iter().find(|prepared| prepared.0 == verb).context("not prepared")?;
                Ok(it.client.query_opt(&prepared.1, arguments)?)
            },
        );
        match answer {
            Ok(answer) => answer,
            Err(error) => panic!("postgres: {verb}: {error:#}"),
        }
    }

    fn step(&self, id: &str, from: State, to: State) -> Advance {
        let found = self.call(ADVANCE, &[&id, &(from as i32), &(to as i32)]);
        match found.and_then(|row| row.get::<_, Option<i32>>(0)) {
            None => Advance::Unknown,
            Some(found) => state(found).may_advance(from, to).err().unwrap_or(Advance::Done),
        }
    }
}

impl Contender for Postgres {
    const NAME: &'static str = "postgres";
    type Row = u32;

    fn open(skus: &[(String, u64)], _orders: usize) -> Result<(Self, Vec<u32>)> {
        let (server, number) = SERVER.get(start)?;
        let schema = format!("shop_{number}");
        let mut client = connect(server.folder.path(), &schema)?;
        client.batch_execute(&format!("CREATE SCHEMA {schema}; {SCHEMA}"))?;
        let available = skus.iter().map(|sku| i64::try_from(sku.1)).collect::<Result<Vec<_>, _>>()?;
        let fill =
            "INSERT INTO stock SELECT number - 1, units FROM unnest($1::bigint[]) WITH ORDINALITY AS it(units, number)";
        client.execute(fill, &[&available])?;
        Ok((Postgres { schema, pool: Pool::new(), server }, (0..).take(skus.len()).collect()))
    }

    fn reserve(&self, id: &str, lines: &[Line]) -> Reserve<u32> {
        if !valid(id, lines) {
            return Reserve::Invalid;
        }
        let wanted = normalised(lines);
        let rows: Vec<i64> = wanted.iter().map(|line| line.0.into()).collect();
        let units: Vec<i64> = wanted.iter().map(|line| line.1.into()).collect();
        let Some(answer) = self.call(RESERVE, &[&id, &rows, &units]) else {
            return Reserve::New;
        };
        if let Some(available) = answer.get::<_, Option<Vec<Option<i64>>>>("available") {
            let seen = |row| available.get(wanted.iter().position(|line| line.0 == row)?)?.map(i64::unsigned_abs);
            return refusal(&wanted, seen);
        }
        state(answer.get("state")).again(&lines_of(&answer), lines)
    }

    fn cancel(&self, id: &str) -> Cancel {
        let Some(found) = self.call(CANCEL, &[&id]) else {
            return Cancel::Unknown;
        };
        let released = Cancel::Released { units: units(&lines_of(&found)) };
        state(found.get("state")).may_cancel().err().unwrap_or(released)
    }

    fn pay(&self, id: &str) -> Advance {
        self.step(id, State::Reserved, State::Paid)
    }

    fn fulfil(&self, id: &str) -> Advance {
        self.step(id, State::Paid, State::Fulfilled)
    }

    fn stock(&self, row: u32) -> u64 {
        match self.call(STOCK, &[&i64::from(row)]) {
            Some(it) => it.get::<_, i64>(0).unsigned_abs(),
            None => panic!("no row {row}"),
        }
    }

    fn order(&self, id: &str) -> Option<Order<u32>> {
        let found = self.call(ORDER, &[&id])?;
        Some(Order { state: state(found.get("state")), lines: lines_of(&found) })
    }

    fn close(self) {
        drop(self);
    }
}

fn state(number: i32) -> State {
    State::from_number(number.unsigned_abs() as u8)
}

fn lines_of(row: &Row) -> Vec<Line> {
    let (rows, units): (Vec<i64>, Vec<i64>) = (row.get("rows"), row.get("units"));
    rows.iter().zip(&units).map(|(row, units)| (row.unsigned_abs() as u32, units.unsigned_abs() as u32)).collect()
}
