//! Tests the properties of woven modules apart from their counts: errors, reasons, the map, and the
//! object.

use std::process::Command;

use crate::support::{SETUPS, TRACED, Workspace, library, options, run, weave};
use holloway_abi::Kind;
use holloway_format::{Counters, ModuleMap, Outcome};
use holloway_weave::OptLevel::{O0, O2};
use holloway_weave::{Filter, LinkKind, WeaveError, WovenModule, weave_module};
use object::{Object, ObjectSection, ObjectSymbol};

fn try_weave(llvm: &str, bitcode: &[u8]) -> Result<WovenModule, WeaveError> {
    weave_module(&library(llvm), bitcode, &options("m.o", O2), &mut |_| {})
}

fn error(llvm: &str, bitcode: &[u8]) -> String {
    try_weave(llvm, bitcode)
        .expect_err("it can't be woven")
        .to_string()
}

const SMALL: &str = "int f(int x) { return x > 3 ? x * 2 : x + 1; }
static int helper(int x) { return x * x; }
int g(int x) { return helper(x) + 1; }
";

#[test]
fn bad_input_is_named() {
    let workspace = Workspace::new();
    let bitcode = workspace.compile("clang-22", "m.c", SMALL, &["-O2"]);
    assert_eq!(error("22", b"\x7fELF not bitcode"), "m.o: not LLVM bitcode");
    assert_eq!(error("22", b""), "m.o: not LLVM bitcode");
    for cut in [4, 5, 100, bitcode.len() / 2, bitcode.len() - 8] {
        let error = error("22", &bitcode[..cut]);
        assert!(
            error.starts_with("m.o: damaged or truncated bitcode: "),
            "{cut}: {error}"
        );
    }
    let newer = error("19", &bitcode);
    assert!(
        newer.starts_with("m.o: written by a newer LLVM than /"),
        "{newer}"
    );
    assert!(newer.contains("Producer: 'LLVM22"), "{newer}");
    assert!(
        newer.ends_with("or set HOLLOWAY_LLVM to a newer libLLVM"),
        "{newer}"
    );
}

#[test]
fn modules_that_need_the_whole_program_are_refused() {
    let workspace = Workspace::new();
    let source = "struct A { virtual int f(); virtual ~A(); }; int g(A *a) { return a->f(); }";
    let args = ["-O2", "-fvisibility=hidden"];
    let cfi = [&args[..], &["-fsanitize=cfi"]].concat();
    let bitcode = workspace.compile("clang-22", "cfi.cpp", source, &cfi);
    let refused = try_weave("22", &bitcode).expect_err("control-flow integrity");
    assert!(refused.is_refusal(), "{refused}");
    assert!(refused.to_string().contains("-fsanitize=cfi"), "{refused}");

    let split = [
        &args[..],
        &["-flto=thin", "-fwhole-program-vtables", "-fsplit-lto-unit"],
    ]
    .concat();
    let source = "struct A { virtual int f() { return 1; } }; int g(A *a) { return a->f(); } A a;";
    let bitcode = workspace.compile("clang-22", "split.cpp", source, &split);
    let refused = try_weave("22", &bitcode).expect_err("two modules");
    assert!(refused.is_refusal(), "{refused}");
    assert!(
        refused.to_string().contains("-fno-split-lto-unit"),
        "{refused}"
    );

    // Devirtualization alone only adds assumptions, so the module can be woven.
    let whole = [
        &args[..],
        &["-fwhole-program-vtables", "-fno-split-lto-unit"],
    ]
    .concat();
    let bitcode = workspace.compile("clang-22", "whole.cpp", source, &whole);
    assert!(try_weave("22", &bitcode).is_ok());
}

#[test]
fn invalid_assembly_is_an_error() {
    for setup in SETUPS {
        let workspace = Workspace::new();
        let source = "void f(void) { __asm__ volatile(\"frobnicate %eax\"); }";
        let bitcode = workspace.compile(setup.clang, "asm.c", source, &["-O2"]);
        let error = error(setup.llvm, &bitcode);
        assert!(
            error.starts_with("m.o: code generation: ") && error.contains("frobnicate"),
            "{error}"
        );
    }
}

#[test]
fn another_architecture_is_refused() {
    let workspace = Workspace::new();
    let bitcode = workspace.compile(
        "clang-22",
        "m.c",
        SMALL,
        &["--target=i686-linux-gnu", "-O2"],
    );
    let refused = try_weave("22", &bitcode).expect_err("32 bits");
    assert!(
        refused.is_refusal() && refused.to_string().contains("is not supported yet"),
        "{refused}"
    );
}

#[test]
fn scalable_vectors_are_refused_where_words_are_appended() {
    let workspace = Workspace::new();
    let target = ["--target=aarch64-linux-gnu", "-O2", "-march=armv8-a+sve"];
    let bitcode = workspace.compile("clang-22", "m.c", SMALL, &target);
    for collect in [Kind::Loops, Kind::Trace, Kind::Times, Kind::Variation] {
        let mut options = options("m.o", O2);
        options.collect = collect;
        let refused = weave_module(&library("22"), &bitcode, &options, &mut |_| {});
        let refused = refused.expect_err("the kernel keeps no scalable vectors");
        assert!(refused.is_refusal(), "{refused}");
        assert!(
            refused.to_string().contains("without SVE and SME"),
            "{refused}"
        );
    }
    try_weave("22", &bitcode).expect("paths are counted without system calls");
}

#[test]
fn aarch64_modules_load_their_base() {
    let workspace = Workspace::new();
    let bitcode = workspace.compile(
        "clang-22",
        "m.c",
        SMALL,
        &["--target=aarch64-linux-gnu", "-O2", "-fPIC"],
    );
    let woven = try_weave("22", &bitcode).unwrap();
    let file = object::File::parse(&*woven.object).unwrap();
    assert_eq!(file.architecture(), object::Architecture::Aarch64);
    let base = file
        .symbols()
        .find(|symbol| symbol.name() == Ok(woven.base_symbol.as_str()))
        .unwrap();
    assert!(base.is_undefined());
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    for setup in SETUPS {
        let workspace = Workspace::new();
        let source = format!(
            "{TRACED}#include <stdio.h>\nint main(int c, char **v) {{ for (int i = 0; i < c; i++) {{ if (v[i][0] == 'x') puts(v[i]); else printf(\"%d\", i); }} }}\n{SMALL}"
        );
        for level in [O0, O2] {
            let bitcode = workspace.compile(setup.clang, "m.c", &source, &[&format!("-{level}")]);
            let weave = || {
                weave_module(
                    &library(setup.llvm),
                    &bitcode,
                    &options("m.o", level),
                    &mut |_| {},
                )
                .unwrap()
            };
            assert_eq!(weave(), weave(), "{setup:?} {level}");
        }
    }
}

#[test]
fn the_map_lists_each_function() {
    let source = r#"
#define WITH(x) __attribute__((x))
int selected(int x) { return x ? x * 3 : 7; }
WITH(noinline) static int unused_after_inlining(int x) { return x; }
static inline int inlined(int x) { return x + 5; }
int caller(int x) { return inlined(x) * inlined(x + 1); }
WITH(no_profile_instrument_function) int unprofiled(int x) { return x ? 1 : 2; }
WITH(naked) void bare(void) { __asm__("ret"); }
static int impl(void) { return 4; }
WITH(noinline) int feature(int x) { return x > 3 ? x * 2 : x; }
extern __typeof(feature) feature_alias WITH(alias("feature"));
extern volatile int level;
static void *resolve(void) { return feature_alias(level) ? impl : 0; }
int chosen(void) WITH(ifunc("resolve"));
int left_out(int x) { return x ? 3 : 4; }
void _start(void) { __builtin_trap(); }
WITH(gnu_inline) extern inline int elsewhere(int x) { return x; }
int use(int x) { return elsewhere(x) + chosen(); }
"#;
    for setup in SETUPS {
        let workspace = Workspace::new();
        let bitcode = workspace.compile(setup.clang, "m.c", source, &["-O2", "-ffreestanding"]);
        let mut options = options("m.o", O2);
        options.filter = Filter::parse("", "left_out").unwrap();
        let map = weave(&library(setup.llvm), &bitcode, &options, 0).map;
        let mut names: Vec<&str> = map
            .functions
            .iter()
            .map(|function| &*function.linkage_name)
            .collect();
        names.sort_unstable();
        assert_eq!(names, ["caller", "impl", "selected", "use"], "{setup:?}");
        let reasons: Vec<String> = map
            .skipped
            .iter()
            .map(|s| format!("{}: {}", s.linkage_name, s.reason))
            .collect();
        for reason in [
            "unprofiled: it is marked noprofile (no_profile_instrument_function)",
            "bare: it is naked: its body is assembly without a frame",
            "resolve: it resolves an ifunc, before the program is relocated",
            "feature: an ifunc's resolver calls it, before the program is relocated",
            "left_out: left out by --skip left_out",
            "_start: it runs before thread-local storage is set up",
        ] {
            assert!(
                reasons.contains(&reason.to_string()),
                "{setup:?}: {reasons:?}"
            );
        }
        let vanished = map.gone.iter();
        let vanished: Vec<&str> = vanished.map(|function| &*function.linkage_name).collect();
        assert!(
            vanished
                .iter()
                .all(|name| ["unused_after_inlining", "inlined"].contains(name)),
            "{setup:?}: {vanished:?}"
        );
        // An inlined function is a scope of its caller.
        let caller = map
            .functions
            .iter()
            .find(|function| &*function.name == "caller")
            .unwrap();
        assert_eq!(
            (&*caller.scopes[0].name, caller.line),
            ("caller", 6),
            "{setup:?}"
        );
        let frame = caller
            .scopes
            .iter()
            .find(|scope| &*scope.name == "inlined")
            .unwrap();
        assert_eq!(
            (frame.parent, frame.call_line, frame.line),
            (Some(0), 6, 5),
            "{setup:?}"
        );
        assert!(
            caller.file.ends_with("m.c") && caller.file.starts_with('/'),
            "{}",
            caller.file
        );
        assert!(map.producer.contains("clang version"), "{}", map.producer);
    }
}

#[test]
fn outcomes_are_named() {
    let source = "
void work(int);
int f(int x, int y) {
    if (x > y) work(1); else work(2);
    switch (x) { case 1: case 7: work(3); break; case -2: work(4); break; default: work(5); }
    if (y == 9) __builtin_trap();
    return x;
}";
    let workspace = Workspace::new();
    let bitcode = workspace.compile("clang-22", "m.c", source, &["-O0"]);
    let mut options = options("m.o", O0);
    options.array_limit = 1;
    let map = weave(&library("22"), &bitcode, &options, 0).map;
    let f = &map.functions[0];
    let outcomes = |wanted: Outcome| f.edges.iter().filter(|edge| edge.outcome == wanted).count();
    for outcome in [
        Outcome::Case(1),
        Outcome::Case(-2),
        Outcome::Default,
        Outcome::Noreturn,
        Outcome::Return,
    ] {
        assert_eq!(outcomes(outcome), 1, "{outcome:?}: {:?}", f.edges);
    }
    assert_eq!((outcomes(Outcome::True), outcomes(Outcome::False)), (2, 2));
    // Cases 1 and 7 are one edge: 2 branches × 3 cases × 2 ends. Each of the calls may be left too:
    // 2 in the branches, 2 × 3 in the cases.
    assert_eq!(f.path_count, 12 + 2 + 6);
    assert_eq!(f.counters, Counters::Hash { offset: 0 });
    assert_eq!(f.hash, f.structure_hash());
}

#[test]
fn without_probes_nothing_is_added() {
    let workspace = Workspace::new();
    let bitcode = workspace.compile("clang-22", "m.c", SMALL, &["-O2"]);
    let mut options = options("m.o", O2);
    options.probes = false;
    let woven = weave_module(&library("22"), &bitcode, &options, &mut |_| {}).unwrap();
    let file = object::File::parse(&*woven.object).unwrap();
    assert!(
        file.symbols()
            .all(|symbol| !symbol.name().unwrap().contains("holloway"))
    );
    assert_eq!(woven.counters_size, 0);
    let (map, _) = ModuleMap::decode(&woven.fragment).unwrap();
    assert!(map.functions.is_empty());
}

#[test]
fn each_function_has_a_section_and_its_slot_the_right_model() {
    let workspace = Workspace::new();
    let source = format!("{SMALL}__attribute__((section(\"mine\"))) int h(int x) {{ return x; }}");
    let bitcode = workspace.compile("clang-22", "m.c", &source, &["-O2", "-fPIC"]);
    for (kind, relocation) in [
        (LinkKind::Executable, "R_X86_64_TPOFF32"),
        (LinkKind::SharedObject, "R_X86_64_GOTTPOFF"),
    ] {
        let mut options = options("m.o", O2);
        options.kind = kind;
        let woven = weave_module(&library("22"), &bitcode, &options, &mut |_| {}).unwrap();
        let file = object::File::parse(&*woven.object).unwrap();
        for section in [".text.f", ".text.g", "mine"] {
            assert!(
                file.section_by_name(section)
                    .is_some_and(|section| section.size() > 0),
                "{section}"
            );
        }
        let text = disassemble(&workspace, &woven.object);
        assert!(text.contains(relocation), "{text}");
    }
}

/// If a signal handler counts the path that it interrupted, no count may get lost. So only two
/// instructions may change a counter: an `incq` on memory, and an `addq` of a loop's accumulator.
#[test]
fn counters_are_updated_by_one_instruction() {
    let source = "
int pick(int *p, int n) {
    int s = 0;
    for (int i = 0; i < n; i++) {
        if (p[i] & 1) s += p[i]; else s ^= i;
        if (p[i] & 2) s *= 3;
        switch (p[i] & 7) { case 3: s++; break; case 4: s--; break; case 6: return s; }
    }
    return s;
}
float sum(float *p, int n) { float s = 0; for (int i = 0; i < n; i++) s += p[i]; return s; }";
    for setup in SETUPS {
        for level in ["O0", "O1", "O2", "O3", "Os"] {
            let workspace = Workspace::new();
            let bitcode =
                workspace.compile(setup.clang, "m.c", source, &[&format!("-{level}"), "-fPIE"]);
            let mut options = options("m.o", O2);
            options.opt = [
                O0,
                O2,
                holloway_weave::OptLevel::O1,
                holloway_weave::OptLevel::O3,
                holloway_weave::OptLevel::Os,
            ]
            .into_iter()
            .find(|candidate| candidate.to_string() == level);
            let woven =
                weave_module(&library(setup.llvm), &bitcode, &options, &mut |_| {}).unwrap();
            let text = disassemble(&workspace, &woven.object);
            let lines: Vec<&str> = text.lines().collect();
            let mut counted = 0;
            for (line, next) in lines.iter().zip(lines.iter().skip(1)) {
                if !next.contains("__holloway_base_") {
                    continue;
                }
                // The relocation belongs to the instruction before it. That instruction counts, or
                // it computes a counter's address. Addresses are computed without optimization, and
                // for the counts of loops, which inline assembly adds.
                let instruction = line.split('\t').next_back().unwrap_or_default().trim();
                let instruction = if instruction.is_empty() {
                    *line
                } else {
                    instruction
                };
                let allowed = line.contains("incq")
                    || line.contains("addq\t%")
                    || line.contains("leaq")
                    || (level == "O0"
                        && (line.contains("addq")
                            || line.contains("movq\t$")
                            || line.contains("movl\t$")));
                assert!(allowed, "{setup:?} {level}: {instruction} in\n{text}");
                counted += 1;
            }
            let increments = lines.iter().filter(|line| line.contains("incq")).count();
            assert!(counted > 3 && increments > 3, "{setup:?} {level}: {text}");
        }
    }
}

fn disassemble(workspace: &Workspace, object: &[u8]) -> String {
    let file = workspace.write("m.o", object);
    let output = run(Command::new("llvm-objdump-22")
        .args(["-d", "-r", "--no-show-raw-insn"])
        .arg(file));
    String::from_utf8(output.stdout).unwrap()
}

/// The weaver reports each stage and each function before it works on it.
#[test]
fn each_stage_and_function_is_reported() {
    let workspace = Workspace::new();
    let bitcode = workspace.compile("clang-22", "m.c", SMALL, &["-O2"]);
    let mut stages = Vec::new();
    weave_module(&library("22"), &bitcode, &options("m.o", O2), &mut |name| {
        stages.push(name.to_string());
    })
    .unwrap();
    for name in ["(reading)", "(optimising)", "f", "g", "(generating code)"] {
        assert!(
            stages.iter().any(|stages| stages == name),
            "{name}: {stages:?}"
        );
    }
}
