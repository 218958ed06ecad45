//! The filter that selects functions (`--function`), with a cache of demangled names.
//!
//! Demangling is slow compared with other steps of a report, and scopes repeat names thousands of
//! times. So the cache demangles each name only once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use holloway_analysis::{Function, FunctionId, RunProfile};
use holloway_format::Text;
use regex::Regex;

use crate::names;

/// The filter on functions, with a cache of demangled names.
pub(crate) struct Filter<'a> {
    regex: Option<&'a Regex>,
    names: RefCell<HashMap<(Text, Text), Name>>,
}

/// A demangled name, and whether the filter matches it.
#[derive(Clone)]
struct Name {
    text: Rc<str>,
    matches: bool,
}

impl<'a> Filter<'a> {
    pub(crate) fn new(regex: Option<&'a Regex>) -> Filter<'a> {
        Filter {
            regex,
            names: RefCell::default(),
        }
    }

    /// Whether the filter keeps a function.
    pub(crate) fn keeps(&self, run: &RunProfile, id: FunctionId) -> bool {
        self.regex.is_none()
            || self.matches(
                &run.function(id).map.linkage_name,
                &run.function(id).map.name,
            )
    }

    /// Whether the filter keeps a function with these names.
    pub(crate) fn matches(&self, linkage_name: &Text, name: &Text) -> bool {
        self.regex.is_none() || self.look_up(linkage_name, name).matches
    }

    /// The name to show for a function.
    pub(crate) fn name(&self, function: &Function) -> Rc<str> {
        self.name_of(&function.map.linkage_name, &function.map.name)
    }

    /// The name to show for a linkage name and a source name.
    pub(crate) fn name_of(&self, linkage_name: &Text, name: &Text) -> Rc<str> {
        self.look_up(linkage_name, name).text
    }

    fn look_up(&self, linkage_name: &Text, name: &Text) -> Name {
        let mut names = self.names.borrow_mut();
        let cached = names
            .entry((linkage_name.clone(), name.clone()))
            .or_insert_with(|| {
                let text = names::display(linkage_name, name);
                let matches = self.regex.is_none_or(|regex| regex.is_match(&text));
                Name {
                    text: text.into(),
                    matches,
                }
            });
        cached.clone()
    }
}
