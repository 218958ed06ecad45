//! The code that a report shows, selected by crate, by file, or by origin (`--crate`, `--file`,
//! `--workspace`), and where code comes from.
//!
//! A source file says where its code comes from. Instances of a generic function have the file of
//! the generic function, so they belong to the crate that defines it, no matter which crate
//! instantiated them.
//!
//! The workspace is what remains after all files that the user did not write: the standard
//! libraries of Rust and C++, system headers, and crates that cargo downloaded. This needs no
//! cargo, so it also holds for C programs, and for runs that were recorded elsewhere.

use std::path::{Component, Path, PathBuf};

use holloway_format::SourceFile;
use regex::Regex;

use crate::places::{is_library, short};
use crate::source::Source;

/// The code that a report shows. The default shows all code, or the workspace in the lines view.
#[derive(Clone, Debug, Default)]
pub struct CodeFilter {
    /// Shows only code of these crates. An empty list shows code of all crates.
    pub crates: Vec<String>,
    /// The patterns that select files, and those that leave files out. Without a pattern that
    /// selects, code of all other files is shown.
    pub files: Vec<Glob>,
    /// Shows only code of this origin.
    pub origin: Origin,
}

/// Whether a report shows only code of the workspace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Origin {
    /// The workspace in the lines view for the terminal, the functions that ran in JSON, all code
    /// elsewhere.
    #[default]
    ByView,
    /// The workspace only.
    Workspace,
    /// All code.
    All,
}

impl CodeFilter {
    /// Whether the user selected crates, files, or the workspace.
    pub fn is_given(&self) -> bool {
        self.origin == Origin::Workspace || !self.crates.is_empty() || !self.files.is_empty()
    }

    /// Whether the user selected crates, files, or the workspace, rather than only excluding files.
    pub(crate) fn selects(&self) -> bool {
        self.origin == Origin::Workspace || !self.crates.is_empty() || self.selects_files()
    }

    /// The patterns that match none of these files, as the user wrote them.
    pub(crate) fn without_file(&self, files: &[&str], cwd: Option<&Path>) -> Vec<&str> {
        let globs = self.files.iter();
        let without = globs.filter(|glob| !files.iter().any(|file| glob.selects(file, cwd)));
        without.map(|glob| &*glob.text).collect()
    }

    /// Whether the user selected files, but none of these patterns matches a file of the program.
    /// `without_file` has the patterns that match none.
    pub(crate) fn finds_no_file(&self, without_file: &[&str]) -> bool {
        let mut selecting = self.files.iter().filter(|glob| !glob.excludes).peekable();
        selecting.peek().is_some() && selecting.all(|glob| without_file.contains(&&*glob.text))
    }

    /// Whether the user selected files, rather than only excluding some.
    pub(crate) fn selects_files(&self) -> bool {
        self.files.iter().any(|glob| !glob.excludes)
    }

    /// Whether the filter keeps code of a file.
    pub(crate) fn keeps_file(&self, file: &str, cwd: Option<&Path>) -> bool {
        let matches = |glob: &Glob| glob.selects(file, cwd);
        (self.origin != Origin::Workspace || is_workspace(file))
            && (self.files.iter().all(|glob| glob.excludes)
                || self
                    .files
                    .iter()
                    .any(|glob| !glob.excludes && matches(glob)))
            && !self.files.iter().any(|glob| glob.excludes && matches(glob))
    }

    /// Reads the files of the workspace that the filter keeps, so that
    /// [`changed_files`](crate::changed_files) knows them: for reports that show places without
    /// their text.
    pub fn read_workspace<'a>(
        &self,
        compiled: impl IntoIterator<Item = &'a SourceFile>,
        cwd: Option<&Path>,
        source: &dyn Source,
    ) {
        for SourceFile { file, .. } in compiled {
            if is_workspace(file) && self.keeps_file(file, cwd) {
                source.line(file, 1);
            }
        }
    }

    /// Whether the filter keeps code of a crate.
    pub(crate) fn keeps_crate(&self, name: &str) -> bool {
        self.crates.is_empty() || self.crates.iter().any(|wanted| same_crate(wanted, name))
    }
}

/// Whether two names mean the same crate: `pulldown-cmark` is `pulldown_cmark` in code.
pub(crate) fn same_crate(a: &str, b: &str) -> bool {
    let spelled = |name: &str| name.replace('-', "_");
    spelled(a) == spelled(b)
}

/// A pattern of file names. `*` stands for characters of one name, `**` for any characters, and `?`
/// for one character. The pattern matches the whole path or the end of it, from a `/` on. A `!` at
/// the beginning excludes the files that the rest matches.
#[derive(Clone, Debug)]
pub struct Glob {
    text: String,
    regex: Regex,
    excludes: bool,
}

impl Glob {
    /// Reads a pattern. Every text is a pattern.
    pub fn new(text: &str) -> Glob {
        let mut regex = "(?:^|/)".to_owned();
        let pattern = text.strip_prefix('!');
        let excludes = pattern.is_some();
        let pattern = pattern.unwrap_or(text);
        let mut rest = pattern.strip_prefix("./").unwrap_or(pattern);
        while let Some(first) = rest.chars().next() {
            let (expression, length) = match first {
                '*' if rest.starts_with("**/") => ("(?:.*/)?".to_owned(), 3),
                '*' if rest.starts_with("**") => (".*".to_owned(), 2),
                '*' => ("[^/]*".to_owned(), 1),
                '?' => ("[^/]".to_owned(), 1),
                other => (regex::escape(&other.to_string()), other.len_utf8()),
            };
            regex += &expression;
            rest = &rest[length..];
        }
        regex.push('$');
        let regex = Regex::new(&regex).expect("the expression has no syntax but its own");
        let text = text.to_owned();
        Glob {
            text,
            regex,
            excludes,
        }
    }

    /// Reads a pattern that a user wrote in a folder. A pattern that leads out of the folder
    /// (`../a.c`) becomes a whole path.
    pub fn in_folder(text: &str, folder: Option<&Path>) -> Glob {
        let pattern = text.strip_prefix('!').unwrap_or(text);
        let leads_up = Path::new(pattern)
            .components()
            .any(|part| part == Component::ParentDir);
        let Some(folder) = folder.filter(|_| leads_up) else {
            return Glob::new(text);
        };
        let sign = &text[..text.len() - pattern.len()];
        let path = without_dots(&folder.join(pattern));
        Glob {
            text: text.to_owned(),
            ..Glob::new(&format!("{sign}{path}"))
        }
    }

    /// Whether the pattern, without its `!`, matches a file: its name in the path map, its short
    /// name, or its path.
    pub(crate) fn selects(&self, file: &str, cwd: Option<&Path>) -> bool {
        !file.is_empty()
            && (self.matches(file)
                || self.matches(&short(file, cwd))
                || self.matches(&without_dots(Path::new(file))))
    }

    /// The pattern, as the user wrote it.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the pattern, without its `!`, matches a path.
    pub fn matches(&self, path: &str) -> bool {
        self.regex.is_match(path)
    }
}

/// A path without `.` and `..`. Links are not followed: the files may be on another machine.
pub(crate) fn without_dots(path: &Path) -> String {
    let mut kept = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(kept.components().next_back(), Some(Component::Normal(_))) =>
            {
                kept.pop();
            }
            Component::ParentDir
            | Component::Normal(_)
            | Component::RootDir
            | Component::Prefix(_) => kept.push(part),
        }
    }
    kept.display().to_string()
}

/// Whether a file belongs to the workspace: whether neither the standard library, nor the system,
/// nor a downloaded crate contains it. Code without a file is not of the workspace: the compiler
/// made it, such as the shims that call the allocator.
pub(crate) fn is_workspace(file: &str) -> bool {
    const SYSTEM: [&str; 2] = ["/usr/lib/", "/usr/local/include/"];
    !file.is_empty()
        && !is_library(file)
        && package(file).is_none()
        && !file.contains("/git/checkouts/")
        && !SYSTEM.iter().any(|directory| file.starts_with(directory))
}

/// The package of a file below the directory of a registry, with its version: `memchr-2.7.4`.
fn package(file: &str) -> Option<&str> {
    // Rust's standard library has the files of its own dependencies below `/rust/deps`.
    let below = match file.split_once("/registry/src/") {
        Some((_, below_registries)) => below_registries.split_once('/')?.1,
        None => file.strip_prefix("/rust/deps/")?,
    };
    Some(below.split_once('/')?.0)
}

/// The library that a file outside the workspace belongs to: `std`, `memchr-2.7.4`, or
/// `system headers`.
pub(crate) fn library(file: &str) -> &str {
    let is_rust_library = || short(file, None).starts_with("<std>/");
    match package(file) {
        Some(package) => package,
        None if is_rust_library() => "std",
        None if file.contains("/git/checkouts/") => "git dependencies",
        None if file.is_empty() => "code without a file",
        None => "system headers",
    }
}

/// The crate that contains the code of a function: `file` contains the code, `name` is the
/// function's demangled name, and `module` is the crate or object file that holds the compiled
/// function.
///
/// The file decides for the standard library and for downloaded crates. The crate of another file
/// is the first crate in the name: `app` for `app::run` and for
/// `<app::Point as core::fmt::Debug>::fmt`. If that crate is of the standard library
/// (`<alloc::vec::Vec<app::Point> as app::Draw>::draw`), or the name has none (C), the module
/// decides.
pub(crate) fn crate_of<'a>(file: &'a str, name: &'a str, module: &'a str) -> String {
    const STD: [&str; 5] = ["core", "alloc", "std", "proc_macro", "test"];
    if let Some(below) = short(file, None).strip_prefix("<std>/") {
        return below.split('/').next().unwrap_or(below).to_owned();
    }
    if let Some(package) = package(file) {
        let is_version = |&(dash, _): &(usize, &str)| {
            package[dash + 1..].starts_with(|c: char| c.is_ascii_digit())
        };
        let end = package.match_indices('-').rfind(is_version);
        let end = end.map(|(dash, _)| dash);
        return package[..end.unwrap_or(package.len())].to_owned();
    }
    let first = first_crate(name).filter(|first| !STD.contains(first));
    first.unwrap_or(module).to_owned()
}

/// The first word of a name that `::` follows.
fn first_crate(name: &str) -> Option<&str> {
    let (before, _) = name.split_once("::")?;
    let is_separator = |c: char| !c.is_alphanumeric() && c != '_';
    let start = before.rfind(is_separator).map_or(0, |index| index + 1);
    (start < before.len()).then(|| &before[start..])
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Glob, crate_of, is_workspace, library};

    const STD: &str = "/rustc/59807616e/library/alloc/src/vec/mod.rs";
    const MEMCHR: &str = "/home/me/.cargo/registry/src/index.crates.io-19/memchr-2.7.4/src/lib.rs";
    const GIT: &str = "/home/me/.cargo/git/checkouts/dep-12ab/34cd/src/lib.rs";
    const DASHED: &str = "/home/me/.cargo/registry/src/index-1/pulldown-cmark-0.13.6/src/a.rs";

    #[test]
    fn globs_match_the_end_of_a_path() {
        let check = |glob: &str, path: &str, expect: bool| {
            assert_eq!(Glob::new(glob).matches(path), expect, "{glob} {path}");
        };
        check("main.rs", "src/main.rs", true);
        check("main.rs", "src/domain.rs", false);
        check("src/*.rs", "/home/me/app/src/main.rs", true);
        check("src/*.rs", "src/parse/number.rs", false);
        check("src/**", "src/parse/number.rs", true);
        check("src/**/number.rs", "src/number.rs", true);
        check("src/**/number.rs", "src/parse/number.rs", true);
        check("./a.c", "a.c", true);
        check("a.c", "abc", false);
        check("?.c", "b.c", true);
        check("memchr-*/**", "memchr-2.7.4/src/lib.rs", true);
        check("<std>/core/**", "<std>/core/src/iter/range.rs", true);
        check("", "a.c", false);
    }

    #[test]
    fn patterns_lead_out_of_the_folder() {
        let cwd = Some(Path::new("/home/me/app"));
        let check = |glob: &str, file: &str, expect: bool| {
            let selects = Glob::in_folder(glob, cwd).selects(file, cwd);
            assert_eq!(selects, expect, "{glob} {file}");
        };
        check("../lib/find.c", "/home/me/lib/find.c", true);
        check("../lib/find.c", "/home/me/app/../lib/find.c", true);
        check("../lib/*.c", "/home/me/lib/find.c", true);
        check("!../lib/*.c", "/home/me/lib/find.c", true);
        check("../find.c", "/home/me/app/find.c", false);
        check("src/../find.c", "/home/me/app/find.c", true);
        check("./find.c", "/home/me/app/find.c", true);
        check("find.c", "/home/me/app/build/../find.c", true);
        check("../find.c", "", false);
        assert_eq!(Glob::in_folder("../a.c", cwd).text(), "../a.c");
    }

    #[test]
    fn the_workspace_is_what_the_user_wrote() {
        for file in [STD, MEMCHR, GIT, DASHED, "", "/usr/include/stdlib.h"] {
            assert!(!is_workspace(file), "{file}");
        }
        assert!(!is_workspace("/rust/deps/hashbrown-0.15.5/src/map.rs"));
        assert!(!is_workspace(
            "/usr/lib/llvm-19/lib/clang/19/include/emmintrin.h"
        ));
        for file in [
            "src/main.rs",
            "/home/me/app/src/lib.rs",
            "a.c",
            "/usr/src/app/main.c",
        ] {
            assert!(is_workspace(file), "{file}");
        }
        let libraries = [STD, MEMCHR, GIT, "/usr/include/stdlib.h"].map(library);
        assert_eq!(
            libraries,
            ["std", "memchr-2.7.4", "git dependencies", "system headers"]
        );
    }

    #[test]
    fn the_crate_is_the_one_with_the_source() {
        let check = |file: &str, name: &str, expect: &str| {
            assert_eq!(crate_of(file, name, "module"), expect, "{file} {name}");
        };
        check(STD, "<alloc::vec::Vec<app::Point>>::push", "alloc");
        check(MEMCHR, "app::main::{closure#0}", "memchr");
        check(DASHED, "pulldown_cmark::parse", "pulldown-cmark");
        check("src/a.rs", "app::run", "app");
        check("src/a.rs", "<app::Point as core::fmt::Debug>::fmt", "app");
        check(
            "src/a.rs",
            "<&mut app::Point as core::fmt::Debug>::fmt",
            "app",
        );
        check(
            "src/a.rs",
            "<alloc::vec::Vec<app::Point> as app::Draw>::draw",
            "module",
        );
        check("a.c", "main", "module");
        check(GIT, "dep::f", "dep");
    }
}
