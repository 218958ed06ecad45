//! The CPU time of a run, and the share of it that woven code used.
//!
//! The collector samples the user time of the programs that it starts ([`CpuRecord`]). A sample
//! lies in woven code if its symbol is the linkage name of an instrumented function in the path map
//! of its image. Code that was inlined into such a function counts as woven, too.
//!
//! ```text
//! samples: app scan 60, app memcpy 10, libbz2 30    map of app: scan
//! woven 60 of 100; unwoven: libbz2 30, memcpy in app 10
//! ```
//! Limits: a sample stands for the time since the previous one, so shares are estimates. Two
//! functions of one image with the same name cannot be told apart, so their samples count as woven,
//! but for neither of the two.

use std::collections::{BTreeMap, HashMap};

use holloway_format::{Count, CpuRecord, SampledFile, Samples, Sampling, UnusedLibrary};

/// The CPU time of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuTime {
    /// User time of the programs that holloway started, and of their children, in nanoseconds.
    pub user_ns: u64,
    /// Their system time in nanoseconds.
    pub system_ns: u64,
    /// Where the user time went.
    pub shares: Shares,
}

/// Where the user time went, if it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shares {
    /// The kernel refused to sample.
    Refused {
        /// The error number of `perf_event_open`.
        errno: u32,
    },
    /// The samples.
    Sampled(SampleSums),
    /// The collector failed to read the samples.
    Failed,
}

/// Sums of samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleSums {
    /// CPU time between two samples of a thread, in nanoseconds.
    pub period_ns: u64,
    /// Records that the kernel dropped.
    pub lost: u64,
    /// User time of programs that were not sampled, although others of the run were, in
    /// nanoseconds.
    pub unsampled_ns: u64,
    /// All samples in woven processes: processes that loaded a woven image.
    pub total: Count,
    /// Samples in woven functions.
    pub woven: Count,
    /// Samples in each woven function that has any, by build id of the image and linkage name.
    /// `None` for a name that several functions of the image have.
    pub functions: BTreeMap<([u8; 16], String), Option<Count>>,
    /// Samples in code that is not woven, most frequent first.
    pub unwoven: Vec<UnwovenCode>,
    /// Programs in whose processes no woven image was loaded, most frequent first.
    pub other_programs: Vec<(String, Count)>,
    /// Woven shared libraries that did not run, because another copy was loaded.
    pub unused_libraries: Vec<UnusedLibrary>,
}

/// Code that is not woven, with its samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnwovenCode {
    /// The code.
    pub code: Code,
    /// The number of samples.
    pub samples: Count,
}

/// Code that is not woven.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// A file without woven code: a shared library, or the vDSO.
    File {
        /// Path of the file.
        path: String,
    },
    /// A function of a woven image that is not instrumented.
    Function {
        /// One of the function's linkage names.
        linkage_name: String,
        /// Path of the image.
        image: String,
    },
    /// Code of a woven image without a symbol.
    WithoutSymbol {
        /// Path of the image.
        image: String,
    },
    /// Code in no file, for example generated at run time.
    WithoutFile,
}

impl SampleSums {
    /// The samples in a woven function. `None` if several functions of the image have the name.
    pub fn of_function(&self, build_id: &[u8; 16], linkage_name: &str) -> Option<Count> {
        let key = (*build_id, linkage_name.to_owned());
        self.functions
            .get(&key)
            .copied()
            .unwrap_or(Some(Count::ZERO))
    }

    /// The number of samples in processes without a woven image.
    pub fn other(&self) -> Count {
        self.other_programs
            .iter()
            .map(|&(_, samples)| samples)
            .fold(Count::ZERO, Count::saturating_add)
    }
}

/// Computes the CPU time of a run from its records. Returns `None` if there are no records:
/// holloway did not start the program, or an earlier version did.
pub(crate) fn cpu_time(records: &[CpuRecord], woven_names: &WovenNames<'_>) -> Option<CpuTime> {
    let first = records.first()?;
    let sum = |time: fn(&CpuRecord) -> u64| {
        let times = records.iter().map(time);
        times.fold(0, u64::saturating_add)
    };
    let mut samples = Vec::new();
    let mut unsampled_ns = 0u64;
    for record in records {
        match &record.sampling {
            Sampling::Sampled(sampled) => samples.push(sampled),
            Sampling::Refused { .. } | Sampling::Failed => {
                unsampled_ns = unsampled_ns.saturating_add(record.user_ns);
            }
        }
    }
    let shares = match &first.sampling {
        Sampling::Refused { errno } if samples.is_empty() => Shares::Refused { errno: *errno },
        Sampling::Failed if samples.is_empty() => Shares::Failed,
        Sampling::Refused { .. } | Sampling::Failed | Sampling::Sampled(_) => {
            Shares::Sampled(SampleSums {
                unsampled_ns,
                ..sums(&samples, woven_names)
            })
        }
    };
    Some(CpuTime {
        user_ns: sum(|record| record.user_ns),
        system_ns: sum(|record| record.system_ns),
        shares,
    })
}

/// The linkage names of the instrumented functions, by build id, with the number of functions that
/// have the name.
#[derive(Default)]
pub(crate) struct WovenNames<'a>(HashMap<[u8; 16], HashMap<&'a str, u32>>);

impl<'a> WovenNames<'a> {
    pub(crate) fn insert(&mut self, build_id: [u8; 16], linkage_name: &'a str) {
        let names = self.0.entry(build_id).or_default();
        *names.entry(linkage_name).or_default() += 1;
    }

    /// The linkage name of the instrumented function that a symbol of an image belongs to, and the
    /// number of functions with this name. The symbol is the function, or a part that the compiler
    /// split off from it: `scan.cold`.
    fn find(&self, build_id: &[u8; 16], symbol: &str) -> Option<(&'a str, u32)> {
        let whole = symbol
            .split_once(".cold")
            .map_or(symbol, |(whole, _)| whole);
        let names = self.0.get(build_id)?;
        let found = names.get_key_value(symbol);
        let found = found.or_else(|| names.get_key_value(whole));
        found.map(|(&name, &functions)| (name, functions))
    }
}

fn sums(samples: &[&Samples], woven_names: &WovenNames<'_>) -> SampleSums {
    let mut sums = SampleSums::default();
    let mut unwoven: BTreeMap<Code, Count> = BTreeMap::new();
    let mut others: BTreeMap<&str, Count> = BTreeMap::new();
    for samples in samples {
        sums.period_ns = sums.period_ns.max(samples.period_ns);
        sums.lost = sums.lost.saturating_add(samples.lost);
        add(&mut unwoven, Code::WithoutFile, samples.without_file);
        for file in &samples.files {
            let functions = &mut sums.functions;
            let woven = add_file(&mut unwoven, functions, file, woven_names);
            sums.woven = sums.woven.saturating_add(woven);
        }
        for program in &samples.other_programs {
            add(&mut others, &program.path, program.samples);
        }
        for library in &samples.unused_libraries {
            if !sums.unused_libraries.contains(library) {
                sums.unused_libraries.push(library.clone());
            }
        }
    }
    let total = unwoven.values().copied();
    sums.total = total.fold(sums.woven, Count::saturating_add);
    let mut unwoven: Vec<UnwovenCode> = unwoven
        .into_iter()
        .map(|(code, samples)| UnwovenCode { code, samples })
        .collect();
    unwoven.sort_by_key(|unwoven| std::cmp::Reverse(unwoven.samples));
    sums.unwoven = unwoven;
    let mut others: Vec<_> = others
        .into_iter()
        .map(|(path, samples)| (path.to_owned(), samples))
        .collect();
    others.sort_by_key(|&(_, samples)| std::cmp::Reverse(samples));
    sums.other_programs = others;
    sums
}

/// Adds the code of a file. Returns the number of samples in woven functions.
fn add_file(
    unwoven: &mut BTreeMap<Code, Count>,
    functions: &mut BTreeMap<([u8; 16], String), Option<Count>>,
    file: &SampledFile,
    woven_names: &WovenNames<'_>,
) -> Count {
    let Some(build_id) = &file.build_id else {
        let path = file.path.clone();
        add(unwoven, Code::File { path }, file.without_function);
        return Count::ZERO;
    };
    let image = &file.path;
    let without_symbol = Code::WithoutSymbol {
        image: image.clone(),
    };
    add(unwoven, without_symbol, file.without_function);
    let mut woven = Count::ZERO;
    for function in &file.functions {
        let names = function.linkage_names.iter();
        let found = names.flat_map(|name| woven_names.find(build_id, name));
        if let Some((name, named)) = found.into_iter().next() {
            woven = woven.saturating_add(function.samples);
            let of_name = functions.entry((*build_id, name.to_owned()));
            let sum = of_name.or_insert((named == 1).then_some(Count::ZERO));
            *sum = sum.map(|sum| sum.saturating_add(function.samples));
            continue;
        }
        let code = Code::Function {
            linkage_name: function.linkage_names.first().cloned().unwrap_or_default(),
            image: image.clone(),
        };
        add(unwoven, code, function.samples);
    }
    woven
}

/// Adds samples to a sum. Sums of 0 do not appear.
fn add<K: Ord>(sums: &mut BTreeMap<K, Count>, key: K, samples: Count) {
    if samples > Count::ZERO {
        let sum = sums.entry(key).or_default();
        *sum = sum.saturating_add(samples);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use holloway_format::{FunctionSamples, ProgramSamples};

    fn time_of(records: &[CpuRecord]) -> Option<CpuTime> {
        let mut names = WovenNames::default();
        names.insert([7; 16], "scan");
        cpu_time(records, &names)
    }

    fn function(name: &str, samples: u64) -> FunctionSamples {
        FunctionSamples {
            linkage_names: vec!["alias".to_owned(), name.to_owned()],
            samples: Count(samples),
        }
    }

    fn record() -> CpuRecord {
        CpuRecord {
            user_ns: 100,
            system_ns: 10,
            sampling: Sampling::Sampled(Samples {
                period_ns: 1,
                lost: 2,
                without_file: Count(1),
                files: vec![
                    SampledFile {
                        path: "/app".to_owned(),
                        build_id: Some([7; 16]),
                        without_function: Count(4),
                        functions: vec![
                            function("scan", 50),
                            function("scan.cold", 10),
                            function("memcpy", 5),
                        ],
                    },
                    SampledFile {
                        path: "/libbz2".to_owned(),
                        without_function: Count(30),
                        ..SampledFile::default()
                    },
                ],
                other_programs: vec![ProgramSamples {
                    path: "/sh".to_owned(),
                    samples: Count(9),
                }],
                unused_libraries: Vec::new(),
            }),
        }
    }

    #[test]
    fn symbols_in_the_path_map_are_woven() {
        let time = time_of(&[record()]).unwrap();
        let Shares::Sampled(sums) = &time.shares else {
            panic!("the record has samples");
        };
        assert_eq!((time.user_ns, time.system_ns), (100, 10));
        assert_eq!(
            [sums.total, sums.woven, sums.other()],
            [100, 60, 9].map(Count)
        );
        let unwoven: Vec<u64> = sums.unwoven.iter().map(|code| code.samples.0).collect();
        assert_eq!(unwoven, [30, 5, 4, 1]);
        let libbz2 = Code::File {
            path: "/libbz2".to_owned(),
        };
        assert_eq!(sums.unwoven[0].code, libbz2);
        assert_eq!(sums.of_function(&[7; 16], "scan"), Some(Count(60)));
        assert_eq!(sums.of_function(&[7; 16], "fold"), Some(Count::ZERO));
    }

    #[test]
    fn functions_of_one_name_have_no_samples_of_their_own() {
        let mut names = WovenNames::default();
        names.insert([7; 16], "scan");
        names.insert([7; 16], "scan");
        let time = cpu_time(&[record()], &names).unwrap();
        let Shares::Sampled(sums) = time.shares else {
            panic!("the record has samples");
        };
        assert_eq!(sums.woven, Count(60));
        assert_eq!(sums.of_function(&[7; 16], "scan"), None);
    }

    #[test]
    fn records_of_one_run_add_up() {
        let refused = CpuRecord {
            user_ns: 5,
            system_ns: 0,
            sampling: Sampling::Refused { errno: 13 },
        };
        let time = time_of(&[refused.clone(), record(), record()]).unwrap();
        let Shares::Sampled(sums) = time.shares else {
            panic!("two records have samples");
        };
        assert_eq!(time.user_ns, 205);
        assert_eq!([sums.total, sums.woven], [200, 120].map(Count));
        assert_eq!(sums.unsampled_ns, 5);
        let failed = CpuRecord {
            sampling: Sampling::Failed,
            ..CpuRecord::default()
        };
        let time = time_of(&[failed]).unwrap();
        assert_eq!(time.shares, Shares::Failed);
        let time = time_of(&[refused]).unwrap();
        assert_eq!(time.shares, Shares::Refused { errno: 13 });
        assert_eq!(time_of(&[]), None);
    }

    #[test]
    fn sums_of_damaged_records_stay_at_the_largest_number() {
        let mut huge = record();
        huge.user_ns = u64::MAX;
        let Sampling::Sampled(samples) = &mut huge.sampling else {
            panic!("the record has samples");
        };
        samples.lost = u64::MAX;
        samples.without_file = Count(u64::MAX);
        samples.files[0].functions[0].samples = Count(u64::MAX);
        samples.other_programs[0].samples = Count(u64::MAX);
        let second = ProgramSamples {
            path: "/make".to_owned(),
            samples: Count(u64::MAX),
        };
        samples.other_programs.push(second);
        let time = time_of(&[huge.clone(), huge]).unwrap();
        let Shares::Sampled(sums) = time.shares else {
            panic!("both records have samples");
        };
        let max = Count(u64::MAX);
        assert_eq!((time.user_ns, sums.lost), (u64::MAX, u64::MAX));
        assert_eq!([sums.total, sums.woven, sums.other()], [max; 3]);
    }
}
