//! Objects whose machine code contains more than their bitcode. Holloway links them without probes,
//! and lists them.

use crate::link_support::{Sandbox, succeed};

const INCLUDES: &str = ".o: its assembly may include a file (.incbin, .include): linked as it is";

#[test]
fn files_that_assembly_includes_are_read_once() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "outside.c",
        r#"__asm__(".section .rodata\n.globl bl\nbl: .incbin \"blob\"\n.byte 0\n.text");"#,
    );
    sandbox.write(
        "inside.c",
        r#"const char *inside(void) {
            const char *at;
            __asm__(".pushsection .rodata\n1: .incbin \"blob\"\n.byte 0\n.popsection\nlea 1b(%%rip), %0" : "=r"(at));
            return at;
        }"#,
    );
    sandbox.write(
        "main.c",
        "int puts(const char *); extern const char bl[]; const char *inside(void);
         int main(void) { puts(bl); puts(inside()); return 0; }",
    );
    for blob in ["first", "second"] {
        sandbox.write("blob", blob);
        sandbox.build("cc -O1 -c main.c outside.c inside.c");
        sandbox.write("blob", "changed after compilation");
        let stderr = sandbox.build("cc main.o outside.o inside.o -o app");
        assert_eq!(stderr.lines().count(), 2, "{stderr}");
        assert!(stderr.contains(&format!("outside{INCLUDES}\n")), "{stderr}");
        assert_eq!(sandbox.modules("app"), ["main.o"]);
        assert_eq!(
            sandbox.linked_as_is("app"),
            ["outside", "inside"].map(|name| format!("{name}{INCLUDES}"))
        );
        assert_eq!(sandbox.run("app").stdout, format!("{blob}\n{blob}\n"));
    }
    std::fs::remove_file(sandbox.path("blob")).unwrap();
    sandbox.build("cc main.o outside.o inside.o -o app");
    assert_eq!(sandbox.run("app").stdout, "second\nsecond\n");
}

#[test]
fn bare_bitcode_that_includes_a_file_is_woven_again() {
    let sandbox = Sandbox::new();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_holloway"), sandbox.path("holloway-cc"))
        .unwrap();
    sandbox.write(
        "app.rs",
        r#"std::arch::global_asm!(".section .rodata", ".globl bl", "bl: .incbin \"blob\"", ".text");
        unsafe extern "C" { static bl: [u8; 6]; }
        fn main() { println!("{}", std::str::from_utf8(unsafe { &bl }).unwrap()); }"#,
    );
    for blob in ["first.", "second"] {
        sandbox.write("blob", blob);
        let linker = format!("-Clinker={}", sandbox.path("holloway-cc").display());
        succeed(sandbox.command("rustc").args([
            "-Clinker-plugin-lto",
            "-Ccodegen-units=1",
            "--edition=2024",
            &linker,
            "app.rs",
        ]));
        assert!(sandbox.modules("app").iter().all(|name| name == "app"));
        assert_eq!(sandbox.run("app").stdout, format!("{blob}\n"));
    }
}

#[test]
fn a_renamed_call_is_kept() {
    let sandbox = Sandbox::new();
    sandbox.write("use.c", "int f(int); int used(int x) { return f(x) + 1; }");
    sandbox.write(
        "main.c",
        "int used(int); int f(int x) { return x; } int wrapped(int x) { return 10 * x; }
         int fo(int x) { return 20 * x; } int main(void) { return used(3); }",
    );
    let check = |objcopy: &str, code| {
        sandbox.build("cc -O1 -c main.c use.c");
        if !objcopy.is_empty() {
            sandbox.tool(&format!("objcopy {objcopy} use.o"));
        }
        sandbox.build("cc main.o use.o -o app");
        let as_is = sandbox.linked_as_is("app");
        assert_eq!(sandbox.run("app").code, Some(code), "{objcopy}");
        match objcopy {
            "" => assert!(as_is.is_empty(), "{as_is:?}"),
            _ => assert!(
                as_is.len() == 1
                    && as_is[0].starts_with("use.o: its machine code ")
                    && as_is[0].ends_with(" (edited by objcopy or ld -r?): linked as it is"),
                "{as_is:?}"
            ),
        }
    };
    check("", 4);
    check("--redefine-sym f=wrapped", 31);
    // The new name is part of the old name. After that, the object already has the new name.
    sandbox.write(
        "use.c",
        "int foo(int); int used(int x) { return foo(x) + 1; }",
    );
    check("--redefine-sym foo=fo", 61);
    sandbox.write(
        "use.c",
        "int f(int); int wrapped(int); int used(int x) { return f(x) + wrapped(x); }",
    );
    check("", 33);
    check("--redefine-sym f=wrapped", 60);
}

#[test]
fn joined_objects_are_reported_as_not_woven() {
    let sandbox = Sandbox::new();
    sandbox.write("x.c", "int y(int); int main(void) { return y(3); }");
    sandbox.write("y.c", "int y(int x) { return x > 2 ? 7 : 8; }");
    sandbox.build("cc -c x.c y.c");
    sandbox.tool("ld -r x.o y.o -o xy.o");
    let stderr = sandbox.build("cc xy.o -o xy");
    assert!(
        stderr.starts_with("holloway: warning: xy.o: bitcode of 2 modules in one object")
            && stderr.lines().count() == 1,
        "{stderr}"
    );
    assert!(sandbox.find_map("xy").is_none());
}

#[test]
fn a_linker_script_is_listed() {
    let sandbox = Sandbox::new();
    sandbox.write("w.c", "int w(int); int main(void) { return w(3); }");
    sandbox.write("w2.c", "int w(int x) { return x > 2 ? 7 : 8; }");
    sandbox.write("ls.t", "INPUT(w2.o)\n");
    sandbox.build("cc -c w.c w2.c");
    sandbox.build("cc w.o ls.t -o app");
    assert_eq!(
        sandbox.linked_as_is("app"),
        ["ls.t: a linker script: what it names is linked as it is"]
    );
    assert_eq!(sandbox.run("app").code, Some(7));
}
