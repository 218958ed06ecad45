//! Weaving one module. The stages, in order: parse, optimize, give every edge a place, plan and
//! insert probes, rewrite constructors, emit object and map fragment.
//!
//! Rarely, the code generator emits an address of a module's base that the link step can't resolve
//! ([`patch`]). Nothing in a function predicts that. Then the module is woven once more, from its
//! bitcode, and the affected functions load the base into a register as a number. Their probes have
//! one more instruction each, and the counts are the same.

use std::collections::HashSet;

use holloway_format::{ModuleMap, Skipped, VanishedFunction};
use holloway_llvm::{AttributeKind, Context, Function, Library, Linkage, Module};

use crate::error::{Defect, WeaveError};
use crate::image::Machine;
use crate::instrument::ShortLeaves;
use crate::instrument::globals::Globals;
use crate::instrument::insert::{CountPlacement, ProbeInserter};
use crate::instrument::plan::{Plan, plan};
use crate::instrument::ring_counters::RingCounterAllocator;
use crate::instrument::selector::InstructionSelector;
use crate::lower::{CallAttributes, SubprogramCache};
use crate::options::{ModuleOptions, OptLevel};
use crate::patch::{self, Reference};
use crate::selection::Selection;
use crate::{constructors, emit, fragment, module_checks};

/// A woven module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WovenModule {
    /// The object file.
    pub object: Vec<u8>,
    /// The module's part of the path map: [`ModuleMap::encode`].
    pub fragment: Vec<u8>,
    /// The size of a thread's counters for the module, in bytes.
    pub counters_size: u64,
    /// The symbol of the module's base: the offset of its counters in a thread's block.
    pub base_symbol: String,
    /// Whether its assembly includes files. The bitcode does not contain these, so the result must
    /// not be cached.
    pub reads_files: bool,
}

/// Weaves one module. Calls `at` with each function's name before work on it, and with other stages
/// in brackets.
///
/// # Errors
/// [`WeaveError`]. The result is never half woven.
pub fn weave_module(
    llvm: &Library,
    bitcode: &[u8],
    options: &ModuleOptions,
    at: &mut dyn FnMut(&str),
) -> Result<WovenModule, WeaveError> {
    let woven = weave_once(llvm, bitcode, options, &Moved::Nowhere, at)?;
    let found = unresolvable(&woven)?;
    if found.is_empty() {
        return Ok(woven);
    }
    let woven = weave_once(llvm, bitcode, options, &Moved::at(&found), at)?;
    match unresolvable(&woven)?.first() {
        None => Ok(woven),
        Some(reference) => {
            let kind = reference.kind;
            let defect = Defect::Relocation { kind };
            Err(match reference.functions.first().cloned() {
                Some(function) => WeaveError::Internal { function, defect },
                None => WeaveError::InternalModule(defect),
            })
        }
    }
}

/// The functions that load a module's base into a register as a number.
enum Moved {
    Nowhere,
    Functions(HashSet<String>),
    Everywhere,
}

impl Moved {
    /// The functions of these references.
    fn at(references: &[Reference]) -> Self {
        if references
            .iter()
            .any(|reference| reference.functions.is_empty())
        {
            return Self::Everywhere;
        }
        let functions = references.iter().flat_map(|reference| &reference.functions);
        Self::Functions(functions.cloned().collect())
    }

    /// Whether a function is among them. LLVM marks a name that is not to be mangled by a byte 1.
    fn holds(&self, function: &str) -> bool {
        match self {
            Self::Nowhere => false,
            Self::Functions(functions) => {
                functions.contains(function.strip_prefix('\u{1}').unwrap_or(function))
            }
            Self::Everywhere => true,
        }
    }
}

/// The references to bases in a woven object that the link step could not resolve.
fn unresolvable(woven: &WovenModule) -> Result<Vec<Reference>, WeaveError> {
    let is_patched = Machine::of_object(&woven.object).is_some_and(Machine::patches_bases);
    if !is_patched {
        return Ok(Vec::new());
    }
    let ring_counters = patch::ring_counters_symbol(&woven.base_symbol);
    let found = patch::unresolvable(&woven.object, &[&woven.base_symbol, &ring_counters]);
    found.map_err(|error| WeaveError::InternalModule(Defect::Object(error)))
}

/// Weaves a module. The functions `moved` load its base into a register.
fn weave_once(
    llvm: &Library,
    bitcode: &[u8],
    options: &ModuleOptions,
    moved: &Moved,
    at: &mut dyn FnMut(&str),
) -> Result<WovenModule, WeaveError> {
    let base_symbol = base_symbol(bitcode, &options.name);
    at("(reading)");
    let context = Context::new(llvm);
    let mut module = Module::parse(&context, &options.name, bitcode)?;
    module.verify("reading")?;
    module_checks::check(&module, options)?;
    let reads_files = module_checks::reads_files(&module);
    if reads_files && module_checks::has_machine_code(&module, options) {
        return Err(module_checks::includes(&module));
    }
    let defined = defined_functions(&module);
    let level = emit::level(&module, options);
    let machine = emit::machine(&module, level)?;
    at("(optimising)");
    emit::optimize(&mut module, &machine, level, options)?;
    let mut map = ModuleMap {
        name: options.name.as_str().into(),
        producer: module.ident().unwrap_or_default().into(),
        gone: gone(&module, &defined),
        ..ModuleMap::default()
    };
    if options.probes {
        instrument(
            &mut module,
            options,
            level,
            moved,
            &base_symbol,
            &mut map,
            at,
        )?;
        emit::tidy(&mut module, level);
        module.verify("checking the instrumented module")?;
    }
    constructors::rewrite(&mut module);
    if options.function_sections {
        emit::function_sections(&module);
    }
    at("(generating code)");
    let object = module.emit_object(&machine)?;
    Ok(WovenModule {
        object,
        fragment: map.encode(),
        counters_size: map.counters_size,
        base_symbol,
        reads_files,
    })
}

/// The symbol of a module's base, the same for the same input.
fn base_symbol(bitcode: &[u8], name: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(name.len() as u64).to_le_bytes());
    hasher.update(name.as_bytes());
    hasher.update(bitcode);
    format!("__holloway_base_{}", &hasher.finalize().to_hex()[..32])
}

/// The source name and linkage name of every function with code in the module.
fn defined_functions(module: &Module<'_>) -> Vec<VanishedFunction> {
    bodies(module)
        .map(|function| VanishedFunction {
            name: source_name(function).into(),
            linkage_name: function.name().into(),
        })
        .collect()
}

fn bodies<'m>(module: &'m Module<'m>) -> impl Iterator<Item = Function<'m>> {
    module.functions().filter(|function| {
        !function.is_declaration() && function.linkage() != Linkage::AvailableExternally
    })
}

fn source_name(function: Function<'_>) -> String {
    function
        .subprogram()
        .map(holloway_llvm::Subprogram::name)
        .unwrap_or_default()
}

/// The functions without code of their own after optimization.
fn gone(module: &Module<'_>, defined: &[VanishedFunction]) -> Vec<VanishedFunction> {
    let left: HashSet<String> = bodies(module).map(Function::name).collect();
    defined
        .iter()
        .filter(|function| !left.contains(function.linkage_name.as_str()))
        .cloned()
        .collect()
}

/// Instruments the selected functions and fills the map.
fn instrument(
    module: &mut Module<'_>,
    options: &ModuleOptions,
    level: OptLevel,
    moved: &Moved,
    base_symbol: &str,
    map: &mut ModuleMap,
    at: &mut dyn FnMut(&str),
) -> Result<(), WeaveError> {
    let selection = Selection::new(module, options);
    let chosen: HashSet<String> = bodies(module)
        .filter(|function| selection.reason(*function).is_none())
        .map(Function::name)
        .collect();
    let is_chosen = |function: Function<'_>| chosen.contains(&function.name());
    module.duplicate_tail_returns(&is_chosen);
    module.split_landing_pads(&is_chosen);
    module.split_critical_edges(&is_chosen);

    let module: &Module<'_> = module;
    let subprograms = SubprogramCache::default();
    let attributes = CallAttributes::of(module);
    let mut plans: Vec<Plan<'_>> = Vec::new();
    let mut leaves = ShortLeaves::default();
    for function in bodies(module) {
        at(&function.name());
        let planned = match selection.reason(function) {
            Some(reason) => Err(reason),
            None => plan(function, &attributes, options),
        };
        match planned {
            Ok(plan) => plans.push(plan),
            Err(reason) => {
                leaves.note(function, &reason);
                map.skipped.push(Skipped {
                    name: source_name(function).into(),
                    linkage_name: function.name().into(),
                    reason: reason.to_string().into(),
                });
            }
        }
    }
    if plans.is_empty() {
        return Ok(());
    }
    let globals = Globals::declare(module, base_symbol, options.kind);
    let changed = ChangedAttributes::of(module);
    let mut ring_counters = RingCounterAllocator::new(options);
    let inserter = ProbeInserter {
        collect: options.collect,
        base_symbol,
        leaves: &leaves,
    };
    for plan in &plans {
        let function = plan.lowered.parts.function;
        at(&function.name());
        let globals = match moved.holds(&function.name()) {
            true => globals.with_moved_base(),
            false => globals,
        };
        let placement = CountPlacement {
            counters: plan.counters(map.counters_size, options),
            ring_counters: ring_counters.allocate(plan),
        };
        map.counters_size += placement.counters.size();
        map.functions.push(fragment::function_map(
            plan,
            &placement,
            &subprograms,
            options,
        ));
        let selector = match level == OptLevel::O0 || changed.is_optnone(function) {
            true => InstructionSelector::Fast,
            false => InstructionSelector::Optimizing,
        };
        let inserted = inserter.insert(plan, &placement, &globals, selector);
        inserted.map_err(|defect| WeaveError::Internal {
            function: function.name(),
            defect,
        })?;
        changed.apply(function);
    }
    Ok(())
}

/// Attributes that probes depend on, or that probes make untrue.
struct ChangedAttributes {
    optnone: Option<AttributeKind>,
    /// `memory` says which memory a function accesses. Probes access counters too.
    memory: Option<AttributeKind>,
}

impl ChangedAttributes {
    fn of(module: &Module<'_>) -> Self {
        Self {
            optnone: AttributeKind::named(module, "optnone"),
            memory: AttributeKind::named(module, "memory"),
        }
    }

    fn is_optnone(&self, function: Function<'_>) -> bool {
        self.optnone
            .is_some_and(|kind| function.has_attribute(kind))
    }

    fn apply(&self, function: Function<'_>) {
        if let Some(kind) = self.memory {
            function.remove_attribute(kind);
        }
    }
}
