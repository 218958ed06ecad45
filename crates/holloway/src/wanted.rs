//! What a build is asked to collect: `--collect`, `--exits`, `--guide`, among a compiler's or cargo's options or in front of
//! ld's, or their variables `HOLLOWAY_COLLECT`, `HOLLOWAY_EXITS`, `HOLLOWAY_GUIDE`. An option is stronger than its variable.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;

use holloway_abi::{Kind, LeftFrames};

use crate::failure::{Failure, Result};
use crate::link::takes_value;

/// Variable: kind of profile.
pub(crate) const COLLECT: &str = "HOLLOWAY_COLLECT";
/// Variable: whether frames that are left early are counted.
pub(crate) const EXITS: &str = "HOLLOWAY_EXITS";
/// Variable: an earlier run that guides the placing of probes, or what was made of one.
pub(crate) const GUIDE: &str = "HOLLOWAY_GUIDE";

/// Our options of a compiler's line: name, variable, what it wants.
const OPTIONS: [(&str, &str, &str); 3] = [
    ("--collect", COLLECT, "a kind of profile: --collect paths"),
    ("--exits", EXITS, "on or off: --exits on"),
    ("--guide", GUIDE, "a run: --guide latest"),
];

/// Iterations in a row that loops are seen over, unless asked otherwise.
pub(crate) const DEFAULT_K: u32 = 8;
/// Iterations that can be asked for: with one there is nothing in a row.
const K_RANGE: std::ops::RangeInclusive<u32> = 2..=1024;

/// What `--collect` asks for: a kind, and for loops the length of their sequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Collection {
    /// The kind.
    pub(crate) kind: Kind,
    /// Iterations in a row. Only loops use it.
    pub(crate) k: u32,
}

impl From<Kind> for Collection {
    fn from(kind: Kind) -> Self {
        let k = DEFAULT_K;
        Self { kind, k }
    }
}

impl fmt::Display for Collection {
    /// As it is asked for: `paths`, `loops=8`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Loops => write!(f, "{}={}", self.kind, self.k),
            Kind::Paths | Kind::Edges | Kind::Trace | Kind::Variation | Kind::Times => {
                self.kind.fmt(f)
            }
        }
    }
}

/// What was asked for; nothing where nothing was said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Kind of profile.
    pub(crate) collect: Option<Collection>,
    /// Frames that are left early are counted too.
    pub(crate) exits: Option<bool>,
    /// The run whose counts guide the placing of probes.
    pub(crate) guide: Option<PathBuf>,
}

impl Wanted {
    /// Takes our own options off the front of a linker's words.
    ///
    /// # Errors
    /// One of them makes no sense.
    pub(crate) fn take(args: Vec<OsString>) -> Result<(Self, Vec<OsString>)> {
        let mut wanted = Self::default();
        let mut args = args.into_iter();
        while let Some(word) = args.next() {
            if !wanted.take_option(&word, &mut args)? {
                return Ok((wanted, std::iter::once(word).chain(args).collect()));
            }
        }
        Ok((wanted, Vec::new()))
    }

    /// Takes our own options out of a compiler's words, wherever they stand before a lone `--`; no compiler has options of
    /// these names. What is another option's value stays.
    ///
    /// # Errors
    /// One of them makes no sense.
    pub(crate) fn take_anywhere(args: Vec<OsString>) -> Result<(Self, Vec<OsString>)> {
        let mut wanted = Self::default();
        let mut rest = Vec::with_capacity(args.len());
        let mut args = args.into_iter();
        while let Some(word) = args.next() {
            if wanted.take_option(&word, &mut args)? {
                continue;
            }
            let ends = word == "--";
            let has_value = word
                .to_str()
                .is_some_and(|word| takes_value(word) || COMPILER_VALUES.contains(&word));
            rest.push(word);
            if ends {
                break;
            }
            rest.extend(has_value.then(|| args.next()).flatten());
        }
        rest.extend(args);
        Ok((wanted, rest))
    }

    /// Sets what `word` says if it is an option of ours, its value perhaps the next of `args`; whether it is.
    fn take_option(
        &mut self,
        word: &OsStr,
        args: &mut impl Iterator<Item = OsString>,
    ) -> Result<bool> {
        let (name, attached) = split(word);
        let Some((name, ..)) = OPTIONS.into_iter().find(|option| name == option.0) else {
            return Ok(false);
        };
        let value = attached.map(OsStr::to_owned).or_else(|| args.next());
        self.set(name, &value.unwrap_or_default())
            .map_err(Failure::usage)?;
        Ok(true)
    }

    /// What is not said yet, from the environment.
    ///
    /// # Errors
    /// A variable makes no sense, or what is asked for doesn't go together.
    pub(crate) fn or_environment(mut self) -> Result<Self> {
        for (option, variable, _) in OPTIONS {
            let value = std::env::var_os(variable).filter(|value| !value.is_empty());
            if let Some(value) = value.filter(|_| !self.says(option)) {
                self.assign(option, &value).map_err(|why| {
                    Failure::usage(format_args!("{variable}={}: {why}", value.display()))
                })?;
            }
        }
        let kind = self.kind();
        let why = match kind.traits().left_frames {
            LeftFrames::Counted => return Ok(self),
            LeftFrames::Untimed => "takes times of paths that end",
            LeftFrames::Traced => "sees frames that are left in any case",
        };
        if self.exits.is_some() {
            return Err(Failure::usage(format_args!(
                "--exits (or {EXITS}) goes with paths, edges and loops; {kind} {why}: leave it out"
            )));
        }
        Ok(self)
    }

    /// The variables that say it to a process of ours.
    pub(crate) fn environment(&self) -> impl Iterator<Item = (&'static str, OsString)> {
        let collect = self.collect.map(|kind| (COLLECT, kind.to_string().into()));
        let exits = self.exits.map(|on| (EXITS, word(on).into()));
        let guide = self.guide.clone().map(|run| (GUIDE, run.into()));
        [collect, exits, guide].into_iter().flatten()
    }

    /// Kind of profile: paths by default.
    pub(crate) fn kind(&self) -> Kind {
        self.collection().kind
    }

    /// The same with how far loops are seen over.
    pub(crate) fn collection(&self) -> Collection {
        self.collect.unwrap_or(Kind::Paths.into())
    }

    /// Whether frames that are left early are counted: by default as the kind says.
    pub(crate) fn counts_exits(&self) -> bool {
        self.exits.unwrap_or(self.kind().counts_exits())
    }

    fn says(&self, option: &str) -> bool {
        match option {
            "--collect" => self.collect.is_some(),
            "--exits" => self.exits.is_some(),
            _ => self.guide.is_some(),
        }
    }

    /// Sets what `--collect`, `--exits` or `--guide` says.
    ///
    /// # Errors
    /// The value makes no sense, or is the next option.
    pub(crate) fn set(&mut self, option: &str, value: &OsStr) -> std::result::Result<(), String> {
        let shown = value.display();
        if value.is_empty() {
            return Err(lacks_value(option));
        }
        if value.as_encoded_bytes().starts_with(b"-") {
            return Err(format!("{}, not {shown}", lacks_value(option)));
        }
        self.assign(option, value)
            .map_err(|why| format!("{option} {shown}: {why}"))
    }

    fn assign(&mut self, option: &str, value: &OsStr) -> std::result::Result<(), String> {
        match option {
            "--collect" => self.collect = Some(parse_collection(&value.to_string_lossy())?),
            "--exits" => self.exits = Some(parse_switch(value)?),
            _ => self.guide = Some(value.into()),
        }
        Ok(())
    }
}

/// Options of a compiler besides [`takes_value`] whose value is the next word.
const COMPILER_VALUES: [&str; 2] = ["--language", "-Xlinker"];

/// Reads a kind of profile: `paths`, `edges`, `loops`, `loops=K`, `trace`, `variation`, `times`.
///
/// # Errors
/// There is no such kind, or no such K.
pub(crate) fn parse_collection(text: &str) -> std::result::Result<Collection, String> {
    if let Some(k) = text.strip_prefix("loops=") {
        let k = parse_k(k)?;
        let kind = Kind::Loops;
        return Ok(Collection { kind, k });
    }
    text.parse().map(Kind::into).map_err(|_| {
        "no such kind; there are paths, edges, loops (loops=K), trace, variation and times"
            .to_owned()
    })
}

/// Reads a number of iterations.
///
/// # Errors
/// It is none, or out of range.
pub(crate) fn parse_k(text: &str) -> std::result::Result<u32, String> {
    let k = text.parse().ok().filter(|k| K_RANGE.contains(k));
    k.ok_or_else(|| {
        format!(
            "K is a number of iterations from {} to {}, as in loops={DEFAULT_K}",
            K_RANGE.start(),
            K_RANGE.end()
        )
    })
}

fn parse_switch(value: &OsStr) -> std::result::Result<bool, &'static str> {
    match value.to_str() {
        Some("on") => Ok(true),
        Some("off") => Ok(false),
        _ => Err("say on or off"),
    }
}

/// `on` or `off`.
pub(crate) fn word(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn lacks_value(name: &str) -> String {
    let example = OPTIONS.iter().find(|option| option.0 == name);
    let example = example.map_or("a value", |option| option.2);
    format!("{name} wants {example}")
}

/// `--name=value` parted.
fn split(word: &OsStr) -> (&OsStr, Option<&OsStr>) {
    use std::os::unix::ffi::OsStrExt as _;
    let bytes = word.as_bytes();
    match bytes.iter().position(|&byte| byte == b'=') {
        Some(at) => (
            OsStr::from_bytes(&bytes[..at]),
            Some(OsStr::from_bytes(&bytes[at + 1..])),
        ),
        None => (word, None),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn take(line: &str) -> Result<(Wanted, Vec<OsString>)> {
        Wanted::take(line.split_whitespace().map(OsString::from).collect())
    }

    #[test]
    fn our_options_stand_in_front() {
        let check = |line: &str, kind, exits, guide: Option<&str>, rest: &str| {
            let (wanted, words) = take(line).unwrap();
            let expect = Wanted {
                collect: kind,
                exits,
                guide: guide.map(Into::into),
            };
            assert_eq!(wanted, expect, "{line}");
            assert_eq!(words.join(OsStr::new(" ")), OsStr::new(rest), "{line}");
        };
        let edges = Some(Kind::Edges.into());
        check("-c a.c", None, None, None, "-c a.c");
        check("--collect edges -c a.c", edges, None, None, "-c a.c");
        check(
            "--exits=on --collect=edges --guide a=b x",
            edges,
            Some(true),
            Some("a=b"),
            "x",
        );
        check("--exits off --exits on", None, Some(true), None, "");
        check(
            "a.c --collect edges",
            None,
            None,
            None,
            "a.c --collect edges",
        );
        check("--guide=latest", None, None, Some("latest"), "");
    }

    #[test]
    fn a_compiler_has_our_options_anywhere_before_its_last_files() {
        let check = |line: &str, kind, exits, guide: Option<&str>, rest: &str| {
            let words = line.split_whitespace().map(OsString::from).collect();
            let (wanted, words) = Wanted::take_anywhere(words).unwrap();
            let expect = Wanted {
                collect: kind,
                exits,
                guide: guide.map(Into::into),
            };
            assert_eq!(wanted, expect, "{line}");
            assert_eq!(words.join(OsStr::new(" ")), OsStr::new(rest), "{line}");
        };
        let (edges, paths) = (Some(Kind::Edges.into()), Some(Kind::Paths.into()));
        check("-O2 --collect edges a.c", edges, None, None, "-O2 a.c");
        check("a.c --guide run", None, None, Some("run"), "a.c");
        check(
            "--collect edges -c a.c --exits=off --collect=paths -o a.o",
            paths,
            Some(false),
            None,
            "-c a.c -o a.o",
        );
        check(
            "--exits on a.c -- --collect edges",
            None,
            Some(true),
            None,
            "a.c -- --collect edges",
        );
        // Not ours: values of other options.
        let other = "-o --guide -Xlinker --exits -Xclang --collect a.c";
        check(other, None, None, None, other);
        check("-c", None, None, None, "-c");
        check("-o", None, None, None, "-o");
    }

    #[test]
    fn nonsense_is_told_with_what_would_be_right() {
        let check = |line: &str, expect: &str| {
            let failure = take(line).unwrap_err();
            assert_eq!(failure.code, crate::failure::USAGE);
            assert_eq!(failure.message, expect);
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
        check("--exits -c", "--exits wants on or off: --exits on, not -c");
        check("--guide", "--guide wants a run: --guide latest");
        check("--guide= a.c", "--guide wants a run: --guide latest");
        check(
            "--guide -O2 a.c",
            "--guide wants a run: --guide latest, not -O2",
        );
    }

    #[test]
    fn exits_follow_the_kind_until_they_are_named() {
        let counts = |line: &str| take(line).unwrap().0.counts_exits();
        assert!(counts(""));
        assert!(counts("--collect paths"));
        assert!(counts("--collect edges"));
        assert!(!counts("--exits off"));
        assert!(!counts("--exits off --collect edges"));
    }

    #[test]
    fn loops_say_how_far_they_are_seen_over() {
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
    fn kinds_that_know_better_take_no_exits() {
        for line in [
            "--collect trace --exits on",
            "--exits off --collect trace",
            "--collect variation --exits on",
            "--collect times --exits off",
        ] {
            let wanted = take(line).unwrap().0;
            let failure = wanted.or_environment().unwrap_err();
            assert_eq!(failure.code, crate::failure::USAGE);
            assert!(failure.message.contains("leave it out"), "{failure}");
        }
        let loops = |line: &str| take(line).unwrap().0.or_environment().unwrap();
        assert!(loops("--collect loops").counts_exits());
        assert!(!loops("--exits off --collect loops=9").counts_exits());
    }
}
