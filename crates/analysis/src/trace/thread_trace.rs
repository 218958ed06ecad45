//! The trace of one thread in one image, as read from a file.

use std::sync::mpsc;
use std::thread;

use holloway_format::FormatError;
use holloway_format::error::AssembleError;
use holloway_format::trace::{Block, Terminal, TraceStream};

use super::assemble::Assembler;
use super::grammar::Grammar;

/// Number of decoded blocks that may wait to be assembled.
const MAX_WAITING: usize = 4;

/// All events of one thread in one image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    /// The events that the grammar's terminals stand for, in order of first appearance.
    pub terminals: Vec<Terminal>,
    /// The grammar that generates the numbers of the terminals.
    pub grammar: Grammar,
}

impl Default for Trace {
    /// A trace without events.
    fn default() -> Self {
        let grammar = Grammar::from_parts(Vec::new(), vec![0, 0]);
        Self {
            terminals: Vec::new(),
            grammar: grammar.expect("an empty start rule is a grammar"),
        }
    }
}

impl Trace {
    /// Reads one stream of a trace file. If a block is damaged, the trace ends before this block,
    /// and the damage is returned, too. A second thread decodes the blocks while this thread
    /// assembles them. Both tasks take about the same time.
    ///
    /// # Errors
    /// If the blocks do not make a grammar.
    pub fn read(stream: &TraceStream<'_>) -> Result<(Self, Option<FormatError>), AssembleError> {
        let mut assembler = Assembler::default();
        let mut damage = None;
        let assemble = |block: Result<Block, FormatError>| match block {
            Ok(block) => assembler.push(&block),
            Err(error) => {
                damage = Some(error);
                Ok(())
            }
        };
        thread::scope(|scope| {
            let (sender, blocks) = mpsc::sync_channel(MAX_WAITING);
            // Sending fails if this thread stopped, because the blocks do not make a grammar.
            let decode = move || {
                stream
                    .blocks()
                    .try_for_each(|block| sender.send(block))
                    .ok()
            };
            match thread::Builder::new().spawn_scoped(scope, decode) {
                Ok(_) => blocks.into_iter().try_for_each(assemble),
                // No second thread is available, so decode on this thread.
                Err(_) => stream.blocks().try_for_each(assemble),
            }
        })?;
        let trace = Self {
            terminals: stream.terminals.clone(),
            grammar: assembler.finish()?,
        };
        Ok((trace, damage))
    }

    /// The events from position `from` on.
    pub fn events(&self, from: u64) -> impl Iterator<Item = Terminal> + '_ {
        self.grammar
            .expand_from(from)
            .map(|id| self.terminals[id as usize])
    }
}
