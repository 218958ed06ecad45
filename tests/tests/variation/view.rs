//! The JSON of `holloway report --view variation`, as far as the tests read it.

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
    /// Whether that is certain.
    pub(crate) certain: bool,
    /// `file:line:column` of what it runs through.
    pub(crate) places: Vec<String>,
    /// What may be fetched ahead, the most promising first.
    pub(crate) advice: Vec<Advice>,
}

/// A load that may be fetched ahead.
#[derive(Debug, Clone)]
pub(crate) struct Advice {
    /// Its shape.
    pub(crate) load: String,
    /// How far apart what it loads is, or where a pointer stands.
    pub(crate) bytes: i64,
    /// `file:line` where the prefetch goes.
    pub(crate) insert_at: String,
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
        certain: json["certain"].as_bool().context("is it certain?")?,
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
