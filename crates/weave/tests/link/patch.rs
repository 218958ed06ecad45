//! Tests that bases can be written into objects that real linkers accept, and that the program then
//! computes with the base.

use std::path::Path;
use std::process::Command;

use crate::link_support::linkers;
use holloway_weave::patch::{PatchError, Reference, resolve_base, unresolvable};

/// Computes base + 40 in three ways. The exit status is the common result divided by 16, or 255 if
/// the results differ.
const SOURCE: &str = r#"
    .section .note.GNU-stack,"",@progbits
    .hidden __holloway_base_0123
    .text
    .globl main
main:
    xorl %ecx, %ecx
    leaq __holloway_base_0123+40(%rcx), %rax
    movl $__holloway_base_0123+40, %edx
    cmpq %rax, %rdx
    jne 1f
    movq wide(%rip), %rdx
    cmpq %rax, %rdx
    jne 1f
    shrq $4, %rax
    ret
1:  movl $255, %eax
    ret
    .data
wide: .quad __holloway_base_0123+40
"#;

fn assemble(dir: &Path, source: &str) -> Vec<u8> {
    let (text, object) = (dir.join("a.s"), dir.join("a.o"));
    std::fs::write(&text, source).unwrap();
    let status = Command::new("cc")
        .arg("-c")
        .arg(&text)
        .arg("-o")
        .arg(&object)
        .status()
        .unwrap();
    assert!(status.success());
    std::fs::read(object).unwrap()
}

fn link_and_run(dir: &Path, object: &[u8], flags: &[String]) -> Option<i32> {
    let (file, program) = (dir.join("patched.o"), dir.join("program"));
    std::fs::write(&file, object).unwrap();
    let output = Command::new("cc")
        .args(flags)
        .arg(&file)
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{flags:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Command::new(&program).status().unwrap().code()
}

#[test]
#[cfg(target_arch = "x86_64")]
fn every_linker_accepts_a_patched_object() {
    let dir = tempfile::tempdir().unwrap();
    let mut object = assemble(dir.path(), SOURCE);
    assert_eq!(resolve_base(&mut object, "__holloway_base_0123", 64), Ok(3));
    for (linker, mut flags) in linkers() {
        for kind in ["-pie", "-no-pie"] {
            flags.push(kind.to_owned());
            assert_eq!(
                link_and_run(dir.path(), &object, &flags),
                Some((64 + 40) >> 4),
                "{linker} {kind}"
            );
            flags.pop();
        }
    }
    let file = dir.path().join("patched.o");
    for (linker, flags) in linkers() {
        let shared = dir.path().join("patched.so");
        let mut cc = Command::new("cc");
        let status = cc
            .args(flags)
            .args(["-shared", "-Wl,-z,defs"])
            .arg(&file)
            .arg("-o")
            .arg(&shared)
            .status()
            .unwrap();
        assert!(status.success(), "{linker}");
        let names = Command::new("nm")
            .args(["-D", "--defined-only"])
            .arg(&shared)
            .output()
            .unwrap()
            .stdout;
        assert!(
            !String::from_utf8_lossy(&names).contains("holloway"),
            "{linker}"
        );
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn an_object_without_the_symbol_does_not_change() {
    let dir = tempfile::tempdir().unwrap();
    let object = assemble(dir.path(), SOURCE);
    let mut patched = object.clone();
    assert_eq!(
        resolve_base(&mut patched, "__holloway_base_ffff", 64),
        Ok(0)
    );
    assert_eq!(patched, object);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn too_large_a_base_is_an_error_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let object = assemble(dir.path(), SOURCE);
    let mut patched = object.clone();
    let base = (1 << 31) - 40;
    assert_eq!(
        resolve_base(&mut patched, "__holloway_base_0123", base),
        Err(PatchError::Overflow(1 << 31))
    );
    assert_eq!(patched, object);
    assert_eq!(
        resolve_base(&mut patched, "__holloway_base_0123", base - 1),
        Ok(3)
    );
}

#[test]
#[cfg(target_arch = "x86_64")]
fn other_relocations_are_refused_by_number_and_function() {
    const BASE: &str = "__holloway_base_0123";
    let dir = tempfile::tempdir().unwrap();
    let check = |code: &str, kind: u32, functions: &[&str], expect: &str| {
        let mut object = assemble(dir.path(), code);
        let functions = functions.iter().map(|name| (*name).to_owned()).collect();
        let reference = Reference { kind, functions };
        let references = unresolvable(&object, &["other", BASE]);
        assert_eq!(references, Ok(vec![reference.clone()]), "{code}");
        let before = object.clone();
        let error = resolve_base(&mut object, BASE, 64).unwrap_err();
        assert_eq!(error.to_string(), expect, "{code}");
        assert_eq!(error, PatchError::Relocation(reference), "{code}");
        assert!(object == before, "{code}");
    };
    let body = |name: &str, code: &str| {
        format!(".type {name},@function\n{name}: nop\n{code}\n.size {name}, .-{name}\n")
    };
    let refused = [
        ("lea __holloway_base_0123(%rip), %rax", 2),
        ("call __holloway_base_0123@PLT", 4),
        ("movq __holloway_base_0123@GOTPCREL(%rip), %rax", 42),
        ("movq $__holloway_base_0123@GOTOFF, %rax", 25),
        (".byte __holloway_base_0123", 14),
        (".quad __holloway_base_0123 - .", 24),
    ];
    for (code, kind) in refused {
        let expect = format!("function g refers to its counters by relocation type {kind}");
        let code = body("f", "movl $__holloway_base_0123, %eax") + &body("g", code);
        check(&code, kind, &["g"], &expect);
    }
    let outside_functions = "lea __holloway_base_0123(%rip), %rax";
    let expect = "code outside functions refers to its counters by relocation type 2";
    check(outside_functions, 2, &[], expect);
    let sound = assemble(dir.path(), "movl $__holloway_base_0123, %eax\n");
    assert_eq!(unresolvable(&sound, &[BASE, "other"]), Ok(Vec::new()));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn damaged_objects_give_errors_not_panics() {
    let dir = tempfile::tempdir().unwrap();
    let object = assemble(dir.path(), SOURCE);
    for length in 0..object.len() {
        let _ = resolve_base(&mut object[..length].to_vec(), "__holloway_base_0123", 64);
    }
    for offset in 0..object.len() {
        for value in [0, 0x7f, 0xff] {
            let mut damaged = object.clone();
            damaged[offset] = value;
            let _ = resolve_base(&mut damaged, "__holloway_base_0123", 64);
        }
    }
    assert!(matches!(
        resolve_base(&mut b"not ELF".to_vec(), "x", 0),
        Err(PatchError::Broken(_))
    ));
}
