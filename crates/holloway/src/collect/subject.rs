//! What is made of the streams of one image in one process, and where that goes.
//!
//! While the process runs, what a thread did is with the worker that reads its ring ([`Making`](super::making::Making)); from there it goes to the forests or the
//! traces of the process. When that has ended, they lie beside its profile ([`Subject::seal`]), and the profile gives way to a
//! sealed one: its head, how often each path ran, and what is missing.
//!
//! No word is counted twice, wherever finishing is interrupted: what is made of words that the raw profile still has lies in files that
//! count only beside a sealed one, so both give way to them in one step.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use holloway_abi::{KIND_TIMES, KIND_TRACE, KIND_VARIATION, OPERAND, SAMPLE_WORDS, WORD_OWNER};
use holloway_analysis::stream::Words;
use holloway_analysis::{loops, variation};
use holloway_format::raw::{Ring, RingWords};
use holloway_format::{
    Damage, DamagedFile, FunctionCounts, ImageMap, Profile, ProfileHead, RawProfile,
    VariationProfile, VariationStats, write_loops, write_sealed, write_variation,
};
use holloway_report::{SAMPLE, grouped, plural};
use holloway_weave::Collect;

use super::Settings;
use super::forests::{self, Forests, ProcessForests};
use super::pool::locked;
use super::stream::Stream;
use super::tally::Tally;
use super::timings::{self, Timings};
use super::traces::{self, Traces, Wanted};
use crate::failure::{Context, Result};
use crate::wanted::DEFAULT_K;
use crate::{images, kinds, rundir};

/// The streams of one image in one process.
pub(crate) struct Subject {
    /// Its raw profile.
    pub(super) profile: PathBuf,
    pub(super) head: ProfileHead,
    pub(super) k: u32,
    pub(super) settings: Settings,
    /// None without a path map: then nothing can be made of words.
    pub(super) words: Option<Words>,
    /// It is no collector's (any more): words are only in the raw profile.
    is_resumed: bool,
    /// Its words are read for the first time only now: what is not there is lost.
    is_first: bool,
    analysed: AtomicU64,
    left_out: AtomicU64,
    lost: AtomicU64,
    /// Words of paths that threads appended, and those that are known, here, in files or as left out of a sample: resumed, the rest is lost.
    appended: AtomicU64,
    known: AtomicU64,
    cut: AtomicU64,
    /// Paths in the files of traces that a collector left, by thread.
    written: Mutex<BTreeMap<u32, u64>>,
    pub(super) forests: Mutex<Forests>,
    pub(super) traces: Mutex<Traces>,
    pub(super) timings: Mutex<Timings>,
}

/// What was made, of a profile that stays as it is.
pub(crate) struct Results {
    /// The forests, or the timings.
    pub(crate) made: Option<Made>,
    /// Files of traces.
    pub(crate) traces: Vec<Vec<u8>>,
    /// How often each path ran, and what is missing.
    pub(crate) profile: Profile,
}

/// What lies in one file, written when a process has ended.
#[derive(Clone)]
pub(crate) enum Made {
    /// The forests.
    Loops(ProcessForests),
    /// How long paths took.
    Timings(VariationProfile),
}

impl Made {
    /// Its file.
    fn write(&self) -> Vec<u8> {
        match self {
            Self::Loops(loops) => write_loops(&loops.profile),
            Self::Timings(timings) => write_variation(timings),
        }
    }

    /// How often each path ran, or is estimated to have run.
    fn counts(&self) -> Vec<FunctionCounts> {
        match self {
            Self::Loops(loops) => loops::paths(&loops.profile).functions,
            Self::Timings(timings) => variation::paths(timings).functions,
        }
    }

    /// That counts are estimates or leave frames out, where they do, and what is damaged.
    fn said(&self) -> Vec<Damage> {
        let timings = match self {
            Self::Timings(timings) => timings,
            Self::Loops(loops) => {
                let what =
                    "frames that were left early are not counted: that takes all words of a stream";
                let said = loops.is_closed.then_some(what).into_iter();
                return said
                    .map(|what| Damage::of_file(DamagedFile::Profile, 0, what))
                    .collect();
            }
        };
        let VariationStats {
            samples,
            begun,
            damaged,
            ..
        } = timings.head.stats;
        let begun = grouped(begun);
        let sample = (timings.head.kind == KIND_VARIATION).then(|| {
            format!(
                "{SAMPLE}: counts are estimates, made from {} of {begun} that ran",
                plural(samples, "timed path")
            )
        });
        let damaged = (damaged > 0).then(|| {
            let are = if damaged == 1 { "is" } else { "are" };
            let samples = plural(damaged, "sample");
            format!("{samples} {are} damaged, and left out; record it again")
        });
        let said = [sample, damaged].into_iter().flatten();
        said.map(|what| Damage::of_file(DamagedFile::Profile, 0, what))
            .collect()
    }

    /// What its file is called: beside a raw profile, and beside a sealed one until it has the
    /// other's name. Nothing is made of other kinds (`abi::KIND_…`), nor of unknown ones, which no
    /// head that was read has.
    pub(crate) fn extensions(kind: u32) -> Option<[&'static str; 2]> {
        match kinds::of(kind)? {
            Collect::Loops => Some([forests::LOOPS, forests::SEALED_LOOPS]),
            Collect::Variation | Collect::Times => {
                Some([timings::TIMINGS, timings::SEALED_TIMINGS])
            }
            Collect::Paths | Collect::Edges | Collect::Trace => None,
        }
    }
}

impl Subject {
    /// The streams of the raw profile at `profile`.
    pub(crate) fn new(
        profile: &Path,
        head: &ProfileHead,
        words: Option<Words>,
        settings: Settings,
    ) -> Self {
        let k = settings.k.or_else(|| {
            let image = images::inspect(Path::new(&head.image_path));
            image.ok()?.k
        });
        Self {
            profile: profile.to_owned(),
            head: head.clone(),
            k: k.unwrap_or(DEFAULT_K),
            settings,
            words,
            is_resumed: false,
            is_first: false,
            analysed: AtomicU64::new(0),
            left_out: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            appended: AtomicU64::new(0),
            known: AtomicU64::new(0),
            cut: AtomicU64::new(0),
            written: Mutex::default(),
            forests: Mutex::default(),
            traces: Mutex::default(),
            timings: Mutex::default(),
        }
    }

    /// The streams of a raw profile that no collector has (any more), with what one made of them.
    pub(crate) fn resume(
        profile: &Path,
        head: &ProfileHead,
        map: &Arc<ImageMap>,
        mut settings: Settings,
    ) -> Self {
        let forests = Forests::resume(profile, map);
        let words = forests.known();
        let timings = Timings::resume(profile, map);
        let samples = timings.known().saturating_mul(SAMPLE_WORDS as u64);
        // Forests of one process are of one k.
        settings.k = forests.k().or(settings.k);
        let traces = traces::beside(profile, false);
        let is_first = forests.is_empty() && timings.is_empty() && traces.is_empty();
        Self {
            is_resumed: true,
            is_first,
            known: AtomicU64::new(words.saturating_add(samples)),
            analysed: AtomicU64::new(words),
            forests: forests.into(),
            timings: timings.into(),
            ..Self::new(profile, head, Some(Words::new(map)), settings)
        }
    }

    /// One chunk in so many is analysed. Timed paths are a sample already, or all are wanted.
    pub(crate) fn sample(&self) -> u64 {
        if self.is_timed() {
            return 1;
        }
        self.settings.sample
    }

    fn is_timed(&self) -> bool {
        [KIND_VARIATION, KIND_TIMES].contains(&self.head.kind)
    }

    /// So many words were taken out, to be analysed or left out.
    pub(crate) fn taken(&self, words: u64, is_chosen: bool) {
        let tally = if is_chosen {
            &self.analysed
        } else {
            &self.left_out
        };
        tally.fetch_add(words, Ordering::Relaxed);
    }

    /// So many words were lost before they could be taken.
    pub(crate) fn lost(&self, words: u64) {
        if words > 0 {
            self.lost.fetch_add(words, Ordering::Relaxed);
        }
    }

    /// A stream goes on of which what was open is forgotten; a timed path stands for itself.
    pub(super) fn cut(&self) {
        self.cut
            .fetch_add(u64::from(!self.is_timed()), Ordering::Relaxed);
    }

    /// Takes in what a raw profile still has of the streams: spools, and words in rings.
    pub(crate) fn absorb(&self, raw: &RawProfile<'_>) -> Vec<Damage> {
        let is_collected = raw.header().collector != 0;
        let rings = raw.ring_words();
        let damage = Mutex::new(Vec::new());
        let next = AtomicUsize::new(0);
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..workers.min(rings.len()) {
                scope.spawn(|| {
                    while let Some(ring) = rings.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let lost = self.absorb_ring(ring, is_collected);
                        locked(&damage).extend(lost);
                    }
                });
            }
        });
        damage.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn absorb_ring(&self, ring: &RingWords<'_>, is_collected: bool) -> Vec<Damage> {
        let mut damage = Vec::new();
        let head = ring.ring.as_ref();
        let mut stream = Stream::new(self, head.map_or(0, |head| head.tid));
        let (mut next, mut known) = (None, 0);
        for piece in ring.pieces() {
            match piece {
                Ok(piece) => {
                    // A collector that is killed may have taken words and not said so yet: their places are 0.
                    let taken = (is_collected && next.is_none()).then(|| zeros(&piece.words));
                    let words = &piece.words[taken.unwrap_or(0)..];
                    let at = piece.at + 4 * taken.unwrap_or(0) as u64;
                    let goes_on = next.is_none() && head.is_some_and(|head| head.origin < at);
                    let begins = words.first().is_none_or(|&word| word == WORD_OWNER);
                    if goes_on && !self.is_first && !begins {
                        self.cut();
                    }
                    let gap = next.map_or(0, |next| at.saturating_sub(next));
                    self.lost(gap / 4);
                    known += paths_among(words, self.words_of_path());
                    stream.feed(self, at, words);
                    next = Some(at + 4 * words.len() as u64);
                }
                Err(lost) => damage.push(lost),
            }
        }
        stream.pause(self);
        if self.is_resumed {
            let appended = head.map_or(known, Ring::appended);
            let left_out = head.map_or(0, |head| head.left_out.min(appended));
            // A timed path that lacks a word is lost.
            let holes = head.map_or(0, |head| head.taken_holes);
            let holes = if self.is_timed() { 0 } else { holes };
            let known = known.saturating_add(left_out).saturating_add(holes);
            self.left_out.fetch_add(left_out, Ordering::Relaxed);
            self.appended.fetch_add(appended, Ordering::Relaxed);
            self.known.fetch_add(known, Ordering::Relaxed);
        }
        if let Some(head) = head {
            // Cut off, and dropped.
            let missing = head.end().saturating_sub(next.unwrap_or(head.first()));
            self.lost((missing + head.cursor.saturating_sub(head.end())) / 4);
        }
        damage
    }

    /// Words that a path takes which ended.
    fn words_of_path(&self) -> u64 {
        if self.is_timed() {
            SAMPLE_WORDS as u64
        } else {
            1
        }
    }

    /// What became of the words. What a resumed stream lost is known when all there is was read.
    fn tally(&self) -> Tally {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let lost = if self.is_resumed {
            of(&self.appended).saturating_sub(of(&self.known))
        } else {
            of(&self.lost)
        };
        Tally {
            analysed: of(&self.analysed),
            left_out: of(&self.left_out),
            lost: lost.div_ceil(self.words_of_path()),
            cut: of(&self.cut),
        }
    }

    /// Writes down what was taken so far, beside the profile. Traces are there already.
    ///
    /// # Errors
    /// The run's directory can't be written.
    pub(crate) fn keep(&self) -> Result<Option<Made>> {
        self.write(|[usual, _]| usual)
    }

    /// Writes the result to the file of one of its [extensions](Made::extensions).
    fn write(&self, which: fn([&'static str; 2]) -> &'static str) -> Result<Option<Made>> {
        let made = self.made();
        let extensions = Made::extensions(self.head.kind);
        if let Some((made, extensions)) = made.as_ref().zip(extensions) {
            let file = self.profile.with_extension(which(extensions));
            rundir::write_atomically(&file, &made.write())?;
        }
        Ok(made)
    }

    fn made(&self) -> Option<Made> {
        let (words, head) = (self.words.as_ref()?, &self.head);
        match kinds::of(head.kind)? {
            Collect::Paths | Collect::Edges | Collect::Trace => None,
            Collect::Loops => {
                let loops = locked(&self.forests).profile(head, words, self.tally());
                Some(Made::Loops(loops))
            }
            Collect::Variation | Collect::Times => {
                let timings = locked(&self.timings).profile(head, words, self.tally());
                Some(Made::Timings(timings))
            }
        }
    }

    /// The process has ended and all its words are here: writes down the result, and puts a sealed profile in the place of the raw one.
    ///
    /// # Errors
    /// The run's directory can't be written.
    pub(crate) fn seal(&self) -> Result<()> {
        let Some(words) = &self.words else {
            return Ok(());
        };
        let _alone = hold(&self.profile, true);
        let raw = images::read_regular(&self.profile);
        let raw = raw.cannot(|| format!("read {}", self.profile.display()))?;
        // Another may have sealed it meanwhile.
        let Ok(raw) = RawProfile::parse(&raw) else {
            return Ok(());
        };
        let mut made = None;
        if !self.is_resumed {
            made = self.keep()?;
            self.finish_traces()?;
        }
        let taken = self.tally();
        let mut rest = Traces::of_rest();
        rest.count(locked(&self.traces).take_counts());
        *locked(&self.traces) = rest;
        let cannot = || format!("write the trace of {}", self.profile.display());
        traces::forget_rest(&self.profile).cannot(cannot)?;
        let damage = self.absorb(&raw);
        let mut profile = Profile::from_head(raw.header().profile.clone());
        if self.count_beside(&raw) || self.is_resumed || self.tally() != taken {
            made = self.write(|[_, sealed]| sealed)?;
        }
        if let Some(made) = made {
            profile.functions = made.counts();
            profile.damage.extend(made.said());
        } else {
            self.finish_traces()?;
            if self.is_resumed {
                self.count_earlier(&traces::beside(&self.profile, false), &mut profile);
            }
            profile.functions = locked(&self.traces).path_counts(words.image());
        }
        self.say_missing(&raw, damage, &mut profile);
        rundir::write_atomically(&self.profile, &write_sealed(&profile))?;
        forests::settle(&self.profile);
        timings::settle(&self.profile);
        traces::settle(&self.profile);
        Ok(())
    }

    /// What there is with what the raw profile still has. Nothing is written.
    pub(crate) fn result(self, raw: &RawProfile<'_>) -> Results {
        *locked(&self.traces) = Traces::in_memory();
        let damage = self.absorb(raw);
        self.count_beside(raw);
        let mut profile = Profile::from_head(raw.header().profile.clone());
        let made = self.made();
        let mut files = Vec::new();
        if let Some(made) = &made {
            profile.functions = made.counts();
            profile.damage.extend(made.said());
        } else if let Some(words) = &self.words {
            files = traces::beside(&self.profile, false);
            self.count_earlier(&files, &mut profile);
            let mut traces = locked(&self.traces);
            files.extend(traces.finish().ok().flatten());
            profile.functions = traces.path_counts(words.image());
        }
        self.say_missing(raw, damage, &mut profile);
        Results {
            made,
            traces: files,
            profile,
        }
    }

    /// Takes in what threads counted beside their rings; whether there is anything.
    fn count_beside(&self, raw: &RawProfile<'_>) -> bool {
        let image = self.words.as_ref().map(Words::image);
        let counted = image.map(|image| holloway_format::ring_counts(raw, image));
        locked(&self.forests).count(counted.unwrap_or_default())
    }

    /// Ends the file of traces: all that was taken is in it.
    ///
    /// # Errors
    /// The run's directory can't be written.
    pub(crate) fn finish_traces(&self) -> Result<()> {
        let finished = locked(&self.traces).finish();
        let finished = finished.map(drop);
        finished.cannot(|| format!("write the trace of {}", self.profile.display()))
    }

    /// Adds how often paths ran by files of traces that a collector left, and says what is wrong with these.
    fn count_earlier(&self, files: &[Vec<u8>], profile: &mut Profile) {
        let traces = traces::read(files, &self.head, Wanted::Check);
        let counts = traces::path_counts(&traces);
        let known = counts
            .values()
            .fold(0, |sum: u64, count| sum.saturating_add(*count));
        self.known.fetch_add(known, Ordering::Relaxed);
        self.analysed.fetch_add(known, Ordering::Relaxed);
        locked(&self.traces).count(counts);
        let mut written = locked(&self.written);
        for trace in &traces {
            let paths = written.entry(trace.thread).or_default();
            *paths = paths.saturating_add(trace.paths());
        }
        let damage = traces.iter().flat_map(|trace| &trace.damage);
        let damage: BTreeSet<&String> = damage.collect();
        let damage = damage.into_iter();
        let damage = damage.map(|what| Damage::of_file(DamagedFile::Profile, 0, what));
        profile.damage.extend(damage);
    }

    fn say_missing(&self, raw: &RawProfile<'_>, damage: Vec<Damage>, profile: &mut Profile) {
        profile.damage.extend_from_slice(raw.damage());
        profile.damage.extend(damage);
        let written = locked(&self.written);
        let written = (self.head.kind == KIND_TRACE).then_some(&*written);
        profile
            .damage
            .extend(self.tally().damage(raw.rings(), written));
        // Of rings that dropped words the paths are counted, so the rings need no mention.
        let dropped = raw.rings().iter().filter(|ring| ring.missing.is_some());
        profile.lost = profile.lost.saturating_sub(dropped.count() as u64);
    }
}

/// Places that were never written, or are free again, before the first word.
fn zeros(words: &[u32]) -> usize {
    words.iter().take_while(|&&word| word == 0).count()
}

/// How many of these words are of paths, each of which takes `each`: only its first is no operand. One that was never written was to be one's.
fn paths_among(words: &[u32], each: u64) -> u64 {
    let of_path = |&word: &u32| match word {
        0 => 1,
        word if word & OPERAND == 0 => each,
        _ => 0,
    };
    words.iter().map(of_path).sum()
}

/// Keeps others from finishing a profile as long as the file is open: for reading it, or `alone`, for finishing it. A file system without
/// locks goes without.
pub(crate) fn hold(profile: &Path, alone: bool) -> Option<File> {
    let is_file = profile.metadata().is_ok_and(|file| file.is_file());
    let file = is_file.then(|| File::open(profile).ok()).flatten()?;
    let held = if alone {
        file.lock()
    } else {
        file.lock_shared()
    };
    held.is_ok().then_some(file)
}
