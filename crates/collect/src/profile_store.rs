//! The store of one machine's profiles, which Holloway's manager keeps (Morph's manager: Zhang et al.
//! 1997, section 4).
//!
//! ```text
//! <store>/
//!     profiles.redb       the database: programs, and the runs that were added
//!     profiles.hws        what `report`, `overlap`, and `--guide` read: samples of all programs
//!     <build id>.hwm      the path map of each program
//! ```
//! An update is one transaction: a killed manager loses nothing that an earlier update stored. The
//! database has a lock, so a second manager waits. `profiles.hws` is written anew after each update.
//!
//! The key of a program is the build id of its path map, then the build id of its file. If a program
//! at the same path has another key, it was rebuilt: the times of functions that did not change are
//! carried over, and the old build is deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use holloway_analysis::block_times::{
    BlockTimes, CarriedOver, Combination, KeptProgram, StoreUpdate,
};
use holloway_analysis::note::{Note, Unreadable};
use holloway_format::samples::{
    AddressSamples, KnownBlocks, MonitorState, MonitoredFile, SAMPLES_EXTENSION, SampleClock,
    SampleRecord,
};
use holloway_format::{Count, FunctionIndex, ProgramSamples, pack_map, varint};
use holloway_sample::elf;
use redb::{Database, DatabaseError, ReadableTable as _, Table, TableDefinition};

use crate::error::{ProfileStoreError, StoreError};
use crate::files::{files, map_name, read_regular, write_atomically};
use crate::path_map::read_map_file;
use crate::program_copies::{FoundMap, find_blocks};
use crate::samples::sample_files;

type Result<T> = std::result::Result<T, ProfileStoreError>;

/// The database.
const DATABASE: &str = "profiles.redb";
/// Samples per second in `profiles.hws`: those of Morph's monitor.
const FREQUENCY: u64 = 1024;
/// A monitor writes every 10 s. One that has not written for this time was killed.
const KILLED_AFTER: Duration = Duration::from_secs(60);
/// Time to wait for another manager.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time between two attempts to open the database.
const RETRY: Duration = Duration::from_millis(50);
/// The version of a program's record.
const VERSION: u64 = 1;

/// Programs by key.
const PROGRAMS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("programs");
/// Runs that were added: path, and checksum.
const RUNS: TableDefinition<'_, &[u8], u64> = TableDefinition::new("runs");

/// How a store is updated.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// How runs are combined.
    pub combination: Combination,
    /// Time in which the weight of a run halves.
    pub half_life: Duration,
    /// Maximum bytes of all programs and path maps. The programs that were sampled least recently
    /// are forgotten first.
    pub max_bytes: u64,
    /// Time to wait for another manager.
    pub patience: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            combination: Combination::default(),
            half_life: Duration::from_secs(7 * 24 * 3600),
            max_bytes: 256 << 20,
            patience: PATIENCE,
        }
    }
}

/// A program in the database.
#[derive(Clone, Debug, PartialEq)]
struct Program {
    path: String,
    build_id: Vec<u8>,
    map: [u8; 16],
    /// When a run was added last, in seconds since 1970.
    updated: u64,
    /// The moment that the weights of the times hold for, in seconds since 1970.
    aged: u64,
    samples: u64,
    runs: u64,
    /// 0 if unknown.
    code_bytes: u64,
    times: BlockTimes,
    /// The times when this build replaced another.
    reference: Option<BlockTimes>,
}

/// Adds the runs that are not in the store yet. `runs` are directories of runs, or of several runs.
///
/// # Errors
/// If another manager uses the store for too long, or the store cannot be read or written. Then it
/// remains as it was.
pub fn update(
    store: &Path,
    runs: &[PathBuf],
    policy: Policy,
    now: SystemTime,
) -> Result<StoreUpdate> {
    let error = |source: redb::Error| ProfileStoreError::Database {
        store: store.to_owned(),
        source: Box::new(source),
    };
    std::fs::create_dir_all(store).map_err(|source| ProfileStoreError::Create {
        store: store.to_owned(),
        source,
    })?;
    let database = open(store, policy.patience)?;
    let mut update = StoreUpdate::default();
    let transaction = database.begin_write().map_err(|e| error(e.into()))?;
    let programs = {
        let mut table = transaction
            .open_table(PROGRAMS)
            .map_err(|e| error(e.into()))?;
        let mut added = transaction.open_table(RUNS).map_err(|e| error(e.into()))?;
        let mut programs = read_programs(&table).map_err(error)?;
        let now_seconds = seconds(now);
        for program in programs.values_mut() {
            program.age(now_seconds, policy.half_life);
        }
        let mut carried = BTreeMap::new();
        for file in new_records(runs) {
            let Some((record, mark)) = read_record(&file, now, &mut update) else {
                continue;
            };
            let key = file.as_os_str().as_encoded_bytes();
            let known = added.get(key).map_err(|e| error(e.into()))?;
            if known.is_some_and(|known| known.value() == mark) {
                continue;
            }
            add_record(
                store,
                &file,
                record,
                policy,
                now_seconds,
                &mut programs,
                &mut carried,
                &mut update,
            )?;
            added.insert(key, mark).map_err(|e| error(e.into()))?;
            update.runs += 1;
        }
        forget_deleted_runs(&mut added, runs).map_err(error)?;
        update.forgotten = forget(store, &mut programs, policy.max_bytes);
        let stored: Vec<Vec<u8>> = table
            .iter()
            .and_then(|rows| {
                rows.map(|row| row.map(|(key, _)| key.value().to_vec()))
                    .collect()
            })
            .map_err(|e| error(e.into()))?;
        for key in stored {
            table.remove(&*key).map_err(|e| error(e.into()))?;
        }
        for (key, program) in &programs {
            let bytes = program.encode();
            table.insert(&**key, &*bytes).map_err(|e| error(e.into()))?;
            update
                .programs
                .push(program.kept(bytes.len(), now_seconds, carried.remove(key)));
        }
        programs
    };
    transaction.commit().map_err(|e| error(e.into()))?;
    write_samples(store, &programs)?;
    delete_unused_maps(store, &programs);
    update
        .programs
        .sort_by_key(|program| std::cmp::Reverse(program.samples));
    Ok(update)
}

/// Opens the database. Waits while another manager uses it.
fn open(store: &Path, patience: Duration) -> Result<Database> {
    let start = Instant::now();
    loop {
        match Database::create(store.join(DATABASE)) {
            Ok(database) => return Ok(database),
            Err(DatabaseError::DatabaseAlreadyOpen) if start.elapsed() < patience => {
                std::thread::sleep(RETRY);
            }
            Err(DatabaseError::DatabaseAlreadyOpen) => {
                return Err(ProfileStoreError::InUse {
                    store: store.to_owned(),
                });
            }
            Err(source) => {
                return Err(ProfileStoreError::Database {
                    store: store.to_owned(),
                    source: Box::new(source.into()),
                });
            }
        }
    }
}

fn read_programs(
    table: &Table<'_, &'static [u8], &'static [u8]>,
) -> std::result::Result<BTreeMap<Vec<u8>, Program>, redb::Error> {
    let mut programs = BTreeMap::new();
    for row in table.iter()? {
        let (key, value) = row?;
        // A record of another version is dropped: profiles can be sampled again.
        if let Some(program) = Program::decode(value.value()) {
            programs.insert(key.value().to_vec(), program);
        }
    }
    Ok(programs)
}

/// Forgets that runs were added whose files are gone from the directories of `runs`, so that the list
/// of added runs does not grow for ever. Runs elsewhere may come back, with another file system.
fn forget_deleted_runs(
    added: &mut Table<'_, &'static [u8], u64>,
    runs: &[PathBuf],
) -> std::result::Result<(), redb::Error> {
    let readable: Vec<PathBuf> = runs
        .iter()
        .filter_map(|run| run.canonicalize().ok())
        .collect();
    let is_deleted = |key: &[u8]| {
        let file = Path::new(OsStr::from_bytes(key));
        readable.iter().any(|run| file.starts_with(run)) && !file.exists()
    };
    added.retain(|key, _| !is_deleted(key))?;
    Ok(())
}

/// The files of samples in directories of runs, oldest first.
fn new_records(runs: &[PathBuf]) -> Vec<PathBuf> {
    let mut found: BTreeSet<(Option<SystemTime>, PathBuf)> = BTreeSet::new();
    for run in runs {
        let directories = files(run)
            .into_iter()
            .flatten()
            .filter(|path| path.is_dir());
        let directories = directories.chain([run.clone()]);
        for file in directories.flat_map(|directory| sample_files(&directory)) {
            // `latest` leads to a run that has another name, too.
            let file = file.canonicalize().unwrap_or(file);
            let modified = file
                .metadata()
                .and_then(|metadata| metadata.modified())
                .ok();
            found.insert((modified, file));
        }
    }
    found.into_iter().map(|(_, file)| file).collect()
}

/// Reads a record that its monitor has finished, with its checksum.
fn read_record(
    file: &Path,
    now: SystemTime,
    update: &mut StoreUpdate,
) -> Option<(SampleRecord, u64)> {
    let read = || -> std::result::Result<_, Unreadable> {
        let bytes = read_regular(file).map_err(|error: io::Error| Unreadable::System {
            message: error.to_string(),
        })?;
        let record = SampleRecord::decode(&bytes).map_err(Unreadable::Format)?;
        let crc = bytes.last_chunk::<4>().copied().unwrap_or_default();
        Ok((record, u64::from(u32::from_le_bytes(crc))))
    };
    match read() {
        Ok((record, mark)) => {
            let modified = file.metadata().and_then(|metadata| metadata.modified());
            let quiet = modified.ok().and_then(|time| now.duration_since(time).ok());
            let is_finished = match record.state {
                MonitorState::Ended => true,
                MonitorState::Watching => quiet.is_some_and(|quiet| quiet > KILLED_AFTER),
            };
            update.unfinished += u64::from(!is_finished);
            is_finished.then_some((record, mark))
        }
        Err(why) => {
            let file = file.to_owned();
            update.damage.push(Note::Unreadable { file, why });
            None
        }
    }
}

/// Adds the samples of a record to its programs.
#[expect(clippy::too_many_arguments, reason = "the state of one update")]
fn add_record(
    store: &Path,
    file: &Path,
    record: SampleRecord,
    policy: Policy,
    now: u64,
    programs: &mut BTreeMap<Vec<u8>, Program>,
    carried: &mut BTreeMap<Vec<u8>, CarriedOver>,
    update: &mut StoreUpdate,
) -> Result<()> {
    let directory = file.parent().unwrap_or(Path::new("."));
    for sampled in record.files {
        let mut sampled = sampled;
        let found = find_blocks(&mut sampled, directory, &mut update.damage);
        let (KnownBlocks::Known { map, .. }, Some(found)) = (sampled.blocks, found) else {
            continue;
        };
        let sampled = &sampled;
        let run = BlockTimes::of(sampled, record.frequency);
        if run.is_empty() {
            continue;
        }
        keep_map(store, &found, directory)?;
        let key = [&map[..], &sampled.build_id].concat();
        if !programs.contains_key(&key) {
            let program = new_build(store, sampled, map, now, programs, |over| {
                carried.insert(key.clone(), over);
            });
            programs.insert(key.clone(), program);
        }
        let Some(program) = programs.get_mut(&key) else {
            continue;
        };
        let addresses = sampled.addresses.iter();
        let samples = addresses.filter(|address| address.block.is_some());
        let samples: u64 = samples.map(|address| address.samples.0).sum();
        program.times.add(&run, policy.combination);
        program.samples = program.samples.saturating_add(samples);
        program.runs += 1;
        program.updated = now;
        update.samples = update.samples.saturating_add(Count(samples));
    }
    Ok(())
}

/// Writes a path map into the store.
fn keep_map(store: &Path, found: &FoundMap, directory: &Path) -> Result<()> {
    let id = &found.map.build_id;
    let kept = store.join(map_name(id));
    if kept.exists() {
        return Ok(());
    }
    let packed = match &found.bytes {
        Some(bytes) => Ok(pack_map(bytes, id)),
        None => read_regular(&directory.join(map_name(id))),
    };
    let write = |packed: Vec<u8>| write_atomically(&kept, &packed);
    let error = |error: io::Error| StoreError::Write {
        path: kept.clone(),
        kind: error.kind(),
    };
    packed
        .map_err(error)
        .and_then(write)
        .map_err(ProfileStoreError::Write)
}

/// A build that the store does not have yet. Takes over the times of the build that it replaces.
fn new_build(
    store: &Path,
    sampled: &MonitoredFile,
    map: [u8; 16],
    now: u64,
    programs: &mut BTreeMap<Vec<u8>, Program>,
    report: impl FnOnce(CarriedOver),
) -> Program {
    let mut program = Program {
        path: sampled.path.clone(),
        build_id: sampled.build_id.clone(),
        map,
        updated: now,
        aged: now,
        samples: 0,
        runs: 0,
        code_bytes: elf::code_size(Path::new(&sampled.path)).unwrap_or(0),
        times: BlockTimes::default(),
        reference: None,
    };
    let replaced = programs
        .iter()
        .find(|(_, other)| other.path == sampled.path);
    let Some(replaced) = replaced.map(|(key, _)| key.clone()) else {
        return program;
    };
    let Some(old) = programs.remove(&replaced) else {
        return program;
    };
    (program.samples, program.aged) = (old.samples, old.aged);
    let read = |map: &[u8; 16]| read_map_file(&store.join(map_name(map))).ok();
    if let (Some(old_map), Some(new_map)) = (read(&old.map), read(&map)) {
        let mut over = old.times.carried_over(&old_map, &new_map);
        program.times = std::mem::take(&mut over.times);
        program.reference = Some(program.times.clone());
        report(over);
    }
    program
}

/// Forgets programs, the least recently sampled first, until the rest has at most `max_bytes`.
fn forget(store: &Path, programs: &mut BTreeMap<Vec<u8>, Program>, max_bytes: u64) -> Vec<String> {
    let size = |program: &Program| {
        let map = store.join(map_name(&program.map)).metadata();
        program.encode().len() as u64 + map.map_or(0, |map| map.len())
    };
    let mut sizes: Vec<(u64, u64, Vec<u8>)> = programs
        .iter()
        .map(|(key, program)| (program.updated, size(program), key.clone()))
        .collect();
    sizes.sort();
    let mut total: u64 = sizes.iter().map(|(_, size, _)| size).sum();
    let mut forgotten = Vec::new();
    for (_, size, key) in sizes {
        if total <= max_bytes {
            break;
        }
        total -= size;
        forgotten.extend(programs.remove(&key).map(|program| program.path));
    }
    forgotten
}

/// Writes the samples of all programs for the commands that read runs.
fn write_samples(store: &Path, programs: &BTreeMap<Vec<u8>, Program>) -> Result<()> {
    let files: Vec<MonitoredFile> = programs.values().map(Program::monitored).collect();
    let record = SampleRecord {
        clock: SampleClock::CpuTime,
        state: MonitorState::Ended,
        frequency: FREQUENCY,
        duration_ns: programs
            .values()
            .map(|program| program.times.total() as u64)
            .sum(),
        lost: 0,
        without_file: Count::ZERO,
        programs: files
            .iter()
            .map(|file| ProgramSamples {
                path: file.path.clone(),
                samples: file.total(),
            })
            .collect(),
        files,
    };
    let file = store.join("profiles").with_extension(SAMPLES_EXTENSION);
    write_atomically(&file, &record.encode()).map_err(ProfileStoreError::Write)
}

fn delete_unused_maps(store: &Path, programs: &BTreeMap<Vec<u8>, Program>) {
    let used: BTreeSet<String> = programs
        .values()
        .map(|program| map_name(&program.map))
        .collect();
    for file in files(store).into_iter().flatten() {
        let name = file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if file.extension().is_some_and(|extension| extension == "hwm") && !used.contains(&name) {
            // The next update tries again.
            std::fs::remove_file(file).ok();
        }
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs()
}

impl Program {
    fn age(&mut self, now: u64, half_life: Duration) {
        let elapsed = Duration::from_secs(now.saturating_sub(self.aged));
        self.times.age(elapsed, half_life);
        self.aged = self.aged.max(now);
    }

    /// The samples of the program, as a monitor would have written them. Their addresses are not
    /// kept.
    fn monitored(&self) -> MonitoredFile {
        let samples = self.times.samples(FREQUENCY).into_iter();
        MonitoredFile {
            path: self.path.clone(),
            build_id: self.build_id.clone(),
            blocks: KnownBlocks::Known {
                map: self.map,
                left_out: 0,
            },
            addresses: samples
                .map(|(block, samples)| AddressSamples {
                    address: 0,
                    samples,
                    block: Some(block),
                })
                .collect(),
        }
    }

    fn kept(&self, bytes: usize, now: u64, carried_over: Option<CarriedOver>) -> KeptProgram {
        KeptProgram {
            path: self.path.clone(),
            samples: Count(self.samples),
            runs: self.runs,
            age: Duration::from_secs(now.saturating_sub(self.updated)),
            stored_bytes: bytes as u64,
            code_bytes: Some(self.code_bytes).filter(|&bytes| bytes > 0),
            moved: self
                .reference
                .as_ref()
                .map(|reference| self.times.moved(reference)),
            carried_over,
        }
    }

    /// ```text
    /// v version  v length, path  v length, build id  16 bytes map  v updated (s)  v aged (s)  v samples  v runs
    /// v bytes of code  times  v 1 if there is a reference  [times]
    /// times: v blocks, each: v module - previous module
    ///        v function (- previous function in the same module)  v block  v microseconds
    /// ```
    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        varint::put(&mut out, VERSION);
        for bytes in [self.path.as_bytes(), &self.build_id] {
            varint::put(&mut out, bytes.len() as u64);
            out.extend_from_slice(bytes);
        }
        out.extend_from_slice(&self.map);
        for number in [
            self.updated,
            self.aged,
            self.samples,
            self.runs,
            self.code_bytes,
        ] {
            varint::put(&mut out, number);
        }
        put_times(&mut out, &self.times);
        varint::put(&mut out, self.reference.is_some().into());
        if let Some(reference) = &self.reference {
            put_times(&mut out, reference);
        }
        out
    }

    /// `None` if the record has another version or is damaged.
    fn decode(mut bytes: &[u8]) -> Option<Self> {
        let input = &mut bytes;
        if take(input)? != VERSION {
            return None;
        }
        let take_bytes = |input: &mut &[u8]| {
            let length = usize::try_from(take(input)?).ok()?;
            input.split_off(..length).map(<[u8]>::to_vec)
        };
        Some(Self {
            path: String::from_utf8(take_bytes(input)?).ok()?,
            build_id: take_bytes(input)?,
            map: input.split_off(..16)?.try_into().ok()?,
            updated: take(input)?,
            aged: take(input)?,
            samples: take(input)?,
            runs: take(input)?,
            code_bytes: take(input)?,
            times: take_times(input)?,
            reference: match take(input)? {
                0 => None,
                _ => Some(take_times(input)?),
            },
        })
    }
}

fn put_times(out: &mut Vec<u8>, times: &BlockTimes) {
    varint::put(out, times.blocks().count() as u64);
    let mut previous = FunctionIndex::default();
    for ((index, block), time) in times.blocks() {
        let modules = index.module - previous.module;
        let base = if modules == 0 { previous.function } else { 0 };
        for number in [modules, index.function - base, block] {
            varint::put(out, number.into());
        }
        varint::put(out, (time / 1e3).round() as u64);
        previous = index;
    }
}

fn take_times(input: &mut &[u8]) -> Option<BlockTimes> {
    let count = take(input)?;
    let mut previous = FunctionIndex::default();
    let mut take_block = || {
        let number = |input: &mut &[u8]| u32::try_from(take(input)?).ok();
        let modules = number(input)?;
        let base = if modules == 0 { previous.function } else { 0 };
        previous = FunctionIndex {
            module: previous.module.checked_add(modules)?,
            function: base.checked_add(number(input)?)?,
        };
        let block = number(input)?;
        Some(((previous, block), take(input)? as f64 * 1e3))
    };
    let blocks: Option<Vec<_>> = (0..count).map(|_| take_block()).collect();
    blocks.map(BlockTimes::from_blocks)
}

fn take(input: &mut &[u8]) -> Option<u64> {
    let (value, length) = varint::take(input)?;
    *input = &input[length..];
    Some(value)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use holloway_abi::Kind;
    use holloway_format::{FunctionMap, ModuleMap, encode_image, pack_map};
    use holloway_testkit::build::{fact, module, slide};

    const NOW: u64 = 2_000_000_000;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    /// A module with one function.
    fn program(function: FunctionMap) -> ModuleMap {
        ModuleMap {
            counters_size: function.counters.size(),
            ..module("a", vec![function])
        }
    }

    /// Writes a run: samples of block 0 of the program's first function.
    fn write_run(runs: &Path, name: &str, path: &str, map: &ModuleMap, samples: u64) -> PathBuf {
        let run = runs.join(name);
        std::fs::create_dir_all(&run).unwrap();
        let (encoded, id) = encode_image(Kind::Nothing, "app", &[(0, &map.encode())]);
        std::fs::write(run.join(map_name(&id)), pack_map(&encoded, &id)).unwrap();
        let record = SampleRecord {
            clock: SampleClock::CpuTime,
            state: MonitorState::Ended,
            frequency: 1000,
            duration_ns: 1,
            lost: 0,
            without_file: Count::ZERO,
            files: vec![MonitoredFile {
                path: path.to_owned(),
                build_id: vec![1],
                blocks: KnownBlocks::Known {
                    map: id,
                    left_out: 0,
                },
                addresses: vec![AddressSamples {
                    address: 16,
                    samples: Count(samples),
                    block: Some((FunctionIndex::default(), 0)),
                }],
            }],
            programs: Vec::new(),
        };
        std::fs::write(run.join("1.hws"), record.encode()).unwrap();
        run
    }

    fn policy() -> Policy {
        Policy {
            patience: Duration::from_millis(200),
            ..Policy::default()
        }
    }

    #[test]
    fn each_run_is_added_once_and_reports_read_the_sum() {
        let home = tempfile::tempdir().unwrap();
        let (store, runs) = (home.path().join("store"), home.path().join("runs"));
        let map = program(slide());
        write_run(&runs, "1", "/bin/app", &map, 2000);
        write_run(&runs, "2", "/bin/app", &map, 1000);
        let first = update(&store, std::slice::from_ref(&runs), policy(), at(NOW)).unwrap();
        assert_eq!((first.runs, first.samples), (2, Count(3000)));
        let again = update(&store, &[runs], policy(), at(NOW)).unwrap();
        assert_eq!((again.runs, again.samples), (0, Count(0)));
        let [app] = &again.programs[..] else {
            panic!("{again:?}");
        };
        assert_eq!((app.samples, app.runs, app.moved), (Count(3000), 2, None));
        let loaded = crate::samples::load(&store).unwrap();
        assert_eq!(loaded.damage, []);
        // 3 s of CPU time.
        assert_eq!(loaded.files[0].code[0].samples, Count(3072));
        assert!(loaded.files[0].map.is_some());
    }

    /// The store keeps a deleted run's samples, and does not remember its name.
    #[test]
    fn deleted_runs_leave_no_trace_in_the_list_of_runs() {
        let home = tempfile::tempdir().unwrap();
        let (store, runs) = (home.path().join("store"), home.path().join("runs"));
        let map = program(slide());
        let added_runs = || {
            let database = Database::create(store.join(DATABASE)).unwrap();
            let transaction = database.begin_read().unwrap();
            let table = transaction.open_table(RUNS).unwrap();
            redb::ReadableTableMetadata::len(&table).unwrap()
        };
        for round in 0..3 {
            let run = write_run(&runs, &round.to_string(), "/bin/app", &map, 1000);
            update(&store, std::slice::from_ref(&runs), policy(), at(NOW)).unwrap();
            assert_eq!(added_runs(), 1);
            std::fs::remove_dir_all(run).unwrap();
        }
        let updated = update(&store, &[home.path().join("elsewhere")], policy(), at(NOW)).unwrap();
        assert_eq!(
            (updated.programs[0].samples, added_runs()),
            (Count(3000), 1)
        );
        update(&store, &[runs], policy(), at(NOW)).unwrap();
        assert_eq!(added_runs(), 0);
    }

    #[test]
    fn a_week_halves_old_times() {
        let home = tempfile::tempdir().unwrap();
        let (store, runs) = (home.path().join("store"), home.path().join("runs"));
        let run = write_run(&runs, "1", "/bin/app", &program(slide()), 2000);
        update(&store, &[run], policy(), at(NOW)).unwrap();
        for weeks in 1..3 {
            let week = 7 * 24 * 3600;
            update(&store, &[], policy(), at(NOW + weeks * week)).unwrap();
        }
        let loaded = crate::samples::load(&store).unwrap();
        assert_eq!(loaded.files[0].code[0].samples, Count(512));
    }

    #[test]
    fn a_rebuild_keeps_what_did_not_change() {
        let home = tempfile::tempdir().unwrap();
        let (store, runs) = (home.path().join("store"), home.path().join("runs"));
        let run = write_run(&runs, "1", "/bin/app", &program(slide()), 2000);
        update(&store, &[run], policy(), at(NOW)).unwrap();
        let mut new = program(slide());
        new.name = "b".into();
        let run = write_run(&runs, "2", "/bin/app", &new, 1000);
        let rebuilt = update(&store, &[run], policy(), at(NOW)).unwrap();
        let [app] = &rebuilt.programs[..] else {
            panic!("{rebuilt:?}");
        };
        let over = app.carried_over.as_ref().unwrap();
        assert_eq!((over.kept, over.dropped), (1, 0));
        assert_eq!(
            (app.samples, app.runs, app.moved),
            (Count(3000), 1, Some(0.0))
        );
        let run = write_run(&runs, "3", "/bin/app", &program(fact().done()), 10);
        let rebuilt = update(&store, &[run], policy(), at(NOW)).unwrap();
        let over = rebuilt.programs[0].carried_over.as_ref().unwrap();
        assert_eq!((over.kept, over.dropped), (0, 1));
        assert_eq!(rebuilt.programs[0].moved, Some(1.0));
        let maps = files(&store).unwrap();
        let maps = maps.filter(|file| file.extension().is_some_and(|e| e == "hwm"));
        assert_eq!(maps.count(), 1, "maps of replaced builds are deleted");
    }

    #[test]
    fn a_full_store_forgets_the_oldest_program() {
        let home = tempfile::tempdir().unwrap();
        let (store, runs) = (home.path().join("store"), home.path().join("runs"));
        let old = write_run(&runs, "1", "/bin/old", &program(slide()), 2000);
        update(&store, &[old], policy(), at(NOW)).unwrap();
        let new = write_run(&runs, "2", "/bin/new", &program(fact().done()), 10);
        let small = Policy {
            max_bytes: 700,
            ..policy()
        };
        let updated = update(&store, &[new], small, at(NOW + 1)).unwrap();
        assert_eq!(updated.forgotten, ["/bin/old"]);
        assert_eq!(updated.programs[0].path, "/bin/new");
    }

    #[test]
    fn a_second_manager_waits_and_then_says_so() {
        let home = tempfile::tempdir().unwrap();
        update(home.path(), &[], policy(), at(NOW)).unwrap();
        let held = Database::create(home.path().join(DATABASE)).unwrap();
        let error = update(home.path(), &[], policy(), at(NOW)).unwrap_err();
        assert!(matches!(error, ProfileStoreError::InUse { .. }), "{error}");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(50));
                drop(held);
            });
            let patient = Policy::default();
            update(home.path(), &[], patient, at(NOW)).unwrap();
        });
    }

    #[test]
    fn unreadable_and_unfinished_runs_are_listed() {
        let home = tempfile::tempdir().unwrap();
        let (store, runs) = (home.path().join("store"), home.path().join("runs"));
        let run = write_run(&runs, "1", "/bin/app", &program(slide()), 2000);
        let file = run.join("1.hws");
        let bytes = std::fs::read(&file).unwrap();
        for length in 0..bytes.len() {
            std::fs::write(&file, &bytes[..length]).unwrap();
            let updated = update(&store, std::slice::from_ref(&runs), policy(), at(NOW)).unwrap();
            assert_eq!((updated.runs, updated.damage.len()), (0, 1));
        }
        let mut record = SampleRecord::decode(&bytes).unwrap();
        record.state = MonitorState::Watching;
        std::fs::write(&file, record.encode()).unwrap();
        let written = file.metadata().unwrap().modified().unwrap();
        let soon = update(
            &store,
            std::slice::from_ref(&runs),
            policy(),
            written + Duration::from_secs(1),
        );
        assert_eq!(soon.unwrap().unfinished, 1);
        let later = update(
            &store,
            &[runs],
            policy(),
            written + Duration::from_secs(100),
        );
        assert_eq!(later.unwrap().runs, 1);
    }

    #[test]
    fn records_survive_encoding_and_damage_is_no_panic() {
        let times = BlockTimes::from_blocks([
            (
                (
                    FunctionIndex {
                        module: 0,
                        function: 3,
                    },
                    1,
                ),
                5e3,
            ),
            (
                (
                    FunctionIndex {
                        module: 0,
                        function: 3,
                    },
                    2,
                ),
                6e6,
            ),
            (
                (
                    FunctionIndex {
                        module: 2,
                        function: 1,
                    },
                    0,
                ),
                7e9,
            ),
        ]);
        let program = Program {
            path: "/bin/app".to_owned(),
            build_id: vec![1, 2],
            map: [3; 16],
            updated: 4,
            aged: 5,
            samples: 6,
            runs: 7,
            code_bytes: 8,
            reference: Some(times.clone()),
            times,
        };
        let bytes = program.encode();
        assert_eq!(Program::decode(&bytes), Some(program));
        for length in 0..bytes.len() {
            assert_eq!(Program::decode(&bytes[..length]), None);
        }
    }
}
