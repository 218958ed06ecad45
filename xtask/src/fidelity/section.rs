//! A section of the page on fidelity.

/// A section of the page.
pub(super) struct Section {
    /// The text, in Markdown.
    pub(super) text: String,
    /// The file of the plot that the text shows.
    pub(super) plot_name: &'static str,
    /// The plot, as SVG.
    pub(super) plot: String,
}
