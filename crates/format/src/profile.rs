//! A profile: the counts of one process, or the sums of several processes of one build.

mod counts;
mod head;
mod write_failure;

use crate::damage::Damage;
use crate::error::FormatError;
use crate::function_index::FunctionIndex;

pub use counts::FunctionCounts;
pub(crate) use counts::add_up;
pub use head::ProfileHead;
pub(crate) use head::{bytes_of_path, path_of_bytes};
pub use write_failure::WriteFailure;

/// A profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The process and its build. The flag [`sealed`](ProfileHead::sealed) is about the file, so it
    /// is always false here.
    pub head: ProfileHead,
    /// Functions that ran, ascending by module and function.
    pub functions: Vec<FunctionCounts>,
    /// Damage: the parts that could not be read.
    pub damage: Vec<Damage>,
}

impl Profile {
    /// A profile with this head and without functions.
    pub fn from_head(head: ProfileHead) -> Self {
        Self {
            head: ProfileHead {
                sealed: false,
                ..head
            },
            functions: Vec::new(),
            damage: Vec::new(),
        }
    }

    /// Returns the counts of a function, if it ran.
    pub fn function(&self, index: FunctionIndex) -> Option<&FunctionCounts> {
        let position = self
            .functions
            .binary_search_by_key(&index, |counts| counts.index);
        position.ok().map(|position| &self.functions[position])
    }

    /// Adds the counts of another process of the same build. The process id, parent, and start do
    /// not change. Counts saturate.
    ///
    /// # Errors
    /// If the other profile has another build or kind. Then nothing is added.
    pub fn merge(&mut self, other: Self) -> Result<(), FormatError> {
        if other.head.build_id != self.head.build_id {
            return Err(FormatError::BuildMismatch {
                profile: other.head.build_id,
                map: self.head.build_id,
                image: other.head.image,
            });
        }
        if other.head.kind != self.head.kind {
            return Err(FormatError::UnknownKind {
                kind: other.head.kind.number(),
                offset: 12,
            });
        }
        self.head.threads = self.head.threads.saturating_add(other.head.threads);
        self.head.lost = self.head.lost.saturating_add(other.head.lost);
        self.head.failure = self.head.failure.or(other.head.failure);
        self.head.forked |= other.head.forked;
        self.damage.extend(other.damage);
        self.functions =
            counts::merge_functions(std::mem::take(&mut self.functions), other.functions);
        Ok(())
    }

    /// Returns the sum of several processes' profiles, or `None` if there are no profiles.
    ///
    /// # Errors
    /// If the profiles have different builds or kinds.
    pub fn sum(profiles: impl IntoIterator<Item = Self>) -> Result<Option<Self>, FormatError> {
        let mut profiles = profiles.into_iter();
        let Some(mut sum) = profiles.next() else {
            return Ok(None);
        };
        for profile in profiles {
            sum.merge(profile)?;
        }
        Ok(Some(sum))
    }
}
