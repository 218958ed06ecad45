//! Finds the functions of a plan in a program that may have changed.
//!
//! Each level pairs functions that the levels before it left:
//!
//! 1. Equal names and graphs.
//! 2. Equal stable names, graphs, and code, or at least equal stable names and graphs.
//! 3. Equal graphs and code under another name: the function was renamed. The old name must be
//!    gone, and small functions are left out, because many look alike.
//! 4. Equal stable names: the code has changed.
//!
//! Only unambiguous functions are paired, with one exception: instances of one generic function
//! have equal stable names. Of these, the most similar are paired, if each is the other's only best
//! match.

use std::collections::{BTreeMap, BTreeSet};

use holloway_format::map::hash_of_words;
use holloway_format::{BlockCode, FunctionCode, FunctionPlan, Plan, Text};

use super::names::stable_name;
use super::program::{Program, ProgramFunction};

/// A linkage name and the hash of a graph.
pub(super) type Key = (Text, u64);

/// A renamed function has at least so many edges.
const RENAMED_EDGES: usize = 4;
/// At most so many functions with one stable name are compared with each other.
const MAX_INSTANCES: usize = 64;

struct Candidate<'a, F> {
    key: Key,
    stable_name: String,
    code: Option<u64>,
    function: &'a F,
}

type Old<'a> = Candidate<'a, FunctionPlan>;
type New<'a> = Candidate<'a, ProgramFunction>;

/// Pairs the functions of a plan and a program, by key.
pub(super) fn pair_functions(plan: &Plan, program: &Program) -> BTreeMap<Key, Key> {
    let mut pairing = Pairing::default();
    for (name, hash, function) in plan.functions() {
        let key = (name.clone(), hash);
        if program.functions.contains_key(&key) {
            pairing.pairs.insert(key.clone(), key);
        } else {
            pairing
                .old
                .push(candidate(key, function, function.code.as_ref()));
        }
    }
    for (key, function) in &program.functions {
        if !pairing.pairs.contains_key(key) {
            let code = function.code.as_ref();
            pairing.new.push(candidate(key.clone(), function, code));
        }
    }
    let with_code =
        |name: &str, key: &Key, code: Option<u64>| code.map(|code| (name.to_owned(), key.1, code));
    pairing.pair_unique(
        |old| with_code(&old.stable_name, &old.key, old.code),
        |new| with_code(&new.stable_name, &new.key, new.code),
    );
    pairing.pair_unique(
        |old| Some((old.stable_name.clone(), old.key.1)),
        |new| Some((new.stable_name.clone(), new.key.1)),
    );
    pairing.pair_renamed(plan, program);
    pairing.pair_unique(
        |old| Some(old.stable_name.clone()),
        |new| Some(new.stable_name.clone()),
    );
    pairing.pair_similar();
    pairing.pairs
}

fn candidate<'a, F>(key: Key, function: &'a F, code: Option<&FunctionCode>) -> Candidate<'a, F> {
    Candidate {
        stable_name: stable_name(&key.0),
        code: code.map(code_hash),
        key,
        function,
    }
}

/// A hash of the contents of the blocks.
fn code_hash(code: &FunctionCode) -> u64 {
    let mut words = Vec::new();
    for block in &code.blocks {
        words.extend([u64::from(block.hash), block.callees.len() as u64]);
        words.extend(block.callees.iter().map(|&callee| u64::from(callee)));
    }
    hash_of_words(&words)
}

#[derive(Default)]
struct Pairing<'a> {
    old: Vec<Old<'a>>,
    new: Vec<New<'a>>,
    pairs: BTreeMap<Key, Key>,
}

impl<'a> Pairing<'a> {
    /// Pairs the functions whose properties no other function of their side has.
    fn pair_unique<K: Ord>(
        &mut self,
        of_old: impl Fn(&Old<'a>) -> Option<K>,
        of_new: impl Fn(&New<'a>) -> Option<K>,
    ) {
        let groups = self.groups(of_old, of_new);
        let pairs =
            groups
                .into_values()
                .filter_map(|sides| match sides.each_ref().map(Vec::as_slice) {
                    [&[old], &[new]] => Some((old, new)),
                    _ => None,
                });
        self.pair_all(pairs.collect());
    }

    /// The indices of the functions with equal properties.
    fn groups<K: Ord>(
        &self,
        of_old: impl Fn(&Old<'a>) -> Option<K>,
        of_new: impl Fn(&New<'a>) -> Option<K>,
    ) -> BTreeMap<K, [Vec<usize>; 2]> {
        let mut groups: BTreeMap<K, [Vec<usize>; 2]> = BTreeMap::new();
        for (index, old) in self.old.iter().enumerate() {
            if let Some(key) = of_old(old) {
                groups.entry(key).or_default()[0].push(index);
            }
        }
        for (index, new) in self.new.iter().enumerate() {
            if let Some(key) = of_new(new) {
                groups.entry(key).or_default()[1].push(index);
            }
        }
        groups
    }

    fn pair_all(&mut self, pairs: Vec<(usize, usize)>) {
        let (mut old, mut new) = (BTreeSet::new(), BTreeSet::new());
        for (a, b) in pairs {
            let keys = (self.old[a].key.clone(), self.new[b].key.clone());
            self.pairs.insert(keys.0, keys.1);
            old.insert(a);
            new.insert(b);
        }
        retain_others(&mut self.old, &old);
        retain_others(&mut self.new, &new);
    }

    fn pair_renamed(&mut self, plan: &Plan, program: &Program) {
        let names = |names: &mut dyn Iterator<Item = &Text>| -> BTreeSet<String> {
            names.map(|name| stable_name(name)).collect()
        };
        let old_names = names(&mut plan.functions().map(|(name, ..)| name));
        let new_names = names(&mut program.functions.keys().map(|(name, _)| name));
        self.pair_unique(
            |old| {
                let is_gone = !new_names.contains(&old.stable_name);
                let is_large = old.function.edge_count >= RENAMED_EDGES;
                old.code
                    .filter(|_| is_gone && is_large)
                    .map(|code| (old.key.1, code))
            },
            |new| {
                let is_added = !old_names.contains(&new.stable_name);
                new.code.filter(|_| is_added).map(|code| (new.key.1, code))
            },
        );
    }

    /// Pairs functions with equal stable names that are each other's only best match.
    fn pair_similar(&mut self) {
        let groups = self.groups(
            |old| Some(old.stable_name.clone()),
            |new| Some(new.stable_name.clone()),
        );
        let mut pairs = Vec::new();
        for [old, new] in groups.into_values() {
            if old.len().max(new.len()) > MAX_INSTANCES {
                continue;
            }
            let score = |a: usize, b: usize| {
                let codes = (&self.old[a].function.code, &self.new[b].function.code);
                let (Some(a), Some(b)) = codes else { return 0 };
                similarity(a, b)
            };
            for &a in &old {
                let best = only_best(&new, |b| score(a, b));
                let back = best.and_then(|b| only_best(&old, |a| score(a, b)));
                if let (Some(b), Some(back)) = (best, back)
                    && back == a
                {
                    pairs.push((a, b));
                }
            }
        }
        self.pair_all(pairs);
    }
}

fn retain_others<T>(items: &mut Vec<T>, taken: &BTreeSet<usize>) {
    let mut index = 0;
    items.retain(|_| {
        index += 1;
        !taken.contains(&(index - 1))
    });
}

/// The item with the highest score above 0, if no other item has this score.
fn only_best(items: &[usize], score: impl Fn(usize) -> u64) -> Option<usize> {
    let scores: Vec<u64> = items.iter().map(|&item| score(item)).collect();
    let best = scores.iter().copied().max().filter(|&best| best > 0)?;
    let mut winners = items.iter().zip(&scores).filter(|(_, s)| **s == best);
    let (&winner, _) = winners.next()?;
    winners.next().is_none().then_some(winner)
}

/// The share of blocks with equal contents, in millionths of all blocks of both functions.
fn similarity(a: &FunctionCode, b: &FunctionCode) -> u64 {
    let mut contents: BTreeMap<&BlockCode, [u64; 2]> = BTreeMap::new();
    for (side, code) in [a, b].into_iter().enumerate() {
        for block in &code.blocks {
            contents.entry(block).or_default()[side] += 1;
        }
    }
    let common: u64 = contents.values().map(|[a, b]| a.min(b)).sum();
    2_000_000 * common / (a.blocks.len() + b.blocks.len()).max(1) as u64
}
