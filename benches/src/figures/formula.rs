//! How a figure comes of measurements, and what is left of several runs.

use serde::Serialize;

use super::job::{Job, Outcome};
use super::runs::Runs;

/// What is read off a measurement.
#[derive(Clone, Copy, Debug)]
pub enum What {
    Ns,
    NsPerLine,
    /// Million orders per second.
    Rate,
    Bytes,
    /// Nanoseconds of a reserve when a sixteenth of the orders are there.
    NsEarly,
    /// Nanoseconds of a reserve when nearly all orders are there.
    NsLate,
    /// Nanoseconds, by percentile.
    Percentile(f64),
}

/// A measurement and what is read off it.
pub type Reading = (Job, What);

/// A figure of one run.
pub enum Formula {
    One(Reading),
    /// The least of the first by the least of the second.
    Quotient(Vec<Reading>, Vec<Reading>),
}

impl Formula {
    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        let (top, bottom) = match self {
            Formula::One(reading) => (std::slice::from_ref(reading), &[][..]),
            Formula::Quotient(top, bottom) => (top.as_slice(), bottom.as_slice()),
        };
        top.iter().chain(bottom).map(|reading| &reading.0)
    }

    /// Its value in one run; `None` if something was not measured there.
    pub fn value(&self, runs: &Runs, run: usize) -> Option<f64> {
        let read = |(job, what): &Reading| what.read(job, runs.outcome(job, run)?);
        let least = |readings: &[Reading]| {
            readings.iter().map(read).collect::<Option<Vec<_>>>()?.into_iter().min_by(f64::total_cmp)
        };
        match self {
            Formula::One(reading) => read(reading),
            Formula::Quotient(top, bottom) => Some(least(top)? / least(bottom)?),
        }
    }
}

impl What {
    pub fn read(self, job: &Job, outcome: &Outcome) -> Option<f64> {
        let mean = |part: &[f64]| (!part.is_empty()).then(|| part.iter().sum::<f64>() / part.len() as f64);
        match self {
            What::Ns => Some(outcome.ns_per_order),
            What::NsPerLine => Some(outcome.ns_per_order / job.lines as f64),
            What::Rate => Some(1e3 / outcome.ns_per_order),
            What::Bytes => outcome.bytes_per_order,
            // Of 32 parts, the two around a sixteenth.
            What::NsEarly => mean(outcome.windows.get(1..3)?),
            What::NsLate => mean(outcome.windows.get(30..)?),
            What::Percentile(percentile) => {
                let all = &outcome.latency.as_ref()?.percentiles;
                all.iter().find(|it| it.0 == percentile).map(|it| it.1 as f64)
            }
        }
    }
}

/// What is left of several runs.
#[derive(Clone, Copy)]
pub enum Pick {
    Median,
    /// Of the first three.
    Smallest,
}

impl Pick {
    pub fn runs(self) -> usize {
        match self {
            Pick::Median => usize::MAX,
            Pick::Smallest => 3,
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Spread {
    pub figure: f64,
    pub min: f64,
    pub max: f64,
    /// Run by run.
    pub values: Vec<f64>,
}

impl Spread {
    pub fn of(formula: &Formula, pick: Pick, runs: &Runs) -> Option<Spread> {
        let values: Vec<f64> = (0..runs.count()).filter_map(|run| formula.value(runs, run)).take(pick.runs()).collect();
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let median = (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0;
        let figure = match pick {
            Pick::Median => median,
            Pick::Smallest => min,
        };
        Some(Spread { figure, min, max, values })
    }
}
