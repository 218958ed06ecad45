//! A monitor watches a server with two threads, which two clients keep busy. It loses no record,
//! opens no file that it does not close, and its samples can be read while it watches.
//! `cargo xtask study server` does the same for an hour.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use holloway_format::samples::MonitorState;
use holloway_tests::server::{Holdings, Server};
use holloway_tests::tool::{clean, holloway, holloway_command, run_ok, scratch};

use crate::app::record;

/// Memory that a monitor of one program may take in addition, in KiB: its samples, and a record.
const MEMORY_KIB: u64 = 4096;

#[test]
fn a_server_under_load_is_watched_without_loss_or_leak() {
    let folder = scratch("monitor-server").unwrap();
    let program = Server::build(holloway(), folder.path()).unwrap();
    let server = Server::start(&program, 0).unwrap();
    let mut command = Command::new(holloway());
    clean(command.args(["monitor", "--no-report", "-o", "run", "--pid"]));
    command
        .arg(server.process().to_string())
        .current_dir(folder.path());
    let mut monitor = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut messages = BufReader::new(monitor.stderr.take().unwrap()).lines();
    assert!(messages.any(|line| line.unwrap().contains("Watching")));
    let record = || record(&folder.path().join("run"));
    std::thread::sleep(Duration::from_secs(1));
    let at_start = Holdings::of(monitor.id()).unwrap();
    let start = Instant::now();
    let first = loop {
        assert!(start.elapsed() < Duration::from_secs(100), "no samples yet");
        std::thread::sleep(Duration::from_millis(100));
        if let Some(record) = record() {
            break record;
        }
    };
    assert_eq!((first.state, first.lost), (MonitorState::Watching, 0));
    let report = |words: &[&str]| {
        let mut command = holloway_command(["report", "run", "--format", "json"]);
        let output = run_ok(command.args(words).current_dir(folder.path())).unwrap();
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    assert_eq!(report(&[])["state"], "watching");
    let at_end = Holdings::of(monitor.id()).unwrap();
    assert_eq!(
        (at_start.files, at_start.threads),
        (at_end.files, at_end.threads)
    );
    assert!(
        at_end.memory_kib <= at_start.memory_kib + MEMORY_KIB,
        "{at_start:?}, {at_end:?}"
    );
    assert!(server.answers() > 0);
    server.stop().unwrap();
    assert!(monitor.wait().unwrap().success());
    let last = record().unwrap();
    assert_eq!((last.state, last.lost), (MonitorState::Ended, 0));
    assert!(last.total() >= first.total());
    let document = report(&[]);
    for name in ["sorted_sum", "mix"] {
        let functions = document["functions"].as_array().unwrap();
        let found = functions.iter().find(|function| function["name"] == name);
        let function = found.unwrap_or_else(|| panic!("no {name} in {document:#}"));
        assert_eq!(function["found_by"], "blocks", "{function:#}");
    }
}
