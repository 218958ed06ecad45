//! Finds the bitcode modules in the inputs of a link, and lists the inputs without bitcode.
//!
//! Inputs are objects, archives, and rlibs named on the line, and archives that `-l` options mean.
//! Each file is read once, even if the line names it several times. An input with machine code but
//! without bitcode is linked unchanged. It is listed in the path map, so that reports can show
//! which code has no counts. Files that do not exist are left to the linker, whose error message
//! the user knows.

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
use crate::search::LibrarySearch;
use crate::settings::{EarlyLink, LinkSettings};

/// The inputs of a link: modules to weave, and inputs without bitcode.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    /// The modules, in the order of the line.
    pub(crate) modules: Vec<Module>,
    /// The files that contain the modules.
    pub(crate) files: Vec<InputFile>,
    /// Name and reason of each input without usable bitcode. Objects in the same archive with the
    /// same reason share an entry.
    pub(crate) without_bitcode: Vec<(String, String)>,
    /// The inputs of `without_bitcode` that have bitcode, but in a form that cannot be woven.
    pub(crate) unusable: Vec<(String, NoBitcode)>,
    /// The objects without usable bitcode, with their functions.
    pub(crate) unwoven: Vec<UnwovenObject>,
    /// The index of the first word that is an input and no start file. The image object and the
    /// runtime object are inserted before it.
    pub(crate) first_input: Option<usize>,
    /// The number of the module that is a whole Rust program, including std: with `lto = "fat"`,
    /// rustc merges all crates into one module.
    pub(crate) whole_program: Option<usize>,
}

impl Inputs {
    /// Returns whether rustc called the linker.
    pub(crate) fn is_rust(&self) -> bool {
        self.modules.iter().any(Module::is_rust)
    }
}

/// A file with at least one module.
#[derive(Debug)]
pub(crate) struct InputFile {
    /// The path of the file.
    pub(crate) path: PathBuf,
    /// The indices of the words that name the file, directly or by `-l`.
    pub(crate) words: Vec<usize>,
    /// Whether the file is an object or an archive, and its modules.
    pub(crate) kind: FileKind,
}

/// The kind of an [`InputFile`], with its modules.
#[derive(Debug)]
pub(crate) enum FileKind {
    /// An object with the module of this number.
    Object(usize),
    /// An archive. The map gives the module number of each member that has a module, by member
    /// number.
    Archive(Archive, HashMap<usize, usize>),
}

/// One bitcode module. Its *number* is its index in [`Inputs::modules`].
#[derive(Debug)]
pub(crate) struct Module {
    /// The name in reports, of the crate or object: `regex_automata`, `a.o`.
    pub(crate) name: String,
    /// The file that contains the bitcode.
    pub(crate) path: PathBuf,
    /// The range of the bitcode in the file.
    pub(crate) range: Range<usize>,
    /// The name in messages: `libx.a(b.o)`.
    pub(crate) display_name: String,
    /// The range of the whole object in the file, if the object contains machine code too.
    pub(crate) fat_object: Option<Range<usize>>,
    /// The BLAKE3 hash of the bitcode.
    pub(crate) digest: [u8; 32],
    /// The module's first position in the link.
    pub(crate) position: Position,
}

impl Module {
    /// Returns whether rustc wrote the module's object, judging by the object's name.
    fn is_rust(&self) -> bool {
        self.display_name.trim_end_matches(')').ends_with(".rcgu.o")
    }
}

/// Finds the modules of `line`.
///
/// # Errors
/// If an input exists but cannot be read, or is damaged.
pub(crate) fn gather(line: &Line, settings: &LinkSettings) -> Result<Inputs> {
    let search = LibrarySearch::new(line);
    let mut gatherer = Gatherer {
        settings,
        inputs: Inputs::default(),
        file_indices: HashMap::new(),
    };
    let mut has_std_crate = false;
    for (index, word) in line.words.iter().enumerate() {
        let path = match &word.role {
            Role::Other => continue,
            Role::Input => Some(PathBuf::from(&word.text)),
            Role::Library(library) if library.name == "gcc" || library.name == "gcc_eh" => None,
            Role::Library(library) => search.archive(library),
        };
        let names_start_file = path.as_deref().is_some_and(is_start_file);
        if !names_start_file {
            gatherer.inputs.first_input.get_or_insert(index);
        }
        has_std_crate |= names_std(&word.text);
        if let Some(path) = path.filter(|_| !names_start_file) {
            if word.role == Role::Input && is_script(&path) {
                gatherer.list_script(&path);
            }
            gatherer.add_file(path, index)?;
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

/// Returns the number of the only Rust module of a link, if the line names its object directly.
fn only_rust_object(modules: &[Module]) -> Option<usize> {
    let mut rust = modules
        .iter()
        .enumerate()
        .filter(|(_, module)| module.is_rust());
    let (number, module) = rust.next()?;
    let is_on_line = module
        .path
        .as_os_str()
        .as_encoded_bytes()
        .ends_with(b".rcgu.o");
    (is_on_line && rust.next().is_none()).then_some(number)
}

struct Gatherer<'a> {
    settings: &'a LinkSettings,
    inputs: Inputs,
    /// The index in `inputs.files` of each file that was read, or `None` if the file has no module.
    file_indices: HashMap<PathBuf, Option<usize>>,
}

/// The location of an object: in a file, and in the link.
struct ObjectLocation<'a> {
    file: &'a Path,
    /// The offset of the object in the file.
    start: usize,
    position: Position,
}

impl Gatherer<'_> {
    /// Adds the file that the word with index `word` names. Reads the file if it is new.
    fn add_file(&mut self, path: PathBuf, word: usize) -> Result<()> {
        let canonical = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        if let Some(index) = self.file_indices.get(&canonical) {
            if let Some(file) = *index {
                self.inputs.files[file].words.push(word);
            }
            return Ok(());
        }
        let index = self.read_file(path, word)?;
        self.file_indices.insert(canonical, index);
        Ok(())
    }

    /// Reads a file. Returns its index in `inputs.files`, or `None` if the file has no module.
    fn read_file(&mut self, path: PathBuf, word: usize) -> Result<Option<usize>> {
        let display_name = path.display().to_string();
        let Some(bytes) = read_linkable(&path).map_err(Error::reading(&path))? else {
            return Ok(None);
        };
        let kind = self.classify(&bytes, &path, &display_name)?;
        let kind = match kind {
            InputKind::Archive => match self.read_archive(&bytes, &path, word)? {
                Some(kind) => kind,
                None => return Ok(None),
            },
            InputKind::MachineCode(reason) => {
                if has_code(&bytes) {
                    let short_name = file_name(&path).to_owned();
                    let object = UnwovenObject::new(short_name, Position::Line(word), &bytes);
                    self.inputs.unwoven.push(object);
                    self.list_unusable(display_name, reason);
                    self.list_without_bitcode(&path, reason, 1);
                }
                return Ok(None);
            }
            InputKind::Bitcode(_) | InputKind::FatObject(_) => {
                let location = ObjectLocation {
                    file: &path,
                    start: 0,
                    position: Position::Line(word),
                };
                match self.add_module(&bytes, &kind, &location, file_name(&path), display_name) {
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

    /// Reads the members of an archive. Returns `None` if no member has a module.
    fn read_archive(&mut self, bytes: &[u8], path: &Path, word: usize) -> Result<Option<FileKind>> {
        let broken = |source| Error::Archive {
            path: path.to_owned(),
            source,
        };
        let archive = Archive::parse(bytes, path).map_err(broken)?;
        let mut modules = HashMap::new();
        let mut machine_code: Vec<MachineCodeGroup> = Vec::new();
        for (number, member) in archive.members.iter().enumerate() {
            let name = String::from_utf8_lossy(&member.name).into_owned();
            let display_name = format!("{}({name})", path.display());
            let data = member.data(bytes).map_err(broken)?;
            let kind = self.classify(&data, path, &display_name)?;
            let (file, start) = match &member.location {
                MemberLocation::Inside(range) => (path, range.start),
                MemberLocation::File(file) => (file.as_path(), 0),
            };
            let position = Position::Archive(word);
            if let InputKind::MachineCode(reason) = kind {
                if has_code(&data) {
                    let short_name = format!("{}({name})", file_name(path));
                    let object = UnwovenObject::new(short_name, position, &data);
                    self.inputs.unwoven.push(object);
                    let group = machine_code.iter_mut().find(|group| group.reason == reason);
                    match group {
                        Some(group) => group.object_count += 1,
                        None => machine_code.push(MachineCodeGroup {
                            reason,
                            object_count: 1,
                            first_object: display_name,
                        }),
                    }
                }
            } else {
                let location = ObjectLocation {
                    file,
                    start,
                    position,
                };
                let module = self.add_module(&data, &kind, &location, &name, display_name);
                if let Some(module) = module {
                    modules.insert(number, module);
                }
            }
        }
        for group in machine_code {
            self.list_without_bitcode(path, group.reason, group.object_count);
            let display_name = match group.object_count {
                1 => group.first_object,
                count => format!("{} ({} objects)", path.display(), grouped(count)),
            };
            self.list_unusable(display_name, group.reason);
        }
        Ok((!modules.is_empty()).then_some(FileKind::Archive(archive, modules)))
    }

    fn classify(&self, bytes: &[u8], path: &Path, display_name: &str) -> Result<InputKind> {
        let is_rlib = path
            .extension()
            .is_some_and(|extension| extension == "rlib");
        // compiler_builtins is never woven. The runtime may call its functions (`memcpy`), and
        // woven functions would call the runtime again.
        let uses_embedded_bitcode = self.settings.std && is_rlib && !is_builtins(path);
        let sections = if uses_embedded_bitcode {
            Sections::Embedded
        } else {
            Sections::Lto
        };
        classify(bytes, sections).map_err(|source| Error::Input {
            input: display_name.to_owned(),
            source,
        })
    }

    /// Adds the module of the object `data`, and returns its number. Returns `None` if the object
    /// has no module to weave.
    fn add_module(
        &mut self,
        data: &[u8],
        kind: &InputKind,
        location: &ObjectLocation<'_>,
        name: &str,
        display_name: String,
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
        // `ld -r` leaves fat objects unchanged, so that the final link can weave their bitcode. In
        // builds of unoptimized bitcode, only objects without machine code have such bitcode.
        let leaves_fat_objects = !self.settings.probes || self.settings.early.is_some();
        if fat_object.is_some() && leaves_fat_objects {
            // Objects of the Rust toolchain are optimized in any case.
            if self.settings.early == Some(EarlyLink::Source) && !self.settings.std {
                self.list_unusable(display_name, NoBitcode::Optimized);
            }
            return None;
        }
        self.inputs.modules.push(Module {
            name: module_name(&stable_name(file, name)),
            path: file.to_owned(),
            range: start + range.start..start + range.end,
            display_name,
            fat_object,
            digest: *blake3::hash(&data[range.clone()]).as_bytes(),
            position,
        });
        Some(self.inputs.modules.len() - 1)
    }

    fn list_script(&mut self, path: &Path) {
        let script = (file_name(path).to_owned(), SCRIPT_REASON.to_owned());
        if !self.inputs.without_bitcode.contains(&script) {
            self.inputs.without_bitcode.push(script);
        }
    }

    fn list_unusable(&mut self, display_name: String, reason: NoBitcode) {
        match reason {
            NoBitcode::None | NoBitcode::Embedded => {}
            NoBitcode::SeveralModules(_) | NoBitcode::Broken(_) | NoBitcode::Optimized => {
                self.inputs.unusable.push((display_name, reason));
            }
        }
    }

    fn list_without_bitcode(&mut self, path: &Path, reason: NoBitcode, object_count: usize) {
        let mut name = file_name(path).to_owned();
        if object_count > 1 {
            name.push_str(&format!(" ({object_count} objects)"));
        }
        let is_in_sysroot = path.components().any(|part| part.as_os_str() == "rustlib");
        let reason = match reason {
            NoBitcode::Embedded if is_in_sysroot && !is_builtins(path) => STD_REASON.to_owned(),
            _ => reason.to_string(),
        };
        self.inputs.without_bitcode.push((name, reason));
    }
}

/// Objects of an archive that are linked as machine code for the same reason.
struct MachineCodeGroup {
    reason: NoBitcode,
    object_count: usize,
    /// The display name of the first object: `libx.a(y.o)`.
    first_object: String,
}

/// The reason why a crate of the standard library is not woven by default.
const STD_REASON: &str = "machine code of the standard library (--std instruments it)";

/// The reason why the files that a linker script names are not woven. Finding them would require a
/// parser for the whole script language.
const SCRIPT_REASON: &str = "a linker script: what it names is linked as it is";

/// Returns whether an input is a linker script: a text file. Scripts named like shared libraries
/// (`libc.so`) do not count, because they usually name shared libraries.
fn is_script(path: &Path) -> bool {
    let is_named_shared = path.extension().is_some_and(|extension| extension == "so");
    let mut beginning = Vec::new();
    let result = File::open(path).and_then(|file| file.take(4096).read_to_end(&mut beginning));
    // Bitcode and objects contain control characters. A thin archive may contain only text after
    // its magic number, which begins with `!<`.
    let is_text = |byte: &u8| !matches!(byte, 0..=8 | 14..=31 | 127);
    !is_named_shared
        && result.is_ok()
        && !beginning.is_empty()
        && !beginning.starts_with(b"!<")
        && beginning.iter().all(is_text)
}

/// Reads a file if it may contain modules. Shared libraries are not read, because they are numerous
/// and large.
pub(crate) fn read_linkable(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    // An ELF header up to the end of `e_type`.
    let mut header = Vec::new();
    file.by_ref().take(18).read_to_end(&mut header)?;
    let is_elf = header.starts_with(b"\x7fELF");
    let is_relocatable = matches!(header.get(16..18), None | Some([1, 0] | [0, 1]));
    let is_archive = header.starts_with(b"!<");
    let is_bitcode = holloway_weave::input::is_bitcode(&header);
    if !(is_archive || is_elf && is_relocatable || is_bitcode) {
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
/// If the file cannot be read any more.
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

/// Returns whether a file is a start or end file of the C library or the compiler.
pub(crate) fn is_start_file(path: &Path) -> bool {
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

/// Returns whether a word of the line names core or std as a separate library.
fn names_std(word: &OsStr) -> bool {
    let word = word.to_string_lossy();
    let name = word.rsplit('/').next().unwrap_or(&word);
    name.starts_with("libcore-") || name.starts_with("libstd-") || name.starts_with("-lstd-")
}

/// Returns a module's name: the crate's name for an object of rustc (`regex_automata` for
/// `regex_automata-0a1b2c3d4e5f6071.….rcgu.o`), else the file name.
fn module_name(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    if !name.ends_with(".rcgu.o") {
        return name.to_owned();
    }
    without_hash(name.split('.').next().unwrap_or(name)).replace('-', "_")
}

/// Removes the hash that cargo adds to file names: `app` for `app-0a1b2c3d4e5f6071`.
pub(crate) fn without_hash(name: &str) -> &str {
    let is_hash =
        |part: &str| part.len() == 16 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    name.rsplit_once('-')
        .filter(|(_, last)| is_hash(last))
        .map_or(name, |(name, _)| name)
}

/// Removes from an object's name the part that differs from build to build. A compiler driver that
/// compiles and links in one call puts six random digits into the names of its temporary objects
/// (`/tmp/a-0f3c21.o`).
fn stable_name<'a>(file: &Path, name: &'a str) -> std::borrow::Cow<'a, str> {
    let is_random =
        |part: &str| part.len() == 6 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let stem = name
        .strip_suffix(".o")
        .and_then(|stem| stem.rsplit_once('-'));
    match stem {
        Some((stem, digits))
            if is_random(digits) && file.parent() == Some(&std::env::temp_dir()) =>
        {
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
