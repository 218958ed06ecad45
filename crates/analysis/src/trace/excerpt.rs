//! Some events of a trace in a file, without what stands before them but its rules.
//!
//! Reading begins with the last fresh block before them. Of the blocks in front only rules are kept; how deep calls are there, the blocks say.
//! So events at the end of a long trace come as soon as those that are no further from a fresh block, of which there is one for each memory
//! full of pieces ([`Limits`](super::Limits)). Nothing is deepened, as only these events are expanded.
//!
//! Cost: decoding the tokens from the fresh block on, about 100 ns each, and four bytes for each.

use holloway_format::error::AssembleError;
use holloway_format::trace::{Symbol, TracePosition, TraceStream};

use super::Trace;
use super::assemble::{MOST_TOKENS, Reader, prune};

/// Which events of a thread's trace were read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// What stands before the first event that was read.
    pub before: TracePosition,
    /// Number of all events of the thread.
    pub events: u64,
}

/// Events of a trace that follow one another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Excerpt {
    /// What stands before them.
    pub before: TracePosition,
    /// Those asked for and others around them.
    pub trace: Trace,
}

impl Excerpt {
    /// The blocks of a stream in which the `count` events from position `from` on stand. Nothing if one that has to be read is damaged.
    ///
    /// # Errors
    /// The blocks do not make a grammar.
    pub fn read(
        stream: &TraceStream<'_>,
        from: u64,
        count: u64,
    ) -> Result<Option<Self>, AssembleError> {
        let (mut next, blocks) = stream.blocks_at(from);
        let known = stream.terminals.len();
        let (mut reader, mut tokens) = (Reader::default(), 0);
        let (mut before, mut top) = (None, Vec::new());
        for block in blocks {
            if next.events >= from.saturating_add(count) {
                break;
            }
            let Ok(block) = block else {
                return Ok(None);
            };
            if block.is_fresh {
                reader.begin();
            }
            tokens += block.tokens.len();
            if tokens > MOST_TOKENS {
                return Err(AssembleError::Large);
            }
            let symbols = reader.read(&block.tokens, |terminal| {
                ((terminal as usize) < known)
                    .then(|| Symbol::terminal(terminal))
                    .ok_or(AssembleError::Terminal { terminal })
            })?;
            let here = next;
            next.events = next.events.saturating_add(block.length);
            next.depth = next.depth.saturating_add(block.change);
            if next.events > from {
                before.get_or_insert(here);
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
