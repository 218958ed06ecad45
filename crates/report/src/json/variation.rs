//! Writes the paths whose time varies as a JSON document. The section `variation` of docs/json.md
//! explains the keys, which are the fields of the structs below.

use std::io::{self, Write};

use holloway_analysis::Function;
use holloway_analysis::Interrupt;
use holloway_analysis::paths::instructions;
use holloway_analysis::variation::advice::loads;
use holloway_analysis::variation::rank::{Disturbed, RankedPath, Ranking, Time};
use holloway_analysis::variation::spread::Spread;
use holloway_analysis::variation::{Certainty, RankOptions, VariationRun, rank};
use holloway_format::{Count, Cycles, Load, LoadShape, VariationStats};
use serde::Serialize;

use super::cpu_time::CpuTimeRecord;
use super::document::{self, SCHEMA};
use super::fields::{places, places_of};
use crate::filter::Filter;
use crate::notes::Sentences;
use crate::options::Options;
use crate::path_names::full_name;
use crate::variation::{
    FIRST_PATHS, lines, load_lines, prefetch, selected_paths, selected_spreads, trail_of,
};

/// Writes the paths of a run, ranked by certain net variation, as one object and a newline.
/// [`Options::function`] and [`Options::top`] limit the listed paths; ranks and totals refer to
/// the whole run.
///
/// # Errors
/// If writing to `out` fails.
pub fn write(
    run: &VariationRun,
    options: &Options<'_>,
    rank_options: RankOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let names = Filter::new(options);
    let ranking = rank(run, rank_options);
    let view = View {
        run,
        names: &names,
        ranking: &ranking,
        frequency: run.frequency(),
    };
    let top = options.top.unwrap_or(usize::MAX);
    let document = Document {
        schema: SCHEMA,
        cpu_time: CpuTimeRecord::new(&run.run),
        timed: if run.is_exact { "all" } else { "bursts" },
        time: match rank_options.time {
            Time::Inclusive => "inclusive",
            Time::Exclusive => "exclusive",
        },
        disturbed: match rank_options.disturbed {
            Disturbed::LeftOut => "left out",
            Disturbed::Included => "included",
        },
        cycles_per_second: view.frequency,
        run: Totals::new(&view),
        variation: selected_paths(run, &ranking, &names, top)
            .0
            .into_iter()
            .map(|index| view.path(index))
            .collect(),
        functions: selected_spreads(run, &ranking, &names, top)
            .iter()
            .map(|spread| view.spread(spread))
            .collect(),
        samples: Samples::new(&run.stats, &ranking),
        interrupted: run.run.interrupt.map(Interrupt::name),
        damage: Sentences(&run.run.damage),
    };
    document::write(&document, out)
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_time: Option<CpuTimeRecord>,
    timed: &'static str,
    time: &'static str,
    disturbed: &'static str,
    cycles_per_second: Option<f64>,
    run: Totals,
    variation: Vec<PathRecord<'a>>,
    functions: Vec<FunctionRecord<'a>>,
    samples: Samples,
    #[serde(skip_serializing_if = "Option::is_none")]
    interrupted: Option<&'static str>,
    damage: Sentences<'a>,
}

#[derive(Serialize)]
struct Totals {
    cycles: Cycles,
    seconds: Option<f64>,
    paths: usize,
    net: f64,
    share: f64,
    top_net: f64,
    top_share: f64,
    certain_paths: usize,
    certain_net: f64,
    certain_share: f64,
    missed_by_count: usize,
    missed_by_total: usize,
    unresolved: f64,
    unresolved_paths: usize,
}

#[derive(Serialize)]
struct PathRecord<'a> {
    function: String,
    linkage_name: &'a str,
    module: &'a str,
    image: &'a str,
    path: u64,
    path_name: String,
    file: &'a str,
    lines: Option<[u32; 2]>,
    blocks: Vec<u32>,
    instructions: u64,
    places: Vec<String>,
    samples: Count,
    disturbed: Count,
    called: Count,
    unknown: Count,
    executions: f64,
    base: Cycles,
    low: Cycles,
    least: Cycles,
    mean: f64,
    p50: Cycles,
    p90: Cycles,
    p99: Cycles,
    max: Cycles,
    net: f64,
    net_error: f64,
    certain: bool,
    uncertain: Option<&'static str>,
    sure: f64,
    loss: f64,
    interrupted: Count,
    unresolved: f64,
    resolved: bool,
    nested: f64,
    total: f64,
    share: f64,
    seconds: Option<Seconds>,
    rank: usize,
    rank_by_count: usize,
    rank_by_total: usize,
    /// For each bucket of times: its smallest time, its largest time, and its number of samples.
    histogram: Vec<(Cycles, Cycles, Count)>,
    advice: Vec<AdviceRecord>,
}

#[derive(Serialize)]
struct AdviceRecord {
    load: &'static str,
    bytes: i64,
    place: String,
    why: String,
    insert: String,
    insert_at: String,
}

/// A path's times in seconds.
#[derive(Serialize)]
struct Seconds {
    base: f64,
    low: f64,
    mean: f64,
    p50: f64,
    p90: f64,
    p99: f64,
    max: f64,
    net: f64,
    total: f64,
}

#[derive(Serialize)]
struct FunctionRecord<'a> {
    function: String,
    linkage_name: &'a str,
    paths: u64,
    by_choice: f64,
    same_path: f64,
    variance_between: f64,
    variance_within: f64,
}

#[derive(Serialize)]
struct Samples {
    samples: Count,
    begun: Count,
    disturbed: Count,
    preempted: Count,
    migrated: Count,
    called: Count,
    unwatched: Count,
    unknown: Count,
    switches: Count,
    probe_cycles: Option<Cycles>,
    bias: [Cycles; 2],
    resolution: Cycles,
    paths_with_one: u64,
    executions_of_these: f64,
    paths_without_own: u64,
    cut: Count,
    damaged: Count,
    holes: u64,
    strangers: u64,
    gaps: u64,
    lost_words: u64,
}

/// A run and its ranking, from which the records are made.
struct View<'a> {
    run: &'a VariationRun,
    names: &'a Filter<'a>,
    ranking: &'a Ranking,
    frequency: Option<f64>,
}

impl<'a> View<'a> {
    fn path(&self, index: usize) -> PathRecord<'a> {
        let rank = &self.ranking.paths[index];
        let run = &self.run.run;
        let function = run.function(rank.function);
        let module = run.module_of(function);
        let trail = trail_of(function, rank.path);
        let lines = trail.and_then(|trail| lines(function, &trail));
        let path = function.graph().and_then(|graph| graph.path(rank.path));
        let places_of_blocks = places(function);
        let blocks = path.as_ref().map_or(&[][..], |path| &path.blocks);
        let mut places: Vec<String> = blocks
            .iter()
            .flat_map(|block| places_of_blocks[block.index()].iter().cloned())
            .collect();
        places.dedup();
        // The rank in another order, from 1. 0 if the path is not in this order.
        let rank_in = |order: &[usize]| {
            let position = order.iter().position(|&path| path == index);
            position.map_or(0, |position| position + 1)
        };
        let times = &rank.times;
        PathRecord {
            function: self.names.name(function).to_string(),
            linkage_name: &function.map.linkage_name,
            module: &module.name,
            image: &run.images[module.image.index()].name,
            path: rank.path.0,
            path_name: full_name(function, rank.path),
            file: lines.map_or("", |(file, ..)| file),
            lines: lines.map(|(_, first, last)| [first, last]),
            blocks: blocks.iter().map(|block| block.0).collect(),
            instructions: path.as_ref().map_or(0, |path| instructions(function, path)),
            places,
            samples: rank.samples(),
            disturbed: rank.disturbed,
            called: rank.with_untimed_callees,
            unknown: rank.unknown,
            executions: rank.executions,
            base: rank.base,
            low: rank.base,
            least: times.least(),
            mean: times.mean(),
            p50: times.quantile(0.5),
            p90: times.quantile(0.9),
            p99: times.quantile(0.99),
            max: times.largest(),
            net: rank.net,
            net_error: rank.error,
            certain: rank.is_certain(),
            uncertain: uncertain(rank.certainty),
            sure: rank.certain_net,
            loss: rank.loss,
            interrupted: rank.interrupted,
            unresolved: rank.unresolved,
            resolved: rank.is_resolved(),
            nested: rank.nested,
            total: rank.total,
            share: self.ranking.share(rank.net),
            seconds: self
                .frequency
                .map(|frequency| Seconds::new(rank, frequency)),
            rank: index + 1,
            rank_by_count: rank_in(&self.ranking.by_count),
            rank_by_total: rank_in(&self.ranking.by_total),
            histogram: times
                .buckets()
                .map(|bucket| (bucket.low, bucket.high, bucket.count))
                .collect(),
            advice: loads(function, rank)
                .into_iter()
                .map(|load| AdviceRecord::new(function, load))
                .collect(),
        }
    }

    fn spread(&self, spread: &Spread) -> FunctionRecord<'a> {
        let function = self.run.run.function(spread.function);
        FunctionRecord {
            function: self.names.name(function).to_string(),
            linkage_name: &function.map.linkage_name,
            paths: spread.paths,
            by_choice: spread.choice,
            same_path: spread.same,
            variance_between: spread.between,
            variance_within: spread.within,
        }
    }
}

/// Returns the reason why the net variation of a path is not certain, or `None` if it is.
fn uncertain(certainty: Certainty) -> Option<&'static str> {
    match certainty {
        Certainty::Certain => None,
        Certainty::Steady => Some("steady"),
        Certainty::FewSamples => Some("few samples"),
        Certainty::FewBursts => Some("few bursts"),
        Certainty::Machine => Some("machine"),
    }
}

impl AdviceRecord {
    fn new(function: &Function, load: Load) -> AdviceRecord {
        let (kind, bytes) = match load.shape {
            LoadShape::Induction { stride } => ("induction", stride),
            LoadShape::Chain { offset } => ("chain", offset),
            LoadShape::Through { stride } => ("through", stride),
            LoadShape::Field { offset } => ("field", offset),
            LoadShape::Outer { stride } => ("outer", stride),
            LoadShape::Rows { stride } => ("rows", stride),
            LoadShape::Geometric { factor, .. } => ("geometric", factor),
        };
        let place = places_of(function, &[load.place]).pop();
        let lines = load_lines(function, &load);
        let (why, insert) = prefetch(load.shape, lines.first().map_or("", |line| line.0));
        AdviceRecord {
            load: kind,
            bytes,
            place: place.unwrap_or_default(),
            why,
            insert,
            insert_at: lines
                .first()
                .map_or_else(String::new, |(file, line)| format!("{file}:{line}")),
        }
    }
}

impl Seconds {
    fn new(rank: &RankedPath, frequency: f64) -> Seconds {
        let seconds = |cycles: Cycles| cycles.to_f64() / frequency;
        let times = &rank.times;
        Seconds {
            base: seconds(rank.base),
            low: seconds(rank.base),
            mean: times.mean() / frequency,
            p50: seconds(times.quantile(0.5)),
            p90: seconds(times.quantile(0.9)),
            p99: seconds(times.quantile(0.99)),
            max: seconds(times.largest()),
            net: rank.net / frequency,
            total: rank.total / frequency,
        }
    }
}

impl Totals {
    fn new(view: &View<'_>) -> Totals {
        let ranking = view.ranking;
        let (net, top_net) = (ranking.net(usize::MAX), ranking.net(FIRST_PATHS));
        let (unresolved, unresolved_paths) = ranking.unresolved();
        let first = FIRST_PATHS.min(ranking.certain);
        Totals {
            cycles: ranking.cycles,
            seconds: view
                .frequency
                .map(|frequency| ranking.cycles.to_f64() / frequency),
            paths: ranking.paths.len(),
            net,
            share: ranking.share(net),
            top_net,
            top_share: ranking.share(top_net),
            certain_paths: ranking.certain,
            certain_net: ranking.certain_net(),
            certain_share: ranking.share(ranking.certain_net()),
            missed_by_count: ranking.missed(first, &ranking.by_count).count(),
            missed_by_total: ranking.missed(first, &ranking.by_total).count(),
            unresolved,
            unresolved_paths,
        }
    }
}

impl Samples {
    fn new(stats: &VariationStats, ranking: &Ranking) -> Samples {
        Samples {
            samples: stats.samples,
            begun: stats.begun,
            disturbed: ranking.disturbed,
            preempted: stats.preempted,
            migrated: stats.migrated,
            called: stats.called,
            unwatched: stats.unwatched,
            unknown: stats.unknown,
            switches: stats.switches,
            probe_cycles: (stats.clocked > Cycles::ZERO).then_some(stats.probes),
            bias: [stats.least_bias, stats.largest_bias],
            resolution: stats.resolution,
            paths_with_one: ranking.seldom,
            executions_of_these: ranking.seldom_executions,
            paths_without_own: ranking.without_own,
            cut: stats.cut_samples,
            damaged: stats.damaged,
            holes: stats.holes,
            strangers: stats.strangers,
            gaps: stats.gaps,
            lost_words: stats.lost_words,
        }
    }
}
