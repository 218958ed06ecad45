//! Tests the page of `holloway report --html` in headless Chromium: web/test/page.mjs compares it
//! with the JSON report of the same run. Also checks the page's program: its types, and that the
//! committed bundle is made from its sources.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

use holloway_tests::tool::{holloway_command, installed, run_ok, scratch};

/// Two conditions that depend on each other, in a loop with an inlined function. The edge counts
/// alone expect the more frequent way of the second condition after both ways of the first one.
const SOURCE: &str = r#"
#include <stdio.h>
static __attribute__((noinline)) int odd(int x) { __asm__ volatile("" : "+r"(x)); return x + 1; }
static __attribute__((noinline)) int even(int x) { __asm__ volatile("" : "+r"(x)); return x + 2; }
static inline int limited(int x) {
    if (x > 1000000)
        return odd(0);
    return x;
}
__attribute__((noinline)) int search(const char *kinds, int n) {
    int sum = 0;
#pragma clang loop unroll(disable)
    for (int i = 0; i < n; i++) {
        if (kinds[i] & 1)
            sum = odd(sum);
        else
            sum = even(sum);
        sum = limited(sum);
        if (kinds[i] & 2)
            sum = odd(sum);
        else
            sum = even(sum);
    }
    return sum;
}
int main(void) {
    static char kinds[100000];
    for (int i = 0; i < 100000; i++)
        kinds[i] = i % 10 < 6 ? 1 : 2;
    printf("%d\n", search(kinds, 100000));
    return 0;
}
"#;

/// The folder of the page's program.
fn web() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../web")
}

/// Runs `node` in the folder of the page's program, whose packages `cargo xtask test` installs.
fn node(words: &[&str]) {
    let web = web();
    assert!(
        web.join("node_modules").is_dir(),
        "no packages in {}: run `npm ci` there, or `cargo xtask test`",
        web.display()
    );
    run_ok(Command::new("node").args(words).current_dir(web)).unwrap();
}

/// Builds and runs the program, and writes its reports into the folder.
fn record(folder: &Path) {
    std::fs::write(folder.join("app.c"), SOURCE).unwrap();
    let holloway = |words: &[&str]| {
        let mut command = holloway_command(words);
        run_ok(command.current_dir(folder)).unwrap()
    };
    holloway(&["cc", "-O2", "-g", "app.c", "-o", "app"]);
    holloway(&["run", "--no-report", "-o", "run", "--", "./app"]);
    for (file, view) in [("report.json", "paths"), ("lines.json", "lines")] {
        let report = holloway(&["report", "run", "--view", view, "--format", "json"]);
        std::fs::write(folder.join(file), report.stdout).unwrap();
    }
    holloway(&["report", "run", "--html", "report.html"]);
}

#[test]
fn a_page_shows_what_the_report_says() {
    for tool in ["node", "chromium"] {
        installed(tool).unwrap();
    }
    let folder = scratch("page").unwrap();
    record(folder.path());
    node(&["test/page.mjs", folder.path().to_str().unwrap()]);
}

#[test]
fn the_bundle_is_made_from_its_sources() {
    node(&["build.mjs", "--check"]);
    node(&["node_modules/typescript/bin/tsc", "--noEmit"]);
}
