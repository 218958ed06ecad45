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

/// The greatest length of a build's name. Of a longer name, a hash replaces the end.
pub const BUILD_NAME_LIMIT: usize = 200;

/// The length of the end of a cut name: `=` and 16 hexadecimal digits.
const HASH_LENGTH: usize = 17;

/// The name of the build in a directory, an absolute path: the path without its first `/`, with `%`
/// in place of each other `/`. No two directories have the same name:
///
/// | in the path | in the name |
/// |---|---|
/// | `/` | `%` |
/// | `%` | `=%` |
/// | `=` | `==` |
///
/// A name of more than [`BUILD_NAME_LIMIT`] bytes ends with `=` and a hash of the whole path, which
/// is 64 bits long.
#[inline]
pub fn build_name(directory: &[u8]) -> impl Iterator<Item = u8> + '_ {
    let path = without_first_slash(directory);
    let is_cut = encoded(path).count() > BUILD_NAME_LIMIT;
    let kept = if is_cut {
        BUILD_NAME_LIMIT - HASH_LENGTH
    } else {
        BUILD_NAME_LIMIT
    };
    let end = hash_digits(path).take(if is_cut { HASH_LENGTH } else { 0 });
    encoded(path).take(kept).chain(end)
}

/// The beginning that the names of all builds below a directory have. Of a long name, only the part
/// that names of builds keep.
#[inline]
pub fn build_name_beginning(directory: &[u8]) -> impl Iterator<Item = u8> + '_ {
    let path = without_first_slash(directory);
    encoded(path).take(BUILD_NAME_LIMIT - HASH_LENGTH)
}

/// Whether a name is that of a build whose path is too long for it.
#[inline]
pub fn is_cut_build_name(name: &[u8]) -> bool {
    let end = name
        .len()
        .checked_sub(HASH_LENGTH)
        .and_then(|start| name.get(start..));
    name.len() == BUILD_NAME_LIMIT
        && end.is_some_and(|end| {
            let mut bytes = end.iter();
            bytes.next() == Some(&b'=') && bytes.all(u8::is_ascii_hexdigit)
        })
}

#[inline]
fn without_first_slash(directory: &[u8]) -> &[u8] {
    match directory {
        [b'/', rest @ ..] if !rest.is_empty() => rest,
        all => all,
    }
}

#[inline]
fn encoded(path: &[u8]) -> impl Iterator<Item = u8> + '_ {
    path.iter().flat_map(|byte| {
        let bytes = match *byte {
            b'/' => [None, Some(b'%')],
            b'%' | b'=' => [Some(b'='), Some(*byte)],
            other => [None, Some(other)],
        };
        bytes.into_iter().flatten()
    })
}

/// `=`, and the digits of the hash of a path (FNV-1a, and a last step that spreads its bits).
#[inline]
fn hash_digits(path: &[u8]) -> impl Iterator<Item = u8> {
    let hash = path.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let digits = (0..16_u32).map(move |index| match (hash >> (60 - 4 * index)) as u8 & 15 {
        digit @ 0..=9 => b'0' + digit,
        digit => b'a' + (digit - 10),
    });
    core::iter::once(b'=').chain(digits)
}
