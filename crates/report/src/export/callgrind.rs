//! Callgrind's profile format, for KCachegrind: instructions and block executions of lines, and
//! jumps between lines.
//!
//! The instructions of a block count at its first line, in the file of the innermost inlined
//! function. So the sum over a function is exact, but lines that share a block are not told apart.
//! Inlined code stays in the function that contains it. The calls of a function count at its first
//! line, as a cost. A profile of paths does not know callers, so there are no inclusive costs.
//!
//! KCachegrind adds up all jumps between the same two lines, and calls the sum conditional if one
//! of them is. It adds the executions of a conditional jump to the times that another jump was
//! taken. So the export writes one jump for two lines, with sums that are right.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::io::Write;

use holloway_analysis::Function;
use holloway_analysis::edges::target;
use holloway_analysis::trail::{first_place, last_place};
use holloway_format::{Count, EdgeKind, Outcome, Place};

use super::run::{EXPORTER, ExportRun, Result, one_line};
use crate::filter::Filter;

/// A line: its file's name, and its number.
type Line<'a> = (&'a str, u32);

/// Writes the functions that ran.
pub(super) fn write(export: &ExportRun<'_>, out: &mut dyn Write) -> Result<()> {
    let run = export.run;
    let names = Filter::new(export.options);
    let selected = run.ids();
    let selected = selected.filter(|&(id, function)| function.ran() && names.keeps(run, id));
    let selected: Vec<&Function> = selected.map(|(_, function)| function).collect();
    let costs: Vec<Costs<'_>> = selected
        .iter()
        .map(|function| Costs::new(function))
        .collect();
    let sum = costs.iter().flat_map(|costs| costs.lines.values());
    let sum = sum.fold(Cost::default(), |sum, &cost| sum.and(cost));
    writeln!(out, "# callgrind format\nversion: 1\ncreator: {EXPORTER}")?;
    writeln!(out, "cmd: {}", export.title())?;
    writeln!(out, "positions: line\nevents: Instructions Blocks Calls")?;
    writeln!(out, "summary: {sum}")?;
    let mut ids = Ids::default();
    for (function, costs) in selected.into_iter().zip(&costs) {
        let image = &run.images[run.module_of(function).image.index()].name;
        let file = file_name(&function.map.file);
        writeln!(out, "\nob={}", ids.name(Table::Object, image))?;
        writeln!(out, "fl={}", ids.name(Table::File, file))?;
        writeln!(
            out,
            "fn={}",
            ids.name(Table::Function, &names.name(function))
        )?;
        costs.write(file, &mut ids, out)?;
    }
    writeln!(out, "\ntotals: {sum}")?;
    Ok(())
}

#[derive(Clone, Copy, Default)]
struct Cost {
    instructions: Count,
    blocks: Count,
    calls: Count,
}

impl Cost {
    fn and(self, other: Cost) -> Cost {
        Cost {
            instructions: self.instructions.saturating_add(other.instructions),
            blocks: self.blocks.saturating_add(other.blocks),
            calls: self.calls.saturating_add(other.calls),
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {} {}", self.instructions, self.blocks, self.calls)
    }
}

/// A jump between two lines. Both have the same file, because the format allows no other jump.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Jump {
    from: u32,
    to: u32,
}

/// The sums of all edges of a jump.
#[derive(Default)]
struct JumpSums {
    taken: Count,
    /// Executions of the blocks that jump.
    executions: Count,
    is_conditional: bool,
    /// The blocks that jump. Several edges of a switch may lead to one line.
    blocks: BTreeSet<u32>,
}

/// Costs of the lines of a function, and its jumps.
struct Costs<'a> {
    lines: BTreeMap<Line<'a>, Cost>,
    /// By file of the line and jump.
    jumps: BTreeMap<(&'a str, Jump), JumpSums>,
}

impl<'a> Costs<'a> {
    fn new(function: &'a Function) -> Costs<'a> {
        let map = &function.map;
        let own = (file_name(&map.file), map.line);
        let line = |place: Option<Place>| {
            place.map_or(own, |place| {
                let scope = map.scopes.get(place.scope as usize);
                let file = scope.map_or("", |scope| &scope.file);
                (file_name(file), place.line)
            })
        };
        let flow = function.flow();
        let mut costs = Costs {
            lines: BTreeMap::new(),
            jumps: BTreeMap::new(),
        };
        for (number, (block, &count)) in map.blocks.iter().zip(&flow.blocks).enumerate() {
            if number == map.exit as usize || count == Count::ZERO {
                continue;
            }
            let executed = count.saturating_mul(block.instructions.into());
            let cost = Cost {
                instructions: executed.saturating_sub(flow.not_run[number]),
                blocks: count,
                calls: Count::ZERO,
            };
            let sum = costs.lines.entry(line(first_place(&block.places)));
            let sum = sum.or_default();
            *sum = sum.and(cost);
        }
        costs.lines.entry(own).or_default().calls = flow.calls;
        for (edge, &taken) in map.edges.iter().zip(&flow.edges) {
            let taken = Count(u64::try_from(taken).unwrap_or(0));
            let is_inside = edge.kind != EdgeKind::Exit && edge.to != map.exit;
            if taken == Count::ZERO || !is_inside {
                continue;
            }
            let places = &map.blocks[edge.from as usize].places;
            let from = line(
                edge.place
                    .filter(|place| place.line != 0)
                    .or(last_place(places)),
            );
            let to = &map.blocks[target(map, edge.to) as usize].places;
            let to = line(first_place(to));
            if from.0 != to.0 || from.1 == to.1 {
                continue;
            }
            let jump = Jump {
                from: from.1,
                to: to.1,
            };
            let sums = costs.jumps.entry((from.0, jump)).or_default();
            sums.taken = sums.taken.saturating_add(taken);
            sums.is_conditional |= is_conditional(edge.outcome);
            if sums.blocks.insert(edge.from) {
                let executed = flow.blocks[edge.from as usize];
                sums.executions = sums.executions.saturating_add(executed);
            }
        }
        costs
    }

    /// Writes the lines, those of `own` file first.
    fn write(&self, own: &str, ids: &mut Ids, out: &mut dyn Write) -> Result<()> {
        let mut files: Vec<&str> = self.lines.keys().map(|line| line.0).collect();
        files.extend(self.jumps.keys().map(|jump| jump.0));
        files.sort_unstable();
        files.dedup();
        files.sort_by_key(|&file| file != own);
        for file in files {
            if file != own {
                writeln!(out, "fi={}", ids.name(Table::File, file))?;
            }
            for (line, cost) in self.lines.range((file, 0)..=(file, u32::MAX)) {
                writeln!(out, "{} {cost}", line.1)?;
            }
            let jumps = self.jumps.iter().filter(|jump| jump.0.0 == file);
            for ((_, jump), sums) in jumps {
                let JumpSums {
                    taken, executions, ..
                } = sums;
                match sums.is_conditional {
                    true => writeln!(out, "jcnd={taken}/{executions} {}", jump.to)?,
                    false => writeln!(out, "jump={taken} {}", jump.to)?,
                }
                writeln!(out, "{}", jump.from)?;
            }
        }
        Ok(())
    }
}

/// Whether an edge with this outcome is one of several ways.
fn is_conditional(outcome: Outcome) -> bool {
    match outcome {
        Outcome::True | Outcome::False | Outcome::Case(_) | Outcome::Default => true,
        Outcome::Indirect | Outcome::AsmGoto | Outcome::Unwind | Outcome::Again => true,
        Outcome::Jump | Outcome::Normal | Outcome::Return | Outcome::Noreturn => false,
        Outcome::Resume
        | Outcome::TailCall
        | Outcome::Split
        | Outcome::Left
        | Outcome::Returned => false,
    }
}

/// The name of a file, as the format wants it: `???` if unknown.
fn file_name(file: &str) -> &str {
    match file {
        "" => "???",
        file => file,
    }
}

/// A table of names.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Table {
    Object,
    File,
    Function,
}

/// Short numbers for names. A name is written once, as `(1) name`, and then as `(1)`.
#[derive(Default)]
struct Ids(HashMap<(Table, String), usize>);

impl Ids {
    fn name(&mut self, table: Table, name: &str) -> String {
        let key = (table, name.to_owned());
        if let Some(id) = self.0.get(&key) {
            return format!("({id})");
        }
        let id = self.0.len() + 1;
        self.0.insert(key, id);
        format!("({id}) {}", one_line(name))
    }
}
