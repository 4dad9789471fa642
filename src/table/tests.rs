//! The table by itself, one thread at a time, and halves of its rewrites.

#![allow(clippy::unwrap_used)]

use std::cell::RefCell;
use std::collections::HashSet;

use super::rewrite::seal;
use super::*;

/// Slots below `dead` are garbage; what is recycled is noted.
#[derive(Default)]
struct Slots {
    dead: u32,
    recycled: RefCell<HashSet<u32>>,
}

impl Entries for Slots {
    fn any_garbage(&self) -> bool {
        self.dead > 0
    }

    fn is_garbage(&self, slot: u32) -> bool {
        slot < self.dead
    }

    fn recycle(&self, slot: u32) {
        assert!(self.recycled.borrow_mut().insert(slot), "slot {slot} is recycled twice");
    }
}

/// Spreads slot numbers over all hashes.
fn hash(slot: u32) -> u64 {
    u64::from(slot).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn insert(table: &Table, slot: u32, slots: &Slots) {
    let found = table.insert(hash(slot), slot, slots, |other| (other == slot).then_some(()));
    assert!(found.unwrap().is_none(), "slot {slot} was there");
}

#[test]
fn what_goes_in_is_found_and_visited_once() {
    let (table, slots) = (Table::new(), Slots::default());
    (1..20_000).for_each(|slot| insert(&table, slot, &slots));
    for slot in 1..20_000 {
        assert_eq!(table.find(hash(slot), |other| (other == slot).then_some(other)), Some(slot));
    }
    assert_eq!(table.find(hash(20_000), |other| (other == 20_000).then_some(other)), None);
    assert!(visit_all(&table).into_iter().eq(1..20_000));
}

#[test]
fn room_from_the_beginning_is_not_divided_again() {
    for (keys, depth) in [(1, 0), (153, 0), (154, 1), (20_000, 8), (157_286, 10)] {
        let (table, slots) = (Table::with_capacity(keys).unwrap(), Slots::default());
        assert_eq!(table.depth_hint.load(), depth, "{keys} keys");
        (1..=keys as u32).for_each(|slot| insert(&table, slot, &slots));
        assert_eq!(table.depth_hint.load(), depth, "{keys} keys");
        assert!(visit_all(&table).into_iter().collect::<HashSet<_>>().len() == keys);
    }
}

/// Otherwise the index would be full before the records are, of which a cell can name so many.
#[test]
fn there_can_be_segments_for_as_many_keys_as_there_can_be_slots() {
    let half_full = Arena::<Segment>::LAST * CELLS as u64 / 2;
    assert!(half_full >= 1 << SLOT_BITS, "room for {half_full} keys");
}

/// Each of the first segments, that of the first root among them, is divided like any other when it is crowded.
#[test]
fn room_from_the_beginning_grows_like_any_other() {
    for keys in [1, 154, 5_000] {
        let (table, slots) = (Table::with_capacity(keys).unwrap(), Slots::default());
        let first = |node: &Word| NODE_SEGMENT.get(node.load()) == 1;
        let depth = table.depth_hint.load() as u32;
        assert!((0..1 << depth).any(|at| first(table.make_node(depth, at).unwrap())), "a segment is left over");
        (1..=30_000).for_each(|slot| insert(&table, slot, &slots));
        assert_eq!(visit_all(&table).into_iter().collect::<HashSet<_>>().len(), 30_000);
    }
}

#[test]
fn a_vacancy_in_a_segment_that_serves_elsewhere_is_not_filled() {
    let (table, slots) = (Table::new(), Slots { dead: u32::MAX, ..Slots::default() });
    let Err(Some(vacancy)) = table.seek(hash(1), |_| None::<()>) else { panic!() };
    // All of it garbage: the segment is cleaned, and comes back EMPTY under its next generation.
    (2..2_000).for_each(|slot| insert(&table, slot, &slots));
    assert!(CELL_GENERATION.get(vacancy.cell.load()) > 0 || KIND.get(vacancy.cell.load()) == ENTRY);
    assert!(!vacancy.fill(1));
    assert!(!visit_all(&table).contains(&1));
}

#[test]
fn garbage_goes_once_and_leaves_room() {
    let (table, mut slots) = (Table::new(), Slots::default());
    for slot in 1..100_000 {
        slots.dead = slot;
        insert(&table, slot, &slots);
    }
    assert!(slots.recycled.borrow().len() > 99_000);
    assert_eq!(table.depth_hint.load(), 0, "with one live entry at a time there is nothing to divide");
}

#[test]
fn the_dead_entries_of_one_key_do_not_deepen_the_tree() {
    let (table, mut slots) = (Table::new(), Slots::default());
    for slot in 1..100_000 {
        slots.dead = slot;
        let found: Result<Option<()>, Full> = table.insert(42, slot, &slots, |_| None);
        assert!(found.unwrap().is_none());
    }
    assert_eq!(table.depth_hint.load(), 0);
}

/// Begins to divide the root, as far as to publish the successors for these hashes.
fn begin_to_divide(table: &Table, published: &[u64]) {
    let root = table.leaf_at(0, 0).unwrap();
    seal(&root);
    root.segment.head.store(VERDICT.set(GENERATION.set(0, root.generation), DIVIDE));
    table.make_node(1, 0).unwrap();
    let cells: Vec<u64> = root.segment.cells.iter().map(Word::load).collect();
    for of in published {
        let here = |cell: &&u64| KIND.get(**cell) == ENTRY && FINGERPRINT.get(**cell) >> 33 == of >> 63;
        assert!(table.publish(table.node(1, *of).unwrap(), ABSENT, cells.iter().filter(here)).unwrap());
    }
}

/// Enters a slot in the leaf of depth 1 for this hash.
fn put(table: &Table, hash: u64, slot: u32) {
    let leaf = table.leaf_at(1, hash).unwrap();
    let Search::Empty(Vacancy { cell, .. }) = search(&leaf, hash, &mut |_| None::<()>) else { panic!() };
    cell.store(FINGERPRINT.set(CELL_SLOT.set(ENTRY, u64::from(slot)), fingerprint(hash)));
}

fn visit_all(table: &Table) -> Vec<u32> {
    let (mut visited, mut from) = (Vec::new(), Some(0));
    while let Some(start) = from {
        let (some, next) = table.visit(start, Some);
        visited.extend(some);
        from = next;
    }
    visited.sort_unstable();
    visited
}

#[test]
fn a_leaf_is_rewritten_only_after_the_division_that_made_it() {
    let table = Table::new();
    begin_to_divide(&table, &[0, 1 << 63]);
    let child = table.leaf_at(1, 0).unwrap();
    table.rewrite(&child, 0, &Slots::default()).unwrap();
    assert_eq!(KIND.get(table.root.load()), SPLIT);
    assert!(child.is_current(), "one thing at a time: whoever wanted the rewrite looks again");
}

#[test]
fn what_a_successor_holds_is_found_while_the_leaf_above_still_stands() {
    let table = Table::new();
    begin_to_divide(&table, &[0, 1 << 63]);
    put(&table, hash(1), 1);
    assert_eq!(table.find(hash(1), Some), Some(1));
    let (left, right) = table.visit(0, Some);
    assert_eq!((left, right), (vec![], Some(1 << 63)));
    assert_eq!(table.visit(1 << 63, Some), (vec![1], None));
}

#[test]
fn a_visit_shows_each_entry_once_when_one_successor_is_published_and_used() {
    for used in [0, 1 << 63] {
        let (table, slots) = (Table::new(), Slots::default());
        for (slot, hash) in (1..).zip([0, (1 << 63) - 1, 1 << 63, u64::MAX]) {
            assert!(table.insert(hash, slot, &slots, |_| None::<()>).unwrap().is_none());
        }
        begin_to_divide(&table, &[used]);
        put(&table, used + (1 << 40), 5);
        assert_eq!(visit_all(&table), [1, 2, 3, 4, 5]);
    }
}

/// While an entry is looked at, its record is given back, and so is the segment that names it.
#[test]
fn what_was_seen_in_a_leaf_that_is_gone_is_not_believed() {
    let gone = |table: &Table, slot| {
        if slot == 1 {
            let slots = Slots { dead: 2, ..Slots::default() };
            table.rewrite(&table.leaf_at(0, 0).unwrap(), 0, &slots).unwrap();
            assert!(slots.recycled.borrow().contains(&1));
        }
        Some(slot)
    };
    let table = || {
        let table = Table::new();
        insert(&table, 1, &Slots::default());
        table
    };
    let found = table();
    assert_eq!(found.find(hash(1), |slot| gone(&found, slot)), None);
    let entered = table();
    assert_eq!(entered.insert(hash(1), 2, &Slots::default(), |slot| gone(&entered, slot)).unwrap(), None);
    let visited = table();
    assert_eq!(visited.visit(0, |slot| gone(&visited, slot)), (vec![], None));
}

/// Puts this many entries into a new table's only leaf, of which slots below `dead` then are garbage.
fn crowd(entries: u32, dead: u32) -> (Table, Slots) {
    let (table, mut slots) = (Table::new(), Slots::default());
    (1..=entries).for_each(|slot| insert(&table, slot, &slots));
    slots.dead = dead;
    (table, slots)
}

#[test]
fn a_segment_is_cleaned_if_a_quarter_of_it_is_dead_and_else_divided() {
    for (entries, kind) in [(4, LEAF), (5, SPLIT)] {
        let (table, slots) = crowd(entries, 2);
        table.rewrite(&table.leaf_at(0, 0).unwrap(), 0, &slots).unwrap();
        assert_eq!(KIND.get(table.root.load()), kind);
        assert_eq!(slots.recycled.take(), HashSet::from([1]));
        for slot in 1..=entries {
            assert_eq!(table.find(hash(slot), |it| (it == slot).then_some(())).is_some(), slot > 1);
        }
    }
}

/// As long as the divided leaf stands, a find may believe in what its segment names.
#[test]
fn what_a_division_leaves_behind_is_given_back_after_it() {
    struct Watched<'a>(&'a Table, Slots);
    impl Entries for Watched<'_> {
        fn any_garbage(&self) -> bool {
            true
        }

        fn is_garbage(&self, slot: u32) -> bool {
            self.1.is_garbage(slot)
        }

        fn recycle(&self, slot: u32) {
            assert_eq!(KIND.get(self.0.root.load()), SPLIT);
            self.1.recycle(slot);
        }
    }
    let (table, slots) = crowd(9, 2);
    let watched = Watched(&table, slots);
    table.rewrite(&table.leaf_at(0, 0).unwrap(), 0, &watched).unwrap();
    assert_eq!(watched.1.recycled.take(), HashSet::from([1]));
}

#[test]
fn more_keys_of_one_hash_than_can_be_parted_are_too_many() {
    let (table, slots) = (Table::new(), Slots::default());
    let enter = |hash, slot| table.insert(hash, slot, &slots, |_| None::<()>).is_ok();
    assert!((1..=CROWDED as u32).all(|slot| enter(42, slot)));
    assert!(!enter(42, 1_000));
    assert_eq!(table.depth_hint.load(), 26, "of 34 bits, eight are the place in a segment");
    assert!(enter(!42, 1_000), "elsewhere there is room");
}

#[test]
fn a_segment_comes_back_under_the_next_generation_and_never_under_the_last() {
    let (table, slots) = crowd(1, 2);
    let root = table.leaf_at(0, 0).unwrap();
    table.rewrite(&root, 0, &slots).unwrap();
    let number = NODE_SEGMENT.get(root.seen) as u32;
    assert_eq!(table.segments.alloc().unwrap(), number);
    assert_eq!(root.segment.head.load(), GENERATION.set(0, root.generation + 1));
    assert!(root.segment.cells.iter().all(|cell| cell.load() == empty(root.generation + 1)));

    let last = NODE_GENERATION.set(root.seen, GENERATION.max() - 1);
    table.free_segment(last);
    assert_ne!(table.segments.alloc().unwrap(), number);
}

/// The leaf was one when it was looked at. Now its segment serves elsewhere, and what that is to become is not this
/// leaf's affair.
#[test]
fn a_verdict_of_another_generation_is_none() {
    let (table, slots) = crowd(1, 0);
    let root = table.leaf_at(0, 0).unwrap();
    root.segment.head.store(VERDICT.set(GENERATION.set(0, root.generation + 1), DIVIDE));
    table.rewrite(&root, 0, &slots).unwrap();
    assert!(root.is_current() && table.is_absent(1, 0));
}
