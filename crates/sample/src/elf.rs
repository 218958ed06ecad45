//! Parts of ELF files that several readers need.

use std::fs::File;
use std::path::Path;

use object::{Object, ObjectSegment, ReadCache};

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
