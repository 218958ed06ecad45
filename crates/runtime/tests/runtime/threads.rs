//! Tests that sums over threads are exact, for all ways to start threads and all orders of their
//! ends.

use crate::harness::{Libc, only, scenario, test_with_each_libc};

test_with_each_libc! {
    one_thread,
    thousand_threads_at_once,
    thousand_threads_in_turn_share_a_few_blocks,
    waves_of_threads_take_over_from_each_other,
    threads_of_c11_and_of_timers,
    before_main_after_main_and_in_thread_destructors,
    main_thread_ends_first,
}

fn one_thread(libc: Libc) {
    let profile = only(scenario(libc, "threads.c", "one"));
    assert_eq!(profile.counters, [(1, 100)].into());
    assert_eq!(
        profile.hashes[&2],
        [(0, 10), (1, 10), (2, 10), (3, 10), (4, 10)].into()
    );
    assert_eq!(
        (profile.blocks, profile.segments, profile.threads),
        (1, 1, 1)
    );
    assert_eq!(
        (profile.lost, profile.flags, profile.name.as_str()),
        (0, 0, "harness")
    );
    assert!(
        profile.path.ends_with("/threads-one/threads"),
        "{}",
        profile.path
    );
    assert!(profile.boot_start > 0);
}

fn thousand_threads_at_once(libc: Libc) {
    let profile = only(scenario(libc, "threads.c", "thousand-at-once"));
    assert_eq!(profile.counters, [(1, 2_000_000)].into());
    assert_eq!(profile.hashed(2, 7), 2_000);
    assert_eq!(
        (profile.blocks, profile.threads, profile.lost),
        (1_000, 1_000, 0)
    );
}

fn thousand_threads_in_turn_share_a_few_blocks(libc: Libc) {
    let profile = only(scenario(libc, "threads.c", "thousand-in-turn"));
    assert_eq!(profile.counters, [(1, 10_000)].into());
    assert_eq!(profile.hashed(2, 3), 1_000);
    assert_eq!(profile.threads, 1_000);
    assert!(profile.blocks < 20, "{} blocks", profile.blocks);
}

fn waves_of_threads_take_over_from_each_other(libc: Libc) {
    let profile = only(scenario(libc, "threads.c", "waves"));
    assert_eq!(profile.counters, [(1, 20_000)].into());
    assert_eq!(profile.hashed(2, 3), 2_000);
    assert!(profile.blocks < 200, "{} blocks", profile.blocks);
}

fn threads_of_c11_and_of_timers(libc: Libc) {
    let profile = only(scenario(libc, "threads.c", "origins"));
    assert_eq!(profile.counters, [(1, 10), (2, 10)].into());
}

fn before_main_after_main_and_in_thread_destructors(libc: Libc) {
    let mut profile = only(scenario(libc, "threads.c", "lifetimes"));
    assert!(
        profile.counters.remove(&17) > Some(0),
        "a thread that outlives main"
    );
    assert_eq!(
        profile.counters.remove(&10),
        (!libc.is_musl()).then_some(1),
        "musl has no constructors before others"
    );
    assert_eq!(
        profile.counters,
        [(11, 1), (12, 1), (13, 1), (14, 1), (15, 3), (16, 1)].into()
    );
    assert_eq!(profile.hashed(2, 13), 1);
}

fn main_thread_ends_first(libc: Libc) {
    let profile = only(scenario(libc, "threads.c", "main-first"));
    assert_eq!(profile.counters, [(1, 11)].into());
}
