//! The path map of an image: the fragments of its modules, each with its counter base.
//!
//! ```text
//! OFFSET SIZE MEANING
//!      0    8  "HLWIMMAP"
//!      8    4  format version, 5
//!     12    4  kind of profile
//!     16   16  build id: the first 16 bytes of the blake3 hash of all other bytes, in order
//!     32    4  m: number of modules
//!     36    4  l: length of the name
//!     40    8  length of the whole map
//!     48    4  0
//!     52    l  name of the image, UTF-8
//!    52+l   4  crc32 of bytes 0..52+l
//!    56+l 32m  modules:  0 8 base   8 8 offset of the fragment  16 8 its length
//!                       24 4 base of its ring counters, divided by 64
//!                       28 4 crc32 of the module's number (4 bytes) and bytes 0..28
//!      …       the fragments (crate::map)
//! ```
//! Bytes after the end of the map are ignored, because linkers pad sections. If an entry or a
//! fragment's head is damaged, the parser leaves out this module. If a function's record is
//! damaged, the parser leaves out this function. The build id is compared with the build ids of
//! profiles. The parser does not recompute it.
//!
//! Example, an image `x` of kind 0 without modules:
//! ```text
//! 48 4c 57 49 4d 4d 41 50  03 00 00 00  00 00 00 00  (16 bytes of build id)
//! 00 00 00 00  01 00 00 00  39 00 00 00 00 00 00 00  00 00 00 00  78  (crc)
//! ```

use std::ops::Range;

use holloway_abi::Kind;

use crate::checksum::numbered_crc;
use crate::cursor::{Cursor, known_kind};
use crate::damage::{Damage, DamagedFile, Fact};
use crate::error::FormatError;
use crate::function_index::FunctionIndex;
use crate::map::{self, FunctionMap, ModuleMap};
use crate::version::{FIRST_WITH_LEAKS, MAP_VERSION, check_version};

/// Extension of path maps: `<build id>.hwm`.
pub const MAP_EXTENSION: &str = "hwm";

/// First eight bytes of an image's path map.
pub const IMAGE_MAP_MAGIC: [u8; 8] = *b"HLWIMMAP";

/// Size of the head before the name.
const FIXED_HEAD_SIZE: usize = 52;
/// Size of a module's entry.
const ENTRY_SIZE: usize = 32;

/// The path map of a woven program or shared object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageMap {
    /// Identifies the build. Profiles of the build have the same id.
    pub build_id: [u8; 16],
    /// Kind of data that the image collects.
    pub kind: Kind,
    /// File name of the image.
    pub name: String,
    /// Whether an earlier version of holloway wrote the map, which did not record leaks: blocks
    /// where frames may be left uncounted. Then the functions have no
    /// [`leaks`](FunctionMap::leaks), although frames may be left uncounted.
    pub leaks_unknown: bool,
    /// The modules. An empty module replaces a damaged one, so that the indices of the others do
    /// not change.
    pub modules: Vec<PlacedModule>,
    /// Damage: the parts that could not be read.
    pub damage: Vec<Damage>,
}

/// A module with the base of its counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlacedModule {
    /// Offset of the module's counters in a thread's block.
    pub base: u64,
    /// The module.
    pub module: ModuleMap,
}

impl ImageMap {
    /// Returns the function, if it exists and its record is intact.
    pub fn function(&self, index: FunctionIndex) -> Option<&FunctionMap> {
        let placed = self.modules.get(index.module as usize)?;
        placed
            .module
            .functions
            .get(index.function as usize)
            .filter(|function| !function.is_damaged())
    }
}

/// Assigns the base of each module's ring counters, in the order of an image's parts.
///
/// Ring counters lie behind a ring's words ([`FunctionMap::ring_counters`]).
#[derive(Clone, Copy, Debug, Default)]
pub struct RingCounterBases {
    /// Bytes of ring counters that are assigned, a multiple of a cache line.
    pub end: u64,
}

/// Bytes of a cache line. The ring counters of two modules never share a cache line.
const CACHE_LINE: u64 = 64;

impl RingCounterBases {
    /// Returns the base of the next module's ring counters. `fragment` is this module's fragment.
    pub fn place(&mut self, fragment: &[u8]) -> u64 {
        let base = self.end;
        let size = map::ring_counters_size(fragment);
        self.end += size.next_multiple_of(CACHE_LINE);
        base
    }
}

/// Encodes the path map of an image. Returns the map and its build id. `parts` has the base and the
/// fragment of each module.
///
/// # Panics
/// If there are 2^32 or more modules, or if the name has 4 GiB or more.
pub fn encode_image(kind: Kind, name: &str, parts: &[(u64, &[u8])]) -> (Vec<u8>, [u8; 16]) {
    let fragments: usize = parts.iter().map(|(_, fragment)| fragment.len()).sum();
    let start = FIXED_HEAD_SIZE + name.len() + 4 + ENTRY_SIZE * parts.len();
    let length = (start + fragments) as u64;

    let mut table = Vec::with_capacity(ENTRY_SIZE * parts.len());
    let (mut offset, mut bases) = (start as u64, RingCounterBases::default());
    for (number, (base, fragment)) in parts.iter().enumerate() {
        let entry = table.len();
        for word in [*base, offset, fragment.len() as u64] {
            table.extend_from_slice(&word.to_le_bytes());
        }
        let ring_base = bases.place(fragment) / CACHE_LINE;
        table.extend_from_slice(&(ring_base as u32).to_le_bytes());
        let crc = numbered_crc(number, &table[entry..]);
        table.extend_from_slice(&crc.to_le_bytes());
        offset += fragment.len() as u64;
    }

    let mut head = Vec::with_capacity(start);
    head.extend_from_slice(&IMAGE_MAP_MAGIC);
    head.extend_from_slice(&MAP_VERSION.to_le_bytes());
    head.extend_from_slice(&kind.number().to_le_bytes());
    let build_id_offset = head.len();
    let mut head_after_id = Vec::new();
    head_after_id.extend_from_slice(
        &u32::try_from(parts.len())
            .expect("fewer than 2^32 modules")
            .to_le_bytes(),
    );
    head_after_id.extend_from_slice(
        &u32::try_from(name.len())
            .expect("a name is below 4 GiB")
            .to_le_bytes(),
    );
    head_after_id.extend_from_slice(&length.to_le_bytes());
    head_after_id.extend_from_slice(&[0; 4]);
    head_after_id.extend_from_slice(name.as_bytes());

    let mut hasher = blake3::Hasher::new();
    for part in [&head, &head_after_id, &table] {
        hasher.update(part);
    }
    for (_, fragment) in parts {
        hasher.update(map::code_of(fragment));
    }
    let build_id: [u8; 16] = *hasher
        .finalize()
        .as_bytes()
        .first_chunk()
        .expect("a blake3 hash has 32 bytes");
    head.splice(build_id_offset..build_id_offset, build_id);
    head.extend_from_slice(&head_after_id);
    let crc = crc32fast::hash(&head);
    head.extend_from_slice(&crc.to_le_bytes());

    let mut out = head;
    out.reserve(table.len() + fragments);
    out.extend_from_slice(&table);
    for (_, fragment) in parts {
        out.extend_from_slice(fragment);
    }
    (out, build_id)
}

/// Decodes an image's path map. [`ImageMap::damage`] lists the damage after the head.
///
/// # Errors
/// If the bytes are not a path map, have another version, or if the head is damaged.
pub fn decode_image(bytes: &[u8]) -> Result<ImageMap, FormatError> {
    let (head, mut map) = read_head(bytes)?;
    let available =
        usize::try_from(head.length).map_or(bytes.len(), |length| length.min(bytes.len()));
    let bytes = &bytes[..available];
    if head.length > available as u64 {
        let fact = Fact::Truncated {
            bytes: head.length - available as u64,
        };
        map.damage
            .push(Damage::of_file(DamagedFile::Map, available as u64, fact));
    }
    // Entries that are cut off get no placeholders, so a wrong number of modules costs no memory.
    let entries = bytes
        .get(head.table..)
        .unwrap_or_default()
        .chunks_exact(ENTRY_SIZE)
        .take(head.modules as usize);
    let mut fragments = Fragments { bytes, last_end: 0 };
    for (number, entry) in entries.enumerate() {
        let offset = (head.table + number * ENTRY_SIZE) as u64;
        let placed = fragments.read_module(number, entry, offset, &mut map.damage);
        map.modules.push(placed.unwrap_or_else(|error| {
            let fact = Fact::LostModule(error);
            map.damage
                .push(Damage::of_file(DamagedFile::Map, offset, fact).in_module(number));
            PlacedModule::default()
        }));
    }
    remove_overlapping_modules(&mut map);
    Ok(map)
}

struct Head {
    /// Number of modules.
    modules: u32,
    /// Length of the whole map.
    length: u64,
    /// Offset of the table of modules.
    table: usize,
}

/// Reads bytes of a path map: those of the given range, or fewer at the end of the map. `None` if
/// they cannot be read.
pub type ReadRange<'r> = dyn FnMut(Range<u64>) -> Option<Vec<u8>> + 'r;

/// The head of a path map, and the table of its modules.
pub(crate) struct ModuleTable {
    /// Identifies the build.
    pub(crate) build_id: [u8; 16],
    /// Offset of the table in the map.
    offset: u64,
    entries: Vec<u8>,
    /// Bytes of the whole map.
    length: u64,
}

/// A module in the table: where its fragment and its counters are.
pub(crate) struct ModuleEntry {
    /// Offset of the module's counters in a thread's block.
    pub(crate) base: u64,
    /// Offset of the fragment in the map.
    pub(crate) offset: u64,
    /// Bytes of the fragment.
    pub(crate) length: u64,
}

impl ModuleTable {
    /// Reads the head and the table.
    ///
    /// # Errors
    /// If they cannot be read, or are damaged.
    pub(crate) fn read(read: &mut ReadRange<'_>) -> Result<Self, FormatError> {
        let mut bytes = |range: Range<u64>| read(range).ok_or(FormatError::NotAMap);
        let fixed = bytes(0..FIXED_HEAD_SIZE as u64)?;
        let mut cursor = Cursor::new(&fixed, 0);
        cursor.bytes(36)?;
        let start = FIXED_HEAD_SIZE as u64 + u64::from(cursor.u32()?) + 4;
        let (head, map) = read_head(&bytes(0..start)?)?;
        let size = u64::from(head.modules) * ENTRY_SIZE as u64;
        let entries = bytes(start..start + size)?;
        match entries.len() as u64 == size {
            true => Ok(Self {
                build_id: map.build_id,
                offset: start,
                entries,
                length: head.length,
            }),
            false => Err(FormatError::Truncated { offset: start }),
        }
    }

    /// The modules.
    ///
    /// # Errors
    /// If an entry is damaged, or names bytes outside of the map.
    pub(crate) fn modules(&self) -> Result<Vec<ModuleEntry>, FormatError> {
        let entries = self.entries.chunks_exact(ENTRY_SIZE).enumerate();
        let modules = entries.map(|(number, entry)| {
            let at = self.offset + (number * ENTRY_SIZE) as u64;
            let (module, _) = read_entry(number, entry, at)?;
            let end = module.offset.checked_add(module.length);
            match end.is_some_and(|end| end <= self.length) {
                true => Ok(module),
                false => Err(FormatError::Checksum { offset: at }),
            }
        });
        modules.collect()
    }
}

/// Reads an entry of the table at offset `at`: the module, and the base of its ring counters.
fn read_entry(number: usize, entry: &[u8], at: u64) -> Result<(ModuleEntry, u64), FormatError> {
    let mut cursor = Cursor::new(entry, at);
    let (base, offset, length) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
    let ring_base = u64::from(cursor.u32()?) * CACHE_LINE;
    if cursor.u32()? != numbered_crc(number, &entry[..ENTRY_SIZE - 4]) {
        return Err(FormatError::Checksum { offset: at });
    }
    let module = ModuleEntry {
        base,
        offset,
        length,
    };
    Ok((module, ring_base))
}

fn read_head(bytes: &[u8]) -> Result<(Head, ImageMap), FormatError> {
    let mut cursor = Cursor::new(bytes, 0);
    if !bytes.starts_with(&IMAGE_MAP_MAGIC) {
        return Err(FormatError::NotAMap);
    }
    cursor.bytes(8)?;
    let version = cursor.u32()?;
    check_version(version)?;
    let kind = cursor.u32()?;
    let build_id = cursor.id()?;
    let modules = cursor.u32()?;
    let name_length = cursor.u32()? as usize;
    let length = cursor.u64()?;
    cursor.u32()?;
    let name = cursor.bytes(name_length)?;
    let end = FIXED_HEAD_SIZE + name_length;
    let crc = cursor.u32()?;
    let name = str::from_utf8(name)
        .ok()
        .filter(|_| crc32fast::hash(&bytes[..end]) == crc);
    let name = name.ok_or(FormatError::Head { offset: 0 })?.to_owned();
    let map = ImageMap {
        build_id,
        kind: known_kind(kind)?,
        name,
        leaks_unknown: version < FIRST_WITH_LEAKS,
        ..ImageMap::default()
    };
    Ok((
        Head {
            modules,
            length,
            table: end + 4,
        },
        map,
    ))
}

/// Reads the fragments of an image's map.
struct Fragments<'a> {
    bytes: &'a [u8],
    /// End of the previous fragment. Fragments must not overlap, so a damaged table cannot make the
    /// parser read a fragment many times.
    last_end: u64,
}

impl Fragments<'_> {
    fn read_module(
        &mut self,
        number: usize,
        entry: &[u8],
        entry_offset: u64,
        damage: &mut Vec<Damage>,
    ) -> Result<PlacedModule, FormatError> {
        let (module, ring_base) = read_entry(number, entry, entry_offset)?;
        let ModuleEntry {
            base,
            offset,
            length,
        } = module;
        if offset < self.last_end {
            return Err(FormatError::Order {
                what: "fragment",
                offset: entry_offset,
            });
        }
        let size = self.bytes.len();
        let truncated = FormatError::Truncated {
            offset: size as u64,
        };
        let start = usize::try_from(offset)
            .ok()
            .filter(|&start| start <= size)
            .ok_or(truncated)?;
        let end =
            usize::try_from(length).map_or(size, |length| start.saturating_add(length).min(size));
        self.last_end = end as u64;
        let (mut module, module_damage) = ModuleMap::decode_at(&self.bytes[start..end], offset)?;
        damage.extend(module_damage.into_iter().map(|damage| {
            let mut damage = damage.in_module(number);
            if damage.name.is_empty() && damage.function.is_none() {
                damage.name = module.name.to_string();
            }
            damage
        }));
        for function in &mut module.functions {
            function.ring_counters = function.ring_counters.map(|offset| offset + ring_base);
        }
        Ok(PlacedModule { base, module })
    }
}

/// Leaves out modules whose counters overlap another module's counters, so that no counter belongs
/// to two functions. Of two overlapping modules, the module with the higher base is left out.
fn remove_overlapping_modules(map: &mut ImageMap) {
    let mut order: Vec<(u64, usize)> = map
        .modules
        .iter()
        .enumerate()
        .map(|(i, placed)| (placed.base, i))
        .collect();
    order.sort_unstable();
    let mut end = 0;
    for (base, number) in order {
        let placed = &mut map.modules[number];
        let size = placed.module.counters_size;
        if size == 0 {
            continue;
        }
        if base < end || base.checked_add(size).is_none() || !base.is_multiple_of(8) {
            let fact = Fact::OverlappingModule;
            let mut damage = Damage::of_file(DamagedFile::Map, 0, fact).in_module(number);
            damage.name = placed.module.name.to_string();
            map.damage.push(damage);
            *placed = PlacedModule::default();
        } else {
            end = base + size;
        }
    }
}
