//! Lines on stderr in cargo's style: a right-aligned word, then a text.

use std::borrow::Cow;
use std::io::Write as _;
use std::path::{Display, Path};

use clap::builder::styling::{AnsiColor, Style};

/// Prints a status line: `    Recorded target/holloway/runs/…`.
pub(crate) fn line(word: &str, text: &str) {
    let style = Style::new().bold().fg_color(Some(AnsiColor::Green.into()));
    // Stderr may be closed, so an error is ignored.
    let text = in_one_line(text);
    writeln!(anstream::stderr(), "{style}{word:>12}{style:#} {text}").ok();
}

/// Prints `holloway: warning: …`.
pub(crate) fn warn(message: &str) {
    let style = Style::new().bold().fg_color(Some(AnsiColor::Yellow.into()));
    let message = in_one_line(message);
    writeln!(
        anstream::stderr(),
        "holloway: {style}warning{style:#}: {message}"
    )
    .ok();
}

/// Prints `holloway: note: …`.
pub(crate) fn note(message: &str) {
    let message = in_one_line(message);
    writeln!(anstream::stderr(), "holloway: note: {message}").ok();
}

/// A message without line breaks. The name of a file may have one.
fn in_one_line(message: &str) -> Cow<'_, str> {
    match message.contains('\n') {
        true => message.replace('\n', "\\n").into(),
        false => message.into(),
    }
}

/// A path for messages: relative if it lies below the current directory.
pub(crate) fn shown(path: &Path) -> Display<'_> {
    let current_dir = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&current_dir).unwrap_or(path).display()
}
