//! Walks through a function, seen twice: split into paths by hand, and by a register machine that
//! does what probes say.

use super::{ends, jumps};
use holloway_flow::{
    Action, BlockId, Cfg, CountBase, EdgeId, Numbering, Path, PathEnd, PathStart, Probes,
};
use std::collections::BTreeMap;

/// What a walk through a function did, seen twice: by hand, and by probes.
#[derive(Default, Debug)]
pub(crate) struct Trace {
    /// Finished paths, and left paths that were reached, by hand.
    pub(crate) raw: BTreeMap<Path, u64>,
    /// Finished paths, and left paths that were left, less those that were come back to, by hand.
    pub(crate) net: BTreeMap<Path, i64>,
    /// Runs of each edge up to the last end of a path or block with an exit edge, by hand; of exit
    /// edges net.
    pub(crate) edges: BTreeMap<EdgeId, i64>,
    /// Calls that got as far.
    pub(crate) calls: i64,
    /// What the probes counted.
    pub(crate) counters: BTreeMap<i64, u64>,
}

/// A function that runs: where it is, the path so far, the register (unset until a probe sets it).
#[derive(Clone)]
struct Frame {
    register: Option<i64>,
    start: PathStart,
    blocks: Vec<BlockId>,
    edges: Vec<EdgeId>,
    /// How many edges are counted by hand already; nothing, not even a call, where it is `None`.
    counted: Option<usize>,
}

/// Where a function can be come back to.
enum Again {
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
    again: Vec<Again>,
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

    /// The path so far, ended.
    fn path(&self, end: PathEnd) -> Path {
        Path {
            start: self.frame.start,
            blocks: self.frame.blocks.clone(),
            edges: self.frame.edges.clone(),
            end,
        }
    }

    /// Counts by hand what ran since this was done last.
    fn count_edges(&mut self) {
        let first_call = self.frame.counted.is_none() && self.frame.start == PathStart::Entry;
        self.trace.calls += i64::from(first_call);
        for &edge in &self.frame.edges[self.frame.counted.unwrap_or(0)..] {
            *self.trace.edges.entry(edge).or_default() += 1;
        }
        self.frame.counted = Some(self.frame.edges.len());
    }

    /// At a block: if it has an exit edge, its middle is reached.
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
        self.again.push(Again::Call(self.frame.clone()));
    }

    /// Runs an edge. The process stops on a last edge, before what follows it.
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
            // What comes into a block and never goes on was left there.
            Some(exit) if last => *self.trace.edges.entry(exit).or_default() += 1,
            _ if last || to == self.cfg.exit() => {}
            _ => {
                self.begin(PathStart::Loop(to), to, &probe.after);
                if matches!(end, PathEnd::Cut(_)) {
                    self.again.push(Again::Cut(id));
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

    /// Leaves the path: from the last block that has an exit edge, if there is one; else it is none.
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

    /// Comes back to where a call was made, which need not have been left; the block that it is in.
    fn come_back(&mut self, which: usize) -> Option<BlockId> {
        let count = self.again.len();
        match self.again.get(which % count.max(1))? {
            Again::Call(frame) => {
                self.frame = frame.clone();
                self.leave(-1);
            }
            &Again::Cut(id) => {
                let to = self.cfg.edge(id).to;
                // Only an exit edge can tell of it.
                let exit = self.cfg.exit_edge(to)?;
                *self.trace.edges.entry(exit).or_default() -= 1;
                let probe = self.probes.edge(id).cloned().unwrap_or_default();
                self.begin(PathStart::Loop(to), to, &probe.after);
            }
        }
        self.frame.blocks.last().copied()
    }
}

/// Walks through a function as `choices` say, calling it again where it returns; in the end goes
/// the shortest way to an end of a path, if there is one. Now and then a block that leaks or has an
/// exit edge is left for good, as a call in it would by longjmp, and now and then a call that was
/// made comes back once more.
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
        again: Vec::new(),
        trace: Trace::default(),
    };
    let exit = cfg.exit();
    let mut here = exit;
    for &choice in choices {
        if here == exit {
            let back = if choice >= 128 {
                machine.come_back(choice as usize)
            } else {
                None
            };
            here = back.unwrap_or_else(|| {
                machine.call();
                cfg.entry()
            });
        }
        let jumps = jumps(cfg, here);
        let may_leave = leaks.contains(&here) || cfg.exit_edge(here).is_some();
        if jumps.is_empty() || choice >= 200 && may_leave {
            machine.leave(1);
            here = exit;
            continue;
        }
        let edge = jumps[choice as usize % jumps.len()];
        machine.run(edge, false);
        here = cfg.edge(edge).to;
    }
    if here != exit {
        match way_to_end(cfg, &ends, here) {
            Some(way) => way.into_iter().for_each(|edge| machine.run(edge, true)),
            None => machine.leave(1),
        }
    }
    machine.trace
}

/// The shortest run of edges that ends a path.
fn way_to_end(cfg: &Cfg, ends: &BTreeMap<EdgeId, PathEnd>, from: BlockId) -> Option<Vec<EdgeId>> {
    let mut came = BTreeMap::from([(from, None)]);
    let mut work = std::collections::VecDeque::from([from]);
    while let Some(block) = work.pop_front() {
        for edge in jumps(cfg, block) {
            let to = cfg.edge(edge).to;
            if to == cfg.exit() || ends.contains_key(&edge) {
                let mut way = vec![edge];
                let mut here = block;
                while let Some(edge) = came[&here] {
                    way.push(edge);
                    here = cfg.edge(edge).from;
                }
                way.reverse();
                return Some(way);
            }
            came.entry(to).or_insert_with(|| {
                work.push_back(to);
                Some(edge)
            });
        }
    }
    None
}
