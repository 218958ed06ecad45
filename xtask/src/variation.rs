//! `cargo xtask study variation`: the paper's use of variational path profiling (Perelman,
//! Chilimbi, Calder 2005, section 5.4) on one real program.
//!
//! MiniSat, of which nothing was written for this, decides a formula larger than the caches.
//! `--collect variation` says which paths are slow at times; the paper's rule (prefetch what the
//! next turn of the loop loads, under an `if` that keeps it in bounds) is applied by hand to one of
//! them; both programs are timed in turn. The program as it is also runs on another formula and
//! beside others, for the paper's question whether the same paths vary there (`holloway
//! stability`). docs/studies/variation.md is written from what came out.

use crate::bench::{Samples, Shelf};
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

/// The function that the rule is applied to, and the rule: each turn of its outer loop takes the
/// next fact off the trail and walks the watchers of it; those of the fact behind it are asked for
/// meanwhile, and where those of the one behind that are told to lie.
const FUNCTION: &str = "Minisat::Solver::propagate";
const BEFORE: &str = "        num_props++;\n\n        for (i = j";
const AFTER: &str = "        num_props++;\n        if (qhead < trail.size())\n            __builtin_prefetch((Watcher*)watches[trail[qhead]]);\n        \
                     if (qhead + 1 < trail.size())\n            __builtin_prefetch(&watches[trail[qhead + 1]]);\n\n        for (i = j";
/// Where that stands in the sources.
const FILE: &str = "minisat/core/Solver.cc";

/// How often paths are timed: the run is short, so ten times as often as usual.
const BURST: &str = "1000:1";
/// Rounds in which both programs are timed.
const ROUNDS: usize = 9;
/// Rounds in which paths of both are timed.
const TIMED_ROUNDS: usize = 5;
/// Functions and pieces of advice that are shown.
const FUNCTIONS: usize = 6;
const ADVICE: usize = 4;
/// Variables, clauses and seed of another formula.
const OTHER: [&str; 3] = ["300000", "900000", "7"];

/// The program, as it is or with the prefetch.
struct Program {
    native: PathBuf,
    woven: PathBuf,
}

/// What a timed run of it says.
struct Seen {
    json: Value,
    text: String,
}

/// Runs the study, prints it, and writes the page.
///
/// # Errors
/// A build or a run fails, the programs don't print the same, or the function isn't timed.
pub(crate) fn run() -> Result<()> {
    Shelf::open()?;
    // A folder of its own name: it is part of the places that are shown.
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
        let seen = plain.see(&data(&format!("before{round}")))?;
        nets[0].push(seen.net()?);
        nets[1].push(patched.see(&data(&format!("after{round}")))?.net()?);
        before.get_or_insert(seen);
    }
    let before = before.context("there is a round")?;
    plain.record(&data("other"), &OTHER)?;
    beside_noise(|| plain.record(&data("loaded"), &[]))?;
    let mut stability = holloway_command(["stability"]);
    let stability = run_ok(stability.args(["before0", "other", "loaded"].map(data)))?.text();
    let mut times = [Samples::default(), Samples::default()];
    for round in 0..ROUNDS {
        let mut order = [(0, &plain), (1, &patched)];
        if round % 2 == 1 {
            order.reverse();
        }
        for (place, program) in order {
            times[place].push(seconds(&program.native)?);
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
        // The large formula, in place of the suite's.
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

    /// Runs it woven, on the formula of these words or the usual; what it prints must be what it
    /// prints as it is.
    fn record(&self, data: &Path, formula: &[&str]) -> Result<()> {
        let wanted = run_ok(Command::new(&self.native).args(formula))?;
        let mut record = holloway_command(["run", "--no-report", "--burst", BURST, "-o"]);
        record.arg(data).arg("--").arg(&self.woven).args(formula);
        let found = run_ok(&mut record)?;
        ensure!(found.stdout == wanted.stdout, "other output when woven");
        Ok(())
    }

    /// Runs it woven, and asks for its times.
    fn see(&self, data: &Path) -> Result<Seen> {
        self.record(data, &[])?;
        let report = |words: &[&str]| {
            let mut command = holloway_command(["report", "--view", "variation"]);
            run_ok(command.args(words).arg(data)).map(|output| output.text())
        };
        Ok(Seen {
            json: serde_json::from_str(&report(&["--format", "json"])?)?,
            text: report(&["--top", "6", "--function", "propagate"])?,
        })
    }
}

/// Processor time of a run, user and system.
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

impl Seen {
    /// The paths of the ranking.
    fn paths(&self) -> Result<&Vec<Value>> {
        self.json["variation"].as_array().context("no ranking")
    }

    /// Net variation of the function that the rule is applied to, in seconds.
    fn net(&self) -> Result<f64> {
        let own = self.paths()?.iter().filter(|path| is_own(path));
        Ok(own.filter_map(|path| path["seconds"]["net"].as_f64()).sum())
    }

    /// The table of the terminal's report, without the folders of this run.
    fn shown(&self) -> String {
        let lines = self.text.lines();
        let table = lines.skip_while(|line| !line.starts_with("Variation"));
        let table: Vec<&str> = table.take_while(|line| !line.is_empty()).collect();
        table.join("\n")
    }
}

fn is_own(path: &Value) -> bool {
    let name = path["function"].as_str().unwrap_or_default();
    name.starts_with(FUNCTION)
}

/// Net variation by function, where it is certain, as shares of the run, largest first.
fn by_function(seen: &Seen) -> Result<Vec<(String, f64)>> {
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    let certain = |path: &&Value| path["certain"] == true;
    for path in seen.paths()?.iter().filter(certain) {
        let name = path["function"].as_str().context("no function")?;
        let name = name.split('(').next().unwrap_or(name);
        *sums.entry(name.to_owned()).or_default() += path["share"].as_f64().unwrap_or(0.0);
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by(|a, b| b.1.total_cmp(&a.1));
    Ok(sums)
}

/// What the report advises for the function's paths, each once.
fn advice(seen: &Seen) -> Result<Vec<String>> {
    let mut all: Vec<String> = Vec::new();
    for path in seen.paths()?.iter().filter(|path| is_own(path)) {
        for one in path["advice"].as_array().into_iter().flatten() {
            let text = |name: &str| one[name].as_str().unwrap_or_default();
            let place = text("insert_at").rsplit('/').next().unwrap_or_default();
            let line = format!("`{place}`: {}", text("insert"));
            if !all.contains(&line) {
                all.push(line);
            }
        }
    }
    Ok(all)
}

/// The page.
fn page(
    before: &Seen,
    nets: &[Samples; 2],
    times: &[Samples; 2],
    stability: &str,
) -> Result<String> {
    let functions = by_function(before)?;
    let place = functions.iter().position(|one| one.0 == FUNCTION);
    let place = place.context("nothing of propagate was timed")?;
    let [plain, patched] = times;
    let ratio = patched.over(plain);
    let [net, net_after] = nets;
    let left = net_after.over(net);
    let mut page = String::from(HEAD);
    writeln!(page, "Measured on: {}.\n", machine::description())?;
    writeln!(
        page,
        "## What is slow at times\n\n`holloway run --burst {BURST}` on the program as it is: paths whose times vary, by function (times are with what paths call, so a caller's \
         variation holds its callees').\n\n| function | net variation, share of the run |\n|---|---|"
    )?;
    for (name, share) in functions.iter().take(FUNCTIONS.max(place + 1)) {
        writeln!(page, "| `{name}` | {:.1} % |", share * 100.0)?;
    }
    writeln!(
        page,
        "\nPaths of `propagate` among all, by `holloway report`:\n\n```text\n{}\n```\n",
        before.shown()
    )?;
    let advice = advice(before)?;
    if !advice.is_empty() {
        writeln!(page, "What the report advises for them:\n")?;
        for line in advice.iter().take(ADVICE) {
            writeln!(page, "- {line}")?;
        }
        writeln!(page)?;
    }
    writeln!(
        page,
        "## What the rule gives\n\nThe paper's rule is to prefetch, for every load on the path, what the next turn of the loop loads, or the one after, under an `if` that keeps it in \
         bounds. A turn of the outer loop takes a fact off the trail, an array that it walks, and loads the watchers of that fact: they may be anywhere. That is what the advice says of the \
         lines where the watchers are looked up (its `i + 2` is `qhead + 1` here, as `qhead` has gone on by then). What is found there leads to the watchers themselves, so those of the fact \
         before it are asked for as well (`{FILE}`). The inner loop, over one fact's watchers, is short: the same for its clauses gave nothing (tried once: 2 % slower).\n\n```cpp\n{AFTER} = …\n```\n"
    )?;
    writeln!(
        page,
        "| | as it is | with the prefetch | |\n|---|---|---|---|\n| processor seconds of the whole run, median of {ROUNDS} | {:.3} | {:.3} | **{:+.1} %** (ratio by round, ± {:.1} %) |\n\
         | the least | {:.3} | {:.3} | {:+.1} % |\n| net variation of `propagate`, seconds, median of {TIMED_ROUNDS} timed runs | {:.3} | {:.3} | {:.0} % of it is gone (ratio by round, ± {:.0} %) |\n",
        plain.median(),
        patched.median(),
        (ratio.median() - 1.0) * 100.0,
        ratio.spread() * 100.0,
        plain.least(),
        patched.least(),
        (patched.least() / plain.least() - 1.0) * 100.0,
        net.median(),
        net_after.median(),
        (1.0 - left.median()) * 100.0,
        left.spread() * 100.0
    )?;
    page.push_str("The paper's figures, on its programs of 2005: 8.5 % faster on average (2 to 19 %), 41 % of those paths' variation gone.\n");
    writeln!(
        page,
        "\n## Another formula, other load\n\nThe same program, as it is, on a formula of {} variables and {} clauses of another seed (B), and on the first one while threads on every core take time in every other \
         millisecond (C): the paper's question whether the paths that vary most in one run do so in others, by `holloway stability`.\n\n```text\n{}\n```",
        OTHER[0],
        OTHER[1],
        stability.trim_end()
    )?;
    Ok(page)
}

const HEAD: &str = "\
# A path that is slow at times, and a prefetch

Written by `cargo xtask study variation`.

[MiniSat](https://crates.io/crates/minisat) (the crate's C++ sources, not written for this) decides a random formula of 200,000 variables and 600,000 clauses, which has
many answers: the search walks through memory more than it backtracks. Built with `clang++ -O2`, once as it is and once with four lines more; both print the same.

";
