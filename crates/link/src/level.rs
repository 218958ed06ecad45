//! Optimization levels by name, as `HOLLOWAY_OPT` and LTO plugin options spell them.

use holloway_weave::OptLevel;

/// Returns the level with a name: `O2`, `Os`.
pub(crate) fn parse(name: &str) -> Option<OptLevel> {
    Some(match name {
        "O0" => OptLevel::O0,
        "O1" => OptLevel::O1,
        "O2" => OptLevel::O2,
        "O3" => OptLevel::O3,
        "Os" => OptLevel::Os,
        "Oz" => OptLevel::Oz,
        _ => return None,
    })
}

/// Returns the name of a level. This is the inverse of [`parse`].
pub(crate) fn name(level: OptLevel) -> &'static str {
    match level {
        OptLevel::O0 => "O0",
        OptLevel::O1 => "O1",
        OptLevel::O2 => "O2",
        OptLevel::O3 => "O3",
        OptLevel::Os => "Os",
        OptLevel::Oz => "Oz",
    }
}
