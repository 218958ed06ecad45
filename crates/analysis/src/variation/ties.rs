//! Ranks that say nothing: neighbors whose net variations lie no further apart than chance may
//! have moved them.
//!
//! With bursts of 10000:1 a short run leaves some hundred samples of a path, which give its net
//! variation to 10 % or worse. Two net variations are told apart where their difference is more
//! than two standard errors of it (chance alone gives one in 20 that), the two taken for
//! independent.
//!
//! Worked example: net variations 100 ± 20, 80 ± 20, 59 ± 8, 48 ± 12. The first and the third are
//! 41 apart, with an error of 22: no more than two errors, so the first three are a tie. The first
//! and the fourth are 52 apart, with 23: told apart. The second and the fourth are 32 apart: the
//! last three are a tie, too.
//!
//! Cost: of the first n paths n times the length of the longest tie.

use std::ops::Range;

use super::path::Rank;
use super::rank::Ranking;

/// Standard errors of a difference that it must be larger than.
const ERRORS: f64 = 2.0;
/// Longest row that is looked for.
const LONGEST: usize = 1000;

impl Ranking {
    /// The longest rows of neighbors among the first paths of which no two can be told apart, by
    /// place. They may overlap. Paths that don't vary for certain are in none.
    pub fn ties(&self, first: usize) -> Vec<Range<usize>> {
        let paths = &self.paths[..first.min(self.certain)];
        let mut ties: Vec<Range<usize>> = Vec::new();
        let mut end = 0;
        for begin in 0..paths.len() {
            // A tie without its first path is one still.
            end = end_of(paths, begin, end);
            let is_within = ties.last().is_some_and(|last| last.end >= end);
            if end - begin > 1 && !is_within {
                ties.push(begin..end);
            }
        }
        ties
    }
}

/// Behind the last path that can't be told from any between, which is not before `known`.
fn end_of(paths: &[Rank], begin: usize, known: usize) -> usize {
    let most = paths.len().min(begin + LONGEST);
    let mut end = known.max(begin + 1);
    while end < most && paths[begin..end].iter().all(|one| is_tie(one, &paths[end])) {
        end += 1;
    }
    end
}

/// Can two net variations not be told apart?
fn is_tie(one: &Rank, other: &Rank) -> bool {
    let error = (one.net * one.error).hypot(other.net * other.error);
    one.net > 0.0 && other.net > 0.0 && (one.net - other.net).abs() <= ERRORS * error
}
