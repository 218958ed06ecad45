//! Tests copies of the blocks of paths: the program does what it did, and code that must not be
//! copied is left alone.

use std::process::Command;

use crate::support::{Program, SETUPS, TRACED, Workspace, library, options, run};
use holloway_abi::Kind;
use holloway_format::{Count, EdgeMap, FunctionMap, FunctionPlan, ModuleMap, Outcome, Plan};
use holloway_weave::OptLevel::O2;
use holloway_weave::{EarlyBuild, WovenModule, weave_module};

const ARGS: [&str; 4] = ["-O2", "-Xclang", "-disable-llvm-passes", "-Wno-everything"];

fn build(llvm: &str, bitcode: &[u8], early: EarlyBuild) -> WovenModule {
    let mut options = options("m.o", O2);
    options.probes = early == EarlyBuild::Training;
    options.early = Some(early);
    options.collect = Kind::Edges;
    weave_module(&library(llvm), bitcode, &options, &mut |_| {}).unwrap()
}

fn training(llvm: &str, bitcode: &[u8]) -> Vec<FunctionMap> {
    let woven = build(llvm, bitcode, EarlyBuild::Training);
    let (map, damage) = ModuleMap::decode(&woven.fragment).unwrap();
    assert!(damage.is_empty(), "{damage:?}");
    map.functions
}

/// The edges that a plan numbers. They lead from and to the first part of each block.
fn edges(map: &FunctionMap) -> Vec<EdgeMap> {
    let mut first_parts: Vec<u32> = (0..).take(map.blocks.len() + 1).collect();
    for edge in map
        .edges
        .iter()
        .filter(|edge| edge.outcome == Outcome::Returned)
    {
        first_parts[edge.to as usize] = first_parts[edge.from as usize];
    }
    let edges = map.edges.iter().filter(|edge| edge.is_always_there());
    let joined = edges.map(|edge| EdgeMap {
        from: first_parts[edge.from as usize],
        ..*edge
    });
    joined.collect()
}

/// The paths of up to `length` edges that `choose` accepts, as plans number them.
fn paths(map: &FunctionMap, length: usize, choose: &mut dyn FnMut() -> bool) -> Vec<Vec<usize>> {
    let edges = edges(map);
    let mut paths: Vec<Vec<usize>> = (0..edges.len()).map(|edge| vec![edge]).collect();
    let mut chosen = Vec::new();
    for _ in 1..length {
        let mut longer = Vec::new();
        for path in &paths {
            let end = edges[path[path.len() - 1]].to;
            let next = (0..edges.len()).filter(|&edge| edges[edge].from == end);
            longer.extend(
                next.filter(|_| choose())
                    .map(|edge| [&path[..], &[edge]].concat()),
            );
        }
        chosen.extend(longer.iter().cloned());
        paths = longer;
    }
    chosen
}

/// A plan in which each edge ran a thousand times.
fn plan(functions: &[FunctionMap]) -> Plan {
    let functions = functions.iter().map(|map| {
        let function = FunctionPlan::new(Count(1000), edges(map).iter().map(|_| Count(1000)));
        (map.linkage_name.clone(), map.graph_hash(), function)
    });
    functions.collect()
}

fn with_paths(
    mut plan: Plan,
    functions: &[FunctionMap],
    length: usize,
    choose: &mut dyn FnMut() -> bool,
) -> Plan {
    for map in functions {
        for path in paths(map, length, choose) {
            assert!(plan.add_tail(&map.linkage_name, map.graph_hash(), path, Count(10)));
        }
    }
    plan
}

#[test]
fn random_programs_with_random_copies_do_what_they_did() {
    for seed in 0..12 {
        let setup = &SETUPS[seed as usize % SETUPS.len()];
        let workspace = Workspace::new();
        let text = Program::new(500 + seed, seed % 4 == 3).text;
        let bitcode = workspace.compile(setup.clang, "m.c", &format!("{TRACED}{text}"), &ARGS);
        let functions = training(setup.llvm, &bitcode);
        let run = |early| {
            let object = build(setup.llvm, &bitcode, early).object;
            let run = workspace.run(&[object], &[]);
            (run.output.status, run.stdout())
        };
        let expected = run(EarlyBuild::Plain);
        let mut random = seed + 1;
        let mut choose = || {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            random >> 61 == 0
        };
        let edges_only = plan(&functions);
        let copied = with_paths(edges_only.clone(), &functions, 5, &mut choose);
        assert!(copied.tail_count() > 10, "{}", copied.tail_count());
        assert_eq!(run(EarlyBuild::Optimized(copied)), expected, "{seed}");
    }
}

/// A function with a join, whose code has `declarations` before it and `body` in the join.
fn join(declarations: &str, body: &str, end: &str) -> String {
    format!(
        "target triple = \"x86_64-unknown-linux-gnu\"
        declare i32 @work(i32)
        declare i32 @setjmp(ptr)
        declare void @single() noduplicate
        declare void @together() convergent
        declare i32 @personality(...)
        @buffer = external global ptr
        {declarations}
        define i32 @f(i1 %c, i32 %x, ptr %p) personality ptr @personality {{
        entry: br i1 %c, label %a, label %b
        a: %v = call i32 @work(i32 1)
           br label %join
        b: %w = call i32 @work(i32 %x)
           br label %join
        join: %n = phi i32 [ %v, %a ], [ %w, %b ]
           %k = phi i32 [ 7, %a ], [ %x, %b ]
           {body}
           %sum = add i32 %n, %k
           %q = icmp sgt i32 %sum, 5
           {end}
        then: %t = call i32 @work(i32 %sum)
           ret i32 %t
        else: %e = call i32 @work(i32 %n)
           %r = add i32 %e, %k
           ret i32 %r
        }}"
    )
}

const BRANCH: &str = "br i1 %q, label %then, label %else";

/// Whether the optimized code with all paths copied differs from that without.
fn differs(name: &str, source: &str) -> bool {
    let workspace = Workspace::new();
    let setup = &SETUPS[0];
    let bitcode = workspace.compile(setup.clang, name, source, &ARGS);
    let functions = training(setup.llvm, &bitcode);
    let edges_only = plan(&functions);
    let copied = with_paths(edges_only.clone(), &functions, 4, &mut || true);
    assert!(copied.tail_count() > 0, "{source}");
    let [plain, copied] = [edges_only, copied]
        .map(|plan| build(setup.llvm, &bitcode, EarlyBuild::Optimized(plan)).object);
    plain != copied
}

#[test]
fn joins_are_copied_unless_their_code_must_stay_the_only_one() {
    let check = |body: &str, end: &str, expect| {
        let source = join("", body, end);
        assert_eq!(differs("m.ll", &source), expect, "{source}");
    };
    check("", BRANCH, true);
    check("call void asm sideeffect \"nop\", \"\"()", BRANCH, true);
    check("call void @single()", BRANCH, false);
    check("call void @together()", BRANCH, false);
    check(
        "call void asm sideeffect \"here: nop\", \"\"()",
        BRANCH,
        false,
    );
    check(
        "%s = call i32 @setjmp(ptr @buffer) returns_twice",
        BRANCH,
        false,
    );
    let labels =
        "@labels = global [2 x ptr] [ptr blockaddress(@f, %then), ptr blockaddress(@f, %else)]";
    let computed = "%to = load ptr, ptr %p\n indirectbr ptr %to, [label %then, label %else]";
    assert!(!differs("m.ll", &join(labels, "", computed)));
    let jump = "callbr void asm sideeffect \"\", \"!i\"() to label %then [label %else]";
    check("", jump, false);
}

/// Both invokes unwind to one pad, whose code goes on to a branch.
#[test]
fn pads_are_not_copied() {
    let source = "target triple = \"x86_64-unknown-linux-gnu\"
        declare i32 @work(i32)
        declare i32 @__gxx_personality_v0(...)
        define i32 @f(i32 %x) personality ptr @__gxx_personality_v0 {
        entry: %a = invoke i32 @work(i32 1) to label %next unwind label %pad
        next: %b = invoke i32 @work(i32 2) to label %done unwind label %pad
        done: ret i32 %b
        pad: %n = phi i32 [ 3, %entry ], [ %a, %next ]
           %l = landingpad { ptr, i32 } catch ptr null
           %q = icmp sgt i32 %n, %x
           br i1 %q, label %then, label %else
        then: ret i32 1
        else: %e = call i32 @work(i32 %n)
           ret i32 %e
        }";
    assert!(!differs("m.ll", source));
}

/// Copies have the debug locations of the code that they copy. The block of the call is too large
/// for LLVM to copy it by itself.
#[test]
fn copies_have_places() {
    let source = "
        extern int table[]; void work(int); int count;
        void f(int x) {
            int kind;
            if (table[x]) { work(1); kind = table[x + 1]; } else { work(2); kind = 3; }
            work(kind * x); work(kind ^ x); work(kind + x); work(kind - x);
            if (kind == 3) work(kind); else count ^= kind;
        }";
    let workspace = Workspace::new();
    let setup = &SETUPS[0];
    let bitcode = workspace.compile(setup.clang, "m.c", source, &ARGS);
    let functions = training(setup.llvm, &bitcode);
    let edges_only = plan(&functions);
    let copied = with_paths(edges_only.clone(), &functions, 3, &mut || true);
    let rows = |plan: Plan| {
        let object = build(setup.llvm, &bitcode, EarlyBuild::Optimized(plan)).object;
        let file = workspace.write("m.o", &object);
        let mut dump = Command::new("llvm-dwarfdump-22");
        let output = run(dump.arg("--debug-line").arg(file)).stdout;
        let text = String::from_utf8(output).unwrap();
        let lines = text.lines().filter(|row| row.starts_with("0x"));
        let lines = lines.filter(|row| row.split_whitespace().nth(1) == Some("6"));
        lines.count()
    };
    let [copied, edges_only] = [copied, edges_only].map(rows);
    assert!(copied > edges_only, "{copied} {edges_only}");
}

#[test]
fn lines_that_are_no_paths_copy_nothing() {
    let workspace = Workspace::new();
    let setup = &SETUPS[0];
    let bitcode = workspace.compile(setup.clang, "m.ll", &join("", "", BRANCH), &ARGS);
    let functions = training(setup.llvm, &bitcode);
    let edges_only = plan(&functions);
    let mut edited = edges_only.clone();
    let map = &functions[0];
    let edges = edges(map);
    for (first, from) in edges.iter().enumerate() {
        for (second, to) in edges.iter().enumerate() {
            if from.to != to.from {
                let path = vec![first, second];
                assert!(edited.add_tail(&map.linkage_name, map.graph_hash(), path, Count(1 << 40)));
            }
        }
    }
    let object = |plan| build(setup.llvm, &bitcode, EarlyBuild::Optimized(plan)).object;
    assert!(object(edited) == object(edges_only));
}
