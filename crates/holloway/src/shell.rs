//! Quotes words for a POSIX shell.

/// The word, quoted if it contains characters that a shell would interpret.
pub(crate) fn word(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    match value.chars().all(is_plain) && !value.is_empty() {
        true => value.to_owned(),
        false => quoted(value),
    }
}

/// The word in single quotes.
pub(crate) fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', r"'\''"))
}
