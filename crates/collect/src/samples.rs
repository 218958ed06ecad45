//! The samples of a monitor in a run's directory: watches programs and stores samples, and loads
//! them.
//!
//! A monitor writes its record anew every 10 seconds, in one step. So the directory can be read at
//! any time, and a killed monitor loses 10 seconds at most. Parts of the sampled programs are
//! stored beside the record (`program_copies`), so that reports do not need the programs.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::num::NonZeroU64;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use holloway_analysis::note::{Note, Unreadable};
use holloway_analysis::samples::{
    RecordedBranches, SampledCode, SampledFile, SampledRun, SourceLine,
};
use holloway_format::branches::{BRANCHES_EXTENSION, BranchFile, RecordSource};
use holloway_format::pack_map;
use holloway_format::samples::{
    KnownBlocks, MonitorState, MonitoredFile, SAMPLES_EXTENSION, SampleRecord,
};
use holloway_sample::elf;
use holloway_sample::monitor::{Monitor, MonitorError, Target};
use holloway_sample::sampled_file::woven_build;
use holloway_sample::source_map::SourceMap;

use crate::child::{self, ProgramEnd};
use crate::error::{LoadError, MonitorRunError, StoreError};
use crate::files::{files, map_name, read_regular, write_atomically};
use crate::import::ImportedFiles;
use crate::path_map::read_map_file;
use crate::program_copies;

/// Time between two looks whether to end.
const END_INTERVAL: Duration = Duration::from_millis(100);
/// Time between two writings of the samples.
const WRITE_INTERVAL: Duration = Duration::from_secs(10);

/// Watches until `has_ended` returns true, and stores the samples in `directory`. Returns them.
///
/// # Errors
/// If the directory cannot be written.
pub fn watch(
    mut monitor: Monitor,
    directory: &Path,
    has_ended: &dyn Fn() -> bool,
) -> Result<SampleRecord, StoreError> {
    let name = format!("{}.{SAMPLES_EXTENSION}", std::process::id());
    let file = directory.join(name);
    let mut stacks = WatchedStacks::default();
    let interval = monitor.interval();
    let (mut read, mut written) = (Instant::now(), Instant::now());
    while !has_ended() {
        std::thread::sleep(END_INTERVAL.min(interval.saturating_sub(read.elapsed())));
        if read.elapsed() < interval {
            continue;
        }
        read = Instant::now();
        monitor.read();
        stacks.take(&mut monitor);
        store_copies(&mut monitor, directory)?;
        if written.elapsed() >= WRITE_INTERVAL {
            stacks.store(&file)?;
            store(&monitor, &file, MonitorState::Watching)?;
            written = Instant::now();
        }
    }
    monitor.read_rest();
    stacks.take(&mut monitor);
    stacks.store(&file)?;
    store_copies(&mut monitor, directory)?;
    store(&monitor, &file, MonitorState::Ended)
}

/// The branch stacks of a monitor.
#[derive(Default)]
struct WatchedStacks {
    files: ImportedFiles<'static>,
    stacks: u64,
    branches: u64,
    depth: u64,
}

impl WatchedStacks {
    /// Takes the stacks that the monitor has read.
    fn take(&mut self, monitor: &mut Monitor) {
        for stack in monitor.take_stacks() {
            self.stacks += 1;
            let depth = stack.branches.len() as u64;
            self.branches += depth;
            self.depth = self.depth.max(depth);
            // Never fails: the blocks of a program that was rebuilt meanwhile are not known.
            self.files.add_stack(monitor.address_spaces(), &stack).ok();
        }
    }

    /// Writes the branches beside the file of samples, if there are any.
    fn store(&self, samples: &Path) -> Result<(), StoreError> {
        if self.stacks == 0 {
            return Ok(());
        }
        // The maps come first: a reader of the branches finds them.
        for (build_id, bytes) in self.files.maps() {
            let map = samples.with_file_name(map_name(build_id));
            if !map.exists() {
                write_atomically(&map, &pack_map(bytes, build_id))?;
            }
        }
        let (files, mut quality) = self.files.branches();
        (quality.stacks, quality.branches) = (self.stacks, self.branches);
        let record = BranchFile {
            source: RecordSource::Monitor,
            name: String::new(),
            event: String::new(),
            depth: self.depth,
            kernel: 0,
            other_events: 0,
            damaged: 0,
            quality,
            files,
        };
        write_atomically(
            &samples.with_extension(BRANCHES_EXTENSION),
            &record.encode(),
        )
    }
}

/// How [`run_watched`] samples.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watching {
    /// Samples per second of CPU time, or the default.
    pub frequency: Option<NonZeroU64>,
    /// Whether to record branch stacks.
    pub branch_stacks: bool,
}

impl Watching {
    /// Starts a monitor.
    ///
    /// # Errors
    /// If the kernel does not permit it, or the machine has no branch stacks.
    pub fn start(self, target: Target) -> Result<Monitor, MonitorError> {
        match self.branch_stacks {
            true => Monitor::start_with_branch_stacks(target, self.frequency),
            false => Monitor::start(target, self.frequency),
        }
    }
}

/// Stores the copies of programs before a record names them.
fn store_copies(monitor: &mut Monitor, directory: &Path) -> Result<(), StoreError> {
    let mut copies = monitor.take_copies().into_iter();
    copies.try_for_each(|copy| program_copies::store(directory, &copy))
}

fn store(monitor: &Monitor, file: &Path, state: MonitorState) -> Result<SampleRecord, StoreError> {
    let record = monitor.record(state);
    write_atomically(file, &record.encode())?;
    Ok(record)
}

/// Runs a program to its end, and watches it from its first instruction. `command` makes a process
/// that calls [`begin_watched`] with its last argument but those of the program; the arguments
/// follow the socket's path.
///
/// # Errors
/// If the program cannot be started, the kernel does not permit to watch it, or the directory
/// cannot be written.
pub fn run_watched(
    command: impl FnOnce(&Path) -> Command,
    watching: Watching,
    directory: &Path,
) -> Result<(ProgramEnd, SampleRecord), MonitorRunError> {
    let folder = tempfile::tempdir().map_err(MonitorRunError::Socket)?;
    let socket = folder.path().join("start");
    let listener = UnixListener::bind(&socket).map_err(MonitorRunError::Socket)?;
    let has_ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let has_ended = &has_ended;
        let monitor = scope.spawn(move || -> Result<_, MonitorRunError> {
            let Some((process, stream)) = started(&listener) else {
                return Ok(None);
            };
            let monitor = watching.start(Target::AfterExec(process))?;
            let permission = (&stream).write_all(b"\n");
            drop(stream);
            permission.map_err(MonitorRunError::Socket)?;
            let has_ended = || has_ended.load(Ordering::Acquire);
            Ok(Some(watch(monitor, directory, &has_ended)?))
        });
        let end = child::run(&mut command(&socket));
        has_ended.store(true, Ordering::Release);
        // If the process ended before it connected, this ends the wait for it.
        drop(UnixStream::connect(&socket));
        let record = monitor.join().unwrap_or(Ok(None))?;
        let end = end?;
        record
            .map(|record| (end, record))
            .ok_or(MonitorRunError::NotStarted)
    })
}

/// Waits for the process that will run the program. `None` if there is none.
fn started(listener: &UnixListener) -> Option<(u32, UnixStream)> {
    let (stream, _) = listener.accept().ok()?;
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line).ok()?;
    Some((line.trim().parse().ok()?, stream))
}

/// In the process that will run a watched program: waits until the monitor watches this process.
/// The caller then executes the program.
///
/// # Errors
/// If the monitor does not watch.
pub fn begin_watched(socket: &Path) -> io::Result<()> {
    let mut stream = UnixStream::connect(socket)?;
    writeln!(stream, "{}", std::process::id())?;
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line)?;
    match line.is_empty() {
        true => Err(io::ErrorKind::BrokenPipe.into()),
        false => Ok(()),
    }
}

/// The files with samples in a run's directory, or the one that `run` names. Empty if there are
/// none.
pub fn sample_files(run: &Path) -> Vec<PathBuf> {
    let is_record = |file: &PathBuf| {
        let extension = file.extension();
        extension.is_some_and(|extension| extension == SAMPLES_EXTENSION)
    };
    if run.is_file() {
        return Some(run.to_owned()).filter(is_record).into_iter().collect();
    }
    let mut found: Vec<PathBuf> = files(run).into_iter().flatten().filter(is_record).collect();
    found.sort();
    found
}

/// Loads the samples of a run. Several monitors may have stored samples in its directory.
///
/// # Errors
/// If no record can be read.
pub fn load(run: &Path) -> Result<SampledRun, LoadError> {
    let mut loaded: Option<SampledRun> = None;
    let mut damage = Vec::new();
    for file in sample_files(run) {
        let record = read_regular(&file)
            .map_err(|error| Unreadable::System {
                message: error.to_string(),
            })
            .and_then(|bytes| SampleRecord::decode(&bytes).map_err(Unreadable::Format));
        match record {
            Ok(record) => {
                let directory = file.parent().unwrap_or(Path::new("."));
                let mut next = sampled_run(record, directory, &mut damage);
                next.records = records_beside(&file, directory, &mut damage);
                loaded = Some(match loaded {
                    None => next,
                    Some(first) => joined(first, next),
                });
            }
            Err(why) => damage.push(Note::Unreadable { file, why }),
        }
    }
    match loaded {
        Some(mut loaded) => {
            loaded.damage = damage;
            Ok(loaded)
        }
        None => Err(match damage.split_first() {
            None => LoadError::NoProfile {
                run: run.to_owned(),
            },
            Some((first, others)) => LoadError::NoReadableProfile {
                run: run.to_owned(),
                first: Box::new(first.clone()),
                others: others.len(),
            },
        }),
    }
}

fn joined(mut first: SampledRun, next: SampledRun) -> SampledRun {
    first.duration_ns = first.duration_ns.max(next.duration_ns);
    first.lost = first.lost.saturating_add(next.lost);
    first.without_file = first.without_file.saturating_add(next.without_file);
    first.programs.extend(next.programs);
    first.files.extend(next.files);
    first.records = match (first.records, next.records) {
        (Some(mut first), Some(next)) => {
            first.join(next);
            Some(first)
        }
        (first, next) => first.or(next),
    };
    first
}

/// Loads the branch records beside a file of samples. `None` if there are none.
fn records_beside(
    samples: &Path,
    directory: &Path,
    damage: &mut Vec<Note>,
) -> Option<RecordedBranches> {
    let file = samples.with_extension(BRANCHES_EXTENSION);
    if !file.exists() {
        return None;
    }
    let record = read_regular(&file)
        .map_err(|error| Unreadable::System {
            message: error.to_string(),
        })
        .and_then(|bytes| BranchFile::decode(&bytes).map_err(Unreadable::Format));
    let mut facts = match record {
        Ok(record) => record,
        Err(why) => {
            damage.push(Note::Unreadable { file, why });
            return None;
        }
    };
    // A map that cannot be read is listed with the samples.
    let files = std::mem::take(&mut facts.files).into_iter();
    let files = files.filter_map(|file| {
        let map = read_map_file(&directory.join(map_name(&file.map))).ok()?;
        Some((map, file.functions))
    });
    Some(RecordedBranches {
        files: files.collect(),
        facts,
    })
}

fn sampled_run(record: SampleRecord, directory: &Path, damage: &mut Vec<Note>) -> SampledRun {
    let files = record.files.into_iter();
    SampledRun {
        clock: record.clock,
        state: record.state,
        frequency: record.frequency,
        duration_ns: record.duration_ns,
        lost: record.lost,
        without_file: record.without_file,
        programs: record.programs,
        files: files
            .map(|file| sampled_file(file, directory, damage))
            .collect(),
        records: None,
        damage: Vec::new(),
    }
}

/// Finds the map, the symbols, and the lines of a file. Lines come from the program's file, as long
/// as it is the sampled build.
fn sampled_file(mut file: MonitoredFile, directory: &Path, damage: &mut Vec<Note>) -> SampledFile {
    let found = program_copies::find_blocks(&mut file, directory, damage);
    let path = Path::new(&file.path);
    let has_same_id = || elf::build_id(path).as_ref() == Some(&file.build_id);
    let is_same_build = match (file.blocks, &*file.build_id) {
        (KnownBlocks::Unread, _) => false,
        (KnownBlocks::Known { map, .. }, []) => woven_build(path) == Some(map),
        (_, []) => false,
        (_, _) => has_same_id(),
    };
    let source = match is_same_build {
        true => SourceMap::open(path),
        false => None,
    };
    let code = file.addresses.iter().map(|address| {
        let place = source.as_ref().map(|source| source.find(address.address));
        let place = place.unwrap_or_default();
        SampledCode {
            samples: address.samples,
            block: address.block,
            symbol: place.symbol,
            place: SourceLine {
                file: place.file,
                line: place.line,
            },
        }
    });
    SampledFile {
        code: code.collect(),
        blocks: file.blocks,
        map: found.map(|found| found.map),
        path: file.path,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use holloway_format::Count;
    use holloway_format::samples::{AddressSamples, SampleClock};

    #[test]
    fn samples_of_two_monitors_are_joined_and_damaged_ones_are_listed() {
        let directory = tempfile::tempdir().unwrap();
        assert!(matches!(
            load(directory.path()),
            Err(LoadError::NoProfile { .. })
        ));
        let record = |samples| SampleRecord {
            clock: SampleClock::CpuTime,
            state: MonitorState::Ended,
            frequency: 1024,
            duration_ns: samples,
            lost: 1,
            without_file: Count(0),
            files: vec![MonitoredFile {
                path: "/gone".to_owned(),
                build_id: Vec::new(),
                blocks: KnownBlocks::NotWoven,
                addresses: vec![AddressSamples {
                    address: 1,
                    samples: Count(samples),
                    block: None,
                }],
            }],
            programs: Vec::new(),
        };
        let file = |name: &str| directory.path().join(name);
        std::fs::write(file("1.hws"), record(3).encode()).unwrap();
        std::fs::write(file("2.hws"), record(4).encode()).unwrap();
        std::fs::write(file("3.hws"), "HLWSAMPL").unwrap();
        let run = load(directory.path()).unwrap();
        assert_eq!((run.files.len(), run.lost, run.duration_ns), (2, 2, 4));
        assert_eq!(run.damage.len(), 1);
        assert_eq!(load(&file("2.hws")).unwrap().files.len(), 1);
        assert!(load(&file("3.hws")).is_err());
    }
}
