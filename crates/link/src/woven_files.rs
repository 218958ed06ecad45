//! Writes the files of a woven link: the image object with the path map, the runtime object, and
//! woven files in the places of the inputs.
//!
//! Woven files keep the names of their inputs, in numbered directories, because `--exclude-libs`
//! and linker scripts go by name.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use holloway_abi::Kind;
use holloway_abi::{ABI_VERSION, IMAGE_MAGIC, ImageHeader, PAGE};
use holloway_format::{ModuleMap, Skipped, encode_image};
use holloway_weave::archive;
use holloway_weave::image::{Machine, image_object};

use crate::counter_bases::{CounterBases, LINE};
use crate::duplicates::{DroppedFunction, Duplicates, UnwovenObject};
use crate::error::{Error, Result};
use crate::inputs::{FileKind, InputFile, Inputs, read_part, without_hash};
use crate::line::Line;
use crate::outcome::Outcome;
use crate::records::StoredMap;
use crate::settings::LinkSettings;

/// Bytes in front of a block (`abi::ExtentHeader`).
const BLOCK_HEAD: u64 = 64;

/// The files of a woven link.
#[derive(Debug, Default)]
pub(crate) struct WovenFiles {
    /// Word of the line → the file to link in its place.
    pub(crate) replacements: HashMap<usize, PathBuf>,
    /// Image and runtime object. None for `-r`.
    pub(crate) objects: Vec<PathBuf>,
    /// The word of the line that the objects go before.
    pub(crate) objects_before: usize,
    /// The path map in the image object, if there is one.
    pub(crate) map: Option<StoredMap>,
}

impl WovenFiles {
    /// Writes the files of a link into `scratch`. `outcomes` has one entry for each module of
    /// `inputs`, and `bases` has the bases of their counters.
    ///
    /// # Errors
    /// When a file cannot be written, or modules are for different machines.
    pub(crate) fn write(
        line: &Line,
        inputs: &Inputs,
        outcomes: Vec<Outcome>,
        bases: CounterBases,
        settings: &LinkSettings,
        scratch: &Path,
    ) -> Result<Self> {
        let mut image = Image {
            machine: line.machine,
            bases,
            ..Image::default()
        };
        let mut objects = Vec::with_capacity(outcomes.len());
        let unwoven = unwoven_modules(inputs, &outcomes)?;
        let duplicates = Duplicates::new(inputs.unwoven.iter().chain(&unwoven));
        for (number, outcome) in outcomes.into_iter().enumerate() {
            objects.push(image.module(inputs, number, outcome, &duplicates)?);
        }
        for (name, reason) in &inputs.without_bitcode {
            image.skip(name, reason);
        }
        let mut files = Self {
            objects_before: inputs.first_input.unwrap_or(0),
            ..Self::default()
        };
        for (number, file) in inputs.files.iter().enumerate() {
            let directory = scratch.join(number.to_string());
            if let Some(path) = write_file(file, &objects, &directory)? {
                let words = file.words.iter().map(|&word| (word, path.clone()));
                files.replacements.extend(words);
            }
        }
        if settings.probes && !image.foreign {
            let name = line.output_name();
            let name = if inputs.is_rust() {
                without_hash(&name)
            } else {
                &name
            };
            let (objects, map) = image.finish(name, settings, scratch)?;
            (files.objects, files.map) = (objects, Some(map));
        }
        Ok(files)
    }

    /// Whether the runtime is linked.
    pub(crate) fn has_runtime(&self) -> bool {
        !self.objects.is_empty()
    }
}

/// The modules that lost their probes, with their functions.
fn unwoven_modules(inputs: &Inputs, outcomes: &[Outcome]) -> Result<Vec<UnwovenObject>> {
    let mut objects = Vec::new();
    for (module, outcome) in inputs.modules.iter().zip(outcomes) {
        let unwoven =
            |bytes: &[u8]| UnwovenObject::new(module.name.clone(), module.position, bytes);
        match (outcome, &module.fat_object) {
            (Outcome::Plain(woven, _), _) => objects.push(unwoven(&woven.object)),
            (Outcome::MachineCode(_), Some(range)) => {
                objects.push(unwoven(&read_part(&module.path, range)?));
            }
            (Outcome::MachineCode(_), None) | (Outcome::Woven(_), _) => {}
        }
    }
    Ok(objects)
}

/// The image as it grows.
#[derive(Default)]
struct Image {
    parts: Vec<(u64, Vec<u8>)>,
    skipped: Vec<Skipped>,
    bases: CounterBases,
    /// The machine of the link: the line's, or else the first module's.
    machine: Option<Machine>,
    /// An object is for a machine without images.
    foreign: bool,
}

impl Image {
    /// Adds a module. Returns the object to link, or nothing if its own machine code is linked.
    fn module(
        &mut self,
        inputs: &Inputs,
        number: usize,
        outcome: Outcome,
        duplicates: &Duplicates<'_>,
    ) -> Result<Option<Vec<u8>>> {
        let module = &inputs.modules[number];
        let woven = match outcome {
            Outcome::Woven(woven) => woven,
            Outcome::Plain(woven, reason) => {
                self.skip(&module.name, &reason);
                self.note_machine(&woven.object);
                return Ok(Some(woven.object));
            }
            Outcome::MachineCode(reason) => {
                self.skip(&module.name, &reason);
                let own = module
                    .fat_object
                    .as_ref()
                    .map(|range| read_part(&module.path, range));
                if let Some(own) = own.transpose()? {
                    self.note_machine(&own);
                }
                return Ok(None);
            }
        };
        let machine = Machine::of_object(&woven.object);
        let machine = machine.ok_or_else(|| Error::UnsupportedMachine {
            module: module.shown.clone(),
        })?;
        let link = *self.machine.get_or_insert(machine);
        if link != machine {
            return Err(Error::MixedMachines {
                module: module.shown.clone(),
                machine,
                link,
            });
        }
        let dropped = duplicates.in_object(&woven.object, &woven.fragment, module.position);
        self.skip_dropped(dropped);
        let base = self.bases.modules[number].expect("a woven module has a base");
        self.parts.push((base, woven.fragment));
        Ok(Some(woven.object))
    }

    /// Notes the machine of an object without probes.
    fn note_machine(&mut self, object: &[u8]) {
        match Machine::of_object(object) {
            Some(machine) => {
                self.machine.get_or_insert(machine);
            }
            None => self.foreign = true,
        }
    }

    /// Lists functions that may have been replaced by another copy in the link.
    fn skip_dropped(&mut self, dropped: Vec<DroppedFunction<'_>>) {
        for function in dropped {
            let rival = function.rival;
            self.skipped.push(Skipped {
                name: function.name.into(),
                linkage_name: function.symbol.into(),
                reason: format!("a copy without probes in {rival} may have been linked instead")
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

    /// Writes the image object and the runtime object. Returns them and the path map.
    fn finish(
        self,
        name: &str,
        settings: &LinkSettings,
        scratch: &Path,
    ) -> Result<(Vec<PathBuf>, StoredMap)> {
        let skipped = ModuleMap {
            name: "linked as it is".into(),
            skipped: self.skipped,
            ..ModuleMap::default()
        };
        let mut parts = self.parts;
        if !skipped.skipped.is_empty() {
            parts.push((self.bases.end(), skipped.encode()));
        }
        let parts: Vec<(u64, &[u8])> = parts
            .iter()
            .map(|(base, fragment)| (*base, &fragment[..]))
            .collect();
        let (map, build_id) = encode_image(settings.collect, name, &parts);
        let counters = self.bases.size(settings.collect);
        let header = ImageHeader {
            magic: IMAGE_MAGIC,
            version: ABI_VERSION,
            kind: settings.collect.number(),
            build_id,
            block_size: (counters.max(LINE) + BLOCK_HEAD).next_multiple_of(PAGE) - BLOCK_HEAD,
            parameter: parameter(settings),
            name: padded(cut(name, 79)),
            runs: runs(settings)?,
        };
        let machine = self
            .machine
            .or_else(|| Machine::of_object(holloway_runtime::OBJECT))
            .expect("the runtime is an object of a known machine");
        let runtime = runtime(machine)?;
        let image = image_object(&header, &map, machine, &self.bases.constants)
            .map_err(|error| Error::ImageObject(error.into()))?;
        let files = [
            ("holloway-image.o", &image[..]),
            ("holloway-runtime.o", runtime),
        ];
        let objects: Result<_> = files
            .iter()
            .map(|(name, bytes)| write(scratch.join(name), bytes))
            .collect();
        let map = StoredMap {
            build_id,
            bytes: map,
        };
        Ok((objects?, map))
    }
}

/// The runtime object for a machine.
fn runtime(machine: Machine) -> Result<&'static [u8]> {
    let (runtime, target) = match machine {
        Machine::X86_64 => (holloway_runtime::X86_64, "x86_64-unknown-linux-gnu"),
        Machine::Aarch64 => (holloway_runtime::AARCH64, "aarch64-unknown-none-softfloat"),
    };
    present(runtime, target)
}

/// The runtime object, if this holloway was built with it.
fn present(runtime: &'static [u8], target: &'static str) -> Result<&'static [u8]> {
    if runtime.is_empty() {
        return Err(Error::NoRuntime { target });
    }
    Ok(runtime)
}

/// Writes the woven form of `file` into `directory`. Nothing if the file is linked as it is.
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
            let old = std::fs::read(&file.path).map_err(Error::reading(&file.path))?;
            let changed = || Error::ArchiveChanged {
                path: file.path.clone(),
            };
            let broken = |source| Error::Archive {
                path: file.path.clone(),
                source,
            };
            if *archive != archive::Archive::parse(&old, &file.path).map_err(|_| changed())? {
                return Err(changed());
            }
            let mut members = Vec::with_capacity(archive.members.len());
            for (number, member) in archive.members.iter().enumerate() {
                let woven = modules
                    .get(&number)
                    .and_then(|&module| objects[module].as_deref());
                let data = match woven {
                    Some(object) => Cow::Borrowed(object),
                    None => member.data(&old).map_err(broken)?,
                };
                members.push((member.name.clone(), data));
            }
            let new = archive::build(&members).map_err(broken)?;
            write(directory.join(name), &new).map(Some)
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

/// The parameter of the image's kind: for loops, the number of iterations.
fn parameter(settings: &LinkSettings) -> u64 {
    match settings.collect {
        Kind::Loops => settings.k.into(),
        Kind::Paths | Kind::Edges | Kind::Trace | Kind::Variation | Kind::Times => 0,
    }
}

fn padded<const N: usize>(text: &[u8]) -> [u8; N] {
    let mut bytes = [0; N];
    bytes[..text.len()].copy_from_slice(text);
    bytes
}

/// At most `limit` bytes of `text`, whole characters.
fn cut(text: &str, limit: usize) -> &[u8] {
    &text.as_bytes()[..text.floor_char_boundary(limit)]
}

#[cfg(test)]
mod tests {
    use super::present;

    #[test]
    fn a_runtime_that_is_not_there_names_the_target_it_takes() {
        assert_eq!(present(b"object", "aarch64").ok(), Some(&b"object"[..]));
        let error = present(&[], "aarch64-unknown-none-softfloat").err();
        let message = error.map(|error| error.to_string()).unwrap_or_default();
        let way_out = "rustup target add aarch64-unknown-none-softfloat";
        assert!(message.contains(way_out), "{message}");
    }
}
