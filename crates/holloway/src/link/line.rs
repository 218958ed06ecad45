//! A link line, understood as far as weaving needs it: what are its inputs, where are libraries looked for, what
//! comes out.
//!
//! Two flavours exist: a compiler driver's line (rustc calls us in place of `cc`) and a raw ld line (clang's
//! `--ld-path`). A driver's line carries words for the linker in `-Wl,a,b` and `-Xlinker a`; they are taken apart, so
//! that an archive named inside (`-Wl,--whole-archive,libx.a`) is seen. Every word that is not an input comes out
//! as it went in, at its place.
//!
//! Options are data: the tables at the end name those whose value is the *next* word; all others are one word.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use holloway_weave::OptLevel;

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
}

impl Line {
    /// Takes a line apart; response files must have been expanded.
    pub(crate) fn parse(flavour: Flavour, args: Vec<OsString>) -> Self {
        let mut parser = Parser::new(flavour);
        parser.read(args);
        parser.finish()
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
        let mut out = Writer::default();
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

/// Puts words back on a line, lists joined again.
#[derive(Default)]
struct Writer {
    args: Vec<OsString>,
    list: Option<(usize, OsString)>,
}

impl Writer {
    fn extra(&mut self, paths: &[PathBuf]) {
        for path in paths {
            // Inside a list the objects stand before it: the linker sees them at the same place.
            self.word(path.clone().into_os_string(), Carrier::Plain);
        }
    }

    fn path(&mut self, path: OsString, carrier: Carrier) {
        let comma = path.as_bytes().contains(&b',');
        self.word(
            path,
            if comma && matches!(carrier, Carrier::List(_)) {
                Carrier::Single
            } else {
                carrier
            },
        );
    }

    fn word(&mut self, text: OsString, carrier: Carrier) {
        if let Carrier::List(number) = carrier {
            let open = self.list.take_if(|(open, _)| *open == number);
            self.close();
            let (_, mut list) = open.unwrap_or_else(|| (number, "-Wl".into()));
            list.push(",");
            list.push(text);
            self.list = Some((number, list));
            return;
        }
        self.close();
        if carrier == Carrier::Single {
            self.args.push("-Xlinker".into());
        }
        self.args.push(text);
    }

    fn close(&mut self) {
        self.args.extend(self.list.take().map(|(_, list)| list));
    }

    fn finish(mut self) -> Vec<OsString> {
        self.close();
        self.args
    }
}

/// What the option read last wants from the next word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pending {
    Nothing,
    Skip,
    Output,
    Search,
    Library,
    PluginOption,
    Plugin,
    Sysroot,
    Format,
}

struct Parser {
    line: Line,
    fixed: bool,
    saved: Vec<bool>,
    /// Inputs are raw data (`--format binary`), whatever they look like.
    data: bool,
    lists: usize,
    /// For words of the driver, and for words it hands to the linker.
    pending: [Pending; 2],
}

const DRIVER: usize = 0;
const LINKER: usize = 1;

impl Parser {
    fn new(flavour: Flavour) -> Self {
        let line = Line {
            flavour,
            words: Vec::new(),
            output: None,
            makes: Output::Executable,
            search: Vec::new(),
            opt: None,
            function_sections: false,
            sysroot: None,
            no_libc: false,
        };
        Self {
            line,
            fixed: false,
            saved: Vec::new(),
            data: false,
            lists: 0,
            pending: [Pending::Nothing; 2],
        }
    }

    fn read(&mut self, args: Vec<OsString>) {
        let driver = self.line.flavour == Flavour::Driver;
        // A driver hands -static to the linker before everything else.
        self.fixed = driver
            && args
                .iter()
                .any(|arg| arg == "-static" || arg == "-static-pie");
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            if !driver {
                self.linker_word(arg, Carrier::Plain);
            } else if self.pending[DRIVER] != Pending::Nothing {
                self.value(arg, Carrier::Plain, DRIVER);
            } else if let Some(list) = arg.as_bytes().strip_prefix(b"-Wl,") {
                self.lists += 1;
                for word in list.split(|&byte| byte == b',') {
                    self.linker_word(OsString::from_vec(word.to_vec()), Carrier::List(self.lists));
                }
            } else if arg == "-Xlinker" {
                if let Some(word) = args.next() {
                    self.linker_word(word, Carrier::Single);
                }
            } else {
                self.driver_word(arg);
            }
        }
    }

    fn push(&mut self, text: OsString, role: Role, carrier: Carrier) {
        self.line.words.push(Word {
            text,
            role,
            carrier,
        });
    }

    fn linker_word(&mut self, text: OsString, carrier: Carrier) {
        if self.pending[LINKER] != Pending::Nothing {
            return self.value(text, carrier, LINKER);
        }
        let bytes = text.as_bytes();
        if !is_option(bytes) {
            let role = if self.data { Role::Other } else { Role::Input };
            return self.push(text, role, carrier);
        }
        if self.common(&text, carrier, LINKER) {
            return;
        }
        let name = bare(&text);
        match name {
            b"Bstatic" | b"dn" | b"non_shared" | b"static" => self.fixed = true,
            b"Bdynamic" | b"dy" | b"call_shared" => self.fixed = false,
            b"push-state" => self.saved.push(self.fixed),
            b"pop-state" => self.fixed = self.saved.pop().unwrap_or(self.fixed),
            b"shared" | b"Bshareable" => self.line.makes = Output::SharedObject,
            b"r" | b"relocatable" | b"i" | b"Ur" => self.line.makes = Output::Relocatable,
            b"gc-sections" => self.line.function_sections = true,
            b"no-gc-sections" => self.line.function_sections = false,
            b"plugin" => {
                self.pending[LINKER] = Pending::Plugin;
                return;
            }
            b"plugin-opt" => {
                self.pending[LINKER] = Pending::PluginOption;
                return;
            }
            _ if name.starts_with(b"plugin-opt=") => {
                return self.plugin_option(&name[11..]);
            }
            _ if name.starts_with(b"plugin=") => return,
            b"b" | b"format" => self.pending[LINKER] = Pending::Format,
            _ if name.starts_with(b"format=") => self.data = &name[7..] == b"binary",
            _ if LINKER_VALUES.iter().any(|known| known.as_bytes() == name) => {
                self.pending[LINKER] = Pending::Skip;
            }
            _ => {}
        }
        self.push(text, Role::Other, carrier);
    }

    fn driver_word(&mut self, text: OsString) {
        let bytes = text.as_bytes();
        if !is_option(bytes) {
            return self.push(text, Role::Input, Carrier::Plain);
        }
        if self.common(&text, Carrier::Plain, DRIVER) {
            return;
        }
        match bytes {
            b"-shared" => self.line.makes = Output::SharedObject,
            b"-r" => self.line.makes = Output::Relocatable,
            b"-c" | b"-S" | b"-E" | b"-fsyntax-only" => self.line.makes = Output::NotALink,
            b"-nostdlib" | b"-nodefaultlibs" | b"-nolibc" => self.line.no_libc = true,
            _ if text.to_str().is_some_and(takes_value) => self.pending[DRIVER] = Pending::Skip,
            _ => {}
        }
        self.push(text, Role::Other, Carrier::Plain);
    }

    /// Options that both languages share. Returns whether `text` was one.
    fn common(&mut self, text: &OsStr, carrier: Carrier, who: usize) -> bool {
        let bytes = text.as_bytes();
        let long = |name: &str| {
            bytes
                .strip_prefix(name.as_bytes())
                .map(|rest| OsStr::from_bytes(rest).to_owned())
        };
        match bytes {
            b"-o" | b"--output" => self.expect(text, carrier, who, Pending::Output),
            b"-L" | b"--library-path" => self.expect(text, carrier, who, Pending::Search),
            // Joined with its value when that comes.
            b"-l" | b"--library" => self.pending[who] = Pending::Library,
            b"--sysroot" => self.expect(text, carrier, who, Pending::Sysroot),
            _ => {
                if let Some(value) = long("--output=") {
                    self.line.output = Some(value.into());
                } else if let Some(value) = long("--library-path=").or_else(|| long("-L")) {
                    self.line.search.push(value.into());
                } else if let Some(value) = long("--library=").or_else(|| long("-l")) {
                    self.library(value, carrier);
                    return true;
                } else if let Some(value) = long("--sysroot=") {
                    self.line.sysroot = Some(value.into());
                } else if let Some(value) = joined_output(bytes, who) {
                    self.line.output = Some(value.into());
                } else {
                    return false;
                }
                self.push(text.to_owned(), Role::Other, carrier);
            }
        }
        true
    }

    fn expect(&mut self, text: &OsStr, carrier: Carrier, who: usize, pending: Pending) {
        self.pending[who] = pending;
        self.push(text.to_owned(), Role::Other, carrier);
    }

    /// The word that the option before it was waiting for.
    fn value(&mut self, text: OsString, carrier: Carrier, who: usize) {
        match std::mem::replace(&mut self.pending[who], Pending::Nothing) {
            Pending::Library => return self.library(text, carrier),
            Pending::Plugin => return,
            Pending::PluginOption => return self.plugin_option(text.as_bytes()),
            Pending::Output => self.line.output = Some(text.clone().into()),
            Pending::Search => self.line.search.push(text.clone().into()),
            Pending::Sysroot => self.line.sysroot = Some(text.clone().into()),
            Pending::Format => self.data = text == "binary",
            Pending::Nothing | Pending::Skip => {}
        }
        self.push(text, Role::Other, carrier);
    }

    fn library(&mut self, name: OsString, carrier: Carrier) {
        let mut text = OsString::from("-l");
        text.push(&name);
        self.push(
            text,
            Role::Library {
                name,
                fixed: self.fixed,
            },
            carrier,
        );
    }

    /// Plugin options go no further: the plugin may not be installed, and there is no bitcode left for it.
    fn plugin_option(&mut self, option: &[u8]) {
        let option = option.strip_prefix(b"-").unwrap_or(option);
        match option {
            b"function-sections" | b"function-sections=1" => self.line.function_sections = true,
            _ => {
                let level = std::str::from_utf8(option)
                    .ok()
                    .and_then(super::settings::level);
                self.line.opt = level.or(self.line.opt);
            }
        }
    }

    fn finish(mut self) -> Line {
        let libc = |word: &Word| matches!(&word.role, Role::Library { name, .. } if name == "c");
        if self.line.words.iter().any(libc) {
            self.line.no_libc = false;
        } else if self.line.flavour == Flavour::Ld {
            self.line.no_libc = true;
        }
        self.line
    }
}

/// Empty words (`-Wl,`) and a lone dash name no file that could be woven.
fn is_option(bytes: &[u8]) -> bool {
    bytes.is_empty() || bytes[0] == b'-'
}

/// An option's name without its one or two dashes.
fn bare(text: &OsStr) -> &[u8] {
    let bytes = text.as_bytes();
    bytes
        .strip_prefix(b"--")
        .or_else(|| bytes.strip_prefix(b"-"))
        .unwrap_or(bytes)
}

/// `-oFILE`. ld reads `-omagic` and `-oformat` so too, as output files.
fn joined_output(bytes: &[u8], who: usize) -> Option<OsString> {
    let value = bytes.strip_prefix(b"-o")?;
    // clang's driver has options that begin with -o for other targets only (`-object`, `-objcmt-…`).
    let option = who == DRIVER && (value.starts_with(b"bj"));
    (!option && !value.is_empty()).then(|| OsStr::from_bytes(value).to_owned())
}

/// Whether the driver option `word` has its value in the next word.
pub(crate) fn takes_value(word: &str) -> bool {
    matches!(word, "-o" | "-L" | "-l" | "--sysroot") || DRIVER_VALUES.contains(&word)
}

/// Options of ld (GNU, gold, lld) whose value is the next word when they stand alone.
const LINKER_VALUES: &[&str] = &[
    "A",
    "a",
    "architecture",
    "assert",
    "audit",
    "auxiliary",
    "c",
    "call-graph-ordering-file",
    "chroot",
    "default-script",
    "dT",
    "defsym",
    "dependency-file",
    "depaudit",
    "dynamic-linker",
    "dynamic-list",
    "e",
    "entry",
    "error-limit",
    "exclude-libs",
    "export-dynamic-symbol",
    "export-dynamic-symbol-list",
    "F",
    "f",
    "filter",
    "fini",
    "G",
    "gpsize",
    "h",
    "I",
    "image-base",
    "init",
    "just-symbols",
    "m",
    "Map",
    "mllvm",
    "mri-script",
    "oformat",
    "out-implib",
    "P",
    "packaging-metadata",
    "print-archive-stats",
    "print-symbol-order",
    "R",
    "remap-inputs",
    "remap-inputs-file",
    "require-defined",
    "retain-symbols-file",
    "rpath",
    "rpath-link",
    "script",
    "section-ordering-file",
    "section-start",
    "shuffle-sections",
    "soname",
    "sort-section",
    "symbol-ordering-file",
    "T",
    "Tbss",
    "Tdata",
    "Tldata-segment",
    "Trodata-segment",
    "Ttext",
    "Ttext-segment",
    "thinlto-cache-dir",
    "trace-symbol",
    "u",
    "undefined",
    "undefined-glob",
    "unresolved-symbols",
    "version-exports-section",
    "version-script",
    "why-extract",
    "wrap",
    "Y",
    "y",
    "z",
];

/// Options of gcc and clang whose value is the next word when they stand alone.
const DRIVER_VALUES: &[&str] = &[
    "-A",
    "-B",
    "-D",
    "-F",
    "-G",
    "-I",
    "-MF",
    "-MQ",
    "-MT",
    "-T",
    "-Tbss",
    "-Tdata",
    "-Ttext",
    "-U",
    "-Xassembler",
    "-Xclang",
    "-Xopenmp-target",
    "-Xpreprocessor",
    "-arch",
    "-aux-info",
    "-dumpbase",
    "-dumpbase-ext",
    "-dumpdir",
    "-e",
    "-framework",
    "-gcc-toolchain",
    "-idirafter",
    "-imacros",
    "-imultilib",
    "-include",
    "-iprefix",
    "-iquote",
    "-isysroot",
    "-isystem",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-mllvm",
    "-rpath",
    "-target",
    "-u",
    "-wrapper",
    "-x",
    "-z",
    "--param",
    "--target",
];
