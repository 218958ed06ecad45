//! Parses a link line, word by word.
//!
//! Two state machines read the words: one reads words for the compiler driver, the other reads
//! words for the linker. On the line of a compiler driver, the words for the linker are the words
//! that `-Wl,` and `-Xlinker` carry. Each state machine may be waiting for the value of its
//! previous option.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use holloway_weave::image::Machine;

use super::model::{Carrier, Flavor, Library, Line, Output, Role, Word};
use super::options::{LINKER_VALUES, takes_value};
use crate::level;

impl Line {
    /// Parses a line. Response files must have been expanded.
    pub(crate) fn parse(flavor: Flavor, args: Vec<OsString>) -> Self {
        let mut parser = Parser::new(flavor);
        parser.read(args);
        parser.finish()
    }
}

/// The meaning of the next word as a value of the option before it.
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
    Emulation,
    Target,
}

struct Parser {
    line: Line,
    /// Whether the linker searches only for archives (`-Bstatic`).
    only_static: bool,
    /// The values of `only_static` that `--push-state` saved.
    saved_states: Vec<bool>,
    /// Whether inputs are raw data, even if they look like objects (`--format binary`).
    inputs_are_data: bool,
    /// How many `-Wl,` lists have been read.
    list_count: usize,
    pending: PendingOptions,
}

/// The program that a word is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reader {
    Driver,
    Linker,
}

/// The meaning of the next word of each reader.
struct PendingOptions {
    driver: Pending,
    linker: Pending,
}

impl PendingOptions {
    fn by(&mut self, reader: Reader) -> &mut Pending {
        match reader {
            Reader::Driver => &mut self.driver,
            Reader::Linker => &mut self.linker,
        }
    }
}

impl Parser {
    fn new(flavor: Flavor) -> Self {
        let line = Line {
            flavor,
            words: Vec::new(),
            output: None,
            output_kind: Output::Executable,
            machine: None,
            library_directories: Vec::new(),
            opt: None,
            function_sections: false,
            sysroot: None,
            no_libc: false,
            no_start_files: false,
        };
        Self {
            line,
            only_static: false,
            saved_states: Vec::new(),
            inputs_are_data: false,
            list_count: 0,
            pending: PendingOptions {
                driver: Pending::Nothing,
                linker: Pending::Nothing,
            },
        }
    }

    fn read(&mut self, args: Vec<OsString>) {
        let driver = self.line.flavor == Flavor::Driver;
        // A compiler driver passes -static to the linker before all other words.
        self.only_static = driver
            && args
                .iter()
                .any(|arg| arg == "-static" || arg == "-static-pie");
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            if !driver {
                self.linker_word(arg, Carrier::Plain);
            } else if self.pending.driver != Pending::Nothing {
                self.value(arg, Carrier::Plain, Reader::Driver);
            } else if let Some(list) = arg.as_bytes().strip_prefix(b"-Wl,") {
                self.list_count += 1;
                for word in list.split(|&byte| byte == b',') {
                    self.linker_word(
                        OsString::from_vec(word.to_vec()),
                        Carrier::List(self.list_count),
                    );
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
        if self.pending.linker != Pending::Nothing {
            return self.value(text, carrier, Reader::Linker);
        }
        let bytes = text.as_bytes();
        if !is_option(bytes) {
            let role = if self.inputs_are_data {
                Role::Other
            } else {
                Role::Input
            };
            return self.push(text, role, carrier);
        }
        if self.common(&text, carrier, Reader::Linker) {
            return;
        }
        let name = bare(&text);
        match name {
            b"Bstatic" | b"dn" | b"non_shared" | b"static" => self.only_static = true,
            b"Bdynamic" | b"dy" | b"call_shared" => self.only_static = false,
            b"push-state" => self.saved_states.push(self.only_static),
            b"pop-state" => self.only_static = self.saved_states.pop().unwrap_or(self.only_static),
            b"shared" | b"Bshareable" => self.line.output_kind = Output::SharedObject,
            b"r" | b"relocatable" | b"i" | b"Ur" => self.line.output_kind = Output::Relocatable,
            b"gc-sections" => self.line.function_sections = true,
            b"no-gc-sections" => self.line.function_sections = false,
            b"plugin" => {
                self.pending.linker = Pending::Plugin;
                return;
            }
            b"plugin-opt" => {
                self.pending.linker = Pending::PluginOption;
                return;
            }
            _ if name.starts_with(b"plugin-opt=") => {
                return self.plugin_option(&name[11..]);
            }
            _ if name.starts_with(b"plugin=") => return,
            b"b" | b"format" => self.pending.linker = Pending::Format,
            b"m" => self.pending.linker = Pending::Emulation,
            _ if name.starts_with(b"format=") => self.inputs_are_data = &name[7..] == b"binary",
            _ if LINKER_VALUES.iter().any(|known| known.as_bytes() == name) => {
                self.pending.linker = Pending::Skip;
            }
            _ if text.as_bytes().starts_with(b"-m") => self.emulation(&name[1..]),
            _ => {}
        }
        self.push(text, Role::Other, carrier);
    }

    fn driver_word(&mut self, text: OsString) {
        let bytes = text.as_bytes();
        if !is_option(bytes) {
            return self.push(text, Role::Input, Carrier::Plain);
        }
        if self.common(&text, Carrier::Plain, Reader::Driver) {
            return;
        }
        match bytes {
            b"-shared" => self.line.output_kind = Output::SharedObject,
            b"-r" => self.line.output_kind = Output::Relocatable,
            b"-c" | b"-S" | b"-E" | b"-fsyntax-only" => self.line.output_kind = Output::NotALink,
            b"-target" => self.pending.driver = Pending::Target,
            _ if bytes.starts_with(b"--target=") => self.target(&bytes[9..]),
            b"-nostdlib" => (self.line.no_libc, self.line.no_start_files) = (true, true),
            b"-nodefaultlibs" | b"-nolibc" => self.line.no_libc = true,
            b"-nostartfiles" => self.line.no_start_files = true,
            _ if text.to_str().is_some_and(takes_value) => self.pending.driver = Pending::Skip,
            _ => {}
        }
        self.push(text, Role::Other, Carrier::Plain);
    }

    /// Reads an option that compiler drivers and linkers share. Returns whether `text` is one.
    fn common(&mut self, text: &OsStr, carrier: Carrier, reader: Reader) -> bool {
        let bytes = text.as_bytes();
        let value_after = |prefix: &str| {
            bytes
                .strip_prefix(prefix.as_bytes())
                .map(|value| OsStr::from_bytes(value).to_owned())
        };
        match bytes {
            b"-o" | b"--output" => self.expect(text, carrier, reader, Pending::Output),
            b"-L" | b"--library-path" => self.expect(text, carrier, reader, Pending::Search),
            // `library` writes the option and its value as one word.
            b"-l" | b"--library" => *self.pending.by(reader) = Pending::Library,
            b"--sysroot" => self.expect(text, carrier, reader, Pending::Sysroot),
            _ => {
                if let Some(value) = value_after("--output=") {
                    self.line.output = Some(value.into());
                } else if let Some(value) =
                    value_after("--library-path=").or_else(|| value_after("-L"))
                {
                    self.line.library_directories.push(value.into());
                } else if let Some(value) = value_after("--library=").or_else(|| value_after("-l"))
                {
                    self.library(value, carrier);
                    return true;
                } else if let Some(value) = value_after("--sysroot=") {
                    self.line.sysroot = Some(value.into());
                } else if let Some(value) = joined_output(bytes, reader) {
                    self.line.output = Some(value.into());
                } else {
                    return false;
                }
                self.push(text.to_owned(), Role::Other, carrier);
            }
        }
        true
    }

    fn expect(&mut self, text: &OsStr, carrier: Carrier, reader: Reader, pending: Pending) {
        *self.pending.by(reader) = pending;
        self.push(text.to_owned(), Role::Other, carrier);
    }

    /// Reads the value of the previous option.
    fn value(&mut self, text: OsString, carrier: Carrier, reader: Reader) {
        match std::mem::replace(self.pending.by(reader), Pending::Nothing) {
            Pending::Library => return self.library(text, carrier),
            Pending::Plugin => return,
            Pending::PluginOption => return self.plugin_option(text.as_bytes()),
            Pending::Output => self.line.output = Some(text.clone().into()),
            Pending::Search => self.line.library_directories.push(text.clone().into()),
            Pending::Sysroot => self.line.sysroot = Some(text.clone().into()),
            Pending::Format => self.inputs_are_data = text == "binary",
            Pending::Emulation => self.emulation(text.as_bytes()),
            Pending::Target => self.target(text.as_bytes()),
            Pending::Nothing | Pending::Skip => {}
        }
        self.push(text, Role::Other, carrier);
    }

    /// Reads the value of `-m`. Weaving does not support the machines of other emulations.
    fn emulation(&mut self, name: &[u8]) {
        match name {
            b"elf_x86_64" => self.line.machine = Some(Machine::X86_64),
            b"aarch64linux" | b"aarch64elf" => self.line.machine = Some(Machine::Aarch64),
            _ => {}
        }
    }

    fn target(&mut self, triple: &[u8]) {
        let triple = std::str::from_utf8(triple).ok();
        self.line.machine = triple.and_then(Machine::of_triple);
    }

    fn library(&mut self, name: OsString, carrier: Carrier) {
        let mut text = OsString::from("-l");
        text.push(&name);
        self.push(
            text,
            Role::Library(Library {
                name,
                only_static: self.only_static,
            }),
            carrier,
        );
    }

    /// Reads an option for the LTO plugin. The option is not passed to the linker, because the
    /// plugin may not be installed, and the woven line has no bitcode for the plugin.
    fn plugin_option(&mut self, option: &[u8]) {
        let option = option.strip_prefix(b"-").unwrap_or(option);
        match option {
            b"function-sections" | b"function-sections=1" => self.line.function_sections = true,
            _ => {
                let level = std::str::from_utf8(option).ok().and_then(level::parse);
                self.line.opt = level.or(self.line.opt);
            }
        }
    }

    fn finish(mut self) -> Line {
        let is_ld = self.line.flavor == Flavor::Ld;
        let any_word = |test: fn(&Word) -> bool| self.line.words.iter().any(test);
        let names_libc =
            any_word(|word| matches!(&word.role, Role::Library(library) if library.name == "c"));
        let names_start_file = any_word(|word| {
            let text = word.text.to_string_lossy();
            word.role == Role::Input
                && text
                    .rsplit('/')
                    .next()
                    .is_some_and(|name| name.contains("crtbegin"))
        });
        // ld links no library and no start file by default.
        self.line.no_libc = !names_libc && (is_ld || self.line.no_libc);
        self.line.no_start_files = !names_start_file && (is_ld || self.line.no_start_files);
        self.line
    }
}

/// Returns whether a word is no input. An empty word (`-Wl,`) and a lone dash count as options,
/// because they name no file that could be woven.
fn is_option(bytes: &[u8]) -> bool {
    bytes.is_empty() || bytes[0] == b'-'
}

/// Removes the one or two dashes of an option.
fn bare(text: &OsStr) -> &[u8] {
    let bytes = text.as_bytes();
    bytes
        .strip_prefix(b"--")
        .or_else(|| bytes.strip_prefix(b"-"))
        .unwrap_or(bytes)
}

/// Returns the value of `-oFILE`. ld reads `-omagic` and `-oformat` as output files, too.
fn joined_output(bytes: &[u8], reader: Reader) -> Option<OsString> {
    let value = bytes.strip_prefix(b"-o")?;
    // For some targets, clang has other options that begin with -o (`-object`, `-objcmt-…`).
    let is_other_option = reader == Reader::Driver && value.starts_with(b"bj");
    (!is_other_option && !value.is_empty()).then(|| OsStr::from_bytes(value).to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::write::ExtraObjects;
    use super::*;
    use std::path::PathBuf;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    /// The inputs and libraries of a line. A `!` follows a library that must be an archive: `a.o`,
    /// `-lx`, `-lx!`.
    fn inputs(line: &Line) -> String {
        let shown = line.words.iter().filter_map(|word| match &word.role {
            Role::Other => None,
            Role::Library(library) if library.only_static => {
                Some(format!("{}!", word.text.display()))
            }
            Role::Input | Role::Library(_) => Some(word.text.display().to_string()),
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    fn driver(line: &str, expect: &str) -> Line {
        let parsed = Line::parse(Flavor::Driver, words(line));
        assert_eq!(inputs(&parsed), expect, "{line}");
        parsed
    }

    fn ld(line: &str, expect: &str) -> Line {
        let parsed = Line::parse(Flavor::Ld, words(line));
        assert_eq!(inputs(&parsed), expect, "{line}");
        parsed
    }

    #[test]
    fn values_of_options_are_no_inputs() {
        driver(
            "a.o -o b.o -L dir -I c.o -T d.o e.o -u f.o -l g -lh",
            "a.o e.o -lg -lh",
        );
        driver(
            "-Wl,-z,now,a.a -Wl,-rpath -Wl,b.o -Xlinker -soname -Xlinker c.o d.o",
            "a.a d.o",
        );
        driver("-Wl, - a.o", "a.o");
        ld(
            "a.o -o b.o -m elf -z now -dynamic-linker c.o -soname d.o --wrap e.o f.o -T=x -Tg.ld",
            "a.o f.o",
        );
        ld(
            "-b binary a.o -b elf64-x86-64 b.o --format=binary c.o --format default d.o",
            "b.o d.o",
        );
        ld(
            "-plugin a.so -plugin-opt=mcpu=x -plugin-opt O3 b.o -plugin=c.so",
            "b.o",
        );
    }

    #[test]
    fn static_options_apply_to_the_libraries_after_them() {
        driver("-la -Wl,-Bstatic -lb -Wl,-Bdynamic,-lc", "-la -lb! -lc");
        driver("-la -static -lb", "-la! -lb!");
        ld(
            "-la -dn -lb --push-state -Bdynamic -lc --pop-state -ld -dy -le",
            "-la -lb! -lc -ld! -le",
        );
    }

    #[test]
    fn output_kind_and_plugin_options_are_parsed() {
        let makes = |line: &str| driver(line, "a.o").output_kind;
        assert_eq!(makes("a.o -pie"), Output::Executable);
        assert_eq!(makes("a.o -shared"), Output::SharedObject);
        assert_eq!(makes("a.o -Wl,-shared"), Output::SharedObject);
        assert_eq!(makes("a.o -r"), Output::Relocatable);
        assert_eq!(makes("-c a.o"), Output::NotALink);
        assert_eq!(
            ld("a.o --output=x/y", "a.o").output,
            Some(PathBuf::from("x/y"))
        );
        assert_eq!(ld("a.o -ox", "a.o").output_name(), "x");
        assert_eq!(ld("a.o", "a.o").output_name(), "a.out");
        assert_eq!(
            ld("a.o -plugin-opt=O1 -plugin-opt=-function-sections=1", "a.o").opt,
            Some(holloway_weave::OptLevel::O1)
        );
        assert!(driver("a.o -Wl,--gc-sections", "a.o").function_sections);
        assert!(
            driver("a.o -nodefaultlibs", "a.o").no_libc
                && !driver("a.o -nodefaultlibs -lc", "a.o -lc").no_libc
        );
    }

    #[test]
    fn emulation_or_target_give_the_machine() {
        use Machine::{Aarch64, X86_64};
        let made_for = |line: &str| ld(line, "a.o").machine;
        assert_eq!(made_for("a.o"), None);
        assert_eq!(made_for("-m elf_x86_64 a.o"), Some(X86_64));
        assert_eq!(made_for("-maarch64linux a.o"), Some(Aarch64));
        assert_eq!(made_for("-m elf_i386 a.o -mllvm x"), None);
        let made_for = |line: &str| driver(line, "a.o").machine;
        assert_eq!(made_for("a.o -m64 -march=native"), None);
        assert_eq!(made_for("--target=aarch64-linux-gnu a.o"), Some(Aarch64));
        assert_eq!(made_for("-target x86_64-linux-gnu a.o"), Some(X86_64));
        assert_eq!(made_for("a.o -Wl,-m,aarch64elf"), Some(Aarch64));
    }

    #[test]
    fn a_line_is_written_as_it_was_parsed() {
        let line =
            "a.o -Wl,--whole-archive,b.a,--no-whole-archive -Xlinker -z -Xlinker now -lc -o d";
        let parsed = driver(line, "a.o b.a -lc");
        assert_eq!(parsed.write(&|_| None, &ExtraObjects::NONE), words(line));
        let number = |text: &str| parsed.words.iter().position(|word| word.text == text);
        let swapped = parsed.write(
            &|word| (Some(word) == number("b.a")).then(|| "t/b.a".into()),
            &ExtraObjects {
                paths: &["i.o".into()],
                before_word: 0,
            },
        );
        assert_eq!(
            swapped,
            words(&format!("i.o {}", line.replace(",b.a,", ",t/b.a,")))
        );
        let comma = parsed.write(
            &|word| (Some(word) == number("b.a")).then(|| "t,/b.a".into()),
            &ExtraObjects::NONE,
        );
        let expect = "a.o -Wl,--whole-archive -Xlinker t,/b.a -Wl,--no-whole-archive -Xlinker -z -Xlinker now -lc -o d";
        assert_eq!(comma, words(expect));
    }

    #[test]
    fn words_for_an_lto_plugin_are_dropped() {
        let line = driver(
            "-Wl,-plugin-opt=O3,-plugin-opt=mcpu=x a.o -Wl,-plugin,x.so,-z,now",
            "a.o",
        );
        assert_eq!(
            line.write(&|_| None, &ExtraObjects::NONE),
            words("a.o -Wl,-z,now")
        );
    }
}
