//! Source files by names short enough to read.

use std::path::Path;

use crate::source::below_rustc;

/// A file relative to `cwd` where it is below it; `<std>/…` for the standard library, `crate-1.2.3/…` for crates of
/// a registry.
pub(crate) fn short(file: &str, cwd: Option<&Path>) -> String {
    if let Some(below) = cwd.and_then(|cwd| Path::new(file).strip_prefix(cwd).ok()) {
        return below.display().to_string();
    }
    let std = below_rustc(file).or_else(|| {
        file.split_once("/lib/rustlib/src/rust/")
            .map(|(_, rest)| rest)
    });
    if let Some(library) = std.and_then(|rest| rest.strip_prefix("library/")) {
        return format!("<std>/{library}");
    }
    if let Some((_, rest)) = file.split_once("/registry/src/")
        && let Some((_, below)) = rest.split_once('/')
    {
        return below.to_owned();
    }
    file.strip_prefix("./").unwrap_or(file).to_owned()
}

/// The same with the line.
pub(crate) fn at(file: &str, line: u32, cwd: Option<&Path>) -> String {
    let file = if file.is_empty() {
        "?".to_owned()
    } else {
        short(file, cwd)
    };
    format!("{file}:{line}")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{at, short};

    fn check(file: &str, expect: &str) {
        assert_eq!(short(file, Some(Path::new("/home/me/app"))), expect);
    }

    #[test]
    fn files_get_short_names() {
        check("/home/me/app/src/main.rs", "src/main.rs");
        check("/home/me/apple/src/main.rs", "/home/me/apple/src/main.rs");
        check(
            "/rustc/59807616e/library/core/src/iter/range.rs",
            "<std>/core/src/iter/range.rs",
        );
        check(
            "/opt/rust/lib/rustlib/src/rust/library/alloc/src/vec/mod.rs",
            "<std>/alloc/src/vec/mod.rs",
        );
        check(
            "/home/me/.cargo/registry/src/index.crates.io-1949cf/memchr-2.7.4/src/lib.rs",
            "memchr-2.7.4/src/lib.rs",
        );
        check("./a.c", "a.c");
        assert_eq!(at("", 7, None), "?:7");
    }
}
