//! The code that is linked in the place of a module.

use holloway_weave::WovenModule;

/// The result of weaving a module.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Woven with probes.
    Woven(WovenModule),
    /// Compiled without probes, and the reason.
    Plain(WovenModule, String),
    /// Its own machine code is linked, and the reason.
    MachineCode(String),
}
