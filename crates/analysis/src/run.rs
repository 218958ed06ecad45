//! A run: the profiles of all its processes, summed, joined with the path maps of its images.
//!
//! A function that several modules hold copies of (a template or a generic, of which the linker kept one) stands
//! here once: copies without counts are dropped when another copy has some, or when all are alike.
//!
//! Cost: time and memory linear in functions and counted paths, plus sorting where several processes meet.

use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

use holloway_format::{Counters, FunctionMap, Gone, ImageMap, Profile, Skipped, Text};

use crate::graph::{Flow, Graph, check_indices};

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

/// All that is known of a run.
#[derive(Debug)]
pub struct RunProfile {
    /// Programs and shared objects, in the order given.
    pub images: Vec<Image>,
    /// Modules of all images.
    pub modules: Vec<Module>,
    /// Instrumented functions of all images.
    pub functions: Vec<Function>,
    /// What could not be read and is missing here, a sentence each.
    pub damage: Vec<String>,
}

/// A program or shared object.
#[derive(Clone, Debug)]
pub struct Image {
    /// File name of the link's output.
    pub name: String,
    /// Hash of the path map.
    pub build_id: [u8; 16],
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
    pub gone: Vec<Gone>,
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
    /// (path number, times run), by number; no zeros.
    pub counts: Vec<(u64, u64)>,
    graph: Option<Graph>,
    flow: OnceLock<Flow>,
}

impl Function {
    /// Path executions.
    pub fn executions(&self) -> u64 {
        self.counts
            .iter()
            .fold(0, |sum, &(_, count)| sum.saturating_add(count))
    }

    /// Whether any path of it ran.
    pub fn ran(&self) -> bool {
        !self.counts.is_empty()
    }

    /// Whether its counters are a hash table.
    pub fn hashed(&self) -> bool {
        matches!(self.map.counters, Counters::Hash { .. })
    }

    /// The numbered graph; present if the function [`ran`](Self::ran).
    pub fn graph(&self) -> Option<&Graph> {
        self.graph.as_ref()
    }

    /// Edge and block counts, derived from the path counts on first use.
    pub fn flow(&self) -> &Flow {
        self.flow.get_or_init(|| match &self.graph {
            Some(graph) => graph.flow(&self.map, &self.counts),
            None => Flow::zero(&self.map),
        })
    }
}

impl RunProfile {
    /// Joins images, each with its path map and the profiles of the processes that ran it.
    ///
    /// A function whose counts don't fit its map is left out and named in [`damage`](Self::damage).
    pub fn new(images: Vec<(ImageMap, Vec<Profile>)>) -> RunProfile {
        let mut run = RunProfile {
            images: Vec::new(),
            modules: Vec::new(),
            functions: Vec::new(),
            damage: Vec::new(),
        };
        for (map, profiles) in images {
            run.add(map, &profiles);
        }
        run
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

    fn add(&mut self, map: ImageMap, profiles: &[Profile]) {
        let image = ImageId(self.images.len() as u32);
        self.damage.extend(
            map.damage
                .iter()
                .map(|damage| format!("{}: {damage}", map.name)),
        );
        let mut counts = self.sum(&map, profiles);
        self.images.push(Image {
            name: map.name,
            build_id: map.build_id,
            processes: processes(profiles),
        });
        let mut functions = Vec::new();
        for (index, placed) in (0u32..).zip(map.modules) {
            let id = ModuleId(self.modules.len() as u32);
            let module = placed.module;
            for (number, map) in (0u32..)
                .zip(module.functions)
                .filter(|(_, map)| !map.is_damaged())
            {
                let counts = counts.remove(&(index, number)).unwrap_or_default();
                functions.push(Function {
                    module: id,
                    copies: 1,
                    map,
                    counts,
                    graph: None,
                    flow: OnceLock::new(),
                });
            }
            let (name, producer) = (module.name, module.producer);
            self.modules.push(Module {
                image,
                name,
                producer,
                skipped: module.skipped,
                gone: module.gone,
            });
        }
        for mut function in without_copies(functions) {
            match check_indices(&function.map) {
                Ok(()) => {
                    self.number(&mut function);
                    self.functions.push(function);
                }
                Err(reason) => self.damage_in(&function, &reason),
            }
        }
    }

    /// Sums the counts of all profiles of an image, by module and function.
    fn sum(
        &mut self,
        map: &ImageMap,
        profiles: &[Profile],
    ) -> HashMap<(u32, u32), Vec<(u64, u64)>> {
        let mut sums: HashMap<(u32, u32), Vec<(u64, u64)>> = HashMap::new();
        for profile in profiles {
            let origin = format!("{}, process {}", map.name, profile.pid);
            self.damage.extend(
                profile
                    .damage
                    .iter()
                    .map(|damage| format!("{origin}: {damage}")),
            );
            for function in &profile.functions {
                let sum = sums
                    .entry((function.module, function.function))
                    .or_default();
                sum.extend(function.counts.iter().filter(|&&(_, count)| count > 0));
            }
        }
        for sum in sums.values_mut() {
            add_up(sum);
        }
        sums
    }

    /// Builds the graph of a function that ran; where its map makes none, its counts go to the damage.
    fn number(&mut self, function: &mut Function) {
        if function.counts.is_empty() {
            return;
        }
        match Graph::new(&function.map) {
            Ok(graph) => {
                let fit = function
                    .counts
                    .partition_point(|&(path, _)| path < graph.path_count());
                let beyond = function.counts.split_off(fit);
                if let Some((path, _)) = beyond.first() {
                    let numbers = beyond.len();
                    let sentence = format!(
                        "{numbers} path numbers from {path} on, where it has {}",
                        graph.path_count()
                    );
                    self.damage_in(function, &sentence);
                }
                function.graph = Some(graph);
            }
            Err(reason) => {
                self.damage_in(function, &reason);
                function.counts.clear();
            }
        }
    }

    fn damage_in(&mut self, function: &Function, reason: &str) {
        let module = self.module_of(function);
        let image = &self.images[module.image.index()].name;
        let sentence = format!(
            "{image}: {} in {}: {reason}; left out",
            function.map.linkage_name, module.name
        );
        self.damage.push(sentence);
    }
}

fn processes(profiles: &[Profile]) -> Vec<Process> {
    let mut processes: Vec<_> = profiles
        .iter()
        .map(|profile| Process {
            pid: profile.pid,
            ppid: profile.ppid,
            threads: profile.threads,
            lost: profile.lost,
            forked: profile.forked,
            image_path: profile.image_path.clone(),
        })
        .collect();
    processes.sort_by_key(|process| process.pid);
    processes
}

/// Sorts by path and joins equal paths.
fn add_up(counts: &mut Vec<(u64, u64)>) {
    if !counts.is_sorted_by(|a, b| a.0 < b.0) {
        counts.sort_unstable_by_key(|&(path, _)| path);
        counts.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            same
        });
    }
}

/// Drops copies of a function that never ran beside one that stays; the ones that stay know how many there were.
fn without_copies(mut functions: Vec<Function>) -> Vec<Function> {
    let mut groups: HashMap<(&str, &str, u32), (u32, bool)> = HashMap::new();
    for function in &functions {
        let group = groups.entry(key(&function.map)).or_default();
        group.0 += 1;
        group.1 |= function.ran();
    }
    let mut fates = Vec::with_capacity(functions.len());
    let mut seen = std::collections::HashSet::new();
    for function in &functions {
        let (copies, any_ran) = groups[&key(&function.map)];
        let first = seen.insert(key(&function.map));
        fates.push((copies, if any_ran { function.ran() } else { first }));
    }
    let mut fates = fates.into_iter();
    functions.retain_mut(|function| {
        let (copies, stays) = fates.next().expect("a fate for each function");
        function.copies = copies;
        stays
    });
    functions
}

fn key(map: &FunctionMap) -> (&str, &str, u32) {
    (&map.linkage_name, &map.file, map.line)
}
