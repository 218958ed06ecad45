//! One way to build a program of tests/programs.

use super::catalog::Language;
use crate::machine::Machine;

/// The C library that a program is linked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Libc {
    /// The system's, as when nothing is said.
    Glibc,
    /// musl, loaded with the program.
    Musl,
    /// musl, in the program.
    MuslStatic,
}

/// One way to build a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// Optimisation level: `O0`, `O2`; Cargo's profile for Rust.
    pub level: String,
    /// Version of clang; unused for Rust.
    pub clang: u32,
    /// Links with lld, not GNU ld; Rust links as rustc does.
    pub lld: bool,
    /// What it is linked with; Rust's musl is always in the program.
    pub libc: Libc,
    /// What it is built for.
    pub machine: Machine,
}

impl Variant {
    /// A name for lists: `O2-clang22-lld`, `release-musl`.
    #[must_use]
    pub fn name(&self, language: Language) -> String {
        let libc = match self.libc {
            Libc::Glibc => "",
            Libc::Musl => "-musl-shared",
            Libc::MuslStatic => "-musl",
        };
        let built = match language {
            Language::C | Language::Cpp => {
                format!(
                    "{}-clang{}-{}",
                    self.level,
                    self.clang,
                    if self.lld { "lld" } else { "ld" }
                )
            }
            Language::Rust | Language::Cargo => self.level.clone(),
        };
        let machine = match self.machine {
            Machine::Host => "",
            Machine::Aarch64 => "-aarch64",
        };
        built + libc + machine
    }

    /// Whether it is for another C library or another machine: there less is collected, for the suite takes long.
    #[must_use]
    pub fn is_other(&self) -> bool {
        self.libc != Libc::Glibc || self.machine != Machine::Host
    }
}
