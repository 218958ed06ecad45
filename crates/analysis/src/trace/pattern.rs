//! Patterns: regular expressions over the events of a trace.
//!
//! ```text
//! pattern  = sequence ("|" sequence)*
//! sequence = item+
//! item     = primary ("*" | "+" | "?")*
//! primary  = "(" pattern ")" | "!" primary | event
//! event    = "."                 any event
//!          | name                any path of this function
//!          | name ":" number     the path of this function with this number
//!          | name "#" digits     the path of this function with this short name: 4 to 16
//!                                hexadecimal digits, the beginning of its name
//!          | "enter" target      a path that starts at the function's entry
//!          | "leave" target      a path that ends at its exit; "return" is "leave ."
//!          | "left"              frames were left without a path to their exit
//! target   = name | "."
//! name     = letters, digits, "_", "$", "::" between them,
//!          | anything in "double quotes" (they may also contain a ":" and a number, or a "#"
//!            and digits),
//!          | a known name as it is printed
//! ```
//! An event is one symbol of the trace, so `enter f` and `leave f` may be the same event. `!`
//! negates one event or a choice of events.
//!
//! The caller provides a function that looks up names ([`Pattern::resolve`]).

mod parse;
mod syntax;

use super::Terminal;
use super::code::Event;
pub(super) use syntax::Node;
use syntax::{Atom, Choice, error};
pub use syntax::{Candidates, NameError, PatternError, PatternFault, WantedPath};

/// A pattern as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    node: Node,
    choices: Vec<Choice>,
}

/// A pattern whose names are looked up. Each event in its text is a position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resolved {
    pub(super) node: Node,
    /// By position and terminal: whether the terminal matches at the position.
    pub(super) sets: Vec<Vec<bool>>,
}

/// The paths that a name in a pattern refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Referent {
    /// The number of the function.
    pub function: u32,
    /// The number of the path. `None` means any path.
    pub path: Option<u32>,
}

/// Looks up the paths of the functions with this name.
pub type Lookup<'a> = dyn Fn(&str, WantedPath) -> Result<Vec<Referent>, NameError> + 'a;

impl Pattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// If the text is not a pattern. The error contains the position and the expected text.
    pub fn parse(text: &str) -> Result<Pattern, PatternError> {
        Pattern::parse_with(text, &|_| 0)
    }

    /// Parses a pattern in which known names need no quotes, whatever characters they contain.
    /// `known` returns the length in bytes of the longest known name at the start of a text, or 0.
    ///
    /// # Errors
    /// If the text is not a pattern. The error contains the position and the expected text.
    pub fn parse_with(text: &str, known: &dyn Fn(&str) -> usize) -> Result<Pattern, PatternError> {
        let (node, choices) = parse::parse(text, known)?;
        Ok(Pattern { node, choices })
    }

    /// Whether the pattern is a single event that names only functions: any path of one function,
    /// or of one of several functions. Analyses then answer a question about calls.
    pub fn is_function(&self) -> bool {
        let is_function = |choice: &Choice| {
            let mut atoms = choice.atoms.iter();
            !choice.is_negated && atoms.all(|atom| matches!(atom, Atom::Function(_)))
        };
        matches!(self.node, Node::Event(_)) && self.choices.iter().all(is_function)
    }

    /// Finds the terminals that match at each position.
    ///
    /// # Errors
    /// If `lookup` does not know a name.
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
                let referents = referents(atom, lookup)?;
                let is_meant = |function: u32, path: u32| {
                    let is_meant = |referent: &Referent| {
                        referent.function == function && referent.path.is_none_or(|p| p == path)
                    };
                    referents
                        .as_ref()
                        .is_none_or(|referents| referents.iter().any(is_meant))
                };
                for ((is_match, &terminal), &event) in set.iter_mut().zip(terminals).zip(events) {
                    *is_match |= matches(atom, terminal, event, &is_meant);
                }
            }
            if choice.is_negated {
                set.iter_mut().for_each(|is_match| *is_match = !*is_match);
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
    /// This pattern, limited to the events for which `keep` holds.
    pub fn limited(&self, events: &[Event], keep: impl Fn(Event) -> bool) -> Resolved {
        let limit = |set: &Vec<bool>| {
            let pairs = set.iter().zip(events);
            pairs
                .map(|(&is_match, &event)| is_match && keep(event))
                .collect()
        };
        Resolved {
            node: self.node.clone(),
            sets: self.sets.iter().map(limit).collect(),
        }
    }

    /// The sets of a pattern that is a plain sequence of events.
    ///
    /// # Errors
    /// If the pattern is not a plain sequence.
    pub fn sequence(&self) -> Result<Vec<&[bool]>, PatternError> {
        let single_set = |node: &Node| match node {
            Node::Event(set) => Ok(&*self.sets[*set]),
            _ => Err(error(0, PatternFault::NoSequence)),
        };
        match &self.node {
            Node::Sequence(nodes) => nodes.iter().map(single_set).collect(),
            node => Ok(vec![single_set(node)?]),
        }
    }

    /// The set of a pattern that is a single event.
    ///
    /// # Errors
    /// If the pattern is not a single event.
    pub fn single_event(&self) -> Result<&[bool], PatternError> {
        match self.sequence()?[..] {
            [set] => Ok(set),
            _ => Err(error(0, PatternFault::NotOneEvent)),
        }
    }
}

/// The paths that an atom names; `None` if paths of any function match.
fn referents(atom: &Atom, lookup: &Lookup<'_>) -> Result<Option<Vec<Referent>>, PatternError> {
    let (name, path) = match atom {
        Atom::Any | Atom::Left | Atom::Enter(None) | Atom::Leave(None) => return Ok(None),
        Atom::Path(name, path) => (name, *path),
        Atom::Function(name) | Atom::Enter(Some(name)) | Atom::Leave(Some(name)) => {
            (name, WantedPath::Any)
        }
    };
    let referents = lookup(&name.text, path).map_err(|fault| error(name.position, fault.into()))?;
    Ok(Some(referents))
}

fn matches(
    atom: &Atom,
    terminal: Terminal,
    event: Event,
    is_meant: &dyn Fn(u32, u32) -> bool,
) -> bool {
    let Terminal::Path { function, path } = terminal else {
        let is_left = matches!(terminal, Terminal::Left(_));
        return matches!(atom, Atom::Any) || matches!(atom, Atom::Left) && is_left;
    };
    match atom {
        Atom::Any => true,
        Atom::Left => false,
        Atom::Function(_) | Atom::Path(..) => is_meant(function, path),
        Atom::Enter(_) => event.enters() && is_meant(function, path),
        Atom::Leave(_) => event.leaves() && is_meant(function, path),
    }
}
