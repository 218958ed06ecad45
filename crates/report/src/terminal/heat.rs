//! Counts in the colors of their heat, and the legend of these colors.

use std::io;

use holloway_format::Count;

use super::paint::{Ink, Line};
use super::sheet::Sheet;
use crate::colors::{Colors, HeatScale};
use crate::numbers::grouped;

/// The ink of a count: the color of its heat, or that of code that never ran.
pub(super) fn ink(scale: &HeatScale, count: Count) -> Ink {
    scale.heat(count).map_or(Ink::Alarm, Ink::Heat)
}

/// Explains the colors below a view, if the page has colors: the lowest count of each color.
pub(super) fn legend(sheet: &mut Sheet<'_>, scale: &HeatScale) -> io::Result<()> {
    if sheet.page.colors() == Colors::None {
        return Ok(());
    }
    let mut line = Line::new();
    line.put(Ink::Faint, "colors from a count of");
    for (heat, lowest) in scale.levels() {
        line.put(Ink::Heat(heat), &format!("  {}", grouped(lowest)));
    }
    line.put(Ink::Faint, "  ·  ")
        .put(Ink::Alarm, "0: never ran");
    sheet.page.gap()?;
    sheet.page.line(&line)
}
