//! What the terminals of a trace stand for in the program: functions, paths, and what each event does.
//!
//! Cost: a function's graph is built when one of its paths is first asked for; a path costs its length.

use std::cell::OnceCell;

use holloway_flow::{BlockId, Path, PathId, PathStart};
use holloway_format::{FunctionMap, ImageMap, ModuleMap};

use super::Terminal;
use crate::flow::is_before_call;
use crate::graph::{Graph, check_indices};
use crate::stream::closes;

/// What a terminal of a trace does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A path ran.
    Path {
        /// Its function, as in [`Terminal::Path`].
        function: u32,
        /// It starts at the function's entry: an activation begins.
        enters: bool,
        /// It ends at the function's exit: the activation ends.
        leaves: bool,
        /// It starts with the call that the path before it ended at.
        resumes: bool,
        /// It ends before a call: if the call doesn't come back, no path runs it.
        calls: bool,
        /// Instructions on it.
        instructions: u64,
    },
    /// So many activations ended without a path to their exit.
    Left(u32),
    /// Something is missing: no open activation is known any more.
    Gap,
}

impl Event {
    /// The function, of a path.
    pub fn function(self) -> Option<u32> {
        match self {
            Event::Path { function, .. } => Some(function),
            Event::Left(_) | Event::Gap => None,
        }
    }

    /// Whether an activation begins.
    pub fn enters(self) -> bool {
        matches!(self, Event::Path { enters: true, .. })
    }

    /// Whether an activation ends along a path.
    pub fn leaves(self) -> bool {
        matches!(self, Event::Path { leaves: true, .. })
    }

    /// Instructions, of a path.
    pub fn instructions(self) -> u64 {
        match self {
            Event::Path { instructions, .. } => instructions,
            Event::Left(_) | Event::Gap => 0,
        }
    }
}

/// The functions of an image by the numbers that traces know them by.
pub struct Code<'a> {
    map: &'a ImageMap,
    functions: Vec<(&'a ModuleMap, &'a FunctionMap)>,
    graphs: Vec<OnceCell<Option<Graph>>>,
}

impl<'a> Code<'a> {
    /// Numbers the functions of an image.
    pub fn new(map: &'a ImageMap) -> Code<'a> {
        let modules = map.modules.iter().map(|placed| &placed.module);
        let functions: Vec<_> = modules
            .flat_map(|module| module.functions.iter().map(move |one| (module, one)))
            .collect();
        let graphs = functions.iter().map(|_| OnceCell::new()).collect();
        Code {
            map,
            functions,
            graphs,
        }
    }

    /// The image.
    pub fn map(&self) -> &'a ImageMap {
        self.map
    }

    /// All functions, in the order of their numbers.
    pub fn functions(&self) -> impl Iterator<Item = (u32, &'a FunctionMap)> + '_ {
        (0u32..).zip(self.functions.iter().map(|&(_, function)| function))
    }

    /// The function of a number.
    pub fn function(&self, number: u32) -> Option<&'a FunctionMap> {
        Some(self.functions.get(number as usize)?.1)
    }

    /// The module of a function.
    pub fn module(&self, number: u32) -> Option<&'a ModuleMap> {
        Some(self.functions.get(number as usize)?.0)
    }

    /// A path of a function; nothing if the map has none.
    pub fn path(&self, function: u32, path: u32) -> Option<Path> {
        let graph = self.graphs.get(function as usize)?.get_or_init(|| {
            let map = self.function(function)?;
            check_indices(map).ok()?;
            Graph::new(map).ok()
        });
        graph.as_ref()?.path(PathId(path.into()))
    }

    /// What a terminal does; a path that the map doesn't have is a gap.
    pub fn event(&self, terminal: Terminal) -> Event {
        match terminal {
            Terminal::Path { function, path } => {
                self.path_event(function, path).unwrap_or(Event::Gap)
            }
            Terminal::Left(frames) => Event::Left(frames),
            Terminal::Gap => Event::Gap,
        }
    }

    fn path_event(&self, function: u32, path: u32) -> Option<Event> {
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

    /// What each terminal does.
    pub fn events(&self, terminals: &[Terminal]) -> Vec<Event> {
        terminals.iter().map(|&one| self.event(one)).collect()
    }
}

/// Whether paths end before the call that the block begins with.
fn begins_with_call(map: &FunctionMap, block: BlockId) -> bool {
    let mut edges = map.edges.iter();
    edges.any(|edge| edge.to == block.0 && is_before_call(edge))
}
