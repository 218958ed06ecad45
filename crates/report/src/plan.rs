//! Writes plans as text: their hottest functions, and the differences of two plans.

use std::cmp::Reverse;
use std::io::{self, Write};

use holloway_analysis::old_plans::Summary;
use holloway_format::{Count, FunctionPlan, Plan};

use crate::names::display;
use crate::numbers::{grouped, plural, share, unpredictable_branches};

/// Writes the functions with the most executions of edges.
///
/// # Errors
/// If writing to `out` fails.
pub fn show(plan: &Plan, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let ran = plan.functions().filter(|(_, _, function)| function.ran());
    let mut functions: Vec<_> = ran
        .map(|(name, _, function)| (weight(function), function, name))
        .collect();
    let total = sum(functions.iter().map(|(weight, ..)| *weight));
    writeln!(
        out,
        "{} of {} ran, {} of edges, {}, {} with late counts, {} to copy, {} to prefetch",
        grouped(functions.len() as u64),
        plural(plan.functions().len() as u64, "function"),
        plural(total.0, "execution"),
        unpredictable_branches(plan.unpredictable_branches()),
        plural(plan.late_functions() as u64, "function"),
        plural(plan.tail_count() as u64, "path"),
        plural(plan.prefetch_count() as u64, "load")
    )?;
    functions.sort_by_key(|(weight, _, name)| (Reverse(*weight), *name));
    for (weight, function, name) in functions.into_iter().take(top) {
        let branches = match function.unpredictable.len() {
            0 => String::new(),
            branches => format!("  ({})", unpredictable_branches(branches)),
        };
        writeln!(
            out,
            "{:>7}  {:>16} edges  {:>14} calls  {}{branches}",
            share(weight.0, total.0),
            grouped(weight.0),
            grouped(function.calls.0),
            display(name, "")
        )?;
    }
    Ok(())
}

/// Writes the functions whose share of the plan's executions differs most, with the numbers of
/// their unpredictable branches if these differ.
///
/// # Errors
/// If writing to `out` fails.
pub fn diff(first: &Plan, second: &Plan, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let counts = |plan: &Plan, name: &str, hash| {
        let function = plan.find(name, hash);
        function.map_or((Count::ZERO, 0), |function| {
            (weight(function), function.unpredictable.len())
        })
    };
    let mut keys: Vec<_> = [first, second]
        .iter()
        .flat_map(|plan| plan.functions().map(|(name, hash, _)| (name.clone(), hash)))
        .collect();
    keys.sort_unstable();
    keys.dedup();
    let mut rows: Vec<_> = keys
        .iter()
        .map(|(name, hash)| {
            (
                counts(first, name, *hash),
                counts(second, name, *hash),
                name,
            )
        })
        .filter(|(a, b, _)| a != b)
        .collect();
    let [first_total, second_total] =
        [first, second].map(|plan| sum(plan.functions().map(|(_, _, function)| weight(function))));
    writeln!(
        out,
        "{} of {} differ",
        grouped(rows.len() as u64),
        plural(keys.len() as u64, "function")
    )?;
    let distance = |a: Count, b: Count| {
        let part = |count: Count, total: Count| count.to_f64() / total.to_f64().max(1.0);
        (part(a, first_total) - part(b, second_total)).abs()
    };
    rows.sort_by(|x, y| {
        let order = distance(y.0.0, y.1.0).total_cmp(&distance(x.0.0, x.1.0));
        order.then_with(|| x.2.cmp(y.2))
    });
    for ((a, first), (b, second), name) in rows.into_iter().take(top) {
        let branches = match first == second {
            true => String::new(),
            false => format!("  (unpredictable branches: {first} -> {second})"),
        };
        writeln!(
            out,
            "{:>7} -> {:>7}  {:>16} -> {:>16} edges  {}{branches}",
            share(a.0, first_total.0),
            share(b.0, second_total.0),
            grouped(a.0),
            grouped(b.0),
            display(name, "")
        )?;
    }
    Ok(())
}

/// How much of a plan was carried over to a program:
/// `42 functions: 30 unchanged, 8 changed (92 % of their counts), 4 gone; 97 % of all counts`.
pub fn matched(summary: &Summary) -> String {
    let Summary {
        unchanged,
        changed,
        gone,
        changed_executions,
        changed_matched,
        executions,
        matched,
    } = summary;
    let functions = plural(summary.functions() as u64, "function");
    let [unchanged, number, gone_text] =
        [unchanged, changed, gone].map(|&number| grouped(number as u64));
    let mut text = format!("{functions}: {unchanged} unchanged");
    if *changed > 0 {
        let part = share(changed_matched.0, changed_executions.0);
        text += &format!(", {number} changed ({part} of their counts)");
    }
    if *gone > 0 {
        text += &format!(", {gone_text} gone");
    }
    if !summary.is_complete() {
        text += &format!("; {} of all counts", share(matched.0, executions.0));
    }
    text
}

/// Executions of the function's edges, and its calls.
fn weight(function: &FunctionPlan) -> Count {
    function.executions()
}

/// Plans are edited by hand, so the sum of their counts may exceed 64 bits.
fn sum(counts: impl Iterator<Item = Count>) -> Count {
    counts.fold(Count::ZERO, Count::saturating_add)
}
