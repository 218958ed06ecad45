//! Source text, read from the files of this machine.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A provider of source text.
pub trait Source {
    /// Returns the text of a line. `file` is the file's name in the path map, and lines count from
    /// 1. Returns `None` if the file or the line does not exist.
    fn line(&self, file: &str, line: u32) -> Option<String>;
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
    cache: RefCell<HashMap<String, Option<Rc<Lines>>>>,
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

    fn lines(&self, file: &str) -> Option<Rc<Lines>> {
        if let Some(cached) = self.cache.borrow().get(file) {
            return cached.clone();
        }
        let bytes = read_regular(&self.path(file));
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
        self.lines(file)?.line(line)
    }
}

/// The part `library/core/src/…` of a name `/rustc/<hash>/library/core/src/…`, which rustc gives to
/// the files of the standard library. Returns `None` for other names.
pub(crate) fn below_rustc(file: &str) -> Option<&str> {
    let (_, below_hash) = file.strip_prefix("/rustc/")?.split_once('/')?;
    below_hash.starts_with("library/").then_some(below_hash)
}

/// Reads a regular file. Other files are not opened, because opening a FIFO would wait for a
/// writer.
fn read_regular(path: &Path) -> Option<Vec<u8>> {
    fs::metadata(path)
        .ok()
        .filter(fs::Metadata::is_file)
        .and_then(|_| fs::read(path).ok())
}

/// A text, and the offsets of its line ends.
struct Lines {
    text: String,
    ends: Vec<usize>,
}

impl Lines {
    fn new(bytes: &[u8]) -> Lines {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let mut ends: Vec<usize> = text.match_indices('\n').map(|(offset, _)| offset).collect();
        ends.push(text.len());
        Lines { text, ends }
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
    use super::{Lines, below_rustc};

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
