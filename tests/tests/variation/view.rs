//! What `holloway report --view variation --format json` says, as far as the tests read it.

use anyhow::{Context, Result};
use holloway_tests::tool::{holloway_command, run_ok};
use serde_json::Value;
use std::path::Path;

/// A row of the ranking.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// Function and path: the same in every build of one source.
    pub(crate) path: (String, u64),
    pub(crate) samples: u64,
    pub(crate) executions: f64,
    pub(crate) base: f64,
    pub(crate) mean: f64,
    pub(crate) p50: f64,
    pub(crate) p90: f64,
    /// Net variation as part of the run.
    pub(crate) share: f64,
    /// Standard error of that, as a part of it.
    pub(crate) net_error: f64,
}

/// A run as it is ranked.
#[derive(Debug, Clone)]
pub(crate) struct View {
    /// First first.
    pub(crate) rows: Vec<Row>,
    /// How far apart two times of one length may come out, in cycles.
    pub(crate) resolution: f64,
}

/// The ranking of a run.
pub(crate) fn view(data: &Path) -> Result<View> {
    let words = ["report", "--view", "variation", "--format", "json"];
    let output = run_ok(holloway_command(words).arg(data))?;
    let json: Value = serde_json::from_str(&output.text())?;
    let rows = json["variation"].as_array().context("no list variation")?;
    let resolution = json["samples"]["resolution"].as_f64();
    Ok(View {
        rows: rows.iter().map(row).collect::<Result<_>>()?,
        resolution: resolution.context("no resolution")?,
    })
}

fn row(json: &Value) -> Result<Row> {
    let number = |name: &str| {
        let number = json[name].as_f64();
        number.with_context(|| format!("no number {name:?} in {json}"))
    };
    let whole = |name: &str| {
        let number = json[name].as_u64();
        number.with_context(|| format!("no whole number {name:?} in {json}"))
    };
    let function = json["function"].as_str().context("no function")?;
    Ok(Row {
        path: (function.to_owned(), whole("path")?),
        samples: whole("samples")?,
        executions: number("executions")?,
        base: number("base")?,
        mean: number("mean")?,
        p50: number("p50")?,
        p90: number("p90")?,
        share: number("share")?,
        net_error: number("net_error")?,
    })
}
