//! The verdict on a history, and everything one wants to see if it is a bad one.

use std::fs;
use std::path::Path;

use super::check::{Refused, check};
use super::history::History;
use super::record::Engine;
use super::totals;

/// `Err` says what is wrong, in full.
pub fn judge(history: &History, engine: &impl Engine) -> Result<(), String> {
    let end = check(history).map_err(|refused| explain(history, &refused))?;
    totals::agree(history, &end, engine.counts()).map_err(|why| format!("{why}\n{}", history.timeline()))
}

/// The history, cut down to what is needed to refuse it, and where the search for an order got stuck.
pub fn explain(history: &History, refused: &Refused) -> String {
    let core = smallest(history);
    let stuck = check(&core).err().expect("cut down, it is still refused");
    format!(
        "no order of these calls explains their answers.\n\nThe part that shows it:\n{}{}\n\nThe whole history:\n{}{}",
        core.timeline(),
        place(&core, &stuck),
        history.timeline(),
        place(history, refused),
    )
}

fn place(history: &History, Refused { longest, next }: &Refused) -> String {
    let order: Vec<_> = longest.iter().map(|call| history.events[*call].op.to_string()).collect();
    let next = next.iter().map(|(call, expected)| {
        let event = &history.events[*call];
        format!("  t{} {} = {}\n     but here it would be: {expected}", event.thread, event.op, event.answer)
    });
    let next: Vec<_> = next.collect();
    format!("At most {} can be put in order: {}; then\n{}", longest.len(), order.join(", "), next.join("\n"))
}

/// The shortest beginning that is refused, without those calls that changed nothing and are not needed for that. (They
/// had no effect on the others: had the whole an order, the rest would have the same.)
pub fn smallest(history: &History) -> History {
    let mut ends: Vec<u64> = history.events.iter().filter_map(|event| event.ret).collect();
    ends.sort_unstable();
    let cuts = ends.into_iter().map(|end| until(history, end));
    let mut core = cuts.into_iter().find(|cut| check(cut).is_err()).unwrap_or_else(|| history.clone());
    let mut at = 0;
    while at < core.events.len() {
        let mut fewer = core.clone();
        let left_out = fewer.events.remove(at);
        if left_out.is_idle() && check(&fewer).is_err() {
            core = fewer;
        } else {
            at += 1;
        }
    }
    core
}

/// What was known at an instant: calls that returned later had been made, but not answered.
fn until(history: &History, end: u64) -> History {
    let mut cut = history.clone();
    cut.events.retain(|event| event.call <= end);
    for event in &mut cut.events {
        if event.ret.is_some_and(|ret| ret > end) {
            event.ret = None;
            event.answer.clear();
        }
    }
    cut
}

/// Keeps a history in a file that `STOCKADE_HISTORY` can name; tells which.
pub fn keep(history: &History, name: &str) -> String {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.txt"));
    fs::write(&file, history.to_string()).expect("a file for the history");
    file.display().to_string()
}
