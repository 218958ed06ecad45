//! The output of a view, with the run, its options, and caches of names and branches.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Write};
use std::rc::Rc;

use holloway_abi::Unit;
use holloway_analysis::paths::Ranked;
use holloway_analysis::{Function, FunctionId, RunProfile};
use holloway_format::{Count, PathId};

use super::branches::{Branches, KnownBranches};
use super::decisions::decisions_of;
use super::paint::{Ink, Line, Page};
use super::table::CONTINUED_INDENT;
use crate::code::crate_of;
use crate::filter::Filter;
use crate::numbers::plural;
use crate::options::Options;
use crate::path_names::short_name;

/// Number of rows of a table without `--top`.
pub(super) const TOP: usize = 10;
/// Maximum columns of a place.
pub(super) const PLACE: usize = 44;

/// Whether a view shows all rows of a path or of a tree of sequences.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// All rows, because the path or tree is the only item of the view.
    Whole,
    /// Only some rows: the first and last rows of a path, the first rows of a tree.
    Brief,
    /// Fewer rows, because the view says more about each path than its rows.
    Excerpt,
}

impl Detail {
    /// The detail of each item, if a view has `items` items.
    pub(super) fn of_items(items: usize) -> Detail {
        match items {
            1 => Detail::Whole,
            _ => Detail::Brief,
        }
    }
}

/// The output of a view, with the run and the options that every view needs.
pub(super) struct Sheet<'a> {
    pub(super) run: &'a RunProfile,
    pub(super) options: &'a Options<'a>,
    pub(super) names: Filter<'a>,
    /// Names that functions of several images have. Computed when first needed.
    shared_names: OnceCell<HashSet<Rc<str>>>,
    /// Branches of the shown functions.
    known_branches: KnownBranches<'a>,
    pub(super) page: Page<'a>,
}

impl<'a> Sheet<'a> {
    pub(super) fn new(
        run: &'a RunProfile,
        options: &'a Options<'a>,
        out: &'a mut dyn Write,
    ) -> Sheet<'a> {
        let names = Filter::new(options);
        Sheet {
            run,
            options,
            names,
            shared_names: OnceCell::new(),
            known_branches: KnownBranches::default(),
            page: Page::new(out, options),
        }
    }

    /// The branches of a function.
    pub(super) fn branches(&self, function: &'a Function) -> Rc<Branches<'a>> {
        self.known_branches
            .branches(&function.map, self.options.cwd.as_deref())
    }

    /// The row below a row that names a path: the decisions on the path. `None` if it makes none.
    pub(super) fn decisions_row(&self, function: &Function, path: PathId) -> Option<Line> {
        let branches = Branches::new(&function.map, self.options.cwd.as_deref());
        let decisions = decisions_of(&branches, function, path);
        let mut line = Line::new();
        line.up_to(CONTINUED_INDENT + 2)
            .put(Ink::Outcome, &decisions);
        (!decisions.is_empty()).then_some(line)
    }

    /// Maximum number of rows of a table (`--top`).
    pub(super) fn top(&self) -> usize {
        self.options.top.unwrap_or(TOP)
    }

    /// Whether the user selected a function (`--function`).
    pub(super) fn keeps(&self, id: FunctionId) -> bool {
        self.names.keeps(self.run, id)
    }

    /// Whether any code that the user selected ran, in functions or inlined into functions.
    pub(super) fn any_selected_path_ran(&self) -> bool {
        let ran = self.run.ids().filter(|(_, function)| function.ran());
        let mut paths = ran.map(|(id, _)| self.names.paths(self.run, id));
        paths.any(|paths| paths != Ranked::None)
    }

    /// The name of a function in this run: `helper`, or `helper in libplugin.so` if a function of
    /// another image that ran has the same name.
    pub(super) fn name(&self, function: &Function) -> Rc<str> {
        let name = self.names.name(function);
        format!("{name}{}", self.where_it_is(function, &name)).into()
    }

    /// The short name of a path with its function's name: `helper#3fa2`, or `helper#3fa2 in
    /// libplugin.so`.
    pub(super) fn name_of_path(&self, function: &Function, path: PathId) -> String {
        let name = self.names.name(function);
        let short_name = short_name(function, path);
        format!("{name}{short_name}{}", self.where_it_is(function, &name))
    }

    /// The image of a function, if its name alone does not say which function is meant.
    fn where_it_is(&self, function: &Function, name: &Rc<str>) -> String {
        match self.shared_names().contains(name) {
            true => format!(" in {}", self.image(function)),
            false => String::new(),
        }
    }

    fn shared_names(&self) -> &HashSet<Rc<str>> {
        self.shared_names.get_or_init(|| {
            if self.run.images.len() < 2 {
                return HashSet::new();
            }
            let mut first_images: HashMap<Rc<str>, &str> = HashMap::new();
            let ran = self.run.functions.iter().filter(|function| function.ran());
            ran.filter_map(|function| {
                let name = self.names.name(function);
                let image = self.image(function);
                let first_image = *first_images.entry(name.clone()).or_insert(image);
                (first_image != image).then_some(name)
            })
            .collect()
        })
    }

    fn image(&self, function: &Function) -> &'a str {
        &self.run.images[self.run.module_of(function).image.index()].name
    }

    pub(super) fn place(&self, file: &str, line: u32) -> String {
        crate::places::file_and_line(file, line, self.options.cwd.as_deref())
    }

    /// Writes the heading of a view: a title and a subtitle.
    pub(super) fn title(&mut self, title: &str, subtitle: &str) -> io::Result<()> {
        self.page.gap()?;
        let mut line = Line::new();
        line.put(Ink::Strong, title).put(Ink::Plain, "  ");
        self.page.wrapped(line, Ink::Faint, subtitle)
    }

    /// Writes a line of a list of facts.
    pub(super) fn fact(&mut self, label: &str, text: &str) -> io::Result<()> {
        self.labeled(Ink::Faint, label, text)
    }

    pub(super) fn labeled(&mut self, ink: Ink, label: &str, text: &str) -> io::Result<()> {
        let mut line = Line::new();
        line.put(Ink::Plain, "  ").left(ink, label, 14);
        self.page.wrapped(line, Ink::Plain, text)
    }

    /// Writes indented text, below the first line of a path or loop.
    pub(super) fn indented(&mut self, ink: Ink, text: &str) -> io::Result<()> {
        let mut line = Line::new();
        line.up_to(5);
        self.page.wrapped(line, ink, text)
    }

    /// If selected functions have no paths because they counted edges, writes how many. Returns
    /// whether no selected function that ran has paths.
    pub(super) fn write_without_paths(&mut self) -> io::Result<bool> {
        let selected = self.run.ids();
        let selected = selected.filter(|&(id, function)| function.ran() && self.keeps(id));
        let (edges, paths): (Vec<_>, Vec<_>) =
            selected.partition(|(_, function)| function.unit() == Unit::Edges);
        if edges.is_empty() {
            return Ok(false);
        }
        self.page.gap()?;
        let text = if paths.is_empty() {
            "edges were recorded, not paths".to_owned()
        } else {
            let functions = plural(edges.len() as u64, "function");
            format!("edges were recorded of {functions}, not paths")
        };
        let text = format!("{text}: build with --collect paths to see them");
        self.page.wrapped(Line::new(), Ink::Alarm, &text)?;
        Ok(paths.is_empty())
    }

    /// Whether the run has known losses or damage.
    pub(super) fn has_losses(&self) -> bool {
        let processes = self.run.images.iter().flat_map(|image| &image.processes);
        let mut processes = processes.map(|process| process.lost);
        !self.run.damage.is_empty() || processes.any(|lost| lost > 0)
    }

    /// Writes that no code that the user selected ran, and the crates that ran.
    pub(super) fn write_no_such_code(&mut self) -> io::Result<()> {
        let mut crates: BTreeMap<String, Count> = BTreeMap::new();
        for function in self.run.functions.iter().filter(|function| function.ran()) {
            let name = self.names.name(function);
            let module = &self.run.module_of(function).name;
            let sum = crates
                .entry(crate_of(&function.map.file, &name, module))
                .or_default();
            *sum = sum.saturating_add(function.flow().instructions);
        }
        let mut crates: Vec<(Reverse<Count>, String)> = crates
            .into_iter()
            .map(|(name, sum)| (Reverse(sum), name))
            .collect();
        crates.sort();
        let named = crates.iter().take(TOP).map(|(_, name)| name.as_str());
        let mut names = named.collect::<Vec<_>>().join(", ");
        if crates.len() > TOP {
            names += &format!(", and {} more", crates.len() - TOP);
        }
        let text = format!("no function that ran is in this code; crates that ran: {names}");
        self.page.gap()?;
        self.page.wrapped(Line::new(), Ink::Alarm, &text)
    }

    /// Writes that no function ran, and the reason if it is known.
    pub(super) fn write_nothing_ran(&mut self) -> io::Result<()> {
        self.page.gap()?;
        let text = if self
            .run
            .images
            .iter()
            .all(|image| image.processes.is_empty())
        {
            "no profile of this program: it has not run, or its data went elsewhere (HOLLOWAY_DATA)"
        } else if self.run.functions.is_empty() {
            "no function is instrumented: nothing was counted"
        } else if self.has_losses() {
            "no instrumented function is known to have run: the losses are listed above"
        } else {
            "no instrumented function ran"
        };
        self.page.text(Ink::Alarm, text)
    }
}
