//! Tests archives: reads archives of real tools, and writes archives that real linkers accept.

use std::borrow::Cow;
use std::path::Path;
use std::process::Command;

use crate::link_support::linkers;
use holloway_weave::archive::{Archive, build};
use holloway_weave::symbols::{Change, changed};

fn compile(dir: &Path, name: &str, source: &str) -> Vec<u8> {
    let file = dir.join(name).with_extension("c");
    std::fs::write(&file, source).unwrap();
    let object = dir.join(name);
    assert!(
        Command::new("cc")
            .arg("-c")
            .arg(&file)
            .arg("-o")
            .arg(&object)
            .status()
            .unwrap()
            .success()
    );
    std::fs::read(object).unwrap()
}

fn members(bytes: &[u8], path: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
    let archive = Archive::parse(bytes, path).unwrap();
    archive
        .members
        .iter()
        .map(|member| {
            (
                member.name.clone(),
                member.data(bytes).unwrap().into_owned(),
            )
        })
        .collect()
}

const LONG: &str = "a_member_with_a_name_longer_than_the_header_holds.o";

#[test]
fn ordinary_and_thin_archives_are_read_alike() {
    let dir = tempfile::tempdir().unwrap();
    let objects = [
        ("x.o", "int x(void) { return 2; }"),
        (LONG, "int y(void) { return 3; }"),
    ];
    let contents: Vec<_> = objects
        .iter()
        .map(|(name, source)| compile(dir.path(), name, source))
        .collect();
    let mut archives = Vec::new();
    for flags in ["rc", "rcT", "rcS"] {
        let path = dir.path().join(format!("lib{flags}.a"));
        let mut ar = Command::new("ar");
        assert!(
            ar.current_dir(dir.path())
                .arg(flags)
                .arg(&path)
                .args(["x.o", LONG])
                .status()
                .unwrap()
                .success()
        );
        archives.push(members(&std::fs::read(&path).unwrap(), &path));
    }
    let expect: Vec<_> = objects
        .iter()
        .zip(&contents)
        .map(|((name, _), data)| (name.as_bytes().to_vec(), data.clone()))
        .collect();
    for archive in archives {
        assert_eq!(archive, expect);
    }
}

#[test]
fn a_rewritten_archive_links_and_keeps_everything_else() {
    let dir = tempfile::tempdir().unwrap();
    let old = compile(dir.path(), "x.o", "int x(void) { return 2; }");
    let new = compile(dir.path(), "new.o", "int x(void) { return 40; }");
    let other = compile(dir.path(), LONG, "int y(void) { return 2; }");
    let first: [(Vec<u8>, Cow<'_, [u8]>); 4] = [
        (b"lib.rmeta".to_vec(), Cow::Borrowed(b"not an object")),
        (b"x.o".to_vec(), Cow::Borrowed(&old)),
        (LONG.into(), Cow::Borrowed(&other)),
        (
            b"x.o".to_vec(),
            Cow::Borrowed(b"a second member of that name"),
        ),
    ];
    let path = dir.path().join("libz.a");
    let bytes = build(&first).unwrap();
    let mut rewritten: Vec<_> = members(&bytes, &path)
        .into_iter()
        .map(|(name, data)| (name, Cow::Owned(data)))
        .collect();
    assert_eq!(rewritten, first);
    rewritten[1].1 = Cow::Borrowed(&new);
    let bytes = build(&rewritten).unwrap();
    assert_eq!(bytes, build(&rewritten).unwrap(), "no dates");
    std::fs::write(&path, &bytes).unwrap();
    let main = dir.path().join("main.c");
    std::fs::write(
        &main,
        "int x(void), y(void); int main(void) { return x() + y(); }",
    )
    .unwrap();
    let program = dir.path().join("program");
    for (linker, flags) in linkers() {
        let mut cc = Command::new("cc");
        assert!(
            cc.args(flags)
                .arg(&main)
                .arg(&path)
                .arg("-o")
                .arg(&program)
                .status()
                .unwrap()
                .success(),
            "{linker}"
        );
        assert_eq!(
            Command::new(&program).status().unwrap().code(),
            Some(42),
            "{linker}"
        );
    }
}

#[test]
fn damaged_archives_give_errors_not_panics() {
    let data = [
        (b"x.o".to_vec(), Cow::Borrowed(&b"some bytes here"[..])),
        (LONG.into(), Cow::Borrowed(&b"more"[..])),
    ];
    let bytes = build(&data).unwrap();
    for length in 0..bytes.len() {
        if let Ok(archive) = Archive::parse(&bytes[..length], Path::new("x.a")) {
            assert!(
                archive
                    .members
                    .iter()
                    .all(|member| member.data(&bytes[..length]).is_ok())
            );
        }
    }
    for offset in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[offset] ^= 0x15;
        let _ = Archive::parse(&damaged, Path::new("x.a"));
    }
}

#[test]
fn exports_are_compared_by_strong_names() {
    let dir = tempfile::tempdir().unwrap();
    let object = |name, source| compile(dir.path(), name, source);
    let original = object(
        "a.o",
        "int x(void) { return 1; } static int z(void) { return 2; } int (*p)(void) = z;",
    );
    let same = object(
        "b.o",
        "int p; int x(void) { return 9; } __attribute__((weak)) int w(void) { return 2; }",
    );
    let renamed = object("c.o", "int p; int x2(void) { return 9; }");
    let defined = Change::Defined("x2".to_owned());
    assert_eq!(changed(&original, b"", &same), None);
    assert_eq!(changed(&original, b"", &renamed), Some(defined.clone()));
    assert_eq!(
        changed(b"rubbish", b"", &original),
        Some(Change::Unreadable)
    );
    assert_eq!(
        defined.to_string(),
        "its machine code and its bitcode define x2 differently (edited by objcopy or ld -r?)"
    );
}
