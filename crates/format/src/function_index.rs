//! The indices that identify a function of an image.

/// The indices that identify a function of an image. They are ordered by module, then by function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct FunctionIndex {
    /// Index of the function's module in the image's map.
    pub module: u32,
    /// Index of the function in the module's map.
    pub function: u32,
}

impl FunctionIndex {
    /// The keys of the function's record.
    pub(crate) fn keys(self) -> [u32; 2] {
        [self.module, self.function]
    }
}
