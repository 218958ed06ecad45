//! A place for each module's counters: where they begin is written into the code (x86-64), or is a constant that the image object
//! defines.
//!
//! Bases are multiples of a cache line, so that two modules never share one.

use holloway_format::Beside;
use holloway_weave::image::Machine;
use holloway_weave::{Collect, WovenModule, patch};

/// Bytes of a cache line.
pub(super) const LINE: u64 = 64;
/// Woven x86-64 code reaches its counters by 31 bits.
const LIMIT: u64 = 1 << 31;

/// The places so far.
#[derive(Default)]
pub(super) struct Bases {
    end: u64,
    /// Counters beside rings.
    beside: Beside,
    /// What the image object is to define.
    pub(super) constants: Vec<(String, u64)>,
}

impl Bases {
    /// Makes room for a module's counters, and tells its code where; the base.
    ///
    /// # Errors
    /// There are too many counters.
    pub(super) fn place(
        &mut self,
        woven: &mut WovenModule,
        machine: Machine,
        collect: Collect,
    ) -> Result<u64, String> {
        let base = self.end;
        self.end = base
            .checked_add(woven.counters_size)
            .and_then(|end| end.checked_next_multiple_of(LINE))
            .filter(|&end| end < LIMIT)
            .ok_or("more than 2 GiB of counters in one image; weave less of it (--only, --skip)")?;
        let places = [
            (woven.base_symbol.clone(), base / collect.base_unit()),
            (
                patch::beside_symbol(&woven.base_symbol),
                self.beside.place(&woven.fragment),
            ),
        ];
        for (symbol, place) in places {
            if machine.patches_bases() {
                patch::resolve_base(&mut woven.object, &symbol, place)
                    .map_err(|error| error.to_string())?;
            } else if self.constants.iter().all(|(known, _)| *known != symbol) {
                // Equal modules have one name for it: the first has what both count.
                self.constants.push((symbol, place));
            }
        }
        Ok(base)
    }

    /// Bytes of counters that a thread needs.
    pub(super) fn size(&self, collect: Collect) -> u64 {
        match collect {
            Collect::Loops => self.beside.end,
            _ => self.end,
        }
    }

    /// The base that the next module would have.
    pub(super) fn end(&self) -> u64 {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holloway_format::ModuleMap;

    fn woven(symbol: &str) -> WovenModule {
        WovenModule {
            object: Vec::new(),
            fragment: ModuleMap::default().encode(),
            counters_size: 72,
            base_symbol: symbol.to_owned(),
            reads_files: false,
        }
    }

    #[test]
    fn equal_modules_have_one_name_and_a_place_each() {
        let mut bases = Bases::default();
        let mut place = |symbol| bases.place(&mut woven(symbol), Machine::Aarch64, Collect::Trace);
        let placed = ["a", "b", "a"].map(|symbol| place(symbol).ok());
        assert_eq!(placed, [Some(0), Some(128), Some(256)]);
        let constants: Vec<_> = bases
            .constants
            .iter()
            .map(|(name, at)| (&**name, *at))
            .collect();
        let expected = [("a", 0), ("a_beside", 0), ("b", 16), ("b_beside", 0)];
        assert_eq!(constants, expected);
    }
}
