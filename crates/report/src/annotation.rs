//! The source of a whole function or file with counts: for each line how often it ran, and how
//! often its branches went each way.
//!
//! A line that was compiled several times has the sum of its copies: of generic functions, of
//! inlined functions, and of several programs. The lines of a function include those of closures
//! that are written in it. Ways of branches are those of [`ways`](holloway_analysis::ways): checks
//! of the compiler are left out.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use holloway_analysis::RunProfile;
use holloway_analysis::bounds::Bound;
use holloway_analysis::lines::{Lines, bounds, counts};
use holloway_analysis::trail::frames;
use holloway_analysis::ways::{Way, branch_ways, executions};
use holloway_format::{Count, FunctionMap, Place, Scope};

use crate::code::{Glob, is_workspace, without_dots};
use crate::colors::HeatScale;
use crate::filter::Filter;
use crate::numbers::{grouped, share};
use crate::options::Options;
use crate::places::{is_library, short};
use crate::source::TextProblem;
use crate::terminal::branches::KnownBranches;

/// A function or a file with counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Annotation {
    /// The file's name in the path map.
    pub file: String,
    /// The file's name for people.
    pub short_file: String,
    /// The functions that are shown. Empty for a whole file.
    pub functions: Vec<String>,
    /// The lines, in order. A gap means that the lines between are not shown.
    pub lines: Vec<AnnotatedLine>,
    /// The text of the lines.
    pub text: TextState,
    /// The colors of the counts.
    pub scale: HeatScale,
}

/// Whether lines have their text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TextState {
    /// They have.
    Known,
    /// The file has fewer lines than the compiled one.
    Short,
    /// The file has no text.
    Unknown(TextProblem),
}

/// A line of the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnnotatedLine {
    /// Its number.
    pub line: u32,
    /// Its text; empty if the file is not on this machine.
    pub text: String,
    /// How often it ran. `None` if it has no code.
    pub count: Option<(Count, Bound)>,
    /// By branch of the line: where control went, most often first.
    pub branches: Vec<Vec<LineWay>>,
}

/// A way of a branch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineWay {
    /// Where control goes, such as `line 12`.
    pub to: String,
    /// How often.
    pub count: Count,
    /// The share of the branch's executions, such as `70.0 %`.
    pub share: String,
}

impl LineWay {
    /// The way in words: `line 12 ×700 (70.0 %)`, or `line 12 never`.
    pub fn in_words(&self) -> String {
        match self.count {
            Count::ZERO => format!("{} never", self.to),
            count => format!("{} ×{} ({})", self.to, grouped(count), self.share),
        }
    }
}

impl Annotation {
    /// The lines with code.
    pub fn with_code(&self) -> usize {
        self.lines
            .iter()
            .filter(|line| line.count.is_some())
            .count()
    }

    /// The lines that ran.
    pub fn ran(&self) -> usize {
        let counts = self.lines.iter().filter_map(|line| line.count);
        counts.filter(|&(count, _)| count > Count::ZERO).count()
    }
}

/// The functions that the options select and that have lines, the first of a file first.
/// Functions whose lines are in other functions that are shown have no part of their own.
pub fn of_functions(run: &RunProfile, options: &Options<'_>) -> Vec<Annotation> {
    let names = Filter::new(options);
    let mut ranges: BTreeMap<(&str, u32, u32), BTreeSet<String>> = BTreeMap::new();
    for function in &run.functions {
        let map = &function.map;
        for (number, scope) in (0u32..).zip(&map.scopes) {
            let is_known = !scope.file.is_empty() && scope.line != 0;
            if !is_known || !names.keeps_scope(run, function, scope) {
                continue;
            }
            let last = last_line(map, number).max(scope.line);
            let name = match scope.parent {
                None => names.name(function),
                Some(_) => names.name_of(&scope.linkage_name, &scope.name),
            };
            let key = (&*scope.file, scope.line, last);
            ranges.entry(key).or_default().insert(name.to_string());
        }
    }
    let mut parts: Vec<(&str, u32, u32, BTreeSet<String>)> = Vec::new();
    for ((file, first, last), names) in ranges {
        match parts.last_mut() {
            // Copies of one function may have lost different last lines.
            Some(part) if part.0 == file && first <= part.2 => {
                part.2 = part.2.max(last);
                if part.1 == first {
                    part.3.extend(names);
                }
            }
            _ => parts.push((file, first, last, names)),
        }
    }
    let mut counted = CountedFiles::new(run, options);
    let annotations = parts.into_iter().map(|(file, first, last, names)| {
        counted.annotation(file, (first, last), names.into_iter().collect())
    });
    annotations.collect()
}

/// The files that match a pattern and have code.
pub fn of_files(run: &RunProfile, pattern: &str, options: &Options<'_>) -> Vec<Annotation> {
    let files = files_matching(run, pattern, options);
    let annotations = files.into_iter().map(|file| of_file(run, file, options));
    annotations.collect()
}

/// A whole file. `file` is its name in the path map.
pub fn of_file(run: &RunProfile, file: &str, options: &Options<'_>) -> Annotation {
    let mut counted = CountedFiles::new(run, options);
    let last_with_code = counted.file(file).lines.keys().last().copied();
    let has_line = |line: &u32| options.source.line(file, *line).is_some();
    let last = (1..).take_while(has_line).last();
    let last = last.max(last_with_code).unwrap_or(0);
    counted.annotation(file, (1, last), Vec::new())
}

/// The files of a run that match a pattern such as `search.rs` or `src/*.c`: the file with this
/// path if there is one, and otherwise all that match, those of libraries last.
pub fn files_matching<'a>(
    run: &'a RunProfile,
    pattern: &str,
    options: &Options<'_>,
) -> Vec<&'a str> {
    let cwd = options.cwd.as_deref();
    let scopes = run
        .functions
        .iter()
        .flat_map(|function| &function.map.scopes);
    let files: BTreeSet<&str> = scopes.map(|scope| &*scope.file).collect();
    let path = without_dots(&cwd.unwrap_or(Path::new("")).join(pattern));
    let is_path = |file: &&str| !file.is_empty() && without_dots(Path::new(file)) == path;
    let named: Vec<&str> = files.iter().copied().filter(is_path).collect();
    if !named.is_empty() {
        return named;
    }
    let glob = Glob::in_folder(pattern, cwd);
    let matching = files.into_iter().filter(|file| glob.selects(file, cwd));
    let mut matching: Vec<&str> = matching.collect();
    matching.sort_by_key(|file| !is_workspace(file));
    matching
}

/// The last line of a scope's own code, including calls that were inlined.
fn last_line(map: &FunctionMap, scope: u32) -> u32 {
    let places = map.blocks.iter().flat_map(|block| &block.places);
    let lines = places
        .flat_map(|place: &Place| frames(map, place))
        .filter(|frame| frame.scope == scope)
        .map(|frame| frame.line);
    lines.max().unwrap_or(0)
}

/// The counts and branches of files, each computed when it is first needed.
struct CountedFiles<'a> {
    run: &'a RunProfile,
    options: &'a Options<'a>,
    files: BTreeMap<String, CountedFile>,
}

/// The counts and branches of a file.
struct CountedFile {
    lines: Lines,
    bounds: BTreeMap<u32, Bound>,
    branches: BTreeMap<u32, Vec<Vec<LineWay>>>,
}

impl<'a> CountedFiles<'a> {
    fn new(run: &'a RunProfile, options: &'a Options<'a>) -> CountedFiles<'a> {
        CountedFiles {
            run,
            options,
            files: BTreeMap::new(),
        }
    }

    fn file(&mut self, file: &str) -> &CountedFile {
        let (run, cwd) = (self.run, self.options.cwd.as_deref());
        self.files.entry(file.to_owned()).or_insert_with(|| {
            let keep = |_: &_, scope: &Scope| *scope.file == *file;
            CountedFile {
                lines: counts(run, &keep).remove(file).unwrap_or_default(),
                bounds: bounds(run, &keep).remove(file).unwrap_or_default(),
                branches: branches(run, file, cwd),
            }
        })
    }

    fn annotation(
        &mut self,
        file: &str,
        (first, last): (u32, u32),
        functions: Vec<String>,
    ) -> Annotation {
        let options = self.options;
        let counted = self.file(file);
        let text = |line| options.source.line(file, line);
        let has_text = (first..=last).any(|line| text(line).is_some());
        let with_code = counted.lines.range(first..=last);
        let is_short = with_code.clone().any(|(&line, _)| text(line).is_none());
        let state = match options.source.problem(file).filter(|_| !has_text) {
            Some(problem) => TextState::Unknown(problem),
            None if is_short => TextState::Short,
            None => TextState::Known,
        };
        let lines = (first..=last).filter(|line| has_text || counted.lines.contains_key(line));
        let lines = lines.map(|line| {
            let bound = counted.bounds.get(&line).copied().unwrap_or_default();
            AnnotatedLine {
                line,
                text: text(line).unwrap_or_default(),
                count: counted.lines.get(&line).map(|&count| (count, bound)),
                branches: counted.branches.get(&line).cloned().unwrap_or_default(),
            }
        });
        let lines: Vec<AnnotatedLine> = lines.collect();
        let counts = lines.iter().filter_map(|line| line.count);
        let highest = counts.map(|(count, _)| count).max().unwrap_or_default();
        Annotation {
            file: file.to_owned(),
            short_file: short(file, options.cwd.as_deref()),
            functions,
            lines,
            text: state,
            scale: HeatScale::up_to(highest),
        }
    }
}

/// By line of a file: the ways of each branch that ran.
fn branches(run: &RunProfile, file: &str, cwd: Option<&Path>) -> BTreeMap<u32, Vec<Vec<LineWay>>> {
    let known = KnownBranches::default();
    let keep = |_: &_, scope: &Scope| *scope.file == *file;
    let mut lines: BTreeMap<u32, Vec<Vec<LineWay>>> = BTreeMap::new();
    for (branch, mut ways) in branch_ways(run, &keep, is_library) {
        let all = executions(&ways);
        if ways.len() < 2 || all == Count::ZERO {
            continue;
        }
        ways.sort_by_key(|way| Reverse(way.count));
        let in_words = |way: &Way<'_>| {
            let map = &run.function(way.function).map;
            let place = map.edges[way.edge as usize].place;
            let to = known.branches(map, cwd).word(place, &way.destination);
            LineWay {
                to: match to.is_empty() {
                    true => "code without a line".to_owned(),
                    false => to,
                },
                count: way.count,
                share: share(way.count, all),
            }
        };
        let ways = ways.iter().map(in_words).collect();
        lines.entry(branch.line).or_default().push(ways);
    }
    lines
}
