//! Finds the one function that a command shows: `holloway graph FUNCTION`, `holloway annotate
//! FUNCTION`, and exports of a single function.

use std::cmp::Reverse;
use std::fmt;
use std::path::Path;

use holloway_analysis::{Function, FunctionId, RunProfile};
use holloway_format::PathId;
use regex::Regex;

use crate::code::{Glob, crate_of};
use crate::filter::Filter;
use crate::options::{Options, PathChoice};
use crate::places::{file_and_line, short};

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
    Several(SeveralFunctions),
}

/// Functions that the options select, where one is wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeveralFunctions {
    /// The first of them.
    pub functions: Vec<NamedFunction>,
    /// The number of all of them.
    pub count: usize,
    /// How the user can choose one of them.
    pub choice: Choice,
}

/// A function, and where it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedFunction {
    /// Its name.
    pub name: String,
    /// File and line of its declaration. Empty if they are unknown.
    pub place: String,
    /// Its crate. Of C, the object file.
    pub crate_name: String,
    /// Its program or library.
    pub image: String,
}

/// What distinguishes functions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Their names.
    Name,
    /// Their files. This pattern selects one of them.
    File(String),
    /// Their crates. This is one of them.
    Crate(String),
    /// Their programs.
    Program,
    /// Nothing that the user can name: they are instances of one generic function.
    Nothing,
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
            Self::Several(several) => several.fmt(f),
        }
    }
}

impl fmt::Display for SeveralFunctions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            functions, count, ..
        } = self;
        let listed: Vec<String> = functions.iter().map(|one| self.listed(one)).collect();
        let more = match count - listed.len() {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        write!(f, "{count} functions match: {}{more}; ", listed.join(", "))?;
        match &self.choice {
            Choice::Name => f.write_str(
                "use a longer name, a pattern such as '^NAME$', or --file GLOB or --crate NAME",
            ),
            Choice::File(file) => write!(f, "choose one by its file, as in --file {file}"),
            Choice::Crate(name) => write!(f, "choose one by its crate, as in --crate {name}"),
            Choice::Program => f.write_str(
                "choose one by its program: name one profile of the run instead of the run",
            ),
            Choice::Nothing => f.write_str(
                "they are instances of one function, which `holloway report --function` shows together",
            ),
        }
    }
}

impl SeveralFunctions {
    /// `f (one.c:1 in one.o)`.
    fn listed(&self, function: &NamedFunction) -> String {
        let NamedFunction {
            name,
            place,
            crate_name,
            image,
        } = function;
        let at = match place.is_empty() {
            true => String::new(),
            false => format!("{place} "),
        };
        let image = match self.choice {
            Choice::Program => format!(" of {image}"),
            Choice::Name | Choice::File(_) | Choice::Crate(_) | Choice::Nothing => String::new(),
        };
        format!("{name} ({at}in {crate_name}{image})")
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
        _ => Err(OneFunctionError::Several(several(
            run, &selected, &names, options,
        ))),
    }
}

fn several(
    run: &RunProfile,
    selected: &[FunctionId],
    names: &Filter<'_>,
    options: &Options<'_>,
) -> SeveralFunctions {
    let cwd = options.cwd.as_deref();
    let named = selected.iter().map(|&id| {
        let function = run.function(id);
        let (map, module) = (&function.map, run.module_of(function));
        let name = names.name(function).to_string();
        NamedFunction {
            place: match map.file.is_empty() {
                true => String::new(),
                false => file_and_line(&map.file, map.line, cwd),
            },
            crate_name: crate_of(&map.file, &name, &module.name),
            image: run.images[module.image.index()].name.clone(),
            name,
        }
    });
    let mut functions: Vec<NamedFunction> = named.collect();
    let files = selected.iter().map(|&id| &*run.function(id).map.file);
    let choice = choice(&functions, &files.collect::<Vec<_>>(), cwd);
    functions.truncate(LISTED);
    SeveralFunctions {
        functions,
        count: selected.len(),
        choice,
    }
}

/// What distinguishes functions. `files` has the file of each.
fn choice(functions: &[NamedFunction], files: &[&str], cwd: Option<&Path>) -> Choice {
    let differ = |part: &dyn Fn(&NamedFunction) -> &str| {
        let mut pairs = functions.windows(2);
        pairs.any(|pair| part(&pair[0]) != part(&pair[1]))
    };
    if differ(&|function| &function.name) {
        return Choice::Name;
    }
    if files.windows(2).any(|pair| pair[0] != pair[1]) {
        let shown = files.iter().filter(|file| !file.is_empty());
        let mut shown = shown.map(|file| short(file, cwd));
        let selects_one = |pattern: &String| {
            let glob = Glob::new(pattern);
            files.iter().filter(|file| glob.selects(file, cwd)).count() == 1
        };
        let first = shown.clone().next().unwrap_or_default();
        return Choice::File(shown.find(selects_one).unwrap_or(first));
    }
    if differ(&|function| &function.crate_name) {
        return Choice::Crate(functions[0].crate_name.clone());
    }
    match differ(&|function| &function.image) {
        true => Choice::Program,
        false => Choice::Nothing,
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
