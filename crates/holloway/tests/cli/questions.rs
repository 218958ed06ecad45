//! `holloway trace`: compares the answers about small traces with the list of their events.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cli_support::{Call, CallResult, Project};

/// Takes a lock in each round; one round may forget to release it.
const PROGRAM: &str = "\
#include <stdlib.h>
static volatile int held, sum;
__attribute__((noinline)) void lock(void) { held = 1; }
__attribute__((noinline)) void unlock(void) { held = 0; }
__attribute__((noinline)) void work(int n) {
  for (int i = 0; i < n; i++) {
    if (held & i) sum += i;
    else sum ^= n;
  }
}
int main(int count, char **words) {
  int rounds = atoi(words[1]), forgets = atoi(words[2]);
  for (int i = 0; i < rounds; i++) {
    lock();
    work(i + 3);
    if (i != forgets)
      unlock();
  }
  return 0;
}
";

const ROUNDS: u64 = 6;
/// The round of `bad` that forgets to release the lock. No round of `good` forgets.
const FORGETS: u64 = 3;

/// Two runs, `good` and `bad`.
fn recorded() -> Project {
    let project = Project::new(&[("app.c", PROGRAM)]);
    let build = "cc --collect trace -O1 app.c -o app";
    project.holloway(build).ok();
    for (run, forgets) in [("good", 99), ("bad", FORGETS)] {
        let words = format!("run -o {run} --no-report -- ./app {ROUNDS} {forgets}");
        project.holloway(&words).ok();
    }
    project
}

fn ask(project: &Project, words: &[&str]) -> CallResult {
    let call = project.holloway("trace");
    words.iter().fold(call, Call::arg).ok()
}

/// The answer of the only stream, and its terminals.
fn answer(project: &Project, words: &[&str]) -> (Value, Value) {
    let words = [words, &["--format", "json"]].concat();
    let mut answer = ask(project, &words).json().0;
    let streams = answer["streams"].as_array_mut().unwrap();
    assert_eq!(streams.len(), 1);
    let mut stream = streams.pop().unwrap();
    (stream["answer"].take(), stream["terminals"].take())
}

/// A path in a list of events.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Event {
    name: String,
    id: u64,
    enters: bool,
    leaves: bool,
}

fn event(terminal: &Value) -> Event {
    let path = &terminal["path"];
    Event {
        name: path["name"].as_str().unwrap().to_owned(),
        id: path["id"].as_u64().unwrap(),
        enters: path["enters"].as_bool().unwrap(),
        leaves: path["leaves"].as_bool().unwrap(),
    }
}

/// The events of a sequence of terminal numbers.
fn listed(terminals: &Value, sequence: &Value) -> Vec<Event> {
    let sequence = sequence.as_array().unwrap().iter();
    let numbers = sequence.map(|number| number.as_u64().unwrap() as usize);
    numbers.map(|number| event(&terminals[number])).collect()
}

/// All events, in order.
fn events(project: &Project, run: &str) -> Vec<Event> {
    let (answer, terminals) = answer(project, &["cat", run]);
    listed(&terminals, &answer["sequence"])
}

/// The positions of a function's events.
fn positions(events: &[Event], name: &str) -> Vec<usize> {
    let positions = (0..events.len()).filter(|&index| events[index].name == name);
    positions.collect()
}

#[test]
fn a_query_finds_the_lock_that_is_taken_twice() {
    let project = recorded();
    let query = |run: &str| answer(&project, &["query", "lock (!unlock)* lock", run]);
    let (matches, _) = query("good");
    assert_eq!(
        matches,
        serde_json::json!({"count": 0, "first": null, "last_end": null})
    );
    let pattern = "lock (!unlock)* lock";
    let text = ask(&project, &["query", pattern, "good"]);
    text.says("matches       none");

    let events = events(&project, "bad");
    let locks = positions(&events, "lock");
    assert_eq!(locks.len() as u64, ROUNDS);
    let [from, to] = [0, 1].map(|next| locks[FORGETS as usize + next]);
    let (matches, terminals) = query("bad");
    assert_eq!(
        (&matches["count"], &matches["last_end"]),
        (&1.into(), &to.into())
    );
    let first = &matches["first"];
    assert_eq!((&first["from"], &first["to"]), (&from.into(), &to.into()));
    assert_eq!(listed(&terminals, &first["terminals"]), events[from..=to]);
    ask(&project, &["query", pattern, "bad"])
        .says("1 match")
        .says(&format!("from event {from} to event {to}"));
    // Matches share no event, so every other round is a match.
    let (matches, _) = answer(&project, &["query", "lock (!lock)* lock", "bad"]);
    assert_eq!(matches["count"], ROUNDS / 2);
}

#[test]
fn before_says_which_function_runs_first_and_how_often() {
    let project = recorded();
    let events = events(&project, "bad");
    let [locks, unlocks] = ["lock", "unlock"].map(|name| positions(&events, name));
    let (order, _) = answer(&project, &["before", "unlock", "lock", "bad"]);
    let ran = |positions: &[usize]| {
        let (first, last) = (positions.first(), positions.last());
        serde_json::json!({"count": positions.len(), "first": first, "last": last})
    };
    let called = |positions: &[usize]| {
        let mut called = ran(positions);
        called["counted"] = "calls".into();
        called
    };
    let last = unlocks[unlocks.len() - 1];
    let without = [locks[0], locks[FORGETS as usize + 1]];
    let expect = serde_json::json!({
        "p_is_first": false, "p": called(&unlocks), "q": called(&locks),
        "at_once": 0, "next": ROUNDS - 2, "later": ROUNDS - 2, "preceded": ROUNDS - 1,
        "without": ran(&without), "unanswered": ran(&[last]),
    });
    assert_eq!(order, expect);
    let (order, _) = answer(&project, &["before", "lock", "unlock", "bad"]);
    assert_eq!(order["p_is_first"], true);
    assert_eq!(order["unanswered"], ran(&[locks[FORGETS as usize]]));
    ask(&project, &["before", "unlock", "lock", "bad"]).says("Q ran before P");
}

#[test]
fn a_diff_finds_the_first_difference() {
    let project = recorded();
    let [good, bad] = ["good", "bad"].map(|run| events(&project, run));
    let common = good.iter().zip(&bad).take_while(|(a, b)| a == b).count();
    // After the round's lock, before its unlock.
    let round = FORGETS as usize;
    assert!(positions(&good, "lock")[round] < common && common < positions(&good, "unlock")[round]);

    let diff = ask(&project, &["diff", "good", "bad", "--format", "json"]);
    let diff = diff.json().0;
    assert_eq!(
        (&diff["same"], &diff["unit"]),
        (&false.into(), &"events".into())
    );
    let pairs = diff["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 1);
    assert_eq!(pairs[0]["common"], common);
    let branch_line = 1 + PROGRAM
        .lines()
        .position(|line| line.contains("!= forgets"))
        .unwrap();
    for (side, events, then) in [("a", &good, "unlock"), ("b", &bad, "lock")] {
        let side = &pairs[0][side];
        let next = listed(&side["terminals"], &side["next"]);
        assert_eq!(next, events[common..common + 5]);
        assert_eq!(
            (next[0].name.as_str(), next[1].name.as_str()),
            ("main", then)
        );
        let first = side["next"][0].as_u64().unwrap() as usize;
        let sources = side["terminals"][first]["path"]["places"]
            .as_array()
            .unwrap();
        let location = format!("/app.c:{branch_line}:");
        let is_there = |place: &Value| place.as_str().unwrap().contains(&location);
        assert!(sources.iter().any(is_there), "{sources:?} lack {location}");
    }
    assert_ne!(good[common].id, bad[common].id);
    ask(&project, &["diff", "good", "bad"])
        .says(&format!("the first {common} events are the same"))
        .says(&format!(" p{} ", good[common].id))
        .says(&format!(" p{} ", bad[common].id))
        .says(&format!("app.c:{}, {branch_line}", branch_line - 1));
}

/// A slow reference for `trace loops`: the sequences of up to `k` paths of one activation, with
/// their counts.
fn count_sequences(events: &[Event], k: usize) -> BTreeMap<Vec<Event>, u64> {
    let (mut open, mut activations) = (Vec::new(), Vec::new());
    for event in events {
        if event.enters {
            open.push(Vec::new());
        }
        open.last_mut().unwrap().push(event.clone());
        if event.leaves {
            activations.extend(open.pop());
        }
    }
    assert!(open.is_empty());
    let mut counts = BTreeMap::new();
    for paths in activations {
        for length in 1..=k {
            for sequence in paths.windows(length) {
                *counts.entry(sequence.to_vec()).or_default() += 1;
            }
        }
    }
    counts
}

#[test]
fn sequences_over_iterations_match_the_events_for_any_k() {
    let project = recorded();
    let words = "run -o long --no-report -- ./app 60 9";
    project.holloway(words).ok();
    let events = events(&project, "long");
    for k in [1, 2, 64, 1024] {
        let (forest, terminals) = answer(&project, &["loops", &k.to_string(), "long"]);
        let sequences = forest["sequences"].as_array().unwrap().iter();
        let sequences = sequences.map(|sequence| {
            let count = sequence["count"].as_u64().unwrap();
            (listed(&terminals, &sequence["terminals"]), count)
        });
        let sequences: BTreeMap<Vec<Event>, u64> = sequences.collect();
        assert!(sequences == count_sequences(&events, k), "k = {k}");
    }
    for k in ["0", "1025", "many"] {
        let call = project.holloway("trace loops").arg(k).arg("long");
        call.exits(2).complains("<K>");
    }
}

/// Sequences of a single path are the path profile.
#[test]
fn sequences_of_one_path_are_the_counts_of_paths() {
    let project = recorded();
    let (forest, terminals) = answer(&project, &["loops", "1", "bad"]);
    let report = project.holloway("report bad --format json").ok().json();
    let mut counted = BTreeMap::new();
    for function in report.0["functions"].as_array().unwrap() {
        for path in function["paths"].as_array().unwrap() {
            let name = function["name"].as_str().unwrap().to_owned();
            let count = path["count"].as_u64().unwrap();
            counted.insert((name, path["id"].as_u64().unwrap()), count);
        }
    }
    counted.retain(|_, count| *count > 0);
    let sequences = forest["sequences"].as_array().unwrap().iter();
    let sequences = sequences.map(|sequence| {
        let paths = listed(&terminals, &sequence["terminals"]);
        let [path] = &paths[..] else {
            panic!("{sequence}")
        };
        let count = sequence["count"].as_u64().unwrap();
        ((path.name.clone(), path.id), count)
    });
    assert_eq!(sequences.collect::<BTreeMap<_, _>>(), counted);
}
