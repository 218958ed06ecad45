//! A variant: one way to build a program of tests/programs.

use super::catalog::Language;
use crate::machine::Machine;

/// The C library that a program is linked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Libc {
    /// The system's C library, which is the default.
    Glibc,
    /// musl as a shared library.
    Musl,
    /// musl, linked statically.
    MuslStatic,
}

/// One way to build a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// Optimization level such as `O0` or `O2`; for Rust, Cargo's profile.
    pub level: String,
    /// Version of clang; unused for Rust.
    pub clang: u32,
    /// Whether lld links instead of GNU ld. Rust programs use rustc's default linker.
    pub lld: bool,
    /// The C library. In Rust programs, musl is always linked statically.
    pub libc: Libc,
    /// The machine that the program is built for.
    pub machine: Machine,
}

impl Variant {
    /// The name in lists of tests, such as `O2-clang22-lld` or `release-musl`.
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

    /// Whether the C library or the machine is not the default. Fewer kinds of profile are
    /// collected in such a variant, to keep the tests short.
    #[must_use]
    pub fn is_other(&self) -> bool {
        self.libc != Libc::Glibc || self.machine != Machine::Host
    }
}
