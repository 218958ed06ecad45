//! The targets of indirect calls and the sizes of memory operations, as LLVM's value profiles
//! (metadata `VP`).
//!
//! A pass of LLVM compares the called address with the most frequent targets and calls these
//! directly, so that the optimizer can inline them. Another one compares the size of a memory
//! operation with the most frequent sizes up to 128, and makes an operation of a constant size for
//! each, which the code generator turns into a few moves.
//!
//! A target is known by its name alone. If several modules have local functions of one name, the
//! direct call may be of the wrong one. That costs time only, because the call is made only if the
//! addresses are equal.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use holloway_format::{Count, Text};
use holloway_llvm::{Function, Instruction, Linkage, LlvmError, Machine, Metadata, Module, Type};
use md5::{Digest as _, Md5};

use crate::emit;
use crate::lower::{indirect_calls, sized_operations};
use crate::options::OptLevel;

/// LLVM's pass that makes direct calls of the most frequent targets.
const PROMOTE: &str = "pgo-icall-prom";
/// LLVM's pass that makes special code for the most frequent sizes.
const SPECIALIZE: &str = "function(pgo-memop-opt)";
/// LLVM considers so many targets of a call.
const MAX_TARGETS: usize = 3;
/// LLVM considers so many sizes of a memory operation.
const MAX_SIZES: usize = 24;

/// What the values of an instruction are. The number is LLVM's.
#[derive(Clone, Copy)]
enum ValueKind {
    CalledFunctions = 0,
    OperationSizes = 1,
}

/// Attaches the counts of call targets to the indirect calls of a function. Targets that the module
/// does not know count only for the sum.
pub(super) fn attach_targets(function: Function<'_>, targets: &BTreeMap<(usize, Text), Count>) {
    let module = function.module();
    let mut of_sites: BTreeMap<usize, Vec<(&str, u64)>> = BTreeMap::new();
    for ((site, name), &Count(count)) in targets {
        of_sites.entry(*site).or_default().push((name, count));
    }
    let calls: Vec<_> = indirect_calls(function).collect();
    for (site, call) in calls.into_iter().enumerate() {
        let Some(targets) = of_sites.get(&site) else {
            continue;
        };
        let known = targets.iter().filter_map(|&(name, count)| {
            let target = module.function(name)?;
            Some((guid(target), count))
        });
        let mut values: Vec<(u64, u64)> = known.collect();
        most_frequent(&mut values, MAX_TARGETS);
        let total = sum(targets.iter().map(|&(_, count)| count));
        attach(call, ValueKind::CalledFunctions, &values, total);
    }
}

/// Attaches the counts of sizes to the memory operations of a function.
pub(super) fn attach_sizes(function: Function<'_>, sizes: &BTreeMap<(usize, u64), Count>) {
    let mut of_sites: BTreeMap<usize, Vec<(u64, u64)>> = BTreeMap::new();
    for (&(site, bytes), &Count(count)) in sizes {
        of_sites.entry(site).or_default().push((bytes, count));
    }
    let operations: Vec<_> = sized_operations(function).collect();
    for (site, (operation, _)) in operations.into_iter().enumerate() {
        if let Some(values) = of_sites.get_mut(&site) {
            let total = sum(values.iter().map(|&(_, count)| count));
            most_frequent(values, MAX_SIZES);
            attach(operation, ValueKind::OperationSizes, values, total);
        }
    }
}

fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// Keeps the most frequent values, in descending order of their counts.
fn most_frequent(values: &mut Vec<(u64, u64)>, limit: usize) {
    values.sort_unstable_by_key(|&(value, count)| (Reverse(count), Reverse(value)));
    values.truncate(limit);
}

/// Attaches values with their counts to an instruction, if there are any. `total` is the sum of the
/// counts of all values.
fn attach(instruction: Instruction<'_>, kind: ValueKind, values: &[(u64, u64)], total: u64) {
    if values.is_empty() {
        return;
    }
    let module = instruction.module();
    let word = Type::i64(module);
    let number = |value: u64| Metadata::constant(word.int(value.cast_signed()));
    let mut operands = vec![
        Metadata::string(module, "VP"),
        Metadata::constant(Type::i32(module).int(kind as i64)),
        number(total),
    ];
    for &(value, count) in values {
        operands.extend([number(value), number(count)]);
    }
    let profile = Metadata::node(module, &operands);
    instruction.set_metadata(module.metadata_kind("prof"), profile);
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
    run(PROMOTE, module, machine, level)
}

/// Makes special code for the most frequent sizes of hot memory operations. This comes after the
/// optimizer, because the code is larger than a call: before the optimizer, fewer functions are
/// inlined.
pub(crate) fn specialize_sizes(
    module: &mut Module<'_>,
    machine: &Machine,
    level: OptLevel,
) -> Result<(), LlvmError> {
    run(SPECIALIZE, module, machine, level)
}

fn run(
    pass: &str,
    module: &mut Module<'_>,
    machine: &Machine,
    level: OptLevel,
) -> Result<(), LlvmError> {
    match level {
        OptLevel::O0 => Ok(()),
        OptLevel::O1 | OptLevel::O2 | OptLevel::O3 | OptLevel::Os | OptLevel::Oz => {
            emit::run(module, machine, level, pass)
        }
    }
}
