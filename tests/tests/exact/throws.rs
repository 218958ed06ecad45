//! Tests a program whose frames are left by throws and jumps. Paths, edges, loops, and a trace must
//! agree on the count of every line and on the number of left frames. The numbers of a trace must
//! equal those of its report.
//!
//! All counts are known with exit edges, and in a trace, whose paths end before calls.

use holloway_tests::kind::{Kind, Weaving};
use holloway_tests::report::Report;
use holloway_tests::tool::{holloway_command, installed, run_ok, scratch};
use std::path::{Path, PathBuf};

const SOURCE: &str = include_str!("throws.cpp");

#[test]
fn kinds_agree_where_frames_are_left_unoptimized() {
    let runs = Runs::new("O0");
    runs.lines_agree();
    runs.trace_agrees();
}

#[test]
fn kinds_agree_where_frames_are_left_optimized() {
    let runs = Runs::new("O2");
    runs.lines_agree();
    runs.trace_agrees();
}

/// The runs of one program, one for each kind.
struct Runs {
    folder: tempfile::TempDir,
}

impl Runs {
    fn new(level: &str) -> Runs {
        let folder = scratch(&format!("throws-{level}")).unwrap();
        std::fs::write(folder.path().join("throws.cpp"), SOURCE).unwrap();
        let runs = Runs { folder };
        for kind in [Kind::Loops, Kind::Paths, Kind::Edges, Kind::Trace] {
            runs.record(kind, level);
        }
        runs
    }

    fn run(&self, kind: Kind) -> PathBuf {
        self.folder.path().join(format!("{}-run", kind.name()))
    }

    fn record(&self, kind: Kind, level: &str) {
        let program = self.folder.path().join("program");
        let mut woven = holloway_command(["c++", "-g", "throws.cpp", "-o"]);
        woven.arg(&program).arg(format!("-{level}"));
        woven.current_dir(self.folder.path());
        Weaving::from(kind).by_environment(&mut woven);
        woven.env("HOLLOWAY_CLANG", installed("clang-22").unwrap());
        run_ok(&mut woven).unwrap();
        let mut run = holloway_command(["run", "--no-report", "-o"]);
        run_ok(run.arg(self.run(kind)).arg("--").arg(&program)).unwrap();
    }

    /// The lines that ran and their neighbors, with their counts, as text.
    fn lines(&self, kind: Kind) -> String {
        let mut report = holloway_command(["report", "--view", "lines", "--top", "1000"]);
        let text = run_ok(report.arg(self.run(kind))).unwrap().text();
        let (_, lines) = text.split_once(" lines that ran, in ").unwrap();
        lines.to_owned()
    }

    fn lines_agree(&self) {
        let same = |one: Kind, other: Kind| {
            let (a, b) = (self.lines(one), self.lines(other));
            let differ = a.lines().zip(b.lines()).find(|(a, b)| a != b);
            assert_eq!(differ, None, "{} and {}", one.name(), other.name());
            assert_eq!(a.lines().count(), b.lines().count());
        };
        same(Kind::Paths, Kind::Loops);
        same(Kind::Paths, Kind::Edges);
        same(Kind::Paths, Kind::Trace);
        for kind in [Kind::Edges, Kind::Loops, Kind::Trace] {
            let left = (self.total(kind, "left"), self.total(Kind::Paths, "left"));
            assert_eq!(left.0, left.1, "{}", kind.name());
        }
    }

    fn total(&self, kind: Kind, name: &str) -> u64 {
        let report = Report::of_run(&self.run(kind)).unwrap();
        report.total(name).unwrap()
    }

    /// The numbers of the trace must equal those of the report.
    fn trace_agrees(&self) {
        let numbers = trace_stats(&self.run(Kind::Trace));
        let report = self.total(Kind::Trace, "instructions");
        assert_eq!(numbers["instructions"].as_u64(), Some(report));
        assert!(numbers["left"].as_u64().unwrap() > 500);
    }
}

fn trace_stats(run: &Path) -> serde_json::Value {
    let mut stats = holloway_command(["trace", "stats", "--format", "json"]);
    let text = run_ok(stats.arg(run)).unwrap().text();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let streams = json["streams"].as_array().unwrap();
    assert_eq!(streams.len(), 1);
    streams[0]["answer"].clone()
}
