//! Response files: `@file` on a command line stands for the words in that file.
//!
//! gcc, clang, and ld read response files by the quoting rules of GNU libiberty, and rustc writes
//! its linker's response file by these rules:
//!
//! - White space separates words.
//! - A backslash escapes the next character.
//! - `'…'` and `"…"` quote white space. Unlike in a shell, a backslash escapes inside `'…'` too.
//! - `#` begins no comment.
//!
//! The crate `shlex` follows the shell's rules, so it cannot be used here. If a file cannot be
//! read, the word `@file` stays unchanged.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use crate::error::{Error, Result};

/// The maximum length in bytes of arguments and environment that are passed without a response
/// file. The kernel's limit is a quarter of the stack limit, commonly 2 MiB.
const MAX_DIRECT_LENGTH: usize = 1 << 20;
/// The maximum nesting of response files. Files that name each other in a cycle exceed it.
const MAX_NESTING: u32 = 64;

/// Replaces every `@file` by the words of the file, including `@file` words inside files.
///
/// # Errors
/// If files name each other in a cycle.
pub(crate) fn expand(args: impl IntoIterator<Item = OsString>) -> Result<Vec<OsString>> {
    let mut words = Vec::new();
    expand_into(args.into_iter().collect(), &mut words, 0)?;
    Ok(words)
}

fn expand_into(args: Vec<OsString>, words: &mut Vec<OsString>, depth: u32) -> Result<()> {
    for word in args {
        let content = word
            .as_bytes()
            .strip_prefix(b"@")
            .and_then(|file| std::fs::read(OsStr::from_bytes(file)).ok());
        match content {
            Some(_) if depth == MAX_NESTING => {
                return Err(Error::ResponseLoop { file: word });
            }
            Some(content) => expand_into(split(&content), words, depth + 1)?,
            None => words.push(word),
        }
    }
    Ok(())
}

/// Splits the text of a response file into words.
pub(crate) fn split(text: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => word.get_or_insert_default().extend(bytes.next()),
            _ if quote == Some(byte) => quote = None,
            _ if quote.is_some() => word.get_or_insert_default().push(byte),
            b'\'' | b'"' => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            _ if byte.is_ascii_whitespace() || byte == 0x0b => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words.into_iter().map(OsString::from_vec).collect()
}

/// Returns whether `args` and the environment are too long to be passed without a response file.
pub(crate) fn too_long(args: &[OsString]) -> bool {
    // Each string takes its bytes, a pointer of 8 bytes, and a NUL. A variable has `=` too.
    let environment: usize = std::env::vars_os()
        .map(|(name, value)| name.len() + value.len() + 10)
        .sum();
    args.iter().map(|arg| arg.len() + 9).sum::<usize>() + environment > MAX_DIRECT_LENGTH
}

/// Writes `args` as a response file, one word per line.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write(file: &Path, args: &[OsString]) -> Result<()> {
    std::fs::write(file, quote(args)).map_err(Error::writing(file))
}

fn quote(args: &[OsString]) -> Vec<u8> {
    let mut text = Vec::new();
    for arg in args {
        if arg.is_empty() {
            text.extend(b"\"\"");
        }
        for &byte in arg.as_bytes() {
            if byte.is_ascii_whitespace() || matches!(byte, b'\\' | b'\'' | b'"' | 0x0b) {
                text.push(b'\\');
            }
            text.push(byte);
        }
        text.push(b'\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[&str]) {
        assert_eq!(
            split(text.as_bytes()),
            expect.iter().map(OsString::from).collect::<Vec<_>>(),
            "{text:?}"
        );
    }

    #[test]
    fn words_are_split_as_gcc_and_rustc_write_them() {
        check("a b\tc\nd", &["a", "b", "c", "d"]);
        check("with\\ space\\\\slash", &["with space\\slash"]);
        check("'a b' \"c d\" e'f g'h", &["a b", "c d", "ef gh"]);
        check("\"say \\\"x\\\"\" 'it\\'s'", &["say \"x\"", "it's"]);
        check("\"\" ''", &["", ""]);
        check("  \n", &[]);
        check("end\\", &["end"]);
    }

    #[test]
    fn written_words_are_read_back() {
        let args: Vec<OsString> = ["", "a b", "-Wl,--x", "q\"'\\", "tab\tnl\n", "@f"]
            .into_iter()
            .map(OsString::from)
            .collect();
        assert_eq!(split(&quote(&args)), args);
    }

    #[test]
    fn nested_files_expand_and_missing_files_stay() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (outer, inner) = (dir.path().join("outer"), dir.path().join("inner"));
        std::fs::write(&inner, "x 'y z'").expect("written");
        std::fs::write(&outer, format!("1 @{} 2", inner.display())).expect("written");
        let words = expand(vec![
            format!("@{}", outer.display()).into(),
            "@/no/such".into(),
        ])
        .expect("expands");
        assert_eq!(
            words,
            ["1", "x", "y z", "2", "@/no/such"].map(OsString::from)
        );
        std::fs::write(&inner, format!("@{}", outer.display())).expect("written");
        assert!(expand(vec![format!("@{}", outer.display()).into()]).is_err());
    }
}
