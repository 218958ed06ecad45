//! Tests that SEQUITUR without look-ahead makes the same grammars as scikit-sequitur (from PyPI), a
//! port of the program of SEQUITUR's authors.
//!
//! The test needs Python 3 with pip. It installs the package once, below the target directory.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use holloway_analysis::trace::{Grammar, LookAhead, Part, Sequitur};

const PACKAGE: &str = "scikit-sequitur==0.4.0";

/// The folder of the package. Installs the package if it is missing.
fn package() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scikit-sequitur-0.4.0");
    if !folder.join("sksequitur").is_dir() {
        let output = Command::new("python3")
            .args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"])
            .args([folder.as_os_str(), PACKAGE.as_ref()])
            .output()
            .expect("python3 starts: install Python 3 with pip");
        assert!(
            output.status.success(),
            "pip cannot install {PACKAGE}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    folder
}

/// The grammars of scikit-sequitur, in its notation.
fn peer(inputs: &[Vec<u32>]) -> Vec<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sequitur.py");
    let mut child = Command::new("python3")
        .arg(script)
        .env("PYTHONPATH", package())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 starts: install Python 3 with pip");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let lines: Vec<String> = inputs.iter().map(|input| words(input)).collect();
    let writer = std::thread::spawn(move || {
        for line in lines {
            writeln!(stdin, "{line}").expect("the peer reads");
        }
    });
    let output = child.wait_with_output().expect("the peer ends");
    writer.join().expect("the writer ends");
    assert!(output.status.success(), "the peer failed");
    let text = String::from_utf8(output.stdout).expect("the peer prints ASCII");
    text.lines().map(str::to_owned).collect()
}

fn words(input: &[u32]) -> String {
    let words: Vec<String> = input.iter().map(u32::to_string).collect();
    words.join(" ")
}

/// Our grammar in the notation of scikit-sequitur: rules are numbered in breadth-first order.
fn show(grammar: &Grammar) -> String {
    let mut order = vec![0];
    let mut sides = Vec::new();
    while let Some(&rule) = order.get(sides.len()) {
        let mut side = Vec::new();
        for symbol in grammar.rule(rule) {
            side.push(match symbol.part() {
                Part::Terminal(id) => id.to_string(),
                Part::Rule(used) => {
                    let known = order.iter().position(|&r| r == used);
                    let number = known.unwrap_or(order.len());
                    if known.is_none() {
                        order.push(used);
                    }
                    format!("r{number}")
                }
            });
        }
        sides.push(side.join(" "));
    }
    sides.join(";")
}

/// Random strings with few and with many symbols, some with repeated parts.
fn inputs() -> Vec<Vec<u32>> {
    let mut state = 0x2545_F491_4F6C_DD1Du64;
    let mut random = move |below: u32| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 33) % u64::from(below)) as u32
    };
    let mut inputs: Vec<Vec<u32>> = ["52225222", "1000110110001000"]
        .iter()
        .map(|text| text.bytes().map(|b| u32::from(b - b'0')).collect())
        .collect();
    for round in 0..1500 {
        let symbols = 1 + random(if round % 3 == 0 { 30 } else { 4 });
        let length = 1 + random(if round % 10 == 0 { 2000 } else { 60 });
        let mut input: Vec<u32> = (0..length).map(|_| random(symbols)).collect();
        if round % 2 == 0 {
            for _ in 0..random(10) {
                let from = random(input.len() as u32) as usize;
                let to = from + random((input.len() - from) as u32 + 1) as usize;
                input.extend_from_within(from..to.min(from + 300));
            }
        }
        inputs.push(input);
    }
    inputs
}

#[test]
fn grammars_equal_those_of_scikit_sequitur() {
    let inputs = inputs();
    let peers = peer(&inputs);
    assert_eq!(peers.len(), inputs.len());
    for (input, expect) in inputs.iter().zip(peers) {
        let mut sequitur = Sequitur::new(LookAhead::None);
        input.iter().for_each(|&symbol| sequitur.push(symbol));
        assert_eq!(show(&sequitur.finish()), expect, "{input:?}");
    }
}
