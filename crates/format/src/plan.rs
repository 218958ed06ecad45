//! An optimization plan: the executions of each function's edges, for a build that uses them.
//!
//! *Early* counts are those of code that no optimizer has seen. *Late* counts are those of the code
//! that the optimizer makes with the early counts: inlined copies of a function have counts of
//! their own.
//!
//! A plan is a text file, so that people can read, edit, and compare it. Training writes it, and
//! the weaver attaches its counts to the code as branch weights and entry counts.
//!
//! ```text
//! holloway plan 2
//! function 4f00c0a18b2d9e37 5 3 fib
//! code 5e91c07a 1f3a9c02 77aa8812+9c0d1e2f 00000000 | 0-1 0-2 1-2
//! 0 2
//! 1 3
//! 2 2
//! target 0 4 compare
//! size 0 2 16
//! unpredictable 0 1
//! tail 1 0-2
//! late
//! function 7c1e5b0f9a64d283 5 2 fib
//! 0 2
//! order
//! place main
//! place fib
//! prefetches
//! load 41 16 8 chase
//! end
//! ```
//! - The first line names the format and its version.
//! - `function HASH CALLS EDGES NAME` begins a function: the hash of its graph
//!   ([`FunctionMap::graph_hash`](crate::FunctionMap::graph_hash)) in 16 hexadecimal digits, its
//!   calls, the number of its edges, and its linkage name to the end of the line.
//! - `code PLACES BLOCK… | FROM-TO…` follows if the function ran: hashes of its blocks, and its
//!   edges. They help to find the function again after its code has changed (`plan/code.rs`).
//! - `EDGE COUNT` follows for each edge that ran, ascending. Edges are numbered from 0, in the
//!   order of the map, and exit edges are left out
//!   ([`EdgeMap::is_always_there`](crate::EdgeMap::is_always_there)).
//! - `target SITE COUNT NAME` follows for each function that an indirect call has called: the
//!   number of the call among the function's indirect calls, from 0 in the order of the code, how
//!   often it has called the function, and the function's linkage name to the end of the line.
//!   Without a name, it has called functions whose names are unknown, for example of other images.
//! - `size SITE COUNT BYTES` follows for each size that a memory operation (`memcpy`, `memmove`,
//!   `memset`, `memcmp`, `bcmp`) has had, if the compiler does not know its size: the number of the
//!   operation among those of the function, from 0 in the order of the code, how often it has had
//!   the size, and the size in bytes. 513 stands for all sizes from 513 on.
//! - `unpredictable EDGE COUNT` follows, in early counts, for each branch that a processor is
//!   expected to mispredict often: the smallest number of the branch's edges, and the expected
//!   mispredictions. The branch becomes a select if they are [a fifth](is_unpredictable) of its
//!   executions.
//! - `tail COUNT EDGE-EDGE…` follows, in early counts, for each path whose blocks the optimized
//!   build copies: how often the path ran, and two or more edges in order. The build copies the
//!   blocks between the edges. So the first edge leads to a copy, and the last edge leads out of
//!   the copies. Paths that begin with the same edges share copies.
//! - The line `late` comes once, or never. The functions before it have early counts, and those
//!   after it have late counts.
//! - The line `order` comes once, or never. `place NAME` follows for each function, by linkage
//!   name, in the order in which the functions are to lie in the program.
//! - The line `prefetches` comes once, or never. `load LINE COLUMN TURNS NAME` follows for each
//!   load that is to be prefetched: its place in the source (column 0 stands for all loads of the
//!   line), how many turns of its loop ahead, and the linkage name of the function that contains
//!   it, which may be inlined code's caller.
//! - The line `end` comes last, so that a plan that was cut short is not taken for a whole one.
//! - Empty lines and lines that begin with `#` are ignored.
//!
//! Functions ascend by name and hash, so equal counts give equal files. A reader accepts any order.
//! A function whose code has changed has another hash. The weaver gives it no counts, rather than
//! wrong ones. `holloway_analysis::old_plans` turns the plan of an old program into one of the new
//! program.
//!
//! Version 1 is the same without lines `code`.
//!
//! Functions of several modules with equal names and graphs share one entry with the sums of their
//! counts. This is right for inline functions and generic functions, whose copies the linker
//! merges. The sum of several plans has the sums of executions and of mispredictions. So a branch
//! that is unpredictable in one plan is unpredictable in the sum, unless it ran much more often in
//! plans where it is predictable. The order of the first plan goes on with the functions that only
//! later plans have.

mod code;
mod counts;
mod error;
mod function;
mod functions;
mod lines;
mod read;
mod write;

pub use code::{BlockCode, FunctionCode};
pub use counts::{Plan, PrefetchPlan};
pub use error::PlanError;
pub use function::{FunctionPlan, is_unpredictable};
