//! The sums of all functions that records of one file show.

use std::collections::HashMap;
use std::sync::Arc;

use holloway_format::branches::{BranchQuality, FunctionBranches};
use holloway_format::{FunctionIndex, ImageMap};

use super::counts::FunctionSums;
use super::layout::CodeLayout;
use super::ways::Ways;

/// The sums of a file.
#[derive(Debug)]
pub(super) struct RecordSums {
    map: Arc<ImageMap>,
    pub(super) layout: Arc<CodeLayout>,
    functions: HashMap<FunctionIndex, FunctionState>,
    pub(super) quality: BranchQuality,
}

/// A function that records show.
#[derive(Debug)]
pub(super) struct FunctionState {
    pub(super) ways: Ways,
    pub(super) sums: FunctionSums,
}

impl RecordSums {
    pub(super) fn new(map: Arc<ImageMap>, layout: Arc<CodeLayout>) -> Self {
        Self {
            map,
            layout,
            functions: HashMap::new(),
            quality: BranchQuality::default(),
        }
    }

    /// The counts of the functions, in the order of the map.
    pub(super) fn counts(&self) -> (Vec<FunctionBranches>, BranchQuality) {
        let functions = self.functions.iter();
        let mut functions: Vec<FunctionBranches> = functions
            .filter_map(|(&index, state)| state.sums.counts(index))
            .collect();
        functions.sort_by_key(|function| function.index);
        (functions, self.quality)
    }

    /// The state of a function. `None` if the map lacks it.
    pub(super) fn function(&mut self, index: FunctionIndex) -> Option<&mut FunctionState> {
        let map = self.map.function(index)?;
        let layout = &self.layout;
        let state = self.functions.entry(index);
        Some(state.or_insert_with(|| FunctionState {
            ways: Ways::new(map, layout.seen_blocks(index)),
            sums: FunctionSums::new(map),
        }))
    }
}
