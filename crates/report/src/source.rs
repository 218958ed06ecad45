//! Source text, read from the files of this machine.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use holloway_format::SourceFile;
use md5::{Digest as _, Md5};

/// A provider of source text.
pub trait Source {
    /// Returns the text of a line. `file` is the file's name in the path map, and lines count from
    /// 1. Returns `None` if the file or the line does not exist.
    fn line(&self, file: &str, line: u32) -> Option<String>;

    /// Why a file has no text. `None` if it has some.
    fn problem(&self, file: &str) -> Option<TextProblem> {
        let has_text = self.line(file, 1).is_some();
        (!has_text).then_some(TextProblem::Missing)
    }

    /// The MD5 of a file that was read. `None` for other files.
    fn md5_if_read(&self, _file: &str) -> Option<[u8; 16]> {
        None
    }
}

/// Why a file has no text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TextProblem {
    /// It does not exist here.
    Missing,
    /// It exists, and cannot be read.
    Unreadable(String),
}

/// A provider without any text.
pub struct Nothing;

impl Source for Nothing {
    fn line(&self, _file: &str, _line: u32) -> Option<String> {
        None
    }
}

/// Source files on this machine. Each file is read once, when its first line is needed.
#[derive(Default)]
pub struct Files {
    rust_src: Option<PathBuf>,
    cache: RefCell<HashMap<String, Result<Rc<Lines>, TextProblem>>>,
}

impl Files {
    /// `rust_src` is the directory that contains `library/`, the source of the standard library. If
    /// it is given, the files of the standard library are read from it.
    pub fn new(rust_src: Option<PathBuf>) -> Files {
        Files {
            rust_src,
            cache: RefCell::default(),
        }
    }

    fn lines(&self, file: &str) -> Result<Rc<Lines>, TextProblem> {
        if let Some(cached) = self.cache.borrow().get(file) {
            return cached.clone();
        }
        let bytes = read_regular(&self.path(file)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => TextProblem::Missing,
            // The kinds of the system's errors are not a closed list.
            _ => TextProblem::Unreadable(error.to_string()),
        });
        let lines = bytes.map(|bytes| Rc::new(Lines::new(&bytes)));
        self.cache
            .borrow_mut()
            .insert(file.to_owned(), lines.clone());
        lines
    }

    fn path(&self, file: &str) -> PathBuf {
        match (&self.rust_src, below_rustc(file)) {
            (Some(rust_src), Some(library)) => rust_src.join(library),
            _ => Path::new(file).to_owned(),
        }
    }
}

impl Source for Files {
    fn line(&self, file: &str, line: u32) -> Option<String> {
        self.lines(file).ok()?.line(line)
    }

    fn problem(&self, file: &str) -> Option<TextProblem> {
        self.lines(file).err()
    }

    fn md5_if_read(&self, file: &str) -> Option<[u8; 16]> {
        match self.cache.borrow().get(file)? {
            Ok(lines) => Some(lines.md5),
            Err(_) => None,
        }
    }
}

/// The files whose text was read and is not the text that the compiler read, in order.
pub fn changed_files<'a>(
    compiled: impl IntoIterator<Item = &'a SourceFile>,
    source: &dyn Source,
) -> Vec<&'a str> {
    let mut known: BTreeMap<&str, BTreeSet<[u8; 16]>> = BTreeMap::new();
    for file in compiled {
        known.entry(&file.file).or_default().insert(file.md5);
    }
    let is_changed = |(file, compiled): &(&str, BTreeSet<[u8; 16]>)| {
        let md5 = source.md5_if_read(file);
        md5.is_some_and(|md5| !compiled.contains(&md5))
    };
    let changed = known.into_iter().filter(is_changed);
    changed.map(|(file, _)| file).collect()
}

/// The part `library/core/src/…` of a name `/rustc/<hash>/library/core/src/…`, which rustc gives to
/// the files of the standard library. Returns `None` for other names.
pub(crate) fn below_rustc(file: &str) -> Option<&str> {
    let (_, below_hash) = file.strip_prefix("/rustc/")?.split_once('/')?;
    below_hash.starts_with("library/").then_some(below_hash)
}

/// Reads a regular file. Other files are not opened, because opening a FIFO would wait for a
/// writer.
fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    match fs::metadata(path)?.is_file() {
        true => fs::read(path),
        false => Err(io::Error::other("it is no regular file")),
    }
}

/// A text, and the offsets of its line ends.
struct Lines {
    /// Of the bytes.
    md5: [u8; 16],
    text: String,
    ends: Vec<usize>,
}

impl Lines {
    fn new(bytes: &[u8]) -> Lines {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let mut ends: Vec<usize> = text.match_indices('\n').map(|(offset, _)| offset).collect();
        ends.push(text.len());
        let md5 = Md5::digest(bytes).into();
        Lines { md5, text, ends }
    }

    fn line(&self, line: u32) -> Option<String> {
        let index = (line as usize).checked_sub(1)?;
        let start = if index == 0 {
            0
        } else {
            self.ends.get(index - 1)? + 1
        };
        let text = self.text.get(start..*self.ends.get(index)?)?;
        Some(text.trim_end_matches('\r').to_owned())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::{Files, Lines, Source as _, TextProblem, below_rustc, changed_files};
    use holloway_format::SourceFile;

    /// The digest of "ab\n" is that of md5sum.
    #[test]
    fn files_that_were_read_and_differ_have_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        for (name, text) in [("same.c", "ab\n"), ("other.c", "abc\n"), ("unread.c", "")] {
            std::fs::write(path(name), text).unwrap();
        }
        let compiled = ["same.c", "other.c", "unread.c", "gone.c"].map(|name| SourceFile {
            file: path(name).as_str().into(),
            md5: 0xdaa8_075d_6ac5_ff8d_0c6d_4650_adb4_ef29_u128.to_be_bytes(),
        });
        let files = Files::new(None);
        assert_eq!(changed_files(&compiled, &files), [""; 0]);
        for name in ["same.c", "other.c", "gone.c"] {
            files.line(&path(name), 1);
        }
        assert_eq!(changed_files(&compiled, &files), [path("other.c")]);
    }

    #[test]
    fn files_without_text_have_a_reason() {
        let files = Files::new(None);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display().to_string();
        let problem = files.problem(&path);
        assert!(
            matches!(problem, Some(TextProblem::Unreadable(_))),
            "{problem:?}"
        );
        let missing = format!("{path}/a.c");
        assert_eq!(files.problem(&missing), Some(TextProblem::Missing));
        std::fs::write(&missing, "").unwrap();
        assert_eq!(Files::new(None).problem(&missing), None);
    }

    #[test]
    fn lines_count_from_one() {
        let lines = Lines::new(b"a\r\nb\n\nd");
        let all: Vec<_> = (0..6).map(|line| lines.line(line)).collect();
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(all, [None, text("a"), text("b"), text(""), text("d"), None]);
    }

    #[test]
    fn remapped_names_of_std_are_recognized() {
        assert_eq!(
            below_rustc("/rustc/abc/library/core/src/a.rs"),
            Some("library/core/src/a.rs")
        );
        assert_eq!(below_rustc("/home/rustc/abc/library/a.rs"), None);
    }
}
