//! Builds the programs of the tests with gcc or musl-gcc and the runtime object, and runs them.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    reason = "shared by the tests of this target; a test may panic"
)]

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use holloway_abi::RING_SIZE;

/// A C library that programs are linked with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Libc {
    Glibc,
    Musl,
}

impl Libc {
    /// Do programs use musl?
    pub fn is_musl(self) -> bool {
        self == Libc::Musl
    }

    /// Name of the directory of a test's files.
    fn folder(self) -> &'static str {
        match self {
            Libc::Glibc => "glibc",
            Libc::Musl => "musl",
        }
    }
}

/// Defines two tests for each function: one with programs linked with glibc, one with musl.
macro_rules! test_with_each_libc {
    ($($test:ident),+ $(,)?) => {
        mod glibc {
            $(
                #[test]
                fn $test() {
                    super::$test(crate::harness::Libc::Glibc);
                }
            )+
        }

        mod musl {
            $(
                #[test]
                fn $test() {
                    super::$test(crate::harness::Libc::Musl);
                }
            )+
        }
    };
}
pub(crate) use test_with_each_libc;

/// Makes an empty directory for one test.
pub fn test_directory(libc: Libc, test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("runtime")
        .join(libc.folder())
        .join(test);
    match fs::remove_dir_all(&path) {
        Ok(()) => {}
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}"),
    }
    fs::create_dir_all(&path).unwrap();
    path
}

pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(name)
}

/// Writes the runtime object to a file.
pub fn object(test_directory: &Path) -> PathBuf {
    let path = test_directory.join("holloway_rt.o");
    fs::write(&path, holloway_runtime::OBJECT).unwrap();
    path
}

pub fn run(command: &mut Command) -> Output {
    command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Runs a command. Checks that it succeeds and prints nothing.
pub fn run_silently(command: &mut Command) {
    let output = run(command);
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success(),
        "{command:?}: {}\n{stdout}{stderr}",
        output.status
    );
    assert_eq!((stdout.as_ref(), stderr.as_ref()), ("", ""), "{command:?}");
}

/// The C compiler for `tests/programs`.
pub fn gcc(libc: Libc) -> Command {
    let mut gcc = Command::new(if libc.is_musl() { "musl-gcc" } else { "gcc" });
    // musl has no copy of the kernel's headers.
    let kernel_headers = ["/usr/include", "/usr/include/x86_64-linux-gnu"];
    for headers in kernel_headers.iter().filter(|_| libc.is_musl()) {
        gcc.args(["-idirafter", headers]);
    }
    gcc.arg(format!("-DRING_SIZE={RING_SIZE}"));
    gcc
}

/// Compiles a program of `tests/programs` with the runtime. Returns its path.
pub fn compile(libc: Libc, test_directory: &Path, sources: &[&str], flags: &[&str]) -> PathBuf {
    let program = test_directory.join(sources[0].split('.').next().unwrap());
    let mut gcc = gcc(libc);
    gcc.args(["-O2", "-g", "-Wall", "-mno-red-zone", "-pthread", "-o"])
        .arg(&program);
    gcc.args(sources.iter().map(|name| source(name)))
        .arg(object(test_directory))
        .args(flags);
    run_silently(&mut gcc);
    program
}

/// The command that runs a program, and the directory of its run.
pub fn command(program: &Path, arguments: &[&str]) -> (Command, PathBuf) {
    let data = program.parent().unwrap().join("data");
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("HOLLOWAY_DATA", &data)
        .current_dir(program.parent().unwrap());
    (command, data)
}

/// Runs a program that writes its progress to the file that is its standard input. Kills the
/// program after 200 microseconds plus a random time of less than `micros` microseconds. Returns
/// the progress: the number of finished paths.
pub fn kill(command: &mut Command, seed: &mut u64, micros: u64) -> u64 {
    let progress_file = Path::new(command.get_program()).with_file_name("finished");
    let mut options = fs::File::options();
    options.read(true).write(true).create(true).truncate(true);
    let file = options.open(progress_file).unwrap();
    file.set_len(4096).unwrap();
    let stdin = Stdio::from(file.try_clone().unwrap());
    let mut child = command.stdin(stdin).spawn().unwrap();
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    std::thread::sleep(Duration::from_micros(200 + (*seed >> 33) % micros));
    child.kill().unwrap();
    child.wait().unwrap();
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, 0).unwrap();
    u64::from_le_bytes(bytes)
}

/// Returns the only element of a list.
pub fn only<T>(list: Vec<T>) -> T {
    assert_eq!(list.len(), 1);
    list.into_iter().next().unwrap()
}
