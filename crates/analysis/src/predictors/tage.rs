//! TAGE: a base predictor, and tables of partially tagged counters that are indexed with longer and
//! longer parts of the global history (Seznec, Michaud 2006, "A case for (partially) tagged
//! geometric history length branch prediction").
//!
//! The entry with the longest matching history, the *provider*, predicts. Where it is new and weak,
//! the match with the next shorter history, the *alternate*, may predict instead. After a
//! misprediction, a longer history gets an entry, unless the new provider was right.
//!
//! Deviations from the paper:
//!
//! - The history is hashed by multiplication, not folded into shift registers of 8 to 12 bits. In a
//!   loop with n branches, the outcomes of one branch are n bits apart. Where n divides the width
//!   of a register, these outcomes meet in the same few bits, and different histories get the same
//!   index and tag. The history of the path, which hardware adds, separates them only in part. An
//!   example is a branch that is taken in every eighth turn of a loop, beside a random branch and
//!   two that are always taken: with 1,024 entries in each table, the folded TAGE mispredicts it in
//!   12.4 % of the turns, as if it knew nothing of the period. The hashed TAGE mispredicts 9.5 %,
//!   and 4.0 % with the 4,096 entries of this model; the rest is for lack of entries, because each
//!   turn of the random branch doubles the histories.
//! - Usefulness is halved, instead of clearing its upper and its lower bit by turns.
//!
//! Cost: for each branch and table, a multiplication and a look-up.

/// Entries of a tagged table, as a power of two.
const TABLE_BITS: u32 = 12;
const ENTRIES: usize = 1 << TABLE_BITS;
/// Two-bit counters of the base predictor.
const BASE_ENTRIES: usize = 1 << 15;
/// Outcomes that the history keeps: a power of two, more than the longest history of any table.
const HISTORY_LENGTH: usize = 1 << 11;
/// Predictions between two halvings of the usefulness of all entries.
const AGING_PERIOD: u32 = 1 << 18;
/// Bits of an entry's counter and of its usefulness.
const COUNTER_BITS: u32 = 3;
const USEFUL_BITS: u32 = 2;
/// Maximum number of bits of a tag.
const MAX_TAG_BITS: u32 = 14;
/// Odd numbers with irregular bits: 2⁶⁴ divided by the golden ratio, and the multiplier of Knuth's
/// MMIX generator. They spread the history and the address.
const HISTORY_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
const ADDRESS_FACTOR: u64 = 6_364_136_223_846_793_005;

/// The recent outcomes, as a ring.
#[derive(Clone, Debug)]
struct History {
    bits: Box<[u8; HISTORY_LENGTH]>,
    newest: usize,
}

impl History {
    fn new() -> History {
        History {
            bits: Box::new([0; HISTORY_LENGTH]),
            newest: 0,
        }
    }

    fn push(&mut self, bit: u8) {
        self.newest = self.newest.wrapping_sub(1) % HISTORY_LENGTH;
        self.bits[self.newest] = bit;
    }

    /// The outcome `age` branches ago; 0 is the newest.
    fn bit(&self, age: usize) -> u8 {
        self.bits[(self.newest + age) % HISTORY_LENGTH]
    }
}

/// The hash of a part of the history: the sum of a power of [`HISTORY_FACTOR`] for each taken
/// branch. The power is the branch's age plus 1, so that the newest outcome, too, changes the upper
/// bits.
#[derive(Clone, Copy, Debug)]
struct HistoryHash {
    value: u64,
    /// Outcomes of the history.
    length: usize,
    /// The summand of the outcome that is too old now.
    too_old: u64,
}

impl HistoryHash {
    fn new(length: u32) -> HistoryHash {
        HistoryHash {
            value: 0,
            length: length as usize,
            too_old: HISTORY_FACTOR.wrapping_pow(length + 1),
        }
    }

    /// Adds the newest outcome, and removes the outcome that is too old now.
    #[inline]
    fn update(&mut self, history: &History) {
        let too_old = 0u64.wrapping_sub(u64::from(history.bit(self.length))) & self.too_old;
        self.value = self
            .value
            .wrapping_add(u64::from(history.bit(0)))
            .wrapping_mul(HISTORY_FACTOR)
            .wrapping_sub(too_old);
    }
}

#[derive(Clone, Copy, Default, Debug)]
struct Entry {
    /// From −4 to 3. Taken if it is not negative.
    counter: i8,
    useful: u8,
    tag: u16,
}

impl Entry {
    fn is_taken(self) -> bool {
        self.counter >= 0
    }

    /// Whether the entry is probably new: it has not yet been right.
    fn is_new(self) -> bool {
        self.useful == 0 && matches!(self.counter, -1 | 0)
    }

    fn train(&mut self, is_taken: bool) {
        self.counter = match is_taken {
            true => (self.counter + 1).min(3),
            false => (self.counter - 1).max(-4),
        };
    }
}

/// The place of a branch in a table, given the history.
#[derive(Clone, Copy, Debug)]
struct Slot {
    index: u16,
    tag: u16,
}

/// The prediction, and whether a misprediction makes an entry.
struct Verdict {
    prediction: bool,
    may_allocate: bool,
}

/// A TAGE predictor with `N` tagged tables.
#[derive(Clone, Debug)]
pub(super) struct Tage<const N: usize> {
    base: Box<[u8; BASE_ENTRIES]>,
    tables: Box<[[Entry; ENTRIES]; N]>,
    /// By table.
    tag_masks: [u16; N],
    hashes: [HistoryHash; N],
    history: History,
    /// Whether new entries predict worse than the alternate: yes if it is not negative.
    distrust: i8,
    until_aging: u32,
    /// Chooses between tables for a new entry.
    random: u32,
}

impl<const N: usize> Tage<N> {
    /// A predictor whose tables use these lengths of history, shortest first.
    pub(super) fn new(lengths: &[u32; N]) -> Tage<N> {
        Tage {
            base: Box::new([1; BASE_ENTRIES]),
            tables: vec![[Entry::default(); ENTRIES]; N]
                .try_into()
                .expect("as many tables"),
            // Longer histories have longer tags: 9 bits for the shortest two, then one more for
            // each two.
            tag_masks: std::array::from_fn(|table| {
                (1 << (9 + table as u32 / 2).min(MAX_TAG_BITS)) - 1
            }),
            hashes: lengths.map(HistoryHash::new),
            history: History::new(),
            distrust: 0,
            until_aging: AGING_PERIOD,
            random: 1,
        }
    }

    /// Size of the tables in bits.
    pub(super) fn bits(&self) -> u64 {
        let entries = self.tag_masks.iter();
        let entries = entries.map(|mask| COUNTER_BITS + USEFUL_BITS + mask.count_ones());
        2 * BASE_ENTRIES as u64 + ENTRIES as u64 * u64::from(entries.sum::<u32>())
    }

    /// Predicts an execution, learns its outcome, and returns whether the prediction was right.
    #[inline]
    pub(super) fn execute(&mut self, address: u64, is_taken: bool) -> bool {
        let slots = self.slots(address);
        let matches = self.matches(&slots);
        let provider = matches.checked_ilog2().map(|table| table as usize);
        let counter = &mut self.base[address as usize % BASE_ENTRIES];
        let base_taken = *counter >= 2;
        let verdict = match provider {
            Some(table) => {
                let alternate = (matches ^ 1 << table).checked_ilog2();
                let alternate_taken = alternate.map_or(base_taken, |alternate| {
                    self.entry(alternate as usize, &slots).is_taken()
                });
                self.provide(table, slots[table], alternate_taken, is_taken)
            }
            None => {
                *counter = match is_taken {
                    true => (*counter + 1).min(3),
                    false => counter.saturating_sub(1),
                };
                Verdict {
                    prediction: base_taken,
                    may_allocate: true,
                }
            }
        };
        let is_right = verdict.prediction == is_taken;
        if !is_right && verdict.may_allocate {
            self.allocate(provider.map_or(0, |table| table + 1), &slots, is_taken);
        }
        self.age();
        self.push(u8::from(is_taken));
        is_right
    }

    /// By table: the branch's slot.
    #[inline]
    fn slots(&self, address: u64) -> [Slot; N] {
        let address = address.wrapping_mul(ADDRESS_FACTOR);
        std::array::from_fn(|table| {
            let hash = self.hashes[table].value.wrapping_add(address);
            let tag = hash >> (u64::BITS - TABLE_BITS - MAX_TAG_BITS);
            Slot {
                index: (hash >> (u64::BITS - TABLE_BITS)) as u16,
                tag: tag as u16 & self.tag_masks[table],
            }
        })
    }

    /// The tables with a matching entry, as bits.
    #[inline]
    fn matches(&self, slots: &[Slot; N]) -> u32 {
        (0..N).fold(0, |matches, table| {
            let is_match = self.entry(table, slots).tag == slots[table].tag;
            matches | u32::from(is_match) << table
        })
    }

    #[inline]
    fn entry(&self, table: usize, slots: &[Slot; N]) -> Entry {
        self.tables[table][slots[table].index as usize % ENTRIES]
    }

    #[inline]
    fn entry_mut(&mut self, table: usize, slot: Slot) -> &mut Entry {
        &mut self.tables[table][slot.index as usize % ENTRIES]
    }

    /// Predicts with the provider or the alternate, and trains the provider.
    #[inline]
    fn provide(
        &mut self,
        table: usize,
        slot: Slot,
        alternate_taken: bool,
        is_taken: bool,
    ) -> Verdict {
        let distrust = self.distrust;
        let learning = self.entry_mut(table, slot);
        let entry = *learning;
        let is_right = entry.is_taken() == is_taken;
        let differs = entry.is_taken() != alternate_taken;
        learning.train(is_taken);
        if differs {
            learning.useful = match is_right {
                true => (entry.useful + 1).min(3),
                false => entry.useful.saturating_sub(1),
            };
        }
        if entry.is_new() && differs {
            let step = if is_right { -1 } else { 1 };
            self.distrust = (distrust + step).clamp(-8, 7);
        }
        Verdict {
            prediction: match entry.is_new() && distrust >= 0 {
                true => alternate_taken,
                false => entry.is_taken(),
            },
            // A new entry that was right needs training, not a successor.
            may_allocate: !(entry.is_new() && is_right),
        }
    }

    /// Makes an entry in a table with a longer history, from table `shortest` on. Each table is
    /// twice as probable as the next one, so that entries do not all meet in one table.
    fn allocate(&mut self, shortest: usize, slots: &[Slot; N], is_taken: bool) {
        self.random = self
            .random
            .wrapping_mul(1_664_525)
            .wrapping_add(1_013_904_223);
        let skipped = (self.random >> 16).trailing_ones() as usize;
        let first = (shortest + skipped).min(N - 1).max(shortest);
        let mut tables = (first..N).chain(shortest..first);
        match tables.find(|&table| self.entry(table, slots).useful == 0) {
            Some(table) => {
                let slot = slots[table];
                *self.entry_mut(table, slot) = Entry {
                    counter: if is_taken { 0 } else { -1 },
                    useful: 0,
                    tag: slot.tag,
                };
            }
            None => {
                for (table, &slot) in slots.iter().enumerate().skip(shortest) {
                    let entry = self.entry_mut(table, slot);
                    entry.useful = entry.useful.saturating_sub(1);
                }
            }
        }
    }

    #[inline]
    fn age(&mut self) {
        self.until_aging -= 1;
        if self.until_aging == 0 {
            self.until_aging = AGING_PERIOD;
            let entries = self.tables.iter_mut().flatten();
            entries.for_each(|entry| entry.useful /= 2);
        }
    }

    /// Adds a bit to the global history.
    #[inline]
    pub(super) fn push(&mut self, bit: u8) {
        self.history.push(bit);
        for hash in &mut self.hashes {
            hash.update(&self.history);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(state: &mut u32) -> u32 {
        *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *state >> 16
    }

    /// Hashing step by step equals hashing the history as a whole.
    #[test]
    fn hashes_are_up_to_date() {
        for length in [1, 5, 44, 130, 1000] {
            let (mut history, mut hash) = (History::new(), HistoryHash::new(length));
            let mut state = 1;
            for _ in 0..3000 {
                history.push((random(&mut state) & 1) as u8);
                hash.update(&history);
            }
            let ages = (0..length).filter(|&age| history.bit(age as usize) == 1);
            let whole = ages.fold(0u64, |sum, age| {
                sum.wrapping_add(HISTORY_FACTOR.wrapping_pow(age + 1))
            });
            assert_eq!(hash.value, whole, "{length}");
        }
    }

    /// Different histories have different slots, also where the outcomes of one branch are n bits
    /// apart. About one pair in 1,500 shares a slot by chance.
    #[test]
    fn periodic_histories_have_their_own_slots() {
        const HISTORIES: usize = 256;
        for branches in 1..=12 {
            let mut tage = Tage::new(&[8 * branches]);
            let mut slots = Vec::new();
            for outcomes in 0..HISTORIES {
                for turn in 0..8 {
                    tage.push((outcomes >> turn & 1) as u8);
                    (1..branches).for_each(|_| tage.push(1));
                }
                let [Slot { index, tag }] = tage.slots(64);
                slots.push((index, tag));
            }
            slots.sort_unstable();
            slots.dedup();
            assert!(slots.len() >= HISTORIES - 2, "{branches}: {}", slots.len());
        }
    }

    /// The counter and the usefulness that a branch's provider has in a table.
    fn entry_of(tage: &Tage<2>, table: usize) -> (i8, u8) {
        let slots = tage.slots(64);
        let entry = tage.entry(table, &slots);
        assert_eq!(entry.tag, slots[table].tag, "the table has an entry");
        (entry.counter, entry.useful)
    }

    /// A misprediction makes an entry, which is weak in the branch's direction. While it is new,
    /// the alternate predicts, and a second misprediction trains it, but makes no other entry.
    #[test]
    fn a_new_entry_that_was_right_has_no_successor() {
        // The history stays the same: all branches are taken.
        let mut tage = Tage::new(&[4, 8]);
        (0..8).for_each(|_| tage.push(1));
        let slots = tage.slots(64);
        assert!(!tage.execute(64, true), "the base predicts not taken");
        let made = tage.matches(&slots);
        assert_eq!(made.count_ones(), 1, "one entry");
        let table = made.ilog2() as usize;
        assert_eq!(entry_of(&tage, table), (0, 0));
        // The base still predicts not taken: only the provider learns.
        tage.base.fill(0);
        assert!(!tage.execute(64, true), "the new entry is not trusted yet");
        assert_eq!(tage.matches(&slots), made, "no other entry");
        assert_eq!(entry_of(&tage, table), (1, 1));
        assert_eq!(tage.distrust, -1);
        assert!(tage.execute(64, true), "the entry predicts");
        assert_eq!(entry_of(&tage, table), (2, 2));
    }

    /// A wrong provider in the table with the longest history loses usefulness, and keeps its slot.
    #[test]
    fn the_longest_history_has_no_successor() {
        let mut tage = Tage::new(&[4, 8]);
        (0..8).for_each(|_| tage.push(1));
        let slots = tage.slots(64);
        *tage.entry_mut(1, slots[1]) = Entry {
            counter: 3,
            useful: 2,
            tag: slots[1].tag,
        };
        assert!(!tage.execute(64, false));
        assert_eq!(tage.matches(&slots), 0b10);
        let entry = tage.entry(1, &slots);
        assert_eq!((entry.counter, entry.useful), (2, 1));
    }

    /// Where no entry is free, all lose usefulness, so that the next misprediction finds one.
    #[test]
    fn useful_entries_are_kept_once() {
        let mut tage = Tage::new(&[4, 8]);
        let slots = tage.slots(64);
        for (table, &slot) in slots.iter().enumerate() {
            tage.entry_mut(table, slot).useful = 1;
            tage.entry_mut(table, slot).tag = !slot.tag;
        }
        let useful = |tage: &Tage<2>| [0, 1].map(|table| tage.entry(table, &slots).useful);
        tage.allocate(0, &slots, true);
        assert_eq!((tage.matches(&slots), useful(&tage)), (0, [0, 0]));
        tage.allocate(0, &slots, true);
        assert_eq!(tage.matches(&slots).count_ones(), 1);
    }

    /// Half of the entries are in the first table, a quarter in the second, and so on.
    #[test]
    fn shorter_histories_get_more_entries() {
        let mut tage = Tage::new(&[4, 8, 16]);
        let mut made = [0u32; 3];
        for _ in 0..8000 {
            let slots = tage.slots(64);
            tage.allocate(0, &slots, true);
            let table = tage.matches(&slots).ilog2() as usize;
            made[table] += 1;
            tage.entry_mut(table, slots[table]).tag ^= 1;
        }
        // No table follows the third, so it also gets the rest.
        for (made, expected) in made.into_iter().zip([4000, 2000, 2000]) {
            assert!(made.abs_diff(expected) < 200, "{made}");
        }
    }
}
