//! The kinds of profile that a program is woven for, and how each is asked for.
//!
//! `holloway cc` hears of it by the environment, cargo's verbs by options: so both ways are used.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Paths, as Holloway counts them by default: with exit edges.
    Paths,
    /// Paths, without exit edges.
    PathsClosed,
    /// Edges, as Holloway does when only that is said: with exit edges.
    Edges,
    /// Edges, without exit edges.
    EdgesClosed,
    /// Paths with exit edges, woven anew with an earlier run as guide.
    Guided,
    /// Edges, woven anew with an earlier run as guide.
    GuidedEdges,
    /// The stream of paths, for sequences over iterations: with exit edges.
    Loops,
    /// The stream of paths that end at calls.
    Trace,
    /// The stream of timed paths, a few of those that run.
    Variation,
    /// The stream of timed paths, all of them.
    Times,
}

impl Kind {
    /// Its name in messages and in names of directories.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Paths => "paths",
            Self::PathsClosed => "paths-closed",
            Self::Edges => "edges",
            Self::EdgesClosed => "edges-closed",
            Self::Guided => "guided",
            Self::GuidedEdges => "guided-edges",
            Self::Loops => "loops",
            Self::Trace => "trace",
            Self::Variation => "variation",
            Self::Times => "times",
        }
    }

    /// Whether edges are counted, not paths.
    #[must_use]
    pub fn counts_edges(self) -> bool {
        matches!(self, Self::Edges | Self::EdgesClosed | Self::GuidedEdges)
    }

    /// Whether frames that are left are counted.
    #[must_use]
    pub fn has_exits(self) -> bool {
        match self {
            Self::Paths | Self::Edges | Self::Guided | Self::GuidedEdges | Self::Loops => true,
            Self::PathsClosed | Self::EdgesClosed => false,
            Self::Trace | Self::Variation | Self::Times => false,
        }
    }

    /// Whether paths are told as they end.
    #[must_use]
    pub fn is_stream(self) -> bool {
        matches!(self, Self::Loops | Self::Trace) || self.is_timed()
    }

    /// Whether it is told how long paths take.
    #[must_use]
    pub fn is_timed(self) -> bool {
        matches!(self, Self::Variation | Self::Times)
    }

    /// Whether a word of a directive's condition holds: `paths`, `edges`, `exits`, `closed`, `counted`.
    #[must_use]
    pub fn is(self, word: &str) -> bool {
        match word {
            "paths" => !self.counts_edges(),
            "edges" => self.counts_edges(),
            "exits" => self.has_exits(),
            "closed" => !self.has_exits(),
            "counted" => !self.is_stream(),
            _ => false,
        }
    }

    fn settings(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Paths | Self::Guided => &[],
            Self::PathsClosed => &[("exits", "off")],
            Self::Edges | Self::GuidedEdges => &[("collect", "edges")],
            Self::EdgesClosed => &[("collect", "edges"), ("exits", "off")],
            Self::Loops => &[("collect", "loops")],
            Self::Trace => &[("collect", "trace")],
            Self::Variation => &[("collect", "variation")],
            Self::Times => &[("collect", "times")],
        }
    }
}

/// A kind, with the run that guides it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weaving {
    /// What is counted.
    pub kind: Kind,
    /// An earlier run whose counts place the probes.
    pub guide: Option<PathBuf>,
}

impl From<Kind> for Weaving {
    fn from(kind: Kind) -> Self {
        Self { kind, guide: None }
    }
}

impl Weaving {
    /// A kind guided by the run in a directory.
    #[must_use]
    pub fn guided(kind: Kind, run: &Path) -> Self {
        Self {
            kind,
            guide: Some(run.to_owned()),
        }
    }

    /// Says it to a `holloway cc` by its environment.
    pub fn by_environment(&self, command: &mut Command) {
        for (name, value) in self.kind.settings() {
            command.env(format!("HOLLOWAY_{}", name.to_uppercase()), value);
        }
        if let Some(guide) = &self.guide {
            command.env("HOLLOWAY_GUIDE", guide);
        }
    }

    /// Says it to a `cargo holloway build` by options.
    pub fn by_options(&self, command: &mut Command) {
        for (name, value) in self.kind.settings() {
            command.args([&format!("--{name}"), *value]);
        }
        if let Some(guide) = &self.guide {
            command.arg("--guide").arg(guide);
        }
    }
}
