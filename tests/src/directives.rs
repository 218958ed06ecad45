//! The `//#` lines of a test program: how to build and run it, and what must be counted.
//!
//! ```text
//! //#build FLAGS             options for the compiler
//! //#args WORDS              arguments of the run
//! //#levels O0 O2            optimization levels (C: O0 O1 O2; Rust: dev release)
//! //#exit N                  expected exit status; 0 without this directive
//! //#signal N                the signal that ends the program instead
//! //#shared libx.so x.c …    a shared object that is built first
//! //#processes N             number of profiles; not checked without this directive
//! //#profile KEY = VALUE     a line for Cargo's profile
//! //#only C                  only this clang: 19 or 22
//! //#glibc WHY               cannot be linked with musl
//! //#open WHY                calls stay unfinished or finish twice (exit, fork, longjmp), so that
//!                            flow is not conserved without exit edges
//! //#cut WHY                 a thread may end, or jump away, in the middle of a probe, so that
//!                            samples of timed paths may be cut off
//! //#native WHY              not for emulated machines
//! //#uncut LABEL WHY         both gcovs count the marked line where Holloway cannot, because a
//!                            signal cuts the path off
//! //#uncounted WHY           gcc's gcov or llvm-cov's has no counts of the program
//! //#unequal F WHY           counts of F (*: of all functions, std: of std's generic functions)
//!                            may differ between runs or kinds of profile
//!
//! //#expect-calls F N        F was called N times
//! //#expect-total F N        the counts of F's paths add up to N
//! //#expect-distinct F N     N different paths of F ran
//! //#expect-possible F N     F has N paths; with N+, at least N
//! //#expect-runs LABEL N     the line marked `// @LABEL` ran N times
//! //#expect-path F N entry|loop LABELS… exit|back|cut
//!                            N executions of F's paths ran through just these marked lines
//! //#expect-edge F FROM TO N control went N times from F's blocks with the first mark to its
//!                            blocks with the second mark
//! //#expect-left LABEL N     N frames were left for good at the marked line's blocks, less the
//!                            frames to which control came back there
//! //#expect-skipped F        F is listed as not profiled
//! ```
//! `//#[O0 exits] …` holds only at that level and in these kinds of profile: `paths` or `edges`,
//! with `exits` or `closed`. `counted` means the kinds that are no stream of paths: in streams,
//! functions are cut so that they have at most 2^16 paths.
//!
//! Directives about paths hold in kinds that count paths, and `expect-left` in kinds with exits. A
//! comment `// @LABEL` at the end of a line marks the line. A program prints counts that are not
//! known in advance on standard error: `#calls F N`, `#total F N`, or `#runs LABEL N`.

use crate::kind::Kind;
use anyhow::{Context, Result, bail, ensure};
use std::collections::HashMap;
use std::path::Path;

/// All directives in the sources of one program.
#[derive(Debug, Default, Clone)]
pub struct Directives {
    /// Compiler flags.
    pub build: Vec<String>,
    /// Arguments of the run.
    pub args: Vec<String>,
    /// Levels to build at; empty for the default levels of the language.
    pub levels: Vec<String>,
    /// How the program must end.
    pub ending: Option<String>,
    /// Shared objects to build first: name and words.
    pub shared: Vec<(String, Vec<String>)>,
    /// Profiles that must be written.
    pub processes: Option<usize>,
    /// Lines for Cargo's profile.
    pub profile: Vec<String>,
    /// Whether the program is built and run for this machine only.
    pub native: bool,
    /// The mark of lines that only the gcovs count, with the reason.
    pub uncut: Option<(String, String)>,
    /// Whether one of the gcovs has no counts of the program.
    pub uncounted: bool,
    /// The only version of the C compiler, if the program allows just one.
    pub only: Option<String>,
    /// Whether the program cannot be linked with musl.
    pub glibc: bool,
    /// Whether calls stay unfinished or finish twice, so that flow is not conserved.
    pub open: bool,
    /// Whether samples of timed paths may be cut off.
    pub cut: bool,
    /// Functions whose counts may differ between two runs, each with the reason: by name, `*`, or
    /// `std`.
    pub unequal: Vec<(String, String)>,
    /// The expected counts, each with the levels and kinds where it holds.
    pub expectations: Vec<(Vec<String>, Expectation)>,
    /// Marked lines: (file name, line) to label.
    pub labels: HashMap<(String, u64), String>,
}

/// One fact that the profile must show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expectation {
    /// Calls of a function.
    Calls(String, u64),
    /// Sum of a function's path counts.
    Total(String, u64),
    /// Number of different paths that ran.
    Distinct(String, u64),
    /// Number of paths a function has; `true`: at least.
    Possible(String, u64, bool),
    /// Executions of a marked line.
    Runs(String, u64),
    /// Executions of a function's paths that go from a start through exactly these marks to an end.
    Path {
        /// The function.
        function: String,
        /// Number of executions.
        count: u64,
        /// Start, labels, end.
        words: Vec<String>,
    },
    /// Times control went from blocks with one mark to blocks with another.
    Edge {
        /// The function.
        function: String,
        /// Mark of the blocks it came from.
        from: String,
        /// Mark of the blocks it went to.
        to: String,
        /// Number of executions.
        count: u64,
    },
    /// Net number of frames left at the blocks of a marked line.
    Left(String, i64),
    /// The function is listed as skipped.
    Skipped(String),
}

/// Source files of a program's folder that may hold directives, in a fixed order.
const EXTENSIONS: [&str; 5] = ["c", "cpp", "h", "rs", "toml"];

impl Directives {
    /// Reads every source file below a program's folder.
    ///
    /// # Errors
    /// If a file cannot be read, or a directive is not understood.
    pub fn read(folder: &Path) -> Result<Self> {
        let mut all = Self::default();
        for file in sources(folder)? {
            let text = std::fs::read_to_string(&file)
                .with_context(|| format!("cannot read {}", file.display()))?;
            let name = file
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            all.add(&name, &text)
                .with_context(|| format!("in {}", file.display()))?;
        }
        Ok(all)
    }

    fn add(&mut self, file: &str, text: &str) -> Result<()> {
        for (number, line) in (1..).zip(text.lines()) {
            if let Some((_, label)) = line.rsplit_once("// @") {
                self.labels
                    .insert((file.to_owned(), number), label.trim().to_owned());
            }
            if let Some(directive) = line.trim_start().strip_prefix("//#") {
                self.directive(directive)
                    .with_context(|| format!("line {number}: {}", line.trim()))?;
            }
        }
        Ok(())
    }

    fn directive(&mut self, text: &str) -> Result<()> {
        let (conditions, text) = match text.strip_prefix('[').and_then(|t| t.split_once(']')) {
            Some((conditions, rest)) => (conditions, rest.trim_start()),
            None => ("", text),
        };
        let conditions: Vec<String> = conditions.split_whitespace().map(str::to_owned).collect();
        let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
        let words: Vec<String> = rest.split_whitespace().map(str::to_owned).collect();
        if verb.starts_with("expect-") {
            self.expectations
                .push((conditions, expectation(verb, &words)?));

            return Ok(());
        }
        let first = || words.first().cloned().context("a word is missing");
        match verb {
            "build" => self.build = words,
            "args" => self.args = words,
            "levels" => self.levels = words,
            "exit" => self.ending = Some(format!("exit {}", first()?)),
            "signal" => self.ending = Some(format!("signal {}", first()?)),
            "shared" => self.shared.push((first()?, words[1..].to_vec())),
            "processes" => self.processes = Some(first()?.parse()?),
            "profile" => self.profile.push(rest.to_owned()),
            "glibc" => self.glibc = !first()?.is_empty(),
            "open" => self.open = !first()?.is_empty(),
            "cut" => self.cut = !first()?.is_empty(),
            "unequal" => {
                ensure!(words.len() > 1, "which function, and why?");
                self.unequal.push((first()?, words[1..].join(" ")));
            }
            "uncut" => {
                ensure!(words.len() > 1, "which lines, and why?");
                self.uncut = Some((first()?, words[1..].join(" ")));
            }
            "uncounted" => self.uncounted = !first()?.is_empty(),
            "native" => self.native = !first()?.is_empty(),
            "only" => self.only = Some(first()?),
            _ => bail!("no directive is called {verb:?}"),
        }
        Ok(())
    }

    /// How the program must end. The default is `exit 0`.
    #[must_use]
    pub fn ending(&self) -> &str {
        self.ending.as_deref().unwrap_or("exit 0")
    }

    /// The expectations that hold at a level in a kind of profile.
    pub fn expectations_at<'a>(
        &'a self,
        level: &'a str,
        kind: Kind,
    ) -> impl Iterator<Item = &'a Expectation> {
        let holds =
            move |conditions: &[String]| conditions.iter().all(|c| c == level || kind.is(c));
        self.expectations
            .iter()
            .filter(move |(conditions, e)| holds(conditions) && e.applies_to(kind))
            .map(|(_, e)| e)
    }
}

impl Expectation {
    /// Whether this expectation applies to a kind of profile. Traces have different paths, and
    /// their calls are compared with counts elsewhere. If only some paths are timed, the counts are
    /// estimates.
    pub(crate) fn applies_to(&self, kind: Kind) -> bool {
        match self {
            Self::Skipped(_) => true,
            _ if matches!(kind, Kind::Trace | Kind::Variation) => false,
            Self::Total(..) | Self::Distinct(..) | Self::Possible(..) | Self::Path { .. } => {
                !kind.counts_edges()
            }
            Self::Left(..) => kind.has_exits(),
            Self::Calls(..) | Self::Runs(..) | Self::Edge { .. } => true,
        }
    }

    /// The marks that the expectation names. They must exist in the sources.
    #[must_use]
    pub fn marks(&self) -> Vec<&str> {
        match self {
            Self::Runs(label, _) | Self::Left(label, _) => vec![label],
            Self::Edge { from, to, .. } => vec![from, to],
            Self::Path { words, .. } => words[1..words.len() - 1]
                .iter()
                .map(String::as_str)
                .collect(),
            _ => Vec::new(),
        }
    }
}

/// Reads the counts that the program prints on standard error: `#calls F N`, `#total F N`, `#runs
/// LABEL N`.
///
/// # Errors
/// If a line begins like one of these, and is not.
pub fn self_reported(stderr: &str) -> Result<Vec<Expectation>> {
    let mut expectations = Vec::new();
    for line in stderr.lines() {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let verb = match words.first().map(String::as_str) {
            Some("#calls") => "expect-calls",
            Some("#total") => "expect-total",
            Some("#runs") => "expect-runs",
            _ => continue,
        };
        expectations.push(expectation(verb, &words[1..]).with_context(|| line.to_owned())?);
    }
    Ok(expectations)
}

fn expectation(verb: &str, words: &[String]) -> Result<Expectation> {
    let name = words.first().context("a name is missing")?.clone();
    let word = |index: usize| words.get(index).context("a word is missing");
    let number = || -> Result<u64> { Ok(word(1)?.replace('_', "").parse()?) };
    Ok(match verb {
        "expect-calls" => Expectation::Calls(name, number()?),
        "expect-total" => Expectation::Total(name, number()?),
        "expect-distinct" => Expectation::Distinct(name, number()?),
        "expect-possible" => {
            let text = word(1)?;
            let (digits, at_least) = text
                .strip_suffix('+')
                .map_or((text.as_str(), false), |digits| (digits, true));
            Expectation::Possible(name, digits.parse()?, at_least)
        }
        "expect-runs" => Expectation::Runs(name, number()?),
        "expect-path" => {
            let path = words.get(2..).unwrap_or_default().to_vec();
            ensure!(path.len() >= 2, "a path has a start and an end");
            ensure!(
                matches!(path[0].as_str(), "entry" | "loop"),
                "a path starts at entry or loop"
            );
            Expectation::Path {
                function: name,
                count: number()?,
                words: path,
            }
        }
        "expect-edge" => Expectation::Edge {
            function: name,
            from: word(1)?.clone(),
            to: word(2)?.clone(),
            count: word(3)?.parse()?,
        },
        "expect-left" => Expectation::Left(name, word(1)?.parse()?),
        "expect-skipped" => Expectation::Skipped(name),
        _ => bail!("no expectation is called {verb:?}"),
    })
}

fn sources(folder: &Path) -> Result<Vec<std::path::PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)
            .with_context(|| format!("cannot list {}", folder.display()))?
        {
            let path = entry?.path();
            let extension = path
                .extension()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if EXTENSIONS.contains(&&*extension) {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}
