//! The settings of the last cargo build, kept in the build directory, so that a change makes cargo
//! link again.
//!
//! Cargo does not know our options: after `--collect`, `--only`, or another holloway it would find
//! everything fresh. So the settings of the last build are written to a file. When they differ, the
//! linked files (programs, test binaries, shared objects) of the woven build are deleted. Cargo
//! then compiles the last crate of each and links again (1.4 s on ripgrep). Only files in
//! holloway's own build directory are touched.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use holloway_abi::environment;

use crate::collect_options::{CollectOptions, Switch};
use crate::error::{Error, Result};
use crate::records::SELECTIONS;

/// File in holloway's build directory.
const FILE: &str = ".holloway-settings";

/// The settings that affect the weaving of a build's links.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BuildSettings {
    /// The kind of profile. The guide is a file of ours.
    pub options: CollectOptions,
    /// Identifies the guide's content.
    pub guide_hash: String,
    /// The standard library is woven too.
    pub std: bool,
    /// `--only`.
    pub only: Vec<String>,
    /// `--skip`.
    pub skip: Vec<String>,
}

impl BuildSettings {
    /// The environment of the link step.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let mut environment: Vec<_> = self.options.environment().collect();
        environment.extend(self.std.then(|| (environment::STD.name, "1".into())));
        environment.push((environment::ONLY.name, self.only.join("\n").into()));
        environment.push((environment::SKIP.name, self.skip.join("\n").into()));
        environment
    }

    /// The patterns as options: `--only x`.
    pub fn patterns(&self) -> Vec<String> {
        let only = self.only.iter().map(|text| format!("--only {text}"));
        let skip = self.skip.iter().map(|text| format!("--skip {text}"));
        only.chain(skip).collect()
    }

    /// Settings as text, with the identity of the holloway and the libLLVM that apply them.
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
            "collect {} exits {} guide {:?} std {} only {:?} skip {:?}\n",
            self.options.collection(),
            Switch::from(self.options.counts_exits()),
            self.guide_hash,
            self.std,
            self.only,
            self.skip,
        ));
        text
    }
}

/// Size and time of our own executable: another build of holloway may weave differently.
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

/// Writes the settings to a file in `home`. If they differ from the last ones, deletes the programs
/// of every target and profile, and the record of the patterns' selections.
///
/// # Errors
/// The build directory cannot be written.
pub fn apply(home: &Path, settings: &BuildSettings) -> Result<()> {
    fs::create_dir_all(home).map_err(|source| Error::BuildDirectory {
        path: home.to_owned(),
        source,
    })?;
    let file = home.join(FILE);
    let record = settings.record();
    if fs::read_to_string(&file).is_ok_and(|last| last == record) {
        return Ok(());
    }
    for linked in linked_files(home) {
        fs::remove_file(&linked).map_err(|source| Error::RemoveOutdated {
            path: linked,
            source,
        })?;
    }
    let path = home.join(SELECTIONS);
    match fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            return Err(Error::Remove { path, source });
        }
        _ => {}
    }
    fs::write(&file, record).map_err(Error::writing(file))
}

/// Programs and shared objects in `<home>/<triple>/<profile>/{.,deps,examples}`.
fn linked_files(home: &Path) -> Vec<PathBuf> {
    let profiles = directories(home)
        .into_iter()
        .flat_map(|triple| directories(&triple));
    let woven = profiles.filter(|profile| profile.join("deps").is_dir());
    let directories =
        woven.flat_map(|profile| [profile.join("deps"), profile.join("examples"), profile]);
    directories
        .flat_map(|directory| entries(&directory))
        .filter(|path| is_linked(path))
        .collect()
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect()
}

fn directories(parent: &Path) -> Vec<PathBuf> {
    entries(parent)
        .into_iter()
        .filter(|path| path.is_dir())
        .collect()
}

/// Whether a file is an ELF program or shared object (e_type 2 or 3), from its first 18 bytes.
fn is_linked(path: &Path) -> bool {
    use std::io::Read as _;
    let mut head = [0; 18];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head.starts_with(b"\x7fELF") && matches!(head[16..18], [2 | 3, 0] | [0, 2 | 3])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn other_settings_delete_what_was_linked_and_nothing_else() {
        let home = tempfile::tempdir().unwrap();
        let deps = home.path().join("t/release/deps");
        fs::create_dir_all(&deps).unwrap();
        let elf = |kind| [b"\x7fELF".as_slice(), &[0; 12], &[kind, 0, 0]].concat();
        for (name, kind) in [("app-1", 3), ("a.o", 1)] {
            fs::write(deps.join(name), elf(kind)).unwrap();
        }
        fs::write(deps.join("lib.rlib"), "!<arch>\n................").unwrap();
        let paths = BuildSettings::default();
        apply(home.path(), &paths).unwrap();
        assert!(
            !deps.join("app-1").exists()
                && deps.join("a.o").exists()
                && deps.join("lib.rlib").exists()
        );
        fs::write(deps.join("app-1"), elf(3)).unwrap();
        apply(home.path(), &paths).unwrap();
        assert!(deps.join("app-1").exists());
        let with = |options: &str| {
            let words = options.split_whitespace().map(OsString::from).collect();
            BuildSettings {
                options: CollectOptions::take(words).unwrap().0,
                ..paths.clone()
            }
        };
        let others = [
            BuildSettings {
                skip: vec!["x".to_owned()],
                ..paths.clone()
            },
            with("--collect edges"),
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
        apply(home.path(), &with("--collect paths --exits on")).unwrap();
        assert!(deps.join("app-1").exists(), "the defaults");
    }
}
