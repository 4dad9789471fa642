//! The parts, in the order in which one would read them.

#[allow(dead_code)] // `expire_due` is not of one instant
#[path = "../support/sequential.rs"]
pub mod sequential;

pub mod op;

pub mod answer;

pub mod spec;

pub mod history;

pub mod check;

pub mod plan;

pub mod record;

pub mod real;

pub mod hooked;

pub mod faults;

pub mod totals;

pub mod report;

pub mod every_order;

pub mod dice;
