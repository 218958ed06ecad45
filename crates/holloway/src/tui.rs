//! The terminal interface, `holloway tui`: lists of functions and paths, and the source of a
//! function with one path, through which the arrow keys step. The keys are those of the HTML page
//! (docs/page.md).
//!
//! [`app`] is the state and what keys do to it, and [`draw`] puts the state on the screen. Both are
//! free of terminals, so tests drive them without one.

mod app;
mod draw;
mod list;
mod style;
#[cfg(test)]
mod tests;

use std::io::{self, Write as _};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use holloway_report::Colors;
use holloway_report::browse::Browser;
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use app::{App, Wish};

/// Shows a run until the user leaves.
///
/// # Errors
/// If the terminal cannot be used.
pub(crate) fn show(browser: &Browser<'_>, colors: Colors) -> io::Result<()> {
    let mut app = App::new(browser);
    let mut terminal = ratatui::try_init()?;
    let shown = (|| {
        loop {
            terminal.draw(|frame| draw::draw(&mut app, colors, frame))?;
            let Event::Key(key) = event::read()? else {
                // A new size of the terminal: draw again.
                continue;
            };
            if key.kind != KeyEventKind::Press {
                continue;
            }
            match app.press(key) {
                Some(Wish::Quit) => return Ok(()),
                Some(Wish::Copy(text)) => copy(&text)?,
                None => {}
            }
        }
    })();
    ratatui::try_restore().and(shown)
}

/// Asks the terminal to copy a text: the control sequence OSC 52, which also works over ssh.
fn copy(text: &str) -> io::Result<()> {
    let mut out = io::stdout();
    write!(out, "\x1b]52;c;{}\x07", BASE64_STANDARD.encode(text))?;
    out.flush()
}
