//! A link line, understood as far as weaving needs it: what are its inputs, where are libraries looked for, what
//! comes out.
//!
//! Two flavours exist: a compiler driver's line (rustc calls us in place of `cc`) and a raw ld line (clang's
//! `--ld-path`). A driver's line carries words for the linker in `-Wl,a,b` and `-Xlinker a`; they are taken apart, so
//! that an archive named inside (`-Wl,--whole-archive,libx.a`) is seen. Every word that is not an input comes out
//! as it went in, at its place.
//!
//! Options are data: the tables in `options` name those whose value is the *next* word; all others are one word.

mod options;
mod parse;
mod write;

use std::ffi::OsString;
use std::path::PathBuf;

use holloway_weave::OptLevel;
use holloway_weave::image::Machine;

pub(crate) use options::takes_value;

/// Whose language the line is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// `cc`'s.
    Driver,
    /// `ld`'s.
    Ld,
}

/// What the link makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// A program, position independent or not.
    Executable,
    /// A shared object.
    SharedObject,
    /// One object of several (`-r`).
    Relocatable,
    /// Nothing is linked (`-c`, `-E`, `-S` on a driver's line).
    NotALink,
}

/// How a word reaches the linker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carrier {
    /// As a word of the line.
    Plain,
    /// In the `-Wl,` list with this number.
    List(usize),
    /// Behind `-Xlinker`.
    Single,
}

/// What a word is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Anything that weaving leaves alone.
    Other,
    /// A file to link.
    Input,
    /// A library to look for.
    Library {
        /// `foo` of `-lfoo`, `:libfoo.a` of `-l:libfoo.a`.
        name: OsString,
        /// Only static ones are looked for here.
        fixed: bool,
    },
}

/// One word of the line.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    /// As given.
    pub(crate) text: OsString,
    /// What it is.
    pub(crate) role: Role,
    carrier: Carrier,
}

/// A link line.
#[derive(Debug)]
pub(crate) struct Line {
    /// Whose language.
    pub(crate) flavour: Flavour,
    /// The words without those for an LTO plugin.
    pub(crate) words: Vec<Word>,
    /// Value of `-o`.
    pub(crate) output: Option<PathBuf>,
    /// What is made.
    pub(crate) makes: Output,
    /// What it is made for, where the line or the linker's name says it and weaving knows it.
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
    /// Takes a line apart; response files must have been expanded.
    pub(crate) fn parse(flavour: Flavour, args: Vec<OsString>) -> Self {
        parse::parse(flavour, args)
    }

    /// File name of what is made (`a.out` by default).
    pub(crate) fn output_name(&self) -> String {
        let name = self.output.as_deref().and_then(|path| path.file_name());
        name.map_or_else(
            || "a.out".to_owned(),
            |name| name.to_string_lossy().into_owned(),
        )
    }

    /// The line as words for the real linker: `swap(i)` replaces word `i` by a path, and `extra` stands before word
    /// `at`.
    pub(crate) fn write(
        &self,
        swap: &dyn Fn(usize) -> Option<PathBuf>,
        extra: &[PathBuf],
        at: usize,
    ) -> Vec<OsString> {
        let mut out = write::Writer::default();
        for (index, word) in self.words.iter().enumerate() {
            if index == at {
                out.extra(extra);
            }
            match swap(index) {
                Some(path) => out.path(path.into_os_string(), word.carrier),
                None => out.word(word.text.clone(), word.carrier),
            }
        }
        if at >= self.words.len() {
            out.extra(extra);
        }
        out.finish()
    }
}
