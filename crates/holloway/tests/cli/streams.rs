//! Loops and traces: holloway collects streams while programs run, and reports every loss.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use holloway_format::trace::{TraceFile, TraceHead, TraceWriter};
use holloway_format::{FunctionCounts, read_map, read_profile, write_sealed};

use crate::cli_support::{Call, CallResult, Project, Report};

const PROGRAM: &str = r#"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long sink;
static jmp_buf target;
__attribute__((noinline)) long step(int i) {
    if (i & 1) return sink + i * 3;
    if (i % 3 == 0) return sink ^ 5;
    return sink - 1;
}
__attribute__((noinline)) void work(int n) { for (int i = 0; i < n; i++) sink = step(i); }
__attribute__((noinline)) void deep(int n) {
    sink = step(n);
    if (n == 0) longjmp(target, 1);
    deep(n - 1);
    sink = step(n);
}
static void *run(void *n) { work(*(int *)n); return 0; }
static void threads(int n) {
    pthread_t ids[8];
    for (int i = 0; i < 8; i++) pthread_create(&ids[i], 0, run, &n);
    for (int i = 0; i < 8; i++) pthread_join(ids[i], 0);
    for (int i = 0; i < 8; i++) { pthread_create(&ids[0], 0, run, &n); pthread_join(ids[0], 0); }
}
static void forks(int n) {
    work(n);
    for (int i = 0; i < 3; i++) if (!fork()) { work(n); _exit(0); }
    while (wait(0) > 0) {}
}
/* A child that outlives its parent and is never idle. */
static void busy(int n) { if (!fork()) { fclose(stdout); for (int i = 0; i < n; i++) work(n); _exit(0); } }
/* A child that outlives its parent, and works after each byte on stdin. */
static void orphan(int n) {
    if (!fork()) {
        char byte;
        fclose(stdout);
        work(n);
        while (read(0, &byte, 1) > 0) work(n);
        _exit(0);
    }
}
static void jumps(int n) { for (int i = 0; i < n; i++) if (!setjmp(target)) deep(i % 7); }
static void forever(int n) {
    for (int i = 0;; i++) {
        work(n);
        if (i == 3) { puts("going"); fflush(stdout); }
        usleep(1000);
    }
}
int main(int count, char **words) {
    int n = count > 2 ? atoi(words[2]) : 1000;
    if (!strcmp(words[1], "work")) work(n);
    if (!strcmp(words[1], "threads")) threads(n);
    if (!strcmp(words[1], "forks")) forks(n);
    if (!strcmp(words[1], "orphan")) orphan(n);
    if (!strcmp(words[1], "busy")) busy(n);
    if (!strcmp(words[1], "jumps")) jumps(n);
    if (!strcmp(words[1], "killed")) { work(n); raise(SIGKILL); }
    if (!strcmp(words[1], "forever")) forever(n);
    return 0;
}
"#;

/// The longest time that a busy machine may take for a short task.
const TIME_LIMIT: Duration = Duration::from_secs(300);

/// The programs that the tests build, by the names of their files.
const BUILDS: [&str; 6] = [
    "paths",
    "loops",
    "paths-no-exits",
    "loops-no-exits",
    "times",
    "trace",
];

/// The build options of a program.
fn options(build: &str) -> &str {
    match build {
        "paths-no-exits" => "--collect paths --exits off",
        "loops-no-exits" => "--collect loops --exits off",
        "loops" => "--collect loops",
        "times" => "--collect times",
        "trace" => "--collect trace",
        _ => "--collect paths",
    }
}

/// The path of a program. The first call builds all programs for the tests of this file.
fn built(build: &str) -> PathBuf {
    static PROJECT: OnceLock<Project> = OnceLock::new();
    let project = PROJECT.get_or_init(|| {
        let project = Project::new(&[("app.c", PROGRAM)]);
        for build in BUILDS {
            let options = options(build);
            let words = format!("cc {options} -O2 -pthread app.c -o {build}");
            in_own_cache(&project, &words).ok();
        }
        project
    });
    project.path().join(build)
}

/// `holloway WORDS` with a cache in the project's directory.
fn in_own_cache(project: &Project, words: &str) -> Call {
    let cache = project.path().join("cache");
    project.holloway(words).env("HOLLOWAY_CACHE", cache)
}

/// Calls of the program's functions.
fn calls(report: &Report) -> BTreeMap<&'static str, u64> {
    let names = ["step", "work", "deep", "main"];
    names.map(|name| (name, report.calls(name))).into()
}

fn report(project: &Project, run: &str) -> Report {
    let words = format!("report {run} --format json");
    project.holloway(&words).ok().json()
}

fn run(project: &Project, options: &str, build: &str, words: &str) -> CallResult {
    let mut call = project.holloway(&format!("run {options} --no-report --"));
    call.command.arg(built(build)).args(words.split(' '));
    call.result()
}

#[test]
fn streams_give_the_counts_of_paths() {
    for words in [
        "work 300000",
        "threads 100000",
        "forks 100000",
        "jumps 20000",
        "killed 300000",
    ] {
        let project = Project::new(&[]);
        for build in BUILDS {
            run(&project, &format!("-o {build}"), build, words);
        }
        let reports = BUILDS.map(|build| report(&project, build));
        let [paths, loops, no_exits, loops_no_exits, times, trace] = &reports;
        assert_eq!(calls(loops), calls(paths), "{words}: loops");
        let left_frames = |report: &Report| report.0["totals"]["left"].clone();
        assert_eq!(left_frames(loops), left_frames(paths), "{words}: loops");
        // Without exit edges, and in timed paths, left paths are missing.
        let expect = calls(no_exits);
        assert!(expect["step"] > 0, "{words}");
        assert_eq!(calls(loops_no_exits), expect, "{words}: loops, no exits");
        assert_eq!(calls(times), expect, "{words}: times");
        if words.starts_with("jumps") {
            assert!(calls(paths)["deep"] > expect["deep"]);
            // Paths of a trace end at calls, so a left path is counted up to the call.
            let traced = calls(trace);
            assert_eq!(traced["step"], expect["step"]);
            assert!(traced["deep"] > expect["deep"], "{traced:?} {expect:?}");
        } else {
            // A child of `fork` continues in the middle of a path of `main`, so a trace may count
            // `main` differently.
            let mut expect = expect;
            expect.insert("main", trace.calls("main"));
            assert_eq!(calls(trace), expect, "{words}: trace");
        }
    }
}

#[test]
fn a_sample_of_loops_counts_no_frame_as_left() {
    let project = Project::new(&[]);
    run(&project, "-o all", "loops", "jumps 20000");
    run(&project, "-o some --sample 2", "loops", "jumps 20000");
    let [all, some] = ["all", "some"].map(|run| report(&project, run));
    let left_frames = |report: &Report| report.0["totals"]["left"].as_u64().unwrap();
    assert!(left_frames(&all) > 0);
    let damage = some.0["damage"].to_string();
    if damage.contains("was analysed") {
        assert_eq!(left_frames(&some), 0, "{damage}");
        assert!(damage.contains("frames that were left early are not counted"));
    } else {
        assert_eq!(
            left_frames(&some),
            left_frames(&all),
            "nothing was left out of so short a run"
        );
    }
    // Without exit edges, no frame counts as left, however long the stream is.
    run(
        &project,
        "-o no-exits --sample 2",
        "loops-no-exits",
        "jumps 20000",
    );
    let damage = report(&project, "no-exits").0["damage"].to_string();
    assert!(!damage.contains("frames that were left"), "{damage}");
}

#[test]
fn lines_are_counted_alike_wherever_paths_end() {
    let project = Project::new(&[]);
    let lines = BUILDS.map(|build| {
        run(&project, &format!("-o {build}"), build, "work 3000");
        let report = project.holloway(&format!("report {build} --view lines --top 1000"));
        let text = report.ok().stdout;
        // The loop of `work` is one line with a call, which runs once for each turn.
        let line = text.lines().find(|line| line.contains("void work("));
        let count = line.unwrap().split(" │").next().unwrap();
        let count = count.trim().trim_start_matches('≥');
        assert_eq!(count, "3,000", "{build}: {text}");
        let counted = text.lines().filter(|line| line.contains(" │"));
        // Without exit edges, some lines are marked as lower bounds. No frame was left here.
        let plain = counted.map(|line| line.replace('≥', "").trim_start().to_owned());
        plain.collect::<Vec<_>>()
    });
    let [paths, others @ ..] = &lines;
    for lines in others {
        assert_eq!(lines, paths);
    }
}

#[test]
fn a_run_without_a_collector_is_spooled_and_read() {
    let project = Project::new(&[]);
    run(&project, "-o paths", "paths", "threads 100000");
    let expect = calls(&report(&project, "paths"));
    for kind in ["loops", "trace", "times"] {
        let app = built(kind);
        let data = project.path().join(kind);
        let mut call = project.program(app.to_str().unwrap());
        call = call.env("HOLLOWAY_DATA", &data);
        call.command.args(["threads", "100000"]);
        call.ok();
        assert_eq!(calls(&report(&project, kind)), expect, "{kind}");
        // The next run into the directory finishes it: sealed files replace the raw profile.
        let largest_file = || {
            let files = std::fs::read_dir(&data).unwrap();
            files
                .map(|file| file.unwrap().metadata().unwrap().len())
                .max()
        };
        let before = largest_file();
        let mut again = project.holloway("run --no-report --");
        again = again.env("HOLLOWAY_DATA", &data);
        again.command.arg(&app).args(["work", "1"]);
        again.ok();
        assert!(largest_file() < before, "{before:?} {:?}", largest_file());
        let mut expect_with_one_more = expect.clone();
        for name in ["step", "work", "main"] {
            *expect_with_one_more.get_mut(name).unwrap() += 1;
        }
        assert_eq!(
            calls(&report(&project, kind)),
            expect_with_one_more,
            "{kind}"
        );
    }
}

/// Runs the program with 16 threads and without a collector. Returns the run's directory.
fn spooled_threads(project: &Project, kind: &str) -> PathBuf {
    spooled_run(project, kind, "threads 20000")
}

/// Runs the program without a collector, so it spools its streams. Returns the run's directory.
fn spooled_run(project: &Project, kind: &str, words: &str) -> PathBuf {
    let data = project.path().join(kind);
    let app = built(kind);
    let call = project.program(app.to_str().unwrap());
    let mut call = call.env("HOLLOWAY_DATA", &data);
    call.command.args(words.split(' '));
    call.ok();
    data
}

#[test]
fn a_long_analysis_of_spooled_streams_is_announced() {
    let project = Project::new(&[]);
    let data = spooled_run(&project, "trace", "work 5100000");
    let announcement = || {
        let result = project.holloway("trace verify trace").ok();
        let (beginning, end) = result.stderr.split_once(" words of trace, process ")?;
        assert!(
            beginning.trim_start().starts_with("Analysing 10,200,"),
            "{result}"
        );
        let (_, advice) = end.split_once("each question does so: `").unwrap();
        assert!(
            advice.starts_with("HOLLOWAY_DATA=trace holloway run --no-report -- true`"),
            "{result}"
        );
        Some(())
    };
    assert_eq!((announcement(), announcement()), (Some(()), Some(())));
    finishing(&project, &data).ok();
    assert_eq!(announcement(), None);
}

#[test]
fn the_analysis_of_several_spooled_profiles_is_announced_once() {
    let project = Project::new(&[]);
    let data = project.path().join("a run");
    for _ in 0..2 {
        let app = built("trace");
        let call = project.program(app.to_str().unwrap());
        let mut call = call.env("HOLLOWAY_DATA", &data);
        call.command.args(["work", "2600000"]);
        call.ok();
    }
    let mut call = project.holloway("trace verify");
    call.command.arg("a run");
    let result = call.ok();
    let stderr = &result.stderr;
    assert_eq!(stderr.matches("Analysing").count(), 1, "{result}");
    assert!(stderr.contains("Analysing 10,400,"), "{result}");
    let end = " words of 2 profiles that no collector took; each question does so: `HOLLOWAY_DATA='a run' holloway run";
    assert!(stderr.contains(end), "{result}");
}

/// `holloway run` of a program that records nothing. It finishes the directory.
fn finishing(project: &Project, data: &Path) -> Call {
    let call = project.holloway("run --no-report -- true");
    call.env("HOLLOWAY_DATA", data)
}

/// The files of a run by name, without path maps.
fn files(data: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(data).unwrap().map(|file| file.unwrap());
    let files = files.map(|file| {
        let name = file.file_name().into_string().unwrap();
        (name, std::fs::read(file.path()).unwrap())
    });
    files.filter(|(name, _)| !name.ends_with(".hwm")).collect()
}

#[test]
fn an_interrupted_finish_counts_nothing_twice() {
    for (kind, finished_extension, pending_extension) in [
        ("loops", ".hwl", ".sealed.hwl"),
        ("trace", ".hwt", ".rest.hwt"),
        ("times", ".hwv", ".sealed.hwv"),
    ] {
        let project = Project::new(&[]);
        let data = spooled_threads(&project, kind);
        let expect = calls(&report(&project, kind));
        let (name, raw) = files(&data).pop_first().unwrap();
        finishing(&project, &data).ok();
        let stem = name.strip_suffix(".hwp").unwrap();
        let finished = files(&data);
        let finished_name = format!("{stem}{finished_extension}");
        let mut names = [finished_name.clone(), name.clone()];
        names.sort();
        assert!(finished.keys().eq(&names), "{:?}", finished.keys());
        assert_eq!(calls(&report(&project, kind)), expect, "{kind}");

        // Interrupted just before the profile is sealed. The file may also be cut short then.
        let [finished_file, pending_file] = [finished_extension, pending_extension]
            .map(|extension| data.join(format!("{stem}{extension}")));
        std::fs::rename(&finished_file, &pending_file).unwrap();
        for cut in [false, true] {
            if cut {
                std::fs::write(&pending_file, &finished[&finished_name][..60]).unwrap();
            }
            std::fs::write(data.join(&name), &raw).unwrap();
            assert_eq!(calls(&report(&project, kind)), expect, "{kind}: not sealed");
            finishing(&project, &data).ok();
            assert!(files(&data).keys().eq(&names), "{kind}");
            assert_eq!(calls(&report(&project, kind)), expect, "{kind}: again");
            std::fs::rename(&finished_file, &pending_file).unwrap();
            // Interrupted just after the profile is sealed.
            assert_eq!(calls(&report(&project, kind)), expect, "{kind}: sealed");
        }
    }
}

#[test]
fn several_processes_may_finish_one_directory() {
    for kind in ["loops", "trace", "times"] {
        let project = Project::new(&[]);
        let data = spooled_threads(&project, kind);
        let expect = calls(&report(&project, kind));
        let quiet = |mut call: Call| call.command.stderr(Stdio::null()).spawn().unwrap();
        let start = || quiet(finishing(&project, &data));
        let processes = [start(), start(), start()];
        for mut process in processes {
            assert!(process.wait().unwrap().success());
        }
        assert_eq!(calls(&report(&project, kind)), expect, "{kind}");
        assert_eq!(files(&data).len(), 2, "{kind}");
    }
}

/// The run's collector never finds this profile, so the program must not wait for it.
#[test]
fn a_program_that_records_elsewhere_does_not_wait() {
    let project = Project::new(&[]);
    let mut call = project.holloway("run -o run --no-report -- env HOLLOWAY_DATA=elsewhere");
    call.command.arg(built("trace")).args(["work", "300000"]);
    call.result();
    assert_eq!(report(&project, "elsewhere").calls("step"), 300_000);
}

#[test]
fn another_k_links_again_without_weaving() {
    let project = Project::new(&[("app.c", PROGRAM)]);
    let woven = || {
        let mut files = Vec::new();
        let mut open = vec![project.path().join("cache")];
        while let Some(directory) = open.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    let inode = path.metadata().unwrap().ino();
                    files.push((path, inode));
                }
            }
        }
        files.sort();
        files
    };
    in_own_cache(&project, "cc --collect loops -c app.c -o app.o").ok();
    let link = |kind: &str| {
        in_own_cache(&project, &format!("cc --collect {kind} app.o -o app")).ok();
        (woven(), std::fs::read(project.path().join("app")).unwrap())
    };
    let (before, eight) = link("loops");
    assert!(!before.is_empty());
    let (after, nine) = link("loops=9");
    assert_eq!(before, after);
    let build_id_and_k = |bytes: &[u8]| {
        let start = bytes.windows(8).position(|window| window == b"HLWIMAGE");
        let start = start.unwrap();
        (
            bytes[start + 16..start + 32].to_vec(),
            u64::from_le_bytes(bytes[start + 40..start + 48].try_into().unwrap()),
        )
    };
    assert_eq!((build_id_and_k(&eight).1, build_id_and_k(&nine).1), (8, 9));
    assert_eq!(build_id_and_k(&eight).0, build_id_and_k(&nine).0);
}

#[test]
fn wrong_options_are_usage_errors() {
    let project = Project::new(&[("a.c", "int main(void) { return 0; }")]);
    let check = |words: &str, expect: &str| {
        project.holloway(words).exits(2).complains(expect);
    };
    let range = "K is a number of iterations from 2 to 1024, as in loops=8";
    check("cc --collect loops=1 a.c", range);
    check("cc --collect loops=1025 a.c", range);
    check("cc --collect loops=many a.c", range);
    check(
        "cc --collect loop a.c",
        "there are paths, edges, loops (loops=K), trace, variation and times",
    );
    check("cc --collect trace --exits on a.c", "leave it out");
    check("run --k 1 -- ./a", range);
    check("run --sample 0 -- ./a", "one of every N stretches");
    check("run --memory 5 -- ./a", "give a size of 1M or more");
    check(
        "run --memory much -- ./a",
        "give a number of bytes, or one with K, M, G or T",
    );
    check("run --memory 99999999999T -- ./a", "no machine has as much");
    check("trace hot --min-cost x", "give a number");
    let result = project
        .holloway("cc a.c")
        .env("HOLLOWAY_COLLECT", "loops=0")
        .exits(2);
    result.fails_with("HOLLOWAY_COLLECT=loops=0: K is a number");
    let result = project
        .holloway("cc --collect trace a.c")
        .env("HOLLOWAY_EXITS", "on")
        .exits(2);
    result.fails_with("HOLLOWAY_EXITS");
}

#[test]
fn a_sample_says_that_it_is_one() {
    let project = Project::new(&[]);
    run(&project, "-o whole", "loops", "work 1000000");
    run(&project, "-o sample --sample 8", "loops", "work 1000000");
    let (whole, sample) = (report(&project, "whole"), report(&project, "sample"));
    let share = sample.calls("step") as f64 / whole.calls("step") as f64;
    assert!((0.1..0.2).contains(&share), "{share}");
    project
        .holloway("report sample")
        .ok()
        .says("this is a sample: ");
    assert_eq!(damage(&whole), Vec::<String>::new());
}

#[test]
fn a_sample_of_a_trace_is_good_if_it_is_complete() {
    let project = Project::new(&[]);
    run(&project, "-o run --sample 8", "trace", "work 1000000");
    let verified = project.holloway("trace verify run").ok();
    verified
        .says("of what was sampled nothing is missing or damaged")
        .says("they are not of the sample");
    let json = project
        .holloway("trace verify run --format json")
        .ok()
        .json();
    let answer = &json.0["streams"][0]["answer"];
    assert_eq!(
        (&answer["good"], &answer["sample"]),
        (&true.into(), &true.into())
    );
    // Missing events are no damage, because the trace is a sample. But functions that the profile
    // did not count are damage.
    let whole = project.path().join("run");
    let [profile, map] = [".hwp", ".hwm"].map(|end| file_of(&whole, end));
    let sealed = std::fs::read(&profile).unwrap();
    let map = read_map(&std::fs::read(map).unwrap()).unwrap();
    let mut counted = read_profile(&sealed, &map).unwrap();
    assert_eq!(counted.damage.len(), 1, "{:?}", counted.damage);
    let executions = |function: &FunctionCounts| {
        function
            .counts
            .iter()
            .map(|&(_, count)| count.0)
            .sum::<u64>()
    };
    let surplus = counted.functions.iter().map(executions).max().unwrap();
    counted
        .functions
        .retain(|function| executions(function) < surplus);
    std::fs::write(&profile, write_sealed(&counted)).unwrap();
    let result = project.holloway("trace verify run --format json").exits(1);
    let account = &result.json().0["processes"][0];
    assert_eq!(
        (&account["missing"], &account["surplus"]),
        (&0.into(), &surplus.into())
    );
    std::fs::write(&profile, &sealed).unwrap();
    project.holloway("trace verify run").ok();
    let file = file_of(&whole, ".hwt");
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    project
        .holloway("trace verify run")
        .exits(1)
        .says("not good");
}

/// The file of a run whose name ends with `suffix`.
fn file_of(run: &Path, suffix: &str) -> PathBuf {
    let files = std::fs::read_dir(run).unwrap();
    let mut files = files.map(|file| file.unwrap().path());
    let ends = |file: &PathBuf| file.to_str().unwrap().ends_with(suffix);
    files.find(ends).unwrap()
}

/// Writes a trace again as the trace of another process, with only its first blocks, and with
/// correct checksums.
fn forged(trace: &[u8], process: u32, blocks: usize) -> Vec<u8> {
    let trace = TraceFile::read(trace).unwrap();
    let head = TraceHead {
        process,
        ..trace.head
    };
    let mut writer = TraceWriter::new(Vec::new(), &head).unwrap();
    for stream in &trace.streams {
        let id = writer.stream(stream.thread).unwrap();
        for block in stream.blocks().take(blocks) {
            writer.block(id, &block.unwrap()).unwrap();
        }
    }
    writer.finish().unwrap()
}

#[test]
fn a_trace_that_does_not_belong_to_the_profile_is_not_good() {
    let project = Project::new(&[]);
    run(&project, "-o run", "trace", "work 3000");
    run(&project, "-o other", "trace", "work 3001");
    let [files, other_files] = ["run", "other"].map(|run| {
        let path = file_of(&project.path().join(run), ".hwt");
        (std::fs::read(&path).unwrap(), path)
    });
    let [(own_trace, path), (other_trace, _)] = [files, other_files];
    let process = TraceFile::read(&own_trace).unwrap().head.process;
    let other_process = TraceFile::read(&other_trace).unwrap().head.process;
    let verified = || {
        let result = project.holloway("trace verify run --format json").exits(1);
        let verdict = result.json().0;
        assert_eq!(verdict["good"], false);
        project
            .holloway("trace verify run")
            .exits(1)
            .says("not good");
        let account = &verdict["processes"][0];
        assert_eq!(
            (&account["image"], &account["process"]),
            (&"trace".into(), &process.into())
        );
        let numbers =
            ["counted", "missing", "surplus"].map(|field| account[field].as_u64().unwrap());
        (numbers, damage(&Report(verdict)).concat())
    };
    let good = project
        .holloway("trace verify run --format json")
        .ok()
        .json();
    let counted = good.0["processes"][0]["counted"].as_u64().unwrap();
    assert!(counted > 6000, "{counted}");
    assert_eq!(
        (&good.0["good"], &good.0["processes"][0]["missing"]),
        (&true.into(), &0.into())
    );

    // The unchanged trace of another run. No question takes it for the trace of this run.
    std::fs::write(&path, &other_trace).unwrap();
    let (numbers, sentences) = verified();
    assert_eq!(numbers, [counted, counted, 0]);
    let reason = format!("it is of process {other_process}, not {process}");
    assert!(sentences.contains(&reason), "{sentences}");
    project
        .holloway("trace stats run")
        .exits(125)
        .fails_with(&reason);

    // The same trace under this run's name.
    std::fs::write(&path, forged(&other_trace, process, usize::MAX)).unwrap();
    let ([_, missing, surplus], sentences) = verified();
    assert!(missing < 10 && (2..10).contains(&surplus), "{sentences}");
    assert!(sentences.contains("of another run"), "{sentences}");

    // No part of the trace is left.
    std::fs::write(&path, forged(&own_trace, process, 0)).unwrap();
    let (numbers, sentences) = verified();
    assert_eq!(numbers, [counted, counted, 0]);
    assert!(
        sentences.contains("that its profile counted are missing from its trace"),
        "{sentences}"
    );
    for beginning in [&own_trace[..0], &own_trace[..own_trace.len() / 2]] {
        std::fs::write(&path, beginning).unwrap();
        let ([_, missing, surplus], _) = verified();
        assert!(missing > 0 && surplus == 0);
    }
    std::fs::remove_file(&path).unwrap();
    let (numbers, sentences) = verified();
    assert_eq!(numbers, [counted, counted, 0]);
    assert!(sentences.contains("is missing"), "{sentences}");
    for question in [
        "stats",
        "cat",
        "hot",
        "freq step",
        "before step work",
        "context step",
        "loops 2",
        "query step",
    ] {
        let words = format!("trace {question} run");
        project.holloway(&words).exits(125).fails_with("is missing");
    }
    project
        .holloway("trace diff run other")
        .exits(125)
        .fails_with("is missing");
}

#[test]
fn a_chosen_view_of_counts_names_no_other_kinds() {
    let project = Project::new(&[]);
    run(&project, "-o run", "trace", "work 100");
    for view in ["paths", "functions", "blocks", "edges", "lines"] {
        let result = project.holloway(&format!("report run --view {view}")).ok();
        assert_eq!(result.stderr, "", "{view}");
    }
    project
        .holloway("report run --format json")
        .ok()
        .complains("the run also has trace of trace (`holloway trace stats`)");
}

#[test]
fn little_memory_does_not_change_counts_of_paths() {
    let project = Project::new(&[]);
    for kind in ["loops", "trace"] {
        let run = |name: &str, options: &str| {
            let options = format!("-o {kind}-{name} {options}");
            run(&project, &options, kind, "threads 20000");
            calls(&report(&project, &format!("{kind}-{name}")))
        };
        assert_eq!(run("little", "--memory 1M"), run("usual", ""), "{kind}");
    }
}

fn damage(report: &Report) -> Vec<String> {
    let damage = report.0["damage"].as_array().unwrap().iter();
    damage
        .map(|sentence| sentence.as_str().unwrap().to_owned())
        .collect()
}

/// `holloway run` of a program that prints when it has started.
struct Running {
    holloway: std::process::Child,
    program: u32,
}

impl Running {
    fn start(project: &Project, kind: &str) -> Self {
        let mut call = project.holloway("run -o run --no-report --");
        call.command.arg(built(kind)).args(["forever", "3000"]);
        let mut holloway = call
            .command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(holloway.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, "going\n");
        let children = format!("/proc/{0}/task/{0}/children", holloway.id());
        let children = std::fs::read_to_string(children).unwrap();
        let program = children.trim().parse().unwrap();
        Self { holloway, program }
    }

    fn signal(pid: u32, signal: &str) {
        let mut kill = std::process::Command::new("kill");
        let status = kill.args([signal, &pid.to_string()]).status().unwrap();
        assert!(status.success());
    }
}

fn wait_until(what: &str, is_met: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_met() {
        assert!(began.elapsed() < TIME_LIMIT, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_signal_ends_the_program_and_its_counts_are_written() {
    for kind in ["loops", "trace", "times"] {
        let project = Project::new(&[]);
        let mut running = Running::start(&project, kind);
        Running::signal(running.holloway.id(), "-TERM");
        let status = running.holloway.wait().unwrap();
        assert_eq!(status.code(), Some(128 + 15));
        let report = report(&project, "run");
        assert!(report.calls("step") > 9000, "{kind}");
        assert_eq!(damage(&report), Vec::<String>::new(), "{kind}");
    }
}

#[test]
fn a_program_continues_when_its_collector_is_killed() {
    for kind in ["loops", "trace", "times"] {
        let project = Project::new(&[]);
        let mut running = Running::start(&project, kind);
        Running::signal(running.holloway.id(), "-KILL");
        running.holloway.wait().unwrap();
        let alive = || std::path::Path::new(&format!("/proc/{}", running.program)).exists();
        let current_report = || report(&project, "run");
        let misses = |report: &Report| {
            let damage = damage(report);
            damage
                .iter()
                .any(|sentence| sentence.contains("paths are missing"))
        };
        // When its ring is full, the program notices that the collector is gone, and does not wait.
        wait_until("the report says that paths are missing", || {
            misses(&current_report())
        });
        assert!(alive());
        let before_end = current_report();
        Running::signal(running.program, "-KILL");
        wait_until("the program ends", || !alive());
        let after_end = current_report();
        assert!(
            after_end.calls("step") >= before_end.calls("step"),
            "{kind}"
        );
        assert!(misses(&after_end), "{kind}: {:?}", damage(&after_end));
    }
}

#[test]
fn a_process_that_outlives_its_run_keeps_its_counts() {
    for kind in ["loops", "trace", "times"] {
        let project = Project::new(&[]);
        let mut call = project.holloway("run -o run --no-report --");
        call.command.arg(built(kind)).args(["orphan", "50000"]);
        let mut holloway = call.command.stdin(Stdio::piped()).spawn().unwrap();
        let stdin = holloway.stdin.take().unwrap();
        assert!(holloway.wait().unwrap().success());
        // The profile contains the events from the time when holloway ran. Their number is chance.
        let before = report(&project, "run").calls("step");
        drop(stdin);
        let orphan_ended = || {
            let result = project.holloway("report run --format json").ok();
            result.json().calls("step") >= before && !is_running(&project)
        };
        wait_until("the orphan ends", orphan_ended);
        // The next run into the directory finishes it. The result reads the same.
        let counted = report(&project, "run");
        let mut again = project.holloway("run --no-report --");
        again = again.env("HOLLOWAY_DATA", project.path().join("run"));
        again.command.arg(built(kind)).args(["work", "1"]);
        again.ok();
        let finished = report(&project, "run");
        assert_eq!(finished.calls("step"), counted.calls("step") + 1, "{kind}");
        let missing = damage(&finished);
        assert!(
            finished.calls("step") == 50_001 || !missing.is_empty(),
            "{kind}: {missing:?}"
        );
    }
}

#[test]
fn a_busy_orphan_does_not_delay_holloway() {
    let project = Project::new(&[]);
    let began = Instant::now();
    let result = run(&project, "-o run", "loops", "busy 20000");
    assert_eq!(result.code, Some(0), "{result}");
    assert!(began.elapsed() < TIME_LIMIT);
    let is_collected = files(&project.path().join("run"))
        .keys()
        .any(|name| name.ends_with(".hwl"));
    assert!(report(&project, "run").calls("step") > 0);
    wait_until("the orphan ends", || !is_running(&project));
    if is_collected {
        let sentences = damage(&report(&project, "run"));
        let is_reported = sentences
            .iter()
            .any(|sentence| sentence.contains("taken in parts"));
        assert!(is_reported, "sequences were cut where holloway ended");
    }
}

/// Whether a process of a raw profile in the run still exists.
fn is_running(project: &Project) -> bool {
    let files = std::fs::read_dir(project.path().join("run")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let pids = names.filter_map(|name| Some(name.split_once('-')?.0.to_owned()));
    pids.into_iter().any(|pid| {
        std::fs::read_to_string(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| line.contains("orphan") || line.contains("busy"))
    })
}

#[test]
fn k_comes_from_the_build_unless_the_run_sets_it() {
    let project = Project::new(&[]);
    let k = |run: &str| {
        let words = format!("report {run} --view loops --format json");
        project.holloway(&words).ok().json().0["k"]
            .as_u64()
            .unwrap()
    };
    run(&project, "-o built", "loops", "work 1000");
    run(&project, "-o other --k 3", "loops", "work 1000");
    assert_eq!((k("built"), k("other")), (8, 3));
    let text = project.holloway("report other").ok();
    text.says("Loops")
        .says("sequences of up to 3 paths")
        .says("work");
    let stats = project.holloway("report other --view loops --stats").ok();
    assert!(stats.stdout.len() > text.stdout.len(), "{stats}");
    project
        .holloway("report other --view loops --min-share 101")
        .exits(2)
        .complains("give a share from 0% to 100%");
    run(&project, "-o paths", "paths", "work 1000");
    project
        .holloway("report paths --view loops")
        .exits(2)
        .fails_with("build with --collect loops");
}

#[test]
fn a_run_is_not_good_without_one_of_its_profiles() {
    let project = Project::new(&[]);
    let run_path = project.path().join("run");
    run(&project, "-o run", "trace", "work 3000");
    run(&project, "-o other", "trace", "work 3000");
    project.holloway("trace verify run").ok();
    let other = project.path().join("other");
    for end in [".hwt", ".hwp"] {
        let file = file_of(&other, end);
        std::fs::copy(&file, run_path.join(file.file_name().unwrap())).unwrap();
    }
    project.holloway("trace verify run").ok();
    let profile = file_of(&other, ".hwp");
    let deleted_name = profile.file_name().unwrap().to_str().unwrap();
    std::fs::remove_file(run_path.join(deleted_name)).unwrap();
    let why = format!("its profile {deleted_name} is missing");
    let verified = || {
        let result = project.holloway("trace verify run --format json").exits(1);
        let verdict = result.json();
        assert_eq!(verdict.0["good"], false);
        project
            .holloway("trace verify run")
            .exits(1)
            .says("not good");
        damage(&verdict)
    };
    let sentences = verified();
    assert!(
        sentences.len() == 1 && sentences[0].contains(&why),
        "{sentences:?}"
    );
    assert!(damage(&report(&project, "run")).concat().contains(&why));

    // No profile can be read: one is deleted, and only the beginning of the other is left.
    let profile = file_of(&run_path, ".hwp");
    let bytes = std::fs::read(&profile).unwrap();
    std::fs::write(&profile, &bytes[..40]).unwrap();
    assert_eq!(verified().len(), 2);
    std::fs::remove_file(&profile).unwrap();
    assert_eq!(verified().len(), 2);
    for command in ["report run", "trace stats run"] {
        let why = "cannot read any profile in run: ";
        project.holloway(command).exits(125).fails_with(why);
    }
    std::fs::create_dir(project.path().join("empty.hwm")).unwrap();
    for command in ["report empty.hwm", "trace verify empty.hwm"] {
        let why = "cannot find a profile in empty.hwm";
        project.holloway(command).exits(125).fails_with(why);
    }
}

#[test]
fn files_without_their_profile_are_reported() {
    for (kind, extension) in [("loops", ".hwl"), ("times", ".hwv")] {
        let project = Project::new(&[]);
        run(&project, "-o run", kind, "work 3000");
        let file = file_of(&project.path().join("run"), extension);
        std::fs::copy(&file, file.with_file_name(format!("0-gone{extension}"))).unwrap();
        let sentences = damage(&report(&project, "run")).concat();
        let expect = format!("0-gone{extension}: its profile 0-gone.hwp is missing");
        assert!(sentences.contains(&expect), "{kind}: {sentences}");
    }
}

#[test]
fn a_trace_answers_questions() {
    let project = Project::new(&[]);
    run(&project, "-o run", "trace", "threads 1000");
    let ask = |words: &str| project.holloway(&format!("trace {words}")).ok();
    ask("stats run").says("17 traces").says("Events");
    let files = std::fs::read_dir(project.path().join("run")).unwrap();
    let mut names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let file = names.find(|name| name.ends_with(".hwt")).unwrap();
    ask(&format!("stats run/{file}")).says("17 traces");
    ask("verify run").says("just the events that came");
    ask("hot run --min-cost 5% --cost paths --max-len 4").says("step#");
    ask("loops 4 run").says("work#");
    ask("context step run").says("work");
    let stats = ask("stats run --format json").json();
    assert_eq!(stats.0["streams"].as_array().unwrap().len(), 17);
    // One of the threads that work.
    let threads = stats.0["streams"].as_array().unwrap().iter();
    let mut threads = threads.filter(|stream| stream["events"].as_u64() > Some(1000));
    let thread = threads.next().unwrap()["thread"].as_u64().unwrap();
    let cat = ask(&format!(
        "cat run --thread {thread} --from 1 --count 3 --format json"
    ));
    cat.says("step").says("work");
    let lines = |words: &str| {
        let text = ask(&format!("cat run --thread {thread} {words}")).stdout;
        let lines: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
        lines
    };
    let all = lines("");
    let later = lines("--from 700");
    assert!(later.len() > 300 && all.len() > later.len());
    assert!(all.ends_with(&later), "{later:?}");
    project
        .holloway("trace stats run --thread 1")
        .exits(2)
        .fails_with("no such thread in run: it has thread ");
    project
        .holloway("trace stats run --image nosuch")
        .exits(2)
        .fails_with("no trace of an image `nosuch` in run: it has trace");
    project
        .holloway("trace stats run --process 1")
        .exits(2)
        .fails_with("no trace of a process 1 in run: it has ");
    let map = file_of(&project.path().join("run"), ".hwm");
    for command in ["trace verify", "report"] {
        let call = project.holloway(command).arg(map.to_str().unwrap());
        call.exits(2)
            .fails_with("is a path map, which has no counts: name the run's directory");
    }
    project
        .holloway("trace freq stp:0 run")
        .exits(2)
        .fails_with("no function `stp` was recorded");
    project
        .holloway("trace freq ./run run")
        .exits(2)
        .fails_with("./run is a directory: the run comes last");
    let shown = project.holloway("report run --top 0").ok();
    shown.says("17 traces not shown");
    assert!(!shown.stdout.contains("no trace"), "{}", shown.stdout);
    ask("diff run run --top 3")
        .says("from the first event to the last")
        .says("14 more pairs");
    project
        .holloway(&format!("trace diff run run --thread-a {thread}"))
        .exits(2)
        .fails_with("choose one of each with --thread-a and --thread-b");
    ask(&format!("diff run run --thread {thread}"));
    project
        .holloway("trace hot run --min-len 5 --max-len 3")
        .exits(2)
        .fails_with("--min-len 5 is more than --max-len 3");
    project.holloway("report run").ok().says("Hot sequences");
    run(&project, "-o paths", "paths", "work 1000");
    project.holloway("trace stats paths").exits(2).fails_with(
        "paths: no traces were recorded: build with --collect trace to see them; there are paths",
    );
}

/// Each of the names exists, but not in combination. The error names the first option that leaves
/// no trace. It names the process with 17 threads once.
#[test]
fn an_empty_choice_is_an_error_that_names_the_first_option_to_blame() {
    let project = Project::new(&[("app.c", PROGRAM)]);
    in_own_cache(&project, "cc --collect trace -O1 -pthread app.c -o copy").ok();
    let copy = project.path().join("copy");
    for (app, words) in [(built("trace"), "threads 1000"), (copy, "work 10")] {
        let call = project.program(app.to_str().unwrap());
        let mut call = call.env("HOLLOWAY_DATA", project.path().join("run"));
        call.command.args(words.split(' '));
        call.ok();
    }
    let stats = project
        .holloway("trace stats run --format json")
        .ok()
        .json();
    let streams = stats.0["streams"].as_array().unwrap();
    let ids_of = |image: &str| {
        let mut streams = streams.iter().filter(|stream| stream["image"] == image);
        let stream = streams.next().unwrap();
        ["process", "thread"].map(|id| stream[id].as_u64().unwrap())
    };
    let ([process, _], [later, id]) = (ids_of("trace"), ids_of("copy"));
    let refused = |choice: &str, why: String| {
        let call = project.holloway(&format!("trace stats run {choice}"));
        call.exits(2).fails_with(&why);
    };
    let in_run = "in run: it has";
    refused(
        "--process 1",
        format!("no trace of a process 1 {in_run} {process} (trace), {later} (copy)"),
    );
    refused(
        &format!("--image trace --process {later}"),
        format!("no trace of a process {later} of `trace` {in_run} {process} (trace)"),
    );
    refused(
        &format!("--image trace --process {process} --thread {id}"),
        format!("no such thread of process {process} of `trace` {in_run} thread {process} of"),
    );
}

const RUST: &str = r#"
#[inline(never)]
fn step(n: u64) -> u64 { if std::hint::black_box(n) & 1 == 0 { n / 2 } else { 3 * n + 1 } }
#[inline(never)]
fn collatz(mut n: u64) -> u64 { let mut turns = 0; while n != 1 { n = step(n); turns += 1; } turns }
fn main() { println!("{}", collatz(27)); }
#[test] fn of_27() { assert_eq!(collatz(27), 111); }
#[test] #[should_panic] fn left() { assert_eq!(collatz(27), 3); }
"#;

#[test]
fn cargo_verbs_collect_too() {
    let project = Project::binary("", RUST);
    let latest_report = || project.holloway("report --format json").ok().json();
    let result = project.cargo_holloway("run --collect loops=3").ok();
    result
        .says("111")
        .says("Loops")
        .says("sequences of up to 3 paths");
    assert_eq!(latest_report().calls("step"), 111);
    let result = project.cargo_holloway("test --collect trace").ok();
    result.says("Hot sequences");
    assert_eq!(latest_report().calls("step"), 222);
    project.cargo_holloway("trace freq app::collatz:0").ok();
    project
        .cargo_holloway("run --collect trace --exits on")
        .exits(2)
        .fails_with("leave it out");
}
