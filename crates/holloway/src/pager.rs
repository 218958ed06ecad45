//! The pager: output for people that is longer than the screen of a terminal is shown by `less`, as
//! git does.
//!
//! `HOLLOWAY_PAGER` names another program, else `PAGER` does. The value is a command line for the
//! shell. An empty value, `cat`, and `--no-pager` switch the pager off. Without the variable
//! `LESS`, `less` gets the options `FRX`: it ends at once if all fits on the screen, shows colors,
//! and leaves the text on the screen when it ends.
//!
//! Output is held back until it is longer than the screen, or until the command ends. So short
//! answers start no program, and long ones are shown while they are being written.
//!
//! A user who leaves the pager early closes a pipe. This is no error. The pager handles Ctrl-C, so
//! holloway ignores it while the pager runs.

use std::io::{self, IsTerminal as _, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use holloway_abi::environment;
use signal_hook::consts::SIGINT;

use crate::screen::terminal_size;
use crate::status;

/// Rows of a terminal that does not know its height.
const UNKNOWN_HEIGHT: usize = 24;
/// The default pager.
const LESS: &str = "less";
/// The options of less, unless the user has set others.
const LESS_OPTIONS: &str = "FRX";

/// The output of this command, if it goes through a pager. There is one standard output, so there
/// is one pager.
static OUTPUT: Mutex<Option<Paged>> = Mutex::new(None);

/// Shows the output of a command in a pager, if stdout is a terminal and the output is longer than
/// its screen.
pub(crate) fn paged<T>(command: impl FnOnce() -> T) -> T {
    if io::stdout().is_terminal()
        && let Some(program) = Program::of_environment()
    {
        *output() = Some(Paged::new(program));
    }
    let result = command();
    if let Some(paged) = output().take() {
        paged.finish();
    }
    result
}

/// Writes to the pager, if the command has one. Otherwise returns `write`.
pub(crate) fn write<F>(write: F) -> Result<io::Result<()>, F>
where
    F: FnOnce(&mut dyn Write) -> io::Result<()>,
{
    match output().as_mut() {
        Some(paged) => Ok(write(paged)),
        None => Err(write),
    }
}

fn output() -> std::sync::MutexGuard<'static, Option<Paged>> {
    OUTPUT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The program that shows output.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Program {
    Less,
    /// A command line, and the variable that has it.
    Other(String, &'static str),
}

impl Program {
    /// The pager that the user wants. `None` if the user wants none.
    fn of_environment() -> Option<Program> {
        let variables = [environment::PAGER.name, "PAGER"];
        let values = variables.map(|name| (std::env::var(name).ok(), name));
        Program::of(values, &std::env::var("TERM").unwrap_or_default())
    }

    /// The pager for these values of variables. The first value that is set wins. A terminal that
    /// cannot move its cursor gets no pager.
    fn of(values: [(Option<String>, &'static str); 2], term: &str) -> Option<Program> {
        let is_set = |(value, name): (Option<String>, _)| value.map(|value| (value, name));
        match values.into_iter().find_map(is_set) {
            Some((command, _)) if matches!(command.trim(), "" | "cat") => None,
            Some((command, name)) => Some(Program::Other(command, name)),
            None if matches!(term, "" | "dumb") => None,
            None => Some(Program::Less),
        }
    }

    /// Whether a pager that the user chose can be started: a shell that cannot would lose the
    /// output.
    fn is_usable(&self) -> bool {
        let Program::Other(line, _) = self else {
            return true;
        };
        let succeeds = |words: &[&str]| {
            let mut shell = Command::new("sh");
            shell.args(words).stdin(Stdio::null());
            shell.stdout(Stdio::null()).stderr(Stdio::null());
            shell.status().is_ok_and(|status| status.success())
        };
        // `-n` only checks the syntax. Assignments may come before the program.
        let mut words = line.split_whitespace();
        let program = words.find(|word| !word.contains('=')).unwrap_or_default();
        let is_plain = !program.contains(['"', '\'', '$', '\\']);
        succeeds(&["-n", "-c", line])
            && (!is_plain || succeeds(&["-c", "command -v -- \"$1\"", "sh", program]))
    }

    /// Warns that the pager that the user chose cannot be started.
    fn warn(&self) {
        if let Program::Other(line, name) = self {
            status::warn(&format!(
                "cannot start the pager `{line}` that {name} names: set another, or use --no-pager"
            ));
        }
    }

    fn start(&self) -> io::Result<Child> {
        let mut command = match self {
            Program::Less => Command::new(LESS),
            Program::Other(line, _) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", line]);
                shell
            }
        };
        if std::env::var_os("LESS").is_none() {
            command.env("LESS", LESS_OPTIONS);
        }
        command.stdin(Stdio::piped()).spawn()
    }
}

/// Output that may be longer than the screen.
struct Paged {
    program: Program,
    /// The output so far, until it goes to the pager or to the terminal.
    held: Vec<u8>,
    /// Lines that the screen has room for, without the shell's next prompt.
    room: usize,
    /// Lines of `held`.
    lines: usize,
    state: State,
}

/// Where output goes.
enum State {
    /// It is held back.
    Holding,
    /// To the pager.
    Paging(Child),
    /// To the terminal, because no pager can be started.
    Direct,
}

impl Paged {
    fn new(program: Program) -> Paged {
        let height = terminal_size().map(|(_, height)| height);
        let height = height.filter(|&height| height > 0);
        Paged {
            program,
            held: Vec::new(),
            room: height.unwrap_or(UNKNOWN_HEIGHT).saturating_sub(1),
            lines: 0,
            state: State::Holding,
        }
    }

    /// Starts the pager, and writes the output so far.
    fn begin(&mut self) -> io::Result<()> {
        let started = match self.program.is_usable() {
            true => self.program.start(),
            false => Err(io::ErrorKind::NotFound.into()),
        };
        self.state = match started {
            Ok(pager) => {
                // Only the default action of the signal matters. Nothing reads the flag.
                signal_hook::flag::register(SIGINT, Arc::new(AtomicBool::new(false)))?;
                State::Paging(pager)
            }
            Err(_) => State::Direct,
        };
        let held = std::mem::take(&mut self.held);
        self.write_all(&held)
    }

    /// Writes output that is still held back, and waits until the user leaves the pager.
    fn finish(mut self) {
        match self.state {
            // A closed terminal is no error.
            State::Holding => io::stdout().write_all(&self.held).unwrap_or_default(),
            // Below the output, because a long one would move it off the screen.
            State::Direct => self.program.warn(),
            State::Paging(ref mut pager) => {
                drop(pager.stdin.take());
                // The shell's code for a program that it cannot run.
                let code = pager.wait().ok().and_then(|status| status.code());
                if matches!(code, Some(126 | 127)) {
                    self.program.warn();
                }
            }
        }
    }
}

impl Write for Paged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.state {
            State::Direct => io::stdout().write(bytes),
            State::Paging(pager) => match &mut pager.stdin {
                Some(pipe) => pipe.write(bytes),
                None => Err(io::ErrorKind::BrokenPipe.into()),
            },
            State::Holding => {
                self.held.extend_from_slice(bytes);
                self.lines += bytes.iter().filter(|&&byte| byte == b'\n').count();
                if self.lines > self.room {
                    self.begin()?;
                }
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.state {
            State::Direct => io::stdout().flush(),
            State::Holding | State::Paging(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Program;

    fn check(own: Option<&str>, common: Option<&str>, term: &str, expect: Option<&Program>) {
        let values = [(own, "HOLLOWAY_PAGER"), (common, "PAGER")];
        let values = values.map(|(value, name)| (value.map(str::to_owned), name));
        assert_eq!(Program::of(values, term).as_ref(), expect);
    }

    #[test]
    fn the_first_variable_wins() {
        let other = |line: &str, name| Program::Other(line.to_owned(), name);
        check(None, None, "xterm", Some(&Program::Less));
        check(None, Some("more"), "xterm", Some(&other("more", "PAGER")));
        let own = other("most -s", "HOLLOWAY_PAGER");
        check(Some("most -s"), Some("more"), "xterm", Some(&own));
    }

    #[test]
    fn the_pager_can_be_switched_off() {
        check(Some(""), Some("more"), "xterm", None);
        check(Some("cat"), None, "xterm", None);
        check(None, Some(""), "xterm", None);
        check(None, None, "dumb", None);
        check(None, None, "", None);
    }
}
