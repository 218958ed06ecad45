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
mod syntax;

use super::Terminal;
use super::code::Event;
pub(super) use syntax::Node;
use syntax::{Atom, Choice, error};
pub use syntax::{NameError, PatternError, PatternFault};

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
