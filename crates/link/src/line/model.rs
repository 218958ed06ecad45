//! The parts of a link line.

use std::ffi::OsString;
use std::path::PathBuf;

use holloway_weave::OptLevel;
use holloway_weave::image::Machine;

/// The program whose options a line has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavor {
    /// `cc`'s.
    Driver,
    /// `ld`'s.
    Ld,
}

/// Kind of a link's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// A program, position independent or not.
    Executable,
    /// A shared object.
    SharedObject,
    /// One object of several (`-r`).
    Relocatable,
    /// None: nothing is linked (`-c`, `-E`, `-S` on a driver's line).
    NotALink,
}

/// How a word reaches the linker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carrier {
    /// As a word of the line.
    Plain,
    /// In the `-Wl,` list with this number.
    List(usize),
    /// Behind `-Xlinker`.
    Single,
}

/// The part that a word plays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Anything that weaving leaves alone.
    Other,
    /// A file to link.
    Input,
    /// A library to look for.
    Library(Library),
}

/// A library to look for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Library {
    /// `foo` of `-lfoo`, `:libfoo.a` of `-l:libfoo.a`.
    pub(crate) name: OsString,
    /// Only archives are looked for at this place of the line.
    pub(crate) only_static: bool,
}

/// One word of the line.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    /// As given.
    pub(crate) text: OsString,
    /// Its part.
    pub(crate) role: Role,
    /// How it reaches the linker.
    pub(super) carrier: Carrier,
}

/// A link line.
#[derive(Debug)]
pub(crate) struct Line {
    /// The program whose options the line has.
    pub(crate) flavor: Flavor,
    /// The words without those for an LTO plugin.
    pub(crate) words: Vec<Word>,
    /// Value of `-o`.
    pub(crate) output: Option<PathBuf>,
    /// Kind of the output.
    pub(crate) output_kind: Output,
    /// The machine of the output, if the line or the linker's name says it and weaving knows it.
    pub(crate) machine: Option<Machine>,
    /// `-L`, in order.
    pub(crate) search: Vec<PathBuf>,
    /// `-plugin-opt=O…`.
    pub(crate) opt: Option<OptLevel>,
    /// `--gc-sections`, or function sections asked of the plugin.
    pub(crate) function_sections: bool,
    /// `--sysroot`.
    pub(crate) sysroot: Option<PathBuf>,
    /// Whether the C library is surely not linked.
    pub(crate) no_libc: bool,
    /// Whether the compiler's start files (`crtbegin.o`) are surely not linked.
    pub(crate) no_start_files: bool,
}

impl Line {
    /// File name of the output (`a.out` by default).
    pub(crate) fn output_name(&self) -> String {
        let name = self.output.as_deref().and_then(|path| path.file_name());
        name.map_or_else(
            || "a.out".to_owned(),
            |name| name.to_string_lossy().into_owned(),
        )
    }
}
