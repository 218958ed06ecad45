//! Writes the counter base into a woven object: resolves the relocations against its base symbol.
//!
//! Woven x86-64 code contains the base as a 32-bit immediate or displacement
//! (`incq base+40(%rax,%rcx,8)`). The base is a number, not an address, but GNU ld refuses
//! R_X86_64_32S in a position-independent executable for every symbol. So the link step writes
//! base + addend into the section and turns each such relocation into R_X86_64_NONE. The symbol
//! stays in the symbol table, undefined. It becomes weak, so that no linker requires a definition.
//!
//! LLVM treats the symbol as an address. To get the number into a register, it may emit
//! `lea base(%rip)` with R_X86_64_PC32. That computes an address from its distance to the code, but
//! a number has no such distance. So these references cannot be resolved ([`unresolvable`]). The
//! weaver looks for them and weaves their functions again. The second time, an extra instruction
//! moves the number into a register.
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

/// The reason why a base cannot be written into an object.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PatchError {
    /// The object is not sound ELF for x86-64.
    #[error("woven object is not sound ELF for x86-64: {0}")]
    Broken(String),
    /// A reference to the base needs an address, so no number can be written.
    #[error("{0}")]
    Relocation(Reference),
    /// base + addend does not fit into the bytes at the relocation.
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
    /// The symbols of the function that contains the reference, aliases included. Empty if no
    /// function contains it.
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

/// A relocation against the base symbol.
struct BaseRelocation {
    /// The file offset of the relocation's entry.
    entry: usize,
    /// The file offset of the bytes to write.
    target: usize,
    kind: u32,
    addend: i64,
    section: usize,
    /// The offset in the section of the bytes to write.
    section_offset: u64,
}

/// The symbol of a module's base of counters next to the ring, from the symbol of its base. The
/// suffix must not change, because objects of earlier links contain it.
#[must_use]
pub fn ring_counters_symbol(base_symbol: &str) -> String {
    format!("{base_symbol}_beside")
}

/// Writes `base` into `object` wherever it refers to the undefined symbol `symbol`. Returns the
/// number of references.
///
/// # Errors
/// If the object is broken, or `base` is too large, or a reference needs an address. Then the
/// object is unchanged.
pub fn resolve_base(object: &mut [u8], symbol: &str, base: u64) -> Result<usize, PatchError> {
    let Some((symbol_entry, relocations)) = find(object, symbol)? else {
        return Ok(0);
    };
    let values = relocations
        .iter()
        .map(|relocation| patched_bytes(object, relocation, base))
        .collect::<Result<Vec<_>, _>>()?;
    for (relocation, value) in relocations.iter().zip(values) {
        object[relocation.target..][..value.len()].copy_from_slice(&value);
        // Type, symbol, and addend 0: R_X86_64_NONE.
        object[relocation.entry + 8..][..16].fill(0);
    }
    let symbol_type = object[symbol_entry + 4] & 0xf;
    object[symbol_entry + 4] = elf::STB_WEAK.0 << 4 | symbol_type;
    Ok(relocations.len())
}

/// The references to the undefined symbols `symbols` that [`resolve_base`] could not resolve,
/// for any base, because they need an address.
///
/// # Errors
/// If the object is broken.
pub fn unresolvable(object: &[u8], symbols: &[&str]) -> Result<Vec<Reference>, PatchError> {
    let mut references = Vec::new();
    for symbol in symbols {
        let relocations =
            find(object, symbol)?.map_or_else(Vec::new, |(_, relocations)| relocations);
        for relocation in relocations
            .iter()
            .filter(|relocation| Width::of(relocation.kind).is_none())
        {
            references.push(reference(object, relocation)?);
        }
    }
    Ok(references)
}

/// The number of bits that a relocation writes.
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
    /// The width of a relocation type. `None` if the type does not write a number as it is.
    fn of(kind: u32) -> Option<Self> {
        match elf::RelocationType(kind) {
            elf::R_X86_64_64 => Some(Self::Long),
            elf::R_X86_64_32S => Some(Self::Signed),
            elf::R_X86_64_32 => Some(Self::Unsigned),
            _ => None,
        }
    }
}

/// The bytes to write for a relocation.
fn patched_bytes(
    object: &[u8],
    relocation: &BaseRelocation,
    base: u64,
) -> Result<Vec<u8>, PatchError> {
    let value = i128::from(base) + i128::from(relocation.addend);
    let Some(width) = Width::of(relocation.kind) else {
        return Err(PatchError::Relocation(reference(object, relocation)?));
    };
    let bytes = match width {
        Width::Long => i64::try_from(value).map(|value| value.to_le_bytes().to_vec()),
        Width::Signed => i32::try_from(value).map(|value| value.to_le_bytes().to_vec()),
        Width::Unsigned => u32::try_from(value).map(|value| value.to_le_bytes().to_vec()),
    };
    bytes.map_err(|_| PatchError::Overflow(value))
}

/// A relocation as messages name it: its type, and the functions that contain it.
fn reference(object: &[u8], relocation: &BaseRelocation) -> Result<Reference, PatchError> {
    let header = elf::FileHeader64::<LE>::parse(object)?;
    let symbols = header
        .sections(LE, object)?
        .symbols(LE, object, elf::SHT_SYMTAB)?;
    let mut functions = Vec::new();
    for (index, symbol) in symbols.enumerate() {
        let start = symbol.st_value(LE);
        let section = symbols.symbol_section(LE, symbol, index)?;
        let end = start.saturating_add(symbol.st_size(LE));
        let contains_relocation = symbol.st_type() == elf::STT_FUNC
            && section.map(|section| section.0) == Some(relocation.section)
            && (start..end).contains(&relocation.section_offset);
        if contains_relocation {
            let name = symbol.name(LE, symbols.strings())?;
            functions.push(String::from_utf8_lossy(name).into_owned());
        }
    }
    let kind = relocation.kind;
    Ok(Reference { kind, functions })
}

/// The file offset of the symbol's entry, and the relocations against the symbol. `None` if the
/// object has no such undefined symbol.
fn find(object: &[u8], symbol: &str) -> Result<Option<(usize, Vec<BaseRelocation>)>, PatchError> {
    let header = elf::FileHeader64::<LE>::parse(object)?;
    if header.e_machine(LE) != elf::EM_X86_64 || header.e_type(LE) != elf::ET_REL {
        return Err(PatchError::Broken(
            "another machine or kind of file".to_owned(),
        ));
    }
    let sections = header.sections(LE, object)?;
    let symbols = sections.symbols(LE, object, elf::SHT_SYMTAB)?;
    let base_symbol = symbols.enumerate().find(|(_, entry)| {
        entry.is_undefined(LE)
            && entry
                .name(LE, symbols.strings())
                .is_ok_and(|name| name == symbol.as_bytes())
    });
    let Some((index, _)) = base_symbol else {
        return Ok(None);
    };
    let table = sections.section(symbols.section())?;
    let entry = checked_offset(
        table.sh_offset(LE),
        index.0 as u64 * size_of::<elf::Sym64<LE>>() as u64,
    );
    let mut base_relocations = Vec::new();
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
                None => 1, // unresolvable, so nothing is written
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
            base_relocations.push(BaseRelocation {
                entry: checked_offset(
                    section.sh_offset(LE),
                    (number * size_of::<elf::Rela64<LE>>()) as u64,
                ),
                target: checked_offset(start, offset),
                kind: kind.0,
                addend: relocation.r_addend(LE),
                section: target_index.0,
                section_offset: offset,
            });
        }
    }
    Ok(Some((entry, base_relocations)))
}

/// The file offset `start` + `offset`, which the `object` crate has checked to lie inside the file.
fn checked_offset(start: u64, offset: u64) -> usize {
    usize::try_from(start + offset).expect("inside the file")
}
