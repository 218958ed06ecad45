//! What the links of one call of cargo leave for it: their path maps and what they had to say.
//!
//! A path map is needed where the program is gone when its run is finished (doctests). Words are needed because rustc
//! shows nothing of what a linker says that succeeds. Both lie in a directory that cargo's caller makes and names to the
//! links: `<build id>.hwm`, and a file `said` with a line for each message.
//!
//! What patterns fit outlives the call, in the directory around (holloway's build directory): cargo links only what changed,
//! and a pattern may be meant for the rest. It is forgotten with what was linked (`settings.rs`).

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use holloway_collect::files::{self, write_atomically};
use holloway_collect::image;
use holloway_collect::path_map::read_map_file;
use holloway_format::{ImageMap, decode_image};
use holloway_report::grouped;

use crate::failure::{Context, Failure, Result};
use crate::status;

/// Environment variable: the directory.
pub(crate) const LINKED: &str = "HOLLOWAY_LINKED";
/// File of messages.
const SAID: &str = "said";
/// First word of a line of it: a warning follows.
const WARNING: &str = "warning";
/// First word of a line of it: two numbers follow, as in [`Guided`].
const GUIDED: &str = "guided";

/// File in holloway's build directory: a [`Sought`] a line, of all links since the settings changed.
pub(crate) const SOUGHT: &str = ".holloway-sought";

/// The directory of one call of cargo; gone with it.
pub(crate) struct Linked(tempfile::TempDir);

impl Linked {
    /// An empty one in holloway's build directory.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub(crate) fn new(home: &Path) -> Result<Self> {
        let made = tempfile::Builder::new().prefix(".linked-").tempdir_in(home);
        made.map(Self)
            .cannot(|| format!("make a directory in {}", home.display()))
    }

    /// Where it is.
    pub(crate) fn directory(&self) -> &Path {
        self.0.path()
    }

    /// The path maps of what was linked.
    pub(crate) fn maps(&self) -> Vec<ImageMap> {
        let files = std::fs::read_dir(self.directory()).into_iter().flatten();
        let files = files.filter_map(|file| Some(file.ok()?.path()));
        let maps = files.filter(|file| file.extension().is_some_and(|kind| kind == files::MAP));
        maps.filter_map(|file| read_map_file(&file).ok()).collect()
    }

    /// Says each warning of the links, once.
    pub(crate) fn warnings(&self) {
        let mut warnings = self.said(WARNING);
        let mut seen = HashSet::new();
        warnings.retain(|warning| seen.insert(warning.clone()));
        warnings.iter().for_each(|warning| status::warn(warning));
    }

    /// Says how many functions all links together found in their guide, if they had one.
    pub(crate) fn guided(&self) {
        let counts = self.said(GUIDED);
        let counts = counts.iter().filter_map(|counts| Guided::parse(counts));
        if let Some(guided) = counts.reduce(Guided::plus) {
            guided.say();
        }
    }

    /// Warns of patterns that fit no code in any of the links, of this call or before it.
    pub(crate) fn sought(&self) {
        let mut all: Vec<Sought> = Vec::new();
        let lines = sought_file(self.directory())
            .and_then(|file| std::fs::read_to_string(file).ok())
            .unwrap_or_default();
        for sought in lines.lines().filter_map(Sought::parse) {
            let known = all
                .iter_mut()
                .find(|known| (&known.option, &known.pattern) == (&sought.option, &sought.pattern));
            match known {
                Some(known) => known.fit = known.fit.max(sought.fit),
                None => all.push(sought),
            }
        }
        for sought in &all {
            let given = format!("--{} {}", sought.option, sought.pattern);
            let warning = sought
                .fit
                .warning(&given, "here (the standard library's only with --std)");
            warning.iter().for_each(|warning| status::warn(warning));
        }
    }

    fn said(&self, kind: &str) -> Vec<String> {
        let said = std::fs::read_to_string(self.directory().join(SAID)).unwrap_or_default();
        said.lines()
            .filter_map(|line| line.strip_prefix(kind)?.strip_prefix(' '))
            .map(str::to_owned)
            .collect()
    }
}

/// How many of a link's woven functions a guide knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Guided {
    /// Functions that ran in the guide and are the same still.
    pub(crate) known: usize,
    /// All.
    pub(crate) all: usize,
}

impl Guided {
    /// On stderr: a note, or a warning where the guide is of no use.
    pub(crate) fn say(&self) {
        let shown = self.shown();
        match self.known {
            _ if self.all == 0 => {}
            0 => status::warn(&shown),
            _ => status::note(&shown),
        }
    }

    fn shown(&self) -> String {
        let [known, all] = [self.known, self.all].map(|number| grouped(number as u64));
        match self.known {
            0 => format!(
                "the guide has counts for none of the {all} functions: they are woven without it; record a run of this program as it is now"
            ),
            _ if known == all => format!("the guide has counts for {known} of {all} functions"),
            _ => format!(
                "the guide has counts for {known} of {all} functions that are woven; the others didn't run there or have changed"
            ),
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            known: self.known + other.known,
            all: self.all + other.all,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let (known, all) = text.split_once(' ')?;
        Some(Self {
            known: known.parse().ok()?,
            all: all.parse().ok()?,
        })
    }
}

/// What a pattern selects of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fit {
    /// No function.
    Nothing,
    /// Only functions without code of their own.
    Gone,
    /// A function.
    Code,
}

/// A pattern of `--only` or `--skip`, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sought {
    /// `only` or `skip`.
    pub(crate) option: String,
    /// As written; one line.
    pub(crate) pattern: String,
    /// What it selects.
    pub(crate) fit: Fit,
}

impl Fit {
    /// What is to be said of patterns that were given as `given`, that select among the functions of `place`.
    fn warning(self, given: &str, place: &str) -> Option<String> {
        match self {
            Self::Code => None,
            Self::Gone => Some(format!(
                "{given} fits only functions that are inlined everywhere, or unused: name those that they are inlined into"
            )),
            Self::Nothing => Some(format!(
                "{given} fits no function that can be woven {place}: give a crate's name, a function's, or a regular expression over demangled names"
            )),
        }
    }
}

impl Sought {
    fn line(&self) -> String {
        let fit = match self.fit {
            Fit::Nothing => "nothing",
            Fit::Gone => "gone",
            Fit::Code => "code",
        };
        format!("{fit} {} {}", self.option, self.pattern)
    }

    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.splitn(3, ' ');
        let fit = match parts.next()? {
            "nothing" => Fit::Nothing,
            "gone" => Fit::Gone,
            "code" => Fit::Code,
            _ => return None,
        };
        Some(Self {
            option: parts.next()?.to_owned(),
            pattern: parts.next()?.to_owned(),
            fit,
        })
    }
}

/// From the link of `output`: what the patterns select. Cargo's caller says it for all links together. Without one each link stands alone, and
/// patterns may be meant for others (of one build system, or of configure's tests): only that nothing is left to weave is said.
pub(crate) fn sought(sought: &[Sought], output: &str) {
    let kept = directory().and_then(|directory| sought_file(&directory));
    let is_kept = kept.is_some_and(|file| {
        sought
            .iter()
            .all(|sought| keep(&file, &sought.line()).is_ok())
    });
    if !is_kept && let Some(warning) = nothing_left(sought) {
        status::warn(&format!("{output}: {warning}"));
    }
}

/// What is to be said of a link of which `--only` leaves nothing.
fn nothing_left(sought: &[Sought]) -> Option<String> {
    let only = sought.iter().filter(|sought| sought.option == "only");
    let best = only.clone().map(|sought| sought.fit).max()?;
    let patterns: Vec<_> = only.map(|sought| sought.pattern.as_str()).collect();
    best.warning(
        &format!("HOLLOWAY_ONLY={}", patterns.join(" ")),
        "in this program",
    )
}

/// From a link: a warning, on stderr and for the cargo call around it.
pub(crate) fn warn(message: &str) {
    status::warn(message);
    leave(WARNING, message);
}

/// From a link: what it found in its guide. Cargo's caller says it once for all links.
pub(crate) fn guided(guided: &Guided) {
    if !leave(GUIDED, &format!("{} {}", guided.known, guided.all)) {
        guided.say();
    }
}

/// Leaves a line for the cargo call; whether there is one.
fn leave(kind: &str, message: &str) -> bool {
    directory().is_some_and(|directory| {
        append(&directory.join(SAID), &format!("{kind} {message}")).is_ok()
    })
}

/// Appends a line unless the file has it.
fn keep(file: &Path, line: &str) -> io::Result<()> {
    let kept = std::fs::read_to_string(file).unwrap_or_default();
    if kept.lines().any(|kept| kept == line) {
        return Ok(());
    }
    append(file, line)
}

/// Appends a line. Those of links at the same time don't mix: each is one write.
fn append(file: &Path, line: &str) -> io::Result<()> {
    let file = std::fs::File::options()
        .create(true)
        .append(true)
        .open(file);
    file?.write_all(format!("{line}\n").as_bytes())
}

/// Where what patterns fit is kept: beside the directory of a call.
fn sought_file(directory: &Path) -> Option<PathBuf> {
    Some(directory.parent()?.join(SOUGHT))
}

/// After a link: leaves the output's path map. Best effort: the program's file is the first place to look.
pub(crate) fn store_map(linker_args: &[OsString]) {
    let (Some(store), Some(output)) = (directory(), output_of_link(linker_args)) else {
        return;
    };
    let map = image::read_map(&output).map_err(Failure::from);
    let stored = map.and_then(|bytes| {
        let map = decode_image(&bytes).map_err(Failure::new)?;
        let file = store.join(files::map_name(&map.build_id));
        write_atomically(&file, &bytes).map_err(Failure::from)
    });
    drop(stored);
}

fn directory() -> Option<PathBuf> {
    std::env::var_os(LINKED)
        .map(PathBuf::from)
        .filter(|store| store.is_dir())
}

/// `-o FILE`, in the line or in the response files it names.
fn output_of_link(args: &[OsString]) -> Option<PathBuf> {
    let args = crate::link::expand(args.iter().cloned()).ok()?;
    let position = args.iter().rposition(|arg| arg == "-o")?;
    args.get(position + 1).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_stands_alone_tells_only_that_nothing_is_left() {
        let check = |fits: &[(&str, Fit)], expected: Option<&str>| {
            let sought = fits.iter().map(|&(option, fit)| Sought {
                option: option.to_owned(),
                pattern: "x".to_owned(),
                fit,
            });
            let told = nothing_left(&sought.collect::<Vec<_>>());
            let given = told.as_ref().and_then(|told| told.split(": ").next());
            assert_eq!(given, expected);
        };
        let gone = "HOLLOWAY_ONLY=x x fits only functions that are inlined everywhere, or unused";
        let nothing = "HOLLOWAY_ONLY=x fits no function that can be woven in this program";
        check(&[("skip", Fit::Nothing)], None);
        check(&[("only", Fit::Nothing), ("only", Fit::Code)], None);
        check(&[("only", Fit::Gone), ("only", Fit::Nothing)], Some(gone));
        check(
            &[("only", Fit::Nothing), ("skip", Fit::Code)],
            Some(nothing),
        );
    }

    #[test]
    fn a_guide_tells_how_many_functions_it_knows() {
        let check = |known, all, expected: &str| {
            let shown = Guided { known, all }.shown();
            assert!(shown.contains(expected), "{shown}");
        };
        check(0, 1234, "for none of the 1,234 functions: ");
        check(1234, 1234, "for 1,234 of 1,234 functions");
        check(1233, 12340, "for 1,233 of 12,340 functions that are woven;");
    }

    #[test]
    fn a_line_is_kept_once() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let file = sought_file(&home.path().join("call")).expect("a directory around");
        for line in ["code only f", "nothing skip g", "code only f"] {
            keep(&file, line).expect("kept");
        }
        let kept = std::fs::read_to_string(&file).expect("read");
        assert_eq!(kept, "code only f\nnothing skip g\n");
    }
}
