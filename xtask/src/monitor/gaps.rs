//! How much time interrupts take from a program: a loop reads the clock again and again. Where two
//! readings are far apart, something interrupted the loop.
//!
//! Interrupts are short. Where another process ran, the gap is long and does not count. So the
//! machine may be busy.

use super::process::Monitor;
use crate::bench::Samples;
use anyhow::Result;
use holloway_tests::tool::scratch;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

/// Gaps that count as interrupts.
const SHORTEST: Duration = Duration::from_nanos(400);
const LONGEST: Duration = Duration::from_micros(60);
/// Duration of one observation.
const SPIN: Duration = Duration::from_millis(1500);

/// A way to watch the machine.
struct Setup {
    name: &'static str,
    /// `None`: nothing watches.
    frequency: Option<Option<NonZeroUsize>>,
    /// The share of time in gaps.
    shares: Samples,
}

/// Measures the share of time in interrupts without a monitor, and with monitors. Returns a table.
pub(super) fn study(rounds: usize) -> Result<String> {
    let setup = |name, frequency| Setup {
        name,
        frequency,
        shares: Samples::default(),
    };
    let mut setups = [
        setup("no monitor", None),
        setup("the default", Some(None)),
        setup("timer, 256 Hz", Some(NonZeroUsize::new(256))),
        setup("timer, 1,024 Hz", Some(NonZeroUsize::new(1024))),
    ];
    for round in 0..rounds {
        for number in 0..setups.len() {
            let number = (round + number) % setups.len();
            let setup = &mut setups[number];
            let scratch = scratch("study-gaps")?;
            let run = scratch.path().join("run");
            let monitor = setup
                .frequency
                .map(|frequency| Monitor::start(&run, frequency));
            let monitor = monitor.transpose()?;
            setup.shares.push(share_in_gaps());
            if let Some(monitor) = monitor {
                monitor.stop()?;
            }
        }
    }
    let mut table = "\
| watched by | time in interrupts | spread | more than without a monitor |
|---|--:|--:|--:|
"
    .to_owned();
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    let without = setups[0].shares.median();
    for setup in &setups {
        let more = setup.shares.median() - without;
        table += &format!(
            "| {} | {} | {} | {:+.2} % |\n",
            setup.name,
            percent(setup.shares.median()),
            percent(setup.shares.spread() * setup.shares.median()),
            100.0 * more
        );
    }
    Ok(table)
}

/// Reads the clock in a loop. Returns the share of time in short gaps, of the time without long
/// gaps.
fn share_in_gaps() -> f64 {
    let start = Instant::now();
    let (mut short, mut long) = (Duration::ZERO, Duration::ZERO);
    let mut last = start;
    while last - start < SPIN {
        let now = Instant::now();
        let gap = now - last;
        match gap {
            _ if gap > LONGEST => long += gap,
            _ if gap > SHORTEST => short += gap,
            _ => {}
        }
        last = now;
    }
    short.as_secs_f64() / (last - start - long).as_secs_f64()
}
