//! The flow graph of one function: its blocks from top to bottom, each with its edges below it.
//! Loops stay together and are indented. The margin has counts, and `┃` marks one path.
//!
//! ```text
//! app::search  src/search.rs:1
//!   calls         3 · 5 of 10 paths ran · 7 of 8 blocks ran
//!   path          p6#7330 · 35,706 executions × 7 instructions, 96.6 % of the function's · hottest
//!
//!        3  entry
//!        3  b0 → b1  src/search.rs:2  let mut found = 0;
//!           ╭ loop of b1  36,256 rounds in 3 entries
//! ┃ 36,256  │ b1  src/search.rs:3  for byte in text.iter() {
//! ┃ 36,253  │   → b2  line 4  100.0 %
//! ```
//!
//! Blocks that never ran are left out, unless they are on the path, or the reader asks for them.
//! Cost: linear in edges.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};

use holloway_abi::Unit;
use holloway_analysis::bounds::Bound;
use holloway_analysis::increments::{EdgeTerms, Increment, Increments, Term};
use holloway_analysis::outline::{OutlineBlock, outline};
use holloway_analysis::paths::{hottest_of, regenerate};
use holloway_analysis::trail::{first_place, is_choice, last_place};
use holloway_analysis::{Function, FunctionId, RunProfile};
use holloway_flow::{Path, PathStart};
use holloway_format::{Count, DagKind, EdgeKind, Outcome, PathId, Place};

use super::bounds::{legend, marked};
use super::branches::Branches;
use super::heat;
use super::outcome;
use super::paint::{Ink, Line, clip_start};
use super::sheet::{PLACE, Sheet};
use crate::colors::HeatScale;
use crate::left_frames;
use crate::numbers::{grouped, plural, share, signed};
use crate::options::Options;
use crate::path_names::numbered_name;

/// What a graph shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GraphChoice {
    /// The path to mark. `None` means the hottest path of the function, if its paths were counted.
    pub path: Option<PathId>,
    /// Whether to show what each edge adds to the numbers of paths.
    pub numbering: bool,
    /// Whether to show blocks that never ran.
    pub all_blocks: bool,
}

/// Writes the graph of a function that ran.
///
/// # Errors
/// If writing to `out` fails.
pub fn write(
    run: &RunProfile,
    function: FunctionId,
    choice: GraphChoice,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let sheet = &mut Sheet::new(run, options, &mut out);
    let graph = Graph::new(sheet, function, choice);
    graph.write_head(sheet)?;
    graph.write_blocks(sheet)?;
    graph.write_notes(sheet)?;
    out.flush()
}

/// A function's graph, and how it is shown.
struct Graph<'a> {
    function: &'a Function,
    choice: GraphChoice,
    outline: Vec<OutlineBlock>,
    /// By block: its position in the outline.
    positions: Vec<usize>,
    /// By block: the edges that leave it.
    edges_from: Vec<Vec<u32>>,
    /// By edge: how a path ends with it inside the function, if one does.
    ends: Vec<Option<DagKind>>,
    branches: std::rc::Rc<Branches<'a>>,
    /// What edges add to the numbers of paths, if this is shown.
    increments: Option<Increments>,
    path: Option<ShownPath>,
    scale: HeatScale,
    /// Columns of the counts.
    width: usize,
}

/// The path that is marked.
struct ShownPath {
    id: PathId,
    path: Path,
    blocks: BTreeSet<u32>,
    edges: BTreeSet<u32>,
}

impl ShownPath {
    fn new(function: &Function, id: PathId) -> Option<ShownPath> {
        let path = regenerate(function, id)?;
        let edges = path.edges.iter().copied().chain([path.end.edge()]);
        Some(ShownPath {
            id,
            edges: edges.map(|edge| edge.0).collect(),
            blocks: path.blocks.iter().map(|block| block.0).collect(),
            path,
        })
    }
}

/// The parts of a graph that are left out.
#[derive(Default)]
struct LeftOut {
    blocks: u64,
    edges: u64,
}

impl<'a> Graph<'a> {
    fn new(sheet: &Sheet<'a>, id: FunctionId, choice: GraphChoice) -> Graph<'a> {
        let function = sheet.run.function(id);
        let flow = function.flow();
        let hottest = || hottest_of(function, sheet.options.sort).map(|(path, _)| path);
        let path = choice.path.or_else(hottest);
        let increments = function.graph().filter(|_| choice.numbering);
        let edges = flow.edges.iter().map(|&count| Count(count.unsigned_abs()));
        let counts = flow.blocks.iter().copied().chain(edges).chain([flow.calls]);
        let highest = counts.max().unwrap_or_default();
        let map = &function.map;
        let outline = outline(map);
        let mut positions = vec![0; map.blocks.len()];
        for (position, entry) in outline.iter().enumerate() {
            positions[entry.block as usize] = position;
        }
        let mut edges_from = vec![Vec::new(); map.blocks.len()];
        for (number, edge) in (0u32..).zip(&map.edges) {
            edges_from[edge.from as usize].push(number);
        }
        let mut ends = vec![None; map.edges.len()];
        for kind in map.dag.iter().map(|edge| edge.kind) {
            match kind {
                DagKind::Back(edge) | DagKind::Cut(edge) => ends[edge as usize] = Some(kind),
                DagKind::Edge(_) | DagKind::Start(_) => {}
            }
        }
        let has_bounds = function.bounds().sum() != Bound::Exact;
        Graph {
            function,
            choice,
            outline,
            positions,
            edges_from,
            ends,
            branches: sheet.branches(function),
            increments: increments.map(|graph| Increments::new(&function.map, graph)),
            path: path.and_then(|path| ShownPath::new(function, path)),
            scale: HeatScale::up_to(highest),
            width: grouped(highest).len() + usize::from(has_bounds),
        }
    }

    fn write_head(&self, sheet: &mut Sheet<'_>) -> io::Result<()> {
        let function = self.function;
        let mut head = Line::new();
        head.put(Ink::Strong, &sheet.name(function));
        if function.map.line != 0 {
            let place = sheet.place(&function.map.file, function.map.line);
            head.put(Ink::Place, &format!("  {place}"));
        }
        sheet.page.line(&head)?;
        sheet.fact("calls", &self.calls())?;
        let Some(shown) = &self.path else {
            return Ok(());
        };
        sheet.fact("path", &self.path_in_words(shown))?;
        match &self.increments {
            Some(increments) => {
                let terms = increments.along(&function.map, &shown.path);
                sheet.fact("number", &sums(shown.id, &terms))
            }
            None => Ok(()),
        }
    }

    fn calls(&self) -> String {
        let (function, flow) = (self.function, self.function.flow());
        let calls = marked(function.bounds().calls, &grouped(flow.calls));
        let paths = match function.unit() {
            Unit::Paths => {
                let ran = grouped(function.counts.len() as u64);
                format!(
                    " · {ran} of {} ran",
                    plural(function.map.path_count, "path")
                )
            }
            Unit::Edges => String::new(),
        };
        let is_code = |&(block, _): &(u32, &Count)| block != function.map.exit;
        let blocks = (0u32..).zip(&flow.blocks).filter(is_code);
        let ran = blocks.filter(|(_, count)| **count > Count::ZERO).count();
        let all = plural(function.map.blocks.len() as u64 - 1, "block");
        let left = left_frames::in_words(function).map(|left| format!(" · {left}"));
        let left = left.unwrap_or_default();
        format!(
            "{calls}{paths} · {} of {all} ran{left}",
            grouped(ran as u64)
        )
    }

    fn path_in_words(&self, shown: &ShownPath) -> String {
        let function = self.function;
        let name = numbered_name(function, shown.id);
        let counts = &function.counts;
        let count = counts.binary_search_by_key(&shown.id, |&(path, _)| path);
        let hottest = match self.choice.path {
            None => " · the hottest",
            Some(_) => "",
        };
        let Ok(count) = count.map(|index| counts[index].1) else {
            return format!("{name} · never ran");
        };
        let mut instructions = 0;
        if let Some(graph) = function.graph() {
            graph.measure(&function.map, &[(shown.id, count)], |measured| {
                instructions = measured.instructions;
            });
        }
        let all = function.flow().instructions;
        let part = share(count.saturating_mul(instructions), all);
        format!(
            "{name} · {} × {}, {part} of the function's instructions{hottest}",
            plural(count, "execution"),
            plural(instructions, "instruction"),
        )
    }

    fn write_blocks(&self, sheet: &mut Sheet<'_>) -> io::Result<()> {
        let function = self.function;
        sheet.page.gap()?;
        let calls = (function.flow().calls, function.bounds().calls);
        let from_entry = |shown: &ShownPath| shown.path.start == PathStart::Entry;
        let on_path = self.path.as_ref().is_some_and(from_entry);
        let mut entry = self.row(on_path, Some(calls), 0);
        entry.put(Ink::Strong, "entry");
        sheet.page.line(&entry)?;
        let mut loops: &[u32] = &[];
        for block in self
            .outline
            .iter()
            .filter(|entry| self.is_shown(entry.block))
        {
            let shared = loops.iter().zip(&block.loops);
            let shared = shared.take_while(|(a, b)| a == b).count();
            for (depth, &head) in block.loops.iter().enumerate().skip(shared) {
                self.write_loop(sheet, head, depth)?;
            }
            loops = &block.loops;
            self.write_block(sheet, block.block, block.loops.len())?;
        }
        Ok(())
    }

    /// Whether a block is shown: it ran, or it is on the path, or the reader wants all blocks.
    fn is_shown(&self, block: u32) -> bool {
        let ran = self.function.flow().blocks[block as usize] > Count::ZERO;
        self.choice.all_blocks || ran || self.is_on_path(|shown| shown.blocks.contains(&block))
    }

    /// Whether an edge is shown: control took it, or it is on the path, or the reader wants all.
    fn is_edge_shown(&self, edge: u32) -> bool {
        let was_taken = self.function.flow().edges[edge as usize] != 0;
        self.choice.all_blocks || was_taken || self.is_on_path(|shown| shown.edges.contains(&edge))
    }

    fn is_on_path(&self, test: impl Fn(&ShownPath) -> bool) -> bool {
        self.path.as_ref().is_some_and(test)
    }

    /// A row up to its text: the mark of the path, the count, and the loops around it.
    fn row(&self, on_path: bool, count: Option<(Count, Bound)>, depth: usize) -> Line {
        let mut line = Line::new();
        line.put(Ink::Outcome, if on_path { "┃ " } else { "  " });
        match count {
            None => line.right(Ink::Plain, "", self.width),
            Some((count, bound)) => line.right(
                heat::ink(&self.scale, count),
                &marked(bound, &grouped(count)),
                self.width,
            ),
        };
        self.indent(line, depth)
    }

    fn indent(&self, mut line: Line, depth: usize) -> Line {
        line.put(Ink::Faint, &format!("  {}", "│ ".repeat(depth)));
        let rest = format!("{}  {}    ", " ".repeat(self.width + 2), "│ ".repeat(depth));
        line.continued_by(&rest);
        line
    }

    /// Writes the row above a loop: how often control entered the loop, and how often its head ran.
    fn write_loop(&self, sheet: &mut Sheet<'_>, head: u32, depth: usize) -> io::Result<()> {
        let (map, flow) = (&self.function.map, self.function.flow());
        let is_inside = |block: u32| {
            let position = self.positions[block as usize];
            self.outline[position].loops.contains(&head)
        };
        let edges = map.edges.iter().zip(&flow.edges);
        let back = edges.filter(|(edge, _)| edge.to == head && is_inside(edge.from));
        let back = back.fold(Count::ZERO, |sum, (_, &count)| {
            sum.saturating_add(Count(u64::try_from(count).unwrap_or(0)))
        });
        let rounds = flow.blocks[head as usize];
        let entered = rounds.saturating_sub(back);
        let text = format!(
            "  {} in {}",
            plural(rounds, "round"),
            match entered {
                Count(1) => "1 entry".to_owned(),
                _ => format!("{} entries", grouped(entered)),
            }
        );
        let mut line = self.row(false, None, depth);
        line.put(Ink::Faint, "╭ ")
            .put(Ink::Strong, &format!("loop of b{head}"))
            .put(Ink::Faint, &text);
        sheet.page.line(&line)
    }

    fn write_block(&self, sheet: &mut Sheet<'_>, block: u32, depth: usize) -> io::Result<()> {
        let (map, flow) = (&self.function.map, self.function.flow());
        let on_path = self.is_on_path(|shown| shown.blocks.contains(&block));
        let bound = self.function.bounds().blocks.get(block as usize).copied();
        let count = (flow.blocks[block as usize], bound.unwrap_or_default());
        let mut line = self.row(on_path, Some(count), depth);
        if block == map.exit {
            let is_end = |shown: &ShownPath| {
                let end = map.edges.get(shown.path.end.edge().index());
                end.is_some_and(|edge| edge.to == map.exit)
            };
            line = self.row(self.is_on_path(is_end), Some(count), depth);
            line.put(Ink::Strong, "exit");
            return sheet.page.line(&line);
        }
        line.put(Ink::Strong, &format!("b{block}"));
        let edges = self.edges_from[block as usize].iter().copied();
        let edges: Vec<u32> = edges.filter(|&edge| self.is_edge_shown(edge)).collect();
        let joined = edges
            .first()
            .copied()
            .filter(|&edge| self.can_join(block, &edges, edge));
        if let Some(edge) = joined {
            line.put(Ink::Plain, &format!(" {}", self.arrow(edge)));
            if self.choice.numbering {
                line.put(Ink::Number, &self.added(edge));
            }
        }
        let places = &map.blocks[block as usize].places;
        if let Some(first) = first_place(places) {
            let (file, last) = (self.file(first), last_place(places));
            let mut place = sheet.place(file, first.line);
            let same_frame =
                last.filter(|last| last.scope == first.scope && last.line > first.line);
            if let Some(last) = same_frame {
                place += &format!("–{}", last.line);
            }
            let room = PLACE.min(sheet.page.width() / 2);
            line.put(Ink::Place, &format!("  {}", clip_start(&place, room)));
            if let Some(text) = sheet.options.source.line(file, first.line) {
                line.put_clipped(Ink::Plain, &format!("  {}", text.trim()));
            }
        }
        sheet.page.line(&line)?;
        for &edge in edges.iter().filter(|&&edge| Some(edge) != joined) {
            self.write_edge(sheet, edge, depth, edges.len())?;
        }
        Ok(())
    }

    /// Whether the only shown edge of a block can stand in the block's row: it has the same count,
    /// and no words.
    fn can_join(&self, block: u32, edges: &[u32], edge: u32) -> bool {
        let flow = self.function.flow();
        let taken = u64::try_from(flow.edges[edge as usize]);
        let same_count = taken.is_ok_and(|taken| taken == flow.blocks[block as usize].0);
        edges.len() == 1 && same_count && self.words(edge).is_empty()
    }

    /// The target of an edge, with an arrow.
    fn arrow(&self, edge: u32) -> String {
        let map = &self.function.map;
        let arrow = match self.end_of_path(edge) {
            Some(DagKind::Back(_)) => "↩",
            Some(DagKind::Cut(_) | DagKind::Edge(_) | DagKind::Start(_)) | None => "→",
        };
        match map.edges[edge as usize].to {
            to if to == map.exit => format!("{arrow} exit"),
            to => format!("{arrow} b{to}"),
        }
    }

    fn file(&self, place: Place) -> &'a str {
        let scope = self.function.map.scopes.get(place.scope as usize);
        scope.map_or("", |scope| &scope.file)
    }

    /// Writes an edge, which is one of `siblings` shown edges of its block.
    fn write_edge(
        &self,
        sheet: &mut Sheet<'_>,
        number: u32,
        depth: usize,
        siblings: usize,
    ) -> io::Result<()> {
        let (map, flow) = (&self.function.map, self.function.flow());
        let edge = &map.edges[number as usize];
        let taken = flow.edges[number as usize];
        let on_path = self.is_on_path(|shown| shown.edges.contains(&number));
        let bounds = &self.function.bounds().edges;
        let bound = bounds.get(number as usize).copied().unwrap_or_default();
        let mut line = Line::new();
        line.put(Ink::Outcome, if on_path { "┃ " } else { "  " });
        let count = Count(u64::try_from(taken).unwrap_or(0));
        let text = marked(bound, &signed(taken));
        line.right(heat::ink(&self.scale, count), &text, self.width);
        let mut line = self.indent(line, depth);
        line.put(Ink::Plain, &format!("  {}", self.arrow(number)));
        let words = self.words(number);
        if !words.is_empty() {
            line.put(Ink::Outcome, &format!("  {words}"));
        }
        if siblings > 1 && edge.kind != EdgeKind::Exit {
            let all = flow.blocks[edge.from as usize];
            line.put(Ink::Faint, &format!("  {}", share(count, all)));
        }
        if self.choice.numbering {
            line.put(Ink::Number, &self.added(number));
        }
        sheet.page.line(&line)
    }

    /// If a path ends with an edge inside the function, how.
    fn end_of_path(&self, edge: u32) -> Option<DagKind> {
        self.ends[edge as usize]
    }

    /// Where control goes along an edge, in words. Empty if the block says it all.
    fn words(&self, number: u32) -> String {
        let map = &self.function.map;
        let edge = &map.edges[number as usize];
        let place = edge.place.filter(|place| place.line != 0);
        let place = place.or_else(|| last_place(&map.blocks[edge.from as usize].places));
        let mut words = match edge.outcome {
            Outcome::Jump | Outcome::Normal | Outcome::Returned | Outcome::Split => String::new(),
            outcome if is_choice(outcome) => self
                .branches
                .word(place, &self.branches.destination(number)),
            outcome => outcome::word(outcome).to_owned(),
        };
        if let Some(DagKind::Cut(_)) = self.end_of_path(number) {
            let separator = if words.is_empty() { "" } else { ", " };
            words += &format!("{separator}paths end here");
        }
        words
    }

    /// What an edge adds to the numbers of paths, or its counter if edges were counted.
    fn added(&self, number: u32) -> String {
        let map = &self.function.map;
        let Some(increments) = &self.increments else {
            let counter = map.counted.iter().position(|&edge| edge == number);
            return match counter {
                Some(counter) => format!("  chord: counter {counter}"),
                None => "  tree: derived".to_owned(),
            };
        };
        let EdgeTerms { before, after } = increments.edges[number as usize];
        let before = before.map_or_else(|| "on no path".to_owned(), term);
        let after = after.map(|after| format!(" · the next path starts with {}", term(after)));
        format!("  {before}{}", after.unwrap_or_default())
    }

    fn write_notes(&self, sheet: &mut Sheet<'_>) -> io::Result<()> {
        let mut left_out = LeftOut::default();
        let (map, flow) = (&self.function.map, self.function.flow());
        let blocks = 0..map.blocks.len() as u32;
        left_out.blocks = blocks.filter(|&block| !self.is_shown(block)).count() as u64;
        // Edges of blocks that are left out need no mention.
        let edges = (0u32..)
            .zip(&map.edges)
            .filter(|(_, edge)| self.is_shown(edge.from));
        left_out.edges = edges.filter(|&(edge, _)| !self.is_edge_shown(edge)).count() as u64;
        let mut notes = Vec::new();
        if self.path.is_some() {
            notes.push("┃ the path".to_owned());
        }
        let mut kinds = map.dag.iter().map(|edge| edge.kind);
        if kinds.any(|kind| matches!(kind, DagKind::Back(_))) {
            notes.push("↩ back edge: a path ends, and the next one starts".to_owned());
        }
        if left_out.blocks + left_out.edges > 0 {
            notes.push(format!(
                "left out: {} and {} that never ran (--all)",
                plural(left_out.blocks, "block"),
                plural(left_out.edges, "more edge"),
            ));
        }
        if self.choice.numbering && self.increments.is_some() && map.chords.is_empty() {
            notes.push(
                "the program was built by an earlier version, which did not record the chords"
                    .to_owned(),
            );
        }
        sheet.page.gap()?;
        sheet
            .page
            .wrapped(Line::new(), Ink::Faint, &notes.join(" · "))?;
        heat::legend(sheet, &self.scale)?;
        let bounds = self.function.bounds();
        let shown = (0u32..).zip(&bounds.blocks);
        let shown = shown.filter(|(block, _)| flow.blocks[*block as usize] > Count::ZERO);
        let marks: Vec<Bound> = shown.map(|(_, &bound)| bound).collect();
        let edges = bounds.edges.iter().copied();
        legend(sheet, marks.into_iter().chain(edges).chain([bounds.calls]))
    }
}

/// What an edge of the acyclic graph adds: `value 2, chord +5`.
fn term(term: Term) -> String {
    let value = grouped(term.value);
    match term.increment {
        Increment::Chord(increment) => format!("value {value}, chord {}", with_sign(increment)),
        Increment::Tree => format!("value {value}, tree"),
        Increment::Unknown => format!("value {value}"),
    }
}

fn with_sign(number: i64) -> String {
    match number < 0 {
        true => format!("−{}", grouped(number.unsigned_abs())),
        false => format!("+{}", grouped(number.unsigned_abs())),
    }
}

/// The sums along a path: `p3 = 0 + 2 + 1 (values) = +5 −2 (chords)`.
fn sums(path: PathId, terms: &[Term]) -> String {
    let values: Vec<String> = terms.iter().map(|term| grouped(term.value)).collect();
    let mut text = format!("{path} = {} (values)", values.join(" + "));
    let chords = terms.iter().filter_map(|term| match term.increment {
        Increment::Chord(increment) => Some(with_sign(increment)),
        Increment::Tree | Increment::Unknown => None,
    });
    let chords: Vec<String> = chords.collect();
    if !chords.is_empty() {
        text += &format!(" = {} (chords)", chords.join(" "));
    }
    text
}
