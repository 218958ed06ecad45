//! Prints the one line on standard error that reports lost counts.
//!
//! The runtime prints the line only if standard error is still the same file as at the first entry
//! (a daemon may have replaced it), and if the file accepts the line without waiting. The program
//! never gets a SIGPIPE for the line.

use super::runtime::Runtime;
use super::sys::{self, Descriptor, Errno, FOREIGN_RIGHTS, NO_COLLECTOR};

const SIGPIPE: u32 = 13;

/// Longest path in a message.
const PATH_LIMIT: usize = 1024;

/// Message if the program has rights that its caller does not have.
const FOREIGN_RIGHTS_MESSAGE: &[u8] =
    b"holloway: this program is setuid, setgid or has capabilities, and writes no profile; \
    run a copy without them\n";

/// Message if the program's collector has ended. The threads do not spool then, because no process
/// would join the spools to the words that the collector took.
const COLLECTOR_GONE_MESSAGE: &[u8] = b"holloway: the collector of this run is gone; \
    what this process does from now on is not recorded\n";

/// Prints the failure, if there is a failure and none was printed before.
pub(super) fn print_failure(runtime: &mut Runtime) {
    let Some(error) = runtime.failure else { return };
    if runtime.failure_printed {
        return;
    }
    runtime.failure_printed = true;
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
            print(if error == NO_COLLECTOR {
                COLLECTOR_GONE_MESSAGE
            } else {
                FOREIGN_RIGHTS_MESSAGE
            });
        }
        return;
    }
    scratch.clear();
    scratch.push_all(b"holloway: cannot write ");
    scratch.push_all(
        directory
            .as_bytes()
            .get(..PATH_LIMIT)
            .unwrap_or(directory.as_bytes()),
    );
    scratch.push(b'/');
    scratch.push_all(name.as_bytes());
    scratch.push_all(b": ");
    match reason(error) {
        Some(reason) => scratch.push_all(reason),
        None => {
            scratch.push_all(b"error ");
            scratch.push_decimal(u64::from(error.0), 1);
        }
    }
    scratch.push_all(if has_file {
        b"; counts of some threads of this process are lost (".as_slice()
    } else {
        b"; nothing of this process is recorded ("
    });
    scratch.push_all(remedy(error, has_file));
    scratch.push_all(b")\n");
    if stderr.is_ours() {
        print(scratch.as_bytes());
    }
}

/// Prints that the value of HOLLOWAY_BURST, which is in `directory`, is invalid.
pub(super) fn reject_burst(runtime: &mut Runtime) {
    let Runtime {
        scratch,
        directory,
        stderr,
        ..
    } = runtime;
    scratch.clear();
    scratch.push_all(b"holloway: HOLLOWAY_BURST is ");
    let text = directory.as_bytes();
    scratch.push_all(text.get(..PATH_LIMIT).unwrap_or(text));
    scratch.push_all(b", but must be N or N:M, with N from 0 and M from 1 to 1000000000; ");
    scratch.push_all(b"this run uses 10000:1\n");
    if stderr.is_ours() {
        print(scratch.as_bytes());
    }
}

/// Writes a line to standard error, if standard error accepts a line without waiting.
fn print(line: &[u8]) {
    if !sys::is_writable(Descriptor::STDERR) {
        return;
    }
    let pending = sys::is_pending(SIGPIPE);
    let written = sys::write(Descriptor::STDERR, line);
    if written.is_err() && !pending {
        sys::consume(SIGPIPE); // every signal is masked here, so SIGPIPE is still pending
    }
}

/// Ends the process: there is no memory for the counters of the first thread.
pub(super) fn exit_without_memory() -> ! {
    print(
        b"holloway: no memory for the counters of this program; \
        run it with a higher memory limit\n",
    );
    sys::exit(125)
}

/// What the user can do about an error. A limit of the process holds in every directory.
fn remedy(error: Errno, has_file: bool) -> &'static [u8] {
    match error.0 {
        12 => b"free memory, or raise its limit: ulimit -v",
        23 => b"raise the machine's limit of open files: sysctl fs.file-max",
        24 => b"raise the limit of open files: ulimit -n",
        27 => b"raise the limit on file sizes: ulimit -f",
        28 | 122 => b"make room, or set HOLLOWAY_DATA to another directory",
        _ if has_file => b"set HOLLOWAY_DATA to another directory",
        _ => b"set HOLLOWAY_DATA to a directory that can be written",
    }
}

/// The text for an error number of the kernel.
fn reason(error: Errno) -> Option<&'static [u8]> {
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
