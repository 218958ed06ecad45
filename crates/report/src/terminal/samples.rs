//! The report of a watched run: where the time went.
//!
//! ```text
//! Samples  time-based: 3,021 in 3.1 s, about 1,024 per second of CPU time
//!   programs      app 98.2 % · sh 1.8 %
//!   blocks        app
//!   no blocks     libc.so.6: functions by symbol
//! ```

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use holloway_analysis::Function;
use holloway_analysis::branch_profile;
use holloway_analysis::estimate::estimate;
use holloway_analysis::samples::{
    Basis, RecordedBranches, SampledFile, SampledRun, SourceLine, TimeProfile, TimedBlock,
    TimedFunction, time_profile,
};
use holloway_format::branches::RecordSource;
use holloway_format::samples::{KnownBlocks, MonitorState, SampleClock};
use holloway_format::{Count, ProgramSamples};

use super::paint::{Ink, Line, Page, clip, clip_start};
use super::sheet::TOP;
use super::table::{Align, Table};
use crate::cpu_time::file_name;
use crate::notes::sentence;
use crate::numbers::{grouped, plural, seconds, share, three_digits};
use crate::options::{Head, Options};
use crate::samples::{SampleView, advice, basis_words, clock_basis, clock_words, kept};

/// Maximum number of names in a list.
const MAX_NAMES: usize = 5;
/// Minimum columns of a place and of a source line.
const MIN_WIDTH: usize = 20;

/// Writes the report.
///
/// # Errors
/// If writing to `out` fails.
pub fn write(
    run: &SampledRun,
    view: SampleView,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let profile = time_profile(run);
    let mut sheet = Sheet {
        functions: kept(run, &profile, options),
        page: Page::new(&mut out, options),
        run,
        profile: &profile,
        options,
    };
    if options.head == Head::Shown {
        sheet.write_head()?;
    }
    let has_branches = run
        .records
        .as_ref()
        .is_some_and(RecordedBranches::has_branches);
    match view {
        SampleView::Edges | SampleView::Branches | SampleView::Paths
            if has_branches || profile.samples > Count::ZERO =>
        {
            drop(sheet);
            write_counts(run, view, options, &mut out)?;
            return out.flush();
        }
        _ if profile.samples == Count::ZERO => {
            let is_known = |file: &SampledFile| matches!(file.blocks, KnownBlocks::Known { .. });
            let text = match run.records {
                Some(_) if run.files.iter().any(is_known) => {
                    "no record shows an edge or a call between known blocks: if the program was rebuilt since, name the build that ran"
                }
                Some(_) => "no record lies in a program that was found: name the program that ran",
                None => "no sample: the watched programs used no CPU time in user mode",
            };
            sheet.page.text(Ink::Alarm, text)?;
        }
        _ if sheet.functions.is_empty() => {
            sheet.page.gap()?;
            let text = "no selected function has samples";
            sheet.page.text(Ink::Alarm, text)?;
        }
        SampleView::Functions | SampleView::Edges | SampleView::Branches | SampleView::Paths => {
            sheet.write_functions()?;
        }
        SampleView::Blocks => sheet.write_blocks()?,
        SampleView::Lines => sheet.write_lines()?,
    }
    drop(sheet);
    out.flush()
}

/// Writes edges, branches, or paths: from branch records if there are any, else estimated.
fn write_counts(
    run: &SampledRun,
    view: SampleView,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let records = run
        .records
        .as_ref()
        .filter(|records| records.has_branches());
    let (counts, label) = match records {
        Some(records) if view == SampleView::Paths => (branch_profile::paths(records), "paths"),
        Some(records) => (branch_profile::edges(records), "edges"),
        None => (estimate(run), "estimate"),
    };
    let mut sheet = super::sheet::Sheet::new(&counts, options, out);
    if let Some(text) = basis_words(counts.basis) {
        sheet.fact(label, &text)?;
    }
    let selected = |(id, function): (_, &Function)| function.ran() && sheet.keeps(id);
    if !counts.ids().any(selected) {
        sheet.page.gap()?;
        let text = match (records, view) {
            (Some(_), SampleView::Paths) => {
                "no selected path lies within one stack: see --view edges"
            }
            (Some(_), _) => "no selected function has branch records",
            (None, _) => {
                "no selected function has samples in known blocks: build with --collect none"
            }
        };
        return sheet.page.text(Ink::Alarm, text);
    }
    if let (Some(records), SampleView::Branches) = (records, view)
        && let Some(text) = mispredicted(records)
    {
        sheet.fact("mispredicted", &text)?;
    }
    match view {
        SampleView::Branches => super::predictability::write(&mut sheet),
        SampleView::Paths => super::paths::write(&mut sheet),
        SampleView::Edges | SampleView::Functions | SampleView::Blocks | SampleView::Lines => {
            super::edges::write(&mut sheet)
        }
    }
}

struct Sheet<'a> {
    run: &'a SampledRun,
    profile: &'a TimeProfile,
    options: &'a Options<'a>,
    /// The selected functions, with index and name.
    functions: Vec<(usize, String, &'a TimedFunction)>,
    page: Page<'a>,
}

impl Sheet<'_> {
    fn top(&self) -> usize {
        self.options.top.unwrap_or(TOP)
    }

    fn write_head(&mut self) -> io::Result<()> {
        let run = self.run;
        self.title("Samples", &samples_words(run, self.profile.samples))?;
        if run.state == MonitorState::Watching {
            self.fact(
                "state",
                "the monitor still watches, or was killed: samples up to its last writing",
            )?;
        }
        if let Some(records) = &run.records {
            self.write_records(records)?;
        }
        if self.profile.samples > Count::ZERO {
            self.fact("programs", &programs(run, self.profile.samples))?;
        }
        let (known, unknown): (Vec<usize>, Vec<usize>) =
            self.files_by_samples().into_iter().partition(|&file| {
                let file = &run.files[file];
                file.map.is_some()
            });
        if !known.is_empty() {
            let names = known.iter().map(|&file| {
                let file = &run.files[file];
                match file.blocks {
                    KnownBlocks::Known { left_out, .. } if left_out > 0 => format!(
                        "{} ({} left out: symbols of equal names)",
                        file_name(&file.path),
                        plural(left_out, "function")
                    ),
                    _ => file_name(&file.path).to_owned(),
                }
            });
            self.fact("blocks", &listed(names.collect()))?;
        }
        let mut plain = Vec::new();
        for file in unknown {
            let file = &run.files[file];
            match advice(file) {
                Some(advice) => {
                    let text = format!("{}: {advice}", file_name(&file.path));
                    self.fact("no blocks", &text)?;
                }
                None => plain.push(file_name(&file.path).to_owned()),
            }
        }
        if !plain.is_empty() {
            let text = format!("{}: functions by symbol", listed(plain));
            self.fact("no blocks", &text)?;
        }
        if let Some(text) = self.unknown() {
            self.fact("unknown", &text)?;
        }
        if run.lost > 0 {
            let text = format!(
                "{}: the buffers were full, samples are missing",
                plural(run.lost, "record")
            );
            self.labeled(Ink::Alarm, "lost", &text)?;
        }
        for note in &run.damage {
            self.labeled(Ink::Alarm, "damage", &sentence(note))?;
        }
        Ok(())
    }

    /// Where the samples come from, and how much of the branch records could be used.
    fn write_records(&mut self, records: &RecordedBranches) -> io::Result<()> {
        let facts = &records.facts;
        match facts.source {
            RecordSource::Monitor => {}
            RecordSource::PerfData | RecordSource::PreAggregated => {
                let event = match facts.event.is_empty() {
                    true => String::new(),
                    false => format!(", event {}", facts.event),
                };
                self.fact("imported", &format!("{}{event}", facts.name))?;
            }
        }
        let quality = &facts.quality;
        if quality.branches > 0 {
            let stacks = match facts.depth {
                0 => "without stacks, so paths are unknown".to_owned(),
                depth => format!(
                    "in {} of up to {}; {} within one stack",
                    plural(quality.stacks, "stack"),
                    grouped(depth),
                    plural(quality.paths, "path")
                ),
            };
            let text = format!("{} taken, {stacks}", grouped(quality.branches));
            self.fact("branches", &text)?;
        }
        let runs = quality.runs.saturating_add(quality.impossible_runs);
        if quality.impossible_runs > 0 {
            let text = format!(
                "{} of {} runs between two branches are impossible: the processor lost branches",
                share(Count(quality.impossible_runs), Count(runs)),
                grouped(runs)
            );
            self.fact("left out", &text)?;
        }
        let unknown = quality.unmatched.saturating_add(quality.ambiguous);
        if unknown > 0 {
            let text = format!(
                "{} of {} steps from block to block fit no edge: the code generator changed the code",
                share(Count(unknown), Count(quality.transitions)),
                grouped(quality.transitions)
            );
            self.fact("left out", &text)?;
        }
        let others = [
            (facts.kernel, "sample", "in the kernel"),
            (facts.other_events, "sample", "of other events"),
            (facts.damaged, "damaged record", ""),
        ];
        let others = others.into_iter().filter(|(count, ..)| *count > 0);
        let others = others.map(|(count, noun, place)| format!("{} {place}", plural(count, noun)));
        let others: Vec<String> = others.map(|text| text.trim_end().to_owned()).collect();
        match others.is_empty() {
            true => Ok(()),
            false => self.fact("left out", &others.join(", ")),
        }
    }

    /// The samples whose function is unknown, by file. `None` if there are none.
    fn unknown(&self) -> Option<String> {
        let total = self.profile.samples;
        let files = self.run.files.iter().zip(&self.profile.without_function);
        let files = files.map(|(file, &samples)| (samples, file_name(&file.path)));
        let generated = (self.run.without_file, "code without a file");
        let mut files: Vec<(Count, &str)> = files
            .chain([generated])
            .filter(|(samples, _)| *samples > Count::ZERO)
            .collect();
        files.sort_by_key(|(samples, _)| std::cmp::Reverse(*samples));
        let sum = files.iter().map(|(samples, _)| *samples);
        let sum = sum.fold(Count::ZERO, Count::saturating_add);
        let names = files.iter();
        let names = names.map(|(samples, name)| format!("{name} {}", share(*samples, total)));
        (sum > Count::ZERO).then(|| {
            format!(
                "{} have no known function: {}",
                share(sum, total),
                listed(names.collect())
            )
        })
    }

    /// The files with samples, most samples first.
    fn files_by_samples(&self) -> Vec<usize> {
        let total = |file: usize| {
            let code = self.run.files[file].code.iter();
            code.fold(Count::ZERO, |sum, code| sum.saturating_add(code.samples))
        };
        let mut files: Vec<usize> = (0..self.run.files.len()).collect();
        files.sort_by_key(|&file| std::cmp::Reverse(total(file)));
        files
    }

    fn write_functions(&mut self) -> io::Result<()> {
        const COLUMNS: [(&str, Align); 6] = [
            ("share", Align::Right),
            ("samples", Align::Right),
            ("hottest block", Align::Right),
            ("basis", Align::Left),
            ("function", Align::Left),
            ("file", Align::Left),
        ];
        let shown = self.functions.len().min(self.top());
        self.view_title("Hottest functions", shown, self.functions.len())?;
        let mut table = Table::new(&COLUMNS);
        for (_, name, function) in &self.functions[..shown] {
            let block = function.blocks.first().map_or_else(
                || "-".to_owned(),
                |block| {
                    let share = share(block.samples, function.samples);
                    format!("{share} b{}", block.block)
                },
            );
            table.row(vec![
                (Ink::Number, share(function.samples, self.profile.samples)),
                (Ink::Plain, grouped(function.samples)),
                (Ink::Plain, block),
                (Ink::Faint, basis(function.basis).to_owned()),
                (Ink::Strong, name.clone()),
                (
                    Ink::Place,
                    file_name(&self.run.files[function.file].path).to_owned(),
                ),
            ]);
        }
        table.write(&mut self.page)
    }

    fn write_blocks(&mut self) -> io::Result<()> {
        const COLUMNS: [(&str, Align); 8] = [
            ("share", Align::Right),
            ("samples", Align::Right),
            ("length", Align::Right),
            ("per instruction", Align::Right),
            ("block", Align::Left),
            ("place", Align::Left),
            ("function", Align::Left),
            ("source", Align::Left),
        ];
        let mut blocks: Vec<(&TimedBlock, &str)> = self
            .functions
            .iter()
            .flat_map(|(_, name, function)| {
                let blocks = function.blocks.iter();
                blocks.map(move |block| (block, name.as_str()))
            })
            .collect();
        blocks.sort_by_key(|(block, _)| std::cmp::Reverse(block.samples));
        let mut table = Table::new(&COLUMNS);
        let shown = blocks.len().min(self.top());
        for (block, name) in &blocks[..shown] {
            let [place, text] = self.place_and_text(&block.place);
            table.row(vec![
                (Ink::Number, share(block.samples, self.profile.samples)),
                (Ink::Plain, grouped(block.samples)),
                (Ink::Plain, grouped(block.instructions)),
                (Ink::Plain, three_digits(block.weight())),
                (Ink::Faint, format!("b{}", block.block)),
                place,
                (Ink::Strong, (*name).to_owned()),
                text,
            ]);
        }
        let ranked = blocks.len();
        drop(blocks);
        self.view_title("Hottest blocks", shown, ranked)?;
        match ranked {
            0 => {
                let text = "no sampled block is known: build the program with --collect none";
                self.page.text(Ink::Alarm, text)
            }
            _ => table.write(&mut self.page),
        }
    }

    fn write_lines(&mut self) -> io::Result<()> {
        const COLUMNS: [(&str, Align); 5] = [
            ("share", Align::Right),
            ("samples", Align::Right),
            ("place", Align::Left),
            ("function", Align::Left),
            ("source", Align::Left),
        ];
        let names: std::collections::HashMap<usize, &str> = self
            .functions
            .iter()
            .map(|(index, name, _)| (*index, name.as_str()))
            .collect();
        let lines = self.profile.lines.iter();
        let lines: Vec<_> = lines
            .filter_map(|line| Some((line, *names.get(&line.function)?)))
            .collect();
        let mut table = Table::new(&COLUMNS);
        let shown = lines.len().min(self.top());
        for (line, name) in &lines[..shown] {
            let [place, text] = self.place_and_text(&line.place);
            table.row(vec![
                (Ink::Number, share(line.samples, self.profile.samples)),
                (Ink::Plain, grouped(line.samples)),
                place,
                (Ink::Strong, (*name).to_owned()),
                text,
            ]);
        }
        let ranked = lines.len();
        drop(lines);
        self.view_title("Hottest lines", shown, ranked)?;
        match ranked {
            0 => {
                let text =
                    "no sampled line is known: build the program with debug information (-g)";
                self.page.text(Ink::Alarm, text)
            }
            _ => table.write(&mut self.page),
        }
    }

    fn place_and_text(&self, place: &SourceLine) -> [(Ink, String); 2] {
        let shown = match place.is_known() {
            true => {
                crate::places::file_and_line(&place.file, place.line, self.options.cwd.as_deref())
            }
            false => "-".to_owned(),
        };
        let text = self.options.source.line(&place.file, place.line);
        [
            (
                Ink::Place,
                clip_start(&shown, MIN_WIDTH.max(self.page.width() / 4)),
            ),
            (
                Ink::Plain,
                clip(
                    text.unwrap_or_default().trim(),
                    MIN_WIDTH.max(self.page.width() / 3),
                ),
            ),
        ]
    }

    fn view_title(&mut self, title: &str, shown: usize, ranked: usize) -> io::Result<()> {
        let text = format!(
            "{} of {} with samples, by share of {} ({})",
            grouped(shown as u64),
            grouped(ranked as u64),
            plural(self.profile.samples, "sample"),
            clock_basis(self.run.clock)
        );
        self.page.gap()?;
        self.title(title, &text)
    }

    fn title(&mut self, title: &str, subtitle: &str) -> io::Result<()> {
        let mut line = Line::new();
        line.put(Ink::Strong, title).put(Ink::Plain, "  ");
        self.page.wrapped(line, Ink::Faint, subtitle)
    }

    fn fact(&mut self, label: &str, text: &str) -> io::Result<()> {
        self.labeled(Ink::Faint, label, text)
    }

    fn labeled(&mut self, ink: Ink, label: &str, text: &str) -> io::Result<()> {
        let mut line = Line::new();
        line.put(Ink::Plain, "  ").left(ink, label, 14);
        self.page.wrapped(line, Ink::Plain, text)
    }
}

/// How many samples there are, and what they tell.
fn samples_words(run: &SampledRun, total: Count) -> String {
    let samples = plural(total, "sample");
    let basis = clock_basis(run.clock);
    let time = match run.duration_ns {
        0 => String::new(),
        duration => format!(" in {}", seconds(duration as f64 / 1e9)),
    };
    match run.clock {
        SampleClock::Cycles | SampleClock::CpuTime | SampleClock::Tick if run.frequency > 0 => {
            format!(
                "{basis}: {samples}{time}, about {} per second of {}",
                grouped(run.frequency),
                clock_words(run.clock)
            )
        }
        SampleClock::Cycles | SampleClock::CpuTime | SampleClock::Tick | SampleClock::Other => {
            format!("{basis}: {samples}{time}")
        }
    }
}

/// The taken branches that the processor mispredicted, as it recorded them. `None` if there are
/// none.
fn mispredicted(records: &RecordedBranches) -> Option<String> {
    let mut sources: BTreeMap<String, u64> = BTreeMap::new();
    let mut taken = 0u64;
    for (map, functions) in &records.files {
        for function in functions {
            let Some(function_map) = map.function(function.index) else {
                continue;
            };
            let name = crate::names::display(&function_map.linkage_name, &function_map.name);
            for edge in &function.edges {
                let Some(ends) = function_map.edges.get(edge.edge as usize) else {
                    continue;
                };
                taken = taken.saturating_add(edge.count.0);
                if edge.mispredicted > Count::ZERO {
                    let sum = sources.entry(format!("{name} b{}", ends.from)).or_default();
                    *sum = sum.saturating_add(edge.mispredicted.0);
                }
            }
        }
    }
    let all = sources.values().copied().fold(0, u64::saturating_add);
    let mut sources: Vec<(String, u64)> = sources.into_iter().collect();
    sources.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let names = sources.iter();
    let names = names.map(|(name, count)| format!("{name} {}", share(Count(*count), Count(all))));
    (all > 0).then(|| {
        format!(
            "{} on {} edges taken, measured: {}",
            grouped(all),
            grouped(taken),
            listed(names.collect())
        )
    })
}

/// How a function was found.
fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::Blocks => "blocks",
        Basis::Symbols => "symbols",
    }
}

fn programs(run: &SampledRun, total: Count) -> String {
    let mut programs: Vec<&ProgramSamples> = run.programs.iter().collect();
    programs.sort_by_key(|program| std::cmp::Reverse(program.samples));
    let names = programs.iter().map(|program| {
        let name = match program.path.is_empty() {
            true => "unknown",
            false => file_name(&program.path),
        };
        format!("{name} {}", share(program.samples, total))
    });
    listed(names.collect())
}

/// The first names of a list, and the number of the others.
fn listed(names: Vec<String>) -> String {
    let more = names.len().saturating_sub(MAX_NAMES);
    let mut shown: Vec<String> = names.into_iter().take(MAX_NAMES).collect();
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    shown.join(" · ")
}
