//! Runs other programs: the `holloway` under test, compilers, and the programs that they built. No
//! child process can hang the tests.
//!
//! A missing tool fails the test with a message that says what to install or run. Two threads read
//! a child's output while it runs, so the child never blocks on a full pipe.
//!
//! This module does not use `assert_cmd`, whose timeout ends only the child. Here the whole process
//! group ends, because compilers and test programs start further processes.

use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use wait_timeout::ChildExt;

/// The maximum time that a program may run: far more than any program needs on a loaded machine.
pub const MAX_RUN_TIME: Duration = Duration::from_secs(300);

/// The maximum time to wait until an executable is no longer open for writing.
const MAX_BUSY_TIME: Duration = Duration::from_secs(20);

/// The outputs and the status of a finished child.
#[derive(Debug, Clone)]
pub struct Output {
    /// The exit status.
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

    /// Whether the child exited with 0.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        self.status.success()
    }

    /// How the child ended, as text: `exit 3`, `signal 9`.
    #[must_use]
    pub fn ending(&self) -> String {
        ending(self.status)
    }
}

/// Returns how a process ended, as text: `exit 3`, `signal 9`.
#[must_use]
pub fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no status".to_owned(),
    }
}

/// Runs a command to its end. Captures both outputs. Standard input is empty.
///
/// # Errors
/// If the command cannot be started, or takes longer than [`MAX_RUN_TIME`] (its process group is
/// killed then).
pub fn run(command: &mut Command) -> Result<Output> {
    run_with_input(command, Stdio::null())
}

/// Runs a command like [`run`], with this standard input.
///
/// # Errors
/// If [`run`] would fail.
pub fn run_with_input(command: &mut Command, input: Stdio) -> Result<Output> {
    run_limited(command, input, MAX_RUN_TIME)?.with_context(|| {
        format!(
            "{} still ran after {} s and was killed",
            shown(command),
            MAX_RUN_TIME.as_secs()
        )
    })
}

/// Runs a command like [`run`], with another time limit. Returns `None` if the command takes longer
/// (its process group is killed then).
///
/// # Errors
/// If the command cannot be started.
pub fn run_within(command: &mut Command, limit: Duration) -> Result<Option<Output>> {
    run_limited(command, Stdio::null(), limit)
}

fn run_limited(command: &mut Command, input: Stdio, limit: Duration) -> Result<Option<Output>> {
    command
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut child = spawn(command)?;
    let stdout = drain(child.stdout.take().context("stdout was piped")?);
    let stderr = drain(child.stderr.take().context("stderr was piped")?);
    let Some(status) = child.wait_timeout(limit)? else {
        let _ = Command::new("kill")
            .args(["-KILL", "--", &format!("-{}", child.id())])
            .status();
        let _ = child.wait();
        return Ok(None);
    };
    let stdout = stdout
        .join()
        .map_err(|_| anyhow::anyhow!("the reader of stdout panicked"))?;
    let stderr = stderr
        .join()
        .map_err(|_| anyhow::anyhow!("the reader of stderr panicked"))?;
    Ok(Some(Output {
        status,
        stdout,
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
    }))
}

/// Starts a command. A file that was just written may still be open for writing in a child that
/// another test's thread forks at this moment. The file is free again as soon as that child runs
/// its own program, so a busy file is tried again for a while.
fn spawn(command: &mut Command) -> Result<Child> {
    let start = Instant::now();
    loop {
        match command.spawn() {
            Err(e)
                if e.kind() == ErrorKind::ExecutableFileBusy && start.elapsed() < MAX_BUSY_TIME =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            started => {
                return started.with_context(|| format!("cannot start {}", shown(command)));
            }
        }
    }
}

/// Runs a command like [`run`]. The command must succeed.
///
/// # Errors
/// If [`run`] would fail, and when the command does not exit with 0: the message holds its whole
/// standard error.
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

/// Formats the command as a user would type it.
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
        // A broken pipe ends the text early; the exit status shows why.
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}

/// Returns the `holloway` executable under test: `HOLLOWAY_EXE`, or the executable in the test's
/// target directory.
///
/// # Panics
/// If there is none. The message says how to build it.
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

/// Returns a `holloway` command without the caller's settings. Its cache belongs to this test
/// process.
#[must_use]
pub fn holloway_command(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(holloway());
    command.args(arguments);
    clean(&mut command);
    command
}

/// Returns the command `cargo holloway …`, started by its executable, so nothing needs to be
/// installed.
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

/// Removes environment variables that would change the command's behavior: cargo's variables and
/// the caller's settings.
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

/// The cache of woven objects. `cargo xtask test` provides one for the whole run and removes it at
/// the end. Without it, this process makes a cache. So no run uses objects of an older weaver.
fn cache_directory() -> &'static Path {
    static CACHE: OnceLock<(PathBuf, Option<Cache>)> = OnceLock::new();
    let cache = CACHE.get_or_init(|| match std::env::var_os("HOLLOWAY_TEST_CACHE") {
        Some(shared) => (PathBuf::from(shared), None),
        None => {
            let private = Cache::new().expect("a temporary directory");
            (private.path().to_owned(), Some(private))
        }
    });
    &cache.0
}

/// A directory for woven objects. If a process ends without dropping its cache, a later process
/// removes the directory.
#[derive(Debug)]
pub struct Cache {
    directory: tempfile::TempDir,
    /// Locked as long as the directory is in use.
    _lock: std::fs::File,
}

impl Cache {
    /// Makes a cache with a new name, and removes this user's caches that no process uses.
    ///
    /// # Errors
    /// If the temporary directory cannot be written.
    pub fn new() -> std::io::Result<Self> {
        let user = std::fs::metadata("/proc/self")?.uid();
        let all = std::env::temp_dir().join(format!("holloway-test-caches-{user}"));
        std::fs::create_dir_all(&all)?;
        for entry in std::fs::read_dir(&all)?.flatten() {
            let is_unused = std::fs::File::open(entry.path().join(LOCK))
                .is_ok_and(|lock| lock.try_lock().is_ok());
            if is_unused {
                // Another process may remove the cache at the same time.
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
        let directory = tempfile::tempdir_in(all)?;
        // The lock file gets its final name after it is locked.
        let made = directory.path().join("new");
        let lock = std::fs::File::create(&made)?;
        lock.lock()?;
        std::fs::rename(made, directory.path().join(LOCK))?;
        Ok(Self {
            directory,
            _lock: lock,
        })
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// The file of a [`Cache`] that is locked.
const LOCK: &str = "in-use";

/// Makes a directory for one test. The directory is removed when the test ends, unless
/// `HOLLOWAY_TEST_KEEP=1` is set.
///
/// # Errors
/// If the temporary directory cannot be made.
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

/// Finds a tool that `cargo xtask test` installs.
///
/// # Errors
/// If it is not in `PATH`: says what to do.
pub fn installed(name: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|file| file.is_file())
        .with_context(|| {
            format!("{name} isn't installed: `cargo xtask test` installs what the tests need")
        })
}

/// Finds Debian's libLLVM 19, the oldest supported version.
///
/// # Errors
/// If it is not there: says what to do.
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
