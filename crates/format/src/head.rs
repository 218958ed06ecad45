//! What the files of results have in common (`*.hwl`, `*.hwv`): the head, and records of functions of which each can be lost alone.
//!
//! ```text
//! OFFSET SIZE MEANING
//!      0    8  magic
//!      8    4  format version              12    4  parameter of the file
//!     16   16  build id of the image
//!     32    4  process id                  36    4  parent's process id
//!     40    4  threads                     44    4  flags: 1 child of fork
//!     48    4  n: number of functions      52    4  l: length of image name
//!     56    4  p: length of image path     60    4  0
//!     64   8m  m numbers, as many as the file's version says
//!  64+8m    l  image name, UTF-8
//!      …    p  path of the image's file, UTF-8
//!      …    4  crc32 of all before
//!      … 12n+4  index of the function records (crate::frames): keys are module and function
//!      …       function records (crate::frames), ascending by module and function
//! ```
//! Each record's payload begins `v module  v function  8 bytes hash` (`v`: varint).

use crate::cursor::Cursor;
use crate::damage::{Damage, DamagedFile, Fact, Index};
use crate::error::FormatError;
use crate::frames::{Frame, FrameWriter, Frames, index_size};
use crate::image::ImageMap;
use crate::map::FunctionMap;
use crate::profile::lost_function;
use crate::repair;
use crate::varint::put;

const FIXED: usize = 64;

/// What tells one kind of file from another.
pub(crate) struct Kind {
    pub(crate) magic: [u8; 8],
    pub(crate) version: u32,
    /// Numbers in the head.
    pub(crate) numbers: usize,
    /// Said of other files.
    pub(crate) stranger: FormatError,
}

/// A head.
#[derive(Default)]
pub(crate) struct Head {
    pub(crate) parameter: u32,
    pub(crate) build_id: [u8; 16],
    pub(crate) pid: u32,
    pub(crate) ppid: u32,
    pub(crate) threads: u32,
    pub(crate) forked: bool,
    pub(crate) functions: u32,
    pub(crate) numbers: Vec<u64>,
    pub(crate) image: String,
    pub(crate) image_path: String,
}

impl Head {
    /// The head, and behind it the records with their index.
    ///
    /// # Panics
    /// If a name reaches 4 GiB.
    pub(crate) fn write(mut self, kind: &Kind, records: FrameWriter) -> Vec<u8> {
        debug_assert_eq!(self.numbers.len(), kind.numbers, "all numbers of the kind");
        self.functions = records.len();
        let length = |text: &str| u32::try_from(text.len()).expect("a name is below 4 GiB");
        let mut out = kind.magic.to_vec();
        for word in [kind.version, self.parameter] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&self.build_id);
        for word in [
            self.pid,
            self.ppid,
            self.threads,
            u32::from(self.forked),
            self.functions,
            length(&self.image),
            length(&self.image_path),
            0,
        ] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        for number in &self.numbers {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(self.image.as_bytes());
        out.extend_from_slice(self.image_path.as_bytes());
        let crc = crc32fast::hash(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        let (index, records) = records.finish();
        out.extend_from_slice(&index);
        out.extend_from_slice(&records);
        out
    }

    /// The head of a file, and its size.
    ///
    /// # Errors
    /// The bytes are no such file, of another version, or damaged in the head.
    pub(crate) fn read(bytes: &[u8], kind: &Kind) -> Result<(Head, usize), FormatError> {
        if !bytes.starts_with(&kind.magic) {
            return Err(kind.stranger.clone());
        }
        let mut cursor = Cursor::new(bytes, 0);
        cursor.bytes(8)?;
        let found = cursor.u32()?;
        if found != kind.version {
            let reads = kind.version..=kind.version;
            return Err(FormatError::Version { found, reads });
        }
        let (parameter, build_id) = (cursor.u32()?, cursor.id()?);
        let (pid, ppid, threads, flags) =
            (cursor.u32()?, cursor.u32()?, cursor.u32()?, cursor.u32()?);
        let (functions, image, path) = (cursor.u32()?, cursor.u32()?, cursor.u32()?);
        cursor.u32()?;
        let numbers = (0..kind.numbers).map(|_| cursor.u64());
        let numbers = numbers.collect::<Result<Vec<u64>, _>>()?;
        let (image, image_path) = (cursor.bytes(image as usize)?, cursor.bytes(path as usize)?);
        let end = cursor.offset() as usize;
        let intact = cursor.u32()? == crc32fast::hash(&bytes[..end]);
        let text = |bytes: &[u8]| str::from_utf8(bytes).map(str::to_owned);
        let (Ok(image), Ok(image_path), true) = (text(image), text(image_path), intact) else {
            return Err(FormatError::Head { offset: 0 });
        };
        let head = Head {
            parameter,
            build_id,
            pid,
            ppid,
            threads,
            forked: flags & 1 != 0,
            functions,
            numbers,
            image,
            image_path,
        };
        Ok((head, end + 4))
    }

    /// The records behind a head of this size, by `read`, which is given what stands behind the function's hash. Damaged ones are left
    /// out and listed.
    ///
    /// # Errors
    /// The map is of another build, or the index is cut short.
    pub(crate) fn records<T>(
        &self,
        bytes: &[u8],
        size: usize,
        map: &ImageMap,
        mut read: impl FnMut(Of<'_>, &mut Cursor<'_>) -> Result<T, FormatError>,
    ) -> Result<(Vec<T>, Vec<Damage>), FormatError> {
        if self.build_id != map.build_id {
            return Err(FormatError::BuildMismatch {
                profile: self.build_id,
                map: map.build_id,
                image: self.image.clone(),
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
            let one = function(frame, map, last).and_then(|(of, mut cursor)| {
                let place = (of.module, of.function);
                let one = read(of, &mut cursor)?;
                cursor.end()?;
                last = Some(place);
                Ok(one)
            });
            match one {
                Ok(one) => list.push(one),
                Err(error) => damage.push(lost(map, keys, offset, error)),
            }
        }
        Ok((list, damage))
    }
}

/// Whose record it is.
#[derive(Clone, Copy)]
pub(crate) struct Of<'a> {
    pub(crate) module: u32,
    pub(crate) function: u32,
    pub(crate) hash: u64,
    pub(crate) map: &'a FunctionMap,
}

/// Begins the payload of a function's record.
pub(crate) fn put_function(out: &mut Vec<u8>, module: u32, function: u32, hash: u64) {
    put(out, module.into());
    put(out, function.into());
    out.extend_from_slice(&hash.to_le_bytes());
}

/// Whose record a frame is, and what follows that. Functions come after `last`.
pub(crate) fn function<'a, 'm>(
    frame: Frame<'a>,
    map: &'m ImageMap,
    last: Option<(u32, u32)>,
) -> Result<(Of<'m>, Cursor<'a>), FormatError> {
    let offset = frame.offset;
    let mut cursor = frame.payload?;
    let module = cursor.index(map.modules.len(), "module")?;
    let functions = &map.modules[module as usize].module.functions;
    let function = cursor.index(functions.len(), "function")?;
    if last >= Some((module, function)) {
        let what = "function";
        return Err(FormatError::Order { what, offset });
    }
    let shape = &functions[function as usize];
    if shape.is_damaged() {
        return Err(FormatError::NoMap { offset });
    }
    let hash = cursor.u64()?;
    if hash != shape.hash {
        return Err(FormatError::OtherFunction { offset });
    }
    let of = Of {
        module,
        function,
        hash,
        map: shape,
    };
    Ok((of, cursor))
}

/// A record that is lost, by its keys where the index has them.
pub(crate) fn lost(
    map: &ImageMap,
    keys: Option<[u32; 2]>,
    offset: u64,
    error: FormatError,
) -> Damage {
    let offset = error.offset().unwrap_or(offset);
    match keys {
        Some([module, function]) => lost_function(map, (module, function), offset, error),
        None => {
            let fact = Fact::LostFunction(error);
            Damage::of_file(DamagedFile::Profile, offset, fact)
        }
    }
}

/// A path's number below `limit`, else an error at the cursor.
pub(crate) fn path_below(value: u64, limit: u64, cursor: &Cursor<'_>) -> Result<u64, FormatError> {
    if value < limit {
        return Ok(value);
    }
    Err(FormatError::Range {
        what: "path",
        value,
        limit,
        offset: cursor.offset(),
    })
}

/// Puts the checksums of such a file right ([`crate::repair`]).
pub(crate) fn repair(bytes: &mut [u8], kind: &Kind) {
    let names = repair::load(bytes, 52) as usize + repair::load(bytes, 56) as usize;
    let fixed = FIXED + 8 * kind.numbers;
    repair::checksum(bytes, 0, names.saturating_add(fixed));
    let Ok((head, size)) = Head::read(bytes, kind) else {
        return;
    };
    let records = size.saturating_add(12 * head.functions as usize + 4);
    repair::records(bytes, size, records, head.functions);
}
