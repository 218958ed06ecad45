//! Options for the directory of a run's data, and for the collection of streams during the run.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use holloway_collect::burst::Burst;
use holloway_collect::live_phases::PhaseNotify;
use holloway_collect::memory::Memory;
use holloway_collect::settings::{MapDirectories, Settings};

use holloway_link::collect_options::parse_k;

/// Options for the directory of a run's data, and for a report after the run.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Run")]
pub(crate) struct OutputArgs {
    /// Directory for the run's data [default: $HOLLOWAY_DATA, else target/holloway/runs/TIME-NAME]
    #[arg(short = 'o', long = "output", value_name = "RUN", value_hint = ValueHint::DirPath)]
    pub(crate) output: Option<PathBuf>,
    /// Record only; `holloway report` shows the run later
    #[arg(long)]
    pub(crate) no_report: bool,
}

/// Options for the collection of streams while the program runs. Kinds with counters have no
/// streams.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Run (loops, trace)")]
pub(crate) struct StreamArgs {
    /// Longest sequence of iterations, in place of the build's K
    #[arg(long, value_name = "K", value_parser = parse_k)]
    pub(crate) k: Option<u32>,
    /// Analyze one of every N stretches of about 16,000 paths; all counts are then counts of this
    /// sample
    #[arg(long, value_name = "N", value_parser = parse_sample)]
    pub(crate) sample: Option<u64>,
    /// Memory budget of the analysis, as in 500M or 2G, divided evenly among all threads that run
    /// at the same time; each thread gets at least 4M. If the budget is too small, reports leave
    /// out rare sequences of loops and say so, and the file of a trace is larger [default: 1G, for
    /// loops at most 64M a thread]
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    pub(crate) memory: Option<u64>,
    /// Print when the program enters and leaves hot spots, while it runs (on stderr)
    #[arg(long, help_heading = "Run (trace)")]
    pub(crate) phases: bool,
    /// Time M paths (default: 1) after about every N paths that run [env: HOLLOWAY_BURST]
    /// [default: 10000:1]
    #[arg(long, value_name = "N[:M]", help_heading = "Run (variation)")]
    pub(crate) burst: Option<Burst>,
}

impl StreamArgs {
    /// How a run's streams are collected. `phases` receives transitions, if the user asked for
    /// them.
    pub(crate) fn settings(&self, maps: &MapDirectories, phases: PhaseNotify) -> Settings {
        Settings {
            k: self.k,
            sample: self.sample.unwrap_or(1),
            memory: Memory::new(self.memory),
            burst: self.burst,
            phases: self.phases.then_some(phases),
            maps: maps.clone(),
        }
    }
}

fn parse_sample(text: &str) -> Result<u64, String> {
    let sample = text.parse().ok().filter(|&sample| sample > 0);
    sample.ok_or_else(|| {
        "give a whole number N, 1 or more: one of every N stretches is analyzed".to_owned()
    })
}

/// Parses a number of bytes. K, M, G, or T may follow the number, and then a B.
fn parse_memory(text: &str) -> Result<u64, String> {
    const MIN_BYTES: u64 = 1 << 20;
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = &text[..text.len() - unit.len()];
    let shift = match unit.strip_suffix(['B', 'b']).unwrap_or(unit) {
        _ if digits.is_empty() => None,
        "" => Some(0),
        "k" | "K" => Some(10),
        "m" | "M" => Some(20),
        "g" | "G" => Some(30),
        "t" | "T" => Some(40),
        _ => None,
    };
    let Some(shift) = shift else {
        return Err(
            "give a number of bytes, or one with K, M, G or T after it, as in 500M or 2G"
                .to_owned(),
        );
    };
    let bytes = digits.parse::<u64>().ok();
    match bytes.and_then(|number| number.checked_mul(1 << shift)) {
        None => Err("no machine has as much: give a size as in 500M or 2G".to_owned()),
        Some(bytes) if bytes < MIN_BYTES => {
            Err("give a size of 1M or more, as in 500M or 2G".to_owned())
        }
        Some(bytes) => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_memory;

    #[test]
    fn memory_is_bytes_or_units() {
        let check = |text: &str, expected: Option<u64>| {
            assert_eq!(parse_memory(text).ok(), expected, "{text}");
        };
        check("1048576", Some(1 << 20));
        check("4M", Some(4 << 20));
        check("500MB", Some(500 << 20));
        check("2g", Some(2 << 30));
        for bad in [
            "",
            "M",
            "500MBBB",
            "500MBb",
            "2Gi",
            "-1G",
            "4096",
            "99999999T",
        ] {
            check(bad, None);
        }
        let message = parse_memory("500MBBB").err().unwrap_or_default();
        assert!(
            message.contains("a number of bytes, or one with"),
            "{message}"
        );
    }
}
