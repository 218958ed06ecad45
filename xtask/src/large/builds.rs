//! The builds of a large program: by the compiler alone, by its own counts, by BOLT, and by
//! Holloway.

use super::programs::{Program, Scale, Sources};
use super::request::{Compile, CompilerBuild, Lto, LtoBuilds};
use super::steps::{Step, Steps};
use super::{cmake, crates};
use anyhow::{Context, Result};
use holloway_tests::tool::{holloway_command, installed};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A build that is measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Build {
    /// Its name in the tables.
    pub(super) name: String,
    /// The executable.
    pub(super) executable: PathBuf,
    /// All steps from the sources to the executable.
    pub(super) steps: Vec<Step>,
}

/// Builds a program in every way.
pub(super) struct Builder<'a> {
    /// The program.
    pub(super) program: &'static Program,
    /// The folder of all files.
    pub(super) folder: &'a Path,
}

impl Builder<'_> {
    /// Builds the program in every way, in the order of the tables. Builds that an earlier run has
    /// left in the folder are not made again.
    ///
    /// # Errors
    /// If a step fails.
    pub(super) fn all(&self, lto: LtoBuilds) -> Result<Vec<Build>> {
        let one = |build: Result<Build>| Ok(vec![build?]);
        let native = self.once("native", || one(self.compiled("native", Lto::Off)))?;
        let separate = ["early", "late", "holloway"];
        let separate = self.once("holloway", || self.holloway_optimized(separate, Lto::Off))?;
        let pgo = self.once("pgo", || one(self.compiler_optimized("PGO", Lto::Off)))?;
        let bolt = self.once("bolt", || one(self.bolted(&pgo[0])))?;
        if lto == LtoBuilds::None {
            return Ok([native, pgo, bolt, separate].concat());
        }
        let fat = self.once("fat", || one(self.compiled("fat LTO", Lto::Fat)))?;
        // Each C++ file stays a module of its own.
        let merged = match lto == LtoBuilds::All && self.program.sources == Sources::Crate {
            true => {
                let names = ["", "", "holloway, merged"];
                self.once("merged", || self.holloway_optimized(names, Lto::Fat))?
            }
            false => Vec::new(),
        };
        let pgo_fat = self.once("pgo-fat", || {
            one(self.compiler_optimized("PGO, fat LTO", Lto::Fat))
        })?;
        Ok([native, fat, pgo, pgo_fat, bolt, separate, merged].concat())
    }

    /// Builds something, unless the file `name` says that it has been built.
    fn once(&self, name: &str, build: impl FnOnce() -> Result<Vec<Build>>) -> Result<Vec<Build>> {
        let file = self.folder.join(name).with_extension("json");
        if file.is_file() {
            return Ok(serde_json::from_str(&std::fs::read_to_string(&file)?)?);
        }
        let builds = build()?;
        std::fs::write(&file, serde_json::to_string(&builds)?)?;
        Ok(builds)
    }

    fn steps(&self, name: &str, lto: Lto) -> Result<Steps> {
        Steps::new(self.folder, &format!("{name}-{}", lto.name()))
    }

    /// The target directory of the builds with this scope, without Holloway's.
    fn target(&self, lto: Lto) -> PathBuf {
        self.folder.join(format!("target-{}", lto.name()))
    }

    /// Runs a build by the compiler alone as a step, and keeps its executable under a name.
    fn compile(
        &self,
        steps: &mut Steps,
        step: &str,
        compile: Compile<'_>,
        lto: Lto,
        kept: &str,
    ) -> Result<PathBuf> {
        let build = CompilerBuild {
            program: self.program,
            compile,
            lto,
            target: &self.target(lto),
        };
        let executable = match self.program.sources {
            Sources::Crate => crates::compile(&build, steps, step)?,
            Sources::CMake => cmake::compile(&build, steps, step)?,
        };
        self.keep(&executable, kept)
    }

    /// Copies an executable that the next build overwrites.
    fn keep(&self, executable: &Path, name: &str) -> Result<PathBuf> {
        let kept = self.folder.join(name.replace([' ', ','], "-"));
        std::fs::copy(executable, &kept)?;
        Ok(kept)
    }

    fn command(&self, executable: &Path) -> Result<Command> {
        self.program.command(executable, self.folder, Scale::Train)
    }

    /// Builds the program by the compiler alone, after what all later builds share.
    fn compiled(&self, name: &'static str, lto: Lto) -> Result<Build> {
        let mut before = self.steps("before", lto)?;
        match self.program.sources {
            Sources::Crate => crates::check(self.program, lto, &self.target(lto), &mut before)?,
            Sources::CMake => {}
        }
        let mut steps = self.steps("compiled", lto)?;
        let executable = self.compile(&mut steps, "build", Compile::Plainly, lto, name)?;
        Ok(Build {
            name: name.to_owned(),
            executable,
            steps: steps.done,
        })
    }

    /// The steps of cargo-pgo: a build with the compiler's counters, a run, merging the counts, and
    /// a build with them.
    fn compiler_optimized(&self, name: &'static str, lto: Lto) -> Result<Build> {
        let mut steps = self.steps("pgo", lto)?;
        let raw = self.folder.join(format!("raw-{}", lto.name()));
        let compile = Compile::Counting(&raw);
        let counting = self.compile(&mut steps, "counting build", compile, lto, "counting")?;
        steps.run_clean("training run", &mut self.command(&counting)?)?;
        let mut merge = Command::new(installed("llvm-profdata-22")?);
        let counts = self.counts(lto);
        merge.args(["merge", "-o"]).arg(&counts).arg(&raw);
        steps.run_clean("merging", &mut merge)?;
        let compile = Compile::By(&counts);
        let executable = self.compile(&mut steps, "optimized build", compile, lto, name)?;
        Ok(Build {
            name: name.to_owned(),
            executable,
            steps: steps.done,
        })
    }

    fn counts(&self, lto: Lto) -> PathBuf {
        self.folder.join(format!("{}.profdata", lto.name()))
    }

    /// Optimizes the layout of a program that is optimized by the compiler's counts: a link with
    /// relocations, counters of BOLT, a run, and BOLT with the counts.
    fn bolted(&self, pgo: &Build) -> Result<Build> {
        let bolt = installed("llvm-bolt-22").context("BOLT: `apt-get install bolt-22`")?;
        let mut steps = self.steps("bolt", Lto::Off)?;
        let all_counts = self.counts(Lto::Off);
        let compile = Compile::Relocatable(&all_counts);
        let step = "link with relocations";
        let relocatable = self.compile(&mut steps, step, compile, Lto::Off, "relocatable")?;
        let [counting, executable] = ["bolt-counting", "bolt"].map(|name| self.folder.join(name));
        let counts = self.folder.join("bolt.fdata");
        let mut instrument = Command::new(&bolt);
        instrument.arg(&relocatable).arg("-instrument").arg("-o");
        instrument.arg(&counting);
        instrument.arg(format!("-instrumentation-file={}", counts.display()));
        steps.run_clean("BOLT's counters", &mut instrument)?;
        steps.run_clean("BOLT's training run", &mut self.command(&counting)?)?;
        let mut optimize = Command::new(&bolt);
        optimize.arg(&relocatable).arg("-o").arg(&executable);
        optimize.arg(format!("-data={}", counts.display()));
        optimize.args([
            "-reorder-blocks=ext-tsp",
            "-reorder-functions=cdsort",
            "-split-functions",
            "-split-all-cold",
            "-split-eh",
            "-icf=1",
        ]);
        steps.run_clean("BOLT", &mut optimize)?;
        Ok(Build {
            name: "PGO, BOLT".to_owned(),
            executable,
            steps: [pgo.steps.clone(), steps.done].concat(),
        })
    }

    /// Builds a program that carries its bitcode, trains it, and builds it with early counts, with
    /// late counts too, and with the order of functions too. Builds without a name are left out.
    fn holloway_optimized(&self, names: [&'static str; 3], lto: Lto) -> Result<Vec<Build>> {
        let mut steps = self.steps("training", lto)?;
        let target = self.folder.join(format!("target-holloway-{}", lto.name()));
        let executable = match self.program.sources {
            Sources::Crate => crates::embed(self.program, lto, &target, &mut steps)?,
            Sources::CMake => cmake::embed(self.program, &target, &mut steps)?,
        };
        let plain = self.keep(&executable, &format!("plain-{}", lto.name()))?;
        let plans = ["early", "late", "all"].map(|name| {
            let name = format!("{}-{name}.plan", lto.name());
            self.folder.join(name)
        });
        let run = self.command(&plain)?;
        let mut train = holloway_command(["plan", "train", "-o"]);
        train.arg(&plans[2]).arg(&plain).arg("--");
        train.args(run.get_args()).current_dir(self.folder);
        steps.run("training", &mut train)?;
        let text = std::fs::read_to_string(&plans[2])?;
        std::fs::write(&plans[0], plan_text(&text, &[]))?;
        std::fs::write(&plans[1], plan_text(&text, &["late"]))?;
        std::fs::write(&plans[2], plan_text(&text, &["late", "order"]))?;
        let mut builds = Vec::new();
        // The last build comes first. The one before differs from it in the link only.
        for (name, plan) in names.into_iter().zip(&plans).rev() {
            if name.is_empty() {
                continue;
            }
            let executable_name = name.replace([' ', ','], "-");
            let executable = self.folder.join(&executable_name);
            let mut apply = holloway_command(["plan", "apply", "-o"]);
            apply.arg(&executable).arg(&plain).arg("--plan").arg(plan);
            let mut own = self.steps(&executable_name, lto)?;
            own.run("build with the plan", &mut apply)?;
            builds.push(Build {
                name: name.to_owned(),
                executable,
                steps: [steps.done.clone(), own.done].concat(),
            });
        }
        builds.reverse();
        Ok(builds)
    }
}

/// The parts of a plan that begin with a line of one word, in their order.
const PARTS: [&str; 4] = ["late", "order", "prefetches", "end"];

/// A plan with its counts and the named parts, and without marks of unpredictable branches:
/// `holloway optimize` keeps these by measured time only.
fn plan_text(text: &str, parts: &[&str]) -> String {
    let mut is_kept = true;
    let mut kept = String::new();
    for line in text.lines() {
        if PARTS.contains(&line) {
            is_kept = line == "end" || parts.contains(&line);
        }
        if is_kept && !line.starts_with("unpredictable ") {
            kept += line;
            kept.push('\n');
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::plan_text;

    #[test]
    fn a_plan_keeps_the_named_parts() {
        let plan = "holloway plan 2\nfunction 1 2 3 f\n0 2\nunpredictable 0 1\nlate\n\
                    function 4 5 6 f\n0 1\norder\nplace f\nprefetches\nload 1 2 3 f\nend\n";
        let counts = "holloway plan 2\nfunction 1 2 3 f\n0 2\n";
        let late = "late\nfunction 4 5 6 f\n0 1\n";
        assert_eq!(plan_text(plan, &[]), format!("{counts}end\n"));
        assert_eq!(plan_text(plan, &["late"]), format!("{counts}{late}end\n"));
        let ordered = format!("{counts}{late}order\nplace f\nend\n");
        assert_eq!(plan_text(plan, &["late", "order"]), ordered);
    }
}
