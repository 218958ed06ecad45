//! The content of the terminal interface: lists of functions and of paths, the steps of a path, and
//! files with counts. `holloway` draws it.
//!
//! Lists may be long, so the words for a path are made when its row is drawn.

use std::rc::Rc;

use holloway_analysis::functions::{self, Weight};
use holloway_analysis::paths::{Ranked, hottest, regenerate};
use holloway_analysis::trail::trail;
use holloway_analysis::{FunctionId, RunProfile, Sort};
use holloway_format::{Count, PathId};

use crate::annotation::{self, Annotation};
use crate::filter::Filter;
use crate::left_frames;
use crate::numbers::{grouped, plural, share};
use crate::options::Options;
use crate::path_names::numbered_name;
use crate::places::{file_and_line, short};
use crate::terminal::branches::{Branches, KnownBranches};
use crate::terminal::decisions::decisions_of;
use crate::terminal::paint::clip_middle;

/// Paths of the whole run that are listed.
const LISTED_PATHS: usize = 1000;

/// A run that a user browses.
pub struct Browser<'a> {
    run: &'a RunProfile,
    options: &'a Options<'a>,
    names: Filter<'a>,
    branches: KnownBranches<'a>,
}

/// A function that ran.
#[derive(Clone, Debug)]
pub struct FunctionEntry {
    /// The function.
    pub function: FunctionId,
    /// Its name.
    pub name: Rc<str>,
    /// Its file, for people.
    pub file: String,
    /// Its share of all instructions.
    pub share: String,
    /// How often it was called.
    pub calls: Count,
}

/// A path that ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathEntry {
    /// The function that contains the path.
    pub function: FunctionId,
    /// Its number.
    pub path: PathId,
    /// How often it ran.
    pub count: Count,
    /// The instructions of all executions.
    pub instructions: Count,
}

/// A line that a path runs through.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The file's name in the path map.
    pub file: String,
    /// The file and the line, for people.
    pub place: String,
    /// The line.
    pub line: u32,
    /// The decisions at the line, in words.
    pub decided: String,
    /// The function whose code is inlined here. `None` for the path's own function.
    pub inlined: Option<Rc<str>>,
}

impl<'a> Browser<'a> {
    /// Browses the functions and paths that the options select.
    pub fn new(run: &'a RunProfile, options: &'a Options<'a>) -> Browser<'a> {
        Browser {
            run,
            options,
            names: Filter::new(options),
            branches: KnownBranches::default(),
        }
    }

    /// What ran, in one line.
    pub fn summary(&self) -> String {
        let images = self.run.images.iter();
        let ran = images.filter(|image| !image.processes.is_empty());
        let mut names: Vec<&str> = ran.map(|image| &*image.name).collect();
        names.dedup();
        let functions = self.run.functions.iter().filter(|function| function.ran());
        let paths = functions
            .clone()
            .map(|function| function.counts.len() as u64);
        format!(
            "{} · {} ran · {} ran · {} instructions",
            names.join(", "),
            plural(functions.count() as u64, "function"),
            plural(paths.sum::<u64>(), "path"),
            grouped(self.instructions())
        )
    }

    /// The instructions of the run.
    pub fn instructions(&self) -> Count {
        let functions = self.run.functions.iter().filter(|function| function.ran());
        functions.fold(Count::ZERO, |sum, function| {
            sum.saturating_add(function.flow().instructions)
        })
    }

    /// The functions that ran, most instructions first.
    pub fn functions(&self) -> Vec<FunctionEntry> {
        let keep = |id| self.names.keeps(self.run, id);
        let ranking = functions::hottest(self.run, Weight::Instructions, None, &keep);
        let entries = ranking.functions.iter().map(|summary| FunctionEntry {
            function: summary.function,
            name: self.function_name(summary.function),
            file: self.file_of(summary.function),
            share: share(summary.instructions, ranking.total),
            calls: summary.calls,
        });
        entries.collect()
    }

    /// The hottest paths of the run.
    pub fn paths(&self) -> Vec<PathEntry> {
        let keep = |id| match self.names.keeps(self.run, id) {
            true => Ranked::All,
            false => Ranked::None,
        };
        let ranking = hottest(self.run, Sort::Instructions, Some(LISTED_PATHS), &keep);
        let entries = ranking.paths.iter().map(|path| PathEntry {
            function: path.function,
            path: path.path,
            count: path.count,
            instructions: path.total_instructions(),
        });
        entries.collect()
    }

    /// The paths of a function that ran, most instructions first. Empty if edges were counted.
    pub fn paths_of(&self, id: FunctionId) -> Vec<PathEntry> {
        let function = self.run.function(id);
        let mut entries = Vec::new();
        if let Some(graph) = function.graph() {
            graph.measure(&function.map, &function.counts, |path| {
                entries.push(PathEntry {
                    function: id,
                    path: path.path,
                    count: path.count,
                    instructions: path.count.saturating_mul(path.instructions),
                });
            });
        }
        entries.sort_by_key(|entry| (std::cmp::Reverse(entry.instructions), entry.path));
        entries
    }

    /// The name of a function.
    pub fn function_name(&self, id: FunctionId) -> Rc<str> {
        self.names.name(self.run.function(id))
    }

    /// The file of a function, for people.
    pub fn file_of(&self, id: FunctionId) -> String {
        short(&self.run.function(id).map.file, self.options.cwd.as_deref())
    }

    /// The instructions of a function.
    pub fn instructions_of(&self, id: FunctionId) -> Count {
        self.run.function(id).flow().instructions
    }

    /// The number and the short name of a path: `p12#3fa2`.
    pub fn path_name(&self, entry: &PathEntry) -> String {
        numbered_name(self.run.function(entry.function), entry.path)
    }

    /// The decisions on a path, with their lines.
    pub fn decisions(&self, entry: &PathEntry) -> String {
        let function = self.run.function(entry.function);
        decisions_of(&self.branches(entry.function), function, entry.path)
    }

    /// A function in one line of about `width` columns: its name, its place, its calls, and how
    /// many of its paths ran.
    pub fn facts_of(&self, id: FunctionId, width: usize) -> String {
        let function = self.run.function(id);
        let map = &function.map;
        let place = file_and_line(&map.file, map.line, self.options.cwd.as_deref());
        let calls = plural(function.flow().calls, "call");
        let name = shortened(&self.function_name(id), width / 2);
        let mut facts = format!("{name}  {place} · {calls}");
        if !function.counts.is_empty() {
            let ran = grouped(function.counts.len() as u64);
            facts += &format!(" · {ran} of {} ran", plural(map.path_count, "path"));
        }
        if let Some(left) = left_frames::in_words(function) {
            facts += &format!(" · {left}");
        }
        facts
    }

    /// The place where a function is declared: the file's name in the path map, and the line.
    pub fn declaration(&self, id: FunctionId) -> (&'a str, u32) {
        let map = &self.run.function(id).map;
        (&map.file, map.line)
    }

    /// The lines that a path runs through, in order.
    pub fn steps(&self, entry: &PathEntry) -> Vec<Step> {
        let function = self.run.function(entry.function);
        let Some(path) = regenerate(function, entry.path) else {
            return Vec::new();
        };
        let branches = self.branches(entry.function);
        let trail = trail(&function.map, &path);
        let steps = trail.steps.iter().filter_map(|step| {
            let scope = function.map.scopes.get(step.place.scope as usize)?;
            let name = || self.names.name_of(&scope.linkage_name, &scope.name);
            let place = file_and_line(&scope.file, step.place.line, self.options.cwd.as_deref());
            Some(Step {
                file: scope.file.to_string(),
                place,
                line: step.place.line,
                decided: branches.decided(step),
                inlined: scope.parent.map(|_| name()),
            })
        });
        steps.collect()
    }

    /// A whole file with counts. `file` is its name in the path map.
    pub fn file(&self, file: &str) -> Annotation {
        annotation::of_file(self.run, file, self.options)
    }

    /// A path as text, to be copied.
    pub fn as_text(&self, entry: &PathEntry) -> String {
        let mut text = format!(
            "{} {} · {}\n",
            self.function_name(entry.function),
            self.path_name(entry),
            plural(entry.count, "execution")
        );
        for step in self.steps(entry) {
            let separator = if step.decided.is_empty() { "" } else { "  " };
            text += &format!("  {}{separator}{}\n", step.place, step.decided);
        }
        text
    }

    fn branches(&self, id: FunctionId) -> Rc<Branches<'a>> {
        let map = &self.run.function(id).map;
        self.branches.branches(map, self.options.cwd.as_deref())
    }
}

/// The step at which a path is opened: its first decision, or its first line.
pub fn first_step(steps: &[Step]) -> usize {
    let decides = |step: &Step| !step.decided.is_empty();
    steps.iter().position(decides).unwrap_or(0)
}

/// A name in at most `width` columns: `…` stands for the middle of a longer name.
pub fn shortened(name: &str, width: usize) -> String {
    clip_middle(name, width)
}
