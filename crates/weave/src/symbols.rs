//! Do two objects export the same names?
//!
//! A fat object is compiled twice: its machine code, and its bitcode in a section. Tools that edit objects (`objcopy
//! --redefine-sym`, `--localize-symbol`) change the first and not the second. Weaving the bitcode would then bring
//! back the names from before, so such an object is linked as it is.

use std::collections::BTreeSet;

use object::{Object, ObjectSymbol};

/// Whether `left` and `right` define the same strong global symbols. Weak ones (inline functions) may differ: either
/// compilation may have dropped an unused one.
pub fn same_exports(left: &[u8], right: &[u8]) -> bool {
    match (strong(left), strong(right)) {
        (Some(left), Some(right)) => left == right,
        _ => false,
    }
}

fn strong(bytes: &[u8]) -> Option<BTreeSet<Vec<u8>>> {
    let file = object::File::parse(bytes).ok()?;
    let names = file
        .symbols()
        .filter(|symbol| symbol.is_global() && !symbol.is_weak() && !symbol.is_undefined());
    names
        .map(|symbol| symbol.name_bytes().ok().map(<[u8]>::to_vec))
        .collect()
}
