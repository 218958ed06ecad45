//! The analyzed streams of a run: slab forests, traces, or timings of paths.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use holloway_abi::Kind;
use holloway_analysis::RunProfile;
use holloway_analysis::branches::PreviousPaths;
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
    /// The counts of paths or edges.
    pub profile: RunProfile,
    /// The kinds of profile of the images.
    pub kinds: RecordedKinds,
    /// The streams of each process and image with streams.
    pub streams: Vec<Streams>,
}

/// The counts of a run, with all its streams.
pub struct AllStreams {
    /// The counts of paths or edges.
    pub profile: RunProfile,
    /// How often sequences of paths ran in one activation, if the run has loops or traces.
    pub previous_paths: Option<PreviousPaths>,
    /// The slab forests, if the run has loops.
    pub loops: Option<LoopsRun>,
    /// The timings of paths, if the run has any.
    pub variation: Option<VariationRun>,
}

/// The analyzed streams of one image in one process.
pub struct Streams {
    /// The head of the profile.
    pub head: ProfileHead,
    /// The path map of the image.
    pub map: Arc<ImageMap>,
    /// The file of the profile.
    pub(super) file: PathBuf,
    /// The kind of the profile.
    pub(super) kind: &'static dyn StreamKind,
    /// The streams of a raw profile, which the loader has analyzed. `None` for a sealed profile:
    /// the data are in its side files.
    pub(super) analyzed_now: Option<StreamData>,
}

impl Loaded {
    /// Returns the slab forests. If the forests of a process cannot be read, the process counts as
    /// a process without streams.
    pub fn into_loops(self) -> LoopsRun {
        let streams = self.streams.into_iter();
        let streams = streams.filter(|streams| streams.head.kind == Kind::Loops);
        let sequences = |streams: &Streams| streams.loops().unwrap_or_default();
        let mut loops = LoopsRun::new(by_image(streams.collect(), sequences));
        complete(&mut loops.run, self.profile);
        loops
    }

    /// Returns the counts, and how often sequences of paths ran in one activation. If the streams
    /// of a process cannot be read, the process counts as a process without streams.
    pub fn into_branches(self) -> (RunProfile, PreviousPaths) {
        let mut previous_paths = PreviousPaths::default();
        let streams = self.streams.into_iter();
        let (loops, others): (Vec<Streams>, Vec<Streams>) =
            streams.partition(|streams| streams.head.kind == Kind::Loops);
        let sequences = |streams: &Streams| streams.loops().unwrap_or_default();
        previous_paths.add_loops(&LoopsRun::new(by_image(loops, sequences)));
        for streams in others.iter().filter(|other| other.head.kind == Kind::Trace) {
            for thread in streams.traces(TraceSelection::All) {
                previous_paths.add_trace(&streams.map, &thread.trace);
            }
        }
        (self.profile, previous_paths)
    }

    /// Returns the counts with all streams. If the streams of a process cannot be read, the process
    /// counts as a process without streams.
    pub fn into_all(self) -> AllStreams {
        let has = |kind| self.kinds.has(kind);
        let (has_loops, has_trace) = (has(Kind::Loops), has(Kind::Trace));
        let is_timed = self.kinds.is_timed();
        let (mut loops, mut traces, mut timed) = (Vec::new(), Vec::new(), Vec::new());
        for streams in self.streams {
            match streams.head.kind {
                Kind::Loops => loops.push(streams),
                Kind::Trace => traces.push(streams),
                Kind::Variation | Kind::Times => timed.push(streams),
                Kind::Paths | Kind::Edges | Kind::Nothing => {}
            }
        }
        let sequences = |streams: &Streams| streams.loops().unwrap_or_default();
        let loops = LoopsRun::new(by_image(loops, sequences));
        let mut previous_paths = PreviousPaths::default();
        previous_paths.add_loops(&loops);
        for streams in &traces {
            for thread in streams.traces(TraceSelection::All) {
                previous_paths.add_trace(&streams.map, &thread.trace);
            }
        }
        let timings = |streams: &Streams| {
            let mut timings = streams.timings().unwrap_or_default();
            timings.head.kind = streams.head.kind;
            timings
        };
        let variation = VariationRun::new(by_image(timed, timings));
        AllStreams {
            profile: self.profile,
            previous_paths: (has_loops || has_trace).then_some(previous_paths),
            loops: has_loops.then_some(loops),
            variation: is_timed.then_some(variation),
        }
    }

    /// Returns the timings of paths. If the timings of a process cannot be read, the process counts
    /// as a process without samples.
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
        // The note on estimated counts is for reports of counts. Reports of timings show samples.
        profile.damage.retain(|note| note.sample().is_none());
        complete(&mut variation.run, profile);
        variation
    }
}

/// Groups the data of the processes by image.
fn by_image<T>(streams: Vec<Streams>, data: impl Fn(&Streams) -> T) -> Vec<(ImageMap, Vec<T>)> {
    let mut images: Vec<(Arc<ImageMap>, Vec<T>)> = Vec::new();
    for streams in streams {
        let process = data(&streams);
        let image = images
            .iter_mut()
            .find(|(map, _)| map.build_id == streams.map.build_id);
        match image {
            Some((_, processes)) => processes.push(process),
            None => images.push((streams.map, vec![process])),
        }
    }
    let images = images.into_iter();
    images
        .map(|(map, processes)| (Arc::unwrap_or_clone(map), processes))
        .collect()
}

/// Adds the facts about processes in `profile` to the streams' `run`. A profile describes its
/// process at the end. The streams describe the process when the last words were taken.
fn complete(run: &mut RunProfile, profile: RunProfile) {
    for image in &mut run.images {
        let mut profile_images = profile.images.iter();
        if let Some(same) = profile_images.find(|other| other.build_id == image.build_id) {
            image.processes.clone_from(&same.processes);
            // The damage already contains the losses.
            let processes = image.processes.iter_mut();
            processes.for_each(|process| process.lost = 0);
        }
    }
    let mut damage = profile.damage;
    run.damage.retain(|note| !damage.contains(note));
    damage.append(&mut run.damage);
    run.damage = damage;
    run.interrupt = profile.interrupt;
    run.cpu_time.clone_from(&profile.cpu_time);
}

/// Sums, over all paths, by how much the count in `counts` exceeds the count in `others`. Only
/// functions for which `is_compared` returns true are included.
fn surplus(
    counts: &[FunctionCounts],
    others: &[FunctionCounts],
    is_compared: impl Fn(&FunctionCounts) -> bool,
) -> u128 {
    let key = |function: &FunctionCounts| function.index;
    let others = others.iter().map(|other| (key(other), &other.counts));
    let others: HashMap<_, _> = others.collect();
    let compared = counts.iter().filter(|function| is_compared(function));
    let surpluses = compared.map(|function| {
        let others = others.get(&key(function)).map_or(&[][..], |other| other);
        let other_count = |path: u64| {
            let index = others.binary_search_by_key(&path, |&(other, _)| other);
            index.map_or(Count::ZERO, |index| others[index].1)
        };
        let surpluses = function
            .counts
            .iter()
            .map(|&(path, count)| u128::from(count.saturating_sub(other_count(path))));
        surpluses.sum::<u128>()
    });
    surpluses.sum()
}

impl Streams {
    /// Returns the analyzed streams.
    fn data(&self) -> Option<Cow<'_, StreamData>> {
        let stored = || {
            let contents = self.kind.files().read(&self.file, ProfileState::Sealed);
            self.kind.read(contents, &self.map).map(Cow::Owned)
        };
        self.analyzed_now
            .as_ref()
            .map(Cow::Borrowed)
            .or_else(stored)
    }

    /// Returns the slab forests, if the kind is loops.
    pub fn loops(&self) -> Option<LoopsProfile> {
        match self.data()?.into_owned() {
            StreamData::Loops(loops) => Some(loops),
            StreamData::Trace(_) | StreamData::Timings(_) => None,
        }
    }

    /// Returns the timings of paths, if the kind times paths.
    pub fn timings(&self) -> Option<VariationProfile> {
        match self.data()?.into_owned() {
            StreamData::Timings(timings) => Some(timings),
            StreamData::Loops(_) | StreamData::Trace(_) => None,
        }
    }

    /// Returns the trace of each thread, if the kind is trace.
    pub fn traces(&self, selection: TraceSelection) -> Vec<ThreadTrace> {
        match self.data().as_deref() {
            Some(StreamData::Trace(files)) => thread_traces::read(files, &self.head, selection),
            Some(StreamData::Loops(_) | StreamData::Timings(_)) | None => Vec::new(),
        }
    }

    /// Compares the traces with the counts in the profile. Returns `None` for a raw profile,
    /// because its counts are computed from the traces.
    pub fn account(&self, traces: &[ThreadTrace]) -> Option<Account> {
        if self.analyzed_now.is_some() || self.head.kind != Kind::Trace {
            return None;
        }
        let profile = read_regular(&self.file).ok()?;
        let profile = read_profile(&profile, &self.map).ok()?;
        let counts = thread_traces::by_function(&thread_traces::path_counts(traces), &self.map);
        let counted = &profile.functions;
        // A damaged record loses the counts of its function, and the damage may not say which
        // function it is. Damage at offset 0 is a fact about all streams, such as a sample, and
        // loses no record.
        let may_lose =
            |damage: &Damage, function: &FunctionCounts| match (damage.module, damage.function) {
                (Some(module), Some(index)) => {
                    (module, index) == (function.index.module, function.index.function)
                }
                (None, _) | (_, None) => damage.offset > 0,
            };
        let is_undamaged = |function: &FunctionCounts| {
            let counts = profile.function(function.index);
            let mut damage = profile.damage.iter();
            counts.is_some() || !damage.any(|damage| may_lose(damage, function))
        };
        let total = |all: &[FunctionCounts]| all.iter().map(FunctionCounts::total).sum::<u128>();
        let clamped = |sum: u128| Count(u64::try_from(sum).unwrap_or(u64::MAX));
        Some(Account {
            image: self.head.image.clone(),
            process: self.head.pid,
            counted: clamped(total(counted)),
            missing: clamped(surplus(counted, &counts, |_| true)),
            surplus: clamped(surplus(&counts, counted, is_undamaged)),
        })
    }
}
