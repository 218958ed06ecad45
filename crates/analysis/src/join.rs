//! Joins the profiles of a run with the path maps of its images.
//!
//! Several modules may hold copies of one function, such as a template or a generic. The linker
//! keeps one copy. Only the copies with counts are listed. If no copy has counts, the first copy
//! is listed.
//!
//! This module derives the flow from edge counters, and the executions of paths from the counters
//! of functions with left paths. It also finds counts that do not fit the map and lists them in
//! notes. Everything else is derived on first use.
//!
//! Cost: time and memory are linear in functions and counted paths, plus sorting if the counts of
//! several processes are added up.

use holloway_flow::PathId;
use std::collections::HashMap;
use std::sync::OnceLock;

use holloway_abi::Unit;
use holloway_format::{Count, Damage, FunctionIndex, FunctionMap, ImageMap, Profile, SiteValue};

use crate::bounds::Forks;
use crate::flow::Flow;
use crate::graph::{Graph, check_indices};
use crate::misfit::Misfit;
use crate::note::{FunctionPlace, Note, Origin};
use crate::run::{CountBasis, Function, Image, ImageId, Module, ModuleId, Process, RunProfile};

/// Sums of counts by module and function.
pub(crate) type Sums = HashMap<FunctionIndex, FunctionSums>;

/// Sums of a function's counts.
#[derive(Default)]
pub(crate) struct FunctionSums {
    /// Each count has the number of a path, counter, or block.
    pub(crate) counts: Vec<(u64, Count)>,
    /// Each count has the key of a value.
    pub(crate) values: Vec<(u64, Count)>,
}

impl FunctionSums {
    /// Adds up the counts of equal numbers.
    pub(crate) fn add_up(&mut self) {
        add_up(&mut self.counts);
        add_up(&mut self.values);
    }
}

impl RunProfile {
    /// Joins images, each with its path map and the profiles of the processes that ran it.
    ///
    /// A function whose counts do not fit its map is left out and listed in
    /// [`damage`](Self::damage).
    pub fn new(images: Vec<(ImageMap, Vec<Profile>)>) -> RunProfile {
        let mut run = RunProfile {
            images: Vec::new(),
            modules: Vec::new(),
            functions: Vec::new(),
            damage: Vec::new(),
            interrupt: None,
            cpu_time: None,
            basis: CountBasis::Counts,
        };
        for (map, profiles) in images {
            run.note_damage(&map);
            let sums = run.sum(&map, &profiles);
            let forks = match profiles.iter().any(|profile| profile.head.forked) {
                true => Forks::Present,
                false => Forks::Absent,
            };
            let mut derive = |run: &mut RunProfile, function: &mut Function| {
                run.derive_counts(function);
            };
            run.add(map, sums, processes(&profiles), forks, &mut derive);
        }
        run
    }

    /// Lists the damage of a path map.
    pub(crate) fn note_damage(&mut self, map: &ImageMap) {
        self.damage
            .extend(map.damage.iter().map(|damage| Note::Map {
                image: map.name.clone(),
                damage: damage.clone(),
            }));
    }

    /// Adds an image. `sums` are the counts of each function, and `derive` derives its flow from
    /// them.
    pub(crate) fn add(
        &mut self,
        map: ImageMap,
        mut sums: Sums,
        processes: Vec<Process>,
        forks: Forks,
        derive: &mut dyn FnMut(&mut RunProfile, &mut Function),
    ) {
        let image = ImageId(self.images.len() as u32);
        self.images.push(Image {
            name: map.name,
            build_id: map.build_id,
            kind: map.kind,
            leaks_unknown: map.leaks_unknown && map.kind.counts_exits(),
            processes,
        });
        let mut functions = Vec::new();
        for (module_index, image_module) in (0u32..).zip(map.modules) {
            let id = ModuleId(self.modules.len() as u32);
            let module = image_module.module;
            for (number, map) in (0u32..)
                .zip(module.functions)
                .filter(|(_, map)| !map.is_damaged())
            {
                let index = FunctionIndex {
                    module: module_index,
                    function: number,
                };
                let sums = sums.remove(&index).unwrap_or_default();
                let counts = sums.counts.into_iter();
                let counts: Vec<_> = counts.map(|(path, count)| (PathId(path), count)).collect();
                let values = sums.values.into_iter();
                let values = values.map(|(key, count)| (SiteValue::from_key(key), count));
                functions.push(Function {
                    module: id,
                    copies: 1,
                    map,
                    ran: !counts.is_empty(),
                    counts,
                    values: values.collect(),
                    reentries: Vec::new(),
                    increments: Count::ZERO,
                    graph: None,
                    flow: OnceLock::new(),
                    forks,
                    bounds: OnceLock::new(),
                    path_names: OnceLock::new(),
                });
            }
            let (name, producer) = (module.name, module.producer);
            self.modules.push(Module {
                image,
                name,
                producer,
                skipped: module.skipped,
                gone: module.gone,
                sources: module.sources,
            });
        }
        for mut function in without_copies(functions) {
            if let Err(misfit) = check_indices(&function.map) {
                self.leave_out(&function, misfit);
                continue;
            }
            if function.ran {
                derive(self, &mut function);
            }
            self.functions.push(function);
        }
    }

    /// Sums the counts of all profiles of an image, by module and function.
    fn sum(&mut self, map: &ImageMap, profiles: &[Profile]) -> Sums {
        let mut sums = Sums::new();
        for profile in profiles {
            let note = |damage: &Damage| Note::Profile {
                origin: Origin {
                    image: map.name.clone(),
                    process: profile.head.pid,
                },
                damage: damage.clone(),
            };
            self.damage.extend(profile.damage.iter().map(note));
            for function in &profile.functions {
                let sum = sums.entry(function.index).or_default();
                let counts = function.counts.iter();
                let counts = counts.filter(|&&(_, count)| count > Count::ZERO);
                sum.counts.extend(counts);
                sum.values.extend(&function.values);
            }
        }
        sums.values_mut().for_each(FunctionSums::add_up);
        sums
    }

    /// Derives a function's counts from its counters. If they do not fit its map, a note says why.
    pub(crate) fn derive_counts(&mut self, function: &mut Function) {
        let derived = match function.unit() {
            Unit::Paths => self.derive_path_counts(function),
            Unit::Edges => self.derive_edge_counts(function),
        };
        if let Err(misfit) = derived {
            self.leave_out(function, misfit);
            function.counts.clear();
            function.increments = Count::ZERO;
        }
        function.ran = !function.counts.is_empty();
        if function.unit() == Unit::Edges {
            function.counts.clear();
        }
    }

    fn derive_path_counts(&mut self, function: &mut Function) -> Result<(), Misfit> {
        let graph = Graph::new(&function.map)?;
        self.drop_counts_beyond_limit(function, graph.path_count(), "path");
        function.increments = function.executions();
        if graph.has_left_paths() {
            let tally = graph.tally(&function.map, &function.counts);
            function.counts = tally.paths;
            function.reentries = tally.reentries;
            function.flow = OnceLock::from(tally.flow);
        }
        function.graph = Some(graph);
        Ok(())
    }

    fn derive_edge_counts(&mut self, function: &mut Function) -> Result<(), Misfit> {
        let counters = function.map.counted.len() as u64;
        self.drop_counts_beyond_limit(function, counters, "counter");
        function.increments = function.executions();
        let (flow, negative) = Flow::of_counters(
            &function.map,
            function
                .counts
                .iter()
                .map(|&(counter, count)| (counter.0, count)),
        )?;
        if negative > 0 {
            let note = Note::NegativeEdges {
                function: self.place_of(function),
                edges: negative,
            };
            self.damage.push(note);
        }
        function.flow = OnceLock::from(flow);
        Ok(())
    }

    /// Drops counts of paths or counters whose numbers the function does not have.
    fn drop_counts_beyond_limit(
        &mut self,
        function: &mut Function,
        limit: u64,
        counted: &'static str,
    ) {
        let within_limit = function
            .counts
            .partition_point(|&(number, _)| number < PathId(limit));
        let beyond = function.counts.split_off(within_limit);
        if let Some(&(first, _)) = beyond.first() {
            let misfit = Misfit::CountsBeyond {
                counted,
                numbers: beyond.len(),
                first: first.0,
                limit,
            };
            self.leave_out(function, misfit);
        }
    }

    pub(crate) fn leave_out(&mut self, function: &Function, misfit: Misfit) {
        let function = self.place_of(function);
        self.damage.push(Note::LeftOut { function, misfit });
    }

    fn place_of(&self, function: &Function) -> FunctionPlace {
        let module = self.module_of(function);
        FunctionPlace {
            image: self.images[module.image.index()].name.clone(),
            module: module.name.to_string(),
            name: function.map.linkage_name.to_string(),
        }
    }
}

fn processes(profiles: &[Profile]) -> Vec<Process> {
    let mut processes: Vec<_> = profiles
        .iter()
        .map(|profile| Process {
            pid: profile.head.pid,
            ppid: profile.head.ppid,
            threads: profile.head.threads,
            lost: profile.head.lost,
            failure: profile.head.failure,
            forked: profile.head.forked,
            image_path: profile.head.image_path.to_string_lossy().into_owned(),
        })
        .collect();
    processes.sort_by_key(|process| process.pid);
    processes
}

/// Sorts counts by number and adds up the counts of equal numbers.
pub(crate) fn add_up<N: Ord + Copy>(counts: &mut Vec<(N, Count)>) {
    if !counts.is_sorted_by(|a, b| a.0 < b.0) {
        counts.sort_unstable_by_key(|&(number, _)| number);
        counts.dedup_by(|next, sum| {
            let is_same_number = next.0 == sum.0;
            if is_same_number {
                sum.1 = sum.1.saturating_add(next.1);
            }
            is_same_number
        });
    }
}

/// Drops the copies of a function without counts, except the first copy if no copy has counts. Sets
/// the number of copies in each remaining function.
fn without_copies(mut functions: Vec<Function>) -> Vec<Function> {
    // By function: the number of its copies, and whether any copy ran.
    let mut groups: HashMap<(&str, &str, u32), (u32, bool)> = HashMap::new();
    for function in &functions {
        let group = groups.entry(identity(&function.map)).or_default();
        group.0 += 1;
        group.1 |= function.ran;
    }
    // By function: the number of its copies, and whether it stays.
    let mut decisions = Vec::with_capacity(functions.len());
    let mut seen = std::collections::HashSet::new();
    for function in &functions {
        let (copies, any_ran) = groups[&identity(&function.map)];
        let is_first = seen.insert(identity(&function.map));
        decisions.push((copies, if any_ran { function.ran() } else { is_first }));
    }
    let mut decisions = decisions.into_iter();
    functions.retain_mut(|function| {
        let (copies, stays) = decisions.next().expect("a decision for each function");
        function.copies = copies;
        stays
    });
    functions
}

fn identity(map: &FunctionMap) -> (&str, &str, u32) {
    (&map.linkage_name, &map.file, map.line)
}
