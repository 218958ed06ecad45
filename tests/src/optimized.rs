//! Optimizes a program with the plan of its training, with the plan of another input, and with
//! random plans. All of them must do what the program does.

use crate::random_plan::PlanParts;
use crate::tool::{holloway_command, run_ok};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that carries its bitcode.
#[derive(Debug)]
pub struct Carrier<'a> {
    /// The directory in which it is trained. Plans and optimized programs are written there.
    pub folder: &'a Path,
    /// The program.
    pub program: &'a Path,
    /// The environment of training.
    pub environment: &'a [(&'a str, &'a Path)],
    /// The arguments of training.
    pub args: &'a [&'a str],
    /// The arguments of another training, if there is another input.
    pub other_args: Option<&'a [&'a str]>,
    /// The lines of the source in which random plans prefetch. The program must have debug
    /// information, then.
    pub lines: &'a [usize],
    /// The number that makes random plans different.
    pub seed: u64,
}

/// What was checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checked {
    /// Optimized programs.
    pub optimized: usize,
    /// Functions with early counts in the program's own plan.
    pub functions: usize,
    /// Functions with late counts in it.
    pub late_functions: usize,
    /// Call targets in it.
    pub targets: usize,
    /// Unpredictable branches in it.
    pub unpredictable: usize,
    /// Paths whose blocks are copied in it.
    pub tails: usize,
    /// Prefetch instructions in the programs with random plans.
    pub prefetches: usize,
}

impl Checked {
    /// Adds the numbers of another program.
    pub fn add(&mut self, other: Self) {
        self.optimized += other.optimized;
        self.functions += other.functions;
        self.late_functions += other.late_functions;
        self.targets += other.targets;
        self.unpredictable += other.unpredictable;
        self.tails += other.tails;
        self.prefetches += other.prefetches;
    }
}

impl Carrier<'_> {
    /// Optimizes the program with each plan. `check` runs a program and compares it with the plain
    /// one.
    ///
    /// # Errors
    /// If training or a link fails, or `check` fails. The message names the plan.
    pub fn check(&self, check: &dyn Fn(&Path) -> Result<()>) -> Result<Checked> {
        let own = self.train("own", self.args)?;
        let parts = PlanParts::of(&own)?;
        let count = |text: &str, word: &str| text.lines().filter(|l| l.starts_with(word)).count();
        let mut checked = Checked {
            functions: count(&parts.early, "function "),
            late_functions: count(&parts.late, "function "),
            targets: count(&parts.early, "target "),
            unpredictable: count(&parts.early, "unpredictable "),
            tails: count(&parts.early, "tail "),
            ..Checked::default()
        };
        let mut plans = vec![("own", own)];
        if let Some(args) = self.other_args {
            plans.push(("other", self.train("other", args)?));
        }
        plans.push(("random", parts.random(self.lines, self.seed)));
        plans.push(("random-late", parts.random_late(self.lines, self.seed)));
        for (name, plan) in plans {
            let optimized = self.apply(name, &plan)?;
            check(&optimized).with_context(|| format!("with the plan {name}"))?;
            checked.optimized += 1;
            if name.starts_with("random") && !self.lines.is_empty() {
                checked.prefetches += prefetches(&optimized)?;
            }
        }
        Ok(checked)
    }

    /// Trains the program. Returns its plan.
    fn train(&self, name: &str, args: &[&str]) -> Result<String> {
        let plan = self.folder.join(format!("{name}.plan"));
        let mut command = self.holloway(&["plan", "train", "--paths", "-o"]);
        command.arg(&plan).arg(self.program).arg("--").args(args);
        run_ok(command.envs(self.environment.iter().copied()))?;
        std::fs::read_to_string(&plan).with_context(|| format!("cannot read {}", plan.display()))
    }

    fn apply(&self, name: &str, plan: &str) -> Result<PathBuf> {
        let file = self.folder.join(format!("{name}.plan"));
        std::fs::write(&file, plan)?;
        let optimized = self.folder.join(format!("optimized-{name}"));
        let mut command = self.holloway(&["plan", "apply", "-o"]);
        command.arg(&optimized).arg("--plan").arg(&file);
        let output = run_ok(command.arg(self.program))?;
        // A module that loses its plan would hide what the plan does. Random plans have lines that
        // fit nothing, and holloway says so.
        let mut lines = output.stderr.lines();
        let warning =
            lines.find(|line| line.contains("warning: ") && !line.contains("has no effect"));
        match warning {
            None => Ok(optimized),
            Some(warning) => anyhow::bail!("with the plan {name}: {warning}"),
        }
    }

    fn holloway(&self, words: &[&str]) -> Command {
        let mut command = holloway_command(words);
        command.current_dir(self.folder);
        command
    }
}

/// The number of prefetch instructions of a program.
///
/// # Errors
/// If `objdump` fails.
pub fn prefetches(program: &Path) -> Result<usize> {
    let mut objdump = Command::new("objdump");
    objdump.args(["-d", "--no-show-raw-insn"]).arg(program);
    let code = run_ok(&mut objdump)?.text();
    Ok(code.lines().filter(|l| l.contains("prefetch")).count())
}
