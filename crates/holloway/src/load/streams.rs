//! What was made of a run's streams: sequences over iterations, traces, times of paths.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use holloway_abi::Kind;
use holloway_analysis::RunProfile;
use holloway_analysis::loops::LoopsRun;
use holloway_analysis::variation::VariationRun;
use holloway_format::{
    Damage, FunctionCounts, ImageMap, LoopsProfile, ProfileHead, VariationProfile, read_profile,
};
use holloway_report::SAMPLE;
use holloway_report::trace::Account;

use crate::collect::traces::{self, ThreadTrace, Wanted};
use crate::collect::{Made, Results, forests, timings};
use crate::images;
use crate::kinds::Kinds;

/// A run, with what was made of its streams.
pub(crate) struct Loaded {
    /// How often its paths (or edges) ran.
    pub(crate) profile: RunProfile,
    /// What there is.
    pub(crate) kinds: Kinds,
    /// What was made of streams, of each process and image that has them.
    pub(crate) streams: Vec<Streams>,
}

/// What was made of the streams of one image in one process.
pub(crate) struct Streams {
    /// Of which.
    pub(crate) head: ProfileHead,
    /// The image.
    pub(crate) map: Arc<ImageMap>,
    /// The profile.
    pub(super) file: PathBuf,
    /// What was made of a raw profile now; otherwise it lies beside the profile.
    pub(super) now: Option<Results>,
}

impl Loaded {
    /// The sequences of paths over iterations. Of processes whose sequences can't be read only that they were there is known.
    pub(crate) fn into_loops(self) -> LoopsRun {
        let streams = self.streams.into_iter();
        let streams = streams.filter(|one| one.head.kind == Kind::Loops).collect();
        let mut loops = LoopsRun::new(by_image(streams, |one| one.loops().unwrap_or_default()));
        complete(&mut loops.run, self.profile);
        loops
    }

    /// How long paths took. Of processes whose timings can't be read only that they were there is known.
    pub(crate) fn into_variation(self) -> VariationRun {
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
        profile.damage.retain(|one| !one.contains(SAMPLE));
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
    /// How often paths followed one another, if loops were collected.
    pub(crate) fn loops(&self) -> Option<LoopsProfile> {
        match &self.now {
            Some(Results {
                made: Some(Made::Loops(loops)),
                ..
            }) => Some(loops.profile.clone()),
            Some(_) => None,
            None => forests::read(&self.file, true, &self.map),
        }
    }

    /// How long paths took, if they were timed.
    pub(crate) fn timings(&self) -> Option<VariationProfile> {
        match &self.now {
            Some(Results {
                made: Some(Made::Timings(timings)),
                ..
            }) => Some(timings.clone()),
            Some(_) => None,
            None => timings::read(&self.file, true, &self.map),
        }
    }

    /// What each thread did, if a trace was collected.
    pub(crate) fn traces(&self, wanted: Wanted) -> Vec<ThreadTrace> {
        match &self.now {
            Some(now) => traces::read(&now.traces, &self.head, wanted),
            None => {
                let files = traces::beside(&self.file, true);
                traces::read(&files, &self.head, wanted)
            }
        }
    }

    /// The traces held against what the profile counted. Nothing of a profile that is raw still: its counts are made of the traces.
    pub(crate) fn account(&self, traces: &[ThreadTrace]) -> Option<Account> {
        if self.now.is_some() || self.head.kind != Kind::Trace {
            return None;
        }
        let profile = images::read_regular(&self.file).ok()?;
        let profile = read_profile(&profile, &self.map).ok()?;
        let counts = traces::in_order(&traces::path_counts(traces), &self.map);
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
