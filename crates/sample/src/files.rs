//! The files with samples, as a monitor sees them: opens a file when its first sample arrives, as
//! long as the process that mapped it probably still runs.
//!
//! A process in a container sees other files than the monitor. Its files are below
//! `/proc/PID/root`.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use holloway_format::Count;
use holloway_format::samples::{AddressSamples, KnownBlocks, MonitoredFile};

use crate::address_spaces::{FileId, FileIdentity, MappedFile};
use crate::code_map::{CodeMap, CodeMapError};
use crate::elf::{self, Segments};

/// The sampled files.
#[derive(Default)]
pub(crate) struct SampledFiles {
    files: HashMap<FileId, SampledFile>,
    /// Path maps that were read since [`SampledFiles::take_maps`].
    maps: Vec<PathMap>,
}

/// The path map of a sampled program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathMap {
    /// Identifies the build.
    pub build_id: [u8; 16],
    /// The map, as in the program's file.
    pub bytes: Vec<u8>,
}

struct SampledFile {
    path: String,
    build_id: Vec<u8>,
    blocks: KnownBlocks,
    code_map: Option<CodeMap>,
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
        let maps = &mut self.maps;
        let entry = self
            .files
            .entry(id)
            .or_insert_with(|| SampledFile::open(file, process, maps));
        let address = match &entry.segments {
            Some(segments) => segments.address(offset).unwrap_or(offset),
            None => offset,
        };
        *entry.samples.entry(address).or_default() += samples;
    }

    /// Takes the path maps that were read since the last call.
    pub(crate) fn take_maps(&mut self) -> Vec<PathMap> {
        std::mem::take(&mut self.maps)
    }

    /// The samples of all files. Files with equal paths and build ids are joined.
    pub(crate) fn monitored(&self) -> Vec<MonitoredFile> {
        let mut files: Vec<MonitoredFile> = self.files.values().map(SampledFile::record).collect();
        files.sort_by(|a, b| (&a.path, &a.build_id).cmp(&(&b.path, &b.build_id)));
        files
    }
}

impl SampledFile {
    fn open(file: &MappedFile, process: u32, maps: &mut Vec<PathMap>) -> Self {
        let mut sampled = Self {
            path: file.path.to_string_lossy().into_owned(),
            build_id: match &file.identity {
                FileIdentity::BuildId(build_id) => build_id.clone(),
                FileIdentity::Inode { .. } => Vec::new(),
            },
            blocks: KnownBlocks::Unread,
            code_map: None,
            segments: None,
            samples: BTreeMap::new(),
        };
        let Some(path) = find(file, process) else {
            return sampled;
        };
        if sampled.build_id.is_empty() {
            sampled.build_id = elf::build_id(&path).unwrap_or_default();
        }
        sampled.segments = elf::segments(&path);
        sampled.blocks = match CodeMap::read_with_map(&path) {
            Ok((code_map, bytes)) => {
                let build_id = code_map.build_id;
                maps.push(PathMap { build_id, bytes });
                let left_out = code_map.left_out;
                sampled.code_map = Some(code_map);
                KnownBlocks::Known {
                    map: build_id,
                    left_out,
                }
            }
            Err(CodeMapError::Unreadable) => KnownBlocks::Unread,
            Err(CodeMapError::NotWoven) => KnownBlocks::NotWoven,
            Err(CodeMapError::NoProbes) => KnownBlocks::NoProbes,
            Err(CodeMapError::NoSymbols) => KnownBlocks::NoSymbols,
            Err(CodeMapError::Map(_) | CodeMapError::Probes(_)) => KnownBlocks::Damaged,
        };
        sampled
    }

    fn record(&self) -> MonitoredFile {
        let block = |address| {
            let block = self.code_map.as_ref()?.find(address)?;
            Some((block.function, block.block))
        };
        let addresses = self.samples.iter().map(|(&address, &samples)| {
            let samples = Count(samples);
            AddressSamples {
                address,
                samples,
                block: block(address),
            }
        });
        MonitoredFile {
            path: self.path.clone(),
            build_id: self.build_id.clone(),
            blocks: self.blocks,
            addresses: addresses.collect(),
        }
    }
}

/// Finds a mapped file: as the process sees it, or as this process does. `None` if there is another
/// file now.
fn find(file: &MappedFile, process: u32) -> Option<PathBuf> {
    let path = file.path.as_os_str();
    if !path.as_bytes().starts_with(b"/") || path.as_bytes().starts_with(b"//") {
        return None;
    }
    let mut in_process = OsString::from(format!("/proc/{process}/root"));
    in_process.push(path);
    let candidates = [PathBuf::from(in_process), file.path.clone()];
    let is_same = |path: &Path| match &file.identity {
        FileIdentity::BuildId(build_id) => elf::build_id(path).as_ref() == Some(build_id),
        // File systems such as Btrfs and overlayfs report other device numbers.
        FileIdentity::Inode { inode, .. } => {
            std::fs::metadata(path).is_ok_and(|metadata| metadata.ino() == *inode)
        }
    };
    candidates.into_iter().find(|path| is_same(path))
}
