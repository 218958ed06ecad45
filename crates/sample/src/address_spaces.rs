//! Attributes sampled addresses to files: follows the executable mappings of processes.
//!
//! The kernel reports each executable mapping, each fork, and each exec. A fork copies the parent's
//! mappings. An exec removes them and begins a new *execution*: the processes that run a program
//! from one exec on, with the children that it forks.
//!
//! ```text
//! exec 7; map 7 0x1000..0x3000 = app+0x200; sample 7 0x1234      app+0x434: 1
//! fork 7 → 8; sample 8 0x1234                                    app+0x434: 2, same execution
//! ```
//! The kernel does not report `munmap`. A later mapping replaces an earlier one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An event of a process, with the time at which it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Nanoseconds of the kernel's clock. Only the order matters.
    pub time: u64,
    /// The process.
    pub process: u32,
    /// What happened.
    pub action: Action,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The process began to run a program.
    Exec,
    /// The process was forked from another.
    Fork {
        /// The parent process.
        parent: u32,
    },
    /// A thread of the process began.
    ThreadStart,
    /// A thread of the process ended.
    ThreadEnd,
    /// The process mapped code.
    Map {
        /// Its first address.
        start: u64,
        /// Its length in bytes.
        length: u64,
        /// Offset of the mapping in the file.
        offset: u64,
        /// The file.
        file: MappedFile,
    },
    /// A thread of the process took these branches before its next sample, the oldest first.
    Branches {
        /// The branches.
        stack: Vec<BranchEntry>,
    },
    /// A thread of the process executed this address.
    Sample {
        /// The address.
        address: u64,
    },
}

/// A taken branch, as a processor recorded it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BranchEntry {
    /// The address of the branch, 0 if it is hidden.
    pub from: u64,
    /// The address of its target, 0 if it is hidden.
    pub to: u64,
    /// Whether the processor mispredicted it.
    pub mispredicted: bool,
}

/// A branch stack of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocatedStack {
    /// The process.
    pub process: u32,
    /// The branches, the oldest first.
    pub branches: Vec<LocatedBranch>,
}

/// A taken branch between files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocatedBranch {
    /// The place of the branch.
    pub from: Located,
    /// The place of its target.
    pub to: Located,
    /// Whether the processor mispredicted it.
    pub mispredicted: bool,
}

/// The place of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Located {
    /// An offset in a mapped file.
    File(FileId, u64),
    /// Outside of all mapped files.
    Nowhere,
    /// The kernel.
    Kernel,
}

/// A file that a process mapped. Two builds of a program may have one path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MappedFile {
    /// The path, as the process sees it.
    pub path: PathBuf,
    /// Tells files with equal paths apart.
    pub identity: FileIdentity,
}

impl MappedFile {
    /// Whether this is memory without a file, such as code generated at run time.
    pub fn is_anonymous(&self) -> bool {
        self.path.as_os_str().as_bytes().starts_with(b"//anon")
    }
}

/// What the kernel says about the content of a mapped file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileIdentity {
    /// The build id in the file's notes.
    BuildId(Vec<u8>),
    /// The file has no build id, or the kernel does not report it.
    Inode {
        /// Major and minor number of the device.
        device: (u32, u32),
        /// The inode.
        inode: u64,
    },
}

/// The index of a file in [`AddressSpaces`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(u32);

/// The mappings of the running processes, and the samples of all executions.
#[derive(Debug, Default)]
pub struct AddressSpaces {
    /// The mapped files. The index is the [`FileId`].
    files: Vec<MappedFile>,
    file_ids: HashMap<MappedFile, FileId>,
    processes: HashMap<u32, Process>,
    /// The executions by number, in the order of their begin.
    executions: BTreeMap<u64, Execution>,
    /// Number of the next execution.
    next_execution: u64,
    stacks: Vec<LocatedStack>,
}

/// The samples of one execution.
#[derive(Debug, Default)]
pub struct Execution {
    /// The file that was mapped first: the program.
    pub program: Option<FileId>,
    /// All files that were mapped.
    pub files: BTreeSet<FileId>,
    /// Samples by file and offset in the file.
    pub samples: HashMap<(FileId, u64), u64>,
    /// Samples outside of all mappings.
    pub unmapped: u64,
    /// A process with samples. The last one that had any.
    pub process: u32,
}

#[derive(Debug)]
struct Process {
    execution: u64,
    mappings: Arc<BTreeMap<u64, Mapping>>,
    threads: u32,
}

#[derive(Clone, Copy, Debug)]
struct Mapping {
    end: u64,
    offset: u64,
    file: FileId,
}

impl AddressSpaces {
    /// Adds an event. Events must be added in the order of their times.
    pub fn add(&mut self, event: Event) {
        match event.action {
            Action::Exec => self.exec(event.process),
            Action::Fork { parent } => self.fork(parent, event.process),
            Action::ThreadStart => self.process(event.process).threads += 1,
            Action::ThreadEnd => self.end_thread(event.process),
            Action::Map {
                start,
                length,
                offset,
                file,
            } => {
                let file = self.file_id(file);
                let mapping = Mapping {
                    end: start.saturating_add(length),
                    offset,
                    file,
                };
                let process = self.process(event.process);
                map(Arc::make_mut(&mut process.mappings), start, mapping);
                let execution = process.execution;
                let execution = self.executions.entry(execution).or_default();
                execution.program.get_or_insert(file);
                execution.files.insert(file);
            }
            Action::Branches { stack } => {
                let mappings = &self.process(event.process).mappings;
                let place = |address: u64| match locate(mappings, address) {
                    // Addresses of the kernel are in the upper half, or hidden.
                    _ if address == 0 || address >> 63 == 1 => Located::Kernel,
                    Some((file, offset)) => Located::File(file, offset),
                    None => Located::Nowhere,
                };
                let branches = stack.into_iter().map(|entry| LocatedBranch {
                    from: place(entry.from),
                    to: place(entry.to),
                    mispredicted: entry.mispredicted,
                });
                let branches = branches.collect();
                let process = event.process;
                self.stacks.push(LocatedStack { process, branches });
            }
            Action::Sample { address } => {
                let process = self.process(event.process);
                let location = locate(&process.mappings, address);
                let execution = process.execution;
                let execution = self.executions.entry(execution).or_default();
                execution.process = event.process;
                match location {
                    Some(location) => *execution.samples.entry(location).or_default() += 1,
                    None => execution.unmapped += 1,
                }
            }
        }
    }

    /// Takes the branch stacks that were added since the last call.
    pub fn take_stacks(&mut self) -> Vec<LocatedStack> {
        std::mem::take(&mut self.stacks)
    }

    /// A file.
    pub fn file(&self, id: FileId) -> &MappedFile {
        &self.files[id.0 as usize]
    }

    /// The path of a file.
    pub fn path(&self, id: FileId) -> &Path {
        &self.file(id).path
    }

    /// The executions, in the order of their begin.
    pub fn executions(&self) -> impl Iterator<Item = &Execution> {
        self.executions.values()
    }

    /// Takes the samples of all executions, and forgets the executions that have ended. So a long
    /// observation needs memory only for the processes that run.
    pub fn take_samples(&mut self) -> Vec<Execution> {
        let processes = self.processes.values();
        let running: BTreeSet<u64> = processes.map(|process| process.execution).collect();
        let mut taken = Vec::new();
        self.executions.retain(|number, execution| {
            let has_samples = !execution.samples.is_empty() || execution.unmapped > 0;
            if has_samples {
                taken.push(Execution {
                    program: execution.program,
                    files: BTreeSet::new(),
                    samples: std::mem::take(&mut execution.samples),
                    unmapped: std::mem::take(&mut execution.unmapped),
                    process: execution.process,
                });
            }
            running.contains(number)
        });
        taken
    }

    fn file_id(&mut self, file: MappedFile) -> FileId {
        if let Some(&id) = self.file_ids.get(&file) {
            return id;
        }
        let id = FileId(self.files.len() as u32);
        self.files.push(file.clone());
        self.file_ids.insert(file, id);
        id
    }

    /// The process. A process whose begin was not reported gets an execution of its own.
    fn process(&mut self, id: u32) -> &mut Process {
        let (executions, next) = (&mut self.executions, &mut self.next_execution);
        self.processes.entry(id).or_insert_with(|| {
            let execution = *next;
            *next += 1;
            executions.insert(execution, Execution::default());
            Process {
                execution,
                mappings: Arc::default(),
                threads: 1,
            }
        })
    }

    fn exec(&mut self, id: u32) {
        self.processes.remove(&id);
        self.process(id);
    }

    fn fork(&mut self, parent: u32, child: u32) {
        let parent = self.process(parent);
        let process = Process {
            execution: parent.execution,
            mappings: Arc::clone(&parent.mappings),
            threads: 1,
        };
        self.processes.insert(child, process);
    }

    /// Forgets the mappings of a process whose last thread has ended.
    fn end_thread(&mut self, id: u32) {
        if let Some(process) = self.processes.get_mut(&id) {
            process.threads = process.threads.saturating_sub(1);
            if process.threads == 0 {
                self.processes.remove(&id);
            }
        }
    }
}

/// Adds a mapping, and removes the parts of earlier mappings that it replaces.
fn map(mappings: &mut BTreeMap<u64, Mapping>, start: u64, new: Mapping) {
    let replaced: Vec<(u64, Mapping)> = mappings
        .range(..new.end)
        .rev()
        .take_while(|(_, mapping)| mapping.end > start)
        .map(|(&start, &mapping)| (start, mapping))
        .collect();
    for (old_start, old) in replaced {
        mappings.remove(&old_start);
        if old_start < start {
            mappings.insert(old_start, Mapping { end: start, ..old });
        }
        if old.end > new.end {
            let offset = old.offset.wrapping_add(new.end - old_start);
            mappings.insert(new.end, Mapping { offset, ..old });
        }
    }
    if start < new.end {
        mappings.insert(start, new);
    }
}

/// The file and offset of an address.
fn locate(mappings: &BTreeMap<u64, Mapping>, address: u64) -> Option<(FileId, u64)> {
    let (start, mapping) = mappings.range(..=address).next_back()?;
    (address < mapping.end).then(|| (mapping.file, mapping.offset.wrapping_add(address - start)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn add(spaces: &mut AddressSpaces, process: u32, action: Action) {
        spaces.add(Event {
            time: 0,
            process,
            action,
        });
    }

    fn mapping(start: u64, length: u64, offset: u64, path: &str) -> Action {
        Action::Map {
            start,
            length,
            offset,
            file: MappedFile {
                path: path.into(),
                identity: FileIdentity::BuildId(Vec::new()),
            },
        }
    }

    fn samples(spaces: &AddressSpaces, execution: usize) -> Vec<(&str, u64, u64)> {
        let execution = spaces.executions().nth(execution).unwrap();
        let samples = execution.samples.iter();
        let mut list: Vec<_> = samples
            .map(|(&(file, offset), &count)| (spaces.path(file).to_str().unwrap(), offset, count))
            .collect();
        list.sort();
        list
    }

    #[test]
    fn a_fork_keeps_the_mappings_and_an_exec_removes_them() {
        let mut spaces = AddressSpaces::default();
        let sample = Action::Sample { address: 0x1234 };
        add(&mut spaces, 7, Action::Exec);
        add(&mut spaces, 7, mapping(0x1000, 0x2000, 0x200, "app"));
        add(&mut spaces, 7, sample.clone());
        add(&mut spaces, 8, Action::Fork { parent: 7 });
        add(&mut spaces, 8, sample.clone());
        assert_eq!(samples(&spaces, 0), [("app", 0x434, 2)]);
        add(&mut spaces, 8, Action::Exec);
        add(&mut spaces, 8, sample.clone());
        add(&mut spaces, 8, mapping(0x1000, 0x1000, 0, "sh"));
        add(&mut spaces, 8, sample);
        assert_eq!(samples(&spaces, 0), [("app", 0x434, 2)]);
        assert_eq!(samples(&spaces, 1), [("sh", 0x234, 1)]);
        let shell = spaces.executions().nth(1).unwrap();
        assert_eq!((shell.unmapped, shell.process), (1, 8));
        assert_eq!(spaces.path(shell.program.unwrap()), Path::new("sh"));
    }

    #[test]
    fn stacks_are_located_in_the_mappings_of_their_time() {
        let mut spaces = AddressSpaces::default();
        let entry = |from, to| BranchEntry {
            from,
            to,
            mispredicted: false,
        };
        add(&mut spaces, 7, Action::Exec);
        add(&mut spaces, 7, mapping(0x1000, 0x1000, 0x200, "app"));
        let stack = vec![
            entry(0x1010, 0x9000),
            entry(1 << 63, 0x1020),
            entry(0x1030, 0),
        ];
        add(&mut spaces, 7, Action::Branches { stack });
        add(&mut spaces, 7, mapping(0x1000, 0x1000, 0, "other"));
        let stacks = spaces.take_stacks();
        assert_eq!(stacks[0].process, 7);
        let places: Vec<_> = stacks[0]
            .branches
            .iter()
            .map(|branch| (branch.from, branch.to))
            .collect();
        let file = |offset| Located::File(FileId(0), offset);
        let expected = [
            (file(0x210), Located::Nowhere),
            (Located::Kernel, file(0x220)),
            (file(0x230), Located::Kernel),
        ];
        assert_eq!((stacks.len(), &places[..]), (1, &expected[..]));
        assert!(spaces.take_stacks().is_empty());
    }

    #[test]
    fn samples_are_taken_once_and_ended_executions_are_forgotten() {
        let mut spaces = AddressSpaces::default();
        let sample = Action::Sample { address: 0x1234 };
        for process in [7, 8] {
            add(&mut spaces, process, Action::Exec);
            add(&mut spaces, process, mapping(0x1000, 0x2000, 0, "app"));
            add(&mut spaces, process, sample.clone());
        }
        add(&mut spaces, 8, Action::ThreadEnd);
        let taken = spaces.take_samples();
        let processes: Vec<u32> = taken.iter().map(|execution| execution.process).collect();
        assert_eq!(processes, [7, 8]);
        assert!(taken.iter().all(|execution| execution.samples.len() == 1));
        assert_eq!(spaces.executions().count(), 1);
        assert!(spaces.take_samples().is_empty());
        add(&mut spaces, 7, sample);
        let taken = spaces.take_samples();
        assert_eq!(spaces.path(taken[0].program.unwrap()), Path::new("app"));
    }

    #[test]
    fn two_builds_with_one_path_are_two_files() {
        let mut spaces = AddressSpaces::default();
        for (process, build_id) in [(7, 1), (8, 2), (9, 1)] {
            let file = MappedFile {
                path: "app".into(),
                identity: FileIdentity::BuildId(vec![build_id]),
            };
            let action = Action::Map {
                start: 0,
                length: 1,
                offset: 0,
                file,
            };
            add(&mut spaces, process, action);
        }
        let programs: Vec<_> = spaces.executions().map(|one| one.program).collect();
        assert_eq!(programs[0], programs[2]);
        assert_ne!(programs[0], programs[1]);
    }

    #[test]
    fn a_process_is_forgotten_when_its_last_thread_ends() {
        let mut spaces = AddressSpaces::default();
        add(&mut spaces, 7, Action::Exec);
        add(&mut spaces, 7, Action::ThreadStart);
        add(&mut spaces, 7, Action::ThreadEnd);
        assert_eq!(spaces.processes.len(), 1);
        add(&mut spaces, 7, Action::ThreadEnd);
        assert!(spaces.processes.is_empty());
    }

    /// Against a naive twin: an array with the file and offset of each address.
    #[test]
    fn mappings_agree_with_an_array_of_addresses() {
        const SIZE: u64 = 64;
        let mut state = 1u64;
        let mut random = |limit: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % limit
        };
        for _ in 0..200 {
            let mut mappings = BTreeMap::new();
            let mut naive = vec![None; SIZE as usize];
            for number in 0..12 {
                let start = random(SIZE);
                let end = start + random(SIZE - start + 1);
                let offset = 1000 * random(50);
                let file = FileId(number);
                map(&mut mappings, start, Mapping { end, offset, file });
                for address in start..end {
                    naive[address as usize] = Some((file, offset + address - start));
                }
                let found: Vec<_> = (0..SIZE).map(|at| locate(&mappings, at)).collect();
                assert_eq!(found, naive);
            }
        }
    }
}
