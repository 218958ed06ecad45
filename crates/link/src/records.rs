//! Records that the links of one cargo call leave for it: their path maps and their messages.
//!
//! The path map of a link is needed when its program is gone before the run is finished, as with
//! doctests. The messages are needed because rustc does not show the output of a successful linker.
//! Both lie in a directory that the cargo call creates and names in [`RECORDS`]: `<build id>.hwm`,
//! and a file `said` with a line for each message.
//!
//! A third record outlives the call, in holloway's build directory around it: the selections of the
//! patterns of `--only` and `--skip`. Cargo links only changed programs, and a pattern may be meant
//! for the others. `build_settings` deletes this record when the settings change.

use std::collections::HashSet;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use holloway_abi::environment;
use holloway_format::image::MAP_EXTENSION;
use holloway_format::{ImageMap, decode_image};

use crate::error::{Error, Result};
use crate::host::Host;
use crate::message::{
    GuideMatch, Message, PatternMatch, PatternScope, Severity, UnmatchedPatterns,
};

/// Environment variable: the directory of records.
pub const RECORDS: &str = environment::internal::LINKED;
/// File of messages.
const MESSAGES: &str = "said";
/// First word of a line of [`MESSAGES`]: a warning follows.
const WARNING: &str = "warning";
/// First word of a line of [`MESSAGES`]: the two numbers of a [`GuideMatch`] follow.
const GUIDE: &str = "guided";

/// File in holloway's build directory: a [`Selection`] a line, of all links since the settings
/// changed.
pub(crate) const SELECTIONS: &str = ".holloway-sought";

/// The records of one cargo call. The directory is deleted with this value.
pub struct LinkRecords(tempfile::TempDir);

impl LinkRecords {
    /// Creates an empty directory of records in `home`, holloway's build directory.
    ///
    /// # Errors
    /// The directory cannot be created.
    pub fn new(home: &Path) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix(".linked-").tempdir_in(home);
        directory
            .map(Self)
            .map_err(|source| Error::RecordsDirectory {
                path: home.to_owned(),
                source,
            })
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        self.0.path()
    }

    /// The path maps of the programs that were linked.
    pub fn maps(&self) -> Vec<ImageMap> {
        let entries = std::fs::read_dir(self.directory()).into_iter().flatten();
        let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let maps = files.filter(|file| {
            file.extension()
                .is_some_and(|extension| extension == MAP_EXTENSION)
        });
        maps.filter_map(|file| decode_image(&std::fs::read(file).ok()?).ok())
            .collect()
    }

    /// The warnings of the links, each once.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.lines(WARNING);
        let mut seen = HashSet::new();
        warnings.retain(|warning| seen.insert(warning.clone()));
        warnings
    }

    /// How many functions of all links together were found in their guide, if they had one.
    pub fn guide(&self) -> Option<Message> {
        let lines = self.lines(GUIDE);
        let matches = lines.iter().filter_map(|line| parse_guide_match(line));
        let total = matches.reduce(|total, link| GuideMatch {
            known: total.known + link.known,
            all: total.all + link.all,
        });
        total.and_then(guide_message)
    }

    /// Warnings of the patterns that select no code in any of the links, of this call or before it.
    pub fn pattern_warnings(&self) -> Vec<Message> {
        let mut patterns: Vec<Selection> = Vec::new();
        let lines = selections_file(self.directory())
            .and_then(|file| std::fs::read_to_string(file).ok())
            .unwrap_or_default();
        for selection in lines.lines().filter_map(Selection::parse) {
            let known = patterns.iter_mut().find(|known| {
                (&known.option, &known.pattern) == (&selection.option, &selection.pattern)
            });
            match known {
                Some(known) => known.selected = known.selected.max(selection.selected),
                None => patterns.push(selection),
            }
        }
        let unmatched = patterns
            .into_iter()
            .filter(|pattern| pattern.selected != PatternMatch::Code);
        unmatched
            .map(|pattern| {
                Message::Patterns(UnmatchedPatterns {
                    given: format!("--{} {}", pattern.option, pattern.pattern),
                    selected: pattern.selected,
                    scope: PatternScope::Build,
                })
            })
            .collect()
    }

    /// The lines of the file of messages that begin with the word `kind`, without that word.
    fn lines(&self, kind: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.directory().join(MESSAGES)).unwrap_or_default();
        text.lines()
            .filter_map(|line| line.strip_prefix(kind)?.strip_prefix(' '))
            .map(str::to_owned)
            .collect()
    }
}

fn parse_guide_match(text: &str) -> Option<GuideMatch> {
    let (known, all) = text.split_once(' ')?;
    Some(GuideMatch {
        known: known.parse().ok()?,
        all: all.parse().ok()?,
    })
}

/// Nothing where no function was woven.
fn guide_message(matches: GuideMatch) -> Option<Message> {
    (matches.all > 0).then_some(Message::Guide(matches))
}

/// A pattern of `--only` or `--skip`, and its selection in a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selection {
    /// `only` or `skip`.
    pub(crate) option: String,
    /// The pattern as written; one line.
    pub(crate) pattern: String,
    /// The functions that the pattern selects.
    pub(crate) selected: PatternMatch,
}

impl Selection {
    fn line(&self) -> String {
        let selected = match self.selected {
            PatternMatch::Nothing => "nothing",
            PatternMatch::NoCode => "gone",
            PatternMatch::Code => "code",
        };
        format!("{selected} {} {}", self.option, self.pattern)
    }

    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.splitn(3, ' ');
        let selected = match parts.next()? {
            "nothing" => PatternMatch::Nothing,
            "gone" => PatternMatch::NoCode,
            "code" => PatternMatch::Code,
            _ => return None,
        };
        Some(Self {
            option: parts.next()?.to_owned(),
            pattern: parts.next()?.to_owned(),
            selected,
        })
    }
}

/// The link's end of the records: shows messages and leaves them for the cargo call around the
/// link, if there is one.
pub(crate) struct Recorder<'a> {
    host: &'a dyn Host,
    directory: Option<PathBuf>,
}

impl<'a> Recorder<'a> {
    /// Records into the directory that [`RECORDS`] names.
    pub(crate) fn from_env(host: &'a dyn Host) -> Self {
        let directory = directory();
        Self { host, directory }
    }

    /// The link's caller.
    pub(crate) fn host(&self) -> &'a dyn Host {
        self.host
    }

    /// Shows a message. Leaves a warning for the cargo call too.
    pub(crate) fn show(&self, message: &Message) {
        self.host.show(message);
        match message.severity() {
            Severity::Warning => drop(self.leave(WARNING, &message.to_string())),
            Severity::Note => {}
        }
    }

    /// Leaves how much of the link the guide knows. The cargo call reports one sum of all links;
    /// without a cargo call the link reports its own.
    pub(crate) fn guide(&self, matches: GuideMatch) {
        let line = format!("{} {}", matches.known, matches.all);
        if self.leave(GUIDE, &line).is_err()
            && let Some(message) = guide_message(matches)
        {
            self.host.show(&message);
        }
    }

    /// Leaves the selections of the patterns in the link of `output`. The cargo call warns of
    /// patterns that fit none of its links. A link without a cargo call may be one of many, in a
    /// build system or in configure's tests, and patterns may be meant for the others. It warns
    /// only if `--only` leaves it nothing.
    pub(crate) fn patterns(&self, selections: &[Selection], output: &str) {
        let file = self.directory.as_deref().and_then(selections_file);
        let is_left = file.is_some_and(|file| {
            selections
                .iter()
                .all(|selection| append_once(&file, &selection.line()).is_ok())
        });
        if !is_left && let Some(patterns) = nothing_left(selections, output) {
            self.host.show(&Message::Patterns(patterns));
        }
    }

    /// After a link: leaves the path map of its output. A failure is ignored, because the program's
    /// file is the first place where a path map is looked for.
    pub(crate) fn store_map(&self, map: &StoredMap) {
        let Some(directory) = &self.directory else {
            return;
        };
        let stored = tempfile::NamedTempFile::new_in(directory).and_then(|mut file| {
            file.write_all(&map.bytes)?;
            file.persist(directory.join(map.file_name()))?;
            Ok(())
        });
        drop(stored);
    }

    fn leave(&self, kind: &str, message: &str) -> io::Result<()> {
        let directory = self.directory.as_ref().ok_or(io::ErrorKind::NotFound)?;
        append(&directory.join(MESSAGES), &format!("{kind} {message}"))
    }
}

/// The path map of a link's output.
#[derive(Debug)]
pub(crate) struct StoredMap {
    /// Identifies the build.
    pub(crate) build_id: [u8; 16],
    /// The map, encoded.
    pub(crate) bytes: Vec<u8>,
}

impl StoredMap {
    /// `<build id>.hwm`
    fn file_name(&self) -> String {
        format!(
            "{}.{MAP_EXTENSION}",
            holloway_format::error::hex_id(&self.build_id)
        )
    }
}

/// Leaves a warning for the cargo call around a link, if there is one. For callers that show the
/// warning themselves.
pub fn leave_warning(warning: &str) {
    if let Some(directory) = directory() {
        // Without its record the warning is still on the link's stderr.
        append(&directory.join(MESSAGES), &format!("{WARNING} {warning}")).ok();
    }
}

/// The warning of a link in which `--only` leaves nothing.
fn nothing_left(selections: &[Selection], output: &str) -> Option<UnmatchedPatterns> {
    let only = || {
        selections
            .iter()
            .filter(|selection| selection.option == "only")
    };
    let selected = only().map(|selection| selection.selected).max()?;
    let patterns: Vec<_> = only().map(|selection| selection.pattern.as_str()).collect();
    (selected != PatternMatch::Code).then(|| UnmatchedPatterns {
        given: format!("{}={}", environment::ONLY.name, patterns.join(" ")),
        selected,
        scope: PatternScope::Link(output.to_owned()),
    })
}

/// Appends a line unless the file has it.
fn append_once(file: &Path, line: &str) -> io::Result<()> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    if text.lines().any(|known| known == line) {
        return Ok(());
    }
    append(file, line)
}

/// Appends a line. The lines of links that run at the same time do not mix, because each is one
/// write.
fn append(file: &Path, line: &str) -> io::Result<()> {
    let file = std::fs::File::options()
        .create(true)
        .append(true)
        .open(file);
    file?.write_all(format!("{line}\n").as_bytes())
}

/// The record of the patterns' selections. It lies beside the directory of a call.
fn selections_file(directory: &Path) -> Option<PathBuf> {
    Some(directory.parent()?.join(SELECTIONS))
}

fn directory() -> Option<PathBuf> {
    std::env::var_os(RECORDS)
        .map(PathBuf::from)
        .filter(|directory| directory.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_stands_alone_tells_only_that_nothing_is_left() {
        let check = |selected: &[(&str, PatternMatch)], expected: Option<&str>| {
            let selections = selected.iter().map(|&(option, selected)| Selection {
                option: option.to_owned(),
                pattern: "x".to_owned(),
                selected,
            });
            let warning = nothing_left(&selections.collect::<Vec<_>>(), "app");
            let warning = warning.map(|warning| warning.to_string());
            let given = warning
                .as_ref()
                .and_then(|warning| warning.strip_prefix("app: ")?.split(": ").next());
            assert_eq!(given, expected);
        };
        let gone = "HOLLOWAY_ONLY=x x fits only functions that are inlined everywhere, or unused";
        let nothing = "HOLLOWAY_ONLY=x fits no function that can be woven in this program";
        check(&[("skip", PatternMatch::Nothing)], None);
        check(
            &[
                ("only", PatternMatch::Nothing),
                ("only", PatternMatch::Code),
            ],
            None,
        );
        check(
            &[
                ("only", PatternMatch::NoCode),
                ("only", PatternMatch::Nothing),
            ],
            Some(gone),
        );
        check(
            &[
                ("only", PatternMatch::Nothing),
                ("skip", PatternMatch::Code),
            ],
            Some(nothing),
        );
    }

    #[test]
    fn a_line_is_kept_once() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let file = selections_file(&home.path().join("call")).expect("a directory around");
        for line in ["code only f", "nothing skip g", "code only f"] {
            append_once(&file, line).expect("kept");
        }
        let kept = std::fs::read_to_string(&file).expect("read");
        assert_eq!(kept, "code only f\nnothing skip g\n");
    }
}
