//! `json SIZE` builds a document of SIZE thousand records, writes it, reads it back twice (as a value, as structures),
//! writes it again, and prints what came of it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    id: u64,
    name: String,
    price: f64,
    tags: Vec<String>,
    place: Option<Place>,
    extra: BTreeMap<String, i64>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Place {
    Point { x: f64, y: f64 },
    Town { name: String },
}

/// SplitMix64: the same numbers on every machine.
fn random(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn record(id: u64) -> Value {
    let r = random(id);
    let place = match r % 3 {
        0 => json!({"kind": "point", "x": (r >> 8) as f64 / 1e9, "y": -((r >> 20) as f64) / 7.0}),
        1 => json!({"kind": "town", "name": format!("Größe \"{}\"\n\u{1F980}", r >> 50)}),
        _ => Value::Null,
    };
    let tags: Vec<String> = (0..r % 5).map(|i| format!("tag-{}", random(r + i) % 100)).collect();
    let extra: serde_json::Map<String, Value> =
        (0..r % 4).map(|i| (format!("k{i}"), json!(random(r ^ i) as i64 >> (r % 60)))).collect();
    json!({"id": id, "name": format!("record number {id}"), "price": (r % 100_000) as f64 / 100.0, "tags": tags, "place": place, "extra": extra})
}

/// Values that hold no others; text lengths count too.
fn leaves(value: &Value) -> usize {
    match value {
        Value::Array(all) => all.iter().map(leaves).sum(),
        Value::Object(all) => all.iter().map(|(k, v)| k.len() + leaves(v)).sum(),
        Value::String(text) => text.len(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}

fn main() {
    let size: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).expect("usage: json SIZE");
    let document = Value::Array((0..size * 1000).map(record).collect());
    let text = serde_json::to_string(&document).expect("a value can be written");
    let value: Value = serde_json::from_str(&text).expect("it was written just now");
    assert!(leaves(&value) == leaves(&document), "another document came back");
    let mut records: Vec<Record> = serde_json::from_str(&text).expect("it has the records' shape");
    records.sort_by(|a, b| a.tags.cmp(&b.tags).then(b.price.total_cmp(&a.price)).then(a.id.cmp(&b.id)));
    let pretty = serde_json::to_string_pretty(&records).expect("records can be written");
    let towns = records.iter().filter(|r| matches!(&r.place, Some(Place::Town { name }) if name.contains('\n'))).count();
    let points: f64 = records
        .iter()
        .filter_map(|r| if let Some(Place::Point { x, y }) = &r.place { Some(x + y) } else { None })
        .sum();
    let extra: i64 = records.iter().flat_map(|r| r.extra.values()).fold(0, |a, b| a.wrapping_add(*b));
    let sum = pretty.bytes().fold(5381u64, |a, b| a.wrapping_mul(33).wrapping_add(u64::from(b)));
    println!("{} {} {sum:x} {towns} {points:.3} {extra}", text.len(), pretty.len());
}
