//! Programs of the suite, chosen by name on the command line.

use holloway_tests::workload::{SUITE, Workload};

/// Checks the name of a program of the suite.
///
/// # Errors
/// No program has this name: the message lists the names.
pub(crate) fn parse_name(name: &str) -> Result<String, String> {
    match SUITE.iter().any(|w| w.name == name) {
        true => Ok(name.to_owned()),
        false => Err(format!(
            "no program of the suite is called {name:?}: there are {}",
            SUITE.map(|w| w.name).join(", ")
        )),
    }
}

/// The programs with these names, in the suite's order; without names, all of them.
pub(crate) fn chosen(names: &[String]) -> Vec<&'static Workload> {
    let is_chosen = |w: &&Workload| names.is_empty() || names.iter().any(|n| n == w.name);
    SUITE.into_iter().filter(is_chosen).collect()
}
