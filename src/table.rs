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
//! segment, an insert helps to rewrite it. A rewrite moves at most 256 entries, however large the table is.
//!
//! Segments are reused at once. What protects a thread that still looks at one: a segment's *generation* is part of
//! its EMPTY cells and of the node that names it. A stale insert finds no EMPTY cell of its generation; a find
//! believes what it saw only if the node still names that generation afterwards.

mod rewrite;
#[cfg(all(test, not(stockade_loom)))]
mod tests;

use crate::arena::{Arena, Full, Slot};
use crate::layout::{Field, SLOT_BITS};
use crate::sync::{Class, Lazy, Word};

#[cfg(not(stockade_loom))]
const POSITION_BITS: u32 = 8;
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
const SEGMENT_BITS: u32 = 22;
const NODE_SEGMENT: Field = KIND.then(SEGMENT_BITS);
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
const _: () = assert!(size_of::<Segment>() == 2048 + 16);

impl Slot for Segment {
    type Chunk = [Segment; 1 << Self::CHUNK_BITS];
    const CHUNK_BITS: u32 = 4;
    const NUMBER_BITS: u32 = SEGMENT_BITS;

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

    fn at(chunk: &Self::Chunk, index: usize) -> &Self {
        &chunk[index]
    }

    fn link(&self) -> &Word {
        &self.link
    }
}

/// What the table must know about the records its entries name.
pub(crate) trait Entries {
    /// Whether any record may be garbage. To ask each of a segment's is to wait for memory each time.
    fn any_garbage(&self) -> bool;
    /// Whether the record is of no use to anybody, for good.
    fn is_garbage(&self, slot: u32) -> bool;
    /// Takes back a garbage record that no find can reach any more.
    fn recycle(&self, slot: u32);
}

/// All nodes of one depth, so many at a time: the last levels are large, and nobody is to clear one in a call.
type Level = Box<[Lazy<[Word; NODES]>]>;
const NODES: usize = if cfg!(stockade_loom) { 2 } else { 512 };

pub(crate) struct Table {
    root: Word,
    /// The nodes of depth 1 and more. What does not exist yet is ABSENT.
    levels: [Lazy<Level>; MAX_DEPTH as usize],
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
    /// Linearization point: the CAS. A cell never becomes EMPTY again under its generation, so those before it are as
    /// they were.
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
        if depth == 0 {
            return Ok(table);
        }
        table.free_segment(table.root.load());
        for above in 0..depth {
            (0..1 << above).try_for_each(|at| table.make_node(above, at).map(|node| node.store(SPLIT)))?;
        }
        for at in 0..1 << depth {
            let node = table.make_node(depth, at)?;
            let slot = table.segments.alloc()?;
            let segment = table.segments.get(slot);
            // The first one has served before, under another generation.
            let generation = GENERATION.get(segment.head.load());
            // The cells are EMPTY; to write them brings the pages.
            segment.cells.iter().for_each(|cell| cell.store(empty(generation)));
            node.store(NODE_GENERATION.set(NODE_SEGMENT.set(LEAF, u64::from(slot)), generation));
        }
        table.depth_hint.store(u64::from(depth));
        Ok(table)
    }

    /// The node at this place of a depth; there is memory for it afterwards.
    fn make_node(&self, depth: u32, at: u64) -> Result<&Word, Full> {
        let Some(level) = depth.checked_sub(1) else { return Ok(&self.root) };
        let runs = (1_usize << depth).div_ceil(NODES);
        let empty = || Ok(Box::new((0..runs).map(|_| Lazy::new()).collect()));
        let level = self.levels.get(level as usize).ok_or(Full)?.get_or_try_init(empty)?;
        let run = level[at as usize / NODES].get_or_try_init(|| nodes().ok_or(Full))?;
        Ok(&run[at as usize % NODES])
    }

    /// What `matches` makes of the entry of a key with this hash, if it accepts one. Lock-free, writes nothing.
    ///
    /// `None` was true at one instant during the call, and so was `Some`: the entry was in the table after `matches`
    /// had looked at its record.
    #[inline]
    pub(crate) fn find<R>(&self, hash: u64, matches: impl FnMut(u32) -> Option<R>) -> Option<R> {
        self.seek(hash, matches).ok()
    }

    /// As [`find`](Self::find); when it finds nothing, it also says where the key can be entered, unless there is no
    /// room.
    #[inline(always)]
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

    /// The slot in the first cell where a key with this hash is looked for, if its fingerprint fits. A hint: it says
    /// nothing of what the table holds, but afterwards the cell is near.
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
    #[inline(always)]
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

    #[inline]
    fn leaf_of<'a>(&'a self, depth: u32, node: &'a Word, seen: u64) -> Leaf<'a> {
        let segment = self.segments.get(NODE_SEGMENT.get(seen) as u32);
        Leaf { depth, node, seen, segment, generation: NODE_GENERATION.get(seen) }
    }

    #[inline]
    fn node(&self, depth: u32, hash: u64) -> Option<&Word> {
        match depth.checked_sub(1) {
            None => Some(&self.root),
            Some(level) => {
                let at = path(hash, depth) as usize;
                let run = self.levels.get(level as usize)?.get()?.get(at / NODES)?.get()?;
                Some(&run[at % NODES])
            }
        }
    }

    #[inline]
    fn is_absent(&self, depth: u32, hash: u64) -> bool {
        self.node(depth, hash).is_none_or(|node| KIND.get(node.load()) == ABSENT)
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
            if FINGERPRINT.get(word) == wanted
                && let Some(it) = matches(CELL_SLOT.get(word) as u32)
            {
                return Search::Found(it);
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
fn nodes() -> Option<Box<[Word; NODES]>> {
    bytemuck::try_zeroed_box().ok()
}

#[cfg(stockade_loom)]
fn nodes() -> Option<Box<[Word; NODES]>> {
    Some(Box::new(std::array::from_fn(|_| Word::of(Class::Growth, 0))))
}
