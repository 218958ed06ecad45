//! Lines on stderr in cargo's style: a right-aligned word, then a text.

use std::io::Write as _;
use std::path::{Display, Path};

use clap::builder::styling::{AnsiColor, Style};

/// `    Recorded target/holloway/runs/…`
pub(crate) fn line(word: &str, rest: &str) {
    let style = Style::new().bold().fg_color(Some(AnsiColor::Green.into()));
    // Stderr may be closed. Then nobody reads the line.
    writeln!(anstream::stderr(), "{style}{word:>12}{style:#} {rest}").ok();
}

/// `holloway: warning: …`
pub(crate) fn warn(message: &str) {
    let style = Style::new().bold().fg_color(Some(AnsiColor::Yellow.into()));
    writeln!(
        anstream::stderr(),
        "holloway: {style}warning{style:#}: {message}"
    )
    .ok();
}

/// `holloway: note: …`
pub(crate) fn note(message: &str) {
    writeln!(anstream::stderr(), "holloway: note: {message}").ok();
}

/// A path for messages: relative if it lies below the current directory.
pub(crate) fn shown(path: &Path) -> Display<'_> {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).display()
}
