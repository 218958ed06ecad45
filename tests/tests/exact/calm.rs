//! Runs of a real program in which nearly every call returns: other counters are exact there, too.

use crate::ours::{Recorded, record};
use anyhow::Result;
use holloway_tests::program::run_program;
use holloway_tests::workload::{LUA, Scale, Workload};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Two folders with the same input: runs start from the same files, none that the other has
/// written, and under the same name (bzip2 looks at it letter by letter).
pub(crate) struct Calm<'a> {
    workload: &'a Workload,
    plain: PathBuf,
    woven: PathBuf,
}

impl<'a> Calm<'a> {
    pub(crate) fn new(workload: &'a Workload, scratch: &Path) -> Result<Self> {
        let (plain, woven) = (scratch.join("plain"), scratch.join("woven"));
        for folder in [&plain, &woven] {
            workload.write_input(folder, Scale::Small)?;
        }
        Ok(Self {
            workload,
            plain,
            woven,
        })
    }

    /// Runs a program that is not woven.
    pub(crate) fn run(&self, executable: &Path) -> Result<()> {
        std::fs::copy(executable, self.plain.join("program"))?;
        for mut command in self.commands(&self.plain) {
            run_program(&mut command, None)?;
        }
        Ok(())
    }

    /// Runs a woven program.
    pub(crate) fn record(&self, executable: &Path, data: &Path) -> Result<Recorded> {
        std::fs::remove_dir_all(&self.woven)?;
        self.workload.write_input(&self.woven, Scale::Small)?;
        // One shell runs them all, so that one `holloway run` sees every process.
        let quoted = |word: &std::ffi::OsStr| format!("'{}'", word.to_string_lossy());
        let line = |c: &Command| {
            let words: Vec<String> = std::iter::once(c.get_program())
                .chain(c.get_args())
                .map(quoted)
                .collect();
            words.join(" ")
        };
        std::fs::copy(executable, self.woven.join("program"))?;
        let lines: Vec<String> = self.commands(&self.woven).iter().map(line).collect();
        let script = format!("cd '{}' && {}", self.woven.display(), lines.join(" && "));
        record(Path::new("sh"), &["-c", &script], data, &[])
    }

    /// Lua's without coroutines, which leave calls by longjmp: there clang's own counts are wrong.
    fn commands(&self, input: &Path) -> Vec<Command> {
        let mut commands = (self.workload).commands(Path::new("./program"), input, Scale::Small);
        if *self.workload == LUA {
            commands[0].arg("calm");
        }
        commands
    }
}
