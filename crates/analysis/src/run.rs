//! A run: what was counted in all its processes, with the path maps of its images.
//!
//! What a function's counters count is said by its own map: the images of a run may have been woven for paths and
//! for edges, and an image woven for edges holds functions whose paths are counted.

use std::fmt;
use std::sync::OnceLock;

use holloway_abi::{Kind, PathEnds, Unit};
use holloway_format::{Counters, FunctionMap, Skipped, Text, VanishedFunction};

use crate::bounds::{Bounds, Forks};
use crate::flow::Flow;
use crate::graph::Graph;
use crate::note::Note;

/// A function of the run, by its place in [`RunProfile::functions`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FunctionId(pub u32);

/// A module of the run, by its place in [`RunProfile::modules`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ModuleId(pub u32);

/// An image (program or shared object) of the run, by its place in [`RunProfile::images`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ImageId(pub u32);

impl FunctionId {
    /// Place in a table of functions.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl ModuleId {
    /// Place in a table of modules.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl ImageId {
    /// Place in a table of images.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for FunctionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "f{}", self.0)
    }
}

/// Whether frames left in a call that does not come back are counted, as far as the maps tell: where any function of an
/// image has an exit edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exits {
    /// In all images.
    On,
    /// In none.
    Off,
    /// In some.
    Mixed,
}

/// All that is known of a run.
#[derive(Debug)]
pub struct RunProfile {
    /// Programs and shared objects, in the order given.
    pub images: Vec<Image>,
    /// Modules of all images.
    pub modules: Vec<Module>,
    /// Instrumented functions of all images.
    pub functions: Vec<Function>,
    /// What could not be read and is missing here, and samples.
    pub damage: Vec<Note>,
}

/// A program or shared object.
#[derive(Clone, Debug)]
pub struct Image {
    /// File name of the link's output.
    pub name: String,
    /// Hash of the path map.
    pub build_id: [u8; 16],
    /// What it was woven to collect.
    pub kind: Kind,
    /// Whether frames may be left in it uncounted though none of its functions [leaks](FunctionMap::leaks): its
    /// map is of an earlier build, which did not say where.
    pub leaks_unknown: bool,
    /// Processes that ran it, by process id.
    pub processes: Vec<Process>,
}

/// A process that ran an image.
#[derive(Clone, Debug)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Process id of the parent.
    pub ppid: u32,
    /// Threads that entered instrumented code.
    pub threads: u32,
    /// Threads and hash segments whose counts were lost.
    pub lost: u64,
    /// Child of a fork that did not exec.
    pub forked: bool,
    /// Path of the image's file, as the process saw it.
    pub image_path: String,
}

/// A module of a link: a crate or an object file.
#[derive(Clone, Debug)]
pub struct Module {
    /// The image it is part of.
    pub image: ImageId,
    /// Crate or object file.
    pub name: Text,
    /// Compiler that made it.
    pub producer: Text,
    /// Functions left uninstrumented, with reasons.
    pub skipped: Vec<Skipped>,
    /// Functions for which no code was generated.
    pub gone: Vec<VanishedFunction>,
}

/// An instrumented function and what was counted in it.
#[derive(Debug)]
pub struct Function {
    /// The module it is part of.
    pub module: ModuleId,
    /// Modules of the image that hold a copy of it, this one included.
    pub copies: u32,
    /// Blocks, edges, numbering and places in the source.
    pub map: FunctionMap,
    /// (path number, times run), by number; no zeros. Empty where edges were counted.
    pub counts: Vec<(u64, u64)>,
    /// (path number, times), by number: paths that end in a call which came back more often than it was reached with
    /// them, and how much more (a fork's child goes on in the frames of its parent).
    pub reentries: Vec<(u64, u64)>,
    /// The sum of its counters, before counts were made of them: how often any was incremented.
    pub(crate) increments: u64,
    pub(crate) ran: bool,
    pub(crate) graph: Option<Graph>,
    pub(crate) flow: OnceLock<Flow>,
    /// Whether a child of a fork counted in it.
    pub(crate) forks: Forks,
    pub(crate) bounds: OnceLock<Bounds>,
}

impl Image {
    /// Whether paths end before calls, so that calls which did not return are known without exit edges (traces).
    pub fn ends_paths_at_calls(&self) -> bool {
        self.kind.traits().path_ends == PathEnds::Calls
    }
}

impl Function {
    /// What its counters count.
    pub fn unit(&self) -> Unit {
        match self.map.counters {
            Counters::Array { .. } | Counters::Hash { .. } => Unit::Paths,
            Counters::Edges { .. } => Unit::Edges,
        }
    }

    /// Path executions; 0 where edges were counted.
    pub fn executions(&self) -> u64 {
        self.counts
            .iter()
            .fold(0, |sum, &(_, count)| sum.saturating_add(count))
    }

    /// Times any of its counters was incremented: a path that goes on behind a call that may not
    /// come back is counted there once more, and edges off the spanning tree are counted alone.
    /// Loops that count in registers seem to count in memory.
    pub fn increments(&self) -> u64 {
        self.increments
    }

    /// Whether any of it ran.
    pub fn ran(&self) -> bool {
        self.ran
    }

    /// Whether it has exit edges.
    pub fn has_exits(&self) -> bool {
        self.map.has_exits()
    }

    /// Whether its counters are a hash table.
    pub fn hashed(&self) -> bool {
        matches!(self.map.counters, Counters::Hash { .. })
    }

    /// The numbered graph; present if paths were counted and some [`ran`](Self::ran).
    pub fn graph(&self) -> Option<&Graph> {
        self.graph.as_ref()
    }

    /// How its counts may differ from what ran, derived on first use.
    pub fn bounds(&self) -> &Bounds {
        self.bounds
            .get_or_init(|| Bounds::new(&self.map, self.unit(), self.forks))
    }

    /// Edge and block counts, derived on first use.
    pub fn flow(&self) -> &Flow {
        self.flow.get_or_init(|| match &self.graph {
            Some(graph) => graph.tally(&self.map, &self.counts).flow,
            None => Flow::zero(&self.map),
        })
    }
}

impl RunProfile {
    /// What was counted in the run: paths, where any image that ran was woven for them.
    pub fn unit(&self) -> Unit {
        let ran = |image: &&Image| !image.processes.is_empty();
        let unit = |image: &Image| image.kind.traits().unit;
        let of_some = self.images.iter().filter(ran).map(unit).min();
        of_some
            .or_else(|| self.images.iter().map(unit).min())
            .unwrap_or(Unit::Paths)
    }

    /// By image: whether frames left in a call are counted.
    pub fn exits_by_image(&self) -> Vec<bool> {
        let mut exits = vec![false; self.images.len()];
        for function in &self.functions {
            exits[self.module_of(function).image.index()] |= function.has_exits();
        }
        exits
    }

    /// Whether frames left in a call are counted, in images of which a function ran; where none did, in all with functions.
    pub fn exits(&self) -> Exits {
        let by_image = self.exits_by_image();
        let any_ran = self.functions.iter().any(Function::ran);
        let (mut on, mut off) = (false, false);
        for function in self.functions.iter().filter(|one| one.ran || !any_ran) {
            let exits = by_image[self.module_of(function).image.index()];
            on |= exits;
            off |= !exits;
        }
        match (on, off) {
            (true, true) => Exits::Mixed,
            (true, false) => Exits::On,
            (false, _) => Exits::Off,
        }
    }

    /// The function of an id.
    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.index()]
    }

    /// The module of a function.
    pub fn module_of(&self, function: &Function) -> &Module {
        &self.modules[function.module.index()]
    }

    /// All functions with their ids.
    pub fn ids(&self) -> impl Iterator<Item = (FunctionId, &Function)> {
        (0u32..).map(FunctionId).zip(&self.functions)
    }
}
