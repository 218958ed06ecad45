//! The processes that run when a monitor starts: their threads, child processes, and mappings.

use std::collections::{BTreeMap, BTreeSet};

use procfs::process::{MMPermissions, MMapPath, Process, all_processes};

use crate::address_spaces::{Action, Event, FileIdentity, MappedFile};

/// The process ids of a process and its descendants; all processes if `root` is `None`.
pub(crate) fn running(root: Option<u32>) -> BTreeSet<u32> {
    let processes = all_processes().into_iter().flatten().flatten();
    let parents: BTreeMap<u32, u32> = processes
        .filter_map(|process| {
            let stat = process.stat().ok()?;
            Some((stat.pid as u32, stat.ppid as u32))
        })
        .collect();
    let is_below = |root: u32, mut process: u32| {
        // The table is a snapshot of many moments, so it may contain a cycle.
        for _ in 0..parents.len() {
            if process == root {
                return true;
            }
            match parents.get(&process) {
                Some(&parent) => process = parent,
                None => return false,
            }
        }
        false
    };
    let all = parents.keys().copied();
    all.filter(|&process| root.is_none_or(|root| is_below(root, process)))
        .collect()
}

/// The threads of a process. Empty if it has ended.
pub(crate) fn threads(process: u32) -> Vec<u32> {
    let tasks = Process::new(process as i32).and_then(|process| process.tasks());
    let tasks = tasks.into_iter().flatten().flatten();
    tasks.map(|task| task.tid as u32).collect()
}

/// The events that lead to the present state of a process: its mappings of code and its threads.
pub(crate) fn state(process: u32) -> Vec<Event> {
    let event = |action| Event {
        time: 0,
        process,
        action,
    };
    let maps = Process::new(process as i32).and_then(|process| process.maps());
    let maps = maps.map(|maps| maps.0).unwrap_or_default();
    let code = maps
        .into_iter()
        .filter(|map| map.perms.contains(MMPermissions::EXECUTE));
    let mut events = vec![event(Action::Exec)];
    events.extend(code.filter_map(|map| {
        let path = match map.pathname {
            MMapPath::Path(path) => path,
            MMapPath::Vdso => "[vdso]".into(),
            _ => return None,
        };
        let identity = FileIdentity::Inode {
            device: (map.dev.0 as u32, map.dev.1 as u32),
            inode: map.inode,
        };
        Some(event(Action::Map {
            start: map.address.0,
            length: map.address.1.saturating_sub(map.address.0),
            offset: map.offset,
            file: MappedFile { path, identity },
        }))
    }));
    let threads = threads(process).len().saturating_sub(1);
    events.extend((0..threads).map(|_| event(Action::ThreadStart)));
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_found_with_its_program() {
        let own = std::process::id();
        assert!(running(None).contains(&own));
        assert!(running(Some(own)).contains(&own));
        assert!(!running(Some(own)).contains(&1));
        assert!(threads(own).contains(&own));
        let program = std::env::current_exe().expect("this program");
        let is_program = |event: &Event| match &event.action {
            Action::Map { file, .. } => file.path == program,
            _ => false,
        };
        assert!(state(own).iter().any(is_program));
    }
}
