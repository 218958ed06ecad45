//! Lines on stderr in cargo's style: a right-aligned word, then what it is about.

use std::io::Write as _;

use clap::builder::styling::{AnsiColor, Style};

/// `    Recorded target/holloway/runs/…`
pub(crate) fn line(word: &str, rest: &str) {
    let style = Style::new().bold().fg_color(Some(AnsiColor::Green.into()));
    // Stderr may be closed; there is nobody left to tell then.
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
