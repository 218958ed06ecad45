//! The words that lines of plans begin with, and the names in them.

use std::fmt::Write as _;

/// The first line of a plan.
pub(super) const FIRST_LINE: &str = "holloway plan 2";
/// The first line of a plan of the earlier version, which is read too.
pub(super) const EARLIER_FIRST_LINE: &str = "holloway plan 1";
/// The beginning of a function's line.
pub(super) const FUNCTION: &str = "function ";
/// The line between early and late counts.
pub(super) const LATE_LINE: &str = "late";
/// The line before the order of functions.
pub(super) const ORDER_LINE: &str = "order";
/// The beginning of a function's line in the order.
pub(super) const PLACE: &str = "place ";
/// The line before the loads to prefetch.
pub(super) const PREFETCHES_LINE: &str = "prefetches";
/// The beginning of a load's line.
pub(super) const LOAD: &str = "load ";
/// The last line of a plan.
pub(super) const LAST_LINE: &str = "end";
/// The beginning of a call target's line.
pub(super) const TARGET: &str = "target ";
/// The beginning of the line of a memory operation's size.
pub(super) const SIZE: &str = "size ";
/// The beginning of an unpredictable branch's line.
pub(super) const UNPREDICTABLE: &str = "unpredictable ";

/// The beginning of the line of a path whose blocks are copied.
pub(super) const TAIL: &str = "tail ";

/// The form of the first line of a function.
pub(super) const FUNCTION_FORM: &str = "function HASH CALLS EDGES NAME";
/// The form of the count of an edge.
pub(super) const EDGE_FORM: &str = "EDGE COUNT";
/// The form of a target.
pub(super) const TARGET_FORM: &str = "target SITE COUNT NAME";
/// The form of a size.
pub(super) const SIZE_FORM: &str = "size SITE COUNT BYTES";
/// The form of an unpredictable branch.
pub(super) const UNPREDICTABLE_FORM: &str = "unpredictable EDGE COUNT";
/// The form of a path whose blocks are copied.
pub(super) const TAIL_FORM: &str = "tail COUNT EDGE-EDGE…";
/// The form of a place in the order of functions.
pub(super) const PLACE_FORM: &str = "place NAME";
/// The form of a load.
pub(super) const LOAD_FORM: &str = "load LINE COLUMN TURNS NAME";

/// Writes control characters as `\u{…}`, so that a name stays on its line.
pub(super) fn escape(name: &str) -> String {
    let is_plain = |c: char| !c.is_control() && c != '\\';
    let mut escaped = String::with_capacity(name.len());
    for c in name.chars() {
        match is_plain(c) {
            true => escaped.push(c),
            false => {
                let _ = write!(escaped, "\\u{{{:x}}}", u32::from(c));
            }
        }
    }
    escaped
}

/// The inverse of [`escape`]. `None` if a backslash begins no escape.
pub(super) fn unescape(text: &str) -> Option<String> {
    let mut parts = text.split('\\');
    let mut name = parts.next()?.to_owned();
    for part in parts {
        let (digits, rest) = part.strip_prefix("u{")?.split_once('}')?;
        name.push(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?);
        name.push_str(rest);
    }
    Some(name)
}
