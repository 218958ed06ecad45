//! Finds the function and the source line of an address, from a file's symbols and debug
//! information. Works for all programs.

use std::path::Path;

use addr2line::Loader;

/// The functions and lines of a file.
pub struct SourceMap(Loader);

/// The code at an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourcePlace {
    /// The name of the symbol, which contains the code of functions inlined into it. Empty if
    /// unknown.
    pub symbol: String,
    /// The source file. Empty if unknown.
    pub file: String,
    /// The line, or 0 if unknown. In an inlined function, a line of that function.
    pub line: u32,
}

impl SourceMap {
    /// Opens a file. `None` if it is not a readable program.
    pub fn open(path: &Path) -> Option<Self> {
        let is_regular = std::fs::metadata(path).ok()?.is_file();
        is_regular.then(|| Loader::new(path).ok().map(Self))?
    }

    /// The code at an address, as symbols name it. Unknown parts are empty.
    pub fn find(&self, address: u64) -> SourcePlace {
        let location = self.0.find_location(address).ok().flatten();
        SourcePlace {
            symbol: self.0.find_symbol(address).unwrap_or_default().to_owned(),
            file: location
                .as_ref()
                .and_then(|location| location.file)
                .unwrap_or_default()
                .to_owned(),
            line: location.and_then(|location| location.line).unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use object::{Object as _, ObjectSymbol as _};

    #[inline(never)]
    fn holloway_sample_known_line() -> u32 {
        std::hint::black_box(line!())
    }

    #[test]
    fn the_line_of_a_function_of_this_test_is_found() {
        let program = std::env::current_exe().unwrap();
        let bytes = std::fs::read(&program).unwrap();
        let file = object::File::parse(bytes.as_slice()).unwrap();
        let name = "holloway_sample_known_line";
        let is_known = |symbol: &object::Symbol<'_, '_>| {
            let symbol = symbol.name();
            symbol.is_ok_and(|symbol| symbol.contains(name) && !symbol.contains("closure"))
        };
        let symbol = file.symbols().find(is_known).unwrap();
        let place = SourceMap::open(&program).unwrap().find(symbol.address());
        assert!(place.symbol.contains(name), "{place:?}");
        assert!(place.file.ends_with("source_map.rs"), "{place:?}");
        assert!(
            place.line.abs_diff(holloway_sample_known_line()) <= 1,
            "{place:?}"
        );
        assert!(SourceMap::open(Path::new("/dev/null")).is_none());
    }
}
