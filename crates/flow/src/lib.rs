//! Control flow graphs: cycles cut, paths numbered, probes placed, paths regenerated; or edges
//! counted.
//!
//! The paper is Ball and Larus, "Efficient path profiling" (1996), PP below. In the order in which
//! a function goes through it:
//!
//! 1. [`Cfg`]: the function's graph, as numbers; [`Dominators`] and [`Loops`] where needed.
//! 2. [`Dag`]: back edges found; each will be two dummy edges.
//! 3. [`Numbering`]: every path from the entry or a loop head to the exit or a back edge has a
//!    number; where there would be too many, edges are cut as back edges are.
//! 4. [`Chords`] and [`Probes`]: what must be added where, so that the number is known where a path
//!    is counted.
//! 5. [`Numbering::regenerate`]: from a number back to the blocks; [`edge_counts`] and
//!    [`net_counts`]: from path counters to how often edges and paths ran.
//!
//! Where edges are all that is asked for, [`EdgeCounters`] stand for 2 to 5: as few counters as can
//! be, on a spanning tree's complement (Burger and Dybvig 1998). Both make [`Probes`], and both
//! know *exit edges* ([`EdgeKind::Exit`]): calls that don't come back.
//!
//! This crate knows no LLVM, no file and no profile, and nothing in it recurses: graphs may be as
//! deep as memory allows.
//!
//! # Example
//!
//! The figure of the slides: A..F are b0..b5, and b6 is the exit.
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
