//! Finds the decisions that distinguish a path from the other known paths of its function.
//!
//! The known paths form a tree: paths that start at the same place and begin with the same edges
//! share nodes. Where a node has several children, known paths diverge. The decisions at these
//! nodes distinguish a path from all others that start where it starts. Decisions that all known
//! paths with the same beginning share (a check that never fails) say nothing new.
//!
//! Example: `ab`, `acd`, `ace` and `fd` are the known paths, as edges. Of `acd`, `a` separates one
//! other path, `c` separates one, and `d` separates one. Of `fd`, `f` separates three.
//!
//! Cost: a step for each edge of each path.

use std::collections::HashMap;

use holloway_flow::{Path, PathStart};

/// The known paths of a function as a tree.
#[derive(Clone, Debug, Default)]
pub struct KnownPaths {
    roots: HashMap<PathStart, usize>,
    nodes: Vec<Node>,
    /// The node that an edge leads to from a node.
    children: HashMap<(usize, u32), usize>,
}

/// A beginning of known paths.
#[derive(Clone, Copy, Default, Debug)]
struct Node {
    /// Number of known paths with this beginning.
    paths: usize,
}

/// A decision of a path at which other known paths with the same beginning take another edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Divergence {
    /// The number of the edge that the path takes.
    pub edge: u32,
    /// Number of known paths that share the path's edges so far and take another edge here.
    pub others: usize,
}

impl KnownPaths {
    /// Adds a path.
    pub fn add(&mut self, path: &Path) {
        let mut node = match self.roots.get(&path.start) {
            Some(&root) => root,
            None => {
                self.nodes.push(Node::default());
                self.roots.insert(path.start, self.nodes.len() - 1);
                self.nodes.len() - 1
            }
        };
        self.nodes[node].paths += 1;
        for edge in edges(path) {
            let next = self.nodes.len();
            node = *self.children.entry((node, edge)).or_insert(next);
            if node == next {
                self.nodes.push(Node::default());
            }
            self.nodes[node].paths += 1;
        }
    }

    /// The decisions that distinguish a known path from the others, in order.
    pub fn divergences(&self, path: &Path) -> Vec<Divergence> {
        let mut divergences = Vec::new();
        let Some(mut node) = self.roots.get(&path.start).copied() else {
            return divergences;
        };
        for edge in edges(path) {
            let Some(&next) = self.children.get(&(node, edge)) else {
                break;
            };
            let others = self.nodes[node].paths - self.nodes[next].paths;
            if others > 0 {
                divergences.push(Divergence { edge, others });
            }
            node = next;
        }
        divergences
    }
}

/// Divergences in the order of their importance: first the last one, which separates the path from
/// the paths that are most like it, then those that separate the most paths.
pub fn by_importance(divergences: &[Divergence]) -> Vec<Divergence> {
    let Some((last, earlier)) = divergences.split_last() else {
        return Vec::new();
    };
    let mut ordered = vec![*last];
    let mut earlier = earlier.to_vec();
    earlier.sort_by_key(|divergence| std::cmp::Reverse(divergence.others));
    ordered.extend(earlier);
    ordered
}

/// The numbers of all edges of a path.
fn edges(path: &Path) -> impl Iterator<Item = u32> + '_ {
    let edges = path.edges.iter().map(|edge| edge.0);
    edges.chain(std::iter::once(path.end.edge().0))
}

#[cfg(test)]
mod tests {
    use holloway_flow::{BlockId, EdgeId, Path, PathEnd, PathStart};

    use super::{Divergence, KnownPaths, by_importance};

    /// A path with these edges. The last letter is the edge that ends it.
    fn path(start: PathStart, letters: &str) -> Path {
        let mut edges: Vec<EdgeId> = letters
            .bytes()
            .map(|letter| EdgeId(letter.into()))
            .collect();
        let last = edges.pop().expect("a path has an edge");
        let blocks = (0..letters.len() as u32).map(BlockId).collect();
        let end = PathEnd::Exit(last);
        Path {
            start,
            blocks,
            edges,
            end,
        }
    }

    fn known(paths: &[(PathStart, &str)]) -> KnownPaths {
        let mut known = KnownPaths::default();
        for &(start, letters) in paths {
            known.add(&path(start, letters));
        }
        known
    }

    fn check(known: &KnownPaths, letters: &str, expect: &[(char, usize)]) {
        let divergences = known.divergences(&path(PathStart::Entry, letters));
        let actual: Vec<(char, usize)> = divergences
            .iter()
            .map(|divergence| (char::from(divergence.edge as u8), divergence.others))
            .collect();
        assert_eq!(actual, expect, "{letters}");
    }

    #[test]
    fn paths_diverge_where_known_paths_with_the_same_beginning_go_elsewhere() {
        let entry = PathStart::Entry;
        let known = known(&[
            (entry, "ab"),
            (entry, "acd"),
            (entry, "ace"),
            (entry, "fd"),
            (PathStart::Loop(BlockId(1)), "x"),
        ]);
        check(&known, "ab", &[('a', 1), ('b', 2)]);
        check(&known, "acd", &[('a', 1), ('c', 1), ('d', 1)]);
        check(&known, "fd", &[('f', 3)]);
    }

    #[test]
    fn a_single_path_has_no_divergences() {
        check(&known(&[(PathStart::Entry, "abc")]), "abc", &[]);
        check(&KnownPaths::default(), "abc", &[]);
    }

    #[test]
    fn the_last_divergence_is_the_most_important() {
        let divergence = |edge, others| Divergence { edge, others };
        let in_order = [divergence(1, 1), divergence(2, 7), divergence(3, 2)];
        let edges = by_importance(&in_order)
            .into_iter()
            .map(|divergence| divergence.edge);
        assert_eq!(edges.collect::<Vec<_>>(), [3, 2, 1]);
        assert_eq!(by_importance(&[]), []);
    }
}
