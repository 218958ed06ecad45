//! The setups that are measured: a program of a flavor runs without a collector, or under
//! `holloway run`, whose collector reads its stream.
//!
//! A program for loops is built once, because the collector chooses the number of iterations
//! (`holloway run --k`). A program whose paths are timed in bursts appends so little that it runs
//! without a collector and spools its stream. An environment variable sets how often it times a
//! path. The measured time is the time of the whole `holloway run`: its start, the program, and the
//! remaining work of the collector when the program ends.

use holloway_tests::tool::holloway;
use holloway_tests::workload::Flavor;
use std::path::Path;
use std::process::Command;

/// The numbers of iterations that are measured.
pub(crate) const KS: [u32; 4] = [2, 4, 8, 16];
/// The numbers of paths between bursts that are measured, the default first. A burst times one
/// path.
pub(crate) const BURSTS: [u32; 3] = [10_000, 1_000, 100];

/// The processor for runs that may use only one.
const PROCESSOR: &str = "0";

/// A flavor, and how its program is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setup {
    /// Without a collector.
    WithoutCollector(Flavor),
    /// Sequences over this many iterations, with the collector on another processor if there is
    /// one.
    Loops(u32),
    /// Sequences over the default number of iterations, with the collector on the program's
    /// processor.
    LoopsOneCore,
    /// The whole trace. The collector builds its grammar while the program runs.
    Trace,
    /// One path in about this many is timed.
    Variation(u32),
    /// Every path is timed.
    Times,
}

impl Setup {
    /// Returns all setups in which a flavor is measured.
    pub(crate) fn all_of(flavor: Flavor) -> Vec<Self> {
        match flavor {
            Flavor::Loops => {
                let several = KS.into_iter().map(Self::Loops);
                several.chain([Self::LoopsOneCore]).collect()
            }
            Flavor::Trace => vec![Self::Trace],
            Flavor::Variation => BURSTS.into_iter().map(Self::Variation).collect(),
            Flavor::Times => vec![Self::Times],
            flavor => vec![Self::WithoutCollector(flavor)],
        }
    }

    /// Returns the flavor that the program is built in.
    pub(crate) fn flavor(self) -> Flavor {
        match self {
            Self::WithoutCollector(flavor) => flavor,
            Self::Loops(_) | Self::LoopsOneCore => Flavor::Loops,
            Self::Trace => Flavor::Trace,
            Self::Variation(_) => Flavor::Variation,
            Self::Times => Flavor::Times,
        }
    }

    /// The name in tables.
    pub(crate) fn name(self) -> String {
        match self {
            Self::WithoutCollector(flavor) => flavor.name().to_owned(),
            Self::Loops(k) => format!("loops, k = {k}"),
            Self::LoopsOneCore => "loops, k = 8, one core".to_owned(),
            Self::Trace => "trace".to_owned(),
            Self::Variation(pass) => format!("variation, {pass}:1"),
            Self::Times => "times".to_owned(),
        }
    }

    /// The name in JSON.
    pub(crate) fn key(self) -> String {
        match self {
            Self::WithoutCollector(flavor) => flavor.name().to_owned(),
            Self::Loops(k) => format!("loops_k{k}"),
            Self::LoopsOneCore => "loops_1core".to_owned(),
            Self::Trace => "trace".to_owned(),
            Self::Variation(pass) => format!("variation_{pass}"),
            Self::Times => "times".to_owned(),
        }
    }

    /// Whether a collector reads the stream.
    pub(crate) fn is_stream(self) -> bool {
        !matches!(self, Self::WithoutCollector(_) | Self::Variation(_))
    }

    /// Returns the command that runs the program in this setup and records to `data`.
    pub(crate) fn command(self, program: Command, data: &Path) -> Command {
        let mut command = match self {
            Self::WithoutCollector(_) | Self::Variation(_) => {
                let mut command = program;
                // Woven programs read the first variable, and the peers the second.
                command
                    .env("HOLLOWAY_DATA", data)
                    .env("LLVM_PROFILE_FILE", data.join("peer.profraw"));
                if let Self::Variation(pass) = self {
                    command.env("HOLLOWAY_BURST", format!("{pass}:1"));
                }
                return command;
            }
            Self::LoopsOneCore => {
                let mut command = Command::new("taskset");
                command.args(["-c", PROCESSOR]).arg(holloway());
                command
            }
            _ => Command::new(holloway()),
        };
        command.args(["run", "--no-report", "-o"]).arg(data);
        match self {
            Self::Loops(k) => drop(command.arg(format!("--k={k}"))),
            Self::LoopsOneCore => drop(command.arg("--k=8")),
            Self::WithoutCollector(_) | Self::Variation(_) | Self::Trace | Self::Times => {}
        }
        command.arg("--").arg(program.get_program());
        command.args(program.get_args());
        if let Some(folder) = program.get_current_dir() {
            command.current_dir(folder);
        }
        command
    }
}
