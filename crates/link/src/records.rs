//! Records: files that the link steps of a build write for the `cargo holloway` process that
//! started the build. There are four:
//!
//! - the path map of each link, in the file `<build id>.hwm`. It is needed if the program has been
//!   deleted before its run is finished, as with doctests.
//! - the messages of all links, in the file `said`, one line per message. They are needed because
//!   rustc does not show the output of a successful linker.
//! - the functions that the patterns of `--only` and `--skip` select in each link, in the file
//!   `.holloway-sought`;
//! - the progress of each link that weaves modules now, in the file `<process id>.weaving`.
//!
//! All but the third are in a directory that the cargo call creates and names in the variable
//! [`RECORDS`]. The third is in the directory of the cargo profile, where it remains for later
//! cargo calls: cargo links only changed programs, and a pattern may be meant for a program that is
//! not linked again. `build_settings` deletes this file when the settings change.

use std::collections::HashSet;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use holloway_abi::environment;
use holloway_format::image::MAP_EXTENSION;
use holloway_format::{ImageMap, decode_image};

use crate::error::{Error, Result};
use crate::host::{Host, Weaving};
use crate::message::{
    GuideMatch, Message, PatternMatch, PatternScope, Severity, UnmatchedPatterns,
};

/// Environment variable with the directory of records.
pub const RECORDS: &str = environment::internal::LINKED;
/// Name of the file with messages.
const MESSAGES: &str = "said";
/// First word of a line of [`MESSAGES`] with a warning.
const WARNING: &str = "warning";
/// First word of a line of [`MESSAGES`] with the two numbers of a [`GuideMatch`].
const GUIDE: &str = "guided";

/// Extension of the file with the progress of a link that weaves now. Its name is the process id.
const WEAVING: &str = "weaving";

/// Name of the file in the directory of a cargo profile with a [`Selection`] per line, of all links
/// since the settings changed.
pub(crate) const SELECTIONS: &str = ".holloway-sought";

/// The records of one cargo call. Dropping this value deletes the directory.
pub struct LinkRecords(tempfile::TempDir);

impl LinkRecords {
    /// Creates an empty directory of records in the directory of a cargo profile.
    ///
    /// # Errors
    /// If the directory cannot be created.
    pub fn new(profile_directory: &Path) -> Result<Self> {
        let directory = tempfile::Builder::new()
            .prefix(".linked-")
            .tempdir_in(profile_directory);
        directory
            .map(Self)
            .map_err(|source| Error::RecordsDirectory {
                path: profile_directory.to_owned(),
                source,
            })
    }

    /// Returns the directory of records.
    pub fn directory(&self) -> &Path {
        self.0.path()
    }

    /// Reads the path maps of the programs that were linked.
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

    /// Reads the warnings of the links, each once.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.lines(WARNING);
        let mut seen = HashSet::new();
        warnings.retain(|warning| seen.insert(warning.clone()));
        warnings
    }

    /// Returns a message with the number of woven functions for which the guide has counts, in all
    /// links together. Returns `None` if no link had a guide.
    pub fn guide(&self) -> Option<Message> {
        let lines = self.lines(GUIDE);
        let matches = lines.iter().filter_map(|line| parse_guide_match(line));
        let total = matches.reduce(|total, link| GuideMatch {
            guided_functions: total.guided_functions + link.guided_functions,
            woven_functions: total.woven_functions + link.woven_functions,
        });
        total.and_then(guide_message)
    }

    /// Returns warnings about the patterns that select no function with code in any link of this or
    /// an earlier cargo call.
    pub fn pattern_warnings(&self) -> Vec<Message> {
        let mut patterns: Vec<Selection> = Vec::new();
        let lines = selections_file(self.directory())
            .and_then(|file| std::fs::read_to_string(file).ok())
            .unwrap_or_default();
        for selection in lines.lines().filter_map(Selection::parse) {
            let earlier = patterns.iter_mut().find(|earlier| {
                (&earlier.option, &earlier.pattern) == (&selection.option, &selection.pattern)
            });
            match earlier {
                Some(earlier) => earlier.selected = earlier.selected.max(selection.selected),
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

    /// Returns a reader of the links' progress.
    pub fn weaving_reader(&self) -> WeavingReader {
        WeavingReader(self.directory().to_owned())
    }

    /// Reads the lines of the file of messages that begin with the word `kind`. Returns them
    /// without that word.
    fn lines(&self, kind: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.directory().join(MESSAGES)).unwrap_or_default();
        text.lines()
            .filter_map(|line| line.strip_prefix(kind)?.strip_prefix(' '))
            .map(str::to_owned)
            .collect()
    }
}

/// Reads the progress of the links of a cargo call.
#[derive(Debug, Clone)]
pub struct WeavingReader(PathBuf);

impl WeavingReader {
    /// Reads the progress of the links that weave modules now, one text for each link. The file of
    /// a link that was killed is ignored.
    pub fn read(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).into_iter().flatten();
        let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let weaving = files.filter(|file| {
            file.extension()
                .is_some_and(|extension| extension == WEAVING)
                && writer_runs(file)
        });
        let texts = weaving.filter_map(|file| std::fs::read_to_string(file).ok());
        texts.filter(|text| !text.is_empty()).collect()
    }
}

/// Whether the process runs that the name of a progress file gives.
fn writer_runs(file: &Path) -> bool {
    let processes = Path::new("/proc");
    let process = file.file_stem().map(|process| processes.join(process));
    process.is_some_and(|process| process.exists()) || !processes.join("self").exists()
}

fn parse_guide_match(text: &str) -> Option<GuideMatch> {
    let (guided, woven) = text.split_once(' ')?;
    Some(GuideMatch {
        guided_functions: guided.parse().ok()?,
        woven_functions: woven.parse().ok()?,
    })
}

/// Makes a message of `matches`, unless no function was woven.
fn guide_message(matches: GuideMatch) -> Option<Message> {
    (matches.woven_functions > 0).then_some(Message::Guide(matches))
}

/// The functions that a pattern of `--only` or `--skip` selects in a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selection {
    /// The option: `only` or `skip`.
    pub(crate) option: String,
    /// The text of the pattern, which is one line.
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

/// Shows the messages of a link, and writes the records of the link if a cargo call started it.
pub(crate) struct Recorder<'a> {
    host: &'a dyn Host,
    /// The directory of records. `None` if no cargo call started the link.
    directory: Option<PathBuf>,
}

impl<'a> Recorder<'a> {
    /// Makes a recorder for the directory that [`RECORDS`] names.
    pub(crate) fn from_env(host: &'a dyn Host) -> Self {
        let directory = directory();
        Self { host, directory }
    }

    /// Returns the caller of the link step.
    pub(crate) fn host(&self) -> &'a dyn Host {
        self.host
    }

    /// Shows a message, and records it for the cargo call if it is a warning.
    pub(crate) fn show(&self, message: &Message) {
        self.host.show(message);
        match message.severity() {
            Severity::Warning => drop(self.record(WARNING, &message.to_string())),
            Severity::Note => {}
        }
    }

    /// Shows the progress of weaving, and records it for the cargo call, because rustc does not
    /// show the linker's output. `None` means that weaving has ended.
    pub(crate) fn weaving(&self, weaving: Option<&Weaving>) {
        self.host.show_weaving(weaving);
        let Some(directory) = &self.directory else {
            return;
        };
        let file = directory.join(format!("{}.{WEAVING}", std::process::id()));
        // Progress is not worth an error.
        match weaving {
            Some(weaving) => replace(&file, weaving.to_string().as_bytes()).ok(),
            None => std::fs::remove_file(file).ok(),
        };
    }

    /// Records for how many functions of the link the guide has counts. The cargo call reports one
    /// sum for all links. Without a cargo call, the link shows the numbers itself.
    pub(crate) fn guide(&self, matches: GuideMatch) {
        let line = format!("{} {}", matches.guided_functions, matches.woven_functions);
        if self.record(GUIDE, &line).is_err()
            && let Some(message) = guide_message(matches)
        {
            self.host.show(&message);
        }
    }

    /// Records which functions the patterns select in the link of `output`. The cargo call warns of
    /// patterns that fit no function in any link. A link without a cargo call may be one of many
    /// links in a build system or in configure's tests, and patterns may be meant for the other
    /// links. So it shows a warning only if `--only` selects no code at all.
    pub(crate) fn patterns(&self, selections: &[Selection], output: &str) {
        let file = self.directory.as_deref().and_then(selections_file);
        let is_recorded = file.is_some_and(|file| {
            selections
                .iter()
                .all(|selection| append_once(&file, &selection.line()).is_ok())
        });
        if !is_recorded && let Some(patterns) = empty_selection(selections, output) {
            self.host.show(&Message::Patterns(patterns));
        }
    }

    /// Records the path map of the output after a successful link. A failure is ignored, because
    /// holloway first searches the program's file for a path map.
    pub(crate) fn store_map(&self, map: &StoredMap) {
        let Some(directory) = &self.directory else {
            return;
        };
        replace(&directory.join(map.file_name()), &map.bytes).ok();
    }

    fn record(&self, kind: &str, message: &str) -> io::Result<()> {
        let directory = self.directory.as_ref().ok_or(io::ErrorKind::NotFound)?;
        append(&directory.join(MESSAGES), &format!("{kind} {message}"))
    }
}

/// The path map of a link's output.
#[derive(Debug)]
pub(crate) struct StoredMap {
    /// The hash that identifies the build.
    pub(crate) build_id: [u8; 16],
    /// The encoded map.
    pub(crate) bytes: Vec<u8>,
}

impl StoredMap {
    /// Returns `<build id>.hwm`.
    fn file_name(&self) -> String {
        format!(
            "{}.{MAP_EXTENSION}",
            holloway_format::error::hex_id(&self.build_id)
        )
    }
}

/// Records a warning for the cargo call that started a link, if there is one. The caller shows the
/// warning itself.
pub fn record_warning(warning: &str) {
    if let Some(directory) = directory() {
        // If the record cannot be written, the link's stderr still has the warning.
        append(&directory.join(MESSAGES), &format!("{WARNING} {warning}")).ok();
    }
}

/// Returns the warning about the patterns of `--only` if they select no code in a link.
fn empty_selection(selections: &[Selection], output: &str) -> Option<UnmatchedPatterns> {
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

/// Replaces a file in one step: readers see either the old or the new content.
fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = file.parent().unwrap_or(Path::new("."));
    let mut temporary = tempfile::NamedTempFile::new_in(directory)?;
    temporary.write_all(bytes)?;
    temporary.persist(file)?;
    Ok(())
}

/// Appends a line, unless the file already contains it.
fn append_once(file: &Path, line: &str) -> io::Result<()> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    if text.lines().any(|known| known == line) {
        return Ok(());
    }
    append(file, line)
}

/// Appends a line with a single write, so that the lines of concurrent links do not mix.
fn append(file: &Path, line: &str) -> io::Result<()> {
    let file = std::fs::File::options()
        .create(true)
        .append(true)
        .open(file);
    file?.write_all(format!("{line}\n").as_bytes())
}

/// Returns the path of the file [`SELECTIONS`]. It is in the parent of the directory of records.
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
    fn a_link_without_cargo_warns_only_if_no_code_is_selected() {
        let check = |selected: &[(&str, PatternMatch)], expected: Option<&str>| {
            let selections = selected.iter().map(|&(option, selected)| Selection {
                option: option.to_owned(),
                pattern: "x".to_owned(),
                selected,
            });
            let warning = empty_selection(&selections.collect::<Vec<_>>(), "app");
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
    fn the_progress_of_a_killed_link_is_ignored() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let reader = WeavingReader(home.path().to_owned());
        let write = |process: u32, text: &str| {
            let file = home.path().join(format!("{process}.{WEAVING}"));
            replace(&file, text.as_bytes()).expect("written");
        };
        assert!(reader.read().is_empty());
        // No process has this number.
        write(u32::MAX, "3 of 9: killed");
        write(std::process::id(), "1 of 2: core");
        write(std::process::id(), "2 of 2: app");
        assert_eq!(reader.read(), ["2 of 2: app"]);
        let files = std::fs::read_dir(home.path()).expect("a directory");
        assert_eq!(files.count(), 2, "no temporary file is left");
    }

    #[test]
    fn a_line_is_written_once() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let file = selections_file(&home.path().join("call")).expect("a parent directory");
        for line in ["code only f", "nothing skip g", "code only f"] {
            append_once(&file, line).expect("written");
        }
        let text = std::fs::read_to_string(&file).expect("read");
        assert_eq!(text, "code only f\nnothing skip g\n");
    }
}
