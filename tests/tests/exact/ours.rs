//! Derives our counts again with simple algorithms: from path counts by walking each path through
//! the acyclic graph of the map, and from edge counts by solving for one unknown after another. No
//! code of `flow` or `analysis` is used.

use anyhow::{Context, Result, ensure};
use holloway_analysis::RunProfile;
use holloway_format::{
    Count, Counters, DagKind, EdgeKind, EdgeMap, FunctionIndex, FunctionMap, ImageMap, Outcome,
    Profile, peek_profile, read_map, read_profile,
};
use holloway_testkit::walk::walk;
use holloway_tests::report::Report;
use holloway_tests::tool::{Output, holloway_command, run};
use holloway_tests::workload::{LUA, Workload};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

/// A run as it is stored: the map and the profile of its only image and process.
pub(crate) struct Recorded {
    pub(crate) map: ImageMap,
    pub(crate) profile: Profile,
    pub(crate) report: Report,
}

impl Recorded {
    /// Returns the run as `analysis` joins it.
    pub(crate) fn run(&self) -> RunProfile {
        RunProfile::new(vec![(self.map.clone(), vec![self.profile.clone()])])
    }
}

/// A function with its counts.
pub(crate) struct Counted<'a> {
    pub(crate) module: &'a str,
    pub(crate) map: &'a FunctionMap,
    pub(crate) counts: &'a [(u64, Count)],
}

/// Changes a copied workload so that it runs the same way each time.
pub(crate) fn steady(workload: &Workload, folder: &Path) -> Result<()> {
    if *workload == LUA {
        // Lua hashes some pointers, and their values differ between two builds.
        let limits = folder.join("llimits.h");
        let text = std::fs::read_to_string(&limits)?;
        let fixed = text.replace("((L_P2I)(p) & UINT_MAX)", "((L_P2I)(p) & 0)");
        ensure!(fixed != text, "llimits.h defines point2uint in another way");
        std::fs::write(limits, fixed)?;
    }
    Ok(())
}

/// Runs a program with `holloway run` and reads the run's directory. The program must succeed.
pub(crate) fn record(
    program: &Path,
    arguments: &[&str],
    data: &Path,
    environment: &[(&str, &Path)],
) -> Result<Recorded> {
    let (output, recorded) = record_any(program, arguments, data, environment)?;
    ensure!(
        output.status.success(),
        "{}: {}\n{}",
        program.display(),
        output.ending(),
        output.stderr
    );
    Ok(recorded)
}

/// Records a program like [`record`]. The program may end in any way.
pub(crate) fn record_any(
    program: &Path,
    arguments: &[&str],
    data: &Path,
    environment: &[(&str, &Path)],
) -> Result<(Output, Recorded)> {
    let mut command = holloway_command(["run", "--no-report", "-o"]);
    command
        .arg(data)
        .arg("--")
        .arg(program)
        .args(arguments)
        .envs(environment.iter().copied());
    Ok((run(&mut command)?, read(data)?))
}

/// Reads a run's directory, and adds up the counts of its processes.
pub(crate) fn read(data: &Path) -> Result<Recorded> {
    let files = |extension: &str| -> Result<Vec<Vec<u8>>> {
        let mut all = Vec::new();
        for entry in std::fs::read_dir(data)? {
            let path = entry?.path();
            if path.extension().is_some_and(|e| e == extension) {
                all.push(std::fs::read(path)?);
            }
        }
        Ok(all)
    };
    let maps = files("hwm")?;
    ensure!(
        maps.len() == 1,
        "{} maps in {}, not one",
        maps.len(),
        data.display()
    );
    let map = read_map(&maps[0])?;
    ensure!(map.damage.is_empty(), "a damaged map");
    let mut profiles = Vec::new();
    for bytes in files("hwp")? {
        ensure!(
            peek_profile(&bytes)?.sealed,
            "holloway run left an unsealed profile of an ended process"
        );
        profiles.push(read_profile(&bytes, &map)?);
    }
    let profile = Profile::sum(profiles)?.context("no profile was written")?;
    ensure!(profile.damage.is_empty(), "a damaged profile");
    Ok(Recorded {
        map,
        profile,
        report: Report::of_run(data)?,
    })
}

impl Recorded {
    /// All instrumented functions, including those that did not run.
    pub(crate) fn functions(&self) -> Vec<Counted<'_>> {
        let mut all = Vec::new();
        for (m, module) in self.map.modules.iter().enumerate() {
            for (f, map) in module.module.functions.iter().enumerate() {
                let index = FunctionIndex {
                    module: m as u32,
                    function: f as u32,
                };
                let counts = self.profile.function(index).map_or(&[][..], |c| &c.counts);
                all.push(Counted {
                    module: module.module.name.as_str(),
                    map,
                    counts,
                });
            }
        }
        all
    }
}

/// The counts of a function, derived from its counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flow {
    /// Number of calls.
    pub(crate) calls: i128,
    /// The count of each edge of the graph. Exit edges have net counts.
    pub(crate) edges: Vec<i128>,
    /// Times each block ran: the larger of its inflow and its outflow. The outflow is larger if
    /// frames were entered again.
    pub(crate) blocks: Vec<i128>,
}

impl Counted<'_> {
    /// Derives the counts of calls, edges, and blocks from the counters of paths or edges.
    pub(crate) fn flow(&self) -> Result<Flow> {
        let (calls, edges) = match self.map.counters {
            Counters::Edges { .. } => solve(self.map, self.counts)
                .with_context(|| format!("the counters of {}", self.map.linkage_name.as_str()))?,
            Counters::Array { .. } | Counters::Hash { .. } => walk_all(self.map, self.counts),
        };
        let blocks = (0..self.map.blocks.len() as u32).map(|block| {
            let (into, on) = in_and_on(self.map, block, calls, &edges);
            into.max(on)
        });
        Ok(Flow {
            calls,
            blocks: blocks.collect(),
            edges,
        })
    }

    /// By block: the first part of the undivided block. With exit edges, blocks are divided after
    /// calls that may not come back.
    pub(crate) fn heads(&self) -> Vec<usize> {
        let mut heads: Vec<usize> = (0..self.map.blocks.len()).collect();
        for edge in &self.map.edges {
            if edge.outcome == Outcome::Returned {
                heads[edge.to as usize] = heads[edge.from as usize];
            }
        }
        heads
    }

    /// By block: the results of `find` for the lines of the block that may contain tracer calls. A
    /// line that is in several parts of a block belongs to the first. Inlined functions have no
    /// tracer calls.
    pub(crate) fn traced<T: PartialEq>(&self, find: impl Fn(u32) -> Option<T>) -> Vec<Vec<T>> {
        let calls: HashSet<u32> = exits(self.map).map(|e| e.from).collect();
        let heads = self.heads();
        let mut all: Vec<Vec<T>> = heads.iter().map(|_| Vec::new()).collect();
        for (number, block) in (0..).zip(&self.map.blocks) {
            // A block of one instruction that is no call is a jump that the optimizer made. It has
            // the line of its target.
            if block.instructions < 2 && !calls.contains(&number) {
                continue;
            }
            let places = block.places.iter().filter(|p| p.scope == 0);
            for actual in places.filter_map(|p| find(p.line)) {
                let parts = (0..=number as usize).filter(|b| heads[*b] == heads[number as usize]);
                if !parts.into_iter().any(|b| all[b].contains(&actual)) {
                    all[number as usize].push(actual);
                }
            }
        }
        all
    }

    /// Checks that the report has the same counts.
    pub(crate) fn agrees_with(&self, report: &Report) -> Result<()> {
        let flow = self.flow()?;
        let block = |b: u32| if b == self.map.exit { -1 } else { i64::from(b) };
        let mut ours = BTreeMap::<(i64, i64, bool), i128>::new();
        for (edge, count) in self.map.edges.iter().zip(&flow.edges) {
            let left = edge.kind == EdgeKind::Exit;
            *ours
                .entry((block(edge.from), block(edge.to), left))
                .or_default() += count;
        }
        *ours
            .entry((-1, i64::from(self.map.entry), false))
            .or_default() += flow.calls;
        ours.retain(|_, count| *count != 0);
        let same = |f: &&holloway_tests::report::Function| {
            f.linkage_name == self.map.linkage_name.as_str()
        };
        let listed: Vec<_> = report.functions.iter().filter(same).collect();
        if listed.len() > 1 {
            return Ok(()); // Static functions of several files that share a name: the report alone can't tell them.
        }
        let mut theirs = BTreeMap::<(i64, i64, bool), i128>::new();
        for (from, to, count) in listed.iter().flat_map(|f| &f.edges) {
            *theirs.entry((*from, *to, false)).or_default() += i128::from(*count);
        }
        for (from, count) in listed.iter().flat_map(|f| &f.left) {
            *theirs.entry((*from, -1, true)).or_default() += i128::from(*count);
        }
        theirs.retain(|_, count| *count != 0);
        ensure!(
            ours == theirs,
            "{}: the report's edges are {theirs:?}, by the counters {ours:?}",
            self.map.linkage_name.as_str()
        );
        for block in listed.iter().flat_map(|f| &f.blocks) {
            let wanted = flow.blocks[block.id as usize];
            ensure!(
                i128::from(block.count) == wanted,
                "{}: the report counts block {} {} times, by the counters {wanted}",
                self.map.linkage_name.as_str(),
                block.id,
                block.count,
            );
        }
        Ok(())
    }
}

fn exits(map: &FunctionMap) -> impl Iterator<Item = &EdgeMap> {
    map.edges.iter().filter(|e| e.kind == EdgeKind::Exit)
}

/// Returns the inflow of a block, and its outflow without the exit edge.
fn in_and_on(map: &FunctionMap, block: u32, calls: i128, counts: &[i128]) -> (i128, i128) {
    let sum = |wanted: &dyn Fn(&EdgeMap) -> bool| -> i128 {
        let edges = map.edges.iter().zip(counts);
        edges.filter(|(e, _)| wanted(e)).map(|(_, c)| c).sum()
    };
    let entered = if block == map.entry { calls } else { 0 };
    (
        entered + sum(&|e| e.to == block),
        sum(&|e| e.from == block && e.kind != EdgeKind::Exit),
    )
}

/// A prefix of a path.
struct Beginning {
    /// The prefix without its last DAG edge, and this edge.
    before: usize,
    edge: usize,
    /// Executions of the prefix, according to the longer prefixes.
    count: i128,
    /// Times that control reached a call in its last block that may not come back.
    reached: Option<i128>,
}

/// Derives calls and edge counts from path counts. The counter of a path that ends with an exit
/// edge was incremented when control reached the call that may not come back. So the counter is the
/// number of visits to that block along this path, no matter how they continued.
fn walk_all(map: &FunctionMap, counts: &[(u64, Count)]) -> (i128, Vec<i128>) {
    let kind = |edge: usize| map.dag[edge].kind;
    let is_exit = |edge: usize| matches!(kind(edge), DagKind::Edge(e) if map.edges[e as usize].kind == EdgeKind::Exit);
    let beginning = |before, edge| Beginning {
        before,
        edge,
        count: 0,
        reached: None,
    };
    let mut all = vec![beginning(0, usize::MAX)];
    let mut known = HashMap::new();
    for (path, count) in counts {
        let mut at = 0;
        for edge in walk(map, *path) {
            if is_exit(edge) {
                all[at].reached = Some(i128::from(*count));
                continue;
            }
            let next = *known.entry((at, edge)).or_insert(all.len());
            if next == all.len() {
                all.push(beginning(at, edge));
            }
            at = next;
            if map.dag[edge].to == map.exit {
                all[at].count = i128::from(*count);
            }
        }
    }
    let leaving: HashSet<u32> = exits(map).map(|e| e.from).collect();
    let visits = |b: &Beginning, at: u32| match leaving.contains(&at) {
        true => b.reached.unwrap_or(0),
        false => b.count,
    };
    let mut edges = vec![0; map.edges.len()];
    for index in (1..all.len()).rev() {
        let (before, edge) = (all[index].before, all[index].edge);
        let count = visits(&all[index], map.dag[edge].to);
        match kind(edge) {
            DagKind::Edge(e) | DagKind::Back(e) | DagKind::Cut(e) => {
                edges[e as usize] += count;
                all[before].count += count;
            }
            // A path that starts at a loop head does not count as a call.
            DagKind::Start(_) => {}
        }
    }
    let calls = visits(&all[0], map.entry);
    for index in 0..edges.len() {
        if map.edges[index].kind == EdgeKind::Exit {
            let (into, on) = in_and_on(map, map.edges[index].from, calls, &edges);
            edges[index] = into - on;
        }
    }
    (calls, edges)
}

/// Derives calls and edge counts from the counters of some edges. The inflow of a block equals its
/// outflow, so if only one count at a block is unknown, it follows from the others. The exit is a
/// block, too, and the edge of the calls leads from it to the entry. The counter of an exit edge
/// counts how often control reached the middle of its block. Such a block is treated as two blocks,
/// with an edge from the first to the second.
fn solve(map: &FunctionMap, counts: &[(u64, Count)]) -> Result<(i128, Vec<i128>)> {
    let mut blocks = map.blocks.len() as u32;
    let mut ends: Vec<(u32, u32)> = map.edges.iter().map(|e| (e.from, e.to)).collect();
    let reached = reachable(map);
    let mut known: Vec<Option<i128>> = map
        .edges
        .iter()
        .map(|e| (!reached[e.from as usize]).then_some(0))
        .collect();
    let calls = ends.len();
    ends.push((map.exit, map.entry));
    known.push(None);
    let mut values = vec![0; map.counted.len()];
    for (counter, count) in counts {
        let value = values.get_mut(*counter as usize);
        *value.context("a counter of no edge")? = i128::from(count.0 as i64);
    }
    for (edge, value) in map.counted.iter().zip(values) {
        let edge = *edge as usize;
        if map.edges[edge].kind != EdgeKind::Exit {
            known[edge] = Some(value);
            continue;
        }
        let (upper, lower) = (map.edges[edge].from, blocks);
        blocks += 1;
        for end in ends.iter_mut().filter(|end| end.0 == upper) {
            end.0 = lower;
        }
        ends.push((upper, lower));
        known.push(Some(value));
    }
    follow(&ends, &mut known, blocks);
    let mut all: Vec<i128> = known
        .into_iter()
        .collect::<Option<_>>()
        .context("its counters don't determine all edges")?;
    let calls = all[calls];
    all.truncate(map.edges.len());
    Ok((calls, all))
}

/// Computes the unknown counts that follow from known ones.
fn follow(ends: &[(u32, u32)], known: &mut [Option<i128>], blocks: u32) {
    let mut at = vec![Vec::new(); blocks as usize];
    for (edge, (from, to)) in ends.iter().enumerate() {
        at[*from as usize].push(edge);
        at[*to as usize].push(edge);
    }
    let mut open: Vec<u32> = (0..blocks).collect();
    while let Some(block) = open.pop() {
        let mut unknown = at[block as usize].iter().filter(|e| known[**e].is_none());
        let (Some(&edge), None) = (unknown.next(), unknown.next()) else {
            continue;
        };
        let others = at[block as usize].iter().filter(|e| **e != edge);
        let signed = |&e: &usize| known[e].unwrap_or(0) * if ends[e].1 == block { 1 } else { -1 };
        let net: i128 = others.map(signed).sum();
        let (from, to) = ends[edge];
        known[edge] = Some(if from == block { net } else { -net });
        open.extend([from, to]);
    }
}

/// The blocks that are reachable from the entry.
fn reachable(map: &FunctionMap) -> Vec<bool> {
    let mut reached = vec![false; map.blocks.len()];
    let mut open = vec![map.entry];
    while let Some(block) = open.pop() {
        if !std::mem::replace(&mut reached[block as usize], true) {
            let out = map.edges.iter().filter(|e| e.from == block);
            open.extend(out.map(|e| e.to));
        }
    }
    reached
}
