//! Finds the functions of a link that the user's patterns (`HOLLOWAY_ONLY`, `HOLLOWAY_SKIP`)
//! select. Without a warning, a misspelled pattern would silently weave nothing, or weave code that
//! was to be left out.

use holloway_format::ModuleMap;
use holloway_weave::filter::{Candidate, demangle};
use holloway_weave::{Filter, Pattern};

use crate::error::{Error, Result};
use crate::message::PatternMatch;
use crate::outcome::Outcome;
use crate::records::Selection;

/// A pattern whose matches are being collected.
struct Search {
    option: &'static str,
    pattern: Pattern,
    selected: PatternMatch,
}

/// The selection of each pattern of `only` and `skip` among the functions of the woven modules.
///
/// # Errors
/// A pattern cannot be parsed.
pub(crate) fn selections(only: &str, skip: &str, outcomes: &[Outcome]) -> Result<Vec<Selection>> {
    let filter = Filter::parse(only, skip).map_err(|reason| Error::Pattern(reason.into()))?;
    let searches = |patterns: Vec<Pattern>, option| {
        patterns.into_iter().map(move |pattern| Search {
            option,
            pattern,
            selected: PatternMatch::Nothing,
        })
    };
    let mut searches: Vec<Search> = searches(filter.only, "only")
        .chain(searches(filter.skip, "skip"))
        .collect();
    if searches.is_empty() {
        return Ok(Vec::new());
    }
    for outcome in outcomes {
        if let Outcome::Woven(woven) = outcome
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

/// Adds the patterns' selections in one module.
fn search_module(map: &ModuleMap, searches: &mut [Search]) {
    let woven = map.functions.iter().map(|f| (&f.name, &f.linkage_name));
    let skipped = map.skipped.iter().map(|f| (&f.name, &f.linkage_name));
    let gone = map.gone.iter().map(|f| (&f.name, &f.linkage_name));
    let code = woven
        .chain(skipped)
        .map(|names| (names, PatternMatch::Code));
    let gone = gone.map(|names| (names, PatternMatch::NoCode));
    for ((name, linkage_name), selected) in code.chain(gone) {
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
    fn patterns_fit_code_or_what_is_inlined_or_nothing() {
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
            let mut searches = [Search {
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
