//! The head of a profile: which process and which build it is of.

use holloway_abi::Kind;

/// The head of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileHead {
    /// Whether the profile is sealed, not raw.
    pub sealed: bool,
    /// Kind of data.
    pub kind: Kind,
    /// Build of the image.
    pub build_id: [u8; 16],
    /// File name of the image.
    pub image: String,
    /// Path of the image's file.
    pub image_path: String,
    /// Process id.
    pub pid: u32,
    /// Parent's process id.
    pub ppid: u32,
    /// Start, in nanoseconds since 1970.
    pub start_ns: u64,
    /// Threads that entered woven code.
    pub threads: u32,
    /// Number of threads and hash segments whose counts did not fit into the file, and of rings
    /// whose words were dropped at some time.
    pub lost: u64,
    /// Whether the process is the child of a fork.
    pub forked: bool,
}
