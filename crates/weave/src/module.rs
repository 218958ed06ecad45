//! Weaving one module: the stages, in order.
//!
//! parse → optimise → give every edge a place → plan and insert probes → constructors → object and map fragment.
//!
//! The code generator may make an address of a module's base that the link step can't resolve ([`patch`]): seldom, and
//! nothing in a function says so before. Then the module is woven once more, from its bitcode, with the base as a number
//! in a register in the functions where that happened: one instruction more a probe there, the same counts.

use std::collections::HashSet;

use holloway_format::{ModuleMap, Skipped, VanishedFunction};
use holloway_llvm::{AttributeKind, Context, Function, Library, Linkage, Module};

use crate::error::WeaveError;
use crate::image::Machine;
use crate::instrument::Leaves;
use crate::instrument::beside::Beside;
use crate::instrument::globals::Globals;
use crate::instrument::plan::{Plan, plan};
use crate::lower::{Attributes, Described};
use crate::options::{Collect, ModuleOptions, OptLevel};
use crate::patch::{self, Reference};
use crate::selection::Selection;
use crate::{constructors, emit, fragment, refusal};

/// A woven module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WovenModule {
    /// The object file.
    pub object: Vec<u8>,
    /// Its part of the path map: [`ModuleMap::encode`].
    pub fragment: Vec<u8>,
    /// Bytes of counters a thread needs for it.
    pub counters_size: u64,
    /// The symbol that stands for where these begin in a thread's block.
    pub base_symbol: String,
    /// Whether it was also made of files its assembly includes: its bitcode doesn't say all, so it must not be kept.
    pub reads_files: bool,
}

/// Weaves one module. `at` is told each function's name before it is worked on, and other stages in brackets.
///
/// # Errors
/// [`WeaveError`]; nothing is half-woven.
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
        Some(reference) => Err(WeaveError::Internal {
            function: reference.functions.first().cloned().unwrap_or_default(),
            what: format!(
                "its counters are referred to by relocation type {}",
                reference.kind
            ),
        }),
    }
}

/// The functions in which a module's base is a number in a register.
enum Moved {
    Nowhere,
    Functions(HashSet<String>),
    Everywhere,
}

impl Moved {
    /// Where these references are.
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

    /// Whether a function is among them. LLVM marks a name that stands in the object as it is by a byte 1.
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

/// The references of a woven object that the link step could not resolve.
fn unresolvable(woven: &WovenModule) -> Result<Vec<Reference>, WeaveError> {
    let is_patched = Machine::of_object(&woven.object).is_some_and(Machine::patches_bases);
    if !is_patched {
        return Ok(Vec::new());
    }
    let beside = patch::beside_symbol(&woven.base_symbol);
    let found = patch::unresolvable(&woven.object, &[&woven.base_symbol, &beside]);
    found.map_err(|error| WeaveError::Internal {
        function: String::new(),
        what: error.to_string(),
    })
}

/// Weaves a module, with its base in a register in the functions `moved`.
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
    refusal::check(&module, options)?;
    let reads_files = refusal::reads_files(&module);
    if reads_files && refusal::has_machine_code(&module, options) {
        return Err(refusal::includes(&module));
    }
    let defined = defined_functions(&module);
    let level = emit::level(&module, options);
    let machine = emit::machine(&module, level)?;
    at("(optimising)");
    emit::optimise(&mut module, &machine, level, options)?;
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
            (level, moved),
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

/// The symbol of a module's counter base: the same for the same input.
fn base_symbol(bitcode: &[u8], name: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(name.len() as u64).to_le_bytes());
    hasher.update(name.as_bytes());
    hasher.update(bitcode);
    format!("__holloway_base_{}", &hasher.finalize().to_hex()[..32])
}

/// Source name and linkage name of every function with code here.
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

/// The functions without code of their own after optimisation.
fn gone(module: &Module<'_>, defined: &[VanishedFunction]) -> Vec<VanishedFunction> {
    let left: HashSet<String> = bodies(module).map(Function::name).collect();
    defined
        .iter()
        .filter(|function| !left.contains(function.linkage_name.as_str()))
        .cloned()
        .collect()
}

/// Instruments what is selected; fills the map.
fn instrument(
    module: &mut Module<'_>,
    options: &ModuleOptions,
    (level, moved): (OptLevel, &Moved),
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
    let described = Described::default();
    let attributes = Attributes::of(module);
    let mut plans: Vec<Plan<'_>> = Vec::new();
    let mut leaves = Leaves::default();
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
                    reason: reason.into(),
                });
            }
        }
    }
    if plans.is_empty() {
        return Ok(());
    }
    let globals = Globals::declare(module, base_symbol, options.kind);
    let changed = ChangedAttributes::of(module);
    let mut beside = Beside::new(options);
    for plan in &plans {
        let function = plan.lowered.layout.function;
        at(&function.name());
        let globals = match moved.holds(&function.name()) {
            true => globals.with_moved_base(),
            false => globals,
        };
        let counters = plan.counters(map.counters_size, options);
        let mut function_map = fragment::function_map(plan, counters, &described, options);
        let place = beside.place(plan);
        function_map.ring_counters = place.map(|place| place.offset);
        map.counters_size += counters.size();
        let single = level == OptLevel::O0 || changed.is_optnone(function);
        let first = first_word(counters.offset());
        let inserted = match options.collect {
            Collect::Loops if let Some(place) = place => {
                let beside = globals.beside(module, base_symbol);
                plan.insert_stream_beside((first, &globals), (place, &beside), single)
            }
            Collect::Paths | Collect::Edges => plan.insert(counters, &globals, single),
            Collect::Loops | Collect::Trace => plan.insert_stream(first, &globals, single),
            Collect::Variation => plan.insert_bursts(first, &globals, &leaves),
            Collect::Times => plan.insert_times(first, &globals),
        };
        inserted.map_err(|what| WeaveError::Internal {
            function: function.name(),
            what,
        })?;
        map.functions.push(function_map);
        changed.apply(function);
    }
    Ok(())
}

/// The word of path 0 of a function with its counters at `offset`, less the module's base.
fn first_word(offset: u64) -> i64 {
    (offset / 8 + 1).cast_signed()
}

/// Attributes that matter for, or are no longer true of, a function with probes.
struct ChangedAttributes {
    optnone: Option<AttributeKind>,
    /// Says what memory a function touches: now also counters.
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
