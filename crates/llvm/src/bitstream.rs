//! Reads three facts from LLVM's bitstream format: the producer of a file, the number of its
//! modules, and its string table. LLVM's errors often mention neither producer nor number of
//! modules. Cost: a few words for each top-level block.
//!
//! A VBR (variable bit rate) number of width w is a sequence of chunks of w bits. The highest bit
//! of a chunk says whether another chunk follows.
//!
//! ```text
//! WIDTH   MEANING
//! 32      magic
//! then blocks, each
//!  2      1: a block begins          inside, in the width that the block names:
//!  vbr8   its id: 13 identification, 0  END_BLOCK, to the next word
//!         8 module                   1  a block
//!  vbr4   width of its codes         2  an abbreviation: vbr5 operands; each
//!                                       1 bit literal + vbr8, or 3 bits encoding
//!  to the next word                  3  a record: vbr6 code, vbr6 count, vbr6 each
//!  32     its length in words        4… a record by an abbreviation
//! ```
//! In the identification block, record 1 contains the producer's text (`LLVM22.1.8`).
//!
//! The functions return quickly for any input, even if it is damaged. A count in the input may be
//! much too large. But each counted item consumes bits, so reading stops at the end of the input.

const IDENTIFICATION: u32 = 13;
const MODULE: u32 = 8;
const STRING_TABLE: u32 = 23;
const MAGIC: u32 = u32::from_le_bytes(*b"BC\xC0\xDE");

/// Counts the module blocks of a bitstream.
///
/// # Errors
/// Returns the offset in bytes at which the stream ends too early or is malformed.
pub fn count_modules(bitcode: &[u8]) -> Result<usize, usize> {
    let mut modules = 0;
    for block in blocks(bitcode) {
        modules += usize::from(block?.id == MODULE);
    }
    Ok(modules)
}

/// Returns the producer's text from the identification block.
pub fn producer(bitcode: &[u8]) -> Option<String> {
    /// The maximum number of bytes to read. Real identification blocks have 40 bytes. A crafted
    /// block may repeat long abbreviations, which would take quadratic time.
    const MAX_LENGTH: usize = 4096;
    let block = blocks(bitcode)
        .map_while(Result::ok)
        .find(|block| block.id == IDENTIFICATION)?;
    let end = bitcode.len().min(block.start + MAX_LENGTH);
    let mut bits = Bits {
        bytes: &bitcode[..end],
        position: block.start * 8 + HEAD_BITS,
    };
    identification(&mut bits)
}

/// Returns the contents of the string table block: the names of all globals without separators, and
/// a few other strings.
pub fn string_table(bitcode: &[u8]) -> Option<&[u8]> {
    let block = blocks(bitcode)
        .map_while(Result::ok)
        .filter(|block| block.id == STRING_TABLE)
        .last()?;
    let words = word(bitcode, block.start + 4)? as usize;
    bitcode.get(block.start + 8..)?.get(..words * 4)
}

/// Returns the major version in a producer's text, which is its first number.
pub(crate) fn major(producer: &str) -> Option<u32> {
    let digits = producer.trim_start_matches(|c: char| !c.is_ascii_digit());
    digits
        .split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

/// A top-level block.
struct TopBlock {
    id: u32,
    /// The offset of the block in bytes.
    start: usize,
}

/// The number of bits of a block before the width of its codes.
const HEAD_BITS: usize = 2 + 8;

/// Iterates over the top-level blocks. If the stream is malformed, the last item is the offset of
/// the error.
///
/// Block ids are small, so the VBR numbers of a block's head are single chunks, and the head fits
/// in 32 bits. If streams are concatenated, each begins with the magic number. Zero words are
/// padding.
fn blocks(bitcode: &[u8]) -> impl Iterator<Item = Result<TopBlock, usize>> {
    const ENTER_BLOCK: u32 = 1;
    let mut offset = 0;
    let mut next = move || -> Result<Option<TopBlock>, usize> {
        while offset < bitcode.len() {
            let start = offset;
            if bitcode.len() - offset < 4 && bitcode[offset..].iter().all(|&byte| byte == 0) {
                break;
            }
            let head = word(bitcode, offset).ok_or(offset)?;
            if head == MAGIC || (head == 0 && offset > 0) {
                offset += 4;
                continue;
            }
            let id = head >> 2 & 0xff;
            if offset == 0 || head & 3 != ENTER_BLOCK || id >= 0x80 {
                return Err(offset);
            }
            let words = word(bitcode, offset + 4).ok_or(bitcode.len())? as usize;
            offset = words
                .checked_mul(4)
                .and_then(|length| length.checked_add(start + 8))
                .filter(|&end| end <= bitcode.len())
                .ok_or(bitcode.len())?;
            return Ok(Some(TopBlock { id, start }));
        }
        Ok(None)
    };
    let mut has_failed = false;
    std::iter::from_fn(move || {
        if has_failed {
            return None;
        }
        let block = next();
        has_failed = block.is_err();
        block.transpose()
    })
}

/// Reads the word of 4 bytes at `offset`.
fn word(bytes: &[u8], offset: usize) -> Option<u32> {
    let word = bytes.get(offset..offset.checked_add(4)?)?;
    Some(u32::from_le_bytes(word.try_into().expect("four bytes")))
}

/// The encoding of an abbreviation's operand.
#[derive(Clone, Copy)]
enum Operand {
    Literal(u64),
    Fixed(u32),
    Vbr(u32),
    Array,
    Char6,
    Blob,
}

/// Reads the producer's text. `bits` is after the id of the identification block.
fn identification(bits: &mut Bits<'_>) -> Option<String> {
    let width = u32::try_from(bits.vbr(4)?).ok()?;
    bits.align();
    bits.fixed(32)?;
    let mut abbreviations: Vec<Vec<Operand>> = Vec::new();
    loop {
        let record = match bits.fixed(width)? {
            0 | 1 => return None,
            2 => {
                abbreviations.push(abbreviation(bits)?);
                continue;
            }
            3 => {
                let code = bits.vbr(6)?;
                let count = bits.vbr(6)?;
                let mut record = vec![code];
                for _ in 0..count {
                    record.push(bits.vbr(6)?);
                }
                record
            }
            id => abbreviated(bits, abbreviations.get(usize::try_from(id).ok()? - 4)?)?,
        };
        if record.first() == Some(&1) {
            return record[1..]
                .iter()
                .map(|&c| char::from_u32(u32::try_from(c).ok()?))
                .collect();
        }
    }
}

/// Reads the definition of an abbreviation.
fn abbreviation(bits: &mut Bits<'_>) -> Option<Vec<Operand>> {
    let count = bits.vbr(5)?;
    let mut operands = Vec::new();
    for _ in 0..count {
        operands.push(if bits.fixed(1)? == 1 {
            Operand::Literal(bits.vbr(8)?)
        } else {
            match bits.fixed(3)? {
                1 => Operand::Fixed(u32::try_from(bits.vbr(5)?).ok()?),
                2 => Operand::Vbr(u32::try_from(bits.vbr(5)?).ok()?),
                3 => Operand::Array,
                4 => Operand::Char6,
                _ => Operand::Blob,
            }
        });
    }
    Some(operands)
}

/// Reads a record that is encoded by the abbreviation `operands`.
fn abbreviated(bits: &mut Bits<'_>, operands: &[Operand]) -> Option<Vec<u64>> {
    let mut record = Vec::new();
    let mut operands = operands.iter();
    while let Some(&operand) = operands.next() {
        if matches!(operand, Operand::Array) {
            let count = bits.vbr(6)?;
            let element = *operands.next()?;
            if matches!(element, Operand::Literal(_) | Operand::Fixed(0)) {
                return None;
            }
            for _ in 0..count {
                record.push(scalar(bits, element)?);
            }
        } else {
            record.push(scalar(bits, operand)?);
        }
    }
    Some(record)
}

fn scalar(bits: &mut Bits<'_>, operand: Operand) -> Option<u64> {
    const CHAR6: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";
    match operand {
        Operand::Literal(value) => Some(value),
        Operand::Fixed(width) => bits.fixed(width),
        Operand::Vbr(width) => bits.vbr(width),
        Operand::Char6 => Some(CHAR6[bits.fixed(6)? as usize].into()),
        Operand::Array | Operand::Blob => None,
    }
}

/// A reader of bits, lowest bit first.
#[derive(Clone, Copy)]
struct Bits<'a> {
    bytes: &'a [u8],
    /// The position in bits.
    position: usize,
}

impl Bits<'_> {
    fn fixed(&mut self, width: u32) -> Option<u64> {
        if width > 64 {
            return None;
        }
        let mut value = 0;
        for bit in 0..width {
            let byte = self.bytes.get(self.position / 8)?;
            value |= u64::from(byte >> (self.position % 8) & 1) << bit;
            self.position += 1;
        }
        Some(value)
    }

    /// Reads a VBR number of this width.
    fn vbr(&mut self, width: u32) -> Option<u64> {
        if !(2..=32).contains(&width) {
            return None;
        }
        let mut value = 0u64;
        let mut shift = 0;
        loop {
            let chunk = self.fixed(width)?;
            let has_next = chunk >> (width - 1) & 1;
            value |= (chunk & !(1 << (width - 1))).checked_shl(shift)?;
            if has_next == 0 {
                return Some(value);
            }
            shift += width - 1;
        }
    }

    /// Skips to the next word.
    fn align(&mut self) {
        self.position = self.position.next_multiple_of(32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The start of a file by clang 22: magic, the identification block, the head of a module.
    const HEAD: &[u8] = &[
        0x42, 0x43, 0xC0, 0xDE, 0x35, 0x14, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x62, 0x0C, 0x30,
        0x24, 0x4A, 0x59, 0xBE, 0xA6, 0x6D, 0xFB, 0xB5, 0xCF, 0x0B, 0x51, 0x80, 0x4C, 0x01, 0x00,
        0x00, 0x00, 0x21, 0x0C, 0x00, 0x00, 0xCD, 0x01, 0x00, 0x00,
    ];

    /// The same bytes with an empty module block, so that the stream is complete.
    fn whole() -> Vec<u8> {
        let mut bytes = HEAD.to_vec();
        bytes[36..].fill(0);
        bytes
    }

    #[test]
    fn clang_22_writes_a_producer_and_one_module() {
        assert_eq!(producer(HEAD).as_deref(), Some("LLVM22.1.8"));
        assert_eq!(count_modules(HEAD), Err(HEAD.len()));
        assert_eq!(count_modules(&whole()), Ok(1));
        assert_eq!(count_modules(&[whole(), whole()].concat()), Ok(2));
    }

    #[test]
    fn incomplete_files_are_errors() {
        let whole = whole();
        for end in 0..whole.len() {
            assert_ne!(count_modules(&whole[..end]), Ok(1), "{end}");
            let _ = producer(&whole[..end]);
        }
    }

    #[test]
    fn arrays_whose_elements_have_no_bits_are_rejected() {
        // The bytes contain the count 3 and three elements of six bits.
        let bytes = [0x03; 3];
        let array = |element| {
            abbreviated(
                &mut Bits {
                    bytes: &bytes,
                    position: 0,
                },
                &[Operand::Array, element],
            )
        };
        assert_eq!(array(Operand::Fixed(6)).map(|record| record.len()), Some(3));
        assert_eq!(array(Operand::Fixed(0)), None);
        assert_eq!(array(Operand::Literal(7)), None);
        assert_eq!(array(Operand::Fixed(7)), None);
        assert_eq!(array(Operand::Array), None);
    }

    #[test]
    fn the_major_version_is_the_first_number() {
        assert_eq!(major("LLVM22.1.2-rust-1.95.0-stable"), Some(22));
        assert_eq!(major("LLVM 19.1.7"), Some(19));
        assert_eq!(major("LLVM"), None);
    }
}
