//! Branch weights, as metadata.

use holloway_llvm::{Instruction, Metadata, Module, Type};

/// Gives a terminator these counts. Does nothing if all are 0.
pub(super) fn set_weights(terminator: Instruction<'_>, counts: &[u64]) {
    let module = terminator.module();
    if let Some(node) = branch_weights(module, counts) {
        terminator.set_metadata(module.metadata_kind("prof"), node);
    }
}

/// The metadata node with these counts. `None` if all are 0.
pub(super) fn branch_weights<'m>(module: &'m Module<'m>, counts: &[u64]) -> Option<Metadata<'m>> {
    let mut operands = vec![Metadata::string(module, "branch_weights")];
    operands.extend(scaled(counts)?.into_iter().map(|weight| {
        // LLVM reads the bits as unsigned.
        Metadata::constant(Type::i32(module).int(i64::from(weight)))
    }));
    Some(Metadata::node(module, &operands))
}

/// Scales counts to 32 bits. `None` if all are 0. A count other than 0 stays other than 0.
fn scaled(counts: &[u64]) -> Option<Vec<u32>> {
    let max = counts.iter().copied().max().filter(|&max| max > 0)?;
    let scale = max.div_ceil(u64::from(u32::MAX));
    let weights = counts.iter().map(|&count| count.div_ceil(scale));
    let weights = weights.map(|weight| u32::try_from(weight).unwrap_or(u32::MAX));
    Some(weights.collect())
}

#[cfg(test)]
mod tests {
    use super::scaled;

    #[test]
    fn counts_are_scaled_to_32_bits() {
        assert_eq!(scaled(&[0, 0]), None);
        assert_eq!(scaled(&[3, 0]), Some(vec![3, 0]));
        assert_eq!(scaled(&[u64::from(u32::MAX), 1]), Some(vec![u32::MAX, 1]));
        assert_eq!(scaled(&[u64::MAX, 1, 0]), Some(vec![u32::MAX, 1, 0]));
    }
}
