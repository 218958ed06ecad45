//! Stores the settings of the last cargo build of each profile, so that cargo links again if a
//! setting changes.
//!
//! Cargo does not know holloway's options. After a change of `--collect` or `--only`, or after an
//! update of holloway, cargo would consider the build up to date. So holloway writes the settings
//! of each build to a file in the directory of the target and the profile. If they differ from the
//! last settings, holloway deletes the files that the linker wrote (programs, test binaries, shared
//! objects). Cargo then compiles the last crate of each linked file and links again (1.4 s on
//! ripgrep).
//!
//! ```text
//! target/holloway/x86_64-unknown-linux-gnu/release/
//!     .holloway-settings      the settings of the last release build
//!     app                     cargo's second name for deps/app-0f5e7a5f257ae57d; it stays
//!     deps/app-0f5e7a5f257ae57d, examples/one-222ab669c12d8568    deleted
//! ```
//! The second names stay, because not every build makes them again: after `cargo holloway test`,
//! the program of the last `cargo holloway run` can still be run. The directories of other profiles
//! keep their files and settings, too.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use holloway_abi::environment;

use crate::collect_options::{CollectOptions, Switch};
use crate::error::{Error, Result};
use crate::records::SELECTIONS;

/// Name of the file with the settings, in the directory of a profile.
const SETTINGS_FILE: &str = ".holloway-settings";

/// The settings that affect the weaving of a build's links.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BuildSettings {
    /// The options that choose the kind of profile. The guide is a file that holloway has encoded.
    pub options: CollectOptions,
    /// Identifies the guide's content.
    pub guide_hash: String,
    /// Whether the standard library is woven too.
    pub std: bool,
    /// The patterns of `--only`.
    pub only: Vec<String>,
    /// The patterns of `--skip`.
    pub skip: Vec<String>,
}

impl BuildSettings {
    /// Returns the environment variables for the link step.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let mut environment: Vec<_> = self.options.environment().collect();
        environment.extend(self.std.then(|| (environment::STD.name, "1".into())));
        environment.push((environment::ONLY.name, self.only.join("\n").into()));
        environment.push((environment::SKIP.name, self.skip.join("\n").into()));
        environment
    }

    /// Returns the patterns as options: `--only x`.
    pub fn patterns(&self) -> Vec<String> {
        let only = self.only.iter().map(|text| format!("--only {text}"));
        let skip = self.skip.iter().map(|text| format!("--skip {text}"));
        only.chain(skip).collect()
    }

    /// Returns the settings as text, with the identity of holloway and the path of libLLVM.
    fn record(&self) -> String {
        let mut text = format!(
            "holloway {} abi {}\n",
            env!("CARGO_PKG_VERSION"),
            holloway_abi::ABI_VERSION
        );
        text.push_str(&executable_identity());
        text.push_str(&format!(
            "llvm {}\n",
            std::env::var(environment::LLVM.name).unwrap_or_default()
        ));
        text.push_str(&format!(
            "embed {} collect {} exits {} graph {} guide {:?} std {} only {:?} skip {:?}\n",
            self.options.embed,
            self.options.collection(),
            Switch::from(self.options.counts_exits()),
            self.options.graph.unwrap_or_default(),
            self.guide_hash,
            self.std,
            self.only,
            self.skip,
        ));
        text
    }
}

/// Returns size and modification time of holloway's executable, because another build of holloway
/// may weave differently.
fn executable_identity() -> String {
    let metadata = std::env::current_exe().and_then(fs::metadata);
    let modified = |metadata: &fs::Metadata| {
        metadata
            .modified()
            .ok()?
            .duration_since(std::time::UNIX_EPOCH)
            .ok()
    };
    metadata.map_or_else(
        |_| String::new(),
        |metadata| {
            format!(
                "executable {} bytes, {:?}\n",
                metadata.len(),
                modified(&metadata).unwrap_or_default()
            )
        },
    )
}

/// Writes the settings to a file in the directory of a target's profile. If they differ from the
/// last settings, deletes the linked files of this profile, and the record of the functions that
/// the patterns select.
///
/// # Errors
/// If the directory cannot be written.
pub fn apply(profile_directory: &Path, settings: &BuildSettings) -> Result<()> {
    fs::create_dir_all(profile_directory).map_err(|source| Error::BuildDirectory {
        path: profile_directory.to_owned(),
        source,
    })?;
    let file = profile_directory.join(SETTINGS_FILE);
    let record = settings.record();
    if fs::read_to_string(&file).is_ok_and(|last| last == record) {
        return Ok(());
    }
    for linked in linked_files(profile_directory) {
        fs::remove_file(&linked).map_err(|source| Error::RemoveOutdated {
            path: linked,
            source,
        })?;
    }
    let path = profile_directory.join(SELECTIONS);
    match fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            return Err(Error::Remove { path, source });
        }
        _ => {}
    }
    fs::write(&file, record).map_err(Error::writing(file))
}

/// Finds the programs and shared objects that the linker wrote: those in `deps`, and those in
/// `examples` whose name ends with cargo's hash. The others are links to them.
fn linked_files(profile_directory: &Path) -> Vec<PathBuf> {
    let mut files = entries(&profile_directory.join("deps"));
    let examples = entries(&profile_directory.join("examples"));
    files.extend(examples.into_iter().filter(|path| has_hash(path)));
    files.retain(|path| is_linked(path));
    files
}

/// Returns whether the name of a file ends with `-` and cargo's hash of 16 digits.
fn has_hash(path: &Path) -> bool {
    let name = path.file_stem().and_then(|name| name.to_str());
    let hash = name.and_then(|name| name.rsplit_once('-'));
    hash.is_some_and(|(_, hash)| {
        hash.len() == 16 && hash.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect()
}

/// Returns whether a file is an ELF program or shared object (`e_type` 2 or 3).
fn is_linked(path: &Path) -> bool {
    use std::io::Read as _;
    // The ELF header up to the end of `e_type`.
    let mut header = [0; 18];
    let result = fs::File::open(path).and_then(|mut file| file.read_exact(&mut header));
    let e_type = &header[16..18];
    result.is_ok() && header.starts_with(b"\x7fELF") && matches!(e_type, [2 | 3, 0] | [0, 2 | 3])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn changed_settings_delete_linked_files_and_no_others() {
        let home = tempfile::tempdir().unwrap();
        let deps = home.path().join("deps");
        let examples = home.path().join("examples");
        fs::create_dir_all(&deps).unwrap();
        fs::create_dir_all(&examples).unwrap();
        let elf = |kind| [b"\x7fELF".as_slice(), &[0; 12], &[kind, 0, 0]].concat();
        for (name, kind) in [("app-1", 3), ("a.o", 1)] {
            fs::write(deps.join(name), elf(kind)).unwrap();
        }
        fs::write(deps.join("lib.rlib"), "!<arch>\n................").unwrap();
        let links = [home.path().join("app"), examples.join("one")];
        for path in &links {
            fs::write(path, elf(3)).unwrap();
        }
        let example = examples.join("one-0123456789abcdef");
        fs::write(&example, elf(3)).unwrap();
        let paths = BuildSettings::default();
        apply(home.path(), &paths).unwrap();
        assert!(
            !deps.join("app-1").exists()
                && deps.join("a.o").exists()
                && deps.join("lib.rlib").exists()
        );
        assert!(!example.exists() && links.iter().all(|path| path.exists()));
        fs::write(deps.join("app-1"), elf(3)).unwrap();
        apply(home.path(), &paths).unwrap();
        assert!(deps.join("app-1").exists());
        let with = |options: &str| {
            let words = options.split_whitespace().map(OsString::from).collect();
            BuildSettings {
                options: CollectOptions::take_leading(words).unwrap().0,
                ..paths.clone()
            }
        };
        let others = [
            BuildSettings {
                skip: vec!["x".to_owned()],
                ..paths.clone()
            },
            with("--collect edges"),
            with("--graph source"),
            with("--collect edges --exits off"),
            with("--exits off"),
            with("--collect loops"),
            with("--collect loops=9"),
            with("--collect trace"),
            BuildSettings {
                guide_hash: "another".to_owned(),
                ..with("--exits off --guide path")
            },
        ];
        let selections = home.path().join(SELECTIONS);
        for other in &others {
            fs::write(&selections, "").unwrap();
            apply(home.path(), other).unwrap();
            assert!(!deps.join("app-1").exists(), "{other:?}");
            assert!(!selections.exists(), "{other:?}");
            fs::write(&selections, "").unwrap();
            apply(home.path(), other).unwrap();
            assert!(selections.exists(), "{other:?}");
            fs::write(deps.join("app-1"), elf(3)).unwrap();
        }
        apply(home.path(), &paths).unwrap();
        fs::write(deps.join("app-1"), elf(3)).unwrap();
        apply(
            home.path(),
            &with("--collect paths --exits on --graph optimized"),
        )
        .unwrap();
        assert!(deps.join("app-1").exists(), "the defaults");
    }
}
