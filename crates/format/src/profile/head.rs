//! The head of a profile, which identifies the process and the build.

use holloway_abi::Kind;

/// The head of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileHead {
    /// Whether the profile is sealed. Otherwise it is raw.
    pub sealed: bool,
    /// Kind of data.
    pub kind: Kind,
    /// Build id of the image.
    pub build_id: [u8; 16],
    /// File name of the image.
    pub image: String,
    /// Path of the image's file.
    pub image_path: String,
    /// Process id.
    pub pid: u32,
    /// Parent's process id.
    pub ppid: u32,
    /// Start of the process, in nanoseconds since 1970.
    pub start_ns: u64,
    /// Number of threads that entered woven code.
    pub threads: u32,
    /// Number of losses: threads and segments whose counts did not fit into the file, and rings
    /// that dropped words.
    pub lost: u64,
    /// Whether the process is the child of a fork.
    pub forked: bool,
}
