//! The branches of a function in the words of the page.
//!
//! A branch in the function's own file has a line only: `line 214`. A branch in another file, from
//! which code was inlined, has the name of that file: `list.h:12`. The name is as short as the
//! function's files allow. Where a branch leads is named in the same way, but relative to the
//! branch's file: `line 14` is in the same file as the branch.

use holloway_analysis::Function;
use holloway_analysis::directions::ShownPlace;
use holloway_format::{FunctionMap, Place};
use std::collections::BTreeSet;
use std::path::Path;

use crate::places::{inlined_at, short};
use crate::terminal::branches::Branches;
use crate::terminal::outcome::{destination_words, spot_words};

/// Columns of a place with the name of its file.
const PLACE: usize = 44;

/// The branches of a function, and the names of its files.
pub(super) struct BranchWords<'a> {
    map: &'a FunctionMap,
    branches: Branches<'a>,
    files: ShortNames<'a>,
}

/// By file of a function: its name, as short as possible.
pub(super) struct ShortNames<'a>(Vec<(&'a str, String)>);

impl<'a> BranchWords<'a> {
    pub(super) fn new(map: &'a FunctionMap, cwd: Option<&'a Path>) -> BranchWords<'a> {
        BranchWords {
            map,
            branches: Branches::new(map, cwd),
            files: ShortNames::new(map, cwd),
        }
    }

    /// The names of the function's files.
    pub(super) fn files(&self) -> &[(&'a str, String)] {
        &self.files.0
    }

    /// As [`Branches::deciding`].
    pub(super) fn deciding(&self, function: &Function) -> Vec<Option<u32>> {
        self.branches.deciding(function)
    }

    /// The line of an edge's branch in the user's code: `line 12`, `list.h:12`. Library code has
    /// the line that it was inlined into. `None` if the line is unknown.
    pub(super) fn branch(&self, edge: u32) -> Option<String> {
        let place = self.user_place(edge)?;
        let file = &*self.map.scopes.get(place.scope as usize)?.file;
        Some(self.line(file, place.line, &self.map.file))
    }

    /// Where control goes along an edge.
    pub(super) fn way(&self, edge: u32) -> String {
        let branch = self.user_place(edge);
        destination_words(&self.branches.destination(edge), &|spot| {
            self.spot(branch, spot)
        })
    }

    /// The file and the line where control goes along an edge. `None` if the line is unknown, or is
    /// that of the branch.
    pub(super) fn target(&self, edge: u32) -> Option<(&'a str, u32)> {
        let target = self.branches.target(edge)?;
        let branch = self.user_place(edge);
        let is_branch = branch.is_some_and(|branch| self.is_on_line(branch, &target));
        (!is_branch).then_some((target.file, target.line))
    }

    /// These lines of a file: `lines 12–14`, or `lines 12–14 of list.h`.
    pub(super) fn lines(&self, file: &str, first: u32, last: u32) -> String {
        let lines = match first == last {
            true => format!("line {first}"),
            false => format!("lines {first}–{last}"),
        };
        match file == &*self.map.file {
            true => lines,
            false => format!("{lines} of {}", self.files.name(file)),
        }
    }

    fn user_place(&self, edge: u32) -> Option<Place> {
        let place = self.map.edges[edge as usize].place?;
        let place = inlined_at(self.map, place).unwrap_or(place);
        (place.line != 0).then_some(place)
    }

    fn spot(&self, branch: Option<Place>, spot: &ShownPlace<'_>) -> String {
        let is_on_line = branch.is_some_and(|branch| self.is_on_line(branch, spot));
        if is_on_line && spot.column != 0 {
            return format!("{} of line {}", spot_words(spot, None, PLACE), spot.line);
        }
        let scope = branch.and_then(|branch| self.map.scopes.get(branch.scope as usize));
        let from = scope.map_or(&*self.map.file, |scope| &*scope.file);
        let line = self.line(spot.file, spot.line, from);
        spot_words(spot, Some(line), PLACE)
    }

    /// `line 12`, or with the name of its file unless it is `from`.
    fn line(&self, file: &str, line: u32, from: &str) -> String {
        match file == from {
            true => format!("line {line}"),
            false => format!("{}:{line}", self.files.name(file)),
        }
    }

    fn is_on_line(&self, branch: Place, spot: &ShownPlace<'_>) -> bool {
        let scope = self.map.scopes.get(branch.scope as usize);
        branch.line == spot.line && scope.is_some_and(|scope| *scope.file == *spot.file)
    }
}

impl<'a> ShortNames<'a> {
    /// As many of the last parts of each path as tell it apart from the function's other files.
    fn new(map: &'a FunctionMap, cwd: Option<&Path>) -> ShortNames<'a> {
        let scopes = map.scopes.iter().map(|scope| &*scope.file);
        let files: BTreeSet<&str> = scopes.chain([&*map.file]).collect();
        let paths: Vec<String> = files.iter().map(|file| short(file, cwd)).collect();
        let names = paths.iter().map(|path| ending(path, &paths));
        ShortNames(files.iter().copied().zip(names).collect())
    }

    fn name(&self, file: &str) -> &str {
        let known = self.0.iter().find(|(known, _)| *known == file);
        known.map_or("?", |(_, name)| name)
    }
}

/// The shortest ending of a path, from a `/` on, that no other path has.
fn ending(path: &str, paths: &[String]) -> String {
    let starts = path.rmatch_indices('/').map(|(slash, _)| slash + 1);
    let is_unique = |start: &usize| {
        let ending = &path[*start..];
        let has_ending = |other: &&String| {
            let before = other.strip_suffix(ending);
            before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        paths.iter().filter(has_ending).count() == 1
    };
    let start = starts.into_iter().find(is_unique).unwrap_or(0);
    match &path[start..] {
        "" => "?".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::ending;

    #[test]
    fn a_file_is_named_by_as_little_as_tells_it_apart() {
        let paths = [
            "src/list.c",
            "a/list.h",
            "b/list.h",
            "list.h",
            "xlist.h",
            "",
        ];
        let paths = paths.map(str::to_owned);
        let names = paths.iter().map(|path| ending(path, &paths));
        assert_eq!(
            names.collect::<Vec<_>>(),
            ["list.c", "a/list.h", "b/list.h", "list.h", "xlist.h", "?"]
        );
    }
}
