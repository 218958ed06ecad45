//! Builds the object that the link step adds to each woven program or shared object: the image's
//! header, the thread-local slot, and the path map.
//!
//! ```text
//! SECTION         FLAGS                 CONTENT
//! .rodata         alloc                 __holloway_image: holloway_abi::ImageHeader (1024 bytes)
//!                                       on machines without patched bases: each base, 8 bytes
//! .tbss           alloc, write, tls     __holloway_slot: 8 bytes
//!                                       if timed in bursts, __holloway_countdown: 4 bytes
//! .holloway_map   alloc                 the path map
//! .note.holloway  alloc                 only without a runtime: an ELF note with the build id
//! ```
//! Every symbol is hidden, because one process may contain several woven shared objects, each with
//! these symbols. The section of the path map has the flag *alloc* so that `strip` keeps it. The
//! runtime uses the header, and a relocation of type NONE in the header refers to the map. Without
//! a runtime, the note refers to the header, and linkers keep every note. So the map also survives
//! `--gc-sections` in GNU ld, gold, and lld. The flag SHF_GNU_RETAIN would not do: gold does not
//! know it.

use std::collections::BTreeMap;

use holloway_abi::{
    COUNTDOWN_SYMBOL, IMAGE_SYMBOL, ImageHeader, Kind, MAP_SECTION, SLOT_SYMBOL, Timing,
};
use holloway_format::RECIPE_SECTION;
use object::write::{Object, Relocation, StandardSection, Symbol, SymbolId, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationFlags, SectionFlags, SectionKind,
    SymbolFlags, SymbolKind, SymbolScope, elf,
};

/// The section with the note of an image without runtime.
const NOTE_SECTION: &str = ".note.holloway";

/// The owner of the note.
const NOTE_NAME: &[u8] = b"Holloway\0";

/// The machine an image is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// x86-64: bases are patched into the woven objects.
    X86_64,
    /// 64-bit Arm, little endian: woven code loads its base from memory.
    Aarch64,
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::X86_64 => "x86-64",
            Self::Aarch64 => "aarch64",
        })
    }
}

impl Machine {
    /// The machine of an LLVM triple. `None` if it is not supported.
    pub fn of_triple(triple: &str) -> Option<Self> {
        match triple.split_once('-') {
            Some(("x86_64", _)) => Some(Self::X86_64),
            Some(("aarch64", _)) => Some(Self::Aarch64),
            _ => None,
        }
    }

    /// The machine of an ELF object. `None` if it is not supported.
    pub fn of_object(object: &[u8]) -> Option<Self> {
        match object::File::parse(object).map(|file| object::Object::architecture(&file)) {
            Ok(Architecture::X86_64) => Some(Self::X86_64),
            Ok(Architecture::Aarch64) => Some(Self::Aarch64),
            _ => None,
        }
    }

    /// The architecture in objects, and the type of a relocation without effect.
    fn object_codes(self) -> (Architecture, elf::RelocationType) {
        match self {
            Self::X86_64 => (Architecture::X86_64, elf::R_X86_64_NONE),
            Self::Aarch64 => (Architecture::Aarch64, elf::R_AARCH64_NONE),
        }
    }

    /// Whether the link step writes the bases into the objects ([`crate::patch`]).
    pub fn patches_bases(self) -> bool {
        self == Self::X86_64
    }
}

/// Builds the image object. On machines whose bases are not patched, `bases` has the value of each
/// base symbol.
///
/// # Errors
/// If the map is too large for an object file (4 GiB).
pub fn image_object(
    header: &ImageHeader,
    map: &[u8],
    machine: Machine,
    bases: &BTreeMap<String, u64>,
) -> Result<Vec<u8>, object::write::Error> {
    let (architecture, none_relocation) = machine.object_codes();
    let mut object = Object::new(BinaryFormat::Elf, architecture, Endianness::Little);
    let rodata = object.section_id(StandardSection::ReadOnlyData);
    let start = define(&mut object, rodata, IMAGE_SYMBOL, &header_bytes(header));
    for (name, base) in bases {
        define(&mut object, rodata, name, &base.to_le_bytes());
    }
    let section = object.add_section(Vec::new(), MAP_SECTION.into(), SectionKind::ReadOnlyData);
    object.section_mut(section).flags = SectionFlags::Elf {
        sh_type: elf::SHT_PROGBITS,
        sh_flags: elf::SHF_ALLOC,
    };
    object.append_section_data(section, map, 16);
    let symbol = object.section_symbol(section);
    object.add_relocation(rodata, kept(symbol, start, none_relocation))?;
    match Kind::from_number(header.kind) {
        Some(kind) if !kind.is_recorded() => {
            let image = object.section_symbol(rodata);
            let note = add_note(&mut object, &header.build_id);
            object.add_relocation(note, kept(image, 0, none_relocation))?;
        }
        kind => {
            define_thread_local(&mut object, SLOT_SYMBOL, 8);
            if kind.is_some_and(|kind| kind.traits().timing == Timing::Bursts) {
                define_thread_local(&mut object, COUNTDOWN_SYMBOL, 4);
            }
        }
    }
    object.add_section(Vec::new(), b".note.GNU-stack".to_vec(), SectionKind::Other);
    object.write()
}

/// Builds the object that carries a program's recipe in a section that is not loaded. The object
/// has a note, too: linkers keep notes, and so the section that the note refers to.
///
/// # Errors
/// If the recipe is too large for an object file (4 GiB).
pub fn recipe_object(recipe: &[u8], machine: Machine) -> Result<Vec<u8>, object::write::Error> {
    let (architecture, none_relocation) = machine.object_codes();
    let mut object = Object::new(BinaryFormat::Elf, architecture, Endianness::Little);
    let section = object.add_section(Vec::new(), RECIPE_SECTION.into(), SectionKind::Other);
    object.section_mut(section).flags = SectionFlags::Elf {
        sh_type: elf::SHT_PROGBITS,
        sh_flags: elf::SectionFlags(0),
    };
    object.append_section_data(section, recipe, 1);
    let symbol = object.section_symbol(section);
    let mut hash = [0; 16];
    hash.copy_from_slice(&blake3::hash(recipe).as_bytes()[..16]);
    let note = add_note(&mut object, &hash);
    object.add_relocation(note, kept(symbol, 0, none_relocation))?;
    object.add_section(Vec::new(), b".note.GNU-stack".to_vec(), SectionKind::Other);
    object.write()
}

/// A relocation that only makes the linker keep the symbol's section.
fn kept(symbol: SymbolId, offset: u64, none_relocation: elf::RelocationType) -> Relocation {
    Relocation {
        offset,
        symbol,
        addend: 0,
        flags: RelocationFlags::Elf {
            r_type: none_relocation,
        },
    }
}

/// Adds an ELF note with the build id. Linkers never drop notes.
fn add_note(object: &mut Object<'_>, build_id: &[u8; 16]) -> object::write::SectionId {
    const TYPE: u32 = 1;
    let mut note = Vec::new();
    for word in [NOTE_NAME.len() as u32, build_id.len() as u32, TYPE] {
        note.extend(word.to_le_bytes());
    }
    note.extend(NOTE_NAME);
    note.resize(note.len().next_multiple_of(4), 0);
    note.extend(build_id);
    let section = object.add_section(Vec::new(), NOTE_SECTION.into(), SectionKind::Note);
    object.section_mut(section).flags = SectionFlags::Elf {
        sh_type: elf::SHT_NOTE,
        sh_flags: elf::SHF_ALLOC,
    };
    object.append_section_data(section, &note, 4);
    section
}

/// Defines a hidden symbol with this content. Returns its offset in the section.
fn define(
    object: &mut Object<'_>,
    section: object::write::SectionId,
    name: &str,
    data: &[u8],
) -> u64 {
    let symbol = object.add_symbol(hidden(name, SymbolKind::Data));
    object.add_symbol_data(symbol, section, data, 8)
}

/// Defines a thread-local variable of `size` bytes, initially 0.
fn define_thread_local(object: &mut Object<'_>, name: &str, size: u64) {
    let symbol = object.add_symbol(hidden(name, SymbolKind::Tls));
    let section = object.section_id(StandardSection::UninitializedTls);
    object.add_symbol_bss(symbol, section, size, size);
}

/// An undefined global symbol with hidden visibility ([`SymbolScope::Linkage`]).
fn hidden(name: &str, kind: SymbolKind) -> Symbol {
    Symbol {
        name: name.into(),
        value: 0,
        size: 0,
        kind,
        scope: SymbolScope::Linkage,
        weak: false,
        section: SymbolSection::Undefined,
        flags: SymbolFlags::None,
    }
}

/// The header's bytes: its fields in the order of the layout table of [`ImageHeader`].
fn header_bytes(header: &ImageHeader) -> Vec<u8> {
    let ImageHeader {
        magic,
        version,
        kind,
        build_id,
        block_size,
        parameter,
        name,
        runs,
    } = header;
    let mut bytes = Vec::with_capacity(size_of::<ImageHeader>());
    bytes.extend(magic);
    bytes.extend(version.to_le_bytes());
    bytes.extend(kind.to_le_bytes());
    bytes.extend(build_id);
    bytes.extend(block_size.to_le_bytes());
    bytes.extend(parameter.to_le_bytes());
    bytes.extend(name);
    bytes.extend(runs);
    bytes
}
