//! Client of the jobserver of cargo or make. A jobserver limits the number of processes in a whole
//! build, including the worker processes of a link.
//!
//! A jobserver is a pipe that holds a byte, called a *token*, for each additional process that may
//! run. A program reads a token before it starts a process, and writes the token back when the
//! process has ended (GNU make manual, "Sharing Job Slots with GNU make"). The build already took a
//! token for the link itself, so the first worker of the link needs none.
//!
//! Cargo names the pipe in `CARGO_MAKEFLAGS`, and make names it in `MAKEFLAGS`. The pipe is given
//! as two open file descriptors (`--jobserver-auth=6,7`) or as a FIFO
//! (`--jobserver-auth=fifo:PATH`, make 4.4). Rustc lets its linker inherit cargo's descriptors. The
//! client opens descriptors again through `/proc/self/fd`, for two reasons: it can read the new
//! file without blocking, and it can first check that the number belongs to a pipe and not to an
//! unrelated file.
//!
//! If a link is killed, its tokens are lost, as with a killed rustc.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

/// How long a thread waits for a token before it checks whether a module is left to weave.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A connection to a jobserver.
#[derive(Debug)]
pub(crate) struct Jobserver {
    read: File,
    write: File,
}

/// A token. It is given back when the value is dropped.
#[derive(Debug)]
pub(crate) struct Token<'a> {
    byte: [u8; 1],
    server: &'a Jobserver,
}

impl Jobserver {
    /// Connects to the jobserver of the build that started this process, if there is one.
    pub(crate) fn from_env() -> Option<Self> {
        ["CARGO_MAKEFLAGS", "MAKEFLAGS"]
            .iter()
            .filter_map(std::env::var_os)
            .find_map(|flags| Self::from_flags(&flags))
    }

    fn from_flags(flags: &OsStr) -> Option<Self> {
        let (read, write) = pipe(flags.to_str()?)?;
        let is_pipe = |path: &Path| {
            std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo())
        };
        if !is_pipe(&read) || !is_pipe(&write) {
            return None;
        }
        let open = |path: &Path| {
            OpenOptions::new()
                .read(true)
                // If a FIFO were opened only for reading, `open` would wait for a writer.
                .write(true)
                .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
                .open(path)
                .ok()
        };
        Some(Self {
            read: open(&read)?,
            write: open(&write)?,
        })
    }

    /// Waits for a token. Returns `None` as soon as `is_needless` returns true, or if the jobserver
    /// has ended.
    pub(crate) fn wait_for_token(&self, is_needless: impl Fn() -> bool) -> Option<Token<'_>> {
        let timeout = Timespec::try_from(POLL_INTERVAL).expect("a short time");
        let mut byte = [0];
        while !is_needless() {
            match (&self.read).read(&mut byte) {
                Ok(1) => return Some(Token { byte, server: self }),
                Ok(_) => return None,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let mut ready = [PollFd::new(&self.read, PollFlags::IN)];
                    // The result does not matter: the next read shows whether there is a token.
                    let _ = poll(&mut ready, Some(&timeout));
                }
                Err(_) => return None,
            }
        }
        None
    }
}

impl Drop for Token<'_> {
    fn drop(&mut self) {
        // The pipe held this byte before, so it has room for the byte.
        let _ = (&self.server.write).write_all(&self.byte);
    }
}

/// Returns the paths of the pipe's two ends. The last of several flags counts, as in make.
fn pipe(flags: &str) -> Option<(PathBuf, PathBuf)> {
    let value = flags
        .split_ascii_whitespace()
        // After `--`, `MAKEFLAGS` lists variable definitions.
        .take_while(|&word| word != "--")
        .filter_map(|word| {
            word.strip_prefix("--jobserver-auth=")
                .or_else(|| word.strip_prefix("--jobserver-fds="))
        })
        .last()?;
    if let Some(path) = value.strip_prefix("fifo:") {
        return Some((path.into(), path.into()));
    }
    let (read, write) = value.split_once(',')?;
    // Make passes -1 or -2 to commands that may not use the jobserver.
    let path = |number: &str| {
        let number: u32 = number.parse().ok()?;
        Some(PathBuf::from(format!("/proc/self/fd/{number}")))
    };
    Some((path(read)?, path(write)?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn flags_are_read_as_make_writes_them() {
        let check = |flags: &str, expect: Option<(&str, &str)>| {
            let expect = expect.map(|(read, write)| (read.into(), write.into()));
            assert_eq!(pipe(flags), expect, "{flags}");
        };
        let fds = |read, write| Some((read, write));
        check(
            "-j --jobserver-fds=6,7 --jobserver-auth=6,7",
            fds("/proc/self/fd/6", "/proc/self/fd/7"),
        );
        check(
            " -j8 --jobserver-auth=3,4 --jobserver-auth=5,6 -- A=--jobserver-auth=1,2",
            fds("/proc/self/fd/5", "/proc/self/fd/6"),
        );
        check(
            "w -j4 --jobserver-auth=fifo:/tmp/GMfifo7",
            fds("/tmp/GMfifo7", "/tmp/GMfifo7"),
        );
        check("-j2 --jobserver-auth=-2,-2", None);
        check("kw", None);
        check("", None);
        check("--jobserver-auth=3", None);
    }

    #[test]
    fn tokens_are_acquired_and_given_back() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        let status = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(status.unwrap().success());
        let flags = format!("-j --jobserver-auth=fifo:{}", fifo.display());
        let server = Jobserver::from_flags(flags.as_ref()).unwrap();
        (&server.write).write_all(b"ab").unwrap();
        let first = server.wait_for_token(|| false).unwrap();
        let second = server.wait_for_token(|| false).unwrap();
        assert_eq!((first.byte, second.byte), (*b"a", *b"b"));
        let calls = std::cell::Cell::new(0);
        let is_needless = || calls.replace(calls.get() + 1) == 2;
        assert!(
            server.wait_for_token(is_needless).is_none(),
            "no token is left"
        );
        drop(second);
        assert_eq!(server.wait_for_token(|| false).unwrap().byte, *b"b");
        assert!(server.wait_for_token(|| true).is_none(), "nothing to do");
    }

    #[test]
    fn files_other_than_pipes_are_no_jobservers() {
        assert!(Jobserver::from_flags("--jobserver-auth=fifo:/dev/null".as_ref()).is_none());
        assert!(Jobserver::from_flags("--jobserver-auth=9999,9998".as_ref()).is_none());
        assert!(Jobserver::from_flags("--jobserver-auth=fifo:/nowhere".as_ref()).is_none());
    }
}
