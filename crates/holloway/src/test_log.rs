//! The log of a run in which each test ran by itself (`cargo holloway test --per-test`): which
//! profiles belong to which test. It lies next to the profiles, one line of JSON for each test:
//!
//! ```text
//! {"program":"app-0f5e7a5f257ae57d","test":"tests::empty","passed":true,"profiles":["4711-app.hwp"]}
//! ```

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use holloway_collect::merge::CopiedProfile;
use serde::{Deserialize, Serialize};

use crate::failure::{Context as _, Failure, Result};

/// The name that rustdoc gives to the program of a doctest.
pub(crate) const DOCTEST: &str = "rust_out";
/// The name of the log in a run's directory.
const NAME: &str = "tests.jsonl";

/// Whether a run has a log of tests.
pub(crate) fn exists(run: &Path) -> bool {
    run.join(NAME).exists()
}

/// A test that ran by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LoggedTest {
    /// The file name of the test program.
    pub(crate) program: String,
    /// The name of the test in the program. Empty if the program is the test.
    pub(crate) test: String,
    pub(crate) passed: bool,
    /// The file names of its profiles.
    pub(crate) profiles: Vec<String>,
}

impl LoggedTest {
    /// The program without cargo's hash, and the test: `app: tests::empty`.
    pub(crate) fn name(&self) -> String {
        let program = match self.program.rsplit_once('-') {
            Some((program, hash)) if hash.len() == 16 => program,
            _ => &self.program,
        };
        match self.test.is_empty() {
            true if program == DOCTEST => "doctest".to_owned(),
            true => program.to_owned(),
            false => format!("{program}: {}", self.test),
        }
    }
}

/// Adds a test to the log of a run's directory.
///
/// # Errors
/// If the log cannot be written.
pub(crate) fn append(directory: &Path, test: &LoggedTest) -> Result<()> {
    let path = directory.join(NAME);
    let mut line = serde_json::to_string(test).cannot(|| "describe a test".to_owned())?;
    line.push('\n');
    let file = OpenOptions::new().append(true).create(true).open(&path);
    file.and_then(|mut file| file.write_all(line.as_bytes()))
        .cannot(|| format!("write {}", path.display()))
}

/// Writes the log of a merged run. `tests` are the tests of the runs, each with its run, and
/// `copied` has the names of their profiles in the merged run. No log is written without tests.
///
/// # Errors
/// If the log cannot be written.
pub(crate) fn write_merged(
    directory: &Path,
    tests: &[(PathBuf, LoggedTest)],
    copied: &[CopiedProfile],
) -> io::Result<()> {
    if tests.is_empty() {
        return Ok(());
    }
    let names: HashMap<&Path, &str> = copied
        .iter()
        .map(|profile| (&*profile.original, &*profile.name))
        .collect();
    let mut text = String::new();
    for (run, test) in tests {
        let copied = |profile: &String| names.get(&*run.join(profile)).copied();
        let renamed = test.profiles.iter().filter_map(copied).map(str::to_owned);
        let test = LoggedTest {
            profiles: renamed.collect(),
            ..test.clone()
        };
        text += &serde_json::to_string(&test)?;
        text.push('\n');
    }
    std::fs::write(directory.join(NAME), text)
}

/// The tests of a run, whose profiles are all there.
///
/// # Errors
/// If the log cannot be read, or a profile is missing.
pub(crate) fn read_complete(run: &Path) -> Result<Vec<LoggedTest>> {
    let tests = read(run)?.unwrap_or_default();
    let mut profiles = tests.iter().flat_map(|test| &test.profiles);
    match profiles.find(|profile| !run.join(profile).is_file()) {
        Some(missing) => Err(Failure::new(format_args!(
            "{} does not exist",
            run.join(missing).display()
        ))),
        None => Ok(tests),
    }
}

/// The tests of a run. `None` if its tests did not run by themselves.
///
/// # Errors
/// If the log cannot be read.
pub(crate) fn read(run: &Path) -> Result<Option<Vec<LoggedTest>>> {
    let path = run.join(NAME);
    if !path.is_file() {
        return Ok(None);
    }
    let bytes = std::fs::read(&path).cannot(|| format!("read {}", path.display()))?;
    let damaged = |line: usize| {
        Failure::new(format_args!(
            "{}:{line}: the line describes no test: the file is damaged; record the tests again",
            path.display()
        ))
    };
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    let tests = lines.filter(|(_, line)| !line.is_empty());
    let tests =
        tests.map(|(index, line)| serde_json::from_slice(line).map_err(|_| damaged(index + 1)));
    let tests: Vec<LoggedTest> = tests.collect::<Result<_>>()?;
    match tests.is_empty() {
        true => Err(Failure::new(format_args!(
            "{} names no test: record the tests again",
            path.display()
        ))),
        false => Ok(Some(tests)),
    }
}

/// The files of a test's profiles in a run's directory.
///
/// # Errors
/// If one of them does not exist.
pub(crate) fn profiles(run: &Path, test: &LoggedTest) -> Result<Vec<PathBuf>> {
    let files = test.profiles.iter().map(|profile| run.join(profile));
    let existing = files.map(|file| match file.exists() {
        true => Ok(file),
        false => Err(Failure::new(format_args!(
            "{}, the profile of {}, does not exist: record the tests again",
            file.display(),
            test.name()
        ))),
    });
    existing.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read_as_it_was_written() {
        let directory = tempfile::tempdir().expect("a directory");
        assert_eq!(read(directory.path()).ok().flatten(), None);
        let test = |test: &str| LoggedTest {
            program: "app-0123456789abcdef".to_owned(),
            test: test.to_owned(),
            passed: true,
            profiles: vec!["7-app.hwp".to_owned()],
        };
        let tests = [test("a \"b\""), test("")];
        for test in &tests {
            assert!(append(directory.path(), test).is_ok());
        }
        assert_eq!(read(directory.path()).ok().flatten(), Some(tests.to_vec()));
        assert_eq!(tests.map(|test| test.name()), ["app: a \"b\"", "app"]);
        std::fs::write(directory.path().join(NAME), "nonsense\n").expect("written");
        let error = read(directory.path()).expect_err("not a test");
        assert!(error.to_string().contains("tests.jsonl:1"), "{error}");
    }
}
