//! Weaves the modules of a link. Takes a module from the cache, or else starts a worker process
//! that weaves the module. Several workers run at the same time.
//!
//! Each module has a separate process because LLVM may abort, and because processes run in parallel
//! without sharing memory. The largest module is woven first, so that the link does not wait for it
//! at the end.
//!
//! If a worker fails, the weaver tries these replacements in order:
//!
//! 1. the module compiled without probes
//! 2. the module compiled without probes and without optimization
//! 3. the machine code in the module's object, if the object contains machine code
//!
//! A build with counts must also keep within a limit of CPU time ([`cpu_limit`]). The replacements
//! have no limit.
//!
//! A link fails only if none of them works. If LLVM aborts, the message names the function that the
//! worker was working on. Every module without probes is reported on stderr and listed in the path
//! map.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGKILL, SIGTERM, SIGXCPU};

use holloway_format::MAP_VERSION;
use holloway_weave::cache::{self, Cache, Key};
use holloway_weave::{OptLevel, WovenModule};

use crate::collect_options::Switch;
use crate::cpu_limit;
use crate::error::{Error, Result};
use crate::guide::LinkGuide;
use crate::host::Weaving;
use crate::inputs::{Inputs, read_part};
use crate::jobserver::Jobserver;
use crate::level;
use crate::llvm::find_llvm;
use crate::message::Message;
use crate::name_search::NameSearch;
use crate::outcome::ModuleOutcome;
use crate::plan_parts::{ModulePlan, PlanParts};
use crate::records::Recorder;
use crate::settings::{EarlyLink, LinkSettings};
use crate::worker::{self, WorkerExit};

/// Weaves the modules of a link.
pub(crate) struct Weaver<'a> {
    inputs: &'a Inputs,
    settings: &'a LinkSettings,
    guide: Option<&'a LinkGuide>,
    /// The directory for files of this link.
    scratch: &'a Path,
    recorder: &'a Recorder<'a>,
    /// Holloway's executable.
    exe: PathBuf,
    /// The file of libLLVM.
    llvm: PathBuf,
    /// The text of the settings and program versions that the cache keys of modules share, unless
    /// they are plain.
    identity: String,
    /// The same for modules that are those of the plain program.
    plain_identity: String,
    /// The same for the code that the optimizer makes with a plan.
    optimized_identity: String,
    /// For each module, whether it is that of the plain program.
    is_plain: Vec<bool>,
    /// What the link's plan says about each module. Empty without a plan.
    module_plans: Vec<ModulePlan>,
    cache: Option<Cache>,
}

/// How an attempt to weave or compile a module differs from the settings.
#[derive(Clone, Copy)]
struct Attempt {
    probes: bool,
    /// Whether the counts of the link's plan are used.
    plan: bool,
    opt: Option<OptLevel>,
}

/// The result of an attempt to weave or compile a module. The texts are the worker's messages.
enum AttemptResult {
    Done(WovenModule),
    /// The module or an option of the worker is invalid.
    Error(String),
    /// The module can be neither woven nor compiled separately.
    Refused(String),
    /// Weaving the module would give inexact counts, but it can be compiled.
    Unfit(String),
    /// The worker crashed, or failed because of a bug in holloway.
    Crash(String),
}

impl<'a> Weaver<'a> {
    /// Makes a weaver for the modules of `inputs`.
    ///
    /// # Errors
    /// If no libLLVM is found.
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
        let versions = format!(
            "holloway {} map {MAP_VERSION} {} llvm {:?} {}\n",
            env!("CARGO_PKG_VERSION"),
            file_identity(&exe),
            library.version(),
            file_identity(&llvm),
        );
        let output = format!(
            "kind {} sections {}\n",
            settings.shared, settings.function_sections
        );
        let identity = format!(
            "{versions}{output}collect {} exits {} guide {} early {} std {} only {:?} skip {:?}\n",
            settings.collect,
            settings.exits,
            guide.map_or("none", |guide| &guide.hash),
            settings
                .early
                .as_ref()
                .map_or("no".to_owned(), ToString::to_string),
            settings.std,
            settings.only,
            settings.skip,
        );
        let plain_identity = format!("{versions}{output}plain\n");
        let optimized_identity = format!("{versions}optimized code std {}\n", settings.std);
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
            plain_identity,
            optimized_identity,
            is_plain: plain_modules(inputs, settings)?,
            module_plans: module_plans(inputs, settings)?,
            cache,
        })
    }

    /// Returns the recorder of the link's messages.
    pub(crate) fn recorder(&self) -> &'a Recorder<'a> {
        self.recorder
    }

    /// Returns the inputs of the link.
    pub(crate) fn inputs(&self) -> &'a Inputs {
        self.inputs
    }

    /// Weaves every module. Returns an outcome for each module, in the order of the inputs.
    ///
    /// # Errors
    /// If a module can be neither woven nor compiled, and its object has no machine code.
    pub(crate) fn weave_all(&self) -> Result<Vec<ModuleOutcome>> {
        let mut outcomes: Vec<Option<ModuleOutcome>> = (0..self.inputs.modules.len())
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
        let (identity, plan, probes) = match self.is_plain[number] {
            true => (&self.plain_identity, None, false),
            false => {
                let plan = self.module_plans.get(number);
                (&self.identity, plan, self.settings.probes)
            }
        };
        let plan = plan.map_or("none", |plan| &plan.all);
        self.module_key(identity, number, &format!("plan {plan} probes {probes}"))
    }

    /// The key of the code that the optimizer makes of a module with the link's plan. `None`
    /// without a plan.
    fn optimized_key(&self, number: usize) -> Option<Key> {
        let plan = self.module_plans.get(number)?;
        let plan = format!("plan {}", plan.early);
        Some(self.module_key(&self.optimized_identity, number, &plan))
    }

    fn module_key(&self, identity: &str, number: usize, settings: &str) -> Key {
        let module = &self.inputs.modules[number];
        let settings = format!(
            "{identity}name {:?} opt {} fat {} beside {} {settings}",
            module.name,
            self.settings.opt.map_or("own", level::name),
            self.inputs.whole_program == Some(number),
            module.fat_object.is_some(),
        );
        Key::new(&module.digest, &settings)
    }

    fn cached(&self, number: usize) -> Option<ModuleOutcome> {
        let woven = self.cache.as_ref()?.find(self.key(number))?;
        Some(self.outcome(number, woven))
    }

    fn outcome(&self, number: usize, woven: WovenModule) -> ModuleOutcome {
        match (self.settings.probes, self.is_plain[number]) {
            (true, false) => ModuleOutcome::Woven(woven),
            (true, true) => ModuleOutcome::Plain(woven, "none of its functions records".to_owned()),
            (false, _) => ModuleOutcome::Plain(woven, String::new()),
        }
    }

    /// Weaves the modules of `queue` on `settings.jobs` threads. Each thread waits for one worker
    /// process. If the build has a jobserver, all threads except the first need a token for each
    /// module.
    fn run(&self, queue: &[usize]) -> Result<Vec<(usize, ModuleOutcome)>> {
        let jobserver = Jobserver::from_env().filter(|_| queue.len() > 1);
        let next = AtomicUsize::new(0);
        let is_done = || next.load(Ordering::Relaxed) >= queue.len();
        let results = Mutex::new(Vec::with_capacity(queue.len()));
        let failure = Mutex::new(None);
        let weave_next = || {
            let position = next.fetch_add(1, Ordering::Relaxed);
            let Some(&number) = queue.get(position) else {
                return;
            };
            self.recorder.weaving(Some(&Weaving {
                position: position + 1,
                modules: queue.len(),
                module: short_name(&self.inputs.modules[number].display_name).to_owned(),
            }));
            match self.weave(number) {
                Ok(outcome) => locked(&results).push((number, outcome)),
                Err(error) => {
                    // If several modules fail, the link reports the first of them in the line's
                    // order.
                    let mut failure = locked(&failure);
                    if failure.as_ref().is_none_or(|&(other, _)| number < other) {
                        *failure = Some((number, error));
                    }
                    // No thread starts another module.
                    next.store(queue.len(), Ordering::Relaxed);
                }
            }
        };
        std::thread::scope(|scope| {
            for worker in 0..self.settings.jobs.min(queue.len()) {
                let jobserver = jobserver.as_ref().filter(|_| worker > 0);
                scope.spawn(move || {
                    while !is_done() {
                        // The token is given back at the end of the iteration.
                        let token = jobserver.map(|server| server.wait_for_token(is_done));
                        // `Some(None)`: there is a jobserver, but no module is left to weave.
                        if let Some(None) = token {
                            break;
                        }
                        weave_next();
                    }
                });
            }
        });
        self.recorder.weaving(None);
        match locked(&failure).take() {
            Some((_, error)) => Err(error),
            None => Ok(std::mem::take(&mut *locked(&results))),
        }
    }

    fn weave(&self, number: usize) -> Result<ModuleOutcome> {
        let module = &self.inputs.modules[number].display_name;
        let attempt = Attempt {
            probes: self.settings.probes && !self.is_plain[number],
            plan: !self.is_plain[number],
            opt: self.settings.opt,
        };
        let reason = match self.attempt(number, attempt)? {
            AttemptResult::Done(woven) => {
                if !woven.reads_files {
                    self.store(number, &woven);
                }
                return Ok(self.outcome(number, woven));
            }
            AttemptResult::Refused(message) => return self.machine_code(number, message),
            AttemptResult::Unfit(message) | AttemptResult::Error(message) => {
                format!("{module}: {message}")
            }
            AttemptResult::Crash(message) => format!("weaving {module} {message}"),
        };
        self.without_probes(number, &reason)
    }

    /// Compiles a module without probes. If that fails, uses the machine code in its object.
    ///
    /// # Errors
    /// If the module cannot be compiled, and its object has no machine code.
    pub(crate) fn without_probes(&self, number: usize, reason: &str) -> Result<ModuleOutcome> {
        let module = &self.inputs.modules[number];
        let plain_reason = match &self.settings.early {
            Some(EarlyLink::Optimized(_)) => {
                format!("{reason}: compiled without the plan's counts")
            }
            Some(
                EarlyLink::Embed
                | EarlyLink::Source
                | EarlyLink::Plain
                | EarlyLink::Numbered
                | EarlyLink::Training
                | EarlyLink::NumberedTraining
                | EarlyLink::Sequences(_)
                | EarlyLink::LateTraining(_)
                | EarlyLink::Timing(..),
            )
            | None => {
                format!("{reason}: linked without probes")
            }
        };
        let mut compile_error = None;
        for opt in [self.settings.opt, Some(OptLevel::O0)] {
            let attempt = Attempt {
                probes: false,
                plan: false,
                opt,
            };
            match self.attempt(number, attempt)? {
                AttemptResult::Done(woven) => {
                    self.warn_unwoven(&plain_reason);
                    return Ok(ModuleOutcome::Plain(woven, plain_reason));
                }
                AttemptResult::Refused(message) => return self.machine_code(number, message),
                AttemptResult::Unfit(message) | AttemptResult::Error(message) => {
                    compile_error = Some(message);
                }
                AttemptResult::Crash(_) => {}
            }
        }
        if module.fat_object.is_some() {
            let reason = format!("{reason}: linked as it is");
            self.warn_unwoven(&reason);
            return Ok(ModuleOutcome::MachineCode(reason));
        }
        Err(match compile_error {
            // The module is invalid, even without weaving.
            Some(reason) => Error::Module {
                module: module.display_name.clone(),
                reason,
            },
            None => Error::Weaving {
                reason: reason.to_owned(),
            },
        })
    }

    /// Uses the machine code in the object of a module that must not be compiled separately.
    fn machine_code(&self, number: usize, reason: String) -> Result<ModuleOutcome> {
        let module = &self.inputs.modules[number];
        if module.fat_object.is_none() {
            return Err(Error::Module {
                module: module.display_name.clone(),
                reason,
            });
        }
        let reason = format!("{reason}: linked as it is");
        self.recorder.show(&Message::MachineCode {
            module: module.display_name.clone(),
            reason: reason.clone(),
        });
        Ok(ModuleOutcome::MachineCode(reason))
    }

    fn warn_unwoven(&self, reason: &str) {
        self.recorder.show(&Message::Unwoven {
            reason: reason.to_owned(),
        });
    }

    fn store(&self, number: usize, woven: &WovenModule) {
        static WARNED: AtomicUsize = AtomicUsize::new(0);
        if let Some(cache) = &self.cache
            && let Err(source) = cache.store(self.key(number), woven)
            && WARNED.fetch_add(1, Ordering::Relaxed) == 0
        {
            self.recorder.show(&Message::NotCached { source });
        }
    }

    fn attempt(&self, number: usize, attempt: Attempt) -> Result<AttemptResult> {
        let module = &self.inputs.modules[number];
        let file = |extension: &str| self.scratch.join(format!("module-{number}.{extension}"));
        let (out, progress) = (file("woven"), file("at"));
        // An earlier attempt may have left a progress file.
        let _ = std::fs::remove_file(&progress);
        let mut command = Command::new(&self.exe);
        command
            .args(self.worker_args(number, attempt, &out, &progress))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        // The user's settings for mimalloc are not meant for workers.
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"MIMALLOC_") {
                command.env_remove(name);
            }
        }
        let output = command.output().map_err(|source| Error::StartWorker {
            module: module.display_name.clone(),
            source,
        })?;
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        let exit = output.status.code().and_then(WorkerExit::from_code);
        let end = match exit {
            Some(WorkerExit::Written | WorkerExit::WrittenNotCached) => match read_woven(&out) {
                Some(woven) => AttemptResult::Done(WovenModule {
                    reads_files: exit == Some(WorkerExit::WrittenNotCached),
                    ..woven
                }),
                None => AttemptResult::Error(format!(
                    "its worker left no object in {}; is the disk full?",
                    self.scratch.display()
                )),
            },
            Some(WorkerExit::Error) => AttemptResult::Error(last_line(&message)),
            Some(WorkerExit::Refused) => AttemptResult::Refused(last_line(&message)),
            Some(WorkerExit::Unfit) => AttemptResult::Unfit(last_line(&message)),
            Some(WorkerExit::Internal) => {
                AttemptResult::Crash(format!("failed: {}", last_line(&message)))
            }
            None => AttemptResult::Crash(crash(output.status, &message, &progress)),
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
        match &settings.early {
            None => {}
            Some(
                EarlyLink::Optimized(plan)
                | EarlyLink::LateTraining(plan)
                | EarlyLink::Timing(plan, _),
            ) if attempt.plan => {
                option("--early", worker::OPTIMIZED.into());
                option("--plan", plan.file.clone().into());
                let cache = settings.cache.as_ref().filter(|_| self.cache.is_some());
                if let (Some(directory), Some(key)) = (cache, self.optimized_key(number)) {
                    option("--cache", directory.into());
                    option("--kept", key.to_hex().into());
                }
            }
            Some(EarlyLink::Training | EarlyLink::NumberedTraining | EarlyLink::Sequences(_))
                if attempt.probes =>
            {
                option("--early", worker::TRAINING.into());
            }
            Some(EarlyLink::Source) if attempt.probes => {
                option("--early", worker::SOURCE.into());
            }
            Some(_) => option("--early", worker::PLAIN.into()),
        }
        if let Some(opt) = attempt.opt {
            option("--opt", level::name(opt).into());
        }
        if attempt.plan && settings.early.as_ref().is_some_and(EarlyLink::has_counts) {
            let seconds = cpu_limit::seconds(&module.range);
            option("--cpu-seconds", seconds.to_string().into());
        }
        let is_numbered = matches!(
            settings.early,
            Some(EarlyLink::Numbered | EarlyLink::NumberedTraining)
        );
        let flags = [
            ("--numbers", is_numbered),
            ("--shared", settings.shared),
            ("--std", settings.std),
            ("--whole-program", self.inputs.whole_program == Some(number)),
            ("--machine-code", module.fat_object.is_some()),
            ("--function-sections", settings.function_sections),
            ("--no-probes", !attempt.probes),
        ];
        let set_flags = flags.iter().filter(|(_, is_set)| *is_set);
        args.extend(set_flags.map(|(name, _)| name.into()));
        args
    }
}

/// Returns, for each module, whether it is that of the plain program: in the links of plain
/// programs all modules, in training for a few functions those modules that contain none of them.
///
/// # Errors
/// If a module cannot be read any more.
fn plain_modules(inputs: &Inputs, settings: &LinkSettings) -> Result<Vec<bool>> {
    let all = |is_plain| Ok(vec![is_plain; inputs.modules.len()]);
    let early = match &settings.early {
        Some(EarlyLink::Embed | EarlyLink::Plain) => return all(true),
        Some(early) => early,
        None => return all(false),
    };
    let selected = early.selected().unwrap_or_default();
    let Some(selected) = NameSearch::new(selected.lines()) else {
        return all(false);
    };
    let modules = inputs.modules.iter().map(|module| {
        let bitcode = read_part(&module.path, &module.range)?;
        Ok(!selected.may_be_in(&bitcode))
    });
    let is_plain = modules.collect::<Result<Vec<_>>>()?;
    // The functions are somewhere.
    match is_plain.contains(&false) {
        true => Ok(is_plain),
        false => all(false),
    }
}

/// Returns what the link's plan says about each module. Empty without a plan.
///
/// # Errors
/// If a module cannot be read any more.
fn module_plans(inputs: &Inputs, settings: &LinkSettings) -> Result<Vec<ModulePlan>> {
    let Some(plan) = settings.early.as_ref().and_then(EarlyLink::plan) else {
        return Ok(Vec::new());
    };
    let parts = PlanParts::new(&plan.plan);
    let modules = inputs.modules.iter().map(|module| {
        let bitcode = read_part(&module.path, &module.range)?;
        Ok(parts.of_module(&bitcode))
    });
    modules.collect()
}

/// Shortens the name of a module to its crate or source file: `regex_automata` for
/// `target/…/libregex_automata-0a1b.rlib(regex_automata.0-cgu.0.rcgu.o)`, and `abc` for `abc.o`.
fn short_name(display_name: &str) -> &str {
    let member = display_name
        .trim_end_matches(')')
        .rsplit_once('(')
        .map_or(display_name, |(_, member)| member);
    let file = member.rsplit('/').next().unwrap_or(member);
    let stem = file.split('.').next().unwrap_or(file);
    // rustc appends a hash to the name of a crate.
    match stem.rsplit_once('-') {
        Some((name, hash))
            if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) =>
        {
            name
        }
        _ => stem,
    }
}

/// Reads the module that a worker wrote.
fn read_woven(out: &Path) -> Option<WovenModule> {
    cache::decode(&std::fs::read(out).ok()?)
}

/// Describes how a worker crashed, as the middle of a sentence: `crashed in LLVM at function f`.
///
/// The progress file `progress` contains the name of a function, or another stage of the work in
/// parentheses. A worker writes the file before it first calls LLVM. If the file is missing, LLVM
/// did not cause the crash.
fn crash(status: ExitStatus, stderr: &str, progress: &Path) -> String {
    /// The exit code of a Rust program that panics.
    const PANIC: i32 = 101;
    let stage = std::fs::read_to_string(progress).unwrap_or_default();
    let is_out_of_memory = ["memory allocation of", "out of memory", "std::bad_alloc"]
        .iter()
        .any(|text| stderr.contains(text));
    let cause = match (status.signal(), status.code()) {
        _ if is_out_of_memory => "ran out of memory".to_owned(),
        (Some(SIGKILL), _) => "was killed (signal 9; is memory short?)".to_owned(),
        (Some(SIGXCPU), _) => "took too much CPU time".to_owned(),
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
        Some(stage) => format!("{cause} while {}", stage.trim_end_matches(')')),
        None if !stage.is_empty() => format!("{cause} at function {stage}"),
        None => cause,
    }
}

/// Returns location and message of a panic. The location follows `thread 'main' panicked at` in
/// stderr, and the message is the next line.
fn panic_message(stderr: &str) -> String {
    let mut lines = stderr.lines();
    let location = lines.find_map(|line| Some(line.split_once("panicked at ")?.1));
    match (location, lines.next()) {
        (Some(location), Some(message)) => format!("{location} {message}"),
        _ => last_line(stderr),
    }
}

/// Returns the last line of a worker's stderr, cut if it is long. LLVM's verifier may repeat a
/// message for a thousand instructions.
fn last_line(message: &str) -> String {
    const MAX_LENGTH: usize = 400;
    let line = message
        .lines()
        .rfind(|line| !line.trim().is_empty())
        .unwrap_or("weaving failed without a message");
    match line.len() {
        0..=MAX_LENGTH => line.to_owned(),
        _ => format!("{} …", &line[..line.floor_char_boundary(MAX_LENGTH)]),
    }
}

/// Returns path, length, and modification time of a file, which identify a build of a program.
fn file_identity(path: &Path) -> String {
    let meta = std::fs::metadata(path).ok();
    let modified = meta
        .as_ref()
        .and_then(|meta| meta.modified().ok())
        .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
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
    fn progress_names_the_crate_or_the_source_file() {
        let names = [
            "/t/deps/libregex_automata-0123456789abcdef.rlib(regex_automata-0123456789abcdef.regex_automata.1a2b-cgu.0.rcgu.o)",
            "/t/deps/hexyl-0123456789abcdef.hexyl.1a2b-cgu.3.rcgu.o",
            "build/abc.o",
            "libbz2.a(huffman.o)",
            "two-words.o",
        ];
        let expected = ["regex_automata", "hexyl", "abc", "huffman", "two-words"];
        assert_eq!(names.map(short_name), expected);
    }

    #[test]
    fn crashes_are_described_by_their_cause() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let progress = dir.path().join("at");
        let check = |wait_status: i32, stderr: &str, stage: Option<&str>, expect: &str| {
            let _ = std::fs::remove_file(&progress);
            if let Some(stage) = stage {
                std::fs::write(&progress, stage).expect("written");
            }
            let status = ExitStatus::from_raw(wait_status);
            assert_eq!(crash(status, stderr, &progress), expect);
        };
        let panic = "\nthread 'main' (7) panicked at src/a.rs:1:2:\nno edge\nnote: run with\n";
        check(11, "", Some("f"), "crashed in LLVM at function f");
        check(11, "", Some("(reading)"), "crashed in LLVM while reading");
        check(11, "", None, "crashed before LLVM was called (signal 11)");
        let slow = "took too much CPU time while optimising";
        check(24, "", Some("(optimising)"), slow);
        let not_started = "ended before LLVM was called (exit code 127)";
        check(127 << 8, "not found", None, not_started);
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
