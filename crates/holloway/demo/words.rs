//! Invents, counts, and sorts words.

/// A word and how often it occurs.
pub struct Entry {
    pub word: String,
    pub count: u32,
}

/// A text of `words` words. A linear congruential generator makes the same text on every machine.
#[inline(never)]
pub fn invent(words: u32) -> String {
    let mut state = 2_463_534_242u32;
    let mut random = move |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % below
    };
    let mut text = String::new();
    for _ in 0..words {
        for _ in 0..=random(2) {
            text.push(b"bdklmnrst"[random(9) as usize].into());
            text.push(b"aaeeiou"[random(7) as usize].into());
        }
        text.push(if random(12) == 0 { '\n' } else { ' ' });
    }
    text
}

/// Counts the words of a text in an open hash table.
#[inline(never)]
pub fn count(text: &str) -> Vec<Entry> {
    let mut table: Vec<Option<Entry>> = Vec::new();
    table.resize_with(8192, || None);
    for word in text.split_ascii_whitespace() {
        let mut slot = hash(word) & 8191;
        loop {
            match &mut table[slot] {
                Some(entry) if entry.word == word => {
                    entry.count += 1;
                    break;
                }
                Some(_) => slot = (slot + 1) & 8191,
                empty => {
                    *empty = Some(Entry {
                        word: word.to_owned(),
                        count: 1,
                    });
                    break;
                }
            }
        }
    }
    table.into_iter().flatten().collect()
}

fn hash(word: &str) -> usize {
    word.bytes().fold(5381, |hash: usize, byte| {
        (hash << 5).wrapping_add(hash) ^ usize::from(byte)
    })
}

/// Sorts by descending count, then by word. The branches of this heapsort follow the data.
pub fn sort(entries: &mut [Entry]) {
    for root in (0..entries.len() / 2).rev() {
        sift(entries, root);
    }
    for end in (1..entries.len()).rev() {
        entries.swap(0, end);
        sift(&mut entries[..end], 0);
    }
}

#[inline(never)]
fn sift(entries: &mut [Entry], mut root: usize) {
    loop {
        let mut child = 2 * root + 1;
        if child >= entries.len() {
            return;
        }
        if child + 1 < entries.len() && before(&entries[child], &entries[child + 1]) {
            child += 1;
        }
        if !before(&entries[root], &entries[child]) {
            return;
        }
        entries.swap(root, child);
        root = child;
    }
}

fn before(a: &Entry, b: &Entry) -> bool {
    a.count > b.count || (a.count == b.count && a.word < b.word)
}

/// The number of vowel groups of a word.
#[inline(never)]
pub fn syllables(word: &str) -> usize {
    let mut groups = 0;
    let mut in_vowel = false;
    for byte in word.bytes() {
        let vowel = matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u');
        if vowel && !in_vowel {
            groups += 1;
        }
        in_vowel = vowel;
    }
    groups
}
