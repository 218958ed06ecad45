//! Writes the base of its counters into a woven object: resolves the relocations against its base
//! symbol.
//!
//! Woven x86-64 code contains the base as a 32-bit immediate or displacement
//! (`incq base+40(%rax,%rcx,8)`). The base is a number, not an address, but GNU ld refuses
//! R_X86_64_32S in a PIE whatever the symbol is. So the link step writes base + addend into the
//! section itself and turns each such relocation into R_X86_64_NONE. The symbol stays in the table,
//! undefined. It becomes weak, so that no linker asks for it.
//!
//! LLVM takes the symbol for an address. Where it wants the bare number in a register, it emits
//! `lea base(%rip)` with R_X86_64_PC32. That is right for an address, but a number has no distance
//! from the code. Such references can't be resolved ([`unresolvable`]). The weaver looks for them
//! and weaves their functions again. Then an instruction of its own moves the number into a
//! register.
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
use thiserror::Error;

/// Why a base cannot be written into an object.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PatchError {
    /// The object is not sound ELF for x86-64.
    #[error("woven object is not sound ELF for x86-64: {0}")]
    Broken(String),
    /// A reference to the base that no number can be written into.
    #[error("{0}")]
    Relocation(Reference),
    /// base + addend does not fit the place.
    #[error(
        "{0} for the place of its counters does not fit 32 bits; weave less of this program (--only, --skip)"
    )]
    Overflow(i128),
}

impl From<object::Error> for PatchError {
    fn from(error: object::Error) -> Self {
        Self::Broken(error.to_string())
    }
}

/// A reference to a module's base by a relocation that needs an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The ELF relocation type.
    pub kind: u32,
    /// The symbols of the function that contains it, aliases included. Empty if no function's
    /// symbol covers the place.
    pub functions: Vec<String>,
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.functions.first() {
            Some(function) => write!(f, "function {function}")?,
            None => write!(f, "code outside functions")?,
        }
        let kind = self.kind;
        write!(f, " refers to its counters by relocation type {kind}")
    }
}

/// One place to write.
struct Fix {
    relocation: usize,
    place: usize,
    kind: u32,
    addend: i64,
    /// The index of the section, and the offset in it.
    target: (usize, u64),
}

/// The symbol of a module's base of counters next to the ring, from the symbol of its base. Objects
/// of earlier links carry the suffix, so it stays as it is.
#[must_use]
pub fn ring_counters_symbol(base_symbol: &str) -> String {
    format!("{base_symbol}_beside")
}

/// Writes `base` into `object` wherever it refers to the undefined symbol `symbol`. Returns the
/// number of places.
///
/// # Errors
/// When the object is broken or `base` too large. The object is then as it was.
pub fn resolve_base(object: &mut [u8], symbol: &str, base: u64) -> Result<usize, PatchError> {
    let Some((entry, fixes)) = find(object, symbol)? else {
        return Ok(0);
    };
    let values = fixes
        .iter()
        .map(|fix| value(object, fix, base))
        .collect::<Result<Vec<_>, _>>()?;
    for (fix, value) in fixes.iter().zip(values) {
        object[fix.place..][..value.len()].copy_from_slice(&value);
        object[fix.relocation + 8..][..16].fill(0);
    }
    let kind = object[entry + 4] & 0xf;
    object[entry + 4] = elf::STB_WEAK.0 << 4 | kind;
    Ok(fixes.len())
}

/// The references to the undefined symbols `symbols` that [`resolve_base`] could not resolve,
/// whatever the base.
///
/// # Errors
/// When the object is broken.
pub fn unresolvable(object: &[u8], symbols: &[&str]) -> Result<Vec<Reference>, PatchError> {
    let mut references = Vec::new();
    for symbol in symbols {
        let fixes = find(object, symbol)?.map_or_else(Vec::new, |(_, fixes)| fixes);
        for fix in fixes.iter().filter(|fix| Width::of(fix.kind).is_none()) {
            references.push(reference(object, fix)?);
        }
    }
    Ok(references)
}

/// The number of bits that a relocation has room for.
#[derive(Clone, Copy)]
enum Width {
    /// 64 bits.
    Long,
    /// 32 bits, extended with the sign.
    Signed,
    /// 32 bits, extended with zeros.
    Unsigned,
}

impl Width {
    /// Of relocations that take a number as it is.
    fn of(kind: u32) -> Option<Self> {
        match elf::RelocationType(kind) {
            elf::R_X86_64_64 => Some(Self::Long),
            elf::R_X86_64_32S => Some(Self::Signed),
            elf::R_X86_64_32 => Some(Self::Unsigned),
            _ => None,
        }
    }
}

/// Bytes to be written at the place of `fix`.
fn value(object: &[u8], fix: &Fix, base: u64) -> Result<Vec<u8>, PatchError> {
    let value = i128::from(base) + i128::from(fix.addend);
    let Some(width) = Width::of(fix.kind) else {
        return Err(PatchError::Relocation(reference(object, fix)?));
    };
    let bytes = match width {
        Width::Long => i64::try_from(value).map(|value| value.to_le_bytes().to_vec()),
        Width::Signed => i32::try_from(value).map(|value| value.to_le_bytes().to_vec()),
        Width::Unsigned => u32::try_from(value).map(|value| value.to_le_bytes().to_vec()),
    };
    bytes.map_err(|_| PatchError::Overflow(value))
}

/// A place as messages name it.
fn reference(object: &[u8], fix: &Fix) -> Result<Reference, PatchError> {
    let header = elf::FileHeader64::<LE>::parse(object)?;
    let symbols = header
        .sections(LE, object)?
        .symbols(LE, object, elf::SHT_SYMTAB)?;
    let (section, offset) = fix.target;
    let mut functions = Vec::new();
    for (index, symbol) in symbols.enumerate() {
        let start = symbol.st_value(LE);
        let is_here = symbol.st_type() == elf::STT_FUNC
            && symbols.symbol_section(LE, symbol, index)?.map(|at| at.0) == Some(section)
            && (start..start.saturating_add(symbol.st_size(LE))).contains(&offset);
        if is_here {
            let name = symbol.name(LE, symbols.strings())?;
            functions.push(String::from_utf8_lossy(name).into_owned());
        }
    }
    let kind = fix.kind;
    Ok(Reference { kind, functions })
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
        let target_index = section.info_link(LE);
        let target = sections.section(target_index)?;
        let (start, size) = target.file_range(LE).unwrap_or((0, 0));
        for (number, relocation) in relocations.iter().enumerate() {
            if relocation.symbol(LE, false) != Some(index) {
                continue;
            }
            let (offset, kind) = (relocation.r_offset(LE), relocation.r_type(LE, false));
            let width = match Width::of(kind.0) {
                Some(Width::Long) => 8,
                Some(Width::Signed | Width::Unsigned) => 4,
                None => 1, // never written into
            };
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
                target: (target_index.0, offset),
            });
        }
    }
    Ok(Some((entry, fixes)))
}

/// Offsets the `object` crate has found to lie inside the file.
fn at(start: u64, offset: u64) -> usize {
    usize::try_from(start + offset).expect("inside the file")
}
