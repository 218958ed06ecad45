//! The result of weaving one module: the code that the linker gets for the module.

use holloway_weave::WovenModule;

/// The code that the linker gets for a module.
#[derive(Debug)]
pub(crate) enum ModuleOutcome {
    /// The module is woven: its code has probes.
    Woven(WovenModule),
    /// The module is compiled without probes, for this reason.
    Plain(WovenModule, String),
    /// The machine code that the module's object already contains is linked, for this reason.
    MachineCode(String),
}

impl ModuleOutcome {
    /// Returns the number of functions that got counts of a plan.
    pub(crate) fn planned_functions(&self) -> u64 {
        match self {
            Self::Woven(woven) | Self::Plain(woven, _) => woven.planned_functions,
            Self::MachineCode(_) => 0,
        }
    }
}
