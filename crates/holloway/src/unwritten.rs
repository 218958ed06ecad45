//! Why a run has no profile: what can be found out about it once the program has ended.

use std::io::Write as _;
use std::path::Path;

use crate::{rundir, status};

/// Bytes that the smallest profile takes: head and one block of counters.
const LEAST: usize = 8192;

/// The reason that no program had, but its surroundings: nothing could be read, or written. Programs put data in `elsewhere` where they can't read their environment.
pub(crate) fn reason(directory: &Path, elsewhere: &Path) -> Option<String> {
    reason_by(Path::new("/proc/self/environ"), directory, elsewhere)
}

fn reason_by(environment: &Path, directory: &Path, elsewhere: &Path) -> Option<String> {
    let shown = status::shown(directory);
    if !environment.exists() {
        return Some(format!(
            "there is no /proc, so the program couldn't know of {shown}: its data went to a new directory in {}, name that to `holloway report`; or mount /proc",
            status::shown(elsewhere)
        ));
    }
    let try_it = || {
        let mut file = tempfile::Builder::new()
            .prefix(".holloway-")
            .tempfile_in(directory)?;
        file.write_all(&[0; LEAST])?;
        file.as_file().sync_data()
    };
    let error = try_it().err()?;
    Some(format!(
        "nothing can be written into {shown} ({}): make room, or name another directory with -o or {}",
        error.kind(),
        rundir::DATA
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_a_program_from_writing_is_told() {
        let directory = tempfile::tempdir().expect("a directory");
        let (here, runs) = (directory.path(), Path::new("target/runs"));
        assert_eq!(reason_by(here, here, runs), None);
        let without = reason_by(&here.join("environ"), here, runs).expect("no such file");
        assert!(
            without.contains("no /proc") && without.contains("in target/runs"),
            "{without}"
        );
        let gone = reason_by(here, &here.join("gone"), runs).expect("no such directory");
        assert!(gone.contains("gone (") && gone.contains("-o"), "{gone}");
    }
}
