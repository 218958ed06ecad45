//! Client of the jobserver of cargo or make, which limits the processes of a whole build. The
//! workers of a link count among them.
//!
//! A jobserver is a pipe that holds a byte for each additional process that may run. A program
//! reads a byte before it starts a process, and writes the byte back when the process has ended
//! (GNU make manual, "Sharing job slots"). The link itself was started with a slot of its own, so
//! its first worker needs none.
//!
//! Cargo names the pipe in `CARGO_MAKEFLAGS`, make in `MAKEFLAGS`: as two open file descriptors
//! (`--jobserver-auth=6,7`; rustc leaves cargo's open to its linker) or as a FIFO
//! (`--jobserver-auth=fifo:PATH`, make 4.4). Descriptors are opened again through `/proc/self/fd`.
//! The new file can be read without blocking, and an unrelated file with the same number is left
//! alone.
//!
//! A link that is killed keeps the bytes it holds, as a killed rustc does.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

/// How long a thread waits for a slot before it checks whether there is still a module to weave.
const TURN: Duration = Duration::from_millis(50);

/// A connection to a jobserver.
#[derive(Debug)]
pub(crate) struct Jobserver {
    read: File,
    write: File,
}

/// A slot, given back when dropped.
#[derive(Debug)]
pub(crate) struct Slot<'a> {
    byte: [u8; 1],
    server: &'a Jobserver,
}

impl Jobserver {
    /// The jobserver this process was started under, if it can be reached.
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
                // A FIFO is opened both ways: for one alone, open would wait for the other end.
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

    /// Waits for a slot. Returns nothing once `needless` holds, or if the jobserver has gone.
    pub(crate) fn slot(&self, needless: impl Fn() -> bool) -> Option<Slot<'_>> {
        let turn = Timespec::try_from(TURN).expect("a short time");
        let mut byte = [0];
        while !needless() {
            match (&self.read).read(&mut byte) {
                Ok(1) => return Some(Slot { byte, server: self }),
                Ok(_) => return None,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let mut ready = [PollFd::new(&self.read, PollFlags::IN)];
                    // Interrupted or not, the next read shows whether there is a byte.
                    let _ = poll(&mut ready, Some(&turn));
                }
                Err(_) => return None,
            }
        }
        None
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        // Room for it was there a moment ago.
        let _ = (&self.server.write).write_all(&self.byte);
    }
}

/// The pipe's two ends as paths. If there are several flags, the last counts, as in make.
fn pipe(flags: &str) -> Option<(PathBuf, PathBuf)> {
    let named = flags
        .split_ascii_whitespace()
        // Make's variables follow `--`.
        .take_while(|&word| word != "--")
        .filter_map(|word| {
            word.strip_prefix("--jobserver-auth=")
                .or_else(|| word.strip_prefix("--jobserver-fds="))
        })
        .last()?;
    if let Some(path) = named.strip_prefix("fifo:") {
        return Some((path.into(), path.into()));
    }
    let (read, write) = named.split_once(',')?;
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
    fn slots_are_taken_and_given_back() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        let flags = format!("-j --jobserver-auth=fifo:{}", fifo.display());
        let server = Jobserver::from_flags(flags.as_ref()).unwrap();
        (&server.write).write_all(b"ab").unwrap();
        let first = server.slot(|| false).unwrap();
        let second = server.slot(|| false).unwrap();
        assert_eq!((first.byte, second.byte), (*b"a", *b"b"));
        let asked = std::cell::Cell::new(0);
        let needless = || asked.replace(asked.get() + 1) == 2;
        assert!(server.slot(needless).is_none(), "none is left");
        drop(second);
        assert_eq!(server.slot(|| false).unwrap().byte, *b"b");
        assert!(server.slot(|| true).is_none(), "nothing to do");
    }

    #[test]
    fn what_is_no_pipe_is_no_jobserver() {
        assert!(Jobserver::from_flags("--jobserver-auth=fifo:/dev/null".as_ref()).is_none());
        assert!(Jobserver::from_flags("--jobserver-auth=9999,9998".as_ref()).is_none());
        assert!(Jobserver::from_flags("--jobserver-auth=fifo:/nowhere".as_ref()).is_none());
    }
}
