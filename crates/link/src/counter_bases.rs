//! Gives each module a base: the offset of its counters in a thread's block. The base is written
//! into the code (x86-64), or is a constant that the image object defines.
//!
//! Bases are multiples of a cache line, so that two modules never share one. Three sorts of modules
//! get no base, and lose their probes but nothing else:
//!
//! - modules whose machine code was changed after it was compiled;
//! - the largest modules of a link with too many counters;
//! - modules that a base cannot be written into.

use std::collections::BTreeMap;

use holloway_abi::Kind;
use holloway_format::RingCounterBases;
use holloway_weave::WovenModule;
use holloway_weave::image::Machine;
use holloway_weave::patch::{self, PatchError};
use holloway_weave::symbols::changed;

use crate::error::Result;
use crate::inputs::{Inputs, read_part};
use crate::message::{Message, grouped};
use crate::outcome::Outcome;
use crate::records::Recorder;
use crate::settings::LinkSettings;
use crate::weaver::Weaver;

/// Bytes of a cache line.
pub(crate) const LINE: u64 = 64;
/// Woven x86-64 code reaches its counters by 31 bits.
const LIMIT: u64 = 1 << 31;

/// The bases of a link's modules.
#[derive(Default)]
pub(crate) struct CounterBases {
    /// The base of each module. Modules without probes have none.
    pub(crate) modules: Vec<Option<u64>>,
    end: u64,
    /// The bases of ring counters (counters behind a ring's words).
    ring_counters: RingCounterBases,
    /// The constants that the image object defines.
    pub(crate) constants: BTreeMap<String, u64>,
}

/// Links modules with their own machine code if that was changed after it was compiled.
fn drop_changed(inputs: &Inputs, outcomes: &mut [Outcome], recorder: &Recorder<'_>) -> Result<()> {
    for (module, outcome) in inputs.modules.iter().zip(outcomes) {
        let (Outcome::Woven(woven), Some(fat_object)) = (&*outcome, &module.fat_object) else {
            continue;
        };
        let own = read_part(&module.path, fat_object)?;
        let bitcode = read_part(&module.path, &module.range)?;
        if let Some(change) = changed(&own, &bitcode, &woven.object) {
            let reason = format!("{change}: linked as it is");
            recorder.show(&Message::MachineCode {
                module: module.shown.clone(),
                reason: reason.clone(),
            });
            *outcome = Outcome::MachineCode(reason);
        }
    }
    Ok(())
}

/// Bytes of counters that a thread needs for a module.
fn counters_size(outcome: &Outcome) -> u64 {
    match outcome {
        Outcome::Woven(woven) => woven.counters_size,
        Outcome::Plain(..) | Outcome::MachineCode(_) => 0,
    }
}

impl CounterBases {
    /// Gives each woven module of `outcomes` a base. A module that can't have one is compiled
    /// without probes, or linked as it is.
    ///
    /// # Errors
    /// A file cannot be read any more, or a module can neither have probes nor be linked without.
    pub(crate) fn assign(
        weaver: &Weaver<'_>,
        outcomes: &mut [Outcome],
        settings: &LinkSettings,
    ) -> Result<Self> {
        let inputs = weaver.inputs();
        drop_changed(inputs, outcomes, weaver.recorder())?;
        let without_probes = |number: usize, reason: &str| {
            let shown = &inputs.modules[number].shown;
            weaver.without_probes(number, &format!("{shown}: {reason}"))
        };
        let sizes: Vec<u64> = outcomes.iter().map(counters_size).collect();
        for (number, reason) in too_many(&sizes) {
            outcomes[number] = without_probes(number, &reason)?;
        }
        Self::place_all(outcomes, settings.collect, without_probes)
    }

    /// Gives each woven module a base. `without_probes` replaces a module, by number, that a base
    /// can't be written into. It gets the reason.
    fn place_all(
        outcomes: &mut [Outcome],
        collect: Kind,
        without_probes: impl Fn(usize, &str) -> Result<Outcome>,
    ) -> Result<Self> {
        let mut bases = Self::default();
        for (number, outcome) in outcomes.iter_mut().enumerate() {
            let mut base = None;
            if let Outcome::Woven(woven) = outcome {
                match bases.add(woven, collect) {
                    Ok(placed) => base = Some(placed),
                    Err(error) => *outcome = without_probes(number, &error.to_string())?,
                }
            }
            bases.modules.push(base);
        }
        Ok(bases)
    }

    /// Reserves room for a module's counters and writes the base into its code. Returns the base.
    ///
    /// # Errors
    /// The weaver did not write the object. No room is reserved.
    fn add(
        &mut self,
        woven: &mut WovenModule,
        collect: Kind,
    ) -> std::result::Result<u64, PatchError> {
        let base = self.end;
        let mut ring_counters = self.ring_counters;
        let constants = [
            (woven.base_symbol.clone(), base / collect.base_unit()),
            (
                patch::ring_counters_symbol(&woven.base_symbol),
                ring_counters.place(&woven.fragment),
            ),
        ];
        let is_patched = Machine::of_object(&woven.object).is_some_and(Machine::patches_bases);
        for (symbol, value) in constants {
            if is_patched {
                patch::resolve_base(&mut woven.object, &symbol, value)?;
            } else {
                // Equal modules share a symbol: the counters of the first hold the sums of both.
                self.constants.entry(symbol).or_insert(value);
            }
        }
        self.end += room(woven.counters_size);
        self.ring_counters = ring_counters;
        Ok(base)
    }

    /// Bytes of counters that a thread needs.
    pub(crate) fn size(&self, collect: Kind) -> u64 {
        match collect {
            Kind::Loops => self.ring_counters.end,
            Kind::Paths | Kind::Edges | Kind::Trace | Kind::Variation | Kind::Times => self.end,
        }
    }

    /// The base that the next module would have.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }
}

/// Bytes that a module's counters take.
fn room(counters_size: u64) -> u64 {
    counters_size.saturating_add(LINE - 1) / LINE * LINE
}

/// The modules without room in an image, and the reason: the largest ones, as few as possible.
/// `sizes` are the bytes of counters of all modules.
fn too_many(sizes: &[u64]) -> Vec<(usize, String)> {
    let mib = |bytes: u64| grouped(usize::try_from(bytes.div_ceil(1 << 20)).unwrap_or(usize::MAX));
    let sum = |sizes: &[u64]| {
        sizes
            .iter()
            .fold(0, |sum: u64, &size| sum.saturating_add(room(size)))
    };
    let total = sum(sizes);
    let mut left = sizes.to_vec();
    let mut removed = Vec::new();
    while sum(&left) >= LIMIT {
        let largest = (0..left.len()).rev().max_by_key(|&number| left[number]);
        let number = largest.expect("counters are some module's");
        left[number] = 0;
        let reason = format!(
            "its counters take {} MiB of the {} MiB of all modules, and an image has room for less than {}; weave less of it (--only, --skip)",
            mib(sizes[number]),
            mib(total),
            mib(LIMIT)
        );
        removed.push((number, reason));
    }
    removed
}

#[cfg(test)]
mod tests {
    use super::*;
    use holloway_format::ModuleMap;

    fn woven(symbol: &str) -> WovenModule {
        WovenModule {
            object: empty(object::Architecture::Aarch64),
            fragment: ModuleMap::default().encode(),
            counters_size: 72,
            base_symbol: symbol.to_owned(),
            reads_files: false,
        }
    }

    /// An object for AArch64 without anything in it.
    fn empty(architecture: object::Architecture) -> Vec<u8> {
        let (format, little) = (object::BinaryFormat::Elf, object::Endianness::Little);
        let object = object::write::Object::new(format, architecture, little);
        object.write().expect("an object")
    }

    #[test]
    fn equal_modules_have_one_name_and_a_place_each() {
        let mut bases = CounterBases::default();
        let mut place = |symbol| bases.add(&mut woven(symbol), Kind::Trace);
        let placed = ["a", "b", "a"].map(|symbol| place(symbol).ok());
        assert_eq!(placed, [Some(0), Some(128), Some(256)]);
        let expected = [("a", 0), ("a_beside", 0), ("b", 16), ("b_beside", 0)];
        let expected = expected.map(|(name, at)| (name.to_owned(), at));
        assert_eq!(bases.constants, expected.into());
    }

    /// One bad object among three: the others get the places they would have without it.
    #[test]
    fn a_module_that_no_base_can_be_written_into_loses_its_probes_only() {
        let mut bad = woven("bad");
        bad.object = referring("bad", "f", object::elf::R_X86_64_PC32.0);
        let mut good = woven("good");
        good.object = referring("good", "g", object::elf::R_X86_64_32S.0);
        let mut outcomes = [good.clone(), bad, good].map(Outcome::Woven);
        let removed = std::cell::RefCell::new(Vec::new());
        let bases = CounterBases::place_all(&mut outcomes, Kind::Paths, |number, why| {
            removed.borrow_mut().push((number, why.to_owned()));
            Ok(Outcome::Plain(woven(""), String::new()))
        });
        let why = "function f refers to its counters by relocation type 2";
        assert_eq!(removed.into_inner(), [(1, why.to_owned())]);
        let modules = bases.map(|bases| bases.modules).unwrap_or_default();
        assert_eq!(modules, [Some(0), None, Some(128)]);
        assert!(matches!(
            outcomes,
            [Outcome::Woven(_), Outcome::Plain(..), Outcome::Woven(_)]
        ));
    }

    /// An object with a function that refers to an undefined symbol by a relocation of this type.
    fn referring(symbol: &str, function: &str, r_type: u32) -> Vec<u8> {
        use object::write::{Object, Relocation, StandardSection, Symbol, SymbolSection};
        let elf = object::BinaryFormat::Elf;
        let little = object::Endianness::Little;
        let mut made = Object::new(elf, object::Architecture::X86_64, little);
        let text = made.section_id(StandardSection::Text);
        let name = |name: &str, kind, section| Symbol {
            name: name.into(),
            value: 0,
            size: 0,
            kind,
            scope: object::SymbolScope::Linkage,
            weak: false,
            section,
            flags: object::SymbolFlags::None,
        };
        let code = name(function, object::SymbolKind::Text, SymbolSection::Undefined);
        let code = made.add_symbol(code);
        made.add_symbol_data(code, text, &[0x90; 16], 16);
        let kind = object::SymbolKind::Unknown;
        let base = made.add_symbol(name(symbol, kind, SymbolSection::Undefined));
        let flags = object::RelocationFlags::Elf {
            r_type: object::elf::RelocationType(r_type),
        };
        let relocation = Relocation {
            offset: 4,
            symbol: base,
            addend: 8,
            flags,
        };
        made.add_relocation(text, relocation).expect("a relocation");
        made.write().expect("an object")
    }

    #[test]
    fn the_largest_modules_go_where_there_are_too_many_counters() {
        let check = |sizes: &[u64], expected: &[usize]| {
            let gone = too_many(sizes).into_iter().map(|(number, _)| number);
            assert_eq!(gone.collect::<Vec<_>>(), expected);
        };
        let half = LIMIT / 2;
        check(&[], &[]);
        check(&[half, half - LINE], &[]);
        check(&[half - 64, half + 1, 1], &[1]);
        check(&[half, half], &[0]);
        check(&[u64::MAX, 1], &[0]);
        check(&[5, LIMIT, half, LIMIT + 1, half - 2 * LINE], &[3, 1]);
        let reason = too_many(&[half - 64, half + 1, 1]).remove(0).1;
        let expected = "its counters take 1,025 MiB of the 2,049 MiB of all modules, and an image has room for less than 2,048; weave less of it (--only, --skip)";
        assert_eq!(reason, expected);
    }
}
