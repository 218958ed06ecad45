//! Converts timings by word, as the builder reads them, to timings by function and path, as files
//! store them.

use holloway_flow::PathId;
use holloway_format::{
    Count, FunctionCounts, FunctionTimings, PathTimings, Profile, VariationHead, VariationProfile,
    VariationStats,
};

use super::builder::Timings;
use crate::stream::{WordFunction, Words};

/// Converts a process's timings to the form of its file. `head` identifies the process. The
/// statistics in `head` are added to those of the timings.
pub fn seal(mut head: VariationHead, words: &Words, timings: &Timings) -> VariationProfile {
    head.stats.add(&timings.stats);
    let mut by_word: Vec<(u32, &PathTimings)> = timings
        .paths
        .iter()
        .map(|(word, timings)| (*word, timings))
        .collect();
    by_word.sort_unstable_by_key(|(word, _)| *word);
    let mut remaining = &by_word[..];
    let mut functions = Vec::new();
    for word_function in words.functions() {
        let WordFunction {
            first,
            paths,
            index,
        } = word_function;
        let end = remaining.partition_point(|(word, _)| *word < first + paths);
        let (of_function, after) = remaining.split_at(end);
        remaining = after;
        let paths = of_function.iter().map(|(word, timings)| PathTimings {
            path: PathId((word - first).into()),
            ..(*timings).clone()
        });
        let paths: Vec<PathTimings> = paths.collect();
        if !paths.is_empty() {
            functions.push(FunctionTimings {
                index,
                hash: words.hash(index),
                paths,
            });
        }
    }
    functions.sort_by_key(|function| function.index);
    VariationProfile {
        head,
        functions,
        damage: Vec::new(),
    }
}

/// Adds later timings of the same process to `sum`.
pub fn join(sum: &mut VariationProfile, later: VariationProfile) {
    sum.head.stats.add(&later.head.stats);
    sum.head.process.threads = sum.head.process.threads.max(later.head.process.threads);
    sum.damage.extend(later.damage);
    for function in later.functions {
        let functions = &mut sum.functions;
        match functions.binary_search_by_key(&function.index, |known| known.index) {
            Err(index) => functions.insert(index, function),
            Ok(index) => join_paths(&mut functions[index].paths, function.paths),
        }
    }
}

fn join_paths(sum: &mut Vec<PathTimings>, later: Vec<PathTimings>) {
    for path in later {
        match sum.binary_search_by_key(&path.path, |known| known.path) {
            Err(index) => sum.insert(index, path),
            Ok(index) => sum[index].merge(&path),
        }
    }
}

/// Returns the path profile of the process, with estimated counts.
pub fn paths(profile: &VariationProfile) -> Profile {
    let head = &profile.head;
    let functions = profile.functions.iter().map(|function| {
        let counts = function.paths.iter().map(|path| {
            let count = executions(&head.stats, path.samples());
            (path.path.0, Count((count.round() as u64).max(1)))
        });
        FunctionCounts::new(function.index, function.hash, counts)
    });
    Profile {
        functions: functions.collect(),
        damage: profile.damage.clone(),
        ..head.process.empty_profile()
    }
}

/// Estimates the executions of a path with this number of samples. Each sample stands for the same
/// number of executions: paths begun, divided by all samples.
pub(super) fn executions(stats: &VariationStats, samples: Count) -> f64 {
    match stats.samples {
        Count::ZERO => 0.0,
        all_samples => samples.to_f64() * (stats.begun.to_f64() / all_samples.to_f64()),
    }
}
