//! The cases from public bug reports (`../shared/cases/cases.md`), each a test under its number, by fault class.
//!
//! The words of the cases map to the engine's so: Ok is `New`, `Released` or `Done`; Replay is `Replayed` or
//! `Already`; BadState is `Closed` or `InvalidState`; Conflict is `LinesDiffer`; Stale is `VersionConflict`. A cancel
//! that meets an unknown id is `void`. `set(A,version,n)` counts units on hand, the engine's row only the free ones.
//!
//! `cancel(O,[..])` and `fulfil(O,[..])` are `cancel_lines` and `fulfil_lines`.
//!
//! `pay_or_retake` is `pay_or_reserve_again`, `expire` is `expire_due`, `@t` sets a `ManualClock`. A reserve of an id
//! whose hold is dead is `Closed`; renewing a dead hold is `extend`.
//!
//! "Partly" leaves out what needs a later verb, named here.
//!
//! | case | here | left for later |
//! | --- | --- | --- |
//! | C01 | tested | |
//! | C02 | tested | |
//! | C03 | tested | adjust is `write_off` |
//! | C04 | tested | |
//! | C07 | tested | |
//! | C09 | tested | |
//! | C10 | tested | |
//! | C13 | partly | faults in the middle |
//! | C14 | tested | |
//! | C15 | tested | |
//! | C16 | tested | |
//! | C18 | tested | |
//! | C19 | tested | |
//! | C21 | tested | |
//! | C23 | in `keys.rs` | |
//! | C24 | tested | |
//! | C25 | tested | |
//! | C26 | tested | |
//! | C30 | tested | |
//! | C31 | tested | |
//! | C32 | tested | |
//! | C34 | tested | |
//! | C35 | tested | |
//! | C36 | partly | payment ids |
//! | C38 | tested | |
//! | C39 | tested | |
//! | C41 | tested | |
//! | C42 | tested | |
//! | C43 | tested | |
//! | C44 | tested | |
//! | C48 | tested | |
//! | C49 | tested | |
//! | C50 | tested | |
//! | C51 | tested | |
//! | C52 | partly | faults in the middle |
//! | C53 | tested | |
//! | C55 | tested | |
//! | C56 | tested | |
//! | C57 | tested | |
//! | C60 | tested | |
//! | C62 | tested | |
//! | C63 | partly | set by units on hand (InUse); a number of free units cannot go below what is held |
//! | C64 | partly | set by units on hand (InUse) |
//! | C66 | tested | |
//! | C67 | tested | the type has no negative quantities |
//! | C70 | tested | |
//! | C71 | later | delist |
//! | C73 | tested | |
//! | C74 | tested | |
//! | C76 | tested | |
//! | C77 | tested | |
//! | C78 | tested | |
//! | C80 | tested | |
//! | C81 | tested | restock=false is no verb of this engine: cancel and `write_off` instead, in two steps |
//! | C82 | later | wait |
//! | C83 | later | wait |
//! | C84 | later | wait |
//! | C88 | later | wait |
//! | C89 | later | wait, timed offers |
//! | C91 | later | wait |
//! | C92 | later | journal, crash points |
//! | C93 | later | journal |
//! | C96 | later | journal |
//! | C97 | later | journal, snapshot |
//! | C99 | partly | database backend (the same outcomes from the engine alone) |
//! | C101 | partly | database backend (the payment that takes long is another thread's signal) |
//! | C103 | tested | |

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "cases/support.rs"]
mod support;

#[path = "cases/all_or_nothing.rs"]
mod all_or_nothing;
#[path = "cases/db_backend.rs"]
mod db_backend;
#[path = "cases/double_release.rs"]
mod double_release;
#[path = "cases/duplicate_request.rs"]
mod duplicate_request;
#[path = "cases/expiry_races.rs"]
mod expiry_races;
#[path = "cases/fulfil_accounting.rs"]
mod fulfil_accounting;
#[path = "cases/hold_expiry.rs"]
mod hold_expiry;
#[path = "cases/late_payment.rs"]
mod late_payment;
#[path = "cases/line_sum.rs"]
mod line_sum;
#[path = "cases/lost_restock.rs"]
mod lost_restock;
#[path = "cases/oversell.rs"]
mod oversell;
#[path = "cases/quantity_range.rs"]
mod quantity_range;
#[path = "cases/read_consistency.rs"]
mod read_consistency;
#[path = "cases/release_without_hold.rs"]
mod release_without_hold;
#[path = "cases/self_block.rs"]
mod self_block;
#[path = "cases/stale_edit.rs"]
mod stale_edit;
