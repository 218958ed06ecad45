//! What a build system is asked for.

use super::programs::Program;
use std::path::Path;

/// The scope of link-time optimization: the setting `lto` of the profile.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lto {
    /// The default of the build system.
    Off,
    /// All crates or files become one module.
    Fat,
}

impl Lto {
    /// Its name in file names.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Fat => "fat",
        }
    }
}

/// What the compiler does besides compiling.
#[derive(Clone, Copy, Debug)]
pub(super) enum Compile<'a> {
    /// Nothing.
    Plainly,
    /// Adds its own counters. The program writes their counts to this folder.
    Counting(&'a Path),
    /// Optimizes by the counts in this file.
    By(&'a Path),
    /// The same, and the linker keeps relocations in the executable, for BOLT.
    Relocatable(&'a Path),
}

/// A build of a program by its compiler alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct CompilerBuild<'a> {
    pub(super) program: &'static Program,
    pub(super) compile: Compile<'a>,
    pub(super) lto: Lto,
    /// The folder of all that the build system writes.
    pub(super) target: &'a Path,
}

/// Which builds with link-time optimization are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LtoBuilds {
    None,
    /// Those of the compiler.
    Compiler,
    /// Those of the compiler and of Holloway.
    All,
}
