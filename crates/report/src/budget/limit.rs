//! A limit, and what a run has for it.

use std::fmt;

use holloway_analysis::bounds::Bound;
use regex::Regex;

use super::measure::Measure;
use crate::code::{CodeFilter, Glob};
use crate::numbers::{grouped, plural};
use crate::options::PathChoice;
use crate::terminal::bounds::marked;

/// A limit on a figure of a run.
#[derive(Clone, Debug)]
pub struct Limit {
    /// The user's name for the limit.
    pub name: Option<String>,
    /// The line of the file with the limits.
    pub line: u32,
    /// The figure.
    pub measure: Measure,
    /// Counts only functions whose demangled name matches.
    pub function: Option<Regex>,
    /// Counts only the path with this short name.
    pub path: Option<PathChoice>,
    /// Counts only this code.
    pub code: CodeFilter,
    /// The figure must be at least as large.
    pub min: Option<Number>,
    /// The figure must be at most as large.
    pub max: Option<Number>,
}

/// A number in a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer.
    Integer(i128),
    /// Another number.
    Real(f64),
}

/// A figure of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number of executions, instructions, or paths, and how it may differ from the real number.
    Count(u64, Bound),
    /// A share or a change, in percent.
    Percent(f64),
    /// An overlap, from 0 to 1.
    Ratio(f64),
}

impl Value {
    /// Whether the figure is larger than a number. Counts are compared exactly with integers.
    fn is_above(self, number: Number) -> bool {
        match (self, number) {
            (Self::Count(count, _), Number::Integer(limit)) => i128::from(count) > limit,
            (value, number) => value.real() > number.real(),
        }
    }

    /// Whether the figure is smaller than a number.
    fn is_below(self, number: Number) -> bool {
        match (self, number) {
            (Self::Count(count, _), Number::Integer(limit)) => i128::from(count) < limit,
            (value, number) => value.real() < number.real(),
        }
    }

    /// The figure as a real number.
    pub(super) fn real(self) -> f64 {
        match self {
            Self::Count(count, _) => count as f64,
            Self::Percent(value) | Self::Ratio(value) => value,
        }
    }

    /// Writes a number of the same unit.
    fn limit(self, number: Number) -> String {
        let text = match number {
            Number::Integer(number) => match u64::try_from(number) {
                Ok(number) => grouped(number),
                Err(_) => number.to_string(),
            },
            Number::Real(number) => number.to_string(),
        };
        match self {
            Self::Count(..) | Self::Ratio(_) => text,
            Self::Percent(_) => format!("{text} %"),
        }
    }
}

impl Number {
    /// The number as a real number.
    pub fn real(self) -> f64 {
        match self {
            Self::Integer(number) => number as f64,
            Self::Real(number) => number,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Count(count, bound) => f.write_str(&marked(bound, &grouped(count))),
            Self::Percent(percent) => write!(f, "{percent:.2} %"),
            Self::Ratio(ratio) => write!(f, "{ratio:.4}"),
        }
    }
}

/// A limit, and what the run has for it.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The limit.
    pub limit: Limit,
    /// The figure of the run.
    pub value: Value,
    /// What the figure leaves out because the run does not tell.
    pub not_measured: NotMeasured,
    /// The place of the function with the most instructions that the limit counts, if the limit
    /// names functions: a file and a line.
    pub place: Option<(String, u32)>,
}

/// Code that a share of coverage leaves out, because the run does not tell whether it was covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotMeasured {
    /// Decisions: paths begin inside them, or they have too many conditions.
    pub decisions: u64,
    /// Functions with too many prime paths.
    pub functions: u64,
    /// Prime paths over more iterations than the run recorded.
    pub long_paths: u64,
}

impl NotMeasured {
    /// How many parts of the code are left out.
    pub fn parts(self) -> u64 {
        self.decisions + self.functions + self.long_paths
    }

    /// What is left out: `2 decisions`. Empty if nothing is.
    pub(super) fn words(self) -> String {
        let parts = [
            (self.decisions, "decision"),
            (self.functions, "function"),
            (self.long_paths, "long prime path"),
        ];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, noun)| plural(count, noun)).collect();
        parts.join(" and ")
    }
}

impl Checked {
    /// Whether the run keeps the limit. A count that is not exact is compared as it was counted.
    pub fn keeps(&self) -> bool {
        let Limit { min, max, .. } = self.limit;
        !min.is_some_and(|min| self.value.is_below(min))
            && !max.is_some_and(|max| self.value.is_above(max))
    }

    /// The user's name of the limit, or what it limits: `instructions of ^parse`.
    pub fn name(&self) -> String {
        let Limit { name, measure, .. } = &self.limit;
        if let Some(name) = name {
            return name.clone();
        }
        let mut text = measure.name().replace('-', " ");
        if let Some(path) = &self.limit.path {
            text += &format!(" of {}{}", path.function, path.prefix);
        } else if let Some(function) = &self.limit.function {
            text += &format!(" of {function}");
        }
        let CodeFilter { crates, files, .. } = &self.limit.code;
        let globs = files.iter().map(Glob::text);
        let parts: Vec<&str> = crates.iter().map(String::as_str).chain(globs).collect();
        if !parts.is_empty() {
            text += &format!(" in {}", parts.join(", "));
        }
        text
    }

    /// What is allowed: `at least 80 %`, `from 1 to 3`.
    pub fn allowed(&self) -> String {
        let number = |number| self.value.limit(number);
        match (self.limit.min, self.limit.max) {
            (Some(min), Some(max)) => format!("from {} to {}", number(min), number(max)),
            (Some(min), None) => format!("at least {}", number(min)),
            (None, Some(max)) => format!("at most {}", number(max)),
            (None, None) => "any".to_owned(),
        }
    }
}
