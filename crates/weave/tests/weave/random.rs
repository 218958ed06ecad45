//! Tests random C programs. Whatever the optimizer does, the profile's count of every traced line
//! must equal the tracer's.

use crate::support::{KINDS_WITH_EXITS, Program, check_kinds, check_with};
use holloway_weave::OptLevel::{self, O0, O1, O2, O3};

fn random_programs(seeds: std::ops::Range<u64>, levels: &[OptLevel]) {
    for seed in seeds {
        let source = Program::new(seed, false).text;
        // A local that changes between setjmp and longjmp has no defined value. That does not
        // matter, because the tracer and the profile count the same run.
        check_with(
            &format!("random{seed}.c"),
            &source,
            levels,
            &["-Wno-everything"],
            &|_| {},
        );
    }
}

#[test]
fn unoptimized() {
    random_programs(0..4, &[O0]);
}

#[test]
fn optimized() {
    random_programs(100..104, &[O1, O2]);
}

#[test]
fn optimized_at_o3() {
    random_programs(200..203, &[O3]);
}

/// Random programs with almost all paths in hash tables, and with many cut edges.
#[test]
fn hashed_and_cut() {
    for seed in 300..302 {
        let source = Program::new(seed, false).text;
        check_with(
            &format!("hashed{seed}.c"),
            &source,
            &[O0, O2],
            &["-Wno-everything"],
            &|options| options.array_limit = 2,
        );
        check_with(
            &format!("cut{seed}.c"),
            &source,
            &[O0, O2],
            &["-Wno-everything"],
            &|options| options.path_limit = 3000,
        );
    }
}

/// Random programs in which calls jump back to `main` at random.
#[test]
fn frames_left_by_longjmp() {
    for seed in 400..403 {
        check_kinds(
            &format!("left{seed}.c"),
            &Program::new(seed, true).text,
            &[O0, O2],
            &["-Wno-everything"],
            &|_| {},
            &KINDS_WITH_EXITS,
        );
    }
}
