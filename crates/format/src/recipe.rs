//! A recipe: the link line of a program and the files that it links, so that the program can be
//! built again without its sources. The program carries its recipe in the section
//! [`RECIPE_SECTION`], which is not loaded.
//!
//! ```text
//! OFFSET SIZE MEANING
//!      0    8  "HLWRECIP"
//!      8    4  format version, 1
//!     12    8  length of the contents before compression
//!     20    4  crc32 of all that follows
//!     24    …  the contents, as one zstd frame
//! ```
//! The contents. `v` is a varint, a *text* is its length as `v` and its bytes, and a list is its
//! length as `v` and its items:
//! ```text
//! 1 byte       whether the line has the options of a compiler driver (1) or of ld (0)
//! text         the linker
//! text         the optimization level, such as O2; empty: each module keeps its own
//! list         arguments, each a list of pieces: 1 byte, then
//!              0  a text
//!              1  v file: the path of a file
//!              2  (nothing) the path of the output
//! list         files, each: text name, text content
//! ```
//! A damaged recipe is not used at all: the program is built again from its sources instead.
//!
//! Example, the contents for `ld -o OUT a.o`, with an object of one byte:
//! ```text
//! 00  02 6c 64  00  03  01 00 02 2d 6f  01 02  01 01 00  01  03 61 2e 6f  01 7f
//! ```

use std::io::Read as _;

use crate::cursor::Cursor;
use crate::error::FormatError;
use crate::varint::put;

/// The section of a program that holds its recipe.
pub const RECIPE_SECTION: &str = ".holloway_recipe";
/// First eight bytes of a recipe.
pub const RECIPE_MAGIC: [u8; 8] = *b"HLWRECIP";

const VERSION: u32 = 1;
const HEAD: usize = 24;
/// Bitcode shrinks to a third at this level, in a tenth of the time of compiling it.
const LEVEL: i32 = 9;
/// The contents are at most so many times as long as their compressed form. A zstd block of at
/// least four bytes stands for 128 KiB at most.
const MAX_RATIO: u64 = 1 << 16;

/// How a program was linked, and from which files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// The program whose options the line has.
    pub flavor: LineFlavor,
    /// The path of the linker.
    pub linker: Vec<u8>,
    /// The optimization level of all modules, such as `O2`. Empty: each module keeps its own.
    pub opt: String,
    /// The arguments of the linker.
    pub arguments: Vec<Argument>,
    /// The files that the build made.
    pub files: Vec<CarriedFile>,
}

/// The program whose options a line has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineFlavor {
    /// The linker itself: `ld`.
    Ld,
    /// A compiler driver: `cc`.
    Driver,
}

/// One argument, as pieces that are joined.
pub type Argument = Vec<Piece>;

/// A piece of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// The bytes themselves.
    Text(Vec<u8>),
    /// The path of a file of [`Recipe::files`].
    File(usize),
    /// The path of the program.
    Output,
}

/// A file that a program carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedFile {
    /// The name without directories.
    pub name: Vec<u8>,
    /// The content.
    pub content: Vec<u8>,
}

impl Recipe {
    /// Writes the recipe.
    ///
    /// # Errors
    /// If compression fails, because memory is short.
    pub fn encode(&self) -> std::io::Result<Vec<u8>> {
        let contents = self.contents();
        let frame = zstd::bulk::compress(&contents, LEVEL)?;
        let mut bytes = RECIPE_MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((contents.len() as u64).to_le_bytes());
        bytes.extend(crc32fast::hash(&frame).to_le_bytes());
        bytes.extend(frame);
        Ok(bytes)
    }

    fn contents(&self) -> Vec<u8> {
        let mut out = vec![u8::from(self.flavor == LineFlavor::Driver)];
        put_text(&mut out, &self.linker);
        put_text(&mut out, self.opt.as_bytes());
        put(&mut out, self.arguments.len() as u64);
        for pieces in &self.arguments {
            put(&mut out, pieces.len() as u64);
            for piece in pieces {
                match piece {
                    Piece::Text(text) => {
                        out.push(0);
                        put_text(&mut out, text);
                    }
                    Piece::File(file) => {
                        out.push(1);
                        put(&mut out, *file as u64);
                    }
                    Piece::Output => out.push(2),
                }
            }
        }
        put(&mut out, self.files.len() as u64);
        for CarriedFile { name, content } in &self.files {
            put_text(&mut out, name);
            put_text(&mut out, content);
        }
        out
    }

    /// Reads a recipe.
    ///
    /// # Errors
    /// If the bytes are no recipe, have another version, or are damaged.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        if !bytes.starts_with(&RECIPE_MAGIC) {
            return Err(FormatError::NotARecipe);
        }
        let mut head = Cursor::new(bytes, 0);
        head.bytes(8)?;
        let version = head.u32()?;
        if version != VERSION {
            return Err(FormatError::Version {
                found: version,
                reads: VERSION..=VERSION,
            });
        }
        let length = head.u64()?;
        let checksum = head.u32()?;
        let frame = &bytes[HEAD..];
        if crc32fast::hash(frame) != checksum {
            return Err(FormatError::Checksum {
                offset: HEAD as u64,
            });
        }
        let damaged = FormatError::Head { offset: 12 };
        if length > (frame.len() as u64).saturating_mul(MAX_RATIO) {
            return Err(damaged);
        }
        let mut contents = Vec::new();
        let decoder = zstd::stream::read::Decoder::new(frame).map_err(|_| damaged.clone())?;
        let read = decoder.take(length).read_to_end(&mut contents);
        match read {
            Ok(read) if read as u64 == length => read_contents(&contents),
            _ => Err(damaged),
        }
    }
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    put(out, text.len() as u64);
    out.extend_from_slice(text);
}

fn read_contents(contents: &[u8]) -> Result<Recipe, FormatError> {
    let mut cursor = Cursor::new(contents, 0);
    let flavor = match cursor.u8()? {
        0 => LineFlavor::Ld,
        1 => LineFlavor::Driver,
        code => return Err(unknown("flavor", code, &cursor)),
    };
    let linker = read_text(&mut cursor)?;
    let opt = String::from_utf8_lossy(&read_text(&mut cursor)?).into_owned();
    let arguments = read_list(&mut cursor, |cursor| read_list(cursor, read_piece))?;
    let files = read_list(&mut cursor, |cursor| {
        Ok(CarriedFile {
            name: read_text(cursor)?,
            content: read_text(cursor)?,
        })
    })?;
    for piece in arguments.iter().flatten() {
        if let Piece::File(file) = piece
            && *file >= files.len()
        {
            return Err(FormatError::Range {
                what: "file",
                value: *file as u64,
                limit: files.len() as u64,
                offset: cursor.offset(),
            });
        }
    }
    Ok(Recipe {
        flavor,
        linker,
        opt,
        arguments,
        files,
    })
}

fn read_text(cursor: &mut Cursor<'_>) -> Result<Vec<u8>, FormatError> {
    let length = cursor.var()?;
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    Ok(cursor.bytes(length)?.to_vec())
}

/// Reads a list. Its memory grows with the items that are read.
fn read_list<T>(
    cursor: &mut Cursor<'_>,
    read_item: impl Fn(&mut Cursor<'_>) -> Result<T, FormatError>,
) -> Result<Vec<T>, FormatError> {
    let length = cursor.var()?;
    let mut items = Vec::new();
    for _ in 0..length {
        items.push(read_item(cursor)?);
    }
    Ok(items)
}

fn read_piece(cursor: &mut Cursor<'_>) -> Result<Piece, FormatError> {
    Ok(match cursor.u8()? {
        0 => Piece::Text(read_text(cursor)?),
        1 => Piece::File(cursor.var32()? as usize),
        2 => Piece::Output,
        code => return Err(unknown("piece", code, cursor)),
    })
}

fn unknown(what: &'static str, code: u8, cursor: &Cursor<'_>) -> FormatError {
    FormatError::Code {
        what,
        code: code.into(),
        offset: cursor.offset(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Recipe {
        let text = |text: &str| Piece::Text(text.into());
        Recipe {
            flavor: LineFlavor::Ld,
            linker: b"ld".to_vec(),
            opt: String::new(),
            arguments: vec![vec![text("-o")], vec![Piece::Output], vec![Piece::File(0)]],
            files: vec![CarriedFile {
                name: b"a.o".to_vec(),
                content: vec![0x7f],
            }],
        }
    }

    #[test]
    fn the_example_has_the_bytes_of_the_description() {
        let bytes = [
            0x00, 0x02, 0x6c, 0x64, 0x00, 0x03, 0x01, 0x00, 0x02, 0x2d, 0x6f, 0x01, 0x02, 0x01,
            0x01, 0x00, 0x01, 0x03, 0x61, 0x2e, 0x6f, 0x01, 0x7f,
        ];
        assert_eq!(example().contents(), bytes);
        assert_eq!(read_contents(&bytes), Ok(example()));
    }

    #[test]
    fn a_recipe_is_read_as_it_was_written() {
        let mut recipe = example();
        recipe.flavor = LineFlavor::Driver;
        recipe.opt = "O2".into();
        recipe.files[0].content = vec![1; 100_000];
        let bytes = recipe.encode().expect("encoded");
        assert!(bytes.len() < 1000, "{}", bytes.len());
        assert_eq!(Recipe::decode(&bytes), Ok(recipe));
    }

    #[test]
    fn every_damaged_bit_and_every_truncation_is_detected() {
        let bytes = example().encode().expect("encoded");
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Recipe::decode(&damaged).is_err(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(Recipe::decode(&bytes[..length]).is_err(), "length {length}");
        }
    }

    /// The checksum protects the contents, so their reader is tested without it.
    #[test]
    fn any_contents_give_a_recipe_or_an_error() {
        let bytes = example().contents();
        for index in 0..bytes.len() {
            for value in 0..=255 {
                let mut damaged = bytes.clone();
                damaged[index] = value;
                if let Ok(recipe) = read_contents(&damaged) {
                    let again = read_contents(&recipe.contents());
                    assert_eq!(again, Ok(recipe));
                }
            }
        }
    }
}
