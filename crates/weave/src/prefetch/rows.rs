//! Prefetches what an element of a later row leads to ([`RowWalk`]).
//!
//! ```text
//! for (v = 0; v < n; v++) {                        last  = first[n]
//!   for (e = first[v]; e < first[v + 1]; e++)      ok    = e < last - distance
//!     sum += x[to[e]];                             where = ok ? &to[e + distance] : &to[e]
//! }                                                prefetch(&x[*where])
//! ```
//! The element ahead must be loaded, which must not fault. So the outer loop's last row end is
//! loaded first, in each of its iterations: after that row, all elements before its end were
//! loaded. This is certain if all of this holds:
//!
//! - The outer loop ends at its end only, when a counter that it steps by one equals a number that
//!   does not change.
//! - Each of its iterations loads its row's end, from an address that grows by a constant. So the
//!   last iteration's address is known, and the program will load from it.
//! - The loop changes neither the rows' ends nor the pointer to the array ([`is_unchanged`]). So
//!   the last row's end has the same value now as when the program loads it.

use holloway_llvm::{Builder, Instruction, Type, Value};

use super::addresses::{arithmetic, copy, offset};
use super::memory::is_unchanged;
use super::turns::LoopTurns;
use crate::loads::{RowElement, RowWalk};

/// Computes the position before which the loop certainly reaches so many elements more, in each
/// iteration of the outer loop: directly after its load of the row's own end. `None` if the loop
/// may end before, or the last row's end may change.
pub(super) fn limit<'m>(
    turns: &LoopTurns<'_, 'm>,
    walk: &RowWalk<'m>,
    elements: i64,
) -> Option<Value<'m>> {
    let accesses = turns.accesses;
    let address = walk.end.value().operand(0);
    let stride = accesses.exact_stride(address)?;
    let counter = turns.exact_counter()?;
    let is_ordinary = address.kind() == Type::pointer(address.module());
    if !is_ordinary
        || stride == 0
        || !turns.is_in_each_iteration(walk.end.block())
        || !is_unchanged(turns, walk.end)
        || !is_steady_pointer(turns, walk.array)
    {
        return None;
    }
    let instructions = walk.end.block().instructions();
    let mut after = instructions.skip_while(|instruction| *instruction != walk.end);
    let builder = Builder::before(after.nth(1)?);
    let left = counter.iterations_left(&builder);
    let bytes = builder.multiply(left, left.kind().int(stride));
    let address = builder.offset(Type::i8(address.module()), address, bytes);
    let last = builder.load_as(walk.end, address);
    let limit = builder.subtract(last, last.kind().int(elements));
    // If the subtraction overflows, no position is below the least number.
    let (left, right) = walk.in_order(limit, last);
    let is_exact = builder.compare_as(walk.is_below, left, right);
    let least = match walk.is_below.compares_signed() {
        true => i64::MIN,
        false => 0,
    };
    Some(builder.select(is_exact, limit, last.kind().int(least)))
}

/// Prefetches the address that is computed from the element so many elements ahead. `limit`
/// computes the position before which the loop reaches that element, if all other checks pass.
pub(super) fn prefetch<'m>(
    turns: &LoopTurns<'_, 'm>,
    walk: &RowWalk<'m>,
    element: RowElement<'m>,
    load: Instruction<'m>,
    elements: i64,
    limit: impl FnOnce() -> Option<Value<'m>>,
) -> Option<()> {
    let place = element.load.value().operand(0);
    let bytes = walk.stride.checked_mul(elements)?;
    let address = load.value().operand(0);
    let path = arithmetic(turns.accesses, address, element.load.value())?;
    let parts = [walk.end, load].map(|i| turns.first_parts.get(&i.block()).copied());
    let [Some(end), Some(part)] = parts else {
        return None;
    };
    let is_after = end != part && turns.dominators.dominates(end, part);
    if place.kind() != Type::pointer(load.module()) || !is_after {
        return None;
    }
    let limit = limit()?;
    let builder = Builder::before(load);
    let (root, added) = element.position;
    let position = match added {
        0 => root,
        added => builder.add(root, root.kind().int(added)),
    };
    let (left, right) = walk.in_order(position, limit);
    let reaches = builder.compare_as(walk.is_below, left, right);
    let place = builder.select(reaches, offset(&builder, place, bytes), place);
    let ahead = builder.load_near(element.load, place, bytes);
    builder.prefetch(copy(&builder, &path, element.load.value(), ahead));
    Some(())
}

/// Whether a pointer is the same in all iterations of a loop.
fn is_steady_pointer<'m>(turns: &LoopTurns<'_, 'm>, pointer: Value<'m>) -> bool {
    let load = pointer.as_instruction();
    let load = load.filter(|load| turns.accesses.contains(load.block()));
    load.is_none_or(|load| is_unchanged(turns, load))
}
