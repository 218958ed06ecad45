//! Tests the page of `holloway report --html` in headless Chromium: web/test/page.mjs compares it
//! with the JSON report of the same run. Also checks the page's program: its types, and that the
//! committed bundle is made from its sources.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use holloway_tests::tool::{holloway_command, installed, run, run_ok, scratch};

/// Two conditions that depend on each other, in a loop with an inlined function. Of ten characters,
/// three meet both conditions, three the first, and four the second. The edge counts alone predict
/// six that meet both, three that meet none, and one that meets the second.
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
__attribute__((noinline, used)) int never(int x) { return x > 3 ? odd(x) : even(x); }
int hostile(int x) __asm__("</script><img src=x onerror=document.title='hostile'>");
__attribute__((noinline)) int hostile(int x) {
    __asm__ volatile("" : "+r"(x)); // </script><img src=x onerror=document.title='hostile'>
    return x > 3 ? odd(x) : even(x);
}
int main(void) {
    static char kinds[100000];
    for (int i = 0; i < 100000; i++)
        kinds[i] = i % 10 < 3 ? 3 : i % 10 < 6 ? 1 : 2;
    printf("%d\n", search(kinds, 100000) + hostile(4));
    return 0;
}
"#;

/// Three parts that take turns: each round reads, sorts, and writes.
const PHASED: &str = r#"
#include <stdio.h>
static volatile int sink;
__attribute__((noinline)) int parse(const int *text, int n) {
    int words = 0;
#pragma clang loop unroll(disable) vectorize(disable)
    for (int i = 0; i < n; i++) {
        if (text[i] % 5 == 0)
            words++;
        sink = text[i];
    }
    return words;
}
__attribute__((noinline)) int sort(int *text, int n) {
    int swaps = 0;
#pragma clang loop unroll(disable) vectorize(disable)
    for (int i = 1; i < n; i++) {
        if (text[i - 1] > text[i]) {
            int smaller = text[i];
            text[i] = text[i - 1];
            text[i - 1] = smaller;
            swaps++;
            sink = swaps;
        }
    }
    return swaps;
}
__attribute__((noinline)) int emit(const int *text, int n) {
    int sum = 0;
#pragma clang loop unroll(disable) vectorize(disable)
    for (int i = 0; i < n; i++) {
        sink = sum;
        sum += text[i];
    }
    return sum;
}
int main(void) {
    static int text[20000];
    int result = 0;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 20000; i++)
            text[i] = (i * 7919 + round) % 1000;
        result += parse(text, 20000);
        for (int pass = 0; pass < 4; pass++)
            result += sort(text, 20000);
        result += emit(text, 20000);
    }
    printf("%d\n", result);
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

/// Builds and runs a program with phases, and writes its trace's reports into the folder.
fn record_trace(folder: &Path) {
    std::fs::write(folder.join("phased.c"), PHASED).unwrap();
    let holloway = |words: &[&str]| {
        let mut command = holloway_command(words);
        run_ok(command.current_dir(folder)).unwrap()
    };
    holloway(&[
        "cc",
        "--collect",
        "trace",
        "-O2",
        "-g",
        "phased.c",
        "-o",
        "phased",
    ]);
    holloway(&["run", "--no-report", "-o", "traced", "--", "./phased"]);
    let json = |file: &str, words: &[&str]| {
        let report = holloway(&[words, &["traced", "--format", "json"]].concat());
        std::fs::write(folder.join(file), report.stdout).unwrap();
    };
    json("trace-stats.json", &["trace", "stats"]);
    json("trace-hot.json", &["trace", "hot"]);
    json(
        "trace-cat.json",
        &["trace", "cat", "--from", "1000", "--count", "200"],
    );
    json("phases.json", &["phases"]);
    holloway(&["report", "traced", "--html", "trace.html"]);
    record_traced_baseline(folder);
}

/// Traces another version of the program, which sorts in fewer passes, and writes its reports and
/// the pages of both runs into the folder.
fn record_traced_baseline(folder: &Path) {
    let source = PHASED.replace("pass < 4", "pass < 3");
    std::fs::write(folder.join("sorted.c"), source).unwrap();
    let holloway = |words: &[&str]| {
        let mut command = holloway_command(words);
        run_ok(command.current_dir(folder)).unwrap()
    };
    let options = [
        "--collect",
        "trace",
        "-O2",
        "-g",
        "sorted.c",
        "-o",
        "sorted",
    ];
    holloway(&[&["cc"][..], &options].concat());
    holloway(&["run", "--no-report", "-o", "sorted-run", "--", "./sorted"]);
    let json = |file: &str, words: &[&str]| {
        let report = holloway(&[words, &["sorted-run", "--format", "json"]].concat());
        std::fs::write(folder.join(file), report.stdout).unwrap();
    };
    json("before-stats.json", &["trace", "stats"]);
    json("before-report.json", &["report", "--view", "paths"]);
    json("before-phases.json", &["phases"]);
    let traced = holloway(&["report", "traced", "--view", "paths", "--format", "json"]);
    std::fs::write(folder.join("traced-report.json"), traced.stdout).unwrap();
    for (page, baseline) in [
        ("trace-compared.html", "sorted-run"),
        ("trace-same.html", "traced"),
    ] {
        let page = ["report", "traced", "--html", page, "--baseline", baseline];
        holloway(&page);
    }
}

/// Builds and runs another version of the program, as the baseline of a page, and writes the
/// reports of both into the folder. The first condition holds more often, and another function
/// runs.
fn record_comparison(folder: &Path) {
    let source = SOURCE
        .replace("i % 10 < 3 ? 3", "i % 10 < 5 ? 3")
        .replace("hostile(4)", "old(4)")
        .replace(
            "int main(void) {",
            "__attribute__((noinline)) int old(int x) { return x > 3 ? odd(x) : even(x) * 3; }\n\
             int main(void) {",
        );
    std::fs::write(folder.join("before.c"), source).unwrap();
    let holloway = |words: &[&str]| {
        let mut command = holloway_command(words);
        run_ok(command.current_dir(folder)).unwrap()
    };
    holloway(&["cc", "-O2", "-g", "before.c", "-o", "before"]);
    holloway(&["run", "--no-report", "-o", "before-run", "--", "./before"]);
    let json = |file: &str, words: &[&str]| {
        let report = holloway(&[words, &["--format", "json"]].concat());
        std::fs::write(folder.join(file), report.stdout).unwrap();
    };
    json("overlap.json", &["overlap", "before-run", "run"]);
    json("before.json", &["report", "before-run"]);
    json(
        "before-lines.json",
        &["report", "before-run", "--view", "lines"],
    );
    let page = [
        "report",
        "run",
        "--html",
        "compared.html",
        "--baseline",
        "before-run",
    ];
    holloway(&page);
    let page = [
        "report",
        "edges",
        "--html",
        "mixed.html",
        "--baseline",
        "run",
    ];
    holloway(&page);
    for kind in ["loops", "variation"] {
        let exe = format!("./before-{kind}");
        let run = format!("before-{kind}-run");
        holloway(&["cc", "--collect", kind, "-O2", "-g", "before.c", "-o", &exe]);
        holloway(&["run", "--no-report", "-o", &run, "--", &exe]);
        let file = format!("before-{kind}.json");
        json(&file, &["report", &run, "--view", kind]);
        let page = format!("{kind}-compared.html");
        holloway(&["report", kind, "--html", &page, "--baseline", &run]);
    }
}

/// Watches a program, and writes its samples and its page into the folder.
fn record_samples(folder: &Path) {
    let holloway = |words: &[&str]| {
        let mut command = holloway_command(words);
        run_ok(command.current_dir(folder)).unwrap()
    };
    std::fs::write(
        folder.join("long.c"),
        PHASED.replace("round < 3", "round < 300"),
    )
    .unwrap();
    holloway(&[
        "cc",
        "--collect",
        "none",
        "-O2",
        "-g",
        "long.c",
        "-o",
        "long",
    ]);
    holloway(&["monitor", "--no-report", "-o", "watched", "--", "./long"]);
    let report = holloway(&["report", "watched", "--format", "json"]);
    std::fs::write(folder.join("samples.json"), report.stdout).unwrap();
    holloway(&["report", "watched", "--html", "samples.html"]);
    let warns = || {
        let report = holloway(&["report", "watched", "--view", "lines"]);
        report.stderr.contains("long.c has changed since")
    };
    assert!(!warns());
    let source = std::fs::read_to_string(folder.join("long.c")).unwrap();
    std::fs::write(folder.join("long.c"), format!("// Another line.\n{source}")).unwrap();
    assert!(warns());
}

/// Builds and runs a program with code from two files of one name.
fn record_names(folder: &Path) {
    for (name, limit) in [("near", 10), ("far", 1000)] {
        std::fs::create_dir(folder.join(name)).unwrap();
        let text = format!(
            "static inline int {name}(int x) {{\n    if (x > {limit})\n        sink = x;\n    \
             return sink;\n}}\n"
        );
        std::fs::write(folder.join(name).join("limit.h"), text).unwrap();
    }
    let text = "static volatile int sink;\n#include \"near/limit.h\"\n#include \"far/limit.h\"\n\
                __attribute__((noinline)) int work(int x) { return near(x) + far(x); }\n\
                int main(int count, char **words) { return work(count) > 2000; }\n";
    std::fs::write(folder.join("names.c"), text).unwrap();
    let holloway = |words: &[&str]| {
        let mut command = holloway_command(words);
        run_ok(command.current_dir(folder)).unwrap()
    };
    holloway(&["cc", "-O2", "-g", "names.c", "-o", "names"]);
    holloway(&["run", "--no-report", "-o", "names-run", "--", "./names"]);
    holloway(&["report", "names-run", "--html", "names.html"]);
    let changed = folder.join("near").join("limit.h");
    let text = std::fs::read_to_string(&changed).unwrap();
    std::fs::write(&changed, format!("// Another line.\n{text}")).unwrap();
    holloway(&["report", "names-run", "--html", "changed.html"]);
    std::fs::write(&changed, text).unwrap();
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
    holloway(&[
        "report",
        "run",
        "--function",
        "never",
        "--html",
        "never.html",
    ]);
    for kind in ["loops", "variation", "edges"] {
        let exe = format!("./app-{kind}");
        holloway(&["cc", "--collect", kind, "-O2", "-g", "app.c", "-o", &exe]);
        holloway(&["run", "--no-report", "-o", kind, "--", &exe]);
        let report = holloway(&["report", kind, "--view", kind, "--format", "json"]);
        std::fs::write(folder.join(format!("{kind}.json")), report.stdout).unwrap();
        holloway(&["report", kind, "--html", &format!("{kind}.html")]);
    }
}

#[test]
fn a_page_shows_what_the_report_says() {
    for tool in ["node", "chromium"] {
        installed(tool).unwrap();
    }
    let folder = scratch("page").unwrap();
    record(folder.path());
    record_trace(folder.path());
    record_samples(folder.path());
    record_comparison(folder.path());
    record_names(folder.path());
    node(&["test/page.mjs", folder.path().to_str().unwrap()]);
    take_pictures(folder.path());
}

/// Takes the pictures of docs/tour.md, of the pages in the folder. The pictures in docs/ are of
/// another program, and have the same names.
fn take_pictures(folder: &Path) {
    for (page, name) in [("report", "text"), ("compared", "tables")] {
        let copy = folder.join(format!("{name}.html"));
        std::fs::copy(folder.join(format!("{page}.html")), copy).unwrap();
    }
    let pictures = folder.join("pictures");
    node(&[
        "tour.mjs",
        folder.to_str().unwrap(),
        pictures.to_str().unwrap(),
    ]);
    let names = |folder: &Path| -> BTreeSet<OsString> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect()
    };
    assert_eq!(
        names(&pictures),
        names(&web().join("../docs/pictures")),
        "docs/pictures has the pictures of `cargo xtask pictures`"
    );
}

/// Writes a program into the folder that stands for `xdg-open`: it keeps its argument, and ends
/// with this status.
fn write_opener(folder: &Path, status: i32) {
    let opener = folder.join("xdg-open");
    let text = format!("#!/bin/sh\necho \"$1\" > opened\nexit {status}\n");
    std::fs::write(&opener, text).unwrap();
    std::fs::set_permissions(&opener, Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_page_is_written_whole_and_opened() {
    let folder = scratch("page-file").unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("one.c"), "int main(void) { return 0; }\n").unwrap();
    let command = |words: &[&str]| {
        let mut command = holloway_command(words);
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
        command.current_dir(folder).env("PATH", path);
        command
    };
    let fails = |words: &[&str], status: i32, message: &str| {
        let output = run(&mut command(words)).unwrap();
        assert_eq!(output.status.code(), Some(status), "{}", output.stderr);
        assert!(output.stderr.contains(message), "{}", output.stderr);
    };
    run_ok(&mut command(&["cc", "-O2", "one.c", "-o", "one"])).unwrap();
    run_ok(&mut command(&[
        "run",
        "--no-report",
        "-o",
        "run",
        "--",
        "./one",
    ]))
    .unwrap();
    write_opener(folder, 0);
    run_ok(&mut command(&[
        "report", "run", "--html", "one.html", "--open",
    ]))
    .unwrap();
    let opened = std::fs::read_to_string(folder.join("opened")).unwrap();
    assert_eq!(opened, "one.html\n");
    let page = std::fs::read_to_string(folder.join("one.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    write_opener(folder, 3);
    let open = ["report", "run", "--html", "one.html", "--open"];
    fails(&open, 125, "open the file by hand");
    let missing = ["report", "run", "--html", "missing/one.html"];
    fails(&missing, 125, "missing/one.html");
    fails(&["report", "run", "--open"], 2, "--html");
    let view = ["report", "run", "--html", "one.html", "--view", "lines"];
    fails(&view, 2, "cannot be used with");
}

#[test]
fn the_bundle_is_made_from_its_sources() {
    node(&["build.mjs", "--check"]);
    node(&["node_modules/typescript/bin/tsc", "--noEmit"]);
}
