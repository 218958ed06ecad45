//! Runs a real program so that nearly every call returns. Then other counters are exact, too.

use crate::ours::{Recorded, record};
use anyhow::Result;
use holloway_tests::files::copy_program;
use holloway_tests::program::run_program;
use holloway_tests::workload::{LUA, Scale, Workload};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Two folders with the same input. The plain and the woven program start with the same files and
/// under the same name, because the behavior of bzip2 depends on its name.
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

    /// Runs the plain program.
    pub(crate) fn run(&self, executable: &Path) -> Result<()> {
        copy_program(executable, &self.plain.join("program"))?;
        for mut command in self.commands(&self.plain) {
            run_program(&mut command, None)?;
        }
        Ok(())
    }

    /// Runs a woven program.
    pub(crate) fn record(&self, executable: &Path, data: &Path) -> Result<Recorded> {
        std::fs::remove_dir_all(&self.woven)?;
        self.workload.write_input(&self.woven, Scale::Small)?;
        // One shell runs all commands, so that one `holloway run` sees every process.
        let quoted = |word: &std::ffi::OsStr| format!("'{}'", word.to_string_lossy());
        let line = |c: &Command| {
            let words: Vec<String> = std::iter::once(c.get_program())
                .chain(c.get_args())
                .map(quoted)
                .collect();
            words.join(" ")
        };
        copy_program(executable, &self.woven.join("program"))?;
        let lines: Vec<String> = self.commands(&self.woven).iter().map(line).collect();
        let script = format!("cd '{}' && {}", self.woven.display(), lines.join(" && "));
        record(Path::new("sh"), &["-c", &script], data, &[])
    }

    /// The commands of a run. Lua runs without coroutines, which leave frames by longjmp, because
    /// clang's counts would be wrong.
    fn commands(&self, input: &Path) -> Vec<Command> {
        let mut commands = (self.workload).commands(Path::new("./program"), input, Scale::Small);
        if *self.workload == LUA {
            commands[0].arg("calm");
        }
        commands
    }
}
