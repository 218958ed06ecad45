//! The linkers that must accept woven objects, as options of `cc`.

use std::process::Command;

/// (name, options): GNU ld, gold, and the lld that comes with rustc.
pub(crate) fn linkers() -> [(&'static str, Vec<String>); 3] {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let libraries = Command::new(rustc)
        .args(["--print", "target-libdir"])
        .output()
        .unwrap()
        .stdout;
    let lld = String::from_utf8(libraries)
        .unwrap()
        .trim_end()
        .trim_end_matches("/lib")
        .to_owned()
        + "/bin/gcc-ld";
    [
        ("bfd", vec!["-fuse-ld=bfd".to_owned()]),
        ("gold", vec!["-fuse-ld=gold".to_owned()]),
        ("lld", vec!["-fuse-ld=lld".to_owned(), format!("-B{lld}")]),
    ]
}
