//! What was woven how: kept in the build directory, so that a change makes cargo link again.
//!
//! Cargo doesn't know our options: after `--collect`, `--only` or another holloway it would find everything fresh.
//! So the settings of the last build are written down, and when they differ the linked files (programs, test
//! binaries, shared objects) of the woven build are deleted; cargo then compiles the last crate of each and links
//! again (1.4 s on ripgrep). Only files in holloway's own build directory are touched.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::failure::{Context, Result};
use crate::linked::SOUGHT;
use crate::wanted::{Wanted, word};

/// File in holloway's build directory.
const FILE: &str = ".holloway-settings";

/// Everything that decides what a link weaves.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct WeaveSettings {
    /// What is counted; the guide is a file of ours.
    pub(crate) wanted: Wanted,
    /// What tells the guide from another.
    pub(crate) guide_hash: String,
    /// Weave std too.
    pub(crate) std: bool,
    /// `--only`.
    pub(crate) only: Vec<String>,
    /// `--skip`.
    pub(crate) skip: Vec<String>,
}

impl WeaveSettings {
    /// The environment of the link step.
    pub(crate) fn environment(&self) -> Vec<(&'static str, OsString)> {
        let mut environment: Vec<_> = self.wanted.environment().collect();
        environment.extend(self.std.then(|| ("HOLLOWAY_STD", "1".into())));
        environment.push(("HOLLOWAY_ONLY", self.only.join("\n").into()));
        environment.push(("HOLLOWAY_SKIP", self.skip.join("\n").into()));
        environment
    }

    /// `--only` and `--skip` as they may be given.
    pub(crate) fn patterns(&self) -> Vec<String> {
        let only = self.only.iter().map(|text| format!("--only {text}"));
        let skip = self.skip.iter().map(|text| format!("--skip {text}"));
        only.chain(skip).collect()
    }

    /// Settings as text, with what identifies the holloway and the libLLVM that apply them.
    fn record(&self) -> String {
        let mut text = format!(
            "holloway {} abi {}\n",
            env!("CARGO_PKG_VERSION"),
            holloway_abi::ABI_VERSION
        );
        text.push_str(&executable_identity());
        text.push_str(&format!(
            "llvm {}\n",
            std::env::var("HOLLOWAY_LLVM").unwrap_or_default()
        ));
        text.push_str(&format!(
            "collect {} exits {} guide {:?} std {} only {:?} skip {:?}\n",
            self.wanted.collection(),
            word(self.wanted.counts_exits()),
            self.guide_hash,
            self.std,
            self.only,
            self.skip,
        ));
        text
    }
}

/// Size and time of our own executable: another build of holloway may weave otherwise.
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

/// Writes the settings down in `home`; deletes what was linked with others, in every target and profile, and what their patterns fit.
///
/// # Errors
/// The build directory cannot be written.
pub(crate) fn apply(home: &Path, settings: &WeaveSettings) -> Result<()> {
    fs::create_dir_all(home).cannot(|| format!("create the build directory {}", home.display()))?;
    let file = home.join(FILE);
    let record = settings.record();
    if fs::read_to_string(&file).is_ok_and(|last| last == record) {
        return Ok(());
    }
    for linked in linked_files(home) {
        fs::remove_file(&linked).cannot(|| {
            format!(
                "remove {}, which is woven with other settings",
                linked.display()
            )
        })?;
    }
    let sought = home.join(SOUGHT);
    match fs::remove_file(&sought) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(error).cannot(|| format!("remove {}", sought.display()));
        }
        _ => {}
    }
    fs::write(&file, record).cannot(|| format!("write {}", file.display()))
}

/// Programs and shared objects in `<home>/<triple>/<profile>/{.,deps,examples}`.
fn linked_files(home: &Path) -> Vec<PathBuf> {
    let profiles = directories(home)
        .into_iter()
        .flat_map(|triple| directories(&triple));
    let places = profiles.filter(|profile| profile.join("deps").is_dir());
    let places =
        places.flat_map(|profile| [profile.join("deps"), profile.join("examples"), profile]);
    places
        .flat_map(|place| entries(&place))
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
        let paths = WeaveSettings::default();
        apply(home.path(), &paths).unwrap();
        assert!(
            !deps.join("app-1").exists()
                && deps.join("a.o").exists()
                && deps.join("lib.rlib").exists()
        );
        fs::write(deps.join("app-1"), elf(3)).unwrap();
        apply(home.path(), &paths).unwrap();
        assert!(deps.join("app-1").exists());
        let wanted = |options: &str| {
            let words = options.split_whitespace().map(OsString::from).collect();
            WeaveSettings {
                wanted: Wanted::take(words).unwrap().0,
                ..paths.clone()
            }
        };
        let others = [
            WeaveSettings {
                skip: vec!["x".to_owned()],
                ..paths.clone()
            },
            wanted("--collect edges"),
            wanted("--collect edges --exits off"),
            wanted("--exits off"),
            wanted("--collect loops"),
            wanted("--collect loops=9"),
            wanted("--collect trace"),
            WeaveSettings {
                guide_hash: "another".to_owned(),
                ..wanted("--exits off --guide path")
            },
        ];
        let sought = home.path().join(SOUGHT);
        for other in &others {
            fs::write(&sought, "").unwrap();
            apply(home.path(), other).unwrap();
            assert!(!deps.join("app-1").exists(), "{other:?}");
            assert!(!sought.exists(), "{other:?}");
            fs::write(&sought, "").unwrap();
            apply(home.path(), other).unwrap();
            assert!(sought.exists(), "{other:?}");
            fs::write(deps.join("app-1"), elf(3)).unwrap();
        }
        apply(home.path(), &paths).unwrap();
        fs::write(deps.join("app-1"), elf(3)).unwrap();
        apply(home.path(), &wanted("--collect paths --exits on")).unwrap();
        assert!(deps.join("app-1").exists(), "the defaults");
    }
}
