//! speedscope's own format: one sampled profile for each weight.
//!
//! Format: the schema in speedscope's package, `file-format-schema.json`.

use std::io::{self, Write};

use holloway_format::Count;
use serde::Serialize;

use super::run::{EXPORTER, Result};
use super::stacks::{Frame, Stacks, Weight};

#[derive(Serialize)]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: &'static str,
    name: &'a str,
    #[serde(rename = "activeProfileIndex")]
    active_profile_index: usize,
    shared: Shared<'a>,
    profiles: Vec<Profile<'a>>,
}

#[derive(Serialize)]
struct Shared<'a> {
    frames: Vec<FrameRecord<'a>>,
}

#[derive(Serialize)]
struct FrameRecord<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
struct Profile<'a> {
    r#type: &'static str,
    name: &'static str,
    unit: &'static str,
    #[serde(rename = "startValue")]
    start_value: u64,
    #[serde(rename = "endValue")]
    end_value: Count,
    samples: Vec<&'a [u32]>,
    weights: Vec<Count>,
}

impl FrameRecord<'_> {
    fn new(frame: &Frame) -> FrameRecord<'_> {
        FrameRecord {
            name: &frame.name,
            file: Some(&*frame.file).filter(|file| !file.is_empty()),
            line: Some(frame.line).filter(|&line| line != 0),
        }
    }
}

/// Writes the stacks as one JSON object and a newline.
pub(super) fn write(stacks: &Stacks, name: &str, out: &mut dyn Write) -> Result<()> {
    let weights = stacks.weights().into_iter();
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        exporter: EXPORTER,
        name,
        active_profile_index: 0,
        shared: Shared {
            frames: stacks.frames.iter().map(FrameRecord::new).collect(),
        },
        profiles: weights.map(|weight| profile(stacks, weight)).collect(),
    };
    serde_json::to_writer(&mut *out, &file).map_err(io::Error::from)?;
    Ok(writeln!(out)?)
}

fn profile(stacks: &Stacks, weight: Weight) -> Profile<'_> {
    let weights = stacks.paths.iter().map(|path| path.weight(weight));
    let weights: Vec<Count> = weights.collect();
    let sum = weights.iter().copied();
    Profile {
        r#type: "sampled",
        name: weight.word(),
        unit: match weight {
            Weight::Instructions | Weight::Count => "none",
            Weight::Time => "nanoseconds",
        },
        start_value: 0,
        end_value: sum.fold(Count::ZERO, Count::saturating_add),
        samples: stacks.paths.iter().map(|path| &path.frames[..]).collect(),
        weights,
    }
}
