//! Formats results as JSON, for target/bench/latest.json and the file of `--json`: every
//! measurement and the summary, or the instruction counts.

use super::builds::{Seconds, Times};
use super::callgrind::Counts;
use super::results::Results;
use super::rounds::Row;
use super::summary::Summary;
use super::targets::{self, Verdict};
use serde_json::{Value, json};

/// Formats a run that measured time.
pub(crate) fn whole(results: &Results) -> Value {
    let summary = Summary::of(results);
    let seconds = |s: &Seconds| json!({"wall": s.wall.all(), "cpu": s.cpu.all()});
    let times = |t: &Times| json!({"first": seconds(&t.first), "second": seconds(&t.second)});
    let builds = results.builds.as_ref();
    let mut means = json!({
        "paths_geomean": summary.paths,
        "paths_worst": summary.worst.map(|w| w.1),
        "paths_worst_program": summary.worst.map(|w| w.0),
        "paths_2t_geomean": summary.paths_2t,
        "edges_geomean": summary.edges,
        "edges_2t_geomean": summary.edges_2t,
        "peer_geomean": summary.peer,
        "peer_2t_geomean": summary.peer_2t,
    });
    for s in &summary.streams {
        let key = s.setup.key();
        means[format!("{key}_geomean")] = json!(s.one_thread);
        means[format!("{key}_2t_geomean")] = json!(s.two_threads);
    }
    json!({
        "machine": results.machine,
        "date": results.date,
        "quick": results.quick,
        "summary": means,
        "targets": targets::all(results).iter().map(target).collect::<Vec<_>>(),
        "programs": results.suite.iter().map(row).collect::<Vec<_>>(),
        "micro": results.micro.iter().map(row).collect::<Vec<_>>(),
        "calls_counted": results.exact.iter().map(|c| json!({
            "threads": c.threads, "made": c.made, "paths": c.ours[0], "edges": c.ours[1], "peer": c.peers,
        })).collect::<Vec<_>>(),
        "builds": builds.map(|b| b.programs.iter().map(|build| json!({
            "program": build.program, "plain": times(&build.plain), "woven": times(&build.woven),
        })).collect::<Vec<_>>()),
    })
}

/// Formats a run that counted instructions.
pub(crate) fn instructions(machine: &str, counts: &[Counts]) -> Value {
    let program = |counts: &Counts| {
        let flavors = counts.instructions.iter();
        let flavors = flavors.map(|&(flavor, count)| (flavor.name().to_owned(), json!(count)));
        json!({
            "program": counts.workload.name,
            "threads": counts.workload.threads,
            "language": counts.workload.language(),
            "instructions": Value::Object(flavors.collect()),
        })
    };
    json!({
        "machine": machine,
        "callgrind": true,
        "programs": counts.iter().map(program).collect::<Vec<_>>(),
    })
}

fn target(target: &targets::Target) -> Value {
    let (reached, missed) = match &target.verdict {
        Verdict::Reached => (true, Value::Null),
        Verdict::MissedBy(excess) => (false, json!(excess)),
    };
    json!({"what": target.name, "reach": target.limit, "measured": target.measured, "reached": reached, "missed_by": missed})
}

fn row(row: &Row) -> Value {
    let flavors = row.setups.iter().map(|m| {
        let figures = json!({
            "seconds": m.seconds.all(),
            "cpu_seconds": m.cpu.all(),
            "peak_bytes": m.peak.all(),
            "code_bytes": m.code,
            "slowdown": row.slowdown(m.setup),
        });
        (m.setup.key(), figures)
    });
    json!({
        "program": row.workload.name,
        "threads": row.workload.threads,
        "language": row.workload.language(),
        "flavours": Value::Object(flavors.collect()),
        "path_executions": row.totals.map(|t| t.paths),
        "path_increments": row.totals.map(|t| t.increments),
        "edge_increments": row.edge_totals.map(|t| t.increments),
        "hashed_executions": row.totals.map(|t| t.hashed),
        "instructions": row.totals.map(|t| t.instructions),
    })
}
