//! Redis, one Lua script for each verb: each runs alone, so an order is one instant.
//!
//! Without persistence (`save ""`, no append-only file), over a Unix socket, one connection for each thread: as fast
//! as it can be asked one order at a time. A row is a string, an order a hash with its state and its lines.

use std::process::Command;
use std::sync::Arc;

use anyhow::Result;
use redis::{Client, Connection, Script};

use super::record::{Line, normalised, refusal, units, valid};
use super::server::{Pool, Server, Shared};
use crate::contender::{Advance, Cancel, Contender, Order, Reserve, State};

static SERVER: Shared = Shared::new();

/// ARGV: the rows' prefix, the lines as text, then row and units of each line. Answers {"state", "lines"} of a known
/// order, {} for a new one, and for a short one what each row has, "none" where there is no such row.
const RESERVE: &str = "
    local known = redis.call('HMGET', KEYS[1], 'state', 'lines')
    if known[1] then return known end
    local short, seen = false, {'short'}
    for i = 3, #ARGV, 2 do
        local available = redis.call('GET', ARGV[1] .. ARGV[i])
        seen[#seen + 1] = available or 'none'
        if not available or tonumber(available) < tonumber(ARGV[i + 1]) then short = true end
    end
    if short then return seen end
    for i = 3, #ARGV, 2 do redis.call('DECRBY', ARGV[1] .. ARGV[i], ARGV[i + 1]) end
    redis.call('HSET', KEYS[1], 'state', '0', 'lines', ARGV[2])
    return {}";

/// ARGV: the rows' prefix. Answers the state it found and the lines, or {}.
const CANCEL: &str = "
    local known = redis.call('HMGET', KEYS[1], 'state', 'lines')
    if not known[1] then return {} end
    if known[1] == '0' or known[1] == '1' then
        redis.call('HSET', KEYS[1], 'state', '3')
        for row, units in string.gmatch(known[2], '(%d+):(%d+)') do redis.call('INCRBY', ARGV[1] .. row, units) end
    end
    return known";

/// ARGV: from, to. Answers the state it found, or {}.
const ADVANCE: &str = "
    local state = redis.call('HGET', KEYS[1], 'state')
    if not state then return {} end
    if state == ARGV[1] then redis.call('HSET', KEYS[1], 'state', ARGV[2]) end
    return {state}";

/// Keys under a prefix of their own in a server that was started for this process.
pub struct Redis {
    prefix: String,
    client: Client,
    pool: Pool<Connection>,
    reserve: Script,
    cancel: Script,
    advance: Script,
    server: Arc<Server>,
}

fn start() -> Result<Server> {
    let folder = tempfile::tempdir()?;
    let mut command = Command::new("redis-server");
    command.args(["--port", "0", "--save", "", "--appendonly", "no", "--daemonize", "no"]);
    command.arg("--dir").arg(folder.path()).arg("--unixsocket").arg(folder.path().join("redis.sock"));
    Server::start(folder, command, None, |folder| {
        let mut connection = client(folder)?.get_connection()?;
        Ok(redis::cmd("PING").query(&mut connection)?)
    })
}

fn client(folder: &tempfile::TempDir) -> Result<Client> {
    Ok(Client::open(format!("unix://{}", folder.path().join("redis.sock").display()))?)
}

impl Redis {
    fn call<R>(&self, call: impl FnOnce(&mut Connection) -> redis::RedisResult<R>) -> R {
        let connect = || Ok(self.client.get_connection()?);
        match self.pool.with(connect, |connection| Ok(call(connection)?)) {
            Ok(answer) => answer,
            Err(error) => panic!("redis: {error:#}"),
        }
    }

    fn key(&self, id: &str) -> String {
        format!("{}order:{id}", self.prefix)
    }

    fn rows(&self) -> String {
        format!("{}row:", self.prefix)
    }

    fn step(&self, id: &str, from: State, to: State) -> Advance {
        let mut script = self.advance.prepare_invoke();
        script.key(self.key(id)).arg(from as u8).arg(to as u8);
        let found: Vec<u8> = self.call(|connection| script.invoke(connection));
        match found.first() {
            None => Advance::Unknown,
            Some(&state) => State::from_number(state).may_advance(from, to).err().unwrap_or(Advance::Done),
        }
    }
}

impl Contender for Redis {
    const NAME: &'static str = "redis";
    type Row = u32;

    fn open(skus: &[(String, u64)], _orders: usize) -> Result<(Self, Vec<u32>)> {
        let (server, number) = SERVER.get(start)?;
        let (reserve, cancel, advance) = (Script::new(RESERVE), Script::new(CANCEL), Script::new(ADVANCE));
        let client = client(&server.folder)?;
        let prefix = format!("{number}:");
        let shop = Redis { prefix, client, pool: Pool::new(), reserve, cancel, advance, server };
        let mut fill = redis::pipe();
        for (row, (_, units)) in skus.iter().enumerate() {
            fill.set(format!("{}{row}", shop.rows()), *units).ignore();
        }
        shop.call(|connection| fill.query::<()>(connection));
        Ok((shop, (0..).take(skus.len()).collect()))
    }

    fn reserve(&self, id: &str, lines: &[Line]) -> Reserve<u32> {
        if !valid(id, lines) {
            return Reserve::Invalid;
        }
        let wanted = normalised(lines);
        let mut script = self.reserve.prepare_invoke();
        script.key(self.key(id)).arg(self.rows()).arg(text(&wanted));
        for (row, units) in &wanted {
            script.arg(*row).arg(*units);
        }
        let answer: Vec<String> = self.call(|connection| script.invoke(connection));
        match answer.as_slice() {
            [] => Reserve::New,
            [word, seen @ ..] if word == "short" => {
                let seen = |row| seen.get(wanted.iter().position(|line| line.0 == row)?)?.parse().ok();
                refusal(&wanted, seen)
            }
            known => order(known).map_or(Reserve::Invalid, |known| known.state.again(&known.lines, lines)),
        }
    }

    fn cancel(&self, id: &str) -> Cancel {
        let mut script = self.cancel.prepare_invoke();
        script.key(self.key(id)).arg(self.rows());
        let found: Vec<String> = self.call(|connection| script.invoke(connection));
        let Some(found) = order(&found) else {
            return Cancel::Unknown;
        };
        found.state.may_cancel().err().unwrap_or(Cancel::Released { units: units(&found.lines) })
    }

    fn pay(&self, id: &str) -> Advance {
        self.step(id, State::Reserved, State::Paid)
    }

    fn fulfil(&self, id: &str) -> Advance {
        self.step(id, State::Paid, State::Fulfilled)
    }

    fn stock(&self, row: u32) -> u64 {
        self.call(|connection| redis::cmd("GET").arg(format!("{}{row}", self.rows())).query(connection))
    }

    fn order(&self, id: &str) -> Option<Order<u32>> {
        let mut fields = redis::cmd("HMGET");
        fields.arg(self.key(id)).arg("state").arg("lines");
        let found: Vec<Option<String>> = self.call(|connection| fields.query(connection));
        order(&found.into_iter().flatten().collect::<Vec<_>>())
    }

    fn close(self) {
        drop(self);
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.pool.clear();
        // The next contender in this process finds the server empty of ours, unless it ends with us anyway.
        if Arc::strong_count(&self.server) > 1 {
            let pattern = format!("{}*", self.prefix);
            let remove = "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('UNLINK', key) end";
            let removed = self.client.get_connection().and_then(|mut connection| {
                Script::new(remove).prepare_invoke().arg(pattern).invoke::<()>(&mut connection)
            });
            if let Err(error) = removed {
                eprintln!("redis: the orders of this pass stay in memory: {error}");
            }
        }
    }
}

/// Lines as `row:units` with blanks between.
fn text(lines: &[Line]) -> String {
    lines.iter().map(|(row, units)| format!("{row}:{units}")).collect::<Vec<_>>().join(" ")
}

/// An order from its state and lines; `None` from nothing.
fn order(fields: &[String]) -> Option<Order<u32>> {
    let [state, lines] = fields else {
        return None;
    };
    let line = |text: &str| {
        let (row, units) = text.split_once(':')?;
        Some((row.parse().ok()?, units.parse().ok()?))
    };
    Some(Order { state: State::from_number(state.parse().ok()?), lines: lines.split(' ').filter_map(line).collect() })
}
