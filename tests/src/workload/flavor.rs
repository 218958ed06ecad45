//! The flavors in which a program is built: by the compiler alone, by Holloway, or with the
//! compilers' own counters.

use crate::tool::{cargo_holloway, clean, holloway_command};
use std::path::{Path, PathBuf};
use std::process::Command;

/// How a program is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    /// By the compiler alone.
    Native,
    /// By Holloway, with path counters.
    Paths,
    /// By Holloway, with edge counters.
    Edges,
    /// By Holloway, with path counters and without exit edges.
    WithoutExits,
    /// By Holloway, with path counters. An earlier run guides the placement of probes.
    Guided,
    /// By Holloway, with a stream of paths for sequences over iterations.
    Loops,
    /// By Holloway, with a stream of paths that end at calls.
    Trace,
    /// By Holloway, with some paths timed.
    Variation,
    /// By Holloway, with every path timed.
    Times,
    /// By Holloway, without counters, for `holloway monitor`.
    None,
    /// By Holloway, without counters and without the addresses of blocks. It shows what Holloway's
    /// pipeline alone changes.
    Unprobed,
    /// By Holloway, without counters: the program carries its bitcode for `holloway optimize`.
    Embedded,
    /// With the compilers' own edge counters: `-fprofile-generate`, `-Cprofile-generate`.
    Peer,
    /// Optimized by the compilers' own counts: `-fprofile-use`, `-Cprofile-use`.
    PeerOptimized,
}

/// The native flavor and every flavor that counts, in the order of the tables.
pub const FLAVORS: [Flavor; 10] = [
    Flavor::Native,
    Flavor::Paths,
    Flavor::Edges,
    Flavor::WithoutExits,
    Flavor::Guided,
    Flavor::Loops,
    Flavor::Trace,
    Flavor::Variation,
    Flavor::Times,
    Flavor::Peer,
];

impl Flavor {
    /// The name in tables and paths.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Paths => "paths",
            Self::Edges => "edges",
            Self::WithoutExits => "closed",
            Self::Guided => "guided",
            Self::Loops => "loops",
            Self::Trace => "trace",
            Self::Variation => "variation",
            Self::Times => "times",
            Self::None => "none",
            Self::Unprobed => "unprobed",
            Self::Embedded => "embedded",
            Self::Peer => "peer",
            Self::PeerOptimized => "peer-optimized",
        }
    }

    /// Whether Holloway builds the program.
    #[must_use]
    pub fn is_woven(self) -> bool {
        !matches!(self, Self::Native | Self::Peer | Self::PeerOptimized)
    }

    /// Returns the folder of the guide: the data of an earlier run, next to a program's sources.
    #[must_use]
    pub fn guide(folder: &Path) -> PathBuf {
        folder.join("guide")
    }

    /// Returns the file with the counts of [`Flavor::Peer`], next to a program's sources.
    #[must_use]
    pub fn peer_counts(folder: &Path) -> PathBuf {
        folder.join("peer.profdata")
    }

    /// The name of the objects. All other of Holloway's flavors share objects, because they differ
    /// only in the link.
    pub(super) fn compiled(self) -> &'static str {
        match self {
            Self::Native | Self::Embedded | Self::Peer | Self::PeerOptimized => self.name(),
            _ => "woven",
        }
    }

    /// Returns the command of a compiler: `clang`, or `holloway cc` that calls it (`c++` for C++).
    pub(super) fn compiler(self, clang: &Path, verb: &str, folder: &Path) -> Command {
        let mut command = if self.is_woven() {
            holloway_command([verb])
        } else {
            Command::new(clang)
        };
        clean(&mut command);
        if self.is_woven() {
            command.env("HOLLOWAY_CLANG", clang);
        }
        self.set(&mut command, folder);
        command
    }

    /// Returns Cargo's command for a build.
    pub(super) fn cargo(self, folder: &Path) -> Command {
        let mut command = if self.is_woven() {
            match self {
                Self::Embedded => cargo_holloway(["optimize", "--no-run"]),
                _ => cargo_holloway(["build"]),
            }
        } else {
            let mut command = Command::new("cargo");
            command.arg("build");
            clean(&mut command);
            command
        };
        self.set(&mut command, folder);
        command
    }

    /// Sets Holloway's options in the environment.
    fn set(self, command: &mut Command, folder: &Path) {
        match self {
            Self::Native | Self::Paths | Self::Peer | Self::PeerOptimized => {}
            Self::Embedded => drop(command.env("HOLLOWAY_EMBED", "1")),
            Self::Edges => drop(command.env("HOLLOWAY_COLLECT", "edges")),
            Self::WithoutExits => drop(command.env("HOLLOWAY_EXITS", "off")),
            Self::Loops => drop(command.env("HOLLOWAY_COLLECT", "loops")),
            Self::Trace => drop(command.env("HOLLOWAY_COLLECT", "trace")),
            Self::Variation => drop(command.env("HOLLOWAY_COLLECT", "variation")),
            Self::Times => drop(command.env("HOLLOWAY_COLLECT", "times")),
            Self::None => drop(command.env("HOLLOWAY_COLLECT", "none")),
            Self::Unprobed => {
                command
                    .env("HOLLOWAY_COLLECT", "none")
                    .env("HOLLOWAY_SKIP", ".*");
            }
            Self::Guided => drop(command.env("HOLLOWAY_GUIDE", Self::guide(folder))),
        }
    }
}
