//! The part of a plan that determines the code of one module.
//!
//! A step of an optimization changes what the plan says about a few functions. Only the modules
//! that may contain these functions are compiled again. All modules depend on the summary of the
//! early counts, which says what is hot in the whole program.

use std::collections::BTreeSet;
use std::path::PathBuf;

use holloway_format::{Plan, Text};

use crate::guide::hash;
use crate::name_search::NameSearch;

/// A plan, and the file in which workers find it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlanFile {
    pub(crate) file: PathBuf,
    pub(crate) plan: Plan,
}

/// A plan, and a search for its functions.
pub(crate) struct PlanParts<'p> {
    plan: &'p Plan,
    /// The names of the plan's functions.
    names: Vec<&'p Text>,
    search: Option<NameSearch>,
    /// A hash of what the summary is made of.
    summary: String,
}

/// Hashes of what a plan says about a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ModulePlan {
    /// Of what the optimizer uses: early counts.
    pub(crate) early: String,
    /// Of everything.
    pub(crate) all: String,
}

impl<'p> PlanParts<'p> {
    pub(crate) fn new(plan: &'p Plan) -> Self {
        let names: Vec<&Text> = plan.names().into_iter().collect();
        let mut counts: Vec<_> = plan
            .functions()
            .map(|(_, _, function)| {
                let mut taken: Vec<_> = function.taken.values().collect();
                taken.sort_unstable();
                (function.calls, function.edge_count, taken)
            })
            .collect();
        counts.sort_unstable();
        Self {
            plan,
            search: NameSearch::new(names.iter().map(|name| &***name)),
            names,
            summary: hash(format!("{counts:?}").as_bytes()),
        }
    }

    /// What the plan says about the module with this bitcode.
    pub(crate) fn of_module(&self, bitcode: &[u8]) -> ModulePlan {
        let found = self.search.as_ref().map(|search| search.found_in(bitcode));
        let plan = match found.flatten() {
            Some(found) => {
                let names: BTreeSet<&Text> = found.iter().map(|&name| self.names[name]).collect();
                self.plan.of_functions(&names)
            }
            None => self.plan.clone(),
        };
        let early = plan.without_late_counts().without_prefetches();
        let digest = |plan: &Plan| hash(format!("{}{}", self.summary, plan.to_text()).as_bytes());
        ModulePlan {
            early: digest(&early),
            all: digest(&plan),
        }
    }
}
