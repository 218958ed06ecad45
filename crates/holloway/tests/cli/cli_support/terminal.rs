//! A program in a pseudo terminal, which `script` of util-linux makes, and the screen that a user
//! sees.

use std::io::{Read as _, Write as _};
use std::num::NonZero;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::Call;

/// A program that has shown nothing new for so long hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program in a terminal.
pub struct Terminal {
    script: Child,
    keyboard: ChildStdin,
    output: Receiver<Vec<u8>>,
    screen: vt100::Parser,
}

impl Terminal {
    /// Starts a prepared call in a terminal of this size.
    pub fn start(call: &Call, rows: u16, columns: u16) -> Self {
        let mut command = Command::new("script");
        let words = [call.command.get_program()];
        let words = words.into_iter().chain(call.command.get_args());
        let line: Vec<String> = words.map(|word| quoted(word.to_str().unwrap())).collect();
        let line = format!("stty rows {rows} cols {columns}; {}", line.join(" "));
        command.args(["-qefc", &line, "/dev/null"]);
        command.current_dir(call.command.get_current_dir().unwrap());
        for (name, value) in call.command.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        for name in ["NO_COLOR", "CLICOLOR", "PAGER", "LESS", "COLUMNS", "CI"] {
            command.env_remove(name);
        }
        command.env("TERM", "xterm-256color");
        let mut script = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let keyboard = script.stdin.take().unwrap();
        let mut stdout = script.stdout.take().unwrap();
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = stdout.read(&mut buffer) {
                if sender.send(buffer[..length].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self {
            script,
            keyboard,
            output,
            screen: vt100::Parser::new(size(rows), size(columns), 0),
        }
    }

    /// Presses keys.
    pub fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
    }

    /// Waits until the screen shows what `is_expected` looks for. Returns the screen.
    #[track_caller]
    pub fn wait_until(&mut self, what: &str, is_expected: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let text = self.screen.screen().contents();
            if is_expected(&text) {
                return text;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.screen.process(&bytes),
                Err(_) => panic!("the screen does not show {what}:\n{text}"),
            }
        }
    }

    /// Waits until the screen shows a text. Returns the screen.
    #[track_caller]
    pub fn wait_for(&mut self, expected: &str) -> String {
        self.wait_until(expected, |text| text.contains(expected))
    }

    /// Waits until the program has ended. Returns its exit code and the last screen.
    #[track_caller]
    pub fn end(mut self) -> (Option<i32>, String) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.screen.process(&bytes),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                    let text = self.screen.screen().contents();
                    self.script.kill().ok();
                    panic!("the program does not end:\n{text}");
                }
            }
        }
        let code = self.script.wait().unwrap().code();
        (code, self.screen.screen().contents())
    }
}

impl Drop for Terminal {
    /// Ends a program that a failed test leaves.
    fn drop(&mut self) {
        self.script.kill().ok();
        self.script.wait().ok();
    }
}

fn size(size: u16) -> NonZero<u16> {
    NonZero::new(size).unwrap()
}

/// A word for the shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
