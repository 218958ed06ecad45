//! Reads the path map and the settings that the link step stored in a woven program or shared
//! object.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use holloway_abi::{self as abi, Kind};
use holloway_sample::elf::{read_range, sections};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, ReadCache};

use crate::error::ImageError;
use crate::files::check_regular;

/// Facts about an ELF file that are needed to run it.
#[derive(Debug, Default)]
pub struct WovenFile {
    /// Whether the file has a path map.
    pub is_woven: bool,
    /// The directory for runs that was chosen when the file was linked.
    pub runs: Option<PathBuf>,
    /// The kind of profile.
    pub kind: Option<Kind>,
    /// K for the kind loops: the number of consecutive iterations in a sequence.
    pub k: Option<u32>,
    /// Whether the file imports `dlopen` from musl. This is known even if the file is not woven.
    pub imports_musl_dlopen: bool,
}

/// Inspects a program. Files other than object files, such as scripts, count as not woven.
///
/// # Errors
/// If the file cannot be read.
pub fn inspect(path: &Path) -> Result<WovenFile, ImageError> {
    let file = open(path).map_err(|source| ImageError::Read {
        path: path.to_owned(),
        source,
    })?;
    let sections = sections(&file).unwrap_or_default();
    let section = |name: &str| {
        let mut sections = sections.iter();
        sections.find(|section| section.name == name.as_bytes())
    };
    let loader = section(".interp").and_then(|section| read_range(&file, section.range.clone()));
    let is_musl = loader.is_some_and(|path| path.starts_with(b"/lib/ld-musl-"));
    let imports_musl_dlopen = is_musl && imports_dlopen(&file);
    if section(abi::MAP_SECTION).is_none() {
        return Ok(WovenFile {
            imports_musl_dlopen,
            ..WovenFile::default()
        });
    }
    let header = sections
        .iter()
        .filter(|section| section.is_read_only_data && section.name != abi::MAP_SECTION.as_bytes())
        .find_map(|section| Header::find(&file, section.range.clone()))
        .unwrap_or_default();
    Ok(WovenFile {
        is_woven: true,
        runs: header.runs,
        kind: header.kind,
        k: header.k,
        imports_musl_dlopen,
    })
}

fn imports_dlopen(file: &File) -> bool {
    let cache = ReadCache::new(file);
    object::File::parse(&cache).is_ok_and(|file| {
        let mut symbols = file.dynamic_symbols();
        symbols.any(|symbol| symbol.is_undefined() && symbol.name() == Ok("dlopen"))
    })
}

/// Bytes of a section that are searched at once for the header. The header is aligned to 8 bytes.
const PART: u64 = 64 << 10;

/// The fields of an [`abi::ImageHeader`] that [`WovenFile`] needs.
#[derive(Default)]
struct Header {
    runs: Option<PathBuf>,
    kind: Option<Kind>,
    k: Option<u32>,
}

impl Header {
    /// Finds the header in a section of the file. The header is often near its beginning, so the
    /// section is read in parts.
    fn find(file: &File, section: Range<u64>) -> Option<Self> {
        let size = size_of::<abi::ImageHeader>() as u64;
        let mut start = section.start;
        while start < section.end {
            let end = section.end.min(start + PART + size);
            if let Some(header) = Self::find_in(&read_range(file, start..end)?) {
                return Some(header);
            }
            start += PART;
        }
        None
    }

    /// Finds the header in `data`.
    ///
    /// ```text
    /// OFFSET  SIZE  MEANING
    ///      0     8  magic
    ///      8     4  version of the ABI
    ///     12     4  kind
    ///     40     8  K for the kind loops, else 0
    ///    128     -  directory for runs, ends with a zero byte
    /// ```
    fn find_in(data: &[u8]) -> Option<Self> {
        let header = data.chunks(8).position(|chunk| chunk == abi::IMAGE_MAGIC)? * 8;
        let header = data.get(header..header + size_of::<abi::ImageHeader>())?;
        let version = u32::from_ne_bytes(*header[8..].first_chunk()?);
        if !(abi::OLDEST_ABI_VERSION..=abi::ABI_VERSION).contains(&version) {
            return None;
        }
        let runs = header[128..].split(|&byte| byte == 0).next()?;
        let runs = (!runs.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(runs)));
        let k = u64::from_ne_bytes(*header[40..].first_chunk()?);
        Some(Self {
            runs,
            kind: Kind::from_number(u32::from_ne_bytes(*header[12..].first_chunk()?)),
            k: u32::try_from(k).ok().filter(|&k| k > 0),
        })
    }
}

/// Reads the path map of a program or shared object: the content of its section `.holloway_map`.
///
/// # Errors
/// If the file cannot be read, or was not built by holloway.
pub fn read_map(path: &Path) -> Result<Vec<u8>, ImageError> {
    let file = open(path).map_err(|source| ImageError::Read {
        path: path.to_owned(),
        source,
    })?;
    let cache = ReadCache::new(&file);
    let file = object::File::parse(&cache).map_err(|source| ImageError::NoProgram {
        path: path.to_owned(),
        source,
    })?;
    let section = file.section_by_name(abi::MAP_SECTION);
    let section = section.ok_or_else(|| ImageError::NotWoven {
        path: path.to_owned(),
    })?;
    let data = section.uncompressed_data();
    data.map(Cow::into_owned)
        .map_err(|source| ImageError::Section {
            path: path.to_owned(),
            source,
        })
}

fn open(path: &Path) -> io::Result<File> {
    check_regular(path)?;
    File::open(path)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_header_in_the_second_part_of_a_section_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("section");
        for position in [0, 4096, PART - 8, PART, 2 * PART - 64] {
            let mut bytes = vec![0; position as usize];
            bytes.extend(abi::IMAGE_MAGIC);
            bytes.extend(abi::ABI_VERSION.to_ne_bytes());
            bytes.extend(Kind::Loops.number().to_ne_bytes());
            bytes.resize(bytes.len() + size_of::<abi::ImageHeader>(), 0);
            std::fs::write(&path, &bytes).unwrap();
            let file = File::open(&path).unwrap();
            let header = Header::find(&file, 0..bytes.len() as u64).unwrap();
            assert_eq!((header.kind, header.k), (Some(Kind::Loops), None));
        }
    }
}
