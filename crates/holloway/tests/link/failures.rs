//! Bad input and failures: each gives one line with the cause and what to do. Nothing is lost, and
//! no file is written in part.

use crate::link_support::{Yard, refused, rust_llvm, succeed};

fn yard() -> Yard {
    let yard = Yard::new();
    yard.write(
        "main.c",
        "int f(int); int main(int c, char **v) { (void)v; return f(c); }",
    );
    yard.write("f.c", "int f(int x) { if (x > 1) return 9; return x + 2; }");
    yard
}

/// The lines that holloway itself printed.
fn ours(stderr: &str) -> Vec<&str> {
    stderr
        .lines()
        .filter(|line| line.starts_with("holloway:"))
        .collect()
}

/// Cuts the bitcode section short, by overwriting the length of its first block.
fn break_bitcode(object: &mut [u8]) {
    let at = object
        .windows(4)
        .position(|window| window == b"BC\xC0\xDE")
        .unwrap();
    object[at + 8..at + 12].copy_from_slice(&0x00ff_ffffu32.to_le_bytes());
}

/// If bitcode cannot be read, its module has no probes. Its machine code is linked as it is.
#[test]
fn damaged_bitcode_beside_machine_code_costs_the_probes_of_its_module() {
    let yard = yard();
    yard.build("cc -c main.c f.c");
    let good = std::fs::read(yard.path("f.o")).unwrap();
    yard.tool("ar rc libf.a f.o");
    for file in ["f.o", "libf.a"] {
        let mut bytes = std::fs::read(yard.path(file)).unwrap();
        break_bitcode(&mut bytes);
        std::fs::write(yard.path(file), &bytes).unwrap();
    }
    for (input, shown) in [("f.o", "f.o"), ("libf.a", "libf.a(f.o)")] {
        let stderr = yard.build(&format!("cc --exits off main.o {input} -o app"));
        let stderr = ours(&stderr);
        let begin =
            format!("holloway: warning: {shown}: its bitcode is truncated or damaged at offset ");
        let is_told = stderr[0].starts_with(&begin) && stderr[0].ends_with(": linked as it is");
        assert!(stderr.len() == 1 && is_told, "{stderr:?}");
        let left = yard.left_alone("app");
        let begin = format!("{input}: its bitcode is truncated or damaged at offset ");
        assert!(left.len() == 1 && left[0].starts_with(&begin), "{left:?}");
        let ran = yard.run("app");
        assert_eq!((ran.code, ran.paths.get("main")), (Some(3), Some(&1)));
        assert_eq!(ran.paths.get("f"), None);
    }

    // Damage a word inside the module's block. The top-level blocks stay valid, so LLVM itself
    // reports the error.
    let mut object = good;
    let mut windows = object.windows(4);
    let start = windows.position(|window| window == b"BC\xC0\xDE").unwrap();
    object[start + 200..start + 260].fill(0xff);
    std::fs::write(yard.path("f.o"), &object).unwrap();
    let stderr = yard.build("cc --exits off main.o f.o -o app");
    let stderr = ours(&stderr);
    assert!(
        stderr.len() == 1 && stderr[0].starts_with("holloway: warning: f.o: "),
        "{stderr:?}"
    );
    let left = yard.left_alone("app");
    assert!(left.len() == 1 && left[0].starts_with("f.o: "), "{left:?}");
    assert_eq!(yard.run("app").paths.get("main"), Some(&1));
}

#[test]
fn bare_bitcode_that_is_damaged_is_named() {
    let yard = yard();
    let clang = yard.holloway("cc -print-prog-name=clang").output().unwrap();
    let clang = String::from_utf8(clang.stdout).unwrap();
    yard.build("cc -c main.c");
    yard.tool(&format!("{} -O1 -flto -c f.c", clang.trim_end()));
    let mut bitcode = std::fs::read(yard.path("f.o")).unwrap();
    break_bitcode(&mut bitcode);
    std::fs::write(yard.path("f.o"), &bitcode).unwrap();
    let (code, stderr) = yard.refuse("cc main.o f.o -o app");
    assert!(code != Some(0) && ours(&stderr).len() == 1, "{stderr}");
    let expected = "holloway: f.o: bitcode is truncated or damaged at offset ";
    assert!(stderr.contains(expected), "{stderr}");
    assert!(!yard.path("app").exists());
}

#[test]
fn truncated_archives_and_objects_are_named() {
    let yard = yard();
    yard.build("cc -c main.c f.c");
    yard.tool("ar rc libf.a f.o");
    for (file, length) in [("libf.a", 400), ("f.o", 90)] {
        let bytes = std::fs::read(yard.path(file)).unwrap();
        std::fs::write(yard.path(file), &bytes[..length]).unwrap();
        let (_, stderr) = yard.refuse(&format!("cc main.o {file} -o app"));
        assert!(stderr.contains(&format!("holloway: {file}: ")), "{stderr}");
        assert!(!stderr.contains("panic"), "{stderr}");
    }
}

#[test]
fn what_is_not_there_is_the_linkers_business() {
    let yard = yard();
    yard.build("cc -c main.c");
    let (code, stderr) = yard.refuse("cc main.o -lnowhere_to_be_found -o app");
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains("nowhere_to_be_found") && ours(&stderr).is_empty(),
        "{stderr}"
    );
    let (_, stderr) = yard.refuse("cc main.o -o app");
    assert!(
        stderr.contains("undefined reference to `f'") && ours(&stderr).is_empty(),
        "{stderr}"
    );
}

#[test]
fn a_cache_that_cannot_be_written_costs_one_warning() {
    let yard = yard();
    yard.write("file", "");
    let stderr = succeed(
        yard.holloway("cc main.c f.c -o app")
            .env("HOLLOWAY_CACHE", yard.path("file/cache")),
    );
    assert_eq!(ours(&stderr).len(), 1, "{stderr}");
    assert!(
        stderr.contains("warning: cannot write the cache") && stderr.contains("HOLLOWAY_CACHE"),
        "{stderr}"
    );
    assert_eq!(yard.run("app").paths.get("f"), Some(&1));
}

#[test]
fn a_damaged_cache_is_woven_again() {
    let yard = yard();
    yard.build("cc -c main.c f.c");
    yard.build("cc main.o f.o -o app");
    let good = std::fs::read(yard.path("app")).unwrap();
    let mut entries = 0;
    for dir in std::fs::read_dir(yard.path("cache"))
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
    yard.build("cc main.o f.o -o app");
    assert!(good == std::fs::read(yard.path("app")).unwrap());
}

#[test]
fn many_links_at_once_share_a_cache() {
    let yard = yard();
    yard.build("cc -c main.c f.c");
    let links: Vec<_> = (0..8)
        .map(|number| {
            yard.holloway(&format!("cc main.o f.o -o app{number}"))
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
        assert_eq!(yard.run(&format!("app{number}")).paths.get("f"), Some(&1));
    }
}

/// A libLLVM that calls `abort` in `function`. All other functions are the real libLLVM's.
pub(crate) fn crashing_llvm(yard: &Yard, function: &str) -> std::path::PathBuf {
    faulty_llvm(
        yard,
        &format!("#include <stdlib.h>\nvoid {function}(void) {{ abort(); }}\n"),
    )
}

/// A libLLVM that replaces some functions. All others are the real libLLVM's.
pub(crate) fn faulty_llvm(yard: &Yard, functions: &str) -> std::path::PathBuf {
    yard.write("fault.c", functions);
    let real = rust_llvm();
    let library = yard.path("libLLVM-fault.so");
    let mut cc = yard.command("cc");
    cc.args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg("fault.c")
        .arg("-Wl,--no-as-needed")
        .arg(&real);
    cc.arg(format!("-Wl,-rpath,{}", real.parent().unwrap().display()));
    succeed(&mut cc);
    library
}

/// The first module that a process weaves does not mark its counter base as a number. LLVM makes
/// addresses of it, which no link can resolve. The module that is woven anew counts the same.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_base_that_llvm_makes_an_address_of_is_moved_into_registers() {
    let yard = yard();
    let llvm = faulty_llvm(
        &yard,
        "#define _GNU_SOURCE
        #include <dlfcn.h>
        void LLVMGlobalSetMetadata(void *global, unsigned kind, void *node) {
            static int calls;
            void (*real)(void *, unsigned, void *) = dlsym(RTLD_NEXT, \"LLVMGlobalSetMetadata\");
            if (calls++) real(global, kind, node);
        }",
    );
    let loops = "int g(int n) { int s = 0; for (int i = 0; i < n; i++) if (i & 1) s += i; else s ^= i; return s; }";
    yard.write("g.c", loops);
    yard.write(
        "main.c",
        "int f(int); int g(int); int main(int c, char **v) { (void)v; return f(c) + g(9) < 0; }",
    );
    for kind in ["paths", "edges", "loops", "trace", "variation", "times"] {
        let words = format!("cc -O2 --collect {kind} main.c f.c g.c -o");
        yard.build(&format!("{words} sound"));
        let mut command = yard.holloway(&format!("{words} app"));
        command.env("HOLLOWAY_LLVM", &llvm);
        let stderr = succeed(command.env("HOLLOWAY_CACHE", ""));
        assert_eq!(stderr, "", "{kind}");
        assert_eq!(yard.modules("app"), yard.modules("sound"), "{kind}");
        if matches!(kind, "paths" | "edges") {
            let (app, sound) = (yard.run("app"), yard.run("sound"));
            assert_eq!(app, sound, "{kind}");
            assert!(app.paths.len() == 3, "{app:?}");
        } else {
            let stderr = yard.build("run -o data -- ./app");
            assert!(!stderr.contains("warning"), "{kind}: {stderr}");
            std::fs::remove_dir_all(yard.path("data")).unwrap();
        }
    }
}

/// One module refers to its counters in a way that cannot be patched, however often it is woven.
#[test]
#[cfg(target_arch = "x86_64")]
fn counters_that_cannot_be_found_cost_the_probes_of_one_module() {
    let yard = yard();
    let llvm = faulty_llvm(
        &yard,
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
    yard.build("cc -O1 -c main.c f.c");
    for kind in ["paths", "trace"] {
        let mut command = yard.holloway(&format!("cc --collect {kind} main.o f.o -o app"));
        let stderr = succeed(command.env("HOLLOWAY_LLVM", &llvm));
        let why = "weaving f.o failed: function bent: its counters are referred to by relocation type 2; leave it out with --skip and report this: linked without probes";
        assert_eq!(ours(&stderr), [format!("holloway: warning: {why}")]);
        assert_eq!(yard.left_alone("app"), [format!("f.o: {why}")]);
        assert_eq!(yard.modules("app"), ["main.o"]);
    }
    yard.build("cc main.o f.o -o app");
    assert_eq!(yard.run("app").code, Some(3));
}

#[test]
fn a_crash_of_llvm_costs_the_probes_of_one_module_and_is_said() {
    let yard = yard();
    let llvm = crashing_llvm(&yard, "LLVMBuildICmp");
    let stderr = succeed(
        yard.holloway("cc -O1 main.c f.c -o app")
            .env("HOLLOWAY_LLVM", &llvm),
    );
    let stderr = ours(&stderr);
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
    let left = yard.left_alone("app");
    assert!(
        left.len() == 2 && left[0].starts_with("main.o: weaving "),
        "{left:?}"
    );
    let ran = yard.run("app");
    assert!(ran.code == Some(3) && ran.paths.is_empty(), "{ran:?}");
}

#[test]
fn where_llvm_crashes_always_fat_objects_are_linked_as_they_are() {
    let yard = yard();
    let llvm = crashing_llvm(&yard, "LLVMRunPasses");
    let stderr = succeed(
        yard.holloway("cc -O1 main.c f.c -o app")
            .env("HOLLOWAY_LLVM", &llvm),
    );
    assert_eq!(ours(&stderr).len(), 2, "{stderr}");
    assert_eq!(yard.run("app").code, Some(3));
}

#[test]
fn a_clang_newer_than_libllvm_is_refused_by_both_names() {
    let yard = yard();
    let mut command = yard.holloway("cc main.c f.c -o app");
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
    let mut command = yard.holloway("cc main.c f.c -o app");
    succeed(command.env("HOLLOWAY_LLVM", "/usr/lib/llvm-19/lib/libLLVM.so"));
    assert_eq!(
        yard.run("app").paths.get("f"),
        Some(&1),
        "the older clang is chosen"
    );
}

#[test]
fn what_is_missing_is_named_with_the_way_out() {
    let yard = yard();
    yard.build("cc -c main.c f.c");
    let check = |command: &mut std::process::Command, expect: &str| {
        let (code, stderr) = refused(command);
        assert!(
            stderr.starts_with("holloway: ") && stderr.contains(expect),
            "{stderr}"
        );
        assert_eq!((stderr.lines().count(), code), (1, Some(125)), "{stderr}");
    };
    check(
        yard.holloway("cc -c main.c").env("PATH", yard.path("")),
        "no clang in PATH: install one",
    );
    check(
        yard.holloway("cc -c main.c")
            .env("HOLLOWAY_CLANG", "clang-none"),
        "HOLLOWAY_CLANG names it",
    );
    check(
        yard.holloway("cc main.o")
            .env("HOLLOWAY_LLVM", "/nowhere/libLLVM.so"),
        "/nowhere/libLLVM.so",
    );
    check(
        yard.holloway("ld main.o").env("HOLLOWAY_LD", "ld-none"),
        "HOLLOWAY_LD names it",
    );
    check(
        yard.holloway("ld main.o").env("PATH", yard.path("")),
        "no linker ld: install",
    );
    check(
        &mut yard.holloway("cc -flto -fvisibility=hidden -fsanitize=cfi -c main.c"),
        "-fsanitize=cfi checks types over the whole program",
    );
    let (code, stderr) = yard.refuse("cc --collect nonsense main.o");
    assert!(code == Some(2) && stderr.contains("nonsense"), "{stderr}");
    let (code, stderr) = refused(yard.holloway("ld main.o").env("HOLLOWAY_JOBS", "many"));
    assert!(
        code == Some(2) && stderr.contains("HOLLOWAY_JOBS=many"),
        "{stderr}"
    );
}

#[test]
fn a_link_without_what_the_runtime_needs_says_so() {
    let yard = Yard::new();
    yard.write(
        "start.c",
        "int f(int x) { return x ? 1 : 2; } void _start(void) { f(3); for (;;) ; }",
    );
    yard.build("cc -O0 -ffreestanding -c start.c");
    let (_, stderr) = yard.refuse("cc -nostdlib -static start.o -o app");
    assert!(
        stderr.contains("pthread_atfork")
            && stderr.contains("holloway: note: this link leaves out the C library"),
        "{stderr}"
    );
    yard.write("lib.c", "int f(int x) { return x ? 1 : 2; }");
    let (_, stderr) = yard.refuse("cc -O0 -fPIC -shared -nostartfiles lib.c -o lib.so");
    assert!(
        stderr.contains("holloway: note: this link leaves out the start files"),
        "{stderr}"
    );
}

#[test]
fn questions_go_to_clang_untouched() {
    let yard = yard();
    let clang = yard
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
        let ours = yard.holloway(&format!("cc {question}")).output().unwrap();
        let theirs = yard
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
fn another_machine_is_linked_as_it_is() {
    let yard = Yard::new();
    yard.write(
        "start.c",
        "int f(int x) { return x ? 1 : 2; } void _start(void) { f(3); for (;;) ; }",
    );
    let stderr = yard.build("cc -m32 -ffreestanding -nostdlib -static start.c -o app");
    assert!(
        stderr.contains("target i386-pc-linux-gnu is not supported yet: linked as it is"),
        "{stderr}"
    );
    assert!(yard.maybe_map("app").is_none());
}

#[test]
fn patterns_that_are_no_good_or_fit_nothing_are_told() {
    let yard = yard();
    let cc = |variable: &str, patterns: &str| {
        let mut command = yard.holloway("cc -O1 main.c f.c -o app");
        command.env(variable, patterns);
        command
    };
    let nothing = "holloway: warning: app: HOLLOWAY_ONLY=nosuch neither fits no function that can be woven in this program: give a crate's name, a function's, or a regular expression over demangled names";
    let stderr = succeed(&mut cc("HOLLOWAY_ONLY", "nosuch\nneither"));
    assert_eq!(ours(&stderr), [nothing]);
    // These are single links: the other patterns may be meant for another program.
    for (variable, patterns) in [
        ("HOLLOWAY_ONLY", "f\nnosuch"),
        ("HOLLOWAY_ONLY", "^f$"),
        ("HOLLOWAY_SKIP", "nosuch"),
    ] {
        let stderr = succeed(&mut cc(variable, patterns));
        assert_eq!(ours(&stderr), [""; 0], "{variable} {patterns}");
    }
    let (_, stderr) = refused(&mut cc("HOLLOWAY_SKIP", "f\na(b"));
    let bad = "holloway: HOLLOWAY_SKIP: \"a(b\" is neither a name nor a regular expression: unclosed group";
    assert_eq!(ours(&stderr), [bad]);
}

/// The error for a module that is woven for one machine and linked for another names both machines.
#[test]
fn a_module_of_another_machine_is_told_before_the_linker_is() {
    let yard = Yard::new();
    yard.write("f.c", "int f(int x) { return x + 2; }");
    yard.build("cc -c f.c");
    let (code, stderr) = yard.refuse("ld -m aarch64linux -shared f.o -o libf.so");
    assert_eq!(code, Some(125));
    let expected =
        "holloway: f.o is for x86-64, the link for aarch64: give it files of one machine";
    assert_eq!(stderr.lines().collect::<Vec<_>>(), [expected]);
}
