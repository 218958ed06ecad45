//! Tests that the links between documents have targets, and that lines of documents and comments
//! stay within 100 columns.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use holloway_tests::tool::tests_directory;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The maximum length of a line, except in tables and generated pages.
const WIDTH: usize = 100;

/// Pages that `cargo xtask` writes, below the root.
const GENERATED: [&str; 3] = ["docs/benchmarks.md", "docs/environment.md", "docs/studies"];

#[test]
fn links_lead_somewhere() {
    let documents = documents();
    let headings: BTreeMap<&Path, BTreeSet<String>> = documents
        .iter()
        .map(|(path, text)| (path.as_path(), anchors(text)))
        .collect();
    let mut broken = Vec::new();
    for (path, text) in &documents {
        for link in links(text) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => path.clone(),
                file => plain(&path.parent().unwrap().join(file)),
            };
            let is_there = root().join(&target).exists();
            let has_anchor = headings
                .get(target.as_path())
                .is_none_or(|anchors| anchor.is_empty() || anchors.contains(anchor));
            if !is_there || !has_anchor {
                broken.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "broken links: {broken:#?}");
}

#[test]
fn lines_stay_within_100_columns() {
    let mut long = Vec::new();
    for (path, text) in documents() {
        if GENERATED.iter().any(|page| path.starts_with(page)) {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            if line.chars().count() > WIDTH && !line.starts_with('|') {
                long.push(format!("{}:{}", path.display(), number + 1));
            }
        }
    }
    assert!(long.is_empty(), "longer than {WIDTH} columns: {long:#?}");
}

/// The folders with Rust sources. The programs that the tests compile are fixtures: some have exact
/// lines.
const SOURCES: [&str; 5] = ["crates", "fuzz", "tests/src", "tests/tests", "xtask"];

#[test]
fn comments_stay_within_100_columns() {
    let mut long = Vec::new();
    for path in sources() {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        for (number, line) in prose_of_comments(&text) {
            if line.chars().count() > WIDTH {
                long.push(format!("{}:{number}", path.display()));
            }
        }
    }
    assert!(long.is_empty(), "longer than {WIDTH} columns: {long:#?}");
}

#[test]
fn tables_and_examples_in_comments_are_no_prose() {
    let text = "//! a\n//! ```text\n//! b\n//! ```\n//! | c |\nlet d; // d\n    /// e\n";
    let lines: Vec<_> = prose_of_comments(text).collect();
    assert_eq!(lines, [(1, "//! a"), (7, "    /// e")]);
}

/// The lines of comments, with their numbers, except tables and examples.
fn prose_of_comments(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_example = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            is_example = false;
            return false;
        };
        let content = comment.trim_start_matches(['/', '!']).trim_start();
        let is_fence = content.starts_with("```");
        is_example ^= is_fence;
        !is_example && !is_fence && !content.starts_with('|')
    })
}

/// The Rust sources, by their paths below the root.
fn sources() -> Vec<PathBuf> {
    let mut sources = Vec::new();
    let mut folders: Vec<PathBuf> = SOURCES.iter().map(PathBuf::from).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                let is_output = path.ends_with("target") || path.ends_with("corpus");
                if !is_output {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                sources.push(path);
            }
        }
    }
    assert!(sources.len() > 500, "the sources are found");
    sources
}

fn root() -> PathBuf {
    tests_directory().parent().unwrap().to_path_buf()
}

/// The documents at the root and in docs/, by their paths below the root.
fn documents() -> Vec<(PathBuf, String)> {
    let mut documents = Vec::new();
    for folder in ["", "docs", "docs/studies"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let name = entry.unwrap().file_name();
            let path = Path::new(folder).join(name);
            if path.extension().is_some_and(|extension| extension == "md") {
                let text = fs::read_to_string(root().join(&path)).unwrap();
                documents.push((path, text));
            }
        }
    }
    assert!(documents.len() > 10, "the documents are found");
    documents
}

/// A path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            component => plain.push(component),
        }
    }
    plain
}

/// The lines outside code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence && !line.starts_with("    ")
    })
}

/// The targets of links to other files and to headings.
fn links(text: &str) -> Vec<&str> {
    prose(text)
        .flat_map(|line| line.split("](").skip(1))
        .filter_map(|rest| rest.split(')').next())
        .filter(|target| !target.starts_with("http"))
        .collect()
}

/// The anchors of headings, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    let headings = prose(text).filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let anchor: String = line
                .trim_start_matches('#')
                .trim()
                .to_lowercase()
                .chars()
                .filter_map(|c| match c {
                    ' ' => Some('-'),
                    c if c.is_alphanumeric() || "-_".contains(c) => Some(c),
                    _ => None,
                })
                .collect();
            let before = times.entry(anchor.clone()).or_default();
            *before += 1;
            match *before {
                1 => anchor,
                nth => format!("{anchor}-{}", nth - 1),
            }
        })
        .collect()
}
