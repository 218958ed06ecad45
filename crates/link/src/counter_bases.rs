//! Assigns a base to each module: the offset of its counters in a thread's block of counters. On
//! x86-64, the base is written into the module's code. On AArch64, the base is a constant that the
//! image object defines.
//!
//! Bases are multiples of a cache line, so that two modules never share a cache line. Three kinds
//! of modules get no base and are linked without probes:
//!
//! - modules whose machine code was changed after it was compiled;
//! - the largest modules of a link with too many counters;
//! - modules into whose code a base cannot be written.

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
use crate::outcome::ModuleOutcome;
use crate::records::Recorder;
use crate::settings::LinkSettings;
use crate::weaver::Weaver;

/// Bytes of a cache line.
pub(crate) const CACHE_LINE: u64 = 64;
/// Counters of an image take less than this many bytes, because woven x86-64 code has 31 bits for
/// the offset of a counter.
const MAX_COUNTERS_SIZE: u64 = 1 << 31;

/// The bases of a link's modules.
#[derive(Default)]
pub(crate) struct CounterBases {
    /// The base of each module. `None`: the module has no probes.
    pub(crate) modules: Vec<Option<u64>>,
    /// The base of the next module.
    end: u64,
    /// The bases of ring counters, which are after the words in a ring.
    ring_counters: RingCounterBases,
    /// The constants that the image object defines.
    pub(crate) constants: BTreeMap<String, u64>,
}

/// Replaces the outcome of modules whose object was edited after it was compiled. For these modules
/// the object's machine code is linked, because the bitcode lacks the edits.
fn drop_changed(
    inputs: &Inputs,
    outcomes: &mut [ModuleOutcome],
    recorder: &Recorder<'_>,
) -> Result<()> {
    for (module, outcome) in inputs.modules.iter().zip(outcomes) {
        let (ModuleOutcome::Woven(woven), Some(fat_object)) = (&*outcome, &module.fat_object)
        else {
            continue;
        };
        let machine_code = read_part(&module.path, fat_object)?;
        let bitcode = read_part(&module.path, &module.range)?;
        if let Some(change) = changed(&machine_code, &bitcode, &woven.object) {
            let reason = format!("{change}: linked as it is");
            recorder.show(&Message::MachineCode {
                module: module.display_name.clone(),
                reason: reason.clone(),
            });
            *outcome = ModuleOutcome::MachineCode(reason);
        }
    }
    Ok(())
}

/// Returns the bytes of counters that a thread needs for a module.
fn counters_size(outcome: &ModuleOutcome) -> u64 {
    match outcome {
        ModuleOutcome::Woven(woven) => woven.counters_size,
        ModuleOutcome::Plain(..) | ModuleOutcome::MachineCode(_) => 0,
    }
}

impl CounterBases {
    /// Assigns a base to each woven module of `outcomes`. A module that cannot have a base is
    /// compiled without probes, or linked with the machine code of its object.
    ///
    /// # Errors
    /// If a file cannot be read any more, or a module can be linked neither with nor without
    /// probes.
    pub(crate) fn assign(
        weaver: &Weaver<'_>,
        outcomes: &mut [ModuleOutcome],
        settings: &LinkSettings,
    ) -> Result<Self> {
        let inputs = weaver.inputs();
        drop_changed(inputs, outcomes, weaver.recorder())?;
        let without_probes = |number: usize, reason: &str| {
            let module = &inputs.modules[number].display_name;
            weaver.without_probes(number, &format!("{module}: {reason}"))
        };
        let sizes: Vec<u64> = outcomes.iter().map(counters_size).collect();
        for (number, reason) in modules_without_room(&sizes) {
            outcomes[number] = without_probes(number, &reason)?;
        }
        Self::assign_all(outcomes, settings.collect, without_probes)
    }

    /// Assigns a base to each woven module. If a base cannot be written into a module, the result
    /// of `without_probes(module number, reason)` replaces the module.
    fn assign_all(
        outcomes: &mut [ModuleOutcome],
        collect: Kind,
        without_probes: impl Fn(usize, &str) -> Result<ModuleOutcome>,
    ) -> Result<Self> {
        let mut bases = Self::default();
        for (number, outcome) in outcomes.iter_mut().enumerate() {
            let mut base = None;
            if let ModuleOutcome::Woven(woven) = outcome {
                match bases.add(woven, collect) {
                    Ok(assigned) => base = Some(assigned),
                    Err(error) => *outcome = without_probes(number, &error.to_string())?,
                }
            }
            bases.modules.push(base);
        }
        Ok(bases)
    }

    /// Reserves space for a module's counters and writes the base into its code. Returns the base.
    ///
    /// # Errors
    /// If the base cannot be written into the object. Then no space is reserved.
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
                // Equal modules share a symbol, so both count into the counters of the first one.
                self.constants.entry(symbol).or_insert(value);
            }
        }
        self.end += padded_size(woven.counters_size);
        self.ring_counters = ring_counters;
        Ok(base)
    }

    /// Returns the bytes of counters that a thread needs for the image.
    pub(crate) fn size(&self, collect: Kind) -> u64 {
        match collect {
            Kind::Loops => self.ring_counters.end,
            Kind::Paths
            | Kind::Edges
            | Kind::Trace
            | Kind::Variation
            | Kind::Times
            | Kind::Nothing => self.end,
        }
    }

    /// Returns the base that the next module would have.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }
}

/// Rounds the size of a module's counters up to a multiple of a cache line.
fn padded_size(counters_size: u64) -> u64 {
    counters_size.saturating_add(CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE
}

/// Chooses the modules whose counters have no space in the image, if all counters together are too
/// large: the largest modules, as few as possible. Returns their numbers and the reasons. `sizes`
/// are the bytes of counters of all modules.
fn modules_without_room(sizes: &[u64]) -> Vec<(usize, String)> {
    let mib = |bytes: u64| grouped(usize::try_from(bytes.div_ceil(1 << 20)).unwrap_or(usize::MAX));
    let sum = |sizes: &[u64]| {
        sizes
            .iter()
            .fold(0, |sum: u64, &size| sum.saturating_add(padded_size(size)))
    };
    let total = sum(sizes);
    let mut remaining = sizes.to_vec();
    let mut removed = Vec::new();
    while sum(&remaining) >= MAX_COUNTERS_SIZE {
        let largest = (0..remaining.len())
            .rev()
            .max_by_key(|&number| remaining[number]);
        let number = largest.expect("a sum above 0 has a module");
        remaining[number] = 0;
        let reason = format!(
            "its counters take {} MiB of the {} MiB of all modules, and an image has room for less than {}; weave less of it (--only, --skip)",
            mib(sizes[number]),
            mib(total),
            mib(MAX_COUNTERS_SIZE)
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
            planned_functions: 0,
            reads_files: false,
        }
    }

    /// An object without sections and symbols.
    fn empty(architecture: object::Architecture) -> Vec<u8> {
        let (format, little) = (object::BinaryFormat::Elf, object::Endianness::Little);
        let object = object::write::Object::new(format, architecture, little);
        object.write().expect("an object")
    }

    #[test]
    fn equal_modules_share_a_symbol_but_have_different_bases() {
        let mut bases = CounterBases::default();
        let mut add = |symbol| bases.add(&mut woven(symbol), Kind::Trace);
        let assigned = ["a", "b", "a"].map(|symbol| add(symbol).ok());
        assert_eq!(assigned, [Some(0), Some(128), Some(256)]);
        let expected = [("a", 0), ("a_beside", 0), ("b", 16), ("b_beside", 0)];
        let expected = expected.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(bases.constants, expected.into());
    }

    /// One of three objects cannot be patched. The other objects get the same bases as without it.
    #[test]
    fn a_module_that_cannot_be_patched_loses_its_probes() {
        let mut bad = woven("bad");
        bad.object = referring("bad", "f", object::elf::R_X86_64_PC32.0);
        let mut good = woven("good");
        good.object = referring("good", "g", object::elf::R_X86_64_32S.0);
        let mut outcomes = [good.clone(), bad, good].map(ModuleOutcome::Woven);
        let removed = std::cell::RefCell::new(Vec::new());
        let bases = CounterBases::assign_all(&mut outcomes, Kind::Paths, |number, reason| {
            removed.borrow_mut().push((number, reason.to_owned()));
            Ok(ModuleOutcome::Plain(woven(""), String::new()))
        });
        let reason = "function f refers to its counters by relocation type 2";
        assert_eq!(removed.into_inner(), [(1, reason.to_owned())]);
        let modules = bases.map(|bases| bases.modules).unwrap_or_default();
        assert_eq!(modules, [Some(0), None, Some(128)]);
        assert!(matches!(
            outcomes,
            [
                ModuleOutcome::Woven(_),
                ModuleOutcome::Plain(..),
                ModuleOutcome::Woven(_)
            ]
        ));
    }

    /// An object with a function that refers to an undefined symbol by a relocation of this type.
    fn referring(symbol: &str, function: &str, r_type: u32) -> Vec<u8> {
        use object::write::{Object, Relocation, StandardSection, Symbol, SymbolSection};
        let elf = object::BinaryFormat::Elf;
        let little = object::Endianness::Little;
        let mut file = Object::new(elf, object::Architecture::X86_64, little);
        let text = file.section_id(StandardSection::Text);
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
        let code = file.add_symbol(code);
        file.add_symbol_data(code, text, &[0x90; 16], 16);
        let kind = object::SymbolKind::Unknown;
        let base = file.add_symbol(name(symbol, kind, SymbolSection::Undefined));
        let flags = object::RelocationFlags::Elf {
            r_type: object::elf::RelocationType(r_type),
        };
        let relocation = Relocation {
            offset: 4,
            symbol: base,
            addend: 8,
            flags,
        };
        file.add_relocation(text, relocation).expect("a relocation");
        file.write().expect("an object")
    }

    #[test]
    fn the_largest_modules_are_removed_if_counters_are_too_large() {
        let check = |sizes: &[u64], expected: &[usize]| {
            let removed = modules_without_room(sizes)
                .into_iter()
                .map(|(number, _)| number);
            assert_eq!(removed.collect::<Vec<_>>(), expected);
        };
        let half = MAX_COUNTERS_SIZE / 2;
        check(&[], &[]);
        check(&[half, half - CACHE_LINE], &[]);
        check(&[half - 64, half + 1, 1], &[1]);
        check(&[half, half], &[0]);
        check(&[u64::MAX, 1], &[0]);
        check(
            &[
                5,
                MAX_COUNTERS_SIZE,
                half,
                MAX_COUNTERS_SIZE + 1,
                half - 2 * CACHE_LINE,
            ],
            &[3, 1],
        );
        let reason = modules_without_room(&[half - 64, half + 1, 1]).remove(0).1;
        let expected = "its counters take 1,025 MiB of the 2,049 MiB of all modules, and an image has room for less than 2,048; weave less of it (--only, --skip)";
        assert_eq!(reason, expected);
    }
}
