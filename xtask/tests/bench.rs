//! `cargo xtask bench` as far as it goes without measuring anything.
#![allow(clippy::expect_used, reason = "tests fail by panicking")]

use std::path::Path;
use std::process::{Command, Output};

fn xtask(words: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(words).current_dir(folder);
    command.output().expect("xtask was built for this test")
}

/// A file that can't be written is one line, before anything is built or measured, and nothing is
/// left behind.
#[test]
fn an_unusable_file_is_refused_at_once() {
    let folder = holloway_tests::tool::scratch("xtask-bench").expect("a folder");
    for (more, file) in [
        (&["--quick"][..], "missing/out.json"),
        (&["--callgrind", "--only", "zlib"], "."),
        (&["--only", "zlib"], "/dev/null"),
    ] {
        let words = [&["bench"], more, &["--json", file]].concat();
        let output = xtask(&words, folder.path());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {errors}");
        let start = format!("xtask: cannot write results to {file}: ");
        assert!(errors.starts_with(&start), "{words:?}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{words:?}: {errors}");
        assert!(output.stdout.is_empty(), "{words:?}");
        let left = std::fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(left, 0, "{words:?}");
    }
}
