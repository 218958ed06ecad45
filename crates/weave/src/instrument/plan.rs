//! What is counted in one function, and by which probes: paths (Ball, Larus 1996) or edges (Burger, Dybvig 1998), in the
//! order of `holloway_flow`.
//!
//! Edges need counters only off a spanning tree. Where edges that can carry none close a cycle (gotos of assembly or computed
//! ones, several to the same labels), paths are counted in place of edges, for that function. Where such edges lead round in a
//! circle, the blocks they leave are cut before their terminator and everything starts again; each round cuts at least one block
//! that wasn't, so it ends.

use holloway_abi::{RING_SIZE, RING_WORDS};
use holloway_flow::{BlockId, Dag, EdgeCounters, Numbering, Probes};
use holloway_format::Counters;
use holloway_llvm::Function;

use super::beside::{Alone, Place};
use super::bursts::leaf::{Leaves, is_timed};
use super::bursts::refusal::refusal;
use super::globals::Globals;
use super::likely::Heat;
use super::weights::weights;
use super::{bursts, edges, insert, paths, sites, stream, times};
use crate::lower::{Attributes, Lowered, Wanted, lower};
use crate::options::ModuleOptions;
use holloway_abi::Kind;

/// What is known of a function before anything is inserted.
pub(crate) struct Plan<'m> {
    pub(crate) lowered: Lowered<'m>,
    pub(crate) counted: Counted,
    /// Whether its paths are timed.
    pub(crate) timed: bool,
    probes: Probes,
    /// By edge of the graph.
    weights: Vec<u64>,
}

/// What is counted.
pub(crate) enum Counted {
    Paths(Box<Numbering>),
    Edges(EdgeCounters),
}

/// Plans a function's probes.
///
/// # Errors
/// The reason why it can't be profiled.
pub(crate) fn plan<'m>(
    function: Function<'m>,
    attributes: &Attributes,
    options: &ModuleOptions,
) -> Result<Plan<'m>, String> {
    let mut split = Vec::new();
    loop {
        let wanted = Wanted {
            split: &split,
            exits: options.has_exit_edges(),
            calls: options.collect == Kind::Trace,
        };
        let lowered = lower(function, attributes, wanted)?;
        if options.collect == Kind::Variation
            && let Some(reason) = refusal(&lowered.layout, attributes)
        {
            return Err(reason);
        }
        let weights = weights(&lowered, options.guide.as_ref());
        if options.collect == Kind::Edges
            && let Some(counters) = edges::counters(&lowered, &weights)
        {
            return Ok(Plan {
                probes: counters.probes(),
                counted: Counted::Edges(counters),
                timed: false,
                lowered,
                weights,
            });
        }
        match Dag::new(&lowered.cfg) {
            Ok(dag) => return Plan::of_paths(lowered, &dag, weights, options),
            Err(cycle) => {
                let known = split.len();
                let blocks = cycle.blocks.iter();
                split.extend(blocks.map(|block| lowered.nodes[block.index()].block));
                split.sort_unstable();
                split.dedup();
                if split.len() == known {
                    return Err("it has a loop of edges that can carry no probe".into());
                }
            }
        }
    }
}

impl<'m> Plan<'m> {
    fn of_paths(
        lowered: Lowered<'m>,
        dag: &Dag,
        weights: Vec<u64>,
        options: &ModuleOptions,
    ) -> Result<Self, String> {
        let numbering = paths::number(&lowered.cfg, dag, &weights, options)
            .map_err(|error| error.to_string())?;
        if numbering.path_count() == 0 {
            return Err("it has no path that ends (an endless loop without a turn)".into());
        }
        if options.collect == Kind::Variation {
            is_timed(&lowered.layout, &numbering)?;
        }
        // A path's time ends where the path does, so it is never decided before.
        let nodes = 0..u32::try_from(lowered.nodes.len()).expect("the nodes were counted");
        let leaks: Vec<BlockId> = match options.collect.is_timed() {
            true => nodes.map(BlockId).collect(),
            false => lowered.leaks.clone(),
        };
        let probes = Probes::new(&lowered.cfg, &numbering, &weights, &leaks)
            .map_err(|error| error.to_string())?;
        Ok(Self {
            lowered,
            counted: Counted::Paths(Box::new(numbering)),
            timed: options.collect.is_timed(),
            probes,
            weights,
        })
    }

    /// Where its counters are, if the module's next free offset is `offset`.
    pub(crate) fn counters(&self, offset: u64, options: &ModuleOptions) -> Counters {
        match &self.counted {
            Counted::Paths(numbering) => match numbering.path_count() {
                len if len <= options.array_limit || options.collect.is_stream() => {
                    Counters::Array { offset, len }
                }
                _ => Counters::Hash { offset },
            },
            Counted::Edges(counters) => Counters::Edges {
                offset,
                len: counters.counted().len() as u64,
            },
        }
    }

    /// Writes the probes into the function. `single` asks for increments that are one instruction whatever the code
    /// generator does ([`insert`]).
    ///
    /// # Errors
    /// What was wrong with the plan: a bug.
    pub(crate) fn insert(
        &self,
        counters: Counters,
        globals: &Globals<'m>,
        single: bool,
    ) -> Result<(), String> {
        let sites = sites::sites(&self.lowered, &self.probes)?;
        let heat = Heat::new(&self.lowered, &self.weights);
        let layout = &self.lowered.layout;
        insert::insert(layout, &sites, &heat, counters, globals, single);
        Ok(())
    }

    /// Writes the probes of a function whose paths go to a stream; `first` is the word of path 0, less the module's base.
    ///
    /// # Errors
    /// What was wrong with the plan: a bug.
    pub(crate) fn insert_stream(
        &self,
        first: i64,
        globals: &Globals<'m>,
        single: bool,
    ) -> Result<(), String> {
        let sites = sites::sites(&self.lowered, &self.probes)?;
        stream::insert(&self.lowered.layout, &sites, first, globals, single, None);
        Ok(())
    }

    /// The same where some paths are counted beside the ring, at a place behind the base that `beside` have.
    ///
    /// # Errors
    /// What was wrong with the plan: a bug.
    pub(crate) fn insert_stream_beside(
        &self,
        (first, globals): (i64, &Globals<'m>),
        (place, beside): (Place, &Globals<'m>),
        single: bool,
    ) -> Result<(), String> {
        let Counted::Paths(numbering) = &self.counted else {
            return Err("edges are not counted beside a ring".into());
        };
        if place.has_alone && numbering.paths_before_starts() == numbering.path_count() {
            return self.insert_beside(place.offset, beside, single);
        }
        let alone = Alone::new(&self.lowered, numbering, place.has_alone);
        let sites = sites::sites(&self.lowered, &alone.mark(&self.probes))?;
        let counting = stream::Counting {
            alone,
            globals: beside,
            offset: RING_WORDS + RING_SIZE + place.offset,
        };
        let layout = &self.lowered.layout;
        stream::insert(layout, &sites, first, globals, single, Some(&counting));
        Ok(())
    }

    /// The same where all paths are.
    fn insert_beside(
        &self,
        offset: u64,
        globals: &Globals<'m>,
        single: bool,
    ) -> Result<(), String> {
        let sites = sites::sites(&self.lowered, &self.probes)?;
        let heat = Heat::new(&self.lowered, &self.weights);
        let layout = &self.lowered.layout;
        let counters = match self.counted {
            Counted::Paths(ref numbering) => Counters::Array {
                offset: RING_WORDS + RING_SIZE + offset,
                len: numbering.path_count(),
            },
            Counted::Edges(_) => return Err("edges are not counted beside a ring".into()),
        };
        let ring = insert::insert(layout, &sites, &heat, counters, globals, single);
        stream::nameless_catchers(layout, ring);
        Ok(())
    }

    /// Gives a function a second code, in which some of its paths are timed; `leaves` have none.
    ///
    /// # Errors
    /// What was wrong with the plan: a bug.
    pub(crate) fn insert_bursts(
        &self,
        first: i64,
        globals: &Globals<'m>,
        leaves: &Leaves,
    ) -> Result<(), String> {
        let sites = sites::sites(&self.lowered, &self.probes)?;
        let heat = Heat::new(&self.lowered, &self.weights);
        let layout = &self.lowered.layout;
        bursts::insert(layout, &sites, &heat, (first, globals), leaves);
        Ok(())
    }

    /// Writes the probes of a function all of whose paths are timed.
    ///
    /// # Errors
    /// What was wrong with the plan: a bug.
    pub(crate) fn insert_times(&self, first: i64, globals: &Globals<'m>) -> Result<(), String> {
        let sites = sites::sites(&self.lowered, &self.probes)?;
        times::insert(&self.lowered.layout, &sites, first, globals);
        Ok(())
    }
}
