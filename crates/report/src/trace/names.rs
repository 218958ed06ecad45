//! Looks functions up by the names that users write.

use std::rc::Rc;

use holloway_analysis::trace::code::Code;
use holloway_analysis::trace::pattern::NameError;

use super::excerpt::excerpt;
use crate::filter::Filter;

/// Number of names that an error suggests.
const SIMILAR: usize = 3;

/// The functions with a name. If `path` is given, only the functions that have this path.
///
/// # Errors
/// No function has the name (the error suggests similar names), or none of them has the path (the
/// error gives the number of paths).
pub(crate) fn look_up(
    code: &Code<'_>,
    names: &Filter<'_>,
    wanted: &str,
    path: Option<u32>,
) -> Result<Vec<u32>, NameError> {
    let known = || {
        code.functions().map(|(number, map)| {
            let shown = names.name_of(&map.linkage_name, &map.name);
            (number, map, shown)
        })
    };
    let fits = |shown: &str, linkage: &str| is_name(shown, wanted) || linkage == wanted;
    let found: Vec<(u32, u64)> = known()
        .filter(|(_, map, shown)| fits(shown, &map.linkage_name))
        .map(|(number, map, _)| (number, map.path_count))
        .collect();
    if let Some(most) = found.iter().map(|(_, paths)| *paths).max() {
        let has = |paths: u64| path.is_none_or(|path| u64::from(path) < paths);
        let with_path = found.iter().filter(|(_, paths)| has(*paths));
        let with_path: Vec<u32> = with_path.map(|(number, _)| *number).collect();
        return match with_path.is_empty() {
            false => Ok(with_path),
            true => Err(NameError::NoSuchPath {
                name: excerpt(wanted, 0),
                paths: most,
            }),
        };
    }
    let mut similar: Vec<Rc<str>> = known()
        .map(|(.., shown)| shown)
        .filter(|shown| is_like(shown, wanted))
        .collect();
    similar.sort_unstable();
    similar.dedup();
    similar.truncate(SIMILAR);
    Err(NameError::NoFunction {
        name: excerpt(wanted, 0),
        similar: similar.iter().map(ToString::to_string).collect(),
    })
}

/// Length in bytes of the longest known name that a text begins with. The part of a name after a
/// `::` counts as a name.
pub(crate) fn longest(names: &[Rc<str>], text: &str) -> usize {
    let ends = names.iter().flat_map(|name| ends(name));
    let fits = ends.filter(|end| text.starts_with(end));
    fits.map(str::len).max().unwrap_or(0)
}

/// A name, and its ends after each `::` outside brackets.
fn ends(name: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0usize;
    let tails = name.char_indices().filter_map(move |(at, c)| {
        match c {
            '(' | '<' | '[' | '{' => depth += 1,
            ')' | '>' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let end = name[at..].strip_prefix("::")?;
        (depth == 0).then_some(end)
    });
    std::iter::once(name).chain(tails)
}

/// The demangled names of all functions.
pub(crate) fn shown(code: &Code<'_>, names: &Filter<'_>) -> Vec<Rc<str>> {
    let all = code.functions();
    let mut all: Vec<Rc<str>> = all
        .map(|(_, map)| names.name_of(&map.linkage_name, &map.name))
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether a demangled name is the wanted name, or ends with it after a `::`.
fn is_name(shown: &str, wanted: &str) -> bool {
    let ends = |name: &str| {
        let before = name.strip_suffix(wanted);
        before.is_some_and(|before| before.is_empty() || before.ends_with("::"))
    };
    !wanted.is_empty() && (ends(shown) || ends(&bare(shown)))
}

/// Whether the user may have meant a name. The name contains the wanted text, or differs from it in
/// at most one letter of three and at most two letters.
fn is_like(shown: &str, wanted: &str) -> bool {
    let last = |name: &str| name.rsplit("::").next().unwrap_or(name).to_lowercase();
    let wanted = last(wanted);
    let slips = (wanted.chars().count() / 3).min(2);
    !wanted.is_empty()
        && (shown.to_lowercase().contains(&wanted)
            || distance(&last(&bare(shown)), &wanted) <= slips)
}

/// Number of letters to insert, delete, or change (Levenshtein distance). Gives 3 if the lengths
/// differ by more than 2.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > 2 {
        return 3;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (above, x) in a.iter().enumerate() {
        let mut corner = above;
        row[0] = above + 1;
        for (at, y) in b.iter().enumerate() {
            let changed = corner + usize::from(x != y);
            corner = row[at + 1];
            row[at + 1] = changed.min(row[at] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

/// A name without its parts in parentheses and angle brackets.
fn bare(shown: &str) -> String {
    let mut depth = 0usize;
    let mut name = String::new();
    for c in shown.chars() {
        match c {
            '(' | '<' => depth += 1,
            ')' | '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => name.push(c),
            _ => {}
        }
    }
    // Generic parameters of a Rust function stand after a `::`, which remains.
    name.trim_end_matches("::").to_owned()
}

#[cfg(test)]
mod tests {
    use super::{distance, is_like, is_name, longest};

    fn check(shown: &str, wanted: &str, expect: bool) {
        assert_eq!(is_name(shown, wanted), expect, "{shown} as {wanted}");
    }

    #[test]
    fn names_are_known_by_their_ends() {
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
    fn a_text_begins_with_the_longest_name() {
        let names = ["a::B<c::D>::go(int)".into(), "go".into()];
        assert_eq!(longest(&names, "go(int):3"), "go(int)".len());
        assert_eq!(
            longest(&names, "B<c::D>::go(int) x"),
            "B<c::D>::go(int)".len()
        );
        assert_eq!(longest(&names, "D>::go(int)"), 0);
        assert_eq!(longest(&names, "go"), 2);
    }

    #[test]
    fn slips_are_seen() {
        assert_eq!(distance("unlok", "unlock"), 1);
        assert_eq!(distance("lcok", "lock"), 2);
        assert_eq!(distance("", "ab"), 2);
        assert_eq!(distance("abc", "xyz"), 3);
        assert!(is_like("app::unlock(int)", "unlok"));
        assert!(!is_like("app::unlock(int)", "printf"));
    }
}
