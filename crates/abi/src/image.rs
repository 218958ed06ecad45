//! The image: a woven program or shared object.
//!
//! The link of an image adds one object with three things:
//! - [`ImageHeader`] under the hidden symbol `__holloway_image`, in read-only data;
//! - the thread-local slot `__holloway_slot` (8 bytes, null at first), which holds the address of
//!   the thread's counter block or ring;
//! - the path map in the allocated read-only section `.holloway_map`, which survives `strip`.

/// First eight bytes of an [`ImageHeader`].
pub const IMAGE_MAGIC: [u8; 8] = *b"HLWIMAGE";

/// Describes a woven image to the runtime.
///
/// ```text
/// OFFSET SIZE MEANING
///      0    8  IMAGE_MAGIC
///      8    4  ABI_VERSION
///     12    4  kind of profile
///     16   16  build id: hash of the path map
///     32    8  block_size: bytes of counters for each thread, a multiple of 4096 less 64
///     40    8  parameter of the kind: for loops, k (iterations); 0: the reader chooses
///     48   80  name of the image (file name of the link's output), NUL padded
///    128  896  directory for runs where HOLLOWAY_DATA is not set, NUL padded;
///              empty: target/holloway/runs
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
    /// Kind of profile.
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
