//! Conversion between timings as they are read, by word, and stored timings, by function and path.

use holloway_flow::PathId;
use holloway_format::{
    Count, FunctionCounts, FunctionTimings, PathTimings, Profile, VariationHead, VariationProfile,
    VariationStats,
};

use super::builder::Timings;
use crate::stream::{WordFunction, Words};

/// Converts a process's timings to the form of its file. `head` identifies the process; its
/// statistics are added to the statistics of the timings.
pub fn seal(mut head: VariationHead, words: &Words, timings: &Timings) -> VariationProfile {
    head.stats.add(&timings.stats);
    let mut by_word: Vec<(u32, &PathTimings)> = timings
        .paths
        .iter()
        .map(|(word, timings)| (*word, timings))
        .collect();
    by_word.sort_unstable_by_key(|(word, _)| *word);
    let mut rest = &by_word[..];
    let mut functions = Vec::new();
    for word_function in words.functions() {
        let WordFunction {
            first,
            paths,
            module,
            function,
        } = word_function;
        let end = rest.partition_point(|(word, _)| *word < first + paths);
        let (own, others) = rest.split_at(end);
        rest = others;
        let paths = own.iter().map(|(word, timings)| PathTimings {
            path: PathId((word - first).into()),
            ..(*timings).clone()
        });
        let paths: Vec<PathTimings> = paths.collect();
        if !paths.is_empty() {
            functions.push(FunctionTimings {
                module,
                function,
                hash: words.hash(module, function),
                paths,
            });
        }
    }
    functions.sort_by_key(|function| (function.module, function.function));
    VariationProfile {
        head,
        functions,
        damage: Vec::new(),
    }
}

/// Adds later timings of the same process.
pub fn join(sum: &mut VariationProfile, more: VariationProfile) {
    sum.head.stats.add(&more.head.stats);
    sum.head.process.threads = sum.head.process.threads.max(more.head.process.threads);
    sum.damage.extend(more.damage);
    for function in more.functions {
        let key = (function.module, function.function);
        let functions = &mut sum.functions;
        match functions.binary_search_by_key(&key, |known| (known.module, known.function)) {
            Err(place) => functions.insert(place, function),
            Ok(place) => join_paths(&mut functions[place].paths, function.paths),
        }
    }
}

fn join_paths(sum: &mut Vec<PathTimings>, more: Vec<PathTimings>) {
    for path in more {
        match sum.binary_search_by_key(&path.path, |known| known.path) {
            Err(place) => sum.insert(place, path),
            Ok(place) => sum[place].merge(&path),
        }
    }
}

/// Returns the profile that counting paths would have produced, with estimated counts.
pub fn paths(profile: &VariationProfile) -> Profile {
    let head = &profile.head;
    let functions = profile.functions.iter().map(|function| FunctionCounts {
        module: function.module,
        function: function.function,
        hash: function.hash,
        counts: function
            .paths
            .iter()
            .map(|path| {
                let count = executions(&head.stats, path.samples());
                (path.path.0, Count((count.round() as u64).max(1)))
            })
            .collect(),
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
        all => samples.to_f64() * (stats.begun.to_f64() / all.to_f64()),
    }
}
