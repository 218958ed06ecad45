//! Weaves the modules of a link: from the cache, or each in a worker process of its own, several at
//! a time.
//!
//! Each module has its own process because LLVM may abort, and because processes run in parallel
//! without sharing anything. The largest module goes first, so that it does not run alone at the
//! end.
//!
//! A worker writes the name of the function it works on into a file. If the worker dies, the
//! message names that function, and the module is compiled again without probes, then without
//! optimization. An object with machine code beside its bitcode falls back to the machine code. So
//! a link fails only where nothing can be linked in a module's place. Every module that was not
//! woven is reported on stderr and listed in the map.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGKILL, SIGTERM};

use holloway_format::MAP_VERSION;
use holloway_weave::cache::{self, Cache, Key};
use holloway_weave::{OptLevel, WovenModule};

use crate::collect_options::Switch;
use crate::error::{Error, Result};
use crate::guide::LinkGuide;
use crate::inputs::Inputs;
use crate::jobserver::Jobserver;
use crate::level;
use crate::llvm::find_llvm;
use crate::message::Message;
use crate::outcome::Outcome;
use crate::records::Recorder;
use crate::settings::LinkSettings;
use crate::worker::{self, WorkerExit};

/// Weaves the modules of a link.
pub(crate) struct Weaver<'a> {
    inputs: &'a Inputs,
    settings: &'a LinkSettings,
    guide: Option<&'a LinkGuide>,
    scratch: &'a Path,
    recorder: &'a Recorder<'a>,
    exe: PathBuf,
    llvm: PathBuf,
    /// The part that all cache keys have in common.
    identity: String,
    cache: Option<Cache>,
}

/// How a module is compiled.
#[derive(Clone, Copy)]
struct Attempt {
    probes: bool,
    opt: Option<OptLevel>,
}

/// How an attempt ended.
enum End {
    Done(WovenModule),
    /// The module or its machine is at fault.
    Error(String),
    /// It can neither be woven nor compiled alone.
    Refused(String),
    /// It can be compiled but not woven exactly.
    Unfit(String),
    Crash(String),
}

impl<'a> Weaver<'a> {
    /// A weaver of the modules of `inputs`.
    ///
    /// # Errors
    /// There is no libLLVM.
    pub(crate) fn new(
        inputs: &'a Inputs,
        settings: &'a LinkSettings,
        guide: Option<&'a LinkGuide>,
        scratch: &'a Path,
        recorder: &'a Recorder<'a>,
    ) -> Result<Self> {
        let exe = std::env::current_exe().map_err(Error::OwnExecutable)?;
        let library = find_llvm()?.library;
        let llvm = library.path().to_owned();
        let identity = format!(
            "holloway {} map {MAP_VERSION} {} llvm {:?} {}\nkind {} collect {} exits {} guide {} std {} only {:?} skip {:?} sections {}\n",
            env!("CARGO_PKG_VERSION"),
            file_identity(&exe),
            library.version(),
            file_identity(&llvm),
            settings.shared,
            settings.collect,
            settings.exits,
            guide.map_or("none", |guide| &guide.hash),
            settings.std,
            settings.only,
            settings.skip,
            settings.function_sections,
        );
        let cache = settings
            .cache
            .as_deref()
            .and_then(|directory| match Cache::open(directory) {
                Ok(cache) => Some(cache),
                Err(source) => {
                    recorder.show(&Message::NoCache {
                        directory: directory.to_owned(),
                        source,
                    });
                    None
                }
            });
        Ok(Self {
            inputs,
            settings,
            guide,
            scratch,
            recorder,
            exe,
            llvm,
            identity,
            cache,
        })
    }

    /// The messages of the link.
    pub(crate) fn recorder(&self) -> &'a Recorder<'a> {
        self.recorder
    }

    /// The modules.
    pub(crate) fn inputs(&self) -> &'a Inputs {
        self.inputs
    }

    /// Weaves every module. The result has an outcome for each module, in order.
    ///
    /// # Errors
    /// When a module can neither be compiled nor linked as it is.
    pub(crate) fn weave_all(&self) -> Result<Vec<Outcome>> {
        let mut outcomes: Vec<Option<Outcome>> = (0..self.inputs.modules.len())
            .map(|number| self.cached(number))
            .collect();
        let mut queue: Vec<usize> = (0..outcomes.len())
            .filter(|&number| outcomes[number].is_none())
            .collect();
        queue.sort_by_key(|&number| std::cmp::Reverse(self.inputs.modules[number].range.len()));
        for (number, outcome) in self.run(&queue)? {
            outcomes[number] = Some(outcome);
        }
        if !queue.is_empty()
            && let Some(cache) = &self.cache
        {
            cache.prune();
        }
        Ok(outcomes
            .into_iter()
            .map(|outcome| outcome.expect("cached, or in the queue"))
            .collect())
    }

    fn key(&self, number: usize) -> Key {
        let module = &self.inputs.modules[number];
        let settings = format!(
            "{}name {:?} opt {} fat {} beside {} probes {}",
            self.identity,
            module.name,
            self.settings.opt.map_or("own", level::name),
            self.inputs.whole_program == Some(number),
            module.fat_object.is_some(),
            self.settings.probes
        );
        Key::new(&module.digest, &settings)
    }

    fn cached(&self, number: usize) -> Option<Outcome> {
        let woven = self.cache.as_ref()?.find(self.key(number))?;
        Some(self.outcome(woven))
    }

    fn outcome(&self, woven: WovenModule) -> Outcome {
        if self.settings.probes {
            Outcome::Woven(woven)
        } else {
            Outcome::Plain(woven, String::new())
        }
    }

    /// Weaves the modules of `queue` on as many threads as jobs. Each thread waits for one worker
    /// process. All threads but the first ask the build's jobserver, if there is one, for a slot
    /// per module.
    fn run(&self, queue: &[usize]) -> Result<Vec<(usize, Outcome)>> {
        let jobserver = Jobserver::from_env().filter(|_| queue.len() > 1);
        let next = AtomicUsize::new(0);
        let is_done = || next.load(Ordering::Relaxed) >= queue.len();
        let results = Mutex::new(Vec::with_capacity(queue.len()));
        let failed = Mutex::new(None);
        let weave_next = || {
            let Some(&number) = queue.get(next.fetch_add(1, Ordering::Relaxed)) else {
                return;
            };
            match self.weave(number) {
                Ok(outcome) => locked(&results).push((number, outcome)),
                Err(error) => {
                    // Report the failure of the earliest module, whichever came first.
                    let mut failed = locked(&failed);
                    if failed.as_ref().is_none_or(|&(earlier, _)| number < earlier) {
                        *failed = Some((number, error));
                    }
                    next.store(queue.len(), Ordering::Relaxed);
                }
            }
        };
        std::thread::scope(|scope| {
            for worker in 0..self.settings.jobs.min(queue.len()) {
                let jobserver = jobserver.as_ref().filter(|_| worker > 0);
                scope.spawn(move || {
                    while !is_done() {
                        let slot = jobserver.map(|server| server.slot(is_done));
                        if let Some(None) = slot {
                            break;
                        }
                        weave_next();
                    }
                });
            }
        });
        match locked(&failed).take() {
            Some((_, error)) => Err(error),
            None => Ok(std::mem::take(&mut *locked(&results))),
        }
    }

    fn weave(&self, number: usize) -> Result<Outcome> {
        let shown = &self.inputs.modules[number].shown;
        let attempt = Attempt {
            probes: self.settings.probes,
            opt: self.settings.opt,
        };
        let reason = match self.attempt(number, attempt)? {
            End::Done(woven) => {
                if !woven.reads_files {
                    self.keep(number, &woven);
                }
                return Ok(self.outcome(woven));
            }
            End::Refused(message) => return self.machine_code(number, message),
            End::Unfit(message) | End::Error(message) => format!("{shown}: {message}"),
            End::Crash(at) => format!("weaving {shown} {at}"),
        };
        self.without_probes(number, &reason)
    }

    /// A module without probes: compiled, or else its own machine code.
    ///
    /// # Errors
    /// It can't be compiled, and has no machine code.
    pub(crate) fn without_probes(&self, number: usize, reason: &str) -> Result<Outcome> {
        let module = &self.inputs.modules[number];
        let plain_reason = format!("{reason}: linked without probes");
        let mut broken = None;
        for opt in [self.settings.opt, Some(OptLevel::O0)] {
            let attempt = Attempt { probes: false, opt };
            match self.attempt(number, attempt)? {
                End::Done(woven) => {
                    self.warn_unwoven(&plain_reason);
                    return Ok(Outcome::Plain(woven, plain_reason));
                }
                End::Refused(message) => return self.machine_code(number, message),
                End::Unfit(message) | End::Error(message) => broken = Some(message),
                End::Crash(_) => {}
            }
        }
        if module.fat_object.is_some() {
            let reason = format!("{reason}: linked as it is");
            self.warn_unwoven(&reason);
            return Ok(Outcome::MachineCode(reason));
        }
        Err(match broken {
            // The module itself is at fault, not the weaving.
            Some(reason) => Error::Module {
                module: module.shown.clone(),
                reason,
            },
            None => Error::Weaving {
                reason: reason.to_owned(),
            },
        })
    }

    /// A module that must not be compiled alone: its own machine code.
    fn machine_code(&self, number: usize, reason: String) -> Result<Outcome> {
        let module = &self.inputs.modules[number];
        if module.fat_object.is_none() {
            return Err(Error::Module {
                module: module.shown.clone(),
                reason,
            });
        }
        let reason = format!("{reason}: linked as it is");
        self.recorder.show(&Message::MachineCode {
            module: module.shown.clone(),
            reason: reason.clone(),
        });
        Ok(Outcome::MachineCode(reason))
    }

    fn warn_unwoven(&self, reason: &str) {
        self.recorder.show(&Message::Unwoven {
            reason: reason.to_owned(),
        });
    }

    fn keep(&self, number: usize, woven: &WovenModule) {
        static WARNED: AtomicUsize = AtomicUsize::new(0);
        if let Some(cache) = &self.cache
            && let Err(source) = cache.store(self.key(number), woven)
            && WARNED.fetch_add(1, Ordering::Relaxed) == 0
        {
            self.recorder.show(&Message::NotCached { source });
        }
    }

    fn attempt(&self, number: usize, attempt: Attempt) -> Result<End> {
        let module = &self.inputs.modules[number];
        let file = |extension: &str| self.scratch.join(format!("module-{number}.{extension}"));
        let (out, progress) = (file("woven"), file("at"));
        // A file of an earlier attempt.
        let _ = std::fs::remove_file(&progress);
        let mut command = Command::new(&self.exe);
        command
            .args(self.worker_args(number, attempt, &out, &progress))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let ended = command.output().map_err(|source| Error::StartWorker {
            module: module.shown.clone(),
            source,
        })?;
        let message = String::from_utf8_lossy(&ended.stderr).into_owned();
        let exit = ended.status.code().and_then(WorkerExit::from_code);
        let end = match exit {
            Some(WorkerExit::Written | WorkerExit::WrittenNotCached) => match read_woven(&out) {
                Some(woven) => End::Done(WovenModule {
                    reads_files: exit == Some(WorkerExit::WrittenNotCached),
                    ..woven
                }),
                None => End::Error(format!(
                    "its worker left no object in {}; is the disk full?",
                    self.scratch.display()
                )),
            },
            Some(WorkerExit::Error) => End::Error(last_line(&message)),
            Some(WorkerExit::Refused) => End::Refused(last_line(&message)),
            Some(WorkerExit::Unfit) => End::Unfit(last_line(&message)),
            Some(WorkerExit::Internal) => End::Crash(format!("failed: {}", last_line(&message))),
            None => End::Crash(crash(ended.status, &message, &progress)),
        };
        let _ = std::fs::remove_file(&out);
        Ok(end)
    }

    fn worker_args(
        &self,
        number: usize,
        attempt: Attempt,
        out: &Path,
        progress: &Path,
    ) -> Vec<OsString> {
        let (module, settings) = (&self.inputs.modules[number], self.settings);
        let mut args: Vec<OsString> = [worker::COMMAND, "--llvm"].map(Into::into).into();
        args.push(self.llvm.clone().into());
        let mut option = |name: &str, value: OsString| args.extend([name.into(), value]);
        option("--file", module.path.clone().into());
        option(
            "--range",
            format!("{}..{}", module.range.start, module.range.end).into(),
        );
        option("--name", module.name.clone().into());
        option("--out", out.into());
        option("--progress", progress.into());
        option("--collect", settings.collect.to_string().into());
        option("--exits", Switch::from(settings.exits).to_string().into());
        option("--only", settings.only.clone().into());
        option("--skip", settings.skip.clone().into());
        if let Some(guide) = self.guide {
            option("--guide", guide.file.clone().into());
        }
        if let Some(opt) = attempt.opt {
            option("--opt", level::name(opt).into());
        }
        let flags = [
            ("--shared", settings.shared),
            ("--std", settings.std),
            ("--fat", self.inputs.whole_program == Some(number)),
            ("--machine-code", module.fat_object.is_some()),
            ("--function-sections", settings.function_sections),
            ("--no-probes", !attempt.probes),
        ];
        args.extend(flags.iter().filter(|flag| flag.1).map(|flag| flag.0.into()));
        args
    }
}

/// Reads the module that a worker wrote.
fn read_woven(out: &Path) -> Option<WovenModule> {
    cache::decode(&std::fs::read(out).ok()?)
}

/// How a worker died, as the middle of a sentence: `crashed in LLVM at function f`. A worker writes
/// its progress file before it first calls LLVM. If the file is missing, LLVM did not cause the
/// death.
fn crash(status: ExitStatus, stderr: &str, progress: &Path) -> String {
    const PANIC: i32 = 101;
    let stage = std::fs::read_to_string(progress).unwrap_or_default();
    let says = |text| stderr.contains(text);
    let death = match (status.signal(), status.code()) {
        _ if says("memory allocation of") || says("out of memory") || says("std::bad_alloc") => {
            "ran out of memory".to_owned()
        }
        (Some(SIGKILL), _) => "was killed (signal 9; is memory short?)".to_owned(),
        (Some(signal @ (SIGHUP | SIGINT | SIGTERM)), _) => format!("was ended (signal {signal})"),
        (Some(signal), _) if stage.is_empty() => {
            format!("crashed before LLVM was called (signal {signal})")
        }
        (Some(_), _) => "crashed in LLVM".to_owned(),
        (_, Some(PANIC)) => format!(
            "failed inside holloway (please report it: {})",
            panic_message(stderr)
        ),
        (None, Some(code)) if stage.is_empty() => {
            format!("ended before LLVM was called (exit code {code})")
        }
        // LLVM's fatal errors exit with 1 or 70.
        _ => "was given up by LLVM".to_owned(),
    };
    match stage.strip_prefix('(') {
        Some(stage) => format!("{death} while {}", stage.trim_end_matches(')')),
        None if !stage.is_empty() => format!("{death} at function {stage}"),
        None => death,
    }
}

/// Location and message of a panic: `thread 'main' panicked at LOCATION:`, and the line after it.
fn panic_message(stderr: &str) -> String {
    let mut lines = stderr.lines();
    let place = lines.find_map(|line| Some(line.split_once("panicked at ")?.1));
    match (place, lines.next()) {
        (Some(place), Some(words)) => format!("{place} {words}"),
        _ => last_line(stderr),
    }
}

/// The last line of a worker's stderr, cut if it is long. LLVM's verifier may repeat a message for
/// a thousand instructions.
fn last_line(message: &str) -> String {
    const LONGEST: usize = 400;
    let line = message
        .lines()
        .rfind(|line| !line.trim().is_empty())
        .unwrap_or("weaving failed without a message");
    match line.len() {
        0..=LONGEST => line.to_owned(),
        _ => format!("{} …", &line[..line.floor_char_boundary(LONGEST)]),
    }
}

/// Path, length, and time of a file: they differ from build to build.
fn file_identity(path: &Path) -> String {
    let meta = std::fs::metadata(path).ok();
    let modified = meta
        .as_ref()
        .and_then(|meta| meta.modified().ok())
        .and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    format!(
        "{} {} {}",
        path.display(),
        meta.map_or(0, |meta| meta.len()),
        modified.unwrap_or_default().as_nanos()
    )
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deaths_are_told_apart() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let at = dir.path().join("at");
        let check = |raw: i32, message: &str, stage: Option<&str>, expect: &str| {
            let _ = std::fs::remove_file(&at);
            if let Some(stage) = stage {
                std::fs::write(&at, stage).expect("written");
            }
            assert_eq!(crash(ExitStatus::from_raw(raw), message, &at), expect);
        };
        let panic = "\nthread 'main' (7) panicked at src/a.rs:1:2:\nno edge\nnote: run with\n";
        check(11, "", Some("f"), "crashed in LLVM at function f");
        check(11, "", Some("(reading)"), "crashed in LLVM while reading");
        check(11, "", None, "crashed before LLVM was called (signal 11)");
        let early = "ended before LLVM was called (exit code 127)";
        check(127 << 8, "not found", None, early);
        check(9, "", None, "was killed (signal 9; is memory short?)");
        check(15, "", Some("f"), "was ended (signal 15) at function f");
        check(
            6,
            "memory allocation of 8 bytes failed\n",
            None,
            "ran out of memory",
        );
        let expected =
            "failed inside holloway (please report it: src/a.rs:1:2: no edge) at function f";
        check(101 << 8, panic, Some("f"), expected);
        check(
            70 << 8,
            "LLVM ERROR: x",
            Some("f"),
            "was given up by LLVM at function f",
        );
    }
}
