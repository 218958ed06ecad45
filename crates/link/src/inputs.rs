//! Finds the bitcode modules in the inputs of a link, and lists the inputs without bitcode.
//!
//! Inputs are objects, archives, and rlibs named on the line, and archives behind `-l`. Each is
//! read once, however often it stands there. An input with code but without bitcode is linked as it
//! is and listed in the map, so that no code disappears silently. Files that cannot be found are
//! left to the linker, whose message the user knows.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use holloway_weave::archive::{Archive, MemberLocation};
use holloway_weave::input::{InputKind, NoBitcode, Sections, classify, has_code};

use crate::duplicates::{Position, UnwovenObject};
use crate::error::{Error, Result};
use crate::line::{Line, Role};
use crate::message::grouped;
use crate::search::Search;
use crate::settings::LinkSettings;

/// The inputs of a link: modules to weave, and inputs without bitcode.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    /// The modules, in the order of the line.
    pub(crate) modules: Vec<Module>,
    /// The files they come from.
    pub(crate) files: Vec<InputFile>,
    /// Inputs without bitcode: name and reason.
    pub(crate) without_bitcode: Vec<(String, String)>,
    /// The inputs among them with bitcode that cannot be used. The objects of an archive with the
    /// same reason share an entry.
    pub(crate) unusable: Vec<(String, NoBitcode)>,
    /// The objects without bitcode, with their functions.
    pub(crate) unwoven: Vec<UnwovenObject>,
    /// The image's own objects go before this word of the line: the first input that is no start
    /// file.
    pub(crate) first_input: Option<usize>,
    /// The module that is a whole Rust program, std included (with `lto = "fat"` rustc merges
    /// them).
    pub(crate) whole_program: Option<usize>,
}

impl Inputs {
    /// Whether rustc called this link.
    pub(crate) fn is_rust(&self) -> bool {
        self.modules.iter().any(Module::is_rust)
    }
}

/// A file with at least one module.
#[derive(Debug)]
pub(crate) struct InputFile {
    /// Its path.
    pub(crate) path: PathBuf,
    /// The words of the line that mean it.
    pub(crate) words: Vec<usize>,
    /// What it is.
    pub(crate) kind: FileKind,
}

/// Kinds of [`InputFile`].
#[derive(Debug)]
pub(crate) enum FileKind {
    /// An object of one module.
    Object(usize),
    /// An archive: its members, and the modules among them by member number.
    Archive(Archive, HashMap<usize, usize>),
}

/// One bitcode module.
#[derive(Debug)]
pub(crate) struct Module {
    /// Crate or object: `regex_automata`, `a.o`.
    pub(crate) name: String,
    /// The file with its bitcode.
    pub(crate) path: PathBuf,
    /// Range of the bitcode in the file.
    pub(crate) range: Range<usize>,
    /// For messages: `libx.a(b.o)`.
    pub(crate) shown: String,
    /// Range of the whole object in the file, if it holds machine code too.
    pub(crate) fat_object: Option<Range<usize>>,
    /// BLAKE3 of the bitcode.
    pub(crate) digest: [u8; 32],
    /// Its first position in the link.
    pub(crate) position: Position,
}

impl Module {
    /// Whether rustc wrote the module's object, by its name.
    fn is_rust(&self) -> bool {
        self.shown.trim_end_matches(')').ends_with(".rcgu.o")
    }
}

/// Finds the modules of `line`.
///
/// # Errors
/// When an input is there but cannot be read, or is damaged.
pub(crate) fn gather(line: &Line, settings: &LinkSettings) -> Result<Inputs> {
    let search = Search::new(line);
    let mut gatherer = Gatherer {
        settings,
        inputs: Inputs::default(),
        known: HashMap::new(),
    };
    let mut has_std_crate = false;
    for (number, word) in line.words.iter().enumerate() {
        let path = match &word.role {
            Role::Other => continue,
            Role::Input => Some(PathBuf::from(&word.text)),
            Role::Library(library) if library.name == "gcc" || library.name == "gcc_eh" => None,
            Role::Library(library) => search.archive(library),
        };
        let start_file = path.as_deref().is_some_and(is_start_file);
        if !start_file {
            gatherer.inputs.first_input.get_or_insert(number);
        }
        has_std_crate |= names_std(&word.text);
        if let Some(path) = path.filter(|_| !start_file) {
            if word.role == Role::Input && is_script(&path) {
                gatherer.script(&path);
            }
            gatherer.file(path, number)?;
        }
    }
    let mut inputs = gatherer.inputs;
    inputs.whole_program = if has_std_crate {
        None
    } else {
        only_rust_object(&inputs.modules)
    };
    Ok(inputs)
}

/// The only Rust module of a link, if its object stands on the line itself.
fn only_rust_object(modules: &[Module]) -> Option<usize> {
    let mut rust = modules
        .iter()
        .enumerate()
        .filter(|(_, module)| module.is_rust());
    let (number, module) = rust.next()?;
    let direct = module
        .path
        .as_os_str()
        .as_encoded_bytes()
        .ends_with(b".rcgu.o");
    (direct && rust.next().is_none()).then_some(number)
}

struct Gatherer<'a> {
    settings: &'a LinkSettings,
    inputs: Inputs,
    /// File → its index in `inputs.files`, or nothing if it holds no module.
    known: HashMap<PathBuf, Option<usize>>,
}

/// Where an object lies.
struct ObjectLocation<'a> {
    file: &'a Path,
    /// Offset in the file.
    start: usize,
    position: Position,
}

impl Gatherer<'_> {
    fn file(&mut self, path: PathBuf, word: usize) -> Result<()> {
        let canonical = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        if let Some(known) = self.known.get(&canonical) {
            if let Some(file) = *known {
                self.inputs.files[file].words.push(word);
            }
            return Ok(());
        }
        let index = self.new_file(path, word)?;
        self.known.insert(canonical, index);
        Ok(())
    }

    fn new_file(&mut self, path: PathBuf, word: usize) -> Result<Option<usize>> {
        let shown = path.display().to_string();
        let Some(bytes) = read_linkable(&path).map_err(Error::reading(&path))? else {
            return Ok(None);
        };
        let kind = self.classify(&bytes, &path, &shown)?;
        let kind = match kind {
            InputKind::Archive => match self.archive(&bytes, &path, word)? {
                Some(kind) => kind,
                None => return Ok(None),
            },
            InputKind::MachineCode(why) => {
                if has_code(&bytes) {
                    let shown = file_name(&path).to_owned();
                    let functions = UnwovenObject::new(shown, Position::Line(word), &bytes);
                    self.inputs.unwoven.push(functions);
                    self.unusable(path.display().to_string(), why);
                    self.list_without_bitcode(&path, why, 1);
                }
                return Ok(None);
            }
            InputKind::Bitcode(_) | InputKind::FatObject(_) => {
                let location = ObjectLocation {
                    file: &path,
                    start: 0,
                    position: Position::Line(word),
                };
                match self.module(&bytes, &kind, &location, file_name(&path), shown) {
                    Some(module) => FileKind::Object(module),
                    None => return Ok(None),
                }
            }
            InputKind::SharedObject | InputKind::Other => return Ok(None),
        };
        self.inputs.files.push(InputFile {
            path,
            words: vec![word],
            kind,
        });
        Ok(Some(self.inputs.files.len() - 1))
    }

    fn archive(&mut self, bytes: &[u8], path: &Path, word: usize) -> Result<Option<FileKind>> {
        let shown = path.display();
        let broken = |source| Error::Archive {
            path: path.to_owned(),
            source,
        };
        let archive = Archive::parse(bytes, path).map_err(broken)?;
        let mut modules = HashMap::new();
        let mut machine: Vec<MachineCode> = Vec::new();
        for (number, member) in archive.members.iter().enumerate() {
            let name = String::from_utf8_lossy(&member.name).into_owned();
            let shown = format!("{shown}({name})");
            let data = member.data(bytes).map_err(broken)?;
            let kind = self.classify(&data, path, &shown)?;
            let (file, start) = match &member.location {
                MemberLocation::Inside(range) => (path, range.start),
                MemberLocation::File(file) => (file.as_path(), 0),
            };
            let position = Position::Archive(word);
            if let InputKind::MachineCode(why) = kind {
                if has_code(&data) {
                    let short = format!("{}({name})", file_name(path));
                    let functions = UnwovenObject::new(short, position, &data);
                    self.inputs.unwoven.push(functions);
                    match machine.iter_mut().find(|known| known.why == why) {
                        Some(known) => known.objects += 1,
                        None => machine.push(MachineCode {
                            why,
                            objects: 1,
                            first: shown,
                        }),
                    }
                }
            } else {
                let location = ObjectLocation {
                    file,
                    start,
                    position,
                };
                if let Some(module) = self.module(&data, &kind, &location, &name, shown) {
                    modules.insert(number, module);
                }
            }
        }
        for MachineCode {
            why,
            objects,
            first,
        } in machine
        {
            self.list_without_bitcode(path, why, objects);
            let shown = match objects {
                1 => first,
                _ => format!("{shown} ({} objects)", grouped(objects)),
            };
            self.unusable(shown, why);
        }
        Ok((!modules.is_empty()).then_some(FileKind::Archive(archive, modules)))
    }

    fn classify(&self, bytes: &[u8], path: &Path, shown: &str) -> Result<InputKind> {
        // The runtime may call functions of compiler_builtins (memcpy). Woven, they would call the
        // runtime back.
        let rlib = path
            .extension()
            .is_some_and(|extension| extension == "rlib");
        let embedded = self.settings.std && rlib && !is_builtins(path);
        let sections = if embedded {
            Sections::Embedded
        } else {
            Sections::Lto
        };
        classify(bytes, sections).map_err(|source| Error::Input {
            input: shown.to_owned(),
            source,
        })
    }

    /// Adds the module of the object `data`, and returns its number.
    fn module(
        &mut self,
        data: &[u8],
        kind: &InputKind,
        location: &ObjectLocation<'_>,
        name: &str,
        shown: String,
    ) -> Option<usize> {
        let &ObjectLocation {
            file,
            start,
            position,
        } = location;
        let (range, fat_object) = match kind {
            InputKind::Bitcode(range) => (range, None),
            InputKind::FatObject(range) => (range, Some(start..start + data.len())),
            _ => return None,
        };
        // ld -r: fat objects stay as they are, and keep their bitcode for the final link.
        if fat_object.is_some() && !self.settings.probes {
            return None;
        }
        self.inputs.modules.push(Module {
            name: module_name(&stable_name(file, name)),
            path: file.to_owned(),
            range: start + range.start..start + range.end,
            shown,
            fat_object,
            digest: *blake3::hash(&data[range.clone()]).as_bytes(),
            position,
        });
        Some(self.inputs.modules.len() - 1)
    }

    fn script(&mut self, path: &Path) {
        let script = (file_name(path).to_owned(), SCRIPT.to_owned());
        if !self.inputs.without_bitcode.contains(&script) {
            self.inputs.without_bitcode.push(script);
        }
    }

    fn unusable(&mut self, shown: String, why: NoBitcode) {
        match why {
            NoBitcode::None | NoBitcode::Embedded => {}
            NoBitcode::SeveralModules(_) | NoBitcode::Broken(_) => {
                self.inputs.unusable.push((shown, why));
            }
        }
    }

    fn list_without_bitcode(&mut self, path: &Path, why: NoBitcode, count: usize) {
        let mut name = file_name(path).to_owned();
        if count > 1 {
            name.push_str(&format!(" ({count} objects)"));
        }
        let sysroot = path.components().any(|part| part.as_os_str() == "rustlib");
        let why = match why {
            NoBitcode::Embedded if sysroot && !is_builtins(path) => STD.to_owned(),
            _ => why.to_string(),
        };
        self.inputs.without_bitcode.push((name, why));
    }
}

/// Objects of an archive that are linked as machine code for the same reason.
struct MachineCode {
    why: NoBitcode,
    objects: usize,
    /// The first of them: `libx.a(y.o)`.
    first: String,
}

/// Why a crate of the standard library is left alone by default.
const STD: &str = "machine code of the standard library (--std instruments it)";

/// The files that a linker script names are not searched, because that would take its whole
/// language.
const SCRIPT: &str = "a linker script: what it names is linked as it is";

/// Whether an input is a linker script: a text file. Scripts named like shared libraries
/// (`libc.so`) don't count, because they mostly name shared libraries.
fn is_script(path: &Path) -> bool {
    let shared = path.extension().is_some_and(|extension| extension == "so");
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(4096).read_to_end(&mut head));
    // Bitcode and objects have bytes that no text has; a thin archive may have none.
    let text = |byte: &u8| !matches!(byte, 0..=8 | 14..=31 | 127);
    !shared && read.is_ok() && !head.is_empty() && !head.starts_with(b"!<") && head.iter().all(text)
}

/// Reads a whole file if it may hold modules. Shared libraries are not read: they are large and
/// many.
fn read_linkable(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    let mut head = Vec::new();
    file.by_ref().take(18).read_to_end(&mut head)?;
    let elf = head.starts_with(b"\x7fELF");
    let relocatable = matches!(head.get(16..18), None | Some([1, 0] | [0, 1]));
    let archive = head.starts_with(b"!<");
    if !(archive || elf && relocatable || holloway_weave::input::is_bitcode(&head)) {
        return Ok(None);
    }
    file.rewind()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Reads a part of a file.
///
/// # Errors
/// The file cannot be read any more.
pub(crate) fn read_part(path: &Path, range: &Range<usize>) -> Result<Vec<u8>> {
    let mut bytes = vec![0; range.len()];
    let file = File::open(path).map_err(Error::reading(path))?;
    file.read_exact_at(&mut bytes, range.start as u64)
        .map_err(Error::reading(path))?;
    Ok(bytes)
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or("?")
}

/// The C library's and compiler's start and end files.
fn is_start_file(path: &Path) -> bool {
    const NAMES: [&str; 14] = [
        "crt1.o",
        "crti.o",
        "crtn.o",
        "crtbegin.o",
        "crtbeginS.o",
        "crtbeginT.o",
        "crtend.o",
        "crtendS.o",
        "Scrt1.o",
        "rcrt1.o",
        "gcrt1.o",
        "grcrt1.o",
        "Mcrt1.o",
        "crtfastmath.o",
    ];
    let name = file_name(path);
    NAMES.contains(&name) || name.starts_with("clang_rt.crt")
}

fn is_builtins(path: &Path) -> bool {
    file_name(path).starts_with("libcompiler_builtins-")
}

/// Whether a word of the line names core or std as a crate of its own.
fn names_std(word: &OsStr) -> bool {
    let word = word.to_string_lossy();
    let name = word.rsplit('/').next().unwrap_or(&word);
    name.starts_with("libcore-") || name.starts_with("libstd-") || name.starts_with("-lstd-")
}

/// `regex_automata` of `regex_automata-0a1b2c3d4e5f6071.….rcgu.o`; other objects keep their file
/// name.
fn module_name(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    if !name.ends_with(".rcgu.o") {
        return name.to_owned();
    }
    without_hash(name.split('.').next().unwrap_or(name)).replace('-', "_")
}

/// `app` of `app-0a1b2c3d4e5f6071`, as cargo names what it makes.
pub(crate) fn without_hash(name: &str) -> &str {
    let hash = |part: &str| part.len() == 16 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    name.rsplit_once('-')
        .filter(|(_, last)| hash(last))
        .map_or(name, |(name, _)| name)
}

/// The part of an object's name that stays the same from build to build. A compiler driver that
/// compiles and links in one call puts six random digits into the names of its temporary objects
/// (`/tmp/a-0f3c21.o`).
fn stable_name<'a>(file: &Path, name: &'a str) -> std::borrow::Cow<'a, str> {
    let random = |part: &str| part.len() == 6 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let stem = name
        .strip_suffix(".o")
        .and_then(|stem| stem.rsplit_once('-'));
    match stem {
        Some((stem, digits)) if random(digits) && file.parent() == Some(&std::env::temp_dir()) => {
            format!("{stem}.o").into()
        }
        _ => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_named_for_their_crate_or_object() {
        let check = |file, expect| assert_eq!(module_name(file), expect, "{file}");
        check(
            "regex_automata-0a1b2c3d4e5f6071.regex_automata.1234-cgu.0.rcgu.o",
            "regex_automata",
        );
        check("app.7hq1.rcgu.o", "app");
        check("my-bin-0a1b2c3d4e5f6071.x.rcgu.o", "my_bin");
        check("sub/a.o", "a.o");
        check("a-0a1b2c3d4e5f6071.o", "a-0a1b2c3d4e5f6071.o");
    }
}
