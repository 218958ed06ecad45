//! Classifies intrinsics by their names.

/// Returns whether the intrinsic with this name generates no code: debug markers, ends of
/// lifetimes, assumptions.
pub fn is_marker(intrinsic: &str) -> bool {
    [
        "llvm.dbg.",
        "llvm.lifetime.",
        "llvm.assume",
        "llvm.experimental.noalias.scope",
        "llvm.pseudoprobe",
        "llvm.fake.use",
    ]
    .iter()
    .any(|prefix| intrinsic.starts_with(prefix))
}
