//! Reads the totals of a run from `holloway report --format json`.

use anyhow::{Context, Result, ensure};
use holloway_tests::tool::{holloway_command, run_ok};
use std::path::Path;

/// Sums over a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Totals {
    /// Path executions.
    pub(crate) paths: u64,
    /// Path executions that were counted in hash tables.
    pub(crate) hashed: u64,
    /// Increments of counters. A path counter is incremented once for each path execution and, with
    /// exits, once more for each call on the path that may not return. An edge counter is
    /// incremented once for each execution of its edge.
    pub(crate) increments: u64,
    /// LLVM instructions on these paths.
    pub(crate) instructions: u64,
    /// Whether the run counted frames that were left in a call that did not return.
    pub(crate) exits: bool,
}

impl Totals {
    /// Reads the totals of a run. The report has one function only, to stay short.
    ///
    /// # Errors
    /// If the report fails, or if counts were lost.
    pub(crate) fn of_run(data: &Path) -> Result<Self> {
        let mut command = holloway_command([
            "report",
            "--format",
            "json",
            "--view",
            "functions",
            "--top",
            "1",
        ]);
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
            "the counts of {} blocks of counters were lost",
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

    /// The share of path executions that were counted in hash tables.
    pub(crate) fn hashed_share(&self) -> f64 {
        self.hashed as f64 / self.paths.max(1) as f64
    }

    /// The increments as a multiple of another run's increments.
    pub(crate) fn increments_over(&self, other: &Self) -> f64 {
        self.increments as f64 / other.increments.max(1) as f64
    }

    /// The average length of a path execution, in instructions.
    pub(crate) fn length(&self) -> f64 {
        self.instructions as f64 / self.paths.max(1) as f64
    }
}
