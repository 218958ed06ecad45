//! The run that a document is about, and the names and options that it is written with.

use holloway_analysis::{ModuleId, RunProfile};
use holloway_format::Text;

use crate::filter::Filter;
use crate::options::Options;

/// A run as documents of it need it.
pub(super) struct RunContext<'a> {
    pub(super) run: &'a RunProfile,
    pub(super) names: Filter<'a>,
    pub(super) options: &'a Options<'a>,
}

impl<'a> RunContext<'a> {
    pub(super) fn module(&self, id: ModuleId) -> &'a str {
        &self.run.modules[id.index()].name
    }

    pub(super) fn name(&self, linkage_name: &Text, name: &Text) -> String {
        self.names.name_of(linkage_name, name).to_string()
    }
}
