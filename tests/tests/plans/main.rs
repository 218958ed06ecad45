//! Optimizes programs by their own plans, by those of other inputs, and by random plans. With any
//! plan, a program must do what it does without one.
//!
//! `cargo xtask campaign` tests all C and C++ programs of tests/programs that succeed, at all
//! levels. Otherwise, programs with unusual control flow are tested, each at one level.
//! `HOLLOWAY_SOAK=N` tests N random programs of each sort.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod modules;

use anyhow::{Context, Result, ensure};
use holloway_tests::csmith::{CsmithProgram, CsmithResult};
use holloway_tests::machine::Machine;
use holloway_tests::optimized::{Carrier, Checked};
use holloway_tests::optimized_random;
use holloway_tests::program::{Language, Libc, Matrix, Program, Variant, all};
use holloway_tests::random_program::Dialect;
use holloway_tests::tool::scratch;

/// The programs of the sample.
const SAMPLE: [&str; 19] = [
    "asm_goto",
    "computed_goto",
    "constructors",
    "contexts",
    "coroutines",
    "cpp_exceptions",
    "cpp_features",
    "cpp_statics",
    "deep_recursion",
    "fork",
    "ifunc_static",
    "irreducible",
    "loops",
    "musttail",
    "setjmp",
    "signals",
    "switches",
    "threads",
    "varargs",
];

const LEVELS: [&str; 4] = ["O2", "O1", "O3", "Os"];

#[test]
fn programs_do_the_same_with_any_plan() {
    let matrix = Matrix::from_environment().unwrap();
    let mut failures = Vec::new();
    for (number, program) in all().unwrap().into_iter().enumerate() {
        let levels: &[&str] = match matrix {
            Matrix::Whole => &LEVELS,
            Matrix::Quick | Matrix::Sample if SAMPLE.contains(&program.name.as_str()) => {
                std::slice::from_ref(&LEVELS[number % LEVELS.len()])
            }
            Matrix::Quick | Matrix::Sample => &[],
        };
        let is_c = matches!(program.language, Language::C | Language::Cpp);
        // Only a program that succeeds can be trained. Builds for training do not lie beside the
        // shared libraries of a program.
        let can_be_trained =
            program.directives.ending() == "exit 0" && program.directives.shared.is_empty();
        if !is_c || !can_be_trained {
            continue;
        }
        for level in levels {
            if let Err(error) = check_program(&program, level) {
                failures.push(format!("{} at {level}: {error:#}", program.name));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn check_program(program: &Program, level: &str) -> Result<()> {
    let scratch = scratch("plans")?;
    let variant = Variant {
        level: level.to_owned(),
        clang: 22,
        lld: false,
        libc: Libc::Glibc,
        machine: Machine::Host,
    };
    let native = program.build(&variant, &scratch.path().join("native"), None)?;
    let expected = program.run(&variant, &native, None)?;
    let folder = scratch.path().join("embedded");
    let embedded = program.build_embedded(&variant, &folder)?;
    let same = |optimized: &std::path::Path| {
        let output = program.run(&variant, optimized, None)?;
        ensure!(
            (&output.stdout, output.status) == (&expected.stdout, expected.status),
            "it ends with {} and prints\n{}\n--- not\n{}\n--- stderr\n{}",
            output.ending(),
            output.text(),
            expected.text(),
            output.stderr
        );
        Ok(())
    };
    same(&embedded).context("the plain program")?;
    let args: Vec<&str> = program.directives.args.iter().map(String::as_str).collect();
    let lines: Vec<usize> = (1..1000).collect();
    let carrier = Carrier {
        folder: &folder,
        program: &embedded,
        environment: &[],
        args: &args,
        other_args: None,
        lines: &lines,
        seed: 1,
    };
    let checked = carrier.check(&same)?;
    ensure!(checked.functions > 0, "no function has counts");
    Ok(())
}

/// The number of random programs.
fn soak(usual: u64) -> u64 {
    match std::env::var("HOLLOWAY_SOAK") {
        Ok(text) => text.parse().expect("HOLLOWAY_SOAK is a number"),
        Err(_) => usual,
    }
}

#[test]
fn csmith_programs_print_the_same_with_any_plan() {
    let mut sum = Checked::default();
    for seed in 1..=soak(4) {
        let scratch = scratch("csmith").unwrap();
        let program = CsmithProgram::generate(scratch.path(), seed).unwrap();
        match program.check() {
            Ok(CsmithResult::LeftOut) => {}
            Ok(CsmithResult::Same(checked)) => sum.add(checked),
            Err(error) => panic!("seed {seed} at {:?}: {error:#}", program.level()),
        }
    }
    assert!(sum.prefetches > 0 && sum.late_functions > 0, "{sum:?}");
}

#[test]
fn programs_that_leave_frames_do_the_same_with_any_plan() {
    let mut sum = Checked::default();
    for seed in 1..=soak(2) {
        for dialect in [Dialect::C, Dialect::Cpp] {
            let scratch = scratch("frames").unwrap();
            match optimized_random::check(scratch.path(), seed, dialect, "-O2") {
                Ok(None) => {}
                Ok(Some(checked)) => sum.add(checked),
                Err(error) => panic!("{dialect:?} {seed}: {error:#}"),
            }
        }
    }
    assert!(sum.targets > 0, "{sum:?}");
}
