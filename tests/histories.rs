//! Is the engine linearizable? Real threads call it, every call and every answer is recorded, and a checker looks for
//! an order of the calls in which a plain sequential engine gives the same answers.
//!
//! 2 to 8 threads make random calls of every verb on 1 to 3 rows and 2 to 4 ids; refusals are checked to the last
//! number, and afterwards also what the engine counted. The threads find holds that are dead and not let go of yet;
//! while they call, time stands still (why: `Plan::before`). They repeat requests under keys that all share, and in
//! some histories forget orders that ended before. Left out is what is documented not to be of one instant (`orders`,
//! `rows`, `audit`, `stats`, `expire_due`), except `stats` and `audit` once all is quiet. Half of the histories are of
//! the engine as users get it, half of the same sources with a hook at every step (`tests/hooked`), where threads
//! pause: so calls overlap also where cores are few.
//!
//! It says nothing about interleavings that did not come up; all of them, for small cases, are the models' business
//! (`loom-tests`). To look longer, elsewhere, or at one plan again and again:
//!
//! ```text
//! STOCKADE_HISTORIES=1000000 cargo test --release --test histories every_history
//! STOCKADE_SEED=5000 cargo test --test histories
//! STOCKADE_PLAN=17 STOCKADE_HISTORIES=10000 cargo test --test histories every_history
//! ```
//!
//! A seed (or plan) gives the same calls and the same wish for pauses; what the threads make of it differs every time.
//! So a history that fails is printed in full and kept in a file, and the verdict on it can be had again:
//!
//! ```text
//! STOCKADE_HISTORY=target/tmp/engine-17.txt cargo test --test histories a_kept_history
//! ```

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "histories/mod.rs"]
mod parts;

use std::collections::BTreeSet;
use std::fs;

use parts::answer::kind;
use parts::check::check;
use parts::every_order::{has_an_order, tiny};
use parts::faults::{Fault, Faulty};
use parts::history::History;
use parts::hooked::Paused;
use parts::plan::{Plan, plan};
use parts::real::Shop;
use parts::record::{Engine, record};
use parts::report::{explain, judge, keep, smallest};
use parts::totals;

/// Histories of each engine.
const HISTORIES: u64 = 2_500;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name}: no number: {value}")))
}

/// Of one history in twenty, calls must overlap. On an idle machine they do in most; on one that is busy with other
/// things it takes more histories to get there.
#[test]
fn every_history_of_the_engine_has_an_order() {
    look("engine", HISTORIES / 20, Shop::new);
}

#[test]
fn every_history_with_pauses_at_every_step_has_an_order() {
    let seen = look("paused", HISTORIES * 7 / 10, Paused::new);
    assert!(seen.histories < HISTORIES || seen.met * 5 > seen.histories, "threads met in {} histories", seen.met);
}

/// Records and judges; as many histories as are wanted, and more (but not without end) if in too few of them calls
/// overlap.
fn look<E: Engine>(engine: &str, quota: u64, new: impl Fn(Option<u64>) -> E) -> Seen {
    let (first, wanted) = (setting("STOCKADE_SEED").unwrap_or(0), setting("STOCKADE_HISTORIES").unwrap_or(HISTORIES));
    let whole = wanted >= HISTORIES && setting("STOCKADE_PLAN").is_none();
    let mut seen = Seen::default();
    let is_enough = |seen: &Seen| seen.histories >= wanted && (!whole || seen.overlapping_histories >= quota);
    for seed in (first..).take(20 * wanted as usize) {
        one(engine, seed, &new, &mut seen);
        if is_enough(&seen) {
            break;
        }
    }
    println!("{engine}: from seed {first} {seen}");
    assert!(is_enough(&seen), "calls hardly ever overlap");
    if whole {
        seen.every_answer();
    }
    seen
}

fn one<E: Engine>(name: &str, seed: u64, new: impl Fn(Option<u64>) -> E, seen: &mut Seen) {
    let plan_seed = setting("STOCKADE_PLAN").unwrap_or(seed);
    let plan = plan(plan_seed);
    let engine = new(plan.keep_ms);
    let history = record(&engine, &plan, seed);
    seen.add(&history, engine.meetings());
    if let Err(why) = judge(&history, &engine) {
        let file = keep(&history, &format!("{name}-{seed}"));
        panic!(
            "{name}, history {seed}, plan {plan_seed}: {why}\n\n\
             The verdict again: STOCKADE_HISTORY={file} cargo test --test histories a_kept_history\n\
             The same calls again, not the same schedule: STOCKADE_PLAN={plan_seed} STOCKADE_HISTORIES=10000 \
             cargo test --test histories every_history"
        );
    }
}

/// What was looked at, so that a test cannot pass without having looked.
#[derive(Default)]
struct Seen {
    histories: u64,
    overlapping_histories: u64,
    calls: usize,
    overlapping_calls: usize,
    /// Histories in which a thread ran into another's work inside the engine.
    met: u64,
    /// `reserve Replayed`, `pay Err InvalidState`.
    answers: BTreeSet<String>,
}

impl Seen {
    fn add(&mut self, history: &History, meetings: u64) {
        let overlapping = history.overlapping();
        self.histories += 1;
        self.overlapping_histories += u64::from(overlapping > 0);
        self.calls += history.events.len();
        self.overlapping_calls += overlapping;
        self.met += u64::from(meetings > 0);
        for event in &history.events {
            let op = event.op.to_string();
            let verb = op.split(' ').next().unwrap_or_default();
            self.answers.insert(format!("{verb} {}", kind(&event.answer)));
        }
    }

    fn every_answer(&self) {
        let every =
            EVERY_ANSWER.iter().flat_map(|(verb, kinds)| kinds.iter().map(move |kind| format!("{verb} {kind}")));
        let missing: Vec<_> = every.filter(|answer| !self.answers.contains(answer)).collect();
        assert!(missing.is_empty(), "never answered: {missing:?}");
    }
}

impl std::fmt::Display for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} histories, {} with calls that overlap, {} where threads met inside the engine; {} calls, {} overlapping",
            self.histories, self.overlapping_histories, self.met, self.calls, self.overlapping_calls
        )
    }
}

/// What comes up often enough to be sure of. (That every answer is right also for one caller alone, down to the rarest,
/// is the business of `properties.rs`.)
const EVERY_ANSWER: &[(&str, &[&str])] = &[
    ("add_sku", &["", "Err SkuExists"]),
    ("stock", &["Stock", "Err UnknownSku"]),
    ("restock", &["Stock", "Err UnknownSku", "Err Overflow"]),
    ("write_off", &["Stock", "Err UnknownSku", "Err Insufficient"]),
    ("set_available", &["Stock", "Err UnknownSku", "Err Overflow", "Err VersionConflict"]),
    ("create", &["New", "Replayed", "Err Closed", "Err LinesDiffer", "Err UnknownSku", "Err NoLines"]),
    ("reserve", &["New", "Replayed", "Err Closed", "Err LinesDiffer", "Err UnknownSku", "Err Insufficient"]),
    ("reserve", &["Err NoLines", "Err ZeroQuantity", "Err QuantityOverflow"]),
    ("reserve_for", &["New", "Replayed", "Err Closed", "Err LinesDiffer", "Err UnknownSku", "Err Insufficient"]),
    ("reserve_for", &["Err ZeroTtl"]),
    ("extend", &["Extended", "Err Expired", "Err InvalidState", "Err UnknownOrder", "Err NoDeadline"]),
    ("hold", &["New", "Replayed", "Err Closed", "Err LinesDiffer", "Err UnknownSku", "Err Insufficient"]),
    ("keep", &["Reservation", "Err HoldClosed"]),
    ("drop", &["dropped"]),
    ("cancel", &["Released", "Already", "Unknown", "Err InvalidState"]),
    ("void", &["Released", "Already", "Unknown"]),
    ("pay", &["Done", "Already", "Err InvalidState", "Err UnknownOrder", "Err Expired"]),
    ("pay_or_reserve_again", &["InTime", "Again", "Already", "Err InvalidState", "Err UnknownOrder"]),
    ("pay_or_reserve_again", &["Err Insufficient"]),
    ("fulfil", &["Done", "Already", "Err InvalidState", "Err UnknownOrder"]),
    ("transition", &["", "Err InvalidState", "Err UnknownOrder", "Err NotAllowed", "Err Insufficient"]),
    ("transition", &["Err PartlyFulfilled"]),
    ("cancel_lines", &["Left", "CANCELLED", "Err TooMuch", "Err InvalidState", "Err UnknownOrder", "Err Expired"]),
    ("cancel_lines", &["Err UnknownSku", "Err NoLines", "Err ZeroQuantity"]),
    ("fulfil_lines", &["Left", "FULFILLED", "Err TooMuch", "Err InvalidState", "Err UnknownOrder"]),
    ("amend", &["Left", "Err TooFew", "Err Insufficient", "Err InvalidState", "Err UnknownOrder", "Err Expired"]),
    ("amend", &["Err UnknownSku", "Err NoLines", "Err QuantityOverflow"]),
    (
        "keyed",
        &["New", "Replayed", "Err Reused", "Err UnknownSku", "Err Overflow", "Err VersionConflict", "Err TooMuch"],
    ),
    ("keyed", &["Err UnknownOrder", "Err InvalidState", "Err Expired", "Err Insufficient", "Err NoLines"]),
    ("forget_finished", &["Forgot", "Nothing"]),
    ("order", &["CREATED", "INVENTORY_RESERVED", "PAID", "FULFILLED", "CANCELLED", "no"]),
];

#[test]
fn every_planted_fault_is_refused() {
    for seed in 0..500 {
        let plan = plan(seed);
        let engine = Faulty::new(Fault::None, plan.keep_ms);
        let history = record(&engine, &plan, seed);
        judge(&history, &engine).unwrap_or_else(|why| panic!("without a fault, history {seed}: {why}"));
    }
    for fault in Fault::ALL {
        let refused = (0..20_000).find_map(|seed| {
            let plan = plan(seed);
            let history = record(&Faulty::new(fault, plan.keep_ms), &plan, seed);
            check(&history).err().map(|refused| (seed, explain(&history, &refused)))
        });
        let (seed, why) = refused.unwrap_or_else(|| panic!("{fault:?} is not noticed"));
        let short = why.split("\n\nThe whole").next().unwrap_or_default();
        println!("{fault:?} refused at history {seed}: {short}\n");
    }
}

/// `tests/histories/written`: the faults once more, each in a few lines that can be read; what looks wrong and is not;
/// and what was found in the engine.
#[test]
fn written_histories_get_their_verdict() {
    let written = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/histories/written");
    let mut names = BTreeSet::new();
    for file in fs::read_dir(written).unwrap() {
        let path = file.unwrap().path();
        let history: History = fs::read_to_string(&path).unwrap().parse().unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let expected = name.starts_with("right");
        let verdict = check(&history).map_err(|refused| explain(&history, &refused));
        assert_eq!(verdict.is_ok(), expected, "{name}: {}", verdict.err().unwrap_or_default());
        names.insert(name);
    }
    let faults = ["oversell", "false_refusal", "double_release", "two_effects", "stale_read", "half_visible"];
    let of_parts = ["amend_against_itself", "part_cancelled_twice", "fulfil_eats_the_hold", "half_a_change"];
    let of_repeats = ["key_carried_out_twice", "replay_of_the_present", "forgotten_while_it_holds"];
    for fault in faults.into_iter().chain(of_parts).chain(of_repeats) {
        assert!(names.contains(&format!("wrong_{fault}")), "{fault} is not written down");
    }
}

#[test]
fn the_checker_agrees_with_trying_every_order() {
    let (mut right, mut wrong) = (0, 0);
    for seed in 0..2_000 {
        let history = tiny(seed);
        let expected = has_an_order(&history);
        assert_eq!(check(&history).is_ok(), expected, "{}", history.timeline());
        assert_eq!(history.to_string().parse(), Ok(history), "read back");
        if expected { right += 1 } else { wrong += 1 }
    }
    assert!(right > 400 && wrong > 400, "{right} right, {wrong} wrong");
}

#[test]
fn what_is_shown_of_a_refused_history_is_enough_to_refuse_it() {
    let wrong = (0..2_000).map(tiny).filter(|history| check(history).is_err());
    for history in wrong.take(300) {
        let core = smallest(&history);
        assert!(!has_an_order(&core), "{}cut down to\n{}", history.timeline(), core.timeline());
    }
}

#[test]
fn miscounts_and_borrowed_numbers_are_noticed() {
    let engine = Shop::new(None);
    let quiet = Plan { before: vec![], threads: vec![], keep_ms: None, ..plan(0) };
    let history = record(&engine, &quiet, 0);
    judge(&history, &engine).unwrap();
    let _ = engine.engine.cancel("nobody").unwrap();
    judge(&history, &engine).unwrap();
    drop(engine.engine.pay("nobody")); // a refusal that no recorded call got
    assert!(judge(&history, &engine).is_err());

    let two = "rows A=3\nt0 0..1 reserve one A1 = New(Reservation { number: 7, version: 1 })\n\
               t0 2..3 reserve one A1 = Replayed(Reservation { number: 7, version: 1 })\n\
               t0 4..5 reserve two A1 = New(Reservation { number: 8, version: 1 })\n";
    let told = |text: String| {
        let history: History = text.parse().unwrap();
        totals::agree(&history, &check(&history).map_err(|refused| explain(&history, &refused)).unwrap(), None)
    };
    assert_eq!(told(two.to_string()), Ok(()));
    assert!(told(two.replacen("7", "6", 1)).is_err(), "one id was told two numbers");
    assert!(told(two.replace('8', "7")).is_err(), "two ids were told one number");
}

#[test]
fn a_kept_history() {
    let Ok(file) = std::env::var("STOCKADE_HISTORY") else { return };
    let history: History = fs::read_to_string(file).unwrap().parse().unwrap();
    if let Err(refused) = check(&history) {
        panic!("{}", explain(&history, &refused));
    }
}
