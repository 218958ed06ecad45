//! The mark of a run that a signal ended early: the file `interrupted` in the run's directory, with
//! the signal's name. Reports read it, so that a later `holloway report` says so too.

use std::path::Path;

use holloway_analysis::Interrupt;

/// The name of the file.
const INTERRUPTED: &str = "interrupted";

/// Marks a run. If the file cannot be written, reports do not say that the run was interrupted.
pub fn mark(run: &Path, interrupt: Interrupt) {
    std::fs::write(run.join(INTERRUPTED), format!("{}\n", interrupt.name())).ok();
}

/// The signal that ended a run early, if it is marked. `run` is a run's directory or a file in it.
pub(crate) fn read(run: &Path) -> Option<Interrupt> {
    let directory = if run.is_dir() { run } else { run.parent()? };
    let text = std::fs::read_to_string(directory.join(INTERRUPTED)).ok()?;
    Interrupt::from_name(text.trim())
}

#[cfg(test)]
mod tests {
    use super::{mark, read};
    use holloway_analysis::Interrupt;

    #[test]
    fn a_mark_is_read_for_the_run_and_for_its_files() {
        let run = tempfile::tempdir().expect("a directory");
        assert_eq!(read(run.path()), None);
        for signal in Interrupt::ALL {
            mark(run.path(), signal);
            assert_eq!(read(run.path()), Some(signal));
            assert_eq!(read(&run.path().join("7-app.hwp")), Some(signal));
            assert_eq!(Interrupt::from_number(signal.number()), Some(signal));
        }
        std::fs::write(run.path().join("interrupted"), "SIGSEGV").expect("written");
        assert_eq!(read(run.path()), None);
    }
}
