//! Loops and traces: streams are collected while programs run, and every loss is reported.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use holloway_format::trace::{TraceFile, TraceHead, TraceWriter};
use holloway_format::{FunctionCounts, decode_image, read_profile, write_sealed};

use crate::cli_support::{Call, Done, Project, Report};

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
static jmp_buf place;
__attribute__((noinline)) long step(int i) {
    if (i & 1) return sink + i * 3;
    if (i % 3 == 0) return sink ^ 5;
    return sink - 1;
}
__attribute__((noinline)) void work(int n) { for (int i = 0; i < n; i++) sink = step(i); }
__attribute__((noinline)) void deep(int n) {
    sink = step(n);
    if (n == 0) longjmp(place, 1);
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
/* A child that outlives its parent, and works when told to. */
static void orphan(int n) {
    if (!fork()) {
        char told;
        fclose(stdout);
        work(n);
        while (read(0, &told, 1) > 0) work(n);
        _exit(0);
    }
}
static void jumps(int n) { for (int i = 0; i < n; i++) if (!setjmp(place)) deep(i % 7); }
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

/// Longest time that a busy machine may take for a short task.
const PATIENCE: Duration = Duration::from_secs(300);

const KINDS: [&str; 6] = ["paths", "loops", "closed", "loops-closed", "times", "trace"];

/// The build options of each program.
fn options(kind: &str) -> &str {
    match kind {
        "closed" => "--collect paths --exits off",
        "loops-closed" => "--collect loops --exits off",
        "loops" => "--collect loops",
        "times" => "--collect times",
        "trace" => "--collect trace",
        _ => "--collect paths",
    }
}

/// The program woven for each kind, made once for all tests of this file.
fn built(kind: &str) -> PathBuf {
    static PROJECT: OnceLock<Project> = OnceLock::new();
    let project = PROJECT.get_or_init(|| {
        let project = Project::new(&[("app.c", PROGRAM)]);
        for kind in KINDS {
            let options = options(kind);
            let words = format!("cc {options} -O2 -pthread app.c -o {kind}");
            in_own_cache(&project, &words).ok();
        }
        project
    });
    project.path().join(kind)
}

fn in_own_cache(project: &Project, words: &str) -> Call {
    let cache = project.path().join("cache");
    project.holloway(words).env("HOLLOWAY_CACHE", cache)
}

/// Calls of the program's functions.
fn calls(report: &Report) -> BTreeMap<&'static str, u64> {
    let names = ["step", "work", "deep", "main"];
    names.map(|name| (name, report.calls(name))).into()
}

fn report(place: &Project, run: &str) -> Report {
    let words = format!("report {run} --format json");
    place.holloway(&words).ok().json()
}

fn run(place: &Project, options: &str, kind: &str, words: &str) -> Done {
    let mut call = place.holloway(&format!("run {options} --no-report --"));
    call.command.arg(built(kind)).args(words.split(' '));
    call.done()
}

#[test]
fn streams_come_to_the_counts_of_paths() {
    for words in [
        "work 300000",
        "threads 100000",
        "forks 100000",
        "jumps 20000",
        "killed 300000",
    ] {
        let place = Project::new(&[]);
        for kind in KINDS {
            run(&place, &format!("-o {kind}"), kind, words);
        }
        let reports = KINDS.map(|kind| report(&place, kind));
        let [paths, loops, closed, loops_closed, times, trace] = &reports;
        assert_eq!(calls(loops), calls(paths), "{words}: loops");
        let left = |report: &Report| report.0["totals"]["left"].clone();
        assert_eq!(left(loops), left(paths), "{words}: loops");
        // Without exit edges, and in timed paths, left paths are missing.
        let expect = calls(closed);
        assert!(expect["step"] > 0, "{words}");
        assert_eq!(calls(loops_closed), expect, "{words}: loops, closed");
        assert_eq!(calls(times), expect, "{words}: times");
        if words.starts_with("jumps") {
            assert!(calls(paths)["deep"] > expect["deep"]);
            // Paths of a trace end at calls, so a left path is counted up to the call.
            let left = calls(trace);
            assert_eq!(left["step"], expect["step"]);
            assert!(left["deep"] > expect["deep"], "{left:?} {expect:?}");
        } else {
            // Where a child of fork goes on is a path of its caller's in the middle.
            let mut expect = expect;
            expect.insert("main", trace.calls("main"));
            assert_eq!(calls(trace), expect, "{words}: trace");
        }
    }
}

#[test]
fn a_sample_of_loops_counts_no_frame_as_left() {
    let place = Project::new(&[]);
    run(&place, "-o all", "loops", "jumps 20000");
    run(&place, "-o some --sample 2", "loops", "jumps 20000");
    let [all, some] = ["all", "some"].map(|run| report(&place, run));
    let left = |report: &Report| report.0["totals"]["left"].as_u64().unwrap();
    assert!(left(&all) > 0);
    let damage = some.0["damage"].to_string();
    if damage.contains("was analysed") {
        assert_eq!(left(&some), 0, "{damage}");
        assert!(damage.contains("frames that were left early are not counted"));
    } else {
        assert_eq!(
            left(&some),
            left(&all),
            "nothing was left out of so short a run"
        );
    }
    // Without exit edges no frame counts as left, however many words there are.
    run(
        &place,
        "-o closed --sample 2",
        "loops-closed",
        "jumps 20000",
    );
    let damage = report(&place, "closed").0["damage"].to_string();
    assert!(!damage.contains("frames that were left"), "{damage}");
}

#[test]
fn lines_are_counted_alike_wherever_paths_end() {
    let place = Project::new(&[]);
    let lines = KINDS.map(|kind| {
        run(&place, &format!("-o {kind}"), kind, "work 3000");
        let report = place.holloway(&format!("report {kind} --view lines --top 1000"));
        let text = report.ok().stdout;
        // The loop of `work` is one line, with a call in it: once a turn.
        let line = text.lines().find(|line| line.contains("void work("));
        let count = line.unwrap().split(" │").next().unwrap();
        let count = count.trim().trim_start_matches('≥');
        assert_eq!(count, "3,000", "{kind}: {text}");
        let counted = text.lines().filter(|line| line.contains(" │"));
        // Without exit edges some are marked as lower bounds; here nothing was left.
        let plain = counted.map(|line| line.replace('≥', "").trim_start().to_owned());
        plain.collect::<Vec<_>>()
    });
    let [paths, others @ ..] = &lines;
    for lines in others {
        assert_eq!(lines, paths);
    }
}

#[test]
fn a_run_without_collector_is_spooled_and_read_all_the_same() {
    let place = Project::new(&[]);
    run(&place, "-o paths", "paths", "threads 100000");
    let expect = calls(&report(&place, "paths"));
    for kind in ["loops", "trace", "times"] {
        let app = built(kind);
        let data = place.path().join(kind);
        let mut call = place.program(app.to_str().unwrap());
        call = call.env("HOLLOWAY_DATA", &data);
        call.command.args(["threads", "100000"]);
        call.ok();
        assert_eq!(calls(&report(&place, kind)), expect, "{kind}");
        // The next run into the directory finishes it: sealed files replace the raw profile.
        let raw = || {
            let files = std::fs::read_dir(&data).unwrap();
            files
                .map(|file| file.unwrap().metadata().unwrap().len())
                .max()
        };
        let before = raw();
        let mut again = place.holloway("run --no-report --");
        again = again.env("HOLLOWAY_DATA", &data);
        again.command.arg(&app).args(["work", "1"]);
        again.ok();
        assert!(raw() < before, "{before:?} {:?}", raw());
        let mut with_one = expect.clone();
        for name in ["step", "work", "main"] {
            *with_one.get_mut(name).unwrap() += 1;
        }
        assert_eq!(calls(&report(&place, kind)), with_one, "{kind}");
    }
}

/// A spooled run of the threads in `data`.
fn spooled(place: &Project, kind: &str) -> PathBuf {
    spooled_run(place, kind, "threads 20000")
}

fn spooled_run(place: &Project, kind: &str, words: &str) -> PathBuf {
    let data = place.path().join(kind);
    let app = built(kind);
    let call = place.program(app.to_str().unwrap());
    let mut call = call.env("HOLLOWAY_DATA", &data);
    call.command.args(words.split(' '));
    call.ok();
    data
}

#[test]
fn who_waits_for_what_no_collector_took_is_told_how_to_wait_once() {
    let place = Project::new(&[]);
    let data = spooled_run(&place, "trace", "work 5100000");
    let waits = || {
        let done = place.holloway("trace verify trace").ok();
        let (said, rest) = done.stderr.split_once(" words of trace, process ")?;
        assert!(said.trim_start().starts_with("Analysing 10,200,"), "{done}");
        let (_, how) = rest.split_once("each question does so: `").unwrap();
        assert!(
            how.starts_with("HOLLOWAY_DATA=trace holloway run --no-report -- true`"),
            "{done}"
        );
        Some(())
    };
    assert_eq!((waits(), waits()), (Some(()), Some(())));
    finishing(&place, &data).ok();
    assert_eq!(waits(), None);
}

#[test]
fn a_run_of_many_that_no_collector_took_is_waited_for_as_a_whole() {
    let place = Project::new(&[]);
    let data = place.path().join("a run");
    for _ in 0..2 {
        let app = built("trace");
        let call = place.program(app.to_str().unwrap());
        let mut call = call.env("HOLLOWAY_DATA", &data);
        call.command.args(["work", "2600000"]);
        call.ok();
    }
    let mut call = place.holloway("trace verify");
    call.command.arg("a run");
    let done = call.ok();
    let stderr = &done.stderr;
    assert_eq!(stderr.matches("Analysing").count(), 1, "{done}");
    assert!(stderr.contains("Analysing 10,400,"), "{done}");
    let rest = " words of 2 profiles that no collector took; each question does so: `HOLLOWAY_DATA='a run' holloway run";
    assert!(stderr.contains(rest), "{done}");
}

/// `holloway run` of a program that records nothing. It finishes the directory.
fn finishing(place: &Project, data: &Path) -> Call {
    let call = place.holloway("run --no-report -- true");
    call.env("HOLLOWAY_DATA", data)
}

/// The files of a run but path maps, by name.
fn files(data: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(data).unwrap().map(|file| file.unwrap());
    let files = files.map(|file| {
        let name = file.file_name().into_string().unwrap();
        (name, std::fs::read(file.path()).unwrap())
    });
    files.filter(|(name, _)| !name.ends_with(".hwm")).collect()
}

#[test]
fn finishing_that_is_interrupted_counts_nothing_twice() {
    for (kind, made, pending) in [
        ("loops", ".hwl", ".sealed.hwl"),
        ("trace", ".hwt", ".rest.hwt"),
        ("times", ".hwv", ".sealed.hwv"),
    ] {
        let place = Project::new(&[]);
        let data = spooled(&place, kind);
        let expect = calls(&report(&place, kind));
        let (name, raw) = files(&data).pop_first().unwrap();
        finishing(&place, &data).ok();
        let stem = name.strip_suffix(".hwp").unwrap();
        let finished = files(&data);
        let made_name = format!("{stem}{made}");
        let mut names = [made_name.clone(), name.clone()];
        names.sort();
        assert!(finished.keys().eq(&names), "{:?}", finished.keys());
        assert_eq!(calls(&report(&place, kind)), expect, "{kind}");

        // Just before the profile is sealed; then the file may be cut short, too.
        let [made, pending] = [made, pending].map(|one| data.join(format!("{stem}{one}")));
        std::fs::rename(&made, &pending).unwrap();
        for cut in [false, true] {
            if cut {
                std::fs::write(&pending, &finished[&made_name][..60]).unwrap();
            }
            std::fs::write(data.join(&name), &raw).unwrap();
            assert_eq!(calls(&report(&place, kind)), expect, "{kind}: not sealed");
            finishing(&place, &data).ok();
            assert!(files(&data).keys().eq(&names), "{kind}");
            assert_eq!(calls(&report(&place, kind)), expect, "{kind}: again");
            std::fs::rename(&made, &pending).unwrap();
            // Just after.
            assert_eq!(calls(&report(&place, kind)), expect, "{kind}: sealed");
        }
    }
}

#[test]
fn two_finish_one_directory() {
    for kind in ["loops", "trace", "times"] {
        let place = Project::new(&[]);
        let data = spooled(&place, kind);
        let expect = calls(&report(&place, kind));
        let quiet = |mut call: Call| call.command.stderr(Stdio::null()).spawn().unwrap();
        let start = || quiet(finishing(&place, &data));
        let both = [start(), start(), start()];
        for mut one in both {
            assert!(one.wait().unwrap().success());
        }
        assert_eq!(calls(&report(&place, kind)), expect, "{kind}");
        assert_eq!(files(&data).len(), 2, "{kind}");
    }
}

/// The collector of the run would never find this profile.
#[test]
fn a_program_that_records_elsewhere_waits_for_nobody() {
    let place = Project::new(&[]);
    let mut call = place.holloway("run -o run --no-report -- env HOLLOWAY_DATA=elsewhere");
    call.command.arg(built("trace")).args(["work", "300000"]);
    call.done();
    assert_eq!(report(&place, "elsewhere").calls("step"), 300_000);
}

#[test]
fn another_k_weaves_no_module_again() {
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
    let head = |bytes: &[u8]| {
        let at = bytes.windows(8).position(|at| at == b"HLWIMAGE").unwrap();
        (
            bytes[at + 16..at + 32].to_vec(),
            u64::from_le_bytes(bytes[at + 40..at + 48].try_into().unwrap()),
        )
    };
    assert_eq!((head(&eight).1, head(&nine).1), (8, 9));
    assert_eq!(head(&eight).0, head(&nine).0, "one build");
}

#[test]
fn what_makes_no_sense_is_told_in_a_line() {
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
    check("run --sample 0 -- ./a", "one burst in so many");
    check("run --memory 5 -- ./a", "give a size of 1M or more");
    check(
        "run --memory much -- ./a",
        "give a number of bytes, or one with K, M, G or T",
    );
    check("run --memory 99999999999T -- ./a", "no machine has as much");
    check("trace hot --min-cost x", "give a number");
    let done = project
        .holloway("cc a.c")
        .env("HOLLOWAY_COLLECT", "loops=0")
        .exits(2);
    done.fails_with("HOLLOWAY_COLLECT=loops=0: K is a number");
    let done = project
        .holloway("cc --collect trace a.c")
        .env("HOLLOWAY_EXITS", "on")
        .exits(2);
    done.fails_with("HOLLOWAY_EXITS");
}

#[test]
fn a_sample_says_that_it_is_one() {
    let place = Project::new(&[]);
    run(&place, "-o whole", "loops", "work 1000000");
    run(&place, "-o sample --sample 8", "loops", "work 1000000");
    let (whole, sample) = (report(&place, "whole"), report(&place, "sample"));
    let share = sample.calls("step") as f64 / whole.calls("step") as f64;
    assert!((0.1..0.2).contains(&share), "{share}");
    place
        .holloway("report sample")
        .ok()
        .says("this is a sample: ");
    assert_eq!(damage(&whole), Vec::<String>::new());
}

#[test]
fn a_sample_of_a_trace_is_good_if_it_holds_what_was_sampled() {
    let place = Project::new(&[]);
    run(&place, "-o run --sample 8", "trace", "work 1000000");
    let verified = place.holloway("trace verify run").ok();
    verified
        .says("of what was sampled nothing is missing or damaged")
        .says("they are not of the sample");
    let json = place.holloway("trace verify run --format json").ok().json();
    let answer = &json.0["streams"][0]["answer"];
    assert_eq!(
        (&answer["good"], &answer["sample"]),
        (&true.into(), &true.into())
    );
    // A trace may miss events because it is a sample. But functions that the profile did not count
    // are damage.
    let whole = place.path().join("run");
    let [profile, map] = [".hwp", ".hwm"].map(|end| file_of(&whole, end));
    let sealed = std::fs::read(&profile).unwrap();
    let map = decode_image(&std::fs::read(map).unwrap()).unwrap();
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
    let done = place.holloway("trace verify run --format json").exits(1);
    let account = &done.json().0["processes"][0];
    assert_eq!(
        (&account["missing"], &account["surplus"]),
        (&0.into(), &surplus.into())
    );
    std::fs::write(&profile, &sealed).unwrap();
    place.holloway("trace verify run").ok();
    let file = file_of(&whole, ".hwt");
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    place.holloway("trace verify run").exits(1).says("not good");
}

/// The file of a run whose name has this end.
fn file_of(run: &Path, end: &str) -> PathBuf {
    let files = std::fs::read_dir(run).unwrap();
    let mut files = files.map(|file| file.unwrap().path());
    let ends = |file: &PathBuf| file.to_str().unwrap().ends_with(end);
    files.find(ends).unwrap()
}

/// A trace written anew, as the trace of another process, with only its first blocks. Its checksums
/// are correct.
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
fn a_trace_that_is_not_the_profiles_is_not_good() {
    let place = Project::new(&[]);
    run(&place, "-o run", "trace", "work 3000");
    run(&place, "-o other", "trace", "work 3001");
    let [own, other] = ["run", "other"].map(|run| {
        let path = file_of(&place.path().join(run), ".hwt");
        (std::fs::read(&path).unwrap(), path)
    });
    let [(own, path), (other, _)] = [own, other];
    let process = TraceFile::read(&own).unwrap().head.process;
    let foreign = TraceFile::read(&other).unwrap().head.process;
    let verified = || {
        let done = place.holloway("trace verify run --format json").exits(1);
        let verdict = done.json().0;
        assert_eq!(verdict["good"], false);
        place.holloway("trace verify run").exits(1).says("not good");
        let account = &verdict["processes"][0];
        assert_eq!(
            (&account["image"], &account["process"]),
            (&"trace".into(), &process.into())
        );
        let numbers =
            ["counted", "missing", "surplus"].map(|field| account[field].as_u64().unwrap());
        (numbers, damage(&Report(verdict)).concat())
    };
    let good = place.holloway("trace verify run --format json").ok().json();
    let counted = good.0["processes"][0]["counted"].as_u64().unwrap();
    assert!(counted > 6000, "{counted}");
    assert_eq!(
        (&good.0["good"], &good.0["processes"][0]["missing"]),
        (&true.into(), &0.into())
    );

    // The unchanged trace of another run: no question mistakes it for this run's.
    std::fs::write(&path, &other).unwrap();
    let (numbers, sentences) = verified();
    assert_eq!(numbers, [counted, counted, 0]);
    let reason = format!("it is of process {foreign}, not {process}");
    assert!(sentences.contains(&reason), "{sentences}");
    place
        .holloway("trace stats run")
        .exits(125)
        .fails_with(&reason);

    // The same trace under this run's name.
    std::fs::write(&path, forged(&other, process, usize::MAX)).unwrap();
    let ([_, missing, surplus], sentences) = verified();
    assert!(missing < 10 && (2..10).contains(&surplus), "{sentences}");
    assert!(sentences.contains("of another run"), "{sentences}");

    // No part of the trace is left.
    std::fs::write(&path, forged(&own, process, 0)).unwrap();
    let (numbers, sentences) = verified();
    assert_eq!(numbers, [counted, counted, 0]);
    assert!(
        sentences.contains("that its profile counted are missing from its trace"),
        "{sentences}"
    );
    for left in [&own[..0], &own[..own.len() / 2]] {
        std::fs::write(&path, left).unwrap();
        let ([_, missing, surplus], _) = verified();
        assert!(missing > 0 && surplus == 0);
    }
    std::fs::remove_file(&path).unwrap();
    let (numbers, sentences) = verified();
    assert_eq!(numbers, [counted, counted, 0]);
    assert!(sentences.contains("is not there"), "{sentences}");
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
        place.holloway(&words).exits(125).fails_with("is not there");
    }
    place
        .holloway("trace diff run other")
        .exits(125)
        .fails_with("is not there");
}

#[test]
fn who_asks_for_a_view_of_counts_is_told_of_no_other() {
    let place = Project::new(&[]);
    run(&place, "-o run", "trace", "work 100");
    for view in ["paths", "functions", "blocks", "edges", "lines"] {
        let done = place.holloway(&format!("report run --view {view}")).ok();
        assert_eq!(done.stderr, "", "{view}");
    }
    place
        .holloway("report run --format json")
        .ok()
        .complains("the run also has trace of trace (`holloway trace stats`)");
}

#[test]
fn little_memory_leaves_counts_of_paths_as_they_are() {
    let place = Project::new(&[]);
    for kind in ["loops", "trace"] {
        let run = |name: &str, options: &str| {
            let options = format!("-o {kind}-{name} {options}");
            run(&place, &options, kind, "threads 20000");
            calls(&report(&place, &format!("{kind}-{name}")))
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
    fn start(place: &Project, kind: &str) -> Self {
        let mut call = place.holloway("run -o run --no-report --");
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
        let done = kill.args([signal, &pid.to_string()]).status().unwrap();
        assert!(done.success());
    }
}

fn waits_until(what: &str, done: impl Fn() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_signal_ends_the_program_and_what_it_did_is_written() {
    for kind in ["loops", "trace", "times"] {
        let place = Project::new(&[]);
        let mut running = Running::start(&place, kind);
        Running::signal(running.holloway.id(), "-TERM");
        let status = running.holloway.wait().unwrap();
        assert_eq!(status.code(), Some(128 + 15));
        let report = report(&place, "run");
        assert!(report.calls("step") > 9000, "{kind}");
        assert_eq!(damage(&report), Vec::<String>::new(), "{kind}");
    }
}

#[test]
fn a_program_goes_on_when_its_collector_is_killed() {
    for kind in ["loops", "trace", "times"] {
        let place = Project::new(&[]);
        let mut running = Running::start(&place, kind);
        Running::signal(running.holloway.id(), "-KILL");
        running.holloway.wait().unwrap();
        let alive = || std::path::Path::new(&format!("/proc/{}", running.program)).exists();
        let report_of = || report(&place, "run");
        let misses = |report: &Report| {
            let damage = damage(report);
            damage
                .iter()
                .any(|sentence| sentence.contains("paths are missing"))
        };
        // The program notices that the collector is gone when its ring is full, and does not wait.
        waits_until("it misses paths", || misses(&report_of()));
        assert!(alive());
        let going = report_of();
        Running::signal(running.program, "-KILL");
        waits_until("the program ends", || !alive());
        let ended = report_of();
        assert!(ended.calls("step") >= going.calls("step"), "{kind}");
        assert!(misses(&ended), "{kind}: {:?}", damage(&ended));
    }
}

#[test]
fn a_process_that_outlives_its_run_keeps_what_was_taken() {
    for kind in ["loops", "trace", "times"] {
        let place = Project::new(&[]);
        let mut call = place.holloway("run -o run --no-report --");
        call.command.arg(built(kind)).args(["orphan", "50000"]);
        let mut holloway = call.command.stdin(Stdio::piped()).spawn().unwrap();
        let stdin = holloway.stdin.take().unwrap();
        assert!(holloway.wait().unwrap().success());
        // The events from the time when holloway ran are there. Their number is chance.
        let before = report(&place, "run").calls("step");
        drop(stdin);
        let orphan_ended = || {
            let done = place.holloway("report run --format json").ok();
            done.json().calls("step") >= before && !is_running(&place)
        };
        waits_until("the orphan ends", orphan_ended);
        // The next run into the directory finishes it. The result reads the same.
        let counted = report(&place, "run");
        let mut again = place.holloway("run --no-report --");
        again = again.env("HOLLOWAY_DATA", place.path().join("run"));
        again.command.arg(built(kind)).args(["work", "1"]);
        again.ok();
        let finished = report(&place, "run");
        assert_eq!(finished.calls("step"), counted.calls("step") + 1, "{kind}");
        let missing = damage(&finished);
        assert!(
            finished.calls("step") == 50_001 || !missing.is_empty(),
            "{kind}: {missing:?}"
        );
    }
}

#[test]
fn a_busy_orphan_holds_nobody_up() {
    let place = Project::new(&[]);
    let began = Instant::now();
    let done = run(&place, "-o run", "loops", "busy 20000");
    assert_eq!(done.code, Some(0), "{done}");
    assert!(began.elapsed() < PATIENCE);
    let is_known = files(&place.path().join("run"))
        .keys()
        .any(|name| name.ends_with(".hwl"));
    assert!(report(&place, "run").calls("step") > 0);
    waits_until("the orphan ends", || !is_running(&place));
    if is_known {
        let sentences = damage(&report(&place, "run"));
        let is_reported = sentences
            .iter()
            .any(|sentence| sentence.contains("taken in parts"));
        assert!(is_reported, "sequences were cut where holloway ended");
    }
}

/// Whether a process of a raw profile in the run still exists.
fn is_running(place: &Project) -> bool {
    let files = std::fs::read_dir(place.path().join("run")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let pids = names.filter_map(|name| Some(name.split_once('-')?.0.to_owned()));
    pids.into_iter().any(|pid| {
        std::fs::read_to_string(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| line.contains("orphan") || line.contains("busy"))
    })
}

#[test]
fn k_is_the_builds_unless_the_run_says_otherwise() {
    let place = Project::new(&[]);
    let k = |run: &str| {
        let words = format!("report {run} --view loops --format json");
        place.holloway(&words).ok().json().0["k"].as_u64().unwrap()
    };
    run(&place, "-o built", "loops", "work 1000");
    run(&place, "-o other --k 3", "loops", "work 1000");
    assert_eq!((k("built"), k("other")), (8, 3));
    let text = place.holloway("report other").ok();
    text.says("Loops")
        .says("sequences of up to 3 paths")
        .says("work");
    let stats = place.holloway("report other --view loops --stats").ok();
    assert!(stats.stdout.len() > text.stdout.len(), "{stats}");
    place
        .holloway("report other --view loops --min-share 101")
        .exits(2)
        .complains("give a share from 0% to 100%");
    run(&place, "-o paths", "paths", "work 1000");
    place
        .holloway("report paths --view loops")
        .exits(2)
        .fails_with("build with --collect loops");
}

#[test]
fn a_run_is_not_good_without_one_of_its_profiles() {
    let place = Project::new(&[]);
    let run_path = place.path().join("run");
    run(&place, "-o run", "trace", "work 3000");
    run(&place, "-o other", "trace", "work 3000");
    place.holloway("trace verify run").ok();
    let other = place.path().join("other");
    for end in [".hwt", ".hwp"] {
        let file = file_of(&other, end);
        std::fs::copy(&file, run_path.join(file.file_name().unwrap())).unwrap();
    }
    place.holloway("trace verify run").ok();
    let profile = file_of(&other, ".hwp");
    let gone = profile.file_name().unwrap().to_str().unwrap();
    std::fs::remove_file(run_path.join(gone)).unwrap();
    let why = format!("its profile {gone} is not there");
    let verified = || {
        let done = place.holloway("trace verify run --format json").exits(1);
        let verdict = done.json();
        assert_eq!(verdict.0["good"], false);
        place.holloway("trace verify run").exits(1).says("not good");
        damage(&verdict)
    };
    let sentences = verified();
    assert!(
        sentences.len() == 1 && sentences[0].contains(&why),
        "{sentences:?}"
    );
    assert!(damage(&report(&place, "run")).concat().contains(&why));

    // No profile can be read: of the other one only the beginning is there.
    let profile = file_of(&run_path, ".hwp");
    let bytes = std::fs::read(&profile).unwrap();
    std::fs::write(&profile, &bytes[..40]).unwrap();
    assert_eq!(verified().len(), 2);
    std::fs::remove_file(&profile).unwrap();
    assert_eq!(verified().len(), 2);
    for command in ["report run", "trace stats run"] {
        let why = "cannot read any profile in run: ";
        place.holloway(command).exits(125).fails_with(why);
    }
    std::fs::create_dir(place.path().join("empty.hwm")).unwrap();
    for command in ["report empty.hwm", "trace verify empty.hwm"] {
        let why = "cannot find a profile in empty.hwm";
        place.holloway(command).exits(125).fails_with(why);
    }
}

#[test]
fn what_lies_beside_no_profile_is_said_of_all_kinds() {
    for (kind, made) in [("loops", ".hwl"), ("times", ".hwv")] {
        let place = Project::new(&[]);
        run(&place, "-o run", kind, "work 3000");
        let file = file_of(&place.path().join("run"), made);
        std::fs::copy(&file, file.with_file_name(format!("0-gone{made}"))).unwrap();
        let sentences = damage(&report(&place, "run")).concat();
        let expect = format!("0-gone{made}: its profile 0-gone.hwp is not there");
        assert!(sentences.contains(&expect), "{kind}: {sentences}");
    }
}

#[test]
fn a_trace_answers_questions() {
    let place = Project::new(&[]);
    run(&place, "-o run", "trace", "threads 1000");
    let ask = |words: &str| place.holloway(&format!("trace {words}")).ok();
    ask("stats run").says("17 traces").says("Events");
    let files = std::fs::read_dir(place.path().join("run")).unwrap();
    let mut names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let file = names.find(|name| name.ends_with(".hwt")).unwrap();
    ask(&format!("stats run/{file}")).says("17 traces");
    ask("verify run").says("just the events that came");
    ask("hot run --min-cost 5% --cost paths --max-len 4").says("step:");
    ask("loops 4 run").says("work:");
    ask("context step run").says("work");
    let stats = ask("stats run --format json").json();
    assert_eq!(stats.0["streams"].as_array().unwrap().len(), 17);
    // One thread of those that work.
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
    place
        .holloway("trace stats run --thread 1")
        .exits(2)
        .fails_with("no such thread in run: it has thread ");
    place
        .holloway("trace stats run --image nosuch")
        .exits(2)
        .fails_with("no trace of an image `nosuch` in run: it has trace");
    place
        .holloway("trace stats run --process 1")
        .exits(2)
        .fails_with("no trace of a process 1 in run: it has ");
    let map = file_of(&place.path().join("run"), ".hwm");
    for command in ["trace verify", "report"] {
        let call = place.holloway(command).arg(map.to_str().unwrap());
        call.exits(2)
            .fails_with("is a path map, which has no counts: name the run's directory");
    }
    place
        .holloway("trace freq stp:0 run")
        .exits(2)
        .fails_with("no function `stp` was recorded");
    place
        .holloway("trace freq ./run run")
        .exits(2)
        .fails_with("./run is a directory: the run comes last");
    let shown = place.holloway("report run --top 0").ok();
    shown.says("17 traces not shown");
    assert!(!shown.stdout.contains("no trace"), "{}", shown.stdout);
    ask("diff run run --top 3")
        .says("from the first event to the last")
        .says("14 more pairs");
    place
        .holloway(&format!("trace diff run run --thread-a {thread}"))
        .exits(2)
        .fails_with("choose one of each with --thread-a and --thread-b");
    ask(&format!("diff run run --thread {thread}"));
    place
        .holloway("trace hot run --min-len 5 --max-len 3")
        .exits(2)
        .fails_with("--min-len 5 is more than --max-len 3");
    place.holloway("report run").ok().says("Hot sequences");
    run(&place, "-o paths", "paths", "work 1000");
    place.holloway("trace stats paths").exits(2).fails_with(
        "paths: no traces were recorded: build with --collect trace to see them; there are paths",
    );
}

/// Each of the names exists, but not in combination. The process of 17 threads is named once.
#[test]
fn a_choice_that_leaves_nothing_is_told_by_its_first_name_that_does() {
    let place = Project::new(&[("app.c", PROGRAM)]);
    in_own_cache(&place, "cc --collect trace -O1 -pthread app.c -o copy").ok();
    let copy = place.path().join("copy");
    for (app, words) in [(built("trace"), "threads 1000"), (copy, "work 10")] {
        let call = place.program(app.to_str().unwrap());
        let mut call = call.env("HOLLOWAY_DATA", place.path().join("run"));
        call.command.args(words.split(' '));
        call.ok();
    }
    let stats = place.holloway("trace stats run --format json").ok().json();
    let streams = stats.0["streams"].as_array().unwrap();
    let ids_of = |image: &str| {
        let mut streams = streams.iter().filter(|stream| stream["image"] == image);
        let stream = streams.next().unwrap();
        ["process", "thread"].map(|id| stream[id].as_u64().unwrap())
    };
    let ([process, _], [later, id]) = (ids_of("trace"), ids_of("copy"));
    let refused = |choice: &str, why: String| {
        let call = place.holloway(&format!("trace stats run {choice}"));
        call.exits(2).fails_with(&why);
    };
    let here = "in run: it has";
    refused(
        "--process 1",
        format!("no trace of a process 1 {here} {process} (trace), {later} (copy)"),
    );
    refused(
        &format!("--image trace --process {later}"),
        format!("no trace of a process {later} of `trace` {here} {process} (trace)"),
    );
    refused(
        &format!("--image trace --process {process} --thread {id}"),
        format!("no such thread of process {process} of `trace` {here} thread {process} of"),
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
    let of_latest = || project.holloway("report --format json").ok().json();
    let done = project.cargo_holloway("run --collect loops=3").ok();
    done.says("111")
        .says("Loops")
        .says("sequences of up to 3 paths");
    assert_eq!(of_latest().calls("step"), 111);
    let done = project.cargo_holloway("test --collect trace").ok();
    done.says("Hot sequences");
    assert_eq!(of_latest().calls("step"), 222);
    project.cargo_holloway("trace freq app::collatz:0").ok();
    project
        .cargo_holloway("run --collect trace --exits on")
        .exits(2)
        .fails_with("leave it out");
}
