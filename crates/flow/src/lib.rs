//! Control-flow graphs: this crate cuts cycles, numbers paths, places probes, and regenerates paths
//! from their numbers. It also places edge counters.
//!
//! The paper is Ball and Larus, "Efficient path profiling" (1996). *The slides* are slides about
//! this paper; some worked examples in this crate use their graph, which is shown below. A function
//! passes through these stages:
//!
//! 1. [`Cfg`]: the graph of the function, as numbers; [`Dominators`] and [`Loops`] where a caller
//!    needs them.
//! 2. [`Dag`]: finds the back edges. Two dummy edges will replace each of them.
//! 3. [`Numbering`]: numbers every path from the entry or a loop head to the exit or a back edge.
//!    If there are too many paths, it cuts edges; a cut edge ends paths like a back edge.
//! 4. [`Chords`] and [`Probes`]: the actions on each edge that compute the path number before a
//!    path is counted.
//! 5. [`Numbering::regenerate`]: from a path number back to the blocks. [`edge_counts`] and
//!    [`net_counts`]: from path counters to the counts of edges and paths.
//!
//! To count edges only, [`EdgeCounters`] replace stages 2 to 5. They use as few counters as
//! possible, on the edges off a spanning tree (Burger and Dybvig 1998). Both ways produce
//! [`Probes`], and both support *exit edges* ([`EdgeKind::Exit`]) for calls that do not come back.
//!
//! [`inference`] derives the executions of edges from measured executions of blocks, which come
//! from samples.
//!
//! This crate does not depend on LLVM, files, or profiles. Nothing in it recurses, so graphs may be
//! as deep as memory allows.
//!
//! # Example
//!
//! The graph of the slides: their blocks A to F are b0 to b5, and b6 is the exit.
//!
//! ```
//! use holloway_flow::{BlockId, Cfg, Dag, Numbering, PathId, Probes, SuccessorOrder};
//!
//! let cfg: Cfg = "
//!     b0: entry
//!       e0 -> b2
//!       e1 -> b1
//!     b1:
//!       e2 -> b2
//!       e3 -> b3
//!     b2:
//!       e4 -> b3
//!     b3:
//!       e5 -> b5
//!       e6 -> b4
//!     b4:
//!       e7 -> b5
//!     b5:
//!       e8 -> b6
//!     b6: exit
//! ".parse()?;
//! let numbering = Numbering::new(&cfg, Dag::new(&cfg)?, SuccessorOrder::MostPathsLast, 1 << 20)?;
//! assert_eq!(numbering.path_count(), 6);
//! let path = numbering.regenerate(PathId(3)).expect("there are six");
//! assert_eq!(path.blocks, [0, 1, 2, 3, 4, 5].map(BlockId));
//! assert_eq!(numbering.number_of(&path), Some(PathId(3)));
//! let probes = Probes::new(&cfg, &numbering, &[], &[])?;
//! assert!(probes.entry.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod cfg;
mod chords;
mod counts;
mod dag;
mod dominators;
mod edges;
mod error;
mod explosion;
mod ids;
pub mod inference;
mod lists;
mod loops;
mod numbering;
mod parts;
mod path;
mod probes;
mod regions;
mod search;
mod shape;
mod spanning;
mod text;
mod weights;

pub use cfg::{Cfg, CfgError, Edge, EdgeKind};
pub use chords::Chords;
pub use counts::{CountError, EdgeFlow, edge_counts, net_counts};
pub use dag::{Dag, DagEdge, DagEdgeKind, PinnedCycle};
pub use dominators::Dominators;
pub use edges::{EdgeCounters, TreeError};
pub use error::{NumberingError, TooManyPaths};
pub use ids::{BlockId, DagEdgeId, EdgeId, PathId};
pub use loops::{Loop, Loops};
pub use numbering::{Numbering, SuccessorOrder};
pub use path::{Path, PathEnd, PathStart};
pub use probes::{Action, CountBase, EdgeProbe, PinnedIncrement, Probes};
pub use search::reverse_postorder;
pub use spanning::PinnedCycleOfCounts;
pub use text::{ParseError, ParseErrorKind};
pub use weights::estimate_weights;
