//! The builds of a program that are measured.
//!
//! Where functions lie in memory makes a program faster or slower by luck, whatever the steps do.
//! So each build is linked several times: in the linker's own order, and in random orders of the
//! functions that ran, which are the same for all builds.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use holloway_format::{Plan, Text};
use holloway_link::relink::Purpose;
use holloway_report::optimize::Step;

use super::carried::Carried;
use crate::failure::Result;
use crate::status;

/// A build of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Build {
    /// The program.
    Plain,
    /// With early counts.
    Early,
    /// With early and late counts.
    Late,
    /// With early counts and selects.
    Selects,
    /// With early counts, selects, and late counts.
    SelectsLate,
    /// With copied paths, and all steps that were kept before.
    Paths,
    /// With prefetches, and all steps that were kept before.
    Prefetch,
    /// With the plan's order of functions, and all steps that were kept before.
    Order,
    /// With a step that did not help, but without what it does to one function. The builds of a
    /// step are numbered.
    Without(Step, usize),
}

impl Build {
    /// The name of the build's directory.
    pub(super) fn name(self) -> Cow<'static, str> {
        let name = match self {
            Self::Plain => "plain",
            Self::Early => "early",
            Self::Late => "late",
            Self::Selects => "selects",
            Self::SelectsLate => "selects-late",
            Self::Paths => "paths",
            Self::Prefetch => "prefetch",
            Self::Order => "order",
            Self::Without(step, number) => {
                return format!("{}-without-{number}", step.name()).into();
            }
        };
        name.into()
    }

    /// Whether the build's instructions are counted. They do not show what selects, copied paths,
    /// prefetches, and an order of functions gain.
    pub(super) fn is_counted(self) -> bool {
        match self {
            Self::Plain | Self::Early | Self::Late => true,
            Self::Selects
            | Self::SelectsLate
            | Self::Paths
            | Self::Prefetch
            | Self::Order
            | Self::Without(..) => false,
        }
    }
}

/// The programs of each build that is measured, by order of functions. The first is in the linker's
/// own order. All builds have equally many.
pub(super) type Builds = BTreeMap<Build, Vec<PathBuf>>;

/// Links builds in several orders of functions.
pub(super) struct Linker<'a> {
    pub(super) carried: &'a Carried,
    /// Random orders of functions.
    orders: Vec<Vec<Text>>,
}

impl<'a> Linker<'a> {
    /// A linker with random orders of functions. Has none if the program cannot be linked with an
    /// order: they only make the measurement better.
    pub(super) fn new(carried: &'a Carried, mut orders: Vec<Vec<Text>>) -> Self {
        let trial = orders
            .first()
            .map(|order| carried.link(Purpose::Plain, order, "trial"));
        if let Some(Err(error)) = trial {
            status::warn(&format!(
                "builds are measured in the linker's own order of functions: {}",
                error.message
            ));
            orders.clear();
        }
        Self { carried, orders }
    }

    /// The plain program.
    ///
    /// # Errors
    /// If it cannot be linked.
    pub(super) fn plain(&self) -> Result<Vec<PathBuf>> {
        let own = self.carried.executable.clone();
        self.in_all_orders(own, Purpose::Plain, Build::Plain)
    }

    /// The program with a plan. Returns `None` if it is the same program as `before`.
    ///
    /// # Errors
    /// If it cannot be linked, or the plan has no function of the program.
    pub(super) fn optimized(
        &self,
        plan: &Plan,
        build: Build,
        before: Option<&Vec<PathBuf>>,
    ) -> Result<Option<Vec<PathBuf>>> {
        let (own, _) = self.carried.apply(plan, &[], &build.name())?;
        if before.is_some_and(|before| is_same_file(&own, &before[0])) {
            return Ok(None);
        }
        let programs = self.in_all_orders(own, Purpose::Optimized(plan), build);
        programs.map(Some)
    }

    fn in_all_orders(
        &self,
        own: PathBuf,
        purpose: Purpose<'_>,
        build: Build,
    ) -> Result<Vec<PathBuf>> {
        let mut programs = vec![own];
        for (number, order) in self.orders.iter().enumerate() {
            let name = format!("{}-{number}", build.name());
            programs.push(self.carried.link(purpose, order, &name)?.0);
        }
        Ok(programs)
    }
}

/// Whether two builds are the same program.
pub(super) fn is_same_file(one: &Path, other: &Path) -> bool {
    let [one, other] = [one, other].map(std::fs::read);
    matches!((one, other), (Ok(one), Ok(other)) if one == other)
}
