//! The data of a page besides the counts.

/// The data of a page besides the counts.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    /// The name of the run.
    pub title: String,
    /// JSON documents of the run's streams (docs/json.md), if it has any.
    pub streams: Streams,
}

/// JSON documents of the run's streams.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    /// The document of [`crate::json::loops`].
    pub loops: Option<String>,
    /// The document of [`crate::json::variation`].
    pub variation: Option<String>,
}
