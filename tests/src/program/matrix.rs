//! The matrix of programs, compilers, optimization levels, C libraries, machines, and kinds of
//! profile, and the fixed sample of it that `cargo xtask test` runs.
//!
//! A test of the matrix is one program in one variant. It collects the kinds that are counted, and
//! the streams that [`Program::streams`] assigns to the variant.
//!
//! # The sample
//! [`C_WAYS`] and [`RUST_WAYS`] say for each way to build a program whether the sample contains it
//! for every program or for every second program. To shorten the sample as features are added,
//! change a [`Share`] there. The following holds for all shares:
//! - a variant whose level a directive of the program names is in the sample;
//! - each stream of a program is collected in a variant of the sample;
//! - a unit test checks that the sample loses no program, no variant, and no kind in any variant.

use super::catalog::{Language, Program, all};
use super::variant::{Libc, Variant};
use crate::kind::Kind;
use crate::machine::Machine;
use anyhow::{Context, Result};

/// How much of the matrix runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matrix {
    /// A few programs, for `cargo xtask test --quick`.
    Quick,
    /// The fixed sample, for `cargo xtask test`.
    Sample,
    /// Everything, for `cargo xtask campaign`.
    Whole,
}

/// The programs of [`Matrix::Quick`], each with a variant: a C program and a Rust program with
/// paths that are known in advance, exceptions, threads, frames that are left by `longjmp`, a
/// shared object, and both linkers.
const QUICK: [(&str, &str); 6] = [
    ("fact", "O2-clang22-lld"),
    ("loops", "O0-clang22-ld"),
    ("cpp_exceptions", "O1-clang19-ld"),
    ("setjmp", "O2-clang22-lld"),
    ("shared_library", "O2-clang22-lld"),
    ("rust_threads", "dev"),
];

impl Matrix {
    /// The environment variable that chooses the matrix: [`Self::name`], or nothing for
    /// [`Self::Whole`].
    pub const VARIABLE: &str = "HOLLOWAY_TEST_MATRIX";

    /// The value of [`Self::VARIABLE`].
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Sample => "sample",
            Self::Whole => "whole",
        }
    }

    /// The matrix that the environment chooses.
    ///
    /// # Errors
    /// If the variable has another value.
    pub fn from_environment() -> Result<Self> {
        let Some(value) = std::env::var_os(Self::VARIABLE) else {
            return Ok(Self::Whole);
        };
        let known = [Self::Quick, Self::Sample, Self::Whole];
        let matrix = known.into_iter().find(|matrix| value == matrix.name());
        matrix.with_context(|| {
            let variable = Self::VARIABLE;
            format!("{variable}={value:?}: it is one of quick, sample, whole")
        })
    }

    /// The variants in which a program runs.
    #[must_use]
    pub fn variants(self, program: &Program) -> Vec<Variant> {
        match self {
            Self::Quick => {
                let mut all = program.variants();
                all.retain(|variant| {
                    let name = variant.name(program.language);
                    QUICK.contains(&(program.name.as_str(), name.as_str()))
                });
                all
            }
            Self::Sample => program.sample(),
            Self::Whole => program.variants(),
        }
    }

    /// The number of tests.
    ///
    /// # Errors
    /// If tests/programs cannot be read.
    pub fn trials(self) -> Result<usize> {
        let programs = all()?;
        Ok(programs.iter().map(|p| self.variants(p).len()).sum())
    }
}

/// The share of programs that the sample builds in a way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Share {
    /// All programs.
    Every,
    /// Every second program.
    Half,
}

/// A way to build programs of one language.
#[derive(Debug, Clone, Copy)]
struct Way {
    level: &'static str,
    clang: u32,
    lld: bool,
    libc: Libc,
    share: Share,
}

const fn way(level: &'static str, clang: u32, lld: bool, libc: Libc, share: Share) -> Way {
    Way {
        level,
        clang,
        lld,
        libc,
        share,
    }
}

/// The ways to build C programs. C++ programs use those with glibc. Lines are compared with gcov's
/// at `O0` only, and users mostly build with `O2`, so the sample contains both for every program.
const C_WAYS: [Way; 5] = [
    way("O0", 22, false, Libc::Glibc, Share::Every),
    way("O1", 19, false, Libc::Glibc, Share::Half),
    way("O2", 22, true, Libc::Glibc, Share::Every),
    way("O1", 22, true, Libc::Musl, Share::Every),
    way("O2", 22, false, Libc::MuslStatic, Share::Every),
];

/// The ways to build Rust files. Cargo projects use those with glibc.
const RUST_WAYS: [Way; 3] = [
    way("dev", 22, true, Libc::Glibc, Share::Half),
    way("release", 22, true, Libc::Glibc, Share::Every),
    way("release", 22, true, Libc::MuslStatic, Share::Every),
];

/// The share of programs that are built for an emulated machine.
const EMULATED: Share = Share::Half;

/// The clang that compiles for emulated machines.
const NEWEST: u32 = 22;

impl Program {
    /// All variants of this program.
    #[must_use]
    pub fn variants(&self) -> Vec<Variant> {
        let mut all = self.native(Matrix::Whole);
        all.extend(self.emulated());
        all
    }

    /// The variants of the sample.
    fn sample(&self) -> Vec<Variant> {
        let mut all = self.native(Matrix::Sample);
        all.extend(self.emulated().filter(|_| self.is_in(EMULATED)));
        all
    }

    /// Whether this program belongs to the share. The number is halved because its lowest bit
    /// chooses the C library.
    fn is_in(&self, share: Share) -> bool {
        match share {
            Share::Every => true,
            Share::Half => (self.number() / 2).is_multiple_of(2),
        }
    }

    /// The variant for the emulated machine, if the program has one. Different programs use
    /// different variants.
    fn emulated(&self) -> Option<Variant> {
        let is_c = matches!(self.language, Language::C | Language::Cpp);
        let mut usual = self.native(Matrix::Whole);
        usual.retain(|variant| variant.clang == NEWEST && variant.libc == Libc::Glibc);
        if !is_c || self.directives.native || usual.is_empty() {
            return None;
        }
        let mut variant = usual.swap_remove(self.number() % usual.len());
        variant.machine = Machine::Aarch64;
        Some(variant)
    }

    /// The variants for this machine. The sample always contains at least one with glibc.
    fn native(&self, matrix: Matrix) -> Vec<Variant> {
        let ways: &[Way] = match self.language {
            Language::C => &C_WAYS,
            Language::Cpp => &C_WAYS[..3],
            Language::Rust => &RUST_WAYS,
            Language::Cargo => &RUST_WAYS[..2],
        };
        let fitting = ways.iter().filter(|way| self.fits(way));
        let fitting: Vec<&Way> = fitting.collect();
        let usual = fitting.iter().filter(|way| way.libc == Libc::Glibc).count();
        let is_chosen = |way: &&&Way| {
            let is_only = usual == 1 && way.libc == Libc::Glibc;
            let is_sampled = self.is_in(way.share) || is_only || self.names_level(way.level);
            matrix == Matrix::Whole || is_sampled
        };
        let variant = |way: &&Way| Variant {
            level: way.level.to_owned(),
            clang: way.clang,
            lld: way.lld,
            libc: way.libc,
            machine: Machine::Host,
        };
        fitting.iter().filter(is_chosen).map(variant).collect()
    }

    /// Whether the program's directives allow a way to build it.
    fn fits(&self, way: &Way) -> bool {
        let d = &self.directives;
        let is_level = d.levels.is_empty() || d.levels.iter().any(|l| l == way.level);
        let is_compiler = match &d.only {
            Some(only) => *only == way.clang.to_string(),
            None => true,
        };
        is_level && is_compiler && self.links(way.libc)
    }

    /// Whether the condition of a directive contains a level.
    fn names_level(&self, level: &str) -> bool {
        let mut expectations = self.directives.expectations.iter();
        expectations.any(|(conditions, _)| conditions.iter().any(|word| word == level))
    }

    /// Whether the program is linked with a C library. If a program can be linked with musl, it is
    /// linked with either the shared or the static musl. Rust programs are only linked with the
    /// static one.
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

    /// The streams that are collected in a variant, including streams of timed paths. With glibc,
    /// each stream is collected in one variant of the sample. With musl and on an emulated machine,
    /// one stream is collected. Different programs collect different streams in a variant.
    #[must_use]
    pub fn streams(&self, variant: &Variant) -> Vec<Kind> {
        const STREAMS: [Kind; 4] = [Kind::Loops, Kind::Trace, Kind::Times, Kind::Variation];
        if variant.is_other() {
            let more = usize::from(variant.machine != Machine::Host);
            return vec![STREAMS[(self.number() / 5 + more) % STREAMS.len()]];
        }
        let mut variants = self.native(Matrix::Sample);
        variants.retain(|v| !v.is_other());
        let is_this = |more: usize| variants[(self.number() + more) % variants.len()] == *variant;
        let kinds = (0..).zip(STREAMS).filter(|(more, _)| is_this(*more));
        kinds.map(|(_, kind)| kind).collect()
    }

    /// Whether the program is also woven without counters in a variant: in one variant of the
    /// sample. Different programs use different variants.
    #[must_use]
    pub fn is_woven_without_counters(&self, variant: &Variant) -> bool {
        let variants = self.sample();
        variants[self.number() / 4 % variants.len()] == *variant
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_stream_is_collected_once_a_program_and_in_every_variant_of_some() {
        const ALL: [Kind; 4] = [Kind::Loops, Kind::Trace, Kind::Variation, Kind::Times];
        for matrix in [Matrix::Sample, Matrix::Whole] {
            let mut seen = BTreeSet::new();
            for program in all().unwrap() {
                let mut usual = Vec::new();
                for variant in matrix.variants(&program) {
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
            let ways = C_WAYS.len() + RUST_WAYS.len() + 1;
            assert_eq!(seen.len(), 4 * ways, "{matrix:?}: {seen:?}");
        }
    }

    #[test]
    fn each_program_is_woven_without_counters_once_and_in_every_variant_of_some() {
        for matrix in [Matrix::Sample, Matrix::Whole] {
            let mut seen = BTreeSet::new();
            for program in all().unwrap() {
                let mut variants = matrix.variants(&program);
                variants.retain(|variant| program.is_woven_without_counters(variant));
                assert_eq!(variants.len(), 1, "{}", program.name);
                seen.insert(match variants[0].machine {
                    Machine::Host => variants[0].name(program.language),
                    Machine::Aarch64 => "aarch64".to_owned(),
                });
            }
            assert_eq!(seen.len(), C_WAYS.len() + RUST_WAYS.len() + 1, "{seen:?}");
        }
    }

    #[test]
    fn the_sample_is_part_of_the_whole_and_keeps_every_condition() {
        for program in all().unwrap() {
            let (whole, sample) = (program.variants(), program.sample());
            assert!(sample.iter().all(|v| whole.contains(v)), "{}", program.name);
            for variant in whole.iter().filter(|v| program.names_level(&v.level)) {
                let is_kept = sample.contains(variant) || variant.machine != Machine::Host;
                assert!(is_kept, "{} {variant:?}", program.name);
            }
        }
        let [quick, sample, whole] =
            [Matrix::Quick, Matrix::Sample, Matrix::Whole].map(|m| m.trials().unwrap());
        assert_eq!(quick, QUICK.len());
        assert!(sample < whole, "{sample} of {whole}");
    }
}
