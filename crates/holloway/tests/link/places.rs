//! Where programs that are started by hand leave their runs, and how `holloway report` finds them.

use std::path::{Path, PathBuf};

use crate::link_support::{Sandbox, succeed};

const PROGRAM: &str = "
#include <stdlib.h>
static int halve(int n) { int steps = 0; while (n > 1) { n /= 2; steps++; } return steps; }
int main(int count, char **words) { return count > 1 ? halve(atoi(words[1])) == 0 : 0; }
";

/// The size of all files and directories below a directory, as `du` counts.
fn disk_use(directory: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let size = |path: &Path| path.symlink_metadata().unwrap().blocks() * 512;
    let entries = std::fs::read_dir(directory).unwrap();
    let below = entries.map(|entry| {
        let path = entry.unwrap().path();
        match path.symlink_metadata().unwrap().is_dir() {
            true => disk_use(&path),
            false => size(&path),
        }
    });
    size(directory) + below.sum::<u64>()
}

/// The directory of the runs of the programs in a directory of the sandbox.
fn runs_of(sandbox: &Sandbox, directory: &Path) -> PathBuf {
    let path = directory.canonicalize().unwrap();
    let name = path.to_str().unwrap()[1..].replace('/', "%");
    sandbox.path("state/holloway/runs").join(name)
}

/// The output of `holloway report` in a directory of the sandbox, and its notes.
fn report_in(sandbox: &Sandbox, directory: &Path) -> (String, String) {
    let mut report = sandbox.holloway("report --format text");
    let output = report.current_dir(directory).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{stderr}");
    (stdout, stderr)
}

#[test]
fn a_program_started_by_hand_leaves_no_run_in_the_source_tree() {
    let sandbox = Sandbox::new();
    sandbox.write("src/app.c", PROGRAM);
    let source = sandbox.path("src");
    succeed(sandbox.holloway("cc -O1 -o app app.c").current_dir(&source));
    let run = |program: &Path, directory: &Path| {
        succeed(sandbox.command(program).arg("1000").current_dir(directory));
    };
    run(&source.join("app"), &source);
    assert!(!source.join("target").exists());
    assert!(runs_of(&sandbox, &source).join("latest").is_dir());
    let (report, notes) = report_in(&sandbox, &source);
    assert!(
        report.contains("halve") && notes.is_empty(),
        "{report}{notes}"
    );

    // The report finds the run from the directories above and below too.
    let below = sandbox.path("src/doc");
    std::fs::create_dir(&below).unwrap();
    for directory in [&below, &sandbox.path(".")] {
        let (report, notes) = report_in(&sandbox, directory);
        assert!(
            report.contains("halve") && notes.is_empty(),
            "{report}{notes}"
        );
    }

    // An installed copy, after the build directory was deleted.
    let bin = sandbox.path("usr/bin");
    let work = sandbox.path("work");
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::create_dir(&work).unwrap();
    std::fs::copy(source.join("app"), bin.join("app")).unwrap();
    std::fs::remove_dir_all(&source).unwrap();
    std::fs::remove_dir_all(sandbox.path("state")).unwrap();
    run(&bin.join("app"), &work);
    let (report, notes) = report_in(&sandbox, &work);
    assert!(report.contains("halve"), "{report}");
    assert!(notes.contains("this is your newest run"), "{notes}");
    assert!(!source.exists() && !work.join("target").exists());
}

#[test]
fn fifty_short_runs_leave_little_behind() {
    let sandbox = Sandbox::new();
    sandbox.write("app.c", PROGRAM);
    for kind in ["loops", "trace", "variation", "times"] {
        sandbox.build(&format!("cc -O1 --collect {kind} -o app-{kind} app.c"));
        let data = sandbox.path(kind);
        for _ in 0..50 {
            let mut command = sandbox.command(sandbox.path(&format!("app-{kind}")));
            succeed(command.arg("1000").env("HOLLOWAY_DATA", &data));
        }
        let size = disk_use(&data);
        assert!(size < 50 * 40_000, "{kind}: {size} bytes");
    }
}

/// A run that no command has read yet needs its program. If the program was moved, the message says
/// how to read the run.
#[test]
fn a_moved_program_can_be_put_back() {
    let sandbox = Sandbox::new();
    sandbox.write("app.c", PROGRAM);
    sandbox.build("cc -O1 -o app app.c");
    let [program, moved, data] = ["app", "moved", "data"].map(|name| sandbox.path(name));
    let mut run = sandbox.command(&program);
    succeed(run.arg("1000").env("HOLLOWAY_DATA", &data));
    let report = || {
        sandbox
            .holloway("report --format text data")
            .output()
            .unwrap()
    };

    std::fs::rename(&program, &moved).unwrap();
    let without_program = report();
    let message = String::from_utf8_lossy(&without_program.stderr);
    let remedy = "app: No such file or directory (os error 2); put the program back there as it was built, or record the run again";
    assert!(message.contains(remedy), "{without_program:?}");

    std::fs::rename(&moved, &program).unwrap();
    let with_program = report();
    let text = String::from_utf8_lossy(&with_program.stdout);
    assert!(text.contains("halve"), "{with_program:?}");
}
