//! Timing every path: the yardstick of bursts.
//!
//! The function's entry loads the thread's ring as for streams ([`super::stream`]); every path reads the clock where it begins and calls the runtime
//! where it ends ([`super::clock`]). A path of ten instructions takes a hundred times as long with its probe, so this is for small runs.

use std::collections::HashMap;

use holloway_llvm::{Block, Builder};

use super::clock::{Clock, Next, Places};
use super::globals::Globals;
use super::insert::{Anchors, enter, lowest, raised, successors};
use super::register::{Graph, Register, reverse_postorder};
use super::sites::Sites;
use super::turns::turns;
use super::variable::{Counted, Variable};
use crate::lower::Layout;

/// Inserts a function's probes; `first` is the word of its path 0, less the module's base.
pub(super) fn insert<'m>(layout: &Layout<'m>, sites: &Sites, first: i64, globals: &Globals<'m>) {
    let blocks = layout.blocks.iter().enumerate();
    let position: HashMap<Block<'m>, usize> =
        blocks.map(|(index, info)| (info.block, index)).collect();
    let graph = Graph::new(successors(layout, &position));
    let sites = raised(sites, lowest(sites));
    let turns = turns(layout, &sites);
    let register = Register::new(&graph, &sites, &[]);
    let anchors = Anchors::new(layout);
    let mut variable = Variable::new(layout, &sites, &register, &[]);
    let ring = enter(layout, globals, &anchors);
    let entry = layout.function.blocks().next().expect("a body");
    let places = Places::frame(entry);
    let clock = Clock::new(layout.function, globals, first);
    let begin = |block, index| {
        let builder = Builder::before(anchors.at(layout, block, index));
        places.store(&builder, clock.begin(&builder, ring));
    };
    begin(0, 0);
    for block in reverse_postorder(&graph.successors) {
        let mut turns = turns[block].iter();
        variable.step(&anchors, block, |builder, counted, increment| {
            let (register, number) = match counted {
                Counted::Number(number) => (None, number),
                Counted::Value(value) => (Some(value), 0),
            };
            let turn = turns.next().expect("a turn for each count");
            let path = increment.wrapping_add(number);
            let end = |next| clock.end(builder, register, path, next, &places);
            match turn.begin {
                Some(index) if index == turn.end => {
                    // Not the entry's: another thread may go on with this stack.
                    let ring = end(Next::Begins);
                    places.store(builder, clock.go_on(builder, ring.value()));
                }
                Some(index) => {
                    end(Next::None);
                    begin(block, index);
                }
                None => {
                    end(Next::None);
                }
            }
        });
    }
    variable.close(&position);
}
