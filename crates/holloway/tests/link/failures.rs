//! Bad input and failures. Each gives one line with the cause and advice. No counts are lost, and
//! no file is written in part.

use crate::link_support::{Sandbox, refused, rust_llvm, succeed};

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(
        "main.c",
        "int f(int); int main(int c, char **v) { (void)v; return f(c); }",
    );
    sandbox.write("f.c", "int f(int x) { if (x > 1) return 9; return x + 2; }");
    sandbox
}

/// The lines that holloway itself printed.
pub(crate) fn holloway_lines(stderr: &str) -> Vec<&str> {
    stderr
        .lines()
        .filter(|line| line.starts_with("holloway:"))
        .collect()
}

/// Makes the bitcode in an object look truncated: overwrites the length of its first block.
fn break_bitcode(object: &mut [u8]) {
    let start = object
        .windows(4)
        .position(|window| window == b"BC\xC0\xDE")
        .unwrap();
    object[start + 8..start + 12].copy_from_slice(&0x00ff_ffffu32.to_le_bytes());
}

/// If bitcode cannot be read, its module has no probes: its machine code is linked unchanged.
#[test]
fn damaged_bitcode_beside_machine_code_costs_the_probes_of_its_module() {
    let sandbox = sandbox();
    sandbox.build("cc -c main.c f.c");
    let good = std::fs::read(sandbox.path("f.o")).unwrap();
    sandbox.tool("ar rc libf.a f.o");
    for file in ["f.o", "libf.a"] {
        let mut bytes = std::fs::read(sandbox.path(file)).unwrap();
        break_bitcode(&mut bytes);
        std::fs::write(sandbox.path(file), &bytes).unwrap();
    }
    for (input, shown) in [("f.o", "f.o"), ("libf.a", "libf.a(f.o)")] {
        let stderr = sandbox.build(&format!("cc --exits off main.o {input} -o app"));
        let stderr = holloway_lines(&stderr);
        let begin =
            format!("holloway: warning: {shown}: its bitcode is truncated or damaged at offset ");
        let is_warning = stderr[0].starts_with(&begin) && stderr[0].ends_with(": linked as it is");
        assert!(stderr.len() == 1 && is_warning, "{stderr:?}");
        let as_is = sandbox.linked_as_is("app");
        let begin = format!("{input}: its bitcode is truncated or damaged at offset ");
        assert!(
            as_is.len() == 1 && as_is[0].starts_with(&begin),
            "{as_is:?}"
        );
        let result = sandbox.run("app");
        assert_eq!((result.code, result.paths.get("main")), (Some(3), Some(&1)));
        assert_eq!(result.paths.get("f"), None);
    }

    // Damage a word inside the module's block. The top-level blocks stay valid, so LLVM itself
    // reports the error.
    let mut object = good;
    let mut windows = object.windows(4);
    let start = windows.position(|window| window == b"BC\xC0\xDE").unwrap();
    object[start + 200..start + 260].fill(0xff);
    std::fs::write(sandbox.path("f.o"), &object).unwrap();
    let stderr = sandbox.build("cc --exits off main.o f.o -o app");
    let stderr = holloway_lines(&stderr);
    assert!(
        stderr.len() == 1 && stderr[0].starts_with("holloway: warning: f.o: "),
        "{stderr:?}"
    );
    let as_is = sandbox.linked_as_is("app");
    assert!(
        as_is.len() == 1 && as_is[0].starts_with("f.o: "),
        "{as_is:?}"
    );
    assert_eq!(sandbox.run("app").paths.get("main"), Some(&1));
}

#[test]
fn bare_bitcode_that_is_damaged_is_named() {
    let sandbox = sandbox();
    let clang = sandbox
        .holloway("cc -print-prog-name=clang")
        .output()
        .unwrap();
    let clang = String::from_utf8(clang.stdout).unwrap();
    sandbox.build("cc -c main.c");
    sandbox.tool(&format!("{} -O1 -flto -c f.c", clang.trim_end()));
    let mut bitcode = std::fs::read(sandbox.path("f.o")).unwrap();
    break_bitcode(&mut bitcode);
    std::fs::write(sandbox.path("f.o"), &bitcode).unwrap();
    let (code, stderr) = sandbox.refuse("cc main.o f.o -o app");
    assert!(
        code != Some(0) && holloway_lines(&stderr).len() == 1,
        "{stderr}"
    );
    let expected = "holloway: f.o: bitcode is truncated or damaged at offset ";
    assert!(stderr.contains(expected), "{stderr}");
    assert!(!sandbox.path("app").exists());
}

#[test]
fn truncated_archives_and_objects_are_named() {
    let sandbox = sandbox();
    sandbox.build("cc -c main.c f.c");
    sandbox.tool("ar rc libf.a f.o");
    for (file, length) in [("libf.a", 400), ("f.o", 90)] {
        let bytes = std::fs::read(sandbox.path(file)).unwrap();
        std::fs::write(sandbox.path(file), &bytes[..length]).unwrap();
        let (_, stderr) = sandbox.refuse(&format!("cc main.o {file} -o app"));
        assert!(stderr.contains(&format!("holloway: {file}: ")), "{stderr}");
        assert!(!stderr.contains("panic"), "{stderr}");
    }
}

#[test]
fn the_linker_reports_missing_inputs() {
    let sandbox = sandbox();
    sandbox.build("cc -c main.c");
    let (code, stderr) = sandbox.refuse("cc main.o -lnowhere_to_be_found -o app");
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains("nowhere_to_be_found") && holloway_lines(&stderr).is_empty(),
        "{stderr}"
    );
    let (_, stderr) = sandbox.refuse("cc main.o -o app");
    assert!(
        stderr.contains("undefined reference to `f'") && holloway_lines(&stderr).is_empty(),
        "{stderr}"
    );
}

#[test]
fn a_cache_that_cannot_be_written_costs_one_warning() {
    let sandbox = sandbox();
    sandbox.write("file", "");
    let stderr = succeed(
        sandbox
            .holloway("cc main.c f.c -o app")
            .env("HOLLOWAY_CACHE", sandbox.path("file/cache")),
    );
    assert_eq!(holloway_lines(&stderr).len(), 1, "{stderr}");
    assert!(
        stderr.contains("warning: cannot write the cache") && stderr.contains("HOLLOWAY_CACHE"),
        "{stderr}"
    );
    assert_eq!(sandbox.run("app").paths.get("f"), Some(&1));
}

#[test]
fn damaged_cache_entries_are_woven_again() {
    let sandbox = sandbox();
    sandbox.build("cc -c main.c f.c");
    sandbox.build("cc main.o f.o -o app");
    let good = std::fs::read(sandbox.path("app")).unwrap();
    let mut entries = 0;
    for dir in std::fs::read_dir(sandbox.path("cache"))
        .unwrap()
        .flatten()
        .filter(|entry| entry.path().is_dir())
    {
        for entry in std::fs::read_dir(dir.path()).unwrap() {
            let path = entry.unwrap().path();
            let mut bytes = std::fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            std::fs::write(&path, &bytes).unwrap();
            entries += 1;
        }
    }
    assert_eq!(entries, 2);
    sandbox.build("cc main.o f.o -o app");
    assert!(good == std::fs::read(sandbox.path("app")).unwrap());
}

#[test]
fn many_links_at_once_share_a_cache() {
    let sandbox = sandbox();
    sandbox.build("cc -c main.c f.c");
    let links: Vec<_> = (0..8)
        .map(|number| {
            sandbox
                .holloway(&format!("cc main.o f.o -o app{number}"))
                .spawn()
                .unwrap()
        })
        .collect();
    assert!(
        links
            .into_iter()
            .all(|mut link| link.wait().unwrap().success())
    );
    for number in 0..8 {
        assert_eq!(
            sandbox.run(&format!("app{number}")).paths.get("f"),
            Some(&1)
        );
    }
}

/// A libLLVM that calls `abort` in `function`. All other functions are the real libLLVM's.
pub(crate) fn crashing_llvm(sandbox: &Sandbox, function: &str) -> std::path::PathBuf {
    faulty_llvm(
        sandbox,
        &format!("#include <stdlib.h>\nvoid {function}(void) {{ abort(); }}\n"),
    )
}

/// A libLLVM that replaces some functions. All others are the real libLLVM's.
pub(crate) fn faulty_llvm(sandbox: &Sandbox, functions: &str) -> std::path::PathBuf {
    sandbox.write("fault.c", functions);
    let real = rust_llvm();
    let library = sandbox.path("libLLVM-fault.so");
    let mut cc = sandbox.command("cc");
    cc.args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg("fault.c")
        .arg("-Wl,--no-as-needed")
        .arg(&real);
    cc.arg(format!("-Wl,-rpath,{}", real.parent().unwrap().display()));
    succeed(&mut cc);
    library
}

/// The faulty libLLVM does not mark the counter base of a process's first module as a number. LLVM
/// turns the base into addresses, which no link can resolve. Holloway weaves the module again, and
/// its counts are the same.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_counter_base_that_llvm_turns_into_addresses_is_moved_into_registers() {
    let sandbox = sandbox();
    let llvm = faulty_llvm(
        &sandbox,
        "#define _GNU_SOURCE
        #include <dlfcn.h>
        void LLVMGlobalSetMetadata(void *global, unsigned kind, void *node) {
            static int calls;
            void (*real)(void *, unsigned, void *) = dlsym(RTLD_NEXT, \"LLVMGlobalSetMetadata\");
            if (calls++) real(global, kind, node);
        }",
    );
    let loops = "int g(int n) { int s = 0; for (int i = 0; i < n; i++) if (i & 1) s += i; else s ^= i; return s; }";
    sandbox.write("g.c", loops);
    sandbox.write(
        "main.c",
        "int f(int); int g(int); int main(int c, char **v) { (void)v; return f(c) + g(9) < 0; }",
    );
    for kind in ["paths", "edges", "loops", "trace", "variation", "times"] {
        let words = format!("cc -O2 --collect {kind} main.c f.c g.c -o");
        sandbox.build(&format!("{words} sound"));
        let mut command = sandbox.holloway(&format!("{words} app"));
        command.env("HOLLOWAY_LLVM", &llvm);
        let stderr = succeed(command.env("HOLLOWAY_CACHE", ""));
        assert_eq!(stderr, "", "{kind}");
        assert_eq!(sandbox.modules("app"), sandbox.modules("sound"), "{kind}");
        if matches!(kind, "paths" | "edges") {
            let (app, sound) = (sandbox.run("app"), sandbox.run("sound"));
            assert_eq!(app, sound, "{kind}");
            assert!(app.paths.len() == 3, "{app:?}");
        } else {
            let stderr = sandbox.build("run -o data -- ./app");
            assert!(!stderr.contains("warning"), "{kind}: {stderr}");
            std::fs::remove_dir_all(sandbox.path("data")).unwrap();
        }
    }
}

/// The faulty libLLVM makes one module refer to its counters in a way that cannot be patched, even
/// if it is woven again.
#[test]
#[cfg(target_arch = "x86_64")]
fn counters_that_cannot_be_found_cost_the_probes_of_one_module() {
    let sandbox = sandbox();
    let llvm = faulty_llvm(
        &sandbox,
        r#"#define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdio.h>
        #include <string.h>
        void *LLVMGetGlobalParent(void *);
        void *LLVMGetNamedFunction(void *, const char *);
        int LLVMIsDeclaration(void *);
        const char *LLVMGetValueName2(void *, size_t *);
        void LLVMAppendModuleInlineAsm(void *, const char *, size_t);
        void LLVMGlobalSetMetadata(void *global, unsigned kind, void *node) {
            void (*real)(void *, unsigned, void *) = dlsym(RTLD_NEXT, "LLVMGlobalSetMetadata");
            size_t length;
            void *module = LLVMGetGlobalParent(global);
            real(global, kind, node);
            if (LLVMIsDeclaration(LLVMGetNamedFunction(module, "f"))) return;
            char text[500];
            sprintf(text, ".text\n.type bent,@function\nbent: lea %s(%%rip), %%rax\nret\n.size bent, .-bent\n",
                LLVMGetValueName2(global, &length));
            LLVMAppendModuleInlineAsm(module, text, strlen(text));
        }"#,
    );
    sandbox.build("cc -O1 -c main.c f.c");
    for kind in ["paths", "trace"] {
        let mut command = sandbox.holloway(&format!("cc --collect {kind} main.o f.o -o app"));
        let stderr = succeed(command.env("HOLLOWAY_LLVM", &llvm));
        let why = "weaving f.o failed: function bent: its counters are referred to by relocation type 2; leave it out with --skip and report this: linked without probes";
        assert_eq!(
            holloway_lines(&stderr),
            [format!("holloway: warning: {why}")]
        );
        assert_eq!(sandbox.linked_as_is("app"), [format!("f.o: {why}")]);
        assert_eq!(sandbox.modules("app"), ["main.o"]);
    }
    sandbox.build("cc main.o f.o -o app");
    assert_eq!(sandbox.run("app").code, Some(3));
}

#[test]
fn a_crash_of_llvm_costs_the_probes_of_one_module_and_is_reported() {
    let sandbox = sandbox();
    let llvm = crashing_llvm(&sandbox, "LLVMBuildICmp");
    let stderr = succeed(
        sandbox
            .holloway("cc -O1 main.c f.c -o app")
            .env("HOLLOWAY_LLVM", &llvm),
    );
    let stderr = holloway_lines(&stderr);
    assert_eq!(stderr.len(), 2, "{stderr:?}");
    for (module, function) in [("main", "main"), ("f", "f")] {
        let end = format!(" crashed in LLVM at function {function}: linked without probes");
        assert!(
            stderr
                .iter()
                .any(|line| line.contains(&format!("/{module}-")) && line.ends_with(&end)),
            "{stderr:?}"
        );
    }
    let as_is = sandbox.linked_as_is("app");
    assert!(
        as_is.len() == 2 && as_is[0].starts_with("main.o: weaving "),
        "{as_is:?}"
    );
    let result = sandbox.run("app");
    assert!(
        result.code == Some(3) && result.paths.is_empty(),
        "{result:?}"
    );
}

#[test]
fn if_llvm_always_crashes_fat_objects_are_linked_without_probes() {
    let sandbox = sandbox();
    let llvm = crashing_llvm(&sandbox, "LLVMTargetMachineEmitToMemoryBuffer");
    let stderr = succeed(
        sandbox
            .holloway("cc -O1 main.c f.c -o app")
            .env("HOLLOWAY_LLVM", &llvm),
    );
    assert_eq!(holloway_lines(&stderr).len(), 2, "{stderr}");
    assert_eq!(sandbox.run("app").code, Some(3));
}

#[test]
fn a_clang_newer_than_libllvm_is_refused_by_both_names() {
    let sandbox = sandbox();
    let mut command = sandbox.holloway("cc main.c f.c -o app");
    let (code, stderr) = refused(
        command
            .env("HOLLOWAY_CLANG", "clang-22")
            .env("HOLLOWAY_LLVM", "/usr/lib/llvm-19/lib/libLLVM.so"),
    );
    assert_eq!(code, Some(125));
    assert!(
        stderr.contains("clang 22 (")
            && stderr.contains("is newer than libLLVM 19.")
            && stderr.contains("install clang-19"),
        "{stderr}"
    );
    let mut command = sandbox.holloway("cc main.c f.c -o app");
    succeed(command.env("HOLLOWAY_LLVM", "/usr/lib/llvm-19/lib/libLLVM.so"));
    assert_eq!(
        sandbox.run("app").paths.get("f"),
        Some(&1),
        "the older clang is chosen"
    );
}

#[test]
fn missing_tools_are_named_with_advice() {
    let sandbox = sandbox();
    sandbox.build("cc -c main.c f.c");
    let check = |command: &mut std::process::Command, expect: &str| {
        let (code, stderr) = refused(command);
        assert!(
            stderr.starts_with("holloway: ") && stderr.contains(expect),
            "{stderr}"
        );
        assert_eq!((stderr.lines().count(), code), (1, Some(125)), "{stderr}");
    };
    check(
        sandbox
            .holloway("cc -c main.c")
            .env("PATH", sandbox.path("")),
        "no clang in PATH: install one",
    );
    check(
        sandbox
            .holloway("cc -c main.c")
            .env("HOLLOWAY_CLANG", "clang-none"),
        "HOLLOWAY_CLANG names it",
    );
    check(
        sandbox
            .holloway("cc main.o")
            .env("HOLLOWAY_LLVM", "/nowhere/libLLVM.so"),
        "/nowhere/libLLVM.so",
    );
    check(
        sandbox.holloway("ld main.o").env("HOLLOWAY_LD", "ld-none"),
        "HOLLOWAY_LD names it",
    );
    check(
        sandbox.holloway("ld main.o").env("PATH", sandbox.path("")),
        "no linker ld: install",
    );
    check(
        &mut sandbox.holloway("cc -flto -fvisibility=hidden -fsanitize=cfi -c main.c"),
        "-fsanitize=cfi checks types over the whole program",
    );
    let (code, stderr) = sandbox.refuse("cc --collect nonsense main.o");
    assert!(code == Some(2) && stderr.contains("nonsense"), "{stderr}");
    let (code, stderr) = refused(sandbox.holloway("ld main.o").env("HOLLOWAY_JOBS", "many"));
    assert!(
        code == Some(2) && stderr.contains("HOLLOWAY_JOBS=many"),
        "{stderr}"
    );
}

#[test]
fn a_link_that_lacks_needs_of_the_runtime_gets_a_note() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "start.c",
        "int f(int x) { return x ? 1 : 2; } void _start(void) { f(3); for (;;) ; }",
    );
    sandbox.build("cc -O0 -ffreestanding -c start.c");
    let (_, stderr) = sandbox.refuse("cc -nostdlib -static start.o -o app");
    assert!(
        stderr.contains("pthread_atfork")
            && stderr.contains("holloway: note: this link leaves out the C library"),
        "{stderr}"
    );
    sandbox.write("lib.c", "int f(int x) { return x ? 1 : 2; }");
    let (_, stderr) = sandbox.refuse("cc -O0 -fPIC -shared -nostartfiles lib.c -o lib.so");
    assert!(
        stderr.contains("holloway: note: this link leaves out the start files"),
        "{stderr}"
    );
}

#[test]
fn calls_that_only_query_clang_go_to_clang_unchanged() {
    let sandbox = sandbox();
    let clang = sandbox
        .holloway("cc -print-prog-name=clang")
        .output()
        .unwrap()
        .stdout;
    let clang = String::from_utf8(clang).unwrap();
    for question in [
        "--version",
        "-v",
        "-dumpmachine",
        "-print-search-dirs",
        "-E main.c",
        "-S -o - f.c",
        "-M f.c",
    ] {
        let ours = sandbox
            .holloway(&format!("cc {question}"))
            .output()
            .unwrap();
        let theirs = sandbox
            .command(clang.trim_end())
            .args(question.split(' '))
            .output()
            .unwrap();
        let text =
            |bytes: &[u8]| String::from_utf8_lossy(bytes).replace("InstalledDir: /usr/bin", "");
        assert_eq!(ours.status, theirs.status, "{question}");
        if question != "--version" && question != "-v" {
            assert_eq!(text(&ours.stdout), text(&theirs.stdout), "{question}");
        }
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn code_for_an_unsupported_machine_is_linked_without_probes() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "start.c",
        "int f(int x) { return x ? 1 : 2; } void _start(void) { f(3); for (;;) ; }",
    );
    let stderr = sandbox.build("cc -m32 -ffreestanding -nostdlib -static start.c -o app");
    assert!(
        stderr.contains("target i386-pc-linux-gnu is not supported yet: linked as it is"),
        "{stderr}"
    );
    assert!(sandbox.find_map("app").is_none());
}

#[test]
fn bad_patterns_and_patterns_that_match_nothing_are_reported() {
    let sandbox = sandbox();
    let cc = |variable: &str, patterns: &str| {
        let mut command = sandbox.holloway("cc -O1 main.c f.c -o app");
        command.env(variable, patterns);
        command
    };
    let nothing = "holloway: warning: app: HOLLOWAY_ONLY=nosuch neither fits no function that can be woven in this program: give a crate's name, a function's, or a regular expression over demangled names";
    let stderr = succeed(&mut cc("HOLLOWAY_ONLY", "nosuch\nneither"));
    assert_eq!(holloway_lines(&stderr), [nothing]);
    // In single links, a pattern that matches nothing may be meant for another program. So holloway
    // warns only if no pattern of HOLLOWAY_ONLY matches.
    for (variable, patterns) in [
        ("HOLLOWAY_ONLY", "f\nnosuch"),
        ("HOLLOWAY_ONLY", "^f$"),
        ("HOLLOWAY_SKIP", "nosuch"),
    ] {
        let stderr = succeed(&mut cc(variable, patterns));
        assert_eq!(holloway_lines(&stderr), [""; 0], "{variable} {patterns}");
    }
    let (_, stderr) = refused(&mut cc("HOLLOWAY_SKIP", "f\na(b"));
    let bad = "holloway: HOLLOWAY_SKIP: \"a(b\" is neither a name nor a regular expression: unclosed group";
    assert_eq!(holloway_lines(&stderr), [bad]);
}

/// If a module is for one machine and the link for another, the error names both machines.
#[test]
fn a_module_of_another_machine_is_reported_before_the_linker_runs() {
    let sandbox = Sandbox::new();
    sandbox.write("f.c", "int f(int x) { return x + 2; }");
    sandbox.build("cc -c f.c");
    let (code, stderr) = sandbox.refuse("ld -m aarch64linux -shared f.o -o libf.so");
    assert_eq!(code, Some(125));
    let expected =
        "holloway: f.o is for x86-64, the link for aarch64: give it files of one machine";
    assert_eq!(stderr.lines().collect::<Vec<_>>(), [expected]);
}
