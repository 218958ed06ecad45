//! Maps the terminals of a trace to events of the program: paths of functions, frames that were
//! left, and gaps.
//!
//! Cost: the first request for a path of a function builds the function's graph. Each path costs a
//! step for each of its blocks.

use std::cell::OnceCell;

use holloway_flow::{BlockId, Path, PathId, PathStart};
use holloway_format::{FunctionMap, ImageMap, ModuleMap};

use super::Terminal;
use crate::block_addresses::{AddressLookup, UnknownAddresses};
use crate::flow::is_before_call;
use crate::graph::{Graph, check_indices};
use crate::path_name::{PathName, PathNames};
use crate::stream::closes;

/// An event of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A path ran.
    Path {
        /// The path's function, as in [`Terminal::Path`].
        function: u32,
        /// Whether the path starts at the function's entry, so that an activation begins.
        enters: bool,
        /// Whether the path ends at the function's exit, so that the activation ends.
        leaves: bool,
        /// Whether the path starts with the call before which the previous path of the activation
        /// ended.
        resumes: bool,
        /// Whether the path ends before a call. If the call does not return, no path contains the
        /// call.
        calls: bool,
        /// Number of instructions on the path.
        instructions: u64,
    },
    /// This number of activations ended without a path to their exit.
    Left(u32),
    /// Events are missing. No open activation is known after a gap.
    Gap,
}

impl Event {
    /// The function, if the event is a path.
    pub fn function(self) -> Option<u32> {
        match self {
            Event::Path { function, .. } => Some(function),
            Event::Left(_) | Event::Gap => None,
        }
    }

    /// Whether the event is a path that begins an activation.
    pub fn enters(self) -> bool {
        matches!(self, Event::Path { enters: true, .. })
    }

    /// Whether the event is a path that ends an activation.
    pub fn leaves(self) -> bool {
        matches!(self, Event::Path { leaves: true, .. })
    }

    /// Number of instructions; 0 if the event is not a path.
    pub fn instructions(self) -> u64 {
        match self {
            Event::Path { instructions, .. } => instructions,
            Event::Left(_) | Event::Gap => 0,
        }
    }
}

/// The functions of an image, by the numbers that traces use.
pub struct Code<'a> {
    map: &'a ImageMap,
    functions: Vec<(&'a ModuleMap, &'a FunctionMap)>,
    graphs: Vec<OnceCell<Option<Graph>>>,
    path_names: Vec<OnceCell<PathNames>>,
    addresses: AddressLookup,
}

impl<'a> Code<'a> {
    /// Numbers the functions of an image.
    pub fn new(map: &'a ImageMap) -> Code<'a> {
        let modules = map.modules.iter().map(|placed| &placed.module);
        let functions: Vec<_> = modules
            .flat_map(|module| {
                module
                    .functions
                    .iter()
                    .map(move |function| (module, function))
            })
            .collect();
        let graphs = functions.iter().map(|_| OnceCell::new()).collect();
        let path_names = functions.iter().map(|_| OnceCell::new()).collect();
        Code {
            map,
            functions,
            graphs,
            path_names,
            addresses: Err(UnknownAddresses::default()),
        }
    }

    /// The same code with the addresses of its blocks.
    #[must_use]
    pub fn with_addresses(self, addresses: AddressLookup) -> Code<'a> {
        Code { addresses, ..self }
    }

    /// The addresses of blocks.
    pub fn addresses(&self) -> &AddressLookup {
        &self.addresses
    }

    /// The image.
    pub fn map(&self) -> &'a ImageMap {
        self.map
    }

    /// All functions, in the order of their numbers.
    pub fn functions(&self) -> impl Iterator<Item = (u32, &'a FunctionMap)> + '_ {
        (0u32..).zip(self.functions.iter().map(|&(_, function)| function))
    }

    /// The function with this number.
    pub fn function(&self, number: u32) -> Option<&'a FunctionMap> {
        Some(self.functions.get(number as usize)?.1)
    }

    /// The module of a function.
    pub fn module(&self, number: u32) -> Option<&'a ModuleMap> {
        Some(self.functions.get(number as usize)?.0)
    }

    /// A path of a function; `None` if the map does not contain it.
    pub fn path(&self, function: u32, path: PathId) -> Option<Path> {
        let graph = self.graphs.get(function as usize)?.get_or_init(|| {
            let map = self.function(function)?;
            check_indices(map).ok()?;
            Graph::new(map).ok()
        });
        graph.as_ref()?.path(path)
    }

    /// The name of a path of a function; `None` if the map does not contain the path.
    pub fn path_name(&self, function: u32, path: PathId) -> Option<PathName> {
        let (map, path) = (self.function(function)?, self.path(function, path)?);
        let names = self.path_names[function as usize].get_or_init(|| PathNames::new(map));
        Some(names.name(&path))
    }

    /// Whether paths of a function end before calls.
    pub fn ends_paths_at_calls(&self, function: u32) -> bool {
        let map = self.function(function);
        map.is_some_and(|map| map.edges.iter().any(is_before_call))
    }

    /// The event of a terminal. A path that is not in the map counts as a gap.
    pub fn event(&self, terminal: Terminal) -> Event {
        match terminal {
            Terminal::Path { function, path } => self
                .path_event(function, PathId(path.into()))
                .unwrap_or(Event::Gap),
            Terminal::Left(frames) => Event::Left(frames),
            Terminal::Gap => Event::Gap,
        }
    }

    fn path_event(&self, function: u32, path: PathId) -> Option<Event> {
        let map = self.function(function)?;
        let path = self.path(function, path)?;
        let instructions = path.blocks.iter();
        let instructions =
            instructions.map(|block| u64::from(map.blocks[block.index()].instructions));
        let first = *path.blocks.first()?;
        Some(Event::Path {
            function,
            enters: path.start == PathStart::Entry,
            leaves: closes(map, &path),
            resumes: path.start != PathStart::Entry && begins_with_call(map, first),
            calls: is_before_call(&map.edges[path.end.edge().index()]),
            instructions: instructions.sum(),
        })
    }

    /// The event of each terminal.
    pub fn events(&self, terminals: &[Terminal]) -> Vec<Event> {
        terminals
            .iter()
            .map(|&terminal| self.event(terminal))
            .collect()
    }
}

/// Whether a block begins with a call before which paths end.
fn begins_with_call(map: &FunctionMap, block: BlockId) -> bool {
    let mut edges = map.edges.iter();
    edges.any(|edge| edge.to == block.0 && is_before_call(edge))
}
