//! Reads facts about the files that a program mapped: whether they are woven, and which functions
//! lie at sampled offsets. Reads only the parts of a file that are needed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use holloway_format::{Count, FunctionSamples, peek_map};
use object::read::ReadCache;
use object::{Object as _, ObjectSymbol as _, SymbolKind};

use crate::address_spaces::{FileIdentity, MappedFile};
use crate::elf::{self, MapSection, Segments, open_regular, read_range, section_range};

/// The functions of a file with samples.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SampledFunctions {
    /// The functions, ascending by address.
    pub functions: Vec<FunctionSamples>,
    /// The number of samples that belong to no function.
    pub without_function: Count,
}

/// Bytes at the beginning of a path map that contain its build id.
const MAP_HEAD: u64 = 48;

/// Finds a mapped file: as the process sees it, or as this process does. A process in a container
/// sees other files, which are below `/proc/PID/root`. `None` if there is another file now.
pub fn find(file: &MappedFile, process: u32) -> Option<PathBuf> {
    let path = file.path.as_os_str();
    if !path.as_bytes().starts_with(b"/") || path.as_bytes().starts_with(b"//") {
        return None;
    }
    let mut in_process = OsString::from(format!("/proc/{process}/root"));
    in_process.push(path);
    let candidates = [PathBuf::from(in_process), file.path.clone()];
    let is_same = |path: &Path| match &file.identity {
        FileIdentity::BuildId(build_id) => elf::build_id(path).as_ref() == Some(build_id),
        // File systems such as Btrfs and overlayfs report other device numbers.
        FileIdentity::Inode { inode, .. } => {
            std::fs::metadata(path).is_ok_and(|metadata| metadata.ino() == *inode)
        }
    };
    candidates.into_iter().find(|path| is_same(path))
}

/// Returns the build id of a woven file's path map. `None` if the file is not woven, or cannot be
/// read.
pub fn woven_build(path: &Path) -> Option<[u8; 16]> {
    let map = MapSection::open(path)?;
    peek_map(&map.read(0..MAP_HEAD)?).ok()
}

/// Returns the name by which programs ask for a shared library (`DT_SONAME`). `None` if the file
/// has none, or cannot be read.
///
/// ```text
/// OFFSET SIZE MEANING   of an entry of .dynamic (64 bit)
///      0    8  tag: 14 is DT_SONAME, 0 the end
///      8    8  offset of the name in .dynstr
/// ```
pub fn soname(path: &Path) -> Option<String> {
    const DT_SONAME: u64 = 14;
    let file = open_regular(path)?;
    let section = |name: &str| read_range(&file, section_range(&file, name)?);
    let entries = section(".dynamic")?;
    let number = |bytes: &[u8]| bytes.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes));
    let entry = entries
        .chunks_exact(16)
        .find(|entry| number(entry) == Some(DT_SONAME))?;
    let names = section(".dynstr")?;
    let name = names.get(usize::try_from(number(&entry[8..])?).ok()?..)?;
    let name = name.split(|&byte| byte == 0).next()?;
    String::from_utf8(name.to_vec()).ok()
}

/// Finds the functions at sampled file offsets. `samples` has the number of samples at each offset.
pub fn sampled_functions(path: &Path, samples: &BTreeMap<u64, u64>) -> SampledFunctions {
    find_functions(path, samples).unwrap_or_else(|| SampledFunctions {
        functions: Vec::new(),
        without_function: Count(samples.values().sum()),
    })
}

fn find_functions(path: &Path, samples: &BTreeMap<u64, u64>) -> Option<SampledFunctions> {
    let cache = ReadCache::new(open_regular(path)?);
    let file = object::File::parse(&cache).ok()?;
    let segments = Segments::new(&file);
    let mut addresses = BTreeMap::new();
    let mut without_function = 0;
    for (&offset, &count) in samples {
        match segments.address(offset) {
            Some(address) => *addresses.entry(address).or_insert(0) += count,
            None => without_function += count,
        }
    }
    let mut functions: BTreeMap<(u64, u64), Vec<String>> = BTreeMap::new();
    let mut add = |symbol: &object::Symbol<'_, '_, &ReadCache<File>>| {
        let range = symbol.address()..symbol.address().saturating_add(symbol.size());
        let is_sampled = || !range.is_empty() && addresses.range(range.clone()).next().is_some();
        if symbol.kind() == SymbolKind::Text && symbol.is_definition() && is_sampled() {
            let names = functions.entry((range.start, range.end)).or_default();
            names.extend(symbol.name().ok().map(str::to_owned));
        }
    };
    file.symbols().for_each(|symbol| add(&symbol));
    file.dynamic_symbols().for_each(|symbol| add(&symbol));
    let mut result = SampledFunctions::default();
    // Where functions overlap, the first gets the samples.
    for ((start, end), mut linkage_names) in functions {
        let mut rest = addresses.split_off(&start);
        let mut behind = rest.split_off(&end);
        addresses.append(&mut behind);
        let samples: u64 = rest.values().sum();
        if samples > 0 {
            linkage_names.sort();
            linkage_names.dedup();
            result.functions.push(FunctionSamples {
                linkage_names,
                samples: Count(samples),
            });
        }
    }
    result.without_function = Count(without_function + addresses.values().sum::<u64>());
    Some(result)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// The test's own program has a symbol table.
    #[test]
    fn offsets_of_the_test_program_have_functions() {
        let program = std::env::current_exe().unwrap();
        let bytes = std::fs::read(&program).unwrap();
        let file = object::File::parse(bytes.as_slice()).unwrap();
        let symbol = file
            .symbols()
            .find(|symbol| symbol.name().is_ok_and(|name| name == "main"))
            .unwrap();
        let offset = Segments::new(&file).offset(symbol.address()).unwrap();
        let end_of_file = bytes.len() as u64 + 4096;
        let samples = BTreeMap::from([(offset, 2), (offset + 1, 3), (end_of_file, 5)]);
        let found = sampled_functions(&program, &samples);
        assert_eq!(found.without_function, Count(5));
        assert_eq!(found.functions.len(), 1);
        assert_eq!(found.functions[0].samples, Count(5));
        assert!(
            found.functions[0]
                .linkage_names
                .contains(&"main".to_owned())
        );
        assert_eq!(woven_build(&program), None);
    }

    #[test]
    fn samples_of_a_missing_file_have_no_function() {
        let samples = BTreeMap::from([(1, 2), (3, 4)]);
        let found = sampled_functions(Path::new("[vdso]"), &samples);
        assert_eq!(
            (found.functions.len(), found.without_function),
            (0, Count(6))
        );
    }
}
