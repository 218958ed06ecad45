//! Source text: the lines of files on this machine.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Gives the text of source lines.
pub trait Source {
    /// The text of a line of a file. `file` is the path map's name of the file; lines count from 1.
    /// `None` if the file does not exist.
    fn line(&self, file: &str, line: u32) -> Option<String>;
}

/// A source without any text.
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
    read: RefCell<HashMap<String, Option<Rc<Lines>>>>,
}

impl Files {
    /// Reads files by their names. Files of the standard library are read below `rust_src`, the
    /// directory that holds `library/`, if it is given.
    pub fn new(rust_src: Option<PathBuf>) -> Files {
        Files {
            rust_src,
            read: RefCell::default(),
        }
    }

    fn lines(&self, file: &str) -> Option<Rc<Lines>> {
        if let Some(known) = self.read.borrow().get(file) {
            return known.clone();
        }
        let read = read_regular(&self.path(file)).map(|bytes| Rc::new(Lines::new(&bytes)));
        self.read.borrow_mut().insert(file.to_owned(), read.clone());
        read
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

/// `library/core/src/…` of `/rustc/<hash>/library/core/src/…`.
pub(crate) fn below_rustc(file: &str) -> Option<&str> {
    let (_, rest) = file.strip_prefix("/rustc/")?.split_once('/')?;
    rest.starts_with("library/").then_some(rest)
}

/// The content of a regular file: opening a FIFO would wait for a writer.
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
        let mut ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
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
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(all, [None, some("a"), some("b"), some(""), some("d"), None]);
    }

    #[test]
    fn std_is_found_behind_its_remapped_name() {
        assert_eq!(
            below_rustc("/rustc/abc/library/core/src/a.rs"),
            Some("library/core/src/a.rs")
        );
        assert_eq!(below_rustc("/home/rustc/abc/library/a.rs"), None);
    }
}
