//! `cargo xtask study old-plans`: how long a plan lasts while its program changes.
//!
//! A driver (tests/workloads/old-plans) is built with 20 successive versions of pulldown-cmark.
//! Each version is optimized by its own plan, and by the plan of the oldest version, which is
//! matched to it. For comparison, the old plan is also cut to the functions with equal names and
//! graphs.
//!
//! Cargo fetches the versions from crates.io. The generated manifests name the exact version of
//! each crate, so each run of the study builds the same sources.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use holloway_tests::files::copy_tree;
use holloway_tests::program::find_executable;
use holloway_tests::tool::{clean, holloway_command, run_ok, scratch, tests_directory};
use holloway_tests::workload::{Flavor, MARKDOWN, Scale, rust_build_command};

use crate::bench::{count_instructions, restart_with};
use crate::machine;
use crate::workspace::{BuildProfile, build_holloway, root};

/// The published versions, oldest first. Yanked versions are left out.
const VERSIONS: [&str; 20] = [
    "0.9.1", "0.9.2", "0.9.3", "0.9.6", "0.10.0", "0.10.2", "0.10.3", "0.11.0", "0.11.2", "0.11.3",
    "0.12.0", "0.12.1", "0.12.2", "0.13.0", "0.13.1", "0.13.2", "0.13.3", "0.13.4", "0.13.5",
    "0.13.6",
];

/// The text before the table.
const HEAD: &str = "\
# Plans of old versions

Written by `cargo xtask study old-plans`: how much a plan gains after its program has changed
([how plans are matched](../optimize.md#old-plans)). A program makes HTML of a text with
[pulldown-cmark](https://crates.io/crates/pulldown-cmark), in 20 successive versions. The plan of the
first version is used for all of them.

- *plain*: instructions of the program, counted by callgrind.
- *own*: the instructions that the version's own plan saves.
- *old*: the instructions that the plan of the first version saves.
- *exact*: the same without matching: only functions with equal names and graphs get counts, and
  none has late counts.
- *kept*: *old* over *own*. Above 100 %, the old plan saves more than the version's own plan.

Higher is better, except for *plain*.

Each plan was trained on another text than the instructions are counted with. Selects and prefetches
are left out, because instructions do not show what they gain.

";

/// The options of `cargo xtask study old-plans`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Build only the first N versions, and do not write the page
    #[arg(long, value_name = "N")]
    first: Option<usize>,
}

/// The figures of a version.
struct Figures {
    version: &'static str,
    plain: u64,
    own: u64,
    old: u64,
    exact: u64,
    /// What of the old plan was matched, in words.
    matched: String,
}

/// Runs the study, prints it, and writes the page.
///
/// # Errors
/// If a version cannot be fetched, a build or a run fails, or an optimized program prints something
/// else.
pub(crate) fn run(options: &Options) -> Result<()> {
    if std::env::var_os("HOLLOWAY_EXE").is_none() {
        return Err(restart_with(&build_holloway(BuildProfile::Release)?));
    }
    let scratch = scratch("study-old-plans")?;
    let folder = scratch.path();
    let texts = [("train", Scale::Train), ("input", Scale::Small)];
    for (name, scale) in texts {
        MARKDOWN.write_input(&folder.join(name), scale)?;
    }
    let mut figures = Vec::new();
    for version in VERSIONS
        .iter()
        .take(options.first.unwrap_or(VERSIONS.len()))
    {
        figures.push(measure(folder, version).with_context(|| (*version).to_owned())?);
        println!("{}", row(figures.last().expect("a version")));
    }
    let table = table(&figures);
    println!("{table}");
    if options.first.is_none() {
        let page = root().join("docs/studies/old-plans.md");
        let machine = machine::description();
        std::fs::write(&page, format!("{HEAD}{table}\nMeasured on: {machine}.\n"))
            .with_context(|| format!("cannot write {}", page.display()))?;
        println!("written to docs/studies/old-plans.md");
    }
    Ok(())
}

/// The plan of a version, in the study's folder.
fn plan_of(folder: &Path, version: &str) -> PathBuf {
    folder.join(format!("{version}.plan"))
}

fn measure(folder: &Path, version: &'static str) -> Result<Figures> {
    let build_folder = folder.join(version);
    let plain = build(&build_folder, version)?;
    let plan = plan_of(folder, version);
    let mut train = holloway_command(["plan", "train", "-o"]);
    train.arg(&plan).arg(&plain).args(["--", "text.md"]);
    run_ok(train.current_dir(folder.join("train")))?;
    let text = without_selects_and_prefetches(&std::fs::read_to_string(&plan)?);
    std::fs::write(&plan, &text)?;

    let oldest = plan_of(folder, VERSIONS[0]);
    let exact = build_folder.join("exact.plan");
    let same = exact_functions(&std::fs::read_to_string(&oldest)?, &text);
    std::fs::write(&exact, &same)?;
    let (own, _) = apply(&plain, &plan, &build_folder.join("own"))?;
    let (old, matched) = apply(&plain, &oldest, &build_folder.join("old"))?;
    // A plan without functions of the program is refused.
    let exact = match same.contains("\nfunction ") {
        true => apply(&plain, &exact, &build_folder.join("exact"))?.0,
        false => plain.clone(),
    };
    let input = folder.join("input");
    let expected = MARKDOWN.run(&plain, &input, Scale::Small, None)?;
    let count = |label: &str, program: &Path| -> Result<u64> {
        let outputs = MARKDOWN.run(program, &input, Scale::Small, None)?;
        let mut pairs = outputs.iter().zip(&expected);
        let is_same = pairs.all(|(one, other)| one.stdout == other.stdout);
        ensure!(is_same, "{label} prints something else");
        let costs = count_instructions(&MARKDOWN, program, &input, label, &[], &build_folder)?;
        Ok(costs.iter().map(|cost| cost.instructions).sum())
    };
    Ok(Figures {
        version,
        plain: count("plain", &plain)?,
        own: count("own", &own)?,
        old: count("old", &old)?,
        exact: count("exact", &exact)?,
        matched,
    })
}

/// Builds the driver with a version of the crate, so that it carries its bitcode.
fn build(folder: &Path, version: &str) -> Result<PathBuf> {
    copy_tree(
        &tests_directory().join("workloads/old-plans"),
        &folder.join("src"),
    )?;
    std::fs::write(folder.join("Cargo.toml"), manifest(version))?;
    let mut lock = Command::new("cargo");
    clean(&mut lock);
    run_ok(lock.current_dir(folder).arg("generate-lockfile"))?;
    let target = folder.join("target");
    run_ok(&mut rust_build_command(folder, Flavor::Embedded, &target))?;
    find_executable(&target, "old-plans")
}

/// The manifest of the driver. It names all crates that the version depends on.
fn manifest(version: &str) -> String {
    let mut numbers = version.split('.').skip(1).map(str::parse::<u32>);
    let minor = numbers.next().and_then(Result::ok).unwrap_or_default();
    let (features, escape) = match minor {
        ..=9 => ("", ""),
        10 => ("\"html\"", "pulldown-cmark-escape = \"=0.10.1\"\n"),
        11.. => ("\"html\"", "pulldown-cmark-escape = \"=0.11.0\"\n"),
    };
    let bitflags = match version {
        "0.9.1" | "0.9.2" | "0.9.3" => "1.3.2",
        _ => "2.13.2",
    };
    format!(
        "[package]\nname = \"old-plans\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\nbitflags = \"={bitflags}\"\nmemchr = \"=2.8.3\"\nunicase = \"=2.10.0\"\n{escape}\
         pulldown-cmark = {{ version = \"={version}\", default-features = false, features = [{features}] }}\n\n\
         [workspace]\n"
    )
}

/// Optimizes a program by a plan. Returns the optimized program, and what of the plan was matched.
fn apply(program: &Path, plan: &Path, output: &Path) -> Result<(PathBuf, String)> {
    let mut apply = holloway_command(["plan", "apply", "-o"]);
    apply.arg(output).arg("--plan").arg(plan).arg(program);
    let lines = run_ok(&mut apply)?.stderr;
    let mut words = lines.lines().map(str::trim);
    let matched = words.find_map(|line| line.strip_prefix("Matched "));
    let (_, matched) = matched
        .and_then(|line| line.split_once(": "))
        .context(lines.clone())?;
    Ok((output.to_owned(), matched.to_owned()))
}

/// A plan without its selects and prefetches.
fn without_selects_and_prefetches(plan: &str) -> String {
    let counts = plan.split("\nprefetches\n").next().unwrap_or_default();
    let lines = counts
        .lines()
        .filter(|line| !line.starts_with("unpredictable ") && *line != "end");
    lines
        .chain(["end"])
        .map(|line| format!("{line}\n"))
        .collect()
}

/// The functions of `plan` with early counts whose names and graphs are those of functions of
/// `own`.
fn exact_functions(plan: &str, own: &str) -> String {
    let key = |line: &str| -> Option<(String, String)> {
        let mut words = line.strip_prefix("function ")?.splitn(4, ' ');
        let hash = words.next()?.to_owned();
        Some((hash, words.nth(2)?.to_owned()))
    };
    let early = |plan: &str| plan.split("\nlate\n").next().unwrap_or_default().to_owned();
    let known: HashSet<_> = early(own).lines().filter_map(key).collect();
    let mut is_known = true;
    let mut exact = String::new();
    for line in early(plan).lines().filter(|line| *line != "end") {
        is_known = key(line).map_or(is_known, |key| known.contains(&key));
        if is_known {
            exact += &format!("{line}\n");
        }
    }
    exact + "end\n"
}

impl Figures {
    /// The share of the own plan's gain that the old plan keeps, in percent.
    fn kept(&self) -> f64 {
        100.0 * saved(self.plain, self.old) / saved(self.plain, self.own)
    }
}

fn saved(plain: u64, other: u64) -> f64 {
    100.0 * (1.0 - other as f64 / plain as f64)
}

fn row(figures: &Figures) -> String {
    let [own, old, exact] =
        [figures.own, figures.old, figures.exact].map(|count| saved(figures.plain, count));
    format!(
        "| {} | {:.1} M | {own:.2} % | {old:.2} % | {exact:.2} % | {:.0} % | {} |",
        figures.version,
        figures.plain as f64 / 1e6,
        figures.kept(),
        figures.matched
    )
}

fn table(figures: &[Figures]) -> String {
    let mut table = String::from(
        "| version | plain | own | old | exact | kept | functions of the old plan |\n\
         |---|--:|--:|--:|--:|--:|---|\n",
    );
    for figures in figures {
        table += &format!("{}\n", row(figures));
    }
    let later = figures.iter().skip(1);
    let mut kept: Vec<f64> = later.map(Figures::kept).collect();
    kept.sort_by(f64::total_cmp);
    // The mean would hide how little most versions keep: a few keep more than everything.
    if let (Some(least), Some(most)) = (kept.first(), kept.last()) {
        let median = kept[kept.len() / 2];
        table += &format!(
            "\nThe old plan keeps {median:.0} % of the gain in the median of the later versions, and \
             between {least:.0} % and {most:.0} %.\n"
        );
    }
    table
}
