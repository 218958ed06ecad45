//! Executes the probes of edge counters along a walk that a test chooses.

use super::jumps;
use holloway_flow::{Action, BlockId, Cfg, CountBase, EdgeId, Probes};

/// The values of edge counters. The tracer changes them when it runs through a list of blocks. A
/// list that does not start at the entry is a re-entry into the function.
pub(crate) struct Tracer<'a> {
    cfg: &'a Cfg,
    probes: &'a Probes,
    pub(crate) counters: Vec<u64>,
}

impl<'a> Tracer<'a> {
    pub(crate) fn new(cfg: &'a Cfg, probes: &'a Probes) -> Self {
        Self {
            cfg,
            probes,
            counters: Vec::new(),
        }
    }

    /// Executes the probe of an edge.
    pub(crate) fn run_probe(&mut self, edge: EdgeId) {
        let Some(probe) = self.probes.edge(edge) else {
            return;
        };
        assert!(probe.after.is_empty());
        for action in &probe.before {
            let &Action::Count {
                base: CountBase::Zero,
                increment,
            } = action
            else {
                panic!("{action:?} on {edge}");
            };
            let counter = usize::try_from(increment).unwrap();
            self.counters
                .resize(self.counters.len().max(counter + 1), 0);
            self.counters[counter] += 1;
        }
    }

    /// Arrives at a block. If the block has an exit edge, runs the probe in the middle of the
    /// block.
    pub(crate) fn arrive(&mut self, block: BlockId) {
        if let Some(exit_edge) = self.cfg.exit_edge(block) {
            self.run_probe(exit_edge);
        }
    }

    /// Runs through these blocks, along the first edge between each two consecutive blocks.
    pub(crate) fn run(&mut self, blocks: &[u32]) {
        if blocks[0] == self.cfg.entry().0 {
            assert!(self.probes.entry.is_empty());
            self.arrive(BlockId(blocks[0]));
        }
        for pair in blocks.windows(2) {
            let mut edges = jumps(self.cfg, BlockId(pair[0])).into_iter();
            self.run_probe(
                edges
                    .find(|&edge| self.cfg.edge(edge).to == BlockId(pair[1]))
                    .unwrap(),
            );
            self.arrive(BlockId(pair[1]));
        }
    }
}
