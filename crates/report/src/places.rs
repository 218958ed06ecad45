//! Shortens the names of source files, and finds the source lines of a path.

use std::path::Path;

use holloway_analysis::trail::{Frame, Step, Trail, frames};
use holloway_format::{FunctionMap, Place};

use crate::source::below_rustc;

/// The short name of a file: relative to `cwd` if the file lies below it, `<std>/…` for the
/// standard library, `crate-1.2.3/…` for crates of a registry.
pub fn short(file: &str, cwd: Option<&Path>) -> String {
    if let Some(below) = cwd.and_then(|cwd| Path::new(file).strip_prefix(cwd).ok()) {
        return below.display().to_string();
    }
    let std = below_rustc(file).or_else(|| {
        file.split_once("/lib/rustlib/src/rust/")
            .map(|(_, below)| below)
    });
    if let Some(library) = std.and_then(|below| below.strip_prefix("library/")) {
        return format!("<std>/{library}");
    }
    if let Some((_, below_registries)) = file.split_once("/registry/src/")
        && let Some((_, below)) = below_registries.split_once('/')
    {
        return below.to_owned();
    }
    file.strip_prefix("./").unwrap_or(file).to_owned()
}

/// Whether a file belongs to Rust's or C++'s standard library, or is a system header.
pub fn is_library(file: &str) -> bool {
    is_rust_library(file) || file.starts_with("/usr/include/") || file.contains("/include/c++/")
}

/// The line of the user's code that a place in library code was inlined into. `None` if the place
/// is not in library code, or was not inlined into the user's code.
pub(crate) fn inlined_at(map: &FunctionMap, place: Place) -> Option<Place> {
    let is_in_library = |scope: u32| is_library(&map.scopes[scope as usize].file);
    let place = Some(place).filter(|place| place.line != 0)?;
    let mut frames = frames(map, &place);
    frames
        .next()
        .filter(|innermost| is_in_library(innermost.scope))?;
    let user = frames.find(|frame| frame.line != 0 && !is_in_library(frame.scope))?;
    Some(Place {
        scope: user.scope,
        line: user.line,
        column: 0,
    })
}

fn is_rust_library(file: &str) -> bool {
    short(file, None).starts_with("<std>/")
}

/// The short name of a file with a line: `src/main.rs:7`.
pub(crate) fn file_and_line(file: &str, line: u32, cwd: Option<&Path>) -> String {
    let file = if file.is_empty() {
        "?".to_owned()
    } else {
        short(file, cwd)
    };
    format!("{file}:{line}")
}

/// Returns the lines that a path passes, in order, and their file. The lines belong to the
/// [shared frame](shared_frame).
pub(crate) fn lines_of<'a>(map: &'a FunctionMap, trail: &Trail) -> Option<(&'a str, Vec<u32>)> {
    let (scope, lines) = shared_frame(map, trail)?;
    let scope = map.scopes.get(scope as usize);
    let lines = lines.into_iter().filter(|line| *line != 0);
    Some((scope.map_or("", |scope| &*scope.file), lines.collect()))
}

/// Returns the scope of the innermost frame outside the standard library that all steps of a path
/// share, and the line of each step in this frame. Code inlined into the frame has the line of its
/// call.
pub(crate) fn shared_frame(map: &FunctionMap, trail: &Trail) -> Option<(u32, Vec<u32>)> {
    let outermost_first = |step: &Step| -> Vec<Frame> {
        let mut frames: Vec<Frame> = frames(map, &step.place).collect();
        frames.reverse();
        frames
    };
    let steps: Vec<Vec<Frame>> = trail.steps.iter().map(outermost_first).collect();
    let first = steps.first()?;
    let is_shared = |depth: usize| {
        let scope = |frames: &Vec<Frame>| frames.get(depth).map(|frame| frame.scope);
        steps.iter().all(|frames| scope(frames) == scope(first))
    };
    let common = (0..first.len())
        .take_while(|depth| is_shared(*depth))
        .last()?;
    let file = |depth: usize| {
        let scope = map.scopes.get(first[depth].scope as usize);
        scope.map_or("", |scope| &*scope.file)
    };
    let is_outside_library = |depth: &usize| !is_rust_library(file(*depth));
    let depth = (0..=common)
        .rev()
        .find(is_outside_library)
        .unwrap_or(common);
    let lines = steps.iter().map(|frames| frames[depth].line);
    Some((first[depth].scope, lines.collect()))
}

/// A place in the source of a function: the innermost frame outside of libraries.
pub(crate) fn user_place<'a>(map: &'a FunctionMap, place: &Place) -> Option<(&'a str, u32)> {
    let file = |frame: &Frame| &*map.scopes[frame.scope as usize].file;
    let known = |frame: &Frame| (frame.scope as usize) < map.scopes.len() && frame.line != 0;
    let mut known_frames = frames(map, place).filter(known).peekable();
    let innermost = known_frames.peek().map(|frame| (file(frame), frame.line));
    let mut user_frames = known_frames.filter(|frame| !is_library(file(frame)));
    let user = user_frames.next().map(|frame| (file(&frame), frame.line));
    user.or(innermost)
}

/// The place of the branch at the end of a block.
pub(crate) fn branch_place(map: &FunctionMap, block: u32) -> Option<(&str, u32)> {
    let edges = map.edges.iter().filter(|edge| edge.from == block);
    let of_edges = edges.filter_map(|edge| edge.place.as_ref());
    let of_block = map.blocks[block as usize].places.iter().rev();
    let mut places = of_edges.chain(of_block);
    places.find_map(|place| user_place(map, place))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{file_and_line, is_library, short};

    fn check(file: &str, expect: &str) {
        assert_eq!(short(file, Some(Path::new("/home/me/app"))), expect);
    }

    #[test]
    fn files_get_short_names() {
        check("/home/me/app/src/main.rs", "src/main.rs");
        check("/home/me/apple/src/main.rs", "/home/me/apple/src/main.rs");
        check(
            "/rustc/59807616e/library/core/src/iter/range.rs",
            "<std>/core/src/iter/range.rs",
        );
        check(
            "/opt/rust/lib/rustlib/src/rust/library/alloc/src/vec/mod.rs",
            "<std>/alloc/src/vec/mod.rs",
        );
        check(
            "/home/me/.cargo/registry/src/index.crates.io-1949cf/memchr-2.7.4/src/lib.rs",
            "memchr-2.7.4/src/lib.rs",
        );
        check("./a.c", "a.c");
        assert_eq!(file_and_line("", 7, None), "?:7");
    }

    #[test]
    fn library_files_are_recognized() {
        for file in [
            "/rustc/59807616e/library/core/src/iter/range.rs",
            "/usr/lib/gcc/x86_64-linux-gnu/14/../../../../include/c++/14/bits/stl_vector.h",
            "/usr/include/stdlib.h",
        ] {
            assert!(is_library(file), "{file}");
        }
        for file in ["src/main.rs", "include/app.h", ""] {
            assert!(!is_library(file), "{file}");
        }
    }
}
