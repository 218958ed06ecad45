//! The parts of a run that advice is derived from, and what a kind of advice finds in them.

use holloway_format::{Place, Text};

use super::cost::Saving;
use crate::branches::PreviousPaths;
use crate::loops::LoopsRun;
use crate::run::{Function, RunProfile};
use crate::trail::frames;
use crate::variation::VariationRun;

/// The parts of a run that advice is derived from.
pub struct Evidence<'a> {
    /// The counts.
    pub run: &'a RunProfile,
    /// How often sequences of paths ran: of loops and traces.
    pub previous_paths: Option<&'a PreviousPaths>,
    /// The sequences of paths over iterations.
    pub loops: Option<&'a LoopsRun>,
    /// The times of paths.
    pub variation: Option<&'a VariationRun>,
    /// Whether a file belongs to a library that the user does not change.
    pub is_library: fn(&str) -> bool,
}

/// A place for which a kind of advice has evidence.
#[derive(Clone, Debug)]
pub struct Found<'a, F> {
    /// The function.
    pub function: &'a Function,
    /// The place in the source.
    pub place: Option<Place>,
    /// The evidence.
    pub finding: F,
    /// The upper bound on the saving.
    pub saving: Saving,
}

impl Evidence<'_> {
    /// Whether a place is in the user's code, or was inlined into it. An unknown place is.
    pub(super) fn is_users_code(&self, function: &Function, place: Option<Place>) -> bool {
        place.is_none_or(|place| self.users_line(function, place).is_some())
    }

    /// The file and line of a place in the innermost frame of the user's code.
    pub(super) fn users_line<'f>(
        &self,
        function: &'f Function,
        place: Place,
    ) -> Option<(&'f Text, u32)> {
        let frames = frames(&function.map, &place);
        let mut lines =
            frames.map(|frame| (&function.map.scopes[frame.scope as usize].file, frame.line));
        lines.find(|(file, _)| !(self.is_library)(file))
    }
}
