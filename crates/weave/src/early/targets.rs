//! The targets of indirect calls, as LLVM's value profiles (metadata `VP`). A pass of LLVM then
//! compares the called address with the most frequent targets and calls these directly, so that the
//! optimizer can inline them.
//!
//! A target is known by its name alone. If several modules have local functions of one name, the
//! direct call may be of the wrong one. That costs time only, because the call is made only if the
//! addresses are equal.

use std::collections::BTreeMap;

use holloway_format::{Count, Text};
use holloway_llvm::{Function, Linkage, LlvmError, Machine, Metadata, Module, Type};
use md5::{Digest as _, Md5};

use crate::emit;
use crate::lower::indirect_calls;
use crate::options::OptLevel;

/// LLVM's pass that makes direct calls of the most frequent targets.
const PROMOTE: &str = "pgo-icall-prom";
/// LLVM considers so many targets of a call.
const MAX_TARGETS: usize = 3;
/// LLVM's number for the values of a call: the called functions.
const CALLED_FUNCTIONS: i64 = 0;

/// Attaches the counts of call targets to the indirect calls of a function. Targets that the module
/// does not know count only for the sum.
pub(super) fn attach(function: Function<'_>, targets: &BTreeMap<(usize, Text), Count>) {
    let module = function.module();
    let kind = module.metadata_kind("prof");
    let mut of_sites: BTreeMap<usize, Vec<(&str, u64)>> = BTreeMap::new();
    for ((site, name), &Count(count)) in targets {
        of_sites.entry(*site).or_default().push((name, count));
    }
    for (site, call) in indirect_calls(function).enumerate() {
        let profile = of_sites.get(&site);
        if let Some(profile) = profile.and_then(|targets| value_profile(module, targets)) {
            call.set_metadata(kind, profile);
        }
    }
}

/// The profile of a call. `None` if the module knows no target.
fn value_profile<'m>(module: &'m Module<'m>, targets: &[(&str, u64)]) -> Option<Metadata<'m>> {
    let counts = targets.iter().map(|&(_, count)| count);
    let total = counts.fold(0, u64::saturating_add);
    let known = targets.iter().filter_map(|&(name, count)| {
        let target = module.function(name)?;
        Some((count, guid(target)))
    });
    let mut known: Vec<(u64, u64)> = known.collect();
    known.sort_unstable_by(|a, b| b.cmp(a));
    known.truncate(MAX_TARGETS);
    if known.is_empty() {
        return None;
    }
    let word = Type::i64(module);
    let number = |value: u64| Metadata::constant(word.int(value.cast_signed()));
    let mut operands = vec![
        Metadata::string(module, "VP"),
        Metadata::constant(Type::i32(module).int(CALLED_FUNCTIONS)),
        number(total),
    ];
    for (count, guid) in known {
        operands.extend([number(guid), number(count)]);
    }
    Some(Metadata::node(module, &operands))
}

/// LLVM's number of a function: the first half of the MD5 of its name. The names of local functions
/// begin with the name of the source file.
fn guid(function: Function<'_>) -> u64 {
    let name = function.name();
    let name = name.strip_prefix('\u{1}').unwrap_or(&name);
    let hash = match function.linkage() {
        Linkage::Local => {
            let file = function.module().source_file_name();
            Md5::digest(format!("{file};{name}"))
        }
        Linkage::External | Linkage::AvailableExternally | Linkage::Other => Md5::digest(name),
    };
    u64::from_le_bytes(*hash.first_chunk().expect("an MD5 has 16 bytes"))
}

/// Makes direct calls of the most frequent targets of hot indirect calls.
pub(crate) fn promote(
    module: &mut Module<'_>,
    machine: &Machine,
    level: OptLevel,
) -> Result<(), LlvmError> {
    match level {
        OptLevel::O0 => Ok(()),
        OptLevel::O1 | OptLevel::O2 | OptLevel::O3 | OptLevel::Os | OptLevel::Oz => {
            emit::run(module, machine, level, PROMOTE)
        }
    }
}
