//! Samples the code that processes, or all processes of the machine, execute in user mode, for as
//! long as the user wants (Morph's monitor: Zhang et al. 1997, section 3).
//!
//! - The clock is the processor's cycle counter. On machines without one it is the kernel's tick
//!   (`tick`) for the whole machine, if the kernel permits it, and the kernel's timer otherwise.
//! - A stated number of samples per second of CPU time, on average ([`default_frequency`]). Each
//!   period is drawn at random (`period`), 2 times a second. Threads that start later inherit the
//!   last period of their parent. The tick has a fixed period.
//! - Samples in the kernel, and so idle time, are not taken.
//! - Each buffer has 256 KiB, as Morph's; several threads that are watched from the start share
//!   this size, as long as each gets 16 KiB, or 128 KiB with branch stacks. The kernel counts the
//!   records that do not fit.
//! - Exec, mappings, forks, and exits are followed (`address_spaces`). Mappings of processes that
//!   run at the start come from /proc.
//!
//! Memory grows with the number of sampled addresses and of running processes, not with time.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::num::NonZeroU64;
use std::path::Path;
use std::time::{Duration, Instant};

use holloway_format::samples::{MonitorState, SampleClock, SampleRecord};
use holloway_format::{Count, ProgramSamples};
use perf_event::events::{Hardware, Software, Tracepoint};
use perf_event::{Builder, SampleBranchFlag, SampleFlag, Sampler};
use rustix::io::Errno;

use crate::address_spaces::{AddressSpaces, LocatedStack};
use crate::buffers::{Buffers, online_processors};
use crate::files::SampledFiles;
use crate::period::RandomFactors;
use crate::program_copy::ProgramCopy;
use crate::{control, processes, tick};

/// Samples per second of CPU time of Morph's monitor (Zhang et al. 1997, section 3).
const FREQUENCY: u64 = 1024;
/// Samples per second if the kernel's timer interrupts all processes of a machine. In a virtual
/// machine, each interrupt takes about 35 µs.
const FREQUENCY_OF_TIMER: u64 = 256;
/// Time between two readings of the buffers, and between two random periods. A reading takes about
/// 0.2 ms of CPU time on a busy machine.
const INTERVAL: Duration = Duration::from_millis(500);
/// Time between two readings if there are more samples than [`FREQUENCY`], or samples with stacks.
/// A sample without a stack takes 40 bytes.
const SHORT_INTERVAL: Duration = Duration::from_millis(100);
/// Bytes of the buffers of a processor.
const BUFFER_SIZE: usize = 256 << 10;
/// Minimum bytes of a buffer. The size is a power of two of pages.
const MIN_BUFFER_SIZE: usize = 16 << 10;
/// Minimum bytes of a buffer if samples have stacks. A sample with 32 branches takes 808 bytes, so
/// [`FREQUENCY`] samples per second fill 81 KiB in [`SHORT_INTERVAL`].
const MIN_BUFFER_SIZE_OF_STACKS: usize = 128 << 10;

/// What a monitor watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// All processes of the machine.
    System,
    /// A process with its threads and child processes.
    Process(u32),
    /// A process from its next exec on, with the threads and child processes that it starts.
    AfterExec(u32),
}

/// The samples per second of CPU time, on average, unless the user chooses another number.
pub fn default_frequency(target: Target, clock: SampleClock) -> u64 {
    match (target, clock) {
        (_, SampleClock::Tick) => tick::frequency(),
        (Target::System, SampleClock::CpuTime) => FREQUENCY_OF_TIMER,
        (Target::System, SampleClock::Cycles | SampleClock::Other)
        | (Target::Process(_) | Target::AfterExec(_), _) => FREQUENCY,
    }
}

/// The reason why a monitor cannot start.
#[derive(Debug, thiserror::Error)]
pub enum MonitorError {
    /// The kernel does not permit it.
    #[error("the kernel does not permit to sample {}{}", of(.target), remedy(.target, *.paranoid))]
    NotPermitted {
        /// What should be watched.
        target: Target,
        /// The sysctl `kernel.perf_event_paranoid`, if it can be read.
        paranoid: Option<i32>,
    },
    /// The process does not run.
    #[error("there is no process {process}: `ps` lists the processes")]
    NoProcess {
        /// The process.
        process: u32,
    },
    /// The limit of open files is too low.
    #[error("watching {} needs more open files than the limit permits: raise it (ulimit -n)", of(.target))]
    TooManyFiles {
        /// What should be watched.
        target: Target,
    },
    /// The machine records no branch stacks.
    #[error(
        "this machine has no branch stacks (LBR, BRS, BRBE), as in many virtual machines: leave out --branch-stacks, or record elsewhere with `perf record -j any,u` and use `holloway import`"
    )]
    NoBranchStacks,
    /// Another error of the system.
    #[error("cannot sample {}: {source}", of(.target))]
    System {
        /// What should be watched.
        target: Target,
        /// The system's error.
        source: io::Error,
    },
}

fn of(target: &Target) -> String {
    match target {
        Target::System => "the whole system".to_owned(),
        Target::Process(process) => format!("process {process}"),
        Target::AfterExec(_) => "the program".to_owned(),
    }
}

fn remedy(target: &Target, paranoid: Option<i32>) -> String {
    let (needed, permission) = match target {
        Target::System => (0, "run as root, or"),
        Target::Process(_) => (2, "run as root or as the process's user, and"),
        Target::AfterExec(_) => (2, "run as root, or"),
    };
    let level = paranoid.map_or(String::new(), |level| format!(" (it is {level})"));
    format!(": {permission} set kernel.perf_event_paranoid to {needed} or less{level}")
}

/// A running monitor.
pub struct Monitor {
    buffers: Buffers,
    clock: SampleClock,
    frequency: u64,
    stacks: BranchStacks,
    factors: RandomFactors,
    spaces: AddressSpaces,
    files: SampledFiles,
    programs: BTreeMap<String, u64>,
    without_file: u64,
    start: Instant,
}

impl Monitor {
    /// Starts to take `frequency` samples per second of CPU time on average, or
    /// [`default_frequency`].
    ///
    /// # Errors
    /// If the kernel does not permit it, or the process does not run.
    pub fn start(target: Target, frequency: Option<NonZeroU64>) -> Result<Self, MonitorError> {
        Self::open(target, frequency, BranchStacks::Unrecorded)
    }

    /// Starts like [`Monitor::start`], and records the taken branches before each sample.
    ///
    /// # Errors
    /// Also if the machine records no branch stacks.
    pub fn start_with_branch_stacks(
        target: Target,
        frequency: Option<NonZeroU64>,
    ) -> Result<Self, MonitorError> {
        Self::open(target, frequency, BranchStacks::Recorded)
    }

    fn open(
        target: Target,
        frequency: Option<NonZeroU64>,
        stacks: BranchStacks,
    ) -> Result<Self, MonitorError> {
        let error = |source: io::Error| error_of(target, source);
        let processors = online_processors().map_err(error)?;
        let mut factors = RandomFactors::new();
        let mut open = |clock| {
            let frequency =
                frequency.map_or_else(|| default_frequency(target, clock), NonZeroU64::get);
            let source = Source::new(clock, frequency, factors.draw())?;
            let samplers = open_all(target, &processors, source, stacks)?;
            Ok((samplers, clock, frequency))
        };
        let has_tick = target == Target::System && frequency.is_none();
        let opened =
            open(SampleClock::Cycles).or_else(|error| match (has_no_counter(&error), stacks) {
                (true, BranchStacks::Unrecorded) if has_tick => {
                    open(SampleClock::Tick).or_else(|_: io::Error| open(SampleClock::CpuTime))
                }
                (true, BranchStacks::Unrecorded) => open(SampleClock::CpuTime),
                // Some processors record stacks only of branches.
                (true, BranchStacks::Recorded) => open(SampleClock::Other),
                (false, _) => Err(error),
            });
        let (samplers, clock, frequency) = opened.map_err(|source| match stacks {
            BranchStacks::Recorded if has_no_counter(&source) || is(&source, Errno::INVAL) => {
                MonitorError::NoBranchStacks
            }
            BranchStacks::Recorded | BranchStacks::Unrecorded => error(source),
        })?;
        let mut spaces = AddressSpaces::default();
        // The events are enabled already, so no mapping is missed in between.
        let running = match target {
            Target::System => processes::running(None),
            Target::Process(process) => processes::running(Some(process)),
            Target::AfterExec(_) => BTreeSet::new(),
        };
        for process in running {
            processes::state(process)
                .into_iter()
                .for_each(|event| spaces.add(event));
        }
        Ok(Self {
            buffers: Buffers::new(samplers),
            clock,
            frequency,
            stacks,
            factors,
            spaces,
            files: SampledFiles::default(),
            programs: BTreeMap::new(),
            without_file: 0,
            start: Instant::now(),
        })
    }

    /// Time between two calls of [`Monitor::read`].
    pub fn interval(&self) -> Duration {
        interval(self.frequency, self.stacks)
    }

    /// Reads the buffers, and draws the next period. Call it each [`Monitor::interval`].
    pub fn read(&mut self) {
        self.buffers.read();
        let spaces = &mut self.spaces;
        self.buffers
            .take_ordered()
            .for_each(|event| spaces.add(event));
        self.attribute();
        let period = match self.clock {
            SampleClock::Cycles | SampleClock::CpuTime | SampleClock::Other => {
                setting(self.clock, self.frequency, self.factors.draw())
            }
            SampleClock::Tick => return,
        };
        for sampler in self.buffers.samplers() {
            // Fails if the thread has ended.
            control::set_period(sampler, period).ok();
        }
    }

    /// Reads all that is left in the buffers, at the end.
    pub fn read_rest(&mut self) {
        self.buffers.read();
        let spaces = &mut self.spaces;
        self.buffers.take_all().for_each(|event| spaces.add(event));
        self.attribute();
    }

    /// Takes the copies of programs that were sampled for the first time since the last call. They
    /// should be written before the program is changed.
    pub fn take_copies(&mut self) -> Vec<ProgramCopy> {
        self.files.take_copies()
    }

    /// Takes the branch stacks that were read since the last call, each with the oldest branch
    /// first.
    pub fn take_stacks(&mut self) -> Vec<LocatedStack> {
        self.spaces.take_stacks()
    }

    /// The files of processes.
    pub fn address_spaces(&self) -> &AddressSpaces {
        &self.spaces
    }

    /// The samples up to now.
    pub fn record(&self, state: MonitorState) -> SampleRecord {
        let programs = self.programs.iter();
        SampleRecord {
            clock: self.clock,
            state,
            frequency: self.frequency,
            duration_ns: u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX),
            lost: self.buffers.lost,
            without_file: Count(self.without_file),
            files: self.files.monitored(),
            programs: programs
                .map(|(path, &samples)| ProgramSamples {
                    path: path.clone(),
                    samples: Count(samples),
                })
                .collect(),
        }
    }

    /// Attributes the samples that the address spaces have located to files and programs.
    fn attribute(&mut self) {
        for execution in self.spaces.take_samples() {
            let samples = execution.samples.values().sum::<u64>() + execution.unmapped;
            let program = execution.program.map(|file| self.spaces.path(file));
            let program = program.map_or_else(Cow::default, Path::to_string_lossy);
            match self.programs.get_mut(&*program) {
                Some(sum) => *sum += samples,
                None => drop(self.programs.insert(program.into_owned(), samples)),
            }
            self.without_file += execution.unmapped;
            for (&(id, offset), &samples) in &execution.samples {
                let file = self.spaces.file(id);
                match file.is_anonymous() {
                    true => self.without_file += samples,
                    false => self
                        .files
                        .add(id, file, execution.process, (offset, samples)),
                }
            }
        }
    }
}

/// Time between two readings.
fn interval(frequency: u64, stacks: BranchStacks) -> Duration {
    match stacks {
        BranchStacks::Unrecorded if frequency <= FREQUENCY => INTERVAL,
        BranchStacks::Unrecorded | BranchStacks::Recorded => SHORT_INTERVAL,
    }
}

/// Bytes of a buffer, if a processor has so many.
fn buffer_size(buffers: usize, stacks: BranchStacks) -> usize {
    let min = match stacks {
        BranchStacks::Recorded => MIN_BUFFER_SIZE_OF_STACKS,
        BranchStacks::Unrecorded => MIN_BUFFER_SIZE,
    };
    min.max(BUFFER_SIZE / buffers.next_power_of_two())
}

/// What determines the time between two samples: the number of samples per second of an event that
/// counts cycles, or the nanoseconds between two samples of the kernel's timer. `factor` makes the
/// average time longer or shorter. Each tick is a sample.
fn setting(clock: SampleClock, frequency: u64, factor: f64) -> u64 {
    let setting = match clock {
        SampleClock::Cycles | SampleClock::Other => frequency as f64 / factor,
        SampleClock::CpuTime => 1e9 / frequency as f64 * factor,
        SampleClock::Tick => 1.0,
    };
    (setting as u64).max(1)
}

/// What takes a sample.
#[derive(Clone, Copy)]
enum Source {
    /// A number of cycles, so that there are so many samples per second.
    Cycles { frequency: u64 },
    /// A number of branches, so that there are so many samples per second.
    Branches { frequency: u64 },
    /// The kernel's timer, after so many nanoseconds.
    Timer { period: u64 },
    /// The tracepoint in the kernel's tick.
    Tick { tracepoint: u64 },
}

impl Source {
    fn new(clock: SampleClock, frequency: u64, factor: f64) -> io::Result<Self> {
        let setting = setting(clock, frequency, factor);
        Ok(match clock {
            SampleClock::Cycles => Self::Cycles { frequency: setting },
            SampleClock::Other => Self::Branches { frequency: setting },
            SampleClock::CpuTime => Self::Timer { period: setting },
            SampleClock::Tick => Self::Tick {
                tracepoint: tick::tracepoint().ok_or(io::ErrorKind::NotFound)?,
            },
        })
    }
}

/// Opens an event on each processor, for each watched thread.
fn open_all(
    target: Target,
    processors: &[usize],
    source: Source,
    stacks: BranchStacks,
) -> io::Result<Vec<Sampler>> {
    let threads: Vec<Option<u32>> = match target {
        Target::System => vec![None],
        Target::AfterExec(process) => vec![Some(process)],
        Target::Process(process) => {
            let processes = processes::running(Some(process));
            let threads = processes.into_iter().flat_map(processes::threads);
            threads.map(Some).collect()
        }
    };
    let size = buffer_size(threads.len(), stacks);
    let mut samplers = Vec::new();
    let mut ended = None;
    for &thread in &threads {
        for &processor in processors {
            let builder =
                |reports: BuildIds| builder(target, thread, processor, source, stacks, reports);
            let opened = builder(BuildIds::Reported)
                .build()
                .or_else(
                    |error| match error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) {
                        // Linux reports build ids since 5.12.
                        true => builder(BuildIds::Unreported).build(),
                        false => Err(error),
                    },
                )
                .and_then(|counter| counter.sampled(size))
                .and_then(|sampler| match source {
                    Source::Tick { .. } => Ok(tick::set_filter(&sampler).map(|()| sampler)?),
                    Source::Cycles { .. } | Source::Branches { .. } | Source::Timer { .. } => {
                        Ok(sampler)
                    }
                });
            match opened {
                Ok(sampler) => samplers.push(sampler),
                // The processor went offline, or the thread has ended.
                Err(error) if is(&error, Errno::NODEV) || is(&error, Errno::SRCH) => {
                    ended = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
    }
    match (samplers.is_empty(), ended) {
        (true, error) => Err(error.unwrap_or_else(|| Errno::SRCH.into())),
        (false, _) => Ok(samplers),
    }
}

/// Whether samples have the taken branches before them.
#[derive(Clone, Copy)]
enum BranchStacks {
    Recorded,
    Unrecorded,
}

/// Whether mappings are reported with the build ids of files.
#[derive(Clone, Copy)]
enum BuildIds {
    Reported,
    Unreported,
}

fn builder(
    target: Target,
    thread: Option<u32>,
    processor: usize,
    source: Source,
    stacks: BranchStacks,
    build_ids: BuildIds,
) -> Builder<'static> {
    let mut builder = match source {
        Source::Cycles { .. } => Builder::new(Hardware::CPU_CYCLES),
        Source::Branches { .. } => Builder::new(Hardware::BRANCH_INSTRUCTIONS),
        Source::Timer { .. } => Builder::new(Software::CPU_CLOCK),
        Source::Tick { tracepoint } => Builder::new(Tracepoint::with_id(tracepoint)),
    };
    match source {
        Source::Cycles { frequency } | Source::Branches { frequency } => {
            builder.sample_frequency(frequency)
        }
        Source::Timer { period } => builder.sample_period(period),
        Source::Tick { .. } => builder.sample_period(1),
    };
    match source {
        Source::Cycles { .. } | Source::Branches { .. } | Source::Timer { .. } => {
            builder.exclude_kernel(true).sample(SampleFlag::IP)
        }
        Source::Tick { .. } => {
            let builder = builder.exclude_kernel(false).exclude_hv(true);
            let builder = builder.sample(SampleFlag::REGS_USER);
            builder.sample_regs_user(tick::REGISTERS)
        }
    };
    match thread {
        None => builder.any_pid(),
        Some(thread) => builder.observe_pid(thread as i32).inherit(true),
    };
    match target {
        Target::System | Target::Process(_) => builder.enabled(true),
        Target::AfterExec(_) => builder.enable_on_exec(true),
    };
    let branches = match stacks {
        BranchStacks::Recorded => SampleFlag::BRANCH_STACK,
        BranchStacks::Unrecorded => SampleFlag::empty(),
    };
    builder
        .one_cpu(processor)
        .sample(SampleFlag::TID | SampleFlag::TIME | branches)
        .branch_sample_type(SampleBranchFlag::USER | SampleBranchFlag::ANY)
        .sample_id_all(true)
        .mmap(true)
        .mmap2(true)
        .build_id(matches!(build_ids, BuildIds::Reported))
        .comm(true)
        .comm_exec(true)
        .task(true);
    builder
}

fn is(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno.raw_os_error())
}

/// Whether the machine has no counter of cycles, or does not let programs use it.
fn has_no_counter(error: &io::Error) -> bool {
    [Errno::NOENT, Errno::OPNOTSUPP, Errno::NODEV]
        .into_iter()
        .any(|errno| is(error, errno))
}

fn error_of(target: Target, source: io::Error) -> MonitorError {
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    match target {
        Target::Process(process) | Target::AfterExec(process) if is(&source, Errno::SRCH) => {
            MonitorError::NoProcess { process }
        }
        _ if is(&source, Errno::PERM) || is(&source, Errno::ACCESS) => MonitorError::NotPermitted {
            target,
            paranoid: paranoid.ok().and_then(|text| text.trim().parse().ok()),
        },
        _ if is(&source, Errno::MFILE) => MonitorError::TooManyFiles { target },
        _ => MonitorError::System { target, source },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_process_that_does_not_run_is_an_error() {
        let Err(error) = Monitor::start(Target::Process(u32::MAX >> 1), None) else {
            panic!("there is no such process");
        };
        let text = error.to_string();
        assert!(
            text.contains("no process") && !text.contains('\n'),
            "{text}"
        );
    }

    #[test]
    fn refusals_name_the_remedy() {
        let error = MonitorError::NotPermitted {
            target: Target::System,
            paranoid: Some(2),
        };
        assert_eq!(
            error.to_string(),
            "the kernel does not permit to sample the whole system: run as root, or set kernel.perf_event_paranoid to 0 or less (it is 2)"
        );
    }

    #[test]
    fn the_average_time_between_samples_follows_from_the_frequency() {
        assert_eq!(setting(SampleClock::CpuTime, 1000, 1.0), 1_000_000);
        assert_eq!(setting(SampleClock::CpuTime, 1000, 0.5), 500_000);
        assert_eq!(setting(SampleClock::Cycles, 1000, 0.5), 2000);
        assert_eq!(setting(SampleClock::Cycles, 1, 1.5), 1);
    }

    #[test]
    fn the_samples_of_one_interval_fit_into_a_buffer() {
        for (stacks, bytes) in [
            (BranchStacks::Unrecorded, 40.0),
            (BranchStacks::Recorded, 808.0),
        ] {
            let samples = FREQUENCY as f64 * interval(FREQUENCY, stacks).as_secs_f64();
            assert!(samples * bytes < buffer_size(1, stacks) as f64, "{bytes}");
        }
        let least = buffer_size(1000, BranchStacks::Recorded) as f64;
        assert!(FREQUENCY as f64 * SHORT_INTERVAL.as_secs_f64() * 808.0 < least);
        assert_eq!(buffer_size(3, BranchStacks::Unrecorded), BUFFER_SIZE / 4);
        assert_eq!(
            interval(FREQUENCY + 1, BranchStacks::Unrecorded),
            SHORT_INTERVAL
        );
    }

    #[test]
    fn the_timer_samples_a_whole_machine_less_often() {
        let program = Target::AfterExec(1);
        for (target, clock, expected) in [
            (Target::System, SampleClock::CpuTime, 256),
            (Target::System, SampleClock::Cycles, 1024),
            (Target::System, SampleClock::Tick, tick::frequency()),
            (program, SampleClock::CpuTime, 1024),
            (program, SampleClock::Cycles, 1024),
        ] {
            assert_eq!(default_frequency(target, clock), expected);
        }
    }

    /// Passes where sampling is forbidden, too.
    #[test]
    fn this_process_is_sampled_unless_the_kernel_refuses() {
        let Ok(mut monitor) = Monitor::start(Target::Process(std::process::id()), None) else {
            return;
        };
        let start = Instant::now();
        let mut sum = 0u64;
        while start.elapsed() < Duration::from_millis(300) {
            sum = std::hint::black_box(sum.wrapping_mul(31) + 1);
        }
        monitor.read();
        monitor.read_rest();
        let record = monitor.record(MonitorState::Ended);
        let program = std::env::current_exe().unwrap();
        let mut files = record.files.iter();
        let file = files.find(|file| std::path::Path::new(&file.path) == program);
        let file = file.unwrap_or_else(|| panic!("{record:?}"));
        assert_eq!(file.blocks, holloway_format::samples::KnownBlocks::NotWoven);
        assert!(file.total() > Count(10), "{:?}", file.total());
    }
}
