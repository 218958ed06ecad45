//! Writes the functions without counts (skipped, or without code) as JSON, and the fate of the
//! functions that `--function` selects.

use std::collections::BTreeSet;

use holloway_analysis::coverage::LeftOut;
use holloway_analysis::find::{Fate, where_is};
use holloway_analysis::{FunctionId, ModuleId};
use holloway_format::{Skipped, VanishedFunction};
use serde::Serialize;

use super::context::RunContext;

#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SkippedRecord<'a> {
    name: String,
    linkage_name: &'a str,
    module: &'a str,
    reason: &'a str,
}

#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GoneRecord<'a> {
    name: String,
    linkage_name: &'a str,
    module: &'a str,
    inlined: bool,
}

#[derive(Serialize)]
pub(super) struct FoundRecord<'a> {
    name: String,
    instrumented: Vec<&'a str>,
    inlined_into: Vec<IntoRecord<'a>>,
    skipped: Vec<ReasonRecord<'a>>,
    gone: Vec<&'a str>,
}

#[derive(Serialize)]
pub(super) struct ReasonRecord<'a> {
    module: &'a str,
    reason: String,
}

#[derive(Serialize)]
pub(super) struct IntoRecord<'a> {
    name: String,
    linkage_name: &'a str,
    times: u32,
}

impl<'a> RunContext<'a> {
    pub(super) fn skipped(&self, left_out: &LeftOut<'a>) -> Vec<SkippedRecord<'a>> {
        let selected = left_out.skipped.iter().filter(|&&(id, function)| {
            self.keeps_uncounted(id, &function.linkage_name, &function.name)
        });
        let record = |&(id, function): &(ModuleId, &'a Skipped)| SkippedRecord {
            name: self.name(&function.linkage_name, &function.name),
            linkage_name: &function.linkage_name,
            module: self.module(id),
            reason: &function.reason,
        };
        self.first(selected.map(record).collect())
    }

    pub(super) fn gone(&self, left_out: &LeftOut<'a>) -> Vec<GoneRecord<'a>> {
        let selected = left_out.gone.iter().filter(|&&(id, function, _)| {
            self.keeps_uncounted(id, &function.linkage_name, &function.name)
        });
        let record =
            |&(id, function, inlined): &(ModuleId, &'a VanishedFunction, bool)| GoneRecord {
                name: self.name(&function.linkage_name, &function.name),
                linkage_name: &function.linkage_name,
                module: self.module(id),
                inlined,
            };
        self.first(selected.map(record).collect())
    }

    /// The first records, as many as `--top` allows.
    fn first<T: Ord>(&self, records: BTreeSet<T>) -> Vec<T> {
        let top = self.options.top.unwrap_or(usize::MAX);
        records.into_iter().take(top).collect()
    }

    pub(super) fn found(&self) -> Vec<FoundRecord<'a>> {
        let fates = where_is(self.run, &|linkage_name, name| {
            self.names
                .matches(linkage_name, name)
                .then(|| self.names.name_of(linkage_name, name))
        });
        fates
            .into_iter()
            .map(|(name, fate)| self.found_record(&name, &fate))
            .collect()
    }

    fn found_record(&self, name: &str, fate: &Fate) -> FoundRecord<'a> {
        let map = |id: FunctionId| &self.run.function(id).map;
        FoundRecord {
            name: name.to_owned(),
            instrumented: fate
                .instrumented
                .iter()
                .map(|&id| &*map(id).linkage_name)
                .collect(),
            inlined_into: fate
                .inlined
                .iter()
                .map(|&(id, times)| IntoRecord {
                    name: self.name(&map(id).linkage_name, &map(id).name),
                    linkage_name: &map(id).linkage_name,
                    times,
                })
                .collect(),
            skipped: fate
                .skipped
                .iter()
                .map(|(id, reason)| ReasonRecord {
                    module: self.module(*id),
                    reason: reason.to_string(),
                })
                .collect(),
            gone: fate.gone.iter().map(|&id| self.module(id)).collect(),
        }
    }
}
