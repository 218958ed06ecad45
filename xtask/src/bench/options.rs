//! The options of `cargo xtask bench`.

use super::way::Way;
use anyhow::{Result, ensure};
use holloway_tests::workload::{FLAVORS, Flavor, MICRO, SUITE, Scale, Workload};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// The options of `cargo xtask bench`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Use smaller inputs and fewer rounds: the whole suite takes less than three minutes
    #[arg(long)]
    pub(crate) quick: bool,
    /// Count instructions under valgrind instead of time
    ///
    /// The counts are the same on every run, even on a busy machine.
    #[arg(long)]
    pub(crate) callgrind: bool,
    /// Build what is missing and measure nothing
    #[arg(long = "build")]
    pub(crate) build_only: bool,
    /// Write the results of this run to FILE too, even if parts of the suite were left out
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Run only these programs; `micro` stands for all tight loops
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = parse_program)]
    only: Vec<String>,
    /// Run this many rounds
    #[arg(long, value_name = "N")]
    rounds: Option<NonZeroUsize>,
    /// Compare these flavors with native, instead of paths, edges, and peer
    #[arg(
        long,
        alias = "flavours",
        value_name = "NAME,...",
        value_delimiter = ',',
        value_parser = parse_flavor
    )]
    flavors: Vec<Flavor>,
    /// Measure these flavors too
    ///
    /// closed: paths without the frames that are left early. guided: probes placed by an earlier
    /// run. loops, trace: under `holloway run`, sequences over 2, 4, 8, and 16 iterations (over 8
    /// also with the collector on the program's core), and whole traces. variation, times: paths
    /// timed in bursts of 10000:1, 1000:1, and 100:1, and every path timed.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = parse_flavor)]
    with: Vec<Flavor>,
}

/// The name in `--only` that includes all tight loops.
const ALL_MICRO: &str = "micro";

/// The flavors that are compared with native if `--flavors` is not given.
const USUAL_FLAVORS: [Flavor; 3] = [Flavor::Paths, Flavor::Edges, Flavor::Peer];

impl Options {
    /// Checks that the options do not contradict each other.
    ///
    /// # Errors
    /// If two options contradict each other.
    pub(crate) fn check(&self) -> Result<()> {
        ensure!(
            self.json.is_none() || !self.build_only,
            "--build measures nothing that --json could write"
        );
        Ok(())
    }

    /// The flavors that are compared, in the order of the tables. Native comes first.
    pub(crate) fn flavors(&self) -> Vec<Flavor> {
        let usual = match self.flavors.is_empty() {
            true => &USUAL_FLAVORS[..],
            false => &self.flavors,
        };
        let is_chosen =
            |f: &Flavor| *f == Flavor::Native || usual.contains(f) || self.with.contains(f);
        FLAVORS.into_iter().filter(is_chosen).collect()
    }

    /// The ways to run the flavors, native first.
    pub(crate) fn ways(&self) -> Vec<Way> {
        self.flavors().into_iter().flat_map(Way::all_of).collect()
    }

    /// Whether nothing is left out, so that the results are worth keeping.
    pub(crate) fn is_all(&self) -> bool {
        let flavors = self.flavors();
        self.only.is_empty() && USUAL_FLAVORS.iter().all(|f| flavors.contains(f))
    }

    /// The programs of a table that this run includes.
    pub(crate) fn chosen(
        &self,
        table: impl Iterator<Item = &'static Workload>,
    ) -> Vec<&'static Workload> {
        table.filter(|w| self.is_chosen(w)).collect()
    }

    fn is_chosen(&self, workload: &Workload) -> bool {
        let is_micro = MICRO.iter().any(|w| w == workload);
        let mut names = self.only.iter();
        self.only.is_empty()
            || names.any(|name| name == workload.name || (is_micro && name == ALL_MICRO))
    }

    /// The arguments for a process that builds the same programs and measures nothing.
    pub(crate) fn build_arguments(&self) -> Vec<String> {
        let flavors = self.flavors();
        let flavors: Vec<&str> = flavors.iter().map(|f| f.name()).collect();
        let mut words = vec![
            "--build".to_owned(),
            "--flavors".to_owned(),
            flavors.join(","),
        ];
        if self.quick {
            words.push("--quick".to_owned());
        }
        if self.callgrind {
            words.push("--callgrind".to_owned());
        }
        if !self.only.is_empty() {
            words.extend(["--only".to_owned(), self.only.join(",")]);
        }
        words
    }

    /// The amount of work of the programs.
    pub(crate) fn scale(&self) -> Scale {
        match (self.callgrind, self.quick) {
            (true, _) => Scale::Small,
            (false, true) => Scale::Quick,
            (false, false) => Scale::Full,
        }
    }

    /// Rounds of the suite.
    pub(crate) fn rounds(&self) -> usize {
        let usual = if self.quick { 5 } else { 9 };
        self.rounds.map_or(usual, NonZeroUsize::get)
    }

    /// Rounds of the tight loops.
    pub(crate) fn micro_rounds(&self) -> usize {
        let usual = if self.quick { 3 } else { 5 };
        self.rounds.map_or(usual, NonZeroUsize::get)
    }
}

/// Checks the name of a program of the suite or of a tight loop.
fn parse_program(name: &str) -> Result<String, String> {
    let all = || SUITE.into_iter().chain(MICRO.iter()).map(|w| w.name);
    match name == ALL_MICRO || all().any(|known| known == name) {
        true => Ok(name.to_owned()),
        false => Err(format!(
            "no program is called {name:?}: there are {}, and {ALL_MICRO} for all tight loops",
            all().collect::<Vec<_>>().join(", ")
        )),
    }
}

fn parse_flavor(name: &str) -> Result<Flavor, String> {
    let flavor = FLAVORS.into_iter().find(|f| f.name() == name);
    flavor.ok_or_else(|| {
        let all = FLAVORS.map(Flavor::name).join(", ");
        format!("no flavor is called {name:?}: there are {all}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use clap::error::ErrorKind;

    #[derive(Debug, Parser)]
    struct Bench {
        #[command(flatten)]
        options: Options,
    }

    fn parse(line: &str) -> Result<Options, clap::Error> {
        let words = std::iter::once("bench").chain(line.split_whitespace());
        Bench::try_parse_from(words).map(|bench| bench.options)
    }

    /// The process that builds must build the programs that this process measures.
    #[test]
    fn the_same_programs_are_built() {
        for line in [
            "",
            "--quick --json out.json",
            "--callgrind --only micro,lua --json out.json",
            "--with closed,loops --rounds 3",
            "--flavors edges --only xz,zstd-2",
        ] {
            let asked = parse(line).expect("options");
            let words = asked.build_arguments();
            let built = parse(&words.join(" ")).expect("options");
            assert!(built.build_only && built.json.is_none(), "{words:?}");
            assert_eq!(built.flavors(), asked.flavors(), "{words:?}");
            assert_eq!(built.scale(), asked.scale(), "{words:?}");
            assert_eq!(built.only, asked.only, "{words:?}");
        }
    }

    #[test]
    fn results_go_to_a_file() {
        let options = parse("--quick --json some/out.json").expect("options");
        assert_eq!(options.json, Some(PathBuf::from("some/out.json")));
        let error = parse("--json").expect_err("no file");
        assert_eq!(error.kind(), ErrorKind::InvalidValue);
        let options = parse("--json out.json --build").expect("options");
        assert_eq!(
            options.check().expect_err("nothing to write").to_string(),
            "--build measures nothing that --json could write"
        );
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        for (line, known) in [
            ("--only lua,nothing", "sqlite"),
            ("--with nothing", "guided"),
        ] {
            let error = parse(line).expect_err("an unknown name").to_string();
            assert!(
                error.contains("\"nothing\": there are ") && error.contains(known),
                "{error}"
            );
        }
    }
}
