//! Tests builds of unoptimized bitcode: what training counts, and what becomes of the branches that
//! a plan marks as unpredictable.

use std::process::Command;

use crate::support::{SETUPS, Workspace, library, options, run};
use holloway_abi::Kind;
use holloway_format::{
    BlockContent, Count, EdgeMap, FunctionMap, FunctionPlan, ModuleMap, Outcome, Plan,
};
use holloway_weave::OptLevel::O2;
use holloway_weave::cache::{Cache, Key, Place};
use holloway_weave::{EarlyBuild, Filter, WovenModule, weave_module};

/// In `find`, the optimizer makes two selects with one condition before the counts. In `mix`, one
/// side of the branch has too many instructions for a select, unless the branch is unpredictable.
const SOURCE: &str = "
extern unsigned table[4096];
unsigned find(unsigned key) {
    unsigned low = 0, high = 4096;
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        if (table[middle] <= key) low = middle; else high = middle;
    }
    return low;
}
unsigned mix(unsigned *values, unsigned count) {
    unsigned sum = 1;
    for (unsigned i = 0; i < count; i++)
        if (values[i] & 1) {
            sum = sum * 7919 + 7;
            sum ^= sum >> 13;
            sum *= 31337;
        }
    return sum;
}
";

fn build(llvm: &str, bitcode: &[u8], early: EarlyBuild, collect: Kind) -> WovenModule {
    let mut options = options("m.o", O2);
    options.probes = early == EarlyBuild::Training;
    options.early = Some(early);
    options.collect = collect;
    weave_module(&library(llvm), bitcode, &options, &mut |_| {}).unwrap()
}

fn training(llvm: &str, bitcode: &[u8], collect: Kind) -> Vec<FunctionMap> {
    let woven = build(llvm, bitcode, EarlyBuild::Training, collect);
    let (map, damage) = ModuleMap::decode(&woven.fragment).unwrap();
    assert!(damage.is_empty(), "{damage:?}");
    map.functions
}

/// The edges that a plan numbers.
fn edges(map: &FunctionMap) -> Vec<EdgeMap> {
    let edges = map.edges.iter().filter(|edge| edge.is_always_there());
    edges.cloned().collect()
}

/// A plan in which each edge ran a thousand times, and each condition is mispredicted so often.
fn plan(functions: &[FunctionMap], mispredictions: u64) -> Plan {
    let functions = functions.iter().map(|map| {
        let edges = edges(map);
        let mut function = FunctionPlan::new(Count(1000), edges.iter().map(|_| Count(1000)));
        let conditions = (0..).zip(&edges);
        let conditions = conditions.filter(|(_, edge)| edge.outcome == Outcome::True);
        function.unpredictable = conditions
            .map(|(number, _)| (number, Count(mispredictions)))
            .collect();
        (map.linkage_name.clone(), map.graph_hash(), function)
    });
    functions.collect()
}

/// The number of conditional moves of a function.
fn moves(workspace: &Workspace, object: &[u8], function: &str) -> usize {
    let file = workspace.write("m.o", object);
    let output = run(Command::new("llvm-objdump-22")
        .args(["-d", "--no-show-raw-insn"])
        .arg(format!("--disassemble-symbols={function}"))
        .arg(file));
    let text = String::from_utf8(output.stdout).unwrap();
    let words = text.split_whitespace();
    words.filter(|word| word.starts_with("cmov")).count()
}

#[test]
fn selects_with_one_condition_are_one_branch_in_training() {
    for setup in SETUPS {
        let workspace = Workspace::new();
        let args = ["-O2", "-Xclang", "-disable-llvm-passes"];
        let bitcode = workspace.compile(setup.clang, "m.c", SOURCE, &args);
        let counted = training(setup.llvm, &bitcode, Kind::Edges);
        for map in &counted {
            let conditions = edges(map);
            let conditions = conditions.iter().filter(|e| e.outcome == Outcome::True);
            assert_eq!(conditions.count(), 2, "{setup:?} {}", map.linkage_name);
        }
        // Sequences are recorded on the same graphs.
        let recorded = training(setup.llvm, &bitcode, Kind::Loops);
        let hashes = |maps: &[FunctionMap]| -> Vec<u64> {
            maps.iter().map(FunctionMap::graph_hash).collect()
        };
        assert_eq!(hashes(&counted), hashes(&recorded));
        for (a, b) in counted.iter().zip(&recorded) {
            let outcomes =
                |map| -> Vec<Outcome> { edges(map).iter().map(|edge| edge.outcome).collect() };
            assert_eq!(outcomes(a), outcomes(b));
        }
    }
}

/// Both versions have the same graph.
#[test]
fn maps_of_training_have_the_contents_of_blocks() {
    let source = |comparison: &str, callee: &str| {
        format!(
            "void first(int); void second(int);
            void f(int *a, int n) {{
                for (int i = 0; i < n; i++)
                    if (a[i] {comparison} 7) {callee}(a[i]);
            }}"
        )
    };
    let setup = &SETUPS[0];
    let workspace = Workspace::new();
    let args = ["-O2", "-Xclang", "-disable-llvm-passes"];
    let map = |source: &str| {
        let bitcode = workspace.compile(setup.clang, "m.c", source, &args);
        let [map] = training(setup.llvm, &bitcode, Kind::Edges)
            .try_into()
            .unwrap();
        let FunctionMap {
            contents, blocks, ..
        } = map;
        assert_eq!(contents.len(), blocks.len());
        let callees = contents.iter().flat_map(|block| &block.callees);
        let callees: Vec<String> = callees.map(ToString::to_string).collect();
        let hashes: Vec<u32> = contents.iter().map(|block| block.hash).collect();
        (callees, hashes)
    };
    let one = map(&source("<", "first"));
    assert_eq!(one.0, ["first"]);
    assert_eq!(map(&source("<", "first")), one);
    let other_callee = map(&source("<", "second"));
    assert_eq!(other_callee, (vec!["second".to_owned()], one.1.clone()));
    let other_condition = map(&source("!=", "first"));
    let different = other_condition.1.iter().zip(&one.1);
    assert_eq!(different.filter(|(a, b)| a != b).count(), 1);
    let values = "void *memcpy(void *, const void *, unsigned long);
        void g(void (*call)(int), char *to, char *from, unsigned long n, int times) {
            for (int i = 0; i < times; i++) { call(i); call(n); memcpy(to, from, n); }
            memcpy(to, from, 8);
        }";
    let bitcode = workspace.compile(setup.clang, "m.c", values, &args);
    let [map] = training(setup.llvm, &bitcode, Kind::Edges)
        .try_into()
        .unwrap();
    let sum = |number: fn(&BlockContent) -> u32| map.contents.iter().map(number).sum::<u32>();
    assert_eq!(sum(|block| block.indirect_calls), 2);
    assert_eq!(sum(|block| block.sized_operations), 1);
    // Other builds need no contents.
    let bitcode = workspace.compile(setup.clang, "m.c", &source("<", "first"), &args);
    let mut options = options("m.o", O2);
    options.early = Some(EarlyBuild::Plain);
    let woven = weave_module(&library(setup.llvm), &bitcode, &options, &mut |_| {}).unwrap();
    let (map, _) = ModuleMap::decode(&woven.fragment).unwrap();
    assert!(map.functions.iter().all(|map| map.contents.is_empty()));
    assert!(!map.functions.is_empty());
}

#[test]
fn only_unpredictable_branches_become_conditional_moves() {
    for setup in SETUPS {
        let workspace = Workspace::new();
        let args = ["-O2", "-Xclang", "-disable-llvm-passes"];
        let bitcode = workspace.compile(setup.clang, "m.c", SOURCE, &args);
        let functions = training(setup.llvm, &bitcode, Kind::Edges);
        let build = |mispredictions| {
            let early = EarlyBuild::Optimized(plan(&functions, mispredictions));
            let woven = build(setup.llvm, &bitcode, early, Kind::Edges);
            assert_eq!(woven.planned_functions, 2);
            ["find", "mix"].map(|function| moves(&workspace, &woven.object, function))
        };
        // Each condition runs 2,000 times.
        let plain = build(0);
        assert_eq!(plain[0], 0, "{setup:?}");
        assert_eq!(build(399), plain, "{setup:?}");
        let marked = build(400);
        for (marked, plain) in marked.iter().zip(&plain) {
            assert!(marked > plain, "{setup:?}: {marked} {plain}");
        }
    }
}

/// A build that times one function is optimized like the build that records nothing. All builds by
/// a plan go on from the code that the first one has kept.
#[test]
fn what_a_build_records_does_not_change_its_optimized_code() {
    let workspace = Workspace::new();
    let args = ["-O2", "-Xclang", "-disable-llvm-passes"];
    let bitcode = workspace.compile("clang-22", "m.c", SOURCE, &args);
    let plan = plan(&training("22", &bitcode, Kind::Edges), 400);
    let build = |folder: Option<&str>, only: &str, collect| {
        let mut options = options("m.o", O2);
        options.early = Some(EarlyBuild::Optimized(plan.clone()));
        options.filter = Filter::parse(only, "").unwrap();
        options.collect = collect;
        options.probes = !only.is_empty();
        options.kept = folder.map(|folder| Place {
            cache: Cache::open(&workspace.path(folder)).unwrap(),
            key: Key::new(&bitcode, ""),
        });
        weave_module(&library("22"), &bitcode, &options, &mut |_| {}).unwrap()
    };
    // Entries lie in subdirectories.
    let kept = |folder: &str| {
        let key = Key::new(&bitcode, "").to_hex();
        let file = workspace.path(folder).join(&key[..2]).join(&key[2..]);
        std::fs::read(file).unwrap()
    };
    let alone = build(None, "", Kind::Edges);
    let first = build(Some("one"), "", Kind::Edges);
    let second = build(Some("one"), "", Kind::Edges);
    assert!(alone == first && first == second);
    let timed = build(Some("other"), "mix", Kind::Variation);
    assert_eq!((timed.planned_functions, alone.planned_functions), (2, 2));
    assert!(kept("one") == kept("other"));
}

#[test]
fn unknown_branches_of_an_edited_plan_mark_nothing() {
    let workspace = Workspace::new();
    let args = ["-O2", "-Xclang", "-disable-llvm-passes"];
    let bitcode = workspace.compile("clang-22", "m.c", SOURCE, &args);
    let functions = training("22", &bitcode, Kind::Edges);
    let plain = plan(&functions, 0);
    let mut edited = plain.clone();
    for map in &functions {
        let jumps = (0..).zip(edges(map));
        for (edge, _) in jumps.filter(|(_, edge)| edge.outcome == Outcome::Jump) {
            let hash = map.graph_hash();
            assert!(edited.mark_unpredictable(&map.linkage_name, hash, edge, Count(1 << 40)));
        }
    }
    let object = |plan| build("22", &bitcode, EarlyBuild::Optimized(plan), Kind::Edges).object;
    assert!(object(edited) == object(plain));
}

/// The size of the first operation is known, and those of the others are not. LLVM makes `bcmp` of
/// `memcmp`.
const COPIES: &str = "
#include <string.h>
void copy(char *to, const char *from, unsigned long n) {
    memcpy(to, from, 8);
    memcpy(to + 8, from + 8, n);
    if (memcmp(to, from, n)) memset(to, 0, n);
}
";

#[test]
fn frequent_sizes_of_memory_operations_have_code_of_their_own() {
    for setup in SETUPS {
        let workspace = Workspace::new();
        let args = ["-O2", "-Xclang", "-disable-llvm-passes"];
        let bitcode = workspace.compile(setup.clang, "m.c", COPIES, &args);
        let functions = training(setup.llvm, &bitcode, Kind::Edges);
        assert!(functions[0].counters.values().is_some(), "{setup:?}");
        // The comparisons of the size with constants, and the calls.
        let code = |sizes: &[(usize, u64, u64)]| {
            let functions = functions.iter().map(|map| {
                let often = Count(100_000);
                let mut function = FunctionPlan::new(often, edges(map).iter().map(|_| often));
                for &(site, bytes, count) in sizes {
                    function.add_size(site, bytes, Count(count));
                }
                (map.linkage_name.clone(), map.graph_hash(), function)
            });
            let plan = functions.collect();
            let early = EarlyBuild::Optimized(plan);
            let woven = build(setup.llvm, &bitcode, early, Kind::Edges);
            let file = workspace.write("m.o", &woven.object);
            let output = run(Command::new("llvm-objdump-22")
                .args(["-dr", "--no-show-raw-insn"])
                .arg(file));
            let text = String::from_utf8(output.stdout).unwrap();
            let is_compared = |bytes: u64| text.contains(&format!("cmpq\t$0x{bytes:x}, "));
            let calls = |name: &str| text.matches(&format!("\t{name}")).count();
            let compared = [16, 32, 64].map(is_compared);
            (compared, ["memcpy", "bcmp", "memset"].map(calls))
        };
        assert_eq!(code(&[]), ([false; 3], [1; 3]), "{setup:?}");
        // 32 has a third of the copies that are not of 16: too few.
        let sizes = [(0, 16, 700), (0, 32, 100), (0, 200, 200), (2, 64, 1000)];
        let expect = ([true, false, true], [1; 3]);
        assert_eq!(code(&sizes), expect, "{setup:?}");
        // Other sizes are the most frequent.
        assert_eq!(
            code(&[(0, 16, 300), (0, 513, 700)]).0,
            [false; 3],
            "{setup:?}"
        );
    }
}
