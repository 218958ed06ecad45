//! Tests that variation is distinguished from noise: the samples are generated as on a loaded
//! machine, with seeded random numbers.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use holloway_testkit::{build, samples};
use std::sync::Arc;

use build::function;
use holloway_analysis::variation::{Certainty, RankOptions, Ranking, rank};
use holloway_format::{FunctionMap, ImageMap, Outcome};
use samples::{Sample, clock, names, run, timed};

/// Number of runs for each load and set of paths.
const TRIALS: u64 = 50;
/// Cycles between two samples.
const SAMPLE_DISTANCE: u64 = 1_000_000;
/// Cycles in a second.
const FREQUENCY: u64 = 3_000_000_000;

/// A function with a loop. `NAME 12` names the path of a turn: blocks 1 and 2.
fn loop_function(name: &str) -> FunctionMap {
    function(name, "a.c", 1)
        .block(1, &[(0, 1)])
        .block(1, &[(0, 2)])
        .block(1, &[(0, 3)])
        .block(1, &[(0, 4)])
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 2, Outcome::True)
        .edge(1, 3, Outcome::False)
        .edge(2, 1, Outcome::Jump)
        .edge(3, 4, Outcome::Return)
        .done()
}

fn app() -> Arc<ImageMap> {
    timed(
        ["long", "short", "held", "missing"]
            .map(loop_function)
            .to_vec(),
    )
}

/// A generator of pseudorandom numbers.
struct Chance(u64);

impl Chance {
    /// The next number, from 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn happens(&mut self, probability: f64) -> bool {
        self.next() < probability
    }

    /// A time with a very heavy tail: with a probability of 1 %, it is at least a hundred times
    /// `least`.
    fn heavy_tailed(&mut self, least: f64) -> f64 {
        least / self.next().max(1e-5)
    }
}

/// The load of other programs on the machine.
#[derive(Clone, Copy, Debug)]
struct Load {
    /// Interruptions per second.
    interruptions: f64,
    /// Cycles of an interruption.
    interruption: fn(&mut Chance) -> f64,
    /// The slowdown of code while other programs share the core: 0.25 for 25 %.
    slowdown: f64,
    /// The share of the time in which other programs share the core.
    shared_time: f64,
}

/// The cycles until the program continues, if another program may run first.
fn preempted(chance: &mut Chance) -> f64 {
    chance.heavy_tailed(6_000.0)
}

const LOADS: [Load; 3] = [
    Load {
        interruptions: 50.0,
        interruption: preempted,
        slowdown: 0.02,
        shared_time: 0.5,
    },
    Load {
        interruptions: 300.0,
        interruption: preempted,
        slowdown: 0.25,
        shared_time: 0.5,
    },
    Load {
        interruptions: 1000.0,
        interruption: preempted,
        slowdown: 0.4,
        shared_time: 0.8,
    },
];

/// A machine whose hypervisor often stops the program for a few microseconds.
const HYPERVISOR: Load = Load {
    interruptions: 10_000.0,
    interruption: |chance| 3_000.0 + 5_000.0 * chance.next(),
    slowdown: 0.02,
    shared_time: 0.5,
};

/// A path to generate samples of: the name of its function, the number of samples, and the duration
/// of a sample on an idle machine.
type Path<'a> = (&'a str, u64, &'a dyn Fn(&mut Chance) -> f64);

/// Ranks samples of these paths, spread over a run. Each sample represents 10,000 executions.
fn ranked(seed: u64, load: Load, paths: &[Path<'_>]) -> Ranking {
    let image = app();
    let names = names(&image);
    let mut chance = Chance((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut words = clock(1_000, 1_000, 0, 0, 0);
    let mut now = 10_000;
    let rounds = paths.iter().map(|path| path.1).max().unwrap();
    let (mut is_shared, mut rounds_left) = (false, 0);
    for round in 0..rounds {
        // Other programs start and stop. Each runs for many samples.
        if rounds_left == 0 {
            is_shared = chance.happens(load.shared_time);
            rounds_left = 1 + (chance.next() * 40.0) as u32;
        }
        rounds_left -= 1;
        for (name, samples, time) in paths {
            if round * samples / rounds == (round + 1) * samples / rounds {
                continue;
            }
            let mut time = time(&mut chance);
            if is_shared {
                time *= 1.0 + load.slowdown;
            }
            if chance.happens(time * load.interruptions / FREQUENCY as f64) {
                time += (load.interruption)(&mut chance);
            }
            let sample = Sample::new(names[&format!("{name} 12")], now, time as u64);
            let begun = 10_000;
            words.extend(Sample { begun, ..sample }.words());
            now += SAMPLE_DISTANCE + 2 * time as u64;
        }
    }
    let nanoseconds = 1_000 + (u128::from(now) * 1_000_000_000 / u128::from(FREQUENCY)) as u64;
    words.extend(clock(now, nanoseconds, 0, 0, 0));
    rank(&run(&image, &words), RankOptions::default())
}

/// The indices in the image of the functions whose paths certainly vary, in rank order.
fn certain(ranking: &Ranking) -> Vec<u32> {
    let paths = ranking.paths[..ranking.certain].iter();
    paths.map(|path| path.function.0).collect()
}

fn describe(ranking: &Ranking) -> String {
    let paths = ranking.paths.iter().map(|path| {
        format!(
            "\n{} {:?}: base {}, net {:.3}, loss {:.3}, {} interrupted",
            path.function,
            path.certainty,
            path.base,
            ranking.share(path.net),
            path.loss,
            path.interrupted
        )
    });
    paths.collect()
}

fn steady(cycles: f64) -> impl Fn(&mut Chance) -> f64 {
    move |chance| cycles * (1.0 + 0.02 * chance.next())
}

/// A duration that is long in one turn of 64, like waiting for a lock.
fn waiting_for_lock(chance: &mut Chance) -> f64 {
    match chance.happens(1.0 / 64.0) {
        true => chance.heavy_tailed(20_000.0).min(1e6),
        false => 90.0 + 10.0 * chance.next(),
    }
}

/// A duration that is long in three turns of ten, like a cache miss.
fn missing_cache(chance: &mut Chance) -> f64 {
    match chance.happens(0.3) {
        true => 180.0,
        false => 80.0,
    }
}

/// A slow loop and a fast loop do not vary, together or alone, under any load.
#[test]
fn load_on_the_machine_is_no_variation() {
    let (long, short) = (steady(2_600.0), steady(60.0));
    for load in LOADS.into_iter().chain([HYPERVISOR]) {
        for seed in 0..TRIALS {
            for samples in [25, 250, 1_000] {
                let both: [Path<'_>; 2] =
                    [("long", samples, &long), ("short", 4 * samples, &short)];
                for paths in [&both[..], &both[..1], &both[1..]] {
                    let ranking = ranked(seed, load, paths);
                    assert_eq!(
                        ranking.certain,
                        0,
                        "{load:?}, seed {seed}: {}",
                        describe(&ranking)
                    );
                    // No path takes longer than the run, even if few samples suggest it.
                    let longest = ranking.paths[ranking.by_total[0]].total;
                    assert!(longest <= ranking.cycles.to_f64(), "{load:?}, seed {seed}");
                }
            }
        }
    }
}

/// The paths that vary most come first, and steady loops are not in the list.
#[test]
fn paths_that_vary_come_first() {
    let (long, short) = (steady(2_600.0), steady(60.0));
    for load in LOADS.into_iter().chain([HYPERVISOR]) {
        for seed in 0..TRIALS {
            let paths: [Path<'_>; 4] = [
                ("long", 250, &long),
                ("short", 3_000, &short),
                ("held", 3_000, &waiting_for_lock),
                ("missing", 2_000, &missing_cache),
            ];
            let ranking = ranked(seed, load, &paths);
            let description = describe(&ranking);
            assert_eq!(
                certain(&ranking),
                [2, 3],
                "{load:?}, seed {seed}: {description}"
            );
        }
    }
}

/// One turn in a thousand is slow: about ten of ten thousand turns, spread over the run.
#[test]
fn rarely_slow_paths_certainly_vary() {
    let long = steady(2_600.0);
    let seldom = |chance: &mut Chance| match chance.happens(1e-3) {
        true => 50_000.0,
        false => 100.0,
    };
    for load in LOADS {
        let runs = (0..TRIALS).map(|seed| {
            let paths: [Path<'_>; 2] = [("long", 100, &long), ("held", 10_000, &seldom)];
            certain(&ranked(seed, load, &paths))
        });
        let actual = runs.inspect(|certain| assert!(!certain.contains(&0)));
        let actual = actual.filter(|certain| certain[..] == [2]).count() as u64;
        // In three runs of a hundred, fewer than five turns are slow.
        assert!(actual * 10 >= TRIALS * 9, "{load:?}: {actual} of {TRIALS}");
    }
}

/// One cause may slow all samples of a burst. So the samples of two bursts confirm nothing, no
/// matter how many there are.
#[test]
fn samples_of_few_bursts_are_no_evidence() {
    const BURSTS: u64 = 60;
    let image = app();
    let word = names(&image)["long 12"];
    let certainty_of = |slow: u64| {
        let mut words = Vec::new();
        for burst in 0..BURSTS {
            for sample in 0..8 {
                let is_slow = burst % (BURSTS / slow) == 0;
                let time = if is_slow { 900 } else { 100 };
                let start = SAMPLE_DISTANCE * (burst + 1) + 1_000 * sample;
                let begun = if sample == 0 { 1_000 } else { 1 };
                let sample = Sample::new(word, start, time);
                words.extend(Sample { begun, ..sample }.words());
            }
        }
        rank(&run(&image, &words), RankOptions::default()).paths[0].certainty
    };
    assert_eq!(
        [1, 2, 6].map(certainty_of),
        [
            Certainty::FewBursts,
            Certainty::FewBursts,
            Certainty::Certain
        ]
    );
}
