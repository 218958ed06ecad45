//! The runtime inside a woven program: gives each thread its block of counters, and counts hashed paths; or gives it a ring for
//! a stream of paths, and makes space in it.
//!
//! Woven code reaches it by six symbols (see `holloway_abi`), which the processor's file (`x86_64.rs`, `aarch64.rs`) defines
//! in assembly around their bodies:
//! - `__holloway_enter`: the thread's slot is null. [`enter`] finds or makes a block and stores it.
//! - `__holloway_hash`: counts a path of a function with too many paths for an array. The way to a path that has its
//!   record already is all in assembly; [`segment::count`] is the rest.
//! - `__holloway_chunk`, `__holloway_caught`: streams; see [`ring`].
//! - `__holloway_burst`, `__holloway_sample`: timed paths; see [`burst`].
//!
//! | file | what |
//! |---|---|
//! | `store` | extents of the profile file, blocks of counters, the pool of blocks of dead threads |
//! | `segment` | hash counters |
//! | `ring` | rings, where streams are collected: space for words, a collector that is waited for |
//! | `burst` | which paths are timed, and their samples |
//! | `watch` | preemption, migration, the clocks |
//! | `measure` | how often to burst, what a probe costs |
//! | `spool`, `lz4` | words moved to the file where no collector takes them |
//! | `opening` | first use in a process: directory, file, or taking over from an unloaded library |
//! | `fork` | a profile file for the child |
//! | `page` | the file's first page: header, and the runtime's own notes |
//! | `files` | directory and file of the profile, descriptors out of the program's way |
//! | `proc` | what `/proc` tells: environment, maps, start time |
//! | `report` | the one line on stderr when counts are lost |
//! | `lock`, `sys`, `text` | signal mask and lock, system calls, bytes |
//!
//! # What it keeps
//! - **Exact**: a thread counts in a block of its own, each time with one instruction, so a signal handler comes before
//!   it or after it. What takes longer (a block, a segment) runs with every signal masked, under one lock.
//!   Words of streams stand in a ring of the thread's, each with a place of its own.
//! - **Nothing lost at an end of any kind**: blocks and rings lie in a shared mapping of the file; the kernel keeps what was
//!   counted, whether the process exits, execs or is killed. There is nothing to do at exit.
//! - **No trace in the program**: no libc state (errno, malloc, stdio), no signal handler, descriptors above 1,000,
//!   less than 4 KiB of stack; whatever fails, the program runs on.
//!
//! # Limits
//! A child made by a raw `clone` or `_Fork` (no atfork handlers) counts into its parent's file until it first comes to
//! a slow path. A `fork` in a signal handler that interrupted `__holloway_hash` between finding the record and adding 1
//! loses that one path. With streams, the child of a raw `clone` appends to its parent's ring until it comes to a slow path, and what
//! both append at the same time may be lost. A program with rights its caller has not (setuid, setgid, file capabilities) counts in memory and
//! writes nothing. Fibres that move between threads within one call of a woven function count in the block of the
//! thread they started on.
//!
//! Cost (2 cores, busy, virtual): the first enter some 40 system calls, 0.3 ms with the file's creation; a new thread 2
//! to 10 us; a hashed path 2 to 4 ns, at its first time 0.2 us; a fork twice the plain one's time; a word that repeats 2.5 ns with its spooling, a new
//! ring of 2 MiB 0.4 ms; a timed path 150 to 275 cycles in a burst that goes on.

#[cfg(target_arch = "aarch64")]
#[path = "rt/aarch64.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "rt/x86_64.rs"]
mod arch;

mod burst;
mod files;
mod fork;
mod lock;
mod lz4;
mod measure;
mod opening;
mod page;
mod proc;
mod report;
mod ring;
mod segment;
mod spool;
mod store;
mod sys;
mod text;
mod watch;

use holloway_abi::{ImageHeader, Kind};
use lock::{Lock, Masked};
use page::Inner;
use ring::Ring;

unsafe extern "C" {
    /// The image that this runtime is part of; made at its link.
    static __holloway_image: ImageHeader;
}

/// The image's header.
fn image() -> &'static ImageHeader {
    // SAFETY: the link of every image defines the symbol, as read-only data of this type.
    unsafe { &__holloway_image }
}

/// What the image was woven to collect. The runtime and the weaver of an image are of one version, so its number is known.
fn kind() -> Kind {
    Kind::from_number(image().kind).unwrap_or(Kind::Paths)
}

/// All state of this image's runtime.
static RUNTIME: Lock<Inner> = Lock::new(Inner::new());

/// Body of `__holloway_enter`: the calling thread's block, stored in its slot as well.
extern "C" fn enter() -> *mut u8 {
    let block = block();
    if store::is_stream() {
        ring::make_space(Ring::of_block(block)); // a dead thread may have left it full
    }
    block
}

fn block() -> *mut u8 {
    let _masked = Masked::all();
    fork::notice_raw_fork();
    let known = arch::slot();
    if !known.is_null() {
        return known; // a signal handler entered between the caller's test and the mask
    }
    let mut inner = RUNTIME.lock();
    opening::open_once(&mut inner);
    let block = store::block_for_thread(&mut inner);
    arch::set_slot(block);
    block
}

/// Runs before every other constructor of the image, so that fork handlers of the program come after ours: in the child
/// ours has made the child's file before woven handlers count, in the parent ours locks last.
///
/// Not at the first [`enter`]: libc may use vector registers, which `enter` has to keep.
extern "C" fn constructor() {
    fork::register();
}
