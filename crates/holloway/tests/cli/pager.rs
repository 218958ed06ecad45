//! The pager: long answers on a terminal go through a program, as of git.

use std::sync::OnceLock;

use crate::cli_support::terminal::Terminal;
use crate::cli_support::{Call, Project};

/// A program of more lines than a small screen has.
fn recorded() -> &'static Project {
    static PROJECT: OnceLock<Project> = OnceLock::new();
    PROJECT.get_or_init(|| {
        let lines = (0..40).map(|line| format!("    println!(\"line {line}\");\n"));
        let main = format!("fn main() {{\n{}}}\n", lines.collect::<String>());
        let project = Project::binary("", &main);
        project.cargo_holloway("run --no-report").ok();
        project
    })
}

fn annotate() -> Call {
    recorded().holloway("annotate main.rs")
}

#[test]
fn a_long_answer_goes_to_less_and_leaving_it_is_no_error() {
    let mut terminal = Terminal::start(&annotate(), 10, 80);
    let first = terminal.wait_until("less's prompt", |text| text.ends_with(':'));
    assert!(
        first.contains("src/main.rs") && !first.contains("line 39"),
        "{first}"
    );
    terminal.press("q");
    let (code, last) = terminal.end();
    assert_eq!(code, Some(0), "{last}");
}

#[test]
fn the_pager_gets_the_whole_answer() {
    let answer = annotate().arg("--color").arg("never").ok().stdout;
    let call = annotate()
        .arg("--color")
        .arg("never")
        .env("HOLLOWAY_PAGER", "cat > paged.txt; echo shown")
        .env("PAGER", "false");
    let (code, screen) = Terminal::start(&call, 10, 300).end();
    assert_eq!((code, screen.trim()), (Some(0), "shown"));
    let paged = std::fs::read_to_string(recorded().path().join("paged.txt")).unwrap();
    assert_eq!(paged, answer);
}

#[test]
fn short_answers_and_refusals_start_no_pager() {
    let shown = |call: Call, rows| {
        let call = call.env("HOLLOWAY_PAGER", "cat > /dev/null; echo PAGER");
        let (code, screen) = Terminal::start(&call, rows, 100).end();
        assert_eq!(code, Some(0), "{screen}");
        screen
    };
    let all = shown(annotate(), 60);
    assert!(all.contains("line 0") && all.contains("line 39"), "{all}");
    assert_eq!(shown(annotate(), 10).trim(), "PAGER");
    let refused = shown(annotate().arg("--no-pager"), 10);
    assert!(
        refused.contains("line 39") && !refused.contains("PAGER"),
        "{refused}"
    );
}

#[test]
fn a_pager_that_cannot_be_started_is_named() {
    for pager in ["no-such-pager", "'unclosed"] {
        let call = annotate().env("HOLLOWAY_PAGER", pager);
        let (code, screen) = Terminal::start(&call, 10, 200).end();
        assert_eq!(code, Some(0), "{screen}");
        let expected = format!("cannot start the pager `{pager}` that HOLLOWAY_PAGER names");
        assert!(screen.contains(&expected), "{screen}");
        assert!(
            screen.contains("line 39"),
            "the output is not lost: {screen}"
        );
    }
}

/// A pipe has no pager, and an error of the question is not hidden by one.
#[test]
fn pipes_and_errors_have_no_pager() {
    let piped = annotate().env("HOLLOWAY_PAGER", "false").ok();
    piped.says("line 39");
    let call = recorded().holloway("annotate no-such-file.rs");
    let (code, screen) = Terminal::start(&call, 10, 200).end();
    assert_eq!(code, Some(2), "{screen}");
    assert!(screen.contains("no-such-file.rs"), "{screen}");
}
