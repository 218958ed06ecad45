//! Compares the longest sequences over iterations that the options allow with the words of a real
//! program, as in [`crate::grams`]. There are millions of sequences, so hashes of their words are
//! compared.

use crate::grams::{Subject, by_activation, first_word, subject};
use anyhow::{Context, Result, ensure};
use holloway_analysis::loops::LoopsRun;
use holloway_format::Count;
use holloway_format::read_loops;
use holloway_testkit::naive::{self, StreamReading};
use holloway_tests::tool::scratch;
use holloway_tests::workload::LUA;
use std::collections::HashMap;
use std::path::Path;

const K: usize = 1024;

/// A script whose interpreter loop runs a few thousand turns without a period.
const TURNS: &str = "\
local s, n = 7, 0
for i = 1, 400 do
  s = (s * 1103515245 + 12345) % 2147483648
  if s > 1000000000 then n = n + i elseif s % 3 == 0 then n = n ~ s end
end
print(n)
";

#[test]
fn sequences_of_lua_over_up_to_1024_iterations_are_those_of_its_words() {
    let scratch = scratch("grams-long").unwrap();
    let input = Some(("turns.lua", TURNS.to_owned()));
    let subject = subject(&LUA, &["turns.lua"], input, scratch.path()).unwrap();
    check(&subject, &scratch.path().join("data")).unwrap();
}

fn check(subject: &Subject, data: &Path) -> Result<()> {
    let program = &subject.programs[0];
    let collected = data.join("collected");
    subject.run(program, &collected, Some(&["--k", &K.to_string()]))?;
    let (reading, mut image) = subject.spooled(program, &data.join("spooled"), &collected)?;
    let mut wanted = long_grams(&reading, K);
    for (word, count) in naive::left(reading.iter(), &mut image)? {
        if let Ok(count) = u64::try_from(count) {
            *wanted.entry((1, longer(0, word))).or_default() += count;
        }
    }
    let file = naive::files(&collected, "hwl")?
        .pop()
        .context("no forest")?;
    let forest = read_loops(&std::fs::read(file)?, &image.map)?;
    ensure!(forest.damage.is_empty(), "{:?}", forest.damage);
    ensure!(forest.head.k as usize == K, "k is {}", forest.head.k);
    ensure!(forest.head.stats.prunings == 0, "the forest is too large");
    let run = LoopsRun::new(vec![(image.map.clone(), vec![forest])]);
    let mut actual = 0;
    for sequences in &run.functions {
        let first = first_word(&run, &image.map, sequences);
        let kipf = sequences.kipf(K as u32, Count(1));
        let mut hashes: Vec<u64> = Vec::with_capacity(kipf.nodes().len());
        for node in kipf.nodes() {
            let before = node.parent.map_or(0, |parent| hashes[parent as usize]);
            let hash = longer(before, first + node.label);
            hashes.push(hash);
            let count = wanted.get(&(node.level, hash));
            ensure!(count == Some(&node.count.0), "{count:?} ran, not {node:?}");
        }
        actual += hashes.len();
    }
    ensure!(
        actual == wanted.len(),
        "{actual} sequences, {} ran",
        wanted.len()
    );
    let longest = wanted.keys().filter(|(length, _)| *length as usize == K);
    let longest = longest.count();
    ensure!(longest > K, "{longest} sequences of {K} paths");
    println!("{actual} sequences, {longest} of {K} paths");
    Ok(())
}

/// Counts the sequences of up to `k` consecutive words of an activation, by their number of words
/// and hash.
fn long_grams(reading: &[StreamReading], k: usize) -> HashMap<(u32, u64), u64> {
    let mut all = HashMap::new();
    for reading in reading {
        let ran = by_activation(reading);
        for &(word, count) in &reading.ring_counts {
            *all.entry((1, longer(0, word))).or_default() += count;
        }
        for from in ran
            .iter()
            .flat_map(|words| (0..words.len()).map(|at| &words[at..]))
        {
            let mut hash = 0;
            for (length, &word) in (1..).zip(from.iter().take(k)) {
                hash = longer(hash, word);
                *all.entry((length, hash)).or_default() += 1;
            }
        }
    }
    all
}

/// Returns the hash of a sequence with one more word.
fn longer(hash: u64, word: u32) -> u64 {
    (hash.rotate_left(11) ^ u64::from(word)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
