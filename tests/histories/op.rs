//! What a caller asks of an engine, and how that is written down: one line of words, to be read back.

use std::fmt;
use std::str::FromStr;

use stockade::State;

pub const SKUS: [&str; 3] = ["A", "B", "C"];
pub const IDS: [&str; 4] = ["one", "two", "three", "four"];

pub const KEYS: [&str; 2] = ["p", "q"];

/// One of [`SKUS`], of [`IDS`] or of [`KEYS`].
pub type Name = &'static str;
pub type Lines = Vec<(Name, u32)>;

/// One call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    AddSku(Name, u64),
    Stock(Name),
    Restock(Name, u64),
    WriteOff(Name, u64),
    /// The row, the version it is expected to have, the units.
    SetAvailable(Name, u64, u64),
    Create(Name, Lines),
    Reserve(Name, Lines),
    /// With a time to live.
    ReserveFor(Name, Lines, u64),
    Extend(Name, u64),
    /// The first half of a hold: it takes the stock.
    Hold(Name, Lines),
    /// The second half, if the caller keeps what it took: of the order with this number, if the hold was told one.
    Keep(Name, Option<u64>),
    /// The second half, if it gives it back.
    Drop(Name),
    /// The second half of a hold that was a replay: it has nothing to give back.
    DropReplayed(Name),
    Cancel(Name),
    Void(Name),
    Pay(Name),
    PayOrReserveAgain(Name),
    Fulfil(Name),
    Transition(Name, State, State),
    CancelLines(Name, Lines),
    FulfilLines(Name, Lines),
    Amend(Name, Lines),
    /// One of the six verbs that can have a key, under this one.
    Keyed(Name, Box<Op>),
    /// Forgets every finished order that is old enough.
    Forget,
    Order(Name),
    /// The engine's clock goes on.
    Wait(u64),
    /// Makes orders of these numbers that no other call asks for.
    Crowd(u64, u64),
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::AddSku(sku, units) => write!(f, "add_sku {sku} {units}"),
            Op::Stock(sku) => write!(f, "stock {sku}"),
            Op::Restock(sku, units) => write!(f, "restock {sku} {units}"),
            Op::WriteOff(sku, units) => write!(f, "write_off {sku} {units}"),
            Op::SetAvailable(sku, version, units) => write!(f, "set_available {sku} version {version} to {units}"),
            Op::Create(id, lines) => write!(f, "create {id} {}", Written(lines)),
            Op::Reserve(id, lines) => write!(f, "reserve {id} {}", Written(lines)),
            Op::ReserveFor(id, lines, ttl_ms) => write!(f, "reserve_for {id} {} {ttl_ms}", Written(lines)),
            Op::Extend(id, ttl_ms) => write!(f, "extend {id} {ttl_ms}"),
            Op::Hold(id, lines) => write!(f, "hold {id} {}", Written(lines)),
            Op::Keep(id, None) => write!(f, "keep {id}"),
            Op::Keep(id, Some(number)) => write!(f, "keep {id} number {number}"),
            Op::Drop(id) => write!(f, "drop {id}"),
            Op::DropReplayed(id) => write!(f, "drop replayed {id}"),
            Op::Cancel(id) => write!(f, "cancel {id}"),
            Op::Void(id) => write!(f, "void {id}"),
            Op::Pay(id) => write!(f, "pay {id}"),
            Op::PayOrReserveAgain(id) => write!(f, "pay_or_reserve_again {id}"),
            Op::Fulfil(id) => write!(f, "fulfil {id}"),
            Op::Transition(id, from, to) => write!(f, "transition {id} {from} {to}"),
            Op::CancelLines(id, lines) => write!(f, "cancel_lines {id} {}", Written(lines)),
            Op::FulfilLines(id, lines) => write!(f, "fulfil_lines {id} {}", Written(lines)),
            Op::Amend(id, lines) => write!(f, "amend {id} {}", Written(lines)),
            Op::Keyed(key, op) => write!(f, "keyed {key} {op}"),
            Op::Forget => write!(f, "forget_finished"),
            Op::Order(id) => write!(f, "order {id}"),
            Op::Wait(ms) => write!(f, "wait {ms}"),
            Op::Crowd(from, to) => write!(f, "crowd {from} {to}"),
        }
    }
}

impl FromStr for Op {
    type Err = String;

    fn from_str(text: &str) -> Result<Op, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        Ok(match words[..] {
            ["add_sku", sku, units] => Op::AddSku(name(sku)?, number(units)?),
            ["stock", sku] => Op::Stock(name(sku)?),
            ["restock", sku, units] => Op::Restock(name(sku)?, number(units)?),
            ["write_off", sku, units] => Op::WriteOff(name(sku)?, number(units)?),
            ["set_available", sku, "version", version, "to", units] => {
                Op::SetAvailable(name(sku)?, number(version)?, number(units)?)
            }
            ["create", id, lines] => Op::Create(name(id)?, read(lines)?),
            ["reserve", id, lines] => Op::Reserve(name(id)?, read(lines)?),
            ["reserve_for", id, lines, ttl_ms] => Op::ReserveFor(name(id)?, read(lines)?, number(ttl_ms)?),
            ["extend", id, ttl_ms] => Op::Extend(name(id)?, number(ttl_ms)?),
            ["hold", id, lines] => Op::Hold(name(id)?, read(lines)?),
            ["keep", id] => Op::Keep(name(id)?, None),
            ["keep", id, "number", its] => Op::Keep(name(id)?, Some(number(its)?)),
            ["drop", id] => Op::Drop(name(id)?),
            ["drop", "replayed", id] => Op::DropReplayed(name(id)?),
            ["cancel", id] => Op::Cancel(name(id)?),
            ["void", id] => Op::Void(name(id)?),
            ["pay", id] => Op::Pay(name(id)?),
            ["pay_or_reserve_again", id] => Op::PayOrReserveAgain(name(id)?),
            ["fulfil", id] => Op::Fulfil(name(id)?),
            ["transition", id, from, to] => Op::Transition(name(id)?, state(from)?, state(to)?),
            ["cancel_lines", id, lines] => Op::CancelLines(name(id)?, read(lines)?),
            ["fulfil_lines", id, lines] => Op::FulfilLines(name(id)?, read(lines)?),
            ["amend", id, lines] => Op::Amend(name(id)?, read(lines)?),
            ["keyed", key, ref op @ ..] => Op::Keyed(name(key)?, Box::new(op.join(" ").parse()?)),
            ["forget_finished"] => Op::Forget,
            ["order", id] => Op::Order(name(id)?),
            ["wait", ms] => Op::Wait(number(ms)?),
            ["crowd", from, to] => Op::Crowd(number(from)?, number(to)?),
            _ => return Err(format!("no operation: {text}")),
        })
    }
}

/// Lines as `A1+B2`, no lines as `-`.
struct Written<'a>(&'a Lines);

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(|(sku, quantity)| format!("{sku}{quantity}")).collect();
        f.write_str(if lines.is_empty() { "-".into() } else { lines.join("+") }.as_str())
    }
}

fn read(lines: &str) -> Result<Lines, String> {
    if lines == "-" {
        return Ok(vec![]);
    }
    let line = |line: &str| {
        let (sku, quantity) = line.split_at_checked(1).ok_or("an empty line")?;
        Ok((name(sku)?, number(quantity)?))
    };
    lines.split('+').map(line).collect()
}

pub fn name(word: &str) -> Result<Name, String> {
    let mut names = SKUS.into_iter().chain(IDS).chain(KEYS);
    names.find(|name| *name == word).ok_or_else(|| format!("neither a SKU nor an id nor a key: {word}"))
}

pub fn number<T: FromStr>(word: &str) -> Result<T, String> {
    word.parse().map_err(|_| format!("no number: {word}"))
}

fn state(word: &str) -> Result<State, String> {
    State::ALL.into_iter().find(|state| state.to_string() == word).ok_or_else(|| format!("no state: {word}"))
}
