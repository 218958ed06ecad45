//! Golden files of the variation view, as in golden.rs. The tests build streams from names of
//! paths, which are made of block numbers.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use holloway_testkit::{build, narrow, samples};
use std::path::PathBuf;
use std::sync::Arc;

use build::{function, mangled};
use holloway_abi::{Kind, SAMPLE_CALLED, SAMPLE_PREEMPTED, SAMPLE_UNWATCHED};
use holloway_analysis::variation::rank::{Disturbed, Time};
use holloway_analysis::variation::{RankOptions, VariationRun};
use holloway_format::{FunctionMap, ImageMap, Load, LoadShape, Outcome, Place};
use holloway_report::source::{Nothing, Source};
use holloway_report::{Options, json, stability, terminal};
use insta::assert_snapshot;
use regex::Regex;
use samples::{Sample, clock, names, owner, read, resolution, run, sealed, timed};

/// A loop whose turns take one of two paths. The blocks are 0 (entry), 1 (loop head), 2 and 3 (the
/// two paths), and 4 (return).
fn forked(build: build::Build, line: u32) -> FunctionMap {
    build
        .block(1, &[(0, line)])
        .block(2, &[(0, line + 1)])
        .block(3, &[(0, line + 2), (0, line + 4)])
        .block(4, &[(0, line + 6)])
        .block(1, &[(0, line + 8)])
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 2, Outcome::True)
        .edge(1, 3, Outcome::False)
        .edge(2, 1, Outcome::Jump)
        .edge(3, 1, Outcome::True)
        .edge(3, 4, Outcome::False)
        .edge(4, 5, Outcome::Return)
        .done()
}

fn app() -> Arc<ImageMap> {
    let file = |name: &str| format!("/home/me/app/src/{name}");
    let mut functions = vec![forked(
        mangled("_RNvCs1234_3app4walk", "walk", &file("walk.rs"), 40),
        40,
    )];
    for (number, name) in (1u32..).zip(["search", "lock", "parse", "hash", "draw"]) {
        functions.push(forked(
            function(name, &file("more.c"), 10 * number),
            10 * number,
        ));
    }
    let load = |block: u32, line: u32, shape: LoadShape| Load {
        block,
        place: Place {
            line,
            ..Place::default()
        },
        shape,
    };
    functions[0].loads = vec![
        load(1, 41, LoadShape::Through { stride: 8 }),
        load(2, 44, LoadShape::Induction { stride: -4096 }),
        load(2, 44, LoadShape::Chain { offset: 8 }),
        load(2, 44, LoadShape::Chain { offset: 8 }),
        load(2, 42, LoadShape::Induction { stride: 1 }),
        load(3, 46, LoadShape::Chain { offset: 0 }),
    ];
    functions[3].loads = vec![
        load(1, 31, LoadShape::Induction { stride: 16 }),
        load(2, 32, LoadShape::Through { stride: 4 }),
        load(2, 34, LoadShape::Chain { offset: 24 }),
    ];
    timed(functions)
}

/// A provider of source text that has only one line.
struct Walk;

impl Source for Walk {
    fn line(&self, file: &str, line: u32) -> Option<String> {
        (file.ends_with("walk.rs") && line == 44).then(|| "    sum += node.value;".to_owned())
    }
}

/// A generator of pseudorandom numbers.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// The stream of a program with a pointer chase that sometimes misses the cache, a lock that is
/// sometimes held, a choice between two paths, steady paths, and rare paths.
fn words(image: &Arc<ImageMap>, slow: u64) -> Vec<u32> {
    let names = names(image);
    let mut chance = Chance(7);
    let mut words = owner(100).to_vec();
    words.extend(clock(1_000_000, 5_000, 24, 0, 0));
    let mut now = 1_100_000;
    for round in 0..400 {
        let turn: [(&str, u64, u32); 12] = [
            (
                "walk 12",
                90 + chance.below(8)
                    + if round % 7 == 0 {
                        slow + chance.below(slow)
                    } else {
                        0
                    },
                0,
            ),
            ("walk 12", 92 + chance.below(40), 0),
            ("walk 13", 130 + chance.below(9), 0),
            (
                "lock 134",
                60 + if round % 50 == 3 {
                    90_000 + chance.below(9_000)
                } else {
                    0
                },
                0,
            ),
            ("search 12", 100 + chance.below(4), 0),
            ("search 13", 700 + chance.below(6), 0),
            ("parse 12", 400 + chance.below(300), SAMPLE_CALLED),
            ("parse 134", 50 + chance.below(2), 0),
            ("hash 12", 40, 0),
            ("hash 13", 41 + chance.below(60), SAMPLE_UNWATCHED),
            ("draw 12", 5_000 + chance.below(3), 0),
            (
                "draw 13",
                300 + chance.below(200),
                if round % 40 == 0 { SAMPLE_PREEMPTED } else { 0 },
            ),
        ];
        for (name, duration, flags) in turn {
            let sample = Sample::new(names[name], now, duration + 24);
            let begun = 9_500 + chance.below(1_000) as u32;
            words.extend(
                Sample {
                    begun,
                    flags,
                    ..sample
                }
                .words(),
            );
            now += 8_000_000;
        }
    }
    words.extend(clock(
        now + 2_000_000,
        5_000 + (now + 1_000_000) / 3,
        24,
        9,
        2_000_000,
    ));
    words.extend(Sample::new(names["draw 134"], now, 99).words());
    words
}

fn whole() -> VariationRun {
    let image = app();
    run(&image, &words(&image, 300))
}

fn options() -> Options<'static> {
    Options {
        width: 120,
        cwd: Some(PathBuf::from("/home/me/app")),
        ..Options::new(&Walk)
    }
}

fn print(run: &VariationRun, options: &Options<'_>, how: RankOptions) -> String {
    let mut out = Vec::new();
    terminal::variation::write(run, options, how, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn pretty(bytes: &[u8]) -> String {
    let value: serde_json::Value = serde_json::from_slice(bytes).unwrap();
    serde_json::to_string_pretty(&value).unwrap()
}

#[test]
fn paths_by_net_variation() {
    assert_snapshot!(print(&whole(), &options(), RankOptions::default()));
}

/// Ten paths that vary, and four steady paths. Rarer paths vary more. The steady paths run more
/// often than the others, and two of them take long.
fn varied_seldom() -> VariationRun {
    let image = app();
    let names = names(&image);
    let varied = ["lock", "walk", "search", "parse", "hash"];
    let varied = varied.map(|name| [12, 134].map(|blocks| format!("{name} {blocks}")));
    let mut words = clock(1_000, 5_000, 24, 0, 0);
    let mut now = 2_000;
    let mut ran = |name: &str, times: u32, duration: &dyn Fn(u32) -> u64| {
        for time in 0..times {
            let sample = Sample::new(names[name], now, 24 + duration(time));
            words.extend(sample.words());
            now += 100_000;
        }
    };
    for (place, name) in (0..).zip(varied.iter().flatten()) {
        let slow = 100_000 >> place;
        ran(name, 40 + 4 * place, &|time| {
            100 + u64::from(time % 2) * slow
        });
    }
    for (name, duration) in [
        ("draw 12", 50),
        ("draw 13", 60),
        ("draw 134", 40_000),
        ("draw 012", 50_000),
    ] {
        ran(name, 100, &|_| duration);
    }
    run(&image, &words)
}

#[test]
fn other_rankings_miss_what_varies_seldom() {
    let options = Options {
        top: Some(2),
        ..options()
    };
    let run = varied_seldom();
    let mut out = Vec::new();
    json::variation::write(&run, &options, RankOptions::default(), &mut out).unwrap();
    let totals: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(totals["run"]["missed_by_count"], 4);
    assert_eq!(totals["run"]["missed_by_total"], 2);
    assert_snapshot!(print(&run, &options, RankOptions::default()));
}

#[test]
fn one_function_in_a_narrow_terminal() {
    let narrow = Options {
        width: 60,
        function: Some(Regex::new("walk|lock").unwrap()),
        ..options()
    };
    let text = print(&whole(), &narrow, RankOptions::default());
    assert!(
        text.lines().all(|line| line.chars().count() <= 60),
        "{text}"
    );
    assert_snapshot!(text);
}

#[test]
fn narrow_terminals_lose_no_number() {
    for run in [whole(), varied_seldom()] {
        narrow::check(Some("cycles over the base"), &|width| {
            let options = Options {
                width,
                source: &Nothing,
                ..options()
            };
            print(&run, &options, RankOptions::default())
        });
    }
}

#[test]
fn preempted_samples_and_own_times_where_asked_for() {
    let how = RankOptions {
        time: Time::Exclusive,
        disturbed: Disturbed::Included,
    };
    let options = Options {
        function: Some(Regex::new("draw|parse").unwrap()),
        top: Some(2),
        ..options()
    };
    assert_snapshot!(print(&whole(), &options, how));
}

#[test]
fn variation_as_json() {
    let options = Options {
        top: Some(1),
        ..options()
    };
    let mut out = Vec::new();
    json::variation::write(&whole(), &options, RankOptions::default(), &mut out).unwrap();
    assert_snapshot!(pretty(&out));
}

/// A run in which all paths were timed. It is so short that the clock was read only once, and
/// samples are missing.
#[test]
fn a_short_run_of_all_times() {
    let image = app();
    let word = names(&image)["walk 12"];
    let mut words = clock(1_000, 5, 20, 0, 0);
    for (start, duration) in (1..).zip([120, 150, 120, 420, 130].repeat(4)) {
        words.extend(Sample::new(word, 2_000 * start, duration).words());
    }
    let mut profile = sealed(&image, &read(&image, &words), Kind::Times);
    profile.head.stats.gaps = 1;
    let run = VariationRun::new(vec![((*image).clone(), vec![profile])]);
    assert_snapshot!(print(&run, &options(), RankOptions::default()));
}

/// Paths that vary by less than the time of a cache miss need no prefetching.
#[test]
fn only_paths_that_vary_like_cache_misses_get_advice() {
    let image = app();
    let word = names(&image)["walk 12"];
    let text = |slow: u64| {
        let times = [20, 20 + slow / 3, 20, 20 + slow, 20].repeat(10);
        let samples = (1..).zip(&times);
        let words = samples.map(|(start, time)| Sample::new(word, 2_000 * start, *time).words());
        let words: Vec<_> = words.collect();
        print(
            &run(&image, &words.concat()),
            &options(),
            RankOptions::default(),
        )
    };
    assert!(!text(29).contains("prefetch"), "{}", text(29));
    assert!(text(29).contains("1 of 1 path that varies"), "{}", text(29));
    assert!(text(150).contains("prefetch"), "{}", text(150));
}

#[test]
fn one_sample_is_no_variation() {
    let image = app();
    let word = names(&image)["walk 12"];
    let run = run(&image, &Sample::new(word, 2_000, 50).words());
    let text = print(&run, &options(), RankOptions::default());
    assert!(text.contains("no path has two samples"), "{text}");
    assert!(
        text.contains("1 path with fewer than two samples"),
        "{text}"
    );
}

/// A path has two samples, each of which stands for ten thousand executions. One of them was slow.
/// The path is not in the table.
#[test]
fn two_samples_are_left_out() {
    let image = app();
    let names = names(&image);
    let mut words = clock(1_000, 5_000, 24, 0, 0);
    let mut now = 2_000;
    for (name, times) in [("lock 12", 2), ("walk 12", 60)] {
        for time in 0..times {
            let slow = if time % 2 == 0 { 9_000 } else { 0 };
            words.extend(Sample::new(names[name], now, 124 + slow).words());
            now += 10_000;
        }
    }
    let text = print(&run(&image, &words), &options(), RankOptions::default());
    let rows: Vec<&str> = text.lines().filter(|line| line.contains(" %  ")).collect();
    assert!(rows[0].trim_start().starts_with("1 "), "{text}");
    assert!(!rows.iter().any(|row| row.contains("lock")), "{text}");
    let why = "…  1 other path left out: 1 had too few samples to tell";
    assert!(text.contains(why), "{text}");
}

/// A steady path, one that was interrupted in the burst that happened to time it, one on a machine
/// that others use, and one with two samples.
#[test]
fn nothing_varies() {
    let image = app();
    let names = names(&image);
    let mut chance = Chance(3);
    let mut words = clock(1_000, 5_000, 24, 0, 0);
    let mut now = 100_000;
    for round in 0..60 {
        let odd = if round == 17 { 30_000_000 } else { 0 };
        let mut turn = vec![
            ("walk 12", 2_600),
            ("lock 12", 2_600 + odd),
            ("hash 12", 900 + chance.below(40)),
        ];
        if round < 2 {
            turn.push(("draw 12", 100 + 900 * round));
        }
        for (name, time) in turn {
            let sample = Sample::new(names[name], now, 24 + time);
            let begun = 10_000;
            words.extend(Sample { begun, ..sample }.words());
            now += 40_000_000;
        }
    }
    words.extend(clock(now, 5_000 + now / 3, 24, 0, 0));
    let run = run(&image, &words);
    let text = print(&run, &options(), RankOptions::default());
    assert_snapshot!(text);
    // With `--function`, the selected function has no row either.
    let walk_only = Options {
        function: Some(Regex::new("walk").unwrap()),
        ..options()
    };
    let text = print(&run, &walk_only, RankOptions::default());
    assert!(
        text.contains(
            "Variation  nothing varies here\n  1 path with 60 samples each: 1 took as long each time"
        ),
        "{text}"
    );
    let mut out = Vec::new();
    json::variation::write(&run, &options(), RankOptions::default(), &mut out).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let why = |function: &str| {
        let rows = json["variation"].as_array().unwrap();
        let row = rows.iter().find(|row| row["function"] == function).unwrap();
        assert_eq!(row["certain"], false);
        row["uncertain"].as_str().unwrap().to_owned()
    };
    let reasons = ["app::walk", "lock", "hash", "draw"].map(why);
    assert_eq!(reasons, ["steady", "few bursts", "machine", "few samples"]);
    assert_eq!(json["run"]["certain_paths"], 0);
}

/// A path that takes no longer than a probe still has a base time.
#[test]
fn no_base_time_is_nothing() {
    let image = app();
    let names = names(&image);
    let mut words = resolution(26);
    for (start, time) in (1..).zip([0, 26, 0, 700, 900].repeat(8)) {
        words.extend(Sample::new(names["walk 12"], 100_000 * start, time).words());
    }
    let run = run(&image, &words);
    let text = print(&run, &options(), RankOptions::default());
    assert!(text.contains(" ≤26 "), "{text}");
    assert!(text.contains("cycles of one: base ≤26, average"), "{text}");
    let mut out = Vec::new();
    json::variation::write(&run, &options(), RankOptions::default(), &mut out).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let row = &json["variation"][0];
    assert_eq!(
        (&row["base"], &row["low"], &row["least"]),
        (&1.into(), &1.into(), &0.into())
    );
}

#[test]
fn nothing_ran() {
    let run = VariationRun::new(vec![((*app()).clone(), Vec::new())]);
    assert_snapshot!(print(&run, &options(), RankOptions::default()));
    let mut out = Vec::new();
    json::variation::write(&run, &options(), RankOptions::default(), &mut out).unwrap();
    assert_snapshot!(pretty(&out));
}

#[test]
fn runs_on_the_first_paths_of_each_other() {
    let image = app();
    let (light, heavy) = (
        run(&image, &words(&image, 300)),
        run(&image, &words(&image, 9_000)),
    );
    let options = Options {
        top: Some(3),
        ..options()
    };
    let runs = [&light, &heavy, &light];
    let mut out = Vec::new();
    stability::write(&runs, &options, RankOptions::default(), &mut out).unwrap();
    assert_snapshot!(String::from_utf8(out).unwrap());
    let mut out = Vec::new();
    stability::json(&runs[..2], &options, RankOptions::default(), &mut out).unwrap();
    assert_snapshot!(pretty(&out));
}

#[test]
fn runs_without_variation_have_no_first_paths() {
    let image = app();
    let word = names(&image)["walk 12"];
    let words: Vec<_> = (1..40)
        .map(|start| Sample::new(word, 2_000 * start, 500).words())
        .collect();
    let steady = run(&image, &words.concat());
    let mut out = Vec::new();
    stability::write(
        &[&steady, &steady],
        &options(),
        RankOptions::default(),
        &mut out,
    )
    .unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(
        text.contains("nothing varies for certain in any of the runs"),
        "{text}"
    );
    assert!(!text.contains("First paths"), "{text}");
}
