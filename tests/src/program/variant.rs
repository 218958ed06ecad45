//! The ways that a program of tests/programs is built, and what is collected in each.

use super::{Language, Program};
use crate::kind::Kind;
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

/// The clang that compiles for emulated machines.
const NEWEST: u32 = 22;

type Way = (&'static str, u32, bool, Libc);

const OF_C: [Way; 5] = [
    ("O0", 22, false, Libc::Glibc),
    ("O1", 19, false, Libc::Glibc),
    ("O2", 22, true, Libc::Glibc),
    ("O1", 22, true, Libc::Musl),
    ("O2", 22, false, Libc::MuslStatic),
];
const OF_RUST: [Way; 3] = [
    ("dev", 22, true, Libc::Glibc),
    ("release", 22, true, Libc::Glibc),
    ("release", 22, true, Libc::MuslStatic),
];

impl Program {
    /// The ways this program is built.
    #[must_use]
    pub fn variants(&self) -> Vec<Variant> {
        let mut all = self.native();
        all.extend(self.emulated());
        all
    }

    /// The way it is built for a machine that is emulated: programs in turn as they are built for this one.
    fn emulated(&self) -> Option<Variant> {
        let is_c = matches!(self.language, Language::C | Language::Cpp);
        let mut usual = self.native();
        usual.retain(|variant| variant.clang == NEWEST && variant.libc == Libc::Glibc);
        if !is_c || self.directives.native || usual.is_empty() {
            return None;
        }
        let mut variant = usual.swap_remove(self.number() % usual.len());
        variant.machine = Machine::Aarch64;
        Some(variant)
    }

    fn native(&self) -> Vec<Variant> {
        let ways: &[Way] = match self.language {
            Language::C => &OF_C,
            Language::Cpp => &OF_C[..3],
            Language::Rust => &OF_RUST,
            Language::Cargo => &OF_RUST[..2],
        };
        let d = &self.directives;
        let is_fit = |(level, clang, _, libc): &&Way| {
            let is_level = d.levels.is_empty() || d.levels.iter().any(|l| l == level);
            let only = d.only.as_ref();
            is_level && only.is_none_or(|only| *only == clang.to_string()) && self.links(*libc)
        };
        let variant = |(level, clang, lld, libc): &Way| Variant {
            level: (*level).to_owned(),
            clang: *clang,
            lld: *lld,
            libc: *libc,
            machine: Machine::Host,
        };
        ways.iter().filter(is_fit).map(variant).collect()
    }

    /// Whether it is linked with a C library: with musl in one of its forms, if in any; what Rust links is static.
    fn links(&self, libc: Libc) -> bool {
        let d = &self.directives;
        let is_loaded = !d.shared.is_empty() || self.number() % 2 == 1;
        match libc {
            Libc::Glibc => true,
            _ if d.glibc => false,
            Libc::Musl => is_loaded,
            Libc::MuslStatic => !is_loaded || self.language == Language::Rust,
        }
    }

    /// The streams that are collected in a variant, timed paths too: with glibc each in one variant, with musl and on an emulated machine one of
    /// them; which one differs from program to program.
    #[must_use]
    pub fn streams(&self, variant: &Variant) -> Vec<Kind> {
        const STREAMS: [Kind; 4] = [Kind::Loops, Kind::Trace, Kind::Times, Kind::Variation];
        if variant.is_other() {
            let more = usize::from(variant.machine != Machine::Host);
            return vec![STREAMS[(self.number() / 5 + more) % STREAMS.len()]];
        }
        let mut variants = self.native();
        variants.retain(|v| !v.is_other());
        let is_this = |more: usize| variants[(self.number() + more) % variants.len()] == *variant;
        let kinds = (0..).zip(STREAMS).filter(|(more, _)| is_this(*more));
        kinds.map(|(_, kind)| kind).collect()
    }

    /// A number to tell programs from each other.
    pub(super) fn number(&self) -> usize {
        self.name.bytes().map(usize::from).sum()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use crate::program::all;
    use std::collections::BTreeSet;

    #[test]
    fn each_stream_is_collected_once_a_program_and_in_every_variant_of_some() {
        const ALL: [Kind; 4] = [Kind::Loops, Kind::Trace, Kind::Variation, Kind::Times];
        let mut seen = BTreeSet::new();
        for program in all().unwrap() {
            let mut usual = Vec::new();
            for variant in program.variants() {
                let kinds = program.streams(&variant);
                let machine = variant.machine;
                let name = match machine {
                    Machine::Host => variant.name(program.language),
                    Machine::Aarch64 => "aarch64".to_owned(),
                };
                seen.extend(kinds.iter().map(|kind| (*kind, name.clone())));
                match variant.is_other() {
                    true => assert_eq!(kinds.len(), 1, "{}", program.name),
                    false => usual.extend(kinds),
                }
            }
            usual.sort();
            assert_eq!(usual, ALL, "{}", program.name);
        }
        assert_eq!(seen.len(), 4 * (OF_C.len() + OF_RUST.len() + 1), "{seen:?}");
    }
}
