//! What a run counted, out of `holloway report --format json`.

use anyhow::{Context, Result, ensure};
use holloway_tests::tool::{holloway_command, run_ok};
use std::path::Path;

/// Sums over a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Totals {
    /// Paths executed.
    pub(crate) paths: u64,
    /// Of them, those counted in hash tables.
    pub(crate) hashed: u64,
    /// Times a counter was incremented: of paths as often as these ran, and once more behind calls
    /// that may not come back where exits are counted; of edges as often as those were taken that
    /// have a counter.
    pub(crate) increments: u64,
    /// Instructions of LLVM's on these paths.
    pub(crate) instructions: u64,
    /// Whether frames left in a call that did not come back were counted.
    pub(crate) exits: bool,
}

impl Totals {
    /// Reads the totals of a run's data. No function is asked for, so that the text stays short.
    ///
    /// # Errors
    /// The report fails, or says that counts were lost.
    pub(crate) fn of_run(data: &Path) -> Result<Self> {
        let mut command = holloway_command(["report", "--format", "json", "--function", "^$"]);
        let json: serde_json::Value = serde_json::from_str(&run_ok(command.arg(data))?.text())?;
        let total = |name: &str| {
            json["totals"][name]
                .as_u64()
                .with_context(|| format!("the report has no totals.{name}"))
        };
        let exits = json["totals"]["exits"].as_str();
        let exits = exits.context("the report has no totals.exits")?;
        ensure!(
            total("lost")? == 0,
            "counts were lost: {} blocks",
            total("lost")?
        );
        Ok(Self {
            paths: total("path_executions")?,
            hashed: total("hashed_executions")?,
            increments: total("increments")?,
            instructions: total("instructions")?,
            exits: exits == "on",
        })
    }

    /// Share of the executions that were hashed.
    pub(crate) fn hashed_share(&self) -> f64 {
        self.hashed as f64 / self.paths.max(1) as f64
    }

    /// Increments as a multiple of another run's.
    pub(crate) fn increments_over(&self, other: &Self) -> f64 {
        self.increments as f64 / other.increments.max(1) as f64
    }

    /// Average length of a path in instructions.
    pub(crate) fn length(&self) -> f64 {
        self.instructions as f64 / self.paths.max(1) as f64
    }
}
