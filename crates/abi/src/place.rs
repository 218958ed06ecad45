//! The directory of runs in a user's state directory.
//!
//! A program writes its run there if its build names no directory of runs, or if that directory is
//! gone or cannot be written. Each build has a directory of its own: all programs in one directory
//! are one build. So the runs of `/home/ann/zlib/test/minigzip` are in
//!
//! ```text
//! $XDG_STATE_HOME/holloway/runs/home%ann%zlib%test/    or, if that variable is unset,
//! $HOME/.local/state/holloway/runs/home%ann%zlib%test/
//! ```

/// The directory of all builds, in the user's state directory.
pub const STATE_RUNS: &str = "holloway/runs";

/// The user's state directory in the home directory, if `XDG_STATE_HOME` is unset.
pub const STATE_IN_HOME: &str = ".local/state";

/// The greatest length of a build's name. A longer name loses its beginning.
pub const BUILD_NAME_LIMIT: usize = 200;

/// The name of the build in a directory, an absolute path: the path without its first `/`, with `%`
/// in place of each other `/`.
#[inline]
pub fn build_name(directory: &[u8]) -> impl Iterator<Item = u8> + '_ {
    let path = match directory {
        [b'/', rest @ ..] if !rest.is_empty() => rest,
        all => all,
    };
    let skipped = path.len().saturating_sub(BUILD_NAME_LIMIT);
    let replace = |byte: &u8| if *byte == b'/' { b'%' } else { *byte };
    path.iter().skip(skipped).map(replace)
}
