//! Puts woven modules into a link: the path map, the image object, and woven files in the places of the old ones.
//!
//! Woven files keep their names (in numbered directories): `--exclude-libs` and linker scripts go by name.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use holloway_abi::Kind;
use holloway_abi::{ABI_VERSION, IMAGE_MAGIC, ImageHeader, PAGE};
use holloway_format::{ModuleMap, Skipped, encode_image};
use holloway_weave::archive;
use holloway_weave::image::{Machine, image_object};

use super::bases::{Bases, LINE};
use super::copies::{Copies, Unwoven};
use super::farm::Outcome;
use super::inputs::{FileKind, InputFile, Inputs, read_part, without_hash};
use super::line::Line;
use super::settings::Settings;
use crate::failure::{Context, Failure, Result};

/// Bytes in front of a block (`abi::ExtentHeader`).
const BLOCK_HEAD: u64 = 64;

/// The woven link, on disk.
#[derive(Debug, Default)]
pub(crate) struct Placed {
    /// Word of the line → the file to link in its place.
    pub(crate) swaps: HashMap<usize, PathBuf>,
    /// Image and runtime object; none for `-r`.
    pub(crate) objects: Vec<PathBuf>,
    /// Word before which they go.
    pub(crate) at: usize,
}

impl Placed {
    /// Whether the runtime is linked.
    pub(crate) fn has_runtime(&self) -> bool {
        !self.objects.is_empty()
    }
}

/// Places `outcomes` (one a module of `inputs`), with their counters at `bases`, and writes what is to be linked into
/// `scratch`.
///
/// # Errors
/// When a file cannot be written, or modules are for different machines.
pub(crate) fn place(
    line: &Line,
    inputs: &Inputs,
    outcomes: Vec<Outcome>,
    bases: Bases,
    settings: &Settings,
    scratch: &Path,
) -> Result<Placed> {
    let mut image = Image {
        machine: line.machine,
        bases,
        ..Image::default()
    };
    let mut objects = Vec::with_capacity(outcomes.len());
    let fallen = fallen(inputs, &outcomes)?;
    let copies = Copies::new(inputs.unwoven.iter().chain(&fallen));
    for (number, outcome) in outcomes.into_iter().enumerate() {
        objects.push(image.module(inputs, number, outcome, &copies)?);
    }
    inputs
        .without
        .iter()
        .for_each(|(name, reason)| image.skip(name, reason));
    let mut placed = Placed {
        at: inputs.first.unwrap_or(0),
        ..Placed::default()
    };
    for (number, file) in inputs.files.iter().enumerate() {
        if let Some(path) = write_file(file, &objects, &scratch.join(number.to_string()))? {
            placed
                .swaps
                .extend(file.words.iter().map(|&word| (word, path.clone())));
        }
    }
    if settings.probes && !image.foreign {
        let name = line.output_name();
        let name = if inputs.is_rust() {
            without_hash(&name)
        } else {
            &name
        };
        placed.objects = image.finish(name, settings, scratch)?;
    }
    Ok(placed)
}

/// The functions of modules that have no probes after all.
fn fallen(inputs: &Inputs, outcomes: &[Outcome]) -> Result<Vec<Unwoven>> {
    let mut fallen = Vec::new();
    for (module, outcome) in inputs.modules.iter().zip(outcomes) {
        let unwoven = |bytes: &[u8]| Unwoven::new(module.name.clone(), module.stand, bytes);
        match (outcome, &module.fat) {
            (Outcome::Plain(woven, _), _) => fallen.push(unwoven(&woven.object)),
            (Outcome::MachineCode(_), Some(range)) => {
                fallen.push(unwoven(&read_part(&module.path, range)?));
            }
            (Outcome::MachineCode(_), None) | (Outcome::Woven(_), _) => {}
        }
    }
    Ok(fallen)
}

/// The image as it grows.
#[derive(Default)]
struct Image {
    parts: Vec<(u64, Vec<u8>)>,
    skipped: Vec<Skipped>,
    bases: Bases,
    /// What is linked for: what the line says, or else the first module.
    machine: Option<Machine>,
    /// Something is for a machine that no image can be made for.
    foreign: bool,
}

impl Image {
    /// Takes a module in. Returns the object to link, or nothing when its own machine code is linked.
    fn module(
        &mut self,
        inputs: &Inputs,
        number: usize,
        outcome: Outcome,
        copies: &Copies<'_>,
    ) -> Result<Option<Vec<u8>>> {
        let module = &inputs.modules[number];
        let woven = match outcome {
            Outcome::Woven(woven) => woven,
            Outcome::Plain(woven, reason) => {
                self.skip(&module.name, &reason);
                self.note(&woven.object);
                return Ok(Some(woven.object));
            }
            Outcome::MachineCode(reason) => {
                self.skip(&module.name, &reason);
                let own = module
                    .fat
                    .as_ref()
                    .map(|range| read_part(&module.path, range));
                if let Some(own) = own.transpose()? {
                    self.note(&own);
                }
                return Ok(None);
            }
        };
        let machine = Machine::of_object(&woven.object).ok_or_else(|| {
            Failure::new(format_args!(
                "{}: weaving supports x86-64 and aarch64 only; link this program without holloway",
                module.shown
            ))
        })?;
        let before = *self.machine.get_or_insert(machine);
        if before != machine {
            return Err(Failure::new(format_args!(
                "{} is for {machine}, the link for {before}: give it files of one machine",
                module.shown
            )));
        }
        self.skip_copied(copies.of(&woven.object, &woven.fragment, module.stand));
        let base = self.bases.modules[number].expect("a woven module has a base");
        self.parts.push((base, woven.fragment));
        Ok(Some(woven.object))
    }

    /// Notes which machine an object without probes is for.
    fn note(&mut self, object: &[u8]) {
        match Machine::of_object(object) {
            Some(machine) => {
                self.machine.get_or_insert(machine);
            }
            None => self.foreign = true,
        }
    }

    /// Notes functions of which another copy may have been linked.
    fn skip_copied(&mut self, copied: Vec<(String, String, &str)>) {
        for (name, symbol, rival) in copied {
            self.skipped.push(Skipped {
                name: name.into(),
                linkage_name: symbol.into(),
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

    fn finish(self, name: &str, settings: &Settings, scratch: &Path) -> Result<Vec<PathBuf>> {
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
        let image =
            image_object(&header, &map, machine, &self.bases.constants).map_err(|error| {
                Failure::new(format_args!("cannot build the path map's object: {error}"))
            })?;
        let files = [
            ("holloway-image.o", &image[..]),
            ("holloway-runtime.o", runtime),
        ];
        files
            .iter()
            .map(|(name, bytes)| write(scratch.join(name), bytes))
            .collect()
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
fn present(runtime: &'static [u8], target: &str) -> Result<&'static [u8]> {
    if runtime.is_empty() {
        return Err(Failure::new(format_args!(
            "this holloway has no runtime for the machine linked for: rustup target add {target}, and build holloway again"
        )));
    }
    Ok(runtime)
}

/// Writes the woven form of `file` below `dir`; nothing when it is linked as it is.
fn write_file(
    file: &InputFile,
    objects: &[Option<Vec<u8>>],
    dir: &Path,
) -> Result<Option<PathBuf>> {
    let name = file
        .path
        .file_name()
        .expect("a file that was read has a name");
    match &file.kind {
        FileKind::Object(module) => objects[*module]
            .as_ref()
            .map(|object| write(dir.join(name), object))
            .transpose(),
        FileKind::Archive(archive, modules) => {
            let shown = file.path.display();
            let old = std::fs::read(&file.path).cannot(|| format!("read {shown}"))?;
            let changed = || {
                Failure::new(format_args!(
                    "{shown} changed while it was being linked; link again"
                ))
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
                    None => member
                        .data(&old)
                        .map_err(|error| Failure::new(format_args!("{shown}: {error}")))?,
                };
                members.push((member.name.clone(), data));
            }
            let new = archive::build(&members)
                .map_err(|error| Failure::new(format_args!("{shown}: {error}")))?;
            write(dir.join(name), &new).map(Some)
        }
    }
}

fn write(path: PathBuf, bytes: &[u8]) -> Result<PathBuf> {
    let dir = path.parent().expect("a file in a directory");
    std::fs::create_dir_all(dir)
        .and_then(|()| std::fs::write(&path, bytes))
        .cannot(|| format!("write {}", path.display()))?;
    Ok(path)
}

fn runs(settings: &Settings) -> Result<[u8; 896]> {
    let runs = settings.runs.as_encoded_bytes();
    if runs.len() < 896 {
        return Ok(padded(runs));
    }
    Err(Failure::usage(
        "HOLLOWAY_RUNS is longer than 895 bytes: name a directory with a shorter path",
    ))
}

/// What the image says of its kind: of loops, over how many iterations they are seen.
fn parameter(settings: &Settings) -> u64 {
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
        let failure = present(&[], "aarch64-unknown-none-softfloat").err();
        let told = failure.map(|failure| failure.message).unwrap_or_default();
        let way_out = "rustup target add aarch64-unknown-none-softfloat";
        assert!(told.contains(way_out), "{told}");
    }
}
