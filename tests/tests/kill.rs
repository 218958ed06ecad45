//! SIGKILL at random moments: whatever was finished before it is counted, and the file is always readable.
//!
//! The program says after each finished call how many it has finished. So for each thread and function the count must
//! be the progress, or one more: the call whose path was counted, and the kill came before it was told.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use holloway_tests::corpus::Random;
use holloway_tests::program::{Program, Variant, profiles};
use holloway_tests::report::Report;
use holloway_tests::tool::{clean, scratch, tests_directory};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const FUNCTIONS: [&str; 2] = ["work", "hashed"];

#[test]
fn killed_200_times_nothing_finished_is_lost() {
    let scratch = scratch("kill").unwrap();
    let program = Program::read(&tests_directory().join("programs/killed_anywhere")).unwrap();
    let variant = Variant {
        level: "O2".to_owned(),
        clang: 22,
        lld: false,
    };
    let executable = program.build(&variant, scratch.path(), true).unwrap();
    let mut random = Random(2);
    let (mut begun, mut counted) = (0, 0);
    for round in 0..200 {
        let threads = 1 + round % 4;
        let data = scratch.path().join(format!("data{round}"));
        let pause =
            Duration::from_micros(random.below(if round % 5 == 0 { 1_500 } else { 12_000 }));
        let progress = kill_after(&executable, scratch.path(), &data, threads, pause);
        let total: [u64; 2] = std::array::from_fn(|f| progress.iter().map(|p| p[f]).sum());
        if total[0] == 0 && (!data.is_dir() || profiles(&data).unwrap().is_empty()) {
            continue; // Killed before its first call: there is nothing to be read yet.
        }
        let report = Report::of_run(&data).unwrap_or_else(|e| panic!("round {round}: {e:#}"));
        begun += usize::from(total[0] > 0);
        for (name, finished) in FUNCTIONS.iter().zip(total) {
            let calls = report.calls(name);
            counted += calls;
            assert!(
                (finished..=finished + threads as u64).contains(&calls),
                "round {round}, killed after {pause:?}: {calls} calls of {name} in the profile, {finished} finished in {threads} threads"
            );
        }
        std::fs::remove_dir_all(&data).unwrap();
    }
    assert!(
        begun >= 100,
        "only {begun} of 200 got as far as one finished call"
    );
    println!("200 kills, {begun} with finished calls, {counted} calls counted, none lost");
}

/// Starts the program, kills it, and reads how far each of its threads said it was.
fn kill_after(
    executable: &Path,
    folder: &Path,
    data: &Path,
    threads: usize,
    pause: Duration,
) -> Vec<[u64; 2]> {
    let file = folder.join("progress");
    std::fs::write(&file, [0; 4096]).unwrap();
    let mut command = Command::new(executable);
    clean(&mut command);
    command
        .arg(&file)
        .arg(threads.to_string())
        .env("HOLLOWAY_DATA", data);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(pause);
    child.kill().unwrap();
    child.wait().unwrap();
    let bytes = std::fs::read(&file).unwrap();
    let word = |at: usize| u64::from_le_bytes(bytes[at * 8..at * 8 + 8].try_into().unwrap());
    (0..threads)
        .map(|t| [word(2 * t), word(2 * t + 1)])
        .collect()
}
