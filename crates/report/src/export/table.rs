//! The table of CSV and Parquet: a row for each path that ran, and a row for each edge of the
//! functions that ran.
//!
//! Both files have the columns of [`COLUMNS`]. docs/export.md explains them.

use std::collections::HashMap;

use holloway_analysis::edges::of_function;
use holloway_analysis::{Function, FunctionId};
use holloway_format::Count;

use super::run::ExportRun;
use super::stacks::Stacks;
use crate::filter::Filter;

/// A value of a row. Empty where the column does not apply.
pub(super) enum Value<'a> {
    Text(Option<&'a str>),
    Number(Option<i64>),
    Flag(Option<bool>),
}

/// The type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Type {
    Text,
    Number,
    Flag,
}

/// A column: its name, its type, and its value in a row.
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) r#type: Type,
    pub(super) value: for<'r> fn(&'r Row) -> Value<'r>,
}

macro_rules! columns {
    ($($name:literal $type:ident |$row:ident| $value:expr,)*) => {
        [$(Column {
            name: $name,
            r#type: Type::$type,
            value: |$row| Value::$type($value),
        }),*]
    };
}

/// The columns, in order.
pub(super) const COLUMNS: [Column; 19] = columns! {
    "record" Text |row| Some(row.record.word()),
    "image" Text |row| Some(&row.image),
    "module" Text |row| Some(&row.module),
    "function" Text |row| Some(&row.function),
    "linkage_name" Text |row| Some(&row.linkage_name),
    "file" Text |row| Some(&row.file),
    "line" Number |row| Some(row.line.into()),
    "path" Number |row| row.path().map(|path| path.id),
    "path_name" Text |row| row.path().map(|path| &*path.name),
    "start" Text |row| row.path().map(|path| &*path.start),
    "decisions" Text |row| row.path().map(|path| &*path.decisions),
    "end" Text |row| row.path().map(|path| &*path.end),
    "from_block" Number |row| row.edge().map(|edge| edge.from),
    "to_block" Number |row| row.edge().map(|edge| edge.to),
    "left" Flag |row| row.edge().map(|edge| edge.left),
    "count" Number |row| Some(row.count),
    "instructions" Number |row| row.path().map(|path| path.instructions),
    "total_instructions" Number |row| row.path().map(|path| path.total_instructions),
    "nanoseconds" Number |row| row.path().and_then(|path| path.nanoseconds),
};

/// A row.
pub(super) struct Row {
    record: Record,
    image: String,
    module: String,
    function: String,
    linkage_name: String,
    file: String,
    line: u32,
    count: i64,
}

enum Record {
    Path(PathColumns),
    Edge(EdgeColumns),
}

impl Record {
    fn word(&self) -> &'static str {
        match self {
            Record::Path(_) => "path",
            Record::Edge(_) => "edge",
        }
    }
}

struct PathColumns {
    id: i64,
    name: String,
    start: String,
    decisions: String,
    end: String,
    /// Instructions of one execution.
    instructions: i64,
    total_instructions: i64,
    /// Time of all executions, if the path was timed.
    nanoseconds: Option<i64>,
}

struct EdgeColumns {
    from: i64,
    to: i64,
    left: bool,
}

impl Row {
    fn path(&self) -> Option<&PathColumns> {
        match &self.record {
            Record::Path(path) => Some(path),
            Record::Edge(_) => None,
        }
    }

    fn edge(&self) -> Option<&EdgeColumns> {
        match &self.record {
            Record::Path(_) => None,
            Record::Edge(edge) => Some(edge),
        }
    }
}

/// Calls `visit` for each row: paths, most instructions first; then edges, in the order of
/// functions.
///
/// # Errors
/// The first error of `visit`.
pub(super) fn rows<E>(
    export: &ExportRun<'_>,
    mut visit: impl FnMut(Row) -> Result<(), E>,
) -> Result<(), E> {
    let run = export.run;
    let names = Filter::new(export.options);
    let mut heads: HashMap<FunctionId, Head> = HashMap::new();
    let stacks = Stacks::new(export);
    for path in &stacks.paths {
        let head = heads
            .entry(path.function)
            .or_insert_with(|| Head::new(export, &names, path.function));
        let boxes: Vec<&str> = path
            .frames
            .iter()
            .map(|&frame| &*stacks.frames[frame as usize].name)
            .collect();
        let [_, start, decisions @ .., end] = &boxes[..] else {
            continue;
        };
        let end = end.strip_prefix(&*path.name).unwrap_or(end).trim_start();
        visit(head.row(
            signed(path.count),
            Record::Path(PathColumns {
                id: i64::try_from(path.path.0).unwrap_or(i64::MAX),
                name: path.full_name.clone(),
                start: (*start).to_owned(),
                decisions: decisions.join("; "),
                end: end.to_owned(),
                instructions: signed(Count(path.length)),
                total_instructions: signed(path.instructions),
                nanoseconds: path.nanoseconds.map(signed),
            }),
        ))?;
    }
    let selected = run.ids();
    let selected = selected.filter(|&(id, function)| function.ran() && names.keeps(run, id));
    for (id, function) in selected {
        let head = Head::new(export, &names, id);
        for edge in of_function(function) {
            let columns = EdgeColumns {
                from: edge.from,
                to: edge.to,
                left: edge.left,
            };
            visit(head.row(edge.count, Record::Edge(columns)))?;
        }
    }
    Ok(())
}

/// The columns of a function.
struct Head {
    image: String,
    module: String,
    function: String,
    linkage_name: String,
    file: String,
    line: u32,
}

impl Head {
    fn new(export: &ExportRun<'_>, names: &Filter<'_>, id: FunctionId) -> Head {
        let function: &Function = export.run.function(id);
        let module = export.run.module_of(function);
        Head {
            image: export.run.images[module.image.index()].name.clone(),
            module: module.name.to_string(),
            function: names.name(function).to_string(),
            linkage_name: function.map.linkage_name.to_string(),
            file: function.map.file.to_string(),
            line: function.map.line,
        }
    }

    fn row(&self, count: i64, record: Record) -> Row {
        Row {
            record,
            image: self.image.clone(),
            module: self.module.clone(),
            function: self.function.clone(),
            linkage_name: self.linkage_name.clone(),
            file: self.file.clone(),
            line: self.line,
            count,
        }
    }
}

/// A count in a signed column.
fn signed(count: Count) -> i64 {
    i64::try_from(count.0).unwrap_or(i64::MAX)
}
