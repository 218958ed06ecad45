//! The reasons why a plan cannot be read.

use crate::plan::lines::{FIRST_LINE, LAST_LINE, LATE_LINE};

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
    #[error("line {line}: not UTF-8: name a file that `holloway plan train` wrote")]
    NotUtf8 {
        /// The number of the line, from 1.
        line: usize,
    },
    /// A line has not the form that its first word asks for, or that its part of the plan has.
    #[error("line {line}: not of the form `{form}`: correct the line, or write the plan again")]
    Form {
        /// The number of the line, from 1.
        line: usize,
        /// The form.
        form: &'static str,
    },
    /// A function of the late counts has a line that only early counts can have.
    #[error(
        "line {line}: late counts have no lines `{word}`, because the optimizer has used those of early counts: move the line before `{LATE_LINE}`, or remove it"
    )]
    Late {
        /// The number of the line, from 1.
        line: usize,
        /// The first word of the line.
        word: &'static str,
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
