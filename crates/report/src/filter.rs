//! The filter that selects functions (`--function`) and code (`--crate`, `--file`, `--workspace`),
//! with a cache of demangled names.
//!
//! Demangling is slow compared with other steps of a report, and scopes repeat names thousands of
//! times. So the cache demangles each name only once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use holloway_analysis::path_name::NamePrefix;
use holloway_analysis::paths::Ranked;
use holloway_analysis::{Function, FunctionId, RunProfile};
use holloway_format::{PathId, Scope, Text};
use regex::Regex;

use crate::code::{CodeFilter, crate_of};
use crate::names;
use crate::options::Options;

/// The filter on functions, with a cache of demangled names.
pub(crate) struct Filter<'a> {
    regex: Option<&'a Regex>,
    /// The beginning of the name of the only path to show.
    path: Option<NamePrefix>,
    /// The filter on code, if the user gave one.
    code: Option<&'a CodeFilter>,
    cwd: Option<&'a Path>,
    /// By file: whether the filter on code keeps it.
    files: RefCell<HashMap<Text, bool>>,
    names: RefCell<HashMap<(Text, Text), Name>>,
}

/// A demangled name, and whether the filter matches it.
#[derive(Clone)]
struct Name {
    text: Rc<str>,
    matches: bool,
}

impl<'a> Filter<'a> {
    pub(crate) fn new(options: &'a Options<'_>) -> Filter<'a> {
        Filter {
            regex: options.function.as_ref(),
            path: options.path.as_ref().map(|choice| choice.prefix),
            code: Some(&options.code).filter(|code| code.is_given()),
            cwd: options.cwd.as_deref(),
            ..Filter::all()
        }
    }

    /// A filter that keeps every function.
    pub(crate) fn all() -> Filter<'a> {
        Filter {
            regex: None,
            path: None,
            code: None,
            cwd: None,
            files: RefCell::default(),
            names: RefCell::default(),
        }
    }

    /// Whether the filter keeps everything.
    pub(crate) fn keeps_all(&self) -> bool {
        self.regex.is_none() && self.code.is_none()
    }

    /// Whether the user selected code, rather than only excluding files.
    pub(crate) fn selects(&self) -> bool {
        self.regex.is_some() || self.code.is_some_and(CodeFilter::selects)
    }

    /// Whether the filter keeps a function.
    pub(crate) fn keeps(&self, run: &RunProfile, id: FunctionId) -> bool {
        let function = run.function(id);
        let map = &function.map;
        self.keeps_all()
            || self.matches(&map.linkage_name, &map.name)
                && self.keeps_code(run, function, &map.file, (&map.linkage_name, &map.name))
    }

    /// Whether the filter keeps the function of a scope: an inlined function, or the function
    /// itself.
    pub(crate) fn keeps_scope(&self, run: &RunProfile, function: &Function, scope: &Scope) -> bool {
        let (file, linkage_name, name) = match scope.parent {
            None => (&scope.file, &function.map.linkage_name, &function.map.name),
            Some(_) => (&scope.file, &scope.linkage_name, &scope.name),
        };
        self.keeps_all()
            || self.matches(linkage_name, name)
                && self.keeps_code(run, function, file, (linkage_name, name))
    }

    /// Whether the filter keeps a path of a function that it keeps.
    pub(crate) fn keeps_path(&self, function: &Function, path: PathId) -> bool {
        let has_name = |prefix: NamePrefix| {
            let name = function.path_name(path);
            name.is_some_and(|name| prefix.matches(name))
        };
        self.path.is_none_or(has_name)
    }

    /// The paths of a function that run through code that the filter keeps. All paths of a function
    /// do, if the filter keeps the function; else the paths through inlined functions that it
    /// keeps.
    pub(crate) fn paths(&self, run: &RunProfile, id: FunctionId) -> Ranked {
        let function = run.function(id);
        if self.keeps(run, id) {
            return self.path.map_or(Ranked::All, Ranked::Named);
        }
        if self.path.is_some() {
            return Ranked::None;
        }
        let scopes = &function.map.scopes;
        let keeps_inlined = |scope: u32| {
            let scope = &scopes[scope as usize];
            scope.parent.is_some() && self.keeps_scope(run, function, scope)
        };
        Ranked::through_scopes(&function.map, &keeps_inlined)
    }

    /// Whether the filter keeps a function without counters. Only the module and the names of such
    /// a function are known.
    pub(crate) fn keeps_uncounted(&self, module: &Text, linkage_name: &Text, name: &Text) -> bool {
        let keeps_code = |code: &CodeFilter| {
            let name = self.name_of(linkage_name, name);
            code.keeps_file("", None) && code.keeps_crate(&crate_of("", &name, module))
        };
        self.matches(linkage_name, name) && self.code.is_none_or(keeps_code)
    }

    /// Whether the filter on code keeps code in a file, of a function with this linkage name and
    /// source name, which may be inlined into `function`.
    fn keeps_code(
        &self,
        run: &RunProfile,
        function: &Function,
        file: &Text,
        (linkage_name, name): (&Text, &Text),
    ) -> bool {
        let Some(code) = self.code else { return true };
        let mut files = self.files.borrow_mut();
        let keeps_file = || code.keeps_file(file, self.cwd);
        if !*files.entry(file.clone()).or_insert_with(keeps_file) {
            return false;
        }
        if code.crates.is_empty() {
            return true;
        }
        let name = self.name_of(linkage_name, name);
        code.keeps_crate(&crate_of(file, &name, &run.module_of(function).name))
    }

    /// Whether the filter keeps a function with these names.
    pub(crate) fn matches(&self, linkage_name: &Text, name: &Text) -> bool {
        self.regex.is_none() || self.look_up(linkage_name, name).matches
    }

    /// Whether the filter keeps functions with the name of this one.
    pub(crate) fn keeps_name(&self, function: &Function) -> bool {
        self.matches(&function.map.linkage_name, &function.map.name)
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
