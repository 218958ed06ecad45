//! The table of source files, and a line of the document for each: the source of the functions that
//! ran, and the counts of its lines.

use holloway_analysis::lines::Lines;
use holloway_analysis::{FunctionId, RunProfile};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};

use super::exact::Exact;
use super::excerpts::{Excerpts, Ranges};
use crate::filter::Filter;
use crate::lines::line_counts;
use crate::options::Options;
use crate::places::{is_library, short};
use crate::source::changed_files;

/// The files of a document. A file has the index of its first use.
pub(super) struct FileTable<'a> {
    options: &'a Options<'a>,
    indices: HashMap<String, usize>,
    files: Vec<String>,
}

/// The names of all files.
#[derive(Serialize)]
pub(super) struct FileNames {
    /// Short names, as reports show them.
    names: Vec<String>,
    /// Whether the file belongs to a library.
    library: Vec<u8>,
}

/// A file.
#[derive(Serialize)]
pub(super) struct FileRecord {
    /// The name in the debug information.
    path: String,
    excerpts: Excerpts,
    /// Whether the text is not the text that the compiler read.
    is_changed: bool,
    /// By line with code: the difference to the previous line, and the count.
    counts: Vec<Exact>,
    /// The counts of the baseline, in the same form. Absent without a baseline.
    baseline: Option<Vec<Exact>>,
}

impl<'a> FileTable<'a> {
    pub(super) fn new(options: &'a Options<'a>) -> FileTable<'a> {
        FileTable {
            options,
            indices: HashMap::new(),
            files: Vec::new(),
        }
    }

    /// The index of a file.
    pub(super) fn index(&mut self, file: &str) -> usize {
        if let Some(&index) = self.indices.get(file) {
            return index;
        }
        let index = self.files.len();
        self.indices.insert(file.to_owned(), index);
        self.files.push(file.to_owned());
        index
    }

    /// The names of the files so far.
    pub(super) fn names(&self, options: &Options<'_>) -> FileNames {
        let files = self.files.iter();
        FileNames {
            names: files
                .clone()
                .map(|file| short(file, options.cwd.as_deref()))
                .collect(),
            library: files.map(|file| u8::from(is_library(file))).collect(),
        }
    }

    /// The files with the source of these functions.
    pub(super) fn records(
        &self,
        run: &RunProfile,
        names: &Filter<'_>,
        ids: &[FunctionId],
        before: Option<&BTreeMap<String, Lines>>,
    ) -> Vec<FileRecord> {
        let mut ranges = Ranges::default();
        for &id in ids {
            ranges.add_function(&run.function(id).map);
        }
        let counts = line_counts(run, names);
        let record = |file: &String| FileRecord {
            path: file.clone(),
            counts: fields(counts.get(file)),
            excerpts: ranges.excerpts(file, self.options.source),
            is_changed: false,
            baseline: before.map(|before| fields(before.get(file))),
        };
        let mut records: Vec<FileRecord> = self.files.iter().map(record).collect();
        let compiled = run.modules.iter().flat_map(|module| &module.sources);
        let changed: HashSet<&str> = changed_files(compiled, self.options.source)
            .into_iter()
            .collect();
        for record in &mut records {
            record.is_changed = changed.contains(&*record.path);
        }
        records
    }
}

/// By line: the difference to the previous line, and the count.
fn fields(lines: Option<&Lines>) -> Vec<Exact> {
    let mut previous = 0;
    let lines = lines.into_iter().flatten();
    let fields = lines.flat_map(|(&line, &count)| {
        let difference = line - previous;
        previous = line;
        [difference.into(), count.into()]
    });
    fields.collect()
}
