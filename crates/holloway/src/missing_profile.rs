//! Finds reasons why a run has no profile, after the program has ended.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use holloway_abi::{Kind, Timing};
use holloway_collect::run_directory;
use holloway_format::ImageMap;
use holloway_report::grouped;

use crate::status;

/// Says that a program was built with `--collect none`, and what to do.
pub(crate) fn records_nothing(program: &str) -> String {
    format!(
        "{program} was built with --collect none and counts nothing: use `holloway monitor -- {program}`"
    )
}

/// The maximum number of reasons for skipping that the message names.
const MAX_REASONS: usize = 2;

/// The size of the smallest profile in bytes: its head and one block of counters.
const SMALLEST_PROFILE: usize = 8192;

/// Checks for a reason in the program's surroundings: there is no `/proc`, or `directory` cannot be
/// written. Without `/proc`, a program cannot read its environment and puts its data into
/// `fallback`.
pub(crate) fn surroundings(directory: &Path, fallback: &Path) -> Option<String> {
    surroundings_with(Path::new("/proc/self/environ"), directory, fallback)
}

fn surroundings_with(environment: &Path, directory: &Path, fallback: &Path) -> Option<String> {
    let directory_name = status::shown(directory);
    if !environment.exists() {
        return Some(format!(
            "there is no /proc, so the program could not learn of {directory_name}: its data went to a new directory in {}; give that directory to `holloway report`, or mount /proc",
            status::shown(fallback)
        ));
    }
    let write = || {
        let mut file = tempfile::Builder::new()
            .prefix(".holloway-")
            .tempfile_in(directory)?;
        file.write_all(&[0; SMALLEST_PROFILE])?;
        file.as_file().sync_data()
    };
    let error = write().err()?;
    Some(format!(
        "nothing can be written into {directory_name} ({}): make room, or name another directory with -o or {}",
        error.kind(),
        run_directory::DATA
    ))
}

/// Checks for a reason in the program's path maps: none of its functions is instrumented.
pub(crate) fn uninstrumented(program: &str, maps: &[ImageMap]) -> Option<String> {
    if !maps.is_empty() && maps.iter().all(|map| map.kind == Kind::Nothing) {
        return Some(records_nothing(program));
    }
    let modules = maps.iter().flat_map(|map| &map.modules);
    let modules = modules.map(|placed| &placed.module);
    if maps.is_empty() || modules.clone().any(|module| !module.functions.is_empty()) {
        return None;
    }
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for skipped in modules.flat_map(|module| &module.skipped) {
        *reasons.entry(&skipped.reason).or_default() += 1;
    }
    let mut reasons: Vec<(&str, u64)> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, functions)| std::cmp::Reverse(*functions));
    let named_reasons: Vec<String> = (reasons.iter().take(MAX_REASONS))
        .map(|(reason, functions)| format!("{} left out: {reason}", grouped(*functions)))
        .collect();
    let mut message = format!("no function of {program} is instrumented");
    if !named_reasons.is_empty() {
        message += &format!(" ({})", named_reasons.join("; "));
    }
    let has_bursts = |map: &ImageMap| match map.kind.traits().timing {
        Timing::Bursts => true,
        Timing::Untimed | Timing::All => false,
    };
    if maps.iter().any(has_bursts) {
        message += "; if they are too short for bursts, build with --collect times";
    }
    Some(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use holloway_abi::Kind;
    use holloway_format::{FunctionMap, ModuleMap, PlacedModule, Skipped};

    #[test]
    fn what_keeps_a_program_from_writing_is_told() {
        let directory = tempfile::tempdir().expect("a directory");
        let (path, runs) = (directory.path(), Path::new("target/runs"));
        assert_eq!(surroundings_with(path, path, runs), None);
        let no_proc = surroundings_with(&path.join("environ"), path, runs).expect("no such file");
        assert!(
            no_proc.contains("no /proc") && no_proc.contains("in target/runs"),
            "{no_proc}"
        );
        let no_directory =
            surroundings_with(path, &path.join("gone"), runs).expect("no such directory");
        assert!(
            no_directory.contains("gone (") && no_directory.contains("-o"),
            "{no_directory}"
        );
    }

    #[test]
    fn reasons_why_no_function_is_instrumented() {
        let map = |kind, functions, reasons: &[&str]| {
            let skipped = reasons.iter().map(|reason| Skipped {
                reason: (*reason).into(),
                ..Skipped::default()
            });
            let module = ModuleMap {
                functions: vec![FunctionMap::default(); functions],
                skipped: skipped.collect(),
                ..ModuleMap::default()
            };
            ImageMap {
                kind,
                modules: vec![PlacedModule { base: 0, module }],
                ..ImageMap::default()
            }
        };
        let check = |maps: &[ImageMap], message: Option<&str>| {
            assert_eq!(uninstrumented("app", maps).as_deref(), message);
        };
        check(&[], None);
        check(&[map(Kind::Variation, 1, &["short"])], None);
        let none = map(Kind::Paths, 0, &[]);
        check(
            std::slice::from_ref(&none),
            Some("no function of app is instrumented"),
        );
        check(&[none.clone(), map(Kind::Paths, 2, &[])], None);
        check(
            &[none, map(Kind::Variation, 0, &["odd", "short", "odd"])],
            Some(
                "no function of app is instrumented (2 left out: odd; 1 left out: short); if they are too short for bursts, build with --collect times",
            ),
        );
    }
}
