//! LCOV's tracefile: functions, branches, and lines of each file.

use std::io::Write;
use std::path::PathBuf;

use holloway_format::Count;
use lcov::Record;

use super::coverage::{BranchCoverage, FileCoverage, Share, coverage};
use super::run::{ExportRun, Result, one_line};

/// Writes a section for each file. A comma in the name of a function becomes `;`, because a comma
/// ends the name.
pub(super) fn write(export: &ExportRun<'_>, out: &mut dyn Write) -> Result<()> {
    for (path, file) in coverage(export) {
        let path = PathBuf::from(one_line(&path));
        for record in records(path, &file) {
            writeln!(out, "{record}")?;
        }
    }
    Ok(())
}

fn records(path: PathBuf, file: &FileCoverage) -> Vec<Record> {
    let mut records = vec![
        Record::TestName {
            name: String::new(),
        },
        Record::SourceFile { path },
    ];
    let function_name = |name: &str| one_line(name).replace(", ", ";").replace(',', ";");
    records.extend(
        file.functions
            .keys()
            .map(|(line, name)| Record::FunctionName {
                name: function_name(name),
                start_line: *line,
            }),
    );
    let calls = file.functions.iter();
    records.extend(calls.map(|((_, name), count)| Record::FunctionData {
        name: function_name(name),
        count: count.0,
    }));
    let Share { hit, found } = Share::of_functions(file);
    records.extend([
        Record::FunctionsFound {
            found: found as u32,
        },
        Record::FunctionsHit { hit: hit as u32 },
    ]);
    records.extend(file.branches.iter().flat_map(ways));
    let Share { hit, found } = Share::of_ways(file);
    records.extend([
        Record::BranchesFound {
            found: found as u32,
        },
        Record::BranchesHit { hit: hit as u32 },
    ]);
    records.extend(file.lines.iter().map(|(&line, count)| Record::LineData {
        line,
        count: count.0,
        checksum: None,
    }));
    let Share { hit, found } = Share::of_lines(file);
    records.extend([
        Record::LinesFound {
            found: found as u32,
        },
        Record::LinesHit { hit: hit as u32 },
        Record::EndOfRecord,
    ]);
    records
}

/// The ways of a branch. Those of a branch that never ran have no count.
fn ways(branch: &BranchCoverage) -> Vec<Record> {
    let record = |(number, count): (u32, &Count)| Record::BranchData {
        line: branch.line,
        block: branch.number,
        branch: number,
        taken: branch.ran().then_some(count.0),
    };
    (0u32..).zip(&branch.ways).map(record).collect()
}
