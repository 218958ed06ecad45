//! Tests `holloway monitor`: programs without counters are sampled, and the samples lie in the
//! functions and blocks that use the time. The tests need the permission to sample.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use holloway_tests::tool::{clean, holloway, holloway_command, installed, run, run_ok, scratch};
use serde_json::Value;

/// Uses time in `spin` in a thread and in `turn` in a child process, and ends with status 3. The
/// loop of each is one block. With an argument, the program runs until it is killed.
const SOURCE: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static __attribute__((noinline)) unsigned spin(unsigned turns) {
    unsigned x = 1;
#pragma clang loop unroll(disable) vectorize(disable)
    for (unsigned i = 0; i < turns; i++)
        x = x * 1664525 + (x >> 7); /* the loop of spin */
    return x;
}
static __attribute__((noinline)) double turn(unsigned turns) {
    double x = 1;
#pragma clang loop unroll(disable) vectorize(disable)
    for (unsigned i = 1; i < turns; i++)
        x = x / i + 1; /* the loop of turn */
    return x;
}
static volatile double sink;
static void *in_thread(void *argument) {
    sink = spin(300000000);
    return argument;
}
int main(int count, char **words) {
    (void)words;
    alarm(60); /* the test may have failed */
    for (unsigned i = 0; count > 1; i++)
        sink += spin(1000000 + i % 7);
    pthread_t thread;
    pthread_create(&thread, 0, in_thread, 0);
    pthread_join(thread, 0);
    if (fork() == 0) {
        sink = turn(50000000);
        _exit(0);
    }
    wait(0);
    printf("done\n");
    return 3;
}
"#;

fn build(folder: &Path, options: &[&str]) -> PathBuf {
    std::fs::write(folder.join("app.c"), SOURCE).unwrap();
    let program = folder.join("app");
    let mut command = holloway_command(["cc", "-O2", "-g", "app.c", "-lpthread", "-o", "app"]);
    command.args(options).current_dir(folder);
    command.env("HOLLOWAY_CACHE", folder.join("cache"));
    run_ok(&mut command).unwrap();
    program
}

fn json(folder: &Path, run: &str) -> Value {
    let mut command = holloway_command(["report", run, "--format", "json"]);
    let output = run_ok(command.current_dir(folder)).unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

fn function<'a>(document: &'a Value, name: &str) -> &'a Value {
    let mut functions = document["functions"].as_array().unwrap().iter();
    let function = functions.find(|function| function["name"] == name);
    function.unwrap_or_else(|| panic!("no {name} in {document:#}"))
}

#[test]
fn threads_and_children_of_a_program_are_sampled() {
    let folder = scratch("monitor").unwrap();
    build(folder.path(), &["--collect", "none"]);
    let mut command = holloway_command(["monitor", "-o", "run", "--no-report", "--", "./app"]);
    let output = run(command.current_dir(folder.path())).unwrap();
    assert_eq!(output.ending(), "exit 3", "{output:?}");
    assert_eq!(output.text(), "done\n");
    let document = json(folder.path(), "run");
    assert_eq!(document["basis"], "time");
    assert_eq!(document["state"], "ended");
    assert_eq!(document["frequency"], 1024);
    let files = document["files"].as_array().unwrap();
    let is_app = |file: &&Value| file["path"].as_str().unwrap().ends_with("/app");
    let app = files.iter().find(is_app).unwrap();
    assert_eq!(
        (&app["blocks"], &app["left_out"]),
        (&"known".into(), &0.into())
    );
    let line_of = |text: &str| SOURCE.lines().position(|line| line.contains(text)).unwrap() + 1;
    for (name, loop_text) in [("spin", "the loop of spin"), ("turn", "the loop of turn")] {
        let function = function(&document, name);
        assert_eq!(function["found_by"], "blocks");
        let samples = function["samples"].as_u64().unwrap();
        assert!(samples > 10, "{name}: {samples}");
        let hottest = &function["blocks"][0];
        assert!(
            hottest["samples"].as_u64().unwrap() * 10 >= samples * 9,
            "{function}"
        );
        let loop_line = line_of(loop_text) as u64;
        let line = hottest["line"].as_u64().unwrap();
        assert!((loop_line - 1..=loop_line).contains(&line), "{function}");
    }
    let lines = document["lines"].as_array().unwrap();
    let loop_line = line_of("the loop of spin") as u64;
    assert!(
        lines.iter().any(|line| line["line"] == loop_line),
        "{lines:?}"
    );

    for command in [
        &["phases", "run"][..],
        &["predict", "run"],
        &["report", "--view", "paths", "run"],
    ] {
        let mut command = holloway_command(command);
        let output = run(command.current_dir(folder.path())).unwrap();
        assert_eq!(output.ending(), "exit 2", "{output:?}");
        assert!(output.stderr.contains("run has samples"), "{output:?}");
        assert_eq!(output.stderr.lines().count(), 1, "{output:?}");
    }
    for (command, text) in [
        (
            &["overlap", "run", "run"][..],
            "  overlap       1.000, similar",
        ),
        (&["report", "--view", "edges", "run"], "Hottest edges"),
        (&["report", "--view", "branches", "run"], "Hardest branches"),
    ] {
        let mut command = holloway_command(command);
        let output = run(command.current_dir(folder.path())).unwrap();
        assert_eq!(output.ending(), "exit 0", "{output:?}");
        assert!(output.text().contains("time-based"), "{}", output.text());
        assert!(output.text().contains(text), "{}", output.text());
    }

    // The maps are in the run's directory, so blocks are known without the program.
    std::fs::remove_file(folder.path().join("app")).unwrap();
    let without_program = json(folder.path(), "run");
    let samples = |document: &Value| function(document, "spin")["samples"].clone();
    assert_eq!(samples(&document), samples(&without_program));
}

#[test]
fn a_running_process_is_watched_until_it_ends() {
    let folder = scratch("monitor-pid").unwrap();
    let program = build(folder.path(), &["--collect", "none"]);
    let mut app = Command::new(&program);
    clean(app.arg("forever"));
    let mut app = app.spawn().unwrap();
    let mut command = Command::new(holloway());
    clean(command.args(["monitor", "--no-report", "-o", "run", "--pid"]));
    command.arg(app.id().to_string()).current_dir(folder.path());
    let mut monitor = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut messages = BufReader::new(monitor.stderr.take().unwrap()).lines();
    assert!(messages.any(|line| line.unwrap().contains("Watching")));
    std::thread::sleep(Duration::from_secs(2));
    app.kill().unwrap();
    app.wait().unwrap();
    assert!(monitor.wait().unwrap().success());
    let document = json(folder.path(), "run");
    let samples = function(&document, "spin")["samples"].as_u64().unwrap();
    assert!(samples > 50, "{document}");
}

#[test]
fn samples_of_a_program_that_is_killed_are_kept() {
    let folder = scratch("monitor-killed").unwrap();
    build(folder.path(), &["--collect", "none"]);
    let script = "./app forever & sleep 2; kill -KILL $!; kill -KILL $$";
    let mut command = holloway_command(["monitor", "-o", "run", "--no-report", "--", "sh", "-c"]);
    let output = run(command.arg(script).current_dir(folder.path())).unwrap();
    assert_eq!(output.ending(), "exit 137", "{output:?}");
    let document = json(folder.path(), "run");
    assert_eq!(document["state"], "ended");
    let samples = function(&document, "spin")["samples"].as_u64().unwrap();
    assert!(samples > 50, "{document}");
}

#[test]
fn a_truncated_file_is_named_in_one_line() {
    let folder = scratch("monitor-truncated").unwrap();
    build(folder.path(), &["--collect", "none"]);
    let mut command = holloway_command(["monitor", "-o", "run", "--no-report", "--", "./app"]);
    run(command.current_dir(folder.path())).unwrap();
    let mut files = std::fs::read_dir(folder.path().join("run")).unwrap();
    let is_record = |file: &PathBuf| file.extension().is_some_and(|end| end == "hws");
    let record = files
        .find_map(|file| Some(file.unwrap().path()).filter(is_record))
        .unwrap();
    let bytes = std::fs::read(&record).unwrap();
    for length in [0, 4, 40, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&record, &bytes[..length]).unwrap();
        let mut command = holloway_command(["report", "run"]);
        let output = run(command.current_dir(folder.path())).unwrap();
        assert_eq!(output.ending(), "exit 125", "{length}: {output:?}");
        let text = &output.stderr;
        assert_eq!(text.lines().count(), 1, "{length}: {text}");
        let name = record.file_name().unwrap().to_str().unwrap();
        assert!(text.contains(name), "{length}: {text}");
    }
}

#[test]
fn a_killed_monitor_leaves_the_samples_of_all_but_the_last_10_seconds() {
    let folder = scratch("monitor-kill").unwrap();
    let program = build(folder.path(), &["--collect", "none"]);
    let mut command = Command::new(holloway());
    clean(command.args(["monitor", "--no-report", "-o", "run", "--"]));
    command
        .arg(&program)
        .arg("forever")
        .current_dir(folder.path());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut monitor = command.spawn().unwrap();
    let start = Instant::now();
    let has_samples = || {
        let files = std::fs::read_dir(folder.path().join("run"));
        let mut files = files.into_iter().flatten().flatten();
        files.any(|file| file.path().extension().is_some_and(|end| end == "hws"))
    };
    while !has_samples() {
        assert!(start.elapsed() < Duration::from_secs(100), "no samples yet");
        std::thread::sleep(Duration::from_millis(100));
    }
    monitor.kill().unwrap();
    monitor.wait().unwrap();
    let document = json(folder.path(), "run");
    assert_eq!(document["state"], "watching");
    assert!(function(&document, "spin")["samples"].as_u64().unwrap() > 50);
    // The program outlives its monitor.
    let text = std::fs::read_dir("/proc").unwrap().flatten();
    let own = text.filter(|entry| {
        std::fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == program)
    });
    for process in own {
        let id = process.file_name();
        run_ok(Command::new(installed("kill").unwrap()).arg(id)).unwrap();
    }
}

#[test]
fn commands_that_cannot_work_say_why_in_one_line() {
    let folder = scratch("monitor-refused").unwrap();
    build(folder.path(), &["--collect", "none"]);
    let refused = |words: &[&str]| {
        let mut command = holloway_command(words);
        let output = run(command.current_dir(folder.path())).unwrap();
        (output.ending(), output.stderr)
    };
    let (ending, text) = refused(&["run", "--", "./app"]);
    assert_eq!(ending, "exit 2");
    assert!(text.contains("use `holloway monitor -- ./app`"), "{text}");
    let (ending, text) = refused(&["monitor", "-o", "run", "--", "./missing"]);
    assert_eq!(ending, "exit 127");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(!folder.path().join("run").exists());
    let (ending, text) = refused(&["monitor", "-o", "run", "--pid", "999999999"]);
    assert_eq!(ending, "exit 125");
    assert!(text.contains("no process 999999999"), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    let (ending, _) = refused(&["monitor"]);
    assert_eq!(ending, "exit 2");
    for frequency in ["0", "10001", "often"] {
        let (ending, text) = refused(&["monitor", "--frequency", frequency, "--", "./app"]);
        assert_eq!(ending, "exit 2");
        assert!(text.contains("from 1 to 10000"), "{text}");
    }
}
