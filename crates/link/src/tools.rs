//! The directory of names under which other programs call holloway.
//!
//! rustc and clang take a linker (and cargo a wrapper) as *one path*, and rustc judges a linker by its file name. So
//! the one executable gets symlinks, and looks at the name it was called by. They live in a private directory, one
//! for each place the executable lies in, so that several installed versions don't fight over them.

use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Name of the linker that rustc calls in place of `cc`. It must not look like an `ld`: rustc would
/// then pass a raw line.
pub const RUST_LINKER: &str = "holloway-cc";
/// Name of the linker that clang calls in place of `ld`.
pub const LD: &str = "holloway-ld";
/// Name of the wrapper that cargo calls in place of `rustc`.
pub const RUSTC: &str = "holloway-rustc";

/// `holloway cc` as one word, for build systems that take no more.
pub const CLANG: &str = "holloway-clang";
/// `holloway c++` as one word.
pub const CLANGXX: &str = "holloway-clang++";

/// What the directories' names begin with.
const PREFIX: &str = "bin-";

const NAMES: [&str; 5] = [RUST_LINKER, LD, RUSTC, CLANG, CLANGXX];

/// The directory with the symlinks to this executable, one for each of its names, made or mended first. Safe when several processes do it at once.
///
/// # Errors
/// When neither the user's cache directory nor the temporary directory can be written.
pub fn tools_dir() -> Result<PathBuf> {
    let exe = std::env::current_exe().map_err(Error::OwnExecutable)?;
    let hash = blake3::hash(exe.as_os_str().as_encoded_bytes()).to_hex();
    let leaf = format!("{PREFIX}{}", &hash[..16]);
    let mut last_error = None;
    for home in homes() {
        let path = home.join(&leaf);
        match fill(&path, &exe) {
            Ok(()) => return Ok(path),
            Err(source) => last_error = Some(Error::ToolsDirectory { path, source }),
        }
    }
    Err(last_error.expect("the temporary directory is always tried"))
}

/// Directory for what may be thrown away: `$XDG_CACHE_HOME/holloway`, else `~/.cache/holloway`.
pub fn cache_home() -> Option<PathBuf> {
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("holloway"))
}

/// Directories of such symlinks whose executable is gone: of versions that were deinstalled. Those of others are not looked at.
pub fn dead_tools() -> Vec<PathBuf> {
    let homes = homes().filter(|home| own(home).is_ok());
    let listed = homes.filter_map(|home| std::fs::read_dir(home).ok());
    let entries = listed.flatten().flatten().map(|entry| entry.path());
    entries.filter(|dir| is_dead(dir)).collect()
}

/// Removes such a directory: names that we make, and nothing else.
///
/// # Errors
/// Something else came into it, or it can't be written.
pub fn remove_tools(dir: &Path) -> io::Result<()> {
    for name in NAMES {
        match std::fs::remove_file(dir.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    std::fs::remove_dir(dir)
}

/// Whether a directory is one of ours, with nothing but our names in it, that lead to an executable that was deleted.
fn is_dead(dir: &Path) -> bool {
    let name = dir.file_name().and_then(|name| name.to_str());
    if !name.is_some_and(|name| name.starts_with(PREFIX)) || dir.is_symlink() || own(dir).is_err() {
        return false;
    }
    let entries = std::fs::read_dir(dir).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.unwrap_or_default();
    !entries.is_empty()
        && entries.iter().all(|entry| {
            NAMES.iter().any(|&name| entry.file_name() == name) && leads_nowhere(&entry.path())
        })
}

/// Whether a symlink's target was deleted. A directory that isn't there, or can't be looked into, may be back tomorrow: a disk that isn't mounted.
fn leads_nowhere(link: &Path) -> bool {
    let Ok(target) = std::fs::read_link(link) else {
        return false;
    };
    let is_gone =
        matches!(std::fs::metadata(&target), Err(error) if error.kind() == io::ErrorKind::NotFound);
    is_gone && target.parent().is_some_and(Path::is_dir)
}

fn homes() -> impl Iterator<Item = PathBuf> {
    let user = std::fs::metadata("/proc/self").map_or(0, |own| own.uid());
    cache_home()
        .into_iter()
        .chain([std::env::temp_dir().join(format!("holloway-{user}"))])
}

fn fill(dir: &Path, exe: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)?;
    own(dir)?;
    NAMES
        .iter()
        .try_for_each(|name| point(&dir.join(name), exe))
}

/// Refuses a directory that belongs to someone else: in `/tmp` he could swap the linker.
fn own(dir: &Path) -> io::Result<()> {
    let me = std::fs::metadata("/proc/self")?.uid();
    if std::fs::metadata(dir)?.uid() == me {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        "belongs to another user",
    ))
}

/// Makes `link` point at `exe`: under a name of this process first, then renamed, so nobody ever misses it.
fn point(link: &Path, exe: &Path) -> io::Result<()> {
    if std::fs::read_link(link).is_ok_and(|target| target == exe) {
        return Ok(());
    }
    let fresh = link.with_extension(format!("{}", std::process::id()));
    let _ = std::fs::remove_file(&fresh);
    symlink(exe, &fresh)?;
    std::fs::rename(&fresh, link)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_dead_when_their_executable_is_gone() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let place = home.path().join("installed");
        std::fs::create_dir(&place).expect("made");
        let exe = place.join("holloway");
        std::fs::write(&exe, "").expect("written");
        for name in ["bin-0", "woven", "bin-2"] {
            fill(&home.path().join(name), &exe).expect("filled");
        }
        std::fs::create_dir(home.path().join("bin-1")).expect("made");
        std::fs::write(home.path().join("bin-2/notes"), "a user's").expect("written");
        symlink(home.path().join("bin-0"), home.path().join("bin-3")).expect("linked");
        let names = ["bin-0", "bin-1", "woven", "bin-2", "bin-3"];
        let dead = || names.map(|name| is_dead(&home.path().join(name)));
        assert_eq!(dead(), [false; 5]);
        // A disk that isn't mounted.
        let away = home.path().join("away");
        std::fs::rename(&place, &away).expect("renamed");
        assert_eq!(dead(), [false; 5]);
        std::fs::rename(&away, &place).expect("renamed");
        std::fs::remove_file(&exe).expect("removed");
        assert_eq!(dead(), [true, false, false, false, false]);
        remove_tools(&home.path().join("bin-0")).expect("removed");
        assert!(!home.path().join("bin-0").exists());
        assert!(remove_tools(&home.path().join("bin-2")).is_err());
        assert!(home.path().join("bin-2/notes").exists());
    }
}
