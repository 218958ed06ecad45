//! Reads a part of a trace file, without reading all events before this part.
//!
//! Reading begins at the last fresh block before the part, because a fresh block uses no earlier
//! rule. From the blocks between the fresh block and the part, only the rules are kept. Each block
//! also states how much it changes the depth of calls. So the time depends on the distance from the
//! fresh block, not on the length of the trace. The recorder begins a fresh block whenever the
//! pieces fill their memory ([`Limits`](super::Limits)). No further repetitions are looked for, as
//! the caller only expands these events.
//!
//! Cost: decoding the tokens from the fresh block on, about 100 ns and four bytes for each token.

use holloway_format::error::AssembleError;
use holloway_format::trace::{Symbol, TracePosition, TraceStream};

use super::Trace;
use super::assemble::{MAX_TOKENS, TokenReader, prune};

/// The events of a thread's trace that were read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// Number of events before the first event that was read, and the depth of calls before it.
    pub before: TracePosition,
    /// Number of all events in the thread's trace.
    pub events: u64,
}

/// Consecutive events of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Excerpt {
    /// Number of events before the excerpt, and the depth of calls before it.
    pub before: TracePosition,
    /// All events of the blocks that contain the requested events.
    pub trace: Trace,
}

impl Excerpt {
    /// Reads the blocks of a stream that contain the `count` events from position `from` on.
    /// Returns `None` if a block that must be read is damaged.
    ///
    /// # Errors
    /// If the blocks do not make a grammar.
    pub fn read(
        stream: &TraceStream<'_>,
        from: u64,
        count: u64,
    ) -> Result<Option<Self>, AssembleError> {
        // `next` is the position of the next block.
        let (mut next, blocks) = stream.blocks_at(from);
        let terminal_count = stream.terminals.len();
        let (mut reader, mut tokens) = (TokenReader::default(), 0);
        let (mut before, mut top) = (None, Vec::new());
        for block in blocks {
            if next.events >= from.saturating_add(count) {
                break;
            }
            let Ok(block) = block else {
                return Ok(None);
            };
            if block.is_fresh {
                reader.forget_rules();
            }
            tokens += block.tokens.len();
            if tokens > MAX_TOKENS {
                return Err(AssembleError::Large);
            }
            let symbols = reader.read(&block.tokens, |terminal| {
                ((terminal as usize) < terminal_count)
                    .then(|| Symbol::terminal(terminal))
                    .ok_or(AssembleError::Terminal { terminal })
            })?;
            let block_start = next;
            next.events = next.events.saturating_add(block.length);
            next.depth = next.depth.saturating_add(block.change);
            if next.events > from {
                before.get_or_insert(block_start);
                top.extend(symbols);
            }
        }
        let trace = Trace {
            terminals: stream.terminals.clone(),
            grammar: prune(&reader.rules, &top)?,
        };
        let before = before.unwrap_or(next);
        Ok(Some(Self { before, trace }))
    }
}
