//! The index from keys to slots: a lock-free hash table that grows one small segment at a time.
//!
//! The table is a tree of nodes, addressed by the leading bits of the hash (extendible hashing: Fagin, Nievergelt,
//! Pippenger and Strong, 1979). A node is nothing, a leaf with one segment, or split into two. A segment is an
//! open-addressed array of cells, and a cell goes only one way: EMPTY, then for good an ENTRY or SEALED.
//!
//! ```text
//! node (depth 1, prefix 0) ── leaf ──> segment: [ ] [e] [e] [ ] ...
//! node (depth 1, prefix 1) ── split ─> nodes (2, 2) and (2, 3)
//! ```
//!
//! *Insert* writes the first EMPTY cell of the key's probe sequence by CAS, so two inserts of one key meet
//! at one cell. *Remove* does not exist: an entry whose record is garbage is passed over, and is left behind when
//! its segment is *rewritten*, which happens when an insert finds the segment crowded:
//!
//! 1. Seal every EMPTY cell. From here on the segment does not change.
//! 2. Agree, by CAS on the segment's head word, on one new segment or two.
//! 3. Copy the live entries into private segments; publish each by CAS on its node.
//! 4. Recycle the old segment and the records that were left behind. A leaf is not rewritten again before its
//!    division is complete, so a node that still names a segment vouches for every record named there.
//!
//! Any thread can do any of the steps for any other, so nobody waits for growth: a find reads the sealed
//! segment, an insert helps to rewrite it. A rewrite moves at most 512 entries, however large the table is.
//!
//! Segments are reused at once. What protects a thread that still looks at one: a segment's *generation* is part of
//! its EMPTY cells and of the node that names it. A stale insert finds no EMPTY cell of its generation; a find
//! believes what it saw only if the node still names that generation afterwards.

use crate::arena::{Arena, Full, Slot};
use crate::hooks::{Step, step};
use crate::layout::{Field, SLOT_BITS};
use crate::sync::{Class, Lazy, Word};

#[cfg(not(stockade_loom))]
const POSITION_BITS: u32 = 9;
#[cfg(stockade_loom)]
const POSITION_BITS: u32 = 2;
const CELLS: usize = 1 << POSITION_BITS;
/// An insert that finds no room within this many cells has the segment rewritten.
const CROWDED: usize = if CELLS < 64 { CELLS } else { 64 };

/// Hash bits kept in a cell: the path through the tree, then the position within the segment.
#[cfg(not(stockade_loom))]
const FINGERPRINT_BITS: u32 = 34;
#[cfg(stockade_loom)]
const FINGERPRINT_BITS: u32 = 6;
const MAX_DEPTH: u32 = FINGERPRINT_BITS - POSITION_BITS;

const KIND: Field = Field::lowest(2);
const CELL_SLOT: Field = KIND.then(SLOT_BITS);
const FINGERPRINT: Field = CELL_SLOT.then(FINGERPRINT_BITS);
const EMPTY: u64 = 0;
const SEALED: u64 = 1;
const ENTRY: u64 = 2;
/// Of an EMPTY or SEALED cell.
const CELL_GENERATION: Field = KIND.then(40);

const ABSENT: u64 = 0;
const LEAF: u64 = 1;
const SPLIT: u64 = 2;
const NODE_SEGMENT: Field = KIND.then(22);
const NODE_GENERATION: Field = NODE_SEGMENT.then(40);

/// Of a segment's head word.
const GENERATION: Field = Field::lowest(40);
const VERDICT: Field = GENERATION.then(2);
const UNDECIDED: u64 = 0;
const CLEAN: u64 = 1;
const DIVIDE: u64 = 2;

#[cfg_attr(not(stockade_loom), derive(bytemuck::Zeroable))]
pub(crate) struct Segment {
    /// Generation, and whether the next rewrite cleans or divides.
    head: Word,
    link: Word,
    cells: [Word; CELLS],
}

#[cfg(not(stockade_loom))]
const _: () = assert!(size_of::<Segment>() == 4096 + 16);

impl Slot for Segment {
    type Chunk = [Segment; 1 << Self::CHUNK_BITS];
    const CHUNK_BITS: u32 = if cfg!(stockade_loom) { 2 } else { 4 };

    #[cfg(not(stockade_loom))]
    fn chunk() -> Option<Box<Self::Chunk>> {
        bytemuck::try_zeroed_box().ok()
    }

    #[cfg(stockade_loom)]
    fn chunk() -> Option<Box<Self::Chunk>> {
        Some(Box::new(std::array::from_fn(|_| Segment {
            head: Word::of(Class::Growth, 0),
            link: Word::of(Class::Memory, 0),
            cells: std::array::from_fn(|_| Word::of(Class::Cells, 0)),
        })))
    }

    fn link(&self) -> &Word {
        &self.link
    }
}

/// What the table must know about the records its entries name.
pub(crate) trait Entries {
    /// Whether the record is of no use to anybody, for good.
    fn is_garbage(&self, slot: u32) -> bool;
    /// Takes back a garbage record that no find can reach any more.
    fn recycle(&self, slot: u32);
}

pub(crate) struct Table {
    root: Word,
    /// The nodes of depth 1 and more, one array for each depth.
    levels: [Lazy<Box<[Word]>>; MAX_DEPTH as usize],
    /// Where to start looking: no deeper leaf is known to be missing from here. Any value is right.
    depth_hint: Word,
    segments: Arena<Segment>,
}

/// A leaf as one thread saw it.
struct Leaf<'a> {
    depth: u32,
    node: &'a Word,
    seen: u64,
    segment: &'a Segment,
    generation: u64,
}

/// How a search of one segment ended.
enum Search<'a, R> {
    /// At an entry that matches.
    Found(R),
    /// At the first EMPTY cell: the key is not here.
    Empty(Vacancy<'a>),
    /// The key is not here, and it cannot come here any more: no cell is EMPTY.
    NoRoom,
    /// At a cell of another generation: the segment serves elsewhere by now.
    Stale,
}

/// Where a key that was looked for in vain belongs: the first EMPTY cell of its probe sequence.
pub(crate) struct Vacancy<'a> {
    cell: &'a Word,
    generation: u64,
    fingerprint: u64,
    /// How many cells lie between it and the key's place.
    distance: usize,
}

impl Vacancy<'_> {
    /// Enters `slot` there. If it is not EMPTY any more: false, and the key has to be looked for again. Lock-free.
    ///
    /// Linearization point: the CAS. A cell never becomes EMPTY again under its generation, so those before it are as they were.
    #[inline]
    pub(crate) fn fill(&self, slot: u32) -> bool {
        let entry = FINGERPRINT.set(CELL_SLOT.set(ENTRY, u64::from(slot)), self.fingerprint);
        self.cell.compare_exchange(empty(self.generation), entry).is_ok()
    }
}

impl Table {
    pub(crate) fn new() -> Self {
        let segments = Arena::new();
        // The first slot of a new arena; its cells are EMPTY of generation 0.
        let first = segments.alloc().map_or(1, u64::from);
        Table {
            root: Word::of(Class::Growth, NODE_SEGMENT.set(LEAF, first)),
            levels: std::array::from_fn(|_| Lazy::new()),
            depth_hint: Word::of(Class::Growth, 0),
            segments,
        }
    }

    /// A table that is divided as far as so many keys will need, in memory that is touched already.
    pub(crate) fn with_capacity(keys: usize) -> Result<Self, Full> {
        let table = Self::new();
        // Never more than six tenths full, so that probes are short and chance crowds no segment.
        let depth = (0..MAX_DEPTH).find(|depth| keys * 10 <= (CELLS * 6) << depth).ok_or(Full)?;
        if depth > 0 {
            table.free_segment(table.root.load());
        }
        for depth in 1..=depth {
            table.levels[depth as usize - 1].get_or_try_init(|| words(1 << depth).map(Box::new).ok_or(Full))?;
        }
        for depth in 0..depth {
            table.nodes(depth).iter().for_each(|node| node.store(SPLIT));
        }
        for node in table.nodes(depth).iter().take(if depth > 0 { 1 << depth } else { 0 }) {
            let slot = table.segments.alloc()?;
            // The zeros are there; to write them brings the pages.
            table.segments.get(slot).cells.iter().for_each(|cell| cell.store(empty(0)));
            node.store(NODE_SEGMENT.set(LEAF, u64::from(slot)));
        }
        table.depth_hint.store(u64::from(depth));
        Ok(table)
    }

    /// The nodes of one depth that there are.
    fn nodes(&self, depth: u32) -> &[Word] {
        match depth.checked_sub(1) {
            None => std::slice::from_ref(&self.root),
            Some(level) => self.levels[level as usize].get().map_or(&[], |nodes| nodes),
        }
    }

    /// What `matches` makes of the entry of a key with this hash, if it accepts one. Lock-free, writes nothing.
    ///
    /// `None` was true at one instant during the call, and so was `Some`: the entry was in the table after `matches`
    /// had looked at its record.
    #[inline]
    pub(crate) fn find<R>(&self, hash: u64, matches: impl FnMut(u32) -> Option<R>) -> Option<R> {
        self.seek(hash, matches).ok()
    }

    /// As [`find`](Self::find); when it finds nothing, it also says where the key can be entered, unless there is no room.
    pub(crate) fn seek<R>(
        &self,
        hash: u64,
        mut matches: impl FnMut(u32) -> Option<R>,
    ) -> Result<R, Option<Vacancy<'_>>> {
        let mut depth = self.depth_hint.load() as u32;
        loop {
            let leaf = self.leaf(hash, depth);
            let found = match search(&leaf, hash, &mut matches) {
                Search::Found(it) => Ok(it),
                Search::Empty(vacancy) => Err((vacancy.distance < CROWDED).then_some(vacancy)),
                Search::Stale => continue,
                // Unless somebody has begun to use the leaf's successor, nobody has put the key elsewhere.
                Search::NoRoom if self.is_absent(leaf.depth + 1, hash) => Err(None),
                Search::NoRoom => {
                    depth = leaf.depth + 1;
                    continue;
                }
            };
            if leaf.is_current() {
                return found;
            }
        }
    }

    /// The slot in the first cell where a key with this hash is looked for, if its fingerprint fits. A hint: it says nothing
    /// of what the table holds, but afterwards the cell is near.
    #[inline]
    pub(crate) fn first_named(&self, hash: u64) -> Option<u32> {
        let leaf = self.leaf(hash, self.depth_hint.load() as u32);
        let wanted = fingerprint(hash);
        let cell = leaf.segment.cells[wanted as usize % CELLS].load();
        (KIND.get(cell) == ENTRY && FINGERPRINT.get(cell) == wanted).then(|| CELL_SLOT.get(cell) as u32)
    }

    /// Enters `slot` unless `matches` accepts an entry that is there: then that, and nothing changes. Lock-free.
    ///
    /// Linearization point: the CAS on an EMPTY cell.
    pub(crate) fn insert<R>(
        &self,
        hash: u64,
        slot: u32,
        entries: &impl Entries,
        mut matches: impl FnMut(u32) -> Option<R>,
    ) -> Result<Option<R>, Full> {
        loop {
            let leaf = self.leaf(hash, self.depth_hint.load() as u32);
            match search(&leaf, hash, &mut matches) {
                Search::Found(it) if leaf.is_current() => return Ok(Some(it)),
                Search::Empty(vacancy) if vacancy.distance < CROWDED => {
                    if vacancy.fill(slot) {
                        return Ok(None);
                    }
                }
                Search::Empty(_) | Search::NoRoom => self.rewrite(&leaf, hash, entries)?,
                Search::Found(_) | Search::Stale => {}
            }
        }
    }

    /// What `read` makes of the entries in the leaf that holds hash `from`, from there on, and the hash at which the
    /// next leaf begins. Calling it from 0 until there is no next visits every entry that was in the table all the
    /// time once, and every other at most once. The entries were in the table after `read` had looked at them.
    pub(crate) fn visit<R>(&self, from: u64, read: impl Fn(u32) -> Option<R>) -> (Vec<R>, Option<u64>) {
        let mut depth = self.depth_hint.load() as u32;
        loop {
            let leaf = self.leaf(from, depth);
            let cells = leaf.segment.cells.iter().map(Word::load);
            let entries: Vec<u64> = cells.filter(|cell| KIND.get(*cell) == ENTRY).collect();
            // A successor that is in use knows more than this leaf: go by the successors' ranges then.
            let below = leaf.depth + 1;
            let undivided = self.is_absent(below, from) && self.is_absent(below, sibling(from, below));
            if !undivided && !self.is_absent(below, from) {
                depth = below;
                continue;
            }
            let range = if undivided { leaf.depth } else { below };
            let next = path(from, range) + 1;
            let end = if next >> range == 0 { next << (64 - range) } else { 0 };
            let inside = |cell: &u64| {
                let at = FINGERPRINT.get(*cell);
                at >= fingerprint(from) && (end == 0 || at < fingerprint(end))
            };
            let entries = entries.into_iter().filter(inside);
            let visited = entries.filter_map(|cell| read(CELL_SLOT.get(cell) as u32)).collect();
            if leaf.is_current() {
                return (visited, (end != 0).then_some(end));
            }
        }
    }

    /// The leaf for a hash, looking at `depth` first.
    fn leaf(&self, hash: u64, depth: u32) -> Leaf<'_> {
        let mut depth = depth;
        loop {
            let Some(node) = self.node(depth, hash) else {
                depth = depth.saturating_sub(1);
                continue;
            };
            let seen = node.load();
            match KIND.get(seen) {
                LEAF => return self.leaf_of(depth, node, seen),
                SPLIT => depth += 1,
                _ => depth = depth.saturating_sub(1),
            }
        }
    }

    /// The leaf at exactly this depth, if the node there is one.
    fn leaf_at(&self, depth: u32, hash: u64) -> Option<Leaf<'_>> {
        let node = self.node(depth, hash)?;
        let seen = node.load();
        (KIND.get(seen) == LEAF).then(|| self.leaf_of(depth, node, seen))
    }

    fn leaf_of<'a>(&'a self, depth: u32, node: &'a Word, seen: u64) -> Leaf<'a> {
        let segment = self.segments.get(NODE_SEGMENT.get(seen) as u32);
        Leaf { depth, node, seen, segment, generation: NODE_GENERATION.get(seen) }
    }

    fn node(&self, depth: u32, hash: u64) -> Option<&Word> {
        match depth.checked_sub(1) {
            None => Some(&self.root),
            Some(level) => self.levels.get(level as usize)?.get()?.get(path(hash, depth) as usize),
        }
    }

    fn is_absent(&self, depth: u32, hash: u64) -> bool {
        self.node(depth, hash).is_none_or(|node| KIND.get(node.load()) == ABSENT)
    }

    /// Replaces a crowded leaf by one or two with room. Lock-free: every step can be done by any thread.
    fn rewrite(&self, leaf: &Leaf<'_>, hash: u64, entries: &impl Entries) -> Result<(), Full> {
        // As long as the node above is a leaf, finds may still believe in what its segment names; a rewrite here could
        // recycle that. So the division that made this leaf is completed first.
        if let Some(above) = leaf.depth.checked_sub(1).and_then(|depth| self.leaf_at(depth, hash)) {
            return self.rewrite(&above, hash, entries);
        }
        seal(leaf);
        step(Step::SegmentSealed);
        let cells = leaf.segment.cells.iter().map(Word::load).filter(|cell| KIND.get(*cell) == ENTRY);
        let (dead, live): (Vec<u64>, Vec<u64>) =
            cells.partition(|cell| entries.is_garbage(CELL_SLOT.get(*cell) as u32));
        if !leaf.is_current() {
            return Ok(());
        }
        // The dead entries of one id lie in one run, so they crowd a segment long before they are many: what counts is
        // their share. Dividing could not part them.
        let wish = if !dead.is_empty() && dead.len() * 3 >= live.len() { CLEAN } else { DIVIDE };
        if wish == DIVIDE && leaf.depth == MAX_DEPTH {
            return Err(Full);
        }
        let head = &leaf.segment.head;
        let undecided = VERDICT.set(GENERATION.set(0, leaf.generation), UNDECIDED);
        let verdict = match head.compare_exchange(undecided, VERDICT.set(undecided, wish)) {
            Ok(_) => wish,
            Err(now) if GENERATION.get(now) == leaf.generation => VERDICT.get(now),
            Err(_) => return Ok(()),
        };
        if verdict == CLEAN {
            self.clean(leaf, &live, &dead, entries)
        } else {
            self.divide(leaf, hash, &live, &dead, entries)
        }
    }

    /// Replaces a leaf's segment by one without the dead entries.
    fn clean(&self, leaf: &Leaf<'_>, live: &[u64], dead: &[u64], entries: &impl Entries) -> Result<(), Full> {
        if self.publish(leaf.node, leaf.seen, live.iter())? {
            step(Step::NodeSwitched);
            self.free_segment(leaf.seen);
            dead.iter().for_each(|cell| entries.recycle(CELL_SLOT.get(*cell) as u32));
        }
        Ok(())
    }

    /// Replaces a leaf by two, one for each value of the next hash bit.
    fn divide(
        &self,
        leaf: &Leaf<'_>,
        hash: u64,
        live: &[u64],
        dead: &[u64],
        entries: &impl Entries,
    ) -> Result<(), Full> {
        let depth = leaf.depth + 1;
        self.levels[leaf.depth as usize].get_or_try_init(|| words(1 << depth).map(Box::new).ok_or(Full))?;
        let mut left_behind = Vec::new();
        for of in [hash, sibling(hash, depth)] {
            let Some(node) = self.node(depth, of) else { return Err(Full) };
            let here = |cell: &&u64| path(FINGERPRINT.get(**cell) << (64 - FINGERPRINT_BITS), depth) == path(of, depth);
            if self.is_absent(depth, of) && self.publish(node, ABSENT, live.iter().filter(here))? {
                left_behind.extend(dead.iter().filter(here));
            }
        }
        step(Step::ChildrenPublished);
        if leaf.node.compare_exchange(leaf.seen, SPLIT).is_ok() {
            step(Step::NodeSwitched);
            self.free_segment(leaf.seen);
        }
        self.depth_hint.fetch_max(u64::from(depth));
        // Only now: as long as the node was a leaf, a find could believe in the old segment's entries.
        left_behind.iter().for_each(|cell| entries.recycle(CELL_SLOT.get(*cell) as u32));
        Ok(())
    }

    /// Writes a segment with these entries and makes it the leaf of `node`, if that is still as `seen`.
    fn publish<'a>(&self, node: &Word, seen: u64, live: impl Iterator<Item = &'a u64>) -> Result<bool, Full> {
        let slot = self.segments.alloc()?;
        let segment = self.segments.get(slot);
        let generation = GENERATION.get(segment.head.load());
        for cell in live {
            let place = probes(FINGERPRINT.get(*cell)).find(|at| KIND.get(segment.cells[*at].load()) == EMPTY);
            // There are no more entries than cells.
            if let Some(at) = place {
                segment.cells[at].store(*cell);
            }
        }
        step(Step::SegmentCopied);
        let leaf = NODE_GENERATION.set(NODE_SEGMENT.set(LEAF, u64::from(slot)), generation);
        let published = node.compare_exchange(seen, leaf).is_ok();
        if !published {
            self.free_segment(leaf);
        }
        Ok(published)
    }

    /// Makes the segment of a leaf that is no more ready for its next use, under the next generation.
    fn free_segment(&self, leaf: u64) {
        let slot = NODE_SEGMENT.get(leaf) as u32;
        let segment = self.segments.get(slot);
        let generation = NODE_GENERATION.get(leaf) + 1;
        segment.head.store(GENERATION.set(0, generation));
        segment.cells.iter().for_each(|cell| cell.store(empty(generation)));
        // A generation must not come again: the last one is not used.
        if generation < GENERATION.max() {
            self.segments.free(slot);
        }
    }
}

impl Leaf<'_> {
    /// Whether the node still names the segment, and the segment therefore is what it was.
    #[inline]
    fn is_current(&self) -> bool {
        self.node.load() == self.seen
    }
}

#[inline]
fn search<'a, R>(leaf: &Leaf<'a>, hash: u64, matches: &mut impl FnMut(u32) -> Option<R>) -> Search<'a, R> {
    let wanted = fingerprint(hash);
    for (distance, at) in probes(wanted).enumerate() {
        let cell = &leaf.segment.cells[at];
        let word = cell.load();
        if KIND.get(word) == ENTRY {
            if FINGERPRINT.get(word) == wanted {
                if let Some(it) = matches(CELL_SLOT.get(word) as u32) {
                    return Search::Found(it);
                }
            }
        } else if CELL_GENERATION.get(word) != leaf.generation {
            return Search::Stale;
        } else if KIND.get(word) == EMPTY {
            return Search::Empty(Vacancy { cell, generation: leaf.generation, fingerprint: wanted, distance });
        } else {
            return Search::NoRoom;
        }
    }
    Search::NoRoom
}

/// Turns every EMPTY cell of the leaf into a SEALED one.
fn seal(leaf: &Leaf<'_>) {
    let empty = empty(leaf.generation);
    for cell in &leaf.segment.cells {
        if cell.load() == empty {
            // Lost to an insert or to another sealer: either way the cell is EMPTY no more.
            let _ = cell.compare_exchange(empty, SEALED | empty);
        }
    }
}

fn empty(generation: u64) -> u64 {
    CELL_GENERATION.set(EMPTY, generation)
}

#[inline]
fn fingerprint(hash: u64) -> u64 {
    hash >> (64 - FINGERPRINT_BITS)
}

/// The cells of a segment in the order in which a key looks for a place.
#[inline]
fn probes(fingerprint: u64) -> impl Iterator<Item = usize> {
    (0..CELLS).map(move |distance| (fingerprint as usize).wrapping_add(distance) % CELLS)
}

/// The leading `depth` bits of a hash.
#[inline]
fn path(hash: u64, depth: u32) -> u64 {
    (hash >> 1) >> (63 - depth)
}

/// A hash that takes the other branch at `depth`.
fn sibling(hash: u64, depth: u32) -> u64 {
    hash ^ (1 << (64 - depth))
}

#[cfg(not(stockade_loom))]
fn words(len: usize) -> Option<Box<[Word]>> {
    bytemuck::try_zeroed_slice_box(len).ok()
}

#[cfg(stockade_loom)]
fn words(len: usize) -> Option<Box<[Word]>> {
    Some((0..len).map(|_| Word::of(Class::Growth, 0)).collect())
}

#[cfg(all(test, not(stockade_loom)))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::cell::RefCell;
    use std::collections::HashSet;

    use super::*;

    /// Slots below `dead` are garbage; what is recycled is noted.
    #[derive(Default)]
    struct Slots {
        dead: u32,
        recycled: RefCell<HashSet<u32>>,
    }

    impl Entries for Slots {
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
        for keys in [1, 307, 308, 20_000, 100_000] {
            let (table, slots) = (Table::with_capacity(keys).unwrap(), Slots::default());
            let depth = table.depth_hint.load();
            (1..=keys as u32).for_each(|slot| insert(&table, slot, &slots));
            assert_eq!(table.depth_hint.load(), depth, "{keys} keys");
            assert!(visit_all(&table).into_iter().collect::<HashSet<_>>().len() == keys);
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
        table.levels[0].get_or_try_init(|| words(2).map(Box::new).ok_or(())).unwrap();
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
        assert_eq!(table.depth_hint.load(), 25, "of 34 bits, nine are the place in a segment");
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
}
