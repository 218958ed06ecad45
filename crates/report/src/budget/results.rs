//! The results of a check.

use std::io::Write;

use super::limit::Checked;

/// Where a check writes its results.
pub type Out<'a> = &'a mut dyn Write;

/// The results of a check.
#[derive(Debug)]
pub struct Results {
    /// The file with the limits, as the user named it.
    pub budget: String,
    /// The run, as the user named it.
    pub run: String,
    /// The limits, in the order of the file.
    pub checked: Vec<Checked>,
}

impl Results {
    /// The number of limits that the run does not keep.
    pub fn broken(&self) -> usize {
        self.checked
            .iter()
            .filter(|checked| !checked.keeps())
            .count()
    }
}
