//! The tests of a run that was recorded with `--per-test`: what each covers, which of them run a
//! path or a line, and which suffice.

use std::collections::{BTreeMap, BTreeSet};

use holloway_analysis::test_items::{Goal, Item, covered_items};
use holloway_analysis::test_sets::{TestSet, smallest_set};
use holloway_analysis::{Function, RunProfile, lines};
use holloway_format::{Count, PathId, Scope};

use crate::filter::Filter;
use crate::options::Options;
use crate::uncovered::keeps_code;

/// A test.
#[derive(Clone, Debug)]
pub struct Test {
    /// Its name.
    pub name: String,
    /// The path of its function in its crate. The function itself is not counted as covered code.
    /// Empty if the test is no function.
    pub function: String,
    /// Whether it passed. `None` if that is not known.
    pub passed: Option<bool>,
}

impl Test {
    /// Whether a function with this name is the test, or a closure in it.
    fn is_own(&self, name: &str) -> bool {
        let in_crate = name.split_once("::").map(|(_, rest)| rest);
        let rest = in_crate.and_then(|path| path.strip_prefix(&self.function));
        !self.function.is_empty()
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    }
}

/// The tests, and what each covers.
#[derive(Debug, Default)]
pub struct TestCoverage {
    /// The tests.
    pub tests: Vec<Test>,
    goal: Goal,
    /// By item: its number.
    numbers: BTreeMap<Item, u32>,
    /// By test: its items, by number.
    covered: Vec<BTreeSet<u32>>,
    /// By test: executions of the place that the user asked for.
    asked: Vec<Count>,
}

/// A line of a file, as the user writes it: `src/main.rs:12`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineChoice {
    /// The file, or the end of its path.
    pub file: String,
    /// The line.
    pub line: u32,
}

impl LineChoice {
    /// Reads `src/main.rs:12`. `None` if the text is no file with a line.
    pub fn parse(text: &str) -> Option<Self> {
        let (file, line) = text.rsplit_once(':')?;
        let line = line.parse().ok().filter(|&line| line > 0)?;
        (!file.is_empty()).then(|| Self {
            file: file.to_owned(),
            line,
        })
    }

    /// Whether a file of the path map is the file.
    fn is_file(&self, file: &str) -> bool {
        let rest = file.strip_suffix(self.file.trim_start_matches("./"));
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    }
}

impl TestCoverage {
    /// No tests yet.
    pub fn new(goal: Goal) -> Self {
        Self {
            goal,
            ..Self::default()
        }
    }

    /// Adds a test and the code that it ran. `line` is a line that the user asks for.
    pub fn add(
        &mut self,
        test: Test,
        run: &RunProfile,
        options: &Options<'_>,
        line: Option<&LineChoice>,
    ) {
        let names = Filter::new(options);
        let is_kept = keeps_code(run, &names, options);
        let keep = |function: &Function, scope: &Scope| {
            let name = match scope.parent {
                None => names.name(function),
                Some(_) => names.name_of(&scope.linkage_name, &scope.name),
            };
            is_kept(function, scope) && !test.is_own(&name)
        };
        let mut items = covered_items(run, self.goal, &keep);
        self.asked.push(match line {
            Some(line) => executions(run, options, line),
            None if options.path.is_some() => {
                keep_path(run, &names, &mut items);
                items
                    .values()
                    .fold(Count::ZERO, |sum, &count| sum.saturating_add(count))
            }
            None => Count::ZERO,
        });
        let mut covered = BTreeSet::new();
        for item in items.into_keys() {
            let next = self.numbers.len() as u32;
            covered.insert(*self.numbers.entry(item).or_insert(next));
        }
        self.covered.push(covered);
        self.tests.push(test);
    }

    /// What the tests cover, as a noun.
    pub(crate) fn noun(&self) -> &'static str {
        match self.goal {
            Goal::Lines => "line",
            Goal::Paths => {
                let mut items = self.numbers.keys();
                match items.any(|item| matches!(item, Item::Edge(..))) {
                    true => "path or edge",
                    false => "path",
                }
            }
        }
    }

    /// The number of different items that the tests cover.
    pub(crate) fn item_count(&self) -> u64 {
        self.numbers.len() as u64
    }

    /// By test: the number of items that it covers, and the number that only it covers.
    pub(crate) fn counts(&self) -> Vec<(u64, u64)> {
        let mut tests = vec![0u32; self.numbers.len()];
        for &item in self.covered.iter().flatten() {
            tests[item as usize] += 1;
        }
        let counts = self.covered.iter().map(|covered| {
            let alone = covered.iter().filter(|&&item| tests[item as usize] == 1);
            (covered.len() as u64, alone.count() as u64)
        });
        counts.collect()
    }

    /// The smallest set of tests that covers everything.
    pub(crate) fn smallest_set(&self) -> TestSet {
        smallest_set(&self.covered)
    }

    /// The tests that run the place that the user asked for, with their executions, the most first.
    pub(crate) fn asked(&self) -> Vec<(usize, Count)> {
        let asked = self.asked.iter().copied().enumerate();
        let mut tests: Vec<(usize, Count)> =
            asked.filter(|&(_, count)| count > Count::ZERO).collect();
        tests.sort_by_key(|&(test, count)| (std::cmp::Reverse(count), test));
        tests
    }
}

/// Whether a line of a run has code.
pub fn has_code(run: &RunProfile, line: &LineChoice) -> bool {
    let lines = lines::counts(run, &|_, _| true);
    let mut files = lines.iter().filter(|(file, _)| line.is_file(file));
    files.any(|(_, lines)| lines.contains_key(&line.line))
}

/// Executions of a line.
fn executions(run: &RunProfile, options: &Options<'_>, line: &LineChoice) -> Count {
    let names = Filter::new(options);
    let all = |function: &Function, scope: &Scope| names.keeps_scope(run, function, scope);
    let lines = lines::counts(run, &all);
    let files = lines.iter().filter(|(file, _)| line.is_file(file));
    let counts = files.filter_map(|(_, lines)| lines.get(&line.line));
    counts.fold(Count::ZERO, |sum, &count| sum.saturating_add(count))
}

/// Leaves only the path that the user chose.
fn keep_path(run: &RunProfile, names: &Filter<'_>, items: &mut BTreeMap<Item, Count>) {
    items.retain(|item, _| match item {
        Item::Path(graph, path) => run.functions.iter().any(|function| {
            function.map.hash == graph.hash
                && function.map.linkage_name == graph.linkage_name
                && function.graph().is_some()
                && names.keeps_path(function, PathId(*path))
        }),
        Item::Edge(..) | Item::Line(..) => false,
    });
}

#[cfg(test)]
mod tests {
    use super::{LineChoice, Test};

    #[test]
    fn a_tests_own_function_is_not_code_under_test() {
        let test = |function: &str| Test {
            name: "app: test".to_owned(),
            function: function.to_owned(),
            passed: Some(true),
        };
        assert!(test("tests::large").is_own("app::tests::large"));
        assert!(test("tests::large").is_own("app::tests::large::{{closure}}"));
        assert!(!test("tests::large").is_own("app::tests::larger"));
        assert!(!test("tests::large").is_own("tests::large"));
        assert!(!test("").is_own("app::run"));
    }

    #[test]
    fn a_line_is_chosen_by_the_end_of_its_path() {
        let line = LineChoice::parse("src/main.rs:12").unwrap();
        assert_eq!(line.line, 12);
        assert!(line.is_file("src/main.rs"));
        assert!(line.is_file("/home/app/src/main.rs"));
        assert!(!line.is_file("/home/app/other-src/main.rs"));
        for text in ["main.rs", "main.rs:", "main.rs:0", ":12", "main.rs:x"] {
            assert_eq!(LineChoice::parse(text), None, "{text}");
        }
    }
}
