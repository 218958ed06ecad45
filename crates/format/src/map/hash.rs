//! Hashes of a function's structure. They tell profiles and guides of another structure apart.

use crate::map::function::FunctionMap;
use crate::map::graph::{EdgeKind, EdgeMap, Outcome};

impl FunctionMap {
    /// Hash of the graph and its counters: equal structures have equal counters. Names, places, and
    /// the offsets of counters do not affect it.
    pub fn structure_hash(&self) -> u64 {
        let mut hash = Hash::default();
        let edges = self
            .edges
            .iter()
            .map(|edge| (edge.from, edge.to, edge.kind));
        hash.graph(self.blocks.len(), (self.entry, self.exit), edges);
        hash.put(&[self.path_count, self.dag.len() as u64]);
        for edge in &self.dag {
            let (code, index) = edge.kind.code();
            hash.put(&[
                edge.from.into(),
                edge.to.into(),
                code.into(),
                index.into(),
                edge.value,
            ]);
        }
        for list in [&self.counted, &self.tree] {
            hash.put(&[list.len() as u64]);
            list.iter().for_each(|&edge| hash.put(&[edge.into()]));
        }
        hash.finish()
    }

    /// Hash of the graph without exit edges and with the parts of each block joined. It is equal in
    /// two builds of the same code, whatever each build collects.
    pub fn graph_hash(&self) -> u64 {
        let edges = self.edges.iter();
        let edges = edges.map(|edge| (edge.from, edge.to, edge.kind, edge.outcome));
        graph_hash(self.blocks.len(), (self.entry, self.exit), edges)
    }
}

impl EdgeMap {
    /// Whether it exists in graphs without exit edges too.
    pub fn is_always_there(&self) -> bool {
        is_always_there(self.kind, self.outcome)
    }
}

fn is_always_there(kind: EdgeKind, outcome: Outcome) -> bool {
    kind != EdgeKind::Exit && outcome != Outcome::Returned
}

/// [`FunctionMap::graph_hash`] of a graph that has no map yet: number of blocks, entry and exit,
/// edges.
pub fn graph_hash(
    blocks: usize,
    (entry, exit): (u32, u32),
    edges: impl Iterator<Item = (u32, u32, EdgeKind, Outcome)> + Clone,
) -> u64 {
    // The parts of a block have consecutive numbers. Each part takes the number of the first.
    let later = edges.clone().filter(|edge| edge.3 == Outcome::Returned);
    let mut later: Vec<u32> = later.map(|edge| edge.1).collect();
    later.sort_unstable();
    later.dedup();
    let joined =
        |block: u32| block.wrapping_sub(later.partition_point(|&part| part <= block) as u32);
    let edges = edges.filter(|edge| is_always_there(edge.2, edge.3));
    let edges = edges.map(|(from, to, kind, _)| (joined(from), joined(to), kind));
    let mut hash = Hash::default();
    hash.graph(
        blocks.saturating_sub(later.len()),
        (joined(entry), joined(exit)),
        edges,
    );
    hash.finish()
}

/// The first eight bytes of the blake3 hash of a sequence of words.
#[derive(Default)]
struct Hash(blake3::Hasher);

impl Hash {
    fn put(&mut self, words: &[u64]) {
        for word in words {
            self.0.update(&word.to_le_bytes());
        }
    }

    fn graph(
        &mut self,
        blocks: usize,
        (entry, exit): (u32, u32),
        edges: impl Iterator<Item = (u32, u32, EdgeKind)>,
    ) {
        self.put(&[blocks as u64, entry.into(), exit.into()]);
        let mut count = 0;
        for (from, to, kind) in edges {
            self.put(&[from.into(), to.into(), kind.code().into()]);
            count += 1;
        }
        self.put(&[count]);
    }

    fn finish(self) -> u64 {
        let hash = self.0.finalize();
        u64::from_le_bytes(
            *hash
                .as_bytes()
                .first_chunk()
                .expect("a blake3 hash has 32 bytes"),
        )
    }
}
