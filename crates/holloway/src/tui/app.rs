//! The state of the terminal interface, and what keys do to it.

use std::collections::HashMap;
use std::rc::Rc;

use holloway_report::annotation::Annotation;
use holloway_report::browse::{Browser, FunctionEntry, PathEntry, Step, first_step};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::list::{Cursor, Move};

/// What the user wants beyond the screen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Wish {
    /// To leave.
    Quit,
    /// To copy a text.
    Copy(String),
}

/// A list of the overview.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pane {
    Functions,
    Paths,
}

/// The state.
pub(super) struct App<'b, 'a> {
    pub(super) browser: &'b Browser<'a>,
    pub(super) overview: Overview,
    /// The function that is shown instead of the overview.
    pub(super) open: Option<OpenFunction>,
    pub(super) has_help: bool,
    /// A message in the last row, until the next key.
    pub(super) message: String,
    files: HashMap<String, Rc<Annotation>>,
}

/// The lists of the first view.
pub(super) struct Overview {
    pub(super) functions: Vec<FunctionEntry>,
    pub(super) paths: Vec<PathEntry>,
    /// The functions and paths that the search finds, by index.
    pub(super) found_functions: Vec<usize>,
    pub(super) found_paths: Vec<usize>,
    pub(super) pane: Pane,
    pub(super) function: Cursor,
    pub(super) path: Cursor,
    /// The text that names of functions or files contain.
    pub(super) search: String,
    /// Whether keys go to the search.
    pub(super) is_searching: bool,
}

/// A function, its paths, and the chosen path.
pub(super) struct OpenFunction {
    pub(super) function: holloway_analysis::FunctionId,
    pub(super) paths: Vec<PathEntry>,
    pub(super) path: Cursor,
    /// The steps of the chosen path.
    pub(super) steps: Vec<Step>,
    pub(super) step: usize,
    /// Rows by which the source is scrolled away from the step.
    pub(super) scroll: isize,
}

/// Rows of a page of the source.
const SOURCE_PAGE: isize = 10;

impl<'b, 'a> App<'b, 'a> {
    pub(super) fn new(browser: &'b Browser<'a>) -> App<'b, 'a> {
        let (functions, paths) = (browser.functions(), browser.paths());
        let mut overview = Overview {
            functions,
            paths,
            found_functions: Vec::new(),
            found_paths: Vec::new(),
            pane: Pane::Functions,
            function: Cursor::default(),
            path: Cursor::default(),
            search: String::new(),
            is_searching: false,
        };
        overview.find(browser);
        App {
            browser,
            overview,
            open: None,
            has_help: false,
            message: String::new(),
            files: HashMap::new(),
        }
    }

    /// A file with counts.
    pub(super) fn file(&mut self, file: &str) -> Rc<Annotation> {
        let files = self.files.entry(file.to_owned());
        let annotation = files.or_insert_with(|| Rc::new(self.browser.file(file)));
        Rc::clone(annotation)
    }

    /// Does what a key asks for.
    pub(super) fn press(&mut self, key: KeyEvent) -> Option<Wish> {
        self.message.clear();
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control {
            return (key.code == KeyCode::Char('c')).then_some(Wish::Quit);
        }
        if self.has_help {
            self.has_help = false;
            return None;
        }
        if self.overview.is_searching {
            self.press_in_search(key.code);
            return None;
        }
        match key.code {
            KeyCode::Char('q') => return Some(Wish::Quit),
            KeyCode::Char('?') => self.has_help = true,
            KeyCode::Char('/') => {
                self.open = None;
                self.overview.is_searching = true;
            }
            KeyCode::Char('o') => self.open = None,
            KeyCode::Char('c') => return self.copy(),
            code => match &mut self.open {
                Some(_) => self.press_in_function(code),
                None => self.press_in_overview(code),
            },
        }
        None
    }

    fn press_in_search(&mut self, code: KeyCode) {
        let overview = &mut self.overview;
        match code {
            KeyCode::Char(letter) => overview.search.push(letter),
            KeyCode::Backspace => {
                overview.search.pop();
            }
            KeyCode::Esc => {
                overview.search.clear();
                overview.is_searching = false;
            }
            KeyCode::Enter => {
                overview.is_searching = false;
                return self.open_chosen();
            }
            code => {
                if let Some(to) = movement(code) {
                    overview.go(to);
                }
                return;
            }
        }
        overview.find(self.browser);
    }

    fn press_in_overview(&mut self, code: KeyCode) {
        let overview = &mut self.overview;
        match code {
            KeyCode::Tab | KeyCode::BackTab => {
                overview.pane = match overview.pane {
                    Pane::Functions => Pane::Paths,
                    Pane::Paths => Pane::Functions,
                };
            }
            KeyCode::Enter => self.open_chosen(),
            KeyCode::Esc => {
                overview.search.clear();
                overview.find(self.browser);
            }
            code => {
                if let Some(to) = movement(code) {
                    overview.go(to);
                }
            }
        }
    }

    fn press_in_function(&mut self, code: KeyCode) {
        let Some(open) = &mut self.open else { return };
        match code {
            KeyCode::Esc => self.open = None,
            KeyCode::Left => open.go_to_step(open.step.saturating_sub(1)),
            KeyCode::Right => open.go_to_step(open.step + 1),
            KeyCode::Char('[') | KeyCode::Up => open.choose(Move::Up, self.browser),
            KeyCode::Char(']') | KeyCode::Down => open.choose(Move::Down, self.browser),
            KeyCode::Home => open.choose(Move::First, self.browser),
            KeyCode::End => open.choose(Move::Last, self.browser),
            KeyCode::PageUp => open.scroll -= SOURCE_PAGE,
            KeyCode::PageDown => open.scroll += SOURCE_PAGE,
            _ => {}
        }
    }

    /// Opens the chosen function or path.
    fn open_chosen(&mut self) {
        let overview = &self.overview;
        let chosen = match overview.pane {
            Pane::Functions => overview
                .chosen_function()
                .map(|entry| (entry.function, None)),
            Pane::Paths => overview
                .chosen_path()
                .map(|entry| (entry.function, Some(entry.path))),
        };
        if let Some((function, path)) = chosen {
            let paths = self.browser.paths_of(function);
            let index = path.and_then(|path| paths.iter().position(|entry| entry.path == path));
            let mut open = OpenFunction {
                function,
                paths,
                path: Cursor {
                    index: index.unwrap_or(0),
                },
                steps: Vec::new(),
                step: 0,
                scroll: 0,
            };
            open.read_steps(self.browser);
            self.open = Some(open);
        }
    }

    /// The wish to copy the chosen path.
    fn copy(&mut self) -> Option<Wish> {
        let entry = match &self.open {
            Some(open) => open.chosen(),
            None => match self.overview.pane {
                Pane::Paths => self.overview.chosen_path(),
                Pane::Functions => None,
            },
        };
        let Some(entry) = entry else {
            "choose a path to copy".clone_into(&mut self.message);
            return None;
        };
        self.message = format!("copied {}", self.browser.path_name(entry));
        Some(Wish::Copy(self.browser.as_text(entry)))
    }
}

impl Overview {
    pub(super) fn chosen_function(&self) -> Option<&FunctionEntry> {
        let index = self.found_functions.get(self.function.index)?;
        self.functions.get(*index)
    }

    pub(super) fn chosen_path(&self) -> Option<&PathEntry> {
        let index = self.found_paths.get(self.path.index)?;
        self.paths.get(*index)
    }

    fn go(&mut self, to: Move) {
        match self.pane {
            Pane::Functions => self.function.go(to, self.found_functions.len()),
            Pane::Paths => self.path.go(to, self.found_paths.len()),
        }
    }

    /// Finds the functions and paths whose function's name or file contains the search.
    fn find(&mut self, browser: &Browser<'_>) {
        let search = self.search.to_lowercase();
        let contains = |text: &str| text.to_lowercase().contains(&search);
        let functions = self.functions.iter().enumerate();
        let found = functions.filter(|(_, entry)| contains(&entry.name) || contains(&entry.file));
        self.found_functions = found.map(|(index, _)| index).collect();
        let paths = self.paths.iter().enumerate();
        let found = paths.filter(|(_, entry)| {
            search.is_empty()
                || contains(&browser.function_name(entry.function))
                || contains(&browser.file_of(entry.function))
        });
        self.found_paths = found.map(|(index, _)| index).collect();
        (self.function, self.path) = (Cursor::default(), Cursor::default());
    }
}

impl OpenFunction {
    pub(super) fn chosen(&self) -> Option<&PathEntry> {
        self.paths.get(self.path.index)
    }

    fn choose(&mut self, to: Move, browser: &Browser<'_>) {
        let before = self.path;
        self.path.go(to, self.paths.len());
        if self.path != before {
            self.read_steps(browser);
        }
    }

    fn read_steps(&mut self, browser: &Browser<'_>) {
        let steps = self.chosen().map(|entry| browser.steps(entry));
        self.steps = steps.unwrap_or_default();
        self.go_to_step(first_step(&self.steps));
    }

    fn go_to_step(&mut self, step: usize) {
        self.step = step.min(self.steps.len().saturating_sub(1));
        self.scroll = 0;
    }
}

/// The movement in a list that a key asks for.
fn movement(code: KeyCode) -> Option<Move> {
    Some(match code {
        KeyCode::Up => Move::Up,
        KeyCode::Down => Move::Down,
        KeyCode::PageUp => Move::PageUp,
        KeyCode::PageDown => Move::PageDown,
        KeyCode::Home => Move::First,
        KeyCode::End => Move::Last,
        _ => return None,
    })
}
