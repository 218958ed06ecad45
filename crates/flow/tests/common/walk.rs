//! Walks through a function, recorded twice: split into paths by hand, and by a register machine
//! that executes the probes.

use super::{ends, jumps};
use holloway_flow::{
    Action, BlockId, Cfg, CountBase, EdgeId, Numbering, Path, PathEnd, PathStart, Probes,
};
use std::collections::BTreeMap;

/// The result of a walk through a function, recorded twice: by hand, and by probes.
#[derive(Default, Debug)]
pub(crate) struct Trace {
    /// Counted by hand: how often each path was finished, or reached if it is a left path.
    pub(crate) raw: BTreeMap<Path, u64>,
    /// Counted by hand: how often each path was finished or left, minus the re-entries into left
    /// paths.
    pub(crate) net: BTreeMap<Path, i64>,
    /// Counted by hand: how often each edge ran, up to the last end of a path or block with an exit
    /// edge. The counts of exit edges are net.
    pub(crate) edges: BTreeMap<EdgeId, i64>,
    /// The number of calls that got as far.
    pub(crate) calls: i64,
    /// The counters of the probes.
    pub(crate) counters: BTreeMap<i64, u64>,
}

/// An activation: the current block, the path so far, and the register (unset until a probe sets
/// it).
#[derive(Clone)]
struct Frame {
    register: Option<i64>,
    start: PathStart,
    blocks: Vec<BlockId>,
    edges: Vec<EdgeId>,
    /// How many edges of the path are already counted by hand. `None` if nothing is counted, not
    /// even the call.
    counted: Option<usize>,
}

/// A place where control can re-enter a function.
enum Reentry {
    /// A call in a block with an exit edge returns.
    Call(Frame),
    /// The call before this cut edge returns.
    Cut(EdgeId),
}

struct Machine<'a> {
    cfg: &'a Cfg,
    ends: &'a BTreeMap<EdgeId, PathEnd>,
    probes: &'a Probes,
    frame: Frame,
    reentries: Vec<Reentry>,
    trace: Trace,
}

impl Machine<'_> {
    fn act(&mut self, actions: &[Action]) {
        for action in actions {
            match *action {
                Action::Set(value) => self.frame.register = Some(value),
                Action::Add(value) => {
                    let register = &mut self.frame.register;
                    let register = register.as_mut().expect("set before it is used");
                    *register = register.wrapping_add(value);
                }
                Action::Count { base, increment } => {
                    let base = if base == CountBase::Register {
                        self.frame.register.expect("set before it is counted")
                    } else {
                        0
                    };
                    let counter = base.wrapping_add(increment);
                    *self.trace.counters.entry(counter).or_default() += 1;
                }
            }
        }
    }

    fn begin(&mut self, start: PathStart, block: BlockId, actions: &[Action]) {
        self.frame = Frame {
            register: None,
            start,
            blocks: vec![block],
            edges: Vec::new(),
            counted: None,
        };
        self.act(actions);
        self.arrive();
    }

    fn call(&mut self) {
        let actions = self.probes.entry.clone();
        self.begin(PathStart::Entry, self.cfg.entry(), &actions);
    }

    /// The path so far, with this end.
    fn path(&self, end: PathEnd) -> Path {
        Path {
            start: self.frame.start,
            blocks: self.frame.blocks.clone(),
            edges: self.frame.edges.clone(),
            end,
        }
    }

    /// Counts by hand the edges that ran since the last call.
    fn count_edges(&mut self) {
        let first_call = self.frame.counted.is_none() && self.frame.start == PathStart::Entry;
        self.trace.calls += i64::from(first_call);
        for &edge in &self.frame.edges[self.frame.counted.unwrap_or(0)..] {
            *self.trace.edges.entry(edge).or_default() += 1;
        }
        self.frame.counted = Some(self.frame.edges.len());
    }

    /// Arrives at a block. If the block has an exit edge, control reaches its middle.
    fn arrive(&mut self) {
        let block = *self.frame.blocks.last().unwrap();
        let Some(exit) = self.cfg.exit_edge(block) else {
            return;
        };
        self.count_edges();
        let path = self.path(PathEnd::Exit(exit));
        *self.trace.raw.entry(path).or_default() += 1;
        let probe = self
            .probes
            .edge(exit)
            .expect("an exit edge is counted")
            .clone();
        assert!(probe.after.is_empty() && probe.before.len() == 1);
        assert!(matches!(probe.before[0], Action::Count { .. }));
        self.act(&probe.before);
        self.reentries.push(Reentry::Call(self.frame.clone()));
    }

    /// Runs an edge. If it is the last edge of the walk, the process stops before the edge's
    /// target.
    fn run(&mut self, id: EdgeId, last: bool) {
        let to = self.cfg.edge(id).to;
        let end = if to == self.cfg.exit() {
            Some(PathEnd::Exit(id))
        } else {
            self.ends.get(&id).copied()
        };
        let probe = self.probes.edge(id).cloned().unwrap_or_default();
        self.act(&probe.before);
        let Some(end) = end else {
            assert!(probe.after.is_empty(), "only an end is followed by a start");
            self.frame.blocks.push(to);
            self.frame.edges.push(id);
            self.arrive();
            return;
        };
        self.finish(end);
        match self.cfg.exit_edge(to) {
            // Control that enters a block and never goes on left the function there.
            Some(exit) if last => *self.trace.edges.entry(exit).or_default() += 1,
            _ if last || to == self.cfg.exit() => {}
            _ => {
                self.begin(PathStart::Loop(to), to, &probe.after);
                if matches!(end, PathEnd::Cut(_)) {
                    self.reentries.push(Reentry::Cut(id));
                }
            }
        }
    }

    fn finish(&mut self, end: PathEnd) {
        self.count_edges();
        *self.trace.edges.entry(end.edge()).or_default() += 1;
        let path = self.path(end);
        *self.trace.raw.entry(path.clone()).or_default() += 1;
        *self.trace.net.entry(path).or_default() += 1;
    }

    /// Leaves the path at its last block with an exit edge. Without such a block, the path is not
    /// recorded.
    fn leave(&mut self, count: i64) {
        if let Some(edges) = self.frame.counted {
            self.frame.edges.truncate(edges);
            self.frame.blocks.truncate(edges + 1);
            let exit = self.cfg.exit_edge(self.frame.blocks[edges]).unwrap();
            *self.trace.edges.entry(exit).or_default() += count;
            let path = self.path(PathEnd::Exit(exit));
            *self.trace.net.entry(path).or_default() += count;
        }
    }

    /// Re-enters a call, which need not have been left. Returns the block of the call.
    fn come_back(&mut self, which: usize) -> Option<BlockId> {
        let count = self.reentries.len();
        match self.reentries.get(which % count.max(1))? {
            Reentry::Call(frame) => {
                self.frame = frame.clone();
                self.leave(-1);
            }
            &Reentry::Cut(id) => {
                let to = self.cfg.edge(id).to;
                // Only an exit edge can record this re-entry.
                let exit = self.cfg.exit_edge(to)?;
                *self.trace.edges.entry(exit).or_default() -= 1;
                let probe = self.probes.edge(id).cloned().unwrap_or_default();
                self.begin(PathStart::Loop(to), to, &probe.after);
            }
        }
        self.frame.blocks.last().copied()
    }
}

/// Walks through a function as `choices` direct, and calls it again when it returns. In the end the
/// walk takes the shortest way to an end of a path, if there is one. Sometimes it leaves a block
/// that leaks or has an exit edge for good, as a call would by longjmp. Sometimes a call comes back
/// once more.
pub(crate) fn walk(
    cfg: &Cfg,
    numbering: &Numbering,
    probes: &Probes,
    leaks: &[BlockId],
    choices: &[u8],
) -> Trace {
    let ends = ends(numbering);
    let mut machine = Machine {
        cfg,
        ends: &ends,
        probes,
        frame: Frame {
            register: None,
            start: PathStart::Entry,
            blocks: Vec::new(),
            edges: Vec::new(),
            counted: None,
        },
        reentries: Vec::new(),
        trace: Trace::default(),
    };
    let exit = cfg.exit();
    let mut current = exit;
    for &choice in choices {
        if current == exit {
            let back = if choice >= 128 {
                machine.come_back(choice as usize)
            } else {
                None
            };
            current = back.unwrap_or_else(|| {
                machine.call();
                cfg.entry()
            });
        }
        let jumps = jumps(cfg, current);
        let may_leave = leaks.contains(&current) || cfg.exit_edge(current).is_some();
        if jumps.is_empty() || choice >= 200 && may_leave {
            machine.leave(1);
            current = exit;
            continue;
        }
        let edge = jumps[choice as usize % jumps.len()];
        machine.run(edge, false);
        current = cfg.edge(edge).to;
    }
    if current != exit {
        match way_to_end(cfg, &ends, current) {
            Some(route) => route.into_iter().for_each(|edge| machine.run(edge, true)),
            None => machine.leave(1),
        }
    }
    machine.trace
}

/// The shortest run of edges that ends a path.
fn way_to_end(cfg: &Cfg, ends: &BTreeMap<EdgeId, PathEnd>, from: BlockId) -> Option<Vec<EdgeId>> {
    let mut previous_edge = BTreeMap::from([(from, None)]);
    let mut work = std::collections::VecDeque::from([from]);
    while let Some(block) = work.pop_front() {
        for edge in jumps(cfg, block) {
            let to = cfg.edge(edge).to;
            if to == cfg.exit() || ends.contains_key(&edge) {
                let mut route = vec![edge];
                let mut current = block;
                while let Some(edge) = previous_edge[&current] {
                    route.push(edge);
                    current = cfg.edge(edge).from;
                }
                route.reverse();
                return Some(route);
            }
            previous_edge.entry(to).or_insert_with(|| {
                work.push_back(to);
                Some(edge)
            });
        }
    }
    None
}
