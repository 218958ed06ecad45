//! Finds and loads libLLVM: the library that the user names, the library of the user's Rust
//! toolchain, or a library of the system.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_int, c_uint};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::LlvmError;
use crate::sys::Api;

/// The oldest LLVM version whose C API is sufficient.
const OLDEST: u32 = 19;

/// A loaded libLLVM. It stays loaded until the process ends. Cloning is cheap.
#[derive(Clone)]
pub struct Library {
    api: Arc<Api>,
    path: Arc<Path>,
    version: (u32, u32, u32),
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library")
            .field("path", &self.path)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl Library {
    /// Loads the library at `path`.
    ///
    /// # Errors
    /// Returns [`LlvmError::CannotOpen`], [`LlvmError::TooOld`], or [`LlvmError::MissingFunction`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LlvmError> {
        let path = path.as_ref();
        // SAFETY: loading runs the library's initializers; the file is a libLLVM of the user or the
        // system.
        let library =
            unsafe { libloading::Library::new(path) }.map_err(|error| LlvmError::CannotOpen {
                path: path.into(),
                why: std::error::Error::source(&error)
                    .map_or_else(|| error.to_string(), ToString::to_string),
            })?;
        let version = version_of(&library);
        if let Some(version) = version
            && version.0 < OLDEST
        {
            return Err(LlvmError::TooOld {
                path: path.into(),
                version,
            });
        }
        let missing = |function: &str| LlvmError::MissingFunction {
            path: path.into(),
            version,
            function: function.into(),
        };
        let version = version.ok_or_else(|| missing("LLVMGetVersion"))?;
        let api = Api::load(library).map_err(missing)?;
        Ok(Self {
            api: Arc::new(api),
            path: path.into(),
            version,
        })
    }

    /// Finds a library in this order:
    ///
    /// 1. `explicit` (`HOLLOWAY_LLVM`), if given. No other library is tried then.
    /// 2. a library in the sysroot of the Rust toolchain. `rustc` is either the sysroot or a rustc
    ///    that prints the sysroot.
    /// 3. the newest library of the system that can be loaded.
    ///
    /// # Errors
    /// Returns the error of [`Library::open`] for `explicit` or for the last candidate. If there is
    /// no candidate, returns [`LlvmError::NoLibrary`] with the searched directories.
    pub fn find(explicit: Option<&Path>, rustc: Option<&Path>) -> Result<Self, LlvmError> {
        if let Some(path) = explicit {
            return Self::open(path);
        }
        let mut searched = Vec::new();
        let mut last_error = None;
        for directory in rustc
            .and_then(sysroot)
            .map(|root| root.join("lib"))
            .into_iter()
            .chain(system_directories())
        {
            searched.push(directory.display().to_string());
            for candidate in libraries_in(&directory) {
                match Self::open(candidate) {
                    Ok(library) => return Ok(library),
                    Err(error) => last_error = Some(error),
                }
            }
        }
        Err(last_error.unwrap_or(LlvmError::NoLibrary { searched }))
    }

    /// Returns the version: major, minor, patch.
    pub fn version(&self) -> (u32, u32, u32) {
        self.version
    }

    /// Returns the path of the library.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets the code generator order blocks with ext-TSP, and move blocks that never ran out of
    /// functions that have counts, for the rest of the process. The C API has no other way to these
    /// settings of LLVM.
    ///
    /// By default LLVM also moves blocks whose count lies below a percentile of all counts. If most
    /// counts are equal, the percentile is that count, and rounding makes hot blocks cold.
    pub fn lay_out_by_counts(&self) {
        static DONE: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());
        let parse = self.api.LLVMParseCommandLineOptions;
        // Several values of this type can share a loaded library, which accepts an option once.
        let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
        if !done.insert(parse as usize) {
            return;
        }
        let words = [
            c"holloway",
            c"-enable-ext-tsp-block-placement",
            c"-enable-split-machine-functions",
            c"-mfs-psi-cutoff=0",
            c"-mfs-count-threshold=1",
        ];
        let words = words.map(CStr::as_ptr);
        let count = c_int::try_from(words.len()).expect("five words");
        // SAFETY: `count` strings, which LLVM copies; no other thread uses LLVM's options.
        unsafe { parse(count, words.as_ptr(), c"".as_ptr()) };
    }

    pub(crate) fn api(&self) -> &Api {
        &self.api
    }
}

type GetVersion = unsafe extern "C" fn(*mut c_uint, *mut c_uint, *mut c_uint);

fn version_of(library: &libloading::Library) -> Option<(u32, u32, u32)> {
    // SAFETY: `GetVersion` is the type in LLVM's headers; the function writes three integers
    // through its arguments.
    unsafe {
        let function = library.get::<GetVersion>("LLVMGetVersion").ok()?;
        let (mut major, mut minor, mut patch) = (0, 0, 0);
        function(&mut major, &mut minor, &mut patch);
        Some((major, minor, patch))
    }
}

/// Returns `rustc` if it is a directory, else the sysroot that the program `rustc` prints.
fn sysroot(rustc: &Path) -> Option<PathBuf> {
    if rustc.is_dir() {
        return Some(rustc.into());
    }
    let output = Command::new(rustc)
        .args(["--print", "sysroot"])
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| PathBuf::from(text.trim()))
}

/// Returns the directories in which distributions install libLLVM, newest LLVM first.
fn system_directories() -> Vec<PathBuf> {
    let mut versioned: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let version = name
                .to_str()?
                .strip_prefix("llvm")?
                .trim_start_matches('-')
                .parse()
                .ok()?;
            Some((version, entry.path().join("lib")))
        })
        .collect();
    versioned.sort_by(|a, b| b.cmp(a));
    let triple = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    let unversioned = ["/usr/local/lib", &triple, "/usr/lib64", "/usr/lib"].map(PathBuf::from);
    versioned
        .into_iter()
        .map(|(_, path)| path)
        .chain(unversioned)
        .collect()
}

/// Lists the libLLVM shared libraries in a directory, newest first, each file once. Leaves out
/// linker scripts; rustc's sysroot contains one.
fn libraries_in(directory: &Path) -> Vec<PathBuf> {
    let mut libraries: Vec<(Vec<u32>, PathBuf)> = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let name = name.to_str()?;
            let suffix = name.strip_prefix("libLLVM")?;
            let path = std::fs::canonicalize(entry.path()).ok()?;
            let is_shared =
                suffix.starts_with(".so") || (suffix.starts_with('-') && suffix.contains(".so"));
            if !is_shared || !is_elf(&path) {
                return None;
            }
            Some((numbers(path.file_name()?.to_str()?), path))
        })
        .collect();
    libraries.sort_by(|a, b| b.cmp(a));
    libraries.dedup_by(|a, b| a.1 == b.1);
    libraries.into_iter().map(|(_, path)| path).collect()
}

fn is_elf(path: &Path) -> bool {
    use std::io::Read as _;
    let mut magic = [0; 4];
    std::fs::File::open(path)
        .is_ok_and(|mut file| file.read_exact(&mut magic).is_ok() && magic == *b"\x7fELF")
}

/// Returns the numbers in a file name, in order. Names such as `libLLVM.so.22.1-rust-1.95.0-stable`
/// are sorted by these numbers.
fn numbers(name: &str) -> Vec<u32> {
    name.split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_name_sorts_last() {
        assert!(numbers("libLLVM.so.22.1-rust-1.95.0-stable") > numbers("libLLVM.so.19.1"));
        assert!(numbers("libLLVM.so.19.1") > numbers("libLLVM-14.so.1"));
    }

    #[test]
    fn the_error_for_a_file_that_is_no_library_has_its_path() {
        let error = Library::open("/etc/passwd").expect_err("not a library");
        assert!(
            error.to_string().starts_with("cannot load /etc/passwd: "),
            "{error}"
        );
    }

    #[test]
    fn the_error_for_another_library_names_the_missing_function() {
        let error = Library::open("libc.so.6").expect_err("not LLVM");
        assert!(
            error
                .to_string()
                .contains("libc.so.6 (of unknown version) lacks the function LLVMGetVersion"),
            "{error}"
        );
    }
}
