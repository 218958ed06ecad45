//! Measures the speed and the size of grammars that are built from stored traces.
//!
//! Usage: `cargo run --release -p holloway-analysis --example grammar -- TRACE.u32…`
//!
//! A trace is a file of little-endian 32-bit numbers. Each number names a path. The example prints
//! for each trace:
//!
//! - the speed of the grammar builder and of the file's coder
//! - the size of the trace file, and of the trace compressed by zstd -1, zstd -19, and `xz -9e` (if
//!   `xz` is installed)
//! - the size of the grammar that is read back from the trace file
//! - the size of plain SEQUITUR's grammar, of at most 2^24 symbols because SEQUITUR keeps
//!   everything in memory
//!
//! Every grammar is expanded and compared with the trace.

use std::error::Error;
use std::process::{Command, Stdio};
use std::time::Instant;

use holloway_analysis::trace::builder::{Depth, GrammarBuilder};
use holloway_analysis::trace::{Grammar, Limits, LookAhead, Sequitur, Terminal, Trace};
use holloway_format::trace::{Block, TraceFile, TraceHead, TraceWriter};

fn main() -> Result<(), Box<dyn Error>> {
    for path in std::env::args().skip(1) {
        let bytes = std::fs::read(&path)?;
        let words = bytes.chunks_exact(4);
        let trace: Vec<u32> = words
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
            .collect();
        println!("{path}: {} symbols, {} bytes", trace.len(), bytes.len());
        trace_builder(&trace)?;
        for level in [1, 19] {
            let start = Instant::now();
            let size = zstd::bulk::compress(&bytes, level)?.len();
            row(
                &format!("zstd -{level}"),
                trace.len(),
                start,
                &format!("{size} bytes"),
            );
        }
        xz(&path, trace.len());
        for look_ahead in [LookAhead::None, LookAhead::One] {
            sequitur(&trace[..trace.len().min(1 << 24)], look_ahead);
        }
    }
    Ok(())
}

fn row(step: &str, symbols: usize, start: Instant, result: &str) {
    let seconds = start.elapsed().as_secs_f64();
    let rate = symbols as f64 / seconds / 1e6;
    println!("  {step:22} {seconds:8.3} s {rate:8.1} M/s  {result}");
}

fn size(grammar: &Grammar) -> String {
    format!("{} symbols, {} rules", grammar.size(), grammar.rules())
}

fn trace_builder(trace: &[u32]) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let mut blocks: Vec<Block> = Vec::new();
    let mut builder = GrammarBuilder::new(Limits::default(), Depth::Quick);
    builder.extend(trace, |block| blocks.push(block));
    blocks.extend(builder.flush());
    let tokens: usize = blocks.iter().map(|block| block.tokens.len()).sum();
    row("builder", trace.len(), start, &format!("{tokens} tokens"));
    let terminals = trace.iter().max().map_or(0, |&largest| largest + 1);
    if let Some(first) = blocks.first_mut() {
        first.terminals = (0..terminals).map(Terminal::Left).collect();
    }

    let start = Instant::now();
    let head = TraceHead {
        process: 0,
        build_id: [0; 16],
    };
    let mut writer = TraceWriter::new(Vec::new(), &head)?;
    let stream = writer.stream(0)?;
    for block in &blocks {
        writer.block(stream, block)?;
    }
    let bytes = writer.finish()?;
    row(
        "coder",
        trace.len(),
        start,
        &format!("{} bytes", bytes.len()),
    );

    let start = Instant::now();
    let file = TraceFile::read(&bytes)?;
    let (read, damage) = Trace::read(&file.streams[0])?;
    row("reader", trace.len(), start, &size(&read.grammar));
    assert_eq!(damage, None);
    assert!(
        read.grammar.expand().eq(trace.iter().copied()),
        "the trace came back"
    );
    Ok(())
}

fn xz(path: &str, symbols: usize) {
    let start = Instant::now();
    let run = Command::new("xz")
        .args(["-9e", "-c", path])
        .stderr(Stdio::null())
        .output();
    if let Ok(output) = run {
        row(
            "xz -9e",
            symbols,
            start,
            &format!("{} bytes", output.stdout.len()),
        );
    }
}

fn sequitur(trace: &[u32], look_ahead: LookAhead) {
    let start = Instant::now();
    let mut sequitur = Sequitur::new(look_ahead);
    trace.iter().for_each(|&symbol| sequitur.push(symbol));
    let grammar = sequitur.finish();
    let name = match look_ahead {
        LookAhead::None => "SEQUITUR",
        LookAhead::One => "SEQUITUR(1)",
    };
    row(name, trace.len(), start, &size(&grammar));
    assert!(
        grammar.expand().eq(trace.iter().copied()),
        "the trace came back"
    );
}
