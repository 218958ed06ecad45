//! The common parts of the files of slab forests (`*.hwl`) and timings (`*.hwv`): the head, and a
//! record for each function. Damage to one record does not affect the others.
//!
//! ```text
//! OFFSET SIZE MEANING
//!      0    8  magic
//!      8    4  format version              12    4  parameter (its meaning depends on the magic)
//!     16   16  build id of the image
//!     32    4  process id                  36    4  parent's process id
//!     40    4  threads                     44    4  flags: 1 child of fork
//!     48    4  n: number of functions      52    4  l: length of image name
//!     56    4  p: length of image path     60    4  0
//!     64   8m  m numbers (m depends on the magic and the version)
//!  64+8m    l  image name, UTF-8
//!      …    p  path of the image's file (any bytes)
//!      …    4  crc32 of all bytes before it
//!      … 12n+4  index of the function records (crate::frames): keys are module and function
//!      …       function records (crate::frames), ascending by module and function; each payload
//!              begins with the function (crate::function_record)
//! ```

use crate::cursor::Cursor;
use crate::damage::{Damage, DamagedFile, Fact, Index};
use crate::error::FormatError;
use crate::frames::{FrameWriter, Frames, index_size};
use crate::function_record::{RecordedFunction, lost_record, read_function};
use crate::image::ImageMap;
use crate::profile::{Profile, ProfileHead, bytes_of_path, path_of_bytes};
use std::path::PathBuf;

/// The process and the image that a file belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessImage {
    /// Build id of the image.
    pub build_id: [u8; 16],
    /// File name of the image.
    pub image: String,
    /// Path of the image's file. Empty if it is unknown.
    pub image_path: PathBuf,
    /// Process id.
    pub pid: u32,
    /// Parent's process id.
    pub ppid: u32,
    /// Number of threads whose streams were read.
    pub threads: u32,
    /// Whether the process is the child of a fork.
    pub forked: bool,
}

impl From<&ProfileHead> for ProcessImage {
    fn from(head: &ProfileHead) -> Self {
        Self {
            build_id: head.build_id,
            image: head.image.clone(),
            image_path: head.image_path.clone(),
            pid: head.pid,
            ppid: head.ppid,
            threads: head.threads,
            forked: head.forked,
        }
    }
}

impl ProcessImage {
    /// Returns a profile of paths of this process and image, without functions.
    pub fn empty_profile(&self) -> Profile {
        Profile::from_head(ProfileHead {
            build_id: self.build_id,
            image: self.image.clone(),
            image_path: self.image_path.clone(),
            pid: self.pid,
            ppid: self.ppid,
            threads: self.threads,
            forked: self.forked,
            ..ProfileHead::default()
        })
    }
}

/// The magic and the version of a type of file.
pub(crate) struct FileType {
    pub(crate) magic: [u8; 8],
    pub(crate) version: u32,
    /// The error for bytes of another type.
    pub(crate) mismatch: FormatError,
}

/// Totals that a head has as `N` numbers.
pub(crate) trait Numbers<const N: usize>: Default {
    /// The numbers, in the order of the file.
    fn numbers(&mut self) -> [&mut u64; N];
}

/// The head of a file, with `N` numbers.
pub(crate) struct ResultHead<const N: usize> {
    process: ProcessImage,
    pub(crate) parameter: u32,
    functions: u32,
    numbers: [u64; N],
}

impl<const N: usize> ResultHead<N> {
    /// A head for writing a file.
    pub(crate) fn new(process: ProcessImage, parameter: u32, mut stats: impl Numbers<N>) -> Self {
        Self {
            process,
            parameter,
            functions: 0,
            numbers: stats.numbers().map(|number| *number),
        }
    }

    /// The process and the image that the file belongs to.
    pub(crate) fn process(&self) -> ProcessImage {
        self.process.clone()
    }

    /// The numbers, as totals.
    pub(crate) fn stats<S: Numbers<N>>(&self) -> S {
        let mut stats = S::default();
        for (number, value) in stats.numbers().into_iter().zip(self.numbers) {
            *number = value;
        }
        stats
    }

    /// Encodes the file: the head, the index, and the records.
    ///
    /// # Panics
    /// If a name has 4 GiB or more.
    pub(crate) fn write(self, file_type: &FileType, records: FrameWriter) -> Vec<u8> {
        let process = self.process;
        let length = |name: &[u8]| u32::try_from(name.len()).expect("a name is below 4 GiB");
        let mut out = file_type.magic.to_vec();
        for word in [file_type.version, self.parameter] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&process.build_id);
        for word in [
            process.pid,
            process.ppid,
            process.threads,
            u32::from(process.forked),
            records.len(),
            length(process.image.as_bytes()),
            length(bytes_of_path(&process.image_path)),
            0,
        ] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        for number in self.numbers {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(process.image.as_bytes());
        out.extend_from_slice(bytes_of_path(&process.image_path));
        let crc = crc32fast::hash(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        let (index, records) = records.finish();
        out.extend_from_slice(&index);
        out.extend_from_slice(&records);
        out
    }

    /// Reads the head of a file. Returns the head and its size.
    ///
    /// # Errors
    /// If the bytes are not a file of this type, have another version, or if the head is damaged.
    pub(crate) fn read(bytes: &[u8], file_type: &FileType) -> Result<(Self, usize), FormatError> {
        if !bytes.starts_with(&file_type.magic) {
            return Err(file_type.mismatch.clone());
        }
        let mut cursor = Cursor::new(bytes, 0);
        cursor.bytes(8)?;
        let version = cursor.u32()?;
        if version != file_type.version {
            return Err(FormatError::Version {
                found: version,
                reads: file_type.version..=file_type.version,
            });
        }
        let (parameter, build_id) = (cursor.u32()?, cursor.id()?);
        let (pid, ppid, threads, flags) =
            (cursor.u32()?, cursor.u32()?, cursor.u32()?, cursor.u32()?);
        let (functions, image, path) = (cursor.u32()?, cursor.u32()?, cursor.u32()?);
        cursor.u32()?;
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = cursor.u64()?;
        }
        let (image, image_path) = (cursor.bytes(image as usize)?, cursor.bytes(path as usize)?);
        let end = cursor.offset() as usize;
        let is_intact = cursor.u32()? == crc32fast::hash(&bytes[..end]);
        let text = |bytes: &[u8]| str::from_utf8(bytes).map(str::to_owned);
        let (Ok(image), true) = (text(image), is_intact) else {
            return Err(FormatError::Head { offset: 0 });
        };
        let process = ProcessImage {
            build_id,
            image,
            image_path: path_of_bytes(image_path),
            pid,
            ppid,
            threads,
            forked: flags & 1 != 0,
        };
        let head = Self {
            process,
            parameter,
            functions,
            numbers,
        };
        Ok((head, end + 4))
    }

    /// Reads the records after a head of `size` bytes. `read` gets the function of each record, and
    /// a cursor after the function's hash. Damaged records are left out, and returned as damage.
    ///
    /// # Errors
    /// If the map has another build, or if the index is cut short.
    pub(crate) fn records<T>(
        &self,
        bytes: &[u8],
        size: usize,
        map: &ImageMap,
        mut read: impl FnMut(RecordedFunction<'_>, &mut Cursor<'_>) -> Result<T, FormatError>,
    ) -> Result<(Vec<T>, Vec<Damage>), FormatError> {
        if self.process.build_id != map.build_id {
            return Err(FormatError::BuildMismatch {
                profile: self.process.build_id,
                map: map.build_id,
                image: self.process.image.clone(),
            });
        }
        let mut cursor = Cursor::new(&bytes[size..], size as u64);
        let index = usize::try_from(index_size(self.functions.into())).unwrap_or(usize::MAX);
        let index = cursor.bytes(index)?;
        let start = cursor.offset();
        let frames = Frames::new(index, &bytes[start as usize..], self.functions, start);
        let (mut list, mut damage) = (Vec::new(), Vec::new());
        if !frames.index_intact() {
            let fact = Fact::Index(Index::Records);
            damage.push(Damage::of_file(DamagedFile::Profile, size as u64, fact));
        }
        let mut last = None;
        for frame in frames {
            let (keys, offset) = (frame.keys, frame.offset);
            let record = read_function(frame, map, last).and_then(|(function, mut cursor)| {
                let index = function.index;
                let record = read(function, &mut cursor)?;
                cursor.end()?;
                last = Some(index);
                Ok(record)
            });
            match record {
                Ok(record) => list.push(record),
                Err(error) => damage.push(lost_record(map, keys, offset, error)),
            }
        }
        Ok((list, damage))
    }
}
