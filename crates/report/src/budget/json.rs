//! Writes the results of a check as JSON.

use std::io;

use serde::Serialize;

use super::limit::{Checked, Number, Value};
use super::results::{Out, Results};
use crate::json::{SCHEMA, write_document};

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    budget: &'a str,
    run: &'a str,
    broken: usize,
    limits: Vec<LimitRecord<'a>>,
}

#[derive(Serialize)]
struct LimitRecord<'a> {
    name: String,
    line: u32,
    measure: &'static str,
    value: NumberRecord,
    min: Option<NumberRecord>,
    max: Option<NumberRecord>,
    is_kept: bool,
    not_measured: u64,
    place: Option<PlaceRecord<'a>>,
}

#[derive(Serialize)]
struct PlaceRecord<'a> {
    file: &'a str,
    line: u32,
}

#[derive(Serialize)]
#[serde(untagged)]
enum NumberRecord {
    Unsigned(u64),
    Signed(i128),
    Real(f64),
}

impl From<Number> for NumberRecord {
    fn from(number: Number) -> Self {
        match number {
            Number::Integer(number) => Self::Signed(number),
            Number::Real(number) => Self::Real(number),
        }
    }
}

impl From<Value> for NumberRecord {
    fn from(value: Value) -> Self {
        match value {
            Value::Count(count, _) => Self::Unsigned(count),
            Value::Percent(value) | Value::Ratio(value) => Self::Real(value),
        }
    }
}

impl<'a> From<&'a Checked> for LimitRecord<'a> {
    fn from(checked: &'a Checked) -> Self {
        let limit = &checked.limit;
        let place = checked.place.as_ref();
        Self {
            name: checked.name(),
            line: limit.line,
            measure: limit.measure.name(),
            value: checked.value.into(),
            min: limit.min.map(NumberRecord::from),
            max: limit.max.map(NumberRecord::from),
            is_kept: checked.keeps(),
            not_measured: checked.not_measured.parts(),
            place: place.map(|(file, line)| PlaceRecord { file, line: *line }),
        }
    }
}

/// Writes the results as JSON, one object and a newline. Section `check` of docs/json.md explains
/// the keys.
///
/// # Errors
/// If writing to `out` fails.
pub fn json(results: &Results, out: Out<'_>) -> io::Result<()> {
    let document = Document {
        schema: SCHEMA,
        budget: &results.budget,
        run: &results.run,
        broken: results.broken(),
        limits: results.checked.iter().map(LimitRecord::from).collect(),
    };
    write_document(&document, out)
}
