//! Counts of what happened, kept so that counting costs next to nothing: each thread adds to a shard of its own,
//! and a reader adds the shards up.
//!
//! The counts are exact once nothing is running. While threads run, a count may lag behind what it counts.

use crossbeam_utils::CachePadded;

use crate::state::{OrderWord, Phase};
use crate::sync::{Counter, SHARDS, shard};

/// What is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Row,
    LostCas,
    Helped,
    Replay,
    Created,
    /// A reserve of an id that was not known was accepted.
    Reserved,
    /// A reserve of a CREATED order was accepted.
    CreatedReserved,
    Paid,
    Fulfilled,
    CreatedCancelled,
    ReservedCancelled,
    PaidCancelled,
    /// An unknown id was marked CANCELLED.
    Marked,
    Insufficient,
    LinesDiffer,
    Closed,
    UnknownSku,
    UnknownOrder,
    SkuExists,
    Invalid,
    Overflow,
    VersionConflict,
    InvalidState,
    Expired,
    TooMuch,
    KeyReused,
    KeyTooOld,
    Full,
    /// A hold ended by its deadline.
    HoldExpired,
    /// An expired order was paid for late, and had its units again.
    Revived,
    /// An order was changed in part.
    Revised,
    FulfilledForgotten,
    CancelledForgotten,
}

const EVENTS: usize = Event::CancelledForgotten as usize + 1;

impl Event {
    /// The transition from one state word to the next, if users see it.
    pub(crate) fn of(from: OrderWord, to: OrderWord) -> Option<Event> {
        Some(match (from.phase(), to.phase()) {
            (Phase::Reserving, Phase::Reserved) => Event::Reserved,
            (Phase::Retrying, Phase::Reserved) => Event::CreatedReserved,
            (_, Phase::Fulfilled) => Event::Fulfilled,
            (Phase::Releasing, _) | (Phase::Revising, Phase::Cancelled) => Event::ReservedCancelled,
            (Phase::ReleasingPaid, _) | (Phase::RevisingPaid, Phase::Cancelled) => Event::PaidCancelled,
            (Phase::Revising, _) | (Phase::RevisingPaid, Phase::Paid) => return None,
            (Phase::Created, Phase::Cancelled) => Event::CreatedCancelled,
            (Phase::Reviving, Phase::Paid) => Event::Revived,
            (_, Phase::Paid) => Event::Paid,
            _ => return None,
        })
    }
}

/// The counters of one engine.
pub(crate) struct Tally {
    shards: Box<[CachePadded<[Counter; EVENTS]>]>,
}

impl Default for Tally {
    fn default() -> Self {
        Tally { shards: (0..SHARDS).map(|_| CachePadded::new(std::array::from_fn(|_| Counter::default()))).collect() }
    }
}

impl Tally {
    #[inline]
    pub(crate) fn add(&self, event: Event) {
        self.shards[shard()][event as usize].add(1);
    }

    fn get(&self, event: Event) -> u64 {
        self.shards.iter().map(|shard| shard[event as usize].get()).sum()
    }

    pub(crate) fn stats(&self) -> Stats {
        let count = |event| self.get(event);
        let created = [Event::CreatedReserved, Event::CreatedCancelled].map(count).iter().sum();
        let reserved = [Event::Paid, Event::ReservedCancelled].map(count).iter().sum();
        let paid = [Event::Fulfilled, Event::PaidCancelled].map(count).iter().sum();
        let cancelled = [Event::CreatedCancelled, Event::ReservedCancelled, Event::PaidCancelled, Event::Marked];
        let revived_or_gone = count(Event::Revived) + count(Event::CancelledForgotten);
        Stats {
            rows: count(Event::Row),
            // A thread may have counted where an order went, and another not yet where it came from.
            orders: OrdersByState {
                created: count(Event::Created).saturating_sub(created),
                inventory_reserved: (count(Event::Reserved) + count(Event::CreatedReserved)).saturating_sub(reserved),
                paid: (count(Event::Paid) + count(Event::Revived)).saturating_sub(paid),
                fulfilled: count(Event::Fulfilled).saturating_sub(count(Event::FulfilledForgotten)),
                cancelled: cancelled.map(count).iter().sum::<u64>().saturating_sub(revived_or_gone),
            },
            expired: count(Event::HoldExpired),
            revived: count(Event::Revived),
            revised: count(Event::Revised),
            forgotten: count(Event::FulfilledForgotten) + count(Event::CancelledForgotten),
            lost_cas: count(Event::LostCas),
            helped: count(Event::Helped),
            replays: count(Event::Replay),
            refusals: Refusals {
                insufficient: count(Event::Insufficient),
                lines_differ: count(Event::LinesDiffer),
                closed: count(Event::Closed),
                unknown_sku: count(Event::UnknownSku),
                unknown_order: count(Event::UnknownOrder),
                sku_exists: count(Event::SkuExists),
                invalid: count(Event::Invalid),
                overflow: count(Event::Overflow),
                version_conflict: count(Event::VersionConflict),
                invalid_state: count(Event::InvalidState),
                expired: count(Event::Expired),
                too_much: count(Event::TooMuch),
                key_reused: count(Event::KeyReused),
                key_too_old: count(Event::KeyTooOld),
                full: count(Event::Full),
            },
        }
    }
}

/// What [`Stockade::stats`](crate::Stockade::stats) tells: counts since the engine was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Stock rows.
    pub rows: u64,
    /// Orders, by the state they are in now.
    pub orders: OrdersByState,
    /// Holds that ended by their deadline.
    pub expired: u64,
    /// Expired orders that were paid for late and took their units again.
    pub revived: u64,
    /// Changes of orders in part.
    pub revised: u64,
    /// Finished orders that were forgotten.
    pub forgotten: u64,
    /// Compare-and-swaps on rows that found the row changed and were tried again.
    pub lost_cas: u64,
    /// Operations of other threads that had to be finished first.
    pub helped: u64,
    /// Requests that were answered with the result of an earlier, equal one.
    pub replays: u64,
    /// Requests that were refused, by kind.
    pub refusals: Refusals,
}

/// Numbers of orders by state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OrdersByState {
    /// CREATED.
    pub created: u64,
    /// INVENTORY_RESERVED. A hold whose deadline has come counts until somebody comes across it.
    pub inventory_reserved: u64,
    /// PAID.
    pub paid: u64,
    /// FULFILLED.
    pub fulfilled: u64,
    /// CANCELLED, ids marked by `void` included.
    pub cancelled: u64,
}

/// Numbers of refusals by kind, over all verbs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusals {
    /// Not enough available.
    pub insufficient: u64,
    /// A known id with other lines.
    pub lines_differ: u64,
    /// A request for a cancelled order.
    pub closed: u64,
    /// A SKU that is not in the engine.
    pub unknown_sku: u64,
    /// A step of an order that is not known (`cancel` answers that without refusing).
    pub unknown_order: u64,
    /// A row that was there already.
    pub sku_exists: u64,
    /// Ids, lines, quantities or transitions that cannot be taken at all.
    pub invalid: u64,
    /// More units than a row can ever receive.
    pub overflow: u64,
    /// `set_available` with a version that was no longer the row's.
    pub version_conflict: u64,
    /// A step the order's state does not allow.
    pub invalid_state: u64,
    /// A step of an order whose hold had expired.
    pub expired: u64,
    /// More of a line than is open, or an amendment below what is fulfilled and cancelled.
    pub too_much: u64,
    /// A request key that came with other content.
    pub key_reused: u64,
    /// A request key older than those that are remembered.
    pub key_too_old: u64,
    /// No room, or a counter at its end.
    pub full: u64,
}
