//! What ThreadSanitizer must be silent about: plain memory that changes hands through the engine and nothing else.
//!
//! Every word that threads race on inside the engine is atomic, so what there is to find is an ordering that is
//! too weak: then whoever sees a verb's effect does not see what was written before it.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod mix;
mod pace;
mod plain;
mod publish;
mod seats;

fn main() {
    publish::run();
    seats::run();
    mix::run();
}
