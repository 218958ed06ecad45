//! Complete links of C and C++: which inputs holloway finds, which modules it weaves, which objects
//! it links without probes, and the counts of the programs.

use crate::link_support::{Sandbox, succeed};

const MAIN: &str = r#"
#include <stdio.h>
int a(int), b(int), c(int), d(int), e(int);
int main(void) {
    int sum = 0;
    for (int i = 0; i < 10; i++) sum += a(i) + b(i) + c(i) + d(i) + e(i);
    printf("%d\n", sum);
    return sum & 1;
}
"#;

fn function(name: &str) -> String {
    format!("int {name}(int x) {{ if (x % 3) return x * 2; return x + 1; }}\n")
}

/// A sandbox with the sources `main.c` and `a.c` to `e.c`.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("main.c", MAIN);
    for name in ["a", "b", "c", "d", "e"] {
        sandbox.write(&format!("{name}.c"), &function(name));
    }
    sandbox
}

#[test]
fn objects_archives_and_libraries_are_woven_and_machine_code_is_listed() {
    let sandbox = sandbox();
    for name in ["main", "a", "b", "c", "d"] {
        sandbox.build(&format!("cc -O0 -c {name}.c"));
    }
    sandbox.tool("cc -O1 -c e.c");
    sandbox.tool("ar rc libb.a b.o");
    sandbox.tool("ar rcT libc1.a c.o");
    sandbox.tool("ar rcS libd.a d.o e.o");
    let line = "cc main.o a.o -L. -lb -Wl,--whole-archive,libc1.a,--no-whole-archive -Xlinker libd.a -o app";
    assert_eq!(sandbox.build(line), "");
    assert_eq!(
        sandbox.modules("app"),
        ["main.o", "a.o", "b.o", "c.o", "d.o"]
    );
    assert_eq!(
        sandbox.linked_as_is("app"),
        ["libd.a: machine code without bitcode"]
    );
    let result = sandbox.run("app");
    assert_eq!((result.stdout.as_str(), result.code), ("380\n", Some(0)));
    for name in ["a", "b", "c", "d"] {
        assert_eq!(result.paths.get(name), Some(&10), "{name}");
    }
    assert_eq!(result.paths.get("e"), None);
}

#[test]
fn libraries_are_searched_as_the_linker_does() {
    let sandbox = Sandbox::new();
    sandbox
        .write("main.c", "int q(void); int main(void) { return q(); }")
        .write("q.c", "int q(void) { return 4; }");
    sandbox.build("cc -O1 -fPIC -c main.c q.c");
    sandbox.tool("ar rc libq.a q.o");
    sandbox.build("cc -shared q.o -o libq.so");
    let modules = |flags: &str| {
        sandbox.build(&format!("cc main.o -L. -Wl,-rpath,. {flags} -o app"));
        assert_eq!(sandbox.run("app").code, Some(4), "{flags}");
        sandbox.modules("app")
    };
    assert_eq!(modules("-lq"), ["main.o"]);
    assert_eq!(modules("-Wl,-Bstatic -lq -Wl,-Bdynamic"), ["main.o", "q.o"]);
    assert_eq!(
        modules("-Wl,--push-state,-Bstatic -lq -Wl,--pop-state"),
        ["main.o", "q.o"]
    );
    assert_eq!(modules("-l:libq.a"), ["main.o", "q.o"]);
    assert_eq!(modules("-static -l q"), ["main.o", "q.o"]);
    sandbox.tool("rm libq.so");
    assert_eq!(modules("-lq"), ["main.o", "q.o"]);
}

#[test]
fn the_same_input_gives_the_same_output() {
    let sandbox = sandbox();
    let build = |cache: &str| {
        let mut command = sandbox.holloway("cc -O2 main.c a.c b.c c.c d.c e.c -o app");
        succeed(command.env("HOLLOWAY_CACHE", sandbox.path(cache)));
        std::fs::read(sandbox.path("app")).unwrap()
    };
    let first = build("one");
    assert!(first == build("two"), "another cache");
    assert!(first == build("one"), "from the cache");
    assert!(first == build(""), "no cache");
    assert_eq!(
        sandbox.modules("app"),
        ["main.o", "a.o", "b.o", "c.o", "d.o", "e.o"]
    );
}

#[test]
fn a_jobserver_gets_its_tokens_back() {
    use std::io::{Read as _, Write as _};
    use std::os::unix::fs::OpenOptionsExt as _;
    let sandbox = sandbox();
    sandbox.build("cc -O1 -c main.c a.c b.c c.c d.c e.c");
    sandbox.tool("mkfifo tokens");
    let fifo = sandbox.path("tokens");
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
    let mut tokens = std::fs::File::options()
        .read(true)
        .write(true)
        .custom_flags(nonblocking)
        .open(&fifo)
        .unwrap();
    let flags = format!("-j --jobserver-auth=fifo:{}", fifo.display());
    for (variable, lent) in [("MAKEFLAGS", ""), ("CARGO_MAKEFLAGS", "abc")] {
        tokens.write_all(lent.as_bytes()).unwrap();
        let mut command = sandbox.holloway("cc main.o a.o b.o c.o d.o e.o -o app");
        command
            .env_remove("CARGO_MAKEFLAGS")
            .env(variable, &flags)
            .env("HOLLOWAY_CACHE", "")
            .env("HOLLOWAY_JOBS", "8");
        assert_eq!(succeed(&mut command), "");
        assert_eq!(sandbox.run("app").stdout, "380\n");
        let mut given_back = [0; 8];
        let count = tokens.read(&mut given_back).unwrap_or(0);
        given_back[..count].sort_unstable();
        assert_eq!(&given_back[..count], lent.as_bytes(), "{variable}");
    }
}

#[test]
fn every_linker_and_kind_of_program_runs_and_counts() {
    let sandbox = sandbox();
    sandbox.build("cc -O0 -fPIE -ffunction-sections -c main.c a.c b.c c.c d.c e.c");
    let kinds = [
        "",
        "-no-pie",
        "-static",
        "-static-pie",
        "-Wl,--gc-sections",
        "-fuse-ld=gold",
        "-fuse-ld=gold -static",
        "-fuse-ld=gold -Wl,--gc-sections",
        "-fuse-ld=lld",
        "-fuse-ld=lld -static-pie",
        "-fuse-ld=lld -Wl,--gc-sections",
        "-fuse-ld=lld -no-pie -Wl,--icf=all",
        "-Wl,--no-undefined,-z,now",
        "-s",
    ];
    for kind in kinds {
        sandbox.build(&format!("cc {kind} main.o a.o b.o c.o d.o e.o -o app"));
        let result = sandbox.run("app");
        assert_eq!(
            (result.stdout.as_str(), result.paths.get("b")),
            ("380\n", Some(&10)),
            "{kind}"
        );
    }
}

#[test]
fn a_function_whose_unwoven_copy_may_be_linked_is_listed() {
    let sandbox = Sandbox::new();
    sandbox
        .write(
            "twice.h",
            "inline __attribute__((noinline)) int twice(int x) { return x > 3 ? x * 2 : x; }\n",
        )
        .write(
            "plain.cpp",
            "#include \"twice.h\"\nint plain(int x) { return twice(x); }\n",
        )
        .write(
            "main.cpp",
            "#include \"twice.h\"\nint plain(int); int main() { return twice(plain(5)); }\n",
        );
    sandbox.tool("g++ -O1 -c plain.cpp");
    sandbox.build("c++ -O1 -c main.cpp");
    sandbox.tool("ar rc libmain.a main.o");
    let copy = "twice: a copy without probes in plain.o may have been linked instead";
    let alone = "plain.o: machine code without bitcode";
    let check = |line: &str, counted: Option<&u64>, listed: &[&str]| {
        sandbox.build(&format!("c++ {line} -o app"));
        let result = sandbox.run("app");
        assert_eq!(
            (result.code, result.paths.get("twice")),
            (Some(20), counted),
            "{line}"
        );
        assert_eq!(sandbox.linked_as_is("app"), listed, "{line}");
    };
    check("plain.o main.o", None, &[copy, alone]);
    check("main.o plain.o", Some(&2), &[alone]);
    check("plain.o libmain.a", None, &[copy, alone]);
}

#[test]
fn cxx_with_exceptions_streams_and_constructors() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "lib.cpp",
        r#"
        #include <iostream>
        #include <stdexcept>
        struct Noisy { Noisy() { std::cout << "made\n"; } ~Noisy() { std::cout << "gone\n"; } };
        static Noisy noisy;
        int check(int x) { Noisy local; if (x > 2) throw std::runtime_error("big"); return x; }
        "#,
    );
    sandbox.write(
        "main.cpp",
        r#"
        #include <iostream>
        int check(int);
        int main() {
            int caught = 0;
            for (int i = 0; i < 5; i++) try { check(i); } catch (const std::exception &e) { std::cout << e.what() << "\n"; caught++; }
            return caught;
        }
        "#,
    );
    sandbox.build("c++ -O1 -fPIC -c lib.cpp main.cpp");
    sandbox.build("c++ -shared lib.o -o liblib.so -Wl,--no-undefined");
    let expect =
        "made\n".to_owned() + &"made\ngone\n".repeat(3) + &"made\ngone\nbig\n".repeat(2) + "gone\n";
    for flags in [
        "lib.o",
        "lib.o -static",
        "./liblib.so",
        "lib.o -fuse-ld=lld",
    ] {
        sandbox.build(&format!("c++ main.o {flags} -o app"));
        let result = sandbox.run("app");
        assert_eq!(
            (result.stdout.as_str(), result.code),
            (expect.as_str(), Some(2)),
            "{flags}"
        );
    }
}

#[test]
fn a_shared_object_exports_nothing_of_holloway_lines() {
    let sandbox = sandbox();
    sandbox.build("cc -O2 -fPIC -shared a.c b.c -o libab.so -Wl,-z,defs");
    let names = sandbox
        .command("nm")
        .args(["-D", "--defined-only", "libab.so"])
        .output()
        .unwrap()
        .stdout;
    let names: Vec<String> = String::from_utf8(names)
        .unwrap()
        .lines()
        .filter_map(|line| line.split(' ').nth(2).map(str::to_owned))
        .collect();
    assert_eq!(names, ["a", "b"]);
    sandbox.write("script", "{ global: a; local: *; };");
    sandbox.build("cc -O2 -fPIC -shared a.c b.c -o libab.so -Wl,--version-script=script");
    assert_eq!(sandbox.modules("libab.so"), ["a.o", "b.o"]);
}

#[test]
fn relocatable_links_keep_what_they_can() {
    let sandbox = sandbox();
    sandbox.build("cc -O0 -c main.c a.c b.c c.c d.c e.c");
    sandbox.build("cc -r a.o -o one.o");
    sandbox.build("cc -r b.o c.o -o two.o");
    sandbox.build("cc main.o one.o two.o d.o e.o -o app");
    assert_eq!(sandbox.modules("app"), ["main.o", "one.o", "d.o", "e.o"]);
    assert_eq!(
        sandbox.linked_as_is("app"),
        ["two.o: bitcode of 2 modules in one object (ld -r, -fsplit-lto-unit?)"]
    );
    assert_eq!(sandbox.run("app").stdout, "380\n");

    // In an archive, one warning for all objects with a reason.
    let warnings = |built: &str| -> Vec<String> {
        let lines = built.lines().filter(|line| line.contains("warning: "));
        lines.map(str::to_owned).collect()
    };
    let why = "bitcode of 2 modules in one object (ld -r, -fsplit-lto-unit?): linked as it is";
    sandbox.build("cc -r d.o e.o -o more.o");
    sandbox.tool("ar rc libone.a two.o");
    sandbox.tool("ar rc libboth.a two.o more.o");
    for (objects, shown) in [
        ("libone.a d.o e.o", "libone.a(two.o)"),
        ("libboth.a", "libboth.a (2 objects)"),
    ] {
        let whole = format!("-Wl,--whole-archive {objects} -Wl,--no-whole-archive");
        let stderr = sandbox.build(&format!("cc main.o one.o {whole} -o app"));
        let expected = format!("holloway: warning: {shown}: {why}");
        assert_eq!(warnings(&stderr), [expected]);
        assert_eq!(sandbox.run("app").stdout, "380\n");
    }
}

#[test]
fn bare_bitcode_is_woven_and_compiled_for_relocatable_links() {
    let sandbox = sandbox();
    let clang = sandbox
        .holloway("cc -print-prog-name=clang")
        .output()
        .unwrap()
        .stdout;
    let clang = String::from_utf8(clang).unwrap();
    for name in ["a", "b"] {
        sandbox.tool(&format!("{} -O1 -flto -c {name}.c", clang.trim_end()));
    }
    sandbox.build("cc -O0 -c main.c c.c d.c e.c");
    sandbox.build("cc main.o a.o b.o c.o d.o e.o -o app");
    assert_eq!(
        sandbox.modules("app"),
        ["main.o", "a.o", "b.o", "c.o", "d.o", "e.o"]
    );
    assert_eq!(sandbox.run("app").stdout, "380\n");
    sandbox.build("cc -r a.o b.o -o ab.o");
    sandbox.build("cc main.o ab.o c.o d.o e.o -o app");
    assert_eq!(
        sandbox.linked_as_is("app"),
        ["ab.o: machine code without bitcode"]
    );
    assert_eq!(sandbox.run("app").stdout, "380\n");
}

#[test]
fn an_object_edited_after_compilation_is_linked_as_it_is() {
    let sandbox = sandbox();
    sandbox.write("b.c", &function("other"));
    sandbox.build("cc -O0 -c main.c a.c b.c c.c d.c e.c");
    sandbox.tool("objcopy --redefine-sym other=b b.o");
    sandbox.build("cc main.o a.o b.o c.o d.o e.o -o app");
    assert_eq!(sandbox.run("app").stdout, "380\n");
    let as_is = sandbox.linked_as_is("app");
    assert!(
        as_is.len() == 1
            && as_is[0].starts_with("b.o: its machine code and its bitcode define ")
            && as_is[0].ends_with(" differently (edited by objcopy or ld -r?): linked as it is"),
        "{as_is:?}"
    );
    // A copy of a woven function in such an object may be the one that is linked.
    let shared = "__attribute__((weak, noinline)) int shared(int x) { return x > 1 ? x : 3; }\n";
    sandbox.write(
        "b.c",
        &format!(
            "{shared}{} int ask(int x) {{ return shared(x); }}",
            function("other")
        ),
    );
    sandbox.write(
        "c.c",
        &format!(
            "{shared}{} int answer(int x) {{ return shared(x); }}",
            function("c")
        ),
    );
    sandbox.build("cc -O0 -c b.c c.c");
    sandbox.tool("objcopy --redefine-sym other=b b.o");
    sandbox.build("cc main.o a.o b.o c.o d.o e.o -o app");
    let as_is = sandbox.linked_as_is("app");
    let copy = "shared: a copy without probes in b.o may have been linked instead";
    assert!(as_is.iter().any(|line| line == copy), "{as_is:?}");
}

#[test]
fn links_without_bitcode_and_foreign_linkers_are_linked_as_is() {
    let sandbox = sandbox();
    for name in ["main", "a", "b", "c", "d", "e"] {
        sandbox.tool(&format!("cc -O1 -c {name}.c"));
    }
    sandbox.build("cc main.o a.o b.o c.o d.o e.o -o app");
    assert!(sandbox.find_map("app").is_none());
    assert_eq!(sandbox.stdout_of("app"), "380\n");
    sandbox.build("cc -O2 -c main.c a.c b.c c.c d.c e.c");
    sandbox.tool("cc main.o a.o b.o c.o d.o e.o -o app");
    assert!(sandbox.find_map("app").is_none());
    assert_eq!(sandbox.stdout_of("app"), "380\n");
}

#[test]
fn long_lines_and_response_files() {
    let sandbox = sandbox();
    sandbox.build("cc -O0 -c main.c a.c b.c c.c d.c e.c");
    let mut text = "main.o 'a.o' \"b.o\" c.o d.o e.o -o ap\\p\n".to_owned();
    for number in 0..9000 {
        text.push_str(&format!("-L/{}{number}\n", "long".repeat(30)));
    }
    sandbox.write("line", &text);
    sandbox.build("cc @line");
    assert_eq!(sandbox.run("app").paths.get("a"), Some(&10));
}

#[test]
fn the_level_comes_from_the_line_or_the_module() {
    let sandbox = Sandbox::new();
    sandbox.write("main.c", "static int twice(int x) { return x * 2; } int main(int c, char **v) { (void)v; return twice(c); }");
    let inlined = |lines: &[&str]| {
        lines.iter().for_each(|line| drop(sandbox.build(line)));
        let map = sandbox.map("app");
        assert_eq!(sandbox.run("app").code, Some(2));
        !map.modules[0]
            .module
            .functions
            .iter()
            .any(|function| &*function.name == "twice")
    };
    assert!(!inlined(&["cc -O0 -c main.c", "cc main.o -o app"]));
    assert!(inlined(&["cc -O2 -c main.c", "cc main.o -o app"]));
    assert!(!inlined(&["cc main.c -o app"]));
    assert!(inlined(&["cc -O1 main.c -o app"]));
}
