//! Kills programs with SIGKILL at random moments, for each kind of profile. The profile must
//! contain all paths that ended before, and the file must always be readable. Streams are tested
//! with threads that spool and with a collector. A collector that is killed does not disturb the
//! program, and the report says which words are missing.
//!
//! The program prints the number of finished calls after each call. So for each thread and
//! function, the count must be that number, or one more: a path may be counted before the kill
//! although its call was not printed. The iterations of the program's loop must be those of the
//! finished calls, and of at most one more call.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use holloway_abi::SAMPLE_WORDS;
use holloway_format::{RawProfile, peek_profile};
use holloway_tests::corpus::Random;
use holloway_tests::expect;
use holloway_tests::kind::Kind;
use holloway_tests::machine::Machine;
use holloway_tests::program::{Libc, Program, Variant, profiles};
use holloway_tests::report::{Function, Report};
use holloway_tests::tool::{
    MAX_RUN_TIME, clean, holloway_command, installed, run_ok, scratch, tests_directory,
};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const FUNCTIONS: [&str; 3] = ["work", "hashed", "spin"];
/// Turns of the loop in one call of `spin`.
const TURNS: u64 = 100;

#[test]
fn killed_200_times_nothing_finished_is_lost() {
    kill_often(Kind::Paths, 200);
}

#[test]
fn killed_100_times_without_exits_nothing_finished_is_lost() {
    kill_often(Kind::PathsWithoutExits, 100);
}

#[test]
fn killed_100_times_no_edge_of_a_finished_call_is_lost() {
    kill_often(Kind::Edges, 100);
}

#[test]
fn killed_90_times_no_word_of_a_finished_call_is_lost() {
    kill_often(Kind::Loops, 30);
    kill_often(Kind::Trace, 30);
    kill_often(Kind::Times, 30);
}

#[test]
fn killed_60_times_while_collected_no_word_of_a_finished_call_is_lost() {
    for kind in [Kind::Loops, Kind::Trace, Kind::Times] {
        kill_rounds(kind, 20, &kill_collected);
    }
}

fn kill_often(kind: Kind, rounds: usize) {
    kill_rounds(kind, rounds, &kill_after);
}

/// A function that starts the program, kills it, and reads the progress of each of its threads.
type Kill<'a> = &'a dyn Fn(&Path, &Path, &Path, usize, Moment) -> Vec<[u64; 3]>;

/// When a program is killed.
#[derive(Clone, Copy, Debug)]
struct Moment {
    /// Whether `pause` begins when the first thread has finished a call. If not, it begins at the
    /// program's start.
    is_at_work: bool,
    pause: Duration,
}

impl Moment {
    /// Waits for this moment. The program writes its progress to `file`.
    fn wait(self, file: &Path) {
        if self.is_at_work {
            wait_for("a finished call", || {
                progress(file, 1)[0].iter().any(|n| *n > 0).then_some(())
            });
        }
        std::thread::sleep(self.pause);
    }
}

fn kill_rounds(kind: Kind, rounds: usize, kill: Kill<'_>) {
    let scratch = scratch("kill").unwrap();
    let program = Program::read(&tests_directory().join("programs/killed_anywhere")).unwrap();
    let variant = Variant {
        level: "O2".to_owned(),
        clang: 22,
        lld: false,
        libc: Libc::Glibc,
        machine: Machine::Host,
    };
    let built = program.build(&variant, scratch.path(), Some(&kind.into()));
    let executable = built.unwrap();
    let mut random = Random(2);
    let (mut begun, mut counted) = (0, 0);
    for round in 0..rounds {
        let threads = 1 + round % 4;
        let data = scratch.path().join(format!("data{round}"));
        // One of five programs is killed while it starts.
        let is_at_work = round % 5 != 0;
        let pause = random.below(if is_at_work { 12_000 } else { 1_500 });
        let moment = Moment {
            is_at_work,
            pause: Duration::from_micros(pause),
        };
        let progress = kill(&executable, scratch.path(), &data, threads, moment);
        let total: [u64; 3] = std::array::from_fn(|f| progress.iter().map(|p| p[f]).sum());
        if total[0] == 0 && (!data.is_dir() || profiles(&data).unwrap().is_empty()) {
            continue; // It was killed before its first call, so there is nothing to read.
        }
        let report = Report::of_run(&data).unwrap_or_else(|e| panic!("round {round}: {e:#}"));
        begun += usize::from(total[0] > 0);
        let check = |what: &str, actual: u64, finished: u64, more: u64| {
            assert!(
                (finished..=finished + more * threads as u64).contains(&actual),
                "{} round {round}, killed at {moment:?}: {actual} {what} in the profile, {finished} finished in {threads} threads",
                kind.name()
            );
        };
        for (name, finished) in FUNCTIONS.iter().zip(total) {
            let calls = report.calls(name);
            counted += calls;
            check(&format!("calls of {name}"), calls, finished, 1);
        }
        let turns = expect::runs(&report, kind, "turn", &program.directives.labels);
        check("turns", turns, TURNS * total[2], TURNS);
        std::fs::remove_dir_all(&data).unwrap();
    }
    assert!(
        begun >= rounds / 2,
        "only {begun} of {rounds} got as far as one finished call"
    );
    println!(
        "{rounds} kills, {begun} with finished calls, {counted} calls counted as {}, none lost",
        kind.name()
    );
}

/// Starts the program, kills it, and reads the progress of each of its threads.
fn kill_after(
    executable: &Path,
    folder: &Path,
    data: &Path,
    threads: usize,
    moment: Moment,
) -> Vec<[u64; 3]> {
    let file = fresh_progress(folder);
    let mut command = Command::new(executable);
    clean(&mut command);
    let mut child = started(
        command
            .arg(&file)
            .arg(threads.to_string())
            .env("HOLLOWAY_DATA", data),
    );
    moment.wait(&file);
    child.kill().unwrap();
    child.wait().unwrap();
    progress(&file, threads)
}

/// Does the same with `holloway run`, which is not killed.
fn kill_collected(
    executable: &Path,
    folder: &Path,
    data: &Path,
    threads: usize,
    moment: Moment,
) -> Vec<[u64; 3]> {
    let file = fresh_progress(folder);
    let mut command = holloway_command(["run", "--no-report", "-o"]);
    command.arg(data).arg("--").arg(executable);
    let mut holloway = started(command.arg(&file).arg(threads.to_string()));
    let program = child_of(&holloway);
    moment.wait(&file);
    kill(program);
    let status = holloway.wait().unwrap();
    assert_eq!(
        status.code(),
        Some(128 + 9),
        "holloway run ends as its program did"
    );
    progress(&file, threads)
}

fn fresh_progress(folder: &Path) -> PathBuf {
    let file = folder.join("progress");
    std::fs::write(&file, [0; 4096]).unwrap();
    file
}

fn progress(file: &Path, threads: usize) -> Vec<[u64; 3]> {
    let bytes = std::fs::read(file).unwrap();
    let word = |at: usize| u64::from_le_bytes(bytes[at * 8..at * 8 + 8].try_into().unwrap());
    let words = (0..threads).map(|t| [word(3 * t), word(3 * t + 1), word(3 * t + 2)]);
    words.collect()
}

fn started(command: &mut Command) -> Child {
    let command = command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null()).spawn().unwrap()
}

fn kill(process: u32) {
    run_ok(Command::new("kill").args(["-KILL", &process.to_string()])).unwrap();
}

/// Returns the first child process, after it has started its program.
fn child_of(process: &Child) -> u32 {
    let tasks = format!("/proc/{}/task", process.id());
    let own_exe = std::fs::read_link(format!("/proc/{}/exe", process.id()));
    wait_for("a child of holloway run", || {
        let tasks = std::fs::read_dir(&tasks).ok()?.flatten();
        let lists = tasks.filter_map(|t| std::fs::read_to_string(t.path().join("children")).ok());
        let all: String = lists.collect();
        let child = all.split_whitespace().next()?.parse().ok()?;
        let exe = std::fs::read_link(format!("/proc/{child}/exe")).ok()?;
        (Some(exe) != own_exe.as_ref().ok().cloned()).then_some(child)
    })
}

fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(result) = look() {
            return result;
        }
        assert!(start.elapsed() < MAX_RUN_TIME, "waited in vain for {what}");
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Calls of `f` in the program.
const CALLS: u64 = 3_000_000;

const LONG: &str = "\
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) unsigned f(unsigned n) { return n % 3 ? n * 7 : n ^ 5; }
int main(int argc, char **argv) {
  unsigned sum = 0;
  for (int i = 0; i < 3000000; i++) sum = sum * 31 + f(i);
  FILE *file = fopen(argv[1], \"w\");
  fprintf(file, \"%u\\n\", sum);
  return argc > 2 || fclose(file);
}
";

#[test]
fn a_killed_collector_takes_nothing_from_the_program() {
    let scratch = scratch("collector").unwrap();
    let folder = scratch.path();
    std::fs::write(folder.join("long.c"), LONG).unwrap();
    let clang = installed("clang-22").unwrap();
    let mut plain = Command::new(&clang);
    clean(&mut plain);
    run_ok(
        plain
            .current_dir(folder)
            .args(["-O1", "long.c", "-o", "plain"]),
    )
    .unwrap();
    let wanted = folder.join("wanted");
    run_ok(Command::new(folder.join("plain")).arg(&wanted)).unwrap();
    let wanted = std::fs::read_to_string(wanted).unwrap();
    let mut random = Random(3);
    let (mut cut, mut dropped) = (0, 0);
    for kind in ["loops", "trace", "times"] {
        let program = folder.join(kind);
        let mut woven = holloway_command(["cc", "-O1", "-g", "long.c", "-o"]);
        woven.arg(&program).current_dir(folder);
        run_ok(
            woven
                .env("HOLLOWAY_CLANG", &clang)
                .env("HOLLOWAY_COLLECT", kind),
        )
        .unwrap();
        let all = undisturbed(&program, folder).path_executions();
        for round in 0..6 {
            let pause = Duration::from_micros(random.below(60_000));
            let paths = kill_collector(&program, folder, round, pause, &wanted, all);
            cut += usize::from(paths < all);
            let data = folder.join(format!("{kind}-data{round}"));
            dropped += usize::from(says_from_where(&data, all - paths));
        }
    }
    assert!(
        cut > 3,
        "only {cut} collectors were killed before they had all"
    );
    assert!(dropped > 0, "no thread had to do without its collector");
}

/// A killed collector of a sample: paths that the sample leaves out do not count as missing.
#[test]
fn a_killed_collector_of_a_sample_says_what_is_missing() {
    let scratch = scratch("sampler").unwrap();
    let folder = scratch.path();
    std::fs::write(folder.join("long.c"), LONG).unwrap();
    let mut random = Random(4);
    for kind in ["loops", "trace"] {
        let program = folder.join(kind);
        let mut woven = holloway_command(["cc", "-O1", "-g", "long.c", "-o"]);
        woven.arg(&program).current_dir(folder);
        woven.env("HOLLOWAY_CLANG", installed("clang-22").unwrap());
        run_ok(woven.env("HOLLOWAY_COLLECT", kind)).unwrap();
        // In a sample, paths that are counted next to the rings are shown only in part, and `main`
        // has none of them.
        let paths = |report: &Report| match kind {
            "loops" => {
                let main = report.functions.iter().find(|f| f.name == "main");
                main.map_or(0, Function::total)
            }
            _ => report.path_executions(),
        };
        let all = undisturbed(&program, folder);
        let all = paths(&all);
        let (mut round, mut cut) = (0, 0);
        while cut < 3 {
            round += 1;
            assert!(round < 100, "never killed while it left words out");
            // The pause is longer if the machine starts the collector slowly.
            let pause = Duration::from_micros(random.below(60_000) + 3_000 * round);
            let data = folder.join(format!("{kind}-sample{round}"));
            let result = folder.join("result");
            kill_when(&program, &data, &result, &["--sample", "3"], pause);
            let Some(left_out) = left_out(&data) else {
                continue; // The collector had already read all words.
            };
            cut += u32::from(left_out > 0);
            let report = Report::of_run(&data).unwrap();
            let (paths, missing) = (paths(&report), missing(&report));
            assert_eq!(
                paths + missing + left_out,
                all,
                "{kind}, killed after {pause:?}: {paths} paths counted, {missing} said to be missing, {left_out} left out"
            );
        }
    }
}

/// Returns the number of paths that a killed collector left out of its sample, according to the
/// rings of the only profile; `None` if the collector has finished.
fn left_out(data: &Path) -> Option<u64> {
    let mut profiles = profiles(data).unwrap();
    let bytes = std::fs::read(profiles.pop().unwrap()).unwrap();
    assert!(profiles.is_empty());
    if peek_profile(&bytes).unwrap().sealed {
        return None;
    }
    let raw = RawProfile::parse(&bytes).unwrap();
    Some(raw.rings().iter().map(|ring| ring.left_out).sum())
}

/// Whether the thread of a program dropped words. Then the report must show the position from which
/// on words are missing, and the missing paths are those after it and some that the collector had
/// read.
fn says_from_where(data: &Path, missing: u64) -> bool {
    let mut profiles = profiles(data).unwrap();
    let bytes = std::fs::read(profiles.pop().unwrap()).unwrap();
    assert!(profiles.is_empty());
    if peek_profile(&bytes).unwrap().sealed {
        return false; // The collector had read all words.
    }
    let raw = RawProfile::parse(&bytes).unwrap();
    let [ring] = raw.rings() else {
        panic!("{} rings", raw.rings().len());
    };
    let damage_text = Report::of_run(data).unwrap().json["damage"].to_string();
    let (_, which) = damage_text
        .split_once(&format!("; of thread {} ", ring.tid))
        .unwrap_or_default();
    let is_dropped = ring.missing.is_some_and(|at| at < ring.cursor);
    assert_eq!(which.contains("all "), is_dropped, "{damage_text}");
    let Some((_, all)) = which.split_once("all ") else {
        return false;
    };
    let is_trace = raw.header().profile.kind == holloway_abi::Kind::Trace;
    // `all its paths from 7 on (3)`, `all from 7 on (3)`; `all 3 words from its word 7 on`.
    let (count, first) = match is_trace {
        true => (" on (", "from "),
        false => ("", " from its word "),
    };
    let behind = |words: &str| {
        let actual = all.split_once(words);
        number(actual.unwrap_or_else(|| panic!("{damage_text}")).1)
    };
    // Each path is one word, and the beginning of a thread takes two.
    let word = behind(first) + if is_trace { 2 } else { 0 };
    let words = (ring.cursor - ring.end()) / 4;
    assert_eq!(behind(count), words, "{damage_text}");
    // The words in the ring are the last ones before this position.
    let ring_words = ring.words().count() as u64;
    assert_eq!(
        ring.first() - ring.origin + 4 * ring_words,
        4 * (word - 1),
        "{damage_text}"
    );
    let each = if raw.header().profile.kind == holloway_abi::Kind::Times {
        SAMPLE_WORDS as u64
    } else {
        1
    };
    let behind = ((ring.cursor - ring.origin) / 4 + 1 - word).saturating_sub(ring.controls) / each;
    assert!(
        behind <= missing,
        "{behind} paths after word {word}, {missing} missing"
    );
    true
}

/// A run whose collector is not killed.
fn undisturbed(program: &Path, folder: &Path) -> Report {
    let data = folder.join(format!("{}-all", program.display()));
    let mut command = holloway_command(["run", "--no-report", "-o"]);
    let command = command.arg(&data).arg("--").arg(program);
    run_ok(command.arg(folder.join("result"))).unwrap();
    let report = Report::of_run(&data).unwrap();
    assert_eq!(report.calls("f"), CALLS);
    assert_eq!(missing(&report), 0);
    report
}

/// Returns the number of missing paths in a report.
fn missing(report: &Report) -> u64 {
    let damage = report.json["damage"].as_array().unwrap().iter();
    let damage_text = damage.filter_map(|one| one.as_str()?.split_once(" missing: "));
    // `7 paths are` or `1 path is`.
    damage_text
        .map(|(before, _)| number(before.rsplit(' ').nth(2).unwrap()))
        .sum()
}

/// Returns the number at the beginning of a text.
fn number(text: &str) -> u64 {
    let digits = text.split(|c: char| !c.is_ascii_digit() && c != ',');
    let digits = digits.map(|digits| digits.replace(',', "")).next().unwrap();
    digits.parse().unwrap_or_else(|_| panic!("{text}"))
}

/// Runs a program with a `holloway run` with these options, and kills `holloway run` after a pause.
/// Waits for the end of the program.
fn kill_when(program: &Path, data: &Path, result: &Path, options: &[&str], pause: Duration) {
    let _ = std::fs::remove_file(result);
    let mut command = holloway_command(["run", "--no-report", "-o"]);
    command.arg(data).args(options).arg("--").arg(program);
    let mut holloway = started(command.arg(result));
    let child = child_of(&holloway);
    std::thread::sleep(pause);
    holloway.kill().unwrap();
    holloway.wait().unwrap();
    wait_for("the program's end", || {
        let status = std::fs::read_to_string(format!("/proc/{child}/stat"));
        status.map_or(true, |s| s.contains(") Z ")).then_some(())
    });
}

/// Kills the collector. The program must end normally, and the profile must contain the number of
/// missing paths. Returns the number of paths that are not missing.
fn kill_collector(
    program: &Path,
    folder: &Path,
    round: u32,
    pause: Duration,
    wanted: &str,
    all: u64,
) -> u64 {
    let data = folder.join(format!("{}-data{round}", program.display()));
    let result = folder.join("result");
    kill_when(program, &data, &result, &[], pause);
    let actual = std::fs::read_to_string(&result).unwrap();
    assert_eq!(actual, wanted, "killed after {pause:?}");
    let report = Report::of_run(&data).unwrap_or_else(|e| panic!("killed after {pause:?}: {e:#}"));
    let calls = report.calls("f");
    assert!(calls <= CALLS, "{calls} calls of f: some are invented");
    let (paths, missing) = (report.path_executions(), missing(&report));
    assert_eq!(
        paths + missing,
        all,
        "{}, killed after {pause:?}: {paths} paths counted, {missing} said to be missing",
        program.display()
    );
    paths
}
