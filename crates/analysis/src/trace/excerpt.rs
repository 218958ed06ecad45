//! Reads some events of a trace file without the events before them.
//!
//! Reading begins at the last fresh block before the events. From the blocks in between, only the
//! rules are kept; each block states its change to the depth of calls. So the time depends on the
//! distance from the fresh block, not on the length of the trace. There is one fresh block whenever
//! the pieces fill their memory ([`Limits`](super::Limits)). The grammar is not processed further,
//! as only these events are expanded.
//!
//! Cost: decoding the tokens from the fresh block on, about 100 ns and four bytes for each token.

use holloway_format::error::AssembleError;
use holloway_format::trace::{Symbol, TracePosition, TraceStream};

use super::Trace;
use super::assemble::{MAX_TOKENS, TokenReader, prune};

/// The events of a thread's trace that were read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// Number of events before the first event that was read, and the depth of calls there.
    pub before: TracePosition,
    /// Number of all events of the thread.
    pub events: u64,
}

/// Consecutive events of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Excerpt {
    /// Number of events before the excerpt, and the depth of calls there.
    pub before: TracePosition,
    /// The requested events and others around them.
    pub trace: Trace,
}

impl Excerpt {
    /// Reads the blocks of a stream that contain the `count` events from position `from` on.
    /// Returns `None` if a block that must be read is damaged.
    ///
    /// # Errors
    /// The blocks do not make a grammar.
    pub fn read(
        stream: &TraceStream<'_>,
        from: u64,
        count: u64,
    ) -> Result<Option<Self>, AssembleError> {
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
