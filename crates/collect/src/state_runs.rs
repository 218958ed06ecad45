//! The runs in the user's state directory: those of programs that were started by hand, and whose
//! build has no directory of runs of its own ([`holloway_abi::build_name`] has the layout).

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use holloway_abi::{
    STATE_IN_HOME, STATE_RUNS, build_name, build_name_beginning, is_cut_build_name,
};

use crate::files::{profile_head, profiles};
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
    let above: Vec<OsString> = directory.ancestors().map(name_of).collect();
    let builds = builds(state_runs);
    let around = builds.filter(|build| build.is_in(directory) || above.contains(&build.name));
    around.map(|build| build.runs).collect()
}

/// The directories of runs of the builds in a directory, and in the directories below it.
pub fn builds_in(state_runs: &Path, directory: &Path) -> Vec<PathBuf> {
    let builds = builds(state_runs).filter(|build| build.is_in(directory));
    builds.map(|build| build.runs).collect()
}

/// A build with runs in the user's state directory.
struct Build {
    name: OsString,
    /// Its directory of runs.
    runs: PathBuf,
}

impl Build {
    /// Whether the build is in a directory, or below it.
    fn is_in(&self, directory: &Path) -> bool {
        if directory == Path::new("/") || self.name == name_of(directory) {
            return true;
        }
        let name = self.name.as_bytes();
        let path = directory.as_os_str().as_bytes();
        let whole: Vec<u8> = build_name(path).collect();
        let below = name.strip_prefix(&*whole);
        if below.is_some_and(|below| below.starts_with(b"%")) {
            return true;
        }
        // A cut name has the beginning only. A profile has the path.
        let beginning: Vec<u8> = build_name_beginning(path).collect();
        is_cut_build_name(name)
            && name.starts_with(&beginning)
            && self
                .program()
                .is_some_and(|file| file.starts_with(directory))
    }

    /// The path of a program of the build: of one that recorded its latest run.
    fn program(&self) -> Option<PathBuf> {
        let run = latest_in(&self.runs)?;
        let profiles = profiles(&run).ok()?;
        let path = profiles.iter().find_map(|profile| profile_head(profile))?;
        Some(path.image_path)
    }
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
    newest_run(builds(state_runs).map(|build| build.runs))
}

/// The name of the build in a directory.
fn name_of(directory: &Path) -> OsString {
    OsString::from_vec(build_name(directory.as_os_str().as_bytes()).collect())
}

/// All builds.
fn builds(state_runs: &Path) -> impl Iterator<Item = Build> {
    let entries = std::fs::read_dir(state_runs).into_iter().flatten();
    entries.flatten().map(|entry| Build {
        name: entry.file_name(),
        runs: entry.path(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use holloway_abi::BUILD_NAME_LIMIT;
    use holloway_format::ProfileHead;

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
        let in_zlib = builds_in(runs, Path::new("/home/ann/zlib"));
        assert_eq!(in_zlib.len(), 2);
        assert_eq!(builds_in(runs, Path::new("/home/ann/zlib/doc")).len(), 0);
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
        check("/home/a%b/c=d", "home%a=%b%c==d");
        // Directories whose names differ only in what stands for `/`, or in the part that is cut.
        let long = format!("/{}", "x/".repeat(150));
        let paths = ["/a/b", "/a%b", "/a=%b", "/a==b", "/a%/b", "/a/%b", "/a=/b"];
        let longer = [format!("{long}a"), format!("{long}b"), long];
        let paths = paths.map(str::to_owned).into_iter().chain(longer);
        let mut names: Vec<OsString> = paths.map(|path| name_of(Path::new(&path))).collect();
        assert!(names.iter().all(|name| name.len() <= BUILD_NAME_LIMIT));
        assert_eq!(names[7].len(), BUILD_NAME_LIMIT);
        assert!(is_cut_build_name(names[7].as_bytes()) && !is_cut_build_name(names[0].as_bytes()));
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 10);
    }

    /// Names of long paths are cut: a profile says which directory such a name means.
    #[test]
    fn builds_with_long_paths_are_found() {
        let state = tempfile::tempdir().unwrap();
        let long = format!("/{}", "x/".repeat(150));
        for (run, directory) in [("20260101-000001-a-1", "a"), ("20260101-000002-b-2", "b")] {
            let path = format!("{long}{directory}");
            add_run(state.path(), &path, run);
            let head = ProfileHead {
                image_path: format!("{path}/app").into(),
                ..ProfileHead::default()
            };
            let profile = holloway_testkit::raw::RawWriter::new(head, 4032).finish();
            let build = state.path().join(name_of(Path::new(&path)));
            std::fs::write(build.join(run).join("1-app.hwp"), profile).unwrap();
        }
        let count = |directory: &str| builds_in(state.path(), Path::new(directory)).len();
        assert_eq!(count(&format!("{long}a")), 1);
        assert_eq!(count(long.trim_end_matches('/')), 2);
        assert_eq!(count(&"/x".repeat(100)), 2);
        assert_eq!(count("/x"), 2);
        assert_eq!(count(&format!("{long}a/a")), 0);
    }
}
