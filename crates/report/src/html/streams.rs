//! The last line of a document: the JSON documents of the run's streams, and the functions that their
//! records name, as indices into the page's table of functions. Names alone do not identify a
//! function: two files may each have a static function `find`.

use holloway_analysis::{FunctionId, RunProfile};
use serde::Deserialize;
use std::collections::HashMap;

use super::subject::Streams;

/// The functions of the page by linkage name, module, and image.
pub(super) struct FunctionIndices<'a> {
    indices: HashMap<[&'a str; 3], usize>,
}

/// The record of a loop or of a timed path. docs/json.md explains the fields.
#[derive(Deserialize)]
struct Record {
    linkage_name: String,
    module: String,
    image: String,
}

#[derive(Deserialize)]
struct Records {
    #[serde(default, alias = "loops", alias = "variation")]
    records: Vec<Record>,
}

impl<'a> FunctionIndices<'a> {
    /// The indices of these functions. Of equal functions of images with equal names, the first has
    /// its index here.
    pub(super) fn new(run: &'a RunProfile, ids: &[FunctionId]) -> FunctionIndices<'a> {
        let mut indices = HashMap::new();
        for (index, &id) in ids.iter().enumerate() {
            let function = run.function(id);
            let module = run.module_of(function);
            let image = &run.images[module.image.index()].name;
            let key = [&*function.map.linkage_name, &*module.name, &**image];
            indices.entry(key).or_insert(index);
        }
        FunctionIndices { indices }
    }

    /// By record of a document: the index of its function. -1 if the page does not have it.
    fn of_records(&self, document: &str) -> serde_json::Result<Vec<i64>> {
        let Records { records } = serde_json::from_str(document)?;
        let index = |record: &Record| {
            let key = [&*record.linkage_name, &*record.module, &*record.image];
            self.indices.get(&key).map_or(-1, |&index| index as i64)
        };
        Ok(records.iter().map(index).collect())
    }

    /// The last line.
    ///
    /// # Errors
    /// If a document is no JSON.
    pub(super) fn line(&self, streams: &Streams) -> serde_json::Result<String> {
        let document = |text: &Option<String>| match text.as_deref() {
            None => Ok("null".to_owned()),
            Some(text) => {
                let functions = serde_json::to_string(&self.of_records(text)?)?;
                let text = text.trim();
                Ok(format!("{{\"functions\":{functions},\"document\":{text}}}"))
            }
        };
        let loops: serde_json::Result<String> = document(&streams.loops);
        let (loops, variation) = (loops?, document(&streams.variation)?);
        Ok(format!("{{\"loops\":{loops},\"variation\":{variation}}}"))
    }
}
