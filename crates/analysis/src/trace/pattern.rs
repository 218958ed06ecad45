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

use std::fmt;

use super::Terminal;
use super::code::Event;

/// A pattern that could not be understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PatternError {
    /// Character where, from 0.
    pub at: usize,
    /// What is wrong there, and the way out.
    pub message: String,
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at character {}: {}", self.at + 1, self.message)
    }
}

impl std::error::Error for PatternError {}

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

/// What a name means: the functions that have it, and the path if one is named, by their numbers; or why there is none and the way out.
pub type Lookup<'a> = dyn Fn(&str, Option<u32>) -> Result<Vec<u32>, String> + 'a;

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
            _ => Err(error(
                0,
                "a sequence of single events is asked for: without `*`, `+` and `?` (`holloway trace query` takes them)",
            )),
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
            _ => Err(error(
                0,
                "one event is asked for: quote a name with spaces in it",
            )),
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
    let found = lookup(&name.text, path).map_err(|message| PatternError {
        at: name.at,
        message,
    })?;
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

fn error(at: usize, message: &str) -> PatternError {
    PatternError {
        at,
        message: message.to_owned(),
    }
}
