//! Writes the sequences of paths within one activation as trees, most frequent first.

use std::collections::HashMap;
use std::io;

use holloway_analysis::trace::grams::Grams;

use super::sheet::{LABELS_WIDTH, TraceSheet};
use crate::numbers::{grouped, plural, share};
use crate::terminal::paint::{Ink, Line};
use crate::trace::LabeledStream;

/// A child is left out if its count is less than this percentage of its parent's count (D'Elia,
/// Demetrescu, Finocchi 2013, Figure 4).
const MIN_PERCENT: u64 = 10;
/// Maximum number of rows of a tree.
const MAX_ROWS: usize = 20;

/// Writes the trees of the paths that ran most often.
pub(super) fn write(
    sheet: &mut TraceSheet<'_>,
    labeled: &LabeledStream<'_>,
    grams: &Grams,
) -> io::Result<()> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    let (mut sequences, mut longest) = (0u64, 0);
    for (id, node) in grams.nodes() {
        children.entry(node.parent).or_default().push(id);
        sequences += 1;
        longest = longest.max(node.length);
    }
    for list in children.values_mut() {
        list.sort_by_key(|&id| {
            (
                std::cmp::Reverse(grams.node(id).count),
                grams.node(id).symbol,
            )
        });
    }
    let no_children = Vec::new();
    let roots = children.get(&0).unwrap_or(&no_children);
    let shown = format!(
        "{} of {}, each with the paths that follow it in the same activation; {} up to {} long, below {MIN_PERCENT} % of what they go on from left out",
        grouped(roots.len().min(sheet.top()) as u64),
        plural(roots.len() as u64, "path"),
        plural(sequences, "different sequence"),
        grouped(longest),
    );
    sheet.title("Sequences", &shown)?;
    for &root in roots.iter().take(sheet.top()) {
        sheet.page.gap()?;
        let mut rows = 0;
        let mut stack = vec![root];
        while let Some(id) = stack.pop() {
            if rows == MAX_ROWS {
                sheet.fact("", "…")?;
                break;
            }
            rows += 1;
            write_row(sheet, labeled, grams, id)?;
            let count = grams.node(id).count;
            let children_of_node = children.get(&id).unwrap_or(&no_children).iter().rev();
            stack.extend(children_of_node.filter(|&&child| {
                grams.node(child).count.saturating_mul(100) >= count.saturating_mul(MIN_PERCENT)
            }));
        }
    }
    Ok(())
}

fn write_row(
    sheet: &mut TraceSheet<'_>,
    labeled: &LabeledStream<'_>,
    grams: &Grams,
    id: u32,
) -> io::Result<()> {
    let node = grams.node(id);
    let share_of_parent = match node.parent {
        0 => String::new(),
        parent => share(node.count, grams.node(parent).count),
    };
    let depth = 2 * (node.length as usize - 1);
    let mut line = Line::new();
    line.right(Ink::Number, &grouped(node.count), 14)
        .right(Ink::Faint, &share_of_parent, 9)
        .put(Ink::Plain, &format!("  {}", " ".repeat(depth)))
        .left(
            Ink::Strong,
            &labeled.label(node.symbol),
            LABELS_WIDTH.saturating_sub(depth),
        )
        .put(Ink::Plain, "  ");
    sheet.with_route(line, labeled, node.symbol)
}
