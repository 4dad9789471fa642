//! `stockade stampede`: many buyers want one slot at the same moment. First the bug that booking systems have,
//! made to happen for sure; then the same with the engine.
//!
//! The two handlers stand next to each other below; the rest of the file arranges the overlap and prints.

use std::io;
use std::panic::resume_unwind;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use clap::{Args, ValueEnum};
use serde::Serialize;
use stockade::{MAX_KEY_BYTES, Sku, Stockade};

use crate::failure::Failure;
use crate::gate::Gate;
use crate::output::{self, Format};

/// Lets buyers ask for one slot at the same time: first the bug, then none
///
/// Two handlers that differ in nothing but where the wait stands (for a payment, a mail, another service):
///
///   unsafe   look, wait, write
///   safe     claim, then wait
///
/// The overlap is arranged: all buyers are in the wait at the same time, in every run.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  stockade stampede
  stockade stampede --mode safe --buyers 64 --slot 'table 7, 19:00' --format json

Exit status:
  0  unsafe told several buyers yes (that is the demonstration), safe told one
  1  safe did not tell exactly one buyer yes, or unsafe did, which proves nothing
  2  bad arguments"
)]
pub struct Options {
    /// Which handler to run.
    #[arg(long, value_enum, default_value_t = Mode::Both)]
    mode: Mode,

    /// Number of buyers.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(2..=1024))]
    buyers: u16,

    /// Name of the slot they all want.
    #[arg(long, default_value = "10:30", value_parser = slot_name)]
    slot: String,

    /// How to print the report.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    Unsafe,
    Safe,
    Both,
}

fn slot_name(text: &str) -> Result<String, String> {
    match text.len() {
        1..=MAX_KEY_BYTES => Ok(text.into()),
        _ => Err(format!("a slot's name has 1 to {MAX_KEY_BYTES} bytes")),
    }
}

/// Looks, waits, writes. Whoever comes during the wait has looked, too, and seen a free slot.
fn unsafe_handler(desk: &Notebook, buyer: &str, wait: &dyn Fn()) -> Told {
    let holder = desk.look();
    wait();
    desk.write(buyer, holder)
}

/// Claims, which is to look and to write in one step, and then waits.
fn safe_handler(desk: &Engine, buyer: &str, wait: &dyn Fn()) -> Told {
    let told = desk.look_and_write(buyer);
    wait();
    told
}

/// What a buyer was told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "answer", rename_all = "lowercase")]
enum Told {
    Yes,
    No { holder: String },
}

/// The slot's page in a book, as a table or a cache would hold it. Each step is safe, the two together are not.
#[derive(Default)]
struct Notebook {
    holder: Mutex<Option<String>>,
}

impl Notebook {
    fn look(&self) -> Option<String> {
        self.page().clone()
    }

    fn write(&self, buyer: &str, seen: Option<String>) -> Told {
        match seen {
            Some(holder) => Told::No { holder },
            None => {
                *self.page() = Some(buyer.into());
                Told::Yes
            }
        }
    }

    fn page(&self) -> MutexGuard<'_, Option<String>> {
        self.holder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The slot as a SKU of one unit; an order's id is its buyer's name.
struct Engine {
    stock: Stockade,
    slot: Sku,
}

impl Engine {
    fn new(slot: &str) -> Result<Self, Failure> {
        let stock = Stockade::new();
        let slot = stock.add_sku(slot, 1).map_err(|error| Failure::Unsound(error.to_string()))?;
        Ok(Engine { stock, slot })
    }

    fn look_and_write(&self, buyer: &str) -> Told {
        match self.stock.reserve(buyer, &[(self.slot, 1)]) {
            Ok(_) => Told::Yes,
            Err(_) => Told::No { holder: self.holder() },
        }
    }

    /// Stock never goes without its order, so whoever is refused finds the order that has it.
    fn holder(&self) -> String {
        let holder = self.stock.orders().find(|order| order.state.holds());
        holder.map_or_else(|| "nobody".into(), |order| order.id)
    }
}

/// Runs the command.
pub fn run(options: &Options) -> Result<(), Failure> {
    let Options { mode, buyers, ref slot, format } = *options;
    let notebook = Notebook::default();
    let engine = Engine::new(slot)?;
    let report = Report {
        slot,
        buyers,
        r#unsafe: (mode != Mode::Safe)
            .then(|| rush(buyers, |buyer, wait| unsafe_handler(&notebook, buyer, wait)))
            .transpose()?,
        safe: (mode != Mode::Unsafe)
            .then(|| rush(buyers, |buyer, wait| safe_handler(&engine, buyer, wait)))
            .transpose()?,
    };
    output::print(&report.show(format)?)?;
    report.verdict()
}

/// Sends all buyers to a handler at once. Their wait ends when all are in it.
fn rush(buyers: u16, handler: impl Fn(&str, &dyn Fn()) -> Told + Sync) -> Result<Outcome, Failure> {
    let gate = Gate::default();
    let visit = |number| {
        let _all_go_on = gate.open_at_end();
        let buyer = format!("buyer-{number}");
        let told = handler(&buyer, &|| gate.wait());
        Answer { buyer, told }
    };
    thread::scope(|scope| {
        let start = |number| thread::Builder::new().spawn_scoped(scope, move || visit(number));
        let workers: io::Result<Vec<_>> = (1..=buyers).map(start).collect();
        let workers = workers.map_err(|error| {
            gate.open();
            Failure::NoThread(error)
        })?;
        gate.open_for(buyers.into());
        let answers = workers.into_iter().map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
        Ok(Outcome::new(answers.collect()))
    })
}

/// What one buyer was told.
#[derive(Serialize)]
struct Answer {
    buyer: String,
    #[serde(flatten)]
    told: Told,
}

/// What came of one handler.
#[derive(Serialize)]
struct Outcome {
    answers: Vec<Answer>,
    /// Everybody who was ever told yes for the slot: a list that should only ever have one name.
    ever_told_yes: Vec<String>,
    told_yes_twice: usize,
}

impl Outcome {
    fn new(answers: Vec<Answer>) -> Self {
        let yes = answers.iter().filter(|answer| answer.told == Told::Yes);
        let ever_told_yes: Vec<_> = yes.map(|answer| answer.buyer.clone()).collect();
        let told_yes_twice = ever_told_yes.len().saturating_sub(1);
        Outcome { answers, ever_told_yes, told_yes_twice }
    }

    fn text(&self, title: &str) -> String {
        let mut text = format!("{title}\n");
        for Answer { buyer, told } in &self.answers {
            text += &match told {
                Told::Yes => format!("  {buyer:<10}  yes\n"),
                Told::No { holder } => format!("  {buyer:<10}  no, {holder} has it\n"),
            };
        }
        let names = self.ever_told_yes.join(", ");
        text + &format!("ever told yes: {names}\nTOLD YES TWICE: {}\n", self.told_yes_twice)
    }
}

/// The figures. Names and order are those of the JSON.
#[derive(Serialize)]
struct Report<'a> {
    slot: &'a str,
    buyers: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#unsafe: Option<Outcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    safe: Option<Outcome>,
}

impl Report<'_> {
    fn show(&self, format: Format) -> Result<String, Failure> {
        if format == Format::Json {
            return output::json(self);
        }
        let mut text = format!("slot {}, {} buyers at the same time\n", self.slot, self.buyers);
        let runs = [("unsafe: look, wait, write", &self.r#unsafe), ("safe: claim, then wait", &self.safe)];
        for (title, outcome) in runs {
            if let Some(outcome) = outcome {
                text += &format!("\n{}", outcome.text(title));
            }
        }
        Ok(text)
    }

    /// The demonstration must show the bug and its absence, or it has shown nothing.
    fn verdict(&self) -> Result<(), Failure> {
        let yeses = |outcome: &Outcome| outcome.ever_told_yes.len();
        if self.r#unsafe.as_ref().is_some_and(|outcome| yeses(outcome) < 2) {
            return Err(Failure::Unsound(
                "the unsafe handler told nobody yes twice, so this run proves nothing".into(),
            ));
        }
        match self.safe.as_ref().map(yeses) {
            None | Some(1) => Ok(()),
            Some(yeses) => Err(Failure::Unsound(format!("the safe handler told {yeses} buyers yes, not one"))),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::cell::RefCell;

    /// Bob does all he wants to do while Ann waits, so there is no luck in it: if the wait of the unsafe
    /// handler no longer stands between look and write, Bob is too early or too late and one of them is refused.
    #[test]
    fn the_gap_of_the_unsafe_handler_is_where_the_second_yes_comes_from() {
        let desk = Notebook::default();
        let bob = RefCell::new(None);
        let ann = unsafe_handler(&desk, "Ann", &|| {
            bob.replace(Some(unsafe_handler(&desk, "Bob", &|| {})));
        });
        assert_eq!((ann, bob.into_inner()), (Told::Yes, Some(Told::Yes)));
        assert_eq!(desk.look().as_deref(), Some("Ann"), "and Bob's name is overwritten");
    }

    #[test]
    fn without_an_overlap_the_unsafe_handler_is_right() {
        let desk = Notebook::default();
        assert_eq!(unsafe_handler(&desk, "Ann", &|| {}), Told::Yes);
        assert_eq!(unsafe_handler(&desk, "Bob", &|| {}), Told::No { holder: "Ann".into() });
    }

    #[test]
    fn the_same_gap_does_nothing_to_the_safe_handler() {
        let desk = Engine::new("10:30").unwrap();
        let bob = RefCell::new(None);
        let ann = safe_handler(&desk, "Ann", &|| {
            bob.replace(Some(safe_handler(&desk, "Bob", &|| {})));
        });
        assert_eq!((ann, bob.into_inner()), (Told::Yes, Some(Told::No { holder: "Ann".into() })));
    }

    /// Handlers without a wait, or that fail, must not leave the others at the gate.
    #[test]
    fn a_rush_ends_when_nobody_waits() {
        let outcome = rush(3, |_, _| Told::Yes).unwrap();
        assert_eq!(outcome.told_yes_twice, 2);
    }

    #[test]
    fn a_demonstration_that_shows_nothing_is_an_error() {
        let outcome = |yeses: u16| rush(yeses, |_, wait| (wait(), Told::Yes).1).unwrap();
        let report = |r#unsafe, safe| Report { slot: "s", buyers: 2, r#unsafe, safe }.verdict();
        assert!(report(Some(outcome(2)), Some(outcome(1))).is_ok());
        assert!(report(Some(outcome(1)), Some(outcome(1))).is_err());
        assert!(report(None, Some(outcome(2))).is_err());
        assert!(report(None, Some(outcome(0))).is_err());
    }
}
