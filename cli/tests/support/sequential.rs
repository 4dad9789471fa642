//! A replay without engine and threads: plain maps, one order after the other.
//!
//! Written from the description of the command and sharing no code with it. What it says must be what
//! `stockade replay --threads 1` says, field by field.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use serde_json::{Value, json};

/// How to read the files.
pub struct Rules<'a> {
    pub order: &'a str,
    pub sku: &'a str,
    pub quantity: &'a str,
    pub is_goods: fn(&str) -> bool,
    pub return_prefix: Option<&'a str>,
}

/// What is there at the start.
pub enum Start {
    /// So many hundredths of what is asked for, at least 1.
    Hundredths(u64),
    Units(BTreeMap<String, u64>),
}

struct Row {
    id: String,
    sku: String,
    quantity: i64,
}

/// The whole outcome of a replay.
#[derive(Default)]
pub struct Outcome {
    accepted: u64,
    refused: u64,
    empty: u64,
    replayed: u64,
    conflicting: u64,
    returns: u64,
    empty_returns: u64,
    initial: u64,
    sold: u64,
    returned: u64,
    read: u64,
    skipped_sku: u64,
    skipped_quantity: u64,
    stock: BTreeMap<String, u64>,
    decisions: String,
}

type Lines = BTreeMap<String, u64>;

/// Replays files in the order given.
pub fn replay(files: &[PathBuf], rules: &Rules<'_>, start: Start) -> Outcome {
    let rows: Vec<Row> = files.iter().flat_map(|file| read(file, rules)).collect();
    let mut outcome = Outcome { stock: start_with(&rows, rules, start), ..Outcome::default() };
    outcome.initial = outcome.stock.values().sum();
    let mut seen: HashMap<String, Lines> = HashMap::new();
    let mut held: HashSet<String> = HashSet::new();
    for run in rows.chunk_by(|one, next| one.id == next.id) {
        let is_return = rules.return_prefix.is_some_and(|prefix| run[0].id.starts_with(prefix));
        let kept = outcome.keep(run, rules, is_return);
        if is_return {
            outcome.take_back(&kept);
        } else {
            outcome.sell(&run[0].id, &kept, &mut seen, &mut held);
        }
    }
    outcome
}

fn read(file: &PathBuf, rules: &Rules<'_>) -> Vec<Row> {
    let mut reader = csv::Reader::from_path(file).unwrap();
    let rows = reader.deserialize::<HashMap<String, String>>().map(|row| {
        let mut row = row.unwrap();
        Row {
            id: row.remove(rules.order).unwrap(),
            sku: row.remove(rules.sku).unwrap(),
            quantity: row[rules.quantity].parse().unwrap(),
        }
    });
    rows.collect()
}

fn start_with(rows: &[Row], rules: &Rules<'_>, start: Start) -> BTreeMap<String, u64> {
    let mut asked = BTreeMap::new();
    for row in rows.iter().filter(|row| (rules.is_goods)(&row.sku)) {
        *asked.entry(row.sku.clone()).or_insert(0) += row.quantity.max(0).unsigned_abs();
    }
    match start {
        Start::Hundredths(share) => asked.into_iter().map(|(sku, sum)| (sku, (sum * share / 100).max(1))).collect(),
        Start::Units(mut units) => {
            for sku in asked.into_keys() {
                units.entry(sku).or_insert(0);
            }
            units
        }
    }
}

impl Outcome {
    fn keep<'a>(&mut self, run: &'a [Row], rules: &Rules<'_>, is_return: bool) -> Vec<&'a Row> {
        let mut kept = Vec::new();
        for row in run {
            self.read += 1;
            if !(rules.is_goods)(&row.sku) {
                self.skipped_sku += 1;
            } else if is_return && row.quantity >= 0 || !is_return && row.quantity <= 0 {
                self.skipped_quantity += 1;
            } else {
                kept.push(row);
            }
        }
        kept
    }

    fn take_back(&mut self, kept: &[&Row]) {
        if kept.is_empty() {
            self.empty_returns += 1;
            return;
        }
        self.returns += 1;
        for row in kept {
            self.returned += row.quantity.unsigned_abs();
            *self.stock.get_mut(&row.sku).unwrap() += row.quantity.unsigned_abs();
        }
    }

    fn sell(&mut self, id: &str, kept: &[&Row], seen: &mut HashMap<String, Lines>, held: &mut HashSet<String>) {
        let mut lines = Lines::new();
        for row in kept {
            *lines.entry(row.sku.clone()).or_insert(0) += row.quantity.unsigned_abs();
        }
        if lines.is_empty() {
            self.empty += 1;
            return;
        }
        if seen.get(id).is_some_and(|first| *first != lines) {
            self.conflicting += 1;
        } else if held.contains(id) {
            self.replayed += 1;
        } else if lines.iter().all(|(sku, units)| self.stock[sku] >= *units) {
            self.accepted += 1;
            for (sku, units) in &lines {
                self.sold += units;
                *self.stock.get_mut(sku).unwrap() -= units;
            }
            held.insert(id.into());
            self.decisions += &format!("{id},accepted\n");
        } else {
            self.refused += 1;
            self.decisions += &format!("{id},refused\n");
        }
        seen.entry(id.into()).or_insert(lines);
    }

    /// What `--format json` must say, as far as it does not depend on time and threads.
    pub fn figures(&self) -> Value {
        json!({
            "orders": {
                "accepted": self.accepted, "refused": self.refused, "empty": self.empty,
                "replayed": self.replayed, "closed": 0, "conflicting": self.conflicting,
            },
            "returns": { "applied": self.returns, "empty": self.empty_returns },
            "cancels": { "applied": 0, "without_effect": 0 },
            "units": {
                "initial": self.initial, "sold": self.sold, "returned": self.returned,
                "available": self.stock.values().sum::<u64>(),
            },
            "skus": self.stock.len(),
            "skus_sold_out": self.stock.values().filter(|&&available| available == 0).count(),
            "lines": {
                "read": self.read, "skipped_sku": self.skipped_sku, "skipped_quantity": self.skipped_quantity,
            },
            "told_yes_twice": 0,
            "conserved": true,
        })
    }

    /// What `--write-stock` must write, for SKUs that need no quotes.
    pub fn stock_file(&self) -> String {
        let rows = self.stock.iter().map(|(sku, available)| format!("{sku},{available}\n"));
        format!("sku,available\n{}", rows.collect::<String>())
    }

    /// What `--write-decisions` must write, for ids that need no quotes.
    pub fn decisions_file(&self) -> &str {
        &self.decisions
    }
}
