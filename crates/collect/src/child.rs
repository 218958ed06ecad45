//! Runs the program to profile as a child process, forwards signals to it, and returns its exit
//! code.
//!
//! When the user presses Ctrl-C, the terminal sends SIGINT to the whole foreground process group.
//! So the program gets the signal from the terminal, and holloway only has to survive to report. A
//! signal that reaches only holloway is forwarded to the program: SIGTERM always, and the signals
//! that terminals send (SIGINT, SIGQUIT, SIGHUP) if holloway runs in the background.
//!
//! A program may exit as usual at once when it gets such a signal. The run still counts as
//! interrupted: the signal's handler marks it, and the kernel runs the handler before the wait for
//! the program returns.
//!
//! A signal that arrives shortly after the program's end was probably meant for the program, too.
//! It is ignored, because holloway is still writing the results. Later signals end holloway as
//! usual.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use holloway_analysis::Interrupt;
use wait4::{ResUse, ResourceUsage, Wait4 as _};

use crate::error::RunError;

/// How a program ended.
#[derive(Clone, Copy, Debug)]
pub struct ProgramEnd {
    /// Its exit status.
    pub status: ExitStatus,
    /// The first signal that asked the program or holloway to end, if there was one. Many programs
    /// handle such a signal and exit as usual.
    pub interrupt: Option<Interrupt>,
}

/// Runs `command` to its end. Signals to this process do not end it meanwhile.
///
/// # Errors
/// If the program cannot be started, or waiting for its end fails.
pub fn run(command: &mut Command) -> Result<ProgramEnd, RunError> {
    run_measured(command).map(|(end, _)| end)
}

/// Runs `command` to its end, as [`run`] does. Returns the CPU time, too: in user and kernel code,
/// of the program and of the child processes that it waited for.
///
/// # Errors
/// If the program cannot be started, or waiting for its end fails.
pub fn run_timed(command: &mut Command) -> Result<(ProgramEnd, Duration), RunError> {
    let (end, usage) = run_measured(command)?;
    Ok((end, usage.utime + usage.stime))
}

/// Runs `command` to its end, as [`run`] does. Returns the CPU time, too: of the program and of the
/// child processes that it waited for.
///
/// # Errors
/// If the program cannot be started, or waiting for its end fails.
pub(crate) fn run_measured(command: &mut Command) -> Result<(ProgramEnd, ResourceUsage), RunError> {
    let forwarder = forward::Forwarder::start().map_err(RunError::Start)?;
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            forwarder.stop();
            return Err(RunError::Start(error));
        }
    };
    forwarder.forward_to(child.id());
    let used = child.wait4().map_err(RunError::Wait);
    let first_signal = forwarder.stop();
    let ResUse { status, rusage } = used?;
    let signal = first_signal.or(status.signal());
    let end = ProgramEnd {
        status,
        interrupt: signal.and_then(Interrupt::from_number),
    };
    Ok((end, rusage))
}

/// Returns the exit code for holloway: the program's exit code, or 128 + n if signal n killed the
/// program.
pub fn exit_code(status: ExitStatus) -> u8 {
    let code = match status.signal() {
        Some(signal) => Some(128 + signal),
        None => status.code(),
    };
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(u8::MAX)
}

mod forward {
    //! A thread that receives the signals to holloway. It forwards the signals that the program did
    //! not get from the terminal.

    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use std::sync::{Arc, OnceLock};
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Signal, getpgrp, kill_process};
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::unregister;
    use signal_hook::{SigId, flag};

    /// The signals that ask a program to end.
    const SIGNALS: [i32; 4] = [SIGINT, SIGQUIT, SIGTERM, SIGHUP];

    /// The value of [`Forwarder::child`] while there is no child.
    const NONE: u32 = 0;
    /// The value of [`Forwarder::child`] while the child is being started. The child may already
    /// run before its process id is known here.
    const STARTING: u32 = u32::MAX;

    /// The time after the program's end in which signals are ignored. `timeout` and terminals send
    /// the same signal to the program and to holloway, and some of them send it twice.
    const GRACE_PERIOD: Duration = Duration::from_secs(1);

    /// The thread that forwards signals. It runs to the end of the process. Without a child, a
    /// signal has its default effect.
    pub(super) struct Forwarder {
        /// The process id of the child, [`NONE`], or [`STARTING`].
        child: Arc<AtomicU32>,
        /// The time when the child ended.
        ended: Arc<OnceLock<Instant>>,
        /// The first signal that the thread received while the child ran.
        first_signal: Arc<OnceLock<i32>>,
        /// The marks of the signals that arrived. The thread may be later than the child's end.
        marks: Vec<SignalMark>,
    }

    /// A mark that the handler of a signal sets.
    struct SignalMark {
        signal: i32,
        has_arrived: Arc<AtomicBool>,
        handler: SigId,
    }

    impl SignalMark {
        fn register(signal: i32) -> std::io::Result<Self> {
            let has_arrived: Arc<AtomicBool> = Arc::default();
            let handler = flag::register(signal, Arc::clone(&has_arrived))?;
            Ok(Self {
                signal,
                has_arrived,
                handler,
            })
        }
    }

    impl Drop for SignalMark {
        fn drop(&mut self) {
            unregister(self.handler);
        }
    }

    impl Forwarder {
        pub(super) fn start() -> std::io::Result<Self> {
            let marks = SIGNALS.map(SignalMark::register).into_iter();
            let marks = marks.collect::<std::io::Result<_>>()?;
            let mut signals = Signals::new(SIGNALS)?;
            let child = Arc::new(AtomicU32::new(STARTING));
            let ended: Arc<OnceLock<Instant>> = Arc::default();
            let (thread_child, thread_ended) = (Arc::clone(&child), Arc::clone(&ended));
            let first_signal: Arc<OnceLock<i32>> = Arc::default();
            let thread_signal = Arc::clone(&first_signal);
            std::thread::Builder::new()
                .name("signals".to_owned())
                .spawn(move || {
                    for signal in signals.forever() {
                        let is_grace_period = || {
                            thread_ended
                                .get()
                                .is_some_and(|end| end.elapsed() < GRACE_PERIOD)
                        };
                        match wait_until_started(&thread_child) {
                            NONE if is_grace_period() => {}
                            NONE => drop(signal_hook::low_level::emulate_default_handler(signal)),
                            child => {
                                thread_signal.get_or_init(|| signal);
                                forward(signal, child);
                            }
                        }
                    }
                })?;
            Ok(Self {
                child,
                ended,
                first_signal,
                marks,
            })
        }

        pub(super) fn forward_to(&self, child: u32) {
            self.child.store(child, Ordering::SeqCst);
        }

        /// Stops forwarding. Returns the first signal that arrived while the child ran.
        pub(super) fn stop(self) -> Option<i32> {
            let mut marks = self.marks.iter();
            let marked = marks.find(|mark| mark.has_arrived.load(Ordering::SeqCst));
            let marked = marked.map(|mark| mark.signal);
            let first = self.first_signal.get().copied().or(marked);
            self.ended.get_or_init(Instant::now);
            self.child.store(NONE, Ordering::SeqCst);
            first
        }
    }

    /// Waits while the child is being started. Returns its process id, or [`NONE`].
    fn wait_until_started(child: &AtomicU32) -> u32 {
        loop {
            match child.load(Ordering::SeqCst) {
                STARTING => std::thread::sleep(Duration::from_millis(1)),
                id => return id,
            }
        }
    }

    fn forward(signal: i32, child: u32) {
        // A terminal sends these signals to every process of the foreground process group.
        if signal != SIGTERM && in_foreground() {
            return;
        }
        let signal = match signal {
            SIGINT => Signal::INT,
            SIGQUIT => Signal::QUIT,
            SIGHUP => Signal::HUP,
            _ => Signal::TERM,
        };
        if let Some(pid) = i32::try_from(child).ok().and_then(Pid::from_raw) {
            // The child may have ended just now.
            kill_process(pid, signal).ok();
        }
    }

    fn in_foreground() -> bool {
        let Ok(terminal) = std::fs::File::open("/dev/tty") else {
            return false;
        };
        rustix::termios::tcgetpgrp(&terminal).is_ok_and(|group| group == getpgrp())
    }
}
