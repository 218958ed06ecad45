//! Parts of ELF files that several readers need.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use holloway_abi::MAP_SECTION;
use object::ObjectSection as _;
use object::elf::{self, FileHeader64, SectionFlags, SectionHeader64};
use object::read::elf::{FileHeader as _, SectionHeader as _};
use object::{Endianness, Object, ObjectSegment, ReadCache};

/// Opens a file. Does not open devices or FIFOs.
pub(crate) fn open_regular(path: &Path) -> Option<File> {
    let is_regular = std::fs::metadata(path).ok()?.is_file();
    File::open(path).ok().filter(|_| is_regular)
}

/// Reads the build id in a file's notes. `None` if there is none, or the file cannot be read.
pub fn build_id(path: &Path) -> Option<Vec<u8>> {
    let cache = ReadCache::new(open_regular(path)?);
    let file = object::File::parse(&cache).ok()?;
    file.build_id().ok()?.map(<[u8]>::to_vec)
}

/// Whether a file has a section with this name.
pub fn has_section(path: &Path, name: &str) -> bool {
    let found = || section_range(&open_regular(path)?, name);
    found().is_some()
}

/// Reads the segments of a file. `None` if it is not a readable program.
pub fn segments(path: &Path) -> Option<Segments> {
    let cache = ReadCache::new(open_regular(path)?);
    object::File::parse(&cache)
        .ok()
        .map(|file| Segments::new(&file))
}

/// The parts of a file that are mapped to addresses.
#[derive(Clone, Debug, Default)]
pub struct Segments(Vec<Segment>);

#[derive(Clone, Copy, Debug)]
struct Segment {
    address: u64,
    offset: u64,
    size: u64,
}

impl Segments {
    /// The segments of a file.
    pub fn new<'data>(file: &impl Object<'data>) -> Self {
        let segments = file.segments().map(|segment| {
            let (offset, size) = segment.file_range();
            Segment {
                address: segment.address(),
                offset,
                size,
            }
        });
        Self(segments.collect())
    }

    /// The address of a file offset, as the file's symbols name it. `None` if no segment contains
    /// the offset.
    pub fn address(&self, offset: u64) -> Option<u64> {
        self.0.iter().find_map(|segment| {
            let distance = offset.checked_sub(segment.offset)?;
            (distance < segment.size).then(|| segment.address.wrapping_add(distance))
        })
    }

    /// The file offset of an address, the inverse of [`Segments::address`].
    pub fn offset(&self, address: u64) -> Option<u64> {
        self.0.iter().find_map(|segment| {
            let distance = address.checked_sub(segment.address)?;
            (distance < segment.size).then(|| segment.offset.wrapping_add(distance))
        })
    }
}

/// The section of a program's file that holds its path map. Only the parts that are asked for are
/// read.
pub struct MapSection {
    file: File,
    /// The section's range of the file.
    range: Range<u64>,
}

impl MapSection {
    /// Finds the section. `None` if the file cannot be read, or has no uncompressed section.
    pub fn open(program: &Path) -> Option<Self> {
        let file = open_regular(program)?;
        let range = section_range(&file, MAP_SECTION)?;
        let is_inside = range.end <= file.metadata().ok()?.len();
        is_inside.then_some(Self { file, range })
    }

    /// Reads a range of bytes of the section, or fewer bytes at its end. `None` if it cannot be
    /// read.
    pub fn read(&self, range: Range<u64>) -> Option<Vec<u8>> {
        let place = |at: u64| self.range.start.saturating_add(at).min(self.range.end);
        read_range(&self.file, place(range.start)..place(range.end))
    }
}

/// The bytes of machine code of an object file. `None` if it cannot be read.
pub fn code_size(path: &Path) -> Option<u64> {
    let file = File::open(path).ok()?;
    let cache = ReadCache::new(&file);
    let object = object::File::parse(&cache).ok()?;
    let code = object
        .sections()
        .filter(|section| section.kind() == object::SectionKind::Text);
    Some(code.map(|section| section.size()).sum())
}

/// A section of an ELF file.
pub struct Section {
    /// Its name.
    pub name: Vec<u8>,
    /// Whether its bytes are in memory at run time, and neither code nor writable.
    pub is_read_only_data: bool,
    /// Its range of the file.
    pub range: Range<u64>,
}

/// The uncompressed sections of an ELF file for a machine of 64 bits and this byte order. Reads the
/// head of the file, and the table and the names of the sections. A symbol table may be long, and
/// is not read. `None` for other files.
pub fn sections(file: &File) -> Option<Vec<Section>> {
    let cache = ReadCache::new(file);
    let head = FileHeader64::<Endianness>::parse(&cache).ok()?;
    let endian = head.endian().ok()?;
    if endian != Endianness::default() {
        return None;
    }
    let headers = head.section_headers(endian, &cache).ok()?;
    let length = file.metadata().ok()?.len();
    let names = headers.get(head.shstrndx(endian, &cache).ok()? as usize)?;
    let (start, size) = names.file_range(endian)?;
    // All names at once: the library would read them one by one.
    let names = read_range(file, start..start.checked_add(size)?)?;
    let section = |header: &SectionHeader64<Endianness>| {
        let flags = header.sh_flags(endian);
        let is = |flag: SectionFlags| flags.contains(flag);
        let (start, size) = header.file_range(endian)?;
        let name = header.sh_name(endian) as usize;
        let has_data = header.sh_type(endian) == elf::SHT_PROGBITS;
        let is_constant = is(elf::SHF_ALLOC) && !is(elf::SHF_WRITE) && !is(elf::SHF_EXECINSTR);
        Some(Section {
            name: names
                .get(name..)?
                .split(|&byte| byte == 0)
                .next()?
                .to_owned(),
            is_read_only_data: has_data && is_constant,
            range: start..start.checked_add(size).filter(|&end| end <= length)?,
        })
        .filter(|_| !is(elf::SHF_COMPRESSED))
    };
    Some(headers.iter().filter_map(section).collect())
}

/// Finds an uncompressed section: its range of the file.
pub fn section_range(file: &File, name: &str) -> Option<Range<u64>> {
    let mut sections = sections(file)?.into_iter();
    let section = sections.find(|section| section.name == name.as_bytes());
    section.map(|section| section.range)
}

/// Reads a range of bytes of a file, or fewer bytes at its end. `None` if it cannot be read.
pub fn read_range(file: &File, range: Range<u64>) -> Option<Vec<u8>> {
    let length = file.metadata().ok()?.len();
    let (start, end) = (range.start.min(length), range.end.min(length));
    let mut bytes = vec![0; usize::try_from(end.saturating_sub(start)).ok()?];
    file.read_exact_at(&mut bytes, start).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use object::ObjectSection as _;

    use super::*;

    #[test]
    fn the_sections_of_the_test_program_are_found() {
        let path = std::env::current_exe().unwrap();
        let file = File::open(&path).unwrap();
        let cache = ReadCache::new(&file);
        let object = object::File::parse(&cache).unwrap();
        let mut compared = 0;
        for section in object.sections() {
            let data = section.compressed_file_range().unwrap();
            let is_plain = data.format == object::CompressionFormat::None;
            let Some((start, size)) = section.file_range().filter(|_| is_plain) else {
                continue;
            };
            let found = section_range(&file, section.name().unwrap());
            assert_eq!(found, Some(start..start + size), "{:?}", section.name());
            compared += 1;
        }
        assert!(compared > 10, "{compared}");
        assert_eq!(section_range(&file, ".bss"), None);
        assert_eq!(section_range(&file, "no such section"), None);
        assert!(MapSection::open(&path).is_none());
    }
}
