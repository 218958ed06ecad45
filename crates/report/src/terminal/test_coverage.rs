//! Writes what each test covers, and which tests suffice (`holloway coverage --tests`).

use std::io::{self, BufWriter, Write};

use holloway_analysis::RunProfile;

use super::paint::{Ink, Line};
use super::sheet::Sheet;
use super::table::{Align, Table};
use super::uncovered::write_heading;
use crate::numbers::{grouped, plural};
use crate::options::Options;
use crate::test_coverage::TestCoverage;

const TESTS: [(&str, Align); 3] = [
    ("covers", Align::Right),
    ("alone", Align::Right),
    ("test", Align::Name),
];

const ASKED: [(&str, Align); 2] = [("ran it", Align::Right), ("test", Align::Name)];

/// Writes the tests that run `place`, if the user asks for a place, else all tests and the smallest
/// set. `run` has the profiles of all tests.
///
/// # Errors
/// If writing to `out` fails.
pub fn write(
    run: &RunProfile,
    tests: &TestCoverage,
    place: Option<&str>,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let sheet = &mut Sheet::new(run, options, &mut out);
    match place {
        Some(place) => write_asked(sheet, tests, place)?,
        None => {
            write_tests(sheet, tests)?;
            write_set(sheet, tests)?;
        }
    }
    out.flush()
}

fn write_asked(sheet: &mut Sheet<'_>, tests: &TestCoverage, place: &str) -> io::Result<()> {
    let asked = tests.asked();
    let all = grouped(tests.tests.len() as u64);
    sheet.title(
        &format!("Tests that run {place}"),
        &format!("{} of {all}", grouped(asked.len() as u64)),
    )?;
    if asked.is_empty() {
        return sheet.indented(Ink::Plain, "no test runs it");
    }
    let mut table = Table::new(&ASKED);
    for (test, count) in asked {
        table.row(vec![
            (Ink::Number, plural(count, "time")),
            (Ink::Strong, name(tests, test)),
        ]);
    }
    table.write(&mut sheet.page)
}

fn write_tests(sheet: &mut Sheet<'_>, tests: &TestCoverage) -> io::Result<()> {
    let mut rows: Vec<(usize, (u64, u64))> = tests.counts().into_iter().enumerate().collect();
    rows.sort_by_key(|&(test, (covers, alone))| (std::cmp::Reverse((alone, covers)), test));
    let order = format!(
        "most {} that no other test covers first; together they cover {}",
        plural_noun(tests),
        counted(tests, tests.item_count())
    );
    if !write_heading(sheet, "Tests", rows.len(), &order)? {
        return Ok(());
    }
    let mut table = Table::new(&TESTS);
    for (test, (covers, alone)) in rows.into_iter().take(sheet.top()) {
        table.row(vec![
            (Ink::Plain, grouped(covers)),
            (Ink::Number, grouped(alone)),
            (Ink::Strong, name(tests, test)),
        ]);
    }
    table.write(&mut sheet.page)
}

fn write_set(sheet: &mut Sheet<'_>, tests: &TestCoverage) -> io::Result<()> {
    let set = tests.smallest_set();
    let noun = plural_noun(tests);
    let size = format!(
        "{} of {} keep all {noun}",
        grouped(set.tests.len() as u64),
        plural(tests.tests.len() as u64, "test")
    );
    let proof = match set.is_smallest {
        true => "no smaller set does",
        false => "a smaller set may exist: the search was stopped",
    };
    let alone = match set.essential.len() {
        0 => String::new(),
        1 => format!("; 1 of them covers {noun} that no other test covers"),
        count => format!(
            "; {} of them cover {noun} that no other test covers",
            grouped(count as u64)
        ),
    };
    let subtitle = format!("{size}; {proof}{alone}");
    sheet.title("Smallest set of tests", &subtitle)?;
    for &test in &set.tests {
        let mut line = Line::new();
        line.put(Ink::Plain, "  ")
            .put_name(Ink::Strong, &name(tests, test));
        sheet.page.line(&line)?;
    }
    Ok(())
}

fn name(tests: &TestCoverage, test: usize) -> String {
    let test = &tests.tests[test];
    match test.passed {
        Some(false) => format!("{} (failed)", test.name),
        Some(true) | None => test.name.clone(),
    }
}

/// A number of items: `1,204 paths`.
fn counted(tests: &TestCoverage, count: u64) -> String {
    match count {
        1 => format!("1 {}", tests.noun()),
        _ => format!("{} {}", grouped(count), plural_noun(tests)),
    }
}

fn plural_noun(tests: &TestCoverage) -> &'static str {
    match tests.noun() {
        "line" => "lines",
        "path" => "paths",
        _ => "paths and edges",
    }
}
