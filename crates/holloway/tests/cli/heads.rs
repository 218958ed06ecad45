//! Every report begins with the CPU time of the run: each kind, each view, as text and as JSON.
//! Passes where the kernel refuses to sample, too: the total is then shown alone.

use crate::cli_support::Project;

const PROGRAM: &str = "\
#include <stdlib.h>
static volatile int sum;
__attribute__((noinline)) void work(int n) {
  for (int i = 0; i < n; i++) {
    if (n & i) sum += i;
    else sum ^= n;
  }
}
int main(int count, char **words) {
  for (int i = 0; i < atoi(words[1]); i++)
    work(i);
  return 0;
}
";

const KINDS: [&str; 6] = ["paths", "edges", "loops", "trace", "variation", "times"];

const VIEWS: [&str; 11] = [
    "",
    "--view paths",
    "--view functions",
    "--view edges",
    "--view branches",
    "--view blocks",
    "--view lines",
    "--view paths-from-edges",
    "--view loops",
    "--view variation",
    "--uncovered",
];

/// Whether a run of a kind has no data for a view. Documents of counts in JSON contain paths or
/// edges, as counted, so JSON refuses fewer views.
fn is_refused(kind: &str, view: &str, format: &str) -> bool {
    let is_timed = matches!(kind, "variation" | "times");
    match view {
        "--view paths" | "--view paths-from-edges" => kind == "edges" && format == "text",
        "--view loops" => kind != "loops",
        "--view variation" => !is_timed,
        "--uncovered" => is_timed,
        _ => false,
    }
}

/// A project with a run of each kind, named after it, and a second run of variation.
fn recorded() -> Project {
    let project = Project::new(&[("app.c", PROGRAM)]);
    for kind in KINDS {
        let build = format!("cc --collect {kind} -O1 -g app.c -o app-{kind}");
        project.holloway(&build).ok();
        let run = format!("run -o {kind} --no-report -- ./app-{kind} 40");
        project.holloway(&run).ok();
    }
    let again = "run -o again --no-report -- ./app-variation 40";
    project.holloway(again).ok();
    project
}

const TEXT: &str = "CPU time\n  total  ";
const JSON: &str = r#"{"schema":1,"cpu_time":{"user_seconds":"#;

#[test]
fn every_report_begins_with_the_cpu_time() {
    let project = recorded();
    for kind in KINDS {
        for view in VIEWS {
            for (format, head) in [("text", TEXT), ("json", JSON)] {
                let words = format!("report {kind} {view} --format {format}");
                let report = project.holloway(&words);
                if is_refused(kind, view, format) {
                    report.exits(2);
                    continue;
                }
                let report = report.ok();
                assert!(report.stdout.starts_with(head), "{words}\n{report}");
            }
        }
    }
}

#[test]
fn comparisons_and_traces_begin_with_the_cpu_time() {
    let project = recorded();
    let begins = |words: &str, head: &str| {
        let answer = project.holloway(words).ok();
        assert!(answer.stdout.starts_with(head), "{words}\n{answer}");
    };
    let runs = "CPU time\n  A  ";
    begins("overlap paths paths", runs);
    begins("stability variation again", runs);
    let overlap = project.holloway("overlap paths edges --format json").ok();
    for side in ["a", "b"] {
        assert!(overlap.json().0[side]["cpu_time"]["user_seconds"].is_number());
    }
    let stability = project.holloway("stability variation again --format json");
    let stability = stability.ok().json().0;
    let times = stability["cpu_times"].as_array().unwrap();
    assert_eq!(times.len(), 2);
    assert!(times.iter().all(|time| time["user_seconds"].is_number()));

    begins("trace stats trace", TEXT);
    let questions = [
        "stats",
        "cat",
        "verify",
        "hot",
        "freq work",
        "before work main",
        "context work",
        "loops 2",
        "query work",
    ];
    for question in questions {
        begins(&format!("trace {question} trace --format json"), JSON);
    }
}

#[test]
fn uncovered_code_of_a_timed_run_is_refused_with_the_remedy() {
    let project = recorded();
    let report = project.holloway("report times --uncovered").exits(2);
    report.fails_with(
        "times of paths were recorded, which leave out short functions, so --uncovered cannot tell what never ran: build with --collect paths",
    );
}
