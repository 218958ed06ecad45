//! `cargo xtask study csmith`: whether optimized programs do what they did before.
//!
//! Programs come from csmith, and from the generator of tests/src/random_program.rs, whose programs
//! leave frames by `longjmp` and exceptions. Each is optimized with the plan of its training, with
//! the plan of another input, and with random plans (tests/src/optimized.rs). Nothing is timed, so
//! the machine may be busy.

use crate::bench::restart_with;
use crate::workspace::{BuildProfile, build_holloway, root};
use anyhow::{Context, Result, ensure};
use holloway_tests::csmith::{CsmithProgram, CsmithResult};
use holloway_tests::optimized::Checked;
use holloway_tests::optimized_random;
use holloway_tests::random_program::Dialect;
use holloway_tests::tool::scratch;
use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The programs of the page.
const PROGRAMS: NonZeroU64 = NonZeroU64::new(500).expect("it is above 0");

/// The levels of programs that leave frames.
const LEVELS: [&str; 4] = ["-O2", "-O1", "-O3", "-Os"];

/// The text before the table.
const HEAD: &str = "\
# Random programs, optimized

Written by `cargo xtask study csmith`: whether programs that [`holloway optimize`](../optimize.md)
builds do what the plain programs do.

- *csmith*: random C programs of csmith (Yang, Chen, Eide, Regehr 2011), which print a checksum of
  their variables. Levels: `-O0` to `-O3` and `-Os`, some without inlining.
- *C, longjmp* and *C++, exceptions*: random programs of this project, which also count the
  executions of their blocks. They have calls through pointers, and leave frames.

Each program is optimized with four plans:

- its own plan, from training;
- the plan of another input (csmith only);
- a random plan: any counts, call targets, unpredictable branches, and copied paths, and prefetches
  of half of the lines;
- its own early counts, with random late counts and prefetches. The optimizer makes the code of
  training, so all late counts apply.

All must print what the program prints as clang compiles it, and the checksums of csmith's programs
must be equal with another input, too. A program is left out if it runs longer than 2 s or
fails as clang compiles it, or if clang's builds differ. A warning of Holloway counts as a difference.

";

/// The options of `cargo xtask study csmith`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Test at least this many programs of csmith, and a tenth as many of each other sort. Programs
    /// that are left out do not count. Writes no page unless there are 500 or more
    #[arg(long, value_name = "N", default_value_t = PROGRAMS)]
    programs: NonZeroU64,
    /// The seed of the first program
    #[arg(long, value_name = "N", default_value = "1")]
    first_seed: u64,
    /// Test this many programs at a time
    #[arg(long, value_name = "N", default_value = "1")]
    jobs: NonZeroUsize,
}

/// The programs of one sort.
#[derive(Default)]
struct Tally {
    tested: usize,
    left_out: usize,
    /// The messages of programs that differ.
    differences: Vec<String>,
    checked: Checked,
}

impl Tally {
    fn add(&mut self, program: &str, result: Result<Option<Checked>>) {
        match result {
            Ok(Some(checked)) => {
                self.tested += 1;
                self.checked.add(checked);
            }
            Ok(None) => self.left_out += 1,
            Err(error) => {
                self.tested += 1;
                let message = format!("{program}: {error:#}");
                println!("{message}");
                self.differences.push(message);
            }
        }
    }

    fn row(&self, name: &str) -> String {
        let Checked {
            optimized,
            functions,
            late_functions,
            targets,
            unpredictable,
            tails,
            prefetches,
        } = self.checked;
        let differences = self.differences.len();
        let (tested, left_out) = (self.tested, self.left_out);
        format!(
            "| {name} | {tested} | {left_out} | {optimized} | {functions} | {late_functions} | {targets} | {unpredictable} | {tails} | {prefetches} | {differences} |\n"
        )
    }
}

/// Runs the study, prints it, and writes the page.
///
/// # Errors
/// If a program differs.
pub(crate) fn run(options: &Options) -> Result<()> {
    if std::env::var_os("HOLLOWAY_EXE").is_none() {
        return Err(restart_with(&build_holloway(BuildProfile::Tested)?));
    }
    let count = options.programs.get();
    let wanted = |count| Wanted {
        first_seed: options.first_seed,
        programs: count,
        jobs: options.jobs,
    };
    let csmith = tally("csmith", wanted(count), csmith_program);
    let few = wanted(count.div_ceil(10));
    let [c, cpp] = [Dialect::C, Dialect::Cpp].map(|dialect| {
        let check = |seed| random_program(seed, dialect);
        tally(&format!("{dialect:?}"), few, check)
    });
    let mut table = String::from(
        "| programs | tested | left out | optimized builds | early counts | late counts | call targets | unpredictable | copied paths | prefetches | differences |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    let rows = [
        ("csmith", &csmith),
        ("C, longjmp", &c),
        ("C++, exceptions", &cpp),
    ];
    for (name, tally) in rows {
        table += &tally.row(name);
    }
    println!("{table}");
    if options.programs >= PROGRAMS {
        let page = root().join("docs/studies/csmith.md");
        std::fs::write(&page, format!("{HEAD}{table}\n{FOOT}"))
            .with_context(|| format!("cannot write {}", page.display()))?;
        println!("written to docs/studies/csmith.md");
    }
    let differences = rows.iter().map(|(_, tally)| tally.differences.len());
    let differences: usize = differences.sum();
    ensure!(differences == 0, "{differences} programs differ");
    Ok(())
}

/// The text after the table.
const FOOT: &str = "\
*Early counts* and *late counts*: functions with counts in the programs' own plans. *Call targets* and
*unpredictable*: targets of indirect calls, and unpredictable branches, in these plans. *Copied paths*:
paths whose blocks are copied, in these plans. *Prefetches*: prefetch instructions in the programs with
random plans.
";

/// The programs of one sort to test.
#[derive(Clone, Copy)]
struct Wanted {
    first_seed: u64,
    /// So many must be tested.
    programs: u64,
    /// So many are tested at a time.
    jobs: NonZeroUsize,
}

/// Checks programs until enough are tested, or two thirds of them are left out.
fn tally(
    name: &str,
    wanted: Wanted,
    check: impl Fn(u64) -> Result<Option<Checked>> + Sync,
) -> Tally {
    let next = AtomicU64::new(wanted.first_seed);
    let last = wanted.first_seed + 3 * wanted.programs;
    let tally = Mutex::new(Tally::default());
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            let result = check(seed);
            let mut tally = tally.lock().expect("no thread panics");
            tally.add(&format!("{name} {seed}"), result);
            if seed.is_multiple_of(20) {
                println!("{name}: {seed}");
            }
            if tally.tested as u64 >= wanted.programs || seed >= last {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..wanted.jobs.get() {
            scope.spawn(work);
        }
    });
    tally.into_inner().expect("no thread panics")
}

fn csmith_program(seed: u64) -> Result<Option<Checked>> {
    let scratch = scratch("csmith")?;
    let program = CsmithProgram::generate(scratch.path(), seed)?;
    Ok(match program.check()? {
        CsmithResult::LeftOut => None,
        CsmithResult::Same(checked) => Some(checked),
    })
}

fn random_program(seed: u64, dialect: Dialect) -> Result<Option<Checked>> {
    let scratch = scratch("random")?;
    let number = seed % LEVELS.len() as u64;
    let level = LEVELS[usize::try_from(number)?];
    optimized_random::check(scratch.path(), seed, dialect, level)
}
