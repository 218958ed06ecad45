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

/// A report and its kind of profile.
pub type KindReport<'a> = (Kind, &'a Report);

/// Returns a message for each difference between two reports. Functions for which `may_differ` is
/// true are left out. If one kind has no exit edges, functions with left frames are left out, too.
#[must_use]
pub fn differences(
    a: KindReport,
    b: KindReport,
    may_differ: &dyn Fn(&Function) -> bool,
) -> Vec<String> {
    let closed = !a.0.has_exits() || !b.0.has_exits();
    let (a_copies, b_copies) = (copies(a.1), copies(b.1));
    let mut all = Vec::new();
    for (key, a_functions) in &a_copies {
        let Some(b_functions) = b_copies.get(key).filter(|y| y.len() == a_functions.len()) else {
            all.push(format!("{}: listed only as {}", key.0, a.0.name()));
            continue;
        };
        for (f, g) in a_functions.iter().zip(b_functions) {
            if may_differ(f) || closed && (f.has_left() || g.has_left()) {
                continue;
            }
            let difference = if closed {
                joined_difference(f, g)
            } else {
                difference(f, g)
            };
            all.extend(difference.map(|(what, a_value, b_value)| {
                let (a_name, b_name) = (a.0.name(), b.0.name());
                format!(
                    "{}: {what}: {a_value} as {a_name}, {b_value} as {b_name}",
                    f.name
                )
            }));
        }
    }
    for key in b_copies.keys().filter(|key| !a_copies.contains_key(*key)) {
        all.push(format!("{}: listed only as {}", key.0, b.0.name()));
    }
    all
}

fn copies(report: &Report) -> Copies<'_> {
    let mut all = Copies::new();
    for f in &report.functions {
        // Each kind is built in a different folder.
        let file = f.file.rsplit('/').next().unwrap_or_default();
        all.entry((&f.linkage_name, file)).or_default().push(f);
    }
    for copies in all.values_mut() {
        copies.sort_by(|f, g| f.edges.cmp(&g.edges));
    }
    all
}

/// The counts that differ: their description and both values.
type Difference<'w> = Option<(&'w str, String, String)>;

/// The first edge, exit edge, or block whose count differs.
fn difference<'w>(f: &Function, g: &Function) -> Difference<'w> {
    let blocks = |f: &Function| f.blocks.iter().map(|b| b.count).collect::<Vec<_>>();
    first("edge (from, to, count)", &f.edges, &g.edges)
        .or_else(|| first("left (block, count)", &f.left, &g.left))
        .or_else(|| first("count of a block", &blocks(f), &blocks(g)))
}

/// The first difference without exit edges and the divisions that they cause.
fn joined_difference<'w>(f: &Function, g: &Function) -> Difference<'w> {
    let ((f_edges, f_blocks), (g_edges, g_blocks)) = (joined(f), joined(g));
    first("joined edge (from, to, count)", &f_edges, &g_edges)
        .or_else(|| first("count of a joined block", &f_blocks, &g_blocks))
}

/// Edges and block counts after blocks are joined. Two blocks are joined if the first has only one
/// edge out, and the second only one edge in. The joined blocks are numbered in their order.
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
