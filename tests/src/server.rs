//! A small server with two threads and its clients, for monitors that watch a program for long.
//!
//! The server is tests/workloads/server/server.c, built with `--collect none`. Two clients send
//! requests as fast as they are answered.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use anyhow::{Context as _, Result, anyhow, ensure};

use crate::tool::{clean, run_ok, tests_directory};

/// Threads of the server, and clients.
const THREADS: usize = 2;

/// A running server under load.
pub struct Server {
    child: Child,
    clients: Vec<JoinHandle<Result<()>>>,
    is_over: Arc<AtomicBool>,
    answers: Arc<AtomicU64>,
}

impl Server {
    /// Builds the server in `folder` with the executable `holloway`, and returns its executable.
    ///
    /// # Errors
    /// If the build fails.
    pub fn build(holloway: &Path, folder: &Path) -> Result<PathBuf> {
        let source = tests_directory().join("workloads/server/server.c");
        let server = folder.join("server");
        let mut command = Command::new(holloway);
        clean(&mut command);
        command.args(["cc", "--collect", "none", "-O2", "-g", "-o"]);
        command.arg(&server).arg(source).arg("-lpthread");
        command.env("HOLLOWAY_CACHE", folder.join("cache"));
        run_ok(command.current_dir(folder))?;
        Ok(server)
    }

    /// Starts the server and its clients. `nice`: how far they stand back for other processes, from
    /// 0 to 19; only the server's own threads do.
    ///
    /// # Errors
    /// If the server cannot be started.
    pub fn start(server: &Path, nice: u8) -> Result<Self> {
        let socket = server.with_extension("socket");
        let mut command = Command::new("nice");
        clean(
            command
                .arg("-n")
                .arg(nice.to_string())
                .arg(server)
                .arg(&socket),
        );
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().context("stdout was piped")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        ensure!(line == "ready\n", "the server wrote {line:?}");
        let is_over = Arc::new(AtomicBool::new(false));
        let answers = Arc::new(AtomicU64::new(0));
        let clients = (0..THREADS as u64).map(|client| {
            let (socket, is_over) = (socket.clone(), Arc::clone(&is_over));
            let answers = Arc::clone(&answers);
            std::thread::spawn(move || ask(&socket, client << 32, &is_over, &answers))
        });
        Ok(Self {
            clients: clients.collect(),
            child,
            is_over,
            answers,
        })
    }

    /// The server's process.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// The number of requests that were answered.
    #[must_use]
    pub fn answers(&self) -> u64 {
        self.answers.load(Ordering::Relaxed)
    }

    /// Ends the clients, then the server.
    ///
    /// # Errors
    /// If a client did not get all of its answers.
    pub fn stop(mut self) -> Result<()> {
        self.is_over.store(true, Ordering::Relaxed);
        for client in std::mem::take(&mut self.clients) {
            let end = client.join();
            end.map_err(|_| anyhow!("a client panicked"))??;
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn ask(socket: &Path, first: u64, is_over: &AtomicBool, answers: &AtomicU64) -> Result<()> {
    let mut stream = UnixStream::connect(socket)?;
    let mut answer = [0; 8];
    for key in first.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        stream.write_all(&key.to_ne_bytes())?;
        stream.read_exact(&mut answer)?;
        answers.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// What a process holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holdings {
    /// Resident memory in KiB.
    pub memory_kib: u64,
    /// Open files.
    pub files: usize,
    /// Threads.
    pub threads: usize,
}

impl Holdings {
    /// What the process holds now.
    ///
    /// # Errors
    /// If the process does not run.
    pub fn of(process: u32) -> Result<Self> {
        let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
        let mut lines = status.lines();
        let memory = lines.find_map(|line| line.strip_prefix("VmRSS:"));
        let memory = memory.and_then(|memory| memory.split_whitespace().next());
        let entries = |name: &str| -> Result<usize> {
            Ok(std::fs::read_dir(format!("/proc/{process}/{name}"))?.count())
        };
        Ok(Self {
            memory_kib: memory.context("no VmRSS")?.parse()?,
            files: entries("fd")?,
            threads: entries("task")?,
        })
    }
}
