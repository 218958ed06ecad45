//! Woven programs and shared objects as files: their path map, and where their runs go by default.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use holloway_abi::{self as abi, Kind};
use holloway_format::{ProfileHead, peek_profile};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

use crate::failure::{Context, Failure, Result};

/// What an ELF file says of itself.
#[derive(Debug, Default)]
pub(crate) struct WovenFile {
    /// Whether it has a path map.
    pub(crate) is_woven: bool,
    /// Directory for runs baked into it.
    pub(crate) runs: Option<PathBuf>,
    /// Kind of its profiles.
    pub(crate) kind: Option<Kind>,
    /// Iterations that loops are seen over, if it was woven for them.
    pub(crate) k: Option<u32>,
    /// Whether it imports musl's `dlopen`; of any program.
    pub(crate) opens_by_musl: bool,
}

/// Reads a file whole. Opening a FIFO would wait for a writer and a device may do anything, so neither is opened.
///
/// # Errors
/// It cannot be read, or is no regular file.
pub(crate) fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_file() || kind.is_dir() {
        return std::fs::read(path);
    }
    Err(io::Error::other("not a regular file"))
}

/// The head of a profile, of which no more is read: of a program that runs still it may be long.
pub(crate) fn head(profile: &Path) -> Option<ProfileHead> {
    if !std::fs::metadata(profile).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(profile).ok()?;
    file.take(4096).read_to_end(&mut bytes).ok()?;
    peek_profile(&bytes).ok()
}

/// Looks at a program. A script or anything else that is no object file is simply not woven.
///
/// # Errors
/// It cannot be read.
pub(crate) fn inspect(path: &Path) -> Result<WovenFile> {
    let bytes = read_regular(path).cannot(|| format!("read {}", path.display()))?;
    let Ok(file) = object::File::parse(bytes.as_slice()) else {
        return Ok(WovenFile::default());
    };
    let opens_by_musl = opens_by_musl(&file);
    if file.section_by_name(abi::MAP_SECTION).is_none() {
        return Ok(WovenFile {
            opens_by_musl,
            ..WovenFile::default()
        });
    }
    let header = file
        .sections()
        .filter(|section| {
            // A linker that merges strings makes one of them of all read-only data.
            use object::SectionKind::{ReadOnlyData, ReadOnlyString};
            matches!(section.kind(), ReadOnlyData | ReadOnlyString)
        })
        .find_map(|section| Header::find(section.data().ok()?))
        .unwrap_or_default();
    Ok(WovenFile {
        is_woven: true,
        runs: header.runs,
        kind: header.kind,
        k: header.k,
        opens_by_musl,
    })
}

fn opens_by_musl(file: &object::File<'_>) -> bool {
    let loader = file.section_by_name(".interp");
    let loader = loader.and_then(|section| section.data().ok());
    loader.is_some_and(|path| path.starts_with(b"/lib/ld-musl-"))
        && file
            .dynamic_symbols()
            .any(|symbol| symbol.is_undefined() && symbol.name() == Ok("dlopen"))
}

/// What is wanted of an [`abi::ImageHeader`].
#[derive(Default)]
struct Header {
    runs: Option<PathBuf>,
    kind: Option<Kind>,
    k: Option<u32>,
}

impl Header {
    /// The header somewhere in `data`: eight bytes of magic, the version, the kind at 12, the parameter at 40, and the directory at 128.
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

/// The path map of a program or shared object: the content of its `.holloway_map` section.
///
/// # Errors
/// The file cannot be read, or was not built by holloway.
pub(crate) fn read_map(path: &Path) -> Result<Vec<u8>> {
    let shown = path.display();
    let bytes = read_regular(path).cannot(|| format!("read {shown}"))?;
    let file =
        object::File::parse(bytes.as_slice()).cannot(|| format!("read {shown} as a program"))?;
    let section = file.section_by_name(abi::MAP_SECTION);
    let section = section.ok_or_else(|| {
        Failure::new(format_args!(
            "cannot find a path map in {shown}: it was not built by holloway"
        ))
    })?;
    section
        .uncompressed_data()
        .map(std::borrow::Cow::into_owned)
        .cannot(|| format!("read the path map of {shown}"))
}
