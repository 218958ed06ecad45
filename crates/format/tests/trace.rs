//! Tests of files of traces: round trips, hashes, damage, and arbitrary bytes.

use holloway_format::trace::{
    Block, StringHash, Symbol, Terminal, Token, TraceFile, TraceHead, TracePosition, TraceWriter,
};
use proptest::prelude::*;

const HEAD: TraceHead = TraceHead {
    process: 1,
    build_id: [7; 16],
};

/// Reads everything in the file, and ignores the result.
fn read(bytes: &[u8]) {
    if let Ok(file) = TraceFile::read(bytes) {
        for stream in &file.streams {
            for block in stream.blocks() {
                let _ = block;
            }
            let _ = stream.blocks_at(stream.length / 2).1.count();
        }
    }
}

/// Three blocks: `( t0 t1 ) r0 ( r0 t2 )`, then `r1 t3`, then a fresh block `t0`. `t` marks a
/// terminal, and `r` a rule.
fn sample() -> Vec<Block> {
    let terminal = |id| Token::symbol(Symbol::terminal(id));
    let rule = |id| Token::symbol(Symbol::rule(id));
    let first = [
        Token::open(),
        terminal(0),
        terminal(1),
        Token::close(),
        rule(0), //
        Token::open(),
        rule(0),
        terminal(2),
        Token::close(),
    ];
    let block = |is_fresh, terminals: &[Terminal], tokens: &[Token], string: &[u32]| Block {
        is_fresh,
        terminals: terminals.to_vec(),
        tokens: tokens.to_vec(),
        length: string.len() as u64,
        hash: StringHash::from_numbers(string),
        change: 5 - 2 * string.len() as i64,
    };
    let path = Terminal::Path {
        function: 3,
        path: 900,
    };
    vec![
        block(
            true,
            &[path, Terminal::Gap, Terminal::Left(2)],
            &first,
            &[0, 1, 0, 1, 0, 1, 2],
        ),
        block(
            false,
            &[Terminal::Left(u32::MAX)],
            &[rule(1), terminal(3)],
            &[0, 1, 2, 3],
        ),
        block(true, &[], &[terminal(0)], &[0]),
    ]
}

fn file() -> Vec<u8> {
    let mut writer = TraceWriter::new(Vec::new(), &HEAD).expect("memory can be written");
    let stream = writer.stream(4711).expect("memory can be written");
    for block in sample() {
        writer.block(stream, &block).expect("memory can be written");
    }
    writer.finish().expect("memory can be written")
}

#[test]
fn reading_inverts_writing() {
    let bytes = file();
    let file = TraceFile::read(&bytes).expect("the file has a head");
    assert_eq!((file.head, &file.damage), (HEAD, &None));
    assert!(file.is_finished);
    let stream = &file.streams[0];
    assert_eq!((stream.thread, stream.length), (4711, 12));
    assert_eq!(
        stream.hash,
        StringHash::from_numbers(&[0, 1, 0, 1, 0, 1, 2, 0, 1, 2, 3, 0])
    );
    let blocks: Result<Vec<Block>, _> = stream.blocks().collect();
    assert_eq!(blocks, Ok(sample()));
    let (before, later) = stream.blocks_at(11);
    let (events, depth) = (11, -9 - 3);
    assert_eq!(
        (before, later.count()),
        (TracePosition { events, depth }, 1)
    );
    assert_eq!(stream.blocks_at(10).0, TracePosition::default());
}

#[test]
fn the_blocks_of_an_unfinished_file_are_read() {
    let mut written = Vec::new();
    let mut writer = TraceWriter::new(&mut written, &HEAD).expect("memory can be written");
    let stream = writer.stream(4711).expect("memory can be written");
    let first = &sample()[0];
    writer.block(stream, first).expect("memory can be written");
    drop(writer);
    let file = TraceFile::read(&written).expect("the file has a head");
    assert_eq!((&file.damage, file.is_finished), (&None, false));
    assert_eq!(file.streams[0].length, first.length);
}

#[test]
fn other_files_are_rejected() {
    let message = |bytes: &[u8]| {
        TraceFile::read(bytes)
            .map(|_| ())
            .map_err(|e| e.to_string())
    };
    assert_eq!(
        message(b"elsewhere").expect_err("no trace"),
        "not a file of traces; give a .hwt file of a run with --collect trace"
    );
    let mut bytes = file();
    bytes[8] = 9;
    assert_eq!(
        message(&bytes).expect_err("another version"),
        "format 9, this holloway reads 3; record it again"
    );
    bytes[8] = 3;
    bytes[20] ^= 1;
    assert_eq!(
        message(&bytes).expect_err("damaged"),
        "the head at byte 0 is damaged; record it again"
    );
}

#[test]
fn damage_is_reported_with_its_offset() {
    let intact = file();
    for changed in 36..intact.len() {
        let mut bytes = intact.clone();
        bytes[changed] ^= 0x10;
        let file = TraceFile::read(&bytes).expect("the file has a head");
        let damage = file.damage.as_ref().expect("each byte counts");
        let offset = damage.offset().expect("damage has an offset");
        assert!(offset <= intact.len() as u64, "{changed}: {damage}");
        read(&bytes);
    }
}

#[test]
fn the_number_of_tokens_per_byte_is_limited() {
    const TOKENS: usize = 1 << 20;
    let block = Block {
        is_fresh: true,
        terminals: vec![Terminal::Gap],
        tokens: vec![Token::symbol(Symbol::terminal(0)); TOKENS],
        length: TOKENS as u64,
        hash: StringHash::from_numbers(&[0; TOKENS]),
        change: 0,
    };
    let mut bytes = Vec::new();
    let mut writer = TraceWriter::new(&mut bytes, &HEAD).expect("memory can be written");
    let stream = writer.stream(1).expect("memory can be written");
    let start = writer.size() as usize;
    writer.block(stream, &block).expect("memory can be written");
    let read = |bytes: &[u8]| {
        let file = TraceFile::read(bytes).expect("the file has a head");
        assert_eq!(file.damage, None);
        file.streams[0].blocks().next().expect("one block")
    };
    assert!(read(&bytes) == Ok(block), "all tokens come back");
    // The same file with less code and corrected checksums.
    bytes.truncate(bytes.len() - 100);
    let length = (bytes.len() - start - 9) as u32;
    bytes[start..start + 4].copy_from_slice(&length.to_le_bytes());
    holloway_testkit::repair::trace(&mut bytes);
    let error = read(&bytes).expect_err("too many tokens").to_string();
    assert!(error.contains("number of tokens"), "{error}");
}

#[test]
fn hashes_follow_from_parts() {
    let string: Vec<u32> = (0..1000u32)
        .map(|n| n.wrapping_mul(2_654_435_761))
        .collect();
    for middle in [0, 1, 7, 8, 9, 500, 1000] {
        let (left, right) = string.split_at(middle);
        assert_eq!(
            StringHash::from_numbers(left).then(StringHash::from_numbers(right)),
            StringHash::from_numbers(&string)
        );
    }
    let hash = StringHash::from_numbers(&string);
    assert_eq!(StringHash::new(hash.value(), 1000), hash);
    assert_ne!(
        StringHash::from_numbers(&[0, 0]),
        StringHash::from_numbers(&[0])
    );
    assert_ne!(
        StringHash::from_numbers(&[1, 2]),
        StringHash::from_numbers(&[2, 1])
    );
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_rejected(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read(&bytes);
        let mut with_head = file()[..36].to_vec();
        with_head.extend(bytes);
        read(&with_head);
    }

    #[test]
    fn altered_content_with_correct_checksums_is_checked(offset in 45usize..200, value in any::<u8>(), cut in 0usize..20) {
        let mut bytes = file();
        bytes.truncate(bytes.len() - cut);
        let offset = offset % bytes.len();
        bytes[offset] = value;
        holloway_testkit::repair::trace(&mut bytes);
        read(&bytes);
    }

    #[test]
    fn decoding_any_tokens_inverts_encoding(kinds in prop::collection::vec((0u32..4, any::<u32>()), 0..3000)) {
        let (mut tokens, mut open, mut rules) = (Vec::new(), 0, 0);
        for (kind, number) in kinds {
            match kind {
                0 => {
                    tokens.push(Token::open());
                    open += 1;
                }
                1 if open > 0 => {
                    tokens.push(Token::close());
                    (open, rules) = (open - 1, rules + 1);
                }
                2 if rules > 0 => tokens.push(Token::symbol(Symbol::rule(number % rules))),
                _ => tokens.push(Token::symbol(Symbol::terminal(number % 100))),
            }
        }
        tokens.extend(std::iter::repeat_n(Token::close(), open));
        let block = Block { is_fresh: true, terminals: vec![Terminal::Gap; 100], tokens, ..Block::default() };
        let mut writer = TraceWriter::new(Vec::new(), &HEAD).expect("memory can be written");
        let stream = writer.stream(1).expect("memory can be written");
        writer.block(stream, &block).expect("memory can be written");
        let bytes = writer.finish().expect("memory can be written");
        let file = TraceFile::read(&bytes).expect("the file has a head");
        prop_assert_eq!(file.streams[0].blocks().collect::<Vec<_>>(), vec![Ok(block)]);
    }
}
