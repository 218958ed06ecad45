//! The data that the records of a document are made from: the run, the options, and the filter on
//! functions.

use holloway_analysis::{ModuleId, RunProfile};
use holloway_format::Text;

use crate::filter::Filter;
use crate::options::Options;

/// The data that the records of a document are made from.
pub(super) struct RunContext<'a> {
    pub(super) run: &'a RunProfile,
    pub(super) names: Filter<'a>,
    pub(super) options: &'a Options<'a>,
}

impl<'a> RunContext<'a> {
    pub(super) fn module(&self, id: ModuleId) -> &'a str {
        &self.run.modules[id.index()].name
    }

    /// Whether the filter keeps a function without counters.
    pub(super) fn keeps_uncounted(
        &self,
        module: ModuleId,
        linkage_name: &Text,
        name: &Text,
    ) -> bool {
        let module = &self.run.modules[module.index()].name;
        self.names.keeps_uncounted(module, linkage_name, name)
    }

    pub(super) fn name(&self, linkage_name: &Text, name: &Text) -> String {
        self.names.name_of(linkage_name, name).to_string()
    }
}
