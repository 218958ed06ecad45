//! Running the program to profile: its signals, its exit code.
//!
//! Ctrl-C goes to the whole foreground process group, so the program gets it from the terminal;
//! holloway only has to stay alive to report. A signal sent to holloway alone is forwarded: SIGTERM
//! always, the terminal's own signals (SIGINT, SIGQUIT, SIGHUP) if holloway runs in the background.
//! A signal that arrives just after the program's end was meant for the program too, and is
//! ignored: the results are still being written then. Later signals end holloway as usual.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};

use crate::error::RunError;

/// Runs `command` to its end, whatever signals arrive meanwhile.
///
/// # Errors
/// The program cannot be started, or its end cannot be waited for.
pub fn run(command: &mut Command) -> Result<ExitStatus, RunError> {
    let forwarder = forward::Forwarder::start().map_err(RunError::Start)?;
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            forwarder.stop();
            return Err(RunError::Start(error));
        }
    };
    forwarder.forward_to(child.id());
    let status = child.wait().map_err(RunError::Wait);
    forwarder.stop();
    status
}

/// The exit code to end with: the program's own, or 128+n when signal n killed it.
pub fn exit_code(status: ExitStatus) -> u8 {
    let code = match status.signal() {
        Some(signal) => Some(128 + signal),
        None => status.code(),
    };
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(u8::MAX)
}

mod forward {
    //! A thread that receives our signals. It forwards the signals that the program did not get
    //! itself.

    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Arc, OnceLock};
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Signal, getpgrp, kill_process};
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    use signal_hook::iterator::Signals;

    /// In place of a process id: there is no child.
    const NONE: u32 = 0;
    /// In place of a process id: the child is being started, and may run before its id is known
    /// here.
    const STARTING: u32 = u32::MAX;

    /// For this long after the program's end, a signal still counts as the program's: `timeout` and
    /// terminals send the same signal to both, some of them twice.
    const AFTERMATH: Duration = Duration::from_secs(1);

    /// The thread stays to the end of the process: without a child, a signal has its default
    /// effect.
    pub(super) struct Forwarder {
        child: Arc<AtomicU32>,
        ended: Arc<OnceLock<Instant>>,
    }

    impl Forwarder {
        pub(super) fn start() -> std::io::Result<Self> {
            let mut signals = Signals::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP])?;
            let child = Arc::new(AtomicU32::new(STARTING));
            let ended: Arc<OnceLock<Instant>> = Arc::default();
            let (receiver, end) = (Arc::clone(&child), Arc::clone(&ended));
            std::thread::Builder::new()
                .name("signals".to_owned())
                .spawn(move || {
                    for signal in signals.forever() {
                        match started(&receiver) {
                            NONE if end.get().is_some_and(|end| end.elapsed() < AFTERMATH) => {}
                            NONE => drop(signal_hook::low_level::emulate_default_handler(signal)),
                            child => forward(signal, child),
                        }
                    }
                })?;
            Ok(Self { child, ended })
        }

        pub(super) fn forward_to(&self, child: u32) {
            self.child.store(child, Ordering::SeqCst);
        }

        pub(super) fn stop(&self) {
            self.ended.get_or_init(Instant::now);
            self.child.store(NONE, Ordering::SeqCst);
        }
    }

    /// The child's id, waited for while it is being started (a millisecond).
    fn started(child: &AtomicU32) -> u32 {
        loop {
            match child.load(Ordering::SeqCst) {
                STARTING => std::thread::sleep(Duration::from_millis(1)),
                known => return known,
            }
        }
    }

    fn forward(signal: i32, child: u32) {
        // The terminal's own signals reach the foreground group's every process.
        if signal != SIGTERM && in_foreground() {
            return;
        }
        let named = match signal {
            SIGINT => Signal::INT,
            SIGQUIT => Signal::QUIT,
            SIGHUP => Signal::HUP,
            _ => Signal::TERM,
        };
        if let Some(pid) = i32::try_from(child).ok().and_then(Pid::from_raw) {
            // The child may have ended just now.
            kill_process(pid, named).ok();
        }
    }

    fn in_foreground() -> bool {
        let Ok(terminal) = std::fs::File::open("/dev/tty") else {
            return false;
        };
        rustix::termios::tcgetpgrp(&terminal).is_ok_and(|group| group == getpgrp())
    }
}
