//! Represents a run: the counts of all its processes, joined with the path maps of its images.
//!
//! Each function's own map says whether its counters count paths or edges. Some images of a run may
//! have been woven for paths and others for edges. An image woven for edges also holds functions
//! whose paths are counted.

use holloway_flow::{Path, PathId};
use std::fmt;
use std::sync::OnceLock;

use holloway_abi::{Kind, PathEnds, Unit};
use holloway_format::{
    Count, Counters, CpuRecord, FunctionMap, SiteValue, Skipped, SourceFile, Text,
    VanishedFunction, WriteFailure,
};

use crate::bounds::{Bounds, Forks};
use crate::cpu_time::{CpuTime, SampleSums, Shares, WovenNames, cpu_time};
use crate::flow::Flow;
use crate::graph::Graph;
use crate::interrupt::Interrupt;
use crate::note::Note;
use crate::path_name::{PathName, PathNames};

/// A function of the run: its index in [`RunProfile::functions`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FunctionId(pub u32);

/// A module of the run: its index in [`RunProfile::modules`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ModuleId(pub u32);

/// An image (program or shared object) of the run: its index in [`RunProfile::images`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ImageId(pub u32);

impl FunctionId {
    /// Index in a table of functions.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl ModuleId {
    /// Index in a table of modules.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl ImageId {
    /// Index in a table of images.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for FunctionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "f{}", self.0)
    }
}

/// Whether the run counts frames that were left in a call that did not come back. An image counts
/// them if any of its functions has an exit edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exits {
    /// All images count them.
    On,
    /// No image counts them.
    Off,
    /// Some images count them.
    Mixed,
}

/// A run: images, modules, and functions with their counts.
#[derive(Debug)]
pub struct RunProfile {
    /// Programs and shared objects, in the order given.
    pub images: Vec<Image>,
    /// Modules of all images.
    pub modules: Vec<Module>,
    /// Instrumented functions of all images.
    pub functions: Vec<Function>,
    /// Damage, losses, functions that were left out, and the fact that the counts are a sample.
    pub damage: Vec<Note>,
    /// The signal that ended the run early, if one did.
    pub interrupt: Option<Interrupt>,
    /// The CPU time of the programs that holloway started for this run, if it was recorded.
    pub cpu_time: Option<CpuTime>,
    /// Where the counts come from.
    pub basis: CountBasis,
}

/// Where the counts of a run come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountBasis {
    /// The program counted. The counts are exact, except for what
    /// [`damage`](RunProfile::damage) lists.
    Counts,
    /// Samples. The counts are estimates: executions if each instruction took 1 ns
    /// ([`estimate`](crate::estimate)).
    Time {
        /// Samples in blocks.
        samples: Count,
    },
    /// Branch records. The counts say how often records show an edge or a path
    /// ([`branch_profile`](crate::branch_profile)). They are a sample, and not time-based.
    Branches {
        /// Branches in the records.
        branches: Count,
        /// Branches of the longest stack. 0 without stacks.
        depth: u64,
        /// What is counted.
        unit: Unit,
    },
}

/// A program or shared object.
#[derive(Clone, Debug)]
pub struct Image {
    /// File name of the link's output.
    pub name: String,
    /// Hash of the path map.
    pub build_id: [u8; 16],
    /// The kind that the image was woven to collect.
    pub kind: Kind,
    /// Whether the map does not list the blocks in which frames may be left uncounted
    /// ([`FunctionMap::leaks`]), because an earlier version wrote the map.
    pub leaks_unknown: bool,
    /// Processes that ran the image, by process id.
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
    /// Number of threads and hash segments whose counts were lost.
    pub lost: u64,
    /// The reason of the first loss, if it is known.
    pub failure: Option<WriteFailure>,
    /// Whether the process is a child of a fork that did not call `exec`.
    pub forked: bool,
    /// Path of the image's file, as the process saw it.
    pub image_path: String,
}

/// A module of a link: a crate or an object file.
#[derive(Clone, Debug)]
pub struct Module {
    /// The image that contains the module.
    pub image: ImageId,
    /// Name of the crate or object file.
    pub name: Text,
    /// The compiler that produced the module.
    pub producer: Text,
    /// Functions left uninstrumented, with reasons.
    pub skipped: Vec<Skipped>,
    /// Functions for which no code was generated.
    pub gone: Vec<VanishedFunction>,
    /// The source files whose content is known.
    pub sources: Vec<SourceFile>,
}

/// An instrumented function with its counts.
#[derive(Debug)]
pub struct Function {
    /// The module that contains the function.
    pub module: ModuleId,
    /// Number of modules of the image that hold a copy of the function, including `module`.
    pub copies: u32,
    /// Blocks, edges, numbering, and places in the source.
    pub map: FunctionMap,
    /// (path number, executions), by number, without zeros. Empty if edges were counted.
    pub counts: Vec<(PathId, Count)>,
    /// Targets of indirect calls and sizes of memory operations, by [key](SiteValue::key). Empty
    /// unless the function was built for training.
    pub values: Vec<(SiteValue, Count)>,
    /// (path number, excess), by number: left paths whose call came back more often than it was
    /// reached along the path, for example in a fork's child. The excess is the number of returns
    /// minus the number of times the call was reached.
    pub reentries: Vec<(PathId, Count)>,
    /// The sum of the function's counters, which is the number of increments.
    pub(crate) increments: Count,
    pub(crate) ran: bool,
    pub(crate) graph: Option<Graph>,
    pub(crate) flow: OnceLock<Flow>,
    /// Whether a fork's child counted in the function's image.
    pub(crate) forks: Forks,
    pub(crate) bounds: OnceLock<Bounds>,
    pub(crate) path_names: OnceLock<PathNames>,
}

impl Image {
    /// Whether paths end before calls, so that calls which did not return are known without exit
    /// edges (traces).
    pub fn ends_paths_at_calls(&self) -> bool {
        self.kind.traits().path_ends == PathEnds::Calls
    }
}

impl Function {
    /// The unit that the function's counters count.
    pub fn unit(&self) -> Unit {
        match self.map.counters {
            Counters::Array { .. } | Counters::Hash { .. } => Unit::Paths,
            Counters::Edges { .. } => Unit::Edges,
        }
    }

    /// Path executions; 0 if edges were counted.
    pub fn executions(&self) -> Count {
        self.counts
            .iter()
            .fold(Count::ZERO, |sum, &(_, count)| sum.saturating_add(count))
    }

    /// Increments of all counters of the function. A path that runs through a call that may not
    /// come back is counted at that call, too. Only edges off the spanning tree have counters.
    /// Loops that count in a register appear as if they counted in memory.
    pub fn increments(&self) -> Count {
        self.increments
    }

    /// Whether any part of the function ran.
    pub fn ran(&self) -> bool {
        self.ran
    }

    /// Whether the function has exit edges.
    pub fn has_exits(&self) -> bool {
        self.map.has_exits()
    }

    /// Whether the function's counters are in a hash table.
    pub fn hashed(&self) -> bool {
        matches!(self.map.counters, Counters::Hash { .. })
    }

    /// The numbered graph. It is present if paths were counted and the function [`ran`](Self::ran).
    pub fn graph(&self) -> Option<&Graph> {
        self.graph.as_ref()
    }

    /// How the counts may differ from the real executions, derived on first use.
    pub fn bounds(&self) -> &Bounds {
        self.bounds
            .get_or_init(|| Bounds::new(&self.map, self.unit(), self.forks))
    }

    /// The name of a path. `None` if the function has no path with this number, or has no
    /// [`graph`](Self::graph).
    pub fn path_name(&self, path: PathId) -> Option<PathName> {
        Some(self.name_of(&self.graph()?.path(path)?))
    }

    /// The name of a path that [`graph`](Self::graph) regenerated.
    pub fn name_of(&self, path: &Path) -> PathName {
        let names = self.path_names.get_or_init(|| PathNames::new(&self.map));
        names.name(path)
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
    /// Computes [`cpu_time`](Self::cpu_time) from the records of the run. All images of the run
    /// must be there, because code of other images counts as unwoven.
    pub fn add_cpu_time(&mut self, records: &[CpuRecord]) {
        let mut names = WovenNames::default();
        for function in &self.functions {
            let image = &self.images[self.module_of(function).image.index()];
            names.insert(image.build_id, &function.map.linkage_name);
        }
        self.cpu_time = cpu_time(records, &names);
    }

    /// The sums of the samples of CPU time, if the run has samples.
    pub fn samples(&self) -> Option<&SampleSums> {
        match &self.cpu_time.as_ref()?.shares {
            Shares::Sampled(sums) => Some(sums).filter(|sums| sums.total > Count::ZERO),
            Shares::Refused { .. } | Shares::Failed => None,
        }
    }

    /// The samples of CPU time in a function. `None` if the run has no samples, or if several
    /// functions of the image have the function's name.
    pub fn samples_of(&self, function: &Function) -> Option<Count> {
        let image = &self.images[self.module_of(function).image.index()];
        let name = &function.map.linkage_name;
        self.samples()?.of_function(&image.build_id, name)
    }

    /// The unit that the run counts: paths, if any image that ran was woven for paths.
    pub fn unit(&self) -> Unit {
        match self.basis {
            CountBasis::Counts => {}
            CountBasis::Time { .. } => return Unit::Edges,
            CountBasis::Branches { unit, .. } => return unit,
        }
        let ran = |image: &&Image| !image.processes.is_empty();
        let unit = |image: &Image| image.kind.traits().unit;
        let units_that_ran = self.images.iter().filter(ran).map(unit).min();
        units_that_ran
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

    /// Whether the images with functions that ran count frames left in a call. If no function ran,
    /// all images with functions are considered.
    pub fn exits(&self) -> Exits {
        let by_image = self.exits_by_image();
        let any_ran = self.functions.iter().any(Function::ran);
        let (mut on, mut off) = (false, false);
        for function in self
            .functions
            .iter()
            .filter(|function| function.ran || !any_ran)
        {
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

    /// The function with this id.
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
