//! The trace of one thread in one image, read from its file.

use std::sync::mpsc;
use std::thread;

use holloway_format::FormatError;
use holloway_format::error::AssembleError;
use holloway_format::trace::{Block, Terminal, TraceStream};

use super::assemble::Assembler;
use super::grammar::Grammar;

/// Blocks that are decoded ahead of those that are put together.
const WAITING: usize = 4;

/// What one thread did in one image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    /// What the grammar's terminals stand for, in order of first appearance.
    pub terminals: Vec<Terminal>,
    /// Generates the numbers of the terminals.
    pub grammar: Grammar,
}

impl Default for Trace {
    /// No events.
    fn default() -> Self {
        let grammar = Grammar::from_parts(Vec::new(), vec![0, 0]);
        Self {
            terminals: Vec::new(),
            grammar: grammar.expect("a start of no symbols"),
        }
    }
}

impl Trace {
    /// The trace of a stream of a file. Where a block is damaged, the trace up to there, and why it ends. Blocks are decoded in a thread beside
    /// this one, which puts them together: each takes about half of the time.
    ///
    /// # Errors
    /// The blocks do not make a grammar.
    pub fn read(stream: &TraceStream<'_>) -> Result<(Self, Option<FormatError>), AssembleError> {
        let mut assembler = Assembler::default();
        let mut damage = None;
        let put = |block: Result<Block, FormatError>| match block {
            Ok(block) => assembler.push(&block),
            Err(error) => {
                damage = Some(error);
                Ok(())
            }
        };
        thread::scope(|scope| {
            let (sender, blocks) = mpsc::sync_channel(WAITING);
            // Nobody takes them any more where they make no grammar.
            let decode = move || {
                stream
                    .blocks()
                    .try_for_each(|block| sender.send(block))
                    .ok()
            };
            match thread::Builder::new().spawn_scoped(scope, decode) {
                Ok(_) => blocks.into_iter().try_for_each(put),
                Err(_) => stream.blocks().try_for_each(put),
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
