//! Requests with a key, to both engines.

use std::fmt::Debug;

use stockade::{KeyedError, Once, Revised};

use super::{Pair, equal, kind, left};
use crate::sequential::Part;
use crate::sequential::keyed::First;
use crate::steps::{Lines, Step};

/// A request with a key, as its caller writes it every time.
#[derive(Clone)]
pub enum Request {
    Restock(&'static str, u64),
    WriteOff(&'static str, u64),
    SetAvailable(&'static str, u64, u64),
    CancelLines(&'static str, Lines),
    FulfilLines(&'static str, Lines),
    Amend(&'static str, Lines),
}

impl Request {
    fn more(self) -> Request {
        let line = |mut lines: Lines| {
            lines.lines.iter_mut().take(1).for_each(|line| line.1 = line.1.saturating_add(1));
            lines
        };
        match self {
            Request::Restock(sku, units) => Request::Restock(sku, units.saturating_add(1)),
            Request::WriteOff(sku, units) => Request::WriteOff(sku, units.saturating_add(1)),
            Request::SetAvailable(sku, version, units) => Request::SetAvailable(sku, version, units.saturating_add(1)),
            Request::CancelLines(id, lines) => Request::CancelLines(id, line(lines)),
            Request::FulfilLines(id, lines) => Request::FulfilLines(id, line(lines)),
            Request::Amend(id, lines) => Request::Amend(id, line(lines)),
        }
    }
}

impl Pair<'_> {
    pub fn request(&self, verb: &Step) -> Request {
        match verb {
            Step::Restock(sku, units) => Request::Restock(sku, *units),
            Step::WriteOff(sku, units) => Request::WriteOff(sku, *units),
            Step::SetAvailable(sku, off, units) => Request::SetAvailable(sku, self.version(sku, *off), *units),
            Step::CancelLines(id, change) => Request::CancelLines(id, self.changed(id, change, |part| part.open)),
            Step::FulfilLines(id, change) => Request::FulfilLines(id, self.changed(id, change, |part| part.open)),
            Step::Amend(id, change) => Request::Amend(id, self.changed(id, change, Part::ordered)),
            other => panic!("no verb that can have a key: {other:?}"),
        }
    }

    pub fn keyed(&mut self, asked: usize, more: bool) -> Result<(), String> {
        let (key, request) = self.asked[asked].clone();
        let keyed = self.engine.keyed(key);
        match if more { request.more() } else { request } {
            Request::Restock(sku, units) => {
                let expected = self.plain.keyed_restock(key, sku, units);
                self.same_once("keyed restock", keyed.restock(sku, units), First::Row, expected)
            }
            Request::WriteOff(sku, units) => {
                let expected = self.plain.keyed_write_off(key, sku, units);
                self.same_once("keyed write_off", keyed.write_off(sku, units), First::Row, expected)
            }
            Request::SetAvailable(sku, version, units) => {
                let expected = self.plain.keyed_set_available(key, sku, version, units);
                let answer = keyed.set_available(sku, version, units);
                self.same_once("keyed set_available", answer, First::Row, expected)
            }
            Request::CancelLines(id, lines) => {
                let answer = match self.handles(&lines) {
                    Some(handles) => keyed.cancel_lines(id, &handles),
                    None => keyed.cancel_lines(id, &lines.lines),
                };
                let expected = self.plain.keyed_cancel_lines(key, id, &lines.lines);
                self.same_once("keyed cancel_lines", answer, revision, expected)
            }
            Request::FulfilLines(id, lines) => {
                let answer = match self.handles(&lines) {
                    Some(handles) => keyed.fulfil_lines(id, &handles),
                    None => keyed.fulfil_lines(id, &lines.lines),
                };
                let expected = self.plain.keyed_fulfil_lines(key, id, &lines.lines);
                self.same_once("keyed fulfil_lines", answer, revision, expected)
            }
            Request::Amend(id, lines) => {
                let answer = match self.handles(&lines) {
                    Some(handles) => keyed.amend(id, &handles),
                    None => keyed.amend(id, &lines.lines),
                };
                let expected = self.plain.keyed_amend(key, id, &lines.lines);
                self.same_once("keyed amend", answer, revision, expected)
            }
        }
    }

    fn same_once<T, E: Debug + PartialEq>(
        &mut self,
        verb: &str,
        answer: Result<Once<T>, KeyedError<E>>,
        first: impl Fn(T) -> First,
        expected: Result<Once<First>, KeyedError<E>>,
    ) -> Result<(), String> {
        self.revised += u64::from(matches!(expected, Ok(Once::New(First::Order(_)))));
        self.seen.insert(match &expected {
            Ok(Once::New(_)) => format!("{verb} Ok New"),
            Ok(Once::Replayed(_)) => format!("{verb} Ok Replayed"),
            Err(KeyedError::Reused { field }) => format!("{verb} Err Reused {field:?}"),
            Err(_) => kind(verb, &expected),
        });
        let answer = answer.map(|once| match once {
            Once::New(it) => Once::New(first(it)),
            Once::Replayed(it) => Once::Replayed(first(it)),
        });
        equal(verb, answer, expected)
    }
}

fn revision(revised: Revised) -> First {
    First::Order(left(revised))
}
