//! A run as large as pages should be able to show: `tests/page.rs` checks the size of its page, and
//! the example `large_page` writes the page.

use holloway_analysis::RunProfile;
use holloway_format::{Count, FunctionCounts, FunctionIndex, FunctionMap, Outcome};
use holloway_testkit::build::{function, image, module, profile};

/// All functions.
const FUNCTIONS: u32 = 100_000;
/// The functions that ran.
const RAN: u32 = 2_000;
/// Paths that ran in each of these functions.
const PATHS: u64 = 500;

/// A chain of diamonds: 2^n paths.
fn diamonds(name: &str, line: u32, n: u32) -> FunctionMap {
    let mut build = function(name, &format!("src/file{}.c", line % 500), line);
    for block in 0..=3 * n {
        let line = line + block;
        build = build.block(1 + (block + line) % 7, &[(0, line), (0, line + 1)]);
    }
    build = build.block(0, &[]);
    for top in (0..3 * n).step_by(3) {
        build = build
            .edge(top, top + 1, Outcome::True)
            .edge(top, top + 2, Outcome::False)
            .edge(top + 1, top + 3, Outcome::Jump)
            .edge(top + 2, top + 3, Outcome::Jump);
    }
    build.edge(3 * n, 3 * n + 1, Outcome::Return).done()
}

/// A run with a million distinct paths in 100,000 functions. As in real programs, few of the
/// functions ran. The counts are pseudorandom and of all sizes up to a million.
///
/// `part` divides the number of functions: 10 gives a tenth of the run.
pub(crate) fn large_run(part: u32) -> RunProfile {
    let (all, ran_functions) = (FUNCTIONS / part, RAN / part);
    let ran = (0..ran_functions).map(|number| {
        diamonds(
            &format!("module{}::ran_{number}", number % 90),
            7 * number,
            9,
        )
    });
    let never = (ran_functions..all).map(|number| {
        diamonds(
            &format!("module{}::never_{number}", number % 900),
            9 * number,
            1,
        )
    });
    let image = image("large", vec![module("large", ran.chain(never).collect())]);
    let mut profile = profile(&image, 1, &[]);
    for function in 0..ran_functions {
        let count = |path: u64| {
            let hash = (path + u64::from(function) * PATHS).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            1 + (hash >> 44 >> (hash & 15))
        };
        profile.functions.push(FunctionCounts {
            index: FunctionIndex {
                module: 0,
                function,
            },
            counts: (0..PATHS).map(|path| (path, Count(count(path)))).collect(),
            ..Default::default()
        });
    }
    RunProfile::new(vec![(image, vec![profile])])
}
