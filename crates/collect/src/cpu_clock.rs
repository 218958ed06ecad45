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

use perf_event::data;
use perf_event::events::Software;
use perf_event::{Builder, SampleFlag, Sampler};

use crate::address_spaces::{Action, AddressSpaces, Event};

/// CPU time between two samples of a thread, in nanoseconds. A prime, so that periodic work of a
/// program does not always meet the same phase.
pub(crate) const PERIOD_NS: u64 = 999_983;
/// Bytes of a processor's buffer. A sample takes 32 bytes and a mapping about 120, so a buffer that
/// is read every 50 ms can take the mappings of 500 execs a second.
const BUFFER_SIZE: usize = 64 << 10;
/// Time between two readings of the buffers.
const INTERVAL: Duration = Duration::from_millis(50);
/// `PERF_RECORD_MISC_COMM_EXEC`: the name of a process changed because of an exec.
const COMM_EXEC: u16 = 1 << 13;

/// The sampler of a program that is started by the thread that called [`CpuClock::open`].
pub(crate) struct CpuClock {
    /// The thread that reads the samples, until sampling ends.
    reader: Option<JoinHandle<SampledProcesses>>,
    has_ended: Arc<AtomicBool>,
}

/// The samples of a program and its child processes.
#[derive(Default)]
pub(crate) struct SampledProcesses {
    pub(crate) spaces: AddressSpaces,
    /// Records that the kernel dropped because a buffer was full.
    pub(crate) lost: u64,
}

impl CpuClock {
    /// Prepares sampling of the next program that this thread starts.
    ///
    /// # Errors
    /// If the kernel does not allow it, or the thread that reads the samples cannot be started.
    pub(crate) fn open() -> io::Result<Self> {
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
            .spawn(move || Reader::new(samplers).read_until(&reader_has_ended))?;
        Ok(Self {
            reader: Some(reader),
            has_ended,
        })
    }

    /// Ends sampling. Returns the samples. Returns `None` if the thread that reads them panicked;
    /// the panic has printed its message.
    pub(crate) fn finish(mut self) -> Option<SampledProcesses> {
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

/// The numbers of the online processors.
fn online_processors() -> io::Result<Vec<usize>> {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/online")?;
    parse_processors(&list).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Parses a list of the kernel's: `0-3,6`.
fn parse_processors(list: &str) -> Option<Vec<usize>> {
    let mut processors = Vec::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        processors.extend(first..=last);
    }
    Some(processors)
}

/// Reads the buffers of all processors, and adds their events in the order of time.
struct Reader {
    samplers: Vec<Sampler>,
    /// Events that were read and not added yet.
    events: Vec<Event>,
    /// The latest time of the previous round. Events before it cannot come any more, because each
    /// buffer has been read since.
    previous_latest: u64,
    /// The latest time of all events that were read.
    latest: u64,
    result: SampledProcesses,
}

impl Reader {
    fn new(samplers: Vec<Sampler>) -> Self {
        Self {
            samplers,
            events: Vec::new(),
            previous_latest: 0,
            latest: 0,
            result: SampledProcesses::default(),
        }
    }

    fn read_until(mut self, has_ended: &AtomicBool) -> SampledProcesses {
        while !has_ended.load(Ordering::Acquire) {
            std::thread::park_timeout(INTERVAL);
            self.read();
            let limit = self.previous_latest;
            self.add_events(limit);
        }
        self.read();
        self.add_events(u64::MAX);
        self.result
    }

    /// Reads all buffers.
    fn read(&mut self) {
        self.previous_latest = self.latest;
        for sampler in &mut self.samplers {
            while let Some(record) = sampler.next_record() {
                let is_exec = record.misc() & COMM_EXEC != 0;
                match record.parse_record() {
                    Ok(data::Record::Lost(lost)) => self.result.lost += lost.lost,
                    Ok(parsed) => {
                        let time = trailing_time(&record.to_contiguous());
                        self.events.extend(event(parsed, is_exec, time));
                    }
                    Err(_) => self.result.lost += 1,
                }
            }
        }
        self.events.sort_by_key(|event| event.time);
        if let Some(last) = self.events.last() {
            self.latest = self.latest.max(last.time);
        }
    }

    /// Adds the events up to a time.
    fn add_events(&mut self, limit: u64) {
        let known = self.events.partition_point(|event| event.time <= limit);
        for event in self.events.drain(..known) {
            self.result.spaces.add(event);
        }
    }
}

/// The time of a record that is no sample: its last eight bytes.
fn trailing_time(record: &[u8]) -> u64 {
    record
        .last_chunk()
        .map_or(0, |time| u64::from_ne_bytes(*time))
}

/// The event of a record. `None` for records that do not matter here.
fn event(record: data::Record<'_>, is_exec: bool, trailing_time: u64) -> Option<Event> {
    let (time, process, action) = match record {
        data::Record::Sample(sample) => {
            let address = sample.ip()?;
            (sample.time()?, sample.pid()?, Action::Sample { address })
        }
        data::Record::Mmap2(map) => {
            let action = Action::Map {
                start: map.addr,
                length: map.len,
                offset: map.pgoff,
                path: String::from_utf8_lossy(&map.filename).into_owned(),
            };
            (trailing_time, map.pid, action)
        }
        data::Record::Comm(comm) if is_exec => (trailing_time, comm.pid, Action::Exec),
        data::Record::Fork(fork) if fork.pid == fork.ppid => {
            (trailing_time, fork.pid, Action::ThreadStart)
        }
        data::Record::Fork(fork) => {
            let parent = fork.ppid;
            (trailing_time, fork.pid, Action::Fork { parent })
        }
        data::Record::Exit(exit) => (trailing_time, exit.pid, Action::ThreadEnd),
        _ => return None,
    };
    Some(Event {
        time,
        process,
        action,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn lists_of_processors_have_ranges() {
        assert_eq!(parse_processors("0\n"), Some(vec![0]));
        assert_eq!(
            parse_processors("0-2,5,7-8\n"),
            Some(vec![0, 1, 2, 5, 7, 8])
        );
        assert_eq!(parse_processors("none"), None);
    }

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
        let executions = processes.spaces.executions();
        assert!(!executions.is_empty());
        let program = executions[0].program.unwrap();
        let path = std::fs::canonicalize(processes.spaces.path(program)).unwrap();
        assert_eq!(path, std::fs::canonicalize("/bin/sh").unwrap());
        assert_eq!(executions[0].unmapped, 0);
    }
}
