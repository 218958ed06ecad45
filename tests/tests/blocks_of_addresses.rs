//! Tests that addresses in programs built with `--collect none` or `--collect trace` lead to the
//! right function and block. Assembly labels in the program give known addresses.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

use holloway_format::{FunctionMap, ImageMap, decode_image};
use holloway_sample::code_map::{CodeMap, CodeMapError};
use holloway_tests::tool::{holloway_command, installed, run_ok, scratch};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

/// Both files have a static function `pick`. `LABEL` makes a symbol in the middle of a block.
const FIRST: &str = r#"
#define LABEL(name) __asm__ volatile(".globl " #name "\n" #name ":" ::: "memory")
int second(int);
static __attribute__((noinline)) int pick(int x) {
    int sum = 0;
    LABEL(first_entry);
    for (int i = 0; i < x; i++) {
        LABEL(first_loop);
        if (i & 1) {
            LABEL(first_odd);
            sum += i;
        } else {
            LABEL(first_even);
            sum ^= i;
        }
    }
    LABEL(first_end);
    return sum;
}
static inline __attribute__((always_inline)) int inlined(int x) {
    if (x > 5) {
        LABEL(inlined_then);
        x *= 3;
    }
    return x + 1;
}
__attribute__((noinline)) int first(int x) { return pick(x) + second(x) + inlined(x); }
int main(void) { return first(10) == 12345; }
"#;
const SECOND: &str = r#"
#define LABEL(name) __asm__ volatile(".globl " #name "\n" #name ":" ::: "memory")
static __attribute__((noinline)) int pick(int x) {
    if (x > 3) {
        LABEL(second_then);
        x ^= 9;
    } else {
        LABEL(second_else);
        x -= 4;
    }
    return x * 2;
}
int second(int x) { return pick(x); }
"#;
/// The labels, each with its file and function.
const LABELS: [(&str, &str, &str); 8] = [
    ("first_entry", "first.c", "pick"),
    ("first_loop", "first.c", "pick"),
    ("first_odd", "first.c", "pick"),
    ("first_even", "first.c", "pick"),
    ("first_end", "first.c", "pick"),
    ("inlined_then", "first.c", "first"),
    ("second_then", "second.c", "pick"),
    ("second_else", "second.c", "pick"),
];

fn build(folder: &Path, name: &str, options: &[&str]) -> PathBuf {
    std::fs::write(folder.join("first.c"), FIRST).unwrap();
    std::fs::write(folder.join("second.c"), SECOND).unwrap();
    let program = folder.join(name);
    let mut command = holloway_command(["cc", "-g", "first.c", "second.c"]);
    if !options.contains(&"--collect") {
        command.args(["--collect", "none"]);
    }
    command.args(options).arg("-o").arg(&program);
    command.env("HOLLOWAY_CACHE", folder.join("cache"));
    run_ok(command.current_dir(folder)).unwrap();
    program
}

fn path_map(program: &Path) -> ImageMap {
    let bytes = std::fs::read(program).unwrap();
    let file = object::File::parse(bytes.as_slice()).unwrap();
    let section = file.section_by_name(".holloway_map").unwrap();
    decode_image(section.data().unwrap()).unwrap()
}

/// Whether a block has code of this line of a file.
fn has_line(function: &FunctionMap, block: u32, file: &str, line: u32) -> bool {
    function.blocks[block as usize].places.iter().any(|place| {
        let scope = &function.scopes[place.scope as usize];
        place.line == line && scope.file.ends_with(file)
    })
}

/// The line of a label in its file.
fn line_of(label: &str) -> u32 {
    let source = if label.starts_with("second") {
        SECOND
    } else {
        FIRST
    };
    let call = format!("LABEL({label})");
    let index = source
        .lines()
        .position(|line| line.contains(&call))
        .unwrap();
    index as u32 + 1
}

fn check(folder: &Path, name: &str, options: &[&str]) {
    let program = build(folder, name, options);
    let code_map = CodeMap::read(&program).unwrap();
    assert_eq!(code_map.left_out, 0, "{options:?}");
    let map = path_map(&program);
    assert_eq!(code_map.build_id, map.build_id);
    let bytes = std::fs::read(&program).unwrap();
    let file = object::File::parse(bytes.as_slice()).unwrap();
    for (label, source, name) in LABELS {
        let is_label = |symbol: &object::Symbol<'_, '_>| symbol.name() == Ok(label);
        let address = file.symbols().find(is_label).unwrap().address();
        let found = code_map.find(address);
        let found = found.unwrap_or_else(|| panic!("{label} at {address:#x}, {options:?}"));
        let function = map.function(found.function).unwrap();
        let text = format!("{label} {options:?} {found:?} {function:?}");
        assert_eq!(function.linkage_name.as_str(), name, "{text}");
        assert!(function.file.ends_with(source), "{text}");
        assert!(
            has_line(function, found.block, source, line_of(label)),
            "{text}"
        );
        // The offset in the file leads to the same address.
        let segments = code_map.segments();
        let offset = segments.offset(address).unwrap();
        assert_eq!(segments.address(offset), Some(address));
    }
    // The prologue of a function belongs to its first block.
    let pick = |symbol: &object::Symbol<'_, '_>| symbol.name() == Ok("pick");
    for symbol in file.symbols().filter(pick) {
        let found = code_map.find(symbol.address()).unwrap();
        assert_eq!(found.block, map.function(found.function).unwrap().entry);
    }
}

#[test]
fn labels_lead_to_their_blocks() {
    let folder = scratch("blocks").unwrap();
    let variants: [(&str, &[&str]); 8] = [
        ("trace", &["--collect", "trace", "-O2"]),
        ("unoptimized-trace", &["--collect", "trace", "-O0"]),
        ("unoptimized", &["-O0"]),
        ("default", &["-O2"]),
        ("no-pie", &["-O2", "-no-pie", "-fno-pie"]),
        ("shared.so", &["-O2", "-shared", "-fPIC"]),
        ("lld", &["-O1", "-fuse-ld=lld", "-Wl,--gc-sections"]),
        (
            "sections",
            &["-O2", "-ffunction-sections", "-Wl,--gc-sections"],
        ),
    ];
    for (name, options) in variants {
        check(folder.path(), name, options);
    }
}

#[test]
fn a_stripped_program_has_no_blocks_and_says_why() {
    let folder = scratch("stripped").unwrap();
    let program = build(folder.path(), "app", &["-O2"]);
    run_ok(Command::new(installed("strip").unwrap()).arg(&program)).unwrap();
    let error = CodeMap::read(&program).unwrap_err();
    assert_eq!(error, CodeMapError::NoSymbols);
    assert_eq!(error.to_string(), "its symbol table was stripped");
}

/// Damages single bytes of the sections that give the blocks.
#[test]
fn damaged_programs_give_blocks_or_a_reason() {
    let folder = scratch("damaged").unwrap();
    let program = build(folder.path(), "app", &["-O2"]);
    let bytes = std::fs::read(&program).unwrap();
    let file = object::File::parse(bytes.as_slice()).unwrap();
    let damaged_file = folder.path().join("damaged");
    for name in [".pseudo_probe", ".symtab", ".strtab"] {
        let (offset, size) = file.section_by_name(name).unwrap().file_range().unwrap();
        for at in (offset..offset + size).step_by((size / 60).max(1) as usize) {
            let mut damaged = bytes.clone();
            damaged[at as usize] ^= 0xa5;
            std::fs::write(&damaged_file, damaged).unwrap();
            if let Ok(code_map) = CodeMap::read(&damaged_file) {
                for address in [0, 0x1000, 0x1234, u64::MAX] {
                    code_map.find(address);
                }
            }
        }
    }
}
