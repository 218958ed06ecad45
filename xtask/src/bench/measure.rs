//! Times of one command, and what many of them say together.

use anyhow::{Context, Result, bail};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Figures of several rounds, in their order: seconds, or ratios.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    /// Adds a round.
    pub(crate) fn push(&mut self, figure: f64) {
        self.0.push(figure);
    }

    /// The middle one.
    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// Width of the middle half, as a share of the median.
    pub(crate) fn spread(&self) -> f64 {
        (self.quantile(0.75) - self.quantile(0.25)) / self.median()
    }

    /// Each round's figure, divided by the other's of the same round.
    pub(crate) fn over(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| a / b).collect())
    }

    /// All of them.
    pub(crate) fn all(&self) -> &[f64] {
        &self.0
    }

    fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let at = share * (sorted.len().max(1) - 1) as f64;
        let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
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
