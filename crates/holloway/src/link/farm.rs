//! Weaves the modules of a link: from the cache, else each in a worker process of its own, several at a time.
//!
//! A process each because LLVM may abort, and because that makes them parallel without sharing anything. The largest
//! module goes first, so that it doesn't run alone at the end. A worker writes the name of the function it is at into
//! a file; when it dies, that name is in the message, and the module is compiled again without probes, then without
//! optimisation; an object that has machine code beside its bitcode falls back to that. Whatever is wrong with the
//! weaving of a module, a link fails only where nothing can be linked in the module's place. Whatever was not woven is
//! said on stderr and listed in the map.

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

use super::guide::LinkGuide;
use super::inputs::Inputs;
use super::jobserver::Jobserver;
use super::llvm::find_llvm;
use super::settings::{Settings, level_name};
use crate::failure::{Context, Failure, Result};
use crate::linked::warn;
use crate::wanted::word;
use crate::worker;

/// What became of a module.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Woven with probes.
    Woven(WovenModule),
    /// Compiled without probes, and why.
    Plain(WovenModule, String),
    /// Its own machine code is linked, and why.
    MachineCode(String),
}

/// The modules of a link, and what weaves them.
pub(crate) struct Farm<'a> {
    inputs: &'a Inputs,
    settings: &'a Settings,
    guide: Option<&'a LinkGuide>,
    scratch: &'a Path,
    exe: PathBuf,
    llvm: PathBuf,
    /// Everything that all keys have in common.
    identity: String,
    cache: Option<Cache>,
}

/// How a module is tried.
#[derive(Clone, Copy)]
struct Attempt {
    probes: bool,
    opt: Option<OptLevel>,
}

/// How a try ended.
enum End {
    Done(WovenModule),
    /// The bitcode or the machine refused it; linking on would leave it out or fail.
    Error(String),
    /// It can neither be woven nor compiled alone.
    Refused(String),
    /// It can be compiled but not woven exactly.
    Unfit(String),
    Crash(String),
}

impl<'a> Farm<'a> {
    /// What weaves the modules of `inputs`.
    ///
    /// # Errors
    /// There is no libLLVM.
    pub(crate) fn new(
        inputs: &'a Inputs,
        settings: &'a Settings,
        guide: Option<&'a LinkGuide>,
        scratch: &'a Path,
    ) -> Result<Self> {
        let exe = std::env::current_exe().cannot(|| "find holloway's own executable".to_owned())?;
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
        let cache = settings.cache.as_deref().and_then(|dir| match Cache::open(dir) {
            Ok(cache) => Some(cache),
            Err(error) => {
                warn(&format!("cannot write the cache {}: {error}; weaving without it (set HOLLOWAY_CACHE)", dir.display()));
                None
            }
        });
        Ok(Self {
            inputs,
            settings,
            guide,
            scratch,
            exe,
            llvm,
            identity,
            cache,
        })
    }

    /// The modules.
    pub(crate) fn inputs(&self) -> &'a Inputs {
        self.inputs
    }

    /// Weaves every module; the result has one outcome a module, in order.
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
            self.settings.opt.map_or("own", level_name),
            self.inputs.whole == Some(number),
            module.fat.is_some(),
            self.settings.probes
        );
        Key::new(&module.digest, &settings)
    }

    fn cached(&self, number: usize) -> Option<Outcome> {
        let woven = self.cache.as_ref()?.find(self.key(number))?;
        Some(self.done(woven))
    }

    fn done(&self, woven: WovenModule) -> Outcome {
        if self.settings.probes {
            Outcome::Woven(woven)
        } else {
            Outcome::Plain(woven, String::new())
        }
    }

    /// Weaves the modules of `queue` on as many threads as jobs, each thread waiting for one worker process. All but the
    /// first ask the build's jobserver, where there is one, for a slot a module.
    fn run(&self, queue: &[usize]) -> Result<Vec<(usize, Outcome)>> {
        let jobserver = Jobserver::from_env().filter(|_| queue.len() > 1);
        let next = AtomicUsize::new(0);
        let done = || next.load(Ordering::Relaxed) >= queue.len();
        let results = Mutex::new(Vec::with_capacity(queue.len()));
        let failed = Mutex::new(None);
        let one = || {
            let Some(&number) = queue.get(next.fetch_add(1, Ordering::Relaxed)) else {
                return;
            };
            match self.weave(number) {
                Ok(outcome) => locked(&results).push((number, outcome)),
                Err(failure) => {
                    // The failure of the earliest module is told, whichever came first.
                    let mut failed = locked(&failed);
                    if failed.as_ref().is_none_or(|&(earlier, _)| number < earlier) {
                        *failed = Some((number, failure));
                    }
                    next.store(queue.len(), Ordering::Relaxed);
                }
            }
        };
        std::thread::scope(|scope| {
            for worker in 0..self.settings.jobs.min(queue.len()) {
                let jobserver = jobserver.as_ref().filter(|_| worker > 0);
                scope.spawn(move || {
                    while !done() {
                        let slot = jobserver.map(|server| server.slot(done));
                        if let Some(None) = slot {
                            break;
                        }
                        one();
                    }
                });
            }
        });
        match locked(&failed).take() {
            Some((_, failure)) => Err(failure),
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
                return Ok(self.done(woven));
            }
            End::Refused(why) => return self.as_it_is(number, &why),
            End::Unfit(why) | End::Error(why) => format!("{shown}: {why}"),
            End::Crash(at) => format!("weaving {shown} {at}"),
        };
        self.without_probes(number, &reason)
    }

    /// A module without probes, and why: compiled, or else its own machine code.
    ///
    /// # Errors
    /// It can't be compiled, and has no machine code.
    pub(crate) fn without_probes(&self, number: usize, reason: &str) -> Result<Outcome> {
        let module = &self.inputs.modules[number];
        let said = format!("{reason}: linked without probes");
        let mut broken = None;
        for opt in [self.settings.opt, Some(OptLevel::O0)] {
            let attempt = Attempt { probes: false, opt };
            match self.attempt(number, attempt)? {
                End::Done(woven) => {
                    warn(&said);
                    return Ok(Outcome::Plain(woven, said));
                }
                End::Refused(why) => return self.as_it_is(number, &why),
                End::Unfit(why) | End::Error(why) => broken = Some(why),
                End::Crash(_) => {}
            }
        }
        if module.fat.is_some() {
            let said = format!("{reason}: linked as it is");
            warn(&said);
            return Ok(Outcome::MachineCode(said));
        }
        Err(match broken {
            // The module itself is at fault, not the weaving.
            Some(why) => Failure::new(format_args!("{}: {why}", module.shown)),
            None => Failure::new(format_args!(
                "{reason}, without probes too; link this program without holloway, or name another libLLVM in HOLLOWAY_LLVM"
            )),
        })
    }

    /// A module that must not be compiled alone: its own machine code.
    fn as_it_is(&self, number: usize, why: &str) -> Result<Outcome> {
        let module = &self.inputs.modules[number];
        if module.fat.is_none() {
            return Err(Failure::new(format_args!("{}: {why}", module.shown)));
        }
        let reason = format!("{why}: linked as it is");
        warn(&format!("{}: {reason}", module.shown));
        Ok(Outcome::MachineCode(reason))
    }

    fn keep(&self, number: usize, woven: &WovenModule) {
        static WARNED: AtomicUsize = AtomicUsize::new(0);
        if let Some(cache) = &self.cache
            && let Err(error) = cache.store(self.key(number), woven)
            && WARNED.fetch_add(1, Ordering::Relaxed) == 0
        {
            warn(&format!(
                "cannot write to the cache: {error}; woven modules are not kept"
            ));
        }
    }

    fn attempt(&self, number: usize, attempt: Attempt) -> Result<End> {
        let module = &self.inputs.modules[number];
        let file = |extension: &str| self.scratch.join(format!("module-{number}.{extension}"));
        let (out, at) = (file("woven"), file("at"));
        let _ = std::fs::remove_file(&at); // of an attempt before
        let mut command = Command::new(&self.exe);
        command
            .args(self.worker_args(number, attempt, &out, &at))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let ended = command
            .output()
            .cannot(|| format!("start a worker process for {}", module.shown))?;
        let message = String::from_utf8_lossy(&ended.stderr).into_owned();
        let end = match ended.status.code() {
            Some(code) if code == 0 || code == i32::from(worker::NOT_KEPT) => match read(&out) {
                Some(woven) => End::Done(WovenModule {
                    reads_files: code != 0,
                    ..woven
                }),
                None => End::Error(format!(
                    "its worker left no object in {}; is the disk full?",
                    self.scratch.display()
                )),
            },
            Some(code) if code == i32::from(worker::ERROR) => End::Error(last_line(&message)),
            Some(code) if code == i32::from(worker::REFUSED) => End::Refused(last_line(&message)),
            Some(code) if code == i32::from(worker::UNFIT) => End::Unfit(last_line(&message)),
            Some(code) if code == i32::from(worker::INTERNAL) => {
                End::Crash(format!("failed: {}", last_line(&message)))
            }
            _ => End::Crash(crash(ended.status, &message, &at)),
        };
        let _ = std::fs::remove_file(&out);
        Ok(end)
    }

    fn worker_args(&self, number: usize, attempt: Attempt, out: &Path, at: &Path) -> Vec<OsString> {
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
        option("--at", at.into());
        option("--collect", settings.collect.to_string().into());
        option("--exits", word(settings.exits).into());
        option("--only", settings.only.clone().into());
        option("--skip", settings.skip.clone().into());
        if let Some(guide) = self.guide {
            option("--guide", guide.file.clone().into());
        }
        if let Some(opt) = attempt.opt {
            option("--opt", level_name(opt).into());
        }
        let flags = [
            ("--shared", settings.shared),
            ("--std", settings.std),
            ("--fat", self.inputs.whole == Some(number)),
            ("--machine-code", module.fat.is_some()),
            ("--function-sections", settings.function_sections),
            ("--no-probes", !attempt.probes),
        ];
        args.extend(flags.iter().filter(|flag| flag.1).map(|flag| flag.0.into()));
        args
    }
}

/// What a worker wrote.
fn read(out: &Path) -> Option<WovenModule> {
    cache::decode(&std::fs::read(out).ok()?)
}

/// How a worker died, as the middle of a sentence: `crashed in LLVM at function f`. Before it first calls LLVM it writes
/// where it is: a death without that is not LLVM's.
fn crash(status: ExitStatus, message: &str, at: &Path) -> String {
    const PANIC: i32 = 101;
    let stage = std::fs::read_to_string(at).unwrap_or_default();
    let says = |text| message.contains(text);
    let what = match (status.signal(), status.code()) {
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
            panic_message(message)
        ),
        (None, Some(code)) if stage.is_empty() => {
            format!("ended before LLVM was called (exit code {code})")
        }
        // LLVM's fatal errors exit with 1 or 70.
        _ => "was given up by LLVM".to_owned(),
    };
    match stage.strip_prefix('(') {
        Some(stage) => format!("{what} while {}", stage.trim_end_matches(')')),
        None if !stage.is_empty() => format!("{what} at function {stage}"),
        None => what,
    }
}

/// Place and words of a panic: `thread 'main' panicked at PLACE:`, and the line after it.
fn panic_message(stderr: &str) -> String {
    let mut lines = stderr.lines();
    let place = lines.find_map(|line| Some(line.split_once("panicked at ")?.1));
    match (place, lines.next()) {
        (Some(place), Some(words)) => format!("{place} {words}"),
        _ => last_line(stderr),
    }
}

/// What a worker said last. LLVM's verifier can say the same of a thousand instructions.
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

/// Length and time of a file: another build of it gives another.
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
        let told = "failed inside holloway (please report it: src/a.rs:1:2: no edge) at function f";
        check(101 << 8, panic, Some("f"), told);
        check(
            70 << 8,
            "LLVM ERROR: x",
            Some("f"),
            "was given up by LLVM at function f",
        );
    }
}
