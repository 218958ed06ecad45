//! Reports of streams count the threads of a process and name its losses.

use std::path::PathBuf;

use crate::cli_support::{CallResult, Project};

const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile long sink;
__attribute__((noinline)) static void step(int i) { for (int k = 0; k < i % 5; k++) sink += k; }
static void *run(void *n) { step(*(int *)n); return 0; }
int main(int count, char **words) {
    int n = atoi(words[2]);
    if (words[1][0] == 'e' && n > 0) {
        char next[16];
        sprintf(next, "%d", n - 1);
        step(n);
        execl("/proc/self/exe", words[0], "execs", next, (char *)0);
    }
    for (int i = 0; words[1][0] == 't' && i < n; i++) {
        pthread_t thread;
        if (pthread_create(&thread, 0, run, &i)) return 1;
        pthread_join(thread, 0);
    }
    return 0;
}
"#;

fn woven(kind: &str) -> Project {
    let project = Project::new(&[("app.c", PROGRAM)]);
    let words = format!("cc --collect {kind} -O2 -pthread app.c -o app");
    project.holloway(&words).ok();
    project
}

/// The files of the run with this extension.
fn files(project: &Project, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(project.path().join("run")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|ending| ending == extension))
        .collect()
}

fn run(project: &Project, words: &str) -> CallResult {
    project
        .holloway(&format!("run -o run -- ./app {words}"))
        .ok()
}

#[test]
fn threads_are_counted_exactly() {
    let project = woven("loops");
    run(&project, "threads 300").says("1 · 301 threads");
    let project = woven("loops");
    run(&project, "execs 20").says("1 · 1 thread ·");
}

#[test]
fn a_truncated_stream_file_is_named() {
    for (kind, extension) in [("loops", "hwl"), ("trace", "hwt")] {
        let project = woven(kind);
        run(&project, "threads 3");
        let file = &files(&project, extension)[0];
        let name = file.file_name().unwrap().to_str().unwrap();
        for length in [0, 30] {
            let bytes = std::fs::read(file).unwrap();
            std::fs::write(file, &bytes[..bytes.len().min(length)]).unwrap();
            let result = project.holloway("report run --format json").ok();
            result.says(name).says("record the run again");
        }
        if kind == "loops" {
            let result = project.holloway("report run").ok();
            result.says("no instrumented function is known to have run");
        } else {
            let result = project.holloway("trace stats run").result();
            result.fails_with(name);
        }
    }
}

#[test]
fn a_limit_on_file_sizes_is_reported() {
    for kind in ["loops", "trace"] {
        let project = woven(kind);
        let limited = project.script("limited", "#!/bin/sh\nulimit -f 64\nexec \"$@\"\n");
        let mut call = project.holloway("run -o run --no-report --");
        call.command.arg(limited).args(["./app", "threads", "3"]);
        call.ok();
        let result = project.holloway("report run --format json").ok();
        result.says("is lost: the limit on file sizes was reached (ulimit -f)");
    }
}

/// A limit on file sizes needs no privilege. The report names it, and blames nothing else.
#[test]
fn a_limit_on_file_sizes_is_named() {
    let reason = "the limit on file sizes was reached (ulimit -f)";
    for kind in ["trace", "loops", "times"] {
        let project = Project::new(&[("app.c", ENDLESS_STREAM)]);
        project
            .holloway(&format!("cc --collect {kind} -O2 app.c -o app"))
            .ok();
        let status = std::process::Command::new("sh")
            .args(["-c", "ulimit -f 600 && exec ./app 2000000"])
            .current_dir(project.path())
            .env("HOLLOWAY_DATA", project.path().join("run"))
            .status()
            .unwrap();
        assert!(status.success(), "{kind}");
        let report = project.holloway("report run").ok();
        let text = format!("{}{}", report.stdout, report.stderr);
        assert!(
            text.contains(&format!("paths are missing: {reason}")),
            "{text}"
        );
        if kind != "trace" {
            report.says("a part of the run could not be written");
        }
        if kind == "times" {
            report.says("all later readings of the clock are lost");
        }
        for wrong in ["not taken in time", "read once only", "disk full"] {
            assert!(!text.contains(wrong), "{kind}: {wrong}: {text}");
        }
        let json = project.holloway("report run --format json").ok();
        json.says("limit on file sizes was reached");
    }
}

const ENDLESS_STREAM: &str = r#"
#include <stdlib.h>
static volatile unsigned sink;
__attribute__((noinline)) static void step(unsigned i) {
    for (unsigned k = 0; k < i % 5; k++) if (i >> k & 1) sink += k; else sink ^= i;
}
int main(int count, char **words) {
    unsigned random = 1;
    for (int i = 0; i < atoi(words[1]); i++) {
        random = random * 1664525u + 1013904223u;
        step(random >> 8);
    }
    return 0;
}
"#;
