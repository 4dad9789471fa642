//! What one caller may do to a small shop, step by step, made of one choice after another: by chance, or by a fuzzer.

use stockade::{MAX_UNITS, RequestKey, State};

use crate::sequential::Kept;

/// The first two are there from the start, the third comes by `add_sku`.
pub const SKUS: [&str; 3] = ["A", "B", "C"];
pub const IDS: [&str; 4] = ["one", "two", "three", "four"];

/// The lines of an order as the caller writes them, by name or (where all SKUs are known) by handle.
#[derive(Clone, Debug)]
pub struct Lines {
    pub lines: Vec<(&'static str, u32)>,
    pub by_handle: bool,
}

/// How many units of a SKU a change in part names, by what the order has.
#[derive(Clone, Copy, Debug)]
pub enum Units {
    /// None: the line is left out.
    LeftOut,
    /// One, if the order has the line.
    One,
    /// All that are open, or (to amend) all that are ordered, and so many more.
    All(i32),
    /// What must be left of the line, because it is fulfilled or cancelled.
    Settled,
}

/// The lines of a change in part.
#[derive(Clone, Debug)]
pub enum Change {
    These(Lines),
    /// One for each of [`SKUS`].
    Near([Units; 3], bool),
}

/// What happens to a hold, after which other verbs.
#[derive(Clone, Copy, Debug)]
pub enum Then {
    Keep,
    Drop,
    CancelAndKeep,
    PayAndKeep,
    PayAndDrop,
    ShipAndDrop,
    /// It may be the repeat of one that has a deadline.
    WaitAndKeep,
    /// Long after it was cancelled.
    CancelForgetAndKeep,
    CancelForgetAndDrop,
}

#[derive(Clone, Debug)]
pub enum Step {
    AddSku(&'static str, u64),
    Restock(&'static str, u64),
    WriteOff(&'static str, u64),
    /// The expected version is this much off the right one.
    SetAvailable(&'static str, u64, u64),
    Create(&'static str, Lines),
    Reserve(&'static str, Lines),
    Hold(&'static str, Lines, Then),
    Cancel(&'static str),
    Void(&'static str),
    Pay(&'static str),
    Fulfil(&'static str),
    Transition(&'static str, State, State),
    /// So many milliseconds pass.
    Wait(u64),
    ReserveFor(&'static str, Lines, u64),
    Extend(&'static str, u64),
    ExpireDue(usize),
    PayOrReserveAgain(&'static str),
    CancelLines(&'static str, Change),
    FulfilLines(&'static str, Change),
    Amend(&'static str, Change),
    /// One of the six verbs that can have a key.
    Keyed(RequestKey<'static>, Box<Step>),
    /// What was last asked for under this key (or under any), once more; or, if `more`, a little more than that.
    Again {
        key: Option<RequestKey<'static>>,
        more: bool,
    },
    Forget(usize),
    /// So many orders of other ids end.
    Churn(u64),
    /// Looks at one row only.
    Stock(&'static str),
    /// Looks at one order only.
    Order(&'static str),
}

/// What happens, and to which engine.
#[derive(Clone, Debug)]
pub struct Script {
    pub max_hold_ms: Option<u64>,
    pub keep: Option<Kept>,
    pub keep_keys: Option<u64>,
    /// Everything is looked at after every step, not only at the end. Who looks lets go of dead holds; so if nobody
    /// does, several steps meet the same ones.
    pub watched: bool,
    pub steps: Vec<Step>,
}

/// Makes steps out of choices: the function is asked for a number below the one it is given.
pub struct Choices<R>(pub R);

impl<R: FnMut(usize) -> usize> Choices<R> {
    fn roll(&mut self, sides: usize) -> usize {
        (self.0)(sides)
    }

    fn one_of<T: Copy>(&mut self, these: &[T]) -> T {
        these[self.roll(these.len())]
    }

    pub fn script(&mut self) -> Script {
        let max_hold_ms = self.one_of(&[None, None, None, Some(0), Some(1), Some(3), Some(4), Some(u64::MAX)]);
        // One choice: old inputs of the fuzzer still mean what they meant.
        let how = self.roll(128);
        let keep = [None, Some(Kept::ForMs(0)), Some(Kept::ForMs(40)), Some(Kept::Newest(1)), Some(Kept::Newest(20))];
        let keep = keep.get(how / 2 % 8).copied().flatten();
        let keep_keys = [None, Some(0), Some(2), Some(3)][how / 16 % 4];
        Script { max_hold_ms, keep, keep_keys, watched: how.is_multiple_of(2), steps: vec![] }
    }

    pub fn step(&mut self) -> Step {
        let (sku, id) = (self.one_of(&SKUS), self.one_of(&IDS));
        match self.roll(128) {
            0 | 1 => Step::AddSku(
                if self.roll(4) == 0 { sku } else { "C" },
                self.one_of(&[0, 1, 2, 3, 4, 5, MAX_UNITS, MAX_UNITS + 1, u64::MAX]),
            ),
            2..=4 => Step::Restock(sku, self.one_of(&[1, 1, 1, 2, 3, MAX_UNITS - 7, u64::MAX])),
            5 | 6 => Step::WriteOff(sku, self.one_of(&[1, 1, 2, 3, 9, u64::MAX])),
            7..=9 => {
                let off = self.one_of(&[0, 0, 0, 1, u64::MAX, u64::MAX - 1, 1 << 44]);
                let units = [0, 1, 2, 3, 4, 5, MAX_UNITS - 1, MAX_UNITS, MAX_UNITS + 1, u64::MAX];
                Step::SetAvailable(sku, off, self.one_of(&units))
            }
            10..=12 => Step::Create(id, self.lines(id)),
            13..=20 => Step::Reserve(id, self.lines(id)),
            21..=23 => {
                use Then::{CancelAndKeep, Drop, Keep, PayAndDrop, PayAndKeep, ShipAndDrop, WaitAndKeep};
                let then = [Keep, Keep, Drop, CancelAndKeep, PayAndKeep, PayAndDrop, ShipAndDrop, WaitAndKeep];
                Step::Hold(id, self.lines(id), self.one_of(&then))
            }
            24 | 25 => Step::Cancel(id),
            26 => Step::Void(id),
            27..=29 => Step::Pay(id),
            30 | 31 => Step::Fulfil(id),
            32 => Step::Transition(id, self.one_of(&State::ALL), self.one_of(&State::ALL)),
            33..=39 => {
                use State::{Cancelled, Created, Fulfilled, InventoryReserved, Paid};
                let steps = [
                    (Created, InventoryReserved),
                    (Created, InventoryReserved),
                    (InventoryReserved, Paid),
                    (Paid, Fulfilled),
                    (Created, Cancelled),
                    (InventoryReserved, Cancelled),
                    (Paid, Cancelled),
                ];
                let (from, to) = self.one_of(&steps);
                Step::Transition(id, from, to)
            }
            40..=45 => Step::Wait(self.one_of(&[0, 1, 1, 2, 3])),
            46..=52 => Step::ReserveFor(id, self.lines(id), self.one_of(&[0, 1, 1, 2, 2, 3, 5, u64::MAX])),
            53 | 54 => Step::Extend(id, self.one_of(&[0, 1, 2, 3, 6, u64::MAX])),
            55 | 56 => Step::ExpireDue(self.one_of(&[0, 1, 1, 2, 9])),
            57..=59 => Step::PayOrReserveAgain(id),
            60 | 61 => Step::Stock(sku),
            64..=71 => Step::CancelLines(id, self.settled(id)),
            72..=80 => Step::FulfilLines(id, self.settled(id)),
            81..=92 => Step::Amend(id, self.amended(id)),
            96..=108 => {
                let key = self.key();
                Step::Keyed(key, Box::new(self.request(sku, id)))
            }
            109..=116 => {
                let key = if self.roll(2) == 0 { Some(self.key()) } else { None };
                Step::Again { key, more: self.roll(4) == 0 }
            }
            117..=120 => Step::Forget(self.one_of(&[0, usize::MAX, usize::MAX, usize::MAX])),
            // Long enough for orders to be forgotten, or so long that they are kept once more.
            121..=124 => Step::Wait(self.one_of(&[7, 17, 17, 50, 112])),
            125 => Step::Hold(id, self.lines(id), self.one_of(&[Then::CancelForgetAndKeep, Then::CancelForgetAndDrop])),
            126 => Step::Churn(self.one_of(&[1, 16, 17, 34, 112])),
            _ => Step::Order(id),
        }
    }

    fn key(&mut self) -> RequestKey<'static> {
        RequestKey { id: self.one_of(&["p", "q"]), issued: self.one_of(&[1, 2, 3, 4, 5, 6, u64::MAX - 1, u64::MAX]) }
    }

    fn request(&mut self, sku: &'static str, id: &'static str) -> Step {
        match self.roll(8) {
            0 => Step::Restock(sku, self.one_of(&[1, 1, 2, MAX_UNITS - 7])),
            1 => Step::WriteOff(sku, self.one_of(&[1, 1, 2, 9])),
            2 => Step::SetAvailable(sku, self.one_of(&[0, 0, 0, 1]), self.one_of(&[1, 2, 3, MAX_UNITS, u64::MAX])),
            3 | 4 => Step::CancelLines(id, self.settled(id)),
            5 => Step::FulfilLines(id, self.settled(id)),
            _ => Step::Amend(id, self.amended(id)),
        }
    }

    /// What is cancelled or fulfilled: a part, or all that is open, now and then one more than that.
    fn settled(&mut self, id: &str) -> Change {
        use Units::{All, LeftOut, One};
        self.change(id, [One, One, One, LeftOut, LeftOut, All(0), All(-1), All(1)])
    }

    /// Lines are kept, raised, lowered, dropped, added.
    fn amended(&mut self, id: &str) -> Change {
        use Units::{All, LeftOut, Settled};
        self.change(id, [All(0), All(0), All(0), All(1), All(1), All(-1), Settled, LeftOut])
    }

    fn change(&mut self, id: &str, units: [Units; 8]) -> Change {
        if self.roll(8) == 0 {
            return Change::These(self.lines(id));
        }
        Change::Near(SKUS.map(|_| self.one_of(&units)), self.roll(3) == 0)
    }

    /// Mostly the lines this id always asks for, in one of several ways to write them.
    fn lines(&mut self, id: &str) -> Lines {
        let lines = match (self.roll(10), id) {
            (0..=2, "one") => vec![("A", 2)],
            (3..=5, "one") => vec![("A", 1), ("A", 1)],
            (0..=2, "two") => vec![("A", 1), ("B", 2)],
            (3..=5, "two") => vec![("B", 1), ("A", 1), ("B", 1)],
            (0..=2, "three") => vec![("C", 1), ("A", 1)],
            (3..=5, "three") => vec![("A", 1), ("C", 1)],
            (0..=5, _) => vec![("B", 1)],
            (6, _) => match self.roll(5) {
                0 => vec![],
                1 => vec![(self.one_of(&SKUS), 0)],
                2 => vec![("A", 1), (self.one_of(&SKUS), 0)],
                3 => vec![(self.one_of(&SKUS), u32::MAX); 2],
                _ => vec![("C", 1), ("B", u32::MAX), ("A", 1), ("B", 1)],
            },
            _ => (0..=self.roll(3))
                .map(|_| (self.one_of(&SKUS), self.one_of(&[1, 1, 1, 2, 2, 3, 6, u32::MAX - 9])))
                .collect(),
        };
        Lines { lines, by_handle: self.roll(3) == 0 }
    }
}

/// What the bytes of a fuzzer stand for: each byte is a choice.
pub fn script_of(bytes: &[u8]) -> Script {
    let mut rest = bytes.iter();
    let mut script = Choices(|sides| choice(&mut rest, sides)).script();
    while !rest.as_slice().is_empty() {
        script.steps.push(Choices(|sides| choice(&mut rest, sides)).step());
    }
    script
}

fn choice(rest: &mut std::slice::Iter<'_, u8>, sides: usize) -> usize {
    rest.next().map_or(0, |byte| usize::from(*byte) % sides)
}
