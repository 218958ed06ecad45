//! Writing the probes into a function.
//!
//! # Entry
//! A new entry block takes over the frame's slots (static allocas), loads the thread's slot and tests it; on the cold side a
//! block calls the runtime. The old entry block begins with the phi of both: the thread's counter block.
//!
//! # Counters
//! [`probe`](super::probe) has the instructions, [`promote`](super::promote) what loops keep in registers. A counter's
//! displacement never goes below 0, since it may be made with a zero-extended relocation: where an increment is negative,
//! all settings of the register are lowered instead, and increments raised by as much.

use std::collections::HashMap;

use holloway_flow::{Action, CountBase};
use holloway_format::Counters;
use holloway_llvm::{Block, Builder, Instruction, Metadata, Module, Type, Value};

use super::globals::{Globals, enter as runtime_enter, slot};
use super::likely::{Heat, Told, likely};
use super::probe::Probe;
use super::promote::Promotion;
use super::register::{Graph, reverse_postorder};
use super::sites::Sites;
use super::variable::{Counted, Variable};
use super::write_back::{Marks, WriteBack};
use crate::lower::Layout;

/// Inserts all of a function's probes; gives what the thread's slot has.
pub(super) fn insert<'m>(
    layout: &Layout<'m>,
    sites: &Sites,
    heat: &Heat,
    counters: Counters,
    globals: &Globals<'m>,
    single: bool,
) -> Value<'m> {
    let position: HashMap<Block<'m>, usize> = layout
        .blocks
        .iter()
        .enumerate()
        .map(|(index, info)| (info.block, index))
        .collect();
    let graph = Graph::new(successors(layout, &position));
    let promotion = promotion(layout, &graph, sites, heat, counters, single);
    let anchors = Anchors::new(layout);
    let variable = |sites, register, turning| Variable::new(layout, sites, register, turning);
    let mut register = variable(&promotion.sites, &promotion.register, &promotion.turning);
    let mut accumulators: Vec<_> = promotion
        .accumulators
        .iter()
        .map(|accumulator| variable(&accumulator.sites, &accumulator.register, &[]))
        .collect();
    let marks = Marks::new(layout, &promotion.loops);
    let likely = match (counters, single) {
        (Counters::Array { .. }, false) => likely(&graph, &promotion, heat),
        _ => HashMap::new(),
    };
    let mut told = Vec::new();
    let block = enter(layout, globals, &anchors);
    let probe = Probe {
        module: layout.function.module(),
        globals,
        counter_block: globals.counters(&Builder::before(anchors.at(layout, 0, 0)), block),
        counters,
        single,
    };
    for block in reverse_postorder(&graph.successors) {
        let mut counts = Vec::new();
        for (slot, accumulator) in accumulators.iter_mut().enumerate() {
            let unit = marks.unit(block, slot);
            accumulator.step_by(unit, &anchors, block, |_, counted, _| counts.push(counted));
        }
        if let Some(&index) = promotion.writes.get(&block) {
            let back = WriteBack {
                probe: &probe,
                builder: Builder::before(anchors.at(layout, block, layout.blocks[block].top)),
                kept: &promotion.loops[index],
                edge: (graph.sources[block][0], block),
            };
            back.write(&mut register, counts);
        }
        register.step(
            &anchors,
            block,
            |builder, counted, increment| match counted {
                Counted::Number(number) => {
                    probe.count(builder, None, increment.wrapping_add(number));
                }
                Counted::Value(value) => match likely.get(&block) {
                    Some(&likely) if likely.increment == increment => {
                        told.push((block, Told::new(builder, value, likely)));
                    }
                    _ => probe.count(builder, Some(value), increment),
                },
            },
        );
    }
    for (block, told) in &told {
        if let Some(held) = told.held() {
            register.hold(*block, held);
        }
    }
    register.close(&position);
    marks.close(layout, &graph);
    for accumulator in &accumulators {
        accumulator.close(&position);
    }
    for (_, told) in told {
        told.split(layout, &probe);
    }
    block
}

/// What loops keep in registers: nothing where increments have to be one instruction, or are calls.
fn promotion(
    layout: &Layout<'_>,
    graph: &Graph,
    sites: &Sites,
    heat: &Heat,
    counters: Counters,
    single: bool,
) -> Promotion {
    if matches!(counters, Counters::Hash { .. }) {
        return Promotion::none(graph, sites.clone());
    }
    let sites = raised(sites, lowest(sites));
    if single {
        return Promotion::none(graph, sites);
    }
    let promotion = Promotion::new(layout, graph, sites.clone(), heat);
    match promotion.lowest() {
        0 => promotion,
        lowest => Promotion::new(layout, graph, raised(&sites, lowest), heat),
    }
}

/// LLVM's successors of each block, by position, each once. Also behind calls that don't return: phis need them.
pub(super) fn successors<'m>(
    layout: &Layout<'m>,
    position: &HashMap<Block<'m>, usize>,
) -> Vec<Vec<usize>> {
    layout
        .blocks
        .iter()
        .map(|info| {
            let mut targets: Vec<usize> = info
                .terminator()
                .successors()
                .iter()
                .map(|block| position[block])
                .collect();
            targets.sort_unstable();
            targets.dedup();
            targets
        })
        .collect()
}

/// The lowest increment that the register is added to, or 0.
pub(super) fn lowest(sites: &Sites) -> i64 {
    let actions = sites.iter().flatten().flat_map(|stop| &stop.actions);
    let increments = actions.filter_map(|action| match action {
        Action::Count {
            base: CountBase::Register,
            increment,
        } => Some(*increment),
        _ => None,
    });
    increments.min().unwrap_or(0).min(0)
}

/// The same counts with each increment that the register is added to higher by `-lowest`.
pub(super) fn raised(sites: &Sites, lowest: i64) -> Sites {
    let mut sites = sites.clone();
    for action in sites
        .iter_mut()
        .flatten()
        .flat_map(|stop| &mut stop.actions)
    {
        match action {
            Action::Set(number) => *number = number.wrapping_add(lowest),
            Action::Count {
                base: CountBase::Register,
                increment,
            } => *increment = increment.wrapping_sub(lowest),
            _ => {}
        }
    }
    sites
}

/// Instructions to insert before: the ones that stay where they are.
pub(super) struct Anchors {
    /// Which instructions of the entry block move to the new one.
    moved: Vec<bool>,
}

impl Anchors {
    pub(super) fn new(layout: &Layout<'_>) -> Self {
        Self {
            moved: layout.blocks[0]
                .instructions
                .iter()
                .map(|instruction| instruction.is_static_alloca())
                .collect(),
        }
    }

    /// Whether this instruction of the entry block moves to the new one.
    pub(super) fn is_moved(&self, index: usize) -> bool {
        self.moved[index]
    }

    pub(super) fn at<'m>(
        &self,
        layout: &Layout<'m>,
        block: usize,
        index: usize,
    ) -> Instruction<'m> {
        let index = if block == 0 {
            (index..self.moved.len())
                .find(|&index| !self.moved[index])
                .expect("a terminator stays")
        } else {
            index
        };
        layout.blocks[block].instructions[index]
    }
}

/// Puts the test of the thread's slot before everything; returns what is in it.
pub(super) fn enter<'m>(
    layout: &Layout<'m>,
    globals: &Globals<'m>,
    anchors: &Anchors,
) -> Value<'m> {
    let module = layout.function.module();
    let pointer = Type::pointer(module);
    let old = &layout.blocks[0];
    let new = old.block.insert_before("holloway.entry");
    let slow = layout.function.append_block("holloway.enter");

    let builder = Builder::at_end(new);
    for (instruction, moved) in old.instructions.iter().zip(&anchors.moved) {
        if *moved {
            builder.take(*instruction);
        }
    }
    let slot = builder.load(pointer, slot(module, globals.tls).value());
    let branch = builder.branch_if(builder.is_null(slot), slow, old.block);
    branch.set_metadata(module.metadata_kind("prof"), rarely(module));

    let builder = Builder::at_end(slow);
    let entered = builder.call(runtime_enter(module), pointer, &[]);
    builder.branch(old.block);

    let block = Builder::at_top(old.block).phi(pointer);
    block.add_incoming(slot, new);
    block.add_incoming(entered, slow);
    block.value()
}

/// Branch weights that say: not this way, but for the first time.
pub(super) fn rarely<'m>(module: &'m Module<'m>) -> Metadata<'m> {
    let weights = [1, 1 << 20].map(|weight| Metadata::constant(Type::i32(module).int(weight)));
    Metadata::node(
        module,
        &[
            Metadata::string(module, "branch_weights"),
            weights[0],
            weights[1],
        ],
    )
}
