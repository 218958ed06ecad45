//! The ways a program is run: alone, or a stream's program under `holloway run`, whose collector takes in what it appends.
//!
//! The program that loops are seen of is built once: how many iterations is the collector's business (`holloway run --k`). One whose paths are timed
//! in bursts appends so little that it is run alone, and keeps its stream itself; how often it times one it is told when it runs. What is timed is
//! the whole of `holloway run`: its start, the program, and what the collector has left to do when that has ended.

use holloway_tests::tool::holloway;
use holloway_tests::workload::Flavour;
use std::path::Path;
use std::process::Command;

/// Iterations measured.
pub(crate) const KS: [u32; 4] = [2, 4, 8, 16];
/// Paths between bursts that are measured, the usual number first: bursts are of one path.
pub(crate) const BURSTS: [u32; 3] = [10_000, 1_000, 100];

/// The processor that all of a run is kept on where it shall have one only.
const PROCESSOR: &str = "0";

/// How a flavour's program is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// As it is.
    Alone(Flavour),
    /// Sequences over so many iterations, the collector on another processor where there is one.
    Loops(u32),
    /// The same with the collector on the program's own processor, over the usual number of iterations.
    LoopsOneCore,
    /// The whole trace, its grammar built meanwhile.
    Trace,
    /// A path timed after about so many.
    Variation(u32),
    /// Every path timed.
    Times,
}

impl Way {
    /// All ways in which a flavour is measured.
    pub(crate) fn all_of(flavour: Flavour) -> Vec<Self> {
        match flavour {
            Flavour::Loops => {
                let several = KS.into_iter().map(Self::Loops);
                several.chain([Self::LoopsOneCore]).collect()
            }
            Flavour::Trace => vec![Self::Trace],
            Flavour::Variation => BURSTS.into_iter().map(Self::Variation).collect(),
            Flavour::Times => vec![Self::Times],
            flavour => vec![Self::Alone(flavour)],
        }
    }

    /// How the program is built.
    pub(crate) fn flavour(self) -> Flavour {
        match self {
            Self::Alone(flavour) => flavour,
            Self::Loops(_) | Self::LoopsOneCore => Flavour::Loops,
            Self::Trace => Flavour::Trace,
            Self::Variation(_) => Flavour::Variation,
            Self::Times => Flavour::Times,
        }
    }

    /// Its name in tables.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Alone(flavour) => flavour.name().to_owned(),
            Self::Loops(k) => format!("loops, k = {k}"),
            Self::LoopsOneCore => "loops, k = 8, one core".to_owned(),
            Self::Trace => "trace".to_owned(),
            Self::Variation(pass) => format!("variation, {pass}:1"),
            Self::Times => "times".to_owned(),
        }
    }

    /// Its name in JSON.
    pub(crate) fn key(self) -> String {
        match self {
            Self::Alone(flavour) => flavour.name().to_owned(),
            Self::Loops(k) => format!("loops_k{k}"),
            Self::LoopsOneCore => "loops_1core".to_owned(),
            Self::Trace => "trace".to_owned(),
            Self::Variation(pass) => format!("variation_{pass}"),
            Self::Times => "times".to_owned(),
        }
    }

    /// Whether a collector takes part.
    pub(crate) fn is_stream(self) -> bool {
        !matches!(self, Self::Alone(_) | Self::Variation(_))
    }

    /// The program's command as it is run in this way; `data` is for what it records.
    pub(crate) fn command(self, program: Command, data: &Path) -> Command {
        let mut command = match self {
            Self::Alone(_) | Self::Variation(_) => {
                let mut command = program;
                // To the woven ones and to the peers; to nobody else.
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
            Self::Alone(_) | Self::Variation(_) | Self::Trace | Self::Times => {}
        }
        command.arg("--").arg(program.get_program());
        command.args(program.get_args());
        if let Some(folder) = program.get_current_dir() {
            command.current_dir(folder);
        }
        command
    }
}
