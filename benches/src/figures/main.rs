//! `cargo run --release -p stockade-benches --bin figures`: every goal for speed and size, and the figure that stands
//! against it, measured beside what a user would write instead.
//!
//! - Each measurement is a process of its own (`child.rs`), so that the memory and the page faults of one do not touch
//!   another. Ids and lines are made before its clock runs.
//! - A run goes through all measurements once, every other run backwards; contenders that are compared stand next to
//!   each other. Ratios are made of two measurements of the same run, and the median of the runs is the figure.
//! - `goals.rs` is the table of goals; what is measured for each stands there too.

mod child;
mod floor;
mod formula;
mod goals;
mod job;
mod machine;
mod plots;
mod report;
mod runs;
mod transfer;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Parser;

use goals::{Ask, Sizes};
use machine::Machine;
use report::Report;
use runs::Runs;

/// Measures Stockade beside its peers and prints goals and figures.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Writes goals, figures and all measurements to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draws plots into this folder, as SVG
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
    /// How often everything is measured
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// One run of small sizes: shows that everything works, its figures mean nothing
    #[arg(long)]
    quick: bool,
    /// Only these figures; may be given more than once
    #[arg(long, value_name = "FIGURE", value_parser = goals::GROUPS)]
    only: Vec<String>,
    /// Redis as a peer too: needs the feature `servers` and Debian's package redis-server
    #[arg(long)]
    redis: bool,
    /// PostgreSQL as a peer too: needs the feature `servers` and Debian's package postgresql
    #[arg(long)]
    postgres: bool,
    /// One measurement, as the program asks itself for it
    #[arg(long, hide = true)]
    job: Option<String>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if let Some(job) = &args.job {
        let job = serde_json::from_str(job).context("--job takes what this program itself passes")?;
        println!("{}", serde_json::to_string(&child::measure(&job)?)?);
        return Ok(());
    }
    if (args.redis || args.postgres) && !cfg!(feature = "servers") {
        bail!("--redis and --postgres need a build with the servers as peers: add `--features servers`");
    }
    if cfg!(debug_assertions) && !args.quick {
        bail!("figures of a build without optimisation mean nothing: add `--release` (or try it with `--quick`)");
    }
    let ask = Ask { sizes: Sizes::new(args.quick), only: args.only, redis: args.redis, postgres: args.postgres };
    let figures = goals::figures(&ask);
    let machine = Machine::read();
    let runs = Runs::measure(&figures, if args.quick { 1 } else { args.runs as usize })?;
    let report = Report::new(machine, args.quick, &figures, &runs);
    report.print();
    if let Some(file) = &args.json {
        let json = serde_json::to_string_pretty(&report)?;
        std::fs::write(file, json).with_context(|| format!("cannot write {}", file.display()))?;
    }
    if let Some(folder) = &args.plots {
        plots::draw(folder, &ask.sizes, &runs)?;
    }
    Ok(())
}
