//! The CPU time of a run: makes the record from the samples of a program, and stores and loads it.
//!
//! A run's directory has one record for each program that holloway started and that recorded into
//! it: `<process id of holloway>.hwc`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use holloway_analysis::note::{Note, Unreadable};
use holloway_format::cpu_time::CPU_TIME_EXTENSION;
use holloway_format::{
    Count, CpuRecord, ProgramSamples, SampledFile, Samples, Sampling, UnusedLibrary,
};
use holloway_sample::address_spaces::{AddressSpaces, Execution, FileId};
use holloway_sample::cpu_clock::{CpuClock, PERIOD_NS, SampledProcesses};
use holloway_sample::sampled_file::{sampled_functions, soname, woven_build};
use wait4::ResourceUsage;

use crate::error::StoreError;
use crate::files::{files, read_regular, write_atomically};

/// Makes the record of a program that has ended.
pub(crate) fn record(usage: &ResourceUsage, clock: io::Result<CpuClock>) -> CpuRecord {
    let nanoseconds =
        |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    CpuRecord {
        user_ns: nanoseconds(usage.utime),
        system_ns: nanoseconds(usage.stime),
        sampling: match clock {
            Ok(clock) => match clock.finish() {
                Some(processes) => Sampling::Sampled(samples(&processes)),
                None => Sampling::Failed,
            },
            Err(error) => Sampling::Refused {
                errno: error.raw_os_error().unwrap_or(0).unsigned_abs(),
            },
        },
    }
}

/// Stores a record in a run's directory.
///
/// # Errors
/// If the directory cannot be written.
pub(crate) fn store(directory: &Path, record: &CpuRecord) -> Result<(), StoreError> {
    // Containers give the same process id to one holloway after the other.
    let names = (0..).map(|number| match number {
        0 => format!("{}.{CPU_TIME_EXTENSION}", std::process::id()),
        _ => format!("{}-{number}.{CPU_TIME_EXTENSION}", std::process::id()),
    });
    let mut files = names.map(|name| directory.join(name));
    let file = files.find(|file| !file.exists());
    let file = file.expect("there are fewer files than numbers");
    write_atomically(&file, &record.encode())
}

/// Loads the records of a run's directory, sorted by file name, and notes on the files that are
/// damaged.
///
/// # Errors
/// If the directory cannot be read.
pub(crate) fn load(directory: &Path) -> Result<(Vec<CpuRecord>, Vec<Note>), StoreError> {
    let is_record = |file: &PathBuf| {
        file.extension()
            .is_some_and(|end| end == CPU_TIME_EXTENSION)
    };
    let mut paths: Vec<PathBuf> = files(directory)?.filter(is_record).collect();
    paths.sort();
    let mut records = Vec::new();
    let mut unreadable = Vec::new();
    for file in paths {
        let record = read_regular(&file)
            .map_err(|error| Unreadable::System {
                message: error.to_string(),
            })
            .and_then(|bytes| CpuRecord::decode(&bytes).map_err(Unreadable::Format));
        match record {
            Ok(record) => records.push(record),
            Err(why) => unreadable.push(Note::Unreadable { file, why }),
        }
    }
    Ok((records, unreadable))
}

/// Sorts the samples by file and function. Only processes that loaded a woven image are broken down
/// by file; of the others, only the programs are named.
fn samples(processes: &SampledProcesses) -> Samples {
    let spaces = &processes.spaces;
    let mapped: BTreeSet<FileId> = spaces
        .executions()
        .flat_map(|execution| execution.files.iter().copied())
        .collect();
    let builds: Builds = mapped
        .into_iter()
        .filter_map(|file| Some((file, woven_build(spaces.path(file))?)))
        .collect();
    let is_woven = |execution: &&Execution| {
        let mut files = execution.files.iter();
        files.any(|file| builds.contains_key(file))
    };
    let (woven, others): (Vec<_>, Vec<_>) = spaces.executions().partition(is_woven);
    let mut by_file: BTreeMap<&Path, (FileId, BTreeMap<u64, u64>)> = BTreeMap::new();
    let mut without_file = 0;
    let mut libraries = Libraries::new();
    let mut search = LibrarySearch::new(spaces, &builds);
    for execution in woven {
        libraries.append(&mut search.unused_libraries(execution));
        without_file += execution.unmapped;
        for (&(file, offset), &count) in &execution.samples {
            let entry = by_file.entry(spaces.path(file));
            let (_, offsets) = entry.or_insert_with(|| (file, BTreeMap::new()));
            *offsets.entry(offset).or_default() += count;
        }
    }
    let mut files = Vec::new();
    for (path, (file, offsets)) in by_file {
        match spaces.file(file).is_anonymous() {
            true => without_file += offsets.values().sum::<u64>(),
            false => files.push(sampled_file(path, builds.get(&file).copied(), &offsets)),
        }
    }
    let mut other_programs: BTreeMap<&Path, u64> = BTreeMap::new();
    for execution in others {
        let program = execution.program.map(|program| spaces.path(program));
        let program = program.unwrap_or(Path::new(""));
        *other_programs.entry(program).or_default() +=
            execution.samples.values().sum::<u64>() + execution.unmapped;
    }
    let other_programs = other_programs
        .into_iter()
        .filter(|&(_, samples)| samples > 0)
        .map(|(path, samples)| ProgramSamples {
            path: path.to_string_lossy().into_owned(),
            samples: Count(samples),
        });
    let unused_libraries = libraries.into_iter().map(|(loaded, woven)| UnusedLibrary {
        loaded: loaded.to_string_lossy().into_owned(),
        woven: woven.to_string_lossy().into_owned(),
    });
    let unused_libraries = unused_libraries.collect();
    Samples {
        period_ns: PERIOD_NS,
        lost: processes.lost,
        without_file: Count(without_file),
        files,
        other_programs: other_programs.collect(),
        unused_libraries,
    }
}

/// Finds woven shared libraries that did not run, because a copy without counters was loaded.
struct LibrarySearch<'s> {
    spaces: &'s AddressSpaces,
    /// The woven files that a process mapped.
    builds: &'s Builds,
    working_directory: Option<PathBuf>,
    /// The names (`DT_SONAME`) of the files that were parsed. Most processes of a run load the same
    /// libraries.
    names: HashMap<FileId, Option<String>>,
    /// Whether the files that were parsed are woven.
    woven: HashMap<PathBuf, bool>,
}

impl<'s> LibrarySearch<'s> {
    fn new(spaces: &'s AddressSpaces, builds: &'s Builds) -> Self {
        Self {
            spaces,
            builds,
            working_directory: std::env::current_dir().ok(),
            names: HashMap::new(),
            woven: HashMap::new(),
        }
    }

    /// Finds the libraries of a process. Searches for a woven file with the loaded library's name
    /// in the directories of the woven images of the same process, and in the current directory.
    fn unused_libraries(&mut self, execution: &Execution) -> Libraries {
        let (spaces, builds) = (self.spaces, self.builds);
        let files = |is_woven: bool| {
            let files = execution.files.iter().copied();
            let files = files.filter(move |file| builds.contains_key(file) == is_woven);
            files.map(|file| (file, spaces.path(file)))
        };
        let mut directories: BTreeSet<PathBuf> = files(true)
            .filter_map(|(_, image)| image.parent().map(Path::to_owned))
            .collect();
        directories.extend(self.working_directory.clone());
        let mut unused = Libraries::new();
        for (file, loaded) in files(false) {
            let name = self.names.entry(file).or_insert_with(|| soname(loaded));
            let Some(name) = name else {
                continue;
            };
            let mut copies = directories.iter().map(|directory| directory.join(&*name));
            let woven = &mut self.woven;
            let mut is_woven = |copy: &PathBuf| match woven.get(copy) {
                Some(&is_woven) => is_woven,
                None => {
                    let is_woven = woven_build(copy).is_some();
                    woven.insert(copy.clone(), is_woven);
                    is_woven
                }
            };
            if let Some(woven) = copies.find(|copy| is_woven(copy)) {
                unused.insert((loaded.to_owned(), woven));
            }
        }
        unused
    }
}

/// The build ids of the woven files.
type Builds = HashMap<FileId, [u8; 16]>;
/// The loaded and the woven copies of libraries.
type Libraries = BTreeSet<(PathBuf, PathBuf)>;

fn sampled_file(
    path: &Path,
    build_id: Option<[u8; 16]>,
    offsets: &BTreeMap<u64, u64>,
) -> SampledFile {
    let (functions, without_function) = match build_id {
        None => (Vec::new(), Count(offsets.values().sum())),
        Some(_) => {
            let found = sampled_functions(path, offsets);
            (found.functions, found.without_function)
        }
    };
    SampledFile {
        path: path.to_string_lossy().into_owned(),
        build_id,
        without_function,
        functions,
    }
}
