//! Finds out from `/proc` whether the process that wrote a profile still runs.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use holloway_format::raw::RawHead;
use procfs::FromRead as _;
use procfs::process::Stat;

/// Nanoseconds of a clock tick, the unit of process start times in `/proc`. The runtime uses the
/// same value.
const TICK_NS: u64 = 10_000_000;

/// Returns whether the process that wrote a raw profile has ended: no running process has its id
/// and its start time. Returns `false` for a process in another PID namespace (a container),
/// because this process cannot look it up.
pub(crate) fn has_ended(head: &RawHead) -> bool {
    let namespace = head.pid_namespace;
    if namespace != 0 && this_namespace().is_some_and(|this| this != namespace) {
        return false;
    }
    let pid = head.profile.pid;
    let Ok(stat) = std::fs::File::open(format!("/proc/{pid}/stat")) else {
        return Path::new("/proc/self/stat").exists() && !exists(pid);
    };
    let Ok(stat) = Stat::from_read(stat) else {
        return false;
    };
    let recorded_start = head.boot_start;
    !runs(&stat) || recorded_start != 0 && start(&stat) != recorded_start
}

/// Returns whether a running collector takes the words out of the profile's rings. That collector
/// will store the results.
pub(crate) fn is_collected(head: &RawHead) -> bool {
    head.collector != 0 && exists(head.collector)
}

fn exists(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// Returns the number of this process's PID namespace: the inode of `/proc/self/ns/pid`, which the
/// runtime records too.
fn this_namespace() -> Option<u64> {
    let namespace = std::fs::metadata("/proc/self/ns/pid").ok()?;
    Some(namespace.ino())
}

/// Returns whether a thread of the process still runs. If the main thread ends before the other
/// threads, it is a zombie until they end.
fn runs(stat: &Stat) -> bool {
    !matches!(stat.state, 'Z' | 'X') || stat.num_threads > 1
}

/// Returns the start time of the process in nanoseconds on the boot clock. The runtime computes the
/// same value.
fn start(stat: &Stat) -> u64 {
    stat.starttime.saturating_mul(TICK_NS)
}

#[cfg(test)]
mod tests {
    use holloway_format::ProfileHead;
    use holloway_testkit::raw::RawWriter;

    use super::*;

    /// A line of `/proc/<pid>/stat`. The process name contains a parenthesis.
    fn stat(state: &str, threads: u32, ticks: u32) -> String {
        let other_fields = [" 0"; 30].concat();
        format!(
            "42 (a) b) {state} 1 42 42 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 {threads} 0 {ticks}{other_fields}"
        )
    }

    #[test]
    fn a_process_runs_as_long_as_one_of_its_threads() {
        let parse = |text: &str| Stat::from_read(text.as_bytes()).ok();
        let runs = |state, threads| parse(&stat(state, threads, 7)).map(|stat| runs(&stat));
        assert_eq!(runs("S", 1), Some(true));
        assert_eq!(runs("Z", 1), Some(false));
        assert_eq!(runs("Z", 2), Some(true));
        assert!(parse("42 (a").is_none());
    }

    /// The head of a raw profile of process `pid`. The field at `offset` has the given value.
    fn raw_head(pid: u32, offset: usize, field: u64) -> RawHead {
        let head = ProfileHead {
            pid,
            ..ProfileHead::default()
        };
        let mut raw = RawWriter::new(head, 4096 - 64).finish();
        raw[offset..offset + 8].copy_from_slice(&field.to_le_bytes());
        RawHead::read(&raw).expect("a head")
    }

    #[test]
    fn a_process_with_another_start_time_is_another_process() {
        let file = std::fs::File::open("/proc/self/stat").expect("this process");
        let start = start(&Stat::from_read(file).expect("a whole line"));
        let head = |boot_start: u64| raw_head(std::process::id(), 80, boot_start);
        assert!(!has_ended(&head(start)));
        assert!(has_ended(&head(start + 10_000_000)));
        assert!(!has_ended(&head(0)), "unknown");
    }

    #[test]
    fn a_process_of_another_namespace_may_still_run() {
        // No process can have this id.
        let head = |namespace: u64| raw_head(u32::MAX, 88, namespace);
        let this = this_namespace().expect("a namespace");
        assert!(has_ended(&head(this)));
        assert!(has_ended(&head(0)), "unknown");
        assert!(!has_ended(&head(this + 1)));
    }
}
