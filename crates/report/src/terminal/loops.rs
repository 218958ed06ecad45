//! The loops view: each loop with its sequences of paths over several turns, and with advice.
//!
//! ```text
//!   1  app::scan  src/scan.rs:40
//!      3 executions, 3,000 iterations, 1,000.0 each
//!      p38 p86 ×3 p755 repeats: 50.1 % of the turns begin it twice in a row. …
//!      600   20.0 %  p38  41 → leaves the loop
//!      396   66.0 %  └ p86 ×3 p755  43 → case 'a' · 43 → case 'b'
//!      168   28.0 %  └ p87  43 → case 'c'
//!      p38#3fa2 src/scan.rs:41 → leaves the loop, 44, exit: returns
//! ```
//! A sequence without `└` has its share of the loop's turns. A sequence with `└` has its share of
//! the executions of its first path.

use holloway_flow::{Path, PathId};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufWriter, Write};

use holloway_analysis::Function;
use holloway_analysis::bounds::Bound;
use holloway_analysis::divergence::{Divergence, KnownPaths};
use holloway_analysis::loops::LoopsRun;
use holloway_analysis::loops::shape::{Finding, Thousandths, path_of};
use holloway_analysis::trail::{End, Trail, trail};
use holloway_format::{Count, LoopMap};

use super::bounds::{legend, marked};
use super::paint::{Ink, Line};
use super::paths::{end, in_brief, place_in_words};
use super::route::sequence_of_decisions;
use super::sheet::{Detail, Sheet};
use crate::loops::{Branch, LoopsOptions, ShownLoop, hottest};
use crate::numbers::{grouped, mean, plural, share};
use crate::options::Options;
use crate::path_names::numbered_name;

/// Maximum number of groups of equal paths (`p86 ×3`) that are shown of a period.
const MAX_GROUPS: usize = 24;
/// Longest period, in paths, for which the view proposes unrolling.
const MAX_UNROLLED_PERIOD: usize = 16;
/// Maximum number of rows of a loop's tree. The other sequences are only counted.
const MAX_ROWS: usize = 30;

/// Writes the loops of a run.
///
/// # Errors
/// If writing to `out` fails.
pub fn write(
    loops: &LoopsRun,
    options: &Options<'_>,
    loops_options: LoopsOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let sheet = &mut Sheet::new(&loops.run, options, &mut out);
    super::coverage::write(sheet)?;
    if options.function.is_some() {
        super::answer::write(sheet)?;
    }
    if !loops.run.functions.iter().any(Function::ran) {
        sheet.write_nothing_ran()?;
    } else {
        write_loops(loops, loops_options, sheet)?;
    }
    out.flush()
}

fn write_loops(
    loops: &LoopsRun,
    loops_options: LoopsOptions,
    sheet: &mut Sheet<'_>,
) -> io::Result<()> {
    let top = sheet.top();
    let (list, loop_count) = hottest(loops, &sheet.names, Some(top), loops_options);
    let k = loops.functions.iter().map(|function| function.k).max();
    let heading = format!(
        "{} of {}, by iterations; sequences of up to {} paths",
        grouped(list.len() as u64),
        plural(loop_count as u64, "loop"),
        k.unwrap_or(0)
    );
    sheet.title("Loops", &heading)?;
    write_losses(loops, sheet)?;
    let mut heads: Vec<String> = list
        .iter()
        .map(|shown_loop| head_place(sheet, shown_loop))
        .collect();
    // Loops of the same name also get the block of their head: ` b7`.
    let mut loops_by_name: BTreeMap<String, usize> = BTreeMap::new();
    for name in list
        .iter()
        .zip(&heads)
        .map(|(shown_loop, head)| loop_name(sheet, shown_loop, head))
    {
        *loops_by_name.entry(name).or_default() += 1;
    }
    for (shown_loop, head) in list.iter().zip(&mut heads) {
        let same_name = loops_by_name[&loop_name(sheet, shown_loop, head)];
        if same_name > 1 && shown_loop.count.place.is_some() {
            *head += &format!(" b{}", shown_loop.count.head);
        }
    }
    for (rank, (shown_loop, head)) in list.iter().zip(&heads).enumerate() {
        write_loop(
            sheet,
            rank + 1,
            shown_loop,
            head,
            loops_options.min_share,
            Detail::of_items(list.len()),
        )?;
    }
    let bounds =
        |shown_loop: &ShownLoop| bounds(shown_loop, sheet.run.function(shown_loop.function));
    let marks: Vec<Bound> = list.iter().flat_map(bounds).collect();
    legend(sheet, marks)?;
    if loops_options.stats {
        write_stats(loops, sheet)?;
    }
    Ok(())
}

/// Writes the losses that affect all counts of the view.
fn write_losses(loops: &LoopsRun, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let stats = &loops.stats;
    let mut losses: Vec<String> = Vec::new();
    if stats.gaps + stats.cut_streams > 0 {
        let places = plural(stats.gaps + stats.cut_streams, "place");
        losses.push(format!(
            "words are missing in {places}: paths there are not counted, and no sequence spans a gap"
        ));
    }
    if stats.dropped_words > 0 {
        losses.push(format!(
            "{} with {} were dropped for want of room: counts of sequences that may be too small say by how much (+)",
            plural(stats.dropped_nodes, "rare sequence"),
            plural(stats.dropped_words, "path execution"),
        ));
    }
    for loss in losses {
        let mut line = Line::new();
        line.put(Ink::Plain, "  ");
        sheet.page.wrapped(line, Ink::Alarm, &loss)?;
    }
    Ok(())
}

/// The place of a loop's head, or its block if it has no place.
fn head_place(sheet: &Sheet<'_>, shown_loop: &ShownLoop) -> String {
    let function = sheet.run.function(shown_loop.function);
    let place = shown_loop.count.place;
    let place = place.map(|place| place_in_words(sheet, function, place));
    place.unwrap_or_else(|| format!(" b{}", shown_loop.count.head))
}

/// The name of a loop: its function and the place of its head.
fn loop_name(sheet: &Sheet<'_>, shown_loop: &ShownLoop, head: &str) -> String {
    let function = sheet.run.function(shown_loop.function);
    format!("{}{head}", sheet.name(function))
}

fn write_loop(
    sheet: &mut Sheet<'_>,
    rank: usize,
    shown_loop: &ShownLoop,
    place: &str,
    min_share: Thousandths,
    detail: Detail,
) -> io::Result<()> {
    let function = sheet.run.function(shown_loop.function);
    let name = sheet.name(function);
    let mut head = Line::new();
    head.right(Ink::Faint, &rank.to_string(), 3)
        .put(Ink::Plain, "  ")
        .put(Ink::Strong, &name)
        .put(Ink::Plain, " ")
        .put(Ink::Place, place);
    sheet.page.gap()?;
    sheet.page.line(&head)?;
    let (executions, iterations) = (shown_loop.count.executions, shown_loop.count.iterations);
    let [executions_bound, iterations_bound] = bounds(shown_loop, function);
    let text = format!(
        "{}, {}, {} each",
        marked(executions_bound, &plural(executions, "execution")),
        marked(iterations_bound, &plural(iterations, "iteration")),
        mean(iterations.into(), executions)
    );
    sheet.indented(Ink::Plain, &text)?;
    if let Some(loop_map) = &shown_loop.count.described {
        for text in compiler_changes(loop_map) {
            sheet.indented(Ink::Alarm, &text)?;
        }
    }
    let findings = shown_loop.count.findings(function, &shown_loop.kipf);
    for finding in &findings {
        sheet.indented(Ink::Outcome, &sentence(finding, shown_loop.k))?;
    }
    if findings.is_empty() {
        sheet.indented(Ink::Faint, "no sequence stands out")?;
    }
    let branches = shown_loop.branches(min_share);
    let rows = match detail {
        Detail::Whole => branches.len(),
        Detail::Brief | Detail::Excerpt => branches.len().min(MAX_ROWS),
    };
    let width = branches
        .iter()
        .map(|branch| grouped(branch.count).len())
        .max();
    let used: BTreeSet<PathId> = branches[..rows]
        .iter()
        .flat_map(|branch| branch.paths.iter().copied())
        .collect();
    let known = known_paths(function, &used);
    for branch in &branches[..rows] {
        write_branch(sheet, shown_loop, branch, width.unwrap_or(0), &known)?;
    }
    if rows < branches.len() {
        let more = plural((branches.len() - rows) as u64, "sequence");
        sheet.indented(Ink::Faint, &format!("… {more} more"))?;
    }
    for path in used {
        write_path(sheet, shown_loop, function, path)?;
    }
    Ok(())
}

/// Bounds of a loop's counts: of its executions and of its iterations.
fn bounds(shown_loop: &ShownLoop, function: &Function) -> [Bound; 2] {
    let count = &shown_loop.count;
    [
        count.executions_bound(function),
        count.iterations_bound(function),
    ]
}

/// Describes the compiler's changes to a loop, because of which its iterations differ from the
/// source's.
fn compiler_changes(loop_map: &LoopMap) -> Vec<String> {
    let mut texts = Vec::new();
    if loop_map.vectorized {
        texts.push(
            "vectorized: one iteration here is several of the source's, and loops beside it run the rest"
                .to_owned(),
        );
    } else if loop_map.copies > 1 {
        texts.push(format!(
            "seems unrolled: one iteration here holds {} copies of the loop's code, and a loop beside it may run the rest",
            loop_map.copies
        ));
    }
    if loop_map.peeled > 0 {
        texts.push(format!(
            "peeled: of each execution up to {} may run before the loop, not counted here",
            plural(loop_map.peeled, "iteration")
        ));
    }
    texts
}

/// A finding with advice, as a sentence.
fn sentence(finding: &Finding, k: u32) -> String {
    let turns = |turns: u32| {
        if turns == 1 {
            "turn".to_owned()
        } else {
            format!("{turns} turns")
        }
    };
    match finding {
        Finding::OnePath { path, share } => format!(
            "{path} is {} of the turns: its sequences tell little that the path itself doesn't",
            percent(*share)
        ),
        Finding::Period { paths, share } if paths.len() == 1 => format!(
            "{} follows itself in {} of the turns: unrolling along it may pay",
            sequence(paths, MAX_GROUPS),
            percent(*share)
        ),
        Finding::Period { paths, share } => {
            let count = plural(paths.len() as u64, "path");
            // Sequences have at most k paths. If they are too short to hold the period twice, the
            // share is a lower bound.
            let at_least = if 2 * paths.len() > k as usize {
                "at least "
            } else {
                ""
            };
            let advice = match paths.len() {
                ..=MAX_UNROLLED_PERIOD => {
                    format!(". Unrolling along it, {count} at a time, may pay")
                }
                _ => format!(" ({count})"),
            };
            format!(
                "{} repeats: {at_least}{} of the turns begin it twice in a row{advice}",
                sequence(paths, MAX_GROUPS),
                percent(*share),
            )
        }
        Finding::FirstTurns {
            turns: number,
            share,
        } => format!(
            "the first {} another way than most in {} of the executions: peeling {} off may simplify the rest",
            if *number == 1 {
                "turn goes".to_owned()
            } else {
                format!("{} go", turns(*number))
            },
            percent(*share),
            if *number == 1 { "it" } else { "them" },
        ),
        Finding::Trips {
            turns: number,
            share,
        } => format!(
            "over after {} in {} of the executions: unrolling it whole may pay",
            if *number == 1 {
                "1 turn".to_owned()
            } else {
                turns(*number)
            },
            percent(*share)
        ),
        Finding::Steady { paths, share } => format!(
            "{} mostly follow themselves, {} of the turns: what decides between them seldom changes, so splitting the loop by it (unswitching) may pay",
            paths
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", "),
            percent(*share)
        ),
    }
}

fn percent(share: Thousandths) -> String {
    format!("{}.{} %", share / 10, share % 10)
}

/// `p38 p86 ×3`.
fn sequence(paths: &[PathId], max_groups: usize) -> String {
    let mut groups: Vec<(PathId, usize)> = Vec::new();
    for &path in paths {
        match groups.last_mut() {
            Some((last, times)) if *last == path => *times += 1,
            _ => groups.push((path, 1)),
        }
    }
    let is_clipped = groups.len() > max_groups;
    let groups = groups
        .into_iter()
        .take(max_groups)
        .map(|(path, times)| match times {
            1 => path.to_string(),
            _ => format!("{path} ×{times}"),
        });
    let mut words: Vec<String> = groups.collect();
    words.extend(is_clipped.then(|| "…".to_owned()));
    words.join(" ")
}

/// The paths of a loop's sequences, with the decisions that distinguish them.
fn known_paths(
    function: &Function,
    used: &BTreeSet<PathId>,
) -> BTreeMap<PathId, (Trail, Vec<Divergence>)> {
    let paths = used
        .iter()
        .filter_map(|&id| Some((id, path_of(function, id)?)));
    let paths: Vec<(PathId, Path)> = paths.collect();
    let mut known = KnownPaths::default();
    paths.iter().for_each(|(_, path)| known.add(path));
    let described = paths.iter().map(|(id, path)| {
        let trail = trail(&function.map, path);
        (*id, (trail, known.divergences(path)))
    });
    described.collect()
}

fn write_branch(
    sheet: &mut Sheet<'_>,
    shown_loop: &ShownLoop,
    branch: &Branch,
    width: usize,
    known: &BTreeMap<PathId, (Trail, Vec<Divergence>)>,
) -> io::Result<()> {
    let base = match branch.depth {
        0 => shown_loop.count.starts(),
        _ => branch.first_count,
    };
    let mut line = Line::new();
    line.put(Ink::Plain, "     ")
        .right(Ink::Number, &grouped(branch.count), width)
        .right(Ink::Plain, &share(branch.count, base), 9)
        .put(Ink::Plain, "  ");
    if branch.depth > 0 {
        line.put(Ink::Faint, &format!("{}└ ", "  ".repeat(branch.depth - 1)));
    }
    line.put(Ink::Plain, &sequence(&branch.paths, usize::MAX));
    if branch.missed > Count::ZERO {
        line.put(
            Ink::Alarm,
            &format!("  (+ up to {})", grouped(branch.missed)),
        );
    }
    // Each path is described where it first occurs in the row.
    let mut described = BTreeSet::new();
    let paths = branch.paths.iter().filter(|path| described.insert(**path));
    let paths = paths.filter_map(|path| known.get(path).cloned());
    let paths: Vec<(Trail, Vec<Divergence>)> = paths.collect();
    let branches = sheet.branches(sheet.run.function(shown_loop.function));
    let decisions = sequence_of_decisions(&branches, &paths);
    if !decisions.is_empty() {
        line.put(Ink::Outcome, &format!("  {decisions}"));
    }
    sheet.page.line(&line)
}

/// Writes a path of the sequences: its lines with the decisions at each line.
fn write_path<'a>(
    sheet: &mut Sheet<'a>,
    shown_loop: &ShownLoop,
    function: &'a Function,
    number: PathId,
) -> io::Result<()> {
    let Some(path) = path_of(function, number) else {
        return Ok(());
    };
    let trail = trail(&function.map, &path);
    let mut places = in_brief(sheet, function, &trail);
    let returns_to_head = matches!(trail.end, End::Back(to) if to == shown_loop.count.place);
    if !returns_to_head {
        places.push(end(sheet, function, &trail));
    }
    let mut line = Line::new();
    line.put(Ink::Plain, "     ")
        .left(Ink::Faint, &numbered_name(function, number), 6)
        .put(Ink::Plain, " ");
    sheet.page.wrapped(line, Ink::Faint, &places.join(", "))
}

/// Writes the numbers of the paper (D'Elia, Demetrescu, Finocchi 2013) about forests.
fn write_stats(loops: &LoopsRun, sheet: &mut Sheet<'_>) -> io::Result<()> {
    sheet.title("Forests", "of all functions and processes")?;
    let (stats, kipf) = (&loops.stats, loops.kipf_stats());
    sheet.fact("words", &grouped(stats.words))?;
    sheet.fact(
        "look-ups",
        &format!("{} of roots, one a slab", grouped(stats.slabs)),
    )?;
    sheet.fact("slab forest", &plural(stats.nodes, "node"))?;
    sheet.fact(
        "path forest",
        &format!(
            "{}, {}, average level of leaves {:.2}, average degree of inner nodes {:.3}",
            plural(kipf.nodes, "node"),
            if kipf.leaves == 1 {
                "1 leaf".to_owned()
            } else {
                format!("{} leaves", grouped(kipf.leaves))
            },
            kipf.leaf_level(),
            kipf.inner_degree()
        ),
    )?;
    let irregularities = [
        (stats.caught.0, "frame come back to", "frames come back to"),
        (stats.gaps, "gap", "gaps"),
        (stats.holes, "hole", "holes"),
        (stats.strangers, "word of no path", "words of no path"),
    ];
    let irregularities = irregularities.iter().map(|&(number, singular, plural)| {
        format!(
            "{} {}",
            grouped(number),
            if number == 1 { singular } else { plural }
        )
    });
    sheet.fact("met", &irregularities.collect::<Vec<_>>().join(", "))?;
    if stats.prunings > 0 {
        let text = format!(
            "{} with {} in {}",
            plural(stats.dropped_nodes, "node"),
            plural(stats.dropped_words, "word"),
            plural(stats.prunings, "pruning")
        );
        sheet.fact("dropped", &text)?;
    }
    Ok(())
}
