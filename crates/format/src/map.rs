//! The path map of one woven module: each function's graph, numbering, source places, and counters.
//!
//! The weaver writes one *fragment* for each module ([`ModuleMap::encode`]). The link step joins
//! the fragments of an image ([`crate::image`]). [`ModuleMap::decode`] returns the structures that
//! the weaver encoded.
//!
//! # A fragment
//! ```text
//! OFFSET SIZE MEANING
//!      0    8  "HLWMODUL"
//!      8    4  format version, 5
//!     12    4  n: number of functions
//!     16    8  bytes of the module's counters in a thread's block
//!     24    4  s: number of strings
//!     28    4  t: bytes of string text
//!     32    4  string: name of the module
//!     36    4  string: producer
//!     40    4  k: number of skipped functions
//!     44    4  g: number of vanished functions
//!     48    8  r: bytes of function records
//!     56    4  number of ring counters (of functions with kind of counters 3)
//!     60    4  crc32 of bytes 0..60
//!     64   8s  strings:  0 4 where the string ends in the text   4 4 crc32 of the string
//!      …    t  text, UTF-8; a string starts where the one before it ends
//!      …  12n+4  index of the function records (crate::frames): keys: linkage and source name
//!      …  16k  skipped functions:  0 4 name  4 4 linkage name  8 4 reason
//!                                 12 4 crc32 of number and bytes 0..12
//!      …  12g  vanished functions: 0 4 name  4 4 linkage name
//!                                  8 4 crc32 of number and bytes 0..8
//!      …    r  function records (crate::frames)
//!      … to the end of the fragment
//!              source files:       0 4 name  4 16 MD5
//!                                  20 4 crc32 of number and bytes 0..20
//! ```
//! Older weavers write no source files, and older readers ignore them.
//!
//! All integers are little-endian. *String* means the number of a string in the table. In *crc32 of
//! number*, the number is the item's index in its table, in 4 bytes.
//!
//! Version 2 is the same, except that function records end before the number of selects. The parser
//! treats the missing lists as empty. Maps of version 2 do not record leaks, so
//! [`ImageMap::leaks_unknown`] is true. In version 3, a function without a list of leaks has no
//! leaks. Version 3 is the same, except that function records end before the facts. Version 4 is
//! the same, except that it does not mark the chords.
//!
//! [`ImageMap::leaks_unknown`]: crate::ImageMap::leaks_unknown
//!
//! # A function record's payload
//! `v` is a varint, and `z` is a zigzag varint ([`crate::varint`]). A list is its length as `v`,
//! then its items. Items that ascend are written as differences: `z edge - (previous edge + 1)`.
//! ```text
//! v name  v linkage name  v file  v line  8 bytes hash
//! 1 byte kind of counters, + 4 if the places are in the order of the source,
//!                          + 16 if the graph is that of the code before the optimizer:
//!     0 array of paths, then v offset, v len, v path count
//!     1 hash of paths, then v offset, v path count
//!     2 array of edges, then v offset, v len
//!     8 as 2, and the head of a hash table of values follows the counters
//!     3 array of paths, in a function that also has ring counters,
//!       then v offset, v len, v path count, v offset of the ring counters
//! list of scopes: v name  v linkage name  v file  v line  v parent+1 (0: none)
//!                 v call line  v call column
//! v number of blocks  v entry  v exit
//! each block: v instructions, list of places
//! list of edges: z from - previous edge's from  z to - from
//!                1 byte: kind + 4 × outcome + 128 if a place follows
//!                [z case value]  [place]
//! if paths are counted, list of dag edges: 1 byte: kind + 4 if its ends follow
//!                + 8 if it is a chord (off the spanning tree)
//!                z edge - (previous edge + 1), or v block
//!                [v from  v to]  v value
//! if edges are counted, lists of counted and of tree edges: z edge - (previous edge + 1)
//! if one of the following lists is not empty, or there are selects:
//!                list of loads (`loads.rs`), v selects, list of loops (`loops.rs`),
//!                list of names of cases (`cases.rs`),
//!                list of leaks: z block - (previous block + 1)
//! if one of the following lists is not empty, list of facts (`facts.rs`)
//! in builds for training, list of contents of blocks (`contents.rs`)
//! place: v scope  z line - line of the previous place in the function  v column
//! ```
//! A *dag edge* is an edge of the acyclic graph that numbers the function's paths. Its ends follow
//! only if they differ from the ends that its kind implies ([`FunctionMap::implied_ends`]).
//!
//! Example: an empty function `f` in `a.c:1`. It has the entry block 0, the exit block 1, one
//! return edge, one path, and no scopes. The strings are 0 "", 1 "f", and 2 "a.c", and the hash is
//! 0:
//! ```text
//! 01 01 02 01  00×8  00 00 01  01  00  02 00 01  00 00  00 00  01 00 02 24  01 00 00 00
//! ```
//! The bytes mean: `f`, `f`, `a.c`, line 1; hash; an array at offset 0 with 1 counter; 1 path; no
//! scope; 2 blocks, entry 0, exit 1; both blocks without instructions and places; one edge from 0
//! to 0+1, plain and `Return` (4×9); one dag edge: kind edge, edge 0, value 0. If the function
//! counted its edge instead of its path, the counters would be `02 00 01`. In place of the dag
//! edge, the record would have `01 00 00` (counted: edge 0; tree: none).
//!
//! # Paths in streams
//! A word of a stream (`holloway_abi`) stands for a path. The path determines its activation's
//! state:
//! - A path that starts at the entry *opens* the activation. The first dag edge of this path is not
//!   a [`DagKind::Start`].
//! - A path *closes* the activation if its last dag edge is a [`DagKind::Edge`] with outcome
//!   [`Outcome::Return`], [`Outcome::TailCall`], or [`Outcome::Resume`]. A tail call, which may
//!   become a jump, comes after such a path. So the activation of its callee is a sibling, as on
//!   the stack.
//! - After [`Outcome::Noreturn`], the activation lasts as long as its callee: until control returns
//!   to the frame of a caller, or the thread ends.
//! - After a [`DagKind::Back`] or [`DagKind::Cut`], the activation continues. In traces, a cut edge
//!   with outcome [`Outcome::Split`] comes directly before a call: its target block begins with the
//!   call. In rare cases, the edge comes before a terminator whose edges can carry no probe.
//!
//! In streams no function is hashed, so [`Counters`] is always an array. Its offset divided by 8 is
//! the index of path 0 among the module's counters. The word of path `p` is 1 + this index + `p` +
//! the module's base, in counters. The array takes no memory.
//!
//! # Ring counters
//! A sequence of paths over iterations needs at least two paths of one activation. So the only path
//! of an activation is counted instead of appended. Its counter is after the words of the
//! thread's ring ([`FunctionMap::ring_counters`]). Two sorts of paths have ring counters:
//! - Paths that open and close an activation, in functions whose paths from the entry have the
//!   lowest numbers. In functions without loops, these are all paths.
//! - Paths that end with an exit edge ([`EdgeKind::Exit`]). These counters count how often control
//!   reached the call, whether the call came back or not.

mod cases;
mod codes;
mod contents;
mod counters;
mod decode;
mod encode;
mod facts;
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
pub use contents::BlockContent;
pub(crate) use counters::FunctionCounters;
pub(crate) use decode::{code_of, fragment_counters, fragment_counters_size, ring_counters_size};
pub use facts::{BlockFact, FactKind};
pub use function::{Counters, FunctionMap};
pub use graph::{BlockMap, DagEdgeMap, DagKind, EdgeKind, EdgeMap, Outcome};
pub use hash::{graph_hash, hash_of_words};
pub use layout::FRAGMENT_MAGIC;
pub use loads::{Load, LoadShape};
pub use loops::LoopMap;
pub use module::{ModuleMap, Skipped, SourceFile, VanishedFunction};
pub use place::{Place, Scope};
