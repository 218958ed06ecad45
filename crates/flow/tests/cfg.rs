//! Runs the `.cfg` files in the folder `cfg`. Each file holds a graph and, as comments, the
//! complete expected result.
//!
//! A file consists of prose (`;;` lines), directives (`;!` lines), the graph in printed form, and
//! the annotations. The runner generates the whole file from the prose, the directives, and the
//! graph, and compares it with the stored file. So no annotation can be missing or stale.
//! `HOLLOWAY_BLESS=1 cargo test -p holloway-flow --test cfg` writes the files instead; read the
//! difference before you commit it.
//!
//! Directives:
//!
//! - `order: most-paths-last | hottest-first | as-given` (the default is the first)
//! - `limit: N`
//! - `weights: W0 W1 ..` by edge (estimated by default)
//! - `cold: b1 ..` for the estimate
//! - `leaks: b1 ..` for the probes
//! - `show: weights`
//! - `show: counters` for edge counters
//!
//! Annotations:
//!
//! - `paths`
//! - `back` and `cut` edges
//! - loops
//! - the values at each block
//! - the actions of the probes: `= n` sets the register, `+n` adds, `count r+n` and `count n`
//!   count; `then` precedes the actions for the path that starts after the edge
//! - edge counters: the counted edges, and the edges of the tree
//! - the paths, if there are few enough
//! - the `error`, if there is one
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use holloway_flow::{
    Action, BlockId, Cfg, CountBase, Dag, DagEdgeId, DagEdgeKind, Dominators, EdgeCounters, EdgeId,
    EdgeProbe, Loops, Numbering, Path, PathEnd, PathId, PathStart, Probes, SuccessorOrder,
    estimate_weights,
};
use std::fmt::Write;
use std::path::PathBuf;

/// The maximum number of paths for which a file lists the paths.
const MAX_LISTED: u64 = 24;

fn files() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cfg");
    let entries = std::fs::read_dir(&folder).expect("tests/cfg is a folder");
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|e| e == "cfg"))
        .collect();
    paths.sort();
    paths
}

#[test]
fn annotations_are_complete_and_true() {
    let bless = std::env::var_os("HOLLOWAY_BLESS").is_some_and(|value| value == "1");
    let files = files();
    assert!(files.len() > 15, "tests/cfg contains the files");
    let mut stale = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let expected =
            annotate(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        if bless && text != expected {
            std::fs::write(&file, &expected).unwrap();
        } else if text != expected {
            println!("{}:\n{expected}", file.display());
            stale.push(file.file_name().unwrap().to_owned());
        }
    }
    assert!(
        stale.is_empty(),
        "stale annotations in {stale:?}; HOLLOWAY_BLESS=1 updates them"
    );
}

/// The settings that the directives of a file describe.
struct Directives {
    order: String,
    limit: u64,
    weights: Vec<u64>,
    leaks: Vec<BlockId>,
    show_weights: bool,
    show_counters: bool,
}

impl Directives {
    fn parse(text: &str, cfg: &Cfg) -> Result<Self, String> {
        let mut directives = Self {
            order: "most-paths-last".into(),
            limit: 1 << 31,
            weights: Vec::new(),
            leaks: Vec::new(),
            show_weights: false,
            show_counters: false,
        };
        let mut cold = Vec::new();
        for line in text.lines().filter_map(|line| line.strip_prefix(";!")) {
            let (key, value) = line
                .split_once(':')
                .ok_or(format!("no `:` in `;!{line}`"))?;
            let value = value.trim();
            match key.trim() {
                "order" => directives.order = value.into(),
                "limit" => {
                    directives.limit = value.parse().map_err(|_| format!("no limit: {value}"))?;
                }
                "weights" => {
                    directives.weights = value
                        .split_whitespace()
                        .map(|w| w.parse().unwrap())
                        .collect();
                }
                "cold" => cold = blocks(value),
                "leaks" => directives.leaks = blocks(value),
                "show" if value == "weights" => directives.show_weights = true,
                "show" if value == "counters" => directives.show_counters = true,
                _ => return Err(format!("no such directive: {line}")),
            }
        }
        if directives.weights.is_empty() {
            directives.weights = estimate_weights(cfg, &cold);
        }
        Ok(directives)
    }

    fn order(&self) -> Result<SuccessorOrder<'_>, String> {
        Ok(match self.order.as_str() {
            "most-paths-last" => SuccessorOrder::MostPathsLast,
            "hottest-first" => SuccessorOrder::HottestFirst(&self.weights),
            "as-given" => SuccessorOrder::AsGiven,
            other => return Err(format!("no such order: {other}")),
        })
    }
}

/// Parses `b1 b7 ..`.
fn blocks(list: &str) -> Vec<BlockId> {
    let blocks = list.split_whitespace();
    blocks.map(|b| BlockId(b[1..].parse().unwrap())).collect()
}

/// Generates the expected content of a file.
fn annotate(text: &str) -> Result<String, String> {
    let cfg: Cfg = text.parse().map_err(|error| format!("{error}"))?;
    let directives = Directives::parse(text, &cfg)?;
    let mut out = String::new();
    for line in text
        .lines()
        .filter(|line| line.starts_with(";;") || line.starts_with(";!"))
    {
        writeln!(out, "{line}").unwrap();
    }
    write!(out, "\n{cfg}\n").unwrap();
    loops(&mut out, &cfg);
    if directives.show_weights {
        let edges = cfg.edges().len();
        let list = (0..edges).map(|edge| format!("e{edge} {}", directives.weights[edge]));
        writeln!(out, "; weights: {}", list.collect::<Vec<_>>().join(", ")).unwrap();
    }
    if directives.show_counters {
        counters(&mut out, &cfg, &directives.weights);
    }
    if let Err(error) = results(&mut out, &cfg, &directives) {
        writeln!(out, "; error: {error}").unwrap();
    }
    Ok(out)
}

fn results(out: &mut String, cfg: &Cfg, directives: &Directives) -> Result<(), String> {
    let dag = Dag::new(cfg).map_err(|error| error.to_string())?;
    list(out, "back", dag.back_edges().map(|edge| edge.to_string()));
    let numbering = Numbering::new(cfg, dag, directives.order()?, directives.limit);
    let numbering = numbering.map_err(|error| error.to_string())?;
    list(
        out,
        "cut",
        numbering.cut_edges().map(|edge| edge.to_string()),
    );
    writeln!(out, "; paths: {}", numbering.path_count()).unwrap();
    values(out, cfg, &numbering);
    let probes = Probes::new(cfg, &numbering, &directives.weights, &directives.leaks);
    let probes = probes.map_err(|error| error.to_string())?;
    list(out, "entry", probes.entry.iter().map(action));
    for (edge, probed) in &probes.edges {
        writeln!(out, "; {edge}: {}", probe(probed)).unwrap();
    }
    if numbering.path_count() <= MAX_LISTED {
        for id in (0..numbering.path_count()).map(PathId) {
            writeln!(out, "; {id}: {}", path(&numbering.regenerate(id).unwrap())).unwrap();
        }
    }
    Ok(())
}

fn list(out: &mut String, name: &str, items: impl Iterator<Item = String>) {
    let items: Vec<String> = items.collect();
    if !items.is_empty() {
        writeln!(out, "; {name}: {}", items.join(", ")).unwrap();
    }
}

fn counters(out: &mut String, cfg: &Cfg, weights: &[u64]) {
    match EdgeCounters::new(cfg, weights) {
        Ok(counters) => {
            list(
                out,
                "counted",
                counters.counted().iter().map(EdgeId::to_string),
            );
            list(out, "tree", counters.tree().iter().map(EdgeId::to_string));
        }
        Err(error) => writeln!(out, "; edges: {error}").unwrap(),
    }
}

fn loops(out: &mut String, cfg: &Cfg) {
    let loops = Loops::new(cfg, &Dominators::new(cfg));
    for (index, natural_loop) in loops.all().iter().enumerate() {
        let blocks = cfg.blocks().filter(|&block| {
            loops.innermost(block).is_some() && !loops.leaves(natural_loop.head, block)
        });
        let blocks: Vec<_> = blocks.map(|block| block.to_string()).collect();
        assert_eq!(loops.innermost(natural_loop.head), Some(index));
        writeln!(
            out,
            "; loop {}: depth {}, {}",
            natural_loop.head,
            natural_loop.depth,
            blocks.join(" ")
        )
        .unwrap();
    }
}

fn values(out: &mut String, cfg: &Cfg, numbering: &Numbering) {
    for block in cfg.blocks() {
        let edges = numbering.dag_edges().iter().zip((0..).map(DagEdgeId));
        let edges = edges.filter(|(edge, _)| edge.from == block);
        let values = edges.map(|(edge, id)| match edge.kind {
            DagEdgeKind::Edge(real) => format!("{real} {}", numbering.value(id)),
            DagEdgeKind::Start(head) => format!("start {head} {}", numbering.value(id)),
            DagEdgeKind::Back(real) => format!("back {real} {}", numbering.value(id)),
            DagEdgeKind::Cut(real) => format!("cut {real} {}", numbering.value(id)),
        });
        list(out, &format!("values {block}"), values);
    }
}

fn action(action: &Action) -> String {
    match *action {
        Action::Set(value) => format!("= {value}"),
        Action::Add(value) => format!("{value:+}"),
        Action::Count {
            base: CountBase::Register,
            increment,
        } => format!("count r{increment:+}"),
        Action::Count {
            base: CountBase::Zero,
            increment,
        } => format!("count {increment}"),
    }
}

fn probe(probe: &EdgeProbe) -> String {
    let words = |actions: &[Action]| actions.iter().map(action).collect::<Vec<_>>().join(", ");
    match (probe.before.is_empty(), probe.after.is_empty()) {
        (_, true) => words(&probe.before),
        (true, false) => format!("then {}", words(&probe.after)),
        (false, false) => format!("{}, then {}", words(&probe.before), words(&probe.after)),
    }
}

fn path(path: &Path) -> String {
    let start = match path.start {
        PathStart::Entry => "entry",
        PathStart::Loop(_) => "loop",
    };
    let end = match path.end {
        PathEnd::Exit(edge) => format!("exit {edge}"),
        PathEnd::Back(edge) => format!("back {edge}"),
        PathEnd::Cut(edge) => format!("cut {edge}"),
    };
    let blocks: Vec<_> = path
        .blocks
        .iter()
        .map(std::string::ToString::to_string)
        .collect();
    format!("{start} {}, {end}", blocks.join(" "))
}
