//! Tests that a string is unchanged after it was built, written to a file, and assembled: also if
//! pieces were forgotten, from any position, and in truncated files.

use holloway_analysis::trace::builder::{Depth, GrammarBuilder};
use holloway_analysis::trace::{Assembler, Grammar, Limits, Part, Terminal, Trace, check};
use holloway_format::Count;
use holloway_format::trace::{
    Block, Step, StringHash, Symbol, Token, TraceFile, TraceHead, TraceWriter,
};
use proptest::prelude::*;

const HEAD: TraceHead = TraceHead {
    process: 77,
    build_id: [9; 16],
};

fn blocks(input: &[u32], limits: Limits, depth: Depth) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut builder = GrammarBuilder::new(limits, depth);
    for part in input.chunks(37) {
        builder.extend(part, |block| blocks.push(block));
    }
    blocks.extend(builder.flush());
    // `TraceBuilder` fills these in.
    let terminals = input.iter().max().map_or(0, |&most| most + 1);
    if let Some(first) = blocks.first_mut() {
        first.terminals = (0..terminals).map(Terminal::Left).collect();
    }
    blocks
}

fn assemble(blocks: &[Block]) -> Grammar {
    let mut assembler = Assembler::default();
    for block in blocks {
        assembler
            .push(block)
            .expect("the builder's blocks are well formed");
    }
    assembler
        .finish()
        .expect("the builder's blocks are well formed")
}

fn file(blocks: &[Block]) -> Vec<u8> {
    let mut writer = TraceWriter::new(Vec::new(), &HEAD).expect("memory can be written");
    let stream = writer.stream(5).expect("memory can be written");
    for block in blocks {
        writer.block(stream, block).expect("memory can be written");
    }
    writer.finish().expect("memory can be written")
}

/// The uses of a rule of one symbol count as uses of that symbol. If they did not, a file of a few
/// hundred tokens would take exponential time and memory.
#[test]
fn uses_of_rules_of_one_symbol_count_for_the_symbol() {
    const DEPTH: u32 = 40;
    let rule = |number| Token::symbol(Symbol::rule(number));
    let terminal = Token::symbol(Symbol::terminal(0));
    let mut tokens = vec![Token::open(), terminal, terminal, Token::close()];
    // Each rule is twice the previous rule, through a rule that consists of only that rule.
    for level in 0..DEPTH {
        let (known, alone) = (rule(2 * level), rule(2 * level + 1));
        tokens.extend([Token::open(), known, Token::close()]);
        tokens.extend([Token::open(), alone, alone, Token::close()]);
    }
    let block = Block {
        is_fresh: true,
        terminals: vec![Terminal::Left(1)],
        tokens,
        ..Block::default()
    };
    let grammar = assemble(&[block]);
    check_rules(&grammar);
    // The definition of a rule is also a use.
    assert_eq!(grammar.len(), 6 * (1 << DEPTH) - 4);
}

/// Checks that every rule is used twice and has two symbols.
fn check_rules(grammar: &Grammar) {
    let mut uses = vec![0; grammar.rules() as usize];
    for rule in 0..grammar.rules() {
        assert!(
            rule == 0 || grammar.rule(rule).len() > 1,
            "rule {rule} is short"
        );
        for symbol in grammar.rule(rule) {
            if let Part::Rule(used) = symbol.part() {
                uses[used as usize] += 1;
            }
        }
    }
    assert!(
        uses[1..].iter().all(|&count| count > 1),
        "a rule is used once"
    );
}

fn check_round_trip(input: &[u32], limits: Limits) {
    for depth in [Depth::Quick, Depth::Full] {
        let blocks = blocks(input, limits, depth);
        let grammar = assemble(&blocks);
        assert!(grammar.expand().eq(input.iter().copied()), "{depth:?}");
        check_rules(&grammar);
        let bytes = file(&blocks);
        let read = TraceFile::read(&bytes).expect("the file has a head");
        assert_eq!((read.damage.as_ref(), read.head), (None, HEAD));
        let stream = &read.streams[0];
        assert_eq!(stream.thread, 5);
        assert_eq!(
            (stream.hash, stream.length),
            (StringHash::from_numbers(input), input.len() as u64)
        );
        let again: Result<Vec<Block>, _> = stream.blocks().collect();
        assert_eq!(again.expect("the blocks are whole"), blocks);
        let (trace, damage) = Trace::read(stream).expect("the blocks are well formed");
        assert_eq!((damage, &trace.grammar), (None, &grammar));
        let checked = check(stream).expect("the blocks are well formed");
        let mut counts = vec![Count::ZERO; stream.terminals.len()];
        for &terminal in input {
            counts[terminal as usize] += Count(1);
        }
        assert_eq!(
            (
                checked.is_same,
                checked.damage,
                checked.counts,
                checked.events
            ),
            (true, None, counts, Count(input.len() as u64))
        );
        assert_eq!(
            trace.terminals,
            (0..stream.terminals.len() as u32)
                .map(Terminal::Left)
                .collect::<Vec<_>>()
        );
    }
}

const SMALL: Limits = Limits {
    block: 64,
    pieces: 300,
};
const MIDDLE: Limits = Limits {
    block: 1000,
    pieces: 100_000,
};

/// A string like the trace of a program: nested loops with choices.
fn program(length: usize, mut random: impl FnMut(u32) -> u32) -> Vec<u32> {
    let mut out = Vec::new();
    while out.len() < length {
        let body = [random(5), 5 + random(3), 8, 9];
        for _ in 0..random(40) {
            out.extend(body);
            if random(20) == 0 {
                out.push(10 + random(100));
            }
        }
    }
    out
}

fn xorshift(mut state: u64) -> impl FnMut(u32) -> u32 {
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 33) % u64::from(below)) as u32
    }
}

#[test]
fn strings_like_programs_are_unchanged() {
    for seed in 1..20 {
        let input = program(20_000, xorshift(seed));
        check_round_trip(&input, SMALL);
        check_round_trip(&input, MIDDLE);
        check_round_trip(&input, Limits::default());
    }
}

#[test]
fn repetitions_across_blocks_are_unchanged() {
    let mut random = xorshift(77);
    for period in [1, 5, 70, 999, 1000, 1001, 1500, 2500] {
        let part: Vec<u32> = (0..period).map(|_| random(40)).collect();
        let mut input = Vec::new();
        while input.len() < 20_000 {
            input.extend(&part);
            if random(4) == 0 {
                let place = input.len() - 1 - random(period) as usize;
                input[place] = 50;
            }
        }
        check_round_trip(&input, SMALL);
        check_round_trip(&input, MIDDLE);
    }
}

#[test]
fn runs_and_short_strings_are_unchanged() {
    for length in [0, 1, 2, 3, 15, 16, 17, 63, 64, 65, 66, 128, 129, 1000, 5000] {
        check_round_trip(&vec![0; length], SMALL);
        check_round_trip(&vec![3; length], Limits::default());
        check_round_trip(&(0..length as u32).collect::<Vec<_>>(), SMALL);
    }
}

#[test]
fn a_long_loop_is_a_small_grammar() {
    let body: Vec<u32> = (0..37).collect();
    let input: Vec<u32> = body.iter().copied().cycle().take(37 * 100_000).collect();
    let blocks = blocks(&input, Limits::default(), Depth::Quick);
    let grammar = assemble(&blocks);
    assert!(grammar.size() < 400, "{} symbols", grammar.size());
    assert!(file(&blocks).len() < 1500, "{} bytes", file(&blocks).len());
    assert!(
        grammar
            .expand_from(3_600_000)
            .eq(input[3_600_000..].iter().copied())
    );
}

#[test]
fn positions_are_found_without_earlier_events() {
    let input = program(30_000, xorshift(3));
    let bytes = file(&blocks(&input, SMALL, Depth::Quick));
    let file = TraceFile::read(&bytes).expect("the file has a head");
    for position in (0..30_000).step_by(997) {
        let (before, blocks) = file.streams[0].blocks_at(position);
        let start = before.events;
        assert!(start <= position);
        let blocks: Result<Vec<Block>, _> = blocks.collect();
        let mut blocks = blocks.expect("the blocks are whole");
        let before: Vec<Terminal> = file.streams[0].terminals.clone();
        blocks[0].terminals = before;
        let grammar = assemble(&blocks);
        let skip = position - start;
        assert!(
            grammar
                .expand_from(skip)
                .eq(input[position as usize..].iter().copied())
        );
    }
}

#[test]
fn a_truncated_file_is_read_up_to_its_end() {
    let input = program(3_000, xorshift(8));
    let bytes = file(&blocks(&input, SMALL, Depth::Quick));
    let mut lengths = Vec::new();
    for cut in 36..bytes.len() {
        let file = TraceFile::read(&bytes[..cut]).expect("the file has a head");
        let Some(stream) = file.streams.first() else {
            continue;
        };
        let (trace, damage) = Trace::read(stream).expect("the blocks are well formed");
        assert_eq!(damage, None);
        let length = trace.grammar.len() as usize;
        assert!(trace.grammar.expand().eq(input[..length].iter().copied()));
        assert_eq!(stream.hash, StringHash::from_numbers(&input[..length]));
        lengths.push(length);
    }
    assert!(lengths.is_sorted());
    assert_eq!(lengths.last(), Some(&input.len()));
}

/// Replacing any symbol by another makes the hash of some block wrong.
#[test]
fn a_wrong_symbol_is_found() {
    let input = program(3_000, xorshift(8));
    let blocks = blocks(&input, SMALL, Depth::Quick);
    let terminals = blocks[0].terminals.len() as u32;
    let mut wrong = 0;
    for (at, block) in blocks.iter().enumerate() {
        for (place, token) in block.tokens.iter().enumerate() {
            let Step::Symbol(symbol) = token.step() else {
                continue;
            };
            let Part::Terminal(id) = symbol.part() else {
                continue;
            };
            let mut blocks = blocks.clone();
            let other = Symbol::terminal((id + 1) % terminals);
            blocks[at].tokens[place] = Token::symbol(other);
            let bytes = file(&blocks);
            let file = TraceFile::read(&bytes).expect("the file has a head");
            let checked = check(&file.streams[0]).expect("the blocks are well formed");
            assert!(!checked.is_same, "block {at}, token {place}");
            wrong += 1;
        }
    }
    assert!(wrong > 100, "{wrong}");
}

#[test]
fn streams_of_several_threads_are_kept_apart() {
    let inputs = [program(5_000, xorshift(1)), program(9_000, xorshift(2))];
    let blocks = inputs
        .each_ref()
        .map(|input| blocks(input, SMALL, Depth::Quick));
    let mut writer = TraceWriter::new(Vec::new(), &HEAD).expect("memory can be written");
    let ids = [10, 20].map(|thread| writer.stream(thread).expect("memory can be written"));
    for at in 0..blocks[1].len() {
        for (id, blocks) in ids.iter().zip(&blocks) {
            if let Some(block) = blocks.get(at) {
                writer.block(*id, block).expect("memory can be written");
            }
        }
    }
    let bytes = writer.finish().expect("memory can be written");
    let file = TraceFile::read(&bytes).expect("the file has a head");
    for (stream, input) in file.streams.iter().zip(&inputs) {
        let (trace, _) = Trace::read(stream).expect("the blocks are well formed");
        assert!(trace.grammar.expand().eq(input.iter().copied()));
    }
}

proptest! {
    #[test]
    fn random_strings_are_unchanged(input in prop::collection::vec(0u32..6, 0..1500)) {
        check_round_trip(&input, SMALL);
        check_round_trip(&input, MIDDLE);
    }

    #[test]
    fn repeated_parts_are_unchanged(pieces in prop::collection::vec(prop::collection::vec(0u32..50, 1..40), 1..5),
                                 order in prop::collection::vec(0usize..5, 0..200)) {
        let input: Vec<u32> = order.iter().flat_map(|&i| pieces[i % pieces.len()].clone()).collect();
        check_round_trip(&input, SMALL);
        check_round_trip(&input, MIDDLE);
    }
}
