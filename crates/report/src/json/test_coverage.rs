//! Writes what each test covers, and which tests suffice, as JSON (`holloway coverage --tests`).

use std::io::{self, Write};

use holloway_format::Count;
use serde::Serialize;

use super::document::{self, SCHEMA};
use crate::test_coverage::TestCoverage;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    tests: TestsRecord<'a>,
}

#[derive(Serialize)]
struct TestsRecord<'a> {
    covered: &'static str,
    items: u64,
    list: Vec<TestRecord<'a>>,
    smallest_set: SetRecord<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<AskedRecord<'a>>,
}

#[derive(Serialize)]
struct TestRecord<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    passed: Option<bool>,
    covers: u64,
    alone: u64,
}

#[derive(Serialize)]
struct SetRecord<'a> {
    tests: Vec<&'a str>,
    essential: Vec<&'a str>,
    proven: bool,
}

#[derive(Serialize)]
struct AskedRecord<'a> {
    place: &'a str,
    tests: Vec<AskedTest<'a>>,
}

#[derive(Serialize)]
struct AskedTest<'a> {
    name: &'a str,
    executions: Count,
}

/// Writes the document. `place` is the place that the user asks for.
///
/// # Errors
/// If writing to `out` fails.
pub fn write(tests: &TestCoverage, place: Option<&str>, out: &mut dyn Write) -> io::Result<()> {
    let set = tests.smallest_set();
    let name = |test: &usize| tests.tests[*test].name.as_str();
    let list = tests.tests.iter().zip(tests.counts());
    let record = TestsRecord {
        covered: tests.noun(),
        items: tests.item_count(),
        list: list
            .map(|(test, (covers, alone))| TestRecord {
                name: &test.name,
                passed: test.passed,
                covers,
                alone,
            })
            .collect(),
        smallest_set: SetRecord {
            tests: set.tests.iter().map(name).collect(),
            essential: set.essential.iter().map(name).collect(),
            proven: set.is_smallest,
        },
        asked: place.map(|place| AskedRecord {
            place,
            tests: tests
                .asked()
                .into_iter()
                .map(|(test, executions)| AskedTest {
                    name: name(&test),
                    executions,
                })
                .collect(),
        }),
    };
    document::write(
        &Document {
            schema: SCHEMA,
            tests: record,
        },
        out,
    )
}
