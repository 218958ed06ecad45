//! Writes the fate of each function that `--function` selects: instrumented, inlined, skipped, or
//! without code.

use std::io;

use holloway_abi::Unit;
use holloway_analysis::find::{Fate, where_is};
use holloway_analysis::functions::summary;
use holloway_analysis::{Function, FunctionId};
use holloway_format::Count;

use super::paint::{Ink, Line};
use super::sheet::Sheet;
use crate::left_frames;
use crate::numbers::{grouped, plural};

/// Maximum number of functions that are named after "inlined into".
const MAX_CALLERS: usize = 5;

pub(super) fn write(sheet: &mut Sheet<'_>) -> io::Result<()> {
    let run = sheet.run;
    let fates = where_is(run, &|linkage_name, name| {
        sheet
            .names
            .matches(linkage_name, name)
            .then(|| sheet.names.name_of(linkage_name, name))
    });
    let options = sheet.options;
    let pattern = match &options.path {
        Some(choice) => &choice.function,
        None => options.function.as_ref().map_or("", regex::Regex::as_str),
    };
    sheet.page.gap()?;
    let mut title = Line::new();
    title.put(Ink::Strong, &format!("Functions that match {pattern}"));
    if fates.is_empty() {
        sheet.page.line(&title)?;
        return sheet.page.text(Ink::Alarm, "  none");
    }
    let (top, count) = (sheet.top(), fates.len());
    if count > top {
        title.put(Ink::Faint, &format!("  {top} of {}", grouped(count as u64)));
    }
    sheet.page.line(&title)?;
    let mut fates: Vec<_> = fates.into_iter().collect();
    fates.sort_by_key(|(_, fate)| std::cmp::Reverse(executions(sheet, fate)));
    for (name, fate) in fates.iter().take(top) {
        sheet
            .page
            .line(Line::new().put(Ink::Plain, "  ").put(Ink::Strong, name))?;
        write_fate(sheet, fate)?;
    }
    Ok(())
}

/// Executions of the blocks of the instrumented functions.
fn executions(sheet: &Sheet<'_>, fate: &Fate) -> Count {
    let blocks =
        |&id: &FunctionId| summary(sheet.run, id).map_or(Count::ZERO, |summary| summary.blocks);
    fate.instrumented
        .iter()
        .map(blocks)
        .fold(Count::ZERO, Count::saturating_add)
}

fn write_fate(sheet: &mut Sheet<'_>, fate: &Fate) -> io::Result<()> {
    for &id in &fate.instrumented {
        let text = instrumented(sheet, id);
        write_row(sheet, "instrumented", &text)?;
    }
    if !fate.inlined.is_empty() {
        let text = inlined(sheet, &fate.inlined);
        write_row(sheet, "inlined into", &text)?;
    }
    for (module, reason) in &fate.skipped {
        let text = format!("{reason} (in {})", sheet.run.modules[module.index()].name);
        write_row(sheet, "skipped", &text)?;
    }
    // If the function has no code in this module but is instrumented in another one, the linker
    // kept only the copy of the other module.
    if !fate.gone.is_empty() && fate.instrumented.is_empty() {
        let modules: Vec<&str> = fate
            .gone
            .iter()
            .map(|module| &*sheet.run.modules[module.index()].name)
            .collect();
        let cause = if fate.inlined.is_empty() {
            "optimised away"
        } else {
            "all calls inlined"
        };
        write_row(
            sheet,
            "no code",
            &format!("{cause} (in {})", modules.join(", ")),
        )?;
    }
    Ok(())
}

fn write_row(sheet: &mut Sheet<'_>, label: &str, text: &str) -> io::Result<()> {
    let mut line = Line::new();
    line.put(Ink::Plain, "    ").left(Ink::Faint, label, 14);
    sheet.page.wrapped(line, Ink::Plain, text)
}

fn instrumented(sheet: &Sheet<'_>, id: FunctionId) -> String {
    let function = sheet.run.function(id);
    let mut text = if function.ran() {
        let calls = plural(function.flow().calls, "call");
        let left = left_frames::in_words(function).map(|left| format!(" · {left}"));
        let left = left.unwrap_or_default();
        format!("{calls} · {} ran{left}", parts_run(function))
    } else {
        match function.unit() {
            Unit::Paths => {
                format!("did not run · {}", plural(function.map.path_count, "path"))
            }
            Unit::Edges => "did not run".to_owned(),
        }
    };
    if function.map.selects > 0 {
        let selects = plural(function.map.selects, "select");
        text += &format!(" · {selects} (choices made without a branch)");
    }
    if function.map.line != 0 {
        text += &format!(" · {}", sheet.place(&function.map.file, function.map.line));
    }
    text += &format!(" · in {}", sheet.run.module_of(function).name);
    if function.copies > 1 {
        text += &format!(" ({} modules hold a copy)", function.copies);
    }
    text
}

/// `3 of 6 paths`, or `3 of 6 blocks` if the function counted edges.
fn parts_run(function: &Function) -> String {
    let (ran, possible, noun) = match function.unit() {
        Unit::Paths => (function.counts.len(), function.map.path_count, "path"),
        Unit::Edges => {
            let blocks = function.flow().blocks.iter();
            let ran = (0u32..).zip(blocks);
            let ran =
                ran.filter(|&(block, &count)| count > Count::ZERO && block != function.map.exit);
            let block_count = function.map.blocks.len() as u64 - 1;
            (ran.count(), block_count, "block")
        }
    };
    format!("{} of {}", grouped(ran as u64), plural(possible, noun))
}

fn inlined(sheet: &Sheet<'_>, callers: &[(FunctionId, u32)]) -> String {
    let mut names: Vec<String> = callers
        .iter()
        .take(MAX_CALLERS)
        .map(|&(id, times)| {
            let name = sheet.name(sheet.run.function(id));
            if times == 1 {
                name.to_string()
            } else {
                format!("{name} (×{times})")
            }
        })
        .collect();
    if callers.len() > MAX_CALLERS {
        names.push(format!(
            "{} more",
            grouped((callers.len() - MAX_CALLERS) as u64)
        ));
    }
    names.join(", ")
}
