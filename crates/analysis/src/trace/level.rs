//! One level of a grammar builder: cuts a string into pieces at positions that its content
//! determines, and numbers the pieces. Equal parts of the string are cut into equal pieces,
//! wherever the parts begin.
//!
//! The parser cuts before each symbol that is smaller than its neighbors in a fixed shuffled order,
//! and after [`MAX_PIECE`] symbols. So a cut depends only on the symbols next to it, and two equal
//! parts differ at most in their first and last pieces (locally consistent parsing: Sahinalp,
//! Vishkin 1996; Jeż's recompression). The numbers of the pieces form a string that is 4 to 5 times
//! shorter. It is the input of the next level. Each piece is a rule. A level finds the rules that
//! the paper's digram table would find in several rounds, at a few nanoseconds for each symbol.
//!
//! Repetitions are parsed fast. If the last [`CONTEXT`] pieces (a *context*) occurred together
//! before, the parser compares the symbols after both occurrences, many symbols in a step. As far
//! as the symbols are equal, their pieces are copied instead of looked up. The earlier occurrence
//! may be in the previous block. In Lua's trace, 99 % of the words are in repetitions. The average
//! repetition has 74 words if 8 equal words start a comparison, and 3,700 words if 32 are required
//! (measured once). Where no context repeats, one repeated piece within the block starts a
//! comparison.
//!
//! Cost: 4 bytes for each symbol of the known pieces, 66-81 bytes for each piece.

use holloway_format::trace::StringHash;

/// Maximum number of symbols in a piece. Without it, a run of equal symbols would be one piece,
/// because no symbol of the run is smaller than its neighbors.
const MAX_PIECE: usize = 16;

/// Mask of the bits of a tag that hold the length, which is never 0.
const LENGTH_MASK: u32 = 31;
const _: () = assert!(MAX_PIECE <= LENGTH_MASK as usize);

/// Number of words in a piece's record before the symbols.
const RECORD_HEAD: usize = 3;

/// Number of equal symbols after a repeated piece that start a comparison.
const MIN_EQUAL: usize = 4;

/// Number of pieces that are copied one by one before longer copies begin.
const SHORT_COPY: usize = 8;

/// Number of pieces in a context. The parser looks up the current context after selected pieces
/// ([`PIECES_PER_LOOKUP`]), and at least every `CONTEXT` pieces.
const CONTEXT: usize = 8;
/// The parser looks up the current context after one in this number of pieces. The piece's number
/// decides, so equal parts of the string are looked up at equal positions.
const PIECES_PER_LOOKUP: u32 = 4;
/// Number of remembered contexts, as a power of 2.
const CONTEXT_BITS: u32 = 12;

/// A slot of the hash table of pieces.
#[derive(Clone, Copy)]
struct Slot {
    /// Upper bits of the piece's hash, and the number of its symbols; 0: the slot is free.
    tag: u32,
    /// Start of the piece's record.
    record: u32,
}

const FREE: Slot = Slot { tag: 0, record: 0 };

/// All known pieces of one level.
pub(super) struct Level {
    slots: Vec<Slot>,
    /// A record for each piece: its number, its last occurrence (two words), and its symbols. The
    /// last occurrence is only a hint, because copies do not update it: its index as in
    /// `Parsed::last_index`, and its end in the block. All data of a lookup is in one record,
    /// because a lookup mostly waits for memory.
    records: Vec<u32>,
    /// Start of each record, and of the next new record.
    starts: Vec<u32>,
    /// By upper bits of a context's hash: the lower bits of the hash, and the index of the
    /// context's last piece at its last occurrence, as in `Parsed::last_index`.
    recent_contexts: Vec<(u32, u32)>,
    /// By piece; shorter than the list of pieces until new pieces are summarized.
    facts: Vec<Facts>,
}

/// The properties of a string of terminals. The summary of a concatenation is computed from the
/// summaries of its parts.
#[derive(Clone, Copy, Default)]
pub(super) struct Summary {
    pub(super) hash: StringHash,
    /// The change that the string makes to the number of open activations.
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
    /// Number of occurrences in blocks whose last level this is, since counts were last taken.
    count: u64,
}

/// A block as a sequence of pieces.
#[derive(Default)]
struct Pieces {
    /// The numbers of the pieces.
    numbers: Vec<u32>,
    /// End of each piece in the block, in symbols.
    ends: Vec<u32>,
}

/// The pieces of the current block and of the previous block.
#[derive(Default)]
pub(super) struct Parsed {
    current: Pieces,
    /// The pieces of the previous block; repetitions of it are copied.
    previous: Pieces,
    /// Index of the current block's first piece among all pieces of the string, modulo 2^32.
    first_index: u32,
}

impl Level {
    pub(super) fn new() -> Self {
        Self {
            slots: vec![FREE; 1 << 10],
            records: Vec::new(),
            starts: vec![0],
            recent_contexts: Vec::new(),
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

    /// Adds `times` to a piece's count. Returns the piece's summary.
    #[inline]
    pub(super) fn count(&mut self, piece: u32, times: u64) -> Summary {
        let facts = &mut self.facts[piece as usize];
        facts.count += times;
        facts.summary
    }

    /// Returns the counts of all pieces since the last call.
    pub(super) fn take_counts(&mut self) -> Vec<u64> {
        let facts = self.facts.iter_mut();
        facts
            .map(|facts| std::mem::take(&mut facts.count))
            .collect()
    }

    /// Summarizes the new pieces, in the order of their first appearance. `summarize` returns the
    /// summary of a piece's symbols.
    pub(super) fn summarize_new(&mut self, mut summarize: impl FnMut(&[u32]) -> Summary) {
        for piece in self.facts.len()..self.pieces() {
            let summary = summarize(self.piece(piece as u32));
            self.facts.push(Facts { summary, count: 0 });
        }
    }

    /// Cuts a block of fewer than 2^32 symbols into pieces. `previous` holds the symbols of the
    /// previous block; if they are not empty, repetitions of the previous block are copied, too.
    pub(super) fn parse(&mut self, block: &[u32], previous: &[u32], parsed: &mut Parsed) {
        self.recent_contexts
            .resize(1 << CONTEXT_BITS, (0, u32::MAX));
        parsed.current.clear();
        let mut start = 0;
        let mut cuts = Cuts::new(block);
        // Number of pieces at the last lookup of a context.
        let mut last_lookup = 0;
        while start < block.len() {
            let end = cuts.after(start);
            let record = self.record(&block[start..end]);
            start = end;
            let piece = self.records[record];
            parsed.current.push(piece, end);
            let current_occurrence = [parsed.last_index(), end as u32];
            let hint = &mut self.records[record + 1..record + RECORD_HEAD];
            let last_occurrence = [hint[0], hint[1]];
            hint.copy_from_slice(&current_occurrence);
            let looks_up_context = parsed.current.numbers.len() - last_lookup >= CONTEXT
                || rank(piece) < u32::MAX / PIECES_PER_LOOKUP;
            if looks_up_context {
                last_lookup = parsed.current.numbers.len();
            }
            if (looks_up_context && self.copy_repetition(block, previous, parsed))
                || parsed.copy_after_last(block, last_occurrence)
            {
                start = parsed.current.end();
            }
        }
    }

    /// Looks up the last occurrence of the current context, and copies the pieces after it as far
    /// as their symbols follow now, too. Returns whether it copied any piece.
    fn copy_repetition(&mut self, block: &[u32], previous: &[u32], parsed: &mut Parsed) -> bool {
        let Some(context) = parsed.block().last_chunk::<CONTEXT>() else {
            return false;
        };
        let hash = hash(context);
        let current = (hash as u32, parsed.last_index());
        let slot = (hash >> (64 - CONTEXT_BITS)) as usize;
        let (tag, earlier) = std::mem::replace(&mut self.recent_contexts[slot], current);
        tag == current.0 && parsed.copy_after(block, previous, earlier)
    }

    /// Start of the record of the piece that consists of these symbols. Adds a record for a new
    /// piece.
    #[inline]
    fn record(&mut self, symbols: &[u32]) -> usize {
        let hash = hash(symbols);
        let tag = tag(hash, symbols.len());
        let mask = self.slots.len() - 1;
        let mut slot_index = hash as usize & mask;
        loop {
            let slot = self.slots[slot_index];
            if slot.tag == tag
                && starts_with(&self.records[slot.record as usize + RECORD_HEAD..], symbols)
            {
                return slot.record as usize;
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
        let record = self.records.len();
        self.records.extend_from_slice(&[piece, u32::MAX, 0]);
        self.records.extend_from_slice(symbols);
        let end = u32::try_from(self.records.len()).expect("a level's records are below 2^32");
        self.starts.push(end);
        self.slots[slot_index] = Slot {
            tag,
            record: record as u32,
        };
        if 2 * self.pieces() > self.slots.len() {
            self.grow();
        }
        record
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
            let record = self.starts[piece as usize];
            self.slots[slot_index] = Slot { tag, record };
        }
    }
}

impl Parsed {
    /// The pieces of the current block.
    pub(super) fn block(&self) -> &[u32] {
        &self.current.numbers
    }

    /// Makes the current block the previous block, and starts an empty block.
    pub(super) fn start_block(&mut self) {
        self.first_index = self
            .first_index
            .wrapping_add(self.current.numbers.len() as u32);
        std::mem::swap(&mut self.current, &mut self.previous);
        self.current.clear();
    }

    /// Index of the current block's last piece among all pieces of the string, modulo 2^32.
    fn last_index(&self) -> u32 {
        self.first_index
            .wrapping_add(self.current.numbers.len() as u32 - 1)
    }

    /// Copies the pieces after an earlier occurrence of the current context, as far as their
    /// symbols follow now, too. `earlier` is the index of the occurrence's last piece. Returns
    /// whether it copied any piece; it copies none if the last pieces differ after all.
    fn copy_after(&mut self, block: &[u32], previous: &[u32], earlier: u32) -> bool {
        let last = self.current.numbers.len() - 1;
        let earlier = earlier.wrapping_sub(self.first_index);
        if (earlier as usize) < last {
            let earlier = earlier as usize;
            return self.current.numbers[earlier] == self.current.numbers[last]
                && self.current.copy(block, earlier + 1);
        }
        // A negative index belongs to the previous block.
        let from_end = earlier.wrapping_neg() as usize;
        let Some(earlier) = self.previous.numbers.len().checked_sub(from_end) else {
            return false;
        };
        self.previous.numbers.get(earlier) == self.current.numbers.last()
            && self
                .current
                .copy_from_previous(block, &self.previous, previous, earlier + 1)
    }

    /// Like `copy_after`, for an earlier occurrence of only the last piece, given by its index
    /// `earlier` and its end `earlier_end` in the block. Copies only if the occurrence is in the
    /// current block, and the next [`MIN_EQUAL`] symbols after both occurrences are equal.
    #[inline]
    fn copy_after_last(&mut self, block: &[u32], [earlier, earlier_end]: [u32; 2]) -> bool {
        let earlier = earlier.wrapping_sub(self.first_index) as usize;
        let current = &mut self.current;
        if earlier + 1 >= current.numbers.len() {
            return false;
        }
        let (earlier_end, end) = (earlier_end as usize, current.end());
        let next_symbols = block.get(end..end + MIN_EQUAL);
        let next_symbols_then = block.get(earlier_end..earlier_end + MIN_EQUAL);
        match (next_symbols, next_symbols_then) {
            (Some(now), Some(then)) => now == then && current.copy(block, earlier + 1),
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

    /// Appends copies of the pieces from index `first` on, as far as their symbols also follow the
    /// last piece. Returns whether it copied any piece.
    #[inline]
    fn copy(&mut self, block: &[u32], first: usize) -> bool {
        let (source, target) = (self.ends[first - 1] as usize, self.end());
        // The end of the symbols after `source` that equal the symbols after `target`.
        let equal_end = source + common_prefix(&block[source..], &block[target..]);
        let (old_len, shift) = (self.ends.len(), (target - source) as u32);
        let mut next = first;
        for _ in 0..SHORT_COPY {
            if next == self.ends.len() || self.ends[next] as usize + 2 > equal_end {
                return self.ends.len() > old_len;
            }
            self.push(self.numbers[next], (self.ends[next] + shift) as usize);
            next += 1;
        }
        loop {
            let old_len = self.ends.len();
            let end = next + safe_pieces(&self.ends[next..], equal_end);
            self.numbers.extend_from_within(next..end);
            self.ends.extend_from_within(next..end);
            self.ends[old_len..]
                .iter_mut()
                .for_each(|end| *end += shift);
            // If all pieces up to the end were copied, continue with the copies themselves.
            if end < old_len || end == next {
                return true;
            }
            next = end;
        }
    }

    /// Like `copy`, for pieces of the previous block. `pieces` are its pieces, and `previous` are
    /// its symbols.
    fn copy_from_previous(
        &mut self,
        block: &[u32],
        pieces: &Pieces,
        previous: &[u32],
        first: usize,
    ) -> bool {
        let (source, target) = (pieces.ends[first - 1] as usize, self.end());
        let equal_end = source + common_prefix(&previous[source..], &block[target..]);
        let end = first + safe_pieces(&pieces.ends[first..], equal_end);
        self.numbers.extend_from_slice(&pieces.numbers[first..end]);
        let ends = pieces.ends[first..end].iter();
        self.ends
            .extend(ends.map(|end| target as u32 + (end - source as u32)));
        end > first
    }
}

/// Number of leading pieces that may be copied if the symbols are equal up to `equal_end`. The cut
/// at the end of a piece depends on the symbol before it and on the two symbols after it. So these
/// must be equal, too.
#[inline]
fn safe_pieces(ends: &[u32], equal_end: usize) -> usize {
    const STEP: usize = 16;
    let is_safe = |end: &u32| *end as usize + 2 <= equal_end;
    let steps = ends.chunks_exact(STEP);
    let count = STEP * steps.take_while(|step| is_safe(&step[STEP - 1])).count();
    let last_step = ends[count..].iter();
    count + last_step.take_while(|end| is_safe(end)).count()
}

/// Length of the common prefix.
fn common_prefix(left: &[u32], right: &[u32]) -> usize {
    const STEP: usize = 16;
    let (left_steps, _) = left.as_chunks::<STEP>();
    let (right_steps, _) = right.as_chunks::<STEP>();
    // An array comparison with `==` would be a function call.
    let differ = |left: &[u32; STEP], right: &[u32; STEP]| {
        let pairs = left.iter().zip(right);
        pairs.fold(0, |bits, (left, right)| bits | (left ^ right)) != 0
    };
    let steps = left_steps.iter().zip(right_steps);
    let count = STEP
        * steps
            .take_while(|(left, right)| !differ(left, right))
            .count();
    let last_step = left[count..].iter().zip(&right[count..]);
    count + last_step.take_while(|(left, right)| left == right).count()
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
    let (pairs, unpaired) = symbols.as_chunks::<2>();
    for &[low, high] in pairs {
        mix(u64::from(high) << 32 | u64::from(low));
    }
    for &last in unpaired {
        mix(u64::from(last));
    }
    hash
}

/// The tag of a piece: the upper bits of its hash, and its length. A tag is never 0.
#[inline]
fn tag(hash: u64, length: usize) -> u32 {
    (hash >> 32) as u32 & !LENGTH_MASK | length as u32
}

/// The cuts of a block, computed for a window of 64 positions at a time.
struct Cuts<'a> {
    block: &'a [u32],
    /// First position of the window.
    base: usize,
    /// Bit i: whether there is a cut before position `base + i`.
    window: u64,
}

const WINDOW: usize = 64;

/// The rank of a symbol in a fixed shuffled order. Different symbols have different ranks.
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

    /// The end of the piece that begins at `start`.
    #[inline]
    fn after(&mut self, start: usize) -> usize {
        let limit = (start + MAX_PIECE).min(self.block.len());
        let mut position = start + 1;
        loop {
            if position < self.base || position >= self.base + WINDOW {
                self.move_window(position);
            }
            let later_cuts = self.window >> (position - self.base);
            if later_cuts != 0 {
                return limit.min(position + later_cuts.trailing_zeros() as usize);
            }
            position = self.base + WINDOW;
            if position >= limit {
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
                let [left, middle, right] = [base + i - 1, base + i, base + i + 1]
                    .map(|position| rank(self.block[position]));
                self.window |= u64::from(middle < left && middle <= right) << i;
            }
            return;
        }
        let symbols: &[u32; WINDOW + 2] = self.block[base - 1..base + WINDOW + 1]
            .try_into()
            .expect("a window and its neighbors");
        let ranks = symbols.map(rank);
        for i in 0..WINDOW {
            let cut = (ranks[i + 1] < ranks[i]) & (ranks[i + 1] <= ranks[i + 2]);
            self.window |= u64::from(cut) << i;
        }
    }
}
