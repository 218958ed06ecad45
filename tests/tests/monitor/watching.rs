//! Programs are watched from their first instruction, while they run, in containers, and after they
//! are gone.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use holloway_tests::tool::{clean, holloway, holloway_command, run, run_ok, scratch};
use serde_json::Value;

use crate::app::{SOURCE, build, function, json, samples_of};

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
    assert_eq!(
        samples_of(&document, "spin"),
        samples_of(&without_program, "spin")
    );
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

/// A container has a file system of its own. The monitor does not see the program at its path.
#[test]
fn a_program_in_a_container_has_blocks() {
    let folder = scratch("monitor-container").unwrap();
    let program = build(folder.path(), &["--collect", "none"]);
    let inside = folder.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    let mut container = Command::new("unshare");
    clean(container.args(["--map-root-user", "--mount", "sh", "-c"]));
    container.arg("mount -t tmpfs none inside && cp app inside && exec inside/app forever");
    let mut container = container.current_dir(folder.path()).spawn().unwrap();
    let executable = format!("/proc/{}/exe", container.id());
    let runs = || std::fs::read_link(&executable).is_ok_and(|path| path.ends_with("inside/app"));
    while !runs() {
        assert!(container.try_wait().unwrap().is_none(), "no container");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!inside.join("app").exists());
    let mut command = Command::new(holloway());
    clean(command.args(["monitor", "--no-report", "-o", "run", "--pid"]));
    command
        .arg(container.id().to_string())
        .current_dir(folder.path());
    let mut monitor = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut messages = BufReader::new(monitor.stderr.take().unwrap()).lines();
    assert!(messages.any(|line| line.unwrap().contains("Watching")));
    std::thread::sleep(Duration::from_secs(2));
    container.kill().unwrap();
    container.wait().unwrap();
    assert!(monitor.wait().unwrap().success());
    std::fs::remove_file(program).unwrap();
    let document = json(folder.path(), "run");
    let spin = function(&document, "spin");
    assert_eq!(spin["found_by"], "blocks", "{document:#}");
    assert!(spin["samples"].as_u64().unwrap() > 50, "{document:#}");
}

/// The samples stay those of the watched build, whatever becomes of its file.
#[test]
fn a_rebuilt_program_does_not_change_earlier_samples() {
    let folder = scratch("monitor-rebuilt").unwrap();
    let program = build(folder.path(), &["--collect", "none"]);
    let mut command = holloway_command(["monitor", "-o", "run", "--no-report", "--", "./app"]);
    run(command.current_dir(folder.path())).unwrap();
    let before = json(folder.path(), "run");
    std::fs::remove_file(&program).unwrap();
    let other = SOURCE
        .replace("spin", "other_name")
        .replace("turn(", "other_turn(");
    std::fs::write(folder.path().join("app.c"), other).unwrap();
    let mut command =
        holloway_command(["cc", "--collect", "none", "-O1", "-g", "app.c", "-o", "app"]);
    command.env("HOLLOWAY_CACHE", folder.path().join("cache"));
    run_ok(command.arg("-lpthread").current_dir(folder.path())).unwrap();
    let after = json(folder.path(), "run");
    for name in ["spin", "turn"] {
        assert_eq!(samples_of(&before, name), samples_of(&after, name));
    }
}
