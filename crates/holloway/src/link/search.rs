//! Finds the file a `-l` means, as the linker will: an archive found this way may hold bitcode.
//!
//! Directories are tried in order; in each, the shared library comes before the archive unless static ones are asked
//! for at that place of the line. `-L=dir` and `-L$SYSROOT/dir` lie below the sysroot. After the line's own
//! directories come those of `LIBRARY_PATH` (a driver's) and the system's: archives in `/usr/local/lib` may well be
//! built by `holloway cc`.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::line::{Flavour, Line};

/// The directories of one link.
#[derive(Debug)]
pub(crate) struct Search {
    dirs: Vec<PathBuf>,
    shared: bool,
}

impl Search {
    /// The directories of `line`.
    pub(crate) fn new(line: &Line, shared: bool) -> Self {
        let mut dirs: Vec<PathBuf> = line
            .search
            .iter()
            .map(|dir| below_sysroot(dir, line.sysroot.as_deref()))
            .collect();
        if line.flavour == Flavour::Driver
            && let Some(paths) = std::env::var_os("LIBRARY_PATH")
        {
            dirs.extend(std::env::split_paths(&paths).filter(|dir| !dir.as_os_str().is_empty()));
        }
        let root = line.sysroot.clone().unwrap_or_else(|| "/".into());
        let machine = std::env::consts::ARCH;
        let triple = format!("{machine}-linux-gnu");
        for dir in ["usr/local/lib", "lib", "usr/lib"] {
            dirs.push(root.join(dir).join(&triple));
        }
        for dir in [
            "usr/local/lib64",
            "usr/local/lib",
            "lib64",
            "lib",
            "usr/lib64",
            "usr/lib",
        ] {
            dirs.push(root.join(dir));
        }
        Self { dirs, shared }
    }

    /// The archive that `-l name` means; nothing when it means a shared library or is not found.
    pub(crate) fn archive(&self, name: &OsStr, fixed: bool) -> Option<PathBuf> {
        if let Some(file) = name.as_bytes().strip_prefix(b":") {
            let file = OsStr::from_bytes(file);
            let found = self
                .dirs
                .iter()
                .map(|dir| dir.join(file))
                .find(|path| path.is_file());
            return found.filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == "a" || extension == "rlib")
            });
        }
        let file = |extension: &str| format!("lib{}.{extension}", name.display());
        let (shared, archive) = (file("so"), file("a"));
        for dir in &self.dirs {
            if self.shared && !fixed && dir.join(&shared).is_file() {
                return None;
            }
            let path = dir.join(&archive);
            if path.is_file() {
                return Some(path);
            }
        }
        None
    }

    /// Whether the shared C library is musl: a library, where glibc has a linker script.
    pub(crate) fn finds_musl(&self) -> bool {
        let mut files = self.dirs.iter().map(|dir| dir.join("libc.so"));
        let Some(mut file) = files.find_map(|path| File::open(path).ok()) else {
            return false;
        };
        let mut magic = [0; 4];
        file.read_exact(&mut magic).is_ok() && magic == *b"\x7fELF"
    }
}

fn below_sysroot(dir: &Path, sysroot: Option<&Path>) -> PathBuf {
    let bytes = dir.as_os_str().as_bytes();
    match bytes
        .strip_prefix(b"=")
        .or_else(|| bytes.strip_prefix(b"$SYSROOT"))
    {
        Some(rest) => {
            let rest = rest.strip_prefix(b"/").unwrap_or(rest);
            sysroot
                .unwrap_or(Path::new("/"))
                .join(OsStr::from_bytes(rest))
        }
        None => dir.to_owned(),
    }
}
