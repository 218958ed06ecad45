//! What cannot work: one line names the problem and the remedy, and earlier samples are kept.

use std::path::{Path, PathBuf};
use std::process::Command;

use holloway_tests::tool::{clean, holloway, holloway_command, installed, run, run_ok, scratch};

use crate::app::{Running, build, function, json, record_file, samples_of};

#[test]
fn a_truncated_file_is_named_in_one_line() {
    let folder = scratch("monitor-truncated").unwrap();
    build(folder.path(), &["--collect", "none"]);
    let mut command = holloway_command(["monitor", "-o", "run", "--no-report", "--", "./app"]);
    run(command.current_dir(folder.path())).unwrap();
    let record = record_file(&folder.path().join("run")).unwrap();
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

/// A damaged copy of the program costs the blocks, not the samples.
#[test]
fn a_truncated_copy_of_the_program_costs_its_blocks() {
    let folder = scratch("monitor-copy").unwrap();
    build(folder.path(), &["--collect", "none"]);
    let mut command = holloway_command(["monitor", "-o", "run", "--no-report", "--", "./app"]);
    run(command.current_dir(folder.path())).unwrap();
    let whole = json(folder.path(), "run");
    let copies = std::fs::read_dir(folder.path().join("run")).unwrap();
    let is_copy = |file: &PathBuf| file.extension().is_some_and(|end| end == "elf");
    let copies: Vec<_> = copies
        .map(|file| file.unwrap().path())
        .filter(is_copy)
        .collect();
    let [copy] = &copies[..] else {
        panic!("{copies:?}");
    };
    let bytes = std::fs::read(copy).unwrap();
    for length in [0, 10, 64, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(copy, &bytes[..length]).unwrap();
        let document = json(folder.path(), "run");
        let spin = function(&document, "spin");
        assert_eq!(spin["found_by"], "symbols", "{length}: {spin:#}");
        assert_eq!(samples_of(&document, "spin"), samples_of(&whole, "spin"));
        let output =
            run_ok(holloway_command(["report", "run"]).current_dir(folder.path())).unwrap();
        let text = output.text();
        let reason = "app: the copy of its path map cannot be read";
        assert!(text.contains(reason), "{length}: {text}");
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

/// Another user's process, and the whole machine, are not for everybody.
#[test]
fn missing_permission_is_one_line_with_the_remedy() {
    let folder = scratch("monitor-permission").unwrap();
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    let mut command = match is_root {
        true => {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
            command.arg(holloway());
            command
        }
        false => Command::new(holloway()),
    };
    let out = std::env::temp_dir().join(format!("holloway-refused-{}", std::process::id()));
    clean(command.args(["monitor", "--pid", "1", "-o"]).arg(&out));
    let output = run(command.current_dir(folder.path().parent().unwrap())).unwrap();
    assert_eq!(output.ending(), "exit 125", "{output:?}");
    let text = &output.stderr;
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(
        text.contains("the kernel does not permit to sample process 1"),
        "{text}"
    );
    assert!(
        text.contains("set kernel.perf_event_paranoid to 2 or less"),
        "{text}"
    );
    assert!(!out.exists());
}

/// A command whose files may have this many blocks of 512 bytes.
fn limited(blocks: u64, words: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(installed("sh").unwrap());
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
    clean(command.arg("-c").arg(script).arg("sh").arg(holloway()));
    command.args(words).current_dir(folder);
    command
}

/// A limit of file sizes refuses the writes that a full disk refuses.
#[test]
fn a_full_disk_is_one_line_and_earlier_samples_are_kept() {
    let folder = scratch("monitor-full").unwrap();
    let program = build(folder.path(), &["--collect", "none"]);
    let running = Running::start(&program);
    let process = running.0.id().to_string();
    let watch = ["monitor", "--no-report", "-o", "run", "--pid", &*process];
    let output = run(&mut limited(1, &watch, folder.path())).unwrap();
    assert_eq!(output.ending(), "exit 125", "{output:?}");
    let lines: Vec<&str> = output.stderr.lines().collect();
    let [_watching, error] = lines[..] else {
        panic!("{output:?}");
    };
    assert!(
        error.contains("cannot write ") && error.contains("file too large"),
        "{error}"
    );
    assert!(!folder.path().join("run").exists(), "nothing is left");
    drop(running);

    let mut command = holloway_command(["monitor", "-o", "good", "--no-report", "--", "./app"]);
    run(command.current_dir(folder.path())).unwrap();
    let manager = ["manager", "--store", "store", "good", "--format", "json"];
    let output = run(&mut limited(1, &manager, folder.path())).unwrap();
    assert_eq!(output.ending(), "exit 125", "{output:?}");
    assert_eq!(output.stderr.lines().count(), 1, "{output:?}");
    assert!(output.stderr.contains("make room"), "{output:?}");
    // With room, the same store takes the run.
    run_ok(holloway_command(manager).current_dir(folder.path())).unwrap();
    let stored = json(folder.path(), "store");
    let output = run(&mut limited(1, &manager, folder.path())).unwrap();
    assert_eq!(output.ending(), "exit 125", "{output:?}");
    assert_eq!(json(folder.path(), "store"), stored);
}
