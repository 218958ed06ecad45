//! Finds the one function that a command shows: `holloway graph FUNCTION`, `holloway annotate
//! FUNCTION`, and exports of a single function.

use std::cmp::Reverse;
use std::fmt;

use holloway_analysis::{Function, FunctionId, RunProfile};
use holloway_format::PathId;
use regex::Regex;

use crate::filter::Filter;
use crate::options::{Options, PathChoice};

/// Names of functions that a message lists.
const LISTED: usize = 5;

/// The reason why a command has no single function to show.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OneFunctionError {
    /// No function that the options select ran.
    NothingRan,
    /// The function ran only where it was inlined.
    OnlyInlined {
        /// The functions into which it was inlined, those with the most instructions first.
        into: Vec<String>,
    },
    /// The options select several functions that ran.
    Several {
        /// The first of them.
        names: Vec<String>,
        /// The number of all of them.
        count: usize,
    },
}

impl fmt::Display for OneFunctionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingRan => f.write_str(
                "no function with this name ran: `holloway report --view functions` lists the functions that ran",
            ),
            Self::OnlyInlined { into } => write!(
                f,
                "all calls of this function were inlined: choose a function that contains it: {}",
                into.join(", ")
            ),
            Self::Several { names, count } => {
                let more = match count - names.len() {
                    0 => String::new(),
                    more => format!(", and {more} more"),
                };
                write!(
                    f,
                    "{count} functions match: {}{more}; use a longer name, or a pattern such as '^NAME$'",
                    names.join(", ")
                )
            }
        }
    }
}

impl std::error::Error for OneFunctionError {}

/// The only function that ran and that the options select.
///
/// # Errors
/// If no function or several functions are selected.
pub fn one_function(
    run: &RunProfile,
    options: &Options<'_>,
) -> Result<FunctionId, OneFunctionError> {
    let names = Filter::new(options);
    let selected = run.ids();
    let selected = selected.filter(|&(id, function)| function.ran() && names.keeps(run, id));
    let selected: Vec<FunctionId> = selected.map(|(id, _)| id).collect();
    match selected[..] {
        [id] => Ok(id),
        [] => Err(none_ran(run, &names)),
        _ => {
            let listed = selected.iter().take(LISTED);
            Err(OneFunctionError::Several {
                names: listed
                    .map(|&id| names.name(run.function(id)).to_string())
                    .collect(),
                count: selected.len(),
            })
        }
    }
}

/// The reason why no function that the options select ran.
fn none_ran(run: &RunProfile, names: &Filter<'_>) -> OneFunctionError {
    let contains = |function: &&Function| {
        let mut scopes = function.map.scopes.iter();
        function.ran() && scopes.any(|scope| names.keeps_scope(run, function, scope))
    };
    let mut functions: Vec<&Function> = run.functions.iter().filter(contains).collect();
    functions.sort_by_key(|function| Reverse(function.flow().instructions));
    let into = functions.iter().take(LISTED);
    let into: Vec<String> = into
        .map(|function| names.name(function).to_string())
        .collect();
    match into.is_empty() {
        true => OneFunctionError::NothingRan,
        false => OneFunctionError::OnlyInlined { into },
    }
}

/// The pattern for a function that the user names: the name or its end after a `::`, if a function
/// of the run has this name, and otherwise a regex.
///
/// # Errors
/// If no function has the name, and it is no regex.
pub fn function_pattern(run: &RunProfile, name: &str) -> Result<Regex, regex::Error> {
    match names_function(run, name) {
        true => Ok(PathChoice::functions_named(name)),
        false => Regex::new(name),
    }
}

/// Whether a text is the name of a function of the run, or the end of its name after a `::`.
/// Functions that were inlined everywhere count.
pub fn names_function(run: &RunProfile, name: &str) -> bool {
    let exact = PathChoice::functions_named(name);
    let all = Filter::all();
    run.functions.iter().any(|function| {
        let mut scopes = function.map.scopes.iter();
        exact.is_match(&all.name(function))
            || scopes.any(|scope| exact.is_match(&all.name_of(&scope.linkage_name, &scope.name)))
    })
}

/// The path of a function that ran and has this name.
pub fn chosen_path(function: &Function, choice: &PathChoice) -> Option<PathId> {
    let mut paths = function.counts.iter().map(|&(path, _)| path);
    paths.find(|&path| {
        let name = function.path_name(path);
        name.is_some_and(|name| choice.prefix.matches(name))
    })
}
