//! Classifies the inputs of a link, and finds the bitcode in them.
//!
//! Bitcode has four forms:
//! - bare, in the objects that rustc writes with `-Clinker-plugin-lto`;
//! - in a wrapper;
//! - in the section `.llvm.lto` of an ELF object that also contains machine code
//!   (`-ffat-lto-objects` of clang);
//! - in the section `.llvmbc` (the standard library's rlibs).
//!
//! A file may contain the bitcode of several modules: split LTO units, or sections that `ld -r`
//! has joined. LLVM's C API reads only the first. So the modules are counted, by walking the
//! top-level blocks of the bit stream. The walk also detects truncated files and the offset at
//! which they end. It reads only a few words per block.

use std::ops::Range;

use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, elf};
use thiserror::Error;

/// The section of clang's fat objects that holds the bitcode for the linker.
pub const LTO_SECTION: &str = ".llvm.lto";
/// The section with embedded bitcode (`-fembed-bitcode`, std's rlibs).
pub const EMBEDDED_SECTION: &str = ".llvmbc";

/// The content of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// One module of LLVM bitcode, at these offsets of the file.
    Bitcode(Range<usize>),
    /// A relocatable ELF object with one module of bitcode in a section, at these offsets of the
    /// file.
    FatObject(Range<usize>),
    /// A relocatable ELF object without bitcode, or whose bitcode cannot be used.
    MachineCode(NoBitcode),
    /// An archive, thin or not.
    Archive,
    /// A shared object or program.
    SharedObject,
    /// Anything else: linker scripts, objects of other systems.
    Other,
}

/// The reason why an object is linked as machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoBitcode {
    /// The object has no bitcode.
    None,
    /// The object's bitcode is embedded (`-fembed-bitcode`), and linkers do not read that.
    Embedded,
    /// The object has the bitcode of this many modules.
    SeveralModules(usize),
    /// The object's bitcode is truncated or damaged at this offset of the object.
    Broken(usize),
    /// An optimizer has changed the bitcode, and the link profiles the graph of the source.
    Optimized,
}

/// The reason why an input cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InputError {
    /// The bitcode is truncated or damaged at this offset of the file.
    #[error("bitcode is truncated or damaged at offset {0}; build it again")]
    BrokenBitcode(usize),
    /// The file is bare bitcode of several modules, without machine code to link in its place.
    #[error(
        "bitcode of {0} modules in one file; compile it with -fno-split-lto-unit -fno-whole-program-vtables"
    )]
    SeveralModules(usize),
    /// The ELF headers are wrong.
    #[error("not a sound ELF file ({0}); build it again")]
    BrokenElf(String),
}

/// The sections of an object that count as bitcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sections {
    /// `.llvm.lto` only.
    Lto,
    /// `.llvm.lto`, and `.llvmbc` with the standard library's embedded bitcode.
    Embedded,
}

/// Classifies `bytes`, a whole file or archive member.
///
/// # Errors
/// If `bytes` begin as bitcode or ELF but are truncated or damaged.
pub fn classify(bytes: &[u8], sections: Sections) -> Result<InputKind, InputError> {
    if is_bitcode(bytes) {
        return bare_bitcode(bytes);
    }
    if bytes.starts_with(b"!<arch>\n") || bytes.starts_with(b"!<thin>\n") {
        return Ok(InputKind::Archive);
    }
    let broken = |error: object::Error| InputError::BrokenElf(error.to_string());
    match bytes.get(..5) {
        Some(b"\x7fELF\x02") => elf_kind(
            bytes,
            elf::FileHeader64::<Endianness>::parse(bytes).map_err(broken)?,
            sections,
        ),
        Some(b"\x7fELF\x01") => elf_kind(
            bytes,
            elf::FileHeader32::<Endianness>::parse(bytes).map_err(broken)?,
            sections,
        ),
        _ => Ok(InputKind::Other),
    }
}

/// Whether `bytes` begin as bitcode, bare or in a wrapper.
pub fn is_bitcode(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC) || bytes.starts_with(&WRAPPER)
}

/// Whether an ELF object contains machine code. Compilers also write objects that contain only
/// symbols or metadata.
pub fn has_code(bytes: &[u8]) -> bool {
    use object::{Object, ObjectSection, SectionKind};
    let Ok(file) = object::File::parse(bytes) else {
        return false;
    };
    file.sections()
        .any(|section| section.kind() == SectionKind::Text && section.size() > 0)
}

const MAGIC: [u8; 4] = *b"BC\xC0\xDE";
const WRAPPER: [u8; 4] = [0xDE, 0xC0, 0x17, 0x0B];

/// Classifies bitcode that is in no ELF object.
fn bare_bitcode(bytes: &[u8]) -> Result<InputKind, InputError> {
    let range = unwrap(bytes)?;
    match holloway_llvm::count_modules(&bytes[range.clone()])
        .map_err(|offset| InputError::BrokenBitcode(range.start + offset))?
    {
        1 => Ok(InputKind::Bitcode(range)),
        0 => Err(InputError::BrokenBitcode(range.end)),
        several => Err(InputError::SeveralModules(several)),
    }
}

/// The offsets of the bitcode inside its wrapper, or of all bytes if there is no wrapper.
///
/// ```text
/// OFFSET SIZE MEANING
///      0    4  0x0B17C0DE
///      4    4  version
///      8    4  offset of the bitcode
///     12    4  size of the bitcode
///     16    4  CPU type
/// ```
fn unwrap(bytes: &[u8]) -> Result<Range<usize>, InputError> {
    if !bytes.starts_with(&WRAPPER) {
        return Ok(0..bytes.len());
    }
    let field = |offset: usize| {
        word(bytes, offset)
            .map(|value| value as usize)
            .ok_or(InputError::BrokenBitcode(bytes.len()))
    };
    let (start, size) = (field(8)?, field(12)?);
    match start.checked_add(size) {
        Some(end) if end <= bytes.len() => Ok(start..end),
        _ => Err(InputError::BrokenBitcode(bytes.len())),
    }
}

fn elf_kind<H: FileHeader<Endian = Endianness>>(
    bytes: &[u8],
    header: &H,
    sections: Sections,
) -> Result<InputKind, InputError> {
    let broken = |error: object::Error| InputError::BrokenElf(error.to_string());
    let endian = header.endian().map_err(broken)?;
    match header.e_type(endian) {
        elf::ET_REL => {}
        elf::ET_DYN | elf::ET_EXEC => return Ok(InputKind::SharedObject),
        _ => return Ok(InputKind::Other),
    }
    let table = header.sections(endian, bytes).map_err(broken)?;
    let find = |name: &str| -> Result<Option<Range<usize>>, InputError> {
        let section = table.section_by_name(endian, name.as_bytes());
        let Some((start, size)) = section.and_then(|(_, section)| section.file_range(endian))
        else {
            return Ok(None);
        };
        let range = usize::try_from(start)
            .ok()
            .zip(usize::try_from(start.saturating_add(size)).ok())
            .map(|(start, end)| start..end)
            .filter(|range| range.end <= bytes.len());
        match range {
            Some(range) => Ok(Some(range).filter(|range| !range.is_empty())),
            None => Err(InputError::BrokenElf(format!(
                "section {name} reaches beyond the end"
            ))),
        }
    };
    if let Some(range) = find(LTO_SECTION)? {
        return Ok(section_kind(bytes, range));
    }
    let embedded = find(EMBEDDED_SECTION)?.map(|range| section_kind(bytes, range));
    let none = InputKind::MachineCode(NoBitcode::None);
    Ok(match (embedded, sections) {
        (Some(kind), _) if kind == none => none,
        (Some(kind), Sections::Embedded) => kind,
        (Some(_), Sections::Lto) => InputKind::MachineCode(NoBitcode::Embedded),
        (None, _) => none,
    })
}

/// Classifies an object by the bitcode in one of its sections. Damaged bitcode is no error, because
/// the object's machine code can still be linked.
fn section_kind(bytes: &[u8], range: Range<usize>) -> InputKind {
    match holloway_llvm::count_modules(&bytes[range.clone()]) {
        Ok(0) => InputKind::MachineCode(NoBitcode::None),
        Ok(1) => InputKind::FatObject(range),
        Ok(several) => InputKind::MachineCode(NoBitcode::SeveralModules(several)),
        Err(offset) => InputKind::MachineCode(NoBitcode::Broken(range.start + offset)),
    }
}

fn word(bytes: &[u8], offset: usize) -> Option<u32> {
    let word = bytes.get(offset..offset.checked_add(4)?)?;
    Some(u32::from_le_bytes(word.try_into().expect("four bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE_BLOCK: u32 = 8;
    const ENTER_BLOCK: u32 = 1;

    fn block(id: u32, words: u32) -> Vec<u8> {
        let mut bytes = (ENTER_BLOCK | id << 2 | 3 << 10).to_le_bytes().to_vec();
        bytes.extend(words.to_le_bytes());
        bytes.extend(vec![0xAA; words as usize * 4]);
        bytes
    }

    fn stream(blocks: &[(u32, u32)]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        blocks
            .iter()
            .for_each(|&(id, words)| bytes.extend(block(id, words)));
        bytes
    }

    /// The blocks of a bit stream with one module: the id and length in words of each.
    const ONE_MODULE: &[(u32, u32)] = &[(13, 5), (MODULE_BLOCK, 40), (23, 3)];

    #[test]
    fn modules_of_bare_bitcode_are_counted() {
        let module = stream(ONE_MODULE);
        assert_eq!(
            classify(&module, Sections::Lto),
            Ok(InputKind::Bitcode(0..module.len()))
        );
        let two = stream(&[(13, 5), (MODULE_BLOCK, 4), (MODULE_BLOCK, 9), (23, 3)]);
        assert_eq!(
            classify(&two, Sections::Lto),
            Err(InputError::SeveralModules(2))
        );
        let joined = [module.clone(), vec![0; 8], module.clone()].concat();
        assert_eq!(
            classify(&joined, Sections::Lto),
            Err(InputError::SeveralModules(2))
        );
    }

    #[test]
    fn every_truncation_is_detected() {
        let module = stream(ONE_MODULE);
        for length in 4..module.len() {
            // The magic, the first block, and the module block, but not the block after it.
            let has_module = length == 4 + 28 + 168;
            assert_eq!(
                classify(&module[..length], Sections::Lto).is_ok(),
                has_module,
                "{length}"
            );
        }
    }

    #[test]
    fn bitcode_in_a_wrapper_is_found() {
        let module = stream(ONE_MODULE);
        let mut wrapped = WRAPPER.to_vec();
        for field in [0, 20, u32::try_from(module.len()).expect("small"), 7] {
            wrapped.extend(field.to_le_bytes());
        }
        wrapped.extend(&module);
        wrapped.extend([0; 12]);
        assert_eq!(
            classify(&wrapped, Sections::Lto),
            Ok(InputKind::Bitcode(20..20 + module.len()))
        );
        wrapped.truncate(100);
        assert!(classify(&wrapped, Sections::Lto).is_err());
    }

    #[test]
    fn archives_and_other_files_are_distinguished() {
        assert_eq!(
            classify(b"!<arch>\n", Sections::Lto),
            Ok(InputKind::Archive)
        );
        assert_eq!(
            classify(b"!<thin>\n", Sections::Lto),
            Ok(InputKind::Archive)
        );
        assert_eq!(
            classify(b"GROUP ( libc.so.6 )", Sections::Lto),
            Ok(InputKind::Other)
        );
        assert_eq!(classify(b"", Sections::Lto), Ok(InputKind::Other));
        assert!(matches!(
            classify(b"\x7fELF\x02\x01\x01", Sections::Lto),
            Err(InputError::BrokenElf(_))
        ));
    }
}
