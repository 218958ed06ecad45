//! The runtime inside a woven program. It gives each thread a block of counters and counts hashed
//! paths, or it gives each thread a ring for its stream and keeps cells of the ring free.
//!
//! Woven code calls six entry points (see `holloway_abi`). Each entry point is assembly, which
//! saves registers (`entries`), and a body in Rust (in parentheses):
//!
//! - `__holloway_enter` (`enter::enter`) finds or creates a block or ring for a thread whose slot
//!   is null.
//! - `__holloway_hash` (`segment::count`) counts a path of a function with too many paths for an
//!   array. For a path that already has a slot in the hash table, assembly does all the work.
//! - `__holloway_chunk` (`space::chunk`) ensures that the next chunks of the ring are free, after
//!   woven code began a chunk.
//! - `__holloway_caught` (`space::caught`) records that control came back to a frame, by an
//!   exception or `longjmp`.
//! - `__holloway_burst` (`burst::burst`) decides whether the path that begins is timed.
//! - `__holloway_sample` (`burst::sample`) records a timed path that ended.
//!
//! # Modules, from the top down
//! A module imports only modules of lower rows.
//!
//! | modules | contents |
//! |---|---|
//! | `entries` | the entry points, for each processor |
//! | `enter` | the first entry of a thread |
//! | `tend` | the rare work of a visit of a timed path |
//! | `segment` | hash counters |
//! | `space` | free cells in a ring: waiting for the collector, or spooling |
//! | `fork` | a profile file for the child of a fork |
//! | `opening` | the first use in a process: a new file, or the file of an unloaded library |
//! | `spool`, `lz4` | compresses words into the file if no collector takes them |
//! | `blocks` | the blocks of living threads, and the reuse of dead threads' blocks |
//! | `stream` | beginning and end of a thread's stream |
//! | `cells` | the cells of a ring that are in the file |
//! | `extents` | extents of the profile file |
//! | `measure` | the rate of bursts, the cost of a probe |
//! | `burst` | which paths are timed, and their samples |
//! | `watch` | preemption and migration |
//! | `files`, `report` | directory and file of the profile; the line on standard error |
//! | `timing`, `runtime` | the state of a thread's timed paths; the state of the runtime |
//! | `ring`, `page` | the ring of a thread; the file's first page |
//! | `collector` | the process that takes words out of the rings |
//! | `proc`, `process`, `token` | `/proc`; the process to count for; a word that a fork wipes |
//! | `lock`, `sys`, `image`, `arch` | lock; system calls; the image's header; the processor |
//!
//! # Invariants
//! - **Counts are exact.** A thread counts in its own block, with one instruction for each count.
//!   So a signal handler runs before or after that instruction. Longer work (a new block or
//!   segment) runs with every signal masked, under one lock. The words of a stream are in the
//!   thread's own ring, and each word has a separate cell.
//! - **The end of the process loses no counts.** Blocks and rings are in a shared mapping of the
//!   file. The kernel keeps the counts whether the process exits, calls `exec`, or is killed. No
//!   code of the runtime runs at exit.
//! - **The program does not notice the runtime.** The runtime changes no state of libc (errno,
//!   malloc, stdio), installs no signal handler, uses descriptors above 1,000, and needs less than
//!   4 KiB of stack. If the runtime fails, the program continues.
//!
//! # Limits
//! - A child of a raw `clone` or `_Fork` runs no fork handlers. It counts into its parent's file
//!   until its first slow path (a call of the runtime that needs the lock). With streams, it
//!   appends to its parent's ring until then. Words that parent and child append at the same time
//!   may be lost.
//! - If a signal handler interrupts `__holloway_hash` between finding the slot and adding 1, and
//!   the handler forks, that one execution is lost.
//! - If a program has rights that its caller does not have (setuid, setgid, file capabilities), it
//!   counts in memory and writes no profile.
//! - A fiber that moves to another thread within one call of a woven function counts in the block
//!   of the thread on which the call began.
//!
//! # Cost (2 cores, busy, virtual)
//! | event | cost |
//! |---|---|
//! | first entry of a process | 40 system calls, 0.3 ms with the file's creation |
//! | new thread | 2 to 10 µs |
//! | hashed path | 2 to 4 ns; 0.2 µs for its first execution |
//! | fork | twice the time of a plain fork |
//! | word of a repetitive stream | 2.5 ns, including spooling |
//! | new ring (2 MiB) for a collector | 0.4 ms |
//! | timed path in a burst | 150 to 275 cycles |

mod arch;
mod blocks;
mod burst;
mod cells;
mod collector;
mod enter;
mod entries;
mod extents;
mod files;
mod fork;
mod image;
mod lock;
mod lz4;
mod measure;
mod opening;
mod page;
mod proc;
mod process;
mod report;
mod ring;
mod runtime;
mod segment;
mod space;
mod spool;
mod stream;
mod sys;
mod tend;
mod timing;
mod token;
mod watch;
