//! The files of an import: finds the recorded build of each, and its blocks.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use holloway_analysis::branch_records::{
    BranchRecords, CodeLayout, CodeRange, Jump, Place, TakenBranch,
};
use holloway_format::branches::{BranchQuality, FileBranches};
use holloway_format::samples::{AddressSamples, KnownBlocks, MonitoredFile};
use holloway_format::{Count, RECIPE_SECTION};
use holloway_sample::address_spaces::{
    AddressSpaces, FileId, FileIdentity, Located, LocatedBranch, LocatedStack, MappedFile,
};
use holloway_sample::code_map::{CodeMap, CodeMapError};
use holloway_sample::elf::{self, Segments};
use holloway_sample::instruction::{BranchInstruction, MachineCode};
use holloway_sample::sampled_file::{self, woven_build};

use super::error::ImportError;

/// What branches are read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Edges and paths. The program must have known blocks.
    Blocks,
    /// Straight sections of a program without known blocks.
    Sections,
}

/// How often each straight section of code ran, by its first address and that of its last
/// instruction.
pub(crate) type Sections = BTreeMap<(u64, u64), u64>;

/// Sections that are longer than this are no code of one function: the processor lost branches.
const MAX_SECTION: u64 = 1 << 20;

/// The files with samples or branches.
#[derive(Default)]
pub(crate) struct ImportedFiles<'a> {
    time: RecordingTime,
    input: PathBuf,
    programs: Vec<Program<'a>>,
    files: Vec<ImportedFile>,
    /// Positions in `files`.
    by_id: HashMap<FileId, usize>,
    /// Positions in `files`, by path and build id. Processes may map a file with and without its
    /// build id.
    by_build: HashMap<(String, Vec<u8>), usize>,
}

/// When the processes ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RecordingTime {
    /// They run now: files are searched as they see them.
    #[default]
    Now,
    /// They ran earlier, perhaps elsewhere.
    Earlier,
}

/// A program that the user named.
struct Program<'a> {
    path: &'a Path,
    build_id: Vec<u8>,
    is_used: bool,
}

/// What is known of the files in the end.
pub(super) struct FinishedFiles {
    pub(super) files: Vec<MonitoredFile>,
    pub(super) branches: Vec<FileBranches>,
    pub(super) quality: BranchQuality,
    pub(super) unverified: Vec<String>,
    pub(super) maps: BTreeMap<[u8; 16], Vec<u8>>,
    pub(super) sections: BTreeMap<String, Sections>,
}

impl<'a> ImportedFiles<'a> {
    /// # Errors
    /// If a program cannot be read.
    pub(crate) fn new(input: &Path, programs: &'a [PathBuf]) -> Result<Self, ImportError> {
        let programs = programs.iter().map(|path| match elf::segments(path) {
            Some(_) => Ok(Program {
                path,
                build_id: elf::build_id(path).unwrap_or_default(),
                is_used: false,
            }),
            None => Err(ImportError::NoProgram {
                program: path.clone(),
            }),
        });
        Ok(Self {
            time: RecordingTime::Earlier,
            input: input.to_owned(),
            programs: programs.collect::<Result<_, _>>()?,
            ..Self::default()
        })
    }

    /// Adds samples of a process at an offset of a file.
    ///
    /// # Errors
    /// If the file is another build.
    pub(super) fn add_sample(
        &mut self,
        spaces: &AddressSpaces,
        process: u32,
        (id, offset): (FileId, u64),
        samples: u64,
    ) -> Result<(), ImportError> {
        let file = self.file(spaces, id, process)?;
        let address = file.address(offset).unwrap_or(offset);
        *file.samples.entry(address).or_default() += samples;
        Ok(())
    }

    /// Adds a branch stack.
    ///
    /// # Errors
    /// If the processes ran earlier, and a file is another build.
    pub(crate) fn add_stack(
        &mut self,
        spaces: &AddressSpaces,
        stack: &LocatedStack,
    ) -> Result<(), ImportError> {
        let mut ids: Vec<FileId> = Vec::new();
        for branch in &stack.branches {
            for place in [branch.from, branch.to] {
                if let Located::File(id, _) = place
                    && !ids.contains(&id)
                {
                    ids.push(id);
                }
            }
        }
        for id in ids {
            let file = self.file(spaces, id, stack.process)?;
            if file.branches.is_none() && !file.has_recipe {
                continue;
            }
            let branches: Vec<TakenBranch> = stack
                .branches
                .iter()
                .map(|branch| file.taken_branch(id, branch))
                .collect();
            match &mut file.branches {
                Some(records) => records.add_stack(&branches),
                None => file.add_sections(&branches),
            }
        }
        Ok(())
    }

    fn file(
        &mut self,
        spaces: &AddressSpaces,
        id: FileId,
        process: u32,
    ) -> Result<&mut ImportedFile, ImportError> {
        let position = match self.by_id.get(&id) {
            Some(&position) => position,
            None => {
                let mapped = spaces.file(id);
                let file = match self.time {
                    RecordingTime::Now => ImportedFile::of_process(mapped, process),
                    RecordingTime::Earlier => ImportedFile::open(mapped, &mut self.programs)?,
                };
                let position = self.insert(file);
                self.by_id.insert(id, position);
                position
            }
        };
        Ok(&mut self.files[position])
    }

    /// Adds a file, or finds the file of the same build. Returns its position.
    fn insert(&mut self, file: ImportedFile) -> usize {
        let next = self.files.len();
        let build = (file.path.clone(), file.build_id.clone());
        let position = *self.by_build.entry(build).or_insert(next);
        match self.files.get_mut(position) {
            Some(known) => known.is_unverified |= file.is_unverified,
            None => self.files.push(file),
        }
        position
    }

    /// # Errors
    /// If a program that the user named was not recorded.
    pub(super) fn finish(self) -> Result<FinishedFiles, ImportError> {
        let mut files = self.files;
        files.sort_by(|a, b| (&a.path, &a.build_id).cmp(&(&b.path, &b.build_id)));
        if let Some(unused) = self.programs.iter().find(|program| !program.is_used) {
            let recorded = files.iter().filter(|file| file.path.starts_with('/'));
            let recorded = recorded.map(|file| match file.build_id.is_empty() {
                true => file.path.clone(),
                false => format!("{} (build id {})", file.path, hex(&file.build_id)),
            });
            let recorded: Vec<String> = recorded.collect();
            return Err(ImportError::NotRecorded {
                file: self.input,
                program: unused.path.to_owned(),
                found: hex(&unused.build_id),
                recorded: recorded.join(", "),
            });
        }
        let mut finished = FinishedFiles {
            files: Vec::new(),
            branches: Vec::new(),
            quality: BranchQuality::default(),
            unverified: Vec::new(),
            maps: BTreeMap::new(),
            sections: BTreeMap::new(),
        };
        for mut file in files {
            if file.is_unverified && file.code_map.is_some() {
                finished.unverified.push(file.path.clone());
            }
            finished.files.push(file.record());
            if !file.sections.is_empty() {
                let sections = std::mem::take(&mut file.sections);
                finished.sections.insert(file.path.clone(), sections);
            }
            if let Some((map, bytes)) = file.map_bytes.take() {
                finished.maps.insert(map, bytes);
            }
            let KnownBlocks::Known { map, .. } = file.blocks else {
                continue;
            };
            finished
                .branches
                .extend(file.file_branches(map, &mut finished.quality));
        }
        Ok(finished)
    }

    /// The path maps of the files: build id and bytes.
    pub(crate) fn maps(&self) -> impl Iterator<Item = &([u8; 16], Vec<u8>)> {
        self.files.iter().filter_map(|file| file.map_bytes.as_ref())
    }

    /// The branches up to now, by file.
    pub(crate) fn branches(&self) -> (Vec<FileBranches>, BranchQuality) {
        let mut files: Vec<&ImportedFile> = self.files.iter().collect();
        files.sort_by(|a, b| (&a.path, &a.build_id).cmp(&(&b.path, &b.build_id)));
        let mut quality = BranchQuality::default();
        let branches = files.into_iter().filter_map(|file| match file.blocks {
            KnownBlocks::Known { map, .. } => file.file_branches(map, &mut quality),
            KnownBlocks::NotWoven
            | KnownBlocks::NoProbes
            | KnownBlocks::NoSymbols
            | KnownBlocks::Damaged
            | KnownBlocks::Copied { .. }
            | KnownBlocks::Unread => None,
        });
        (branches.collect(), quality)
    }
}

/// A file with samples or branches.
pub(super) struct ImportedFile {
    pub(super) path: String,
    pub(super) build_id: Vec<u8>,
    pub(super) blocks: KnownBlocks,
    /// Why the blocks could not be read.
    pub(super) failure: Option<CodeMapError>,
    is_unverified: bool,
    code_map: Option<CodeMap>,
    segments: Option<Segments>,
    code: Option<MachineCode>,
    pub(super) branches: Option<BranchRecords>,
    pub(super) map_bytes: Option<([u8; 16], Vec<u8>)>,
    pub(super) samples: BTreeMap<u64, u64>,
    /// Whether the file carries its bitcode.
    pub(super) has_recipe: bool,
    /// The straight sections of a file that carries its bitcode.
    pub(super) sections: Sections,
}

impl ImportedFile {
    fn open(mapped: &MappedFile, programs: &mut [Program<'_>]) -> Result<Self, ImportError> {
        let recorded = match &mapped.identity {
            FileIdentity::BuildId(build_id) => build_id.as_slice(),
            FileIdentity::Inode { .. } => &[],
        };
        let mut file = Self::unread(&mapped.path, recorded.to_vec());
        if !file.path.starts_with('/') || file.path.starts_with("//") {
            return Ok(file);
        }
        let path = mapped.path.as_path();
        let is_named = |program: &&mut Program<'_>| match recorded.is_empty() {
            true => program.path.file_name() == path.file_name(),
            false => program.build_id == recorded,
        };
        let found = match programs.iter_mut().find(is_named) {
            Some(program) => {
                program.is_used = true;
                // Reports find lines in the file.
                let absolute = std::path::absolute(program.path);
                let absolute = absolute.unwrap_or_else(|_| program.path.to_owned());
                file.path = absolute.to_string_lossy().into_owned();
                program.path
            }
            None => path,
        };
        let build_id = elf::build_id(found).unwrap_or_default();
        if !recorded.is_empty() && build_id != recorded {
            // A library may have been updated since. Its functions stay unknown.
            return match woven_build(found) {
                Some(_) => Err(ImportError::OtherBuild {
                    program: found.to_owned(),
                    found: hex(&build_id),
                    recorded: hex(recorded),
                }),
                None => Ok(file),
            };
        }
        file.is_unverified = recorded.is_empty();
        file.build_id = build_id;
        file.read(found);
        Ok(file)
    }

    /// A file that a running process has mapped. If there is another file now, its blocks stay
    /// unknown.
    fn of_process(mapped: &MappedFile, process: u32) -> Self {
        let recorded = match &mapped.identity {
            FileIdentity::BuildId(build_id) => build_id.clone(),
            FileIdentity::Inode { .. } => Vec::new(),
        };
        let mut file = Self::unread(&mapped.path, recorded);
        if let Some(found) = sampled_file::find(mapped, process) {
            if file.build_id.is_empty() {
                file.build_id = elf::build_id(&found).unwrap_or_default();
            }
            file.read(&found);
        }
        file
    }

    /// A program that the user named, for a text of branches.
    pub(super) fn of_program(path: &Path) -> Self {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let mut file = Self::unread(&absolute, elf::build_id(path).unwrap_or_default());
        file.read(path);
        file
    }

    /// A file that has not been read yet.
    fn unread(path: &Path, build_id: Vec<u8>) -> Self {
        Self {
            path: path.to_string_lossy().into_owned(),
            build_id,
            blocks: KnownBlocks::Unread,
            failure: None,
            is_unverified: false,
            code_map: None,
            segments: None,
            code: None,
            branches: None,
            map_bytes: None,
            samples: BTreeMap::new(),
            has_recipe: false,
            sections: Sections::new(),
        }
    }

    /// Reads the blocks of the file.
    fn read(&mut self, path: &Path) {
        self.segments = elf::segments(path);
        self.has_recipe = elf::has_section(path, RECIPE_SECTION);
        let (code_map, map, bytes) = match CodeMap::read_with_map(path) {
            Ok(read) => read,
            Err(error) => {
                self.blocks = error.known_blocks();
                self.failure = Some(error);
                return;
            }
        };
        self.blocks = KnownBlocks::Known {
            map: code_map.build_id,
            left_out: code_map.left_out,
        };
        self.branches = Some(BranchRecords::new(Arc::new(map), layout(&code_map)));
        self.code = MachineCode::read(path);
        self.map_bytes = Some((code_map.build_id, bytes));
        self.code_map = Some(code_map);
    }

    /// Adds the straight sections between the branches of a stack, oldest first.
    fn add_sections(&mut self, branches: &[TakenBranch]) {
        for pair in branches.windows(2) {
            if let (Place::Inside(start), Place::Inside(end)) = (pair[0].to, pair[1].from) {
                self.add_section(start, end, 1);
            }
        }
    }

    /// Adds executions of the code from `start` to the instruction at `end`, if that is possible.
    pub(super) fn add_section(&mut self, start: u64, end: u64, count: u64) {
        if start <= end && end - start < MAX_SECTION {
            let sum = self.sections.entry((start, end)).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    /// The branches up to now. `None` if there are none.
    fn file_branches(&self, map: [u8; 16], sum: &mut BranchQuality) -> Option<FileBranches> {
        let (functions, quality) = self.branches.as_ref()?.counts();
        sum.add(&quality);
        (!functions.is_empty()).then(|| FileBranches {
            path: self.path.clone(),
            map,
            functions,
        })
    }

    /// The address of an offset, as the file's symbols name it.
    fn address(&self, offset: u64) -> Option<u64> {
        self.segments.as_ref()?.address(offset)
    }

    fn taken_branch(&self, id: FileId, branch: &LocatedBranch) -> TakenBranch {
        let place = |located| match located {
            Located::Kernel => Place::Kernel,
            Located::File(file, offset) if file == id => match self.address(offset) {
                Some(address) => Place::Inside(address),
                None => Place::Elsewhere,
            },
            Located::File(..) | Located::Nowhere => Place::Elsewhere,
        };
        let from = place(branch.from);
        TakenBranch {
            from,
            to: place(branch.to),
            jump: self.jump(from),
            mispredicted: branch.mispredicted,
        }
    }

    /// What the instruction at the source of a branch does.
    pub(super) fn jump(&self, from: Place) -> Jump {
        let (Place::Inside(address), Some(code)) = (from, &self.code) else {
            return Jump::Unknown;
        };
        match code.branch_at(address) {
            BranchInstruction::Call => Jump::Call,
            BranchInstruction::Return => Jump::Return,
            BranchInstruction::Jump => Jump::Jump,
            BranchInstruction::Other => Jump::Unknown,
        }
    }

    /// The samples of the file.
    pub(super) fn record(&self) -> MonitoredFile {
        let block = |address| {
            let block = self.code_map.as_ref()?.find(address)?;
            Some((block.function, block.block))
        };
        let addresses = self.samples.iter();
        let addresses = addresses.map(|(&address, &samples)| AddressSamples {
            address,
            samples: Count(samples),
            block: block(address),
        });
        MonitoredFile {
            path: self.path.clone(),
            build_id: self.build_id.clone(),
            blocks: self.blocks,
            addresses: addresses.collect(),
        }
    }
}

/// A build id in hexadecimal digits.
pub(crate) fn hex(build_id: &[u8]) -> String {
    match build_id.is_empty() {
        true => "none".to_owned(),
        false => build_id.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// The code of a program's blocks, for the analysis of branches.
fn layout(code_map: &CodeMap) -> Arc<CodeLayout> {
    let ranges = code_map.ranges().iter().map(|range| CodeRange {
        start: range.start,
        end: range.end,
        function: range.block.function,
        block: range.block.block,
        is_symbol: range.is_symbol,
    });
    Arc::new(CodeLayout::new(ranges.collect()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::os::unix::fs::MetadataExt as _;

    use holloway_sample::address_spaces::{Action, BranchEntry, Event};

    use super::*;

    /// A running process has mapped a file that was replaced since, and this program.
    #[test]
    fn a_file_that_was_replaced_while_it_runs_has_no_blocks() {
        let program = std::env::current_exe().unwrap();
        let process = std::process::id();
        let mut spaces = AddressSpaces::default();
        let mut add = |action| {
            let time = 1;
            spaces.add(Event {
                time,
                process,
                action,
            });
        };
        add(Action::Exec);
        let replaced = FileIdentity::BuildId(vec![7; 20]);
        let same = FileIdentity::Inode {
            device: (0, 0),
            inode: program.metadata().unwrap().ino(),
        };
        for (start, identity) in [(0x1000, replaced), (0x2000, same)] {
            let path = program.clone();
            add(Action::Map {
                start,
                length: 0x1000,
                offset: 0,
                file: MappedFile { path, identity },
            });
        }
        for _ in 0..2 {
            let branch = BranchEntry {
                from: 0x1010,
                to: 0x2010,
                mispredicted: false,
            };
            let stack = vec![branch];
            add(Action::Branches { stack });
        }
        let mut files = ImportedFiles::default();
        for stack in spaces.take_stacks() {
            assert_eq!(stack.process, process);
            files.add_stack(&spaces, &stack).unwrap();
        }
        let blocks: Vec<KnownBlocks> = files.files.iter().map(|file| file.blocks).collect();
        assert_eq!(blocks, [KnownBlocks::Unread, KnownBlocks::NotWoven]);
        assert_eq!(files.branches().0, []);
    }
}
