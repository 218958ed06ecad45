//! The directory of names under which other programs call holloway.
//!
//! rustc and clang take a linker (and cargo a wrapper) as *one path*, and rustc judges a linker by
//! its file name. So the one executable gets symlinks, and looks at the name it was called by. The
//! symlinks are in a private directory. Each installed executable has its own, so that several
//! versions can be installed.

use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Name of the linker that rustc calls in place of `cc`. If it looked like an `ld`, rustc would
/// pass a raw line.
pub const RUST_LINKER: &str = "holloway-cc";
/// Name of the linker that clang calls in place of `ld`.
pub const LD: &str = "holloway-ld";
/// Name of the wrapper that cargo calls in place of `rustc`.
pub const RUSTC: &str = "holloway-rustc";

/// `holloway cc` as a single word, for build systems that accept only that.
pub const CLANG: &str = "holloway-clang";
/// `holloway c++` as a single word.
pub const CLANGXX: &str = "holloway-clang++";

/// Prefix of the directories' names.
const PREFIX: &str = "bin-";

const NAMES: [&str; 5] = [RUST_LINKER, LD, RUSTC, CLANG, CLANGXX];

/// The directory with the symlinks to this executable, one for each of its names. Missing symlinks
/// are created first. Several processes may do so at the same time.
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
        match create_links(&path, &exe) {
            Ok(()) => return Ok(path),
            Err(source) => last_error = Some(Error::ToolsDirectory { path, source }),
        }
    }
    Err(last_error.expect("the temporary directory is always tried"))
}

/// Directory for files that can be created again: `$XDG_CACHE_HOME/holloway`, else
/// `~/.cache/holloway`.
pub fn cache_home() -> Option<PathBuf> {
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("holloway"))
}

/// Directories of symlinks whose executable is gone, because its version was uninstalled. Other
/// users' directories are skipped.
pub fn dead_tools() -> Vec<PathBuf> {
    let homes = homes().filter(|home| check_owner(home).is_ok());
    let listed = homes.filter_map(|home| std::fs::read_dir(home).ok());
    let entries = listed.flatten().flatten().map(|entry| entry.path());
    entries.filter(|dir| is_dead(dir)).collect()
}

/// Removes a directory of symlinks. Removes only files with our tools' names.
///
/// # Errors
/// The directory has other files, or it cannot be written.
pub fn remove_tools(dir: &Path) -> io::Result<()> {
    for name in NAMES {
        match std::fs::remove_file(dir.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    std::fs::remove_dir(dir)
}

/// Whether a directory holds only our symlinks, and their executable was deleted.
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

/// Whether a symlink's target was deleted. If the target's directory is missing or unreadable, its
/// disk may be unmounted only, so the target doesn't count as deleted.
fn target_is_deleted(link: &Path) -> bool {
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

/// Refuses a directory of another user, who could swap the linker in `/tmp`.
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

/// Makes `link` point at `exe`. A symlink under a temporary name is renamed, so that `link` is
/// never missing.
fn point_link(link: &Path, exe: &Path) -> io::Result<()> {
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
            create_links(&home.path().join(name), &exe).expect("filled");
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
