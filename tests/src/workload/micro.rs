//! Tight loops, one C file each, in which a probe costs much compared with the counted code. The
//! means of the suite leave them out.

use super::c::CSource;
use super::program::{Input, Source, Workload};

/// A file of tests/workloads/micro; `size` is its argument for about half a second.
macro_rules! micro {
    ($name:literal, $file:literal, $about:literal, [$small:literal, $quick:literal, $full:literal] $(, $threads:literal)?) => {
        Workload {
            name: concat!("micro-", $name),
            about: $about,
            source: Source::C(&CSource {
                name: concat!("micro-", $file),
                from: None,
                driver: concat!("micro/", $file, ".c"),
                files: &[concat!($file, ".c")],
                except: &[],
                flags: "",
                libraries: "-pthread",
            }),
            threads: 1 $(* 0 + $threads)?,
            input: Input::Nothing,
            sizes: [$small, $quick, $full],
            runs: &[&["{size}" $(, stringify!($threads))?]],
            ordered: true,
        }
    };
}

/// All tight loops, in the order of the table.
pub static MICRO: [Workload; 14] = [
    micro!("sort", "sort", "insertion sort", [1, 1, 4]),
    micro!(
        "twopath",
        "twopath",
        "a loop of two paths, four instructions",
        [1, 1, 2]
    ),
    micro!("branches", "branches", "eight branches in a row", [1, 1, 2]),
    micro!("calls", "calls", "a small function, called", [1, 1, 3]),
    micro!("fib", "fib", "recursion", [1, 1, 6]),
    micro!("nest", "nest", "three loops in one another", [1, 1, 6]),
    micro!("search", "search", "binary search, linked lists", [1, 1, 2]),
    micro!(
        "sieve",
        "sieve",
        "a sieve, a product of matrices",
        [1, 1, 3]
    ),
    micro!("tree", "tree", "a binary tree", [1, 1, 3]),
    micro!("words", "words", "words counted by a state", [1, 1, 3]),
    micro!("dispatch", "dispatch", "a bytecode loop", [1, 1, 4]),
    micro!("checks", "checks", "CRC by bits, Base64", [1, 1, 3]),
    micro!(
        "threads",
        "threads",
        "a small function, called from 2 threads",
        [1_000_000, 80_000_000, 400_000_000],
        2
    ),
    micro!(
        "threads64",
        "threads",
        "the same from 64 threads",
        [1_000_000, 80_000_000, 400_000_000],
        64
    ),
];
