//! One test for each folder of tests/programs and each of its variants in the matrix.
//!
//! The harness is libtest-mimic, because the list of tests follows from the list of folders when
//! the tests start.

mod balance;

use holloway_tests::program::{self, Matrix};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let mut arguments = Arguments::from_args();
    // The other test executables get the number of threads from this variable.
    let threads = std::env::var("RUST_TEST_THREADS");
    let threads = threads.ok().and_then(|n| n.parse().ok());
    arguments.test_threads = arguments.test_threads.or(threads);
    let programs =
        program::all().expect("tests/programs is readable and its directives are understood");
    let matrix = Matrix::from_environment().expect("the environment names a matrix");
    let mut trials = Vec::new();
    for program in programs {
        for variant in matrix.variants(&program) {
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
