//! Objects whose machine code has more than their bitcode. They are linked as they are, and listed.

use crate::link_support::{Yard, succeed};

const INCLUDES: &str = ".o: its assembly may include a file (.incbin, .include): linked as it is";

#[test]
fn what_assembly_includes_is_read_once() {
    let yard = Yard::new();
    yard.write(
        "outside.c",
        r#"__asm__(".section .rodata\n.globl bl\nbl: .incbin \"blob\"\n.byte 0\n.text");"#,
    );
    yard.write(
        "inside.c",
        r#"const char *inside(void) {
            const char *at;
            __asm__(".pushsection .rodata\n1: .incbin \"blob\"\n.byte 0\n.popsection\nlea 1b(%%rip), %0" : "=r"(at));
            return at;
        }"#,
    );
    yard.write(
        "main.c",
        "int puts(const char *); extern const char bl[]; const char *inside(void);
         int main(void) { puts(bl); puts(inside()); return 0; }",
    );
    for blob in ["first", "second"] {
        yard.write("blob", blob);
        yard.build("cc -O1 -c main.c outside.c inside.c");
        yard.write("blob", "changed after compilation");
        let stderr = yard.build("cc main.o outside.o inside.o -o app");
        assert_eq!(stderr.lines().count(), 2, "{stderr}");
        assert!(stderr.contains(&format!("outside{INCLUDES}\n")), "{stderr}");
        assert_eq!(yard.modules("app"), ["main.o"]);
        assert_eq!(
            yard.left_alone("app"),
            ["outside", "inside"].map(|name| format!("{name}{INCLUDES}"))
        );
        assert_eq!(yard.run("app").stdout, format!("{blob}\n{blob}\n"));
    }
    std::fs::remove_file(yard.path("blob")).unwrap();
    yard.build("cc main.o outside.o inside.o -o app");
    assert_eq!(yard.run("app").stdout, "second\nsecond\n");
}

#[test]
fn bare_bitcode_that_includes_a_file_is_woven_anew() {
    let yard = Yard::new();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_holloway"), yard.path("holloway-cc")).unwrap();
    yard.write(
        "app.rs",
        r#"std::arch::global_asm!(".section .rodata", ".globl bl", "bl: .incbin \"blob\"", ".text");
        unsafe extern "C" { static bl: [u8; 6]; }
        fn main() { println!("{}", std::str::from_utf8(unsafe { &bl }).unwrap()); }"#,
    );
    for blob in ["first.", "second"] {
        yard.write("blob", blob);
        let linker = format!("-Clinker={}", yard.path("holloway-cc").display());
        succeed(yard.command("rustc").args([
            "-Clinker-plugin-lto",
            "-Ccodegen-units=1",
            "--edition=2024",
            &linker,
            "app.rs",
        ]));
        assert!(yard.modules("app").iter().all(|name| name == "app"));
        assert_eq!(yard.run("app").stdout, format!("{blob}\n"));
    }
}

#[test]
fn a_renamed_call_is_kept() {
    let yard = Yard::new();
    yard.write("use.c", "int f(int); int used(int x) { return f(x) + 1; }");
    yard.write(
        "main.c",
        "int used(int); int f(int x) { return x; } int wrapped(int x) { return 10 * x; }
         int fo(int x) { return 20 * x; } int main(void) { return used(3); }",
    );
    let check = |objcopy: &str, code| {
        yard.build("cc -O1 -c main.c use.c");
        if !objcopy.is_empty() {
            yard.tool(&format!("objcopy {objcopy} use.o"));
        }
        yard.build("cc main.o use.o -o app");
        let left = yard.left_alone("app");
        assert_eq!(yard.run("app").code, Some(code), "{objcopy}");
        match objcopy {
            "" => assert!(left.is_empty(), "{left:?}"),
            _ => assert!(
                left.len() == 1
                    && left[0].starts_with("use.o: its machine code ")
                    && left[0].ends_with(" (edited by objcopy or ld -r?): linked as it is"),
                "{left:?}"
            ),
        }
    };
    check("", 4);
    check("--redefine-sym f=wrapped", 31);
    // The new name is part of the old name, or the object has the new name already.
    yard.write(
        "use.c",
        "int foo(int); int used(int x) { return foo(x) + 1; }",
    );
    check("--redefine-sym foo=fo", 61);
    yard.write(
        "use.c",
        "int f(int); int wrapped(int); int used(int x) { return f(x) + wrapped(x); }",
    );
    check("", 33);
    check("--redefine-sym f=wrapped", 60);
}

#[test]
fn joined_objects_are_said_to_be_left_alone() {
    let yard = Yard::new();
    yard.write("x.c", "int y(int); int main(void) { return y(3); }");
    yard.write("y.c", "int y(int x) { return x > 2 ? 7 : 8; }");
    yard.build("cc -c x.c y.c");
    yard.tool("ld -r x.o y.o -o xy.o");
    let stderr = yard.build("cc xy.o -o xy");
    assert!(
        stderr.starts_with("holloway: warning: xy.o: bitcode of 2 modules in one object")
            && stderr.lines().count() == 1,
        "{stderr}"
    );
    assert!(yard.maybe_map("xy").is_none());
}

#[test]
fn a_linker_script_is_listed() {
    let yard = Yard::new();
    yard.write("w.c", "int w(int); int main(void) { return w(3); }");
    yard.write("w2.c", "int w(int x) { return x > 2 ? 7 : 8; }");
    yard.write("ls.t", "INPUT(w2.o)\n");
    yard.build("cc -c w.c w2.c");
    yard.build("cc w.o ls.t -o app");
    assert_eq!(
        yard.left_alone("app"),
        ["ls.t: a linker script: what it names is linked as it is"]
    );
    assert_eq!(yard.run("app").code, Some(7));
}
