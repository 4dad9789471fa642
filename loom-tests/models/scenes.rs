//! One verb a thread, on rows and orders that are there. What may come of it is what comes of the same verbs one
//! after the other, in some order: nothing else, and each of these.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use stockade_loom::{Hold, Keep, ManualClock, RequestKey, Sku, State, Stockade};

use crate::run::{Expect, Model, Race};
use crate::shop::{
    Actor, Shop, advanced, amend, audit, cancel, cancel_lines, create, expire_due, extend, fulfil_lines, keep, once,
    order, order_and_lines, pay, pay_late, race, reserve, reserve_for, restock, set_available, stock, transition, void,
    write_off,
};

/// What a thread does: to the order of its actor, or to the first row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Create,
    Reserve,
    Cancel,
    Void,
    Pay,
    Fulfil,
    Transition(State, State),
    /// Drops the hold that took the order's stock. A hold borrows the engine, so this is for the first actor.
    DropHold,
    /// Keeps it; for the first actor as well.
    KeepHold,
    Order,
    Stock,
    Restock,
    WriteOff,
    /// To five units, from the version that the row has when the race begins.
    SetAvailable,
    Audit,
    /// With a deadline, as far away as that of the orders that have one.
    ReserveFor,
    /// To twice that.
    Extend,
    /// Lets go of what is due, one hold at most.
    ExpireDue,
    PayLate,
    /// The clock moves on to the deadline of all holds of the scene.
    Tick,
    /// Cancels one unit of the order's first line.
    CancelLines,
    /// Fulfils one.
    FulfilLines,
    /// One more of the first line.
    Raise,
    /// One less of it.
    Lower,
    /// One less of it, and one more of another row of the scene, which the order need not have yet.
    Swap,
    /// Restock under the key that all verbs with a key have in common.
    KeyedRestock,
    KeyedWriteOff,
    /// As [`SetAvailable`](Verb::SetAvailable).
    KeyedSetAvailable,
    KeyedCancelLines,
    KeyedRaise,
    /// Forgets what was finished long before the race begins.
    Forget,
    /// The clock moves on until all that is finished can be forgotten, and that is forgotten.
    TickAndForget,
    /// Forgets, crowds the order out of the index, and has its memory used for others.
    ForgetAndReuse,
}

impl Verb {
    fn is_of_parts(self) -> bool {
        use Verb::{CancelLines, FulfilLines, KeyedCancelLines, KeyedRaise, Lower, Raise, Swap};
        matches!(self, CancelLines | FulfilLines | Raise | Lower | Swap | KeyedCancelLines | KeyedRaise)
    }

    fn forgets(self) -> bool {
        matches!(self, Verb::Forget | Verb::TickAndForget | Verb::ForgetAndReuse)
    }

    /// Two verbs that only read cannot disturb each other.
    pub fn changes(self) -> bool {
        !matches!(self, Verb::KeepHold | Verb::Order | Verb::Stock | Verb::Audit)
    }
}

/// An order of a scene: the rows it names, one unit each time, and the state it is in when the race begins, if it is
/// there.
#[derive(Clone, Copy)]
pub struct Given(pub &'static [&'static str], pub Option<State>);

/// How the holds of a scene end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// They do not.
    Firm,
    /// They live as the race begins.
    Live,
    /// Their deadline has come, and nobody has looked.
    Dead,
    /// They have been let go.
    Expired,
}

/// When holds end.
const TTL_MS: u64 = 10;
/// For how long an engine that forgets keeps what is finished, at the very least; and when it has forgotten it.
const KEPT_MS: u64 = 16;
const FORGOTTEN_MS: u64 = 100;
const KEY: RequestKey<'static> = RequestKey { id: "key", issued: 1 };

/// How a race begins, and who runs in it.
pub struct Scene {
    /// Units that each row has, before the orders take theirs.
    pub units: u64,
    pub holds: Holds,
    /// Whether the first order has been changed, and changed back: then its lines are those of an edition.
    pub changed: bool,
    pub orders: Vec<Given>,
    /// Verbs, each with the number of the order it is for.
    pub actors: Vec<(Verb, usize)>,
}

/// They belong at different places of the index: who only has to pass the others there multiplies the executions.
const IDS: [&str; 3] = ["first", "second", "single"];

/// What the actors know.
struct Stage {
    /// Rows by name: handle, and the version as the race begins.
    rows: BTreeMap<&'static str, (Sku, u64)>,
    clock: Arc<ManualClock>,
}

impl Scene {
    pub fn model(self, title: &str) -> Model {
        let verbs: Vec<String> = self.actors.iter().map(|(verb, _)| format!("{verb:?}").to_lowercase()).collect();
        let name = format!("{title}: {}", verbs.join(", "));
        let scene = Arc::new(self);
        let one_by_one = permutations(scene.actors.len()).into_iter().map(|order| {
            let scene = Arc::clone(&scene);
            Arc::new(move || scene.one_by_one(&order)) as Race
        });
        let expect = Expect::OneByOne(one_by_one.collect());
        Model::new(&name, expect, move || Arc::clone(&scene).race())
    }

    /// All at the same time.
    fn race(self: Arc<Self>) -> String {
        let (shop, clock) = self.shop();
        let (hold, stage) = self.begin(&shop, clock);
        let others = (1..self.actors.len()).map(|i| {
            let (scene, stage) = (Arc::clone(&self), Arc::clone(&stage));
            Box::new(move |shop: &Shop| scene.act(i, shop, &stage, None)) as Actor
        });
        let answers = race(&shop, |shop| self.act(0, shop, &stage, hold), others.collect());
        self.ended(&shop, &stage, &answers)
    }

    /// One after the other.
    fn one_by_one(&self, order: &[usize]) -> String {
        let (shop, clock) = self.shop();
        let (mut hold, stage) = self.begin(&shop, clock);
        let mut answers = vec![String::new(); order.len()];
        for &i in order {
            let hold = if i == 0 { hold.take() } else { None };
            answers[i] = self.act(i, &shop, &stage, hold);
        }
        self.ended(&shop, &stage, &answers)
    }

    /// The rows of all orders.
    fn names(&self) -> BTreeSet<&'static str> {
        self.orders.iter().flat_map(|Given(rows, _)| *rows).copied().collect()
    }

    fn shop(&self) -> (Shop, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::default());
        let builder = Stockade::builder().clock(Arc::clone(&clock));
        let forgets = self.actors.iter().any(|(verb, _)| verb.forgets());
        let builder = if forgets { builder.keep_finished(Keep::ForMs(KEPT_MS)) } else { builder };
        let shop = builder.build().unwrap();
        for name in self.names() {
            let _ = shop.add_sku(name, self.units).unwrap();
        }
        (Arc::new(shop), clock)
    }

    /// Brings the orders into their states.
    fn begin<'a>(&self, shop: &'a Shop, clock: Arc<ManualClock>) -> (Option<Hold<'a>>, Arc<Stage>) {
        let held = self.actors.iter().find(|(verb, _)| matches!(verb, Verb::DropHold | Verb::KeepHold));
        let hold = held.map(|(_, order)| shop.hold(IDS[*order], &self.lines(shop, *order)).unwrap());
        for (order, Given(_, state)) in self.orders.iter().enumerate() {
            let Some(state) = state else { continue };
            let (id, lines) = (IDS[order], self.lines(shop, order));
            if self.holds != Holds::Firm && *state != State::Created {
                let _ = shop.reserve_for(id, &lines, TTL_MS).unwrap();
                continue;
            }
            let _ = shop.create(id, &lines).unwrap();
            if *state != State::Created {
                let _ = shop.reserve(id, &lines).unwrap();
            }
            if matches!(state, State::Paid | State::Fulfilled) {
                let _ = shop.pay(id).unwrap();
            }
            if *state == State::Fulfilled {
                let _ = shop.fulfil(id).unwrap();
            }
            if *state == State::Cancelled {
                let _ = shop.cancel(id).unwrap();
            }
        }
        if self.changed {
            let mut lines = self.lines(shop, 0);
            lines.push(lines[0]);
            assert!(shop.amend(IDS[0], &lines).is_ok() && shop.amend(IDS[0], &lines[1..]).is_ok());
        }
        let row = |name| (name, (shop.sku(name).unwrap(), shop.stock(name).unwrap().version));
        let rows = self.names().into_iter().map(row).collect();
        if matches!(self.holds, Holds::Dead | Holds::Expired) {
            clock.set_ms(TTL_MS);
        }
        if self.holds == Holds::Expired {
            IDS.iter().for_each(|id| drop(shop.order(id)));
        }
        if self.actors.iter().any(|(verb, _)| matches!(verb, Verb::Forget | Verb::ForgetAndReuse)) {
            clock.set_ms(FORGOTTEN_MS);
        }
        (hold, Arc::new(Stage { rows, clock }))
    }

    fn lines(&self, shop: &Shop, order: usize) -> Vec<(Sku, u32)> {
        self.orders[order].0.iter().map(|name| (shop.sku(name).unwrap(), 1)).collect()
    }

    /// What one actor does, and what it is answered.
    fn act(&self, actor: usize, shop: &Shop, Stage { rows, clock }: &Stage, hold: Option<Hold<'_>>) -> String {
        let (verb, order_number) = self.actors[actor];
        let (id, names) = (IDS[order_number], self.orders[order_number].0);
        let lines: Vec<(Sku, u32)> = names.iter().map(|name| (rows[name].0, 1)).collect();
        let (row, version) = rows[names[0]];
        let others = rows.values().map(|(other, _)| *other).find(|other| *other != row);
        match verb {
            Verb::Create => create(shop, id, &lines),
            Verb::Reserve => reserve(shop, id, &lines),
            Verb::Cancel => cancel(shop, id),
            Verb::Void => void(shop, id),
            Verb::Pay => pay(shop, id),
            Verb::Fulfil => advanced(shop.fulfil(id)),
            Verb::Transition(from, to) => transition(shop, id, from, to),
            Verb::DropHold => {
                drop(hold);
                "dropped".into()
            }
            Verb::KeepHold => keep(hold),
            Verb::Order => self.order(shop, id),
            Verb::Stock => stock(shop, row),
            Verb::Restock => restock(shop, row),
            Verb::WriteOff => write_off(shop, row),
            Verb::SetAvailable => set_available(shop, row, version, 5),
            Verb::Audit => audit(shop),
            Verb::ReserveFor => reserve_for(shop, id, &lines, TTL_MS),
            Verb::Extend => extend(shop, id, 2 * TTL_MS),
            Verb::ExpireDue => expire_due(shop),
            Verb::PayLate => pay_late(shop, id),
            Verb::Tick => {
                clock.set_ms(TTL_MS);
                "tick".into()
            }
            Verb::CancelLines => cancel_lines(shop, id, &[(row, 1)]),
            Verb::FulfilLines => fulfil_lines(shop, id, &[(row, 1)]),
            Verb::Raise => amend(shop, id, &[&lines[..], &[(row, 1)]].concat()),
            Verb::Lower => amend(shop, id, &lines[1..]),
            Verb::Swap => amend(shop, id, &[&lines[1..], &[(others.unwrap(), 1)]].concat()),
            Verb::KeyedRestock => once(shop.keyed(KEY).restock(row, 1)),
            Verb::KeyedWriteOff => once(shop.keyed(KEY).write_off(row, 1)),
            Verb::KeyedSetAvailable => once(shop.keyed(KEY).set_available(row, version, 5)),
            Verb::KeyedCancelLines => once(shop.keyed(KEY).cancel_lines(id, &[(row, 1)])),
            Verb::KeyedRaise => once(shop.keyed(KEY).amend(id, &[&lines[..], &[(row, 1)]].concat())),
            Verb::Forget => format!("{} forgotten", shop.forget_finished(9)),
            Verb::ForgetAndReuse => {
                let forgotten = shop.forget_finished(9);
                let others = ["a", "b", "c", "d"].map(|other| void(shop, other));
                shop.forget_finished(9);
                let again = ["e"].map(|other| void(shop, other));
                format!("{forgotten} forgotten, {}", [&others[..], &again[..]].concat().join(" "))
            }
            Verb::TickAndForget => {
                clock.set_ms(FORGOTTEN_MS);
                format!("{} forgotten", shop.forget_finished(9))
            }
        }
    }

    /// An order, with its lines where they change.
    fn order(&self, shop: &Shop, id: &str) -> String {
        let in_parts = self.changed || self.actors.iter().any(|(verb, _)| verb.is_of_parts());
        if in_parts { order_and_lines(shop, id) } else { order(shop, id) }
    }

    /// Answers, orders and rows as words; the books must balance.
    fn ended(&self, shop: &Shop, Stage { rows, .. }: &Stage, answers: &[String]) -> String {
        let orders: Vec<String> = IDS.iter().take(self.orders.len()).map(|id| self.order(shop, id)).collect();
        let rows: Vec<String> = rows.values().map(|(row, _)| stock(shop, *row)).collect();
        assert_eq!(audit(shop), "sound");
        format!("{} > {} > {}", answers.join(", "), orders.join(", "), rows.join(", "))
    }
}

/// All orders of the first `n` numbers.
fn permutations(n: usize) -> Vec<Vec<usize>> {
    let Some(last) = n.checked_sub(1) else { return vec![vec![]] };
    let shorter = permutations(last).into_iter();
    shorter.flat_map(|order| (0..n).map(move |at| [&order[..at], &[last], &order[at..]].concat())).collect()
}
