//! Checks a question before it is answered: whether the functions, crates, files, and paths that
//! the user names exist in the program. Otherwise a typo would look like code that never ran.
//!
//! A name exists if any function of the program has it: instrumented, inlined, or left out. Several
//! runs are checked together, because code may be new in one of two builds.
//!
//! Cost: the check ends at the first code that has a name. Only an unknown name needs all names.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;

use holloway_analysis::RunProfile;
use holloway_analysis::samples::{SampledRun, time_profile};
use holloway_analysis::trace::pattern::NameError;
use holloway_format::{Count, Skipped};

use crate::code::{crate_of, same_crate};
use crate::names;
use crate::options::{Options, PathChoice};
use crate::path_names::check_path;
use crate::places::short;
use crate::similar::{similar_files, similar_names, suggestion};

/// Maximum number of crates that a message lists.
const MAX_CRATES: usize = 10;

/// A name in the question that belongs to no code of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SelectionError {
    /// No path, or more than one, has the short name.
    Path(NameError),
    /// No function matches `--function`.
    NoFunction {
        /// The regex, or the name of the function of a path, as the user wrote it.
        pattern: String,
        /// Similar names of functions.
        similar: Vec<String>,
        /// Whether the program has code whose functions are unknown: machine code without bitcode.
        has_machine_code: bool,
    },
    /// Neither a function nor a file matches.
    NoFunctionOrFile {
        /// The name, as the user wrote it.
        name: String,
        /// Similar names of functions and files.
        similar: Vec<String>,
    },
    /// No code belongs to these crates.
    NoCrate {
        /// The crates, as the user wrote them.
        names: Vec<String>,
        /// Crates with code, those with the most executed instructions first.
        crates: Vec<String>,
        /// The number of crates that are not in the list.
        left_out: usize,
    },
    /// No source file matches these patterns.
    NoFile {
        /// The patterns, as the user wrote them.
        patterns: Vec<String>,
        /// Similar names of files.
        similar: Vec<String>,
    },
}

impl fmt::Display for SelectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(error) => error.fmt(f),
            Self::NoFunction {
                pattern,
                similar,
                has_machine_code,
            } => {
                let reason = wrong_path_name(pattern).or_else(|| suggestion(similar));
                let reason = reason.unwrap_or_else(|| {
                    let without_bitcode = match has_machine_code {
                        true => ", or part of code without bitcode",
                        false => "",
                    };
                    format!(
                        "it was never instantiated, or is not part of this program{without_bitcode}; --view functions lists the functions that ran"
                    )
                });
                write!(f, "no function matches {pattern}: {reason}")
            }
            Self::NoFunctionOrFile { name, similar } => {
                let reason = wrong_path_name(name).or_else(|| suggestion(similar));
                let reason = reason.unwrap_or_else(|| {
                    "`holloway report --view functions` lists the functions that ran, and --view lines their files".to_owned()
                });
                write!(
                    f,
                    "no function and no file of this program matches {name}: {reason}"
                )
            }
            Self::NoCrate {
                names,
                crates,
                left_out,
            } => {
                let more = match left_out {
                    0 => String::new(),
                    count => format!(", and {count} more"),
                };
                write!(
                    f,
                    "no code belongs to --crate {}; crates of this program: {}{more}",
                    names.join(", "),
                    crates.join(", ")
                )
            }
            Self::NoFile { patterns, similar } => {
                let reason = suggestion(similar).unwrap_or_else(|| {
                    "a pattern is a file's path or the end of it (main.rs, src/*.rs, src/**); --view functions lists the code that ran by crate or file".to_owned()
                });
                let patterns = patterns.join(", ");
                write!(
                    f,
                    "no file of this program matches --file {patterns}: {reason}"
                )
            }
        }
    }
}

impl std::error::Error for SelectionError {}

/// What is wrong with a text that looks like the short name of a path. `None` if it does not.
fn wrong_path_name(text: &str) -> Option<String> {
    let (function, digits) = text.rsplit_once('#')?;
    let is_word = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_wrong = is_word && !function.is_empty() && PathChoice::parse(text).is_none();
    is_wrong.then(|| {
        format!("#{digits} is no short name of a path, which has 4 to 16 hexadecimal digits, as in {function}#3fa2")
    })
}

/// Checks that the names in a question exist, and that a short name means one path that ran. If a
/// question has several crates or several files, one of them must exist. Returns the others, which
/// are worth a warning.
///
/// # Errors
/// If the question can have no answer because a name does not exist.
pub fn check_selection(
    runs: &[&RunProfile],
    options: &Options<'_>,
) -> Result<Vec<SelectionError>, SelectionError> {
    let known = KnownCode::of_runs(runs);
    if known.is_empty() {
        // Nothing is known of the program. The report says why.
        return Ok(Vec::new());
    }
    known.check_function(options)?;
    check_path(runs, options).map_err(SelectionError::Path)?;
    known.check_code(options)
}

/// As [`check_selection`], for a name that may also be the name of a file.
///
/// # Errors
/// If the question can have no answer because a name does not exist.
pub fn check_function_or_file(
    run: &RunProfile,
    name: &str,
    options: &Options<'_>,
) -> Result<Vec<SelectionError>, SelectionError> {
    check_selection(&[run], options).map_err(|error| match error {
        SelectionError::NoFunction { similar, .. } => {
            let cwd = options.cwd.as_deref();
            let files = KnownCode::of_runs(&[run]).files();
            let shown = files.iter().map(|file| short(file, cwd));
            let similar = [similar, similar_files(shown, name)].concat();
            let name = name.to_owned();
            SelectionError::NoFunctionOrFile { name, similar }
        }
        other => other,
    })
}

/// As [`check_selection`], for a watched run.
///
/// # Errors
/// If the question can have no answer because a name does not exist.
pub fn check_sampled(
    run: &SampledRun,
    options: &Options<'_>,
) -> Result<Vec<SelectionError>, SelectionError> {
    let profile = time_profile(run);
    let code = profile.functions.iter().map(|function| KnownFunction {
        linkage_name: &function.linkage_name,
        name: &function.name,
        file: &function.place.file,
        module: &run.files[function.file].path,
        instructions: function.samples,
    });
    let known = KnownCode {
        functions: code.collect(),
        has_machine_code: false,
    };
    if known.is_empty() {
        return Ok(Vec::new());
    }
    known.check_function(options)?;
    known.check_code(options)
}

/// A function that has code of its own, or that is inlined or left out.
struct KnownFunction<'a> {
    linkage_name: &'a str,
    name: &'a str,
    /// Empty if the file is unknown.
    file: &'a str,
    module: &'a str,
    /// Executed instructions, or samples. 0 for inlined functions.
    instructions: Count,
}

/// All code of the programs that a question is about.
struct KnownCode<'a> {
    functions: Vec<KnownFunction<'a>>,
    has_machine_code: bool,
}

impl<'a> KnownCode<'a> {
    fn of_runs(runs: &[&'a RunProfile]) -> KnownCode<'a> {
        let mut functions = Vec::new();
        for run in runs {
            for function in &run.functions {
                let map = &function.map;
                let module = run.module_of(function).name.as_str();
                functions.push(KnownFunction {
                    linkage_name: &map.linkage_name,
                    name: &map.name,
                    file: &map.file,
                    module,
                    instructions: match function.ran() {
                        true => function.flow().instructions,
                        false => Count::ZERO,
                    },
                });
                let inlined = map.scopes.iter().filter(|scope| scope.parent.is_some());
                functions.extend(inlined.map(|scope| KnownFunction {
                    linkage_name: &scope.linkage_name,
                    name: &scope.name,
                    file: &scope.file,
                    module,
                    instructions: Count::ZERO,
                }));
            }
            for module in &run.modules {
                // Linked machine code is listed by file, not by function.
                let skipped = module.skipped.iter();
                let skipped = skipped.filter(|skipped| !skipped.is_machine_code());
                let skipped = skipped.map(|skipped| (&*skipped.linkage_name, &*skipped.name));
                let gone = module.gone.iter();
                let gone = gone.map(|gone| (&*gone.linkage_name, &*gone.name));
                functions.extend(
                    skipped
                        .chain(gone)
                        .map(|(linkage_name, name)| KnownFunction {
                            linkage_name,
                            name,
                            file: "",
                            module: &module.name,
                            instructions: Count::ZERO,
                        }),
                );
            }
        }
        let mut skipped = runs
            .iter()
            .flat_map(|run| &run.modules)
            .flat_map(|module| &module.skipped);
        KnownCode {
            functions,
            has_machine_code: skipped.any(Skipped::is_machine_code),
        }
    }

    fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// The names of all functions, each only once.
    fn names(&self) -> impl Iterator<Item = String> {
        let mut seen = HashSet::new();
        let names = self.functions.iter();
        let names = names.map(|function| (function.linkage_name, function.name));
        let names = names.filter(move |name| seen.insert(*name));
        names.map(|(linkage_name, name)| names::display(linkage_name, name))
    }

    /// The names of all source files, each only once.
    fn files(&self) -> BTreeSet<&'a str> {
        let files = self.functions.iter().map(|function| function.file);
        files.filter(|file| !file.is_empty()).collect()
    }

    fn check_function(&self, options: &Options<'_>) -> Result<(), SelectionError> {
        let Some(regex) = &options.function else {
            return Ok(());
        };
        if self.names().any(|name| regex.is_match(&name)) {
            return Ok(());
        }
        let pattern = match &options.path {
            Some(choice) => choice.function.clone(),
            None => regex.to_string(),
        };
        let wanted = longest_name(&pattern);
        Err(SelectionError::NoFunction {
            similar: similar_names(self.names(), wanted),
            pattern,
            has_machine_code: self.has_machine_code,
        })
    }

    fn check_code(&self, options: &Options<'_>) -> Result<Vec<SelectionError>, SelectionError> {
        let code = &options.code;
        let mut partly = Vec::new();
        if !code.crates.is_empty() {
            let crates = self.crates();
            let is_known = |wanted: &&String| crates.keys().any(|name| same_crate(name, wanted));
            let (known, unknown): (Vec<_>, Vec<_>) = code.crates.iter().partition(is_known);
            if !unknown.is_empty() {
                let error = no_crate(unknown, crates);
                match known.is_empty() {
                    true => return Err(error),
                    false => partly.push(error),
                }
            }
        }
        if !code.files.is_empty() {
            let cwd = options.cwd.as_deref();
            let files = self.files();
            let list: Vec<&str> = files.iter().copied().collect();
            let unknown = code.without_file(&list, cwd);
            if !unknown.is_empty() {
                let shown = files.iter().map(|file| short(file, cwd));
                let error = SelectionError::NoFile {
                    similar: similar_files(shown, unknown[0]),
                    patterns: unknown.iter().map(ToString::to_string).collect(),
                };
                // A pattern that excludes no file changes nothing, which is worth a warning.
                match code.finds_no_file(&unknown) {
                    true => return Err(error),
                    false => partly.push(error),
                }
            }
        }
        Ok(partly)
    }

    /// The crates with code, with their executed instructions.
    fn crates(&self) -> BTreeMap<String, Count> {
        let mut crates: BTreeMap<String, Count> = BTreeMap::new();
        let mut demangled: HashMap<(&str, &str), String> = HashMap::new();
        for function in &self.functions {
            let (linkage_name, name) = (function.linkage_name, function.name);
            let name = demangled
                .entry((linkage_name, name))
                .or_insert_with(|| names::display(linkage_name, name));
            let sum = crates
                .entry(crate_of(function.file, name, function.module))
                .or_default();
            *sum = sum.saturating_add(function.instructions);
        }
        crates
    }
}

fn no_crate(unknown: Vec<&String>, crates: BTreeMap<String, Count>) -> SelectionError {
    let mut crates: Vec<(Reverse<Count>, String)> = crates
        .into_iter()
        .map(|(name, instructions)| (Reverse(instructions), name))
        .collect();
    crates.sort();
    SelectionError::NoCrate {
        names: unknown.into_iter().cloned().collect(),
        left_out: crates.len().saturating_sub(MAX_CRATES),
        crates: crates
            .into_iter()
            .take(MAX_CRATES)
            .map(|(_, name)| name)
            .collect(),
    }
}

/// The longest part of a regex that can be a function's name: for `^app::serch$`, `app::serch`.
fn longest_name(pattern: &str) -> &str {
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let parts = pattern.split(|c: char| !is_name(c));
    let longest = parts.max_by_key(|part| part.len());
    longest.unwrap_or_default().trim_matches(':')
}

#[cfg(test)]
mod tests {
    use super::longest_name;

    #[test]
    fn a_name_is_found_in_a_regex() {
        let patterns = ["search", "^app::serch$", "a|::longer", ".*", ""];
        let names = ["search", "app::serch", "longer", "", ""];
        assert_eq!(patterns.map(longest_name), names);
    }
}
