//! Gives a woven object the place of its counters: relocations against its base symbol are resolved here.
//!
//! Woven x86-64 code adds the counter base as a 32-bit immediate or displacement (`incq base+40(%rax,%rcx,8)`). The
//! base is a number, not an address, but GNU ld refuses R_X86_64_32S in a PIE whatever the symbol is. So the link
//! step writes base + addend into the section itself and turns each such relocation into R_X86_64_NONE. The symbol
//! stays in the table, undefined; it is made weak, so that no linker asks for it.
//!
//! ```text
//! Elf64_Rela                         Elf64_Sym
//! OFFSET SIZE MEANING                OFFSET SIZE MEANING
//!      0    8  offset in the section      0    4  name, offset in the string table
//!      8    4  type                       4    1  type in bits 0-3, binding in bits 4-7
//!     12    4  symbol                     6    2  section (0: undefined)
//!     16    8  addend
//! ```
//! Cost: one pass over the relocations.

use std::fmt;

use object::elf;
use object::endian::LittleEndian as LE;
use object::read::elf::{FileHeader, Rela, SectionHeader, Sym};

/// Why a base cannot be written into an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatchError {
    /// The object is not sound ELF for x86-64.
    Broken(String),
    /// A relocation against the base has a type that woven code never needs.
    Relocation(u32),
    /// base + addend does not fit the place.
    Overflow(i128),
}

impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(why) => write!(f, "woven object is not sound ELF for x86-64: {why}"),
            Self::Relocation(kind) => write!(
                f,
                "woven object refers to its counters by relocation type {kind}"
            ),
            Self::Overflow(value) => write!(
                f,
                "counters at offset {value}: more than 2 GiB of counters in one image; weave less of it (--only, --skip)"
            ),
        }
    }
}

impl std::error::Error for PatchError {}

impl From<object::Error> for PatchError {
    fn from(error: object::Error) -> Self {
        Self::Broken(error.to_string())
    }
}

/// One place to write.
struct Fix {
    relocation: usize,
    place: usize,
    kind: u32,
    addend: i64,
}

/// The symbol that stands for where a module's counters beside the threads' rings are, of the symbol of its base.
#[must_use]
pub fn beside_symbol(base_symbol: &str) -> String {
    format!("{base_symbol}_beside")
}

/// Writes `base` into `object` wherever it refers to the undefined symbol `symbol`. Returns the number of places.
///
/// # Errors
/// When the object is broken or `base` too large. The object is then as it was.
pub fn resolve_base(object: &mut [u8], symbol: &str, base: u64) -> Result<usize, PatchError> {
    let Some((entry, fixes)) = find(object, symbol)? else {
        return Ok(0);
    };
    let values = fixes
        .iter()
        .map(|fix| value(fix, base))
        .collect::<Result<Vec<_>, _>>()?;
    for (fix, value) in fixes.iter().zip(values) {
        object[fix.place..][..value.len()].copy_from_slice(&value);
        object[fix.relocation + 8..][..16].fill(0);
    }
    let kind = object[entry + 4] & 0xf;
    object[entry + 4] = elf::STB_WEAK.0 << 4 | kind;
    Ok(fixes.len())
}

/// Bytes to be written at the place of `fix`.
fn value(fix: &Fix, base: u64) -> Result<Vec<u8>, PatchError> {
    let value = i128::from(base) + i128::from(fix.addend);
    let overflow = PatchError::Overflow(value);
    match elf::RelocationType(fix.kind) {
        elf::R_X86_64_64 => Ok(i64::try_from(value)
            .map_err(|_| overflow)?
            .to_le_bytes()
            .to_vec()),
        elf::R_X86_64_32S => Ok(i32::try_from(value)
            .map_err(|_| overflow)?
            .to_le_bytes()
            .to_vec()),
        elf::R_X86_64_32 => Ok(u32::try_from(value)
            .map_err(|_| overflow)?
            .to_le_bytes()
            .to_vec()),
        elf::RelocationType(other) => Err(PatchError::Relocation(other)),
    }
}

/// Offset of the symbol's entry, and the relocations against it.
fn find(object: &[u8], symbol: &str) -> Result<Option<(usize, Vec<Fix>)>, PatchError> {
    let header = elf::FileHeader64::<LE>::parse(object)?;
    if header.e_machine(LE) != elf::EM_X86_64 || header.e_type(LE) != elf::ET_REL {
        return Err(PatchError::Broken(
            "another machine or kind of file".to_owned(),
        ));
    }
    let sections = header.sections(LE, object)?;
    let symbols = sections.symbols(LE, object, elf::SHT_SYMTAB)?;
    let wanted = symbols.enumerate().find(|(_, entry)| {
        entry.is_undefined(LE)
            && entry
                .name(LE, symbols.strings())
                .is_ok_and(|name| name == symbol.as_bytes())
    });
    let Some((index, _)) = wanted else {
        return Ok(None);
    };
    let table = sections.section(symbols.section())?;
    let entry = at(
        table.sh_offset(LE),
        index.0 as u64 * size_of::<elf::Sym64<LE>>() as u64,
    );
    let mut fixes = Vec::new();
    for section in sections.iter() {
        let Some((relocations, link)) = section.rela(LE, object)? else {
            continue;
        };
        if link != symbols.section() {
            continue;
        }
        let target = sections.section(section.info_link(LE))?;
        let (start, size) = target.file_range(LE).unwrap_or((0, 0));
        for (number, relocation) in relocations.iter().enumerate() {
            if relocation.symbol(LE, false) != Some(index) {
                continue;
            }
            let (offset, kind) = (relocation.r_offset(LE), relocation.r_type(LE, false));
            let width = if kind == elf::R_X86_64_64 { 8 } else { 4 };
            let end = offset
                .checked_add(width)
                .filter(|&end| end <= size)
                .and_then(|end| end.checked_add(start));
            if end.is_none_or(|end| end > object.len() as u64) {
                return Err(PatchError::Broken(format!(
                    "relocation at {offset} lies outside its section"
                )));
            }
            fixes.push(Fix {
                relocation: at(
                    section.sh_offset(LE),
                    (number * size_of::<elf::Rela64<LE>>()) as u64,
                ),
                place: at(start, offset),
                kind: kind.0,
                addend: relocation.r_addend(LE),
            });
        }
    }
    Ok(Some((entry, fixes)))
}

/// Offsets the `object` crate has found to lie inside the file.
fn at(start: u64, offset: u64) -> usize {
    usize::try_from(start + offset).expect("inside the file")
}
