//! The files of sequences, traces and times that lie beside a profile, as far as they can't be read.

use std::path::{Path, PathBuf};

use holloway_abi::{KIND_LOOPS, KIND_TRACE};
use holloway_format::trace::TraceFile;
use holloway_format::{FormatError, ImageMap, Profile, ProfileHead, read_loops, read_variation};

use crate::collect::{Made, traces};
use crate::images;

/// What is wrong with the files that lie beside a profile, as far as they can't be read at all: that has
/// their parts.
pub(super) fn damaged(
    file: &Path,
    head: &ProfileHead,
    map: &ImageMap,
    profile: &Profile,
) -> Vec<String> {
    let is_trace = head.kind == KIND_TRACE;
    let extensions = match is_trace {
        true => Some(traces::TRACES),
        false => Made::extensions(head.kind),
    };
    let Some([usual, other]) = extensions else {
        return Vec::new();
    };
    let there = [other, usual].map(|extension| file.with_extension(extension));
    let mut there: Vec<PathBuf> = there.into_iter().filter(|one| one.exists()).collect();
    if !is_trace {
        // One goes in place of the other; what is there before sealing has ended doesn't count.
        let unfinished = file.with_extension(other);
        there.retain(|one| head.sealed || *one != unfinished);
        there.truncate(1);
    }
    if there.is_empty() && head.sealed && (!is_trace || !profile.functions.is_empty()) {
        let missing = file.with_extension(usual);
        return vec![format!(
            "{} is not there: what was collected is lost with it; record it again",
            missing.display()
        )];
    }
    let read = |path: &PathBuf| {
        let bytes = images::read_regular(path).map_err(|error| error.to_string())?;
        let of = match head.kind {
            KIND_LOOPS => {
                read_loops(&bytes, map).map(|loops| (loops.head.process.build_id, head.pid))
            }
            KIND_TRACE => {
                let of = TraceFile::read(&bytes).map(|traces| traces.head);
                of.map(|of| (of.build_id, of.process))
            }
            _ => {
                read_variation(&bytes, map).map(|timings| (timings.head.process.build_id, head.pid))
            }
        };
        match of {
            Ok((id, process)) if id == map.build_id && process != head.pid => {
                return Err(format!("it is of process {process}, not {}", head.pid));
            }
            Ok((id, _)) if id == map.build_id => Ok(()),
            Ok(_) | Err(FormatError::BuildMismatch { .. }) => Err("it is of another build"),
            Err(FormatError::Version { .. }) => Err("it is of another version of holloway"),
            Err(FormatError::Truncated { .. }) => Err("it is cut short"),
            Err(_) => Err("its head is damaged"),
        }
        .map_err(str::to_owned)
    };
    let damaged = there.iter().filter_map(|path| {
        let why: String = read(path).err()?;
        let shown = path.display();
        Some(format!(
            "{shown} can't be read ({why}): what was collected is lost with it; record it again"
        ))
    });
    damaged.collect()
}

#[cfg(test)]
mod tests {
    use holloway_format::LoopsProfile;

    use super::*;

    /// What is said of files beside a sealed profile of `kind`.
    fn said(kind: u32, files: &[(&str, &[u8])]) -> Vec<String> {
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
        let said = damaged(&profile, &head, &ImageMap::default(), &counts);
        let there = directory.path().display().to_string();
        said.iter().map(|one| one.replace(&there, "")).collect()
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
        assert_eq!(said(KIND_LOOPS, &[("hwl", &whole)]), [""; 0]);
        let mut magic = whole.clone();
        magic[0] ^= 1;
        for damaged in [&[], &whole[..60], &magic] {
            for (kind, extension) in [(KIND_LOOPS, "hwl"), (KIND_TRACE, "hwt")] {
                let why = match damaged.starts_with(b"HLWLOOPS") && kind == KIND_LOOPS {
                    true => "it is cut short",
                    false => "its head is damaged",
                };
                let said = said(kind, &[(extension, damaged)]);
                let expect = format!(
                    "/1-app.{extension} can't be read ({why}): what was collected is lost with it; record it again"
                );
                assert_eq!(said, [expect]);
            }
        }
    }

    #[test]
    fn a_file_that_is_gone_is_named() {
        for (kind, name) in [(KIND_LOOPS, "/1-app.hwl"), (KIND_TRACE, "/1-app.hwt")] {
            let said = said(kind, &[]);
            assert_eq!(said.len(), 1);
            assert!(
                said[0].starts_with(&format!("{name} is not there")),
                "{}",
                said[0]
            );
        }
    }
}
