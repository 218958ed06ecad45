//! Describes the machine that runs the measurements.

/// Processor, number of cores, and kernel: enough to judge the results, without identifying the
/// machine.
pub(crate) fn description() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let info = read("/proc/cpuinfo");
    let model = info
        .lines()
        .find_map(|l| l.strip_prefix("model name"))
        .and_then(|l| l.split(": ").nth(1))
        .unwrap_or("unknown");
    let cores = std::thread::available_parallelism().map_or(1, Into::into);
    let kernel = read("/proc/sys/kernel/osrelease");
    let kernel: Vec<&str> = kernel.trim().split('.').take(2).collect();
    format!("{model}, {cores} cores, Linux {}", kernel.join("."))
}

/// A sentence on how busy the machine was in the last 15 minutes.
pub(crate) fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = text.split_whitespace().nth(2).unwrap_or("unknown");
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    format!("Load average of 15 minutes: {load}, with {processors} processors.")
}
