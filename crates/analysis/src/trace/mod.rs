//! Traces, or whole program paths (Larus 1999): all paths that a thread ran in an image, in order.
//!
//! A trace is stored and analyzed as a [`grammar`] that generates exactly its sequence of events.
//!
//! - Recording: [`record`] turns a stream into the blocks of a trace file ([`builder`]).
//!   [`check`](mod@check) compares a file with the recorded events.
//! - Reading: [`assemble`] makes one grammar of the blocks. `excerpt` reads only a part of a trace.
//! - Analyses work rule by rule, without expanding the grammar: [`stats`], [`hot`], [`loops`],
//!   [`context`], [`before`], [`query`] (with [`pattern`]) and, for two traces, [`diff`]. Their
//!   only inputs are the grammar and the events that its terminals stand for ([`code`]).

pub mod assemble;
mod automaton;
pub mod before;
pub mod builder;
pub mod check;
pub mod code;
pub mod context;
pub mod diff;
mod digest;
mod digrams;
mod excerpt;
mod frames;
mod frequent;
pub mod grammar;
pub mod grams;
pub mod hot;
mod level;
pub mod loops;
pub mod pattern;
pub mod query;
pub mod record;
pub mod sequitur;
pub mod stats;
mod sweep;
mod symbols;
mod thread_trace;
mod walk;

pub use assemble::Assembler;
pub use builder::Limits;
pub use check::{Checked, check};
pub use excerpt::{Excerpt, Extent};
pub use grammar::{Expansion, Grammar, GrammarError, Part, RuleId, Symbol};
pub use holloway_format::error::AssembleError;

pub use holloway_format::trace::Terminal;
pub use record::{Recorded, TraceBuilder};
pub use sequitur::{LookAhead, Sequitur};
pub use thread_trace::Trace;
