//! What was made of a run's streams: sequences over iterations, traces, times of paths.

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
    Damage, FunctionCounts, ImageMap, LoopsProfile, ProfileHead, VariationProfile, read_profile,
};

use crate::files::read_regular;
use crate::kinds::stream_kind::{StreamData, StreamKind};
use crate::recorded::RecordedKinds;
use crate::side_files::ProfileState;
use crate::thread_traces::{self, ThreadTrace, TraceSelection};

/// A run, with what was made of its streams.
pub struct Loaded {
    /// How often its paths (or edges) ran.
    pub profile: RunProfile,
    /// What there is.
    pub kinds: RecordedKinds,
    /// What was made of streams, of each process and image that has them.
    pub streams: Vec<Streams>,
}

/// What was made of the streams of one image in one process.
pub struct Streams {
    /// Of which.
    pub head: ProfileHead,
    /// The image.
    pub map: Arc<ImageMap>,
    /// The profile.
    pub(super) file: PathBuf,
    /// The profile's kind.
    pub(super) kind: &'static dyn StreamKind,
    /// What the streams of a raw profile became now. Otherwise the data lie beside the profile.
    pub(super) now: Option<StreamData>,
}

impl Loaded {
    /// The sequences of paths over iterations. Of processes whose sequences can't be read only that they were there is known.
    pub fn into_loops(self) -> LoopsRun {
        let streams = self.streams.into_iter();
        let streams = streams.filter(|one| one.head.kind == Kind::Loops).collect();
        let mut loops = LoopsRun::new(by_image(streams, |one| one.loops().unwrap_or_default()));
        complete(&mut loops.run, self.profile);
        loops
    }

    /// How long paths took. Of processes whose timings can't be read only that they were there is known.
    pub fn into_variation(self) -> VariationRun {
        let timed = |one: &Streams| one.head.kind.is_timed();
        let streams = self.streams.into_iter().filter(timed).collect();
        let timings = |one: &Streams| {
            let mut timings = one.timings().unwrap_or_default();
            timings.head.kind = one.head.kind;
            timings
        };
        let mut variation = VariationRun::new(by_image(streams, timings));
        let mut profile = self.profile;
        // Who looks at samples need not be told that others see estimates.
        profile.damage.retain(|note| note.sample().is_none());
        complete(&mut variation.run, profile);
        variation
    }
}

/// What was made of each process, by image.
fn by_image<T>(streams: Vec<Streams>, of: impl Fn(&Streams) -> T) -> Vec<(ImageMap, Vec<T>)> {
    let mut images: Vec<(Arc<ImageMap>, Vec<T>)> = Vec::new();
    for streams in streams {
        let made = of(&streams);
        let known = images
            .iter_mut()
            .find(|(map, _)| map.build_id == streams.map.build_id);
        match known {
            Some((_, all)) => all.push(made),
            None => images.push((streams.map, vec![made])),
        }
    }
    let images = images.into_iter();
    images
        .map(|(map, all)| (Arc::unwrap_or_clone(map), all))
        .collect()
}

/// Adds what the profiles say to what was made of streams: a profile is of its process's end, the rest of the moment when the last words were taken.
fn complete(run: &mut RunProfile, profile: RunProfile) {
    for image in &mut run.images {
        let mut known = profile.images.iter();
        if let Some(known) = known.find(|known| known.build_id == image.build_id) {
            image.processes.clone_from(&known.processes);
            // What is lost is said among the damage.
            image.processes.iter_mut().for_each(|one| one.lost = 0);
        }
    }
    let mut damage = profile.damage;
    run.damage.retain(|one| !damage.contains(one));
    damage.append(&mut run.damage);
    run.damage = damage;
}

/// Runs of paths in `these` functions' counts that `those` do not have, of the functions that count.
fn beyond(
    these: &[FunctionCounts],
    those: &[FunctionCounts],
    counts: impl Fn(&FunctionCounts) -> bool,
) -> u128 {
    let place = |one: &FunctionCounts| (one.module, one.function);
    let others: HashMap<_, _> = those.iter().map(|one| (place(one), &one.counts)).collect();
    let more = these.iter().filter(|one| counts(one)).map(|one| {
        let others = others.get(&place(one)).map_or(&[][..], |other| other);
        let of = |path: u64| {
            let found = others.binary_search_by_key(&path, |&(other, _)| other);
            found.map_or(0, |at| others[at].1)
        };
        let more = one.counts.iter();
        let more = more.map(|&(path, count)| u128::from(count.saturating_sub(of(path))));
        more.sum::<u128>()
    });
    more.sum()
}

impl Streams {
    /// What the streams became.
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

    /// The traces held against what the profile counted. Nothing of a profile that is raw still: its counts are made of the traces.
    pub fn account(&self, traces: &[ThreadTrace]) -> Option<Account> {
        if self.now.is_some() || self.head.kind != Kind::Trace {
            return None;
        }
        let profile = read_regular(&self.file).ok()?;
        let profile = read_profile(&profile, &self.map).ok()?;
        let counts = thread_traces::by_function(&thread_traces::path_counts(traces), &self.map);
        let counted = &profile.functions;
        // The counts of a function whose record is damaged are not there; which function it is may not be known. What is said of
        // all streams, of a sample for example, stands at offset 0 and costs no record.
        let costs = |damage: &Damage, one: &FunctionCounts| match (damage.module, damage.function) {
            (Some(module), Some(function)) => (module, function) == (one.module, one.function),
            _ => damage.offset > 0,
        };
        let is_there = |one: &FunctionCounts| {
            profile.function(one.module, one.function).is_some()
                || !profile.damage.iter().any(|damage| costs(damage, one))
        };
        let total = |all: &[FunctionCounts]| all.iter().map(FunctionCounts::total).sum::<u128>();
        let clamped = |sum: u128| u64::try_from(sum).unwrap_or(u64::MAX);
        Some(Account {
            image: self.head.image.clone(),
            process: self.head.pid,
            counted: clamped(total(counted)),
            missing: clamped(beyond(counted, &counts, |_| true)),
            surplus: clamped(beyond(&counts, counted, is_there)),
        })
    }
}
