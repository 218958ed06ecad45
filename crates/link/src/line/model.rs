//! The data model of a link line: its words, and the facts that weaving needs.

use std::ffi::OsString;
use std::path::PathBuf;

use holloway_weave::OptLevel;
use holloway_weave::image::Machine;

/// The program whose options a line has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavor {
    /// A compiler driver: `cc`, gcc, or clang.
    Driver,
    /// The linker itself: `ld`.
    Ld,
}

/// The kind of file that a link writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// A program, position independent or not.
    Executable,
    /// A shared object.
    SharedObject,
    /// One object that combines several objects (`-r`).
    Relocatable,
    /// The line links nothing (`-c`, `-E`, or `-S` of a compiler driver).
    NotALink,
}

/// How a line carries a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carrier {
    /// The word is an argument itself.
    Plain,
    /// The word is an element of the `-Wl,` list with this number.
    List(usize),
    /// The word is the argument after `-Xlinker`.
    Single,
}

/// What a word means to the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The word is an option or a value that weaving leaves alone.
    Other,
    /// The word names a file to link.
    Input,
    /// The word names a library (`-l`), which the linker searches for.
    Library(Library),
}

/// A library that the linker searches for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Library {
    /// The name after `-l`: `foo` for `-lfoo`, `:libfoo.a` for `-l:libfoo.a`.
    pub(crate) name: OsString,
    /// Whether the linker searches only for an archive, because `-Bstatic` precedes the word.
    pub(crate) only_static: bool,
}

/// One word of the line.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    /// The text, without a carrier such as `-Wl,`.
    pub(crate) text: OsString,
    /// What the word means to the link.
    pub(crate) role: Role,
    /// How the line carries the word.
    pub(super) carrier: Carrier,
}

/// A link line.
#[derive(Debug)]
pub(crate) struct Line {
    /// The program whose options the line has.
    pub(crate) flavor: Flavor,
    /// The words, except for the words for an LTO plugin.
    pub(crate) words: Vec<Word>,
    /// The value of `-o`.
    pub(crate) output: Option<PathBuf>,
    /// The kind of the output.
    pub(crate) output_kind: Output,
    /// The machine of the output, if the line or the linker's file name gives it and weaving
    /// supports it.
    pub(crate) machine: Option<Machine>,
    /// The directories of `-L`, in order.
    pub(crate) library_directories: Vec<PathBuf>,
    /// The optimization level that the line passes to the LTO plugin (`-plugin-opt=O…`).
    pub(crate) opt: Option<OptLevel>,
    /// Whether each function gets a section: the line has `--gc-sections`, or it asks the LTO
    /// plugin for function sections.
    pub(crate) function_sections: bool,
    /// The value of `--sysroot`.
    pub(crate) sysroot: Option<PathBuf>,
    /// Whether the line certainly does not link the C library.
    pub(crate) no_libc: bool,
    /// Whether the line certainly does not link the compiler's start files (`crtbegin.o`).
    pub(crate) no_start_files: bool,
}

impl Line {
    /// Returns the file name of the output (`a.out` by default).
    pub(crate) fn output_name(&self) -> String {
        let name = self.output.as_deref().and_then(|path| path.file_name());
        name.map_or_else(
            || "a.out".to_owned(),
            |name| name.to_string_lossy().into_owned(),
        )
    }
}
