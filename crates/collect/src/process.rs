//! Finds out, from `/proc`, whether a process still runs.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use holloway_format::raw::RawHead;
use procfs::FromRead as _;
use procfs::process::Stat;

/// Nanoseconds of a tick, in which `/proc` tells when a process began: the runtime's own figure.
const TICK: u64 = 10_000_000;

/// Whether the process that wrote a raw profile is gone: no process with its id began when it
/// began. A process of another PID namespace (a container) cannot be looked up, and may still be
/// counting.
pub(crate) fn has_ended(head: &RawHead) -> bool {
    let namespace = head.pid_namespace;
    if namespace != 0 && own_namespace().is_some_and(|own| own != namespace) {
        return false;
    }
    let pid = head.profile.pid;
    let Ok(stat) = std::fs::File::open(format!("/proc/{pid}/stat")) else {
        return Path::new("/proc/self/stat").exists() && !exists(pid);
    };
    let Ok(stat) = Stat::from_read(stat) else {
        return false;
    };
    let recorded = head.boot_start;
    !runs(&stat) || recorded != 0 && start(&stat) != recorded
}

/// Whether a live collector takes the words out of the profile's rings. Then that collector stores
/// them.
pub(crate) fn is_collected(head: &RawHead) -> bool {
    head.collector != 0 && exists(head.collector)
}

fn exists(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// This process's PID namespace, as the runtime names it.
fn own_namespace() -> Option<u64> {
    let namespace = std::fs::metadata("/proc/self/ns/pid").ok()?;
    Some(namespace.ino())
}

/// Whether a thread of the process is left. A first thread that ended before the others is a zombie
/// until they end.
fn runs(stat: &Stat) -> bool {
    !matches!(stat.state, 'Z' | 'X') || stat.num_threads > 1
}

/// When the process began, in nanoseconds on the boot clock, as the runtime computes it.
fn start(stat: &Stat) -> u64 {
    stat.starttime.saturating_mul(TICK)
}

#[cfg(test)]
mod tests {
    use holloway_format::ProfileHead;
    use holloway_testkit::raw::RawWriter;

    use super::*;

    /// A line of `/proc/<pid>/stat`, with a name that looks like the end of a name.
    fn stat(state: &str, threads: u32, ticks: u32) -> String {
        let rest = [" 0"; 30].concat();
        format!(
            "42 (a) b) {state} 1 42 42 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 {threads} 0 {ticks}{rest}"
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

    /// A raw profile of process `pid`, with `field` at `offset` of its head.
    fn raw(pid: u32, offset: usize, field: u64) -> RawHead {
        let head = ProfileHead {
            pid,
            ..ProfileHead::default()
        };
        let mut raw = RawWriter::new(head, 4096 - 64).finish();
        raw[offset..offset + 8].copy_from_slice(&field.to_le_bytes());
        RawHead::read(&raw).expect("a head")
    }

    #[test]
    fn another_process_of_the_same_id_began_at_another_time() {
        let own = std::fs::File::open("/proc/self/stat").expect("this process");
        let began = start(&Stat::from_read(own).expect("a whole line"));
        let raw = |boot_start: u64| raw(std::process::id(), 80, boot_start);
        assert!(!has_ended(&raw(began)));
        assert!(has_ended(&raw(began + 10_000_000)));
        assert!(!has_ended(&raw(0)), "unknown");
    }

    #[test]
    fn a_process_of_another_namespace_may_still_count() {
        // Above the largest id there can be.
        let raw = |namespace: u64| raw(u32::MAX, 88, namespace);
        let own = own_namespace().expect("a namespace");
        assert!(has_ended(&raw(own)));
        assert!(has_ended(&raw(0)), "unknown");
        assert!(!has_ended(&raw(own + 1)));
    }
}
