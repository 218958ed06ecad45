//! Excerpts of long texts.

/// A short text as it is. Of a long text, the part around the character at index `at`.
pub(crate) fn excerpt(text: &str, at: usize) -> String {
    const SHOWN: usize = 60;
    let length = text.chars().count();
    if length <= SHOWN {
        return text.to_owned();
    }
    let from = at.saturating_sub(SHOWN / 2).min(length - SHOWN);
    let shown: String = text.chars().skip(from).take(SHOWN).collect();
    let before = if from > 0 { "…" } else { "" };
    let behind = if from + SHOWN < length { "…" } else { "" };
    format!("{before}{shown}{behind}")
}
