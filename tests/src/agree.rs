//! Compares the counts of two kinds of profile of one program: they must be equal.
//!
//! Functions are matched by symbol and file, because no kind of profile changes the code. With exit
//! edges, blocks are divided after calls that may not return. So the graphs are compared after
//! blocks that always run one after the other are joined. Copies of a function in several modules
//! are compared as a set.

use crate::kind::Kind;
use crate::report::{Function, Report};
use std::collections::BTreeMap;

type Copies<'a> = BTreeMap<(&'a str, &'a str), Vec<&'a Function>>;

/// A report with the kind it is of.
pub type Of<'a> = (Kind, &'a Report);

/// Where two reports differ, one line each. Functions that `spared` holds for are not looked at;
/// where one kind has no exit edges, neither are those of which frames were left.
#[must_use]
pub fn differences(one: Of, other: Of, spared: &dyn Fn(&Function) -> bool) -> Vec<String> {
    let closed = !one.0.has_exits() || !other.0.has_exits();
    let (ours, theirs) = (copies(one.1), copies(other.1));
    let mut all = Vec::new();
    for (key, mine) in &ours {
        let Some(yours) = theirs.get(key).filter(|y| y.len() == mine.len()) else {
            all.push(format!("{}: listed only as {}", key.0, one.0.name()));
            continue;
        };
        for (f, g) in mine.iter().zip(yours) {
            if spared(f) || closed && (f.has_left() || g.has_left()) {
                continue;
            }
            let found = if closed {
                joined_difference(f, g)
            } else {
                difference(f, g)
            };
            all.extend(found.map(|(what, a, b)| {
                let (one, other) = (one.0.name(), other.0.name());
                format!("{}: {what}: {a} as {one}, {b} as {other}", f.name)
            }));
        }
    }
    for key in theirs.keys().filter(|key| !ours.contains_key(*key)) {
        all.push(format!("{}: listed only as {}", key.0, other.0.name()));
    }
    all
}

fn copies(report: &Report) -> Copies<'_> {
    let mut all = Copies::new();
    for f in &report.functions {
        // Each kind's build has a folder of its own.
        let file = f.file.rsplit('/').next().unwrap_or_default();
        all.entry((&f.linkage_name, file)).or_default().push(f);
    }
    for copies in all.values_mut() {
        copies.sort_by(|f, g| f.edges.cmp(&g.edges));
    }
    all
}

/// What differs, and what stands there.
type Difference<'w> = Option<(&'w str, String, String)>;

/// The first edge, exit edge or block whose count differs.
fn difference<'w>(f: &Function, g: &Function) -> Difference<'w> {
    let blocks = |f: &Function| f.blocks.iter().map(|b| b.count).collect::<Vec<_>>();
    first("edge (from, to, count)", &f.edges, &g.edges)
        .or_else(|| first("left (block, count)", &f.left, &g.left))
        .or_else(|| first("count of a block", &blocks(f), &blocks(g)))
}

/// The same, without exit edges and whatever they have divided.
fn joined_difference<'w>(f: &Function, g: &Function) -> Difference<'w> {
    let ((f_edges, f_blocks), (g_edges, g_blocks)) = (joined(f), joined(g));
    first("joined edge (from, to, count)", &f_edges, &g_edges)
        .or_else(|| first("count of a joined block", &f_blocks, &g_blocks))
}

/// Edges and block counts with every block joined to the one before, where that has no other way on
/// and it no other way in; blocks are numbered anew in their order.
fn joined(function: &Function) -> (Vec<(i64, i64, u64)>, Vec<u64>) {
    let only = |end: fn(&(i64, i64, u64)) -> i64, block: i64| {
        let mut edges = function.edges.iter().filter(|e| end(e) == block);
        edges.next().filter(|_| edges.next().is_none())
    };
    let mut before = BTreeMap::new();
    for block in function.blocks.iter().map(|b| b.id) {
        if let Some((_, to, _)) = only(|e| e.0, block)
            && *to != -1
            && only(|e| e.1, *to).is_some()
        {
            before.insert(*to, block);
        }
    }
    let mut number = BTreeMap::from([(-1, -1)]);
    let mut counts = Vec::new();
    for block in function
        .blocks
        .iter()
        .filter(|b| !before.contains_key(&b.id))
    {
        number.insert(block.id, counts.len() as i64);
        counts.push(block.count);
    }
    let head = |mut block: i64| {
        // A ring of blocks that nothing leads to has no first.
        for _ in 0..=function.blocks.len() {
            match before.get(&block) {
                Some(earlier) => block = *earlier,
                None => return number.get(&block).copied(),
            }
        }
        None
    };
    let edges = function.edges.iter().filter(|e| !before.contains_key(&e.1));
    let mut edges: Vec<_> = edges
        .filter_map(|e| Some((head(e.0)?, head(e.1)?, e.2)))
        .collect();
    edges.sort_unstable();
    (edges, counts)
}

/// The first place where two lists differ: what it is, and what stands there.
fn first<'w, T: PartialEq + std::fmt::Debug>(what: &'w str, a: &[T], b: &[T]) -> Difference<'w> {
    let at = (0..a.len().max(b.len())).find(|&i| a.get(i) != b.get(i))?;
    let shown = |list: &[T]| list.get(at).map_or("none".to_owned(), |x| format!("{x:?}"));
    Some((what, shown(a), shown(b)))
}
