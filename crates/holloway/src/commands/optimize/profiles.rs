//! Makes a plan from profiles of a program that carries its bitcode (`--profile`), without a run.
//!
//! | profile | what it shows |
//! |---|---|
//! | a run of the program of `holloway plan instrument` | exact counts of the graphs that a plan has |
//! | a run of `holloway monitor`, or of `holloway import` | samples of addresses |
//! | a file of `perf record -j any,u`, or BOLT's text | straight sections of executed code |
//!
//! The last two show addresses of optimized code. So the program is linked again twice, with the
//! numbers of its unoptimized instructions as debug locations: the plain program, whose addresses
//! lead to numbers, and the program for training, whose map leads from numbers to blocks.
//! `holloway_analysis::origins` joins them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use holloway_analysis::RunProfile;
use holloway_analysis::origins::{Observed, OriginalCode, Origins, estimate_early};
use holloway_collect::files::PROFILE;
use holloway_collect::load::profile_files;
use holloway_collect::observed;
use holloway_collect::samples::sample_files;
use holloway_format::{ImageMap, Plan};
use holloway_link::relink::Purpose;
use holloway_sample::code_map::read_map;
use holloway_sample::numbered_code::{CodePair, numbered_code};
use holloway_sample::sampled_file::woven_build;

use super::carried::{Carried, plan_of};
use super::names::FunctionNames;
use crate::failure::{Failure, Result};
use crate::{loading, status};

/// A program whose code differs by more than this share of its bytes is another program.
const MAX_DIFFERENT_PERCENT: usize = 10;

/// Makes the sum of the plans of several profiles.
///
/// # Errors
/// If a profile cannot be read, or is not one of this program.
pub(crate) fn plan_from(carried: &Carried, profiles: &[PathBuf]) -> Result<Plan> {
    let mut sum = Plan::default();
    let mut observations = Vec::new();
    for profile in profiles {
        match is_exact(profile) {
            true => sum.add_plan(exact(carried, profile)?),
            false => {
                let observed = observed::read(profile, &carried.executable);
                observations.push(observed.map_err(Failure::new)?);
            }
        }
    }
    if !observations.is_empty() {
        let program = NumberedProgram::link(carried)?;
        // Together, short runs show more than one by one.
        for observed in joined(observations) {
            sum.add_plan(program.plan(carried, &observed)?);
        }
    }
    Ok(sum)
}

/// Adds up branch records, and samples of the same period.
fn joined(observations: Vec<Observed>) -> Vec<Observed> {
    let mut by_period: BTreeMap<u64, BTreeMap<u64, u64>> = BTreeMap::new();
    let mut all_sections = BTreeMap::new();
    for observed in observations {
        match observed {
            Observed::Samples { samples, period_ns } => {
                add(by_period.entry(period_ns).or_default(), samples);
            }
            Observed::Sections(sections) => add(&mut all_sections, sections),
        }
    }
    let samples = by_period.into_iter();
    let samples = samples.map(|(period_ns, samples)| Observed::Samples { samples, period_ns });
    let sections = (!all_sections.is_empty()).then_some(Observed::Sections(all_sections));
    samples.chain(sections).collect()
}

fn add<K: Ord>(sums: &mut BTreeMap<K, u64>, counts: BTreeMap<K, u64>) {
    for (key, count) in counts {
        let sum = sums.entry(key).or_default();
        *sum = sum.saturating_add(count);
    }
}

/// Whether a profile is a run of a program that counts: a directory, or one file of it.
fn is_exact(profile: &Path) -> bool {
    if profile.is_file() {
        let extension = profile.extension();
        return extension.is_some_and(|extension| extension == PROFILE);
    }
    let has_counts = profile_files(profile).is_ok_and(|files| !files.is_empty());
    has_counts && sample_files(profile).is_empty()
}

/// Makes a plan of exact counts.
fn exact(carried: &Carried, profile: &Path) -> Result<Plan> {
    let run = loading::load(profile)?;
    for image in &run.images {
        let Some(name) = plain_name(&image.name) else {
            continue;
        };
        let (program, _) = carried.link_as(Purpose::Training, &[], "instrumented", name)?;
        if woven_build(&program) == Some(image.build_id) {
            return Ok(plan_of(&run, &FunctionNames::read(&program)?));
        }
    }
    Err(Failure::new(format_args!(
        "{} counts another build than {} carries: count what `holloway plan instrument -o OUT {}` builds",
        status::shown(profile),
        carried.program.display(),
        carried.program.display()
    )))
}

/// The name of an image, as the name of a file. `None` if it is a path: the name comes from the
/// profile, and no file outside of holloway's own directories must be written.
fn plain_name(name: &str) -> Option<&OsStr> {
    let path = Path::new(name);
    path.file_name().filter(|file| *file == path)
}

/// A program whose addresses lead to early blocks.
struct NumberedProgram {
    map: ImageMap,
    code: Vec<OriginalCode>,
}

impl NumberedProgram {
    /// # Errors
    /// If the program cannot be linked, or its recipe makes other machine code now.
    fn link(carried: &Carried) -> Result<Self> {
        status::line("Linking", "the program again, to find its instructions");
        let (program, _) = carried.link(Purpose::Numbered, &[], "numbered")?;
        let pair = CodePair::read(&program, &carried.executable);
        let pair = pair.filter(|pair| pair.different_percent() <= MAX_DIFFERENT_PERCENT);
        let pair = pair.ok_or_else(|| {
            Failure::new(format_args!(
                "{} cannot be built again as it is, so its addresses mean nothing: its linker, LLVM, or a library that is linked into it has changed; use them as they were, or train the program",
                carried.program.display()
            ))
        })?;
        let (training, _) = carried.link(Purpose::NumberedTraining, &[], "numbered-training")?;
        let map = read_map(&training).map_err(Failure::new)?;
        let origins = Origins::new(&map);
        let code = numbered_code(&program).into_iter().filter_map(|code| {
            // A few instructions may differ, because LLVM looks at debug information in places.
            let is_same = pair.is_same(&code.addresses);
            let (block, instruction) = is_same.then(|| origins.find(&code.frames))??;
            Some(OriginalCode {
                block,
                instruction,
                addresses: code.addresses,
            })
        });
        Ok(Self {
            code: code.collect(),
            map,
        })
    }

    /// Makes a plan of samples or branch records.
    ///
    /// # Errors
    /// If nothing was seen of its own code.
    fn plan(&self, carried: &Carried, observed: &Observed) -> Result<Plan> {
        let mut run: RunProfile = estimate_early(&self.map, &self.code, observed);
        // What was not seen may have run: such functions get no counts.
        run.functions.retain(holloway_analysis::Function::ran);
        if run.functions.is_empty() {
            return Err(Failure::new(format_args!(
                "the profiles show no code that {} carries: watch the program longer, while it runs its own code",
                carried.program.display()
            )));
        }
        Ok(plan_of(&run, &FunctionNames::default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_images_that_are_paths_are_no_names() {
        for path in [
            "", ".", "..", "/", "/app", "../app", "./app", "bin/app", "app/..",
        ] {
            assert_eq!(plain_name(path), None, "{path}");
        }
        for name in ["app", "app.so", "...", "a b"] {
            assert_eq!(plain_name(name), Some(OsStr::new(name)));
        }
    }
}
