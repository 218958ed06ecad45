//! Regenerates a path from its number by the rule of Ball and Larus (1996), independently of
//! `flow`.

use holloway_format::{DagEdgeMap, FunctionMap};

/// The edges of a path in the acyclic graph, as indices of [`FunctionMap::dag`]. By the paper's
/// rule, the path leaves each block along the edge with the largest value that is not above the
/// remaining number.
pub fn walk(map: &FunctionMap, path: u64) -> Vec<usize> {
    let (mut block, mut remaining, mut edges) = (map.entry, path, Vec::new());
    while block != map.exit {
        let fits = |(_, e): &(usize, &DagEdgeMap)| e.from == block && e.value <= remaining;
        let (index, edge) = map
            .dag
            .iter()
            .enumerate()
            .filter(fits)
            .max_by_key(|(_, e)| e.value)
            .expect("each block but the exit has an edge of value 0");
        remaining -= edge.value;
        block = edge.to;
        edges.push(index);
    }
    assert_eq!(
        remaining,
        0,
        "path {path} of {} does not use up its number",
        map.linkage_name.as_str()
    );
    edges
}
