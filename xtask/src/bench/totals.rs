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
    /// Instructions of LLVM's on these paths.
    pub(crate) instructions: u64,
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
        ensure!(
            total("lost")? == 0,
            "counts were lost: {} blocks",
            total("lost")?
        );
        Ok(Self {
            paths: total("path_executions")?,
            hashed: total("hashed_executions")?,
            instructions: total("instructions")?,
        })
    }

    /// Share of the executions that were hashed.
    pub(crate) fn hashed_share(&self) -> f64 {
        self.hashed as f64 / self.paths.max(1) as f64
    }

    /// Average length of a path in instructions.
    pub(crate) fn length(&self) -> f64 {
        self.instructions as f64 / self.paths.max(1) as f64
    }
}
