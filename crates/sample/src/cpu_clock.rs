//! Samples the code that a program executes: once in about a millisecond of the CPU time of each
//! thread, in user mode, in the program and all its child processes.
//!
//! The kernel's software clock needs no privilege and no hardware counter. The events are opened on
//! the thread that starts the program. They do nothing there: the program inherits them, and its
//! exec enables them. So the program needs no change, and no sample of holloway is taken.
//!
//! An inherited event can write only into a buffer of the processor that it is for. So there is an
//! event with a buffer for each processor. A thread reads the buffers 20 times a second.
//!
//! Cost: an interrupt in a millisecond, and 64 KiB of memory for each processor.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use perf_event::events::Software;
use perf_event::{Builder, SampleFlag, Sampler};

use crate::address_spaces::AddressSpaces;
use crate::buffers::{Buffers, online_processors};

/// CPU time between two samples of a thread, in nanoseconds. A prime, so that periodic work of a
/// program does not always meet the same phase.
pub const PERIOD_NS: u64 = 999_983;
/// Bytes of a processor's buffer. A sample takes 32 bytes and a mapping about 120, so a buffer that
/// is read every 50 ms can take the mappings of 500 execs a second.
const BUFFER_SIZE: usize = 64 << 10;
/// Time between two readings of the buffers.
const INTERVAL: Duration = Duration::from_millis(50);

/// The sampler of a program that is started by the thread that called [`CpuClock::open`].
pub struct CpuClock {
    /// The thread that reads the samples, until sampling ends.
    reader: Option<JoinHandle<SampledProcesses>>,
    has_ended: Arc<AtomicBool>,
}

/// The samples of a program and its child processes.
#[derive(Default)]
pub struct SampledProcesses {
    /// The processes, with their samples.
    pub spaces: AddressSpaces,
    /// Records that the kernel dropped because a buffer was full.
    pub lost: u64,
}

impl CpuClock {
    /// Prepares sampling of the next program that this thread starts.
    ///
    /// # Errors
    /// If the kernel does not allow it, or the thread that reads the samples cannot be started.
    pub fn open() -> io::Result<Self> {
        let mut samplers = Vec::new();
        for processor in online_processors()? {
            match open_on(processor) {
                Ok(sampler) => samplers.push(sampler),
                // The processor went offline just now.
                Err(error) if error.raw_os_error() == Some(ENODEV) => {}
                Err(error) => return Err(error),
            }
        }
        let has_ended = Arc::new(AtomicBool::new(false));
        let reader_has_ended = Arc::clone(&has_ended);
        let reader = std::thread::Builder::new()
            .name("cpu clock".to_owned())
            .spawn(move || read_until(Buffers::new(samplers), &reader_has_ended))?;
        Ok(Self {
            reader: Some(reader),
            has_ended,
        })
    }

    /// Ends sampling. Returns the samples. Returns `None` if the thread that reads them panicked;
    /// the panic has printed its message.
    pub fn finish(mut self) -> Option<SampledProcesses> {
        self.stop()
    }

    fn stop(&mut self) -> Option<SampledProcesses> {
        self.has_ended.store(true, Ordering::Release);
        let reader = self.reader.take()?;
        reader.thread().unpark();
        reader.join().ok()
    }
}

impl Drop for CpuClock {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Reads the buffers until sampling ends.
fn read_until(mut buffers: Buffers, has_ended: &AtomicBool) -> SampledProcesses {
    let mut spaces = AddressSpaces::default();
    while !has_ended.load(Ordering::Acquire) {
        std::thread::park_timeout(INTERVAL);
        buffers.read();
        buffers.take_ordered().for_each(|event| spaces.add(event));
    }
    buffers.read();
    buffers.take_all().for_each(|event| spaces.add(event));
    SampledProcesses {
        spaces,
        lost: buffers.lost,
    }
}

/// The error number "no such device".
const ENODEV: i32 = 19;

fn open_on(processor: usize) -> io::Result<Sampler> {
    Builder::new(Software::CPU_CLOCK)
        .observe_self()
        .one_cpu(processor)
        .sample_period(PERIOD_NS)
        .sample(SampleFlag::IP | SampleFlag::TID | SampleFlag::TIME)
        .sample_id_all(true)
        .exclude_kernel(true)
        .inherit(true)
        .enable_on_exec(true)
        .mmap(true)
        .mmap2(true)
        .comm(true)
        .comm_exec(true)
        .task(true)
        .build()?
        .sampled(BUFFER_SIZE)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn samples_of_a_reader_that_panicked_are_missing() {
        let reader = std::thread::spawn(|| -> SampledProcesses { panic!("expected by the test") });
        let clock = CpuClock {
            reader: Some(reader),
            has_ended: Arc::default(),
        };
        assert!(clock.finish().is_none());
    }

    /// Passes where sampling is forbidden, too.
    #[test]
    fn a_busy_program_is_sampled_unless_the_kernel_refuses() {
        let Ok(clock) = CpuClock::open() else {
            return;
        };
        let script = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; (exit 0)";
        let mut command = std::process::Command::new("/bin/sh");
        assert!(command.args(["-c", script]).status().unwrap().success());
        let processes = clock.finish().unwrap();
        let executions: Vec<_> = processes.spaces.executions().collect();
        assert!(!executions.is_empty());
        let program = executions[0].program.unwrap();
        let path = std::fs::canonicalize(processes.spaces.path(program)).unwrap();
        assert_eq!(path, std::fs::canonicalize("/bin/sh").unwrap());
        assert_eq!(executions[0].unmapped, 0);
    }
}
