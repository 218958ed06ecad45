//! The reasons why a plan cannot be read.

use crate::plan::lines::{FIRST_LINE, LAST_LINE};

/// A line of a plan that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The file is no plan, or a plan of another version.
    #[error("the first line is not `{FIRST_LINE}`: name a file that `holloway plan train` wrote")]
    FirstLine,
    /// The file has no last line, or lines after it.
    #[error(
        "the last line is not `{LAST_LINE}`: the file was cut short or damaged; write the plan again"
    )]
    LastLine,
    /// The file is not UTF-8.
    #[error("line {line}: not UTF-8")]
    NotUtf8 {
        /// The number of the line, from 1.
        line: usize,
    },
    /// A line has no known form.
    #[error(
        "line {line}: not `function HASH CALLS EDGES NAME`, `code …`, `EDGE COUNT`, `target SITE COUNT NAME`, `size SITE COUNT BYTES`, `unpredictable EDGE COUNT`, `tail COUNT EDGE-EDGE…`, `late`, `order`, `place NAME`, `prefetches`, or `load LINE COLUMN TURNS NAME`"
    )]
    Form {
        /// The number of the line, from 1.
        line: usize,
    },
    /// An edge's number is not below the function's number of edges, or does not ascend.
    #[error("line {line}: edge {edge} is out of range or out of order")]
    Edge {
        /// The number of the line, from 1.
        line: usize,
        /// The edge.
        edge: usize,
    },
    /// A path of copied blocks has less than two edges or edges out of range, or is out of order.
    #[error(
        "line {line}: not a path of two or more edges of its function, or out of order: sort paths by their edges"
    )]
    Tail {
        /// The number of the line, from 1.
        line: usize,
    },
    /// A function's code cannot be read, comes twice, or has another number of edges.
    #[error("line {line}: not the code of its function: write the plan again, or remove the line")]
    Code {
        /// The number of the line, from 1.
        line: usize,
    },
    /// The sizes of a function do not ascend by number and size.
    #[error("line {line}: the size is out of order: sort sizes by number, then by size")]
    Size {
        /// The number of the line, from 1.
        line: usize,
    },
    /// The targets of a function do not ascend by number and name.
    #[error("line {line}: the target is out of order: sort targets by number, then by name")]
    Target {
        /// The number of the line, from 1.
        line: usize,
    },
}
