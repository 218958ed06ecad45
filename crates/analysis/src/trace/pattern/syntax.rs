//! The syntax tree of a pattern, and the errors in patterns.

use holloway_format::words::plural;

/// A text that is not a pattern, or a pattern that a question cannot use.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("at character {}: {fault}", at + 1)]
pub struct PatternError {
    /// Position of the character, from 0.
    pub at: usize,
    /// The fault at this position.
    pub fault: PatternFault,
}

/// A fault in a pattern. Its message says what to write instead.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PatternFault {
    /// A parenthesis closes that did not open.
    #[error("`)` without `(`: leave it out, or quote a name that has it")]
    Unopened,
    /// A parenthesis does not close.
    #[error("`(` without `)`: add it behind")]
    Unclosed,
    /// Parentheses are nested too deeply.
    #[error("more than 100 parentheses within one another")]
    NestedTooDeep,
    /// Too many `!` follow one another.
    #[error("more than 100 `!` in a row")]
    NegatedTooOften,
    /// A sequence has no event.
    #[error(
        "an event is missing: a function's name, `f:12`, `enter f`, `leave f`, `return`, `left` or `.`"
    )]
    NoEvent,
    /// `!` stands before a sequence or a repetition.
    #[error("`!` stands before one event or a choice of events, as in `!f` or `!(f|g)`")]
    NegatedSequence,
    /// The pattern names too many events.
    #[error("a pattern may name 1,000 events: ask for less at a time")]
    TooManyEvents,
    /// The pattern ends before an event.
    #[error("the pattern ends where an event is missing")]
    End,
    /// An operator stands in the place of an event.
    #[error("`{0}` where an event is missing; a name that has it must be in double quotes")]
    Operator(char),
    /// `enter` or `leave` without a function.
    #[error(
        "`{0}` is followed by a function's name, or by `.` for any; a function of that name must be in double quotes"
    )]
    NoFunction(String),
    /// A double quote does not close.
    #[error("a double quote without its other: add it behind the name")]
    Unquoted,
    /// A character that has no meaning in patterns.
    #[error("`{0}` means nothing here: a name that has it must be in double quotes")]
    Character(char),
    /// No path number after `:`, or one that is too large.
    #[error("`:` is followed by a path's number, as in `f:12`")]
    NoPathNumber,
    /// The question takes only a plain sequence of events.
    #[error(
        "a sequence of single events is asked for: without `*`, `+` and `?` (`holloway trace query` takes them)"
    )]
    NoSequence,
    /// The question takes only a single event.
    #[error("one event is asked for: quote a name with spaces in it")]
    NotOneEvent,
    /// The pattern matches the empty sequence.
    #[error(
        "it matches where nothing runs, which is everywhere: use `+` for `*`, or name an event that must run"
    )]
    MatchesNothing,
    /// The pattern's automaton is too large.
    #[error(
        "it can match in too many ways at once: use fewer `*` and `+`, or name events more narrowly"
    )]
    TooManyStates,
    /// A name means nothing in this trace.
    #[error(transparent)]
    Name(#[from] NameError),
}

/// Why a name in a pattern stands for no event.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NameError {
    /// The functions of that name have no path of that number.
    #[error("`{name}` has no such path: it has {}, numbered from 0", plural(*paths, "path"))]
    NoSuchPath {
        /// The name, or the start of a long one.
        name: String,
        /// Number of paths of the function that has the most.
        paths: u64,
    },
    /// No function of that name was recorded.
    #[error("no function `{name}` was recorded: {}", suggestion(similar))]
    NoFunction {
        /// The name, or the start of a long one.
        name: String,
        /// Names of similar functions.
        similar: Vec<String>,
    },
}

fn suggestion(similar: &[String]) -> String {
    if similar.is_empty() {
        return "it may be inlined or skipped (`holloway report --function` says where it went)"
            .to_owned();
    }
    let quoted: Vec<String> = similar.iter().map(|name| format!("`{name}`")).collect();
    format!("{}?", quoted.join(", "))
}

/// The events that one position of a pattern matches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Atom {
    Any,
    Function(Name),
    Path(Name, u32),
    Enter(Option<Name>),
    Leave(Option<Name>),
    Left,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Name {
    pub(super) text: String,
    pub(super) at: usize,
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
    /// One event of a set. The number is the index of the set.
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

pub(super) fn error(at: usize, fault: PatternFault) -> PatternError {
    PatternError { at, fault }
}
