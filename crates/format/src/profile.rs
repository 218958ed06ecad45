//! A profile: the counts of one process, or the sums of several processes of one build.

mod counts;
mod head;

use holloway_abi::Kind;

use crate::damage::Damage;
use crate::error::FormatError;

pub use counts::FunctionCounts;
pub(crate) use counts::add_up;
pub use head::ProfileHead;

/// A profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Kind of data.
    pub kind: Kind,
    /// Build id of the image.
    pub build_id: [u8; 16],
    /// File name of the image.
    pub image: String,
    /// Path of the image's file.
    pub image_path: String,
    /// Process id.
    pub pid: u32,
    /// Parent's process id.
    pub ppid: u32,
    /// Start of the process, in nanoseconds since 1970.
    pub start_ns: u64,
    /// Number of threads that entered woven code.
    pub threads: u32,
    /// Number of losses: threads and segments whose counts did not fit into the file, and rings
    /// that dropped words.
    pub lost: u64,
    /// Whether the process is the child of a fork.
    pub forked: bool,
    /// Functions that ran, ascending by module and function.
    pub functions: Vec<FunctionCounts>,
    /// Damage: the parts that could not be read.
    pub damage: Vec<Damage>,
}

impl Profile {
    /// A profile with this head and without functions.
    pub fn from_head(head: ProfileHead) -> Self {
        Self {
            kind: head.kind,
            build_id: head.build_id,
            image: head.image,
            image_path: head.image_path,
            pid: head.pid,
            ppid: head.ppid,
            start_ns: head.start_ns,
            threads: head.threads,
            lost: head.lost,
            forked: head.forked,
            functions: Vec::new(),
            damage: Vec::new(),
        }
    }

    /// Returns the counts of a function, if it ran.
    pub fn function(&self, module: u32, function: u32) -> Option<&FunctionCounts> {
        let index = self
            .functions
            .binary_search_by_key(&(module, function), |counts| {
                (counts.module, counts.function)
            });
        index.ok().map(|index| &self.functions[index])
    }

    /// Adds the counts of another process of the same build. The process id, parent, and start do
    /// not change. Counts saturate.
    ///
    /// # Errors
    /// If the other profile has another build or kind. Then nothing is added.
    pub fn merge(&mut self, other: Self) -> Result<(), FormatError> {
        if other.build_id != self.build_id {
            return Err(FormatError::BuildMismatch {
                profile: other.build_id,
                map: self.build_id,
                image: other.image,
            });
        }
        if other.kind != self.kind {
            return Err(FormatError::UnknownKind {
                kind: other.kind.number(),
                offset: 12,
            });
        }
        self.threads = self.threads.saturating_add(other.threads);
        self.lost = self.lost.saturating_add(other.lost);
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
