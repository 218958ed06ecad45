//! Times of one command, and what many of them say together.

use anyhow::{Context, Result, bail};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Seconds of several runs of one thing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    /// Adds a run.
    pub(crate) fn push(&mut self, seconds: f64) {
        self.0.push(seconds);
        self.0.sort_by(f64::total_cmp);
    }

    /// The middle one.
    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// Width of the middle half, as a share of the median.
    pub(crate) fn spread(&self) -> f64 {
        (self.quantile(0.75) - self.quantile(0.25)) / self.median()
    }

    /// All runs, ascending.
    pub(crate) fn all(&self) -> &[f64] {
        &self.0
    }

    fn quantile(&self, share: f64) -> f64 {
        let at = share * (self.0.len().max(1) - 1) as f64;
        let (below, above) = (self.0[at.floor() as usize], self.0[at.ceil() as usize]);
        below + (above - below) * at.fract()
    }
}

/// The geometric mean.
pub(crate) fn geometric_mean(ratios: impl IntoIterator<Item = f64>) -> f64 {
    let logs: Vec<f64> = ratios.into_iter().map(f64::ln).collect();
    (logs.iter().sum::<f64>() / logs.len() as f64).exp()
}

/// Wall-clock time of a command that must succeed; its output is thrown away.
pub(crate) fn timed(command: &mut Command) -> Result<Duration> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let start = Instant::now();
    let output = command
        .output()
        .with_context(|| format!("cannot start {command:?}"))?;
    let time = start.elapsed();
    if !output.status.success() {
        bail!(
            "{command:?} failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(time)
}
