//! The CPU time section, with which each report begins: the run's CPU time, the share of woven code
//! in it, and the names of the code that ran unwoven.
//!
//! ```text
//! CPU time
//!   total         2.72 s: 1.92 s user, 800 ms system
//!   kernel        29.4 % of the CPU time went to system calls and page faults, which …
//!   woven         61.2 % of the user time (±2.2)
//!   not woven     libbz2.so.1.0 30.0 % · std 5.1 % · memcpy 3.7 %
//!   estimate      1,920 samples, one per millisecond of user time
//! ```

use std::io;

use holloway_analysis::RunProfile;
use holloway_analysis::cpu_time::{CpuTime, SampleSums, Shares};
use holloway_format::{Count, UnusedLibrary};

use super::paint::Ink;
use super::sheet::Sheet;
use crate::cpu_time::{file_name, groups, margin};
use crate::numbers::{plural, seconds, share};

/// Maximum number of names of unwoven code and of other programs.
const MAX_NAMES: usize = 5;

/// Writes the section, if the CPU time was recorded.
pub(super) fn write(sheet: &mut Sheet<'_>) -> io::Result<()> {
    let Some(time) = &sheet.run.cpu_time else {
        return Ok(());
    };
    sheet.page.text(Ink::Strong, "CPU time")?;
    sheet.fact("total", &total(time))?;
    if let Some(text) = kernel(time) {
        sheet.fact("kernel", &text)?;
    }
    match &time.shares {
        Shares::Refused { errno } => {
            sheet.fact("woven", &refused(*errno))?;
        }
        Shares::Failed => sheet.labeled(Ink::Alarm, "woven", FAILED)?,
        Shares::Sampled(sums) => write_samples(sheet, sums)?,
    }
    sheet.page.gap()
}

/// The share of woven code if the thread that reads the samples panicked.
const FAILED: &str =
    "unknown: holloway failed to read the samples; the counts below are not affected";

/// Writes the section of a report that compares runs: a line for each run whose CPU time was
/// recorded.
///
/// ```text
/// CPU time
///   A             2.03 s: 1.92 s user, 110 ms system · woven 61.2 % of the user time (±2.2)
/// ```
pub(super) fn write_runs(sheet: &mut Sheet<'_>, runs: &[(&str, &RunProfile)]) -> io::Result<()> {
    let times = runs
        .iter()
        .filter_map(|&(name, run)| Some((name, run.cpu_time.as_ref()?)));
    let times: Vec<(&str, &CpuTime)> = times.collect();
    if times.is_empty() {
        return Ok(());
    }
    sheet.page.text(Ink::Strong, "CPU time")?;
    for (name, time) in &times {
        let woven = match &time.shares {
            Shares::Refused { errno } => refused(*errno),
            Shares::Failed => FAILED.to_owned(),
            Shares::Sampled(sums) => woven(sums),
        };
        sheet.fact(name, &format!("{} · woven {woven}", total(time)))?;
    }
    sheet.page.gap()
}

fn total(time: &CpuTime) -> String {
    let [user, system] = [time.user_ns, time.system_ns].map(|time| time as f64 / 1e9);
    format!(
        "{}: {} user, {} system",
        seconds(user + system),
        seconds(user),
        seconds(system)
    )
}

/// Says that the kernel took a large part of the CPU time, if it did.
fn kernel(time: &CpuTime) -> Option<String> {
    let whole = time.user_ns.saturating_add(time.system_ns);
    let is_large = time.system_ns > whole / 10 && time.system_ns > MIN_SYSTEM_NS;
    is_large.then(|| {
        format!(
            "{} of the CPU time went to system calls and page faults, which have no counts here; \
             \"strace -c -f\" lists the calls",
            share(Count(time.system_ns), Count(whole))
        )
    })
}

/// The least system time, in nanoseconds, that the report explains. Each program needs some to
/// start.
const MIN_SYSTEM_NS: u64 = 20_000_000;

fn refused(errno: u32) -> String {
    let remedy = match errno {
        EPERM | EACCES => {
            "; the sysctl kernel.perf_event_paranoid must be 2 or less, a container must allow the call, and the limit of locked memory must leave 64 KiB for each processor"
        }
        EMFILE => "; raise the limit of open files (ulimit -n)",
        _ => "",
    };
    format!("unknown: the kernel refused to sample (perf_event_open, error {errno}){remedy}")
}

/// The error number "operation not permitted".
const EPERM: u32 = 1;
/// The error number "permission denied".
const EACCES: u32 = 13;
/// The error number "too many open files".
const EMFILE: u32 = 24;

fn write_samples(sheet: &mut Sheet<'_>, sums: &SampleSums) -> io::Result<()> {
    if sums.other() > Count::ZERO {
        let programs = sums.other_programs.iter();
        let names = programs.map(|(path, _)| file_name(path).to_owned());
        let names = listed(names.collect());
        let text = format!(
            "{} of user time in programs without woven code: {names}",
            about(sums, sums.other())
        );
        sheet.fact("outside", &text)?;
    }
    for library in &sums.unused_libraries {
        sheet.labeled(Ink::Alarm, "not loaded", &unused(library))?;
    }
    if sums.unsampled_ns > 0 {
        let text = format!(
            "{} of user time, in processes that were not sampled",
            seconds(sums.unsampled_ns as f64 / 1e9)
        );
        sheet.fact("unsampled", &text)?;
    }
    sheet.fact("woven", &woven(sums))?;
    if sums.total == Count::ZERO {
        return Ok(());
    }
    let groups = groups(sums);
    if !groups.is_empty() {
        let name = |(group, samples): &(crate::cpu_time::Group, Count)| {
            format!("{} {}", group.text(), share(*samples, sums.total))
        };
        sheet.fact("not woven", &listed(groups.iter().map(name).collect()))?;
    }
    let mut estimate = format!(
        "{}, one per {} of user time",
        plural(sums.total, "sample"),
        seconds((sums.period_ns as f64 / 1e6).round() / 1e3)
    );
    if sums.lost > 0 {
        estimate += &format!("; {} lost", plural(sums.lost, "record"));
    }
    sheet.fact("estimate", &estimate)
}

/// The share of woven code in the user time.
fn woven(sums: &SampleSums) -> String {
    if sums.total == Count::ZERO && sums.lost > 0 {
        // The records of the program's files may be among them.
        return format!(
            "unknown: the kernel dropped {} of this run; record it again, on a less busy machine",
            plural(sums.lost, "record")
        );
    }
    if sums.total == Count::ZERO {
        return "unknown: the program used too little user time for a sample".to_owned();
    }
    let of = match sums.other() {
        Count::ZERO => "the user time".to_owned(),
        _ => format!("the remaining user time, {}", about(sums, sums.total)),
    };
    let margin = (1000.0 * margin(sums.woven, sums.total)).ceil() / 10.0;
    let woven = share(sums.woven, sums.total);
    format!("{woven} of {of} (±{margin:.1})")
}

/// The user time that samples stand for.
fn about(sums: &SampleSums, samples: Count) -> String {
    let time = samples.to_f64() * sums.period_ns as f64 / 1e9;
    format!("about {}", seconds(time))
}

/// Writes that a woven library exists but another copy of it ran, and what to do.
fn unused(library: &UnusedLibrary) -> String {
    let UnusedLibrary { loaded, woven } = library;
    let directory = woven
        .rsplit_once('/')
        .map_or(".", |(directory, _)| directory);
    format!(
        "{woven} is woven, but the program loaded {loaded}, which is not: set LD_LIBRARY_PATH={directory}"
    )
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
