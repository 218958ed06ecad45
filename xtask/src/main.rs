//! Setup, tests, benchmarks, and studies of the project. `cargo xtask --help` lists the commands.
#![forbid(unsafe_code)]

mod bench;
mod branch_records;
mod build_times;
mod changes;
mod counting_cost;
mod csmith;
mod editor;
mod fidelity;
mod inputs;
mod large;
mod layout;
mod machine;
mod monitor;
mod none;
mod old_plans;
mod optimize;
mod packages;
mod paths;
mod pictures;
mod prefetch;
mod server;
mod slides;
mod store;
mod study;
mod suite;
mod tails;
mod test;
mod traces;
mod variation;
mod watch;
mod workspace;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Setup, tests, benchmarks, and studies of Holloway
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 100)]
struct CommandLine {
    #[command(subcommand)]
    command: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Install what the tests need, build holloway, and run the tests
    ///
    /// Runs every unit and integration test, and a fixed sample of the matrix of end-to-end
    /// programs, kinds of profile, compilers, and levels. `--quick` tests only what changed.
    /// `cargo xtask campaign` runs the whole matrix.
    Test(test::Options),
    /// Run the tests with the whole matrix of programs, kinds, compilers, and levels
    Campaign(test::CampaignOptions),
    /// Measure what counting costs, side by side with the compilers' own counters
    ///
    /// Runs the suite of real programs and the tight loops: native, with paths counted, with edges
    /// counted, and with the compilers' own counters (peer). Also measures what weaving costs at
    /// build time. Writes target/bench/latest.json, and docs/benchmarks.md if nothing was left out.
    Bench(bench::Options),
    /// Run a study of the literature's figures on our suite
    #[command(subcommand)]
    Study(Study),
    /// Take the pictures of docs/tour.md
    ///
    /// Builds the program of docs/guide.md, records it, writes its pages, and opens them in
    /// headless Chromium. Writes docs/pictures. Needs `npm ci` in web/.
    Pictures,
    /// Try the extension in Visual Studio Code's own window
    ///
    /// Installs code-server (800 MB), records the program of docs/guide.md, and drives VS Code in
    /// headless Chromium. Fails if the window shows something else than the report. Writes pictures
    /// to target/editor.
    Editor,
    /// Print the Debian packages that the tests need
    Packages,
}

#[derive(Debug, Subcommand)]
enum Study {
    /// Record a program of 10^9 paths with `--collect trace` and check that no path is missing
    ///
    /// Takes minutes.
    LongTrace(study::Options),
    /// Measure stored streams as the papers on whole program paths and on k iterations do
    ///
    /// Compares with zstd, xz, and plain SEQUITUR. Writes docs/studies/traces.md if the whole suite
    /// ran at its full size.
    Traces(traces::Arguments),
    /// Count what the tables of the slides on efficient path profiling count
    ///
    /// Increments of paths and of edges, paths predicted from edges, and paths and instructions
    /// that two inputs have in common. Writes docs/studies/paths.md if the whole suite ran at its
    /// full size.
    Paths(paths::Options),
    /// Count what counting paths adds, in instructions, by program and by function
    ///
    /// Runs the programs of the suite with one thread under valgrind, native and with paths
    /// counted. Prints which functions execute more instructions, how many paths they executed, and
    /// how much each path added. Nothing is timed, so the machine may be busy.
    CountingCost(counting_cost::Options),
    /// Measure how long woven builds take, beside plain ones
    ///
    /// Wall-clock time and CPU time, of first builds and of second ones after a change. Writes
    /// docs/studies/builds.md if no program was left out.
    Builds(build_times::Options),
    /// Find the paths of MiniSat that are slow only sometimes, and try a prefetch there
    ///
    /// Writes docs/studies/variation.md.
    Variation,
    /// Find the hot spots and phases of the suite, and simulate branch predictors on it, beside the
    /// figures of Merten et al. (1999) and of Conte et al. (1994)
    ///
    /// Writes docs/studies/watch.md if the whole suite ran with the default inputs.
    Watch(watch::Options),
    /// Measure what `--collect none` and `holloway monitor --system` cost, beside the figures of
    /// Zhang et al. (1997)
    ///
    /// Writes docs/studies/monitor.md if the whole suite ran. The machine should be idle.
    Monitor(monitor::Options),
    /// Compare edges and paths in simulated branch records with exact counts
    ///
    /// By number of stacks. Nothing is timed, so the machine may be busy. Writes
    /// docs/studies/branch-records.md if the whole suite ran at its full size.
    BranchRecords(branch_records::Options),
    /// Measure what building with `--collect none` costs, in instructions and in code
    ///
    /// Nothing is timed, so the machine may be busy. Writes docs/studies/none.md if the whole suite
    /// was built.
    None(none::Options),
    /// Measure the store of a manager relative to the code, beside the figures of Zhang et al.
    /// (1997)
    ///
    /// Writes docs/studies/store.md if the whole suite ran.
    Store(store::Options),
    /// Watch a server with two threads under load for an hour, and check that the monitors lose and
    /// leak nothing
    ///
    /// Writes docs/studies/server.md after 30 minutes or more.
    Server(server::Options),
    /// Compare blocks and edges that are estimated from samples with exact counts
    ///
    /// By number of samples. Writes docs/studies/fidelity.md if the whole suite ran.
    Fidelity(fidelity::Options),
    /// Compare `holloway optimize` with the compilers' own profile-guided optimization
    ///
    /// Counts instructions with callgrind, so the machine may be busy, and takes CPU times in
    /// rounds. Writes docs/studies/optimize.md unless programs are named.
    Optimize(optimize::Options),
    /// Compare `holloway optimize` with LTO, the compiler's own optimization by counts, and BOLT,
    /// on large programs
    ///
    /// Counts instructions and misses of the instruction cache, so the machine may be busy, and
    /// takes CPU times in rounds. Needs Debian's package bolt-22. Stores results in target/large,
    /// and writes docs/studies/large.md from all that are stored.
    Large(large::Options),
    /// Compare the gains of `holloway optimize` by training, exact counts, samples, and branch
    /// records
    ///
    /// Counts instructions with callgrind, so the machine may be busy. Writes
    /// docs/studies/inputs.md unless programs are named.
    Inputs(inputs::Options),
    /// Compare orders of blocks and of functions by exact counts
    ///
    /// Nothing is timed, so the machine may be busy. Writes docs/studies/layout.md if the whole
    /// suite ran.
    Layout(layout::Options),
    /// Measure what copies of paths gain beyond counts of edges
    ///
    /// Writes docs/studies/tails.md unless programs are named.
    Tails(tails::Options),
    /// Measure what prefetches gain on irregular kernels
    ///
    /// Writes docs/studies/prefetch.md unless kernels are named.
    Prefetch(prefetch::Options),
    /// Measure what a plan gains after its program has changed
    ///
    /// Optimizes 20 successive versions of a crate by the plan of the first one. Counts
    /// instructions, so the machine may be busy. Writes docs/studies/old-plans.md unless the number
    /// of versions is given.
    OldPlans(old_plans::Options),
    /// Check that random programs do the same after they are optimized by any plan
    ///
    /// Nothing is timed, so the machine may be busy. Writes docs/studies/csmith.md after 500
    /// programs or more.
    Csmith(csmith::Options),
}

fn main() -> ExitCode {
    match run(&CommandLine::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: &Task) -> Result<()> {
    match task {
        Task::Test(options) => test::run(options),
        Task::Campaign(options) => test::campaign(options),
        Task::Bench(options) => bench::run(options),
        Task::Study(Study::LongTrace(options)) => study::run(options),
        Task::Study(Study::Traces(arguments)) => traces::run(arguments),
        Task::Study(Study::Paths(options)) => paths::run(options),
        Task::Study(Study::CountingCost(options)) => counting_cost::run(options),
        Task::Study(Study::Builds(options)) => build_times::run(options),
        Task::Study(Study::Variation) => variation::run(),
        Task::Study(Study::Watch(options)) => watch::run(options),
        Task::Study(Study::Monitor(options)) => monitor::run(options),
        Task::Study(Study::BranchRecords(options)) => branch_records::run(options),
        Task::Study(Study::None(options)) => none::run(options),
        Task::Study(Study::Store(options)) => store::run(options),
        Task::Study(Study::Server(options)) => server::run(options),
        Task::Study(Study::Fidelity(options)) => fidelity::run(options),
        Task::Study(Study::Optimize(options)) => optimize::run(options),
        Task::Study(Study::Large(options)) => large::run(options),
        Task::Study(Study::Inputs(options)) => inputs::run(options),
        Task::Study(Study::Prefetch(options)) => prefetch::run(options),
        Task::Study(Study::Tails(options)) => tails::run(options),
        Task::Study(Study::OldPlans(options)) => old_plans::run(options),
        Task::Study(Study::Layout(options)) => layout::run(options),
        Task::Study(Study::Csmith(options)) => csmith::run(options),
        Task::Pictures => pictures::run(),
        Task::Editor => editor::run(),
        Task::Packages => {
            println!("{}", packages::NEEDED.join("\n"));
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_option_is_well_formed() {
        CommandLine::command().debug_assert();
    }
}
