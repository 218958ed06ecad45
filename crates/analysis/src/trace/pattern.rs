//! Patterns: regular expressions over the events of a trace.
//!
//! ```text
//! pattern  = sequence ("|" sequence)*
//! sequence = item+
//! item     = one ("*" | "+" | "?")*
//! one      = "(" pattern ")" | "!" one | event
//! event    = "."                 any event
//!          | name                any path of this function
//!          | name ":" number     this path of it
//!          | "enter" which       a path that starts at the function's entry
//!          | "leave" which       a path that ends at its exit; "return" is "leave ."
//!          | "left"              frames were left without a path to their exit
//! which    = name | "."
//! name     = letters, digits, "_", "$", "::" between, or anything in "double quotes" (":" number too), or a known name as it is printed
//! ```
//! An event is one symbol of the trace, so `enter f` and `leave f` may be the same one. `!` stands before one event or a choice of them.
//!
//! What a name means is the caller's to say ([`Pattern::resolve`]).

mod parse;

use holloway_format::words::plural;

use super::Terminal;
use super::code::Event;

/// A pattern that could not be understood, or not be asked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("at character {}: {fault}", at + 1)]
pub struct PatternError {
    /// The character, from 0.
    pub at: usize,
    /// What is wrong there.
    pub fault: PatternFault,
}

/// What is wrong with a pattern. The sentence of each says what to write instead.
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
    /// No path number behind `:`, or one that is too large.
    #[error("`:` is followed by a path's number, as in `f:12`")]
    NoPathNumber,
    /// The question takes a sequence of events only.
    #[error(
        "a sequence of single events is asked for: without `*`, `+` and `?` (`holloway trace query` takes them)"
    )]
    NoSequence,
    /// The question takes one event only.
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
        /// Paths of the function that has the most.
        paths: u64,
    },
    /// No function of that name was recorded.
    #[error("no function `{name}` was recorded: {}", suggestion(similar))]
    NoFunction {
        /// The name, or the start of a long one.
        name: String,
        /// Names of functions that may have been meant.
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

/// Which events one place of a pattern stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Atom {
    Any,
    Function(Name),
    Path(Name, u32),
    Enter(Option<Name>),
    Leave(Option<Name>),
    Left,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Name {
    text: String,
    at: usize,
}

/// A set of events: those of any of the atoms, or all others.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Choice {
    atoms: Vec<Atom>,
    others: bool,
}

/// A regular expression over sets of events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Node {
    /// One event of this set, by its place in the list of sets.
    One(usize),
    /// One after the other.
    Sequence(Vec<Node>),
    /// Any of them.
    Either(Vec<Node>),
    /// As often as one likes, but at least `least` times (0 or 1).
    Repeat { node: Box<Node>, least: u8 },
    /// Or nothing.
    Perhaps(Box<Node>),
}

/// A pattern as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    node: Node,
    choices: Vec<Choice>,
}

/// A pattern whose names are known: for each place, which terminals it stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resolved {
    pub(super) node: Node,
    pub(super) sets: Vec<Vec<bool>>,
}

/// Looks up a name: gives the numbers of the functions that have it, and that have the path if one is
/// named.
pub type Lookup<'a> = dyn Fn(&str, Option<u32>) -> Result<Vec<u32>, NameError> + 'a;

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// Says where it is none, and what would be.
    pub fn parse(text: &str) -> Result<Pattern, PatternError> {
        Pattern::parse_with(text, &|_| 0)
    }

    /// The same where names are known that need no quotes, whatever is in them: `known` gives how many bytes of the longest that a text begins with.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_with(text: &str, known: &dyn Fn(&str) -> usize) -> Result<Pattern, PatternError> {
        let (node, choices) = parse::parse(text, known)?;
        Ok(Pattern { node, choices })
    }

    /// Whether it is one event, any path of a function or of some: as a question, one about calls.
    pub fn is_function(&self) -> bool {
        let of_functions = |choice: &Choice| {
            let mut atoms = choice.atoms.iter();
            !choice.others && atoms.all(|atom| matches!(atom, Atom::Function(_)))
        };
        matches!(self.node, Node::One(_)) && self.choices.iter().all(of_functions)
    }

    /// Finds out which terminals each place stands for.
    ///
    /// # Errors
    /// Where a name means nothing.
    pub fn resolve(
        &self,
        terminals: &[Terminal],
        events: &[Event],
        lookup: &Lookup<'_>,
    ) -> Result<Resolved, PatternError> {
        let mut sets = Vec::new();
        for choice in &self.choices {
            let mut set = vec![false; terminals.len()];
            for atom in &choice.atoms {
                let functions = functions(atom, lookup)?;
                let of =
                    |function: u32| functions.as_ref().is_none_or(|all| all.contains(&function));
                for ((one, &terminal), &event) in set.iter_mut().zip(terminals).zip(events) {
                    *one |= matches(atom, terminal, event, &of);
                }
            }
            if choice.others {
                set.iter_mut().for_each(|one| *one = !*one);
            }
            sets.push(set);
        }
        Ok(Resolved {
            node: self.node.clone(),
            sets,
        })
    }
}

impl Resolved {
    /// The same with only those events of which `keep` holds.
    pub fn limited(&self, events: &[Event], keep: impl Fn(Event) -> bool) -> Resolved {
        let limited = |set: &Vec<bool>| {
            let both = set.iter().zip(events);
            both.map(|(&one, &event)| one && keep(event)).collect()
        };
        Resolved {
            node: self.node.clone(),
            sets: self.sets.iter().map(limited).collect(),
        }
    }

    /// The sets of a pattern that is a plain sequence of events.
    ///
    /// # Errors
    /// If it is none.
    pub fn sequence(&self) -> Result<Vec<&[bool]>, PatternError> {
        let one = |node: &Node| match node {
            Node::One(set) => Ok(&*self.sets[*set]),
            _ => Err(error(0, PatternFault::NoSequence)),
        };
        match &self.node {
            Node::Sequence(nodes) => nodes.iter().map(one).collect(),
            node => Ok(vec![one(node)?]),
        }
    }

    /// The set of a pattern that is one event.
    ///
    /// # Errors
    /// If it is not.
    pub fn one(&self) -> Result<&[bool], PatternError> {
        match self.sequence()?[..] {
            [set] => Ok(set),
            _ => Err(error(0, PatternFault::NotOneEvent)),
        }
    }
}

/// The functions that an atom is limited to.
fn functions(atom: &Atom, lookup: &Lookup<'_>) -> Result<Option<Vec<u32>>, PatternError> {
    let (name, path) = match atom {
        Atom::Any | Atom::Left | Atom::Enter(None) | Atom::Leave(None) => return Ok(None),
        Atom::Path(name, path) => (name, Some(*path)),
        Atom::Function(name) | Atom::Enter(Some(name)) | Atom::Leave(Some(name)) => (name, None),
    };
    let found = lookup(&name.text, path).map_err(|why| error(name.at, why.into()))?;
    Ok(Some(found))
}

fn matches(atom: &Atom, terminal: Terminal, event: Event, of: &dyn Fn(u32) -> bool) -> bool {
    let Terminal::Path { function, path } = terminal else {
        let left = matches!(terminal, Terminal::Left(_));
        return matches!(atom, Atom::Any) || matches!(atom, Atom::Left) && left;
    };
    match atom {
        Atom::Any => true,
        Atom::Left => false,
        Atom::Function(_) => of(function),
        Atom::Path(_, number) => path == *number && of(function),
        Atom::Enter(_) => event.enters() && of(function),
        Atom::Leave(_) => event.leaves() && of(function),
    }
}

fn error(at: usize, fault: PatternFault) -> PatternError {
    PatternError { at, fault }
}
