//! Cuts a string into pieces at positions that its content determines, and numbers the pieces.
//! Equal stretches of a string give equal pieces wherever they stand.
//!
//! A cut goes before each symbol that is smaller than its neighbors in a fixed shuffled order, and
//! after [`MAX_PIECE`] symbols. So a cut depends only on the symbols next to it, and two equal
//! stretches differ at most in their first and last pieces (locally consistent parsing: Sahinalp,
//! Vishkin 1996; Jeż's recompression). The numbers of the pieces again form a string, 4 to 5 times
//! shorter: the input of the next level. Each piece is a rule. A level finds what the paper's
//! digram table would find in several rounds, at a few nanoseconds for each symbol.
//!
//! Repetitions are parsed fast. When the last [`CONTEXT`] pieces occurred together before, the
//! parser compares the symbols that follow now with the symbols that followed then, many symbols in
//! a step. As far as these symbols are equal, their pieces are copied instead of looked up. The
//! earlier occurrence may be in the previous block. In Lua's trace, 99 % of the words are in
//! repetitions. These are 74 words long on average if 8 equal words start a comparison, and 3,700
//! words if 32 are required (measured once). Where no context of [`CONTEXT`] pieces repeats, one
//! repeated piece within the block starts a comparison.
//!
//! Cost: 4 bytes for each symbol of the known pieces, 66-81 bytes for each piece.

use holloway_format::trace::StringHash;

/// Maximum number of symbols in a piece. Runs of one symbol have no minimum.
const MAX_PIECE: usize = 16;

/// Mask of the bits of a tag that hold the length, which is never 0.
const LENGTH_MASK: u32 = 31;
const _: () = assert!(MAX_PIECE <= LENGTH_MASK as usize);

/// Number of words in a record before the symbols.
const RECORD_HEAD: usize = 3;

/// Number of equal symbols after a known piece that start a comparison.
const MIN_EQUAL: usize = 4;

/// Number of pieces that are copied one by one before longer copies.
const SHORT_COPY: usize = 8;

/// Number of pieces in a context. Contexts are looked up at selected pieces ([`SPARSE`]), and at
/// least every `CONTEXT` pieces.
const CONTEXT: usize = 8;
/// Contexts are looked up at one in this number of pieces, selected by their numbers.
const SPARSE: u32 = 4;
/// Number of remembered contexts, as a power of 2.
const CONTEXT_BITS: u32 = 12;

#[derive(Clone, Copy)]
struct Slot {
    /// Upper bits of the piece's hash, and its length; 0: the slot is free.
    tag: u32,
    /// Start of its record.
    at: u32,
}

const FREE: Slot = Slot { tag: 0, at: 0 };

/// All known pieces of one level.
pub(super) struct Level {
    slots: Vec<Slot>,
    /// A record for each piece: its number, its last occurrence, and its symbols. The last
    /// occurrence is a hint: its index as in `Parsed::last_index`, and its end in the block. A
    /// record holds all data of a lookup, because a lookup mostly waits for memory.
    records: Vec<u32>,
    /// Start of each record, and of the next new record.
    starts: Vec<u32>,
    /// By hash of a context: more bits of the hash, and the index of the last piece at its last
    /// occurrence, as in `Parsed::last_index`.
    recent: Vec<(u32, u32)>,
    /// By piece. New pieces have no facts yet.
    facts: Vec<Facts>,
}

/// The properties of a string of terminals that follow from the properties of its parts.
#[derive(Clone, Copy, Default)]
pub(super) struct Summary {
    pub(super) hash: StringHash,
    /// The change to the number of open activations.
    pub(super) change: i64,
}

impl Summary {
    /// The summary of this string followed by another.
    #[inline]
    pub(super) fn then(self, other: Summary) -> Summary {
        Summary {
            hash: self.hash.then(other.hash),
            change: self.change.wrapping_add(other.change),
        }
    }
}

/// The known facts of a piece.
struct Facts {
    /// The summary of the piece's terminals.
    summary: Summary,
    /// Number of occurrences at the last level of a block.
    times: u64,
}

/// A block as a sequence of pieces.
#[derive(Default)]
struct Pieces {
    /// The numbers of the pieces.
    numbers: Vec<u32>,
    /// End of each piece in the block.
    ends: Vec<u32>,
}

/// A string as pieces, block by block.
#[derive(Default)]
pub(super) struct Parsed {
    current: Pieces,
    /// The previous block. Repetitions of it are copied.
    previous: Pieces,
    /// Index of the block's first piece among all pieces of the string, modulo 2^32.
    first: u32,
}

impl Level {
    pub(super) fn new() -> Self {
        Self {
            slots: vec![FREE; 1 << 10],
            records: Vec::new(),
            starts: vec![0],
            recent: Vec::new(),
            facts: Vec::new(),
        }
    }

    /// Number of known pieces.
    pub(super) fn pieces(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of symbols of all pieces.
    pub(super) fn size(&self) -> usize {
        self.records.len() - RECORD_HEAD * self.pieces()
    }

    /// The symbols of a piece.
    #[inline]
    pub(super) fn piece(&self, piece: u32) -> &[u32] {
        let [start, end] = [0, 1].map(|next| self.starts[piece as usize + next] as usize);
        &self.records[start + RECORD_HEAD..end]
    }

    /// The summary of a piece's terminals.
    #[inline]
    pub(super) fn summary(&self, piece: u32) -> Summary {
        self.facts[piece as usize].summary
    }

    /// Counts a piece at the last level of a block. Returns its summary.
    #[inline]
    pub(super) fn count(&mut self, piece: u32, times: u64) -> Summary {
        let facts = &mut self.facts[piece as usize];
        facts.times += times;
        facts.summary
    }

    /// Returns the counts of all pieces since the last call.
    pub(super) fn take_counts(&mut self) -> Vec<u64> {
        let facts = self.facts.iter_mut();
        facts
            .map(|facts| std::mem::take(&mut facts.times))
            .collect()
    }

    /// Summarizes the new pieces, in the order of their first appearance. `summarize` returns the
    /// summary of a piece's symbols.
    pub(super) fn summarize_new(&mut self, mut summarize: impl FnMut(&[u32]) -> Summary) {
        for piece in self.facts.len()..self.pieces() {
            let summary = summarize(self.piece(piece as u32));
            self.facts.push(Facts { summary, times: 0 });
        }
    }

    /// Cuts a block of fewer than 2^32 symbols into pieces. Repetitions of the block `previous` are
    /// found too, if this level parsed it.
    pub(super) fn parse(&mut self, block: &[u32], previous: &[u32], parsed: &mut Parsed) {
        self.recent.resize(1 << CONTEXT_BITS, (0, u32::MAX));
        parsed.current.clear();
        let mut at = 0;
        let mut cuts = Cuts::new(block);
        let mut last_check = 0;
        while at < block.len() {
            let end = cuts.after(at);
            let record = self.record(&block[at..end]);
            at = end;
            let piece = self.records[record];
            parsed.current.push(piece, end);
            let current = [parsed.last_index(), end as u32];
            let hint = &mut self.records[record + 1..record + RECORD_HEAD];
            let last = [hint[0], hint[1]];
            hint.copy_from_slice(&current);
            let is_due = parsed.current.numbers.len() - last_check >= CONTEXT;
            let checks_context = is_due || rank(piece) < u32::MAX / SPARSE;
            if checks_context {
                last_check = parsed.current.numbers.len();
            }
            if (checks_context && self.copy_repetition(block, previous, parsed))
                || parsed.copy_after_last(block, last)
            {
                at = parsed.current.end();
            }
        }
    }

    /// Looks for the last occurrence of the current context, and copies the pieces that followed
    /// it.
    fn copy_repetition(&mut self, block: &[u32], previous: &[u32], parsed: &mut Parsed) -> bool {
        let Some(context) = parsed.block().last_chunk::<CONTEXT>() else {
            return false;
        };
        let context = hash(context);
        let current = (context as u32, parsed.last_index());
        let slot = (context >> (64 - CONTEXT_BITS)) as usize;
        let (tag, earlier) = std::mem::replace(&mut self.recent[slot], current);
        tag == current.0 && parsed.copy_after(block, previous, earlier)
    }

    /// Start of the piece's record. Adds a record for a new piece.
    #[inline]
    fn record(&mut self, symbols: &[u32]) -> usize {
        let hash = hash(symbols);
        let tag = tag(hash, symbols.len());
        let mask = self.slots.len() - 1;
        let mut slot_index = hash as usize & mask;
        loop {
            let slot = self.slots[slot_index];
            if slot.tag == tag
                && starts_with(&self.records[slot.at as usize + RECORD_HEAD..], symbols)
            {
                return slot.at as usize;
            }
            if slot.tag == 0 {
                return self.add(symbols, tag, slot_index);
            }
            slot_index = (slot_index + 1) & mask;
        }
    }

    #[cold]
    fn add(&mut self, symbols: &[u32], tag: u32, slot_index: usize) -> usize {
        let piece = self.pieces() as u32;
        let at = self.records.len();
        self.records.extend_from_slice(&[piece, u32::MAX, 0]);
        self.records.extend_from_slice(symbols);
        let end = u32::try_from(self.records.len()).expect("a segment's pieces are below 2^32");
        self.starts.push(end);
        self.slots[slot_index] = Slot { tag, at: at as u32 };
        if 2 * self.pieces() > self.slots.len() {
            self.grow();
        }
        at
    }

    fn grow(&mut self) {
        let size = 4 * self.slots.len();
        self.slots = vec![FREE; size];
        for piece in 0..self.pieces() as u32 {
            let symbols = self.piece(piece);
            let hash = hash(symbols);
            let tag = tag(hash, symbols.len());
            let mut slot_index = hash as usize & (size - 1);
            while self.slots[slot_index].tag != 0 {
                slot_index = (slot_index + 1) & (size - 1);
            }
            let at = self.starts[piece as usize];
            self.slots[slot_index] = Slot { tag, at };
        }
    }
}

impl Parsed {
    /// The pieces of the block.
    pub(super) fn block(&self) -> &[u32] {
        &self.current.numbers
    }

    /// Makes this block the previous block.
    pub(super) fn start_block(&mut self) {
        self.first = self.first.wrapping_add(self.current.numbers.len() as u32);
        std::mem::swap(&mut self.current, &mut self.previous);
        self.current.clear();
    }

    /// Index of the block's last piece.
    fn last_index(&self) -> u32 {
        self.first
            .wrapping_add(self.current.numbers.len() as u32 - 1)
    }

    /// The last pieces seem to equal the pieces up to index `earlier`. Copies the pieces after
    /// `earlier` as far as the same symbols follow now.
    fn copy_after(&mut self, block: &[u32], previous: &[u32], earlier: u32) -> bool {
        let here = self.current.numbers.len() - 1;
        let earlier = earlier.wrapping_sub(self.first);
        if (earlier as usize) < here {
            let earlier = earlier as usize;
            return self.current.numbers[earlier] == self.current.numbers[here]
                && self.current.copy(block, earlier + 1);
        }
        let from_end = earlier.wrapping_neg() as usize;
        let Some(earlier) = self.previous.numbers.len().checked_sub(from_end) else {
            return false;
        };
        self.previous.numbers.get(earlier) == self.current.numbers.last()
            && self
                .current
                .copy_from_previous(block, &self.previous, previous, earlier + 1)
    }

    /// Like `copy_after`, for an earlier occurrence of only the last piece: index `earlier`, end
    /// `earlier_end`. It must be in this block, and the next few symbols must be equal.
    #[inline]
    fn copy_after_last(&mut self, block: &[u32], [earlier, earlier_end]: [u32; 2]) -> bool {
        let earlier = earlier.wrapping_sub(self.first) as usize;
        let current = &mut self.current;
        if earlier + 1 >= current.numbers.len() {
            return false;
        }
        let (earlier_end, at) = (earlier_end as usize, current.end());
        match (
            block.get(at..at + MIN_EQUAL),
            block.get(earlier_end..earlier_end + MIN_EQUAL),
        ) {
            (Some(next), Some(followed)) => next == followed && current.copy(block, earlier + 1),
            _ => false,
        }
    }
}

impl Pieces {
    fn clear(&mut self) {
        self.numbers.clear();
        self.ends.clear();
    }

    /// End of the last piece.
    fn end(&self) -> usize {
        self.ends.last().map_or(0, |&end| end as usize)
    }

    #[inline]
    fn push(&mut self, piece: u32, end: usize) {
        self.numbers.push(piece);
        self.ends.push(end as u32);
    }

    /// Copies the pieces from index `from` on as far as their symbols follow now. Returns whether
    /// it copied any piece.
    #[inline]
    fn copy(&mut self, block: &[u32], mut from: usize) -> bool {
        let (earlier_end, at) = (self.ends[from - 1] as usize, self.end());
        let limit = earlier_end + common_prefix(&block[earlier_end..], &block[at..]);
        let (known, shift) = (self.ends.len(), (at - earlier_end) as u32);
        for _ in 0..SHORT_COPY {
            if from == self.ends.len() || self.ends[from] as usize + 2 > limit {
                return self.ends.len() > known;
            }
            self.push(self.numbers[from], (self.ends[from] + shift) as usize);
            from += 1;
        }
        loop {
            let known = self.ends.len();
            let to = from + safe_pieces(&self.ends[from..], limit);
            self.numbers.extend_from_within(from..to);
            self.ends.extend_from_within(from..to);
            self.ends[known..].iter_mut().for_each(|end| *end += shift);
            // Copied pieces may be copied again.
            if to < known || to == from {
                return true;
            }
            from = to;
        }
    }

    /// Like `copy`, from the previous block, which consists of `pieces`.
    fn copy_from_previous(
        &mut self,
        block: &[u32],
        pieces: &Pieces,
        previous: &[u32],
        from: usize,
    ) -> bool {
        let (earlier_end, at) = (pieces.ends[from - 1] as usize, self.end());
        let limit = earlier_end + common_prefix(&previous[earlier_end..], &block[at..]);
        let to = from + safe_pieces(&pieces.ends[from..], limit);
        self.numbers.extend_from_slice(&pieces.numbers[from..to]);
        let ends = pieces.ends[from..to].iter();
        self.ends
            .extend(ends.map(|end| at as u32 + (end - earlier_end as u32)));
        to > from
    }
}

/// Number of pieces whose ends are cuts in every string that is equal up to `limit`. A cut depends
/// on the symbols on both sides and on the symbol after them.
#[inline]
fn safe_pieces(ends: &[u32], limit: usize) -> usize {
    const STEP: usize = 16;
    let fits = |end: &u32| *end as usize + 2 <= limit;
    let steps = ends.chunks_exact(STEP);
    let count = STEP * steps.take_while(|step| fits(&step[STEP - 1])).count();
    let rest = ends[count..].iter();
    count + rest.take_while(|end| fits(end)).count()
}

/// Length of the common prefix.
fn common_prefix(left: &[u32], right: &[u32]) -> usize {
    const STEP: usize = 16;
    let (steps, _) = left.as_chunks::<STEP>();
    let (others, _) = right.as_chunks::<STEP>();
    // An array comparison would be a function call.
    let differ = |left: &[u32; STEP], right: &[u32; STEP]| {
        let pairs = left.iter().zip(right);
        pairs.fold(0, |all, (left, right)| all | (left ^ right)) != 0
    };
    let pairs = steps.iter().zip(others);
    let count = STEP
        * pairs
            .take_while(|(left, right)| !differ(left, right))
            .count();
    let rest = left[count..].iter().zip(&right[count..]);
    count + rest.take_while(|(left, right)| left == right).count()
}

/// Whether a piece begins with these symbols. The tag already contains the number of symbols.
#[inline]
fn starts_with(piece: &[u32], symbols: &[u32]) -> bool {
    piece.len() >= symbols.len() && piece.iter().zip(symbols).all(|(left, right)| left == right)
}

/// Hashes two symbols in each step.
#[inline]
fn hash(symbols: &[u32]) -> u64 {
    let mut hash = symbols.len() as u64;
    let mut mix = |symbols: u64| {
        hash = (hash ^ symbols).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
        hash ^= hash >> 32;
    };
    let (pairs, rest) = symbols.as_chunks::<2>();
    for &[low, high] in pairs {
        mix(u64::from(high) << 32 | u64::from(low));
    }
    for &last in rest {
        mix(u64::from(last));
    }
    hash
}

/// The upper bits of a hash and the length, so never 0.
#[inline]
fn tag(hash: u64, length: usize) -> u32 {
    (hash >> 32) as u32 & !LENGTH_MASK | length as u32
}

/// The cuts of a block, 64 positions at a time.
struct Cuts<'a> {
    block: &'a [u32],
    /// First position of the window.
    base: usize,
    /// Bit i: a cut before position `base + i`.
    window: u64,
}

const WINDOW: usize = 64;

/// A fixed shuffled order of symbols, without ties.
#[inline]
fn rank(symbol: u32) -> u32 {
    symbol.wrapping_mul(0x9E37_79B1)
}

impl<'a> Cuts<'a> {
    fn new(block: &'a [u32]) -> Self {
        let mut cuts = Self {
            block,
            base: 0,
            window: 0,
        };
        cuts.move_window(0);
        cuts
    }

    /// The end of the piece that begins at `at`.
    #[inline]
    fn after(&mut self, at: usize) -> usize {
        let limit = (at + MAX_PIECE).min(self.block.len());
        let mut from = at + 1;
        loop {
            if from < self.base || from >= self.base + WINDOW {
                self.move_window(from);
            }
            let ahead = self.window >> (from - self.base);
            if ahead != 0 {
                return limit.min(from + ahead.trailing_zeros() as usize);
            }
            from = self.base + WINDOW;
            if from >= limit {
                return limit;
            }
        }
    }

    /// Moves the window to `base`.
    fn move_window(&mut self, base: usize) {
        self.base = base;
        self.window = 0;
        if base == 0 || base + WINDOW + 1 > self.block.len() {
            let positions = (0..WINDOW).take_while(|i| base + i + 1 < self.block.len());
            for i in positions.filter(|i| base + i > 0) {
                let [left, middle, right] =
                    [base + i - 1, base + i, base + i + 1].map(|at| rank(self.block[at]));
                self.window |= u64::from(middle < left && middle <= right) << i;
            }
            return;
        }
        let symbols: &[u32; WINDOW + 2] = self.block[base - 1..base + WINDOW + 1]
            .try_into()
            .expect("a window and its neighbours");
        let ranks = symbols.map(rank);
        for i in 0..WINDOW {
            let cut = (ranks[i + 1] < ranks[i]) & (ranks[i + 1] <= ranks[i + 2]);
            self.window |= u64::from(cut) << i;
        }
    }
}
