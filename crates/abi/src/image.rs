//! The header of an image, which is a woven program or shared object.
//!
//! The link step adds one object to the image. This object has three parts:
//! - the [`ImageHeader`], in read-only data, at the hidden symbol `__holloway_image`;
//! - the thread-local slot `__holloway_slot` (8 bytes, null at first), which holds the address of
//!   the thread's block of counters or ring;
//! - the path map, in the read-only section `.holloway_map`. `strip` keeps this section because
//!   the program loads it.

/// First eight bytes of an [`ImageHeader`].
pub const IMAGE_MAGIC: [u8; 8] = *b"HLWIMAGE";

/// Describes a woven image to the runtime.
///
/// ```text
/// OFFSET SIZE MEANING
///      0    8  IMAGE_MAGIC
///      8    4  ABI_VERSION
///     12    4  kind of collection
///     16   16  build id: hash of the path map
///     32    8  block_size: bytes of counters for each thread; 64 less than a multiple of 4096
///     40    8  parameter of the kind: for loops, K (iterations); 0: the reader's default
///     48   80  name of the image (file name of the link's output), NUL padded
///    128  896  directory of runs if HOLLOWAY_DATA is not set, NUL padded; not used if the
///              directory above it is gone; empty: runs go to the user's state directory
/// ```
///
/// The first bytes of an image `app` that counts paths in blocks of 4,032 bytes:
///
/// ```text
///  0  48 4c 57 49 4d 41 47 45  05 00 00 00 00 00 00 00   HLWIMAGE, version 5, kind 0
/// 16  (16 bytes of the build id)
/// 32  c0 0f 00 00 00 00 00 00  00 00 00 00 00 00 00 00   block_size 4032, no parameter
/// 48  61 70 70 00 ...                                    "app"
/// ```
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ImageHeader {
    /// [`IMAGE_MAGIC`].
    pub magic: [u8; 8],
    /// [`ABI_VERSION`](crate::ABI_VERSION).
    pub version: u32,
    /// Kind of collection, as its number.
    pub kind: u32,
    /// Hash of the path map.
    pub build_id: [u8; 16],
    /// Bytes of counters for each thread; `block_size + 64` is a multiple of [`PAGE`](crate::PAGE).
    pub block_size: u64,
    /// Parameter of the kind.
    pub parameter: u64,
    /// File name of the image, NUL padded.
    pub name: [u8; 80],
    /// Directory of runs, NUL padded, or empty.
    pub runs: [u8; 896],
}

const _: () = assert!(size_of::<ImageHeader>() == 1024);
