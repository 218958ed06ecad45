//! Writes the results of a check in the format of JUnit, which CI systems read.

use std::io;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::results::{Out, Results};
use super::text::sentence;

/// Writes the results in the format of JUnit: a test for each limit, which fails if the limit is
/// broken.
///
/// # Errors
/// If writing to `out` fails.
pub fn junit(results: &Results, out: Out<'_>) -> io::Result<()> {
    let mut suite = TestSuite::new(results.budget.as_str());
    for checked in &results.checked {
        let status = match checked.keeps() {
            true => TestCaseStatus::success(),
            false => {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                status.set_message(sentence(checked));
                status
            }
        };
        let mut case = TestCase::new(checked.name(), status);
        case.set_classname(checked.limit.measure.name());
        let (file, line) = match &checked.place {
            Some((file, line)) => (file.as_str(), *line),
            None => (results.budget.as_str(), checked.limit.line),
        };
        case.extra.insert("file".into(), file.into());
        case.extra.insert("line".into(), line.to_string().into());
        suite.add_test_case(case);
    }
    let mut report = Report::new("holloway check");
    report.add_test_suite(suite);
    report.serialize(out).map_err(io::Error::other)
}
