//! Finds the facts about blocks that advice for people needs: which blocks allocate memory, which
//! loops wait for another thread, and which loops go through memory byte by byte.
//!
//! - *Allocates*: a direct call of an allocator, by its name ([`allocates`]). Calls through
//!   pointers are not found.
//! - *Waits*: an innermost loop that neither stores nor calls anything, except hints to wait
//!   ([`is_wait`]). It reads the same memory with a volatile or atomic load, and no other memory in
//!   each turn, or it has a hint. With a hint, the loop may read other memory, too, and try to take
//!   a lock: it may have atomic operations.
//! - *Bytes*: an innermost loop without calls that loads or stores single bytes, at addresses that
//!   grow or shrink by one for each of them. If the optimizer unrolled the loop n times, it has n
//!   accesses and a stride of n, at n addresses next to one another. A vectorized loop accesses
//!   vectors, not bytes.
//!
//! The facts are hints: no count depends on them. Cost: a few steps for each instruction.

use std::collections::{BTreeSet, HashMap};

use holloway_flow::{BlockId, Dominators, Loops};
use holloway_format::{BlockFact, FactKind, Place};
use holloway_llvm::{Instruction, Opcode, TypeKind, Value};

use crate::loads::{LoopAccesses, first_parts, location};
use crate::lower::{LoweredFunction, Scopes};

/// C functions that allocate memory.
const C_ALLOCATORS: [&str; 14] = [
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "aligned_alloc",
    "memalign",
    "posix_memalign",
    "strdup",
    "strndup",
    "xmalloc",
    "xcalloc",
    "xrealloc",
    "g_malloc",
    "g_strdup",
];

/// Parts of the linkage names of C++'s and Rust's allocators: `operator new`, the shims of Rust's
/// allocator, `Vec`'s buffer, and `format!`.
const ALLOCATOR_PARTS: [&str; 6] = [
    "_Znw",
    "_Zna",
    "__rust_alloc",
    "__rust_realloc",
    "7raw_vec",
    "5alloc3fmt6format",
];

/// Parts of the names of functions that do not allocate, although a part of [`ALLOCATOR_PARTS`] is
/// in their names.
const OTHER_PARTS: [&str; 6] = [
    "deallocate",
    "4drop",
    "drop_in_place",
    "capacity_overflow",
    "handle_error",
    "error_handler",
];

/// The largest stride of a loop over bytes, in bytes: that of a loop that was unrolled this often.
const LARGEST_STRIDE: u64 = 16;

/// The facts about a function, in order of the blocks.
pub(crate) fn facts<'m>(lowered: &LoweredFunction<'m>, scopes: &mut Scopes<'m>) -> Vec<BlockFact> {
    let mut facts = allocations(lowered, scopes);
    let loops = Loops::new(&lowered.cfg, &Dominators::new(&lowered.cfg));
    let first_parts = first_parts(lowered);
    for (index, blocks) in innermost_loops(lowered, &loops) {
        let accesses = LoopAccesses::new(lowered, &loops, &first_parts, index);
        let instructions: Vec<Instruction<'m>> = blocks
            .iter()
            .flat_map(|block| instructions(lowered, *block))
            .collect();
        let mut add = |kind, found: Option<Instruction<'m>>| {
            let place = found.and_then(|instruction| place(instruction, scopes));
            facts.extend(place.map(|place| BlockFact {
                block: loops.all()[index].head.0,
                kind,
                place,
            }));
        };
        add(FactKind::Waits, waiting(&instructions, &accesses));
        add(FactKind::Bytes, byte_access(&instructions, &accesses));
    }
    facts.sort_by_key(|fact| fact.block);
    facts
}

/// The calls of allocators.
fn allocations<'m>(lowered: &LoweredFunction<'m>, scopes: &mut Scopes<'m>) -> Vec<BlockFact> {
    let mut facts = Vec::new();
    for block in (0u32..).zip(&lowered.nodes).map(|(id, _)| BlockId(id)) {
        let calls = instructions(lowered, block).filter(|call| {
            let callee = || call.callee().as_function();
            call.is_call() && callee().is_some_and(|callee| allocates(&callee.name()))
        });
        facts.extend(calls.filter_map(|call| {
            Some(BlockFact {
                block: block.0,
                kind: FactKind::Allocates,
                place: place(call, scopes)?,
            })
        }));
    }
    facts
}

/// Whether a function with this linkage name allocates memory.
fn allocates(name: &str) -> bool {
    let is_part = |part: &&str| name.contains(*part);
    C_ALLOCATORS.contains(&name)
        || ALLOCATOR_PARTS.iter().any(is_part) && !OTHER_PARTS.iter().any(is_part)
}

/// The loops without loops in them, with their blocks.
fn innermost_loops(
    lowered: &LoweredFunction<'_>,
    loops: &Loops,
) -> impl Iterator<Item = (usize, Vec<BlockId>)> {
    let mut blocks: HashMap<usize, Vec<BlockId>> = HashMap::new();
    for block in lowered.cfg.blocks() {
        if let Some(index) = loops.innermost(block) {
            blocks.entry(index).or_default().push(block);
        }
    }
    for outer in loops.all().iter().filter_map(|natural| natural.parent) {
        blocks.remove(&outer);
    }
    let mut innermost: Vec<(usize, Vec<BlockId>)> = blocks.into_iter().collect();
    innermost.sort_unstable();
    innermost.into_iter()
}

fn instructions<'m>(
    lowered: &LoweredFunction<'m>,
    block: BlockId,
) -> impl Iterator<Item = Instruction<'m>> {
    // The exit has no code.
    let part = lowered.nodes.get(block.index());
    let code = part.map_or(&[][..], |part| {
        &lowered.parts.blocks[part.block].instructions[part.from..part.to]
    });
    code.iter().copied()
}

fn place<'m>(instruction: Instruction<'m>, scopes: &mut Scopes<'m>) -> Option<Place> {
    let location = match instruction.opcode() {
        Opcode::Load => location(instruction),
        _ => instruction.location(),
    };
    location
        .and_then(|location| scopes.place(location))
        .filter(|place| place.line != 0)
}

/// The instruction with which a loop waits: a hint, or else the load of what others change. `None`
/// if the loop does not only wait.
fn waiting<'m>(
    instructions: &[Instruction<'m>],
    accesses: &LoopAccesses<'_, 'm>,
) -> Option<Instruction<'m>> {
    let all = || instructions.iter().copied();
    let hint = all().find(|instruction| is_wait(*instruction));
    let polled = all().find(|load| {
        load.opcode() == Opcode::Load
            && load.is_atomic_or_volatile()
            && accesses.exact_stride(load.value().operand(0)) == Some(0)
    });
    let only_waits = all().all(|instruction| match instruction.opcode() {
        Opcode::Store => false,
        Opcode::Load => {
            hint.is_some() || accesses.exact_stride(instruction.value().operand(0)) == Some(0)
        }
        _ if instruction.is_call() => is_wait(instruction) || is_harmless(instruction),
        _ => hint.is_some() || !instruction.is_atomic_or_volatile(),
    });
    polled.or(hint).filter(|_| only_waits)
}

/// Whether a call tells the processor or the system that the thread waits.
fn is_wait(call: Instruction<'_>) -> bool {
    const INTRINSICS: [&str; 3] = [
        "llvm.x86.sse2.pause",
        "llvm.aarch64.hint",
        "llvm.aarch64.isb",
    ];
    const YIELDS: [&str; 3] = ["sched_yield", "thrd_yield", "pthread_yield"];
    if !call.is_call() {
        return false;
    }
    let callee = call.callee();
    if let Some(assembly) = callee.inline_assembly() {
        return ["pause", "rep; nop", "rep;nop", "yield", "isb"]
            .iter()
            .any(|hint| assembly.trim_start().starts_with(hint));
    }
    let name = callee.as_function().map(holloway_llvm::Function::name);
    name.is_some_and(|name| {
        INTRINSICS.contains(&&*name)
            || YIELDS.contains(&&*name)
            || name.contains("9yield_now")
            || name.contains("9spin_loop")
    })
}

/// Whether a call is of an intrinsic that writes no memory.
fn is_harmless(call: Instruction<'_>) -> bool {
    let writes = |name: &str| name.starts_with("llvm.mem") || name.contains(".store");
    call.intrinsic().is_some_and(|name| !writes(&name))
}

/// The first access of a loop to single bytes that are next to one another. `None` if there is
/// none, or if the loop calls something.
fn byte_access<'m>(
    instructions: &[Instruction<'m>],
    accesses: &LoopAccesses<'_, 'm>,
) -> Option<Instruction<'m>> {
    let calls =
        |instruction: &&Instruction<'_>| instruction.is_call() && !is_harmless(**instruction);
    if instructions.iter().any(|instruction| calls(&instruction)) {
        return None;
    }
    let byte_accesses = instructions.iter().copied().filter_map(|access| {
        let (address, value) = match access.opcode() {
            Opcode::Load => (access.value().operand(0), access.value()),
            Opcode::Store => (access.value().operand(1), access.value().operand(0)),
            _ => return None,
        };
        let is_byte = value.kind().kind() == TypeKind::Integer(8);
        if !is_byte || access.is_atomic_or_volatile() {
            return None;
        }
        let stride = accesses.exact_stride(address)?.unsigned_abs();
        (1..=LARGEST_STRIDE)
            .contains(&stride)
            .then(|| ByteAccess::new(access, address, stride))
    });
    let byte_accesses: Vec<ByteAccess<'m>> = byte_accesses.collect();
    let has_no_gaps = |access: &&ByteAccess<'m>| {
        let others = byte_accesses.iter();
        let row = others.filter(|other| {
            (other.stride, other.base) == (access.stride, access.base)
                && other.access.opcode() == access.access.opcode()
        });
        let remainders = row.map(|other| other.constant.rem_euclid(other.stride.cast_signed()));
        remainders.collect::<BTreeSet<_>>().len() as u64 == access.stride
    };
    let found = byte_accesses.iter().find(has_no_gaps);
    found.map(|found| found.access)
}

/// An access to a byte, at a constant distance from an address.
struct ByteAccess<'m> {
    access: Instruction<'m>,
    base: Value<'m>,
    constant: i64,
    /// Bytes per turn.
    stride: u64,
}

impl<'m> ByteAccess<'m> {
    fn new(access: Instruction<'m>, address: Value<'m>, stride: u64) -> Self {
        let (mut base, mut constant) = (address, 0i64);
        while let Some(offset) = base.as_instruction().and_then(Instruction::address)
            && offset.terms.is_empty()
        {
            constant = constant.wrapping_add(offset.constant);
            base = offset.base;
        }
        Self {
            access,
            base,
            constant,
            stride,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::allocates;

    #[test]
    fn allocators_have_names() {
        for name in [
            "malloc",
            "_Znwm",
            "__rust_alloc_zeroed",
            "_RNvCs5QKde7ScR4H_7___rustc12___rust_alloc",
            "_ZN5alloc7raw_vec19RawVec$LT$T$C$A$GT$8grow_one17h0E",
        ] {
            assert!(allocates(name), "{name}");
        }
        for name in [
            "free",
            "arena_alloc",
            "_ZdlPv",
            "__rust_no_alloc_shim_is_unstable",
            "__rust_alloc_error_handler",
            "_ZN5alloc7raw_vec20RawVecInner$LT$A$GT$10deallocate17h0E",
            "_ZN5alloc7raw_vec12handle_error17h0E",
        ] {
            assert!(!allocates(name), "{name}");
        }
    }
}
