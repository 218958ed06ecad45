//! Holloway's demo: a calculator language, run on a program that counts, sorts and classifies.
//!
//! It is small enough to read in a minute, and its paths are worth a look. The branches of the
//! tokenizer follow the text. The interpreter's loop has a hot path for each kind of instruction.
//! Nobody can predict the branches of the sort.

mod compiler;
mod machine;
mod tokens;
mod words;

const PROGRAM: &str = include_str!("program.txt");

fn main() {
    let rounds = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(100);
    let tokens = tokens::tokenize(PROGRAM);
    let code = compiler::compile(&tokens);
    let mut machine = machine::Machine::new();
    let mut sum = 0i64;
    for round in 0..rounds {
        sum = sum.wrapping_add(machine.run(&code, round));
    }
    println!(
        "{} tokens, {} instructions, {rounds} rounds: {sum}",
        tokens.len(),
        code.len()
    );
    let text = words::invent(20_000);
    let mut counts = words::count(&text);
    words::sort(&mut counts);
    let vowels: usize = counts
        .iter()
        .map(|entry| words::syllables(&entry.word))
        .sum();
    println!(
        "{} different words, {vowels} syllables; the commonest:",
        counts.len()
    );
    for entry in counts.iter().take(3) {
        println!("  {:6} {}", entry.count, entry.word);
    }
}
