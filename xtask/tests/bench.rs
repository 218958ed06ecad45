//! Tests of `cargo xtask bench` that measure nothing.
#![allow(clippy::expect_used, reason = "tests fail by panicking")]

use assert_cmd::cargo_bin_cmd;

/// If the file of `--json` cannot be written, the command prints one line of error before it builds
/// or measures anything, and leaves no file.
#[test]
fn an_unusable_file_is_refused_at_once() {
    let folder = holloway_tests::tool::scratch("xtask-bench").expect("a folder");
    for (options, file) in [
        (&["--quick"][..], "missing/out.json"),
        (&["--callgrind", "--only", "zlib"], "."),
        (&["--only", "zlib"], "/dev/null"),
    ] {
        let mut xtask = cargo_bin_cmd!("xtask");
        xtask.arg("bench").args(options).args(["--json", file]);
        let refused = xtask.current_dir(folder.path()).assert().code(1).stdout("");
        let errors = String::from_utf8_lossy(&refused.get_output().stderr);
        let start = format!("xtask: cannot write results to {file}: ");
        assert!(errors.starts_with(&start), "{options:?}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{options:?}: {errors}");
        let left = std::fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(left, 0, "{options:?}");
    }
}
