//! The code of a function of a plan, as far as it is needed to find the function again after a
//! change.
//!
//! ```text
//! code 5e91c07a 1f3a9c02 77aa8812+9c0d1e2f 00000000 | 0-1 0-2 1-2
//! ```
//! After the word `code` come a hash of the source places, a hash of the instructions of each
//! block, each followed by a hash of the name of each function that the block calls, and the ends
//! of each edge. The first block is the entry, and the last block is the exit.

use std::fmt::Write as _;

/// The beginning of a line with a function's code.
pub(super) const CODE: &str = "code ";

/// The code of a function, without exit edges and with the parts of each block joined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionCode {
    /// A hash of the places of all blocks in the source.
    pub places: u32,
    /// The blocks. The first is the entry, the last is the exit.
    pub blocks: Vec<BlockCode>,
    /// The source and the target of each edge, in the order of the map.
    pub edges: Vec<(u32, u32)>,
}

/// The code of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockCode {
    /// A hash of the instructions, without their operands.
    pub hash: u32,
    /// A hash of the name of each function that the block calls, in order.
    pub callees: Vec<u32>,
}

impl FunctionCode {
    /// Writes the code as a line of a plan.
    pub(super) fn write(&self, text: &mut String) {
        let _ = write!(text, "{CODE}{:08x}", self.places);
        for BlockCode { hash, callees } in &self.blocks {
            let _ = write!(text, " {hash:08x}");
            for callee in callees {
                let _ = write!(text, "+{callee:08x}");
            }
        }
        text.push_str(" |");
        for (from, to) in &self.edges {
            let _ = write!(text, " {from}-{to}");
        }
        text.push('\n');
    }

    /// Reads a line of a plan, after the word `code`. `None` if it has another form, or an edge
    /// leads from or to a block that does not exist.
    pub(super) fn parse(content: &str) -> Option<Self> {
        let (blocks, edges) = content.split_once('|')?;
        let mut words = blocks.split_ascii_whitespace();
        let places = hash(words.next()?)?;
        let blocks: Vec<BlockCode> = words.map(block).collect::<Option<_>>()?;
        let edge = |word: &str| {
            let (from, to) = word.split_once('-')?;
            let ends: (u32, u32) = (from.parse().ok()?, to.parse().ok()?);
            let exists = |block: u32| (block as usize) < blocks.len();
            (exists(ends.0) && exists(ends.1)).then_some(ends)
        };
        let edges = edges.split_ascii_whitespace().map(edge);
        let edges = edges.collect::<Option<_>>()?;
        Some(Self {
            places,
            blocks,
            edges,
        })
    }
}

fn block(word: &str) -> Option<BlockCode> {
    let mut hashes = word.split('+').map(hash);
    let block = hashes.next()??;
    Some(BlockCode {
        hash: block,
        callees: hashes.collect::<Option<_>>()?,
    })
}

fn hash(word: &str) -> Option<u32> {
    let digits = Some(word).filter(|word| word.len() == 8)?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "code 5e91c07a 1f3a9c02 77aa8812+9c0d1e2f+00000001 00000000 | 0-1 0-2 1-2\n";

    #[test]
    fn the_example_is_read_and_written() {
        let code = FunctionCode::parse(&LINE[CODE.len()..]).expect("code");
        assert_eq!(code.places, 0x5e91_c07a);
        assert_eq!(code.blocks[1].callees, [0x9c0d_1e2f, 1]);
        assert_eq!(code.edges, [(0, 1), (0, 2), (1, 2)]);
        let mut text = String::new();
        code.write(&mut text);
        assert_eq!(text, LINE);
    }

    #[test]
    fn other_forms_are_no_code() {
        for line in [
            "",
            "|",
            "1 | ",
            "0000000g | ",
            "00000000 00000001 0-1",
            "00000000 00000001+ | ",
            "00000000 +00000001 | ",
            "00000000 00000001 00000002 | 0-2",
            "00000000 00000001 00000002 | 0",
        ] {
            assert_eq!(FunctionCode::parse(line), None, "{line}");
        }
    }
}
