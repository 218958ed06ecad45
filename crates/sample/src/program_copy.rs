//! The parts of a program's file that lead from addresses to blocks. A monitor copies them, and
//! reads nothing else: blocks are found when somebody asks for them.
//!
//! The copy is an ELF file with holes. The copied parts lie where they lie in the program:
//!
//! ```text
//! copied   ELF header, program headers, section headers and their names
//!          path map, .pseudo_probe, .symtab, .strtab, notes
//! holes    code, data, debug information
//! ```
//! So the copy is read like the program itself ([`CodeMap`](crate::code_map::CodeMap)).
//!
//! A copy is named after the build id of the path map and the build id in the file's notes. The
//! first says what was woven. Only the second says how it was linked. Files without the second have
//! their size and time instead.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;

use holloway_abi::MAP_SECTION;
use holloway_format::peek_map;
use holloway_format::samples::KnownBlocks;
use md5::{Digest as _, Md5};
use object::elf::FileHeader64;
use object::read::elf::FileHeader as _;
use object::{Endianness, ReadCache};
use rustix::fs::copy_file_range;

use crate::code_map::PROBE_SECTION;
use crate::elf::{open_regular, read_range, sections};

/// Bytes at the beginning of a path map that contain its build id.
const MAP_HEAD: u64 = 48;
/// Bytes that are copied at once, where the kernel cannot copy by itself.
const CHUNK: u64 = 1 << 20;

/// The parts of a program's file that are worth keeping.
#[derive(Debug)]
pub struct ProgramCopy {
    /// The copy's name.
    pub id: [u8; 16],
    program: File,
    /// Ranges of the file.
    ranges: Vec<Range<u64>>,
    /// Length of the file.
    length: u64,
}

impl ProgramCopy {
    /// Finds the parts of a program. `build_id` is the one in the file's notes, or empty.
    ///
    /// # Errors
    /// If the blocks of the program's addresses are not known, with the reason.
    pub fn find(path: &Path, build_id: &[u8]) -> Result<Self, KnownBlocks> {
        let program = open_regular(path).ok_or(KnownBlocks::Unread)?;
        let sections = sections(&program).ok_or(KnownBlocks::NotWoven)?;
        let section = |name: &str| {
            let mut sections = sections.iter();
            let section = sections.find(|section| section.name == name.as_bytes());
            section.map(|section| section.range.clone())
        };
        let map = section(MAP_SECTION).ok_or(KnownBlocks::NotWoven)?;
        let probes = section(PROBE_SECTION).ok_or(KnownBlocks::NoProbes)?;
        let symbols = section(".symtab").ok_or(KnownBlocks::NoSymbols)?;
        let names = section(".strtab").ok_or(KnownBlocks::NoSymbols)?;
        let head = read_range(&program, map.start..map.end.min(map.start + MAP_HEAD));
        let map_id = head.and_then(|head| peek_map(&head).ok());
        let map_id = map_id.ok_or(KnownBlocks::Damaged)?;
        let metadata = program.metadata().map_err(|_| KnownBlocks::Unread)?;
        let notes = sections
            .iter()
            .filter(|section| section.name.starts_with(b".note"));
        let notes = notes.map(|section| section.range.clone());
        let tables = tables(&program).ok_or(KnownBlocks::Unread)?;
        let ranges = [map, probes, symbols, names].into_iter();
        let mut id = Md5::new_with_prefix(map_id);
        id.update(build_id);
        if build_id.is_empty() {
            let time = (metadata.mtime(), metadata.mtime_nsec());
            id.update(format!("{} {time:?}", metadata.len()));
        }
        Ok(Self {
            id: id.finalize().into(),
            ranges: ranges.chain(notes).chain(tables).collect(),
            length: metadata.len(),
            program,
        })
    }

    /// Writes the copy into a new file.
    ///
    /// # Errors
    /// If the program cannot be read, or the copy cannot be written.
    pub fn write(&self, copy: &File) -> io::Result<()> {
        copy.set_len(self.length)?;
        for range in &self.ranges {
            let (mut from, mut to) = (range.start, range.start);
            while from < range.end {
                let size = usize::try_from(range.end - from).unwrap_or(usize::MAX);
                let by_kernel =
                    copy_file_range(&self.program, Some(&mut from), copy, Some(&mut to), size);
                match by_kernel {
                    // The program became shorter.
                    Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Ok(_) => {}
                    // The kernel cannot copy between these file systems.
                    Err(_) => {
                        let end = range.end.min(from + CHUNK);
                        let bytes = read_range(&self.program, from..end);
                        let bytes = bytes.ok_or(io::ErrorKind::UnexpectedEof)?;
                        copy.write_all_at(&bytes, from)?;
                        (from, to) = (end, end);
                    }
                }
            }
        }
        Ok(())
    }
}

/// The ELF header, the tables of segments and sections, and the names of sections.
fn tables(program: &File) -> Option<Vec<Range<u64>>> {
    let cache = ReadCache::new(program);
    let head = FileHeader64::<Endianness>::parse(&cache).ok()?;
    let endian = head.endian().ok()?;
    let length = program.metadata().ok()?.len();
    let headers = head.section_headers(endian, &cache).ok()?;
    let names = headers.get(head.shstrndx(endian, &cache).ok()? as usize)?;
    let (names_start, names_size) = object::read::elf::SectionHeader::file_range(names, endian)?;
    let of = |start: u64, count: u64, size: u16| {
        let size = count.checked_mul(size.into())?;
        start.checked_add(size).map(|end| start..end)
    };
    let segments = head.phnum(endian, &cache).ok()?;
    let ranges = [
        Some(0..head.e_ehsize(endian).into()),
        of(
            head.e_phoff(endian),
            segments as u64,
            head.e_phentsize(endian),
        ),
        of(
            head.e_shoff(endian),
            headers.len() as u64,
            head.e_shentsize(endian),
        ),
        names_start
            .checked_add(names_size)
            .map(|end| names_start..end),
    ];
    let ranges: Option<Vec<Range<u64>>> = ranges.into_iter().collect();
    ranges.filter(|ranges| ranges.iter().all(|range| range.end <= length))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_program_without_a_map_is_not_copied() {
        let own = std::env::current_exe().unwrap();
        let found = ProgramCopy::find(&own, &[]);
        assert_eq!(found.unwrap_err(), KnownBlocks::NotWoven);
        let found = ProgramCopy::find(Path::new("/missing"), &[]);
        assert_eq!(found.unwrap_err(), KnownBlocks::Unread);
        let found = ProgramCopy::find(Path::new("/dev/zero"), &[]);
        assert_eq!(found.unwrap_err(), KnownBlocks::Unread);
    }

    #[test]
    fn the_copied_tables_are_those_of_the_program() {
        let program = File::open(std::env::current_exe().unwrap()).unwrap();
        let length = program.metadata().unwrap().len();
        let ranges = tables(&program).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("copy");
        let source = program.try_clone().unwrap();
        let copy = ProgramCopy {
            id: [0; 16],
            program,
            ranges,
            length,
        };
        copy.write(&File::create(&path).unwrap()).unwrap();
        let copied = File::open(&path).unwrap();
        let names = |file: &File| -> Vec<_> {
            let sections = sections(file).unwrap().into_iter();
            sections
                .map(|section| (section.name, section.range))
                .collect()
        };
        assert_eq!(names(&copied), names(&source));
        let disk = copied.metadata().unwrap().blocks() * 512;
        assert!(disk < length / 2, "{disk} of {length}");
    }
}
