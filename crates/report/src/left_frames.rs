//! Words for the frames of a function that were left early.

use holloway_analysis::Function;
use holloway_analysis::left_frames::LeftFrames;
use holloway_format::Count;

use crate::numbers::{grouped, plural};

/// The frames that were left, in words, such as `3 frames left early`. `None` if none is known to
/// have been left.
pub(crate) fn in_words(function: &Function) -> Option<String> {
    let left = LeftFrames::of(function);
    let frames = |count: Count| plural(count, "frame");
    match left {
        LeftFrames::Counted(count) if left.is_known() => {
            Some(format!("{} left early", frames(count)))
        }
        LeftFrames::AtLeast(count) if left.is_known() => Some(format!(
            "at least {} left early, not counted (--exits on counts them)",
            frames(count)
        )),
        LeftFrames::Counted(_) | LeftFrames::AtLeast(_) | LeftFrames::Unknown => None,
    }
}

/// The number of frames that were left, for a table.
pub(crate) fn in_brief(function: &Function) -> String {
    match LeftFrames::of(function) {
        LeftFrames::Counted(count) => grouped(count),
        LeftFrames::AtLeast(count) => format!("≥{}", grouped(count)),
        LeftFrames::Unknown => "?".to_owned(),
    }
}
