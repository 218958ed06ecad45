//! Putting probes into LLVM functions.
//!
//! [`plan`] plans (graph, what is counted, probes), with [`weights`], [`paths`] (how many are numbered) and [`edges`] (which are
//! counted); [`sites`] lists what happens where in each block; [`promote`] chooses the counters that loops keep in
//! registers ([`inner`] finds the loops, [`tally`] what counts what, [`write_back`] adds it to memory behind them); [`register`]
//! finds where the path register needs a phi; [`insert`] writes it all, with [`variable`] (phis, additions) and [`probe`]
//! (counting), [`likely`] (the likely count of a turn by its own address), [`stream`] for kinds that append paths to a stream, [`beside`] for functions that count all the same, [`times`] for timing all of
//! them, [`bursts`] for some ([`clock`] reads the clock, [`turns`] says where, [`definitions`] waits for all blocks); [`globals`] are the symbols that probes use.

mod aarch64;
pub(crate) mod beside;
mod bursts;
mod clock;
mod definitions;
mod edges;
pub(crate) mod globals;
mod inner;
mod insert;
mod likely;
mod paths;
pub(crate) mod plan;
mod probe;
mod promote;
mod register;
mod sites;
mod stream;
mod tally;
mod times;
mod turns;
mod variable;
mod weights;
mod write_back;

pub(crate) use bursts::leaf::Leaves;
