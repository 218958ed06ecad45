//! A string cut into pieces where its own content says, each piece numbered: the same stretch gives the same pieces wherever it stands.
//!
//! A cut goes before each symbol that is a local minimum among its neighbours in a fixed shuffled order, and after [`LONGEST`] symbols. So a
//! cut depends on the symbols next to it only, and two equal stretches differ in their first and last pieces at most (locally consistent
//! parsing: Sahinalp, Vishkin 1996; Jeż's recompression). Numbers of pieces are again a string, 4 to 5 times shorter: the next level's
//! input. Each piece is a rule; a level is what the paper's digram table would find in several rounds, at a few nanoseconds a symbol.
//!
//! What repeats comes fast: where the last [`CONTEXT`] pieces stood before, what follows is compared with what followed then, many symbols a step. As far as
//! they are equal, so are their pieces, which are copied, not looked up. What stood before may be in the block before. Of Lua's words 99 % are in repetitions of 74 words on
//! average where 8 words must be the same to look closer, of 3,700 where it takes 32 (measured once). Where there are none so long, one piece must do, within the block.
//!
//! Cost: 4 bytes a symbol of the pieces that were seen, 66-81 bytes a piece.

use holloway_format::trace::StringHash;

/// Most symbols of a piece. Runs of one symbol have no minimum.
const LONGEST: usize = 16;

/// Bits of a tag that have the length, which is never 0.
const LENGTH: u32 = 31;
const _: () = assert!(LONGEST <= LENGTH as usize);

/// Words of a record before its symbols.
const HEAD: usize = 3;

/// Least equal symbols behind a known piece that are worth a closer look.
const GLANCE: usize = 4;

/// Pieces that are copied one by one.
const FEW: usize = 8;

/// Pieces that a place is known by. Looked for is where the last piece is one of those (one in [`SPARSE`]) that are chosen for it, and after so many pieces.
const CONTEXT: usize = 8;
const SPARSE: u32 = 4;
/// Places that are remembered, as a power of 2.
const PLACES: u32 = 12;

#[derive(Clone, Copy)]
struct Slot {
    /// Of the piece's hash, and its length; 0: free.
    tag: u32,
    /// Where its record begins.
    at: u32,
}

const FREE: Slot = Slot { tag: 0, at: 0 };

/// The pieces of one level.
pub(super) struct Level {
    slots: Vec<Slot>,
    /// A record for each piece: its number, where it stood last (its place as `Parsed::last` has it, and its end in the block: a hint), its symbols. What a
    /// lookup needs is in one place: it waits for memory mostly.
    records: Vec<u32>,
    /// Where each record begins, and where the next one will.
    starts: Vec<u32>,
    /// By hash of the last pieces at a place: more of the hash, and the last such place as `Parsed::last` has it.
    recent: Vec<(u32, u32)>,
    /// By piece; of new ones they are not known yet.
    facts: Vec<Facts>,
}

/// What a string of terminals is, as far as it follows from those of its parts.
#[derive(Clone, Copy, Default)]
pub(super) struct Sum {
    pub(super) hash: StringHash,
    /// By how much it changes the number of open activations.
    pub(super) change: i64,
}

impl Sum {
    /// Of this one with another behind it.
    #[inline]
    pub(super) fn then(self, other: Sum) -> Sum {
        Sum {
            hash: self.hash.then(other.hash),
            change: self.change.wrapping_add(other.change),
        }
    }
}

/// What is known of a piece.
struct Facts {
    /// Of what it stands for.
    sum: Sum,
    /// How often it stood in a string that wasn't cut further.
    times: u64,
}

/// A block as pieces.
#[derive(Default)]
struct Pieces {
    /// Their numbers.
    numbers: Vec<u32>,
    /// Where each ends in the block.
    ends: Vec<u32>,
}

/// A string as pieces, block by block.
#[derive(Default)]
pub(super) struct Parsed {
    now: Pieces,
    /// The block before, as far as what repeats is looked for there.
    before: Pieces,
    /// The place of the block's first piece, modulo 2^32.
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

    /// Number of pieces known.
    pub(super) fn pieces(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of symbols of all pieces.
    pub(super) fn size(&self) -> usize {
        self.records.len() - HEAD * self.pieces()
    }

    /// The symbols of a piece.
    #[inline]
    pub(super) fn piece(&self, piece: u32) -> &[u32] {
        let [start, end] = [0, 1].map(|next| self.starts[piece as usize + next] as usize);
        &self.records[start + HEAD..end]
    }

    /// What a piece stands for, summed up.
    #[inline]
    pub(super) fn sum(&self, piece: u32) -> Sum {
        self.facts[piece as usize].sum
    }

    /// A piece stands in a string that isn't cut further; gives its sum.
    #[inline]
    pub(super) fn count(&mut self, piece: u32, times: u64) -> Sum {
        let facts = &mut self.facts[piece as usize];
        facts.times += times;
        facts.sum
    }

    /// How often each piece stood since this was asked last.
    pub(super) fn take_counts(&mut self) -> Vec<u64> {
        let facts = self.facts.iter_mut();
        facts
            .map(|facts| std::mem::take(&mut facts.times))
            .collect()
    }

    /// Sums up the pieces that are new, in the order of their first appearance; `of` gives the sum of what symbols stand for.
    pub(super) fn digest(&mut self, mut of: impl FnMut(&[u32]) -> Sum) {
        for piece in self.facts.len()..self.pieces() {
            let sum = of(self.piece(piece as u32));
            self.facts.push(Facts { sum, times: 0 });
        }
    }

    /// Cuts a block, of fewer than 2^32 symbols, into its pieces. What repeats is looked for in `before` too: the block before, if it was parsed by the same level.
    pub(super) fn parse(&mut self, block: &[u32], before: &[u32], parsed: &mut Parsed) {
        self.recent.resize(1 << PLACES, (0, u32::MAX));
        parsed.now.clear();
        let mut at = 0;
        let mut cuts = Cuts::new(block);
        let mut looked = 0;
        while at < block.len() {
            let end = cuts.after(at);
            let record = self.record(&block[at..end]);
            at = end;
            let piece = self.records[record];
            parsed.now.push(piece, end);
            let now = [parsed.last(), end as u32];
            let hint = &mut self.records[record + 1..record + HEAD];
            let last = [hint[0], hint[1]];
            hint.copy_from_slice(&now);
            let is_time = parsed.now.numbers.len() - looked >= CONTEXT;
            let looks = is_time || rank(piece) < u32::MAX / SPARSE;
            if looks {
                looked = parsed.now.numbers.len();
            }
            if (looks && self.repeats(block, before, parsed)) || parsed.glance(block, last) {
                at = parsed.now.end();
            }
        }
    }

    /// Looks for the last place with the same pieces before it, and copies what followed there.
    fn repeats(&mut self, block: &[u32], before: &[u32], parsed: &mut Parsed) -> bool {
        let Some(context) = parsed.block().last_chunk::<CONTEXT>() else {
            return false;
        };
        let context = hash(context);
        let now = (context as u32, parsed.last());
        let slot = (context >> (64 - PLACES)) as usize;
        let (tag, place) = std::mem::replace(&mut self.recent[slot], now);
        tag == now.0 && parsed.repeat(block, before, place)
    }

    /// Where the piece's record begins, a new one if it is new.
    #[inline]
    fn record(&mut self, symbols: &[u32]) -> usize {
        let hash = hash(symbols);
        let tag = tag(hash, symbols.len());
        let mask = self.slots.len() - 1;
        let mut place = hash as usize & mask;
        loop {
            let slot = self.slots[place];
            if slot.tag == tag && same(&self.records[slot.at as usize + HEAD..], symbols) {
                return slot.at as usize;
            }
            if slot.tag == 0 {
                return self.add(symbols, tag, place);
            }
            place = (place + 1) & mask;
        }
    }

    #[cold]
    fn add(&mut self, symbols: &[u32], tag: u32, place: usize) -> usize {
        let piece = self.pieces() as u32;
        let at = self.records.len();
        self.records.extend_from_slice(&[piece, u32::MAX, 0]);
        self.records.extend_from_slice(symbols);
        let end = u32::try_from(self.records.len()).expect("a segment's pieces are below 2^32");
        self.starts.push(end);
        self.slots[place] = Slot { tag, at: at as u32 };
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
            let mut place = hash as usize & (size - 1);
            while self.slots[place].tag != 0 {
                place = (place + 1) & (size - 1);
            }
            let at = self.starts[piece as usize];
            self.slots[place] = Slot { tag, at };
        }
    }
}

impl Parsed {
    /// The pieces of the block.
    pub(super) fn block(&self) -> &[u32] {
        &self.now.numbers
    }

    /// The block is the one before from now on.
    pub(super) fn go_on(&mut self) {
        self.first = self.first.wrapping_add(self.now.numbers.len() as u32);
        std::mem::swap(&mut self.now, &mut self.before);
        self.now.clear();
    }

    /// The place of the block's last piece.
    fn last(&self) -> u32 {
        self.first.wrapping_add(self.now.numbers.len() as u32 - 1)
    }

    /// The last pieces seem to be those at the place `seen`; copies what followed them then as far as the same follows now.
    fn repeat(&mut self, block: &[u32], before: &[u32], seen: u32) -> bool {
        let here = self.now.numbers.len() - 1;
        let seen = seen.wrapping_sub(self.first);
        if (seen as usize) < here {
            let seen = seen as usize;
            return self.now.numbers[seen] == self.now.numbers[here]
                && self.now.copy(block, seen + 1);
        }
        let from_end = seen.wrapping_neg() as usize;
        let Some(seen) = self.before.numbers.len().checked_sub(from_end) else {
            return false;
        };
        self.before.numbers.get(seen) == self.now.numbers.last()
            && self.now.copy_of(block, &self.before, before, seen + 1)
    }

    /// The same of a place that is known by the last piece only, and by its end: in this block, and if the next few symbols are the same.
    #[inline]
    fn glance(&mut self, block: &[u32], [seen, then]: [u32; 2]) -> bool {
        let seen = seen.wrapping_sub(self.first) as usize;
        let now = &mut self.now;
        if seen + 1 >= now.numbers.len() {
            return false;
        }
        let (then, at) = (then as usize, now.end());
        match (block.get(at..at + GLANCE), block.get(then..then + GLANCE)) {
            (Some(next), Some(followed)) => next == followed && now.copy(block, seen + 1),
            _ => false,
        }
    }
}

impl Pieces {
    fn clear(&mut self) {
        self.numbers.clear();
        self.ends.clear();
    }

    /// Where the last piece ends.
    fn end(&self) -> usize {
        self.ends.last().map_or(0, |&end| end as usize)
    }

    #[inline]
    fn push(&mut self, piece: u32, end: usize) {
        self.numbers.push(piece);
        self.ends.push(end as u32);
    }

    /// Copies what follows as far as it is the same as what stands in the block from piece `from` on; whether that is a piece or more.
    #[inline]
    fn copy(&mut self, block: &[u32], mut from: usize) -> bool {
        let (then, at) = (self.ends[from - 1] as usize, self.end());
        let limit = then + equal(&block[then..], &block[at..]);
        let (known, shift) = (self.ends.len(), (at - then) as u32);
        for _ in 0..FEW {
            if from == self.ends.len() || self.ends[from] as usize + 2 > limit {
                return self.ends.len() > known;
            }
            self.push(self.numbers[from], (self.ends[from] + shift) as usize);
            from += 1;
        }
        loop {
            let known = self.ends.len();
            let to = from + within(&self.ends[from..], limit);
            self.numbers.extend_from_within(from..to);
            self.ends.extend_from_within(from..to);
            self.ends[known..].iter_mut().for_each(|end| *end += shift);
            // What was copied may be copied again.
            if to < known || to == from {
                return true;
            }
            from = to;
        }
    }

    /// The same, of what stands in the block `before`, as `pieces`.
    fn copy_of(&mut self, block: &[u32], pieces: &Pieces, before: &[u32], from: usize) -> bool {
        let (then, at) = (pieces.ends[from - 1] as usize, self.end());
        let limit = then + equal(&before[then..], &block[at..]);
        let to = from + within(&pieces.ends[from..], limit);
        self.numbers.extend_from_slice(&pieces.numbers[from..to]);
        let ends = pieces.ends[from..to].iter();
        self.ends
            .extend(ends.map(|end| at as u32 + (end - then as u32)));
        to > from
    }
}

/// Number of pieces that end so far before `limit` that their ends are cuts in any string that is the same up to there: a cut depends on the symbols on both sides
/// and the one behind them.
#[inline]
fn within(ends: &[u32], limit: usize) -> usize {
    const STEP: usize = 16;
    let fits = |end: &u32| *end as usize + 2 <= limit;
    let steps = ends.chunks_exact(STEP);
    let count = STEP * steps.take_while(|step| fits(&step[STEP - 1])).count();
    let rest = ends[count..].iter();
    count + rest.take_while(|end| fits(end)).count()
}

/// Number of equal symbols at the starts of both.
fn equal(left: &[u32], right: &[u32]) -> usize {
    const STEP: usize = 16;
    let (steps, _) = left.as_chunks::<STEP>();
    let (others, _) = right.as_chunks::<STEP>();
    // No comparison of arrays: that is a call.
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

/// Whether a piece begins with those symbols: of a few, whose number is in its tag.
#[inline]
fn same(piece: &[u32], symbols: &[u32]) -> bool {
    piece.len() >= symbols.len() && piece.iter().zip(symbols).all(|(left, right)| left == right)
}

/// Two symbols a step.
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
    (hash >> 32) as u32 & !LENGTH | length as u32
}

/// The cuts of a block, 64 places at a time.
struct Cuts<'a> {
    block: &'a [u32],
    /// First place of the window.
    base: usize,
    /// Bit i: a cut before place `base + i`.
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
        cuts.look(0);
        cuts
    }

    /// The end of the piece that begins at `at`.
    #[inline]
    fn after(&mut self, at: usize) -> usize {
        let limit = (at + LONGEST).min(self.block.len());
        let mut from = at + 1;
        loop {
            if from < self.base || from >= self.base + WINDOW {
                self.look(from);
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
    fn look(&mut self, base: usize) {
        self.base = base;
        self.window = 0;
        if base == 0 || base + WINDOW + 1 > self.block.len() {
            let places = (0..WINDOW).take_while(|i| base + i + 1 < self.block.len());
            for i in places.filter(|i| base + i > 0) {
                let [before, here, behind] =
                    [base + i - 1, base + i, base + i + 1].map(|at| rank(self.block[at]));
                self.window |= u64::from(here < before && here <= behind) << i;
            }
            return;
        }
        let seen: &[u32; WINDOW + 2] = self.block[base - 1..base + WINDOW + 1]
            .try_into()
            .expect("a window and its neighbours");
        let ranks = seen.map(rank);
        for i in 0..WINDOW {
            let cut = (ranks[i + 1] < ranks[i]) & (ranks[i + 1] <= ranks[i + 2]);
            self.window |= u64::from(cut) << i;
        }
    }
}
