//! Finds ties: neighboring ranks whose net variations differ by no more than chance may cause.
//!
//! With `--burst 10000:1`, a short run has a few hundred samples of a path. The standard error of
//! its net variation is then 10 % or more. Two net variations are distinguishable if their
//! difference exceeds two standard errors of the difference. By chance alone, the difference
//! exceeds this in one of 20 cases. The two net variations are assumed to be independent.
//!
//! Worked example: net variations 100 ± 20, 80 ± 20, 59 ± 8, 48 ± 12. The first and the third
//! differ by 41, with an error of 22: no more than two errors, so the first three are a tie. The
//! first and the fourth differ by 52, with an error of 23, so they are distinguishable. The second
//! and the fourth differ by 32: the last three are a tie, too.
//!
//! Cost: the number of examined paths times the length of the longest tie.

use std::ops::Range;

use super::rank::Ranking;
use super::ranked_path::RankedPath;

/// The number of standard errors that a difference must exceed.
const MAX_ERRORS: f64 = 2.0;
/// Maximum length of a tie.
const MAX_TIE: usize = 1000;

impl Ranking {
    /// Returns the ties among the first `first` paths, as ranges of indices. In a tie, no two paths
    /// are distinguishable. Each tie is as long as possible, and ties may overlap. They contain
    /// only paths with certain net variation.
    pub fn ties(&self, first: usize) -> Vec<Range<usize>> {
        let paths = &self.paths[..first.min(self.certain)];
        let mut ties: Vec<Range<usize>> = Vec::new();
        let mut end = 0;
        for begin in 0..paths.len() {
            // A tie without its first path is still a tie.
            end = tie_end(paths, begin, end);
            let is_within = ties.last().is_some_and(|last| last.end >= end);
            if end - begin > 1 && !is_within {
                ties.push(begin..end);
            }
        }
        ties
    }
}

/// The end of the tie that begins at `begin`: the index after the last path that is
/// indistinguishable from all paths since `begin`. The paths up to `known` are known to belong to
/// the tie.
fn tie_end(paths: &[RankedPath], begin: usize, known: usize) -> usize {
    let limit = paths.len().min(begin + MAX_TIE);
    let mut end = known.max(begin + 1);
    while end < limit
        && paths[begin..end]
            .iter()
            .all(|rank| is_tie(rank, &paths[end]))
    {
        end += 1;
    }
    end
}

/// Whether two net variations are indistinguishable.
fn is_tie(a: &RankedPath, b: &RankedPath) -> bool {
    let error = (a.net * a.error).hypot(b.net * b.error);
    a.net > 0.0 && b.net > 0.0 && (a.net - b.net).abs() <= MAX_ERRORS * error
}
