//! Reads which instruction of unoptimized bitcode each address of a program comes from.
//!
//! `holloway optimize` links a program again with the numbers of its instructions as debug
//! locations (`holloway_weave`, `early/numbers.rs`): a line is the number of an instruction in its
//! function. Frames of inlined calls have the numbers of the calls. The code is that of the plain
//! program, and [`CodePair`] checks that: LLVM's decisions hardly depend on debug information, but
//! a few instructions may differ.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use addr2line::Loader;
use object::read::ReadCache;
use object::{Object as _, ObjectSection as _, SectionFlags, elf};

use crate::elf::open_regular;

/// An instruction of the bitcode: its function and its number.
pub type Numbered = (Arc<str>, u32);

/// Code that comes from one instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberedCode {
    /// The addresses, as the program's symbols name them.
    pub addresses: Range<u64>,
    /// The instruction comes last. Before it are the calls that were inlined, outermost first.
    pub frames: Vec<Numbered>,
}

/// Reads the code of a program with known instructions, in the order of addresses. Empty if the
/// program has no debug information.
pub fn numbered_code(program: &Path) -> Vec<NumberedCode> {
    let Ok(loader) = Loader::new(program) else {
        return Vec::new();
    };
    let Ok(rows) = loader.find_location_range(0, u64::MAX) else {
        return Vec::new();
    };
    let mut names: HashMap<String, Arc<str>> = HashMap::new();
    let code = rows.filter_map(|(start, length, _)| {
        Some(NumberedCode {
            addresses: start..start.checked_add(length)?,
            frames: frames(&loader, start, &mut names)?,
        })
    });
    let mut code: Vec<NumberedCode> = code.filter(|code| !code.addresses.is_empty()).collect();
    code.sort_by_key(|code| code.addresses.start);
    code
}

/// The instruction at an address, and the inlined calls around it. `None` if one is not known.
fn frames(
    loader: &Loader,
    address: u64,
    names: &mut HashMap<String, Arc<str>>,
) -> Option<Vec<Numbered>> {
    let mut found = loader.find_frames(address).ok()?;
    let mut frames = Vec::new();
    while let Ok(Some(frame)) = found.next() {
        let name = frame.function?.raw_name().ok()?.into_owned();
        let line = frame.location?.line.filter(|&line| line > 0)?;
        let name = names
            .entry(name)
            .or_insert_with_key(|name| name.as_str().into());
        frames.push((name.clone(), line));
    }
    frames.reverse();
    (!frames.is_empty()).then_some(frames)
}

/// The machine code of two programs with the same layout.
pub struct CodePair(Vec<(u64, Vec<u8>, Vec<u8>)>);

impl CodePair {
    /// Reads the code of two programs. `None` if one of them cannot be read, or their code does not
    /// lie at the same addresses.
    pub fn read(one: &Path, other: &Path) -> Option<Self> {
        let [one, other] = [executable_sections(one)?, executable_sections(other)?];
        let layout = |sections: &[(u64, Vec<u8>)]| {
            let sections = sections.iter();
            sections
                .map(|(start, bytes)| (*start, bytes.len()))
                .collect::<Vec<_>>()
        };
        (layout(&one) == layout(&other)).then(|| {
            let pairs = one.into_iter().zip(other);
            Self(pairs.map(|((start, a), (_, b))| (start, a, b)).collect())
        })
    }

    /// Whether the programs have the same bytes at these addresses.
    pub fn is_same(&self, addresses: &Range<u64>) -> bool {
        let same = |(start, one, other): &(u64, Vec<u8>, Vec<u8>)| {
            let from = usize::try_from(addresses.start.checked_sub(*start)?).ok()?;
            let to = usize::try_from(addresses.end.checked_sub(*start)?).ok()?;
            Some(one.get(from..to)? == other.get(from..to)?)
        };
        self.0.iter().find_map(same).unwrap_or(false)
    }

    /// The share of bytes that differ, in percent, rounded up.
    pub fn different_percent(&self) -> usize {
        let (mut different, mut total) = (0, 0);
        for (_, one, other) in &self.0 {
            different += one.iter().zip(other).filter(|(a, b)| a != b).count();
            total += one.len();
        }
        (100 * different).div_ceil(total.max(1))
    }
}

/// The address and the content of each executable section.
fn executable_sections(program: &Path) -> Option<Vec<(u64, Vec<u8>)>> {
    let cache = ReadCache::new(open_regular(program)?);
    let file = object::File::parse(&cache).ok()?;
    let is_executable = |section: &object::Section<'_, '_, _>| match section.flags() {
        SectionFlags::Elf { sh_flags, .. } => sh_flags.0 & elf::SHF_EXECINSTR.0 != 0,
        _ => false,
    };
    let sections = file.sections().filter(is_executable);
    sections
        .map(|section| Some((section.address(), section.data().ok()?.to_vec())))
        .collect()
}
