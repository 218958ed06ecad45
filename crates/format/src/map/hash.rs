//! Hashes of a function's structure. By these hashes, readers reject profiles and guides of a
//! function with another structure.

use crate::map::function::FunctionMap;
use crate::map::graph::{EdgeKind, EdgeMap, Outcome};

impl FunctionMap {
    /// Hash of the graph, the numbering of paths, and the counted edges. Counts with equal hashes
    /// have the same meaning. Names, places, and the offsets of counters do not affect the hash.
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

    /// Identifies the function in the section `.pseudo_probe` of a program: a hash of the module's
    /// name, the linkage name, and the graph. Functions with equal identifiers have equal graphs.
    pub fn guid(&self, module: &str) -> u64 {
        let mut hash = Hash::default();
        for text in [module, self.linkage_name.as_str()] {
            hash.put(&[text.len() as u64]);
            hash.0.update(text.as_bytes());
        }
        hash.put(&[self.graph_hash()]);
        hash.finish()
    }

    /// Hash of the graph without exit edges and with the parts of each block joined. Two builds of
    /// the same code have equal hashes, even if the builds collect different kinds of data.
    pub fn graph_hash(&self) -> u64 {
        let edges = self.edges.iter();
        let edges = edges.map(|edge| (edge.from, edge.to, edge.kind, edge.outcome));
        graph_hash(self.blocks.len(), (self.entry, self.exit), edges)
    }
}

impl EdgeMap {
    /// Whether the edge also exists in a build without exit edges.
    pub fn is_always_there(&self) -> bool {
        is_always_there(self.kind, self.outcome)
    }
}

fn is_always_there(kind: EdgeKind, outcome: Outcome) -> bool {
    kind != EdgeKind::Exit && outcome != Outcome::Returned
}

/// Computes [`FunctionMap::graph_hash`] of a graph without a map: from the number of blocks, the
/// entry, the exit, and the edges.
pub fn graph_hash(
    blocks: usize,
    (entry, exit): (u32, u32),
    edges: impl Iterator<Item = (u32, u32, EdgeKind, Outcome)> + Clone,
) -> u64 {
    // The parts of a block have consecutive numbers, and `Returned` edges connect them. Joining the
    // parts gives each of them the number of the first part.
    let part_edges = edges.clone().filter(|edge| edge.3 == Outcome::Returned);
    let mut later_parts: Vec<u32> = part_edges.map(|edge| edge.1).collect();
    later_parts.sort_unstable();
    later_parts.dedup();
    let joined =
        |block: u32| block.wrapping_sub(later_parts.partition_point(|&part| part <= block) as u32);
    let edges = edges.filter(|edge| is_always_there(edge.2, edge.3));
    let edges = edges.map(|(from, to, kind, _)| (joined(from), joined(to), kind));
    let mut hash = Hash::default();
    hash.graph(
        blocks.saturating_sub(later_parts.len()),
        (joined(entry), joined(exit)),
        edges,
    );
    hash.finish()
}

/// The hash of a description that is a sequence of words. It is the same on every machine.
pub fn hash_of_words(words: &[u64]) -> u64 {
    let mut hash = Hash::default();
    hash.put(words);
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
