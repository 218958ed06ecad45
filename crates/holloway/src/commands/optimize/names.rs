//! The names of functions by their addresses, for the targets of indirect calls.

use std::collections::BTreeMap;
use std::path::Path;

use holloway_format::{CallTarget, Text};
use object::{Object as _, ObjectSegment as _, ObjectSymbol as _, SymbolKind};

use crate::failure::{Context, Result};

/// The functions of a program.
#[derive(Default)]
pub(super) struct FunctionNames {
    /// Linkage names by the address relative to the program's first byte. Of several names of one
    /// function, the first in alphabetical order.
    names: BTreeMap<u64, Text>,
}

impl FunctionNames {
    /// Reads the symbol table of a program. A stripped program has no names.
    ///
    /// # Errors
    /// If the file cannot be read, or is no ELF file.
    pub(super) fn read(program: &Path) -> Result<Self> {
        let reading = || format!("read {}", program.display());
        let bytes = std::fs::read(program).cannot(reading)?;
        let elf = object::File::parse(&*bytes).cannot(reading)?;
        let mut segments = elf.segments();
        let first = segments.find(|segment| segment.file_range().0 == 0);
        let start = first.map_or(0, |segment| segment.address());
        let mut names: BTreeMap<u64, Text> = BTreeMap::new();
        let functions = elf
            .symbols()
            .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
        for function in functions {
            if let Ok(name) = function.name() {
                let known = names.entry(function.address().wrapping_sub(start));
                known
                    .and_modify(|known| {
                        if name < known.as_str() {
                            *known = name.into();
                        }
                    })
                    .or_insert_with(|| name.into());
            }
        }
        Ok(Self { names })
    }

    /// The name of a target. Empty if it is unknown.
    pub(super) fn of(&self, target: CallTarget) -> Text {
        self.names.get(&target.address).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_their_addresses() {
        let program = std::env::current_exe().expect("this program");
        let names = FunctionNames::read(&program).expect("an ELF file");
        let (address, name) = names.names.iter().next().expect("a function");
        let target = CallTarget {
            site: 3,
            address: *address,
        };
        assert_eq!(names.of(target), *name);
        let other = CallTarget {
            site: 3,
            address: u64::MAX,
        };
        assert!(names.of(other).is_empty());
    }
}
