//! Running other programs: which `holloway`, which clang, and a child process that can't hang the tests.
//!
//! What is missing fails loudly: each message says what to install or run. Output is read by two threads while the
//! child runs, so that a chatty program never blocks on a full pipe.

use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsStr;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Longest time a program of the tests may run: far above what any of them needs on a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// Longest time a program's file may be busy.
const BUSY: Duration = Duration::from_secs(20);

/// What a finished child left behind.
#[derive(Debug, Clone)]
pub struct Output {
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error, as text.
    pub stderr: String,
}

impl Output {
    /// Standard output as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// How it ended in words: `exit 3`, `signal 9`.
    #[must_use]
    pub fn ending(&self) -> String {
        ending(self.status)
    }
}

/// How a process ended in words: `exit 3`, `signal 9`.
#[must_use]
pub fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no status".to_owned(),
    }
}

/// Runs a command to its end with both outputs captured and standard input empty.
///
/// # Errors
/// The command can't be started, or takes longer than [`PATIENCE`] (its process group is killed then).
pub fn run(command: &mut Command) -> Result<Output> {
    run_with_input(command, Stdio::null())
}

/// [`run`], with a standard input.
///
/// # Errors
/// As [`run`].
pub fn run_with_input(command: &mut Command, input: Stdio) -> Result<Output> {
    command
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut child = spawn(command)?;
    let stdout = drain(child.stdout.take().context("stdout was piped")?);
    let stderr = drain(child.stderr.take().context("stderr was piped")?);
    let start = Instant::now();
    let mut pause = Duration::from_micros(200);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if start.elapsed() > PATIENCE {
            let _ = Command::new("kill")
                .args(["-KILL", "--", &format!("-{}", child.id())])
                .status();
            let _ = child.wait();
            bail!(
                "{} still ran after {} s and was killed",
                shown(command),
                PATIENCE.as_secs()
            );
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    };
    let stdout = stdout
        .join()
        .map_err(|_| anyhow::anyhow!("the reader of stdout panicked"))?;
    let stderr = stderr
        .join()
        .map_err(|_| anyhow::anyhow!("the reader of stderr panicked"))?;
    Ok(Output {
        status,
        stdout,
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
    })
}

/// Starts a command. A file that was just written may still be open for writing in a child that another test's thread forks at this moment: that
/// passes when the child runs its own program, so a busy file is tried again for a while.
fn spawn(command: &mut Command) -> Result<Child> {
    let start = Instant::now();
    loop {
        match command.spawn() {
            Err(e) if e.kind() == ErrorKind::ExecutableFileBusy && start.elapsed() < BUSY => {
                std::thread::sleep(Duration::from_millis(5));
            }
            started => {
                return started.with_context(|| format!("cannot start {}", shown(command)));
            }
        }
    }
}

/// [`run`], where only success will do.
///
/// # Errors
/// As [`run`], and when the command doesn't exit with 0: the message holds its whole standard error.
pub fn run_ok(command: &mut Command) -> Result<Output> {
    let output = run(command)?;
    ensure!(
        output.status.success(),
        "{} ended with {}\n--- stderr\n{}--- stdout\n{}",
        shown(command),
        output.ending(),
        output.stderr,
        output.text()
    );
    Ok(output)
}

/// The command as one would type it.
#[must_use]
pub fn shown(command: &Command) -> String {
    let mut words: Vec<String> = command
        .get_envs()
        .filter_map(|(k, v)| Some(format!("{}={}", k.to_string_lossy(), v?.to_string_lossy())))
        .collect();
    words.push(command.get_program().to_string_lossy().into_owned());
    words.extend(command.get_args().map(|a| a.to_string_lossy().into_owned()));
    words.join(" ")
}

fn drain(mut pipe: impl Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // A broken pipe ends the text early; the exit status tells the story.
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}

/// The `holloway` executable under test: `HOLLOWAY_EXE`, or the one beside the test's own target directory.
///
/// # Panics
/// There is none: says how to build it.
#[must_use]
pub fn holloway() -> &'static Path {
    static EXE: OnceLock<PathBuf> = OnceLock::new();
    EXE.get_or_init(|| {
        let path = match std::env::var_os("HOLLOWAY_EXE") {
            Some(path) => PathBuf::from(path),
            None => beside_the_test("holloway"),
        };
        assert!(
            path.is_file(),
            "no holloway at {}: run `cargo xtask test`, or build it and set HOLLOWAY_EXE",
            path.display()
        );
        path
    })
}

/// `target/<profile>/<name>`, seen from `target/<profile>/deps/<this test>`.
fn beside_the_test(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a running test has a path");
    let deps = test.parent().expect("an executable lies in a directory");
    deps.parent()
        .expect("deps lies in the profile's directory")
        .join(name)
}

/// A `holloway` command that sees no setting of the caller's and keeps its cache to this test process.
#[must_use]
pub fn holloway_command(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(holloway());
    command.args(arguments);
    clean(&mut command);
    command
}

/// `cargo holloway …` by its executable, so that nothing needs to be installed.
#[must_use]
pub fn cargo_holloway(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let exe = holloway().with_file_name("cargo-holloway");
    assert!(
        exe.is_file(),
        "no cargo-holloway beside {}: run `cargo xtask test`",
        holloway().display()
    );
    let mut command = Command::new(exe);
    command.arg("holloway").args(arguments);
    clean(&mut command);
    command
}

/// Takes from a command's environment what would lead it astray: cargo's own variables and the caller's settings.
pub fn clean(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let ours = text.starts_with("HOLLOWAY_");
        let cargos =
            text.starts_with("CARGO_") && !matches!(&*text, "CARGO_HOME" | "CARGO_NET_OFFLINE");
        if ours
            || cargos
            || matches!(
                &*text,
                "CC" | "CXX"
                    | "CFLAGS"
                    | "RUSTFLAGS"
                    | "RUSTC_WRAPPER"
                    | "MAKEFLAGS"
                    | "CARGO"
                    | "RUST_BACKTRACE"
            )
        {
            command.env_remove(&name);
        }
    }
    command.env("HOLLOWAY_CACHE", cache_directory());
}

/// Woven objects, so that no run sees what an older weaver made: in the directory of this run of `cargo xtask test`, which removes it, or in this
/// process's own.
fn cache_directory() -> &'static Path {
    static CACHE: OnceLock<(PathBuf, Option<Cache>)> = OnceLock::new();
    let made = CACHE.get_or_init(|| match std::env::var_os("HOLLOWAY_TEST_CACHE") {
        Some(of_this_run) => (PathBuf::from(of_this_run), None),
        None => {
            let own = Cache::new().expect("a temporary directory");
            (own.path().to_owned(), Some(own))
        }
    });
    &made.0
}

/// A directory for woven objects. One that is never dropped, as its process was ended or has it in a static, makes room for a later one.
#[derive(Debug)]
pub struct Cache {
    directory: tempfile::TempDir,
    /// Locked as long as the directory is in use.
    _lock: std::fs::File,
}

impl Cache {
    /// Makes one, of a name of its own, and removes those of this user that nobody uses.
    ///
    /// # Errors
    /// The temporary directory can't be written.
    pub fn new() -> std::io::Result<Self> {
        let user = std::fs::metadata("/proc/self")?.uid();
        let all = std::env::temp_dir().join(format!("holloway-test-caches-{user}"));
        std::fs::create_dir_all(&all)?;
        for entry in std::fs::read_dir(&all)?.flatten() {
            let is_left = std::fs::File::open(entry.path().join(LOCK))
                .is_ok_and(|lock| lock.try_lock().is_ok());
            if is_left {
                // Another that starts now may take it away as well.
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
        let directory = tempfile::tempdir_in(all)?;
        // Under another name until it is locked.
        let made = directory.path().join("new");
        let lock = std::fs::File::create(&made)?;
        lock.lock()?;
        std::fs::rename(made, directory.path().join(LOCK))?;
        Ok(Self {
            directory,
            _lock: lock,
        })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// The file of a [`Cache`] that is locked.
const LOCK: &str = "in-use";

/// A directory for one test, gone when the test passes; `HOLLOWAY_TEST_KEEP=1` keeps it.
///
/// # Errors
/// The temporary directory can't be made.
pub fn scratch(name: &str) -> Result<tempfile::TempDir> {
    let mut dir = tempfile::Builder::new()
        .prefix(&format!("holloway-{name}-"))
        .tempdir()?;
    if std::env::var_os("HOLLOWAY_TEST_KEEP").is_some() {
        dir.disable_cleanup(true);
        eprintln!("{name}: kept in {}", dir.path().display());
    }
    Ok(dir)
}

/// The folder of the workspace-level tests.
#[must_use]
pub fn tests_directory() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A tool that `cargo xtask test` installs.
///
/// # Errors
/// It isn't in `PATH`: says what to do.
pub fn installed(name: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|file| file.is_file())
        .with_context(|| {
            format!("{name} isn't installed: `cargo xtask test` installs what the tests need")
        })
}

/// Debian's libLLVM 19, the oldest that is supported.
///
/// # Errors
/// It isn't there: says what to do.
pub fn libllvm_19() -> Result<PathBuf> {
    [
        "/usr/lib/llvm-19/lib/libLLVM.so.1",
        "/usr/lib/llvm-19/lib/libLLVM.so.19.1",
    ]
    .iter()
    .map(PathBuf::from)
    .find(|p| p.exists())
    .context("no libLLVM 19: `cargo xtask test` installs what the tests need")
}
