//! Finds the function and block of an address, and the addresses of blocks, in a program whose
//! blocks have pseudo-probes: one that was built with `--collect none` or `--collect trace`.
//!
//! Three parts of the file together give the blocks:
//!
//! ```text
//! path map         function 3 of module 0 has the identifier 7e50…
//! .pseudo_probe    the function 7e50… is at a symbol with hash 8fa1…; block 4 starts at byte 62
//! .symtab          the symbol f, with hash 8fa1…, is at 0x1140 and has 132 bytes
//! ```
//! So block 4 starts at 0x117e. It ends where the next block in the code starts, or at the symbol's
//! end. The code before a symbol's first block, such as the prologue, belongs to this block.
//!
//! Symbols with equal names, such as static functions, have equal hashes. The linker keeps the
//! records in the order of the code, so the first record belongs to the symbol with the lowest
//! address. This only works if there are as many records as symbols. Otherwise the records are
//! ambiguous, and the map leaves them out.
//!
//! Cost: 24 bytes for each block start.

use std::collections::HashMap;
use std::path::Path;

use holloway_abi::MAP_SECTION;
use holloway_format::samples::KnownBlocks;
use holloway_format::{
    BlockStart, FormatError, FunctionIndex, ImageMap, ProbedCode, decode_image, read_block_probes,
};
use md5::{Digest as _, Md5};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, ReadCache, SymbolKind};

use crate::elf::{Segments, open_regular};

/// The section with the addresses of blocks.
pub(crate) const PROBE_SECTION: &str = ".pseudo_probe";

/// A block of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockIndex {
    /// The function.
    pub function: FunctionIndex,
    /// The block's number.
    pub block: u32,
}

/// The blocks of a program by address.
#[derive(Clone, Debug, Default)]
pub struct CodeMap {
    /// Identifies the build ([`ImageMap::build_id`]).
    pub build_id: [u8; 16],
    /// Number of records in `.pseudo_probe` that are left out, because they fit several symbols or
    /// functions, or none.
    pub left_out: u64,
    /// The code of blocks, ascending and disjoint.
    ranges: Vec<CodeRange>,
    segments: Segments,
}

/// The code of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeRange {
    /// The first address.
    pub start: u64,
    /// The first address after the code.
    pub end: u64,
    /// The block.
    pub block: BlockIndex,
    /// Whether a symbol starts here.
    pub is_symbol: bool,
}

/// The reason why a file has no addresses of blocks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodeMapError {
    /// The file cannot be read, or is no ELF file.
    #[error("it is not a readable program")]
    Unreadable,
    /// The file has no path map.
    #[error("holloway did not build it")]
    NotWoven,
    /// The path map is damaged.
    #[error("its path map is damaged: {0}")]
    Map(FormatError),
    /// The file has a path map, but no pseudo-probes.
    #[error("it was built without pseudo-probes, which --collect none and --collect trace insert")]
    NoProbes,
    /// The file has pseudo-probes, but no symbol table.
    #[error("its symbol table was stripped")]
    NoSymbols,
    /// The section of pseudo-probes is damaged.
    #[error("its section .pseudo_probe is damaged: {0}")]
    Probes(FormatError),
}

impl CodeMapError {
    /// What a record of samples says about such a file.
    pub fn known_blocks(&self) -> KnownBlocks {
        match self {
            Self::Unreadable => KnownBlocks::Unread,
            Self::NotWoven => KnownBlocks::NotWoven,
            Self::NoProbes => KnownBlocks::NoProbes,
            Self::NoSymbols => KnownBlocks::NoSymbols,
            Self::Map(_) | Self::Probes(_) => KnownBlocks::Damaged,
        }
    }
}

/// A symbol of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CodeSymbol {
    /// The first eight bytes of the MD5 of the name.
    hash: u64,
    address: u64,
    size: u64,
}

/// Reads the path map of a file.
///
/// # Errors
/// If the file has no readable path map.
pub fn read_map(path: &Path) -> Result<ImageMap, CodeMapError> {
    let cache = ReadCache::new(open_regular(path).ok_or(CodeMapError::Unreadable)?);
    let file = object::File::parse(&cache).map_err(|_| CodeMapError::Unreadable)?;
    let section = file
        .section_by_name(MAP_SECTION)
        .ok_or(CodeMapError::NotWoven)?;
    let bytes = section
        .uncompressed_data()
        .map_err(|_| CodeMapError::Unreadable)?;
    decode_image(&bytes).map_err(CodeMapError::Map)
}

impl CodeMap {
    /// Reads the blocks of a file.
    ///
    /// # Errors
    /// If the file has no addresses of blocks.
    pub fn read(path: &Path) -> Result<Self, CodeMapError> {
        Self::read_with_map(path).map(|(code_map, _, _)| code_map)
    }

    /// Reads the blocks of a file, with its path map and the bytes of the map.
    ///
    /// # Errors
    /// If the file has no addresses of blocks.
    pub fn read_with_map(path: &Path) -> Result<(Self, ImageMap, Vec<u8>), CodeMapError> {
        let cache = ReadCache::new(open_regular(path).ok_or(CodeMapError::Unreadable)?);
        let file = object::File::parse(&cache).map_err(|_| CodeMapError::Unreadable)?;
        let section = |name: &str| file.section_by_name(name)?.uncompressed_data().ok();
        let map = section(MAP_SECTION).ok_or(CodeMapError::NotWoven)?;
        let map_bytes = map.into_owned();
        let map = decode_image(&map_bytes).map_err(CodeMapError::Map)?;
        let probes = section(PROBE_SECTION).ok_or(CodeMapError::NoProbes)?;
        let codes = read_block_probes(&probes).map_err(CodeMapError::Probes)?;
        let symbols: Vec<CodeSymbol> = file
            .symbols()
            .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
            .filter_map(|symbol| {
                Some(CodeSymbol {
                    hash: name_hash(symbol.name_bytes().ok()?),
                    address: symbol.address(),
                    size: symbol.size(),
                })
            })
            .collect();
        if symbols.is_empty() && !codes.is_empty() {
            return Err(CodeMapError::NoSymbols);
        }
        let code_map = Self {
            segments: Segments::new(&file),
            ..Self::new(&map, &codes, symbols)
        };
        Ok((code_map, map, map_bytes))
    }

    /// The block at an address, as symbols name it. `None` outside of all known blocks.
    pub fn find(&self, address: u64) -> Option<BlockIndex> {
        let next = self.ranges.partition_point(|range| range.start <= address);
        let range = self.ranges[..next].last()?;
        (address < range.end).then_some(range.block)
    }

    /// The code of all blocks, ascending and disjoint.
    pub fn ranges(&self) -> &[CodeRange] {
        &self.ranges
    }

    /// The blocks and the addresses where their code starts, ascending. A block starts several
    /// times if the code generator duplicated its code. The first block of a symbol starts at the
    /// symbol.
    pub fn starts(&self) -> impl Iterator<Item = (BlockIndex, u64)> + '_ {
        let ranges = self.ranges.iter();
        ranges.map(|range| (range.block, range.start))
    }

    /// The segments of the file, which give the address of an offset in the file.
    pub fn segments(&self) -> &Segments {
        &self.segments
    }

    fn new(map: &ImageMap, codes: &[ProbedCode], symbols: Vec<CodeSymbol>) -> Self {
        let functions = functions_by_guid(map);
        let symbols = Symbols::new(symbols, codes);
        let mut code_map = Self {
            build_id: map.build_id,
            ..Self::default()
        };
        let mut positions: HashMap<u64, usize> = HashMap::new();
        for code in codes {
            let position = positions.entry(code.symbol_hash).or_default();
            let symbol = symbols.find(code.symbol_hash, *position);
            *position += 1;
            match (symbol, functions.get(&code.guid)) {
                (Some(symbol), Some(&Some(function))) => {
                    code_map.add(map, symbol, function, &code.starts);
                }
                // Not a function of the weaver.
                (_, None) => {}
                (None, Some(_)) | (_, Some(None)) => code_map.left_out += 1,
            }
        }
        code_map.ranges.sort_by_key(|range| range.start);
        code_map.remove_overlaps();
        code_map
    }

    /// Adds the code of a symbol.
    fn add(
        &mut self,
        map: &ImageMap,
        symbol: CodeSymbol,
        function: FunctionIndex,
        starts: &[BlockStart],
    ) {
        let blocks = map.function(function).map_or(0, |map| map.blocks.len());
        let mut starts: Vec<BlockStart> = starts
            .iter()
            .copied()
            .filter(|start| start.offset < symbol.size && (start.block as usize) < blocks)
            .collect();
        // The sort is stable. Of blocks that start at one address, all but the last are empty.
        starts.sort_by_key(|start| start.offset);
        if let Some(first) = starts.first_mut() {
            first.offset = 0;
        }
        let ends = starts.iter().skip(1).map(|start| start.offset);
        let ends: Vec<u64> = ends.chain([symbol.size]).collect();
        for (start, end) in starts.iter().zip(ends) {
            if start.offset < end {
                self.ranges.push(CodeRange {
                    start: symbol.address.saturating_add(start.offset),
                    end: symbol.address.saturating_add(end),
                    block: BlockIndex {
                        function,
                        block: start.block,
                    },
                    is_symbol: start.offset == 0,
                });
            }
        }
    }

    /// Shortens ranges that reach into the next. Only damaged files have such ranges.
    fn remove_overlaps(&mut self) {
        for index in 1..self.ranges.len() {
            let start = self.ranges[index].start;
            let before = &mut self.ranges[index - 1];
            before.end = before.end.min(start);
        }
    }
}

/// The functions of a map by identifier. `None` if several functions have the identifier: modules
/// with one name that contain the same static function.
fn functions_by_guid(map: &ImageMap) -> HashMap<u64, Option<FunctionIndex>> {
    let mut functions = HashMap::new();
    for (module, placed) in map.modules.iter().enumerate() {
        for (function, function_map) in placed.module.functions.iter().enumerate() {
            if function_map.is_damaged() {
                continue;
            }
            let index = FunctionIndex {
                module: module as u32,
                function: function as u32,
            };
            let guid = function_map.guid(&placed.module.name);
            let entry = functions.entry(guid).or_insert(Some(index));
            if *entry != Some(index) {
                *entry = None;
            }
        }
    }
    functions
}

/// The symbols that records name, in the order of addresses.
struct Symbols(HashMap<u64, SymbolsOfName>);

struct SymbolsOfName {
    symbols: Vec<CodeSymbol>,
    /// Number of records that name the symbols.
    records: usize,
}

impl Symbols {
    fn new(mut symbols: Vec<CodeSymbol>, codes: &[ProbedCode]) -> Self {
        let mut names: HashMap<u64, SymbolsOfName> = HashMap::new();
        for code in codes {
            let name = names.entry(code.symbol_hash).or_insert(SymbolsOfName {
                symbols: Vec::new(),
                records: 0,
            });
            name.records += 1;
        }
        symbols.sort_by_key(|symbol| (symbol.hash, symbol.address));
        symbols.dedup_by_key(|symbol| (symbol.hash, symbol.address));
        for symbol in symbols {
            if let Some(name) = names.get_mut(&symbol.hash) {
                name.symbols.push(symbol);
            }
        }
        Self(names)
    }

    /// The symbol of the record at `position` among the records with this hash. `None` if there are
    /// more or fewer symbols than records.
    fn find(&self, hash: u64, position: usize) -> Option<CodeSymbol> {
        let name = self.0.get(&hash)?;
        let symbols = &name.symbols;
        (symbols.len() == name.records).then(|| symbols.get(position).copied())?
    }
}

/// The first eight bytes of the MD5 of a symbol's name, as LLVM writes them into `.pseudo_probe`.
fn name_hash(name: &[u8]) -> u64 {
    let digest = Md5::digest(name);
    u64::from_le_bytes(*digest.first_chunk().expect("an MD5 has 16 bytes"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use holloway_format::{BlockMap, FunctionMap, ModuleMap, PlacedModule};

    /// A map with one module for each list of functions: their names and numbers of blocks.
    fn map(modules: &[(&str, &[(&str, usize)])]) -> ImageMap {
        let modules = modules.iter().map(|(name, functions)| {
            let functions = functions.iter().map(|(name, blocks)| FunctionMap {
                linkage_name: (*name).into(),
                blocks: vec![BlockMap::default(); *blocks],
                ..FunctionMap::default()
            });
            PlacedModule {
                base: 0,
                module: ModuleMap {
                    name: (*name).into(),
                    functions: functions.collect(),
                    ..ModuleMap::default()
                },
            }
        });
        ImageMap {
            modules: modules.collect(),
            ..ImageMap::default()
        }
    }

    fn code(map: &ImageMap, module: usize, symbol: &str, starts: &[(u64, u32)]) -> ProbedCode {
        let placed = &map.modules[module].module;
        ProbedCode {
            guid: placed.functions[0].guid(&placed.name),
            symbol_hash: name_hash(symbol.as_bytes()),
            starts: starts
                .iter()
                .map(|&(offset, block)| BlockStart { offset, block })
                .collect(),
        }
    }

    fn symbol(name: &str, address: u64, size: u64) -> CodeSymbol {
        CodeSymbol {
            hash: name_hash(name.as_bytes()),
            address,
            size,
        }
    }

    /// The module and block at each of `addresses`; `None` where there is none.
    fn found(code_map: &CodeMap, addresses: &[u64]) -> Vec<Option<(u32, u32)>> {
        let addresses = addresses.iter().map(|&address| code_map.find(address));
        addresses
            .map(|block| block.map(|block| (block.function.module, block.block)))
            .collect()
    }

    #[test]
    fn the_hash_of_a_name_is_the_start_of_its_md5() {
        // `printf f | md5sum`: 8fa14cdd754f91cc6554c9e71929cce7
        assert_eq!(name_hash(b"f"), 0xcc91_4f75_dd4c_a18f);
    }

    #[test]
    fn code_belongs_to_the_block_that_starts_before_it() {
        let map = map(&[("m", &[("f", 4)])]);
        // Block 2 is empty: block 3 starts at the same byte.
        let codes = [code(&map, 0, "f", &[(4, 0), (20, 1), (12, 2), (12, 3)])];
        let code_map = CodeMap::new(&map, &codes, vec![symbol("f", 0x100, 32)]);
        let addresses = [0xff, 0x100, 0x10b, 0x10c, 0x113, 0x114, 0x11f, 0x120];
        assert_eq!(
            found(&code_map, &addresses),
            [
                None,
                Some((0, 0)),
                Some((0, 0)),
                Some((0, 3)),
                Some((0, 3)),
                Some((0, 1)),
                Some((0, 1)),
                None
            ]
        );
        assert_eq!(code_map.left_out, 0);
        let starts = code_map
            .starts()
            .map(|(block, address)| (block.block, address));
        let starts: Vec<_> = starts.collect();
        assert_eq!(starts, [(0, 0x100), (3, 0x10c), (1, 0x114)]);
    }

    #[test]
    fn static_functions_of_one_name_are_told_apart_by_their_order() {
        let map = map(&[("a", &[("f", 1)]), ("b", &[("f", 2)])]);
        let codes = [code(&map, 1, "f", &[(0, 0)]), code(&map, 0, "f", &[(0, 0)])];
        let symbols = vec![symbol("f", 0x200, 8), symbol("f", 0x100, 8)];
        let code_map = CodeMap::new(&map, &codes, symbols);
        assert_eq!(
            found(&code_map, &[0x100, 0x200]),
            [Some((1, 0)), Some((0, 0))]
        );
    }

    #[test]
    fn ambiguous_records_are_left_out_and_counted() {
        let map = map(&[("a", &[("f", 1)]), ("b", &[("f", 2)]), ("b", &[("f", 2)])]);
        let [first, second] = [0, 1].map(|module| code(&map, module, "f", &[(0, 0)]));
        // Assembly has a symbol of the same name.
        let symbols = vec![symbol("f", 0x100, 8), symbol("f", 0x200, 8)];
        let one = CodeMap::new(&map, std::slice::from_ref(&first), symbols.clone());
        assert_eq!((found(&one, &[0x100]), one.left_out), (vec![None], 1));
        // Two modules have the same name and the same function.
        let two = CodeMap::new(&map, &[first, second], symbols);
        assert_eq!(found(&two, &[0x100, 0x200]), [Some((0, 0)), None]);
        assert_eq!(two.left_out, 1);
    }

    #[test]
    fn a_split_function_has_two_symbols() {
        let map = map(&[("m", &[("f", 3)])]);
        let codes = [
            code(&map, 0, "f", &[(0, 0), (8, 2)]),
            code(&map, 0, "f.cold", &[(0, 1)]),
        ];
        let symbols = vec![symbol("f", 0x100, 16), symbol("f.cold", 0x900, 4)];
        let code_map = CodeMap::new(&map, &codes, symbols);
        let addresses = [0x107, 0x108, 0x900, 0x904];
        let blocks = [Some((0, 0)), Some((0, 2)), Some((0, 1)), None];
        assert_eq!(found(&code_map, &addresses), blocks);
    }

    #[test]
    fn starts_outside_of_the_symbol_or_the_function_are_ignored() {
        let map = map(&[("m", &[("f", 2)])]);
        let starts = [(0, 0), (4, 9), (8, 1), (99, 1), (u64::MAX, 1)];
        let codes = [code(&map, 0, "f", &starts)];
        let symbols = vec![symbol("f", 0x100, 16), symbol("g", 0x108, 16)];
        let code_map = CodeMap::new(&map, &codes, symbols);
        let addresses = [0x104, 0x10f, 0x110];
        assert_eq!(
            found(&code_map, &addresses),
            [Some((0, 0)), Some((0, 1)), None]
        );
        // A symbol at the end of the address space.
        let codes = [code(&map, 0, "f", &[(0, 0)])];
        let symbols = vec![symbol("f", u64::MAX - 4, u64::MAX)];
        let code_map = CodeMap::new(&map, &codes, symbols);
        assert_eq!(found(&code_map, &[u64::MAX - 1]), [Some((0, 0))]);
    }

    #[test]
    fn files_without_blocks_say_why() {
        let own = std::env::current_exe().unwrap();
        assert_eq!(CodeMap::read(&own).unwrap_err(), CodeMapError::NotWoven);
        let missing = CodeMap::read(Path::new("/dev/null")).unwrap_err();
        assert_eq!(missing, CodeMapError::Unreadable);
    }
}
