//! Walks through a function, recorded twice: by the walker, which splits each walk into paths, and
//! by a register machine, which executes the probes.

use super::{ends, jumps};
use holloway_flow::{
    Action, BlockId, Cfg, CountBase, EdgeId, Numbering, Path, PathEnd, PathStart, Probes,
};
use std::collections::BTreeMap;

/// The result of a walk through a function, recorded twice: by the walker, and by probes.
#[derive(Default, Debug)]
pub(crate) struct Trace {
    /// Counted by the walker: how often each path ended. For a left path: how often control
    /// reached the middle of its last block.
    pub(crate) raw: BTreeMap<Path, u64>,
    /// Counted by the walker: how often each path was finished or left, minus the re-entries into
    /// left paths.
    pub(crate) net: BTreeMap<Path, i64>,
    /// Counted by the walker: how often each edge ran. Edges after the last path end and the last
    /// block with an exit edge are not counted. The counts of exit edges are net.
    pub(crate) edges: BTreeMap<EdgeId, i64>,
    /// The number of calls that reached a path end or a block with an exit edge.
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
    /// How many edges of the path the walker has counted. `None` if it has counted nothing, not
    /// even the call.
    counted: Option<usize>,
}

/// A point where control can re-enter a function.
enum Reentry {
    /// A call in a block with an exit edge returns.
    Call(Frame),
    /// The call before this cut edge returns.
    Cut(EdgeId),
}

/// The stages of a walk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The walk follows the choices.
    Walking,
    /// The walk takes the shortest route to the end of a path.
    Ending,
}

/// The walker together with the register machine.
struct Machine<'a> {
    cfg: &'a Cfg,
    ends: &'a BTreeMap<EdgeId, PathEnd>,
    probes: &'a Probes,
    frame: Frame,
    reentries: Vec<Reentry>,
    trace: Trace,
}

impl Machine<'_> {
    /// Executes the actions of a probe.
    fn run_actions(&mut self, actions: &[Action]) {
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
        self.run_actions(actions);
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

    /// Counts the edges of the path that are not counted yet, and the call if it is not counted
    /// yet.
    fn count_edges(&mut self) {
        let is_uncounted_call =
            self.frame.counted.is_none() && self.frame.start == PathStart::Entry;
        self.trace.calls += i64::from(is_uncounted_call);
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
        self.run_actions(&probe.before);
        self.reentries.push(Reentry::Call(self.frame.clone()));
    }

    /// Runs an edge. In the last stage, the process stops when a path has ended.
    fn run(&mut self, id: EdgeId, stage: Stage) {
        let to = self.cfg.edge(id).to;
        let end = if to == self.cfg.exit() {
            Some(PathEnd::Exit(id))
        } else {
            self.ends.get(&id).copied()
        };
        let probe = self.probes.edge(id).cloned().unwrap_or_default();
        self.run_actions(&probe.before);
        let Some(end) = end else {
            assert!(
                probe.after.is_empty(),
                "only edges that end paths have actions after them"
            );
            self.frame.blocks.push(to);
            self.frame.edges.push(id);
            self.arrive();
            return;
        };
        self.finish(end);
        match self.cfg.exit_edge(to) {
            // The walk enters a block with an exit edge and stops, so it leaves the function there.
            Some(exit) if stage == Stage::Ending => *self.trace.edges.entry(exit).or_default() += 1,
            _ if stage == Stage::Ending || to == self.cfg.exit() => {}
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

    /// Adds `count` to the left path that ends at the path's last block with an exit edge. Without
    /// such a block, records nothing.
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

    /// Re-enters a call, whether or not control has left the function there. Returns the block of
    /// the call, or `None` if no call can be re-entered.
    fn re_enter(&mut self, choice: usize) -> Option<BlockId> {
        let count = self.reentries.len();
        match self.reentries.get(choice % count.max(1))? {
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

/// Walks through a function as `choices` direct, and calls it again when it returns. Sometimes the
/// walk leaves the function in a block that leaks or has an exit edge, as `longjmp` would.
/// Sometimes it re-enters a call. In the end, the walk takes the shortest route to an end of a
/// path, if there is a route.
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
            let re_entered = if choice >= 128 {
                machine.re_enter(choice as usize)
            } else {
                None
            };
            current = re_entered.unwrap_or_else(|| {
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
        machine.run(edge, Stage::Walking);
        current = cfg.edge(edge).to;
    }
    if current != exit {
        match route_to_end(cfg, &ends, current) {
            Some(route) => route
                .into_iter()
                .for_each(|edge| machine.run(edge, Stage::Ending)),
            None => machine.leave(1),
        }
    }
    machine.trace
}

/// The shortest route whose last edge ends a path.
fn route_to_end(cfg: &Cfg, ends: &BTreeMap<EdgeId, PathEnd>, from: BlockId) -> Option<Vec<EdgeId>> {
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
