//! Measurements of several rounds, and their statistics.

/// Measurements in the order of their rounds: seconds, bytes, or ratios.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    /// Adds a round.
    pub(crate) fn push(&mut self, figure: f64) {
        self.0.push(figure);
    }

    /// The median.
    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The smallest figure.
    pub(crate) fn least(&self) -> f64 {
        self.quantile(0.0)
    }

    /// The interquartile range, as a share of the median.
    pub(crate) fn spread(&self) -> f64 {
        (self.quantile(0.75) - self.quantile(0.25)) / self.median()
    }

    /// Each figure divided by the figure of `other` in the same round.
    pub(crate) fn over(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| a / b).collect())
    }

    /// All figures.
    pub(crate) fn all(&self) -> &[f64] {
        &self.0
    }

    fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let index = share * (sorted.len().max(1) - 1) as f64;
        let figure = |index: f64| sorted.get(index as usize).copied().unwrap_or(f64::NAN);
        let (below, above) = (figure(index.floor()), figure(index.ceil()));
        below + (above - below) * index.fract()
    }
}

/// The geometric mean.
pub(crate) fn geometric_mean(ratios: impl IntoIterator<Item = f64>) -> f64 {
    let logs: Vec<f64> = ratios.into_iter().map(f64::ln).collect();
    (logs.iter().sum::<f64>() / logs.len() as f64).exp()
}
