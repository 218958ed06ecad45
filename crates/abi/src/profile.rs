//! The raw profile: the file that an image in a process counts into, through a shared mapping.
//!
//! ```text
//! OFFSET  SIZE  MEANING
//!      0  4096  RawHeader; the rest of the page belongs to the runtime (addresses in the process)
//!   4096     …  extents, one after the other, up to RawHeader::end
//! ```
//!
//! Each extent starts with an [`ExtentHeader`](crate::ExtentHeader) and has a multiple of 4096
//! bytes. The runtime completes an extent before it moves `RawHeader::end` past it. So readers
//! never find an incomplete extent, even if the process was killed.

/// First eight bytes of a raw profile.
pub const RAW_MAGIC: [u8; 8] = *b"HLWRAWPR";

/// The size of the raw header's page. The size of each extent is a multiple of it.
pub const PAGE: u64 = 4096;

/// The header of a raw profile.
///
/// ```text
/// OFFSET SIZE MEANING
///      0    8  RAW_MAGIC
///      8    4  ABI_VERSION
///     12    4  kind of collection
///     16   16  build id of the image
///     32    8  block_size
///     40    8  end: offset after the last complete extent
///     48    4  process id
///     52    4  parent's process id
///     56    8  start: nanoseconds since 1970
///     64    8  lost: threads and hash segments whose counts are not in the file, and rings whose
///              owner dropped words
///     72    4  threads: threads that have entered woven code
///     76    4  flags; bit 0: the process is the child of a fork; bits 16 to 31: Linux's error
///              number of the first loss (0xfffe: the collector ended), 0 if there is none
///     80    8  start of the process on the boot clock in nanoseconds, which distinguishes
///              processes with the same process id; 0: unknown
///     88    8  PID namespace of the process: inode of /proc/self/ns/pid; 0: unknown
///     96    4  process id of the collector that takes words out of the rings; 0: there is none,
///              and each thread spools its own stream
///    100   28  reserved, 0
///    128   80  image name, NUL padded
///    208 3776  path of the image's file, NUL padded; empty if unknown (1024 bytes in version 5)
/// ```
///
/// The header of process 1234 (parent 1200) with one block of 4,096 bytes:
///
/// ```text
///  0  48 4c 57 52 41 57 50 52  06 00 00 00 00 00 00 00   HLWRAWPR, version 6, kind 0
/// 16  (16 bytes of the build id)
/// 32  c0 0f 00 00 00 00 00 00  00 20 00 00 00 00 00 00   block_size 4032, end 8192
/// 48  d2 04 00 00 b0 04 00 00  ...                       process 1234, parent 1200
/// ```
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawHeader {
    /// [`RAW_MAGIC`].
    pub magic: [u8; 8],
    /// [`ABI_VERSION`](crate::ABI_VERSION).
    pub version: u32,
    /// Kind of collection, as its number.
    pub kind: u32,
    /// Build id of the image.
    pub build_id: [u8; 16],
    /// Bytes of counters for each thread.
    pub block_size: u64,
    /// Offset after the last complete extent.
    pub end: u64,
    /// Process id.
    pub pid: u32,
    /// Parent's process id.
    pub ppid: u32,
    /// Start of the profile, in nanoseconds since 1970.
    pub start: u64,
    /// Number of blocks and segments that are not in the file, and of rings that dropped words.
    pub lost: u64,
    /// Threads that have entered woven code.
    pub threads: u32,
    /// Bit 0: the process is the child of a fork. Bits 16 to 31: error number of the first loss.
    pub flags: u32,
    /// Start of the process on the boot clock, in nanoseconds; 0: unknown.
    pub boot_start: u64,
    /// Inode of the namespace that `pid` belongs to; 0: unknown.
    pub pid_namespace: u64,
    /// Process id of the collector; 0: there is none, and each thread spools its own stream.
    pub collector: u32,
    /// 0.
    pub reserved: [u32; 7],
    /// Image name, NUL padded.
    pub name: [u8; 80],
    /// Path of the image's file, NUL padded.
    pub path: [u8; RAW_PATH_SIZE],
}

const _: () = assert!(size_of::<RawHeader>() == 3984);

/// The size of [`RawHeader::path`]: nearly all of the page. Linux takes paths of up to 4095 bytes.
pub const RAW_PATH_SIZE: usize = 3776;

/// The size of the path in the header of a version.
#[inline]
pub const fn raw_path_size(version: u32) -> usize {
    match version {
        ..=5 => 1024,
        _ => RAW_PATH_SIZE,
    }
}
