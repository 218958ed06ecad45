//! Looks functions up by the names that users write.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use holloway_analysis::path_name::{NamePrefix, PathName};
use holloway_analysis::trace::Terminal;
use holloway_analysis::trace::code::Code;
use holloway_analysis::trace::pattern::{NameError, Referent, WantedPath};
use holloway_format::PathId;

use super::excerpt::excerpt;
use crate::filter::Filter;
use crate::path_names::distinguished;
use crate::similar::{similar_names, without_parameters};

/// Maximum number of paths of a function whose names are computed to find a path that did not run.
const MAX_NAMED_PATHS: u64 = 1 << 16;

/// Returns the paths that the user wants, of the functions that have the wanted name. A path's name
/// is first looked up among `terminals`, then among the paths that did not run.
///
/// # Errors
/// If no function has the name (the error suggests similar names), if no function of this name
/// has the path, or if several paths have the wanted name.
pub(crate) fn look_up(
    code: &Code<'_>,
    names: &Filter<'_>,
    wanted: &str,
    path: WantedPath,
    terminals: &[Terminal],
) -> Result<Vec<Referent>, NameError> {
    let functions = || {
        code.functions().map(|(number, map)| {
            let demangled = names.name_of(&map.linkage_name, &map.name);
            (number, map, demangled)
        })
    };
    let is_wanted =
        |demangled: &str, linkage: &str| is_name(demangled, wanted) || linkage == wanted;
    let matching: Vec<(u32, u64)> = functions()
        .filter(|(_, map, demangled)| is_wanted(demangled, &map.linkage_name))
        .map(|(number, map, _)| (number, map.path_count))
        .collect();
    if !matching.is_empty() {
        return match path {
            WantedPath::Any => Ok(all_paths(&matching)),
            WantedPath::Number(number) => with_number(&matching, wanted, number),
            WantedPath::Named(prefix) => with_name(code, &matching, wanted, prefix, terminals),
        };
    }
    Err(NameError::NoFunction {
        name: excerpt(wanted, 0),
        similar: similar_names(functions().map(|(.., demangled)| demangled), wanted),
    })
}

/// All paths of functions, each given with its number of paths.
fn all_paths(functions: &[(u32, u64)]) -> Vec<Referent> {
    let functions = functions.iter();
    functions
        .map(|&(function, _)| Referent {
            function,
            path: None,
        })
        .collect()
}

/// The paths of functions that have a number.
fn with_number(
    functions: &[(u32, u64)],
    wanted: &str,
    number: u32,
) -> Result<Vec<Referent>, NameError> {
    let with_path = functions
        .iter()
        .filter(|(_, paths)| u64::from(number) < *paths);
    let referents: Vec<Referent> = with_path
        .map(|&(function, _)| Referent {
            function,
            path: Some(number),
        })
        .collect();
    match referents.is_empty() {
        false => Ok(referents),
        true => Err(NameError::NoSuchPath {
            name: excerpt(wanted, 0),
            paths: functions.iter().map(|(_, paths)| *paths).max().unwrap_or(0),
        }),
    }
}

/// The paths of functions whose names begin with these digits.
fn with_name(
    code: &Code<'_>,
    functions: &[(u32, u64)],
    wanted: &str,
    prefix: NamePrefix,
    terminals: &[Terminal],
) -> Result<Vec<Referent>, NameError> {
    let is_known = |function: u32| functions.iter().any(|(number, _)| *number == function);
    let ran = terminals.iter().filter_map(|terminal| match *terminal {
        Terminal::Path { function, path } if is_known(function) => Some((function, path)),
        Terminal::Path { .. } | Terminal::Left(_) | Terminal::Gap => None,
    });
    let named = |(function, path): (u32, u32)| {
        let name = code.path_name(function, PathId(path.into()))?;
        Some((name, function, path))
    };
    let ran: Vec<(PathName, u32, u32)> = ran.filter_map(named).collect();
    let with_prefix = |(name, ..): &(PathName, u32, u32)| prefix.matches(*name);
    let mut matching: Vec<_> = ran.iter().copied().filter(with_prefix).collect();
    if matching.is_empty() {
        let possible = functions.iter().flat_map(|&(function, paths)| {
            let paths = if paths > MAX_NAMED_PATHS {
                0
            } else {
                paths as u32
            };
            (0..paths).map(move |path| (function, path))
        });
        matching.extend(possible.filter_map(named).filter(with_prefix));
    }
    let listed = |paths: &[(PathName, u32, u32)]| {
        let names: BTreeMap<PathName, PathId> = paths
            .iter()
            .map(|&(name, _, path)| (name, PathId(path.into())))
            .collect();
        distinguished(&names.into_iter().collect::<Vec<_>>())
    };
    let different: BTreeSet<PathName> = matching.iter().map(|(name, ..)| *name).collect();
    match different.len() {
        0 => {
            let (name, digits, candidates) = (excerpt(wanted, 0), prefix, listed(&ran));
            let mut numbers = functions.iter().map(|(function, _)| *function);
            Err(
                match numbers.any(|function| code.ends_paths_at_calls(function)) {
                    true => NameError::NoPieceWithName {
                        name,
                        digits,
                        candidates,
                    },
                    false => NameError::NoPathWithName {
                        name,
                        digits,
                        candidates,
                    },
                },
            )
        }
        1 => Ok(matching
            .iter()
            .map(|&(_, function, path)| Referent {
                function,
                path: Some(path),
            })
            .collect()),
        _ => Err(NameError::AmbiguousPath {
            name: excerpt(wanted, 0),
            digits: prefix,
            candidates: listed(&matching),
        }),
    }
}

/// Returns the length in bytes of the longest known name with which a text begins. The part of a
/// name after a `::` counts as a name.
pub(crate) fn known_prefix_len(names: &[Rc<str>], text: &str) -> usize {
    let tails = names.iter().flat_map(|name| name_tails(name));
    let prefixes = tails.filter(|tail| text.starts_with(tail));
    prefixes.map(str::len).max().unwrap_or(0)
}

/// Returns a name, and its tails after each `::` outside brackets.
fn name_tails(name: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0usize;
    let tails = name.char_indices().filter_map(move |(index, c)| {
        match c {
            '(' | '<' | '[' | '{' => depth += 1,
            ')' | '>' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let tail = name[index..].strip_prefix("::")?;
        (depth == 0).then_some(tail)
    });
    std::iter::once(name).chain(tails)
}

/// Returns the demangled names of all functions, sorted.
pub(crate) fn all_names(code: &Code<'_>, names: &Filter<'_>) -> Vec<Rc<str>> {
    let functions = code.functions();
    let mut demangled: Vec<Rc<str>> = functions
        .map(|(_, map)| names.name_of(&map.linkage_name, &map.name))
        .collect();
    demangled.sort_unstable();
    demangled.dedup();
    demangled
}

/// Whether a demangled name is the wanted name, or ends with it after a `::`.
fn is_name(demangled: &str, wanted: &str) -> bool {
    let ends_with_wanted = |name: &str| {
        let before = name.strip_suffix(wanted);
        before.is_some_and(|before| before.is_empty() || before.ends_with("::"))
    };
    !wanted.is_empty()
        && (ends_with_wanted(demangled) || ends_with_wanted(&without_parameters(demangled)))
}

#[cfg(test)]
mod tests {
    use super::{is_name, known_prefix_len};

    fn check(demangled: &str, wanted: &str, expect: bool) {
        assert_eq!(
            is_name(demangled, wanted),
            expect,
            "{demangled} as {wanted}"
        );
    }

    #[test]
    fn the_end_of_a_name_names_the_function() {
        check("app::search", "search", true);
        check("app::search", "app::search", true);
        check("app::research", "search", false);
        check("foo::bar(int)", "bar", true);
        check("foo::bar(int)", "foo::bar(int)", true);
        check("app::sum::<u32>", "sum", true);
        check("<a::B as c::D>::go", "go", true);
        check("anything", "", false);
    }

    #[test]
    fn the_longest_known_name_is_a_prefix() {
        let names = ["a::B<c::D>::go(int)".into(), "go".into()];
        assert_eq!(known_prefix_len(&names, "go(int):3"), "go(int)".len());
        assert_eq!(
            known_prefix_len(&names, "B<c::D>::go(int) x"),
            "B<c::D>::go(int)".len()
        );
        assert_eq!(known_prefix_len(&names, "D>::go(int)"), 0);
        assert_eq!(known_prefix_len(&names, "go"), 2);
    }
}
