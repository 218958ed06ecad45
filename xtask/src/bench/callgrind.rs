//! Counts instructions instead of time: programs run with small inputs under valgrind's callgrind.
//! The counts are the same on every run, even on a busy machine. They ignore caches and parallel
//! execution within a processor, so they are useful for tuning, but not as benchmark results.

use super::options::Options;
use super::programs::KeptBuilds;
use super::samples::geometric_mean;
use anyhow::{Context, Result};
use holloway_tests::tool::{run_ok, scratch};
use holloway_tests::workload::{Flavor, Scale, Workload};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The instruction counts of a program.
#[derive(Debug)]
pub(crate) struct Counts {
    /// The program.
    pub(crate) workload: &'static Workload,
    /// Instructions by flavor, native first.
    pub(crate) instructions: Vec<(Flavor, u64)>,
}

/// Counts instructions and prints a table.
///
/// # Errors
/// If valgrind is missing, or if a run fails.
pub(crate) fn run(
    kept_builds: &KeptBuilds,
    workloads: &[&'static Workload],
    options: &Options,
) -> Result<Vec<Counts>> {
    let mut all_counts = Vec::new();
    let flavors = options.flavors();
    let names: Vec<&str> = flavors.iter().map(|f| f.name()).collect();
    println!(
        "instructions, and over native\n{:<18} {:>14}",
        "program",
        names.join("  ")
    );
    let mut ratios = vec![Vec::new(); flavors.len()];
    for workload in workloads {
        let counts = flavors
            .iter()
            .map(|f| instructions(kept_builds, workload, *f))
            .collect::<Result<Vec<_>>>()?;
        let mut line = format!("{:<18} {:>12.3} M", workload.name, counts[0] as f64 / 1e6);
        for (i, count) in counts.iter().enumerate().skip(1) {
            let ratio = *count as f64 / counts[0] as f64;
            ratios[i].push(ratio);
            line += &format!("  {} {ratio:.4}", flavors[i].name());
        }
        println!("{line}");
        all_counts.push(Counts {
            workload,
            instructions: flavors.iter().copied().zip(counts).collect(),
        });
    }
    for (flavor, ratios) in flavors.iter().zip(ratios).skip(1) {
        println!(
            "geometric mean, {}: {:.4}",
            flavor.name(),
            geometric_mean(ratios)
        );
    }
    Ok(all_counts)
}

/// Counts the instructions of one run with the small input.
fn instructions(kept_builds: &KeptBuilds, workload: &Workload, flavor: Flavor) -> Result<u64> {
    let scratch = scratch("bench-callgrind")?;
    let commands = record(kept_builds, workload, flavor, scratch.path())?;
    Ok(commands.iter().map(|command| command.instructions).sum())
}

/// What callgrind found out about a command of a run.
#[derive(Debug)]
pub(crate) struct CommandCost {
    /// The instructions that the command executed.
    pub(crate) instructions: u64,
    /// The file in callgrind's format. It has the demangled names of functions.
    pub(crate) file: PathBuf,
}

/// The options of callgrind for [`Branches::read`].
pub(crate) const BRANCH_OPTIONS: [&str; 3] = [
    "--collect-jumps=yes",
    "--dump-instr=yes",
    "--compress-pos=no",
];

/// The branches within functions that a program executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Branches {
    /// Jumps, and conditional branches that were taken.
    pub(crate) taken: u64,
    /// Executions of conditional branches that a static predictor gets wrong. It predicts that
    /// branches backward are taken, and others are not (Burger, Dybvig 1998, section 3).
    pub(crate) mispredicted: u64,
}

impl Branches {
    /// Reads the branches from a file of callgrind, made with [`BRANCH_OPTIONS`].
    ///
    /// # Errors
    /// If the file cannot be read, or has another form.
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(file)?;
        let branches = Self::parse(&text);
        branches.with_context(|| format!("{}: unknown form of a jump", file.display()))
    }

    /// A line `jump=EXECUTIONS TARGET …` or `jcnd=TAKEN/EXECUTIONS TARGET …` stands before the line
    /// that begins with the address of the jump.
    fn parse(text: &str) -> Option<Self> {
        let mut branches = Self::default();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(jump) = line.strip_prefix("jump=") {
                branches.taken += jump.split(' ').next()?.parse::<u64>().ok()?;
            } else if let Some(condition) = line.strip_prefix("jcnd=") {
                let mut words = condition.split(' ');
                let (taken, executed) = words.next()?.split_once('/')?;
                let (taken, executed): (u64, u64) = (taken.parse().ok()?, executed.parse().ok()?);
                let target = address(words.next()?)?;
                let is_backward = target <= address(lines.next()?.split(' ').next()?)?;
                branches.taken += taken;
                branches.mispredicted += match is_backward {
                    true => executed.checked_sub(taken)?,
                    false => taken,
                };
            }
        }
        Some(branches)
    }
}

fn address(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}

/// Runs the commands of one run with the small input under callgrind. A woven program stores its
/// profile below `folder`/data.
///
/// # Errors
/// If valgrind is missing, or if a command fails.
pub(crate) fn record(
    kept_builds: &KeptBuilds,
    workload: &Workload,
    flavor: Flavor,
    folder: &Path,
) -> Result<Vec<CommandCost>> {
    let input = kept_builds.input(workload, Scale::Small)?;
    let executable = kept_builds.executable(workload.source, flavor);
    count(workload, &executable, &input, flavor.name(), &[], folder)
}

/// Runs the commands of one run of an executable with its small input under callgrind. The files of
/// callgrind are beside the executable and have `label` in their names. `options` are further
/// options of callgrind.
///
/// # Errors
/// If valgrind is missing, or if a command fails.
pub(crate) fn count(
    workload: &Workload,
    executable: &Path,
    input: &Path,
    label: &str,
    options: &[&str],
    folder: &Path,
) -> Result<Vec<CommandCost>> {
    count_at(
        Scale::Small,
        workload,
        executable,
        input,
        label,
        options,
        folder,
    )
}

/// The same with the input of a scale.
///
/// # Errors
/// If valgrind is missing, or if a command fails.
pub(crate) fn count_at(
    scale: Scale,
    workload: &Workload,
    executable: &Path,
    input: &Path,
    label: &str,
    options: &[&str],
    folder: &Path,
) -> Result<Vec<CommandCost>> {
    let stripped = without_lines(executable, folder)?;
    let mut costs = Vec::new();
    for (i, program) in workload
        .commands(&stripped, input, scale)
        .iter()
        .enumerate()
    {
        let file = executable.with_file_name(format!("{}-{label}-{i}.callgrind", workload.name));
        costs.push(count_command(program, options, file, folder)?);
    }
    Ok(costs)
}

/// Runs a command under callgrind, which writes `file`. The program must have no debug information.
///
/// # Errors
/// If valgrind is missing, or if the command fails.
pub(crate) fn count_command(
    program: &Command,
    options: &[&str],
    file: PathBuf,
    folder: &Path,
) -> Result<CommandCost> {
    let mut command = under_valgrind(program, options, &file);
    command.env("HOLLOWAY_DATA", folder.join("data"));
    command.env("LLVM_PROFILE_FILE", folder.join("peer.profraw"));
    let printed = run_ok(&mut command)
        .context("valgrind counts the instructions: `apt-get install valgrind`")?
        .stderr;
    let instructions = collected_instructions(&printed)
        .with_context(|| format!("callgrind says nothing of instructions:\n{printed}"))?;
    Ok(CommandCost { instructions, file })
}

/// The instructions in callgrind's summary. They are the first of the collected events; there are
/// others if caches are simulated.
fn collected_instructions(printed: &str) -> Option<u64> {
    let mut lines = printed.lines();
    lines.find_map(|line| {
        let (_, events) = line.split_once("Collected : ")?;
        events.split_whitespace().next()?.parse().ok()
    })
}

/// Copies a program without its debug information, because older versions of valgrind crash on
/// clang's DWARF 5. The names of functions stay.
pub(crate) fn without_lines(executable: &Path, scratch: &Path) -> Result<PathBuf> {
    let name = executable.file_name().context("a program has a name")?;
    let stripped = scratch.join(name);
    let mut strip = Command::new("strip");
    strip.arg("--strip-debug").arg("-o").arg(&stripped);
    run_ok(strip.arg(executable))
        .context("strip comes with the linker: `apt-get install binutils`")?;
    Ok(stripped)
}

/// Returns the same command under callgrind, which writes its file (for `callgrind_annotate`) to
/// `output`.
fn under_valgrind(program: &Command, options: &[&str], output: &Path) -> Command {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--error-limit=no"]);
    command.args(options);
    command.arg(format!("--callgrind-out-file={}", output.display()));
    command.arg(program.get_program()).args(program.get_args());
    if let Some(folder) = program.get_current_dir() {
        command.current_dir(folder);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::{Branches, collected_instructions};

    #[test]
    fn instructions_are_the_first_collected_events() {
        let plain = "==1== Events    : Ir\n==1== Collected : 177880576\n";
        assert_eq!(collected_instructions(plain), Some(177_880_576));
        let caches = "==1== Events    : Ir Dr Dw\n==1== Collected : 12 34 56\n";
        assert_eq!(collected_instructions(caches), Some(12));
        assert_eq!(collected_instructions("==1== no events\n"), None);
    }

    #[test]
    fn branches_are_read_from_callgrinds_file() {
        let text = "\
fn=(1) main
0x1000 0 5
jump=7 0x2000 0
0x1004 0
jcnd=3/10 0x2000 0
0x1008 0
jcnd=8/9 0x1000 0
0x100c 0
";
        let expect = Branches {
            taken: 7 + 3 + 8,
            mispredicted: 3 + 1,
        };
        assert_eq!(Branches::parse(text), Some(expect));
        assert_eq!(Branches::parse("jcnd=1/2 +3 0\n0x1 0\n"), None);
        assert_eq!(Branches::parse(""), Some(Branches::default()));
    }
}
