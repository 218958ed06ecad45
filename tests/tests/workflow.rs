//! Executes the steps of docs/workflows/holloway.yml, as GitHub's runners do: first on the main
//! branch, then for a change that breaks a limit. Only the installation of Holloway is left out.
//! The actions that move files between jobs are played by a directory.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use holloway_tests::tool::{clean, holloway, run, scratch};
use serde::Deserialize;

#[derive(Deserialize)]
struct Workflow {
    jobs: BTreeMap<String, Job>,
}

#[derive(Deserialize)]
struct Job {
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    name: Option<String>,
    #[serde(rename = "if")]
    condition: Option<String>,
    uses: Option<String>,
    run: Option<String>,
}

const LIBRARY: &str = r#"
pub fn classify(n: u32) -> &'static str {
    if std::hint::black_box(n) % 3 == 0 { "fizz" } else if n % 5 == 0 { "buzz" } else { "none" }
}
"#;

/// A test that takes all three ways, and one that takes two.
const TESTS: [&str; 2] = [
    r#"#[test] fn all() { for n in 1..16 { assert!(!app::classify(n).is_empty()); } }"#,
    r#"#[test] fn some() { for n in 1..5 { assert!(!app::classify(n).is_empty()); } }"#,
];

const BUDGET: &str = r#"
[[limit]]
measure = "lines-covered"
crate = "app"
min = 100

[[limit]]
measure = "branches-covered"
function = "classify"
min = 100

[[limit]]
measure = "overlap"
min = 0.2
"#;

/// A runner's machine.
struct Machine {
    /// The directory of the repository.
    repository: PathBuf,
    /// What caches keep between jobs.
    stored: PathBuf,
    summary: PathBuf,
    branch: &'static str,
}

/// What a step did.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    Failed { status: Option<i32>, output: String },
    Skipped,
}

impl Machine {
    /// Runs the steps of a job. Returns the outcomes by name.
    fn job(&self, steps: &[Step]) -> BTreeMap<String, Outcome> {
        let mut outcomes = BTreeMap::new();
        let mut failed = false;
        for step in steps {
            let runs = match step.condition.as_deref() {
                None => !failed,
                Some("always()") => true,
                Some("github.ref == 'refs/heads/main'") => !failed && self.branch == "main",
                Some(other) => panic!("unknown condition {other}"),
            };
            let name = step.name.clone().unwrap_or_default();
            let outcome = match (&step.uses, &step.run) {
                _ if !runs => Outcome::Skipped,
                (Some(action), None) => self.action(action),
                (None, Some(_)) if name == "Install Holloway" => Outcome::Done,
                (None, Some(script)) => self.script(script),
                _ => panic!("{name} neither runs nor uses anything"),
            };
            failed |= matches!(outcome, Outcome::Failed { .. });
            outcomes.insert(name, outcome);
        }
        outcomes
    }

    fn action(&self, action: &str) -> Outcome {
        let copy = |from: &Path, to: &Path| {
            if from.exists() {
                let copied = run(Command::new("cp").arg("-r").arg(from).arg(to)).unwrap();
                assert!(copied.succeeded());
            }
        };
        let baseline = self.repository.join("baseline");
        match action {
            "actions/checkout@v4" => {}
            "actions/cache/restore@v4" => copy(&self.stored, &baseline),
            "actions/cache/save@v4" => copy(&baseline, &self.stored),
            "actions/upload-artifact@v4" => {
                for kept in ["profile", "report.html", "check.xml", "coverage.info"] {
                    assert!(self.repository.join(kept).exists(), "no {kept}");
                }
            }
            other => panic!("unknown action {other}"),
        }
        Outcome::Done
    }

    fn script(&self, script: &str) -> Outcome {
        let file = self.summary.with_file_name("step.sh");
        std::fs::write(&file, script).unwrap();
        let tools = holloway().parent().unwrap();
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new("bash");
        clean(&mut command);
        command
            .args(["--noprofile", "--norc", "-eo", "pipefail"])
            .arg(&file)
            .current_dir(&self.repository)
            .env("PATH", format!("{}:{path}", tools.display()))
            .env("GITHUB_STEP_SUMMARY", &self.summary);
        let output = run(&mut command).unwrap();
        match output.succeeded() {
            true => Outcome::Done,
            false => Outcome::Failed {
                status: output.status.code(),
                output: format!("{}{}", output.text(), output.ending()),
            },
        }
    }
}

/// Writes the repository as a checkout has it.
fn check_out(folder: &Path, tests: &str) -> PathBuf {
    for directory in ["src", "tests"] {
        std::fs::create_dir_all(folder.join(directory)).unwrap();
    }
    let manifest = "[package]\nname = \"app\"\nedition = \"2024\"\n[workspace]\n";
    for (file, text) in [
        ("Cargo.toml", manifest),
        ("src/lib.rs", LIBRARY),
        ("tests/ways.rs", tests),
        ("budget.toml", BUDGET),
    ] {
        std::fs::write(folder.join(file), text).unwrap();
    }
    folder.to_owned()
}

#[test]
fn the_workflow_checks_a_change_against_the_main_branch() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/workflows/holloway.yml");
    let workflow: Workflow =
        serde_saphyr::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let steps = &workflow.jobs["paths"].steps;
    let scratch = scratch("workflow").unwrap();
    let folder = scratch.path();
    let machine = |name: &str, branch: &'static str, tests: &str| Machine {
        repository: check_out(&folder.join(name), tests),
        stored: folder.join("stored"),
        summary: folder.join(format!("{name}.md")),
        branch,
    };
    let main = machine("main", "main", TESTS[0]);
    let outcomes = main.job(steps);
    for (name, outcome) in &outcomes {
        assert_eq!(*outcome, Outcome::Done, "{name}");
    }
    assert!(folder.join("stored").is_dir());
    let change = machine("change", "topic", TESTS[1]);
    let outcomes = change.job(steps);
    let Outcome::Failed { status, output } = &outcomes["Check the limits"] else {
        panic!("{outcomes:#?}");
    };
    assert_eq!(*status, Some(3), "{output}");
    // The annotation is on the line of the function.
    assert!(
        output.contains("::error file=src/lib.rs,line=2"),
        "{output}"
    );
    assert_eq!(outcomes["Write the reports"], Outcome::Done);
    assert_eq!(outcomes["Keep the reports"], Outcome::Done);
    assert_eq!(outcomes["Store the baseline"], Outcome::Skipped);
    let summary = std::fs::read_to_string(&change.summary).unwrap();
    assert!(summary.contains("Changes from A to B"), "{summary}");
    let junit = std::fs::read_to_string(change.repository.join("check.xml")).unwrap();
    assert!(junit.contains("<failure"), "{junit}");
    let lcov = std::fs::read_to_string(change.repository.join("coverage.info")).unwrap();
    assert!(lcov.contains("SF:") && lcov.contains("classify"), "{lcov}");
}
