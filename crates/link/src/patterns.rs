//! Finds out whether the user's patterns (`HOLLOWAY_ONLY`, `HOLLOWAY_SKIP`) select functions of a
//! link, for warnings about patterns that select none. Without these warnings, a misspelled pattern
//! would silently weave nothing, or weave code that the user wants to skip.

use holloway_format::ModuleMap;
use holloway_weave::filter::{Candidate, demangle};
use holloway_weave::{Filter, Pattern};

use crate::error::{Error, Result};
use crate::message::PatternMatch;
use crate::outcome::ModuleOutcome;
use crate::records::Selection;

/// A pattern and the best match so far.
struct PatternSearch {
    /// `only` or `skip`.
    option: &'static str,
    pattern: Pattern,
    selected: PatternMatch,
}

/// Finds out, for each pattern of `only` and `skip`, which functions of the woven modules it
/// selects.
///
/// # Errors
/// If a pattern cannot be parsed.
pub(crate) fn selections(
    only: &str,
    skip: &str,
    outcomes: &[ModuleOutcome],
) -> Result<Vec<Selection>> {
    let filter = Filter::parse(only, skip).map_err(|reason| Error::Pattern(reason.into()))?;
    let searches = |patterns: Vec<Pattern>, option| {
        patterns.into_iter().map(move |pattern| PatternSearch {
            option,
            pattern,
            selected: PatternMatch::Nothing,
        })
    };
    let mut searches: Vec<PatternSearch> = searches(filter.only, "only")
        .chain(searches(filter.skip, "skip"))
        .collect();
    if searches.is_empty() {
        return Ok(Vec::new());
    }
    for outcome in outcomes {
        if let ModuleOutcome::Woven(woven) = outcome
            && let Ok((map, _)) = ModuleMap::decode(&woven.fragment)
        {
            search_module(&map, &mut searches);
        }
    }
    let selections = searches.into_iter().map(|search| Selection {
        option: search.option.to_owned(),
        pattern: search.pattern.text().to_owned(),
        selected: search.selected,
    });
    Ok(selections.collect())
}

/// Matches the patterns against the functions of one module.
fn search_module(map: &ModuleMap, searches: &mut [PatternSearch]) {
    let woven = map.functions.iter().map(|f| (&f.name, &f.linkage_name));
    let skipped = map.skipped.iter().map(|f| (&f.name, &f.linkage_name));
    let vanished = map.gone.iter().map(|f| (&f.name, &f.linkage_name));
    let with_code = woven
        .chain(skipped)
        .map(|names| (names, PatternMatch::Code));
    let without_code = vanished.map(|names| (names, PatternMatch::NoCode));
    for ((name, linkage_name), selected) in with_code.chain(without_code) {
        let demangled = demangle(linkage_name);
        let candidate = Candidate {
            module: &map.name,
            name,
            linkage_name,
        };
        for search in searches
            .iter_mut()
            .filter(|search| search.selected < selected)
        {
            if search.pattern.fits(candidate, &demangled) {
                search.selected = selected;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holloway_format::{FunctionMap, Skipped, VanishedFunction};

    #[test]
    fn patterns_select_code_or_inlined_functions_or_nothing() {
        let map = ModuleMap {
            name: "app".into(),
            functions: vec![FunctionMap {
                linkage_name: "parse".into(),
                ..FunctionMap::default()
            }],
            skipped: vec![Skipped {
                name: "left".into(),
                linkage_name: "left".into(),
                reason: "not among --only".into(),
            }],
            gone: vec![VanishedFunction {
                name: "helper".into(),
                linkage_name: "helper".into(),
            }],
            ..ModuleMap::default()
        };
        let check = |text: &str, expected: PatternMatch| {
            let pattern = Pattern::parse(text).expect("a pattern");
            let mut searches = [PatternSearch {
                option: "only",
                pattern,
                selected: PatternMatch::Nothing,
            }];
            search_module(&map, &mut searches);
            assert_eq!(searches[0].selected, expected, "{text}");
        };
        check("parse", PatternMatch::Code);
        check("left", PatternMatch::Code);
        check("app", PatternMatch::Code);
        check("helper", PatternMatch::NoCode);
        check("^help|^left", PatternMatch::Code);
        check("nosuch", PatternMatch::Nothing);
    }
}
