//! The work that contenders are given: made beforehand, timed between two readings of the clock, checked afterwards.

mod calls;
mod overlap;
mod plan;
mod race;
mod table;

pub use calls::{Mix, Tally, calls};
pub use overlap::{Part, Parts, overlap};
pub use plan::{Plan, Rows, Shape, Stage};
pub use race::race;
pub use table::Table;
