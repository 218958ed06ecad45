//! The machines that programs are built for: this machine, and 64-bit Arm. qemu emulates Arm in
//! user mode, so system calls go to this machine's kernel.

use crate::tool::installed;
use anyhow::Result;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// A machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Machine {
    /// This machine.
    Host,
    /// 64-bit Arm.
    Aarch64,
}

impl Machine {
    /// Makes clang compile and link for this target.
    pub fn set_target(self, command: &mut Command) {
        if self == Self::Aarch64 {
            command.arg("--target=aarch64-linux-gnu");
        }
    }

    /// Returns the words of the command line that runs an executable.
    ///
    /// # Errors
    /// If the emulator is not installed.
    pub fn words(self, executable: &Path) -> Result<Vec<OsString>> {
        let mut words: Vec<OsString> = Vec::new();
        if self == Self::Aarch64 {
            words.push(installed("qemu-aarch64-static")?.into());
            words.extend(["-L", "/usr/aarch64-linux-gnu"].map(OsString::from));
        }
        words.push(executable.into());
        Ok(words)
    }

    /// Returns the command that runs an executable.
    ///
    /// # Errors
    /// If the emulator is not installed.
    pub fn command(self, executable: &Path) -> Result<Command> {
        let words = self.words(executable)?;
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        Ok(command)
    }
}
