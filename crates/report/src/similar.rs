//! Names that the user may have meant: names with a typo, and names that contain the word.

/// Maximum number of names that an error suggests.
const MAX_SUGGESTIONS: usize = 3;

/// Returns a few of the functions' names that are similar to `wanted`. Names in which only few
/// letters differ come first.
pub(crate) fn similar_names(
    names: impl IntoIterator<Item: AsRef<str>>,
    wanted: &str,
) -> Vec<String> {
    let last = |name: &str| name.rsplit("::").next().unwrap_or(name).to_owned();
    similar(names, wanted, |name| last(&without_parameters(name)))
}

/// Returns a few of the files that are similar to `wanted`, the most similar first.
pub(crate) fn similar_files(
    files: impl IntoIterator<Item: AsRef<str>>,
    wanted: &str,
) -> Vec<String> {
    let last = |file: &str| file.rsplit('/').next().unwrap_or(file).to_owned();
    similar(files, wanted, last)
}

/// Returns a few of the names whose last components, or that as a whole, are similar to `wanted`.
fn similar(
    names: impl IntoIterator<Item: AsRef<str>>,
    wanted: &str,
    last: impl Fn(&str) -> String,
) -> Vec<String> {
    let (wanted, whole_wanted) = (last(wanted).to_lowercase(), wanted.to_lowercase());
    let mut similar: Vec<(usize, usize, String)> = Vec::new();
    for name in names {
        let name = name.as_ref();
        if let Some(difference) = difference(name, &last(name).to_lowercase(), &wanted) {
            let whole = distance(&name.to_lowercase(), &whole_wanted, Span::Whole);
            similar.push((difference, whole, name.to_owned()));
        }
    }
    similar.sort_unstable();
    similar.dedup();
    similar.truncate(MAX_SUGGESTIONS);
    similar.into_iter().map(|(.., name)| name).collect()
}

/// `` `app::unlock`, `app::lock`? ``, or `None` if there is no name.
pub(crate) fn suggestion(similar: &[String]) -> Option<String> {
    let quoted: Vec<String> = similar.iter().map(|name| format!("`{name}`")).collect();
    (!quoted.is_empty()).then(|| format!("{}?", quoted.join(", ")))
}

/// How much a name differs from the wanted one: the number of letters to change in its last
/// component, or, counted after all of those, in a part of it. `None` if the user can hardly have
/// meant this name. A typo is one letter in three, or one letter in five of a part, and at most two
/// letters.
fn difference(name: &str, last: &str, wanted: &str) -> Option<usize> {
    const MAX_TYPOS: usize = 2;
    let length = wanted.chars().count();
    if length == 0 {
        return None;
    }
    let whole = distance(last, wanted, Span::Whole);
    if whole <= (length / 3).min(MAX_TYPOS) {
        return Some(whole);
    }
    if name.to_lowercase().contains(wanted) {
        return Some(MAX_TYPOS + 1);
    }
    let part = distance(last, wanted, Span::Part);
    (part <= (length / 5).min(MAX_TYPOS)).then_some(MAX_TYPOS + 1 + part)
}

/// What of a text is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Span {
    Whole,
    /// The part that is most similar.
    Part,
}

/// Returns the number of letters to insert, delete, or change in a text (Levenshtein distance).
fn distance(text: &str, wanted: &str, span: Span) -> usize {
    let wanted: Vec<char> = wanted.chars().collect();
    // `row[j]` is the distance between the letters of the text so far, or the end of them, and the
    // first `j` letters that are wanted.
    let mut row: Vec<usize> = (0..=wanted.len()).collect();
    let mut least = wanted.len();
    for (i, x) in text.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = match span {
            Span::Whole => i + 1,
            Span::Part => 0,
        };
        for (j, y) in wanted.iter().enumerate() {
            let changed = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
        least = least.min(row[wanted.len()]);
    }
    match span {
        Span::Whole => row[wanted.len()],
        Span::Part => least,
    }
}

/// Returns a name without its parts in parentheses and angle brackets.
pub(crate) fn without_parameters(demangled: &str) -> String {
    let mut depth = 0usize;
    let mut name = String::new();
    for c in demangled.chars() {
        match c {
            '(' | '<' => depth += 1,
            ')' | '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => name.push(c),
            _ => {}
        }
    }
    // Rust writes a `::` before the generic parameters of a function. This `::` remains.
    name.trim_end_matches("::").to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Span, distance, similar_files, similar_names, suggestion};

    #[test]
    fn typos_are_similar() {
        let whole = |text, wanted| distance(text, wanted, Span::Whole);
        assert_eq!(whole("unlok", "unlock"), 1);
        assert_eq!(whole("lcok", "lock"), 2);
        assert_eq!(whole("", "ab"), 2);
        assert_eq!(whole("abc", "xyz"), 3);
        assert_eq!(distance("bz2_blocksort", "blocksrt", Span::Part), 1);
        assert_eq!(distance("", "ab", Span::Part), 2);
        let names = [
            "app::unlock(int)",
            "app::lock",
            "app::unlock_all",
            "BZ2_blockSort",
        ];
        let check = |wanted, similar: &[&str]| assert_eq!(similar_names(names, wanted), similar);
        check("unlok", &["app::unlock(int)", "app::unlock_all"]);
        check("blockSrt", &["BZ2_blockSort"]);
        check("printf", &[]);
        check("", &[]);
    }

    #[test]
    fn the_most_similar_name_comes_first() {
        let names = ["a::deflate_all", "b::defalte", "c::inflate", "b::defalte"];
        let similar = similar_names(names, "deflate");
        assert_eq!(similar, ["b::defalte", "c::inflate", "a::deflate_all"]);
        let text = suggestion(&similar[..2]);
        assert_eq!(text.as_deref(), Some("`b::defalte`, `c::inflate`?"));
        assert_eq!(suggestion(&[]), None);
    }

    #[test]
    fn files_are_similar_by_their_last_component() {
        let files = ["src/search.rs", "src/main.rs", "lib/search.rs"];
        let similar = similar_files(files, "src/serch.rs");
        assert_eq!(similar, ["src/search.rs", "lib/search.rs"]);
        assert_eq!(similar_files(files, "*.py"), [""; 0]);
    }
}
