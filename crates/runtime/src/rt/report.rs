//! The one line a process says when counts are lost.
//!
//! On standard error, if that still is the file it was when the first thread entered (a daemon may have put a file of
//! its own there), only if it takes the line without waiting, and without a SIGPIPE for the program.

use super::runtime::Runtime;
use super::sys::{self, Errno, FOREIGN_RIGHTS, NO_COLLECTOR};

const STDERR: i32 = 2;
const SIGPIPE: u32 = 13;

/// Longest path shown.
const SHOWN: usize = 1024;

/// What a program with rights its caller has not says in place of its profile.
const SETUID: &[u8] =
    b"holloway: this program is setuid, setgid or has capabilities, and writes no profile; \
    run a copy without them\n";

/// What a program says whose collector is gone: nobody takes the words, and nobody would join a spool to what was taken.
const LEFT: &[u8] = b"holloway: the collector of this run is gone; what this process does from now on is not recorded\n";

/// Tells the failure, if there is one and none was told before.
pub(super) fn print_failure(runtime: &mut Runtime) {
    let Some(error) = runtime.failure else { return };
    if runtime.told {
        return;
    }
    runtime.told = true;
    let has_file = runtime.page().is_some_and(|page| page.has_file());
    let Runtime {
        scratch,
        directory,
        name,
        stderr,
        ..
    } = runtime;
    if error == FOREIGN_RIGHTS || error == NO_COLLECTOR {
        if stderr.is_ours() {
            say(if error == NO_COLLECTOR { LEFT } else { SETUID });
        }
        return;
    }
    scratch.clear();
    scratch.push_all(b"holloway: cannot write ");
    scratch.push_all(
        directory
            .as_bytes()
            .get(..SHOWN)
            .unwrap_or(directory.as_bytes()),
    );
    scratch.push(b'/');
    scratch.push_all(name.as_bytes());
    scratch.push_all(b": ");
    match words(error) {
        Some(words) => scratch.push_all(words),
        None => {
            scratch.push_all(b"error ");
            scratch.push_decimal(u64::from(error.0), 1);
        }
    }
    scratch.push_all(if has_file {
        b"; counts of some threads of this process are lost (make room, or set HOLLOWAY_DATA to another directory)\n"
    } else {
        b"; nothing of this process is recorded (set HOLLOWAY_DATA to a directory that can be written)\n"
    });
    if stderr.is_ours() {
        say(scratch.as_bytes());
    }
}

/// Says that the environment's word on bursts can't be followed; it is in `directory`.
pub(super) fn refuse_burst(runtime: &mut Runtime) {
    let Runtime {
        scratch,
        directory,
        stderr,
        ..
    } = runtime;
    scratch.clear();
    scratch.push_all(b"holloway: HOLLOWAY_BURST is ");
    let text = directory.as_bytes();
    scratch.push_all(text.get(..SHOWN).unwrap_or(text));
    scratch.push_all(b", which is no N:M with N at most 1000000000 and M from 1 to that; ");
    scratch.push_all(b"this run takes 10000:1\n");
    if stderr.is_ours() {
        say(scratch.as_bytes());
    }
}

/// Writes to standard error, if it takes it.
fn say(line: &[u8]) {
    if !sys::is_writable(STDERR) {
        return;
    }
    let pending = sys::is_pending(SIGPIPE);
    let written = sys::write(STDERR as usize, line);
    if written.is_err() && !pending {
        sys::consume(SIGPIPE); // every signal is masked here, so it is still waiting
    }
}

/// No memory for the counters of the first thread: nowhere to go on from.
pub(super) fn die() -> ! {
    say(b"holloway: no memory for the counters of this program; run it with a higher memory limit\n");
    sys::exit(125)
}

/// The kernel's reason in words.
fn words(error: Errno) -> Option<&'static [u8]> {
    Some(match error.0 {
        1 => b"operation not permitted",
        2 => b"no such file or directory",
        5 => b"input/output error",
        12 => b"out of memory",
        13 => b"permission denied",
        17 => b"a file is in the way",
        19 => b"its file system cannot map files",
        20 => b"not a directory",
        22 => b"its file system refuses the operation",
        23 | 24 => b"too many open files",
        27 => b"larger than the limit on file sizes",
        28 => b"no space left on device",
        30 => b"read-only file system",
        36 => b"name too long",
        38 => b"the system call is not available",
        40 => b"too many symbolic links",
        95 => b"its file system does not support the operation",
        116 => b"the file is gone",
        122 => b"disk quota exceeded",
        _ => return None,
    })
}
