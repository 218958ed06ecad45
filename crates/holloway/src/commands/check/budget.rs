//! Reads a budget: a TOML file with a table for each limit.

use std::ops::Range;
use std::path::Path;

use holloway_collect::files::read_regular;
use holloway_report::CodeFilter;
use holloway_report::budget::{Limit, Measure, Number};
use serde::Deserialize;
use toml::Spanned;

use crate::cli::parse_function;
use crate::failure::{Context as _, Failure, Result};
use crate::printing::globs;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Budget {
    #[serde(default)]
    limit: Vec<Spanned<Entry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: Option<String>,
    measure: Spanned<String>,
    function: Option<Spanned<String>>,
    #[serde(rename = "crate")]
    crates: Option<OneOrMore>,
    file: Option<OneOrMore>,
    min: Option<Spanned<AnyNumber>>,
    max: Option<Spanned<AnyNumber>>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a text, or a list of texts")]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::More(texts) => texts,
        }
    }
}

#[derive(Clone, Copy, Deserialize)]
#[serde(untagged, expecting = "expected a number")]
enum AnyNumber {
    Integer(i64),
    /// A number that is too large for a signed integer.
    Large(u64),
    Real(f64),
}

impl From<AnyNumber> for Number {
    fn from(number: AnyNumber) -> Self {
        match number {
            AnyNumber::Integer(number) => Self::Integer(number.into()),
            AnyNumber::Large(number) => Self::Integer(number.into()),
            AnyNumber::Real(number) => Self::Real(number),
        }
    }
}

/// Reads the limits of a budget.
///
/// # Errors
/// If the file cannot be read, is no TOML, or has a limit that nothing could keep or break.
pub(super) fn read(file: &Path) -> Result<Vec<Limit>> {
    let bytes = read_regular(file).cannot(|| format!("read {}", file.display()))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::usage(format_args!("{}: not UTF-8", file.display())))?;
    parse(&text).map_err(|wrong| {
        let line = line_of(&text, wrong.at);
        Failure::usage(format_args!("{}:{line}: {}", file.display(), wrong.message))
    })
}

/// What is wrong with a budget, and where.
#[derive(Debug)]
struct Wrong {
    /// The byte.
    at: usize,
    message: String,
}

impl Wrong {
    fn new(place: &Range<usize>, message: impl Into<String>) -> Self {
        Self {
            at: place.start,
            message: message.into(),
        }
    }
}

fn parse(text: &str) -> std::result::Result<Vec<Limit>, Wrong> {
    let budget: Budget = toml::from_str(text).map_err(|error| {
        let place = error.span().unwrap_or_default();
        Wrong::new(&place, error.message())
    })?;
    if budget.limit.is_empty() {
        return Err(Wrong::new(&(0..0), "no limit: write a table [[limit]]"));
    }
    let limits = budget.limit.into_iter();
    limits.map(|entry| limit(text, entry)).collect()
}

fn limit(text: &str, entry: Spanned<Entry>) -> std::result::Result<Limit, Wrong> {
    let place = entry.span();
    let entry = entry.into_inner();
    let measure = &entry.measure;
    let known = |known: &&Measure| known.name() == measure.get_ref();
    let measure = Measure::ALL.iter().find(known).ok_or_else(|| {
        let names = Measure::ALL.map(Measure::name).join(", ");
        let message = format!("no measure {:?}: there are {names}", measure.get_ref());
        Wrong::new(&measure.span(), message)
    })?;
    let function = entry.function.map(|function| {
        parse_function(function.get_ref()).map_err(|error| {
            let message = format!("function is no regex: {error}");
            Wrong::new(&function.span(), message)
        })
    });
    let function = function.transpose()?;
    let number = |number: Option<Spanned<AnyNumber>>| match number {
        None => Ok(None),
        Some(spanned) => match Number::from(*spanned.get_ref()) {
            Number::Real(real) if !real.is_finite() => Err(Wrong::new(
                &spanned.span(),
                "a limit must be a finite number",
            )),
            number => Ok(Some(number)),
        },
    };
    let (min, max) = (number(entry.min)?, number(entry.max)?);
    match (min, max) {
        (None, None) => return Err(Wrong::new(&place, "a limit needs min or max")),
        (Some(min), Some(max)) if min.real() > max.real() => {
            return Err(Wrong::new(
                &place,
                "min is above max, so no run can keep the limit",
            ));
        }
        _ => {}
    }
    for list in [&entry.crates, &entry.file] {
        if matches!(list, Some(OneOrMore::More(texts)) if texts.is_empty()) {
            return Err(Wrong::new(
                &place,
                "an empty list selects no code: leave the key out",
            ));
        }
    }
    let list = |list: Option<OneOrMore>| list.map(OneOrMore::into_vec).unwrap_or_default();
    let files = list(entry.file);
    Ok(Limit {
        name: entry.name,
        line: line_of(text, place.start),
        measure: *measure,
        path: function.as_ref().and_then(|choice| choice.path.clone()),
        function: function.map(|choice| choice.regex),
        code: CodeFilter {
            crates: list(entry.crates),
            files: globs(&files),
            ..CodeFilter::default()
        },
        min,
        max,
    })
}

/// The line of a byte, from 1.
fn line_of(text: &str, at: usize) -> u32 {
    let before = text.as_bytes().iter().take(at);
    let breaks = before.filter(|byte| **byte == b'\n').count();
    u32::try_from(breaks + 1).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_has_limits_on_code() {
        let text = "\
[[limit]]
measure = \"instructions\"
function = \"parse\"
max = 18446744073709551615

[[limit]]
name = \"tests reach the parser\"
measure = \"lines-covered\"
crate = \"app\"
file = [\"src/*.rs\", \"!src/old.rs\"]
min = 80.5
max = 100
";
        let [first, second] = parse(text).unwrap().try_into().unwrap();
        assert_eq!((first.line, second.line), (1, 6));
        assert_eq!(first.measure, Measure::Instructions);
        assert!(first.function.unwrap().is_match("app::parse"));
        assert_eq!(
            (first.min, first.max),
            (None, Some(Number::Integer(u64::MAX.into())))
        );
        assert_eq!(second.name.unwrap(), "tests reach the parser");
        assert_eq!(second.code.crates, ["app"]);
        assert_eq!(second.code.files.len(), 2);
        let bounds = (Some(Number::Real(80.5)), Some(Number::Integer(100)));
        assert_eq!((second.min, second.max), bounds);
    }

    fn check(text: &str, line: u32, message: &str) {
        let wrong = parse(text).unwrap_err();
        assert_eq!(line_of(text, wrong.at), line, "{text}");
        assert!(wrong.message.contains(message), "{}", wrong.message);
    }

    #[test]
    fn wrong_budgets_are_refused_with_their_line() {
        check("", 1, "no limit");
        check("[[limit]]\nmeasure = \"calls\"\n", 1, "needs min or max");
        check(
            "[[limit]]\nmeasure = \"speed\"\nmax = 1\n",
            2,
            "there are calls,",
        );
        check(
            "[[limit]]\nmeasure = \"calls\"\nmaximum = 1\n",
            3,
            "unknown field",
        );
        check("[[limit]]\nmeasure = \"calls\"\nmax = \n", 3, "");
        check("[[limit]]\nmeasure = \"calls\"\nmax = nan\n", 3, "finite");
        check(
            "[[limit]]\nmeasure = \"calls\"\nmin = 2\nmax = 1\n",
            1,
            "above",
        );
        check(
            "[[limit]]\nmeasure = \"calls\"\nmax = 1\nfunction = \"(\"\n",
            4,
            "no regex",
        );
        let start = "[[limit]]\nmeasure = \"calls\"\n";
        check(&format!("{start}max = \"5\"\n"), 3, "expected a number");
        check(
            &format!("{start}max = 1\ncrate = 5\n"),
            4,
            "a list of texts",
        );
        let empty = "[[limit]]\nmeasure = \"calls\"\nmax = 2\ncrate = []\n";
        check(empty, 1, "empty list");
    }
}
