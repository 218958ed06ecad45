//! The analyzed streams of a run: sequences over iterations, traces, times of paths.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use holloway_abi::Kind;
use holloway_analysis::RunProfile;
use holloway_analysis::loops::LoopsRun;
use holloway_analysis::note::Account;
use holloway_analysis::variation::VariationRun;
use holloway_format::{
    Count, Damage, FunctionCounts, ImageMap, LoopsProfile, ProfileHead, VariationProfile,
    read_profile,
};

use crate::files::read_regular;
use crate::kinds::stream_kind::{StreamData, StreamKind};
use crate::recorded::RecordedKinds;
use crate::side_files::ProfileState;
use crate::thread_traces::{self, ThreadTrace, TraceSelection};

/// A run with its streams.
pub struct Loaded {
    /// The counts of its paths (or edges).
    pub profile: RunProfile,
    /// The kinds of its images.
    pub kinds: RecordedKinds,
    /// The streams of each process and image that has some.
    pub streams: Vec<Streams>,
}

/// The analyzed streams of one image in one process.
pub struct Streams {
    /// The head of the profile.
    pub head: ProfileHead,
    /// The path map of the image.
    pub map: Arc<ImageMap>,
    /// The profile.
    pub(super) file: PathBuf,
    /// The profile's kind.
    pub(super) kind: &'static dyn StreamKind,
    /// The streams of a raw profile, which were analyzed just now. Otherwise the data lie beside
    /// the profile.
    pub(super) now: Option<StreamData>,
}

impl Loaded {
    /// The sequences of paths over iterations. A process whose sequences cannot be read counts as a
    /// process without any.
    pub fn into_loops(self) -> LoopsRun {
        let streams = self.streams.into_iter();
        let streams = streams.filter(|streams| streams.head.kind == Kind::Loops);
        let sequences = |streams: &Streams| streams.loops().unwrap_or_default();
        let mut loops = LoopsRun::new(by_image(streams.collect(), sequences));
        complete(&mut loops.run, self.profile);
        loops
    }

    /// How long paths took. A process whose timings cannot be read counts as a process without any.
    pub fn into_variation(self) -> VariationRun {
        let timed = |streams: &Streams| streams.head.kind.is_timed();
        let streams = self.streams.into_iter().filter(timed).collect();
        let timings = |streams: &Streams| {
            let mut timings = streams.timings().unwrap_or_default();
            timings.head.kind = streams.head.kind;
            timings
        };
        let mut variation = VariationRun::new(by_image(streams, timings));
        let mut profile = self.profile;
        // The note on estimates is for readers of counts. Here, the samples themselves are shown.
        profile.damage.retain(|note| note.sample().is_none());
        complete(&mut variation.run, profile);
        variation
    }
}

/// The data of each process, by image.
fn by_image<T>(streams: Vec<Streams>, data: impl Fn(&Streams) -> T) -> Vec<(ImageMap, Vec<T>)> {
    let mut images: Vec<(Arc<ImageMap>, Vec<T>)> = Vec::new();
    for streams in streams {
        let process = data(&streams);
        let known = images
            .iter_mut()
            .find(|(map, _)| map.build_id == streams.map.build_id);
        match known {
            Some((_, all)) => all.push(process),
            None => images.push((streams.map, vec![process])),
        }
    }
    let images = images.into_iter();
    images
        .map(|(map, all)| (Arc::unwrap_or_clone(map), all))
        .collect()
}

/// Adds the facts of the profiles to a run of streams. A profile describes its process at the end;
/// the streams, when the last words were taken.
fn complete(run: &mut RunProfile, profile: RunProfile) {
    for image in &mut run.images {
        let mut known = profile.images.iter();
        if let Some(known) = known.find(|known| known.build_id == image.build_id) {
            image.processes.clone_from(&known.processes);
            // Losses are among the damage.
            let processes = image.processes.iter_mut();
            processes.for_each(|process| process.lost = 0);
        }
    }
    let mut damage = profile.damage;
    run.damage.retain(|note| !damage.contains(note));
    damage.append(&mut run.damage);
    run.damage = damage;
}

/// Executions of paths in `counts` that `others` lack, over the functions for which `is_compared`.
fn surplus(
    counts: &[FunctionCounts],
    others: &[FunctionCounts],
    is_compared: impl Fn(&FunctionCounts) -> bool,
) -> u128 {
    let place = |function: &FunctionCounts| (function.module, function.function);
    let others = others.iter().map(|other| (place(other), &other.counts));
    let others: HashMap<_, _> = others.collect();
    let compared = counts.iter().filter(|function| is_compared(function));
    let more = compared.map(|function| {
        let others = others.get(&place(function)).map_or(&[][..], |other| other);
        let other_count = |path: u64| {
            let found = others.binary_search_by_key(&path, |&(other, _)| other);
            found.map_or(Count::ZERO, |at| others[at].1)
        };
        let more = function
            .counts
            .iter()
            .map(|&(path, count)| u128::from(count.saturating_sub(other_count(path))));
        more.sum::<u128>()
    });
    more.sum()
}

impl Streams {
    /// The analyzed streams.
    fn data(&self) -> Option<Cow<'_, StreamData>> {
        let stored = || {
            let contents = self.kind.files().read(&self.file, ProfileState::Sealed);
            self.kind.read(contents, &self.map).map(Cow::Owned)
        };
        self.now.as_ref().map(Cow::Borrowed).or_else(stored)
    }

    /// How often paths followed one another, if loops were collected.
    pub fn loops(&self) -> Option<LoopsProfile> {
        match self.data()?.into_owned() {
            StreamData::Loops(loops) => Some(loops),
            StreamData::Trace(_) | StreamData::Timings(_) => None,
        }
    }

    /// How long paths took, if they were timed.
    pub fn timings(&self) -> Option<VariationProfile> {
        match self.data()?.into_owned() {
            StreamData::Timings(timings) => Some(timings),
            StreamData::Loops(_) | StreamData::Trace(_) => None,
        }
    }

    /// The traces of each thread, if traces were collected.
    pub fn traces(&self, selection: TraceSelection) -> Vec<ThreadTrace> {
        match self.data().as_deref() {
            Some(StreamData::Trace(files)) => thread_traces::read(files, &self.head, selection),
            Some(StreamData::Loops(_) | StreamData::Timings(_)) | None => Vec::new(),
        }
    }

    /// Compares the traces with the counts in the profile. None for a raw profile: its counts come
    /// from the traces.
    pub fn account(&self, traces: &[ThreadTrace]) -> Option<Account> {
        if self.now.is_some() || self.head.kind != Kind::Trace {
            return None;
        }
        let profile = read_regular(&self.file).ok()?;
        let profile = read_profile(&profile, &self.map).ok()?;
        let counts = thread_traces::by_function(&thread_traces::path_counts(traces), &self.map);
        let counted = &profile.functions;
        // A damaged record lacks the counts of its function, which may be unknown. Damage at offset
        // 0 is a fact about all streams, a sample for example, and costs no record.
        let costs =
            |damage: &Damage, function: &FunctionCounts| match (damage.module, damage.function) {
                (Some(module), Some(index)) => {
                    (module, index) == (function.module, function.function)
                }
                (None, _) | (_, None) => damage.offset > 0,
            };
        let is_there = |function: &FunctionCounts| {
            let counts = profile.function(function.module, function.function);
            let mut damage = profile.damage.iter();
            counts.is_some() || !damage.any(|damage| costs(damage, function))
        };
        let total = |all: &[FunctionCounts]| all.iter().map(FunctionCounts::total).sum::<u128>();
        let clamped = |sum: u128| u64::try_from(sum).unwrap_or(u64::MAX);
        Some(Account {
            image: self.head.image.clone(),
            process: self.head.pid,
            counted: clamped(total(counted)),
            missing: clamped(surplus(counted, &counts, |_| true)),
            surplus: clamped(surplus(&counts, counted, is_there)),
        })
    }
}
