//! What the threads of one history are to do: drawn from a seed, so that it can be drawn again. When they do it is up
//! to the machine.

use stockade::State;

use super::dice::Dice;
use super::op::{IDS, KEYS, Lines, Name, Op, SKUS};

/// One step of a thread.
pub enum Step {
    Do(Op),
    /// Sets a row to these units if it is at the version that this thread last learnt, plus so much.
    SetAvailable(Name, u64, u64),
    /// Closes the hold that this thread opened last, if one is open.
    Close {
        keep: bool,
    },
}

pub struct Plan {
    /// Rows there are from the start, with their units.
    pub rows: Vec<(Name, u64)>,
    pub ids: &'static [Name],
    /// What one thread does before the others begin. Only here does time pass: a verb judges deadlines by its reading
    /// of the clock, which comes before the instant at which it takes effect, and the checker knows but one instant of
    /// a call.
    pub before: Vec<Step>,
    pub threads: Vec<Vec<Step>>,
    /// How long finished orders are kept, if they are forgotten: so that none which ends while the threads run, is.
    pub keep_ms: Option<u64>,
}

/// Finished orders are forgotten after one more than that.
const KEEP_MS: u64 = 16;

/// 2 to 8 threads, 1 to 3 rows, 2 to 4 ids, and about 8 to 40 calls.
pub fn plan(seed: u64) -> Plan {
    let mut dice = Dice::new(seed, 0);
    let rows = 1 + dice.roll(SKUS.len());
    let ids = 2 + dice.roll(IDS.len() - 1);
    let threads = 2 + dice.roll(7);
    let calls = (8 + dice.roll(25)).div_ceil(threads);
    let rows: Vec<_> = SKUS[..rows].iter().map(|sku| (*sku, dice.roll(6) as u64)).collect();
    let usual = IDS.map(|_| usual(&mut dice, rows.len()));
    let (mostly_parts, forgets, mostly_keys) = (dice.roll(4) == 0, dice.roll(5) == 0, dice.roll(5) == 0);
    let (keyed, keep_ms) = (vec![], forgets.then_some(KEEP_MS));
    let mut draw = Draw { usual, rows: rows.len(), ids: &IDS[..ids], mostly_parts, forgets, mostly_keys, keyed, dice };
    draw.keyed = KEYS.iter().map(|_| draw.request()).collect();
    let before = if forgets { draw.long_before() } else { IDS[..ids].iter().flat_map(|id| draw.before(id)).collect() };
    let threads = (0..threads).map(|_| draw.thread(calls)).collect();
    let mut plan = Plan { rows, ids: &IDS[..ids], before, threads, keep_ms };
    if draw.dice.roll(8) == 0 {
        draw.crowd(&mut plan);
    }
    plan
}

/// One to three lines; two of them may be of one SKU.
fn usual(dice: &mut Dice, rows: usize) -> Lines {
    (0..=dice.roll(3)).map(|_| (SKUS[dice.roll(rows)], dice.one_of(&[1, 1, 2, 2]))).collect()
}

struct Draw {
    /// What an order of each id mostly asks for.
    usual: [Lines; IDS.len()],
    rows: usize,
    ids: &'static [Name],
    /// The threads find an order of each id, and mostly change parts of them.
    mostly_parts: bool,
    /// They find orders that have ended, most of them long ago.
    forgets: bool,
    mostly_keys: bool,
    /// What is mostly asked for under each key.
    keyed: Vec<Op>,
    dice: Dice,
}

impl Draw {
    /// Makes the index of orders grow while the threads use it: its first segment is divided when about nine in ten of
    /// its 256 cells are taken.
    fn crowd(&mut self, plan: &mut Plan) {
        let mut orders = 180 + self.dice.roll(40) as u64;
        plan.before.push(Step::Do(Op::Crowd(0, orders)));
        for steps in &mut plan.threads {
            let more = orders + self.dice.roll(32) as u64;
            steps.insert(self.dice.roll(steps.len()), Step::Do(Op::Crowd(orders, more)));
            orders = more;
        }
    }

    /// Makes an order and perhaps pays it, so that the threads find orders in every state.
    fn before(&mut self, id: Name) -> Vec<Step> {
        let lines = self.lines(id);
        match if self.mostly_parts { 1 + self.dice.roll(5) } else { self.dice.roll(8) } {
            0 => vec![Step::Do(Op::Create(id, lines))],
            1 => vec![Step::Do(Op::Reserve(id, lines))],
            2 => vec![Step::Do(Op::Reserve(id, lines)), Step::Do(Op::Pay(id))],
            3 => {
                let part = self.part(id);
                let steps = [Op::Reserve(id, lines), Op::Pay(id), Op::FulfilLines(id, part)];
                steps.into_iter().map(Step::Do).collect()
            }
            4 | 5 => {
                let (ttl_ms, passed) = (self.dice.one_of(&[1, 1, 2, 3]), self.dice.roll(2) as u64);
                vec![Step::Do(Op::ReserveFor(id, lines, ttl_ms)), Step::Do(Op::Wait(passed))]
            }
            _ => vec![],
        }
    }

    /// Makes an order of each id that ends, by its deadline or otherwise; then time passes, for most of them.
    fn long_before(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        let passed = self.dice.roll(self.ids.len() + 1);
        for (number, id) in self.ids.iter().enumerate() {
            let lines = self.usual[number].clone();
            steps.extend(match self.dice.roll(5) {
                0 => vec![Op::Void(id)],
                1 => vec![Op::Reserve(id, lines), Op::Cancel(id)],
                2 | 3 => vec![Op::Reserve(id, lines), Op::Pay(id), Op::Fulfil(id)],
                // Looked at, so that it has ended now and not when a thread comes across it.
                _ => vec![Op::ReserveFor(id, lines, 1), Op::Wait(1), Op::Order(id)],
            });
            if number == passed {
                steps.push(Op::Wait(KEEP_MS + 1));
            }
        }
        if passed == self.ids.len() {
            steps.push(Op::Wait(KEEP_MS + 1));
        }
        steps.into_iter().map(Step::Do).collect()
    }

    /// What is asked for under a key, and changes nothing if it is not the first.
    fn request(&mut self) -> Op {
        let (id, sku) = (self.dice.one_of(self.ids), self.sku());
        match self.dice.roll(7) {
            0 | 1 => Op::Restock(sku, self.dice.one_of(&[1, 1, 2, u64::MAX])),
            2 => Op::WriteOff(sku, self.dice.one_of(&[1, 1, 2, 9])),
            3 => Op::SetAvailable(sku, self.dice.one_of(&[0, 0, 1, 2]), self.dice.one_of(&[0, 1, 2, u64::MAX])),
            4 => Op::CancelLines(id, self.part(id)),
            5 => Op::FulfilLines(id, self.part(id)),
            _ => Op::Amend(id, self.other(id)),
        }
    }

    /// Mostly what everybody asks for under this key.
    fn under_a_key(&mut self) -> Op {
        let key = self.dice.roll(KEYS.len());
        let op = if self.dice.roll(8) == 0 { self.request() } else { self.keyed[key].clone() };
        Op::Keyed(KEYS[key], Box::new(op))
    }

    fn thread(&mut self, calls: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut open = 0;
        while steps.len() < calls {
            if open > 0 && self.dice.roll(2) == 0 {
                open -= 1;
                steps.push(self.close());
                continue;
            }
            let step = self.step();
            open += usize::from(matches!(step, Step::Do(Op::Hold(..))));
            steps.push(step);
        }
        steps.extend((0..open).map(|_| self.close()));
        steps
    }

    fn close(&mut self) -> Step {
        Step::Close { keep: self.dice.roll(2) == 0 }
    }

    fn step(&mut self) -> Step {
        if self.dice.roll(if self.mostly_keys { 2 } else { 16 }) == 0 {
            return Step::Do(self.under_a_key());
        }
        if self.forgets && self.dice.roll(5) == 0 {
            return Step::Do(Op::Forget);
        }
        let id = self.dice.one_of(self.ids);
        let sku = self.sku();
        let first_part = if self.mostly_parts && self.dice.roll(3) > 0 { 52 } else { 0 };
        Step::Do(match first_part + self.dice.roll(64 - first_part) {
            0..=8 => Op::Reserve(id, self.lines(id)),
            9..=13 => Op::Hold(id, self.lines(id)),
            14 | 15 => Op::Create(id, self.lines(id)),
            16 | 17 => Op::Cancel(id),
            18 | 19 => Op::Void(id),
            20 | 21 => Op::Pay(id),
            22 | 23 => Op::Fulfil(id),
            24..=27 => self.transition(id),
            28 | 29 => Op::Restock(sku, self.dice.one_of(&[1, 1, 2, u64::MAX])),
            30 => Op::WriteOff(sku, self.dice.one_of(&[1, 1, 2, 9])),
            31 | 32 => {
                let off = self.dice.one_of(&[0, 0, 0, 1]);
                return Step::SetAvailable(sku, off, self.dice.one_of(&[0, 1, 2, 3, u64::MAX]));
            }
            33..=35 => Op::Stock(sku),
            36 => Op::AddSku(sku, self.dice.one_of(&[1, 2])),
            37..=39 => Op::Order(id),
            40..=44 => Op::ReserveFor(id, self.lines(id), self.dice.one_of(&[0, 1, 1, 2, 2, 3])),
            45..=47 => Op::Extend(id, self.dice.one_of(&[1, 2, 4])),
            48..=51 => Op::PayOrReserveAgain(id),
            52..=55 => Op::CancelLines(id, self.part(id)),
            56..=58 => Op::FulfilLines(id, self.part(id)),
            _ => Op::Amend(id, self.other(id)),
        })
    }

    /// What is cancelled or fulfilled of an order of this id: mostly one unit, or all it asks for.
    fn part(&mut self, id: Name) -> Lines {
        let lines = self.lines(id);
        match self.dice.roll(4) {
            0 => lines,
            _ => lines.first().map_or(lines.clone(), |(sku, _)| vec![(*sku, 1)]),
        }
    }

    /// What an order of this id is changed to: mostly a unit more or less of one line, or a line dropped or added.
    fn other(&mut self, id: Name) -> Lines {
        let mut lines = self.lines(id);
        let sku = self.sku();
        match (self.dice.roll(6), &mut lines[..]) {
            (0 | 1, [first, ..]) => first.1 = first.1.saturating_add(1),
            (2, [first, ..]) if first.1 > 1 => first.1 -= 1,
            (3, [_, _, ..]) => _ = lines.remove(0),
            (4, _) => lines.push((sku, 1)),
            _ => {}
        }
        lines
    }

    /// A row that is there; now and then the next one, which `add_sku` may bring. Never the one after that: lines go by
    /// the order in which rows were added, and of two that come at the same time it cannot be told.
    fn sku(&mut self) -> Name {
        let late = usize::from(self.rows < SKUS.len() && self.dice.roll(6) == 0);
        if late == 1 { SKUS[self.rows] } else { SKUS[self.dice.roll(self.rows)] }
    }

    fn transition(&mut self, id: Name) -> Op {
        use State::{Cancelled, Created, Fulfilled, InventoryReserved, Paid};
        let (from, to) = self.dice.one_of(&[
            (Created, InventoryReserved),
            (Created, InventoryReserved),
            (InventoryReserved, Paid),
            (InventoryReserved, Paid),
            (Paid, Fulfilled),
            (Created, Cancelled),
            (InventoryReserved, Cancelled),
            (Paid, Cancelled),
            (Cancelled, Paid),
        ]);
        Op::Transition(id, from, to)
    }

    /// Mostly the lines this id always asks for, sometimes in another order; sometimes others, or none that can be.
    fn lines(&mut self, id: Name) -> Lines {
        let number = IDS.iter().position(|it| *it == id).expect("one of the ids");
        let usual = self.usual[number].clone();
        match self.dice.roll(16) {
            0..=9 => usual,
            10 | 11 => usual.into_iter().rev().collect(),
            12 => vec![],
            13 => vec![(self.sku(), 1), (self.sku(), self.dice.one_of(&[0, u32::MAX]))],
            _ => (0..=self.dice.roll(2)).map(|_| (self.sku(), self.dice.one_of(&[1, 1, 2, 3]))).collect(),
        }
    }
}
