//! A place for each module's counters: where they begin is written into the code (x86-64), or is a constant that the image object
//! defines.
//!
//! Bases are multiples of a cache line, so that two modules never share one.

use std::collections::BTreeMap;

use holloway_format::Beside;
use holloway_report::grouped;
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
    pub(super) constants: BTreeMap<String, u64>,
}

impl Bases {
    /// Makes room for a module's counters, and tells its code where; the base.
    ///
    /// # Errors
    /// The object is not as the weaver makes them.
    pub(super) fn place(
        &mut self,
        woven: &mut WovenModule,
        machine: Machine,
        collect: Collect,
    ) -> Result<u64, patch::PatchError> {
        let base = self.end;
        self.end += room(woven.counters_size);
        let places = [
            (woven.base_symbol.clone(), base / collect.base_unit()),
            (
                patch::beside_symbol(&woven.base_symbol),
                self.beside.place(&woven.fragment),
            ),
        ];
        for (symbol, place) in places {
            if machine.patches_bases() {
                patch::resolve_base(&mut woven.object, &symbol, place)?;
            } else {
                // Equal modules have one name for it: the first has what both count.
                self.constants.entry(symbol).or_insert(place);
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

/// Bytes that a module's counters take.
fn room(counters_size: u64) -> u64 {
    counters_size.saturating_add(LINE - 1) / LINE * LINE
}

/// Asks whether modules have room in one image: bytes of counters and a name for messages, of each.
///
/// # Errors
/// They have not: how much it would be in all, and who has most of it.
pub(super) fn check<'a>(modules: impl Iterator<Item = (u64, &'a str)>) -> Result<(), String> {
    let (mut total, mut largest) = (0_u64, (0, ""));
    for (size, name) in modules {
        total = total.saturating_add(room(size));
        if size > largest.0 {
            largest = (size, name);
        }
    }
    if total < LIMIT {
        return Ok(());
    }
    let mib = |bytes: u64| grouped(bytes.div_ceil(1 << 20));
    Err(format!(
        "the counters of all modules take {} MiB, and an image has room for less than {}: weave less of it (--only, --skip); {} has most of them, {} MiB",
        mib(total),
        mib(LIMIT),
        largest.1,
        mib(largest.0)
    ))
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
        let expected = [("a", 0), ("a_beside", 0), ("b", 16), ("b_beside", 0)];
        let expected = expected.map(|(name, at)| (name.to_owned(), at));
        assert_eq!(bases.constants, expected.into());
    }

    #[test]
    fn too_many_counters_are_told_with_their_sum_and_who_has_most() {
        let check = |sizes: &[(u64, &'static str)]| check(sizes.iter().copied());
        let half = LIMIT / 2;
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&[(half, "a.o"), (half - LINE, "b.o")]), Ok(()));
        let expected = "the counters of all modules take 2,049 MiB, and an image has room for less than 2,048: weave less of it (--only, --skip); b.o has most of them, 1,025 MiB";
        let crowd = [(half - 64, "a.o"), (half + 1, "b.o"), (1, "c.o")];
        assert_eq!(check(&crowd), Err(expected.to_owned()));
        let told = check(&[(u64::MAX, "a.o"), (1, "b.o")]).err();
        assert!(told.is_some_and(|told| told.contains("a.o has most")));
    }
}
