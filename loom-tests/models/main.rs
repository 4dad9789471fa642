//! The loom models: small races of real verbs, explored in every interleaving.
//!
//! `cargo test --test models` runs them all, one process for each core, and prints for each its executions and the
//! outcomes seen. Names, or parts of them, as arguments run only those.
//!
//! A model names the full set of outcomes that must be seen. One that is missing makes it fail just like one
//! that is not in the set: a model that explores too little is red.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod canaries;
mod index;
mod protocol;
mod run;
mod shop;

use std::process::ExitCode;

fn main() -> ExitCode {
    let models: Vec<&run::Model> = canaries::MODELS.iter().chain(protocol::MODELS).chain(index::MODELS).collect();
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        // How this program calls itself, for one model in a process of its own.
        Some("--only") => {
            let name = arguments.next().unwrap();
            run::alone(models.into_iter().find(|model| model.name == name).unwrap())
        }
        first => {
            // Flags are those of cargo's own test harness: nothing here needs them.
            let named = first.into_iter().map(String::from).chain(arguments).filter(|it| !it.starts_with('-'));
            run::all(&models, &named.collect::<Vec<_>>())
        }
    }
}
