//! Counts what the probes of edge counters count on a walk that a test chooses.

use super::jumps;
use holloway_flow::{Action, BlockId, Cfg, CountBase, EdgeId, Probes};

/// Edge counters during runs of blocks. Each run is the part of an activation without a re-entry. A
/// run that does not start at the entry is a re-entry.
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

    pub(crate) fn act(&mut self, edge: EdgeId) {
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

    /// Arrives at a block. Returns true if it has an exit edge, whose probe stands in the middle of
    /// the block.
    pub(crate) fn arrive(&mut self, block: BlockId) -> bool {
        let exit = self.cfg.exit_edge(block);
        exit.inspect(|&exit| self.act(exit)).is_some()
    }

    /// Runs through these blocks, along the first edge between each two.
    pub(crate) fn run(&mut self, blocks: &[u32]) {
        if blocks[0] == self.cfg.entry().0 {
            assert!(self.probes.entry.is_empty());
            self.arrive(BlockId(blocks[0]));
        }
        for pair in blocks.windows(2) {
            let mut edges = jumps(self.cfg, BlockId(pair[0])).into_iter();
            self.act(
                edges
                    .find(|&edge| self.cfg.edge(edge).to == BlockId(pair[1]))
                    .unwrap(),
            );
            self.arrive(BlockId(pair[1]));
        }
    }
}
