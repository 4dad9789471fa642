//! What the harness is made of: the work, made beforehand; the span that is timed; the table at the end.

pub mod plan;
pub mod span;
pub mod table;
