//! Measures the report of a run with a million distinct paths: builds such a run and prints the
//! time of each view.
//!
//! `cargo run --release -p holloway-report --example million`
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement, run by hand"
)]

use holloway_testkit::build;
use std::io::sink;
use std::time::Instant;

use build::{function, image, module, profile};
use holloway_analysis::RunProfile;
use holloway_format::{Count, FunctionMap, ImageMap, Outcome, Profile};
use holloway_report::source::Nothing;
use holloway_report::{Options, Sort, View, json, terminal};

/// A chain of `n` diamonds: 2^n paths.
fn diamonds(name: &str, n: u32) -> FunctionMap {
    let mut build = function(name, "chain.c", 1);
    for block in 0..=3 * n {
        build = build.block(1 + block % 7, &[(0, 2 + block), (0, 3 + block)]);
    }
    build = build.block(0, &[]);
    for diamond in 0..n {
        let top = 3 * diamond;
        build = build
            .edge(top, top + 1, Outcome::True)
            .edge(top, top + 2, Outcome::False)
            .edge(top + 1, top + 3, Outcome::Jump)
            .edge(top + 2, top + 3, Outcome::Jump);
    }
    build.edge(3 * n, 3 * n + 1, Outcome::Return).done()
}

/// An image with a function of 2^19 paths, and 1,000 functions of 2^9 paths. Its profile has counts
/// for all paths: about a million.
fn million() -> (ImageMap, Profile) {
    let mut functions = vec![diamonds("big", 19)];
    functions.extend((0..1000).map(|number| diamonds(&format!("small_{number}"), 9)));
    let image = image("million", vec![module("chain", functions)]);
    let mut profile = profile(&image, 1, &[]);
    for (index, function) in (0u32..).zip(&image.modules[0].module.functions) {
        // Pseudorandom counts.
        let count = |path: u64| 1 + (path.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44);
        profile.functions.push(holloway_format::FunctionCounts {
            index: holloway_format::FunctionIndex {
                module: 0,
                function: index,
            },
            counts: (0..function.path_count)
                .map(|path| (path, Count(count(path))))
                .collect(),
            ..Default::default()
        });
    }
    (image, profile)
}

fn main() {
    let (image, profile) = million();
    let paths: usize = profile
        .functions
        .iter()
        .map(|function| function.counts.len())
        .sum();
    println!(
        "{paths} distinct paths in {} functions",
        profile.functions.len()
    );
    let time = |what: &str, work: &dyn Fn(&RunProfile)| {
        let whole = Instant::now();
        let run = RunProfile::new(vec![(image.clone(), vec![profile.clone()])]);
        let joined = whole.elapsed();
        work(&run);
        println!(
            "{what:28} {:7.1} ms, {:5.1} of them to join map and profile",
            ms(whole.elapsed()),
            ms(joined)
        );
    };
    for view in [
        View::Paths,
        View::Functions,
        View::Edges,
        View::Branches,
        View::Blocks,
        View::Lines,
        View::PathsFromEdges,
    ] {
        for sort in [Sort::Count, Sort::Instructions] {
            let options = Options {
                view: Some(view),
                sort,
                ..Options::new(&Nothing)
            };
            let write = |run: &RunProfile| terminal::write(run, &options, &mut sink()).unwrap();
            time(&format!("{view:?} by {sort:?}"), &write);
        }
    }
    time("JSON, all paths", &|run| {
        json::write(run, &Options::new(&Nothing), &mut sink()).unwrap();
    });
}

fn ms(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
