//! Every folder of tests/programs, in each of its variants: a test each, found when the tests start.
//!
//! A harness of its own (libtest-mimic) because the list of tests is the list of folders.

mod balance;

use holloway_tests::program;
use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let mut arguments = Arguments::from_args();
    // As the tests of other executables have it.
    let threads = std::env::var("RUST_TEST_THREADS");
    let threads = threads.ok().and_then(|n| n.parse().ok());
    arguments.test_threads = arguments.test_threads.or(threads);
    let programs =
        program::all().expect("tests/programs is readable and its directives are understood");
    let mut trials = Vec::new();
    for program in programs {
        for variant in program.variants() {
            let name = format!("{}::{}", program.name, variant.name(program.language));
            let program = program.clone();
            trials.push(Trial::test(name, move || {
                program
                    .check(&variant, &balance::wrong)
                    .map_err(|e| Failed::from(format!("{e:#}")))
            }));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}
