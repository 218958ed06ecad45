//! Random C programs. For every line, the profile must have the tracer's count, however the
//! optimizer changed the code.

use crate::support::{KINDS_WITH_EXITS, Program, check_kinds, check_with};
use holloway_weave::OptLevel::{self, O0, O1, O2, O3};

fn random_programs(seeds: std::ops::Range<u64>, levels: &[OptLevel]) {
    for seed in seeds {
        let source = Program::new(seed, false).text;
        // Locals changed between setjmp and longjmp have no defined value. But the tracer and the
        // profile see the same run.
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
fn unoptimised() {
    random_programs(0..4, &[O0]);
}

#[test]
fn optimised() {
    random_programs(100..104, &[O1, O2]);
}

#[test]
fn optimised_hard() {
    random_programs(200..203, &[O3]);
}

/// The same programs with all paths hashed, and with short cut paths.
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

/// Frames left at random by jumps to `main`.
#[test]
fn left() {
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
