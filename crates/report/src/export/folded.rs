//! Folded stacks: a line for each path, with its boxes separated by `;`, and its weight.

use std::io::Write;

use super::run::{Result, one_line};
use super::stacks::{Stacks, Weight};

/// Writes a line for each path. A `;` in a name becomes `,`.
pub(super) fn write(stacks: &Stacks, weight: Weight, out: &mut dyn Write) -> Result<()> {
    let names = stacks.frames.iter();
    let names = names.map(|frame| one_line(&frame.name).replace(';', ","));
    let names: Vec<String> = names.collect();
    for path in &stacks.paths {
        let stack = path.frames.iter().map(|&frame| &*names[frame as usize]);
        let stack: Vec<&str> = stack.collect();
        writeln!(out, "{} {}", stack.join(";"), path.weight(weight))?;
    }
    Ok(())
}
