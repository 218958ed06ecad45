//! The runs in the user's state directory: those of programs that were started by hand, and whose
//! build has no directory of runs of its own ([`holloway_abi::build_name`] has the layout).

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use holloway_abi::{STATE_IN_HOME, STATE_RUNS, build_name};

use crate::run_directory::{latest_in, start_time};

/// The directory of all builds in the user's state directory: `$XDG_STATE_HOME`, else
/// `$HOME/.local/state`. `None` if neither variable has an absolute path.
pub fn state_runs() -> Option<PathBuf> {
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let state =
        absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(STATE_IN_HOME)))?;
    Some(state.join(STATE_RUNS))
}

/// The directories of runs of the builds in a directory, in the directories below it, and in those
/// above it.
pub fn builds_around(state_runs: &Path, directory: &Path) -> Vec<PathBuf> {
    let here = name_of(directory);
    let above: Vec<OsString> = directory.ancestors().map(name_of).collect();
    let is_around = |name: &OsString| {
        let rest = name.as_bytes().strip_prefix(here.as_bytes());
        let is_below =
            directory == Path::new("/") || rest.is_some_and(|rest| rest.starts_with(b"%"));
        is_below || above.contains(name)
    };
    builds(state_runs)
        .filter(|(name, _)| is_around(name))
        .map(|(_, build)| build)
        .collect()
}

/// The newest run in some directories of runs. Names tell seconds apart; among runs of the same
/// second, the directory that was changed last is the newest.
pub fn newest_run(builds: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
    let runs = builds.into_iter().filter_map(|build| latest_in(&build));
    let changed = |run: &Path| run.metadata().and_then(|meta| meta.modified()).ok();
    runs.max_by_key(|run| (start_time(run), changed(run)))
}

/// The newest run of all builds.
pub fn newest_of_all(state_runs: &Path) -> Option<PathBuf> {
    newest_run(builds(state_runs).map(|(_, build)| build))
}

/// The name of the build in a directory.
fn name_of(directory: &Path) -> OsString {
    OsString::from_vec(build_name(directory.as_os_str().as_bytes()).collect())
}

/// The names and directories of all builds.
fn builds(state_runs: &Path) -> impl Iterator<Item = (OsString, PathBuf)> {
    let entries = std::fs::read_dir(state_runs).into_iter().flatten();
    entries
        .flatten()
        .map(|entry| (entry.file_name(), entry.path()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// Creates a run of the build in `directory`.
    fn add_run(state_runs: &Path, directory: &str, run: &str) {
        let build = state_runs.join(name_of(Path::new(directory)));
        std::fs::create_dir_all(build.join(run)).unwrap();
        std::fs::remove_file(build.join("latest")).ok();
        std::os::unix::fs::symlink(run, build.join("latest")).unwrap();
    }

    #[test]
    fn runs_around_a_directory_are_found() {
        let state = tempfile::tempdir().unwrap();
        let runs = state.path();
        add_run(runs, "/home/ann/zlib", "20260101-000001-a-1");
        add_run(runs, "/home/ann/zlib/test", "20260101-000003-b-2");
        add_run(runs, "/home/ann/zlib-ng", "20260101-000005-c-3");
        add_run(runs, "/usr/local/bin", "20260101-000004-d-4");
        let newest = |directory: &str| {
            let run = newest_run(builds_around(runs, Path::new(directory)))?;
            let name = run.file_name()?.to_str()?;
            name.rsplit_once('-').map(|(_, process)| process.to_owned())
        };
        let check = |directory: &str, expect: Option<&str>| {
            assert_eq!(newest(directory).as_deref(), expect, "{directory}");
        };
        check("/home/ann/zlib", Some("2"));
        check("/home/ann/zlib/test", Some("2"));
        check("/home/ann/zlib/doc", Some("1"));
        check("/home/ann", Some("3"));
        check("/home/ann/other", None);
        check("/home/ann/zli", None);
        check("/usr", Some("4"));
        check("/", Some("3"));
        let of_all = newest_of_all(runs).unwrap();
        assert!(of_all.ends_with("20260101-000005-c-3"));
        assert_eq!(newest_of_all(&runs.join("missing")), None);
    }

    #[test]
    fn names_of_builds() {
        let check = |directory: &str, name: &str| {
            assert_eq!(name_of(Path::new(directory)), name);
        };
        check("/home/ann/zlib", "home%ann%zlib");
        check("/", "%");
        let long = "/x".repeat(200);
        assert_eq!(
            name_of(Path::new(&long)).len(),
            holloway_abi::BUILD_NAME_LIMIT
        );
    }
}
