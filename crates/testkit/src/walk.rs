//! The path of a path number, by the paper's rule alone.

use holloway_format::{DagEdgeMap, FunctionMap};

/// The edges of a path in the acyclic graph. By the paper's rule, a path leaves each block along
/// the edge with the largest value that is not above the rest of its number.
pub fn walk(map: &FunctionMap, path: u64) -> Vec<usize> {
    let (mut at, mut left, mut edges) = (map.entry, path, Vec::new());
    while at != map.exit {
        let fits = |(_, e): &(usize, &DagEdgeMap)| e.from == at && e.value <= left;
        let (index, edge) = map
            .dag
            .iter()
            .enumerate()
            .filter(fits)
            .max_by_key(|(_, e)| e.value)
            .expect("each block but the exit has an edge of value 0");
        left -= edge.value;
        at = edge.to;
        edges.push(index);
    }
    assert_eq!(
        left,
        0,
        "path {path} of {} has a number left over",
        map.linkage_name.as_str()
    );
    edges
}
