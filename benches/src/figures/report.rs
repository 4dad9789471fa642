//! The table as text and as JSON. Where it is not read on a terminal, the text is Markdown, to be put into a README.

use std::io::IsTerminal;

use comfy_table::presets::{ASCII_MARKDOWN, UTF8_NO_BORDERS};
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};
use serde::Serialize;

use super::formula::{Pick, Spread};
use super::goals::{Figure, Goal};
use super::job::{Job, Outcome};
use super::machine::Machine;
use super::runs::Runs;

/// Characters in a line of the table on a terminal.
const WIDTH: u16 = 160;

#[derive(Serialize)]
pub struct Report<'a> {
    machine: Machine,
    /// Small sizes: the figures mean nothing.
    quick: bool,
    runs: usize,
    figures: Vec<Row>,
    /// Peers that were asked for and are not to be had here.
    skipped: Vec<String>,
    measurements: Vec<Measurement<'a>>,
}

#[derive(Serialize)]
struct Row {
    group: &'static str,
    title: String,
    goal: Option<Bound>,
    unit: &'static str,
    /// Median or smallest of the runs.
    pick: &'static str,
    spread: Option<Spread>,
    /// `None`: no goal, or not measured.
    met: Option<bool>,
    absent: Option<&'static str>,
    beside_unit: &'static str,
    beside: Vec<Beside>,
}

#[derive(Serialize)]
struct Bound {
    bound: &'static str,
    value: f64,
}

#[derive(Serialize)]
struct Beside {
    name: String,
    spread: Option<Spread>,
}

#[derive(Serialize)]
struct Measurement<'a> {
    job: &'a Job,
    outcomes: Vec<&'a Outcome>,
}

impl Spread {
    fn in_unit(self, unit: f64) -> Spread {
        let values = self.values.iter().map(|it| it / unit).collect();
        Spread { figure: self.figure / unit, min: self.min / unit, max: self.max / unit, values }
    }

    fn range(&self) -> String {
        format!("{} - {}", short(self.min), short(self.max))
    }
}

impl Goal {
    fn bound(self) -> Option<Bound> {
        match self {
            Goal::AtLeast(value) => Some(Bound { bound: "at least", value }),
            Goal::AtMost(value) => Some(Bound { bound: "at most", value }),
            Goal::None => None,
        }
    }

    fn is_met(self, figure: f64) -> Option<bool> {
        match self {
            Goal::AtLeast(value) => Some(figure >= value),
            Goal::AtMost(value) => Some(figure <= value),
            Goal::None => None,
        }
    }
}

impl Row {
    fn new(figure: &Figure, runs: &Runs) -> Row {
        let spread = Spread::of(&figure.formula, figure.pick, runs).map(|it| it.in_unit(figure.unit.0));
        let beside = figure.beside.iter().map(|(name, formula)| {
            let spread = Spread::of(formula, figure.pick, runs).map(|it| it.in_unit(figure.beside_unit.0));
            Beside { name: name.clone(), spread }
        });
        Row {
            group: figure.group,
            title: figure.title.clone(),
            goal: figure.goal.bound(),
            unit: figure.unit.1,
            pick: match figure.pick {
                Pick::Median => "median",
                Pick::Smallest => "smallest",
            },
            met: spread.as_ref().and_then(|it| figure.goal.is_met(it.figure)),
            absent: spread.is_none().then_some("not measured"),
            beside: beside.collect(),
            beside_unit: figure.beside_unit.1,
            spread,
        }
    }

    fn cells(&self, beside: &str) -> [Cell; 6] {
        let unit = self.unit;
        let goal = self.goal.as_ref().map(|it| format!("{} {} {unit}", it.bound, short(it.value)));
        let (figure, range) = match &self.spread {
            Some(it) => (format!("{} {unit}", short(it.figure)), it.range()),
            None => (self.absent.unwrap_or_default().into(), String::new()),
        };
        let met = match self.met {
            Some(true) => "met",
            Some(false) => "NOT met",
            None if self.goal.is_some() => "-",
            None => "",
        };
        let title = Cell::new(&self.title);
        let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
        [title, right(goal.unwrap_or_default()), right(figure), right(range), Cell::new(met), Cell::new(beside)]
    }

    /// What stands beside, with its unit once.
    fn beside(&self) -> String {
        let one = |it: &Beside| {
            let figure = it.spread.as_ref().map(|spread| short(spread.figure));
            format!("{} {}", it.name, figure.as_deref().unwrap_or("-"))
        };
        let all: Vec<String> = self.beside.iter().map(one).collect();
        if all.is_empty() { String::new() } else { format!("{}: {}", self.beside_unit, all.join(", ")) }
    }
}

impl<'a> Report<'a> {
    pub fn new(machine: Machine, quick: bool, figures: &[Figure], runs: &'a Runs) -> Report<'a> {
        Report {
            machine,
            quick,
            runs: runs.count(),
            figures: figures.iter().map(|figure| Row::new(figure, runs)).collect(),
            skipped: runs.skipped.iter().map(|(peer, why)| format!("{}: {why}", peer.name())).collect(),
            measurements: runs.all().map(|(job, outcomes)| Measurement { job, outcomes }).collect(),
        }
    }

    pub fn print(&self) {
        println!("{}\n", self.machine.text());
        let runs = self.runs;
        println!("Medians of {runs} runs, lowest and highest beside them, where nothing else is said.");
        println!("Ratios are of measurements of the same run, and so not always those of the medians beside them.");
        println!("Times of single calls are those of callers that never rest: service, not waiting in a queue.");
        if self.quick {
            println!("QUICK: small sizes, one run. These figures mean nothing.");
        }
        let mut table = Table::new();
        if std::io::stdout().is_terminal() {
            table.load_style(UTF8_NO_BORDERS).set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
        } else {
            table.load_style(ASCII_MARKDOWN).set_content_arrangement(ContentArrangement::Disabled);
        }
        table.set_header(["", "goal", "figure", "lowest - highest", "", "figures behind and beside it"]);
        let mut shown = String::new();
        for row in &self.figures {
            let beside = row.beside();
            // Figures that were the last row's too are not said again.
            table.add_row(row.cells(if beside == shown { "" } else { &beside }));
            shown = beside;
        }
        println!("{table}");
        for skipped in &self.skipped {
            println!("left out: {skipped}");
        }
        println!("{}", self.verdict());
    }

    fn verdict(&self) -> String {
        let count = |met| self.figures.iter().filter(|row| row.met == met && row.goal.is_some()).count();
        let (met, not, absent) = (count(Some(true)), count(Some(false)), count(None));
        format!("goals: {met} met, {not} NOT met, {absent} not measured")
    }
}

/// Three digits that count.
fn short(value: f64) -> String {
    let digits = if value == 0.0 { 0 } else { (2 - value.abs().log10().floor() as i32).clamp(0, 6) };
    format!("{value:.*}", digits as usize)
}
