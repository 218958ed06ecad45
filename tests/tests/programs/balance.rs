//! Checks that the enters and leaves in a program's streams balance.
//!
//! In a trace, every activation that began was closed, was left, or is open at the end. Functions
//! were entered as often as in another run with exit edges. The number of activations that were not
//! closed must equal the left frames of that run plus the activations that ended in a call that
//! does not return. [`crate::naive`] reads the streams. `holloway trace` must give the same
//! numbers.

use anyhow::{Context, Result, ensure};
use holloway_format::FunctionMap;
use holloway_testkit::naive::{self, Event, Image, StreamReading};
use holloway_tests::kind::Kind;
use holloway_tests::program::StreamRuns;
use holloway_tests::report::{Function, Report};
use holloway_tests::tool::{holloway_command, run_ok};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// The numbers of a function's activations, by how they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Balance {
    entered: i64,
    closed: i64,
    left: i64,
    /// Paths that ended in a call that does not return.
    noreturn: i64,
    open: i64,
    paths: i64,
}

type Balances = BTreeMap<(String, String), Balance>;

/// Returns a message for each error in a program's streams.
pub(crate) fn wrong(run: &StreamRuns<'_>) -> Result<Vec<String>> {
    let mut images = naive::images(run.collected)?;
    let mut balances = Balances::new();
    let streams = naive::streams(run.spooled)?;
    let mut reading: HashMap<[u8; 16], Vec<StreamReading>> = HashMap::new();
    for stream in &streams {
        let image = images
            .get_mut(&stream.image)
            .context("a stream of no image")?;
        let read = naive::read(stream, image)?;
        add(&read, image, &mut balances)?;
        reading.entry(stream.image).or_default().push(read);
    }
    for (image, reading) in &reading {
        let image = images.get_mut(image).expect("it was there");
        for (word, count) in naive::left(reading.iter(), image)? {
            let function = image.facts(word)?.function;
            let key = key(image.function(function));
            balances.entry(key).or_default().paths += count.max(0);
        }
    }
    let mut wrong = Vec::new();
    let reports = [run.spooled, run.collected].map(Report::of_run);
    for report in reports {
        let report = report?;
        let functions = report.functions.iter().filter(|f| !(run.may_differ)(f));
        for (key, paths) in sums(functions, |f| f.total() as i64) {
            let actual = balances.get(&key).map_or(0, |b| b.paths);
            if actual != paths {
                wrong.push(format!("{key:?}: {actual} words, {paths} paths reported"));
            }
        }
    }
    if run.kind == Kind::Trace {
        wrong.extend(unlike_counted(run, &balances));
        for data in [run.spooled, run.collected] {
            run_ok(holloway_command(["trace", "verify"]).arg(data))?;
        }
        let threads = streams.iter().filter(|s| !s.words.is_empty());
        same_threads(run.spooled, threads.map(|s| s.thread).collect())?;
        if run.is_steady {
            same_answers(run.spooled, &balances)?;
            same_answers(run.collected, &balances)?;
        }
    }
    Ok(wrong)
}

fn sums<'a>(
    functions: impl Iterator<Item = &'a Function>,
    of: impl Fn(&Function) -> i64,
) -> BTreeMap<(String, String), i64> {
    let mut all = BTreeMap::new();
    for f in functions {
        *all.entry(f.key()).or_default() += of(f);
    }
    all
}

/// Adds up the events of each function in a stream.
fn add(reading: &StreamReading, image: &mut Image, balances: &mut Balances) -> Result<()> {
    let mut own: HashMap<usize, Balance> = HashMap::new();
    let mut state = vec![None; reading.functions.len()];
    let mut entered = 0;
    for event in &reading.events {
        match *event {
            Event::Enter => {
                let older = reading.older.contains(&entered);
                own.entry(reading.functions[entered]).or_default().entered += i64::from(!older);
                state[entered] = Some(false);
                entered += 1;
            }
            Event::Path { activation, word } => {
                ensure!(
                    state[activation] == Some(false),
                    "a path outside its activation"
                );
                let facts = image.facts(word)?;
                let balance = own.entry(facts.function).or_default();
                balance.paths += 1;
                balance.noreturn += i64::from(facts.is_noreturn);
            }
            Event::Close(activation) | Event::Left(activation) => {
                ensure!(
                    state[activation].replace(true) == Some(false),
                    "an activation ended twice"
                );
                let balance = own.entry(reading.functions[activation]).or_default();
                match event {
                    Event::Close(_) => balance.closed += 1,
                    _ => balance.left += 1,
                }
            }
        }
    }
    for &activation in &reading.open {
        ensure!(state[activation] == Some(false), "what is open has ended");
        own.entry(reading.functions[activation]).or_default().open += 1;
    }
    for &(word, count) in &reading.ring_counts {
        let facts = image.facts(word)?;
        let balance = own.entry(facts.function).or_default();
        let count = count as i64;
        balance.entered += count;
        balance.paths += count;
        balance.closed += if facts.closes.is_some() { count } else { 0 };
        balance.noreturn += if facts.is_noreturn { count } else { 0 };
    }
    for (function, more) in own {
        let sum = balances.entry(key(image.function(function))).or_default();
        sum.entered += more.entered;
        sum.closed += more.closed;
        sum.left += more.left;
        sum.noreturn += more.noreturn;
        sum.open += more.open;
        sum.paths += more.paths;
    }
    Ok(())
}

/// A function's symbol and the name of its file.
fn key(map: &FunctionMap) -> (String, String) {
    let file = map.file.as_str().rsplit('/').next().unwrap_or_default();
    (map.linkage_name.as_str().to_owned(), file.to_owned())
}

/// Returns the functions whose calls or left frames differ from the counted ones.
fn unlike_counted(run: &StreamRuns<'_>, balances: &Balances) -> Vec<String> {
    let functions = || run.exits.functions.iter().filter(|f| !(run.may_differ)(f));
    let calls = sums(functions(), |f| f.calls() as i64);
    let left = sums(functions(), |f| f.left.iter().map(|(_, count)| count).sum());
    let mut wrong = Vec::new();
    for (key, calls) in calls {
        let actual = balances.get(&key).copied().unwrap_or_default();
        let gone = actual.entered - actual.closed - actual.noreturn;
        let left = left[&key];
        if actual.entered != calls || gone != left {
            wrong.push(format!(
                "{key:?}: {actual:?} in the trace, {calls} calls and {left} frames left counted"
            ));
        }
    }
    wrong
}

/// Runs `holloway trace stats`. Returns the result for each stream.
fn stats(data: &Path) -> Result<Vec<Value>> {
    let output = run_ok(holloway_command(["trace", "stats", "--format", "json"]).arg(data))?;
    let mut json: Value = serde_json::from_str(&output.text())?;
    let streams = json["streams"].as_array_mut().context("no streams")?;
    Ok(std::mem::take(streams))
}

fn number(json: &Value) -> Result<i64> {
    json.as_i64()
        .with_context(|| format!("{json} is no number"))
}

/// Checks that there is a trace of each thread that ran a path.
fn same_threads(data: &Path, mut wanted: Vec<u32>) -> Result<()> {
    let streams = stats(data)?;
    let mut actual = Vec::new();
    for stream in &streams {
        if number(&stream["events"])? != 0 {
            actual.push(u32::try_from(number(&stream["thread"])?)?);
        }
    }
    actual.sort_unstable();
    wanted.sort_unstable();
    ensure!(
        actual == wanted,
        "traces of threads {actual:?}, not {wanted:?}"
    );
    Ok(())
}

/// Checks that `holloway trace stats` gives the same sums.
fn same_answers(data: &Path, balances: &Balances) -> Result<()> {
    let streams = stats(data)?;
    let sum = |name: &str| -> Result<i64> {
        let numbers = streams.iter().map(|s| number(&s["answer"][name]));
        numbers.sum()
    };
    for (name, wanted) in [
        ("paths", total(balances, |b| b.paths)),
        ("enters", total(balances, |b| b.entered)),
        ("leaves", total(balances, |b| b.closed)),
        ("left", total(balances, |b| b.left)),
    ] {
        let actual = sum(name)?;
        ensure!(
            actual == wanted,
            "{}: {actual} {name} by `trace stats`, {wanted} in the stream",
            data.display()
        );
    }
    Ok(())
}

fn total(balances: &Balances, of: impl Fn(&Balance) -> i64) -> i64 {
    balances.values().map(of).sum()
}
