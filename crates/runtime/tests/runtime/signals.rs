//! Tests signals and kills: counts are exact with signals at any instruction, and a kill at any
//! time loses no finished path.

use crate::harness::{
    Libc, Profile, command, compile, kill, only, profiles, run, test_directory, test_with_each_libc,
};

test_with_each_libc! {
    signals_while_main_counts,
    a_signal_at_every_instruction,
    a_signal_at_every_instruction_of_a_new_slot,
    signals_while_threads_enter,
    first_enter_in_a_handler_takes_little_stack,
    kill_at_random_moments,
}

/// Runs a scenario. Returns the numbers that it printed, and its profile.
fn run_scenario(libc: Libc, name: &str) -> (Vec<u64>, Profile) {
    let program = compile(
        libc,
        &test_directory(libc, &format!("signals-{name}")),
        &["signals.c"],
        &[],
    );
    let (mut command, data) = command(&program, &[name]);
    let output = run(&mut command);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers = text
        .split_whitespace()
        .map(|number| number.parse().unwrap())
        .collect();
    (numbers, only(profiles(&data)))
}

fn signals_while_main_counts(libc: Libc) {
    let (numbers, profile) = run_scenario(libc, "storm");
    let (in_main, in_handler) = (numbers[0], numbers[1]);
    assert_eq!(profile.counter(1), in_main + in_handler);
    assert_eq!(profile.hash_sum(2), in_main + in_handler);
    for path in 0..20_000 {
        let first = path * 17_143 % 20_000; // 7 · 17,143 = 1 modulo 20,000
        let executions = |total: u64| (total + 19_999 - first) / 20_000;
        assert_eq!(
            profile.hashed(2, path),
            executions(in_main) + executions(in_handler),
            "path {path}"
        );
    }
    assert_eq!(profile.hash_sum(3), in_handler);
    assert!(profile.hashes[&3].values().all(|count| *count == 1));
}

fn a_signal_at_every_instruction(libc: Libc) {
    let (numbers, profile) = run_scenario(libc, "every-instruction");
    let (in_main, in_handler) = (numbers[0], numbers[1]);
    assert_eq!(in_main, 500);
    assert!(in_handler > 500 * 30, "{in_handler} traps");
    assert_eq!(profile.counter(1), 1 + in_main + in_handler);
    assert_eq!(profile.hashed(2, 5), 1 + in_main + in_handler);
    assert!((1..=in_handler).all(|i| profile.hashed(2, 1000 + i) == 1));
}

fn a_signal_at_every_instruction_of_a_new_slot(libc: Libc) {
    let (mut numbers, profile) = run_scenario(libc, "every-instruction-of-new");
    let in_handler = numbers.pop().unwrap();
    for (path, traps) in (0..).zip(numbers) {
        assert_eq!(profile.hashed(4, path), traps + 1, "path {path}");
    }
    let others: u64 = (1000..1040).map(|path| profile.hashed(4, path)).sum();
    assert_eq!((others, profile.segments), (in_handler, 1));
}

fn signals_while_threads_enter(libc: Libc) {
    let (numbers, profile) = run_scenario(libc, "storm-of-threads");
    assert_eq!(profile.counter(1), numbers[0] + numbers[1]);
    assert_eq!(profile.hash_sum(2), numbers[0] + numbers[1]);
}

fn first_enter_in_a_handler_takes_little_stack(libc: Libc) {
    let (used_stack, profile) = run_scenario(libc, "on-small-stack");
    assert_eq!((profile.counter(1), profile.hash_sum(2)), (1, 1));
    let program = compile(
        libc,
        &test_directory(libc, "signals-empty-handler"),
        &["signals.c"],
        &[],
    );
    let output = run(&mut command(&program, &["empty-handler"]).0);
    let empty: u64 = String::from_utf8(output.stdout)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert!(
        used_stack[0] - empty < 4096,
        "{} bytes of stack beyond an empty handler's {empty}",
        used_stack[0] - empty
    );
}

fn kill_at_random_moments(libc: Libc) {
    let test_directory = test_directory(libc, "signals-killed");
    let program = compile(libc, &test_directory, &["signals.c"], &[]);
    let mut seed = 12345_u64;
    for round in 0..50 {
        let (mut command, data) = command(&program, &["until-killed"]);
        let finished = kill(&mut command, &mut seed, 30_000);
        let profile = if data.exists() {
            profiles(&data)
        } else {
            Vec::new()
        };
        let profile = profile.into_iter().next().unwrap_or_default();
        let (counted, hashed) = (profile.counter(1), profile.hash_sum(2));
        assert!(
            counted == finished || counted == finished + 1,
            "{round}: {counted} for {finished}"
        );
        assert!(
            hashed == finished || hashed == finished + 1,
            "{round}: {hashed} for {finished}"
        );
        assert!(
            (0..finished).all(|path| profile.hashed(2, path) == 1),
            "{round}: a path is missing"
        );
        if data.exists() {
            std::fs::remove_dir_all(&data).unwrap();
        }
    }
}
