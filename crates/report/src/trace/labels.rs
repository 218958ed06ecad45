//! A stream with the labels of its terminals: their events, names, and source lines.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::path::Path as FilePath;
use std::rc::Rc;

use holloway_analysis::divergence::{Divergence, KnownPaths};
use holloway_analysis::path_name::PathName;
use holloway_analysis::trace::Terminal;
use holloway_analysis::trace::code::Event;
use holloway_analysis::trace::pattern::{Pattern, Resolved};
use holloway_analysis::trail::{Trail, trail};
use holloway_flow::Path;
use holloway_format::{FunctionMap, PathId};

use super::names::{self, look_up};
use super::question::{AskError, Cost};
use super::stream::Stream;
use crate::filter::Filter;
use crate::options::Options;

/// A stream with the labels of its terminals.
pub(crate) struct LabeledStream<'a> {
    pub(crate) stream: &'a Stream<'a>,
    /// The event of each terminal, by terminal number.
    pub(crate) events: Vec<Event>,
    /// Demangles the names of functions.
    pub(crate) names: Filter<'a>,
    pub(crate) cwd: Option<&'a FilePath>,
    /// By function: its terminals.
    terminals: OnceCell<HashMap<u32, Vec<u32>>>,
    /// By function that a question has shown: its paths in the stream.
    known_paths: RefCell<HashMap<u32, KnownPaths>>,
    /// By terminal: a description of the path for rows.
    routes: RefCell<HashMap<u32, Rc<str>>>,
}

/// A pattern whose names are resolved to the terminals of one stream.
pub(crate) struct StreamPattern {
    /// The pattern, over terminals.
    pub(crate) events: Resolved,
    /// Whether the pattern is only a function's name. Then the question is about calls.
    pub(crate) is_function: bool,
}

impl StreamPattern {
    /// Returns the pattern's events. For a function, returns only the paths that begin a call:
    /// the paths that start at the function's entry.
    pub(crate) fn begins(&self, events: &[Event]) -> Resolved {
        let is_function = self.is_function;
        self.events
            .limited(events, |event| !is_function || event.enters())
    }

    /// Returns the pattern's events. For a function, returns only the paths that end a call: the
    /// paths that end at the function's exit.
    pub(crate) fn ends(&self, events: &[Event]) -> Resolved {
        let is_function = self.is_function;
        self.events
            .limited(events, |event| !is_function || event.leaves())
    }
}

impl<'a> LabeledStream<'a> {
    pub(crate) fn new(stream: &'a Stream<'a>, options: &'a Options<'_>) -> LabeledStream<'a> {
        LabeledStream {
            stream,
            events: stream.code.events(&stream.trace.terminals),
            names: Filter::all(),
            cwd: options.cwd.as_deref(),
            terminals: OnceCell::new(),
            known_paths: RefCell::default(),
            routes: RefCell::default(),
        }
    }

    /// The decisions that distinguish a terminal's path from the function's other paths in the
    /// stream.
    pub(crate) fn divergences(&self, terminal: u32) -> Vec<Divergence> {
        let Some((function, path)) = self.path(terminal) else {
            return Vec::new();
        };
        let mut known_paths = self.known_paths.borrow_mut();
        let known_paths = known_paths.entry(function);
        known_paths
            .or_insert_with(|| self.known_paths(function))
            .divergences(&path)
    }

    /// The paths of a function in the stream.
    fn known_paths(&self, function: u32) -> KnownPaths {
        let terminals = self.terminals.get_or_init(|| {
            let mut by_function: HashMap<u32, Vec<u32>> = HashMap::new();
            for (number, terminal) in (0u32..).zip(&self.stream.trace.terminals) {
                if let Terminal::Path { function, .. } = *terminal {
                    by_function.entry(function).or_default().push(number);
                }
            }
            by_function
        });
        let mut known_paths = KnownPaths::default();
        for &terminal in terminals.get(&function).into_iter().flatten() {
            if let Some((_, path)) = self.path(terminal) {
                known_paths.add(&path);
            }
        }
        known_paths
    }

    /// The description of a terminal's path for rows. `describe` makes it on first use.
    pub(crate) fn route(&self, terminal: u32, describe: impl FnOnce() -> String) -> Rc<str> {
        let mut routes = self.routes.borrow_mut();
        let route = routes.entry(terminal);
        Rc::clone(route.or_insert_with(|| describe().into()))
    }

    /// A function's name.
    pub(crate) fn function(&self, function: u32) -> Rc<str> {
        match self.stream.code.function(function) {
            Some(map) => self.names.name_of(&map.linkage_name, &map.name),
            None => "?".into(),
        }
    }

    /// The name by which questions refer to a terminal, and the number of its path:
    /// `search#3fa2 p12`.
    pub(crate) fn label(&self, terminal: u32) -> String {
        match self.stream.trace.terminals[terminal as usize] {
            Terminal::Path { function, path } => {
                let id = PathId(path.into());
                let name = self.stream.code.path_name(function, id);
                let name = name.map_or_else(String::new, |name| name.to_string());
                format!("{}{name} {id}", self.function(function))
            }
            Terminal::Left(1) => "left a frame".to_owned(),
            Terminal::Left(frames) => format!("left {frames} frames"),
            Terminal::Gap => "missing".to_owned(),
        }
    }

    /// The full name of a terminal's path. Empty if the terminal is not a path.
    pub(crate) fn full_name(&self, terminal: u32) -> String {
        let name = match self.stream.trace.terminals[terminal as usize] {
            Terminal::Path { function, path } => {
                self.stream.code.path_name(function, PathId(path.into()))
            }
            Terminal::Left(_) | Terminal::Gap => None,
        };
        name.map_or_else(String::new, PathName::full)
    }

    /// Returns two columns of marks: `>` if a terminal begins an activation, `<` if it ends one.
    pub(crate) fn marks(&self, terminal: u32) -> &'static str {
        let event = self.events[terminal as usize];
        match (event.enters(), event.leaves()) {
            (true, true) => "<>",
            (true, false) => " >",
            (false, true) => "< ",
            (false, false) => "  ",
        }
    }

    /// The steps of a terminal's path through the source, and the map of its function.
    pub(crate) fn trail(&self, terminal: u32) -> Option<(&'a FunctionMap, Trail)> {
        let (function, path) = self.path(terminal)?;
        let map = self.stream.code.function(function)?;
        Some((map, trail(map, &path)))
    }

    /// A terminal's path, with the number of its function.
    fn path(&self, terminal: u32) -> Option<(u32, Path)> {
        match self.stream.trace.terminals[terminal as usize] {
            Terminal::Path { function, path } => {
                let path = self.stream.code.path(function, PathId(path.into()))?;
                Some((function, path))
            }
            Terminal::Left(_) | Terminal::Gap => None,
        }
    }

    /// Parses a pattern and looks up its names in this stream's image.
    pub(crate) fn pattern(&self, text: &str) -> Result<StreamPattern, AskError> {
        let terminals = &self.stream.trace.terminals;
        let lookup =
            |name: &str, path| look_up(self.stream.code, &self.names, name, path, terminals);
        let known_names = OnceCell::new();
        let name_length = |text: &str| {
            let known_names =
                known_names.get_or_init(|| names::all_names(self.stream.code, &self.names));
            names::known_prefix_len(known_names, text)
        };
        let is_plain = |c: char| c.is_alphanumeric() || "_:$".contains(c);
        // A name with other characters may contain operators of patterns. The parser then needs the
        // known names to recognize where the name ends.
        let pattern = if text
            .split_whitespace()
            .all(|word| word.chars().all(is_plain))
        {
            Pattern::parse(text)
        } else {
            Pattern::parse_with(text, &name_length)
        };
        let resolved = pattern.and_then(|pattern| {
            Ok(StreamPattern {
                events: pattern.resolve(terminals, &self.events, &lookup)?,
                is_function: pattern.is_function(),
            })
        });
        resolved.map_err(|error| AskError::Pattern {
            text: text.to_owned(),
            error,
        })
    }

    /// The cost of each terminal. `None` for a gap: no sequence spans it.
    pub(crate) fn costs(&self, cost: Cost) -> Vec<Option<u64>> {
        let cost_of = |event: &Event| match (event, cost) {
            (Event::Gap, _) => None,
            (Event::Left(_), _) => Some(0),
            (Event::Path { instructions, .. }, Cost::Instructions) => Some(*instructions),
            (Event::Path { .. }, Cost::Paths) => Some(1),
        };
        self.events.iter().map(cost_of).collect()
    }

    /// The terminal of the event at a position.
    pub(crate) fn terminal_at(&self, position: u64) -> Option<u32> {
        self.stream.trace.grammar.expand_from(position).next()
    }
}
