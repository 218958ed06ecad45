//! The sections before and after the ranking. The section before it describes the measurement. The
//! sections after it show which paths other rankings would have missed, which samples are left out,
//! and whether a function's time depends on the choice of its path.

use holloway_format::{Count, Cycles};
use std::io;

use holloway_analysis::variation::VariationRun;
use holloway_analysis::variation::rank::{Disturbed, Time};
use holloway_analysis::variation::spread::Spread;

use super::report::{Report, time};
use crate::numbers::{grouped, one_decimal, plural};
use crate::terminal::paint::Ink;
use crate::terminal::sheet::Sheet;
use crate::terminal::table::{Align, Table};
use crate::variation::{FIRST_PATHS, selected_spreads};

/// What the time of a run is, and why it is not the CPU time.
const WHAT_TIME_IS: &str = "by the clock, from each thread's first sample to its last, waiting included, probes left out: not the CPU time";

/// Maximum number of names in a line. The other names are only counted.
const MAX_NAMES: usize = 3;
/// The verdict names a single cause if this share of the difference, or more, is due to it.
const SINGLE_CAUSE: f64 = 0.75;

const SPREADS: [(&str, Align); 6] = [
    ("which path", Align::Right),
    ("same path", Align::Right),
    ("by choice", Align::Right),
    ("paths", Align::Right),
    ("", Align::Left),
    ("function", Align::Name),
];

/// Writes the lines of the coverage section about samples and the clock.
pub(super) fn write_measurement(sheet: &mut Sheet<'_>, run: &VariationRun) -> io::Result<()> {
    let stats = &run.stats;
    let rate_text = match stats.samples {
        Count::ZERO => String::new(),
        samples if run.is_exact => {
            let begun = plural(stats.begun.max(samples), "path");
            format!(" of {begun} that began: all were timed")
        }
        samples => {
            let paths_per_sample = stats.begun.to_f64() / samples.to_f64();
            let begun = plural(stats.begun, "path");
            format!(
                " of {begun} that began, one in {}: counts are estimates",
                one_decimal(paths_per_sample)
            )
        }
    };
    sheet.fact("samples", &format!("{}{rate_text}", grouped(stats.samples)))?;
    let frequency = run.frequency();
    let mut text = format!("{} in all threads", time(stats.cycles.to_f64(), frequency));
    if let Some(frequency) = frequency {
        text += &format!(" · {}", clock_rate(frequency));
    }
    text += &match stats.clocked {
        Cycles::ZERO => " · probes not known".to_owned(),
        without_probes => format!(
            " · probes {}",
            share_of(stats.probes, without_probes.saturating_add(stats.probes))
        ),
    };
    if stats.clocks > Count::ZERO {
        text += &match stats.least_bias == stats.largest_bias {
            true => format!(", bias of {} cycles subtracted", stats.least_bias),
            false => format!(
                ", bias of {} to {} cycles subtracted",
                stats.least_bias, stats.largest_bias
            ),
        };
        if stats.resolution > Cycles::ZERO {
            text += &format!(", known to {}", stats.resolution);
        }
    }
    sheet.fact("time", &text)?;
    sheet.fact("", WHAT_TIME_IS)?;
    if frequency.is_none() && stats.samples > Count::ZERO {
        let reason = match stats.lost_words {
            0 => "the clock was read once only, the run was too short",
            _ => "all later readings of the clock are lost",
        };
        sheet.fact("seconds", &format!("not known: {reason}"))?;
    }
    write_lost_samples(sheet, run)
}

/// The frequency of the clock. AArch64's counter is slower than the processor, and before Armv8.6
/// much slower.
fn clock_rate(frequency: f64) -> String {
    // Armv8.6 sets the frequency of its counter to 1 GHz. A measured frequency may be slightly
    // higher.
    if frequency >= 1.1e9 {
        return format!("{} GHz", one_decimal(frequency / 1e9));
    }
    let megahertz = one_decimal(frequency / 1e6);
    format!("{megahertz} MHz: cycles are ticks of a clock slower than the processor's")
}

fn write_lost_samples(sheet: &mut Sheet<'_>, run: &VariationRun) -> io::Result<()> {
    let stats = &run.stats;
    if stats.gaps > 0 || stats.lost_words > 0 {
        let text = format!(
            "samples are missing in {}: they are not counted",
            plural(stats.gaps.max(1), "place")
        );
        sheet.labeled(Ink::Alarm, "lost", &text)?;
    }
    Ok(())
}

/// Writes the section below the ranking.
pub(super) fn write(sheet: &mut Sheet<'_>, report: &Report<'_>) -> io::Result<()> {
    let left_out = left_out(report);
    let varies = report.ranking.certain > 0;
    if varies || !left_out.is_empty() {
        sheet.title("What it comes to", "")?;
    }
    if varies {
        write_net_variation(sheet, report)?;
        write_other_rankings(sheet, report)?;
    }
    for (label, text) in left_out {
        sheet.fact(label, &text)?;
    }
    match varies {
        true => write_spreads(sheet, report),
        false => Ok(()),
    }
}

fn write_net_variation(sheet: &mut Sheet<'_>, report: &Report<'_>) -> io::Result<()> {
    let ranking = report.ranking;
    let amount = |net: f64| format!("{}, {} of the run", report.time(net), report.share(net));
    let net = ranking.certain_net();
    let all = format!("net variation of all paths that vary {}", amount(net));
    let first = FIRST_PATHS.min(ranking.certain);
    let mut text = if first < ranking.certain {
        let of_first = amount(ranking.net(first));
        format!("{first} first paths {of_first}; {all}")
    } else {
        all
    };
    let certain = &ranking.paths[..ranking.certain];
    text += match (
        ranking.share(net) > 1.0,
        certain.iter().any(|rank| rank.has_callees),
    ) {
        (false, false) => "",
        (false, true) => "; what varies in a callee is in its callers' paths too",
        (true, true) => {
            "; more than the run took: what varies in a callee is in its callers' paths too"
        }
        (true, false) => {
            "; more than the run took: timed paths wait for each other's loads, others overlap"
        }
    };
    sheet.fact("held", &text)?;
    let (cycles, paths) = ranking.unresolved();
    if cycles > 0.0 {
        let text = format!(
            "{} is up to {} cycles above the base{}, which the clock can't tell from it, and is not counted; {} no other variation",
            amount(cycles),
            ranking.window,
            match ranking.paths.iter().any(|rank| rank.nested > 0.0) {
                true => ", or more where callees were timed",
                false => "",
            },
            match paths {
                1 => "1 path has".to_owned(),
                paths => format!("{} paths have", grouped(paths as u64)),
            }
        );
        sheet.fact("unresolved", &text)?;
    }
    Ok(())
}

/// Writes the paths that a ranking by executions or by total time would have shown instead.
fn write_other_rankings(sheet: &mut Sheet<'_>, report: &Report<'_>) -> io::Result<()> {
    let ranking = report.ranking;
    let first = FIRST_PATHS.min(ranking.certain);
    for (label, order) in [
        ("by count", &ranking.by_count),
        ("by total time", &ranking.by_total),
    ] {
        let missed: Vec<usize> = ranking.missed(first, order).collect();
        let text = if missed.is_empty() {
            let named = names(sheet, report, &order[..first.min(MAX_NAMES)]);
            match first {
                1 => format!("the same path, {named}"),
                2..=MAX_NAMES => format!("the same {first}, in the order {named}"),
                _ => format!("the same {first}, in the order {named}, …"),
            }
        } else {
            let instead: Vec<usize> = order[..first]
                .iter()
                .copied()
                .filter(|index| *index >= first)
                .collect();
            let paths = match first {
                1 => "this path".to_owned(),
                first => format!("{} of these {first}", missed.len()),
            };
            format!(
                "would have missed {paths} ({}) and shown {}",
                names(sheet, report, &missed),
                names(sheet, report, &instead),
            )
        };
        sheet.fact(label, &text)?;
    }
    Ok(())
}

fn names(sheet: &Sheet<'_>, report: &Report<'_>, indices: &[usize]) -> String {
    let paths = &report.ranking.paths;
    let named = indices.iter().take(MAX_NAMES);
    let mut names: Vec<String> = named
        .map(|index| report.name(sheet, &paths[*index]))
        .collect();
    if indices.len() > MAX_NAMES {
        names.push(format!("{} more", indices.len() - MAX_NAMES));
    }
    names.join(", ")
}

/// Returns labels and texts about samples that are left out or counted differently.
fn left_out(report: &Report<'_>) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let (ranking, stats) = (report.ranking, &report.run.stats);
    if ranking.disturbed > Count::ZERO {
        let samples = format!(
            "{} ({})",
            plural(ranking.disturbed, "sample"),
            share_of(ranking.disturbed, stats.samples)
        );
        let text = match report.rank_options.disturbed {
            Disturbed::LeftOut => format!(
                "{samples} whose thread was preempted or moved to another processor: counted as executions, their times left out (--include-preempted)"
            ),
            Disturbed::Included => {
                format!("{samples} whose thread was preempted or moved are among them")
            }
        };
        facts.push(("preempted", text));
    }
    let interrupted = ranking.paths.iter().map(|rank| rank.interrupted).max();
    if let Some(samples @ Count(1..)) = interrupted {
        let text = format!(
            "up to {} of a path may have been interrupted unseen, by the kernel or a hypervisor: its longest ones count only as long as the longest of the others",
            plural(samples, "sample")
        );
        facts.push(("interrupted", text));
    }
    if stats.unwatched > Count::ZERO {
        let text = format!(
            "{} of the samples can't be told to be preempted or not: the C library keeps no rseq area",
            share_of(stats.unwatched, stats.samples)
        );
        facts.push(("unwatched", text));
    }
    if stats.unknown > Count::ZERO {
        let text = format!(
            "{} whose time can't be told, counted as executions: begun in another thread, or less than the probes in it are taken to cost",
            plural(stats.unknown, "sample")
        );
        facts.push(("unknown", text));
    }
    if ranking.seldom > 0 {
        let mut text = format!(
            "{} with fewer than two samples, about {}",
            plural(ranking.seldom, "path"),
            plural(ranking.seldom_executions.round() as u64, "execution")
        );
        if ranking.without_own > 0 {
            let how_many = grouped(ranking.without_own);
            text += &format!("; {how_many} of them since they mostly call code that was not timed");
        }
        facts.push(("left out", text));
    }
    if stats.called > Count::ZERO && report.rank_options.time == Time::Inclusive {
        let text = format!(
            "times include what paths call; in {} of the samples that was code whose own time is not known (--time exclusive leaves these out)",
            share_of(stats.called, stats.samples)
        );
        facts.push(("callees", text));
    }
    facts
}

/// Writes, for each function, whether its time depends on the path or varies on the same path.
fn write_spreads(sheet: &mut Sheet<'_>, report: &Report<'_>) -> io::Result<()> {
    let mut spreads = selected_spreads(report.run, report.ranking, &sheet.names, sheet.top());
    spreads.retain(|spread| spread.choice + spread.same > 0.0);
    if spreads.is_empty() {
        return Ok(());
    }
    sheet.title(
        "Which path, or the same one",
        "which path: time above the fastest of those that begin at the same place; same path: above its own fastest",
    )?;
    let mut table = Table::new(&SPREADS);
    for spread in &spreads {
        let function = report.run.run.function(spread.function);
        table.row(vec![
            (Ink::Plain, report.time(spread.choice)),
            (Ink::Plain, report.time(spread.same)),
            (
                Ink::Number,
                format!("{} %", one_decimal(100.0 * spread.by_choice())),
            ),
            (Ink::Plain, grouped(spread.paths)),
            (Ink::Outcome, verdict(spread).to_owned()),
            (Ink::Strong, sheet.name(function).to_string()),
        ]);
    }
    table.write(&mut sheet.page)
}

fn verdict(spread: &Spread) -> &'static str {
    match spread.by_choice() {
        by_choice if by_choice >= SINGLE_CAUSE => "the path chosen",
        by_choice if by_choice <= 1.0 - SINGLE_CAUSE => "the same path varies",
        _ => "both",
    }
}

/// A share of samples: `12.3 %`.
pub(super) fn share_of(part: impl Into<u64>, samples: impl Into<u64>) -> String {
    crate::numbers::share(part, samples)
}

#[cfg(test)]
mod tests {
    use super::clock_rate;

    #[test]
    fn the_rate_mentions_a_slow_clock() {
        let check = |frequency, expect: &str| assert_eq!(clock_rate(frequency), expect);
        check(2.994e9, "3.0 GHz");
        let slow = "MHz: cycles are ticks of a clock slower than the processor's";
        check(62.5e6, &format!("62.5 {slow}"));
        check(1.0004e9, &format!("1,000.4 {slow}"));
    }
}
