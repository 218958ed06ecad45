//! The functions that the records of a document name, as indices into the page's table of
//! functions. Names alone do not identify a function: two files may each have a static function
//! `find`.

use holloway_analysis::{FunctionId, RunProfile};
use serde::Deserialize;
use std::collections::HashMap;

use crate::trace::Stream;

/// The functions of the page by linkage name, module, and image.
pub(super) struct FunctionIndices<'a> {
    indices: HashMap<[&'a str; 3], usize>,
    /// By linkage name and image.
    by_symbol: HashMap<[&'a str; 2], usize>,
}

/// The record of a loop or of a timed path. docs/json.md explains the fields.
#[derive(Deserialize)]
struct Record {
    linkage_name: String,
    module: String,
    image: String,
}

/// The record of a function with samples.
#[derive(Deserialize)]
struct SampledFunction {
    linkage_name: String,
    /// The path of the image.
    image: String,
}

#[derive(Deserialize)]
struct Samples {
    functions: Vec<SampledFunction>,
}

#[derive(Deserialize)]
struct Records {
    #[serde(default, alias = "loops", alias = "variation")]
    records: Vec<Record>,
}

impl<'a> FunctionIndices<'a> {
    /// The indices of these functions.
    pub(super) fn new(run: &'a RunProfile, ids: &[FunctionId]) -> FunctionIndices<'a> {
        FunctionIndices::of_pairs(run, ids.iter().copied().zip(0..))
    }

    /// The indices of functions. Of equal functions of images with equal names, the first has its
    /// index here.
    pub(super) fn of_pairs(
        run: &'a RunProfile,
        pairs: impl Iterator<Item = (FunctionId, usize)>,
    ) -> FunctionIndices<'a> {
        let (mut indices, mut by_symbol) = (HashMap::new(), HashMap::new());
        for (id, index) in pairs {
            let function = run.function(id);
            let module = run.module_of(function);
            let image = &run.images[module.image.index()].name;
            let key = [&*function.map.linkage_name, &*module.name, &**image];
            indices.entry(key).or_insert(index);
            by_symbol.entry([key[0], key[2]]).or_insert(index);
        }
        FunctionIndices { indices, by_symbol }
    }

    fn index(&self, linkage_name: &str, module: &str, image: &str) -> i64 {
        let index = self.indices.get(&[linkage_name, module, image]);
        index.map_or(-1, |&index| index as i64)
    }

    /// The index of a symbol in the file with this path.
    fn symbol(&self, linkage_name: &str, path: &str) -> i64 {
        let image = path.rsplit('/').next().unwrap_or(path);
        let index = self.by_symbol.get(&[linkage_name, image]);
        index.map_or(-1, |&index| index as i64)
    }

    /// The index of a function of a trace. -1 if the page does not have it.
    pub(super) fn of_trace(&self, stream: &Stream<'_>, function: u32) -> i64 {
        let code = stream.code;
        match (code.function(function), code.module(function)) {
            (Some(map), Some(module)) => self.index(&map.linkage_name, &module.name, stream.image),
            (None, _) | (_, None) => -1,
        }
    }

    /// A document of loops or times of paths as JSON, and the indices of the functions of its
    /// records.
    ///
    /// # Errors
    /// If the document is no JSON.
    pub(super) fn with_records(&self, document: &str) -> serde_json::Result<String> {
        let Records { records } = serde_json::from_str(document)?;
        let index =
            |record: &Record| self.index(&record.linkage_name, &record.module, &record.image);
        let indices: Vec<i64> = records.iter().map(index).collect();
        with_indices(&indices, document)
    }

    /// A document of samples as JSON, and the indices of its functions.
    ///
    /// # Errors
    /// If the document is no JSON.
    pub(super) fn with_samples(&self, document: &str) -> serde_json::Result<String> {
        let Samples { functions } = serde_json::from_str(document)?;
        let index =
            |function: &SampledFunction| self.symbol(&function.linkage_name, &function.image);
        let indices: Vec<i64> = functions.iter().map(index).collect();
        with_indices(&indices, document)
    }
}

fn with_indices(functions: &[i64], document: &str) -> serde_json::Result<String> {
    let functions = serde_json::to_string(functions)?;
    let document = document.trim();
    Ok(format!(
        "{{\"functions\":{functions},\"document\":{document}}}"
    ))
}
