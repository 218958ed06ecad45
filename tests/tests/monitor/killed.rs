//! Kills monitors, programs, and managers with SIGKILL at random moments. At most the samples of
//! the last 10 seconds may be lost, and no stored profile.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use holloway_format::samples::MonitorState;
use holloway_tests::corpus::Random;
use holloway_tests::tool::{clean, holloway, holloway_command, run, run_ok, scratch};
use serde_json::Value;

use crate::app::{Running, build, function, json, record, record_file, samples_of};

/// Time between two writings of the samples.
const INTERVAL: Duration = Duration::from_secs(10);
/// A busy machine delays a writing by less than this.
const DELAY: Duration = Duration::from_secs(10);

/// A monitor of a process, and the moment since when it watches.
struct Monitor {
    child: Child,
    start: Instant,
}

impl Monitor {
    fn start(process: u32, run: &Path) -> Self {
        let mut command = Command::new(holloway());
        clean(command.args(["monitor", "--no-report", "-o"]).arg(run));
        command.arg("--pid").arg(process.to_string());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut messages = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(messages.any(|line| line.unwrap().contains("Watching")));
        let start = Instant::now();
        Self { child, start }
    }
}

#[test]
fn a_killed_monitor_loses_the_samples_of_the_last_10_seconds_at_most() {
    let folder = scratch("monitor-kill").unwrap();
    let program = build(folder.path(), &["--collect", "none"]);
    let running = Running::start(&program);
    let run = |number: usize| folder.path().join(format!("run{number}"));
    let mut random = Random(7);
    let monitors = (0..6).map(|number| {
        let moment = Duration::from_millis(random.below(20_000));
        (moment, Monitor::start(running.0.id(), &run(number)))
    });
    let mut monitors: Vec<_> = monitors.collect();
    let mut with_samples = 0;
    // Each monitor is killed at its own moment.
    let mut order: Vec<usize> = (0..monitors.len()).collect();
    order.sort_by_key(|&number| monitors[number].0);
    for number in order {
        let (moment, monitor) = &mut monitors[number];
        std::thread::sleep((INTERVAL / 2 + *moment).saturating_sub(monitor.start.elapsed()));
        let watched = monitor.start.elapsed();
        monitor.child.kill().unwrap();
        monitor.child.wait().unwrap();
        let kept = record(&run(number));
        let duration = kept.as_ref().map_or(0, |record| record.duration_ns);
        let lost = watched.saturating_sub(Duration::from_nanos(duration));
        assert!(
            lost <= INTERVAL + DELAY,
            "killed after {watched:?}, kept {duration} ns"
        );
        let Some(kept) = kept else {
            continue;
        };
        assert_eq!((kept.state, kept.lost), (MonitorState::Watching, 0));
        let name = format!("run{number}");
        let document = json(folder.path(), &name);
        assert_eq!(document["state"], "watching");
        assert_eq!(function(&document, "spin")["found_by"], "blocks");
        assert!(samples_of(&document, "spin") > 50, "{document:#}");
        with_samples += 1;
    }
    assert!(
        with_samples >= 3,
        "only {with_samples} monitors wrote samples"
    );
}

/// Units of CPU time in a second.
const TICKS: u64 = 100;

/// The CPU time of a program in user mode.
fn cpu_time(running: &Running) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", running.0.id())).unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    fields.split(' ').nth(11).unwrap().parse().unwrap()
}

/// The monitor has all samples of a program that is killed: about as many as its CPU time says.
#[test]
fn a_killed_program_loses_no_sample() {
    let folder = scratch("monitor-killed").unwrap();
    let program = build(folder.path(), &["--collect", "none"]);
    let mut random = Random(8);
    for round in 0..6 {
        let running = Running::start(&program);
        let name = format!("run{round}");
        let mut monitor = Monitor::start(running.0.id(), &folder.path().join(&name));
        let before = cpu_time(&running);
        std::thread::sleep(Duration::from_millis(random.below(1500)));
        let used = cpu_time(&running) - before;
        drop(running);
        assert!(monitor.child.wait().unwrap().success());
        let kept = record(&folder.path().join(&name)).unwrap();
        assert_eq!((kept.state, kept.lost), (MonitorState::Ended, 0));
        let expected = used * kept.frequency / TICKS;
        let samples = kept.total().0;
        // Periods are random, and the CPU time is known to a hundredth of a second.
        assert!(
            2 * samples + 40 >= expected,
            "{samples} samples, about {expected} expected"
        );
        if samples > 100 {
            let document = json(folder.path(), &name);
            assert!(samples_of(&document, "spin") > 50, "{document:#}");
        }
    }
}

#[test]
fn samples_of_a_program_and_its_children_that_are_killed_are_kept() {
    let folder = scratch("monitor-killed-children").unwrap();
    build(folder.path(), &["--collect", "none"]);
    let script = "./app forever & sleep 2; kill -KILL $!; kill -KILL $$";
    let mut command = holloway_command(["monitor", "-o", "run", "--no-report", "--", "sh", "-c"]);
    let output = run(command.arg(script).current_dir(folder.path())).unwrap();
    assert_eq!(output.ending(), "exit 137", "{output:?}");
    let document = json(folder.path(), "run");
    assert_eq!(document["state"], "ended");
    assert!(samples_of(&document, "spin") > 50, "{document:#}");
}

/// A manager is killed again and again while it adds runs. What it stored once stays stored, and in
/// the end each run was added exactly once.
#[test]
fn killed_managers_lose_no_stored_profile() {
    let folder = scratch("manager-kill").unwrap();
    build(folder.path(), &["--collect", "none"]);
    let mut command = holloway_command(["monitor", "-o", "first", "--no-report", "--", "./app"]);
    run(command.current_dir(folder.path())).unwrap();
    let runs = folder.path().join("runs");
    let add_run = |number: usize| {
        let copy = runs.join(number.to_string());
        std::fs::create_dir_all(&copy).unwrap();
        for file in std::fs::read_dir(folder.path().join("first")).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), copy.join(file.file_name())).unwrap();
        }
    };
    let manager = |runs: &str| {
        let mut command = Command::new(holloway());
        let words = ["manager", "--store", "store", runs, "--format", "json"];
        clean(command.args(words).current_dir(folder.path()));
        command
    };
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    let stored = || -> u64 {
        let output = run_ok(&mut manager("empty")).unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let programs = document["programs"].as_array().unwrap();
        programs
            .iter()
            .map(|program| program["samples"].as_u64().unwrap())
            .sum()
    };
    // Managers are killed within the time that an update takes on this machine. Other work on the
    // machine changes this time. So the time grows after each kill, and shrinks after each update
    // that ended before its manager could be killed.
    let mut update = {
        (0..4).for_each(add_run);
        let start = Instant::now();
        let mut command = holloway_command(["manager", "--store", "timed", "runs"]);
        run_ok(command.current_dir(folder.path())).unwrap();
        u64::try_from(start.elapsed().as_micros()).unwrap()
    };
    let mut random = Random(9);
    let (mut kept, mut interrupted) = (0, 0);
    let rounds = 30;
    for round in 0..rounds {
        (0..4).for_each(|copy| add_run(4 * round + copy));
        let mut command = manager("runs");
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(random.below(update)));
        child.kill().unwrap();
        let was_killed = !child.wait().unwrap().success();
        interrupted += usize::from(was_killed);
        update = match was_killed {
            true => update + update / 4,
            false => update - update / 4,
        };
        let now = stored();
        assert!(
            now >= kept,
            "round {round}: {kept} samples were stored, {now} are left"
        );
        kept = now;
    }
    assert!(
        interrupted >= rounds / 6,
        "only {interrupted} of {rounds} managers were killed"
    );
    run_ok(&mut manager("runs")).unwrap();
    let one = record(&folder.path().join("first")).unwrap();
    assert!(record_file(&folder.path().join("store")).is_some());
    let in_blocks = {
        let mut alone =
            holloway_command(["manager", "--store", "alone", "first", "--format", "json"]);
        let output = run_ok(alone.current_dir(folder.path())).unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        document["programs"][0]["samples"].as_u64().unwrap()
    };
    assert!(in_blocks > 0 && in_blocks <= one.total().0);
    assert_eq!(stored(), 4 * rounds as u64 * in_blocks);
}
