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
