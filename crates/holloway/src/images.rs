//! Woven programs and shared objects as files: their path map, and where their runs go by default.

use std::io;
use std::path::{Path, PathBuf};

use holloway_format::abi;
use object::{Object as _, ObjectSection as _};

use crate::failure::{Context, Failure, Result};

/// What an ELF file says of itself.
#[derive(Debug, Default)]
pub(crate) struct WovenFile {
    /// Whether it has a path map.
    pub(crate) is_woven: bool,
    /// Directory for runs baked into it.
    pub(crate) runs: Option<PathBuf>,
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

/// Looks at a program. A script or anything else that is no object file is simply not woven.
///
/// # Errors
/// It cannot be read.
pub(crate) fn inspect(path: &Path) -> Result<WovenFile> {
    let bytes = read_regular(path).cannot(|| format!("read {}", path.display()))?;
    let Ok(file) = object::File::parse(bytes.as_slice()) else {
        return Ok(WovenFile::default());
    };
    if file.section_by_name(abi::MAP_SECTION).is_none() {
        return Ok(WovenFile::default());
    }
    let runs = file
        .sections()
        .filter(|section| section.kind() == object::SectionKind::ReadOnlyData)
        .find_map(|section| header_runs(section.data().ok()?));
    Ok(WovenFile {
        is_woven: true,
        runs,
    })
}

/// `ImageHeader::runs` of the header somewhere in `data`: eight bytes of magic, the version, and the directory at 128.
fn header_runs(data: &[u8]) -> Option<PathBuf> {
    let header = data.chunks(8).position(|chunk| chunk == abi::IMAGE_MAGIC)? * 8;
    let header = data.get(header..header + size_of::<abi::ImageHeader>())?;
    if header[8..12] != abi::ABI_VERSION.to_ne_bytes() {
        return None;
    }
    let runs = header[128..].split(|&byte| byte == 0).next()?;
    (!runs.is_empty()).then(|| PathBuf::from(String::from_utf8_lossy(runs).into_owned()))
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
