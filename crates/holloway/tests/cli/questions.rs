//! Answers to questions about traces, compared with the list of their events.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cli_support::{Call, Done, Project};

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

fn ask(project: &Project, words: &[&str]) -> Done {
    let call = project.holloway("trace");
    words.iter().fold(call, Call::arg).ok()
}

/// The answer of the only stream.
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
fn places(events: &[Event], name: &str) -> Vec<usize> {
    let places = (0..events.len()).filter(|&at| events[at].name == name);
    places.collect()
}

#[test]
fn a_query_finds_the_lock_that_is_taken_twice() {
    let project = recorded();
    let query = |run: &str| answer(&project, &["query", "lock (!unlock)* lock", run]);
    let (found, _) = query("good");
    assert_eq!(
        found,
        serde_json::json!({"count": 0, "first": null, "last_end": null})
    );
    let pattern = "lock (!unlock)* lock";
    let text = ask(&project, &["query", pattern, "good"]);
    text.says("matches       none");

    let events = events(&project, "bad");
    let locks = places(&events, "lock");
    assert_eq!(locks.len() as u64, ROUNDS);
    let [from, to] = [0, 1].map(|next| locks[FORGETS as usize + next]);
    let (found, terminals) = query("bad");
    assert_eq!(
        (&found["count"], &found["last_end"]),
        (&1.into(), &to.into())
    );
    let first = &found["first"];
    assert_eq!((&first["from"], &first["to"]), (&from.into(), &to.into()));
    assert_eq!(listed(&terminals, &first["terminals"]), events[from..=to]);
    ask(&project, &["query", pattern, "bad"])
        .says("1 match")
        .says(&format!("from event {from} to event {to}"));
    // Matches share no event, so every other round is a match.
    let (found, _) = answer(&project, &["query", "lock (!lock)* lock", "bad"]);
    assert_eq!(found["count"], ROUNDS / 2);
}

#[test]
fn before_says_which_of_two_functions_runs_first_and_how_often() {
    let project = recorded();
    let events = events(&project, "bad");
    let [locks, unlocks] = ["lock", "unlock"].map(|name| places(&events, name));
    let (found, _) = answer(&project, &["before", "unlock", "lock", "bad"]);
    let ran = |places: &[usize]| {
        let (first, last) = (places.first(), places.last());
        serde_json::json!({"count": places.len(), "first": first, "last": last})
    };
    let called = |places: &[usize]| {
        let mut called = ran(places);
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
    assert_eq!(found, expect);
    let (found, _) = answer(&project, &["before", "lock", "unlock", "bad"]);
    assert_eq!(found["p_is_first"], true);
    assert_eq!(found["unanswered"], ran(&[locks[FORGETS as usize]]));
    ask(&project, &["before", "unlock", "lock", "bad"]).says("Q ran before P");
}

#[test]
fn a_diff_of_two_runs_finds_where_they_part() {
    let project = recorded();
    let [good, bad] = ["good", "bad"].map(|run| events(&project, run));
    let common = good.iter().zip(&bad).take_while(|(a, b)| a == b).count();
    // After the round's lock, before its unlock.
    let round = FORGETS as usize;
    assert!(places(&good, "lock")[round] < common && common < places(&good, "unlock")[round]);

    let found = ask(&project, &["diff", "good", "bad", "--format", "json"]);
    let found = found.json().0;
    assert_eq!(
        (&found["same"], &found["unit"]),
        (&false.into(), &"events".into())
    );
    let pairs = found["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 1);
    assert_eq!(pairs[0]["common"], common);
    let decides = 1 + PROGRAM
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
        let at = format!("/app.c:{decides}:");
        let is_there = |place: &Value| place.as_str().unwrap().contains(&at);
        assert!(sources.iter().any(is_there), "{sources:?} lack {at}");
    }
    assert_ne!(good[common].id, bad[common].id);
    ask(&project, &["diff", "good", "bad"])
        .says(&format!("the first {common} events are the same"))
        .says(&format!("main:{}", good[common].id))
        .says(&format!("main:{}", bad[common].id))
        .says(&format!("app.c:{} … :{decides}", decides - 1));
}

/// Sequences of up to `k` paths of one activation.
fn naive(events: &[Event], k: usize) -> BTreeMap<Vec<Event>, u64> {
    let (mut open, mut done) = (Vec::new(), Vec::new());
    for event in events {
        if event.enters {
            open.push(Vec::new());
        }
        open.last_mut().unwrap().push(event.clone());
        if event.leaves {
            done.extend(open.pop());
        }
    }
    assert!(open.is_empty());
    let mut all = BTreeMap::new();
    for ran in done {
        for length in 1..=k {
            for sequence in ran.windows(length) {
                *all.entry(sequence.to_vec()).or_default() += 1;
            }
        }
    }
    all
}

#[test]
fn sequences_over_iterations_are_those_of_the_events_for_any_k() {
    let project = recorded();
    let words = "run -o long --no-report -- ./app 60 9";
    project.holloway(words).ok();
    let events = events(&project, "long");
    for k in [1, 2, 64, 1024] {
        let (found, terminals) = answer(&project, &["loops", &k.to_string(), "long"]);
        let found = found["sequences"].as_array().unwrap().iter();
        let found = found.map(|one| {
            let count = one["count"].as_u64().unwrap();
            (listed(&terminals, &one["terminals"]), count)
        });
        let found: BTreeMap<Vec<Event>, u64> = found.collect();
        assert!(found == naive(&events, k), "k = {k}");
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
    let (found, terminals) = answer(&project, &["loops", "1", "bad"]);
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
    let sequences = found["sequences"].as_array().unwrap().iter();
    let sequences = sequences.map(|one| {
        let paths = listed(&terminals, &one["terminals"]);
        let [path] = &paths[..] else { panic!("{one}") };
        ((path.name.clone(), path.id), one["count"].as_u64().unwrap())
    });
    assert_eq!(sequences.collect::<BTreeMap<_, _>>(), counted);
}
