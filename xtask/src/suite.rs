//! Chooses programs of the suite by name, as given on the command line.

use holloway_tests::workload::{SUITE, Workload};

/// Checks the name of a program of the suite.
///
/// # Errors
/// If no program has this name. The message lists the names.
pub(crate) fn parse_name(name: &str) -> Result<String, String> {
    match SUITE.iter().any(|w| w.name == name) {
        true => Ok(name.to_owned()),
        false => Err(format!(
            "no program of the suite is called {name:?}: there are {}",
            SUITE.map(|w| w.name).join(", ")
        )),
    }
}

/// A sentence that says which programs a study covers.
pub(crate) fn coverage(names: &[String]) -> String {
    match chosen(names).len() {
        count if count == SUITE.len() => format!("All {count} programs of the suite."),
        count => format!("{count} of the {} programs of the suite.", SUITE.len()),
    }
}

/// Returns the programs with these names, in the suite's order. Returns all programs if no names
/// are given.
pub(crate) fn chosen(names: &[String]) -> Vec<&'static Workload> {
    let is_chosen = |w: &&Workload| names.is_empty() || names.iter().any(|n| n == w.name);
    SUITE.into_iter().filter(is_chosen).collect()
}
