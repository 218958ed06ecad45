//! Creates the symlinks to the holloway executable through which other programs call it: the
//! *tools* `holloway-cc`, `holloway-ld`, and so on.
//!
//! rustc and clang accept only a path as their linker, without arguments. Cargo accepts only a path
//! as the wrapper of rustc. In addition, rustc guesses the linker's flavor from its file name. So
//! each tool is a symlink to the same executable, and the executable decides by the name that it
//! was called by. The symlinks are in a private directory. Each installed executable has a
//! different directory, so that several versions can be installed.

use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Name of the linker that rustc calls in place of `cc`. If the name resembled `ld`, rustc would
/// pass the options of an `ld`.
pub const RUST_LINKER: &str = "holloway-cc";
/// Name of the linker that clang calls in place of `ld`.
pub const LD: &str = "holloway-ld";
/// Name of the wrapper that cargo calls in place of `rustc`.
pub const RUSTC: &str = "holloway-rustc";

/// Name of the runner through which cargo starts programs, tests, and benchmarks.
pub const RUNNER: &str = "holloway-runner";

/// `holloway cc` as a single word, for build systems that accept only a single word.
pub const CLANG: &str = "holloway-clang";
/// `holloway c++` as a single word.
pub const CLANGXX: &str = "holloway-clang++";

/// Prefix of the names of the directories with symlinks.
const PREFIX: &str = "bin-";

const NAMES: [&str; 6] = [RUST_LINKER, LD, RUSTC, RUNNER, CLANG, CLANGXX];

/// Returns the directory with the symlinks to this executable. Creates missing symlinks. Several
/// processes may call this function at the same time.
///
/// # Errors
/// If neither the user's cache directory nor the temporary directory can be written.
pub fn tools_dir() -> Result<PathBuf> {
    let exe = std::env::current_exe().map_err(Error::OwnExecutable)?;
    let hash = blake3::hash(exe.as_os_str().as_encoded_bytes()).to_hex();
    let leaf = format!("{PREFIX}{}", &hash[..16]);
    let mut last_error = None;
    for home in homes() {
        let path = home.join(&leaf);
        match create_links(&path, &exe) {
            Ok(()) => return Ok(path),
            Err(source) => last_error = Some(Error::ToolsDirectory { path, source }),
        }
    }
    Err(last_error.expect("the temporary directory is always tried"))
}

/// Returns holloway's directory for files that it can create again: `$XDG_CACHE_HOME/holloway`,
/// else `~/.cache/holloway`.
pub fn cache_home() -> Option<PathBuf> {
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("holloway"))
}

/// Returns the directories of symlinks whose executable no longer exists, because it was
/// uninstalled. Directories of other users are skipped.
pub fn dead_tools() -> Vec<PathBuf> {
    let homes = homes().filter(|home| check_owner(home).is_ok());
    let listed = homes.filter_map(|home| std::fs::read_dir(home).ok());
    let entries = listed.flatten().flatten().map(|entry| entry.path());
    entries.filter(|dir| is_dead(dir)).collect()
}

/// Removes a directory of symlinks. Removes only files with the names of tools.
///
/// # Errors
/// If the directory has other files, or the directory cannot be written.
pub fn remove_tools(dir: &Path) -> io::Result<()> {
    for name in NAMES {
        match std::fs::remove_file(dir.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    std::fs::remove_dir(dir)
}

/// Returns whether a directory holds only symlinks of tools, and their executable was deleted.
fn is_dead(dir: &Path) -> bool {
    let name = dir.file_name().and_then(|name| name.to_str());
    if !name.is_some_and(|name| name.starts_with(PREFIX))
        || dir.is_symlink()
        || check_owner(dir).is_err()
    {
        return false;
    }
    let entries = std::fs::read_dir(dir).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.unwrap_or_default();
    !entries.is_empty()
        && entries.iter().all(|entry| {
            NAMES.iter().any(|&name| entry.file_name() == name) && target_is_deleted(&entry.path())
        })
}

/// Returns whether a symlink's target was deleted. If the target's directory is missing or
/// unreadable, the target does not count as deleted, because its disk may only be unmounted.
fn target_is_deleted(link: &Path) -> bool {
    let Ok(target) = std::fs::read_link(link) else {
        return false;
    };
    let is_gone =
        matches!(std::fs::metadata(&target), Err(error) if error.kind() == io::ErrorKind::NotFound);
    is_gone && target.parent().is_some_and(Path::is_dir)
}

/// Directories that may contain the directories of symlinks: the user's cache directory, and a
/// private directory in the temporary directory.
fn homes() -> impl Iterator<Item = PathBuf> {
    let user = std::fs::metadata("/proc/self").map_or(0, |process| process.uid());
    cache_home()
        .into_iter()
        .chain([std::env::temp_dir().join(format!("holloway-{user}"))])
}

fn create_links(dir: &Path, exe: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)?;
    check_owner(dir)?;
    NAMES
        .iter()
        .try_for_each(|name| point_link(&dir.join(name), exe))
}

/// Rejects a directory that belongs to another user. In `/tmp`, another user could replace the
/// linker.
fn check_owner(dir: &Path) -> io::Result<()> {
    let user = std::fs::metadata("/proc/self")?.uid();
    if std::fs::metadata(dir)?.uid() == user {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        "belongs to another user",
    ))
}

/// Makes the symlink `link` point to `exe`. Creates the symlink under a temporary name and renames
/// it, so that `link` always exists.
fn point_link(link: &Path, exe: &Path) -> io::Result<()> {
    if std::fs::read_link(link).is_ok_and(|target| target == exe) {
        return Ok(());
    }
    let temporary = link.with_extension(format!("{}", std::process::id()));
    let _ = std::fs::remove_file(&temporary);
    symlink(exe, &temporary)?;
    std::fs::rename(&temporary, link)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symlinks_are_dead_if_their_executable_was_deleted() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let installed = home.path().join("installed");
        std::fs::create_dir(&installed).expect("made");
        let exe = installed.join("holloway");
        std::fs::write(&exe, "").expect("written");
        for name in ["bin-0", "woven", "bin-2"] {
            create_links(&home.path().join(name), &exe).expect("filled");
        }
        std::fs::create_dir(home.path().join("bin-1")).expect("made");
        std::fs::write(home.path().join("bin-2/notes"), "a user's").expect("written");
        symlink(home.path().join("bin-0"), home.path().join("bin-3")).expect("linked");
        let names = ["bin-0", "bin-1", "woven", "bin-2", "bin-3"];
        let dead = || names.map(|name| is_dead(&home.path().join(name)));
        assert_eq!(dead(), [false; 5]);
        // The directory disappears, as if its disk were unmounted.
        let unmounted = home.path().join("away");
        std::fs::rename(&installed, &unmounted).expect("renamed");
        assert_eq!(dead(), [false; 5]);
        std::fs::rename(&unmounted, &installed).expect("renamed");
        std::fs::remove_file(&exe).expect("removed");
        assert_eq!(dead(), [true, false, false, false, false]);
        remove_tools(&home.path().join("bin-0")).expect("removed");
        assert!(!home.path().join("bin-0").exists());
        assert!(remove_tools(&home.path().join("bin-2")).is_err());
        assert!(home.path().join("bin-2/notes").exists());
    }
}
