//! A profile of one process, whichever form it was read from, or the sum of several of one build.
//!
//! A raw profile ([`crate::raw`]) is summed over its threads here: counters of a function lie at the same offset of each
//! block, so the blocks are added up and the sums cut into functions. Cost: one pass over the file and one over a block.

mod sum;

use crate::damage::{Damage, DamagedFile};
use crate::error::FormatError;
use crate::image::ImageMap;
use crate::raw::{RawHead, RawProfile};
use crate::sealed;
use holloway_abi::Kind;

pub(crate) use sum::add_up;

/// What the head of a profile says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileHead {
    /// Whether it is a sealed profile; otherwise a raw one.
    pub sealed: bool,
    /// Kind of data.
    pub kind: Kind,
    /// Build of the image.
    pub build_id: [u8; 16],
    /// File name of the image.
    pub image: String,
    /// Path of the image's file.
    pub image_path: String,
    /// Process id.
    pub pid: u32,
    /// Parent's process id.
    pub ppid: u32,
    /// Start, in nanoseconds since 1970.
    pub start_ns: u64,
    /// Threads that entered woven code.
    pub threads: u32,
    /// Threads and hash segments whose counts could not be put in the file, and rings whose words were dropped at some time.
    pub lost: u64,
    /// Whether the process is the child of a fork.
    pub forked: bool,
}

/// A profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Kind of data.
    pub kind: Kind,
    /// Build of the image.
    pub build_id: [u8; 16],
    /// File name of the image.
    pub image: String,
    /// Path of the image's file.
    pub image_path: String,
    /// Process id.
    pub pid: u32,
    /// Parent's process id.
    pub ppid: u32,
    /// Start, in nanoseconds since 1970.
    pub start_ns: u64,
    /// Threads that entered woven code.
    pub threads: u32,
    /// Threads and hash segments whose counts could not be put in the file, and rings whose words were dropped at some time.
    pub lost: u64,
    /// Whether the process is the child of a fork.
    pub forked: bool,
    /// Functions that ran, ascending by module and function.
    pub functions: Vec<FunctionCounts>,
    /// What is lost.
    pub damage: Vec<Damage>,
}

/// Counts of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionCounts {
    /// Module in the image map.
    pub module: u32,
    /// Function in the module.
    pub function: u32,
    /// Hash of the function's structure in the map.
    pub hash: u64,
    /// Path number (or edge counter, as the function's map says) and count, ascending by number, no count 0.
    pub counts: Vec<(u64, u64)>,
}

impl FunctionCounts {
    /// The sum of its counts: of paths, their executions.
    pub fn total(&self) -> u128 {
        self.counts
            .iter()
            .map(|&(_, count)| u128::from(count))
            .sum()
    }
}

impl Profile {
    /// A profile with this head and nothing in it.
    pub fn of_head(head: ProfileHead) -> Self {
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

    /// The function's counts, if it ran.
    pub fn function(&self, module: u32, function: u32) -> Option<&FunctionCounts> {
        let found = self
            .functions
            .binary_search_by_key(&(module, function), |counts| {
                (counts.module, counts.function)
            });
        found.ok().map(|index| &self.functions[index])
    }

    /// Adds the counts of another process of the same build. Process id, parent and start remain; counts that would pass
    /// 2^64 - 1 stay there.
    ///
    /// # Errors
    /// If the other profile is of another build or kind; then nothing is added.
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
        self.functions = sum::merge_functions(std::mem::take(&mut self.functions), other.functions);
        Ok(())
    }

    /// The sum of several processes' profiles; `None` of none.
    ///
    /// # Errors
    /// If they are not all of one build and kind.
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

/// Reads only the head of a profile, raw or sealed: its first 4096 bytes are enough.
///
/// # Errors
/// If the bytes are no profile, of another version, cut off in the head, or damaged there.
pub fn peek_profile(bytes: &[u8]) -> Result<ProfileHead, FormatError> {
    if bytes.starts_with(&sealed::SEALED_MAGIC) {
        sealed::read_head(bytes)
    } else {
        RawHead::read(bytes).map(|head| head.profile)
    }
}

/// Reads a profile, raw or sealed, of the image that `map` describes. Where streams are collected nothing is counted: such a
/// profile has a head and damage, no functions; its words are [`RawProfile::ring_words`].
///
/// # Errors
/// If the bytes are no profile, of another version, build or kind, or damaged in the head. Other damage is listed in the
/// profile.
pub fn read_profile(bytes: &[u8], map: &ImageMap) -> Result<Profile, FormatError> {
    if bytes.starts_with(&sealed::SEALED_MAGIC) {
        check_head(&sealed::read_head(bytes)?, map)?;
        return sealed::read(bytes, map);
    }
    check_head(&RawHead::read(bytes)?.profile, map)?;
    Ok(sum::sum_raw(&RawProfile::parse(bytes)?, map))
}

fn check_head(head: &ProfileHead, map: &ImageMap) -> Result<(), FormatError> {
    if head.build_id != map.build_id {
        let image = head.image.clone();
        return Err(FormatError::BuildMismatch {
            profile: head.build_id,
            map: map.build_id,
            image,
        });
    }
    if head.kind != map.kind {
        return Err(FormatError::Head { offset: 12 });
    }
    Ok(())
}

/// Damage that costs a function of the profile, named by the map.
pub(crate) fn lost_function(
    map: &ImageMap,
    place: (u32, u32),
    offset: u64,
    what: impl std::fmt::Display,
) -> Damage {
    let (module, function) = (place.0 as usize, place.1 as usize);
    let name = map
        .modules
        .get(module)
        .and_then(|placed| placed.module.functions.get(function));
    let name = name.map_or("", |function| function.display_name());
    Damage::of_file(DamagedFile::Profile, offset, what)
        .of_function(function, name)
        .in_module(module)
}
