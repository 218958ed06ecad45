//! Parses the options that choose the profile that a build collects: `--collect`, `--exits`,
//! `--graph`, `--guide`, or a program without probes: `--embed`.
//!
//! The user writes them among the options of a compiler or cargo, or before the options of `ld`.
//! The variables `HOLLOWAY_COLLECT`, `HOLLOWAY_EXITS`, `HOLLOWAY_GRAPH`, and `HOLLOWAY_GUIDE` have
//! the same meaning. An option overrides its variable.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use holloway_abi::environment::{
    COLLECT, EMBED, EXITS, Flag, GRAPH, GUIDE, InvalidCollection, InvalidGraphStage, InvalidSwitch,
    Parse as _,
};
pub use holloway_abi::environment::{Collection, GraphStage, Switch};
use holloway_abi::{DEFAULT_K, Kind, LeftFrames};

use crate::error::{OptionError, Result};
use crate::line::takes_value;

/// Holloway's options: name, variable, and the expected value with an example.
const OPTIONS: [(&str, &str, &str); 4] = [
    (
        "--collect",
        COLLECT.name,
        "a kind of profile: --collect paths",
    ),
    ("--exits", EXITS.name, "on or off: --exits on"),
    ("--graph", GRAPH.name, "source or optimized: --graph source"),
    ("--guide", GUIDE.name, "a run: --guide latest"),
];

/// Holloway's options on a command line. An option that was not given is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectOptions {
    /// The value of `--collect`.
    pub collect: Option<Collection>,
    /// The value of `--exits`: whether frames that are left in a call are counted.
    pub exits: Option<Switch>,
    /// The value of `--graph`: the code whose graph is profiled.
    pub graph: Option<GraphStage>,
    /// The value of `--guide`: the run whose counts decide where probes are placed.
    pub guide: Option<PathBuf>,
    /// Whether `--embed` is given: the program has no probes and carries its unoptimized bitcode.
    pub embed: bool,
}

/// The option without a value: the program carries its bitcode.
const EMBED_OPTION: &str = "--embed";

impl CollectOptions {
    /// Separates holloway's options at the start of a linker's words from the other words.
    ///
    /// # Errors
    /// If an option has a wrong value.
    pub fn take_leading(args: Vec<OsString>) -> Result<(Self, Vec<OsString>)> {
        let mut options = Self::default();
        let mut args = args.into_iter();
        while let Some(word) = args.next() {
            if !options.take_option(&word, &mut args)? {
                return Ok((options, std::iter::once(word).chain(args).collect()));
            }
        }
        Ok((options, Vec::new()))
    }

    /// Separates holloway's options from the other words of a compiler's command line. The options
    /// may be anywhere before a lone `--`. No compiler has options of these names. A word that is
    /// the value of another option is never read as an option.
    ///
    /// # Errors
    /// If an option has a wrong value.
    pub fn take_anywhere(args: Vec<OsString>) -> Result<(Self, Vec<OsString>)> {
        let mut options = Self::default();
        let mut other_words = Vec::with_capacity(args.len());
        let mut args = args.into_iter();
        while let Some(word) = args.next() {
            if options.take_option(&word, &mut args)? {
                continue;
            }
            let is_last_option = word == "--";
            let has_value = word
                .to_str()
                .is_some_and(|word| takes_value(word) || COMPILER_VALUES.contains(&word));
            other_words.push(word);
            if is_last_option {
                break;
            }
            other_words.extend(has_value.then(|| args.next()).flatten());
        }
        other_words.extend(args);
        Ok((options, other_words))
    }

    /// Sets the option if `word` is one of holloway's options. Returns whether it is. If the value
    /// is not in `word`, it is the next of `args`.
    fn take_option(
        &mut self,
        word: &OsStr,
        args: &mut impl Iterator<Item = OsString>,
    ) -> Result<bool> {
        if word == EMBED_OPTION {
            self.embed = true;
            return Ok(true);
        }
        let (name, attached) = split_value(word);
        let Some((name, ..)) = OPTIONS.into_iter().find(|option| name == option.0) else {
            return Ok(false);
        };
        let value = attached.map(OsStr::to_owned).or_else(|| args.next());
        self.set(name, &value.unwrap_or_default())?;
        Ok(true)
    }

    /// Sets the options that were not given from the environment variables.
    ///
    /// # Errors
    /// If a variable has a wrong value, or the options contradict each other.
    pub fn or_environment(mut self) -> Result<Self> {
        if self.embed && self.wants_probes() {
            return Err(OptionError::EmbedWithProbes.into());
        }
        if self.embeds() {
            self.embed = true;
            return Ok(self);
        }
        for (option, variable, _) in OPTIONS {
            let value = std::env::var_os(variable).filter(|value| !value.is_empty());
            if let Some(value) = value.filter(|_| !self.has(option)) {
                self.assign(option, &value)
                    .map_err(|reason| OptionError::Variable {
                        variable,
                        value: value.display().to_string(),
                        reason: Box::new(reason),
                    })?;
            }
        }
        let kind = self.kind();
        let reason = match kind.traits().left_frames {
            LeftFrames::Counted => return Ok(self),
            LeftFrames::Untimed => "takes times of paths that end",
            LeftFrames::Unrecorded => "records nothing",
            LeftFrames::Traced => "sees frames that are left in any case",
        };
        if self.exits.is_some() {
            return Err(OptionError::ExitsOfKind {
                variable: EXITS.name,
                kind: kind.to_string(),
                reason,
            }
            .into());
        }
        Ok(self)
    }

    /// Whether programs carry their bitcode: by option, or by the environment unless an option asks
    /// for probes.
    pub(crate) fn embeds(&self) -> bool {
        self.embed || !self.wants_probes() && embeds()
    }

    fn wants_probes(&self) -> bool {
        self.collect.is_some()
            || self.exits.is_some()
            || self.graph.is_some()
            || self.guide.is_some()
    }

    /// Returns the options as environment variables, for child processes that call holloway again.
    pub fn environment(&self) -> impl Iterator<Item = (&'static str, OsString)> {
        let collect = self
            .collect
            .map(|kind| (COLLECT.name, kind.to_string().into()));
        let exits = self
            .exits
            .map(|exits| (EXITS.name, exits.to_string().into()));
        let graph = self
            .graph
            .map(|graph| (GRAPH.name, graph.to_string().into()));
        let guide = self.guide.clone().map(|run| (GUIDE.name, run.into()));
        // A child process sees options only as variables, and could not tell which has precedence.
        let embed = match (self.embed, self.wants_probes()) {
            (true, _) => Some((EMBED.name, "1".into())),
            (false, true) => Some((EMBED.name, OsString::new())),
            (false, false) => None,
        };
        [collect, exits, graph, guide, embed].into_iter().flatten()
    }

    /// Returns the kind of profile, which is paths by default.
    pub fn kind(&self) -> Kind {
        self.collection().kind
    }

    /// Returns the kind of profile, and for loops the number of iterations.
    pub fn collection(&self) -> Collection {
        self.collect.unwrap_or(Kind::Paths.into())
    }

    /// Returns the code whose graph is profiled: by option, or by the environment.
    pub(crate) fn graph(&self) -> GraphStage {
        self.graph.unwrap_or_else(graph_of_environment)
    }

    /// Returns whether frames that are left in a call are counted. The default depends on the kind.
    pub fn counts_exits(&self) -> bool {
        self.exits
            .map_or(self.kind().counts_exits(), |exits| exits == Switch::On)
    }

    fn has(&self, option: &str) -> bool {
        match option {
            "--collect" => self.collect.is_some(),
            "--exits" => self.exits.is_some(),
            "--graph" => self.graph.is_some(),
            _ => self.guide.is_some(),
        }
    }

    /// Sets `--collect`, `--exits`, `--graph`, or `--guide`.
    ///
    /// # Errors
    /// If the value is wrong, or another option follows instead of a value.
    pub(crate) fn set(
        &mut self,
        option: &str,
        value: &OsStr,
    ) -> std::result::Result<(), OptionError> {
        let owned = option.to_owned();
        if value.is_empty() {
            return Err(OptionError::MissingValue {
                option: owned,
                example: example(option),
            });
        }
        let shown = value.display().to_string();
        if value.as_encoded_bytes().starts_with(b"-") {
            return Err(OptionError::OptionAsValue {
                option: owned,
                example: example(option),
                value: shown,
            });
        }
        self.assign(option, value)
            .map_err(|reason| OptionError::Value {
                option: owned,
                value: shown,
                reason: Box::new(reason),
            })
    }

    fn assign(&mut self, option: &str, value: &OsStr) -> std::result::Result<(), OptionError> {
        match option {
            "--collect" => self.collect = Some(COLLECT.parse(value.as_encoded_bytes())?),
            "--exits" => self.exits = Some(EXITS.parse(value.as_encoded_bytes())?),
            "--graph" => self.graph = Some(GRAPH.parse(value.as_encoded_bytes())?),
            _ => self.guide = Some(value.into()),
        }
        Ok(())
    }
}

/// Whether the variable asks for programs that carry their bitcode.
pub(crate) fn embeds() -> bool {
    let value = std::env::var_os(EMBED.name).unwrap_or_default();
    let Ok(flag) = EMBED.parse(value.as_encoded_bytes());
    flag == Flag::Set
}

/// The code whose graph builds profile, by the environment. Links report a wrong value.
pub(crate) fn graph_of_environment() -> GraphStage {
    let value = std::env::var_os(GRAPH.name).unwrap_or_default();
    GRAPH.parse(value.as_encoded_bytes()).unwrap_or_default()
}

/// Options of a compiler whose value is the next word, in addition to those of [`takes_value`].
const COMPILER_VALUES: [&str; 2] = ["--language", "-Xlinker"];

/// Parses the value of `--collect`: `paths`, `edges`, `loops`, `loops=K`, `trace`, `variation`, or
/// `times`.
///
/// # Errors
/// If no kind has this name, or K is out of range.
pub fn parse_collection(text: &str) -> std::result::Result<Collection, OptionError> {
    Ok(Collection::parse(text.as_bytes())?)
}

/// Parses K, the maximum number of consecutive paths in a sequence.
///
/// # Errors
/// If `text` is no number, or the number is out of range.
pub fn parse_k(text: &str) -> std::result::Result<u32, OptionError> {
    Ok(Collection::parse_k(text.as_bytes())?)
}

impl From<InvalidCollection> for OptionError {
    fn from(error: InvalidCollection) -> Self {
        match error {
            InvalidCollection::Kind => Self::Kind,
            InvalidCollection::Iterations => Self::Iterations {
                least: *Collection::K_RANGE.start(),
                most: *Collection::K_RANGE.end(),
                default: DEFAULT_K,
            },
        }
    }
}

impl From<InvalidSwitch> for OptionError {
    fn from(InvalidSwitch: InvalidSwitch) -> Self {
        Self::Switch
    }
}

impl From<InvalidGraphStage> for OptionError {
    fn from(InvalidGraphStage: InvalidGraphStage) -> Self {
        Self::Graph
    }
}

/// Returns a description of an option's value, with an example.
fn example(option: &str) -> &'static str {
    let entry = OPTIONS.iter().find(|entry| entry.0 == option);
    entry.map_or("a value", |entry| entry.2)
}

/// Splits `--name=value` at the equals sign.
fn split_value(word: &OsStr) -> (&OsStr, Option<&OsStr>) {
    use std::os::unix::ffi::OsStrExt as _;
    let bytes = word.as_bytes();
    match bytes.iter().position(|&byte| byte == b'=') {
        Some(equals) => (
            OsStr::from_bytes(&bytes[..equals]),
            Some(OsStr::from_bytes(&bytes[equals + 1..])),
        ),
        None => (word, None),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::error::Fault;

    fn take(line: &str) -> Result<(CollectOptions, Vec<OsString>)> {
        CollectOptions::take_leading(line.split_whitespace().map(OsString::from).collect())
    }

    #[test]
    fn leading_options_are_separated_from_a_linkers_words() {
        let check = |line: &str, kind, exits, guide: Option<&str>, expected_words: &str| {
            let (options, words) = take(line).unwrap();
            let expect = CollectOptions {
                collect: kind,
                exits,
                guide: guide.map(Into::into),
                ..CollectOptions::default()
            };
            assert_eq!(options, expect, "{line}");
            assert_eq!(words.join(OsStr::new(" ")), expected_words, "{line}");
        };
        let edges = Some(Kind::Edges.into());
        check("-c a.c", None, None, None, "-c a.c");
        check("--collect edges -c a.c", edges, None, None, "-c a.c");
        check(
            "--exits=on --collect=edges --guide a=b x",
            edges,
            Some(Switch::On),
            Some("a=b"),
            "x",
        );
        check("--exits off --exits on", None, Some(Switch::On), None, "");
        check(
            "a.c --collect edges",
            None,
            None,
            None,
            "a.c --collect edges",
        );
        check("--guide=latest", None, None, Some("latest"), "");
        let graph = |line: &str| take(line).unwrap().0.graph();
        assert_eq!(graph("--graph source a.c"), GraphStage::Source);
        assert_eq!(graph("--graph=optimized"), GraphStage::Optimized);
    }

    #[test]
    fn options_are_separated_from_a_compilers_words() {
        let check = |line: &str, kind, exits, guide: Option<&str>, expected_words: &str| {
            let words = line.split_whitespace().map(OsString::from).collect();
            let (options, words) = CollectOptions::take_anywhere(words).unwrap();
            let expect = CollectOptions {
                collect: kind,
                exits,
                guide: guide.map(Into::into),
                ..CollectOptions::default()
            };
            assert_eq!(options, expect, "{line}");
            assert_eq!(words.join(OsStr::new(" ")), expected_words, "{line}");
        };
        let (edges, paths) = (Some(Kind::Edges.into()), Some(Kind::Paths.into()));
        check("-O2 --collect edges a.c", edges, None, None, "-O2 a.c");
        check("a.c --guide run", None, None, Some("run"), "a.c");
        check(
            "--collect edges -c a.c --exits=off --collect=paths -o a.o",
            paths,
            Some(Switch::Off),
            None,
            "-c a.c -o a.o",
        );
        check(
            "--exits on a.c -- --collect edges",
            None,
            Some(Switch::On),
            None,
            "a.c -- --collect edges",
        );
        // Values of other options are not holloway's options.
        let other = "-o --guide -Xlinker --exits -Xclang --collect a.c";
        check(other, None, None, None, other);
        check("-c", None, None, None, "-c");
        check("-o", None, None, None, "-o");
    }

    #[test]
    fn an_error_describes_the_expected_value() {
        let check = |line: &str, expect: &str| {
            let error = take(line).unwrap_err();
            assert_eq!(error.fault(), Fault::Usage);
            assert_eq!(error.to_string(), expect);
        };
        check(
            "--collect",
            "--collect wants a kind of profile: --collect paths",
        );
        check(
            "--collect=x",
            "--collect x: no such kind; there are paths, edges, loops (loops=K), trace, variation and times",
        );
        let range = "K is a number of iterations from 2 to 1024, as in loops=8";
        for k in ["", "1", "1025", "x", "-3", "8.0"] {
            check(
                &format!("--collect=loops={k}"),
                &format!("--collect loops={k}: {range}"),
            );
        }
        check("--exits maybe", "--exits maybe: say on or off");
        check("--graph late", "--graph late: say source or optimized");
        check("--exits -c", "--exits wants on or off: --exits on, not -c");
        check("--guide", "--guide wants a run: --guide latest");
        check("--guide= a.c", "--guide wants a run: --guide latest");
        check(
            "--guide -O2 a.c",
            "--guide wants a run: --guide latest, not -O2",
        );
    }

    #[test]
    fn the_default_of_exits_depends_on_the_kind() {
        let counts = |line: &str| take(line).unwrap().0.counts_exits();
        assert!(counts(""));
        assert!(counts("--collect paths"));
        assert!(counts("--collect edges"));
        assert!(!counts("--exits off"));
        assert!(!counts("--exits off --collect edges"));
    }

    #[test]
    fn loops_have_a_number_of_iterations() {
        let kind = |line: &str| take(line).unwrap().0.collection();
        for (line, k) in [
            ("--collect loops", DEFAULT_K),
            ("--collect loops=2", 2),
            ("--collect=loops=1024", 1024),
        ] {
            assert_eq!(
                kind(line),
                Collection {
                    kind: Kind::Loops,
                    k
                }
            );
            assert_eq!(parse_collection(&kind(line).to_string()), Ok(kind(line)));
        }
        for name in ["trace", "variation", "times"] {
            assert_eq!(kind(&format!("--collect {name}")).to_string(), name);
        }
    }

    #[test]
    fn kinds_that_ignore_exits_reject_the_option() {
        for line in [
            "--collect trace --exits on",
            "--exits off --collect trace",
            "--collect variation --exits on",
            "--collect times --exits off",
        ] {
            let options = take(line).unwrap().0;
            let error = options.or_environment().unwrap_err();
            assert_eq!(error.fault(), Fault::Usage);
            assert!(error.to_string().contains("leave it out"), "{error}");
        }
        let loops = |line: &str| take(line).unwrap().0.or_environment().unwrap();
        assert!(loops("--collect loops").counts_exits());
        assert!(!loops("--exits off --collect loops=9").counts_exits());
    }
}
