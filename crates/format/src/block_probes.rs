//! Reads the section `.pseudo_probe` of a program, in which LLVM's code generator writes the
//! addresses of pseudo-probes. The weaver marks each block of the path map with one (kind `none`),
//! so this section tells where the code of each block starts.
//!
//! The section is a sequence of functions, in the order of their code:
//!
//! ```text
//! SIZE        MEANING
//! 8           identifier of the function: [`FunctionMap::guid`](crate::FunctionMap::guid)
//! varint      number of probes
//! varint      number of inlined functions
//! per probe:
//!   varint      index of the probe: the block's number + 1; 0 in a sentinel
//!   1           bits 0-3: type; bits 4-6: attributes; bit 7: the position is a difference
//!   signed      the position, if bit 7 is set: bytes after the probe before it (SLEB128)
//!   8           the position otherwise: in a sentinel, the hash of a symbol
//!   varint      discriminator, if attribute 4 is set
//! per inlined function:
//!   varint      probe of the call
//!   then the function, as above
//! ```
//!
//! The first probe is a *sentinel*: the following positions start at a symbol. The sentinel has
//! this symbol's hash, the first eight bytes of the MD5 of its name.
//!
//! A function `f` with blocks 0 and 2, at bytes 1 and 5 of the symbol `f`:
//!
//! ```text
//!  0  98 24 13 73 a6 c8 50 7e  identifier
//!  8  03 00                    three probes, no inlined function
//! 10  00 20 8f a1 4c dd 75 4f 91 cc  sentinel: MD5("f") = 8fa14cdd754f91cc…
//! 20  01 80 01                 block 0 at f + 1
//! 23  03 80 04                 block 2 at f + 5
//! ```
//!
//! The weaver's probes are never inlined, because it inserts them after the optimizer. Programs may
//! contain probes of other tools; a reader recognizes the weaver's by their identifiers.

use crate::cursor::Cursor;
use crate::error::FormatError;

/// The probes of the code at one symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbedCode {
    /// The function ([`FunctionMap::guid`](crate::FunctionMap::guid)).
    pub guid: u64,
    /// The first eight bytes of the MD5 of the symbol's name, little-endian.
    pub symbol_hash: u64,
    /// The starts of blocks, in the order of the section. A block may start several times, because
    /// the code generator duplicates code.
    pub starts: Vec<BlockStart>,
}

/// The start of a block's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockStart {
    /// Bytes after the symbol.
    pub offset: u64,
    /// The block's number in the function's map.
    pub block: u32,
}

/// Attribute of a probe that only names the symbol at which positions start.
const SENTINEL: u8 = 2;
/// Attribute of a probe with a discriminator.
const HAS_DISCRIMINATOR: u8 = 4;
/// The position is a difference.
const IS_DIFFERENCE: u8 = 0x80;

/// Reads a section. Inlined functions and probes without a symbol are left out: they are not the
/// weaver's.
///
/// # Errors
/// If the section ends inside a function, or a number is too large.
pub fn read_block_probes(section: &[u8]) -> Result<Vec<ProbedCode>, FormatError> {
    let mut cursor = Cursor::new(section, 0);
    let mut codes = Vec::new();
    // The functions that are announced but not yet read, on each level of inlining.
    let mut unread: Vec<u64> = Vec::new();
    while !cursor.is_at_end() {
        let is_inlined = match unread.last_mut() {
            Some(count) => {
                *count -= 1;
                cursor.var()?; // the probe of the call
                true
            }
            None => false,
        };
        let (code, inlined_functions) = read_function(&mut cursor)?;
        if let Some(code) = code
            && !is_inlined
        {
            codes.push(code);
        }
        unread.push(inlined_functions);
        while unread.last() == Some(&0) {
            unread.pop();
        }
    }
    match unread.is_empty() {
        true => Ok(codes),
        false => Err(FormatError::Truncated {
            offset: section.len() as u64,
        }),
    }
}

/// Reads one function without the functions inlined into it. Returns its probes, if they start with
/// a sentinel, and the number of inlined functions.
fn read_function(cursor: &mut Cursor<'_>) -> Result<(Option<ProbedCode>, u64), FormatError> {
    let guid = cursor.u64()?;
    let probes = cursor.var()?;
    let inlined_functions = cursor.var()?;
    let mut code: Option<ProbedCode> = None;
    let mut position = 0u64;
    for _ in 0..probes {
        let index = cursor.var32()?;
        let packed = cursor.u8()?;
        let attributes = packed >> 4 & 7;
        let is_sentinel = attributes & SENTINEL != 0;
        if packed & IS_DIFFERENCE != 0 {
            position = position.wrapping_add_signed(cursor.sleb()?);
        } else {
            let word = cursor.u64()?;
            // Without a sentinel, nothing tells where an absolute position lies.
            code = is_sentinel.then(|| ProbedCode {
                guid,
                symbol_hash: word,
                starts: Vec::new(),
            });
            position = 0;
        }
        if attributes & HAS_DISCRIMINATOR != 0 {
            cursor.var()?;
        }
        let block = index.checked_sub(1).filter(|_| !is_sentinel);
        if let (Some(code), Some(block)) = (&mut code, block) {
            code.starts.push(BlockStart {
                offset: position,
                block,
            });
        }
    }
    Ok((code, inlined_functions))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What clang 22 wrote for a function with nine blocks, and for `main`.
    const SECTION: [u8; 73] = [
        0x98, 0x24, 0x13, 0x73, 0xa6, 0xc8, 0x50, 0x7e, 0x09, 0x00, 0x00, 0x20, 0x8f, 0xa1, 0x4c,
        0xdd, 0x75, 0x4f, 0x91, 0xcc, 0x01, 0x80, 0x0b, 0x06, 0x80, 0x25, 0x0a, 0x80, 0x03, 0x05,
        0x80, 0x0b, 0x07, 0x80, 0x21, 0x08, 0x80, 0x05, 0x09, 0x80, 0x0c, 0x04, 0x80, 0x14, 0x8f,
        0x70, 0x7f, 0x82, 0x2a, 0x0b, 0x58, 0x77, 0x04, 0x00, 0x00, 0x20, 0xfa, 0xd5, 0x8d, 0xe7,
        0x36, 0x64, 0x95, 0xdb, 0x01, 0x80, 0x01, 0x02, 0x80, 0x00, 0x03, 0x80, 0x00,
    ];

    fn start((offset, block): (u64, u32)) -> BlockStart {
        BlockStart { offset, block }
    }

    #[test]
    fn the_blocks_of_two_functions_are_read() {
        let codes = read_block_probes(&SECTION).expect("a section");
        let [printing, main] = &codes[..] else {
            panic!("{codes:?}");
        };
        assert_eq!(printing.guid, 0x7e50_c8a6_7313_2498);
        // The first bytes of MD5("f"), by `md5sum`.
        assert_eq!(
            printing.symbol_hash.to_le_bytes()[..4],
            [0x8f, 0xa1, 0x4c, 0xdd]
        );
        let starts = [
            (11, 0),
            (48, 5),
            (51, 9),
            (62, 4),
            (95, 6),
            (100, 7),
            (112, 8),
            (132, 3),
        ];
        assert_eq!(printing.starts, starts.map(start));
        assert_eq!(
            main.symbol_hash.to_le_bytes()[..4],
            [0xfa, 0xd5, 0x8d, 0xe7]
        );
    }

    /// A function of another tool with a probe that has a discriminator and an absolute position,
    /// and an inlined function, which has an inlined function.
    #[test]
    fn probes_of_other_tools_are_skipped() {
        let mut section = vec![7; 8];
        section.extend([1, 1, 5, 0x40, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        section.extend([3]); // the probe of the call
        section.extend([8; 8]);
        section.extend([1, 1, 1, 0x80, 4, 1]);
        section.extend([9; 8]);
        section.extend([0, 0]);
        let foreign_length = section.len();
        section.extend(SECTION);
        let expected = read_block_probes(&SECTION);
        assert_eq!(read_block_probes(&section), expected);
        for end in 1..foreign_length {
            let error = read_block_probes(&section[..end]);
            assert!(error.is_err(), "{end}: {error:?}");
        }
    }

    #[test]
    fn every_damaged_byte_gives_a_value_or_an_error() {
        for index in 0..SECTION.len() {
            for value in 0..=255 {
                let mut section = SECTION;
                section[index] = value;
                let codes = read_block_probes(&section).unwrap_or_default();
                assert!(codes.len() <= SECTION.len());
            }
        }
    }
}
