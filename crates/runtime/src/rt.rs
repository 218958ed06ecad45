//! The runtime inside a woven program. It gives each thread a block of counters and counts hashed
//! paths, or it gives each thread a ring for a stream of paths and keeps space in the ring.
//!
//! Woven code calls six entry points (see `holloway_abi`). `entries` defines them in assembly
//! around their bodies:
//!
//! - `__holloway_enter` (`enter::enter`): the thread's slot is null. Finds or makes a block.
//! - `__holloway_hash` (`segment::count`): counts a path of a function with too many paths for an
//!   array. The usual case, a path that has its record already, is all in assembly.
//! - `__holloway_chunk` (`space::chunk`): a chunk of the ring was begun. Keeps the next
//!   chunks free.
//! - `__holloway_caught` (`space::caught`): control came back to a frame, by an exception or
//!   `longjmp`.
//! - `__holloway_burst` (`burst::burst`): is the path that begins here timed?
//! - `__holloway_sample` (`burst::sample`): a timed path ended.
//!
//! # Modules, from the top down
//! A module imports only modules below its own row.
//!
//! | modules | contents |
//! |---|---|
//! | `entries` | the entry points, for each processor |
//! | `enter` | the first entry of a thread |
//! | `tend` | the work that a visit of a timed path seldom has |
//! | `segment` | hash counters |
//! | `space` | free places in a ring: waiting for the collector, or spooling |
//! | `fork` | a profile file for the child of a fork |
//! | `opening` | the first use in a process: a new file, or that of an unloaded library |
//! | `spool`, `lz4` | words moved to the file where no collector takes them |
//! | `blocks` | threads' blocks, and the pool of blocks of dead threads |
//! | `stream` | beginning and end of a thread's words |
//! | `extents` | extents of the profile file |
//! | `measure` | how often to burst, the cost of a probe |
//! | `burst` | which paths are timed, and their samples |
//! | `watch` | preemption and migration |
//! | `files`, `report` | directory and file of the profile; the line on stderr |
//! | `timing`, `runtime` | the state of a thread's timed paths; the state of the runtime |
//! | `ring`, `page` | the words of a thread; the file's first page |
//! | `collector` | the process that takes words out of the rings |
//! | `proc`, `process`, `token` | `/proc`; the process to count for; a word that a fork wipes |
//! | `lock`, `sys`, `image`, `arch` | lock; system calls; the image's header; the processor |
//!
//! # What it keeps
//! - **Exact**: a thread counts in its own block, with one instruction for each count. So a signal
//!   handler comes before the instruction or after it. Longer work (a new block or segment) runs
//!   with every signal masked, under one lock. Words of streams stand in the thread's own ring,
//!   each at its own place.
//! - **Nothing lost at any end**: blocks and rings lie in a shared mapping of the file. The kernel
//!   keeps the counts whether the process exits, execs, or is killed. Nothing runs at exit.
//! - **No trace in the program**: no libc state (errno, malloc, stdio), no signal handler,
//!   descriptors above 1,000, less than 4 KiB of stack. Whatever fails, the program runs on.
//!
//! # Limits
//! - A child made by a raw `clone` or `_Fork` runs no fork handlers. It counts into its parent's
//!   file until its first slow path. With streams it appends to its parent's ring until then, and
//!   words that both append at the same time may be lost.
//! - A `fork` in a signal handler that interrupted `__holloway_hash` between finding the record and
//!   adding 1 loses that one path.
//! - A program with rights that its caller does not have (setuid, setgid, file capabilities) counts
//!   in memory and writes nothing.
//! - A fiber that moves to another thread within one call of a woven function counts in the block
//!   of the thread it started on.
//!
//! # Cost (2 cores, busy, virtual)
//! | event | cost |
//! |---|---|
//! | first entry of a process | 40 system calls, 0.3 ms with the file's creation |
//! | new thread | 2 to 10 µs |
//! | hashed path | 2 to 4 ns; 0.2 µs at its first time |
//! | fork | twice the time of a plain fork |
//! | word of a stream that repeats | 2.5 ns with its spooling |
//! | new ring (2 MiB) | 0.4 ms |
//! | timed path in a burst | 150 to 275 cycles |

mod arch;
mod blocks;
mod burst;
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
