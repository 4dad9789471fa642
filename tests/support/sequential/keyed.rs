//! Requests with a key: each is carried out once, and answered ever after what it was answered then.
//!
//! What cannot be asked at all is refused first; then comes what the key says; then the verb itself.

use stockade::{
    AmendError, CancelLinesError, FulfilLinesError, Invalid, KeyedError, Once, RequestKey, RestockError,
    SetAvailableError, Stock, UnknownSku, WriteOffError,
};

use stockade::RequestField::{self, ExpectedVersion, Lines, Sku, Units, Verb};

use super::{Left, Sequential};

/// What a request with a key asks for, field by field.
type Asked = Vec<(RequestField, String)>;

fn asked(verb: &str, fields: impl IntoIterator<Item = (RequestField, String)>) -> Asked {
    [(Verb, verb.to_string())].into_iter().chain(fields).collect()
}

/// What a request with a key was answered when it was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum First {
    Row(Stock),
    Order(Left),
}

/// A key that is remembered.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Remembered {
    asked: Asked,
    first: Option<First>,
}

impl Sequential {
    pub fn keyed_restock(
        &mut self,
        key: RequestKey<'_>,
        name: &str,
        units: u64,
    ) -> Result<Once<First>, KeyedError<RestockError>> {
        let asked = self.edit("restock", name, units);
        self.once(key, asked.map_err(RestockError::from), |plain| plain.restock(name, units).map(First::Row))
    }

    pub fn keyed_write_off(
        &mut self,
        key: RequestKey<'_>,
        name: &str,
        units: u64,
    ) -> Result<Once<First>, KeyedError<WriteOffError>> {
        let asked = self.edit("write_off", name, units);
        self.once(key, asked.map_err(WriteOffError::from), |plain| plain.write_off(name, units).map(First::Row))
    }

    pub fn keyed_set_available(
        &mut self,
        key: RequestKey<'_>,
        name: &str,
        expected: u64,
        units: u64,
    ) -> Result<Once<First>, KeyedError<SetAvailableError>> {
        let asked = self.number(name).map(|_| {
            let fields = [(Sku, name.to_string()), (ExpectedVersion, expected.to_string()), (Units, units.to_string())];
            asked("set_available", fields)
        });
        let set = |plain: &mut Self| plain.set_available(name, expected, units).map(First::Row);
        self.once(key, asked.map_err(SetAvailableError::from), set)
    }

    pub fn keyed_cancel_lines(
        &mut self,
        key: RequestKey<'_>,
        id: &str,
        lines: &[(&str, u32)],
    ) -> Result<Once<First>, KeyedError<CancelLinesError>> {
        let asked = self.change("cancel_lines", id, lines);
        self.once(key, asked, |plain| plain.cancel_lines(id, lines).map(First::Order))
    }

    pub fn keyed_fulfil_lines(
        &mut self,
        key: RequestKey<'_>,
        id: &str,
        lines: &[(&str, u32)],
    ) -> Result<Once<First>, KeyedError<FulfilLinesError>> {
        let asked = self.change("fulfil_lines", id, lines);
        self.once(key, asked, |plain| plain.fulfil_lines(id, lines).map(First::Order))
    }

    /// Under a key, to leave an order as it is, is a change too.
    pub fn keyed_amend(
        &mut self,
        key: RequestKey<'_>,
        id: &str,
        lines: &[(&str, u32)],
    ) -> Result<Once<First>, KeyedError<AmendError>> {
        let asked = self.change("amend", id, lines);
        self.once(key, asked, |plain| {
            let (_, after) = plain.amended(id, lines)?;
            Ok(First::Order(plain.revise(id, after)))
        })
    }

    /// Binds a key as it is bound in an engine that has carried out its request; false: it is bound already, or there
    /// neither.
    #[allow(dead_code)] // only the checker of histories asks for it
    pub fn bind(&mut self, key: RequestKey<'_>, carried_out: &Sequential) -> bool {
        let key = (key.issued, key.id.to_string());
        let Some(Remembered { asked, .. }) = carried_out.keys.get(&key).filter(|_| !self.keys.contains_key(&key))
        else {
            return false;
        };
        self.keys.insert(key, Remembered { asked: asked.clone(), first: None });
        true
    }

    fn edit(&self, verb: &str, name: &str, units: u64) -> Result<Asked, UnknownSku> {
        self.number(name).map(|_| asked(verb, [(Sku, name.to_string()), (Units, units.to_string())]))
    }

    /// Two ways to write the same lines are one.
    fn change<E>(&self, verb: &str, id: &str, lines: &[(&str, u32)]) -> Result<Asked, E>
    where
        E: From<Invalid> + From<UnknownSku>,
    {
        let wanted = self.wanted(lines)??;
        Ok(asked(verb, [(RequestField::Order, id.to_string()), (Lines, format!("{wanted:?}"))]))
    }

    /// A request is remembered with what it asks for before it is tried, and with its answer once it is carried out.
    fn once<E>(
        &mut self,
        key: RequestKey<'_>,
        asked: Result<Asked, E>,
        carry_out: impl FnOnce(&mut Self) -> Result<First, E>,
    ) -> Result<Once<First>, KeyedError<E>> {
        let key = (key.issued.min(u64::MAX - 1), key.id.to_string());
        if let Some(first) = self.remember(&key, asked.map_err(KeyedError::Refused)?)? {
            return Ok(Once::Replayed(first));
        }
        let first = carry_out(self).map_err(KeyedError::Refused)?;
        self.keys.get_mut(&key).expect("a key that is remembered").first = Some(first);
        Ok(Once::New(first))
    }

    /// What the request was answered, if it was carried out.
    fn remember<E>(&mut self, key: &(u64, String), asked: Asked) -> Result<Option<First>, KeyedError<E>> {
        match self.keys.get(key) {
            Some(known) => {
                if let Some(((field, _), _)) = known.asked.iter().zip(&asked).find(|(before, now)| before != now) {
                    return Err(KeyedError::Reused { field: *field });
                }
                if known.first.is_some() {
                    return Ok(known.first);
                }
            }
            None => {
                self.young_enough(key.0)?;
                self.keys.insert(key.clone(), Remembered { asked, first: None });
                if self.keys.len() as u64 > self.keep_keys.map_or(u64::MAX, |keys| keys.max(1)) {
                    let oldest = self.keys.pop_first().expect("the one that has just come, at least");
                    self.forgotten_to = self.forgotten_to.max(Some(oldest.0.0));
                }
            }
        }
        self.young_enough(key.0).map(|()| None)
    }

    /// A key as old as one that was forgotten may have been forgotten, too.
    fn young_enough<E>(&self, issued: u64) -> Result<(), KeyedError<E>> {
        match self.forgotten_to {
            Some(forgotten_to) if issued <= forgotten_to => Err(KeyedError::TooOld { forgotten_to }),
            _ => Ok(()),
        }
    }
}
