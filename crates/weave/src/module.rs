//! Weaves one module. The stages are, in order: parse, optimize, split edges so that probes fit,
//! plan and insert probes, rewrite constructors, emit the object and the map's fragment.
//!
//! Rarely, the code generator emits a reference to the module's base that the link step cannot
//! resolve ([`patch`]). Nothing in a function predicts that. Then the module is woven again from
//! its bitcode, and in the affected functions each probe loads the base into a register as a
//! number. These probes have one more instruction. The counts are the same.

use std::collections::HashSet;

use holloway_format::{ModuleMap, Skipped, VanishedFunction};
use holloway_llvm::{AttributeKind, Context, Function, Library, Module};

use crate::error::{Defect, WeaveError};
use crate::image::Machine;
use crate::instrument::globals::Globals;
use crate::instrument::insert::{CountPlacement, ProbeInserter};
use crate::instrument::plan::{Plan, plan};
use crate::instrument::ring_counters::RingCounterAllocator;
use crate::instrument::selector::InstructionSelector;
use crate::instrument::{ShortLeaves, block_probes, make_room_for_probes};
use crate::lower::{CallAttributes, SubprogramCache};
use crate::optimized::OptimizedCode;
use crate::options::{EarlyBuild, ModuleOptions, OptLevel};
use crate::patch::{self, Reference};
use crate::selection::{Selection, functions_with_code};
use crate::woven::WovenModule;
use crate::{constructors, early, emit, fragment, module_checks, prefetch};

/// Weaves one module. Calls `report_stage` with each function's name before work on the function,
/// and with the name of each other stage in parentheses.
///
/// # Errors
/// If the module must not be woven, if LLVM fails, or if the weaver has a bug. There is no partial
/// result.
pub fn weave_module(
    llvm: &Library,
    bitcode: &[u8],
    options: &ModuleOptions,
    report_stage: &mut dyn FnMut(&str),
) -> Result<WovenModule, WeaveError> {
    let woven = weave_once(llvm, bitcode, options, &MovedBases::Nowhere, report_stage)?;
    let references = unresolvable(&woven)?;
    if references.is_empty() {
        return Ok(woven);
    }
    let moved_bases = match options.early {
        // The optimizer has moved probes from function to function.
        Some(_) => MovedBases::Everywhere,
        None => MovedBases::for_references(&references),
    };
    let woven = weave_once(llvm, bitcode, options, &moved_bases, report_stage)?;
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

/// The functions whose probes load the module's base into a register as a number.
enum MovedBases {
    Nowhere,
    Functions(HashSet<String>),
    Everywhere,
}

impl MovedBases {
    /// The functions that contain these references.
    fn for_references(references: &[Reference]) -> Self {
        if references
            .iter()
            .any(|reference| reference.functions.is_empty())
        {
            return Self::Everywhere;
        }
        let functions = references.iter().flat_map(|reference| &reference.functions);
        Self::Functions(functions.cloned().collect())
    }

    /// Whether a function is in the set. LLVM puts a byte 1 before names that must not be mangled.
    fn contains(&self, function: &str) -> bool {
        match self {
            Self::Nowhere => false,
            Self::Functions(functions) => {
                functions.contains(function.strip_prefix('\u{1}').unwrap_or(function))
            }
            Self::Everywhere => true,
        }
    }
}

/// The references to the module's bases that the link step could not resolve.
fn unresolvable(woven: &WovenModule) -> Result<Vec<Reference>, WeaveError> {
    let is_patched = Machine::of_object(&woven.object).is_some_and(Machine::patches_bases);
    if !is_patched {
        return Ok(Vec::new());
    }
    let ring_counters = patch::ring_counters_symbol(&woven.base_symbol);
    let references = patch::unresolvable(&woven.object, &[&woven.base_symbol, &ring_counters]);
    references.map_err(|error| WeaveError::InternalModule(Defect::Object(error)))
}

/// Weaves a module. In the functions of `moved_bases`, probes load the base into a register.
fn weave_once(
    llvm: &Library,
    bitcode: &[u8],
    options: &ModuleOptions,
    moved_bases: &MovedBases,
    report_stage: &mut dyn FnMut(&str),
) -> Result<WovenModule, WeaveError> {
    let base_symbol = base_symbol(bitcode, &options.name);
    report_stage("(reading)");
    let context = Context::new(llvm);
    let mut module = Module::parse(&context, &options.name, bitcode)?;
    module.verify("reading")?;
    module_checks::check(&module, options)?;
    let reads_files = module_checks::reads_files(&module);
    if reads_files && module_checks::has_machine_code(&module, options) {
        return Err(module_checks::included_file_error(&module));
    }
    if options.numbers {
        early::number_instructions(&mut module, &base_symbol);
    }
    let defined = defined_functions(&module);
    let opt_level = emit::level(&module, options);
    let machine = emit::machine(&module, opt_level)?;
    report_stage("(optimising)");
    let mut planned_functions = 0;
    match &options.early {
        None => emit::optimize(&mut module, &machine, opt_level, options)?,
        Some(EarlyBuild::Plain) => early::optimize(&mut module, &machine, opt_level)?,
        Some(EarlyBuild::Source) => {
            early::branch_on_conditions(&mut module, &machine, opt_level)?;
            module.verify("branching on conditions")?;
        }
        Some(EarlyBuild::Training) => {
            early::prepare(&mut module, &machine, opt_level)?;
            early::expand_selects(&mut module);
        }
        Some(EarlyBuild::Optimized(plan)) => {
            let code = OptimizedCode::new(llvm, &mut module, &machine, opt_level, plan, options)?;
            module = Module::parse(&context, &options.name, &code.bitcode)?;
            module.verify("reading optimized code")?;
            planned_functions = code.planned_functions;
            // A module whose compiler has used another profile keeps it.
            if planned_functions > 0 && plan.late_functions() > 0 {
                early::attach_late(&mut module, plan, &options.of_plan());
                module.verify("attaching the late counts")?;
            }
            if plan.prefetch_count() > 0 {
                prefetch::insert(&mut module, |name| plan.prefetches(name), options);
                module.verify("inserting prefetches")?;
            }
        }
    }
    let mut map = ModuleMap {
        name: options.name.as_str().into(),
        producer: module.ident().unwrap_or_default().into(),
        gone: vanished_functions(&module, &defined),
        ..ModuleMap::default()
    };
    if options.probes {
        instrument(
            &mut module,
            options,
            opt_level,
            moved_bases,
            &base_symbol,
            &mut map,
            report_stage,
        )?;
        emit::remove_empty_blocks(&mut module, opt_level);
        module.verify("checking the instrumented module")?;
        if matches!(
            options.early,
            Some(EarlyBuild::Training | EarlyBuild::Source)
        ) {
            report_stage("(optimising)");
            early::optimize(&mut module, &machine, opt_level)?;
        }
    }
    constructors::rewrite(&mut module);
    if options.function_sections {
        match options.early {
            Some(EarlyBuild::Optimized(_)) => emit::function_groups(&module),
            Some(EarlyBuild::Plain | EarlyBuild::Source | EarlyBuild::Training) | None => {
                emit::function_sections(&module);
            }
        }
    }
    report_stage("(generating code)");
    let object = module.emit_object(&machine)?;
    Ok(WovenModule {
        object,
        fragment: map.encode(),
        counters_size: map.counters_size,
        base_symbol,
        planned_functions,
        reads_files,
    })
}

/// The symbol of a module's base. It depends only on the module's name and bitcode.
fn base_symbol(bitcode: &[u8], name: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(name.len() as u64).to_le_bytes());
    hasher.update(name.as_bytes());
    hasher.update(bitcode);
    format!("__holloway_base_{}", &hasher.finalize().to_hex()[..32])
}

/// The names of every function that the module contains code for.
fn defined_functions(module: &Module<'_>) -> Vec<VanishedFunction> {
    functions_with_code(module)
        .map(|function| VanishedFunction {
            name: source_name(function).into(),
            linkage_name: function.name().into(),
        })
        .collect()
}

fn source_name(function: Function<'_>) -> String {
    function
        .subprogram()
        .map(holloway_llvm::Subprogram::name)
        .unwrap_or_default()
}

/// The functions of `defined` that have no code after optimization, because they were inlined,
/// merged, or unused.
fn vanished_functions(module: &Module<'_>, defined: &[VanishedFunction]) -> Vec<VanishedFunction> {
    let remaining: HashSet<String> = functions_with_code(module).map(Function::name).collect();
    defined
        .iter()
        .filter(|function| !remaining.contains(function.linkage_name.as_str()))
        .cloned()
        .collect()
}

/// Inserts probes into the selected functions, and adds all functions to the map.
fn instrument(
    module: &mut Module<'_>,
    options: &ModuleOptions,
    opt_level: OptLevel,
    moved_bases: &MovedBases,
    base_symbol: &str,
    map: &mut ModuleMap,
    report_stage: &mut dyn FnMut(&str),
) -> Result<(), WeaveError> {
    let selection = Selection::new(module, options);
    make_room_for_probes(module, &selection);

    let module: &Module<'_> = module;
    let subprograms = SubprogramCache::default();
    let attributes = CallAttributes::lookup(module);
    let mut plans: Vec<Plan<'_>> = Vec::new();
    let mut leaves = ShortLeaves::default();
    for function in functions_with_code(module) {
        report_stage(&function.name());
        let planned = match selection.reason(function) {
            Some(reason) => Err(reason),
            None => plan(function, &attributes, options),
        };
        match planned {
            Ok(plan) => plans.push(plan),
            Err(reason) => {
                leaves.add_if_too_short(function, &reason);
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
    if !options.collect.is_recorded() {
        mark_blocks(module, &plans, &subprograms, options, map);
        map.sources = subprograms.sources();
        return Ok(());
    }
    let globals = Globals::declare(module, base_symbol, options.kind);
    let changed_attributes = ChangedAttributes::lookup(module);
    let mut ring_counters = RingCounterAllocator::new(options);
    let inserter = ProbeInserter {
        collect: options.collect,
        base_symbol,
        leaves: &leaves,
    };
    for plan in &plans {
        let function = plan.lowered.parts.function;
        report_stage(&function.name());
        let globals = match moved_bases.contains(&function.name()) {
            true => globals.with_moved_base(),
            false => globals,
        };
        let placement = CountPlacement {
            counters: plan.counters(map.counters_size, options),
            ring_counters: ring_counters.allocate(plan),
        };
        map.counters_size += placement.counters.size();
        let function_map = fragment::function_map(plan, &placement, &subprograms, options);
        if options.collect.marks_blocks() {
            block_probes::insert(&plan.lowered, &function_map, function_map.guid(&map.name));
        }
        map.functions.push(function_map);
        let is_unoptimized = opt_level == OptLevel::O0 || changed_attributes.is_optnone(function);
        let selector = match is_unoptimized {
            true => InstructionSelector::Fast,
            false => InstructionSelector::Optimizing,
        };
        let inserted = inserter.insert(plan, &placement, &globals, selector);
        inserted.map_err(|defect| WeaveError::Internal {
            function: function.name(),
            defect,
        })?;
        changed_attributes.remove_memory(function);
    }
    map.sources = subprograms.sources();
    if options.collect.marks_blocks() {
        module.emit_pseudo_probes();
    }
    Ok(())
}

/// Marks the blocks of the planned functions, for a program that records nothing.
fn mark_blocks<'m>(
    module: &'m Module<'m>,
    plans: &[Plan<'m>],
    subprograms: &'m SubprogramCache<'m>,
    options: &ModuleOptions,
    map: &mut ModuleMap,
) {
    for plan in plans {
        // The counters number the paths. They take no memory.
        let placement = CountPlacement {
            counters: plan.counters(map.counters_size, options),
            ring_counters: None,
        };
        map.counters_size += placement.counters.size();
        let function = fragment::function_map(plan, &placement, subprograms, options);
        block_probes::insert(&plan.lowered, &function, function.guid(&map.name));
        map.functions.push(function);
    }
    module.emit_pseudo_probes();
}

/// LLVM's ids of the attributes that probes depend on or make wrong.
struct ChangedAttributes {
    optnone: Option<AttributeKind>,
    /// The attribute `memory` limits which memory a function accesses. Probes make it wrong,
    /// because they access counters too.
    memory: Option<AttributeKind>,
}

impl ChangedAttributes {
    fn lookup(module: &Module<'_>) -> Self {
        Self {
            optnone: AttributeKind::named(module, "optnone"),
            memory: AttributeKind::named(module, "memory"),
        }
    }

    fn is_optnone(&self, function: Function<'_>) -> bool {
        self.optnone
            .is_some_and(|kind| function.has_attribute(kind))
    }

    fn remove_memory(&self, function: Function<'_>) {
        if let Some(kind) = self.memory {
            function.remove_attribute(kind);
        }
    }
}
