//! What happens to a segment that is crowded: it is sealed, and one or two with room take its place.

use super::{
    ABSENT, CELL_SLOT, CELLS, CLEAN, DIVIDE, EMPTY, ENTRY, Entries, FINGERPRINT, FINGERPRINT_BITS, GENERATION, KIND,
    LEAF, Leaf, MAX_DEPTH, NODE_GENERATION, NODE_SEGMENT, SEALED, SPLIT, Table, UNDECIDED, VERDICT, empty, path,
    probes, sibling,
};
use crate::arena::Full;
use crate::hooks::{Step, step};
use crate::sync::Word;

impl Table {
    /// Replaces a crowded leaf by one or two with room. Lock-free: every step can be done by any thread.
    pub(super) fn rewrite(&self, leaf: &Leaf<'_>, hash: u64, entries: &impl Entries) -> Result<(), Full> {
        // As long as the node above is a leaf, finds may still believe in what its segment names; a rewrite here could
        // recycle that. So the division that made this leaf is completed first.
        if let Some(above) = leaf.depth.checked_sub(1).and_then(|depth| self.leaf_at(depth, hash)) {
            return self.rewrite(&above, hash, entries);
        }
        seal(leaf);
        step(Step::SegmentSealed);
        let any_garbage = entries.any_garbage();
        let (mut live, mut dead) = (Vec::with_capacity(CELLS), Vec::new());
        for cell in leaf.segment.cells.iter().map(Word::load).filter(|cell| KIND.get(*cell) == ENTRY) {
            let is_dead = any_garbage && entries.is_garbage(CELL_SLOT.get(cell) as u32);
            if is_dead { &mut dead } else { &mut live }.push(cell);
        }
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
        let mut left_behind = Vec::new();
        for of in [hash, sibling(hash, depth)] {
            let node = self.make_node(depth, path(of, depth))?;
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
    pub(super) fn publish<'a>(
        &self,
        node: &Word,
        seen: u64,
        live: impl Iterator<Item = &'a u64>,
    ) -> Result<bool, Full> {
        let slot = self.segments.alloc()?;
        let segment = self.segments.get(slot);
        // The page is written before it is read; see `Records::draft`.
        segment.link.store(0);
        let generation = GENERATION.get(segment.head.load());
        let mut cells = [empty(generation); CELLS];
        for entry in live {
            // There are no more entries than cells.
            if let Some(at) = probes(FINGERPRINT.get(*entry)).find(|at| KIND.get(cells[*at]) == EMPTY) {
                cells[at] = *entry;
            }
        }
        segment.cells.iter().zip(cells).for_each(|(cell, word)| cell.store(word));
        step(Step::SegmentCopied);
        let leaf = NODE_GENERATION.set(NODE_SEGMENT.set(LEAF, u64::from(slot)), generation);
        let published = node.compare_exchange(seen, leaf).is_ok();
        if !published {
            self.free_segment(leaf);
        }
        Ok(published)
    }

    /// Makes the segment of a leaf that is no more ready for its next use, under the next generation.
    pub(super) fn free_segment(&self, leaf: u64) {
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

/// Turns every EMPTY cell of the leaf into a SEALED one.
pub(super) fn seal(leaf: &Leaf<'_>) {
    let empty = empty(leaf.generation);
    for cell in &leaf.segment.cells {
        if cell.load() == empty {
            // Lost to an insert or to another sealer: either way the cell is EMPTY no more.
            let _ = cell.compare_exchange(empty, SEALED | empty);
        }
    }
}
