//! Which functions of a module get probes, and why the others don't.
//!
//! The weaver leaves these functions alone:
//! - functions that probes could break: naked functions, ifunc resolvers and the functions they
//!   call, and other code that runs before thread-local storage exists (in a static program, ifuncs
//!   are resolved before that);
//! - functions that ask for it (`noprofile`);
//! - functions that the user filters out;
//! - in rustc's merged module of `lto="fat"`, the standard library's own functions. Instances of
//!   its generic functions are the user's code.

use std::collections::{HashMap, VecDeque};

use holloway_llvm::{AttributeKind, Function, Module};

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

/// Attributes that keep a function from being instrumented.
const ATTRIBUTES: [(&str, Reason); 4] = [
    ("naked", Reason::Naked),
    ("noprofile", Reason::NoProfile),
    ("skipprofile", Reason::SkipProfile),
    ("presplitcoroutine", Reason::UnsplitCoroutine),
];

/// Calling conventions that leave no registers for a call of the runtime: GHC, HiPE, AnyReg, x86
/// interrupt handlers.
const CONVENTIONS: [u32; 4] = [10, 11, 13, 83];

/// Selects functions by one module's options.
pub(crate) struct Selection<'a> {
    options: &'a ModuleOptions,
    attributes: Vec<(AttributeKind, Reason)>,
    resolvers: HashMap<String, Reason>,
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
            resolvers: resolvers(module),
        }
    }

    /// Why a function is left alone, if it is.
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
        if let Some(reason) = self.resolvers.get(&name) {
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

    /// Whether a function is the standard library's own: in a merged module, from the library's
    /// source, and not generic.
    fn is_std(&self, function: Function<'_>) -> bool {
        if self.options.std || !self.options.fat {
            return false;
        }
        function.subprogram().is_some_and(|subprogram| {
            let (directory, file) = subprogram.file();
            let inside = file.starts_with("/rustc/")
                || (!file.starts_with('/') && directory.starts_with("/rustc/"));
            inside && !subprogram.is_generic() && !subprogram.name().contains('<')
        })
    }
}

/// The functions that resolve ifuncs and those they reach by direct calls, with the reason to leave
/// each alone. A call into another module is not followed.
fn resolvers(module: &Module<'_>) -> HashMap<String, Reason> {
    let mut reasons = HashMap::new();
    // First in, first out, so that a resolver that another resolver calls is still listed as a
    // resolver.
    let mut left: VecDeque<_> = module
        .ifunc_resolvers()
        .into_iter()
        .map(|name| (name, Reason::IfuncResolver))
        .collect();
    while let Some((name, reason)) = left.pop_front() {
        let Some(function) = behind_aliases(module, name) else {
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
        left.extend(callees.map(|callee| (callee.name(), Reason::CalledByIfuncResolver)));
    }
    reasons
}

/// The function of this name, or the function that the alias of this name stands for.
fn behind_aliases<'m>(module: &'m Module<'_>, mut name: String) -> Option<Function<'m>> {
    while let Some(aliasee) = module.alias(&name) {
        name = aliasee;
    }
    module.function(&name)
}
