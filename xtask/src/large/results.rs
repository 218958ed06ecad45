//! The results of a program, and their file below target/large.

use super::measure::Costs;
use super::programs::Program;
use super::steps::Step;
use crate::workspace::target_folder;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The results of a program.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Results {
    /// The name of the program.
    pub(super) program: String,
    /// The machine.
    pub(super) machine: String,
    /// The builds, in the order of the tables.
    pub(super) builds: Vec<Measured>,
    /// The first build with itself: CPU times of the other runs.
    pub(super) again: Vec<f64>,
}

/// The results of a build.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Measured {
    /// Its name in the tables.
    pub(super) name: String,
    /// What its steps took.
    pub(super) steps: Vec<Step>,
    /// What it costs at run time.
    pub(super) costs: Costs,
}

impl Results {
    /// Stores the results of a program.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn store(&self, program: &Program) -> Result<()> {
        Ok(std::fs::write(
            file(program)?,
            serde_json::to_string_pretty(self)?,
        )?)
    }

    /// Reads the stored results of a program, if there are any.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(super) fn stored(program: &Program) -> Result<Option<Self>> {
        let file = file(program)?;
        if !file.is_file() {
            return Ok(None);
        }
        let results = serde_json::from_str(&std::fs::read_to_string(&file)?);
        results
            .map(Some)
            .with_context(|| file.display().to_string())
    }
}

fn file(program: &Program) -> Result<PathBuf> {
    Ok(target_folder("large")?.join(format!("{}.json", program.name)))
}
