//! The kinds of profile that a program is woven for, and the options that select each.
//!
//! `holloway cc` takes the kind from the environment, `cargo holloway` from options. The tests use
//! both ways.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A kind of profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Paths, as Holloway counts them by default: with exit edges.
    Paths,
    /// Paths, without exit edges.
    PathsWithoutExits,
    /// Edges, with exit edges: the default of `--collect edges`.
    Edges,
    /// Edges, without exit edges.
    EdgesWithoutExits,
    /// Paths with exit edges, woven again with an earlier run as guide.
    Guided,
    /// Edges, woven again with an earlier run as guide.
    GuidedEdges,
    /// The stream of paths, for sequences over iterations: with exit edges.
    Loops,
    /// The stream of paths that end at calls.
    Trace,
    /// The stream of timed paths, with some of the paths timed.
    Variation,
    /// The stream of timed paths, with all paths timed.
    Times,
    /// Nothing: the program has addresses of blocks for `holloway monitor`, and writes no profile.
    None,
}

impl Kind {
    /// The name in messages and of directories.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Paths => "paths",
            Self::PathsWithoutExits => "paths-closed",
            Self::Edges => "edges",
            Self::EdgesWithoutExits => "edges-closed",
            Self::Guided => "guided",
            Self::GuidedEdges => "guided-edges",
            Self::Loops => "loops",
            Self::Trace => "trace",
            Self::Variation => "variation",
            Self::Times => "times",
            Self::None => "none",
        }
    }

    /// Whether edges are counted instead of paths.
    #[must_use]
    pub fn counts_edges(self) -> bool {
        matches!(
            self,
            Self::Edges | Self::EdgesWithoutExits | Self::GuidedEdges
        )
    }

    /// Whether the profile counts the frames that are left without a return.
    #[must_use]
    pub fn has_exits(self) -> bool {
        match self {
            Self::Paths | Self::Edges | Self::Guided | Self::GuidedEdges | Self::Loops => true,
            Self::PathsWithoutExits | Self::EdgesWithoutExits => false,
            Self::Trace | Self::Variation | Self::Times | Self::None => false,
        }
    }

    /// Whether the program writes a stream of paths.
    #[must_use]
    pub fn is_stream(self) -> bool {
        matches!(self, Self::Loops | Self::Trace) || self.is_timed()
    }

    /// Whether paths are timed.
    #[must_use]
    pub fn is_timed(self) -> bool {
        matches!(self, Self::Variation | Self::Times)
    }

    /// Whether a word of a directive's condition holds: `paths`, `edges`, `exits`, `closed`,
    /// `counted`.
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
            Self::PathsWithoutExits => &[("exits", "off")],
            Self::Edges | Self::GuidedEdges => &[("collect", "edges")],
            Self::EdgesWithoutExits => &[("collect", "edges"), ("exits", "off")],
            Self::Loops => &[("collect", "loops")],
            Self::Trace => &[("collect", "trace")],
            Self::Variation => &[("collect", "variation")],
            Self::Times => &[("collect", "times")],
            Self::None => &[("collect", "none")],
        }
    }
}

/// A kind of profile, with the run that guides it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weaving {
    /// The kind of profile.
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
    /// Creates a weaving of a kind that the run in a directory guides.
    #[must_use]
    pub fn guided(kind: Kind, run: &Path) -> Self {
        Self {
            kind,
            guide: Some(run.to_owned()),
        }
    }

    /// Passes the weaving to `holloway cc`, by its environment.
    pub fn by_environment(&self, command: &mut Command) {
        for (name, value) in self.kind.settings() {
            command.env(format!("HOLLOWAY_{}", name.to_uppercase()), value);
        }
        if let Some(guide) = &self.guide {
            command.env("HOLLOWAY_GUIDE", guide);
        }
    }

    /// Passes the weaving to `cargo holloway build`, by options.
    pub fn by_options(&self, command: &mut Command) {
        for (name, value) in self.kind.settings() {
            command.args([&format!("--{name}"), *value]);
        }
        if let Some(guide) = &self.guide {
            command.arg("--guide").arg(guide);
        }
    }
}
