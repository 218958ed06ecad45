//! `--embed`: makes the recipe of a link, and the object that carries the recipe into the program.
//!
//! A program carries the files that its build made: objects and archives with bitcode, other
//! objects and archives outside of the system's directories and the Rust toolchain, and the scripts
//! and lists of symbols that options name. Everything else (start files, libraries of the system,
//! shared libraries, std) is found again when the program is linked again.
//! Paths of these files are stored as absolute paths.
//!
//! The object's section is not loaded. It has no symbols, so linkers that drop unused sections
//! could drop it. A note that refers to it keeps it ([`holloway_weave::image`]).

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use holloway_format::{Argument, CarriedFile, LineFlavor, Piece, Recipe};
use holloway_weave::image::{Machine, recipe_object};

use crate::error::{Error, Result};
use crate::inputs::{Inputs, is_start_file, read_linkable};
use crate::level;
use crate::line::{ExtraObjects, Flavor, Line, Role};
use crate::search::LibrarySearch;
use crate::settings::LinkSettings;

/// Directories of the system. A program does not carry their files.
const SYSTEM: [&str; 7] = [
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/lib",
    "/lib64",
    "/opt",
];
/// Marks a file's number, or the output, in a word until the words are cut into pieces. No
/// argument contains this byte on purpose.
const MARK: u8 = 1;
/// The word for the output.
const OUTPUT: &str = "\u{1}o\u{1}";

/// Writes the object with the recipe of a link into `scratch`. Returns its path.
///
/// # Errors
/// If an input cannot be read, or the object cannot be written.
pub(crate) fn write_object(
    line: &Line,
    inputs: &Inputs,
    linker: &Path,
    settings: &LinkSettings,
    machine: Machine,
    scratch: &Path,
) -> Result<PathBuf> {
    let recipe = recipe(line, inputs, linker, settings)?;
    let bytes = recipe.encode().map_err(Error::Compress)?;
    let object = recipe_object(&bytes, machine);
    let object = object.map_err(|error| Error::ImageObject(error.into()))?;
    let path = scratch.join("holloway-recipe.o");
    std::fs::write(&path, object).map_err(Error::writing(&path))?;
    Ok(path)
}

/// Makes the recipe of a link.
fn recipe(line: &Line, inputs: &Inputs, linker: &Path, settings: &LinkSettings) -> Result<Recipe> {
    let mut files = Vec::new();
    let mut words: HashMap<usize, OsString> = HashMap::new();
    for file in &inputs.files {
        let content = std::fs::read(&file.path).map_err(Error::reading(&file.path))?;
        let mark = carry(&mut files, &file.path, content);
        words.extend(file.words.iter().map(|&word| (word, mark.clone())));
    }
    let search = LibrarySearch::new(line);
    for (index, word) in line.words.iter().enumerate() {
        let path = Path::new(&word.text);
        if words.contains_key(&index) {
            continue;
        }
        if let Role::Library(library) = &word.role {
            let archive = search.archive(library);
            let archive = archive.filter(|archive| {
                std::path::absolute(archive).is_ok_and(|archive| !is_of_system(&archive))
            });
            if let Some(archive) = archive {
                let content = read_linkable(&archive).map_err(Error::reading(&archive))?;
                words.extend(content.map(|content| (index, carry(&mut files, &archive, content))));
            }
        } else if word.role == Role::Input {
            let absolute = std::path::absolute(path).map_err(Error::reading(path))?;
            let content = match is_of_system(&absolute) {
                true => None,
                false => read_linkable(path).map_err(Error::reading(path))?,
            };
            let replacement = match content {
                Some(content) => carry(&mut files, path, content),
                None => absolute.into_os_string(),
            };
            words.insert(index, replacement);
        } else if is_output(line, index) {
            words.insert(index, OUTPUT.into());
        } else if let Some((option, directory)) = value_of(&SEARCH_OPTIONS, line, index)
            && !is_below_sysroot(directory)
        {
            let absolute = std::path::absolute(directory).map_err(Error::reading(directory))?;
            words.insert(index, joined(option, absolute.as_os_str()));
        } else if let Some((option, file)) = value_of(&FILE_OPTIONS, line, index)
            && file.is_file()
        {
            let content = std::fs::read(file).map_err(Error::reading(file))?;
            words.insert(index, joined(option, &carry(&mut files, file, content)));
        }
    }
    let replacement = |index| words.get(&index).map(PathBuf::from);
    let mut arguments: Vec<Argument> = line
        .write(&replacement, &ExtraObjects::NONE)
        .iter()
        .map(|argument| pieces(argument))
        .collect();
    if !arguments
        .iter()
        .flatten()
        .any(|piece| *piece == Piece::Output)
    {
        arguments.push(vec![Piece::Text(b"-o".to_vec())]);
        arguments.push(vec![Piece::Output]);
    }
    let linker = std::path::absolute(linker).map_err(Error::reading(linker))?;
    Ok(Recipe {
        flavor: match line.flavor {
            Flavor::Driver => LineFlavor::Driver,
            Flavor::Ld => LineFlavor::Ld,
        },
        linker: linker.as_os_str().as_bytes().to_vec(),
        opt: settings.opt.map_or("", level::name).to_owned(),
        arguments,
        files,
    })
}

/// Adds a file to the recipe. Returns the word that stands for its path.
fn carry(files: &mut Vec<CarriedFile>, path: &Path, content: Vec<u8>) -> OsString {
    let name = path.file_name().unwrap_or(OsStr::new("input"));
    files.push(CarriedFile {
        name: name.as_bytes().to_vec(),
        content,
    });
    format!("\u{1}{}\u{1}", files.len() - 1).into()
}

/// Whether a file is on any machine with the same system and Rust toolchain.
fn is_of_system(path: &Path) -> bool {
    is_start_file(path)
        || SYSTEM.iter().any(|directory| path.starts_with(directory))
        || path.components().any(|part| part.as_os_str() == "rustlib")
}

/// Whether a word is the value of `-o`.
fn is_output(line: &Line, index: usize) -> bool {
    let is_value = index.checked_sub(1).is_some_and(|before| {
        let before = &line.words[before].text;
        before == "-o" || before == "--output"
    });
    is_value && line.output.as_deref() == Some(Path::new(&line.words[index].text))
}

/// Options whose value is a directory of libraries, without their dashes.
const SEARCH_OPTIONS: [&str; 2] = ["L", "library-path"];
/// Whether the linker looks for a directory of libraries below the sysroot.
fn is_below_sysroot(directory: &Path) -> bool {
    let bytes = directory.as_os_str().as_bytes();
    bytes.starts_with(b"=") || bytes.starts_with(b"$SYSROOT")
}

/// Options whose value is a file that the linker reads, without their dashes.
const FILE_OPTIONS: [&str; 7] = [
    "version-script",
    "dynamic-list",
    "export-dynamic-symbol-list",
    "retain-symbols-file",
    "symbol-ordering-file",
    "script",
    "T",
];

/// If a word is or contains the value of one of these options: the part of the word before the
/// value, and the value.
fn value_of<'l>(options: &[&str], line: &'l Line, index: usize) -> Option<(&'l OsStr, &'l Path)> {
    let word = line.words[index].text.as_os_str();
    let before = index.checked_sub(1).map(|before| &line.words[before].text);
    if before.is_some_and(|before| option_name(before).is_some_and(|o| options.contains(&o))) {
        return Some((OsStr::new(""), Path::new(word)));
    }
    let bytes = word.as_bytes();
    let name = option_name(word)?;
    let long = name
        .split_once('=')
        .filter(|(name, _)| options.contains(name));
    let value = match long {
        Some((_, value)) => value,
        // A short option has its value in the same word. `-T` also begins options whose values are
        // no files, such as `-Ttext=0`.
        None => {
            let short = options.iter().filter(|option| option.len() == 1);
            let value = short
                .filter_map(|option| name.strip_prefix(option))
                .next()?;
            let is_other = word.to_str().is_some_and(|word| word.starts_with("--"))
                || name.starts_with('T') && !Path::new(value).is_file();
            Some(value).filter(|_| !is_other)?
        }
    };
    let (option, value) = bytes.split_at(bytes.len() - value.len());
    let is_value = !value.is_empty();
    is_value.then_some((
        OsStr::from_bytes(option),
        Path::new(OsStr::from_bytes(value)),
    ))
}

/// An option without its dashes, and with its value.
fn option_name(word: &OsStr) -> Option<&str> {
    let name = word.to_str()?.strip_prefix('-')?;
    Some(name.strip_prefix('-').unwrap_or(name))
}

fn joined(option: &OsStr, value: &OsStr) -> OsString {
    let mut word = option.to_owned();
    word.push(value);
    word
}

/// Cuts an argument at its marks.
fn pieces(argument: &OsStr) -> Argument {
    let parts = argument.as_bytes().split(|&byte| byte == MARK).enumerate();
    let pieces = parts.filter_map(|(number, part)| match (number % 2, part) {
        (0, []) => None,
        (0, text) => Some(Piece::Text(text.to_vec())),
        (_, b"o") => Some(Piece::Output),
        (_, file) => Some(Piece::File(std::str::from_utf8(file).ok()?.parse().ok()?)),
    });
    pieces.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_pieces() {
        let text = |text: &str| Piece::Text(text.into());
        let check = |argument: &str, expect: &[Piece]| {
            assert_eq!(pieces(OsStr::new(argument)), expect, "{argument:?}");
        };
        check("-pie", &[text("-pie")]);
        check(OUTPUT, &[Piece::Output]);
        check(
            "-Wl,--whole-archive,\u{1}12\u{1},-x",
            &[text("-Wl,--whole-archive,"), Piece::File(12), text(",-x")],
        );
    }

    #[test]
    fn files_of_the_system_are_not_carried() {
        let check =
            |path: &str, expect| assert_eq!(is_of_system(Path::new(path)), expect, "{path}");
        check("/usr/lib/x86_64-linux-gnu/libz.a", true);
        check("/home/a/.rustup/x/lib/rustlib/t/lib/libstd-1.rlib", true);
        check("/home/a/Scrt1.o", true);
        check("/usr/src/app/build/a.o", false);
        check("/home/a/target/release/deps/libx.rlib", false);
        check("/tmp/rustcXYZ/symbols.o", false);
    }

    #[test]
    fn values_of_options_are_found() {
        let check = |options: &[&str], words: &[&str], expect: Option<(&str, &str)>| {
            let line = Line::parse(Flavor::Ld, words.iter().map(OsString::from).collect());
            let found = value_of(options, &line, words.len() - 1);
            let expect = expect.map(|(option, value)| (OsStr::new(option), Path::new(value)));
            assert_eq!(found, expect, "{words:?}");
        };
        check(&SEARCH_OPTIONS, &["-L."], Some(("-L", ".")));
        check(&SEARCH_OPTIONS, &["-L", "lib"], Some(("", "lib")));
        check(
            &SEARCH_OPTIONS,
            &["--library-path=/x"],
            Some(("--library-path=", "/x")),
        );
        check(&SEARCH_OPTIONS, &["-L"], None);
        check(&SEARCH_OPTIONS, &["-lx"], None);
        check(
            &FILE_OPTIONS,
            &["--version-script=a.map"],
            Some(("--version-script=", "a.map")),
        );
        check(
            &FILE_OPTIONS,
            &["-version-script", "a.map"],
            Some(("", "a.map")),
        );
        check(&FILE_OPTIONS, &["-T", "a.ld"], Some(("", "a.ld")));
        check(&FILE_OPTIONS, &["-Ttext=0x1000"], None);
        check(&FILE_OPTIONS, &["-Long"], None);
        check(&FILE_OPTIONS, &["--gc-sections"], None);
    }
}
