//! Links a program again from the recipe that it carries ([`holloway_format::recipe`]).

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use holloway_format::{LineFlavor, Piece, Plan, RECIPE_SECTION, Recipe, Text};
use object::{Object as _, ObjectSection as _};

use crate::error::{Error, Result};
use crate::host::Host;
use crate::line::{Flavor, Line};
use crate::placement;
use crate::plan_parts::PlanFile;
use crate::program::find_program;
use crate::records::Recorder;
use crate::settings::{EarlyLink, LinkSettings};
use crate::step::link_line;

/// The recipe of a program, with the program's files in a directory.
#[derive(Debug)]
pub struct CarriedProgram {
    recipe: Recipe,
    /// The path of each file of the recipe.
    files: Vec<PathBuf>,
    /// The size of the section in the program, in bytes.
    pub recipe_size: usize,
    /// Whether the linker takes an order of functions. Asked once.
    takes_order: OnceLock<bool>,
}

/// What a program is linked for.
#[derive(Clone, Copy, Debug)]
pub enum Purpose<'a> {
    /// The plain program. Its debug locations are the numbers of instructions.
    Numbered,
    /// The program counts what its source does.
    Training,
    /// The same, and its debug locations are the numbers of instructions.
    NumberedTraining,
    /// The program records the sequences of paths in the functions with these linkage names.
    Sequences(&'a BTreeSet<String>),
    /// The program is optimized by a plan, and counts what its optimized code does.
    LateTraining(&'a Plan),
    /// The program is optimized by a plan, and times the paths of its optimized code in the
    /// functions with these linkage names.
    Timing(&'a Plan, &'a BTreeSet<String>),
    /// The program is optimized by a plan.
    Optimized(&'a Plan),
    /// The program is built as it was built first.
    Plain,
}

impl CarriedProgram {
    /// Reads the recipe of `program`, and writes the files that the program carries into
    /// `directory`. Returns `None` if the program carries no recipe.
    ///
    /// # Errors
    /// If the program is no ELF file, its recipe is damaged, or a file cannot be written.
    pub fn unpack(program: &Path, directory: &Path) -> Result<Option<Self>> {
        let bytes = std::fs::read(program).map_err(Error::reading(program))?;
        let not_elf = |_| Error::NotAProgram {
            path: program.to_owned(),
        };
        let elf = object::File::parse(&*bytes).map_err(not_elf)?;
        let Some(section) = elf.section_by_name(RECIPE_SECTION) else {
            return Ok(None);
        };
        let section = section.data().map_err(not_elf)?;
        let recipe = Recipe::decode(section).map_err(|source| Error::Recipe {
            path: program.to_owned(),
            source,
        })?;
        let mut files = Vec::with_capacity(recipe.files.len());
        for (number, file) in recipe.files.iter().enumerate() {
            // Linker options select files by name, and two files may have the same name.
            let directory = directory.join(number.to_string());
            let name = Path::new(OsStr::from_bytes(&file.name)).file_name();
            let path = directory.join(name.unwrap_or(OsStr::new("input")));
            std::fs::create_dir_all(&directory).map_err(Error::writing(&directory))?;
            std::fs::write(&path, &file.content).map_err(Error::writing(&path))?;
            files.push(path);
        }
        Ok(Some(Self {
            recipe,
            files,
            recipe_size: section.len(),
            takes_order: OnceLock::new(),
        }))
    }

    /// Whether the program can be linked with an order of functions: its linker is GNU ld or lld,
    /// and reads no other script.
    pub fn takes_order(&self) -> bool {
        *self.takes_order.get_or_init(|| {
            let linker = find_program(OsStr::from_bytes(&self.recipe.linker));
            let arguments = self.arguments(Path::new("/dev/null"));
            linker.is_some_and(|linker| placement::is_supported(self.flavor(), &linker, &arguments))
        })
    }

    /// Links the program for a purpose. The functions of `order`, given by their linkage names,
    /// come first; if it is empty, the linker decides about the order. Temporary files go into
    /// `directory`. Returns the number of functions that got counts of the plan. Returns `None` if
    /// the linker failed; then it has written its messages to stderr.
    ///
    /// # Errors
    /// If a file cannot be written, or the linker or libLLVM is missing.
    pub fn link(
        &self,
        purpose: Purpose<'_>,
        order: &[Text],
        output: &Path,
        directory: &Path,
        host: &dyn Host,
    ) -> Result<Option<u64>> {
        let early = match purpose {
            Purpose::Numbered => EarlyLink::Numbered,
            Purpose::Training => EarlyLink::Training,
            Purpose::NumberedTraining => EarlyLink::NumberedTraining,
            Purpose::Sequences(names) => EarlyLink::Sequences(patterns(names)),
            Purpose::LateTraining(plan) => EarlyLink::LateTraining(write_plan(plan, directory)?),
            Purpose::Timing(plan, names) => {
                EarlyLink::Timing(write_plan(plan, directory)?, patterns(names))
            }
            Purpose::Optimized(plan) => EarlyLink::Optimized(write_plan(plan, directory)?),
            Purpose::Plain => EarlyLink::Plain,
        };
        let mut arguments = self.arguments(output);
        if !order.is_empty() {
            arguments.extend(placement::arguments(order, directory)?);
        }
        let mut line = Line::parse(self.flavor(), arguments);
        match purpose {
            // Functions are known by their names.
            Purpose::Training | Purpose::LateTraining(_) => {
                line.words.retain(|word| !removes_names(&word.text));
            }
            Purpose::Numbered | Purpose::NumberedTraining => line
                .words
                .retain(|word| !removes_names(&word.text) && !removes_locations(&word.text)),
            Purpose::Sequences(_)
            | Purpose::Timing(..)
            | Purpose::Optimized(_)
            | Purpose::Plain => {}
        }
        // Functions that have sections can be ordered.
        line.function_sections |= match purpose {
            Purpose::Plain | Purpose::Optimized(_) => self.takes_order(),
            Purpose::Numbered
            | Purpose::Training
            | Purpose::NumberedTraining
            | Purpose::Sequences(_)
            | Purpose::LateTraining(_)
            | Purpose::Timing(..) => false,
        };
        let settings = LinkSettings::for_recipe(&line, &self.recipe.opt, early)?;
        let linker = OsStr::from_bytes(&self.recipe.linker);
        let linker = find_program(linker).ok_or_else(|| Error::NoRecipeLinker {
            path: linker.into(),
        })?;
        let linked = link_line(&line, &linker, &settings, &Recorder::from_env(host))?;
        Ok(linked.status.success().then_some(linked.planned_functions))
    }

    fn flavor(&self) -> Flavor {
        match self.recipe.flavor {
            LineFlavor::Driver => Flavor::Driver,
            LineFlavor::Ld => Flavor::Ld,
        }
    }

    fn arguments(&self, output: &Path) -> Vec<OsString> {
        let arguments = self.recipe.arguments.iter();
        let join = |pieces: &Vec<Piece>| {
            let bytes = pieces.iter().flat_map(|piece| match piece {
                Piece::Text(text) => text.as_slice(),
                Piece::File(file) => self.files[*file].as_os_str().as_bytes(),
                Piece::Output => output.as_os_str().as_bytes(),
            });
            OsString::from_vec(bytes.copied().collect())
        };
        arguments.map(join).collect()
    }
}

/// Writes a plan into `directory`, without its order of functions, which does not change the
/// modules.
fn write_plan(plan: &Plan, directory: &Path) -> Result<PlanFile> {
    let file = directory.join("plan");
    let mut plan = plan.clone();
    plan.set_order(Vec::new());
    std::fs::write(&file, plan.to_text()).map_err(Error::writing(&file))?;
    Ok(PlanFile { file, plan })
}

/// Whether the linker leaves out the names of functions because of this word. Training needs them
/// for the targets of indirect calls.
fn removes_names(word: &OsStr) -> bool {
    ["-s", "--strip-all", "-strip-all"].contains(&word.to_str().unwrap_or_default())
}

/// Whether the linker leaves out debug information because of this word.
fn removes_locations(word: &OsStr) -> bool {
    ["-S", "--strip-debug", "-strip-debug"].contains(&word.to_str().unwrap_or_default())
}

/// The most bytes of the patterns that go to a worker as one argument. Linux takes 131,072.
const MAX_PATTERNS: usize = 100_000;

/// Patterns that select the functions with these names, one per line. Empty, so that all functions
/// are selected, if a name could be read as something else, or the names are too long for an
/// argument.
fn patterns(names: &BTreeSet<String>) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
    let are_plain = names.iter().all(|name| name.chars().all(is_plain));
    let lines = names.iter().map(|name| format!("{name}\n"));
    let lines: String = lines.collect();
    match are_plain && lines.len() <= MAX_PATTERNS {
        true => lines,
        false => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::ExtraObjects;

    #[test]
    fn names_that_no_argument_can_hold_select_all_functions() {
        let names = |count: usize| (0..count).map(|n| format!("name{n:06}")).collect();
        assert_eq!(patterns(&names(2)), "name000000\nname000001\n");
        assert_eq!(
            patterns(&names(MAX_PATTERNS / 11)).len(),
            MAX_PATTERNS / 11 * 11
        );
        assert_eq!(patterns(&names(MAX_PATTERNS / 11 + 1)), "");
        assert_eq!(patterns(&["a b".to_owned()].into()), "");
    }

    #[test]
    fn words_that_remove_names_are_left_out_however_they_are_carried() {
        let check = |words: &str, expect: &str| {
            let words = words.split(' ').map(OsString::from).collect();
            let mut line = Line::parse(Flavor::Driver, words);
            line.words.retain(|word| !removes_names(&word.text));
            let written = line.write(&|_| None, &ExtraObjects::NONE);
            assert_eq!(written.join(OsStr::new(" ")), expect);
        };
        check("-s a.o", "a.o");
        check("-Wl,-s a.o", "a.o");
        check(
            "-Wl,-O1,-s,--strip-all,--gc-sections a.o",
            "-Wl,-O1,--gc-sections a.o",
        );
        check("-Xlinker --strip-all a.o", "a.o");
        check("-Wl,--strip-debug a.o", "-Wl,--strip-debug a.o");
    }
}
