//! Answers from samples of addresses: where the time of watched programs went, by function, block,
//! and line. Such profiles are *time-based*: a block with slow instructions has more samples than
//! one that runs as often with fast instructions.
//!
//! The *weight* of a block is its samples divided by its length in instructions (Morph's manager:
//! Zhang et al. 1997, section 4). So a long block does not seem to run more often than a short one.
//!
//! ```text
//! Fig. 2   block A, 3 instructions, samples 2 0 1          3 samples, weight 1
//!          block B, 6 instructions, samples 0 1 2 2 0 1    6 samples, weight 1
//! ```
//! *Skid*: an interrupt arrives some instructions after the one that used the time. So a sample may
//! belong to the instruction before, or to the block before. Sums over blocks and functions suffer
//! less than single addresses.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use holloway_format::branches::{BranchFile, FunctionBranches};
use holloway_format::samples::{KnownBlocks, MonitorState, SampleClock};
use holloway_format::{Count, FunctionIndex, ImageMap, ProgramSamples};

use crate::note::Note;
use crate::trail::first_place;

/// The samples of a run.
#[derive(Clone, Debug)]
pub struct SampledRun {
    /// What was counted between two samples.
    pub clock: SampleClock,
    /// Whether the monitor has ended.
    pub state: MonitorState,
    /// Samples per second of CPU time, on average.
    pub frequency: u64,
    /// Duration of the observation in nanoseconds.
    pub duration_ns: u64,
    /// Records that the kernel dropped.
    pub lost: u64,
    /// Samples at addresses without a file.
    pub without_file: Count,
    /// The programs that ran.
    pub programs: Vec<ProgramSamples>,
    /// The sampled files.
    pub files: Vec<SampledFile>,
    /// Where the samples come from, and branch records. `None` if a monitor sampled addresses only.
    pub records: Option<RecordedBranches>,
    /// Files of the run that cannot be read.
    pub damage: Vec<Note>,
}

/// Branch records, and where the samples beside them come from.
#[derive(Clone, Debug)]
pub struct RecordedBranches {
    /// The source, the event, and how much could be used. Its list of files is empty.
    pub facts: BranchFile,
    /// The counts of each file, with its path map.
    pub files: Vec<(ImageMap, Vec<FunctionBranches>)>,
}

impl RecordedBranches {
    /// Whether there are branch records.
    pub fn has_branches(&self) -> bool {
        self.files
            .iter()
            .any(|(_, functions)| !functions.is_empty())
    }

    /// Whether paths are known: only stacks show paths.
    pub fn has_paths(&self) -> bool {
        let functions = self.files.iter().flat_map(|(_, functions)| functions);
        functions
            .into_iter()
            .any(|function| !function.paths.is_empty())
    }

    /// Adds the records of another monitor.
    pub fn join(&mut self, other: Self) {
        let (sum, facts) = (&mut self.facts, &other.facts);
        sum.depth = sum.depth.max(facts.depth);
        sum.kernel = sum.kernel.saturating_add(facts.kernel);
        sum.other_events = sum.other_events.saturating_add(facts.other_events);
        sum.damaged = sum.damaged.saturating_add(facts.damaged);
        sum.quality.add(&facts.quality);
        self.files.extend(other.files);
    }
}

/// The samples in one file.
#[derive(Clone, Debug)]
pub struct SampledFile {
    /// The path, as the process saw it.
    pub path: String,
    /// Whether the blocks of addresses are known.
    pub blocks: KnownBlocks,
    /// The path map of a file with known blocks. `None` if it cannot be read.
    pub map: Option<ImageMap>,
    /// The code at each sampled address.
    pub code: Vec<SampledCode>,
}

/// The code at a sampled address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampledCode {
    /// The number of samples.
    pub samples: Count,
    /// The function and block in the path map.
    pub block: Option<(FunctionIndex, u32)>,
    /// The symbol at the address. Empty if unknown.
    pub symbol: String,
    /// The place in the source from the file's debug information. Empty if unknown.
    pub place: SourceLine,
}

/// A line of a source file.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceLine {
    /// The file. Empty if unknown.
    pub file: String,
    /// The line, 0 if unknown.
    pub line: u32,
}

impl SourceLine {
    /// Whether the line is known.
    pub fn is_known(&self) -> bool {
        !self.file.is_empty() && self.line != 0
    }
}

/// How the function of samples was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Basis {
    /// By the path map, with the blocks.
    Blocks,
    /// By the file's symbols.
    Symbols,
}

/// A function with samples.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedFunction {
    /// Index of its file in [`SampledRun::files`].
    pub file: usize,
    /// How it was found.
    pub basis: Basis,
    /// The source name. Empty if unknown.
    pub name: String,
    /// The linkage name.
    pub linkage_name: String,
    /// The place of its declaration.
    pub place: SourceLine,
    /// The number of samples.
    pub samples: Count,
    /// The blocks with samples, most samples first. Empty if they are unknown.
    pub blocks: Vec<TimedBlock>,
}

/// A block with samples.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedBlock {
    /// The block's number.
    pub block: u32,
    /// Its first place in the source.
    pub place: SourceLine,
    /// Its length in instructions.
    pub instructions: u32,
    /// The number of samples.
    pub samples: Count,
}

impl TimedBlock {
    /// Samples per instruction. Proportional to the number of times that the block ran, if all
    /// instructions take the same time.
    pub fn weight(&self) -> f64 {
        self.samples.to_f64() / f64::from(self.instructions.max(1))
    }
}

/// A line with samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedLine {
    /// The line.
    pub place: SourceLine,
    /// Index of its function with most samples in [`TimeProfile::functions`].
    pub function: usize,
    /// The number of samples.
    pub samples: Count,
}

/// Where the time went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeProfile {
    /// All samples.
    pub samples: Count,
    /// The functions, most samples first.
    pub functions: Vec<TimedFunction>,
    /// The lines, most samples first.
    pub lines: Vec<TimedLine>,
    /// By file: samples whose function is unknown.
    pub without_function: Vec<Count>,
}

/// Identifies a function: file, index in the map, symbol.
type FunctionKey<'a> = (usize, Option<FunctionIndex>, &'a str);

/// Adds up the samples of a run.
pub fn time_profile(run: &SampledRun) -> TimeProfile {
    let mut sums: BTreeMap<FunctionKey<'_>, FunctionSums> = BTreeMap::new();
    let mut profile = TimeProfile {
        samples: run.without_file,
        ..TimeProfile::default()
    };
    for (number, file) in run.files.iter().enumerate() {
        let mut without_function = Count::ZERO;
        for code in &file.code {
            profile.samples = profile.samples.saturating_add(code.samples);
            let block = code.block.filter(|&(function, block)| {
                let map = file.map.as_ref().and_then(|map| map.function(function));
                map.is_some_and(|map| (block as usize) < map.blocks.len())
            });
            let key = match block {
                Some((function, _)) => (number, Some(function), ""),
                None if code.symbol.is_empty() => {
                    without_function = without_function.saturating_add(code.samples);
                    continue;
                }
                None => (number, None, code.symbol.as_str()),
            };
            let place = match (block, code.place.is_known()) {
                (Some((function, block)), false) => block_place(file, function, block),
                _ => code.place.clone(),
            };
            let block = block.map(|(_, block)| block);
            sums.entry(key).or_default().add(code.samples, block, place);
        }
        profile.without_function.push(without_function);
    }
    let mut functions: Vec<_> = sums
        .into_iter()
        .map(|(key, sums)| (timed_function(run, key, &sums), sums.lines))
        .collect();
    functions.sort_by_key(|(function, _)| Reverse(function.samples));
    profile.lines = timed_lines(functions.iter().map(|(_, lines)| lines));
    profile.functions = functions
        .into_iter()
        .map(|(function, _)| function)
        .collect();
    profile
}

/// The samples of a function.
#[derive(Default)]
struct FunctionSums {
    samples: Count,
    blocks: BTreeMap<u32, Count>,
    lines: BTreeMap<SourceLine, Count>,
}

impl FunctionSums {
    fn add(&mut self, samples: Count, block: Option<u32>, place: SourceLine) {
        self.samples = self.samples.saturating_add(samples);
        if let Some(block) = block {
            let sum = self.blocks.entry(block).or_default();
            *sum = sum.saturating_add(samples);
        }
        if place.is_known() {
            let sum = self.lines.entry(place).or_default();
            *sum = sum.saturating_add(samples);
        }
    }
}

fn timed_function(run: &SampledRun, key: FunctionKey<'_>, sums: &FunctionSums) -> TimedFunction {
    let (number, index, symbol) = key;
    let file = &run.files[number];
    let map = index.and_then(|index| file.map.as_ref()?.function(index));
    let (Some(index), Some(map)) = (index, map) else {
        return TimedFunction {
            file: number,
            basis: Basis::Symbols,
            name: String::new(),
            linkage_name: symbol.to_owned(),
            place: SourceLine::default(),
            samples: sums.samples,
            blocks: Vec::new(),
        };
    };
    let blocks = sums.blocks.iter().map(|(&block, &samples)| TimedBlock {
        block,
        place: block_place(file, index, block),
        instructions: map.blocks[block as usize].instructions,
        samples,
    });
    let mut blocks: Vec<TimedBlock> = blocks.collect();
    blocks.sort_by_key(|block| Reverse(block.samples));
    TimedFunction {
        file: number,
        basis: Basis::Blocks,
        name: map.name.to_string(),
        linkage_name: map.linkage_name.to_string(),
        place: SourceLine {
            file: map.file.to_string(),
            line: map.line,
        },
        samples: sums.samples,
        blocks,
    }
}

/// The first place of a block that has a line.
fn block_place(file: &SampledFile, index: FunctionIndex, block: u32) -> SourceLine {
    let find = || {
        let function = file.map.as_ref()?.function(index)?;
        let place = first_place(&function.blocks.get(block as usize)?.places)?;
        let scope = function.scopes.get(place.scope as usize)?;
        Some(SourceLine {
            file: scope.file.to_string(),
            line: place.line,
        })
    };
    find().unwrap_or_default()
}

/// Adds up the lines of all functions, in the order of the functions.
fn timed_lines<'a>(
    functions: impl Iterator<Item = &'a BTreeMap<SourceLine, Count>>,
) -> Vec<TimedLine> {
    let mut sums: BTreeMap<&SourceLine, (Count, Count, usize)> = BTreeMap::new();
    for (function, lines) in functions.enumerate() {
        for (line, &samples) in lines {
            let (sum, most, hottest) = sums.entry(line).or_default();
            *sum = sum.saturating_add(samples);
            if samples > *most {
                (*most, *hottest) = (samples, function);
            }
        }
    }
    let lines = sums
        .into_iter()
        .map(|(place, (samples, _, function))| TimedLine {
            place: place.clone(),
            function,
            samples,
        });
    let mut lines: Vec<TimedLine> = lines.collect();
    lines.sort_by_key(|line| Reverse(line.samples));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use holloway_format::{BlockMap, FunctionMap, ModuleMap, Place, PlacedModule, Scope};

    fn map(lengths: &[u32]) -> ImageMap {
        let blocks = lengths
            .iter()
            .zip(10..)
            .map(|(&instructions, line)| BlockMap {
                instructions,
                places: vec![Place {
                    scope: 0,
                    line,
                    column: 1,
                }],
            });
        let function = FunctionMap {
            name: "f".into(),
            linkage_name: "f".into(),
            scopes: vec![Scope {
                file: "a.c".into(),
                ..Scope::default()
            }],
            blocks: blocks.collect(),
            ..FunctionMap::default()
        };
        ImageMap {
            modules: vec![PlacedModule {
                base: 0,
                module: ModuleMap {
                    functions: vec![function],
                    ..ModuleMap::default()
                },
            }],
            ..ImageMap::default()
        }
    }

    fn run(files: Vec<SampledFile>) -> SampledRun {
        SampledRun {
            clock: SampleClock::CpuTime,
            state: MonitorState::Ended,
            frequency: 1024,
            duration_ns: 1,
            lost: 0,
            without_file: Count(1),
            programs: Vec::new(),
            files,
            records: None,
            damage: Vec::new(),
        }
    }

    fn in_block(block: u32, samples: u64) -> SampledCode {
        SampledCode {
            samples: Count(samples),
            block: Some((FunctionIndex::default(), block)),
            ..SampledCode::default()
        }
    }

    fn by_symbol(symbol: &str, line: u32, samples: u64) -> SampledCode {
        SampledCode {
            samples: Count(samples),
            symbol: symbol.to_owned(),
            place: SourceLine {
                file: if line == 0 { "" } else { "b.c" }.to_owned(),
                line,
            },
            ..SampledCode::default()
        }
    }

    #[test]
    fn weights_of_figure_2_are_equal() {
        let samples = [
            (0, 2),
            (0, 0),
            (0, 1),
            (1, 0),
            (1, 1),
            (1, 2),
            (1, 2),
            (1, 0),
            (1, 1),
        ];
        let file = SampledFile {
            path: "/bin/app".to_owned(),
            blocks: KnownBlocks::Known {
                map: [0; 16],
                left_out: 0,
            },
            map: Some(map(&[3, 6])),
            code: samples
                .map(|(block, count)| in_block(block, count))
                .to_vec(),
        };
        let profile = time_profile(&run(vec![file]));
        let [function] = &profile.functions[..] else {
            panic!("{profile:?}");
        };
        let blocks = function.blocks.iter();
        let blocks: Vec<_> = blocks
            .map(|block| (block.block, block.samples, block.weight()))
            .collect();
        assert_eq!(blocks, [(1, Count(6), 1.0), (0, Count(3), 1.0)]);
        assert_eq!(profile.samples, Count(10));
        let lines = profile.lines.iter();
        let lines: Vec<_> = lines.map(|line| (line.place.line, line.samples)).collect();
        assert_eq!(lines, [(11, Count(6)), (10, Count(3))]);
    }

    #[test]
    fn files_without_blocks_have_functions_by_symbol() {
        let code = vec![
            by_symbol("g", 7, 2),
            by_symbol("h", 7, 3),
            by_symbol("g", 8, 4),
            by_symbol("", 0, 5),
            // A block that the map lacks.
            SampledCode {
                symbol: "g".to_owned(),
                ..in_block(9, 1)
            },
        ];
        let file = SampledFile {
            path: "/lib/libg.so".to_owned(),
            blocks: KnownBlocks::NotWoven,
            map: None,
            code,
        };
        let profile = time_profile(&run(vec![file]));
        let functions = profile.functions.iter();
        let functions: Vec<_> = functions
            .map(|function| (function.linkage_name.as_str(), function.samples))
            .collect();
        assert_eq!(functions, [("g", Count(7)), ("h", Count(3))]);
        assert_eq!(profile.without_function, [Count(5)]);
        let lines = profile.lines.iter();
        let lines: Vec<_> = lines
            .map(|line| (line.place.line, line.samples, line.function))
            .collect();
        // Most samples of line 7 are in h.
        assert_eq!(lines, [(7, Count(5), 1), (8, Count(4), 0)]);
        assert_eq!(profile.samples, Count(16));
    }
}
