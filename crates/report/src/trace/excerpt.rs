//! Excerpts of long texts, for error messages.

/// Returns a short text unchanged, and the part of a long text around the character at `index`.
pub(crate) fn excerpt(text: &str, index: usize) -> String {
    const MAX_CHARS: usize = 60;
    let length = text.chars().count();
    if length <= MAX_CHARS {
        return text.to_owned();
    }
    let start = index.saturating_sub(MAX_CHARS / 2).min(length - MAX_CHARS);
    let middle: String = text.chars().skip(start).take(MAX_CHARS).collect();
    let before = if start > 0 { "…" } else { "" };
    let after = if start + MAX_CHARS < length {
        "…"
    } else {
        ""
    };
    format!("{before}{middle}{after}")
}
