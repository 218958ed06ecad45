//! Reads a compiler's command line to decide which options `holloway cc` must add.

use std::borrow::Cow;
use std::ffi::OsString;

use crate::error::Result;
use crate::line::takes_value;
use crate::response::expand;

/// The actions and options of a call of the compiler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CompilerCall {
    /// Whether the call compiles C, C++, or LLVM IR to an object.
    pub(crate) compiles: bool,
    /// Whether the call links.
    pub(crate) links: bool,
    /// Whether the user asks for debug information that includes line tables.
    pub(crate) line_tables: bool,
    /// The optimization level, as in `HOLLOWAY_OPT`.
    pub(crate) opt: Option<&'static str>,
    /// Whether a sanitizer is on.
    pub(crate) sanitizes: bool,
    /// Whether `-fsanitize=cfi` or one of its parts is on.
    pub(crate) control_flow_integrity: bool,
    /// Whether `-fembed-bitcode` is given.
    pub(crate) embeds_bitcode: bool,
}

impl CompilerCall {
    /// Reads `args` and the response files among them.
    ///
    /// # Errors
    /// If response files name each other in a cycle.
    pub(crate) fn read(args: &[OsString]) -> Result<Self> {
        let args = expand(args.iter().cloned())?;
        let mut reader = Reader::default();
        let mut args = args.iter().map(|arg| arg.to_string_lossy());
        while let Some(arg) = args.next() {
            match &*arg {
                "-x" | "--language" => {
                    reader.language = args.next().map(Cow::into_owned);
                }
                "-Xclang" => {
                    reader.emits_other |= args
                        .next()
                        .is_some_and(|option| OTHER_OUTPUT.contains(&&*option));
                }
                "-Xlinker" => {
                    args.next();
                }
                option if takes_value(option) => {
                    args.next();
                }
                word => reader.word(word),
            }
        }
        Ok(reader.finish())
    }
}

#[derive(Default)]
struct Reader {
    call: CompilerCall,
    language: Option<String>,
    has_sources: bool,
    has_inputs: bool,
    object_only: bool,
    emits_other: bool,
}

impl Reader {
    fn word(&mut self, word: &str) {
        if word == "-" || !word.starts_with('-') {
            // A header is precompiled with any options. It becomes no code.
            if !self.is_header(word) {
                self.has_inputs = true;
                self.has_sources |= self.is_source(word);
            }
            return;
        }
        if let Some(language) = word
            .strip_prefix("-x")
            .or_else(|| word.strip_prefix("--language="))
        {
            self.language = Some(language.to_owned());
        } else if word == "-c" {
            self.object_only = true;
        } else if OTHER_OUTPUT.contains(&word)
            || word.starts_with("-print-")
            || word.starts_with("--print-")
        {
            self.emits_other = true;
        } else if let Some(list) = word.strip_prefix("-fsanitize=") {
            self.call.sanitizes = true;
            self.call.control_flow_integrity |= list.split(',').any(|name| name.starts_with("cfi"));
        } else if let Some(list) = word.strip_prefix("-fno-sanitize=") {
            let off = list.split(',').any(|name| name == "cfi" || name == "all");
            self.call.control_flow_integrity &= !off;
        } else if word == "-fembed-bitcode" || word.starts_with("-fembed-bitcode=") {
            self.call.embeds_bitcode = true;
        } else if let Some(level) = word.strip_prefix("-O") {
            self.call.opt = Some(level_of(level));
        } else if word.starts_with("-l") || word.starts_with("-Wl,") {
            self.has_inputs |= word.starts_with("-l");
        } else if let Some(line_tables) = line_tables(word) {
            self.call.line_tables = line_tables;
        }
    }

    /// Returns whether clang compiles the file through LLVM. Assembly is no source in this sense.
    fn is_source(&self, file: &str) -> bool {
        match self.language.as_deref() {
            Some("none") | None => {
                let extension = file.rsplit_once('.').map(|(_, extension)| extension);
                extension.is_some_and(|extension| SOURCES.contains(&extension))
            }
            Some(language) => !language.starts_with("assembler"),
        }
    }

    fn is_header(&self, file: &str) -> bool {
        match self.language.as_deref() {
            Some("none") | None => {
                let extension = file.rsplit_once('.').map(|(_, extension)| extension);
                extension.is_some_and(|extension| HEADERS.contains(&extension))
            }
            Some(language) => language.ends_with("-header"),
        }
    }

    fn finish(self) -> CompilerCall {
        let writes_code = self.has_inputs && !self.emits_other;
        CompilerCall {
            compiles: writes_code && self.has_sources,
            links: writes_code && !self.object_only,
            ..self.call
        }
    }
}

/// Returns LLVM's name for the level of a `-O` option: four levels and two size levels.
fn level_of(level: &str) -> &'static str {
    match level {
        "0" => "O0",
        "" | "1" | "g" => "O1",
        "s" => "Os",
        "z" => "Oz",
        "3" | "4" | "fast" => "O3",
        _ => "O2",
    }
}

/// Returns whether an option turns line tables on (`true`) or off (`false`). `None`: neither.
fn line_tables(word: &str) -> Option<bool> {
    match word {
        "-g0" | "-ggdb0" | "-gline-directives-only" => Some(false),
        "-g" | "-g1" | "-g2" | "-g3" | "-gline-tables-only" | "-gmlt" | "-gfull" | "-gused"
        | "-gmodules" => Some(true),
        _ if word.starts_with("-ggdb")
            || word.starts_with("-glldb")
            || word.starts_with("-gdwarf-") && word != "-gdwarf-aranges" =>
        {
            Some(true)
        }
        _ => None,
    }
}

/// Options that make clang write no object, or a file that cannot be woven.
const OTHER_OUTPUT: [&str; 27] = [
    "-E",
    "-S",
    "-M",
    "-MM",
    "-fsyntax-only",
    "-emit-llvm",
    "-emit-ast",
    "-emit-pch",
    "-emit-llvm-bc",
    "--analyze",
    "--precompile",
    "--preprocess",
    "--assemble",
    "-dM",
    "-fdriver-only",
    "--version",
    "--help",
    "-help",
    "-dumpmachine",
    "-dumpversion",
    "-emit-interface-stubs",
    "--help-hidden",
    "-verify-pch",
    "-rewrite-objc",
    "-extract-api",
    "-E=",
    "-cc1",
];

/// Extensions of sources that become LLVM IR.
const SOURCES: [&str; 22] = [
    "c", "cc", "cp", "cpp", "CPP", "cxx", "c++", "C", "CC", "CXX", "C++", "i", "ii", "m", "mm",
    "M", "mi", "mii", "ll", "bc", "cppm", "ixx",
];

/// Extensions of headers, which become precompiled headers.
const HEADERS: [&str; 5] = ["h", "hh", "hpp", "hxx", "H"];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn check(line: &str, expect: &str) {
        let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let call = CompilerCall::read(&args).unwrap();
        let mut facts = Vec::new();
        facts.extend(call.compiles.then_some("compiles"));
        facts.extend(call.links.then_some("links"));
        facts.extend(call.line_tables.then_some("debug"));
        facts.extend(call.opt);
        facts.extend(call.control_flow_integrity.then_some("cfi"));
        facts.extend(call.embeds_bitcode.then_some("embeds"));
        assert_eq!(facts.join(" "), expect, "{line}");
    }

    #[test]
    fn actions_and_options_are_read_from_a_line() {
        check("-c a.c", "compiles");
        check("a.c b.o -o app", "compiles links");
        check("-O2 -g a.c", "compiles links debug O2");
        check("a.o b.o -lm", "links");
        check("-O a.o -Og", "links O1");
        check("--version", "");
        check("-v", "");
        check("-print-prog-name=ld", "");
        check("-E a.c", "");
        check("-S -O1 a.c -o a.s", "O1");
        check("-M a.c", "");
        check("-MD -MF a.d -c a.c", "compiles");
        check("-fsyntax-only a.c", "");
        check("-c -emit-llvm a.c", "");
        check("-c a.s", "");
        check("-c a.S", "");
        check("-x assembler -c a", "");
        check("-x c -c -", "compiles");
        check("-xc++ -", "compiles links");
        check("-x c++-header a.h -o a.pch", "");
        check("-O2 a.h -o a.h.gch", "O2");
        check("-c a.hpp", "");
        check("-x c-header a -x none b.c", "compiles links");
        check("-x c a.h", "compiles links");
        check("-include a.h -c b.c", "compiles");
        check("-Xclang -include-pch -Xclang a.h.pch -c b.c", "compiles");
        check("-fembed-bitcode -c a.c", "compiles embeds");
        check("-fembed-bitcode=marker -c a.c", "compiles embeds");
        check("-x c a -x none b.o", "compiles links");
        check("-D x.c -I y.c -c z.s", "");
        check("-g0 -c a.c", "compiles");
        check("-ggdb3 -c a.c", "compiles debug");
        check("-gdwarf-4 -c a.c", "compiles debug");
        check("-gcc-toolchain x -c a.c", "compiles");
        check("-dumpmachine", "");
        check("-fsanitize=address,cfi-vcall -c a.c", "compiles cfi");
        check("-fsanitize=cfi -fno-sanitize=all -c a.c", "compiles");
        check("-c -Xclang -emit-llvm a.c", "");
        check(
            "-shared -fPIC a.cpp -o a.so -Wl,-soname,a.c",
            "compiles links",
        );
    }
}
