//! Writes the file of `--json`. The file is checked before anything is measured, and written
//! atomically.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs::{OpenOptions, remove_file};
use std::path::{Path, PathBuf};

/// Checks that a file can be written later, without changing the file.
///
/// # Errors
/// If the file is not a regular file, or if it cannot be written.
pub(super) fn check(file: &Path) -> Result<()> {
    let checked = || {
        if file.exists() {
            ensure!(file.is_file(), "it is not a file");
            OpenOptions::new().write(true).open(file)?;
        }
        let temporary = temporary_file(file)?;
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temporary)?;
        Ok(remove_file(temporary)?)
    };
    checked().with_context(|| format!("cannot write results to {}", file.display()))
}

/// Writes results as JSON. An interrupted write leaves the old content of the file.
///
/// # Errors
/// If the results cannot be written.
pub(super) fn write(file: &Path, results: &Value) -> Result<()> {
    let written = || {
        let text = serde_json::to_string_pretty(results)? + "\n";
        let temporary = temporary_file(file)?;
        let moved = std::fs::write(&temporary, text)
            .and_then(|()| std::fs::rename(&temporary, target(file)));
        if moved.is_err() {
            // The temporary file may not exist.
            let _ = remove_file(&temporary);
        }
        Ok::<_, anyhow::Error>(moved?)
    };
    written().with_context(|| format!("cannot write results to {}", file.display()))
}

/// The file that a symbolic link refers to, or the file itself.
fn target(file: &Path) -> PathBuf {
    file.canonicalize().unwrap_or_else(|_| file.to_owned())
}

/// A temporary file for this process in the same folder.
fn temporary_file(file: &Path) -> Result<PathBuf> {
    let target = target(file);
    let name = target.file_name().context("it has no file name")?;
    let name = format!(".{}.{}", name.to_string_lossy(), std::process::id());
    Ok(target.with_file_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;
    use holloway_tests::tool::scratch;
    use serde_json::json;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).expect("a folder");
        let names = entries.map(|e| e.expect("an entry").file_name());
        names.map(|n| n.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_check_changes_no_file() {
        let folder = scratch("results-file").expect("a folder");
        let file = folder.path().join("out.json");
        check(&file).expect("it can be written");
        assert_eq!(names(folder.path()), Vec::<String>::new());
        std::fs::write(&file, "old").expect("it can be written");
        check(&file).expect("it can be written");
        assert_eq!(names(folder.path()), ["out.json"]);
        assert_eq!(std::fs::read(&file).expect("it is there"), b"old");
    }

    #[test]
    fn results_replace_the_old_content() {
        let folder = scratch("results-file").expect("a folder");
        let file = folder.path().join("out.json");
        for results in [json!({"a": 1}), json!([2])] {
            write(&file, &results).expect("it can be written");
            let text = std::fs::read_to_string(&file).expect("it is there");
            assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), results);
            assert_eq!(names(folder.path()), ["out.json"]);
        }
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = scratch("results-file").expect("a folder");
        let (file, link) = (folder.path().join("out.json"), folder.path().join("link"));
        std::fs::write(&file, "old").expect("it can be written");
        std::os::unix::fs::symlink("out.json", &link).expect("a link");
        write(&link, &json!(1)).expect("it can be written");
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&file).expect("it is there"), b"1\n");
    }

    #[test]
    fn a_path_that_is_no_file_is_refused() {
        let folder = scratch("results-file").expect("a folder");
        let missing = folder.path().join("missing/out.json");
        for file in [
            folder.path(),
            &missing,
            Path::new("/dev/null"),
            Path::new(""),
        ] {
            let error = check(file).map_err(|error| format!("{error:#}"));
            let error = error.expect_err("it is no file that can be written");
            let start = format!("cannot write results to {}: ", file.display());
            assert!(error.starts_with(&start), "{error}");
        }
        assert_eq!(names(folder.path()), Vec::<String>::new());
        let error = anyhow!(
            "{:#}",
            write(&missing, &json!(1)).expect_err("no such folder")
        );
        assert!(
            error.to_string().contains("cannot write results to "),
            "{error}"
        );
    }
}
