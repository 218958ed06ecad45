//! The counts of another run, a *baseline*, on the functions of a run: in their numbering of paths,
//! on their edges, and thus on their source lines.
//!
//! Functions match as in [`diff`](super). If a function has another graph in the baseline, only its
//! totals are known. Of several copies of a function, those in modules of the same name match; the
//! counts of a copy without such a match are added to another copy.
//!
//! Cost: as for [`diff`](super).

use std::collections::HashSet;
use std::rc::Rc;
use std::sync::OnceLock;

use holloway_abi::Unit;
use holloway_flow::PathId;
use holloway_format::{Count, EdgeKind, FunctionMap, Outcome};

use super::matching::{Pairing, match_functions};
use crate::flow::{BlockFlow, Flow, add};
use crate::join::add_up;
use crate::overlap::groups::{Group, groups};
use crate::overlap::number::{Numbering, common_edges};
use crate::overlap::same::numbering;
use crate::run::{Function, FunctionId, RunProfile};

/// A baseline on the functions of a run.
#[derive(Debug)]
pub struct Projection {
    /// The functions of the run, with the counts of the baseline. Paths have counts only if both
    /// runs counted paths.
    pub profile: RunProfile,
    /// By function of the run: its counterpart in the baseline. `None` if there is none.
    pub functions: Vec<Option<Counterpart>>,
    /// The functions of the baseline whose counts are in `profile`, each with the function of the
    /// run that has them.
    pub matches: Vec<(FunctionId, FunctionId)>,
    /// The functions of the baseline whose code has changed, each with its counterpart in the run.
    /// Only their totals are compared.
    pub changed: Vec<(FunctionId, FunctionId)>,
    /// Functions of the baseline that ran and have no counterpart in the run, most instructions
    /// first.
    pub gone: Vec<FunctionId>,
}

/// The counterpart of a function in a baseline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counterpart {
    /// How it was found. A [changed](Pairing::Changed) function has no counts of paths, edges, and
    /// blocks.
    pub pairing: Pairing,
    /// Times it was entered.
    pub calls: Count,
    /// Executed instructions.
    pub instructions: Count,
    /// Number of paths that ran in the baseline and that this build of the function does not have,
    /// because its paths end elsewhere.
    pub other_paths: u64,
    /// Their executions.
    pub other_executions: Count,
}

impl Counterpart {
    fn new(pairing: Pairing) -> Counterpart {
        Counterpart {
            pairing,
            calls: Count::ZERO,
            instructions: Count::ZERO,
            other_paths: 0,
            other_executions: Count::ZERO,
        }
    }
}

/// Puts the counts of a baseline on the functions of a run. `name` returns the name that the user
/// knows a function by.
pub fn project(
    run: &RunProfile,
    baseline: &RunProfile,
    name: &dyn Fn(&Function) -> Rc<str>,
) -> Projection {
    let has_paths = [run, baseline].iter().all(|run| run.unit() == Unit::Paths);
    let unit = match has_paths {
        true => Unit::Paths,
        false => Unit::Edges,
    };
    let mut groups = [baseline, run].map(|run| groups(run, unit, &|_| true));
    let (matched, [gone, _]) = match_functions(&mut groups, name);
    let mut projection = Projection {
        profile: empty_copy(run, baseline),
        functions: vec![None; run.functions.len()],
        matches: Vec::new(),
        changed: Vec::new(),
        gone: Vec::new(),
    };
    for pair in matched {
        let [before, now] = [&groups[0][pair.groups[0]], &groups[1][pair.groups[1]]];
        projection.add_group([baseline, run], [before, now], pair.pairing, has_paths);
    }
    let gone = gone.into_iter().flat_map(|index| groups[0][index].copies());
    let mut gone: Vec<_> = gone.filter(|(_, function)| function.ran()).collect();
    gone.sort_by_key(|(_, function)| std::cmp::Reverse(function.flow().instructions));
    projection.gone = gone.into_iter().map(|&(id, _)| id).collect();
    projection
}

/// The functions of a run without counts.
fn empty_copy(run: &RunProfile, baseline: &RunProfile) -> RunProfile {
    let empty = |function: &Function| Function {
        module: function.module,
        copies: function.copies,
        flow: OnceLock::from(Flow::zero(&function.map)),
        map: function.map.clone(),
        counts: Vec::new(),
        values: Vec::new(),
        reentries: Vec::new(),
        increments: Count::ZERO,
        ran: false,
        graph: None,
        forks: function.forks,
        bounds: OnceLock::new(),
        path_names: OnceLock::new(),
    };
    RunProfile {
        images: run.images.clone(),
        modules: run.modules.clone(),
        functions: run.functions.iter().map(empty).collect(),
        damage: Vec::new(),
        interrupt: None,
        cpu_time: None,
        basis: baseline.basis,
    }
}

impl Projection {
    /// Adds the counts of a function's copies in the baseline to its copies in the run.
    fn add_group(
        &mut self,
        [baseline, run]: [&RunProfile; 2],
        [before, now]: [&Group<'_>; 2],
        pairing: Pairing,
        has_paths: bool,
    ) {
        for (id, _) in now.copies() {
            self.functions[id.index()] = Some(Counterpart::new(pairing));
        }
        let mut taken: HashSet<FunctionId> = HashSet::new();
        let mut unmatched = Vec::new();
        for &(source, function) in before
            .copies()
            .iter()
            .filter(|(_, function)| function.ran())
        {
            let module = &baseline.module_of(function).name;
            let same = now
                .copies()
                .iter()
                .find(|(id, copy)| !taken.contains(id) && run.module_of(copy).name == *module);
            match same {
                Some(&(id, copy)) => {
                    taken.insert(id);
                    self.add([source, id], [function, copy], has_paths);
                }
                None => unmatched.push((source, function)),
            }
        }
        for (source, function) in unmatched {
            let free = now.copies().iter().find(|(id, _)| !taken.contains(id));
            let &(id, copy) = free.unwrap_or(&now.copies()[0]);
            taken.insert(id);
            self.add([source, id], [function, copy], has_paths);
        }
    }

    /// Adds the counts of a function of the baseline to a function of the run. Both have these ids.
    fn add(
        &mut self,
        [source, id]: [FunctionId; 2],
        [before, now]: [&Function; 2],
        has_paths: bool,
    ) {
        let Some(counterpart) = &mut self.functions[id.index()] else {
            return;
        };
        let flow = before.flow();
        add(&mut counterpart.calls, flow.calls);
        add(&mut counterpart.instructions, flow.instructions);
        if counterpart.pairing == Pairing::Changed {
            self.changed.push((source, id));
            return;
        }
        self.matches.push((source, id));
        let target = &mut self.profile.functions[id.index()];
        target.ran = true;
        let known = target.flow.take().expect("projected functions have a flow");
        target.flow = OnceLock::from(sum(&now.map, known, before));
        if !has_paths {
            return;
        }
        let number = numbering(before, now);
        for &(path, count) in &before.counts {
            match number(path) {
                (Numbering::Common, number) => target.counts.push((PathId(number), count)),
                (Numbering::Own { .. }, _) => {
                    counterpart.other_paths += 1;
                    add(&mut counterpart.other_executions, count);
                }
            }
        }
        add_up(&mut target.counts);
    }
}

/// A flow of the map `to`, plus the flow of a function with the same graph.
fn sum(to: &FunctionMap, known: Flow, before: &Function) -> Flow {
    let (from, flow) = (&before.map, before.flow());
    let mut edges = known.edges;
    for ((_, there), (_, here)) in common_edges(from).zip(common_edges(to)) {
        edges[here] = edges[here].saturating_add(flow.edges[there]);
    }
    let mut calls = known.calls;
    add(&mut calls, flow.calls);
    // Control comes back from a call as often as it then leaves the next part of the block. The
    // parts of a block follow one another.
    let is_return = |edge: &usize| to.edges[*edge].outcome == Outcome::Returned;
    let mut returns: Vec<usize> = (0..to.edges.len()).filter(is_return).collect();
    returns.sort_by_key(|&edge| std::cmp::Reverse(to.edges[edge].to));
    for edge in returns {
        let next = to.edges[edge].to;
        let leaves = to.edges.iter().zip(&edges);
        let leaves = leaves.filter(|(out, _)| out.from == next && out.kind != EdgeKind::Exit);
        edges[edge] = leaves.map(|(_, &count)| count).sum();
    }
    let block_flow = BlockFlow::new(to, &edges, calls);
    for (edge, count) in to.edges.iter().zip(&mut edges) {
        if edge.kind == EdgeKind::Exit {
            *count = block_flow.net_left(edge.from as usize);
        }
    }
    Flow::of_edges(to, edges, calls)
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use holloway_flow::PathId;
    use holloway_format::Count;
    use holloway_testkit::build::{SLIDE_FIRST, image, module, profile, slide};

    use super::{Pairing, project};
    use crate::run::{Function, RunProfile};

    fn name(function: &Function) -> Rc<str> {
        Rc::from(&*function.map.name)
    }

    fn run(counts: &[(u64, u64)]) -> RunProfile {
        let mut other = slide();
        other.linkage_name = "other".into();
        other.name = "other".into();
        let image = image("app", vec![module("app.c", vec![slide(), other])]);
        let mut profile = profile(&image, 7, &[(0, 0, SLIDE_FIRST)]);
        profile.functions[0].counts = counts
            .iter()
            .map(|&(id, count)| (id, Count(count)))
            .collect();
        RunProfile::new(vec![(image, vec![profile])])
    }

    #[test]
    fn the_same_build_keeps_all_counts() {
        let (now, before) = (run(&[(0, 4)]), run(&[(0, 1), (2, 5)]));
        let projection = project(&now, &before, &name);
        let slide = &projection.profile.functions[0];
        assert_eq!(slide.counts, before.functions[0].counts);
        assert_eq!(slide.counts, [(PathId(0), Count(1)), (PathId(2), Count(5))]);
        assert_eq!(slide.flow(), before.functions[0].flow());
        let counterpart = projection.functions[0].expect("a counterpart");
        assert_eq!(counterpart.pairing, Pairing::Same);
        assert_eq!(counterpart.calls, slide.flow().calls);
        assert_eq!(counterpart.other_paths, 0);
        assert!(projection.gone.is_empty());
        assert!(!projection.profile.functions[1].ran());
    }

    #[test]
    fn of_a_changed_function_only_totals_are_known() {
        let (mut now, before) = (run(&[(0, 4)]), run(&[(0, 1)]));
        now.functions[0].map.edges.pop();
        let projection = project(&now, &before, &name);
        let counterpart = projection.functions[0].expect("a counterpart");
        assert_eq!(counterpart.pairing, Pairing::Changed);
        assert_eq!(counterpart.calls, Count(1));
        assert!(projection.profile.functions[0].counts.is_empty());
        assert!(projection.gone.is_empty());
    }

    #[test]
    fn a_function_that_is_missing_is_gone() {
        let (mut now, before) = (run(&[(0, 4)]), run(&[(0, 1)]));
        now.functions.clear();
        let projection = project(&now, &before, &name);
        assert_eq!(projection.gone.len(), 1);
    }
}
