//! All measurements, each in a process of its own, as often as asked for.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use indicatif::{ProgressBar, ProgressStyle};

use super::goals::Figure;
use super::job::{Job, Outcome, Peer};

/// What was measured.
pub struct Runs {
    count: usize,
    /// Each job with its outcome in each run; `None` where it was not measured.
    jobs: Vec<(Job, Vec<Option<Outcome>>)>,
    /// Peers that are not to be had here, and why.
    pub skipped: Vec<(Peer, String)>,
}

impl Runs {
    pub fn measure(figures: &[Figure], count: usize) -> Result<Runs> {
        let mut runs = Runs { count, jobs: Vec::new(), skipped: Vec::new() };
        let wanted = wanted(figures);
        runs.jobs = wanted.iter().map(|(job, _)| (job.clone(), vec![None; count])).collect();
        let all = wanted.iter().map(|(_, times)| count.min(*times) as u64).sum();
        let style = ProgressStyle::with_template("{elapsed_precise} {wide_bar} {pos}/{len}, {eta} left: {msg}")?;
        let progress = ProgressBar::new(all).with_style(style);
        for run in 0..count {
            let mut numbers: Vec<usize> = (0..wanted.len()).filter(|&it| run < wanted[it].1).collect();
            if run % 2 == 1 {
                numbers.reverse(); // so that nobody is always measured after the same one
            }
            for number in numbers {
                runs.measure_one(number, run, &progress)?;
            }
        }
        progress.finish_and_clear();
        Ok(runs)
    }

    fn measure_one(&mut self, number: usize, run: usize, progress: &ProgressBar) -> Result<()> {
        let (job, outcomes) = &mut self.jobs[number];
        progress.set_message(format!("{} {:?}, {} threads", job.peer.name(), job.work, job.threads));
        progress.tick();
        if !self.skipped.iter().any(|skipped| skipped.0 == job.peer) {
            match in_child(job) {
                Ok(outcome) => outcomes[run] = outcome,
                Err(error) if job.peer.is_server() => {
                    progress.println(format!("{} is left out: {error:#}", job.peer.name()));
                    self.skipped.push((job.peer, format!("{error:#}")));
                }
                Err(error) => return Err(error.context(format!("{job:?}"))),
            }
        }
        progress.inc(1);
        Ok(())
    }

    pub fn count(&self) -> usize {
        self.count
    }

    pub fn outcome(&self, job: &Job, run: usize) -> Option<&Outcome> {
        self.jobs.iter().find(|it| it.0 == *job)?.1.get(run)?.as_ref()
    }

    /// Every job with the outcomes it has.
    pub fn all(&self) -> impl Iterator<Item = (&Job, Vec<&Outcome>)> {
        self.jobs.iter().map(|(job, outcomes)| (job, outcomes.iter().flatten().collect()))
    }
}

/// Every measurement that a figure needs, once, in the order of the figures, and in how many runs.
fn wanted(figures: &[Figure]) -> Vec<(Job, usize)> {
    let mut wanted: Vec<(Job, usize)> = Vec::new();
    for figure in figures {
        for job in figure.jobs() {
            let runs = figure.pick.runs();
            match wanted.iter_mut().find(|it| it.0 == *job) {
                Some(known) => known.1 = known.1.max(runs),
                None => wanted.push((job.clone(), runs)),
            }
        }
    }
    wanted
}

/// Measures in a fresh process of this program.
fn in_child(job: &Job) -> Result<Option<Outcome>> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let mut child = Command::new(program);
    // What went wrong is said in a line; a backtrace of where it was noticed would hide it.
    child.env("RUST_LIB_BACKTRACE", "0").arg("--job").arg(serde_json::to_string(job)?);
    let output = child.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the measurement ended with {}: {}", output.status, said.trim());
    serde_json::from_slice(&output.stdout).context("cannot read what the measurement printed")
}
