//! The store of one machine's profiles, which Holloway's manager keeps (Morph's manager: Zhang et
//! al. 1997, section 4).
//!
//! ```text
//! <store>/
//!     profiles.redb       the database: programs, and the runs that were added
//!     profiles.hws        what `report`, `overlap`, and `--guide` read: samples of all programs
//!     <build id>.hwm      the path map of each program
//! ```
//! An update is one transaction: a killed manager loses nothing that an earlier update stored. The
//! database has a lock, so a second manager waits. `profiles.hws` is written anew after each
//! update.
//!
//! The key of a program is the build id of its path map, then the build id of its file. If a
//! program at the same path has another key, it was rebuilt: the times of functions that did not
//! change are carried over, and the old build is deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use holloway_analysis::block_times::{BlockTimes, CarriedOver, Combination, StoreUpdate};
use holloway_analysis::note::{Note, Unreadable};
use holloway_format::samples::{
    KnownBlocks, MonitorState, MonitoredFile, SAMPLES_EXTENSION, SampleClock, SampleRecord,
};
use holloway_format::{Count, ProgramSamples, pack_map};
use holloway_sample::elf;
use redb::{Database, DatabaseError, ReadableTable as _, Table, TableDefinition};

use crate::error::{ProfileStoreError, StoreError};
use crate::files::{files, map_name, read_regular, write_atomically};
use crate::path_map::read_map_file;
use crate::program_copies::{FoundMap, find_blocks};
use crate::samples::sample_files;

use program::{FREQUENCY, Program};

mod program;
#[cfg(test)]
mod tests;

type Result<T> = std::result::Result<T, ProfileStoreError>;

/// The database.
const DATABASE: &str = "profiles.redb";
/// A monitor writes every 10 s. One that has not written for this time was killed.
const KILLED_AFTER: Duration = Duration::from_secs(60);
/// Time to wait for another manager.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time between two attempts to open the database.
const RETRY: Duration = Duration::from_millis(50);

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
            let is_added = add_record(
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
            update.runs += u64::from(is_added);
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

/// Creates the database in one step, unless it exists: a killed manager leaves no half-made
/// database.
fn create(store: &Path) -> std::result::Result<(), DatabaseError> {
    let path = store.join(DATABASE);
    if path.try_exists()? {
        return Ok(());
    }
    let made = tempfile::Builder::new()
        .prefix(".holloway-")
        // As for any new file; the default excludes other users.
        .permissions(std::fs::Permissions::from_mode(0o666))
        .tempfile_in(store)?;
    drop(Database::create(made.path())?);
    match made.persist_noclobber(path) {
        // Another manager was faster.
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error.into()),
        _ => Ok(()),
    }
}

/// Opens the database. Waits while another manager uses it.
fn open(store: &Path, patience: Duration) -> Result<Database> {
    let start = Instant::now();
    loop {
        match create(store).and_then(|()| Database::create(store.join(DATABASE))) {
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

/// Forgets that runs were added whose files are gone from the directories of `runs`, so that the
/// list of added runs does not grow for ever. Runs elsewhere may come back, with another file
/// system.
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

/// Adds the samples of a record to its programs. Returns false if they do not show time.
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
) -> Result<bool> {
    // The samples of other events do not show time, and neither do samples without a frequency.
    if record.clock == SampleClock::Other || record.frequency == 0 {
        return Ok(false);
    }
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
        let samples = samples.map(|address| address.samples.0);
        let samples = samples.fold(0, u64::saturating_add);
        program.times.add(&run, policy.combination);
        program.samples = program.samples.saturating_add(samples);
        program.runs += 1;
        program.updated = now;
        update.samples = update.samples.saturating_add(Count(samples));
    }
    Ok(true)
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
