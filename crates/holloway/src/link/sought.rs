//! Which of the user's patterns (`HOLLOWAY_ONLY`, `HOLLOWAY_SKIP`) select no function of a link: a misspelt one would silently weave
//! nothing, or what was to be left out.

use holloway_format::ModuleMap;
use holloway_weave::filter::{Candidate, demangle};
use holloway_weave::{Filter, Pattern};

use super::farm::Outcome;
use crate::failure::{Failure, Result};
use crate::linked::{self, Fit, Sought};

/// Says of each pattern of `only` and `skip` what it fits among the functions of woven modules, if that isn't code.
///
/// # Errors
/// A pattern is bad.
pub(super) fn tell(only: &str, skip: &str, outcomes: &[Outcome], output: &str) -> Result<()> {
    let Filter { only, skip } = Filter::parse(only, skip).map_err(Failure::usage)?;
    let named = |patterns: Vec<Pattern>, option: &'static str| {
        patterns.into_iter().map(move |pattern| (option, pattern))
    };
    let mut sought: Vec<_> = named(only, "only")
        .chain(named(skip, "skip"))
        .map(|(option, pattern)| (option, pattern, Fit::Nothing))
        .collect();
    if sought.is_empty() {
        return Ok(());
    }
    for outcome in outcomes {
        if let Outcome::Woven(woven) = outcome
            && let Ok((map, _)) = ModuleMap::decode(&woven.fragment)
        {
            look(&map, &mut sought);
        }
    }
    let sought: Vec<Sought> = sought
        .into_iter()
        .map(|(option, pattern, fit)| Sought {
            option: option.to_owned(),
            pattern: pattern.text().to_owned(),
            fit,
        })
        .collect();
    linked::sought(&sought, output);
    Ok(())
}

/// Notes what patterns fit in one module.
fn look(map: &ModuleMap, sought: &mut [(&str, Pattern, Fit)]) {
    let woven = map.functions.iter().map(|f| (&f.name, &f.linkage_name));
    let skipped = map.skipped.iter().map(|f| (&f.name, &f.linkage_name));
    let gone = map.gone.iter().map(|f| (&f.name, &f.linkage_name));
    let code = woven.chain(skipped).map(|names| (names, Fit::Code));
    for ((name, linkage_name), fit) in code.chain(gone.map(|names| (names, Fit::Gone))) {
        let demangled = demangle(linkage_name);
        let candidate = Candidate {
            module: &map.name,
            name,
            linkage_name,
        };
        for (_, pattern, found) in sought.iter_mut().filter(|(_, _, found)| *found < fit) {
            if pattern.fits(candidate, &demangled) {
                *found = fit;
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
        let check = |text: &str, expected: Fit| {
            let pattern = Pattern::parse(text).expect("a pattern");
            let mut sought = [("only", pattern, Fit::Nothing)];
            look(&map, &mut sought);
            assert_eq!(sought[0].2, expected, "{text}");
        };
        check("parse", Fit::Code);
        check("left", Fit::Code);
        check("app", Fit::Code);
        check("helper", Fit::Gone);
        check("^help|^left", Fit::Code);
        check("nosuch", Fit::Nothing);
    }
}
