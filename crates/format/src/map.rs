//! The path map of one woven module: each function's graph, numbering, source places, and counters.
//!
//! The weaver writes one *fragment* per module ([`ModuleMap::encode`]). The link step joins the
//! fragments of an image ([`crate::image`]). Readers get the same structures back
//! ([`ModuleMap::decode`]).
//!
//! # A fragment
//! ```text
//! OFFSET SIZE MEANING
//!      0    8  "HLWMODUL"
//!      8    4  format version, 3
//!     12    4  n: number of functions
//!     16    8  bytes of counters a thread
//!     24    4  s: number of strings
//!     28    4  t: bytes of string text
//!     32    4  string: name of the module
//!     36    4  string: producer
//!     40    4  k: number of skipped functions
//!     44    4  g: number of vanished functions
//!     48    8  r: bytes of function records
//!     56    4  number of ring counters (of functions with code 3), else 0
//!     60    4  crc32 of bytes 0..60
//!     64   8s  strings:  0 4 where the string ends in the text   4 4 crc32 of the string
//!      …    t  text, UTF-8; a string starts where the one before it ends
//!      …  12n+4  index of the function records (crate::frames): keys: linkage and source name
//!      …  16k  skipped functions:  0 4 name  4 4 linkage name  8 4 reason
//!                                 12 4 crc32 of number and bytes 0..12
//!      …  12g  vanished functions: 0 4 name  4 4 linkage name  8 4 crc32 of number and bytes 0..8
//!      …    r  function records (crate::frames)
//! ```
//! All integers are little-endian; *string* means a number in the table of strings.
//!
//! Version 2 is the same, except that function records end before the number of selects. Readers
//! treat the missing lists as empty. [`ImageMap::leaks_unknown`] tells where that hides leaks.
//!
//! [`ImageMap::leaks_unknown`]: crate::ImageMap::leaks_unknown
//!
//! # A function record's payload
//! `v`: varint, `z`: zigzag varint ([`crate::varint`]), lists: their length as `v`, then the items.
//! ```text
//! v name  v linkage name  v file  v line  8 bytes hash
//! 1 byte counters, + 4 if the places are in the order of the source:
//!     0 array of paths, then v offset, v len, v path count
//!     1 hash of paths, then v offset, v path count
//!     2 array of edges, then v offset, v len
//!     3 array of paths, in a function that also has ring counters,
//!       then v offset, v len, v path count, v offset of the ring counters
//! list of scopes: v name  v linkage name  v file  v line  v parent+1 (0: none)
//!                 v call line  v call column
//! v number of blocks  v entry  v exit
//! each block: v instructions, list of places
//! list of edges: z from (less the previous edge's)  z to (less from)
//!                1 byte: kind + 4 × outcome + 128 if a place follows
//!                [z case value]  [place]
//! of path counters, list of dag edges: 1 byte: kind + 4 if its ends follow
//!                z edge (less the previous one's + 1) or v block
//!                [v from  v to]  v value
//! of edge counters, lists of counted and of tree edges: z edge (less the previous one's + 1)
//! if any of the following lists has an item, or there are selects:
//!                list of loads (`loads.rs`), v selects, list of loops (`loops.rs`),
//!                list of names of cases (`cases.rs`),
//!                list of leaks: z block (less the previous one's + 1)
//! place: v scope  z line (less the previous place's in the function)  v column
//! ```
//! The ends of a dag edge follow only if they differ from the ends that its kind implies
//! ([`FunctionMap::implied_ends`]).
//!
//! Example: an empty function `f` in `a.c:1`, entry block 0, exit block 1, one return edge, one
//! path, without scopes (strings: 0 "", 1 "f", 2 "a.c"; hash 0):
//! ```text
//! 01 01 02 01  00×8  00 00 01  01  00  02 00 01  00 00  00 00  01 00 02 24  01 00 00 00
//! ```
//! Read: `f`, `f`, `a.c`, line 1; hash; an array at 0 of 1 counter; 1 path; no scope; 2 blocks,
//! entry 0, exit 1; both without instructions and places; one edge: from 0, to 0+1, plain and
//! `Return` (4×9); one dag edge: kind edge, number 0, value 0. With its edge counted instead:
//! `02 00 01` for the counters, `01 00 00` (counted: edge 0; tree: none) for the dag edge.
//!
//! # Paths in streams
//! A word of a stream (`abi`) stands for a path. The path tells what happens to its activation:
//! - A path that starts at the entry *opens* the activation. Its first dag edge is then no
//!   [`DagKind::Start`].
//! - A path *closes* the activation if its last dag edge is a [`DagKind::Edge`] with outcome
//!   [`Outcome::Return`], [`Outcome::TailCall`], or [`Outcome::Resume`]. A call that may become a
//!   jump stands behind such an end, so its callee is a sibling, as on the stack.
//! - After [`Outcome::Noreturn`], the frame lives as long as its callee: until control returns to a
//!   frame below it, or the thread ends.
//! - After a [`DagKind::Back`] or [`DagKind::Cut`], the activation goes on. In traces, a cut edge
//!   with outcome [`Outcome::Split`] stands before a call, and the block it leads to begins with
//!   that call. In rare cases it stands before a terminator whose edges can carry no probe.
//!
//! Streams have no hashed functions, so [`Counters`] is always an array. Its offset over 8 is the
//! index of path 0, and its length takes no memory.
//!
//! # Ring counters
//! For sequences over iterations, the position of an activation with a single path tells nothing.
//! Such a path is counted instead of appended, behind the thread's ring
//! ([`FunctionMap::ring_counters`]). Two sorts of paths are counted there:
//! - Paths that open and close an activation, in functions whose paths from the entry have the
//!   lowest numbers. In functions without loops, these are all paths.
//! - Paths that end with an exit edge ([`EdgeKind::Exit`]). Their counters say how often the call
//!   was reached, whether it came back or not.

mod cases;
mod codes;
mod counters;
mod decode;
mod encode;
mod function;
mod graph;
mod hash;
mod layout;
mod loads;
mod loops;
mod module;
mod place;
mod record;
mod strings;

pub use cases::CaseNames;
pub(crate) use counters::FunctionCounters;
pub(crate) use decode::{fragment_counters, fragment_counters_size, ring_counters_size};
pub use function::{Counters, FunctionMap};
pub use graph::{BlockMap, DagEdgeMap, DagKind, EdgeKind, EdgeMap, Outcome};
pub use hash::graph_hash;
pub use layout::FRAGMENT_MAGIC;
pub use loads::{Load, LoadShape};
pub use loops::LoopMap;
pub use module::{ModuleMap, Skipped, VanishedFunction};
pub use place::{Place, Scope};
