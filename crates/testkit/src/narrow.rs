//! Checks reports on narrow terminals: no line is too long, and no number is lost.

use std::collections::BTreeMap;

/// The widths that reports are checked with, in columns.
const WIDTHS: [usize; 2] = [60, 40];

/// Checks that `print`, which writes a report for a terminal of the given width, shows all numbers
/// of the unlimited report on narrow terminals too. Lines of the unlimited report that contain
/// `scale` are left out: the scale of a chart depends on its width.
///
/// # Panics
/// If a line is too long, or a number is missing.
pub fn check(scale: Option<&str>, print: &dyn Fn(usize) -> String) {
    let whole = print(usize::MAX);
    let lines = whole.lines();
    let unscaled: Vec<&str> = lines
        .filter(|line| scale.is_none_or(|scale| !line.contains(scale)))
        .collect();
    let unscaled = unscaled.join("\n");
    let expected = numbers(&unscaled);
    for width in WIDTHS {
        let text = print(width);
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}\n{text}");
        }
        let shown = numbers(&text);
        for (number, count) in &expected {
            let found = shown.get(number).copied().unwrap_or(0);
            assert!(
                found >= *count,
                "{width} columns: {number} is shown {found} times, not {count}\n{text}\n{whole}"
            );
        }
    }
}

/// The numbers of a text, such as `1,200` and `24.5`, and how often they occur.
fn numbers(text: &str) -> BTreeMap<&str, usize> {
    let mut numbers = BTreeMap::new();
    let runs = text.split(|c: char| !(c.is_ascii_digit() || c == ',' || c == '.'));
    for number in runs.map(|run| run.trim_matches([',', '.'])) {
        if !number.is_empty() {
            *numbers.entry(number).or_default() += 1;
        }
    }
    numbers
}
