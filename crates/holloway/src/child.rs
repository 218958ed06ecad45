//! Running the program to profile: its signals, its exit code.
//!
//! Ctrl-C goes to the whole foreground process group, so the program gets it from the terminal; holloway only has
//! to stay alive to report. A signal sent to holloway alone is handed on: SIGTERM always, the terminal's own ones
//! (SIGINT, SIGQUIT, SIGHUP) where holloway is in the background.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};

use crate::failure::{Context, Result};

/// Runs `command` to its end, whatever signals arrive meanwhile. Its start may fail in ways the caller words.
pub(crate) fn run(command: &mut Command) -> std::io::Result<Result<ExitStatus>> {
    let forwarder = forward::Forwarder::start()?;
    let mut child = command.spawn()?;
    forwarder.hand_on_to(child.id());
    let status = child.wait().cannot(|| "wait for the program".to_owned());
    forwarder.stop();
    Ok(status)
}

/// The exit code to end with: the program's own, or 128+n when signal n killed it.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    let code = match status.signal() {
        Some(signal) => Some(128 + signal),
        None => status.code(),
    };
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(u8::MAX)
}

mod forward {
    //! A thread that receives our signals and hands on those the program did not get itself.

    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use rustix::process::{Pid, Signal, getpgrp, kill_process};
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    use signal_hook::iterator::Signals;

    /// The thread stays to the end of the process: once there is no child, a signal does what it does by default.
    pub(super) struct Forwarder {
        child: Arc<AtomicU32>,
    }

    impl Forwarder {
        pub(super) fn start() -> std::io::Result<Self> {
            let mut signals = Signals::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP])?;
            let child = Arc::new(AtomicU32::new(0));
            let receiver = Arc::clone(&child);
            std::thread::Builder::new()
                .name("signals".to_owned())
                .spawn(move || {
                    for signal in signals.forever() {
                        match receiver.load(Ordering::SeqCst) {
                            0 => drop(signal_hook::low_level::emulate_default_handler(signal)),
                            child => hand_on(signal, child),
                        }
                    }
                })?;
            Ok(Self { child })
        }

        pub(super) fn hand_on_to(&self, child: u32) {
            self.child.store(child, Ordering::SeqCst);
        }

        pub(super) fn stop(&self) {
            self.child.store(0, Ordering::SeqCst);
        }
    }

    fn hand_on(signal: i32, child: u32) {
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
            // The child may have ended just now; then there is nobody to tell.
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
