//! Graphs as text, for tests, docs and bug reports.
//!
//! ```text
//! ; a comment runs to the end of the line
//! b0: entry
//!   e0 -> b1
//!   e1 -> b2 pinned
//! b1:
//!   e2 -> b2 cut
//! b2:
//!   e3 -> b3
//!   e4 -> b3 exit-edge
//! b3: exit
//! ```
//!
//! Each block appears once. Each edge appears once, below the block that it leaves. Ids are
//! dense and may be in any order. Printed text parses to the same graph.

use crate::cfg::{Cfg, CfgError, Edge, EdgeKind};
use crate::ids::BlockId;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

impl fmt::Display for Cfg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for block in self.blocks() {
            let role = match block {
                _ if block == self.entry() => " entry",
                _ if block == self.exit() => " exit",
                _ => "",
            };
            writeln!(f, "{block}:{role}")?;
            for &id in self.successors(block) {
                let edge = self.edge(id);
                let kind = match edge.kind {
                    EdgeKind::Plain => "",
                    EdgeKind::Pinned => " pinned",
                    EdgeKind::Cut => " cut",
                    EdgeKind::Exit => " exit-edge",
                };
                writeln!(f, "  {id} -> {}{kind}", edge.to)?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Cfg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cfg\n{self}")
    }
}

/// An error in the text of a graph, and its line (counted from 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The line of the error; the last line if something is missing.
    pub line: usize,
    /// The kind of the error.
    pub kind: ParseErrorKind,
}

/// The kind of a parse error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseErrorKind {
    /// A line is neither `b0:`, `b0: entry`, `b0: exit`, nor `e0 -> b1`. An edge may end with
    /// `pinned`, `cut`, or `exit-edge`.
    Syntax,
    /// An edge comes before the first block.
    EdgeOutsideBlock,
    /// The text has a second entry or a second exit.
    Repeated,
    /// The ids of blocks or of edges are not 0, 1, 2, and so on, each once.
    NotDense,
    /// The text has no entry or no exit.
    NoEntryOrExit,
    /// The text is well formed, but its parts do not form a graph.
    Graph(CfgError),
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        match self.kind {
            ParseErrorKind::Syntax => {
                write!(
                    f,
                    "neither a block (`b0:`, `b0: entry`) nor an edge (`e0 -> b1 pinned`)"
                )
            }
            ParseErrorKind::EdgeOutsideBlock => {
                write!(f, "an edge stands below the block it leaves")
            }
            ParseErrorKind::Repeated => write!(f, "this was given before"),
            ParseErrorKind::NotDense => {
                write!(f, "ids of blocks and of edges count up from 0, each once")
            }
            ParseErrorKind::NoEntryOrExit => {
                write!(f, "one block must be the entry, another the exit")
            }
            ParseErrorKind::Graph(error) => write!(f, "{error}"),
        }
    }
}

impl core::error::Error for ParseError {}

impl FromStr for Cfg {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut parser = Parser::default();
        let mut last_line = 1;
        for (line, content) in (1..).zip(text.lines()) {
            last_line = line;
            let content = content.split(';').next().unwrap_or("");
            parser
                .line(content)
                .map_err(|kind| ParseError { line, kind })?;
        }
        parser.finish(last_line)
    }
}

/// The entry, exit, blocks, and edges of the lines read so far.
#[derive(Default)]
struct Parser {
    /// The block that the next edges leave.
    current: Option<BlockId>,
    blocks: Vec<u32>,
    entry: Option<BlockId>,
    exit: Option<BlockId>,
    /// The edges with their ids.
    edges: Vec<(u32, Edge)>,
}

impl Parser {
    fn line(&mut self, content: &str) -> Result<(), ParseErrorKind> {
        let mut words = content.split_whitespace();
        let Some(first) = words.next() else {
            return Ok(());
        };
        let arguments = [words.next(), words.next(), words.next()];
        if words.next().is_some() {
            return Err(ParseErrorKind::Syntax);
        }
        match (first.strip_suffix(':'), arguments) {
            (Some(block), [role, None, None]) => self.block(number(block, 'b')?, role),
            (None, [Some("->"), Some(to), kind]) => {
                self.edge(number(first, 'e')?, BlockId(number(to, 'b')?), kind)
            }
            _ => Err(ParseErrorKind::Syntax),
        }
    }

    fn block(&mut self, id: u32, role: Option<&str>) -> Result<(), ParseErrorKind> {
        let block = BlockId(id);
        let end = match role {
            None => None,
            Some("entry") => Some(&mut self.entry),
            Some("exit") => Some(&mut self.exit),
            Some(_) => return Err(ParseErrorKind::Syntax),
        };
        if let Some(end) = end
            && end.replace(block).is_some()
        {
            return Err(ParseErrorKind::Repeated);
        }
        self.blocks.push(id);
        self.current = Some(block);
        Ok(())
    }

    fn edge(&mut self, id: u32, to: BlockId, kind: Option<&str>) -> Result<(), ParseErrorKind> {
        let from = self.current.ok_or(ParseErrorKind::EdgeOutsideBlock)?;
        let kind = match kind {
            None => EdgeKind::Plain,
            Some("pinned") => EdgeKind::Pinned,
            Some("cut") => EdgeKind::Cut,
            Some("exit-edge") => EdgeKind::Exit,
            Some(_) => return Err(ParseErrorKind::Syntax),
        };
        self.edges.push((id, Edge { from, to, kind }));
        Ok(())
    }

    fn finish(mut self, line: usize) -> Result<Cfg, ParseError> {
        let fail = |kind| ParseError { line, kind };
        self.blocks.sort_unstable();
        self.edges.sort_by_key(|(id, _)| *id);
        check_dense(self.blocks.iter().copied()).map_err(fail)?;
        check_dense(self.edges.iter().map(|(id, _)| *id)).map_err(fail)?;
        let (Some(entry), Some(exit)) = (self.entry, self.exit) else {
            return Err(fail(ParseErrorKind::NoEntryOrExit));
        };
        let count = u32::try_from(self.blocks.len()).map_err(|_| fail(ParseErrorKind::NotDense))?;
        let edges = self.edges.into_iter().map(|(_, edge)| edge).collect();
        Self::graph(count, entry, exit, edges).map_err(fail)
    }

    fn graph(
        count: u32,
        entry: BlockId,
        exit: BlockId,
        edges: Vec<Edge>,
    ) -> Result<Cfg, ParseErrorKind> {
        Cfg::new(count, entry, exit, edges).map_err(ParseErrorKind::Graph)
    }
}

/// Checks that the sorted ids are 0, 1, 2, …
fn check_dense(mut ids: impl Iterator<Item = u32>) -> Result<(), ParseErrorKind> {
    let mut expected = 0..;
    if ids.all(|id| expected.next() == Some(id)) {
        Ok(())
    } else {
        Err(ParseErrorKind::NotDense)
    }
}

fn number(word: &str, letter: char) -> Result<u32, ParseErrorKind> {
    let digits = word.strip_prefix(letter).ok_or(ParseErrorKind::Syntax)?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ParseErrorKind::Syntax);
    }
    digits.parse().map_err(|_| ParseErrorKind::Syntax)
}
