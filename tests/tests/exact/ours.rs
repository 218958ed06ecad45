//! Our side, derived once more and naively: each path is walked through the acyclic graph of the map, and every real edge
//! on it gets the path's count. No code of `flow` or `analysis` takes part.

use anyhow::{Context, Result, ensure};
use holloway_format::{
    DagEdgeMap, DagKind, FunctionMap, ImageMap, Profile, decode_image, peek_profile, read_profile,
};
use holloway_tests::report::Report;
use holloway_tests::tool::{holloway_command, run_ok};
use std::collections::BTreeMap;
use std::path::Path;

/// A run as it lies on disk: the map and the profile of the one image and process in it.
pub(crate) struct Recorded {
    pub(crate) map: ImageMap,
    pub(crate) profile: Profile,
    pub(crate) report: Report,
}

/// A function with its counts.
pub(crate) struct Counted<'a> {
    pub(crate) module: &'a str,
    pub(crate) map: &'a FunctionMap,
    pub(crate) counts: &'a [(u64, u64)],
}

/// Runs a program with `holloway run` and reads what it left.
pub(crate) fn record(
    program: &Path,
    arguments: &[&str],
    data: &Path,
    environment: &[(&str, &Path)],
) -> Result<Recorded> {
    let mut command = holloway_command(["run", "--no-report", "-o"]);
    command
        .arg(data)
        .arg("--")
        .arg(program)
        .args(arguments)
        .envs(environment.iter().copied());
    run_ok(&mut command)?;
    read(data)
}

/// Reads a run's directory: the sum over its processes.
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
    let map = decode_image(&maps[0])?;
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
    /// Every instrumented function, run or not.
    pub(crate) fn functions(&self) -> Vec<Counted<'_>> {
        let mut all = Vec::new();
        for (m, module) in self.map.modules.iter().enumerate() {
            for (f, map) in module.module.functions.iter().enumerate() {
                let counts = self
                    .profile
                    .function(m as u32, f as u32)
                    .map_or(&[][..], |c| &c.counts);
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

impl Counted<'_> {
    /// The count of each edge of the graph, by its index.
    pub(crate) fn edge_counts(&self) -> Vec<u64> {
        let mut totals = vec![0; self.map.edges.len()];
        for (path, count) in self.counts {
            for kind in walk(self.map, *path) {
                if let DagKind::Edge(e) | DagKind::Back(e) | DagKind::Cut(e) = kind {
                    totals[e as usize] += count;
                }
            }
        }
        totals
    }

    /// Times it was entered: paths that don't start at a loop head.
    pub(crate) fn calls(&self) -> u64 {
        let entries = self
            .counts
            .iter()
            .filter(|(p, _)| !matches!(walk(self.map, *p).first(), Some(DagKind::Start(_))));
        entries.map(|(_, count)| count).sum()
    }

    /// The edges of the JSON report must say the same as [`Counted::edge_counts`].
    pub(crate) fn agrees_with(&self, report: &Report) -> Result<()> {
        let block = |b: u32| if b == self.map.exit { -1 } else { i64::from(b) };
        let mut ours = BTreeMap::<(i64, i64), u64>::new();
        for (edge, count) in self.map.edges.iter().zip(self.edge_counts()) {
            *ours.entry((block(edge.from), block(edge.to))).or_default() += count;
        }
        *ours.entry((-1, i64::from(self.map.entry))).or_default() += self.calls();
        ours.retain(|_, count| *count > 0);
        let same = |f: &&holloway_tests::report::Function| {
            f.linkage_name == self.map.linkage_name.as_str()
        };
        let listed: Vec<_> = report.functions.iter().filter(same).collect();
        if listed.len() > 1 {
            return Ok(()); // Static functions of several files that share a name: the report alone can't tell them.
        }
        let mut theirs = BTreeMap::<(i64, i64), u64>::new();
        for (from, to, count) in listed.iter().flat_map(|f| &f.edges) {
            *theirs.entry((*from, *to)).or_default() += count;
        }
        theirs.retain(|_, count| *count > 0);
        ensure!(
            ours == theirs,
            "{}: the report's edges are {theirs:?}, the paths' {ours:?}",
            self.map.linkage_name.as_str()
        );
        Ok(())
    }
}

/// The edges of a path, by the rule of the paper: from each block the edge with the largest value that still fits.
pub(crate) fn walk(map: &FunctionMap, path: u64) -> Vec<DagKind> {
    let (mut at, mut left, mut edges) = (map.entry, path, Vec::new());
    while at != map.exit {
        let fits = |e: &&DagEdgeMap| e.from == at && e.value <= left;
        let edge = map
            .dag
            .iter()
            .filter(fits)
            .max_by_key(|e| e.value)
            .expect("each block but the exit has an edge of value 0");
        left -= edge.value;
        at = edge.to;
        edges.push(edge.kind);
    }
    assert_eq!(
        left,
        0,
        "path {path} of {} has a number left over",
        map.linkage_name.as_str()
    );
    edges
}
