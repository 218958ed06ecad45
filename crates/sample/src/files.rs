//! The files with samples, as a monitor sees them: opens a file when its first sample arrives, as
//! long as the process that mapped it probably still runs.

use std::collections::{BTreeMap, HashMap};

use holloway_format::Count;
use holloway_format::samples::{AddressSamples, KnownBlocks, MonitoredFile};

use crate::address_spaces::{FileId, FileIdentity, MappedFile};
use crate::elf::{self, Segments};
use crate::program_copy::ProgramCopy;
use crate::sampled_file;

/// The sampled files.
#[derive(Default)]
pub(crate) struct SampledFiles {
    files: HashMap<FileId, SampledFile>,
    /// Programs that were found since [`SampledFiles::take_copies`].
    copies: Vec<ProgramCopy>,
}

struct SampledFile {
    path: String,
    build_id: Vec<u8>,
    blocks: KnownBlocks,
    segments: Option<Segments>,
    /// Samples by address.
    samples: BTreeMap<u64, u64>,
}

impl SampledFiles {
    /// Adds samples at an offset of a file, which `process` has mapped.
    pub(crate) fn add(
        &mut self,
        id: FileId,
        file: &MappedFile,
        process: u32,
        (offset, samples): (u64, u64),
    ) {
        let copies = &mut self.copies;
        let entry = self
            .files
            .entry(id)
            .or_insert_with(|| SampledFile::open(file, process, copies));
        let address = match &entry.segments {
            Some(segments) => segments.address(offset).unwrap_or(offset),
            None => offset,
        };
        *entry.samples.entry(address).or_default() += samples;
    }

    /// Takes the copies of programs that were found since the last call.
    pub(crate) fn take_copies(&mut self) -> Vec<ProgramCopy> {
        std::mem::take(&mut self.copies)
    }

    /// The samples of all files. A file that was mapped before the monitor's start and after it is
    /// one file.
    pub(crate) fn monitored(&self) -> Vec<MonitoredFile> {
        let mut files: BTreeMap<(&str, &[u8], KnownBlocks), BTreeMap<u64, u64>> = BTreeMap::new();
        for file in self.files.values() {
            let key = (&*file.path, &*file.build_id, file.blocks);
            let samples = files.entry(key).or_default();
            for (&address, &count) in &file.samples {
                *samples.entry(address).or_default() += count;
            }
        }
        let monitored =
            |((path, build_id, blocks), samples): ((&str, &[u8], _), BTreeMap<_, _>)| {
                let addresses = samples
                    .into_iter()
                    .map(|(address, samples)| AddressSamples {
                        address,
                        samples: Count(samples),
                        block: None,
                    });
                MonitoredFile {
                    path: path.to_owned(),
                    build_id: build_id.to_vec(),
                    blocks,
                    addresses: addresses.collect(),
                }
            };
        files.into_iter().map(monitored).collect()
    }
}

impl SampledFile {
    fn open(file: &MappedFile, process: u32, copies: &mut Vec<ProgramCopy>) -> Self {
        let mut sampled = Self {
            path: file.path.to_string_lossy().into_owned(),
            build_id: match &file.identity {
                FileIdentity::BuildId(build_id) => build_id.clone(),
                FileIdentity::Inode { .. } => Vec::new(),
            },
            blocks: KnownBlocks::Unread,
            segments: None,
            samples: BTreeMap::new(),
        };
        let Some(path) = sampled_file::find(file, process) else {
            return sampled;
        };
        if sampled.build_id.is_empty() {
            sampled.build_id = elf::build_id(&path).unwrap_or_default();
        }
        sampled.segments = elf::segments(&path);
        sampled.blocks = match ProgramCopy::find(&path, &sampled.build_id) {
            Ok(copy) => {
                let id = copy.id;
                copies.push(copy);
                KnownBlocks::Copied { copy: id }
            }
            Err(why) => why,
        };
        sampled
    }
}
