//! The Firefox Profiler's processed profile: one thread for each weight.
//!
//! A sample's weight has 31 bits in this format. If the heaviest path does not fit, all weights of
//! the thread are rounded to multiples of a power of ten, and the thread's name says which.
//!
//! The profiler draws the graph of a thread from times of samples and the CPU time between them,
//! which a profile of paths does not have. Each path takes one millisecond, all of it on the CPU,
//! so that the graph is not empty and a selection in it selects paths.

use std::io::{self, Write};

use fxprof_processed_profile::{
    CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, ProcessHandle, Profile,
    ReferenceTimestamp, SamplingInterval, Timestamp, WeightType,
};
use holloway_format::Count;

use super::run::Result;
use super::stacks::{Stacks, Weight};
use crate::numbers::grouped;

/// Writes the stacks as one JSON object and a newline.
pub(super) fn write(stacks: &Stacks, name: &str, out: &mut dyn Write) -> Result<()> {
    let start = ReferenceTimestamp::from_millis_since_unix_epoch(0.0);
    let mut profile = Profile::new(name, start, SamplingInterval::from_millis(1));
    let process = profile.add_process(name, 1, time(0));
    for (weight, thread) in stacks.weights().into_iter().zip(1..) {
        add_thread(&mut profile, process, thread, stacks, weight);
    }
    profile.set_symbolicated(true);
    serde_json::to_writer(&mut *out, &profile).map_err(io::Error::from)?;
    Ok(writeln!(out)?)
}

fn add_thread(
    profile: &mut Profile,
    process: ProcessHandle,
    number: u32,
    stacks: &Stacks,
    weight: Weight,
) {
    let thread = profile.add_thread(process, number, time(0), false);
    let unit = unit(stacks, weight);
    profile.set_thread_name(thread, &thread_name(weight, unit));
    profile.set_thread_samples_weight_type(thread, WeightType::Samples);
    profile.add_initial_visible_thread(thread);
    if number == 1 {
        profile.add_initial_selected_thread(thread);
    }
    let labels: Vec<FrameInfo> = stacks
        .frames
        .iter()
        .map(|frame| FrameInfo {
            frame: Frame::Label(profile.intern_string(&frame.name)),
            category_pair: CategoryHandle::OTHER.into(),
            flags: FrameFlags::empty(),
        })
        .collect();
    for (path, millisecond) in stacks.paths.iter().zip(0..) {
        let frames = path.frames.iter();
        let frames = frames.map(|&frame| labels[frame as usize].clone());
        let stack = profile.intern_stack_frames(thread, frames);
        let scaled = rounded(path.weight(weight).0, unit);
        profile.add_sample(
            thread,
            time(millisecond),
            stack,
            CpuDelta::from_millis(1.0),
            scaled,
        );
    }
}

fn thread_name(weight: Weight, unit: u64) -> String {
    let what = match weight {
        Weight::Instructions | Weight::Count => weight.word(),
        Weight::Time => "nanoseconds",
    };
    match unit {
        1 => what.to_owned(),
        _ => format!("{what}, in units of {}", grouped(unit)),
    }
}

/// The smallest power of ten in which the heaviest path fits into 31 bits.
fn unit(stacks: &Stacks, weight: Weight) -> u64 {
    let heaviest = stacks.paths.iter().map(|path| path.weight(weight));
    let Count(heaviest) = heaviest.max().unwrap_or_default();
    let mut unit = 1;
    while heaviest / unit >= i32::MAX as u64 {
        unit *= 10;
    }
    unit
}

fn rounded(weight: u64, unit: u64) -> i32 {
    let rounded = weight / unit + u64::from(weight % unit >= unit.div_ceil(2) && unit > 1);
    i32::try_from(rounded).unwrap_or(i32::MAX)
}

fn time(millisecond: u64) -> Timestamp {
    Timestamp::from_nanos_since_reference(millisecond * 1_000_000)
}
