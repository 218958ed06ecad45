//! The watched program of these tests, and what a report says about it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use holloway_format::samples::SampleRecord;
use holloway_tests::tool::{clean, holloway_command, run_ok};
use serde_json::Value;

/// Uses time in `spin` in a thread and in `turn` in a child process, and ends with status 3. The
/// loop of each is one block. With an argument, the program runs until it is killed.
pub(crate) const SOURCE: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static __attribute__((noinline)) unsigned spin(unsigned turns) {
    unsigned x = 1;
#pragma clang loop unroll(disable) vectorize(disable)
    for (unsigned i = 0; i < turns; i++)
        x = x * 1664525 + (x >> 7); /* the loop of spin */
    return x;
}
static __attribute__((noinline)) double turn(unsigned turns) {
    double x = 1;
#pragma clang loop unroll(disable) vectorize(disable)
    for (unsigned i = 1; i < turns; i++)
        x = x / i + 1; /* the loop of turn */
    return x;
}
static volatile double sink;
static void *in_thread(void *argument) {
    sink = spin(300000000);
    return argument;
}
int main(int count, char **words) {
    (void)words;
    alarm(60); /* the test may have failed */
    for (unsigned i = 0; count > 1; i++)
        sink += spin(1000000 + i % 7);
    pthread_t thread;
    pthread_create(&thread, 0, in_thread, 0);
    pthread_join(thread, 0);
    if (fork() == 0) {
        sink = turn(50000000);
        _exit(0);
    }
    wait(0);
    printf("done\n");
    return 3;
}
"#;

pub(crate) fn build(folder: &Path, options: &[&str]) -> PathBuf {
    std::fs::write(folder.join("app.c"), SOURCE).unwrap();
    let program = folder.join("app");
    let mut command = holloway_command(["cc", "-O2", "-g", "app.c", "-lpthread", "-o", "app"]);
    command.args(options).current_dir(folder);
    command.env("HOLLOWAY_CACHE", folder.join("cache"));
    run_ok(&mut command).unwrap();
    program
}

pub(crate) fn json(folder: &Path, run: &str) -> Value {
    let mut command = holloway_command(["report", run, "--format", "json"]);
    let output = run_ok(command.current_dir(folder)).unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

pub(crate) fn function<'a>(document: &'a Value, name: &str) -> &'a Value {
    let mut functions = document["functions"].as_array().unwrap().iter();
    let function = functions.find(|function| function["name"] == name);
    function.unwrap_or_else(|| panic!("no {name} in {document:#}"))
}

pub(crate) fn samples_of(document: &Value, name: &str) -> u64 {
    function(document, name)["samples"].as_u64().unwrap()
}

/// The file of samples in a run's directory, if the monitor has written it.
pub(crate) fn record_file(run: &Path) -> Option<PathBuf> {
    let files = std::fs::read_dir(run).into_iter().flatten();
    let mut files = files.map(|file| file.unwrap().path());
    files.find(|file| file.extension().is_some_and(|end| end == "hws"))
}

/// The samples in a run's directory, if the monitor has written them.
pub(crate) fn record(run: &Path) -> Option<SampleRecord> {
    let bytes = std::fs::read(record_file(run)?).unwrap();
    Some(SampleRecord::decode(&bytes).unwrap())
}

/// A program that runs until it is dropped.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn start(program: &Path) -> Self {
        let mut command = Command::new(program);
        clean(command.arg("forever").stdout(Stdio::null()));
        Self(command.spawn().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}
