//! The loom models: small races of real verbs, explored in every interleaving.
//!
//! `cargo test --test models` runs them all and prints for each its executions and the outcomes seen. A name, or
//! part of one, as argument runs only those.
//!
//! A model names the full set of outcomes that must be seen. One that is missing makes it fail just like one
//! that is not in the set: a model that explores too little is red.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod canaries;
mod protocol;
mod run;

fn main() {
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let mut runner = run::Runner::new(filter);
    canaries::run(&mut runner);
    protocol::run(&mut runner);
    runner.finish();
}
