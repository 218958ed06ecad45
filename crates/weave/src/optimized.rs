//! The code that the optimizer makes with a plan's early counts.
//!
//! Several builds go on from this code: the one that counts what it does, the one that times its
//! paths, and those with late counts or prefetches. So the code is kept in the cache as bitcode.
//! Each build reads this bitcode, even the build that has just made it. So all builds have the same
//! code.

use holloway_format::Plan;
use holloway_llvm::{Library, LlvmError, Machine, Module};

use crate::cache::{Entry, take_number};
use crate::early;
use crate::options::{ModuleOptions, OptLevel};

/// A module after the optimizer. It depends on the module, on the plan's early counts, and on the
/// level, but not on what the build records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OptimizedCode {
    /// The bitcode.
    pub(crate) bitcode: Vec<u8>,
    /// The number of functions that got counts of the plan.
    pub(crate) planned_functions: u64,
}

impl OptimizedCode {
    /// Finds the code in the cache, or makes it of `module`, which no optimizer has seen.
    ///
    /// # Errors
    /// If LLVM fails.
    pub(crate) fn new(
        llvm: &Library,
        module: &mut Module<'_>,
        machine: &Machine,
        level: OptLevel,
        plan: &Plan,
        options: &ModuleOptions,
    ) -> Result<Self, LlvmError> {
        llvm.lay_out_by_counts();
        let kept = options.kept.as_ref();
        if let Some(code) = kept.and_then(|kept| kept.cache.find(kept.key)) {
            return Ok(code);
        }
        early::prepare(module, machine, level)?;
        let planned_functions = early::attach(module, plan, &options.of_plan());
        module.verify("attaching the plan")?;
        early::promote(module, machine, level)?;
        module.verify("calling targets directly")?;
        early::optimize(module, machine, level)?;
        early::specialize_sizes(module, machine, level)?;
        module.verify("making code for sizes")?;
        let code = Self {
            bitcode: module.to_bitcode(),
            planned_functions,
        };
        if let Some(kept) = kept {
            // If the disk is full, the next build makes the code again. The link step reports a
            // cache that cannot be written.
            let _ = kept.cache.store(kept.key, &code);
        }
        Ok(code)
    }
}

impl Entry for OptimizedCode {
    const MAGIC: [u8; 8] = *b"HLWOPTIM";

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.planned_functions.to_le_bytes());
        bytes.extend(&self.bitcode);
    }

    fn read(mut content: &[u8]) -> Option<Self> {
        let planned_functions = take_number(&mut content)?;
        Some(Self {
            bitcode: content.to_vec(),
            planned_functions,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::{decode, encode};

    #[test]
    fn code_is_written_and_read() {
        let code = OptimizedCode {
            bitcode: b"BC".to_vec(),
            planned_functions: 7,
        };
        let bytes = encode(&code);
        assert_eq!(decode(&bytes), Some(code));
        assert_eq!(&bytes[40..], b"\x07\0\0\0\0\0\0\0BC");
    }
}
