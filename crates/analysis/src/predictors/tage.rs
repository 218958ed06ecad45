//! TAGE: a base predictor, and tables of partially tagged counters that are indexed with longer and
//! longer parts of the global history (Seznec, Michaud 2006).
//!
//! The entry with the longest matching history predicts. Where it is new and weak, the entry with
//! the next shorter history may predict instead. After a misprediction, a longer history gets an
//! entry.

/// Entries of a tagged table, as a power of two.
const TABLE_BITS: u32 = 10;
/// Two-bit counters of the base predictor, as a power of two.
const BASE_BITS: u32 = 13;
/// Bits of the longest history that any table uses, as a power of two.
const HISTORY_BITS: u32 = 11;
/// Predictions between two halvings of the usefulness of all entries.
const AGING_PERIOD: u32 = 1 << 18;
/// Bits of an entry's counter and of its usefulness.
const COUNTER_BITS: u32 = 3;
const USEFUL_BITS: u32 = 2;

/// The recent outcomes, as a ring of bits.
#[derive(Clone, Debug)]
struct History {
    bits: Vec<u8>,
    newest: usize,
}

impl History {
    fn new() -> History {
        History {
            bits: vec![0; 1 << HISTORY_BITS],
            newest: 0,
        }
    }

    fn push(&mut self, bit: u8) {
        self.newest = self.newest.wrapping_sub(1) & (self.bits.len() - 1);
        self.bits[self.newest] = bit;
    }

    /// The outcome `age` branches ago; 0 is the newest.
    fn bit(&self, age: usize) -> u8 {
        self.bits[(self.newest + age) & (self.bits.len() - 1)]
    }
}

/// Bits from one lane of [`Folded`] to the next.
const LANE: u32 = 21;

/// A part of the history, folded to a few bits in three widths. The three values lie in *lanes* of
/// one word, so that a few operations keep all of them up to date.
#[derive(Clone, Copy, Debug)]
struct Folded {
    lanes: u64,
    /// Bits of the history.
    length: u32,
    /// Bits of each value.
    widths: [u32; 3],
    /// In each lane, the bit where the oldest outcome leaves.
    oldest: u64,
    /// The bits of the values.
    mask: u64,
}

impl Folded {
    fn new(length: u32, widths: [u32; 3]) -> Folded {
        let in_lanes = |bits: [u32; 3]| {
            let lanes = (0..).zip(bits);
            lanes.fold(0, |word, (lane, bits)| {
                word | u64::from(bits) << (LANE * lane)
            })
        };
        Folded {
            lanes: 0,
            length,
            widths,
            oldest: in_lanes(widths.map(|width| 1 << (length % width))),
            mask: in_lanes(widths.map(|width| (1 << width) - 1)),
        }
    }

    /// The value in a lane.
    fn value(&self, lane: usize) -> u32 {
        (self.lanes >> (LANE * lane as u32)) as u32 & ((1 << self.widths[lane]) - 1)
    }

    /// Adds the newest bit, and removes the bit that is too old now.
    #[inline]
    fn update(&mut self, history: &History) {
        const FIRST_BITS: u64 = 1 | 1 << LANE | 1 << (2 * LANE);
        let newest = 0u64.wrapping_sub(u64::from(history.bit(0))) & FIRST_BITS;
        let too_old = 0u64.wrapping_sub(u64::from(history.bit(self.length as usize))) & self.oldest;
        let shifted = (self.lanes << 1 | newest) ^ too_old;
        // The bit that leaves a value at the top comes back at the bottom.
        let [first, second, third] = self.widths;
        let first = shifted >> first & 1;
        let second = shifted >> second & 1 << LANE;
        let third = shifted >> third & 1 << (2 * LANE);
        self.lanes = (shifted ^ first ^ second ^ third) & self.mask;
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

    fn is_weak(self) -> bool {
        matches!(self.counter, -1 | 0)
    }

    fn train(&mut self, is_taken: bool) {
        self.counter = match is_taken {
            true => (self.counter + 1).min(3),
            false => (self.counter - 1).max(-4),
        };
    }
}

#[derive(Clone, Debug)]
struct Table {
    entries: Vec<Entry>,
    tag_bits: u32,
    /// The history for the index, and twice for the tag.
    folded: Folded,
}

impl Table {
    fn new(length: u32, tag_bits: u32) -> Table {
        Table {
            entries: vec![Entry::default(); 1 << TABLE_BITS],
            tag_bits,
            folded: Folded::new(length, [TABLE_BITS, tag_bits, tag_bits - 1]),
        }
    }

    fn index(&self, address: u64) -> usize {
        let address = address as u32;
        let hash = address ^ (address >> TABLE_BITS) ^ self.folded.value(0);
        (hash & ((1 << TABLE_BITS) - 1)) as usize
    }

    fn tag(&self, address: u64) -> u16 {
        let hash = address as u32 ^ self.folded.value(1) ^ (self.folded.value(2) << 1);
        (hash & ((1 << self.tag_bits) - 1)) as u16
    }
}

/// A TAGE predictor.
#[derive(Clone, Debug)]
pub(super) struct Tage {
    base: Vec<u8>,
    tables: Vec<Table>,
    history: History,
    /// Whether new entries predict worse than the next shorter history: yes if it is not negative.
    distrust: i8,
    until_aging: u32,
    /// Chooses between tables for a new entry.
    random: u32,
}

impl Tage {
    /// A predictor whose tables use these lengths of history, shortest first.
    pub(super) fn new(lengths: &[u32]) -> Tage {
        let tables = lengths.iter().zip(0u32..);
        // Longer histories have longer tags: 9 bits for the shortest two, then one more for each
        // two.
        let tables = tables.map(|(&length, number)| Table::new(length, (9 + number / 2).min(14)));
        Tage {
            base: vec![1; 1 << BASE_BITS],
            tables: tables.collect(),
            history: History::new(),
            distrust: 0,
            until_aging: AGING_PERIOD,
            random: 1,
        }
    }

    /// Size of the tables in bits.
    pub(super) fn bits(&self) -> u64 {
        let tables = self.tables.iter();
        let tables = tables.map(|table| {
            u64::from(COUNTER_BITS + USEFUL_BITS + table.tag_bits) * table.entries.len() as u64
        });
        2 * self.base.len() as u64 + tables.sum::<u64>()
    }

    /// Predicts an execution, learns its outcome, and returns whether the prediction was right.
    pub(super) fn execute(&mut self, address: u64, is_taken: bool) -> bool {
        let base = address as usize & (self.base.len() - 1);
        let base_taken = self.base[base] >= 2;
        let (mut provider, mut alternate) = (None, None);
        for (number, table) in self.tables.iter().enumerate().rev() {
            let index = table.index(address);
            if table.entries[index].tag == table.tag(address) {
                if provider.is_none() {
                    provider = Some((number, index));
                } else {
                    alternate = Some((number, index));
                    break;
                }
            }
        }
        let predicted_by = |entry: Option<(usize, usize)>| {
            entry.map(|(number, index)| self.tables[number].entries[index])
        };
        let alternate_taken = predicted_by(alternate).map_or(base_taken, Entry::is_taken);
        let entry = predicted_by(provider);
        let prediction = match entry {
            Some(entry) if entry.is_weak() && entry.useful == 0 && self.distrust >= 0 => {
                alternate_taken
            }
            Some(entry) => entry.is_taken(),
            None => base_taken,
        };
        if let (Some((number, index)), Some(entry)) = (provider, entry) {
            let differs = entry.is_taken() != alternate_taken;
            if entry.is_weak() && entry.useful == 0 && differs {
                let step = if alternate_taken == is_taken { 1 } else { -1 };
                self.distrust = (self.distrust + step).clamp(-8, 7);
            }
            let learning = &mut self.tables[number].entries[index];
            learning.train(is_taken);
            if differs {
                learning.useful = match entry.is_taken() == is_taken {
                    true => (learning.useful + 1).min(3),
                    false => learning.useful.saturating_sub(1),
                };
            }
        } else {
            let counter = &mut self.base[base];
            *counter = match is_taken {
                true => (*counter + 1).min(3),
                false => counter.saturating_sub(1),
            };
        }
        let is_right = prediction == is_taken;
        if !is_right {
            let shortest = provider.map_or(0, |(number, _)| number + 1);
            self.allocate(shortest, address, is_taken);
        }
        self.age();
        self.push(u8::from(is_taken));
        is_right
    }

    /// Makes an entry in a table with a longer history, beginning with table `shortest`.
    fn allocate(&mut self, shortest: usize, address: u64, is_taken: bool) {
        self.random = self
            .random
            .wrapping_mul(1_664_525)
            .wrapping_add(1_013_904_223);
        let longer = self.tables.len() - shortest;
        // Every fourth entry begins one table later, so that entries do not all meet in one table.
        let skipped = usize::from(self.random >> 30 == 0 && longer > 1);
        let first = shortest + skipped;
        let free = (first..self.tables.len()).find(|&number| {
            let table = &self.tables[number];
            table.entries[table.index(address)].useful == 0
        });
        match free {
            Some(number) => {
                let table = &mut self.tables[number];
                let (index, tag) = (table.index(address), table.tag(address));
                table.entries[index] = Entry {
                    counter: if is_taken { 0 } else { -1 },
                    useful: 0,
                    tag,
                };
            }
            None => {
                for table in &mut self.tables[shortest..] {
                    let index = table.index(address);
                    let entry = &mut table.entries[index];
                    entry.useful = entry.useful.saturating_sub(1);
                }
            }
        }
    }

    fn age(&mut self) {
        self.until_aging -= 1;
        if self.until_aging == 0 {
            self.until_aging = AGING_PERIOD;
            let entries = self.tables.iter_mut().flat_map(|table| &mut table.entries);
            entries.for_each(|entry| entry.useful /= 2);
        }
    }

    /// Adds a bit to the global history.
    pub(super) fn push(&mut self, bit: u8) {
        self.history.push(bit);
        for table in &mut self.tables {
            table.folded.update(&self.history);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Folding step by step equals folding the history as a whole.
    #[test]
    fn folded_histories_are_up_to_date() {
        for (length, widths) in [
            (5, [10, 9, 8]),
            (44, [10, 11, 10]),
            (130, [10, 9, 13]),
            (1000, [13, 14, 10]),
            (20, [10, 10, 10]),
        ] {
            let (mut history, mut folded) = (History::new(), Folded::new(length, widths));
            let mut state = 1u32;
            for _ in 0..3000 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                history.push((state >> 31) as u8);
                folded.update(&history);
            }
            for (lane, width) in widths.into_iter().enumerate() {
                let bits = (0..length).map(|age| {
                    let position = age % width;
                    u32::from(history.bit(age as usize)) << position
                });
                let whole = bits.fold(0, |a, b| a ^ b);
                assert_eq!(folded.value(lane), whole, "{length} {width}");
            }
        }
    }
}
