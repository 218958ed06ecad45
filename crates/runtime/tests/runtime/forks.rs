//! Tests forks: the counts of parent and child are exact for every kind of fork.

use crate::harness::{Libc, Profile, only, scenario, test_with_each_libc};

test_with_each_libc! {
    parent_and_child,
    grandchildren,
    forks_among_threads,
    a_thread_that_never_entered_forks,
    a_process_that_never_entered_forks,
    fork_handlers_of_the_program,
    signal_masks,
    fork_in_a_signal_handler,
    vfork_and_exec,
    first_enter_in_a_vfork,
    spawn_and_system,
    exec_of_itself,
    raw_clone,
    a_hundred_generations,
}

/// The profile of a scenario's first process, and the profiles of its children.
fn parent_and_children(libc: Libc, name: &str) -> (Profile, Vec<Profile>) {
    let mut all = scenario(libc, "forks.c", name);
    all.sort_by_key(|profile| profile.flags);
    let parent = all.remove(0);
    assert_eq!(parent.flags, 0);
    assert!(all.iter().all(|child| child.flags == 1 && child.lost == 0));
    (parent, all)
}

fn parent_and_child(libc: Libc) {
    let (parent, children) = parent_and_children(libc, "simple");
    let child = only(children);
    assert_eq!(
        (&parent.counters, parent.hashed(2, 1), parent.hash_sum(2)),
        (&[(1, 110)].into(), 2, 2)
    );
    assert_eq!(
        (&child.counters, child.hashed(2, 1), child.hash_sum(2)),
        (&[(1, 7)].into(), 1, 2)
    );
    assert_eq!(child.ppid, parent.pid);
    assert_eq!((child.threads, &child.path), (1, &parent.path));
    assert!(child.boot_start >= parent.boot_start);
    let namespace = std::fs::metadata("/proc/self/ns/pid").unwrap();
    let inode = std::os::unix::fs::MetadataExt::ino(&namespace);
    assert_eq!((parent.pid_namespace, child.pid_namespace), (inode, inode));
}

fn grandchildren(libc: Libc) {
    let (parent, children) = parent_and_children(libc, "nested");
    let [child, grandchild] = &children[..] else {
        panic!("{children:?}")
    };
    let (child, grandchild) = if child.ppid == parent.pid {
        (child, grandchild)
    } else {
        (grandchild, child)
    };
    assert_eq!(grandchild.ppid, child.pid);
    assert_eq!(
        (parent.counter(1), child.counter(1), grandchild.counter(1)),
        (2, 20, 100)
    );
    assert_eq!(
        (
            parent.hash_sum(2),
            child.hash_sum(2),
            grandchild.hash_sum(2)
        ),
        (0, 1, 1)
    );
}

fn forks_among_threads(libc: Libc) {
    let (parent, children) = parent_and_children(libc, "threaded");
    assert_eq!(
        (parent.counter(1), parent.counter(2), parent.counter(5)),
        (180, 0, 60)
    );
    assert_eq!(parent.counter(3), parent.hash_sum(4));
    assert_eq!(children.len(), 60);
    for child in children {
        assert_eq!(child.counters, [(2, 7), (5, 1)].into());
        assert_eq!((child.hash_sum(4), child.threads), (0, 2));
    }
}

fn a_thread_that_never_entered_forks(libc: Libc) {
    let (parent, children) = parent_and_children(libc, "fresh-thread");
    assert_eq!(parent.counters, [(1, 100), (5, 1)].into());
    assert_eq!(only(children).counters, [(1, 7)].into());
}

fn a_process_that_never_entered_forks(libc: Libc) {
    let mut both = scenario(libc, "forks.c", "untouched");
    both.sort_by_key(|profile| profile.counter(1));
    let counts: Vec<_> = both
        .iter()
        .map(|profile| (profile.flags, profile.counter(1)))
        .collect();
    assert_eq!(counts, [(0, 7), (0, 100)]);
}

fn fork_handlers_of_the_program(libc: Libc) {
    let (parent, children) = parent_and_children(libc, "handlers");
    assert_eq!(parent.counters, [(1, 1), (2, 1)].into());
    assert_eq!(only(children).counters, [(3, 1)].into());
}

fn signal_masks(libc: Libc) {
    let (parent, children) = parent_and_children(libc, "masks");
    assert_eq!((parent.counter(1), only(children).counter(1)), (1, 0));
}

fn fork_in_a_signal_handler(libc: Libc) {
    let (parent, children) = parent_and_children(libc, "in-signal-handler");
    assert_eq!(parent.counters, [(1, 1), (2, 100), (3, 10)].into());
    assert_eq!(only(children).counters, [(2, 7)].into());
}

fn vfork_and_exec(libc: Libc) {
    let (parent, children) = parent_and_children(libc, "vforked");
    assert_eq!(parent.counters, [(1, 2), (2, 1)].into());
    assert!(children.is_empty());
}

fn first_enter_in_a_vfork(libc: Libc) {
    let profile = only(scenario(libc, "forks.c", "vfork-enters"));
    assert_eq!(profile.counters, [(1, 200_001), (5, 20)].into());
    // The main thread continues with the child's block. The 20 threads have other blocks.
    assert!(profile.blocks > 1, "{} blocks", profile.blocks);
    // The profile names the process that owns the memory, not its child.
    assert_eq!(profile.ppid, std::process::id());
}

fn spawn_and_system(libc: Libc) {
    let (parent, children) = parent_and_children(libc, "spawned");
    assert_eq!(parent.counters, [(1, 2)].into());
    assert!(children.is_empty());
}

fn exec_of_itself(libc: Libc) {
    let both = scenario(libc, "forks.c", "executed");
    let counters: Vec<_> = both
        .iter()
        .map(|profile| profile.counters.clone())
        .collect();
    assert!(
        counters.contains(&[(1, 5)].into()) && counters.contains(&[(2, 6)].into()),
        "{counters:?}"
    );
    assert_eq!(both.len(), 2);
    assert_eq!(both[0].pid, both[1].pid);
}

fn raw_clone(libc: Libc) {
    let (parent, children) = parent_and_children(libc, "raw");
    let child = only(children);
    assert_eq!(
        (&parent.counters, parent.hashed(2, 1), parent.hash_sum(2)),
        (&[(1, 105)].into(), 2, 2)
    );
    assert_eq!(
        (&child.counters, child.hashed(2, 1), child.hash_sum(2)),
        (&[(1, 7)].into(), 1, 2)
    );
}

fn a_hundred_generations(libc: Libc) {
    let all = scenario(libc, "forks.c", "generations");
    assert_eq!(all.len(), 101, "the last child counts nothing");
    let complete = all
        .iter()
        .filter(|profile| profile.counter(1) == 1 && profile.hash_sum(2) == 300);
    assert_eq!(complete.count(), 100);
}
