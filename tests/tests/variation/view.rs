//! Reads the JSON of `holloway report --view variation`. Only the fields that the tests need are
//! read.

use anyhow::{Context, Result};
use holloway_tests::tool::{holloway_command, run_ok};
use serde_json::Value;
use std::path::Path;

/// A row of the ranking.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// The function and the path number. The numbers are comparable between the builds in these
    /// tests: all builds of a source time paths, so their paths are numbered alike.
    pub(crate) path: (String, u64),
    pub(crate) samples: u64,
    pub(crate) executions: f64,
    pub(crate) base: f64,
    pub(crate) mean: f64,
    pub(crate) p50: f64,
    pub(crate) p90: f64,
    /// Net variation, as a share of the run's cycles.
    pub(crate) share: f64,
    /// Standard error of the net variation, relative to the net variation.
    pub(crate) net_error: f64,
    /// Whether the net variation is certain.
    pub(crate) certain: bool,
    /// `file:line:column` of the places on the path.
    pub(crate) places: Vec<String>,
    /// Loads to prefetch, the most promising first.
    pub(crate) advice: Vec<Advice>,
}

/// A load to prefetch.
#[derive(Debug, Clone)]
pub(crate) struct Advice {
    /// The shape of the load.
    pub(crate) load: String,
    /// The stride of the addresses, or the offset of a pointer, in bytes.
    pub(crate) bytes: i64,
    /// `file:line` at which to insert the prefetch.
    pub(crate) insert_at: String,
}

/// The ranking of a run.
#[derive(Debug, Clone)]
pub(crate) struct View {
    /// The rows in the order of their ranks.
    pub(crate) rows: Vec<Row>,
    /// The resolution, in cycles.
    pub(crate) resolution: f64,
}

/// Reads the ranking of a run.
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
    let list = |name: &str| {
        let list = json[name].as_array();
        list.with_context(|| format!("no list {name:?} in {json}"))
    };
    let places = list("places")?.iter().map(|place| place.as_str());
    Ok(Row {
        path: (text(json, "function")?, whole("path")?),
        samples: whole("samples")?,
        executions: number("executions")?,
        base: number("base")?,
        mean: number("mean")?,
        p50: number("p50")?,
        p90: number("p90")?,
        share: number("share")?,
        net_error: number("net_error")?,
        certain: json["certain"]
            .as_bool()
            .context("no truth value \"certain\"")?,
        places: places
            .map(|place| Ok(place.context("a place is a text")?.to_owned()))
            .collect::<Result<_>>()?,
        advice: list("advice")?.iter().map(advice).collect::<Result<_>>()?,
    })
}

fn advice(json: &Value) -> Result<Advice> {
    let bytes = json["bytes"].as_i64();
    Ok(Advice {
        load: text(json, "load")?,
        bytes: bytes.with_context(|| format!("no bytes in {json}"))?,
        insert_at: text(json, "insert_at")?,
    })
}

fn text(json: &Value, name: &str) -> Result<String> {
    let text = json[name].as_str();
    let text = text.with_context(|| format!("no text {name:?} in {json}"))?;
    Ok(text.to_owned())
}
