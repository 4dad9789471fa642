//! The loom models: small races of real verbs, explored in every interleaving.
//!
//! `cargo test --test models` runs them, one process for each core, and prints for each its executions and the
//! outcomes seen. Names, or parts of them, as arguments run only those; `--deep` adds what takes longer than minutes,
//! `--list` only says what there is.
//!
//! A model has the full set of outcomes that must be seen. One that is missing makes it fail just like one
//! that is not in the set: a model that explores too little is red.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod canaries;
mod holds;
mod index;
mod kept;
mod pairs;
mod parts;
mod protocol;
mod run;
mod scenes;
mod shop;
mod three;

use std::process::ExitCode;

fn main() -> ExitCode {
    let models: Vec<run::Model> = [
        protocol::models(),
        index::models(),
        pairs::models(),
        holds::models(),
        parts::models(),
        kept::models(),
        three::models(),
        canaries::models(),
    ]
    .into_iter()
    .flatten()
    .collect();
    let names: std::collections::BTreeSet<&str> = models.iter().map(|model| model.name.as_str()).collect();
    assert_eq!(names.len(), models.len(), "two models have the same name");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // How this program calls itself, for one model in a process of its own.
    if let [bound @ ("--shallow" | "--deep"), loads, name] =
        arguments.iter().map(String::as_str).collect::<Vec<_>>()[..]
    {
        return run::alone(models.iter().find(|model| model.name == name).unwrap(), loads, bound == "--deep");
    }
    if arguments.iter().any(|it| it == "--list") {
        models.iter().for_each(|model| println!("{}", model.name));
        return ExitCode::SUCCESS;
    }
    let deep = arguments.iter().any(|it| it == "--deep");
    // Other flags are those of cargo's own test harness: nothing here needs them.
    let parts: Vec<&String> = arguments.iter().filter(|it| !it.starts_with('-')).collect();
    run::all(&models, &parts, deep)
}
