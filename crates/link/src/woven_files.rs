//! Writes the files that the real linker links: the *image object* with the image header and the
//! path map, the runtime object, and the woven form of each input file.
//!
//! A woven file has the name of its input file and is in a numbered directory, because
//! `--exclude-libs` and linker scripts select files by name.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use holloway_abi::Kind;
use holloway_abi::{ABI_VERSION, IMAGE_MAGIC, ImageHeader, PAGE};
use holloway_format::{ModuleMap, Skipped, encode_image};
use holloway_weave::archive;
use holloway_weave::image::{Machine, image_object};

use crate::counter_bases::{CACHE_LINE, CounterBases};
use crate::duplicates::{DroppedFunction, Duplicates, UnwovenObject};
use crate::error::{Error, Result};
use crate::inputs::{FileKind, InputFile, Inputs, read_part, without_hash};
use crate::line::Line;
use crate::outcome::ModuleOutcome;
use crate::records::StoredMap;
use crate::settings::LinkSettings;

/// Bytes of the header before a block of counters (`abi::ExtentHeader`).
const BLOCK_HEADER: u64 = 64;

/// The files of a woven link.
#[derive(Debug)]
pub(crate) struct WovenFiles {
    /// The file to link instead of a word of the line, by the word's index.
    pub(crate) replacements: HashMap<usize, PathBuf>,
    /// The image object, and the runtime object if the program records anything. Empty for `-r`.
    pub(crate) objects: Vec<PathBuf>,
    /// Whether the runtime object is among `objects`.
    pub(crate) has_runtime: bool,
    /// The index of the word before which the objects are inserted.
    pub(crate) objects_before: usize,
    /// The number of functions that got counts of a plan.
    pub(crate) planned_functions: u64,
    /// The machine of the link.
    pub(crate) machine: Machine,
    /// The path map in the image object, if the link has an image object.
    pub(crate) map: Option<StoredMap>,
}

impl WovenFiles {
    /// Writes the files of a link into `scratch`. `outcomes` has one entry for each module of
    /// `inputs`, and `bases` has the counter bases of these modules.
    ///
    /// # Errors
    /// If a file cannot be written, or modules are for different machines.
    pub(crate) fn write(
        line: &Line,
        inputs: &Inputs,
        outcomes: Vec<ModuleOutcome>,
        bases: CounterBases,
        settings: &LinkSettings,
        scratch: &Path,
    ) -> Result<Self> {
        let mut image = Image {
            machine: line.machine,
            bases,
            ..Image::default()
        };
        let planned_functions = outcomes.iter().map(ModuleOutcome::planned_functions).sum();
        let mut objects = Vec::with_capacity(outcomes.len());
        let unwoven = unwoven_modules(inputs, &outcomes)?;
        let duplicates = Duplicates::new(inputs.unwoven.iter().chain(&unwoven));
        for (number, outcome) in outcomes.into_iter().enumerate() {
            objects.push(image.add_module(inputs, number, outcome, &duplicates)?);
        }
        for (name, reason) in &inputs.without_bitcode {
            image.skip(name, reason);
        }
        let mut files = Self {
            replacements: HashMap::new(),
            objects: Vec::new(),
            has_runtime: false,
            objects_before: inputs.first_input.unwrap_or(0),
            planned_functions,
            machine: image.machine(),
            map: None,
        };
        for (number, file) in inputs.files.iter().enumerate() {
            let directory = scratch.join(number.to_string());
            if let Some(path) = write_file(file, &objects, &directory)? {
                let words = file.words.iter().map(|&word| (word, path.clone()));
                files.replacements.extend(words);
            }
        }
        if settings.probes && !image.has_unsupported_machine {
            let name = line.output_name();
            let name = if inputs.is_rust() {
                without_hash(&name)
            } else {
                &name
            };
            let (objects, map) = image.finish(name, settings, scratch)?;
            (files.objects, files.map) = (objects, Some(map));
            files.has_runtime = settings.collect.is_recorded();
        }
        Ok(files)
    }
}

/// Returns the modules without probes, with their functions.
fn unwoven_modules(inputs: &Inputs, outcomes: &[ModuleOutcome]) -> Result<Vec<UnwovenObject>> {
    let mut objects = Vec::new();
    for (module, outcome) in inputs.modules.iter().zip(outcomes) {
        let unwoven =
            |object: &[u8]| UnwovenObject::new(module.name.clone(), module.position, object);
        match (outcome, &module.fat_object) {
            (ModuleOutcome::Plain(woven, _), _) => objects.push(unwoven(&woven.object)),
            (ModuleOutcome::MachineCode(_), Some(range)) => {
                objects.push(unwoven(&read_part(&module.path, range)?));
            }
            (ModuleOutcome::MachineCode(_), None) | (ModuleOutcome::Woven(_), _) => {}
        }
    }
    Ok(objects)
}

/// Collects the contents of the image object.
#[derive(Default)]
struct Image {
    /// The fragments of woven modules, with their counter bases.
    fragments: Vec<(u64, Vec<u8>)>,
    skipped: Vec<Skipped>,
    bases: CounterBases,
    /// The machine of the link: the machine of the line, or else of the first module.
    machine: Option<Machine>,
    /// Whether an object is for a machine that holloway does not support.
    has_unsupported_machine: bool,
}

impl Image {
    /// Adds a module. Returns the object to link, or `None` if the input's machine code is linked.
    fn add_module(
        &mut self,
        inputs: &Inputs,
        number: usize,
        outcome: ModuleOutcome,
        duplicates: &Duplicates<'_>,
    ) -> Result<Option<Vec<u8>>> {
        let module = &inputs.modules[number];
        let woven = match outcome {
            ModuleOutcome::Woven(woven) => woven,
            ModuleOutcome::Plain(woven, reason) => {
                self.skip(&module.name, &reason);
                self.note_machine(&woven.object);
                return Ok(Some(woven.object));
            }
            ModuleOutcome::MachineCode(reason) => {
                self.skip(&module.name, &reason);
                let object = module
                    .fat_object
                    .as_ref()
                    .map(|range| read_part(&module.path, range));
                if let Some(object) = object.transpose()? {
                    self.note_machine(&object);
                }
                return Ok(None);
            }
        };
        let machine = Machine::of_object(&woven.object);
        let machine = machine.ok_or_else(|| Error::UnsupportedMachine {
            module: module.display_name.clone(),
        })?;
        let link = *self.machine.get_or_insert(machine);
        if link != machine {
            return Err(Error::MixedMachines {
                module: module.display_name.clone(),
                machine,
                link,
            });
        }
        let dropped = duplicates.in_object(&woven.object, &woven.fragment, module.position);
        self.skip_dropped(dropped);
        let base = self.bases.modules[number].expect("a woven module has a base");
        self.fragments.push((base, woven.fragment));
        Ok(Some(woven.object))
    }

    /// The machine of the link. Without a module, it is this machine.
    fn machine(&self) -> Machine {
        self.machine
            .or_else(|| Machine::of_object(holloway_runtime::OBJECT))
            .expect("the runtime is an object of a known machine")
    }

    /// Notes the machine of an object without probes.
    fn note_machine(&mut self, object: &[u8]) {
        match Machine::of_object(object) {
            Some(machine) => {
                self.machine.get_or_insert(machine);
            }
            None => self.has_unsupported_machine = true,
        }
    }

    /// Lists woven functions that the linker may drop in favor of another copy.
    fn skip_dropped(&mut self, dropped: Vec<DroppedFunction<'_>>) {
        for function in dropped {
            let object = function.unwoven_object;
            self.skipped.push(Skipped {
                name: function.name.into(),
                linkage_name: function.symbol.into(),
                reason: format!("a copy without probes in {object} may have been linked instead")
                    .into(),
            });
        }
    }

    fn skip(&mut self, name: &str, reason: &str) {
        self.skipped.push(Skipped {
            name: name.into(),
            linkage_name: name.into(),
            reason: reason.into(),
        });
    }

    /// Writes the image object, and the runtime object unless the kind records nothing. Returns
    /// their files and the path map.
    fn finish(
        self,
        name: &str,
        settings: &LinkSettings,
        scratch: &Path,
    ) -> Result<(Vec<PathBuf>, StoredMap)> {
        let machine = self.machine();
        // A module without code. It lists the functions that run without probes.
        let skipped = ModuleMap {
            name: "linked as it is".into(),
            skipped: self.skipped,
            ..ModuleMap::default()
        };
        let mut fragments = self.fragments;
        if !skipped.skipped.is_empty() {
            fragments.push((self.bases.end(), skipped.encode()));
        }
        let fragments: Vec<(u64, &[u8])> = fragments
            .iter()
            .map(|(base, fragment)| (*base, &fragment[..]))
            .collect();
        let (map, build_id) = encode_image(settings.collect, name, &fragments);
        let counters = self.bases.size(settings.collect);
        let header = ImageHeader {
            magic: IMAGE_MAGIC,
            version: ABI_VERSION,
            kind: settings.collect.number(),
            build_id,
            block_size: (counters.max(CACHE_LINE) + BLOCK_HEADER).next_multiple_of(PAGE)
                - BLOCK_HEADER,
            parameter: parameter(settings),
            name: padded(cut(name, 79)),
            runs: runs(settings)?,
        };
        let runtime = match settings.collect.is_recorded() {
            true => Some(runtime(machine)?),
            false => None,
        };
        let image = image_object(&header, &map, machine, &self.bases.constants)
            .map_err(|error| Error::ImageObject(error.into()))?;
        let image = Some(("holloway-image.o", &image[..]));
        let runtime = runtime.map(|object| ("holloway-runtime.o", object));
        let objects: Result<_> = [image, runtime]
            .iter()
            .flatten()
            .map(|(name, bytes)| write(scratch.join(name), bytes))
            .collect();
        let map = StoredMap {
            build_id,
            bytes: map,
        };
        Ok((objects?, map))
    }
}

/// Returns the runtime object for a machine.
fn runtime(machine: Machine) -> Result<&'static [u8]> {
    let (runtime, target) = match machine {
        Machine::X86_64 => (holloway_runtime::X86_64, "x86_64-unknown-linux-gnu"),
        Machine::Aarch64 => (holloway_runtime::AARCH64, "aarch64-unknown-none-softfloat"),
    };
    check_runtime(runtime, target)
}

/// Returns the runtime object, if this holloway was built with it.
fn check_runtime(runtime: &'static [u8], target: &'static str) -> Result<&'static [u8]> {
    if runtime.is_empty() {
        return Err(Error::NoRuntime { target });
    }
    Ok(runtime)
}

/// Writes the woven form of `file` into `directory`. Returns `None` if the file is linked
/// unchanged.
fn write_file(
    file: &InputFile,
    objects: &[Option<Vec<u8>>],
    directory: &Path,
) -> Result<Option<PathBuf>> {
    let name = file
        .path
        .file_name()
        .expect("a file that was read has a name");
    match &file.kind {
        FileKind::Object(module) => objects[*module]
            .as_ref()
            .map(|object| write(directory.join(name), object))
            .transpose(),
        FileKind::Archive(archive, modules) => {
            let content = std::fs::read(&file.path).map_err(Error::reading(&file.path))?;
            let changed = || Error::ArchiveChanged {
                path: file.path.clone(),
            };
            let broken = |source| Error::Archive {
                path: file.path.clone(),
                source,
            };
            if *archive != archive::Archive::parse(&content, &file.path).map_err(|_| changed())? {
                return Err(changed());
            }
            let mut members = Vec::with_capacity(archive.members.len());
            for (number, member) in archive.members.iter().enumerate() {
                let woven = modules
                    .get(&number)
                    .and_then(|&module| objects[module].as_deref());
                let data = match woven {
                    Some(object) => Cow::Borrowed(object),
                    None => member.data(&content).map_err(broken)?,
                };
                members.push((member.name.clone(), data));
            }
            let woven_archive = archive::build(&members).map_err(broken)?;
            write(directory.join(name), &woven_archive).map(Some)
        }
    }
}

fn write(path: PathBuf, bytes: &[u8]) -> Result<PathBuf> {
    let directory = path.parent().expect("a file in a directory");
    std::fs::create_dir_all(directory)
        .and_then(|()| std::fs::write(&path, bytes))
        .map_err(Error::writing(&path))?;
    Ok(path)
}

fn runs(settings: &LinkSettings) -> Result<[u8; 896]> {
    let runs = settings.runs.as_encoded_bytes();
    if runs.len() < 896 {
        return Ok(padded(runs));
    }
    Err(Error::RunsTooLong)
}

/// Returns the image header's parameter: for the kind loops, the maximum length K of path
/// sequences.
fn parameter(settings: &LinkSettings) -> u64 {
    match settings.collect {
        Kind::Loops => settings.k.into(),
        Kind::Paths | Kind::Edges | Kind::Trace | Kind::Variation | Kind::Times | Kind::Nothing => {
            0
        }
    }
}

fn padded<const N: usize>(text: &[u8]) -> [u8; N] {
    let mut bytes = [0; N];
    bytes[..text.len()].copy_from_slice(text);
    bytes
}

/// Cuts `text` to at most `limit` bytes, at the end of a character.
fn cut(text: &str, limit: usize) -> &[u8] {
    &text.as_bytes()[..text.floor_char_boundary(limit)]
}

#[cfg(test)]
mod tests {
    use super::check_runtime;

    #[test]
    fn an_error_about_a_missing_runtime_names_the_target() {
        assert_eq!(
            check_runtime(b"object", "aarch64").ok(),
            Some(&b"object"[..])
        );
        let error = check_runtime(&[], "aarch64-unknown-none-softfloat").err();
        let message = error.map(|error| error.to_string()).unwrap_or_default();
        let remedy = "rustup target add aarch64-unknown-none-softfloat";
        assert!(message.contains(remedy), "{message}");
    }
}
