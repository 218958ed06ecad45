//! Reads the path map and the settings that the link step stored in a woven program or shared
//! object.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use holloway_abi::{self as abi, Kind};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, ReadCache, ReadRef};

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

/// The section of a program's file that holds its path map. Only the parts that are asked for are
/// read.
pub(crate) struct MapSection {
    file: File,
    /// The section's range of the file.
    range: Range<u64>,
}

impl MapSection {
    /// Finds the section. `None` if the file cannot be read, or has no uncompressed section.
    pub(crate) fn open(program: &Path) -> Option<Self> {
        let file = open(program).ok()?;
        let cache = ReadCache::new(&file);
        let object = object::File::parse(&cache).ok()?;
        let section = object.section_by_name(abi::MAP_SECTION)?;
        let data = section.compressed_file_range().ok()?;
        let is_plain = data.format == object::CompressionFormat::None;
        let range = data.offset..data.offset.checked_add(data.uncompressed_size)?;
        let is_inside = range.end <= file.metadata().ok()?.len();
        (is_plain && is_inside).then_some(Self { file, range })
    }

    /// Reads a range of bytes of the section, or fewer bytes at its end. `None` if it cannot be
    /// read.
    pub(crate) fn read(&self, range: Range<u64>) -> Option<Vec<u8>> {
        let length = self.range.end - self.range.start;
        let (start, end) = (range.start.min(length), range.end.min(length));
        let mut bytes = vec![0; usize::try_from(end.saturating_sub(start)).ok()?];
        let offset = self.range.start + start;
        self.file.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }
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
    let cache = ReadCache::new(&file);
    let Ok(file) = object::File::parse(&cache) else {
        return Ok(WovenFile::default());
    };
    let imports_musl_dlopen = imports_musl_dlopen(&file);
    if file.section_by_name(abi::MAP_SECTION).is_none() {
        return Ok(WovenFile {
            imports_musl_dlopen,
            ..WovenFile::default()
        });
    }
    let header = file
        .sections()
        .filter(|section| {
            // Linkers that merge strings may put all read-only data into a string section.
            use object::SectionKind::{ReadOnlyData, ReadOnlyString};
            matches!(section.kind(), ReadOnlyData | ReadOnlyString)
                && section.name() != Ok(abi::MAP_SECTION)
        })
        .find_map(|section| Header::find(section.data().ok()?))
        .unwrap_or_default();
    Ok(WovenFile {
        is_woven: true,
        runs: header.runs,
        kind: header.kind,
        k: header.k,
        imports_musl_dlopen,
    })
}

fn imports_musl_dlopen<'data>(file: &object::File<'data, impl ReadRef<'data>>) -> bool {
    let loader = file.section_by_name(".interp");
    let loader = loader.and_then(|section| section.data().ok());
    loader.is_some_and(|path| path.starts_with(b"/lib/ld-musl-"))
        && file
            .dynamic_symbols()
            .any(|symbol| symbol.is_undefined() && symbol.name() == Ok("dlopen"))
}

/// The fields of an [`abi::ImageHeader`] that [`WovenFile`] needs.
#[derive(Default)]
struct Header {
    runs: Option<PathBuf>,
    kind: Option<Kind>,
    k: Option<u32>,
}

impl Header {
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
    fn find(data: &[u8]) -> Option<Self> {
        let header = data.chunks(8).position(|chunk| chunk == abi::IMAGE_MAGIC)? * 8;
        let header = data.get(header..header + size_of::<abi::ImageHeader>())?;
        if header[8..12] != abi::ABI_VERSION.to_ne_bytes() {
            return None;
        }
        let runs = header[128..].split(|&byte| byte == 0).next()?;
        let runs =
            (!runs.is_empty()).then(|| PathBuf::from(String::from_utf8_lossy(runs).into_owned()));
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
