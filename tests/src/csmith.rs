//! Random C programs of csmith (Yang, Chen, Eide, Regehr 2011). They have no undefined behavior,
//! and print a checksum of their variables. With an argument, they also print the checksums on the
//! way, which takes other branches.

use crate::optimized::{Carrier, Checked};
use crate::tool::{MAX_RUN_TIME, Output, clean, holloway_command, installed, run_ok, run_within};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The options of the compiler, by seed.
const LEVELS: [&[&str]; 8] = [
    &["-O2"],
    &["-O1"],
    &["-O3"],
    &["-Os"],
    &["-O0"],
    &["-O2", "-fno-inline"],
    &["-O1", "-fno-inline"],
    &["-O3", "-fno-inline"],
];

/// Programs of 740 lines on average, and of 1,700 at most. The default is twice as long.
const SIZE: [&str; 4] = ["--max-funcs", "6", "--max-block-depth", "4"];

/// The longest run of a program that is tested. Some programs of csmith never end.
const LONGEST_RUN: Duration = Duration::from_secs(2);

/// A program of csmith.
#[derive(Debug)]
pub struct CsmithProgram {
    /// The directory of its files.
    folder: PathBuf,
    seed: u64,
}

/// What happened to a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CsmithResult {
    /// The program fails or runs too long as clang compiles it, or clang's builds differ. It was
    /// not tested.
    LeftOut,
    /// All optimized programs print the checksum.
    Same(Checked),
}

impl CsmithProgram {
    /// Generates the program with this seed in a directory.
    ///
    /// # Errors
    /// If csmith is missing or fails.
    pub fn generate(folder: &Path, seed: u64) -> Result<Self> {
        let mut csmith = Command::new(installed("csmith")?);
        csmith.current_dir(folder).args(["-o", "program.c"]);
        csmith.args(SIZE).args(["--seed", &seed.to_string()]);
        run_ok(&mut csmith)?;
        Ok(Self {
            folder: folder.to_owned(),
            seed,
        })
    }

    /// The options of the compiler, such as the level.
    #[must_use]
    pub fn level(&self) -> &'static [&'static str] {
        let number = self.seed % LEVELS.len() as u64;
        LEVELS[usize::try_from(number).expect("a small number")]
    }

    /// The source file.
    #[must_use]
    pub fn source(&self) -> PathBuf {
        self.folder.join("program.c")
    }

    /// The options for the source of any program of csmith.
    #[must_use]
    pub fn flags() -> [&'static str; 2] {
        ["-w", "-I/usr/include/csmith"]
    }

    /// Builds the program with clang, and with Holloway and four plans. All must print the same,
    /// with and without an argument.
    ///
    /// # Errors
    /// If a build fails, or an optimized program prints something else.
    pub fn check(&self) -> Result<CsmithResult> {
        let Some(expected) = self.native_outputs()? else {
            return Ok(CsmithResult::LeftOut);
        };
        let program = self.folder.join("program");
        let mut embed = holloway_command(["cc", "--embed", "-g"]);
        embed.env("HOLLOWAY_CLANG", installed("clang-22")?);
        self.build(&mut embed, self.level(), &program)?;
        let same = |program: &Path| {
            let actual = outputs(program, MAX_RUN_TIME)?.context("it does not end")?;
            for (actual, expected) in actual.iter().zip(&expected) {
                ensure!(
                    (&actual.stdout, actual.status) == (&expected.stdout, expected.status),
                    "it prints\n{}and not\n{}({})",
                    actual.text(),
                    expected.text(),
                    actual.ending()
                );
            }
            Ok(())
        };
        same(&program).context("the plain program")?;
        let text = std::fs::read_to_string(self.source())?;
        let lines: Vec<usize> = (1..=text.lines().count()).collect();
        let carrier = Carrier {
            folder: &self.folder,
            program: &program,
            environment: &[],
            args: &[],
            other_args: Some(&["1"]),
            lines: &lines,
            seed: self.seed,
        };
        carrier.check(&same).map(CsmithResult::Same)
    }

    /// What the program prints as clang compiles it, without and with an argument. `None` if it
    /// cannot be tested. An endless loop may fail when it is optimized, so the program must end
    /// without optimization, too.
    ///
    /// # Errors
    /// If clang is missing or fails.
    pub fn native_outputs(&self) -> Result<Option<[Output; 2]>> {
        let native = self.folder.join("native");
        let mut all = Vec::new();
        for level in [&["-O0"][..], self.level()] {
            let mut clang = Command::new(installed("clang-22")?);
            clean(&mut clang);
            self.build(&mut clang, level, &native)?;
            let outputs = outputs(&native, LONGEST_RUN)?;
            let is_good = |outputs: &[Output; 2]| outputs.iter().all(Output::succeeded);
            match outputs.filter(is_good) {
                Some(outputs) => all.push(outputs),
                None => return Ok(None),
            }
        }
        let texts = |outputs: &[Output; 2]| outputs.each_ref().map(Output::text);
        let agree = texts(&all[0]) == texts(&all[1]);
        Ok(all.pop().filter(|_| agree))
    }

    fn build(&self, compiler: &mut Command, level: &[&str], program: &Path) -> Result<()> {
        compiler.current_dir(&self.folder).args(Self::flags());
        compiler.args(level).args(["program.c", "-o"]).arg(program);
        run_ok(compiler).map(drop)
    }
}

/// What a program prints without and with an argument. `None` if it runs too long.
fn outputs(program: &Path, limit: Duration) -> Result<Option<[Output; 2]>> {
    let start = |args: &[&str]| run_within(Command::new(program).args(args), limit);
    let [Some(usual), Some(chatty)] = [start(&[])?, start(&["1"])?] else {
        return Ok(None);
    };
    Ok(Some([usual, chatty]))
}
