//! Words for a POSIX shell.

/// A word for a POSIX shell, quoted if it has to be.
pub(crate) fn word(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    match value.chars().all(is_plain) && !value.is_empty() {
        true => value.to_owned(),
        false => quoted(value),
    }
}

/// A word for a POSIX shell, always quoted.
pub(crate) fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', r"'\''"))
}
