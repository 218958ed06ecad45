//! The options `--only` and `--skip`: which functions the user wants to profile.
//!
//! A pattern is the name of a crate (`regex_automata`), the name of a function (`parse_line`,
//! `app::parse_line`, a linkage name), or a regular expression that is searched in the demangled
//! name. A pattern selects a function if it matches in any of these ways. A plain word is only
//! compared with names, so `main` does not select `domain::lookup`.

use regex::Regex;
use thiserror::Error;

use crate::reason::Reason;

/// A pattern that selects functions.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    /// The name of the crate that the text may name, as in linkage names.
    crate_name: String,
    regex: Option<Regex>,
}

/// A pattern that is neither a name nor a regular expression.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{pattern:?} is neither a name nor a regular expression: {problem}")]
pub struct PatternError {
    /// The pattern as the user wrote it.
    pub pattern: String,
    /// The last line of the regular expression compiler's message.
    pub problem: String,
}

/// The functions that the user wants instrumented.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Functions that match one of these patterns are instrumented. An empty list selects all
    /// functions.
    pub only: Vec<Pattern>,
    /// Functions that match one of these patterns are not instrumented.
    pub skip: Vec<Pattern>,
}

/// The names of a function that a pattern is compared with.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The name of the function's crate or object. Only a crate's name can match: the `.` of an
    /// object's name makes a pattern a regular expression.
    pub module: &'a str,
    /// The source name from the debug information.
    pub name: &'a str,
    /// The linkage name.
    pub linkage_name: &'a str,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// If the pattern is neither a name nor a regular expression.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let is_name = text
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '$' | '-'));
        let regex = if is_name {
            None
        } else {
            let regex = Regex::new(text).map_err(|error| {
                let error = error.to_string();
                let problem = error.lines().last().unwrap_or_default();
                PatternError {
                    pattern: text.into(),
                    problem: problem.trim_start_matches("error: ").into(),
                }
            })?;
            Some(regex)
        };
        Ok(Self {
            text: text.into(),
            crate_name: text.replace('-', "_"),
            regex,
        })
    }

    /// Reads patterns, one per line.
    ///
    /// # Errors
    /// If a pattern is neither a name nor a regular expression. The error names the first.
    pub fn parse_lines(text: &str) -> Result<Vec<Self>, PatternError> {
        text.lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .map(Self::parse)
            .collect()
    }

    /// The pattern as the user wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the pattern selects a function. `demangled` is the function's linkage name after
    /// [`demangle`].
    pub fn fits(&self, candidate: Candidate<'_>, demangled: &str) -> bool {
        if [candidate.name, candidate.linkage_name, demangled].contains(&self.text.as_str()) {
            return true;
        }
        match &self.regex {
            Some(regex) => regex.is_match(demangled),
            None => self.names_crate(candidate.module, demangled) || self.names_function(demangled),
        }
    }

    fn names_crate(&self, module: &str, demangled: &str) -> bool {
        let root = demangled
            .trim_start_matches(['<', '&', '*'])
            .split("::")
            .next();
        module == self.text || (root == Some(&*self.crate_name) && demangled.contains("::"))
    }

    /// Whether the pattern is the end of the function's path, as `b::c` is of `a::b::c`. Parameters
    /// are ignored: the path ends at the first `(`.
    fn names_function(&self, demangled: &str) -> bool {
        let path = demangled.split('(').next().unwrap_or_default();
        path == self.text
            || path
                .strip_suffix(self.text.as_str())
                .is_some_and(|before| before.ends_with("::"))
    }
}

impl Filter {
    /// Reads the patterns of `--only` and `--skip`, one per line.
    ///
    /// # Errors
    /// If a pattern is neither a name nor a regular expression. The error names the first.
    pub fn parse(only: &str, skip: &str) -> Result<Self, PatternError> {
        Ok(Self {
            only: Pattern::parse_lines(only)?,
            skip: Pattern::parse_lines(skip)?,
        })
    }

    /// Why a function is not instrumented. `None` if it is.
    pub fn reason(&self, candidate: Candidate<'_>) -> Option<Reason> {
        if self.only.is_empty() && self.skip.is_empty() {
            return None;
        }
        let demangled = demangle(candidate.linkage_name);
        if let Some(pattern) = self
            .skip
            .iter()
            .find(|pattern| pattern.fits(candidate, &demangled))
        {
            return Some(Reason::Skipped {
                pattern: pattern.text().into(),
            });
        }
        let is_selected = self.only.is_empty()
            || self
                .only
                .iter()
                .any(|pattern| pattern.fits(candidate, &demangled));
        (!is_selected).then_some(Reason::NotSelected)
    }
}

/// Demangles a linkage name. The result has no hash if the name is from Rust, and has the
/// parameters if the name is from C++. Other names stay as they are.
pub fn demangle(linkage_name: &str) -> String {
    if let Ok(name) = rustc_demangle::try_demangle(linkage_name) {
        return format!("{name:#}");
    }
    if linkage_name.starts_with("_Z")
        && let Ok(symbol) = cpp_demangle::Symbol::new(linkage_name)
        && let Ok(name) = symbol.demangle()
    {
        return name;
    }
    linkage_name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selects(pattern: &str, module: &str, linkage_name: &str) -> bool {
        let filter = Filter::parse(pattern, "").expect("a pattern");
        filter
            .reason(Candidate {
                module,
                name: "",
                linkage_name,
            })
            .is_none()
    }

    #[test]
    fn patterns_match_crates_functions_or_as_regex() {
        let parse = "_ZN3app6parser10parse_line17h0123456789abcdefE";
        assert!(selects("app", "app", parse));
        assert!(selects("app", "other", parse));
        assert!(selects("parse_line", "x", parse));
        assert!(selects("parser::parse_line", "x", parse));
        assert!(selects("^app::.*line$", "x", parse));
        assert!(selects(parse, "x", parse));
        assert!(!selects("line", "x", parse));
        assert!(!selects("ap", "x", parse));
        assert!(selects("main", "a.o", "main"));
        assert!(!selects("main", "a.o", "domain"));
        assert!(selects("work", "a.o", "_ZN3app4workEi"));
    }

    #[test]
    fn skip_overrides_only_and_names_the_pattern() {
        let filter = Filter::parse("app", "parse_line").expect("patterns");
        let reason = |linkage_name| {
            filter.reason(Candidate {
                module: "app",
                name: "",
                linkage_name,
            })
        };
        assert_eq!(
            reason("parse_line").map(|reason| reason.to_string()),
            Some("left out by --skip parse_line".into())
        );
        assert_eq!(reason("other"), None);
        let only = Filter::parse("lib", "").expect("patterns");
        let reason = only.reason(Candidate {
            module: "app",
            name: "",
            linkage_name: "f",
        });
        let reason = reason.map(|reason| reason.to_string());
        assert_eq!(reason.as_deref(), Some("no pattern of --only selects it"));
    }

    #[test]
    fn the_error_names_the_bad_pattern() {
        let error = Filter::parse("a(b", "").expect_err("unbalanced");
        let error = error.to_string();
        assert!(
            error.starts_with("\"a(b\" is neither a name nor a regular expression: unclosed"),
            "{error}"
        );
    }
}
