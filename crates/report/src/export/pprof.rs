//! pprof's `profile.proto`, compressed by gzip.
//!
//! The messages have the fields of the schema that are used here. Values are signed in this format:
//! larger counts stay at 2^63 − 1.

use std::collections::HashMap;
use std::io::Write;

use flate2::{Compression, GzBuilder};
use holloway_analysis::RunProfile;
use holloway_format::Count;
use prost::Message;

use super::run::Result;
use super::stacks::{Stacks, Weight};

#[derive(Clone, PartialEq, Message)]
struct Profile {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "3")]
    mapping: Vec<Mapping>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "14")]
    default_sample_type: i64,
}

#[derive(Clone, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    r#type: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    /// The innermost box first.
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    label: Vec<Label>,
}

#[derive(Clone, PartialEq, Message)]
struct Label {
    #[prost(int64, tag = "1")]
    key: i64,
    #[prost(int64, tag = "2")]
    str: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Mapping {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "5")]
    filename: i64,
    #[prost(bool, tag = "7")]
    has_functions: bool,
    #[prost(bool, tag = "8")]
    has_filenames: bool,
    #[prost(bool, tag = "9")]
    has_line_numbers: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint64, tag = "2")]
    mapping_id: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Clone, PartialEq, Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
    #[prost(int64, tag = "2")]
    line: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
    #[prost(int64, tag = "3")]
    system_name: i64,
    #[prost(int64, tag = "4")]
    filename: i64,
    #[prost(int64, tag = "5")]
    start_line: i64,
}

/// The table of strings. Its first string is empty.
struct Strings {
    list: Vec<String>,
    numbers: HashMap<String, i64>,
}

impl Strings {
    fn new() -> Strings {
        let mut strings = Strings {
            list: Vec::new(),
            numbers: HashMap::new(),
        };
        strings.number("");
        strings
    }

    fn number(&mut self, text: &str) -> i64 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.list.len() as i64;
        self.list.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}

/// Writes the stacks as a compressed profile.
pub(super) fn write(run: &RunProfile, stacks: &Stacks, out: &mut dyn Write) -> Result<()> {
    let bytes = profile(run, stacks).encode_to_vec();
    let mut gzip = GzBuilder::new().write(out, Compression::default());
    gzip.write_all(&bytes)?;
    gzip.finish()?;
    Ok(())
}

fn profile(run: &RunProfile, stacks: &Stacks) -> Profile {
    let mut strings = Strings::new();
    let weights = stacks.weights();
    let sample_type = weights.iter().map(|&weight| ValueType {
        r#type: strings.number(weight.word()),
        unit: strings.number(match weight {
            Weight::Instructions | Weight::Count => "count",
            Weight::Time => "nanoseconds",
        }),
    });
    let sample_type = sample_type.collect();
    let path_key = strings.number("path");
    let mapping = (1u64..).zip(&run.images).map(|(id, image)| Mapping {
        id,
        filename: strings.number(&image.name),
        has_functions: true,
        has_filenames: true,
        has_line_numbers: true,
    });
    let mapping = mapping.collect();
    let mut profile = Profile {
        sample_type,
        mapping,
        default_sample_type: strings.number(Weight::Instructions.word()),
        ..Profile::default()
    };
    for (number, frame) in (1u64..).zip(&stacks.frames) {
        let name = strings.number(&frame.name);
        profile.function.push(Function {
            id: number,
            name,
            system_name: name,
            filename: strings.number(&frame.file),
            start_line: frame.line.into(),
        });
    }
    // A location belongs to one image, and boxes of several images may be equal.
    let mut locations: HashMap<(u32, u32), u64> = HashMap::new();
    for path in &stacks.paths {
        let image = run.module_of(run.function(path.function)).image.0;
        let location_id = path.frames.iter().rev().map(|&frame| {
            let next = profile.location.len() as u64 + 1;
            *locations.entry((image, frame)).or_insert_with(|| {
                profile.location.push(Location {
                    id: next,
                    mapping_id: u64::from(image) + 1,
                    line: vec![Line {
                        function_id: u64::from(frame) + 1,
                        line: stacks.frames[frame as usize].line.into(),
                    }],
                });
                next
            })
        });
        let location_id = location_id.collect();
        let values = weights.iter().map(|&weight| signed(path.weight(weight)));
        profile.sample.push(Sample {
            location_id,
            value: values.collect(),
            label: vec![Label {
                key: path_key,
                str: strings.number(&path.name),
            }],
        });
    }
    profile.string_table = strings.list;
    profile
}

fn signed(count: Count) -> i64 {
    i64::try_from(count.0).unwrap_or(i64::MAX)
}
