//! The syntax tree of a pattern, and the errors in patterns.

use holloway_format::words::plural;

use crate::path_name::{MIN_DIGITS, NamePrefix};

/// The text is not a pattern, or an analysis cannot use the pattern.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("at character {}: {fault}", position + 1)]
pub struct PatternError {
    /// Position in the text, in characters from 0.
    pub position: usize,
    /// The fault at this position.
    pub fault: PatternFault,
}

/// A fault in a pattern. Its message says what to write instead.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PatternFault {
    /// A closing parenthesis has no opening parenthesis.
    #[error("`)` without `(`: leave it out, or quote a name that has it")]
    Unopened,
    /// An opening parenthesis has no closing parenthesis.
    #[error("`(` without `)`: add `)` after the group")]
    Unclosed,
    /// A parenthesis is nested too deeply. The parser counts open parentheses and `!` together, and
    /// the whole pattern as one more level (`parse.rs`). So a pattern with fewer than 100 of each
    /// may be refused, too.
    #[error("more than 100 parentheses within one another")]
    NestedTooDeep,
    /// A `!` is nested too deeply, counted as for [`PatternFault::NestedTooDeep`].
    #[error("more than 100 `!` in a row")]
    NegatedTooOften,
    /// A sequence has no event.
    #[error(
        "an event is missing: a function's name, `f#3fa2`, `f:12`, `enter f`, `leave f`, `return`, `left` or `.`"
    )]
    NoEvent,
    /// `!` negates a sequence or a repetition.
    #[error("`!` must stand before one event or a choice of events, as in `!f` or `!(f|g)`")]
    NegatedSequence,
    /// The pattern names too many events.
    #[error("a pattern may name 1,000 events: ask for less at a time")]
    TooManyEvents,
    /// The pattern ends before an event.
    #[error("the pattern ends where an event is missing")]
    End,
    /// The text has an operator where an event is expected.
    #[error("`{0}` where an event is missing; a name that has it must be in double quotes")]
    Operator(char),
    /// No function follows `enter` or `leave`.
    #[error(
        "`{0}` must be followed by a function's name, or by `.` for any; a function of that name must be in double quotes"
    )]
    NoFunction(String),
    /// A double quote has no closing double quote.
    #[error("a double quote is not closed: add `\"` after the name")]
    Unquoted,
    /// A character has no meaning in patterns.
    #[error("`{0}` means nothing here: a name that has it must be in double quotes")]
    Character(char),
    /// No path number follows `:`, or the number is too large.
    #[error("`:` must be followed by a path's number, as in `f:12`")]
    NoPathNumber,
    /// No short name of a path follows `#`.
    #[error("`#` must be followed by {MIN_DIGITS} to 16 hexadecimal digits, as in `f#3fa2`")]
    NoPathName,
    /// The analysis takes only a plain sequence of events.
    #[error(
        "a sequence of single events is asked for: without `*`, `+` and `?` (`holloway trace query` takes them)"
    )]
    NoSequence,
    /// The analysis takes only a single event.
    #[error("one event is asked for: quote a name with spaces in it")]
    NotOneEvent,
    /// The pattern matches the empty sequence.
    #[error(
        "the pattern also matches the empty sequence: use `+` for `*`, or name an event that must run"
    )]
    MatchesEmpty,
    /// The pattern's automaton is too large.
    #[error(
        "it can match in too many ways at once: use fewer `*` and `+`, or name events more narrowly"
    )]
    TooManyStates,
    /// The trace has no function or path with the name.
    #[error(transparent)]
    Name(#[from] NameError),
}

/// The reason why no event belongs to a name in a pattern.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NameError {
    /// The functions with this name have no path with the number.
    #[error("`{name}` has no such path: it has {}, numbered from 0", plural(*paths, "path"))]
    NoSuchPath {
        /// The name; a long name is shortened.
        name: String,
        /// The highest number of paths among these functions.
        paths: u64,
    },
    /// The functions with this name have no path whose name begins with these digits.
    #[error("no path `{name}{digits}` ran; {}", candidate_list(name, candidates))]
    NoPathWithName {
        /// The function's name; a long name is shortened.
        name: String,
        /// The digits.
        digits: NamePrefix,
        /// The paths of these functions that ran, most likely candidates first.
        candidates: Candidates,
    },
    /// The functions with this name have no such path, but they have calls, at which a trace ends
    /// paths.
    #[error(
        "no path `{name}{digits}` in this trace, where paths also end before calls; {}",
        candidate_list(name, candidates)
    )]
    NoPieceWithName {
        /// The function's name; a long name is shortened.
        name: String,
        /// The digits.
        digits: NamePrefix,
        /// The paths of these functions that ran.
        candidates: Candidates,
    },
    /// The names of several paths begin with these digits.
    #[error(
        "`{name}{digits}` is not one path: write {}",
        alternatives(name, candidates)
    )]
    AmbiguousPath {
        /// The function's name; a long name is shortened.
        name: String,
        /// The digits.
        digits: NamePrefix,
        /// The names of these paths, with enough digits, and their numbers.
        candidates: Candidates,
    },
    /// No function with this name was recorded.
    #[error("no function `{name}` was recorded: {}", suggestion(similar))]
    NoFunction {
        /// The name; a long name is shortened.
        name: String,
        /// Similar names of recorded functions.
        similar: Vec<String>,
    },
}

/// Paths that the user may have meant.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Candidates {
    /// Their names and numbers, such as `#3fa2 (p1)`.
    pub paths: Vec<String>,
    /// The number of candidates that are not in the list, because it would be too long.
    pub left_out: usize,
}

impl Candidates {
    fn joined(&self, paths: &[String], separator: &str) -> String {
        let list = paths.join(separator);
        match self.left_out {
            0 => list,
            count => format!("{list}, … {count} more"),
        }
    }
}

/// `these ran: #3fa2 (p1), #77ab (p2)`, or the fact that no path ran.
fn candidate_list(name: &str, candidates: &Candidates) -> String {
    match candidates.paths.is_empty() {
        true => format!("no path of `{name}` ran"),
        false => format!("these ran: {}", candidates.joined(&candidates.paths, ", ")),
    }
}

/// `f#3fa21 (p1) or f#3fa27 (p4)`
fn alternatives(name: &str, candidates: &Candidates) -> String {
    let paths = candidates.paths.iter();
    let names: Vec<String> = paths.map(|path| format!("{name}{path}")).collect();
    candidates.joined(&names, " or ")
}

fn suggestion(similar: &[String]) -> String {
    if similar.is_empty() {
        return "it may be inlined or skipped (`holloway report --function` says where it went)"
            .to_owned();
    }
    let quoted: Vec<String> = similar.iter().map(|name| format!("`{name}`")).collect();
    format!("{}?", quoted.join(", "))
}

/// The paths of a function that a pattern refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WantedPath {
    /// Any path.
    Any,
    /// The path with this number.
    Number(u32),
    /// The path whose name begins with these digits.
    Named(NamePrefix),
}

/// An event as written in a pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Atom {
    /// Any event.
    Any,
    /// Any path of the function.
    Function(Name),
    /// The wanted path of the function.
    Path(Name, WantedPath),
    /// A path that starts at the entry of the function, or of any function.
    Enter(Option<Name>),
    /// A path that ends at the exit of the function, or of any function.
    Leave(Option<Name>),
    /// Frames were left without a path to their exit.
    Left,
}

/// A function's name as written in a pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Name {
    pub(super) text: String,
    /// Position in the pattern's text, in characters.
    pub(super) position: usize,
}

/// A set of events: all events of the atoms or, if negated, all other events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Choice {
    pub(super) atoms: Vec<Atom>,
    pub(super) is_negated: bool,
}

/// A regular expression over sets of events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::trace) enum Node {
    /// One event. The number is the index of its [`Choice`].
    Event(usize),
    /// All nodes, in order.
    Sequence(Vec<Node>),
    /// Any one of the nodes.
    Alternatives(Vec<Node>),
    /// The node, repeated at least `min_count` times (0 or 1).
    Repeat { node: Box<Node>, min_count: u8 },
    /// The node or nothing.
    Optional(Box<Node>),
}

pub(super) fn error(position: usize, fault: PatternFault) -> PatternError {
    PatternError { position, fault }
}
