//! The addresses of a program's blocks, where its file tells them.
//!
//! The file tells the address of a block by a pseudo-probe at the block's start. A block without
//! machine code has no address. The address is that of the file: a loader may move the code.

use std::collections::HashMap;

use holloway_format::{FunctionIndex, ImageMap};

/// The addresses of the blocks of an image, or the reason why there are none.
pub type AddressLookup = Result<BlockAddresses, UnknownAddresses>;

/// The addresses of blocks.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct BlockAddresses {
    /// By function, as [`Code`](crate::trace::code::Code) numbers it, and block.
    addresses: HashMap<(u32, u32), u64>,
    /// The largest address.
    last: u64,
}

/// The reason why the addresses of an image are not known.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum UnknownAddresses {
    /// Nobody looked for them.
    #[default]
    NotRead,
    /// The program's file cannot be read.
    NoFile,
    /// The program was rebuilt since it ran.
    OtherBuild,
    /// The program was built without pseudo-probes.
    NoProbes,
    /// The program's symbol table was stripped.
    NoSymbols,
    /// The program's file is damaged.
    Damaged,
}

impl BlockAddresses {
    /// The addresses of an image: functions, blocks, and where the code of the blocks starts. If a
    /// block starts several times, because the compiler duplicated its code, the lowest address
    /// counts.
    pub fn new(
        map: &ImageMap,
        starts: impl IntoIterator<Item = (FunctionIndex, u32, u64)>,
    ) -> BlockAddresses {
        let mut next = 0;
        let first_functions = map.modules.iter().map(|placed| {
            let first = next;
            next += placed.module.functions.len() as u32;
            first
        });
        let first_functions: Vec<u32> = first_functions.collect();
        let mut known = BlockAddresses::default();
        for (function, block, address) in starts {
            let Some(first) = first_functions.get(function.module as usize) else {
                continue;
            };
            let key = (first + function.function, block);
            let kept = known.addresses.entry(key).or_insert(address);
            *kept = address.min(*kept);
            known.last = known.last.max(address);
        }
        known
    }

    /// The address of a block. `None` if the block has no code, or its code was not found.
    pub fn of(&self, function: u32, block: u32) -> Option<u64> {
        self.addresses.get(&(function, block)).copied()
    }

    /// The largest address of a block.
    pub fn last(&self) -> u64 {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holloway_format::{FunctionMap, ModuleMap, PlacedModule};

    #[test]
    fn functions_are_numbered_over_all_modules() {
        let module = |functions| PlacedModule {
            base: 0,
            module: ModuleMap {
                functions: vec![FunctionMap::default(); functions],
                ..ModuleMap::default()
            },
        };
        let map = ImageMap {
            modules: vec![module(2), module(1)],
            ..ImageMap::default()
        };
        let index = |module, function| FunctionIndex { module, function };
        let starts = [
            (index(0, 1), 4, 0x30),
            (index(0, 1), 4, 0x20),
            (index(1, 0), 0, 0x10),
            // Not in the map.
            (index(2, 0), 0, 0x99),
        ];
        let known = BlockAddresses::new(&map, starts);
        assert_eq!(known.of(1, 4), Some(0x20));
        assert_eq!(known.of(2, 0), Some(0x10));
        assert_eq!((known.of(0, 0), known.last()), (None, 0x30));
    }
}
