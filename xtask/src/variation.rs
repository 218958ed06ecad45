//! `cargo xtask study variation`: applies variational path profiling to one real program, as in the
//! paper (Perelman, Chilimbi, Calder 2005, section 5.4).
//!
//! MiniSat, which was not written for this study, decides a formula larger than the caches.
//! `--collect variation` finds the paths that are sometimes slow. The paper's rule (prefetch what
//! the next turn of the loop loads, under an `if` that checks bounds) was applied by hand to one of
//! them. The original and the patched program are timed in turn. The original program also runs on
//! another formula, and on a loaded machine. `holloway stability` then compares which paths vary in
//! these runs. The results are written to docs/studies/variation.md.

use crate::bench::{KeptBuilds, Samples};
use crate::machine;
use crate::workspace::{bench_folder, root};
use anyhow::{Context, Result, ensure};
use holloway_tests::noise::beside_noise;
use holloway_tests::tool::{holloway_command, run_ok};
use holloway_tests::workload::{Flavor, MINISAT};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use wait4::Wait4;

/// The function that the rule is applied to. Each turn of its outer loop takes the next fact off
/// the trail and visits the fact's watchers. The patch, which replaces [`BEFORE`] by [`AFTER`],
/// prefetches the watchers of the next fact, and the pointer to the watchers of the fact after the
/// next.
const FUNCTION: &str = "Minisat::Solver::propagate";
const BEFORE: &str = "        num_props++;\n\n        for (i = j";
const AFTER: &str = "        num_props++;\n        if (qhead < trail.size())\n            __builtin_prefetch((Watcher*)watches[trail[qhead]]);\n        \
                     if (qhead + 1 < trail.size())\n            __builtin_prefetch(&watches[trail[qhead + 1]]);\n\n        for (i = j";
/// The source file of the function.
const FILE: &str = "minisat/core/Solver.cc";

/// The bursts of the timed runs. The runs are short, so paths are timed ten times as often as by
/// default.
const BURST: &str = "1000:1";
/// Rounds that measure the time of both programs.
const ROUNDS: usize = 9;
/// Rounds that time the paths of both programs.
const TIMED_ROUNDS: usize = 5;
/// Number of functions that the page shows.
const FUNCTIONS: usize = 6;
/// Number of pieces of advice that the page shows.
const ADVICE: usize = 4;
/// Variables, clauses, and seed of another formula.
const OTHER_FORMULA: [&str; 3] = ["300000", "900000", "7"];

/// The builds of the program, original or patched.
struct Program {
    native: PathBuf,
    woven: PathBuf,
}

/// The report of a run whose paths were timed.
struct TimedRun {
    json: Value,
    text: String,
}

/// Runs the study, prints it, and writes the page.
///
/// # Errors
/// If a build or a run fails, if the outputs of the programs differ, or if the function was not
/// timed.
pub(crate) fn run() -> Result<()> {
    KeptBuilds::open()?;
    // The folder always has the same name, because source places in the page contain it.
    let folder = bench_folder()?.join("study-variation");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    let build = |name: &str, source: Source| {
        let built = Program::build(&folder.join(name), source);
        built.with_context(|| format!("the {name} program"))
    };
    let (plain, patched) = (
        build("plain", Source::Plain)?,
        build("patched", Source::Patched)?,
    );
    let data = |name: &str| folder.join(name);
    let mut nets = [Samples::default(), Samples::default()];
    let mut before = None;
    for round in 0..TIMED_ROUNDS {
        let timed_run = plain.time_paths(&data(&format!("before{round}")))?;
        nets[0].push(timed_run.net()?);
        nets[1].push(patched.time_paths(&data(&format!("after{round}")))?.net()?);
        before.get_or_insert(timed_run);
    }
    let before = before.context("there is a round")?;
    plain.record(&data("other"), &OTHER_FORMULA)?;
    beside_noise(|| plain.record(&data("loaded"), &[]))?;
    let mut stability = holloway_command(["stability"]);
    let stability = run_ok(stability.args(["before0", "other", "loaded"].map(data)))?.text();
    let mut times = [Samples::default(), Samples::default()];
    for round in 0..ROUNDS {
        let mut order = [(0, &plain), (1, &patched)];
        if round % 2 == 1 {
            order.reverse();
        }
        for (index, program) in order {
            times[index].push(seconds(&program.native)?);
        }
    }
    let page = page(&before, &nets, &times, &stability)?;
    let file = root().join("docs/studies/variation.md");
    std::fs::create_dir_all(file.parent().context("a file lies in a folder")?)?;
    std::fs::write(&file, &page).with_context(|| format!("cannot write {}", file.display()))?;
    println!("{page}\nwritten to docs/studies/variation.md");
    Ok(())
}

/// The source of a program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// As published.
    Plain,
    /// With the study's patch.
    Patched,
}

impl Program {
    fn build(scratch: &Path, source: Source) -> Result<Self> {
        let folder = MINISAT.prepare(scratch)?;
        // The driver with the large formula replaces the suite's driver.
        std::fs::rename(folder.join("large.cc"), folder.join("driver.cc"))?;
        if source == Source::Patched {
            let file = folder.join(FILE);
            let text = std::fs::read_to_string(&file)?;
            ensure!(
                text.matches(BEFORE).count() == 1,
                "{FILE} is not what the patch was made for"
            );
            std::fs::write(&file, text.replace(BEFORE, AFTER))?;
        }
        Ok(Self {
            native: MINISAT.build(&folder, Flavor::Native)?,
            woven: MINISAT.build(&folder, Flavor::Variation)?,
        })
    }

    /// Runs the woven program on the formula with these arguments, or on the default formula. The
    /// output must equal the native program's output.
    fn record(&self, data: &Path, formula: &[&str]) -> Result<()> {
        let native = run_ok(Command::new(&self.native).args(formula))?;
        let mut record = holloway_command(["run", "--no-report", "--burst", BURST, "-o"]);
        record.arg(data).arg("--").arg(&self.woven).args(formula);
        let woven = run_ok(&mut record)?;
        ensure!(woven.stdout == native.stdout, "other output when woven");
        Ok(())
    }

    /// Runs the woven program and reads its report.
    fn time_paths(&self, data: &Path) -> Result<TimedRun> {
        self.record(data, &[])?;
        let report = |words: &[&str]| {
            let mut command = holloway_command(["report", "--view", "variation"]);
            run_ok(command.args(words).arg(data)).map(|output| output.text())
        };
        Ok(TimedRun {
            json: serde_json::from_str(&report(&["--format", "json"])?)?,
            text: report(&["--top", "6", "--function", "propagate"])?,
        })
    }
}

/// Returns the processor time of a run, user and system, in seconds.
fn seconds(program: &Path) -> Result<f64> {
    let mut command = Command::new(program);
    let child = command.stdout(Stdio::null()).spawn()?;
    let end = child.wait4()?;
    ensure!(
        end.status.success(),
        "{}: {}",
        program.display(),
        end.status
    );
    Ok((end.rusage.utime + end.rusage.stime).as_secs_f64())
}

impl TimedRun {
    /// The paths of the ranking.
    fn paths(&self) -> Result<&Vec<Value>> {
        self.json["variation"].as_array().context("no ranking")
    }

    /// Net variation of the function that the rule is applied to, in seconds.
    fn net(&self) -> Result<f64> {
        let paths = self.paths()?.iter();
        let paths = paths.filter(|path| is_patched_function(path));
        Ok(paths
            .filter_map(|path| path["seconds"]["net"].as_f64())
            .sum())
    }

    /// The table of the report on the terminal, without the folder names of this run.
    fn shown(&self) -> String {
        let lines = self.text.lines();
        let table = lines.skip_while(|line| !line.starts_with("Variation"));
        let table: Vec<&str> = table.take_while(|line| !line.is_empty()).collect();
        table.join("\n")
    }
}

fn is_patched_function(path: &Value) -> bool {
    let name = path["function"].as_str().unwrap_or_default();
    name.starts_with(FUNCTION)
}

/// Certain net variation by function, as shares of the run, largest first.
fn by_function(timed_run: &TimedRun) -> Result<Vec<(String, f64)>> {
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    let certain = |path: &&Value| path["certain"] == true;
    for path in timed_run.paths()?.iter().filter(certain) {
        let name = path["function"].as_str().context("no function")?;
        let name = name.split('(').next().unwrap_or(name);
        *sums.entry(name.to_owned()).or_default() += path["share"].as_f64().unwrap_or(0.0);
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by(|a, b| b.1.total_cmp(&a.1));
    Ok(sums)
}

/// The report's advice for the function's paths, without duplicates.
fn advice(timed_run: &TimedRun) -> Result<Vec<String>> {
    let mut lines: Vec<String> = Vec::new();
    for path in timed_run
        .paths()?
        .iter()
        .filter(|path| is_patched_function(path))
    {
        for advice in path["advice"].as_array().into_iter().flatten() {
            let text = |name: &str| advice[name].as_str().unwrap_or_default();
            let place = text("insert_at").rsplit('/').next().unwrap_or_default();
            let line = format!("`{place}`: {}", text("insert"));
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    Ok(lines)
}

/// Formats the page.
fn page(
    before: &TimedRun,
    nets: &[Samples; 2],
    times: &[Samples; 2],
    stability: &str,
) -> Result<String> {
    let functions = by_function(before)?;
    let rank = functions.iter().position(|(name, _)| name == FUNCTION);
    let rank = rank.context("nothing of propagate was timed")?;
    let [plain, patched] = times;
    let ratio = patched.over(plain);
    let [net, net_after] = nets;
    let remaining = net_after.over(net);
    let mut page = String::from(HEAD);
    writeln!(page, "Measured on: {}.\n", machine::description())?;
    writeln!(
        page,
        "## Which paths are slow sometimes\n\n\
         The table shows the net variation of the original program by function, from `holloway run --burst\n\
         {BURST}`. *Net variation* is the time of a path's executions above its base time, all together. Times\n\
         include callees, so the variation of a caller includes that of its callees.\n\n\
         | function | net variation, share of the run |\n|---|---|"
    )?;
    for (name, share) in functions.iter().take(FUNCTIONS.max(rank + 1)) {
        writeln!(page, "| `{name}` | {:.1} % |", share * 100.0)?;
    }
    writeln!(
        page,
        "\nThe paths of `propagate`, with their ranks among all paths, by `holloway report`:\n\n```text\n{}\n```\n",
        before.shown()
    )?;
    let advice = advice(before)?;
    if !advice.is_empty() {
        writeln!(page, "The report's advice for these paths:\n")?;
        for line in advice.iter().take(ADVICE) {
            writeln!(page, "- {line}")?;
        }
        writeln!(page)?;
    }
    let is_advised = advice.iter().any(|line| line.contains(ADVISED));
    let advised = if is_advised { ABOUT_ADVICE } else { "" };
    writeln!(
        page,
        "{RULE}{advised}\n\
         - the watchers themselves, for the next fact.\n\n\
         The patch, in `{FILE}`:\n\n```cpp\n{AFTER} = …\n```\n\n\
         The inner loop visits the watchers of one fact. It is short. A prefetch of its clauses did not help\n\
         (*tried once*).\n"
    )?;
    writeln!(
        page,
        "## The result\n\n\
         | | original | patched | |\n|---|---|---|---|\n\
         | processor seconds of the whole run, median of {ROUNDS} | {:.3} | {:.3} | **{:+.1} %** (ratio by round, ± {:.1} %) |\n\
         | the shortest | {:.3} | {:.3} | {:+.1} % |\n\
         | net variation of `propagate`, seconds, median of {TIMED_ROUNDS} timed runs | {:.3} | {:.3} | {:.0} % of it is gone (ratio by round, ± {:.0} %) |\n",
        plain.median(),
        patched.median(),
        (ratio.median() - 1.0) * 100.0,
        ratio.spread() * 100.0,
        plain.least(),
        patched.least(),
        (patched.least() / plain.least() - 1.0) * 100.0,
        net.median(),
        net_after.median(),
        (1.0 - remaining.median()) * 100.0,
        remaining.spread() * 100.0
    )?;
    writeln!(
        page,
        "{PAPER}\
         - A: the run above.\n\
         - B: another formula, with {} variables and {} clauses.\n\
         - C: the formula of A, while another thread on each core uses every other millisecond.\n\n\
         ```text\n{}\n```",
        OTHER_FORMULA[0],
        OTHER_FORMULA[1],
        stability.trim_end()
    )?;
    Ok(page)
}

/// The text before the tables.
const HEAD: &str = "\
# Case study: prefetching for a path that is slow only sometimes

Written by `cargo xtask study variation`.

[MiniSat](https://crates.io/crates/minisat) decides whether a formula can be satisfied. It was not
written for this study: its source is the C++ source in that crate. Here it decides a random formula
of 200,000 variables and 600,000 clauses. The formula has many solutions, so the search reads more
memory than it backtracks.

The study compares two builds with `clang++ -O2`: the original program, and a patched program with
four additional lines. Both print the same output.

";

/// The paper's rule, and the first of the two prefetches of the patch.
const RULE: &str = "\
## The patch

The paper has a rule. For each load on the path, prefetch the data that the next iteration of the
loop loads, or the iteration after it. An `if` around the prefetch keeps it in bounds.

In `propagate`, each iteration of the outer loop takes the next fact from an array, the *trail*.
Then it loads the *watchers* of this fact, which may be anywhere in memory. The load goes through
two pointers, so the patch has two prefetches:

- the place where the pointer to the watchers is stored, for the fact after the next one.";

/// Part of the advice for this prefetch.
const ADVISED: &str = "&b[a[i + 2]]";
/// The text about this advice, if the report gives it.
const ABOUT_ADVICE: &str = " The report
  advises this prefetch. Its `i + 2` is `qhead + 1` here, because the program has already
  incremented `qhead`.";

/// The paper's results, and its question.
const PAPER: &str = "\
In the paper, on programs of 2005, the patched programs were 8.5 % faster on average (2 to 19 %),
and 41 % of the net variation of the patched paths was gone.

## Do the same paths vary in other runs?

The paper asks whether the paths that vary most in one run also vary most in others. `holloway
stability` compares three runs of the original program:

";
