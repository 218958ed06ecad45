//! Progress of work that takes more than a second: one line on stderr that moves, and disappears
//! when the work ends.
//!
//! Nothing is shown if stderr is no terminal, if `TERM` is `dumb` or unset, or in continuous
//! integration (`CI`).

use std::io::{self, IsTerminal as _, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use holloway_link::records::WeavingReader;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The time after which progress is shown. Shorter work shows none.
const DELAY: Duration = Duration::from_secs(1);
/// The time between two redraws.
const INTERVAL: Duration = Duration::from_millis(100);

/// The progress of some work. Dropping it erases the line.
pub(crate) struct Progress {
    bar: Option<Bar>,
}

/// A line that is drawn after [`DELAY`].
struct Bar {
    bar: Arc<ProgressBar>,
    /// Dropping the sender ends the thread that draws.
    _end: Sender<()>,
}

impl Progress {
    /// Begins work. `word` is in the style of cargo's status lines, such as `Loading`.
    pub(crate) fn start(word: &str, text: &str) -> Self {
        Self {
            bar: wants_progress().then(|| Bar::start(word, text)),
        }
    }

    /// Changes the text.
    pub(crate) fn set(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.bar.set_message(text.to_owned());
        }
    }

    /// Erases the line, because the work has ended or other text will be printed.
    pub(crate) fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.bar.finish_and_clear();
        }
    }

    /// A writer to `out` that erases the line before the first write.
    pub(crate) fn before<'a>(&'a mut self, out: &'a mut dyn Write) -> impl Write + 'a {
        EndingWriter {
            progress: self,
            out,
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

impl Bar {
    fn start(word: &str, text: &str) -> Self {
        let style = ProgressStyle::with_template("{prefix:>12.cyan.bold} {wide_msg} {elapsed}")
            .expect("a valid template");
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(style);
        bar.set_prefix(word.to_owned());
        bar.set_message(text.to_owned());
        let bar = Arc::new(bar);
        let (end, ended) = mpsc::channel::<()>();
        let shown = Arc::clone(&bar);
        // If the thread cannot be started, no progress is shown.
        let thread = std::thread::Builder::new().name("progress".to_owned());
        let waiting = thread.spawn(move || {
            if ended.recv_timeout(DELAY) == Err(RecvTimeoutError::Timeout) && !shown.is_finished() {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(INTERVAL);
            }
        });
        drop(waiting);
        Self { bar, _end: end }
    }
}

/// Shows the modules that the links of a cargo build weave. rustc hides the output of linkers, so
/// the links leave records. Cargo draws its own progress on the same line when its jobs change, and
/// erases the line before it prints a message.
pub(crate) struct WeavingWatch {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl WeavingWatch {
    /// Starts to watch. If the thread cannot be started, no progress is shown.
    pub(crate) fn start(records: WeavingReader) -> Self {
        let (end, ended) = mpsc::channel::<()>();
        let thread = std::thread::Builder::new().name("weaving".to_owned());
        let watch = move || {
            let mut shown: Option<Progress> = None;
            while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                match records.read().first() {
                    Some(text) => shown
                        .get_or_insert_with(|| Progress::start("Weaving", text))
                        .set(text),
                    None => shown = None,
                }
            }
        };
        Self {
            end: Some(end),
            thread: thread.spawn(watch).ok(),
        }
    }
}

impl Drop for WeavingWatch {
    fn drop(&mut self) {
        self.end.take();
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, the panic has printed its message.
            thread.join().ok();
        }
    }
}

/// Whether to show progress.
pub(crate) fn wants_progress() -> bool {
    let variable = |name| std::env::var(name).unwrap_or_default();
    io::stderr().is_terminal() && is_suitable(&variable("CI"), &variable("TERM"))
}

/// Whether these values of `CI` and `TERM` allow a line that moves.
fn is_suitable(ci: &str, term: &str) -> bool {
    let is_ci = !matches!(ci, "" | "0" | "false");
    !is_ci && !matches!(term, "" | "dumb")
}

/// A writer that erases a line of progress before the first write.
struct EndingWriter<'a> {
    progress: &'a mut Progress,
    out: &'a mut dyn Write,
}

impl Write for EndingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.progress.end();
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::is_suitable;

    #[test]
    fn lines_move_only_on_capable_terminals() {
        assert!(is_suitable("", "xterm-256color"));
        assert!(is_suitable("false", "xterm"));
        assert!(!is_suitable("true", "xterm"));
        assert!(!is_suitable("1", "xterm"));
        assert!(!is_suitable("", "dumb"));
        assert!(!is_suitable("", ""));
    }
}
