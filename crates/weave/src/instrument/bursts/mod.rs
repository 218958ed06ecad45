//! Bursts of timed paths: checking code and instrumented code (Perelman, Chilimbi, Calder 2005,
//! section 4.1, after Arnold and Ryder 2001).
//!
//! A function's code stands there twice. The *checking code* is what it was, with a check wherever a path begins: one is taken from the thread's
//! countdown, and where that leaves less than 0 the runtime is asked whether this path is to be timed. If so, the same place of the *timed code* is gone
//! to: a copy of the blocks which has the path register, reads the clock where a path begins, and tells the runtime where it ends; the runtime says whether to
//! go on there with the next path or back in the checking code. So a path runs in one code from its beginning to its end.
//!
//! ```text
//!   checking code            out of the way                 timed code
//!     …                                                        …
//!     countdown -= 1                                           sample(word, start, inner, end)
//!     below 0? ──────yes──▶  burst() ─────ring──▶ enter: ◀──ring── answer
//!     │                        │ null             begin ─────▶ …          │ null
//!     │ no                     ▼                                          │
//!     ▼ ◀─────────────────── back ◀───────────────────────────────────────┘
//!     …
//! ```
//!
//! The stages: [`parts`] splits blocks where paths begin, [`sink`] makes cheap values anew in each block that uses them, [`frame`] keeps values of large functions in the frame,
//! [`twin`] copies the parts, [`kept`] chooses the loops that keep the countdown in a register, [`check`] puts the checks and the ways over, [`join`] mends the values that
//! live where the two codes meet. [`dispatch`] gives interpreters their jumps back. [`refusal`] says what can't stand there twice, [`leaf`] what needn't.
//!
//! A call of `setjmp` stands in the checking code only: the path before it ends there, so a timed one goes back. Computed gotos of the timed code go to the timed code:
//! the address is looked up among the labels.
//!
//! Where a path begins and the block has nothing else to do but jump to a loop's head, those who come back go to the head themselves. So a loop of the checking code keeps
//! one way in, and one back, as the code generator wants it.

mod check;
mod dispatch;
mod frame;
mod join;
mod kept;
pub(super) mod leaf;
mod parts;
pub(super) mod refusal;
mod sink;
mod twin;

use std::collections::HashMap;

use holloway_llvm::{Block, Instruction};

use self::check::Ways;
use self::join::Join;
use self::kept::Kept;
use self::leaf::Leaves;
use self::parts::{Begin, Parts};
use self::twin::Twin;
use super::clock::{Clock, Next, Places};
use super::globals::{Globals, countdown};
use super::insert::{Anchors, lowest, raised, successors};
use super::likely::Heat;
use super::register::{Graph, Register, reverse_postorder};
use super::sites::Sites;
use super::variable::{Counted, Variable};
use crate::lower::{Layout, calls};

/// Inserts a function's second code; `first` is the word of its path 0, less the module's base.
pub(super) fn insert<'m>(
    layout: &Layout<'m>,
    sites: &Sites,
    heat: &Heat,
    (first, globals): (i64, &Globals<'m>),
    leaves: &Leaves,
) {
    let sites = raised(sites, lowest(sites));
    let module = layout.function.module();
    let blocks = layout.blocks.iter().enumerate();
    let position: HashMap<Block<'m>, usize> =
        blocks.map(|(index, info)| (info.block, index)).collect();
    let graph = Graph::new(successors(layout, &position));
    let mut parts = Parts::split(layout, &graph, &sites);
    frame::keep(layout, &mut parts, heat);
    let clock = Clock::new(layout.function, globals, first);
    let places = places(layout, &parts);
    let timed = Timed::new(layout, &parts, (&clock, &places));
    let countdown = countdown(module, globals.tls);
    let mut kept = Kept::new(layout, &graph, &parts, countdown, leaves);
    let ways = Ways {
        layout,
        parts: &parts,
        timed: &timed,
        clock: &clock,
        places: &places,
        countdown,
    };
    let mut between = Vec::new();
    for group in ways.shared(&kept) {
        ways.place(&group, &mut kept, &mut between);
    }
    let join = Join::new(layout.function, &between);
    join.join(&timed.twin.pairs);
    for mended in kept.variables() {
        join.write(mended);
    }
    for mended in places.variables() {
        join.write(&mended);
    }
    dispatch::spread(&parts);
}

/// Where it is kept when a path began.
fn places<'m>(layout: &Layout<'m>, parts: &Parts<'m>) -> Places<'m> {
    let blocks = layout.blocks.iter();
    let mut instructions = blocks.flat_map(|info| &info.instructions);
    match instructions.any(|&instruction| calls(instruction) || leaf::is_bulk(instruction)) {
        true => Places::frame(parts.all[0].block),
        false => Places::registers(),
    }
}

/// The timed code with its probes.
struct Timed<'m> {
    twin: Twin<'m>,
    /// By part: the call of the runtime where a path ends in it.
    answers: Vec<Option<Instruction<'m>>>,
}

impl<'m> Timed<'m> {
    /// Copies the parts, gives the copy its path register, and calls the runtime where a path ends.
    fn new(
        function: &Layout<'m>,
        parts: &Parts<'m>,
        (clock, places): (&Clock<'_, 'm>, &Places<'m>),
    ) -> Self {
        let twin = Twin::new(function.function, parts);
        let layout = &twin.layout;
        let blocks = layout.blocks.iter().enumerate();
        let position: HashMap<Block<'m>, usize> =
            blocks.map(|(index, info)| (info.block, index)).collect();
        let graph = Graph::new(parts.successors.clone());
        let register = Register::new(&graph, &twin.sites, &[]);
        let anchors = Anchors::new(layout);
        let mut variable = Variable::new(layout, &twin.sites, &register, &[]);
        let mut answers = vec![None; parts.all.len()];
        for part in reverse_postorder(&graph.successors) {
            let next = match parts.next(part) {
                Some(Begin::Turn) => Next::Begins,
                _ => Next::None,
            };
            variable.step(&anchors, part, |builder, counted, increment| {
                let (register, number) = match counted {
                    Counted::Number(number) => (None, number),
                    Counted::Value(value) => (Some(value), 0),
                };
                let path = increment.wrapping_add(number);
                answers[part] = Some(clock.end(builder, register, path, next, places));
            });
        }
        variable.close(&position);
        Self { twin, answers }
    }
}
