//! Selects the functions of a module that get probes, and gives a reason for the others.
//!
//! These functions get no probes:
//! - the runtime's functions, `__holloway…`;
//! - functions that probes could break: naked functions, coroutines that LLVM has not split,
//!   functions with a strategy for garbage collection, and functions whose calling convention
//!   leaves no registers for a call of the runtime;
//! - ifunc resolvers, the functions that resolvers call, and other code that runs before
//!   thread-local storage exists (a static program resolves its ifuncs before that);
//! - functions with an attribute that forbids profiling (`noprofile`, `skipprofile`);
//! - functions that the user excludes with `--only` or `--skip`;
//! - in rustc's merged module of `lto="fat"`, functions of the standard library. Instances of its
//!   generic functions count as the user's code.

use std::collections::{HashMap, VecDeque};

use holloway_llvm::{AttributeKind, Function, Linkage, Module};

use crate::filter::Candidate;
use crate::options::ModuleOptions;
use crate::reason::Reason;

/// Functions that a C library runs before thread-local storage exists, or to set it up.
const BEFORE_TLS: [&str; 12] = [
    "_start",
    "_start_c",
    "_dl_start",
    "_dl_start_c",
    "_dl_relocate_static_pie",
    "__libc_start_main",
    "__libc_setup_tls",
    "__libc_init_secure",
    "__init_libc",
    "__init_tls",
    "__tls_get_addr",
    "___tls_get_addr",
];

/// Attributes of functions that get no probes.
const ATTRIBUTES: [(&str, Reason); 4] = [
    ("naked", Reason::Naked),
    ("noprofile", Reason::NoProfile),
    ("skipprofile", Reason::SkipProfile),
    ("presplitcoroutine", Reason::UnsplitCoroutine),
];

/// LLVM's numbers of the calling conventions that leave no registers for a call of the runtime:
/// GHC, HiPE, AnyReg, and x86 interrupt handlers.
const CONVENTIONS: [u32; 4] = [10, 11, 13, 83];

/// The functions whose code the module contributes to the program.
pub(crate) fn functions_with_code<'m>(
    module: &'m Module<'m>,
) -> impl Iterator<Item = Function<'m>> {
    module.functions().filter(|function| {
        !function.is_declaration() && function.linkage() != Linkage::AvailableExternally
    })
}

/// Selects the functions of a module that get probes.
pub(crate) struct Selection<'a> {
    options: &'a ModuleOptions,
    attributes: Vec<(AttributeKind, Reason)>,
    /// The reasons for ifunc resolvers and their callees, by linkage name.
    resolver_reasons: HashMap<String, Reason>,
}

impl<'a> Selection<'a> {
    pub(crate) fn new(module: &Module<'_>, options: &'a ModuleOptions) -> Self {
        let attributes = ATTRIBUTES
            .into_iter()
            .filter_map(|(name, reason)| Some((AttributeKind::named(module, name)?, reason)))
            .collect();
        Self {
            options,
            attributes,
            resolver_reasons: resolver_reasons(module),
        }
    }

    /// The reason why a function gets no probes. `None` if it gets probes.
    pub(crate) fn reason(&self, function: Function<'_>) -> Option<Reason> {
        let name = function.name();
        if name.starts_with("__holloway") {
            return Some(Reason::Runtime);
        }
        if let Some((_, reason)) = self
            .attributes
            .iter()
            .find(|(kind, _)| function.has_attribute(*kind))
        {
            return Some(reason.clone());
        }
        if let Some(reason) = self.resolver_reasons.get(&name) {
            return Some(reason.clone());
        }
        if BEFORE_TLS.contains(&name.as_str()) {
            return Some(Reason::BeforeThreadLocalStorage);
        }
        if function.has_gc() {
            return Some(Reason::GarbageCollected);
        }
        if CONVENTIONS.contains(&function.calling_convention()) {
            return Some(Reason::CallingConvention);
        }
        if self.is_std(function) {
            return Some(Reason::StandardLibrary);
        }
        let source_name = function
            .subprogram()
            .map(holloway_llvm::Subprogram::name)
            .unwrap_or_default();
        let candidate = Candidate {
            // rustc names the merged module after its last crate.
            module: if self.options.fat {
                ""
            } else {
                &self.options.name
            },
            name: &source_name,
            linkage_name: &name,
        };
        self.options.filter.reason(candidate)
    }

    /// Whether a function of a merged module belongs to the standard library: its source is the
    /// library's, and it is not generic.
    fn is_std(&self, function: Function<'_>) -> bool {
        if self.options.std || !self.options.fat {
            return false;
        }
        function.subprogram().is_some_and(|subprogram| {
            let (directory, file) = subprogram.file();
            let has_std_source = file.starts_with("/rustc/")
                || (!file.starts_with('/') && directory.starts_with("/rustc/"));
            has_std_source && !subprogram.is_generic() && !subprogram.name().contains('<')
        })
    }
}

/// The functions that resolve ifuncs, and the functions that resolvers reach by direct calls, with
/// the reason why each gets no probes. Calls into other modules are not followed.
fn resolver_reasons(module: &Module<'_>) -> HashMap<String, Reason> {
    let mut reasons = HashMap::new();
    // The queue is first in, first out. So a resolver that another resolver calls still gets the
    // reason `IfuncResolver`.
    let mut pending: VecDeque<_> = module
        .ifunc_resolvers()
        .into_iter()
        .map(|name| (name, Reason::IfuncResolver))
        .collect();
    while let Some((name, reason)) = pending.pop_front() {
        let Some(function) = resolve_aliases(module, name) else {
            continue;
        };
        if reasons.contains_key(&function.name()) {
            continue;
        }
        reasons.insert(function.name(), reason);
        let callees = function
            .blocks()
            .flat_map(holloway_llvm::Block::instructions)
            .filter(|instruction| instruction.is_call())
            .map(holloway_llvm::Instruction::callee)
            .filter(|callee| callee.is_constant());
        pending.extend(callees.map(|callee| (callee.name(), Reason::CalledByIfuncResolver)));
    }
    reasons
}

/// The function with this name, or the function to which the alias with this name resolves.
fn resolve_aliases<'m>(module: &'m Module<'_>, mut name: String) -> Option<Function<'m>> {
    while let Some(aliasee) = module.alias(&name) {
        name = aliasee;
    }
    module.function(&name)
}
