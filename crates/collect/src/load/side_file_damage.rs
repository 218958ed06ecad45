//! Finds side files (of loops, traces, and timings) that are missing or cannot be read at all.

use std::path::{Path, PathBuf};

use holloway_analysis::note::{FileDamage, Note};
use holloway_format::{FormatError, ImageMap, Profile, ProfileHead};

use crate::files::read_regular;
use crate::kinds::stream_kind::{Owner, StreamKind};
use crate::side_files::SecondFile;

/// Returns notes on the side files of `profile_file` that are missing or cannot be read at all. If
/// only a part of a side file is damaged, the reader of the file notes that.
pub(super) fn notes(
    profile_file: &Path,
    head: &ProfileHead,
    kind: &dyn StreamKind,
    map: &ImageMap,
    profile: &Profile,
) -> Vec<Note> {
    let files = kind.files();
    let (first, second) = (files.first(profile_file), files.second(profile_file));
    let mut existing: Vec<PathBuf> = vec![second.clone(), first.clone()];
    existing.retain(|path| path.exists());
    let needs_file = match files.second {
        SecondFile::Continuation => !profile.functions.is_empty(),
        SecondFile::Replacement => {
            // A replacement is not valid before sealing has ended.
            existing.retain(|path| head.sealed || *path != second);
            existing.truncate(1);
            true
        }
    };
    if existing.is_empty() && head.sealed && needs_file {
        return vec![Note::MissingFile { file: first }];
    }
    let check = |path: &PathBuf| {
        let bytes = read_regular(path).map_err(|error| FileDamage::System {
            message: error.to_string(),
        })?;
        match kind.owner(&bytes, map, head) {
            Ok(Owner { build_id, process }) if build_id == map.build_id => {
                if process == head.pid {
                    return Ok(());
                }
                Err(FileDamage::OtherProcess {
                    file: process,
                    profile: head.pid,
                })
            }
            Ok(_) | Err(FormatError::BuildMismatch { .. }) => Err(FileDamage::OtherBuild),
            Err(FormatError::Version { .. }) => Err(FileDamage::OtherVersion),
            Err(FormatError::Truncated { .. }) => Err(FileDamage::Truncated),
            Err(_) => Err(FileDamage::Head),
        }
    };
    let damaged = existing.iter().filter_map(|path| {
        Some(Note::UnreadableFile {
            file: path.clone(),
            why: check(path).err()?,
        })
    });
    damaged.collect()
}

#[cfg(test)]
mod tests {
    use holloway_abi::Kind;
    use holloway_format::LoopsProfile;
    use holloway_report::notes::sentence;

    use super::*;
    use crate::kinds::stream_kind_of;

    /// The notes on the side files of a sealed profile of `kind`.
    fn damage_sentences(kind: Kind, files: &[(&str, &[u8])]) -> Vec<String> {
        let directory = tempfile::tempdir().expect("a directory");
        let profile = directory.path().join("1-app.hwp");
        for (extension, bytes) in files {
            std::fs::write(profile.with_extension(extension), bytes).expect("a file");
        }
        let head = ProfileHead {
            kind,
            sealed: true,
            ..ProfileHead::default()
        };
        let functions = vec![holloway_format::FunctionCounts::default()];
        let counts = Profile {
            functions,
            ..Profile::default()
        };
        let kind = stream_kind_of(kind).expect("a stream kind");
        let notes = notes(&profile, &head, kind, &ImageMap::default(), &counts);
        let directory = directory.path().display().to_string();
        notes
            .iter()
            .map(|note| sentence(note).replace(&directory, ""))
            .collect()
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let loops = LoopsProfile {
            head: holloway_format::LoopsHead {
                k: 2,
                ..Default::default()
            },
            ..LoopsProfile::default()
        };
        let whole = holloway_format::write_loops(&loops);
        assert_eq!(damage_sentences(Kind::Loops, &[("hwl", &whole)]), [""; 0]);
        let mut magic = whole.clone();
        magic[0] ^= 1;
        for damaged in [&[], &whole[..60], &magic] {
            for (kind, extension) in [(Kind::Loops, "hwl"), (Kind::Trace, "hwt")] {
                let reason = match damaged.starts_with(b"HLWLOOPS") && kind == Kind::Loops {
                    true => "it is cut short",
                    false => "its head is damaged",
                };
                let sentences = damage_sentences(kind, &[(extension, damaged)]);
                let expect = format!(
                    "/1-app.{extension} can't be read ({reason}), so its data is missing: record the run again"
                );
                assert_eq!(sentences, [expect]);
            }
        }
    }

    #[test]
    fn a_missing_file_is_named() {
        for (kind, name) in [(Kind::Loops, "/1-app.hwl"), (Kind::Trace, "/1-app.hwt")] {
            let sentences = damage_sentences(kind, &[]);
            assert_eq!(sentences.len(), 1);
            assert!(
                sentences[0].starts_with(&format!("{name} is missing")),
                "{}",
                sentences[0]
            );
        }
    }
}
