//! `--memory` bounds the memory of `holloway run`. The program takes paths in random order, so that
//! hardly any sequence repeats. It runs with one thread, and with several threads that share the
//! budget.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use holloway_format::trace::TraceFile;
use holloway_tests::tool::{holloway_command, installed, run_ok, scratch};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use wait4::Wait4;

/// Each turn takes one of 256 paths at random.
const PROGRAM: &str = "\
#include <pthread.h>
#include <stdlib.h>
static volatile unsigned sum;
static unsigned turns;
__attribute__((noinline)) static void mix(unsigned state) {
  for (unsigned i = 0; i < turns; i++) {
    state = state * 1664525 + 1013904223;
    if (state >> 31 & 1) sum += i;
    if (state >> 30 & 1) sum ^= i;
    if (state >> 29 & 1) sum += 3;
    if (state >> 28 & 1) sum -= i;
    if (state >> 27 & 1) sum ^= 5;
    if (state >> 26 & 1) sum += 7;
    if (state >> 25 & 1) sum ^= 9;
    if (state >> 24 & 1) sum -= 4;
  }
}
static void *work(void *seed) {
  mix((unsigned)(size_t)seed);
  return 0;
}
int main(int count, char **words) {
  pthread_t all[64];
  int threads = atoi(words[1]);
  turns = atoi(words[2]);
  for (int i = 1; i < threads; i++) pthread_create(&all[i], 0, work, (void *)(size_t)(i + 1));
  mix(1);
  for (int i = 1; i < threads; i++) pthread_join(all[i], 0);
}
";

/// Turns of all threads together.
const TURNS: u64 = 5_000_000;
const THREADS: [u64; 2] = [1, 8];
/// The value of `--memory`. The option bounds an estimate.
const MEMORY_OPTION: &str = "64M";
/// The maximum memory of `holloway run`. It includes code, maps, and buffers, which the option does
/// not bound.
const MAX_MEMORY: u64 = 192 << 20;

fn built(kind: &str, folder: &Path) -> PathBuf {
    std::fs::write(folder.join("mix.c"), PROGRAM).unwrap();
    let program = folder.join(kind);
    let mut woven = holloway_command(["cc", "-O1", "-pthread", "mix.c", "-o"]);
    woven.arg(&program).current_dir(folder);
    woven.env("HOLLOWAY_CLANG", installed("clang-22").unwrap());
    run_ok(woven.env("HOLLOWAY_COLLECT", kind)).unwrap();
    program
}

/// Returns the peak memory of `holloway run` or of its program, which needs little.
fn peak(program: &Path, threads: u64, data: &Path) -> u64 {
    let mut command = holloway_command(["run", "--memory", MEMORY_OPTION, "--no-report", "-o"]);
    command.arg(data).arg("--").arg(program);
    command.args([threads, TURNS / threads].map(|number| number.to_string()));
    let child = command.stdin(Stdio::null()).spawn().unwrap();
    let ended = child.wait4().unwrap();
    assert!(ended.status.success());
    let peak = ended.rusage.maxrss;
    println!(
        "{threads} threads, {}: {} MiB",
        program.display(),
        peak >> 20
    );
    peak
}

fn report(words: &[&str], data: &Path) -> Value {
    let mut command = holloway_command(words);
    command.arg(data).args(["--format", "json"]);
    serde_json::from_str(&run_ok(&mut command).unwrap().text()).unwrap()
}

#[test]
fn loops_keep_within_the_memory_asked_for() {
    let scratch = scratch("memory-loops").unwrap();
    let program = built("loops", scratch.path());
    for threads in THREADS {
        let data = scratch.path().join(format!("data-{threads}"));
        let peak = peak(&program, threads, &data);
        let report = report(&["report", "--view", "loops", "--stats"], &data);
        // The data exceeds the limit. All words were read, and the dropped ones are reported.
        let words = report["stats"]["words"].as_u64().unwrap();
        assert!(words > TURNS, "{words} words");
        let dropped = report["losses"]["dropped_words"].as_u64().unwrap();
        assert!(dropped > words / 10, "{dropped} of {words} were dropped");
        assert!(peak < MAX_MEMORY, "{peak} bytes");
    }
}

#[test]
fn a_trace_keeps_within_the_memory_asked_for() {
    let scratch = scratch("memory-trace").unwrap();
    let program = built("trace", scratch.path());
    for threads in THREADS {
        let data = scratch.path().join(format!("data-{threads}"));
        let peak = peak(&program, threads, &data);
        let entries = std::fs::read_dir(&data).unwrap();
        let mut files = entries.map(|entry| entry.unwrap().path());
        let file = files.find(|file| file.to_string_lossy().ends_with("-trace.hwt"));
        let bytes = std::fs::read(file.unwrap()).unwrap();
        let file = TraceFile::read(&bytes).unwrap();
        assert!(file.is_finished && file.damage.is_none());
        assert_eq!(file.streams.len() as u64, threads);
        // The data exceeds the limit, so the builder forgot pieces. This makes only the file
        // larger.
        for stream in &file.streams {
            let blocks = stream.blocks().map(Result::unwrap);
            let fresh = blocks.filter(|block| block.is_fresh).count();
            assert!(fresh > 3, "{fresh} times all pieces were new");
            assert!(stream.length > TURNS / threads);
        }
        assert!(peak < MAX_MEMORY, "{peak} bytes");
    }
}
