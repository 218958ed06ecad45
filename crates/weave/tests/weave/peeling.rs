//! Tests that LLVM peels loops by the counts of a plan: a loop that usually runs once or twice gets
//! its first iterations as straight code.

use std::process::Command;

use crate::support::{SETUPS, Setup, Workspace, library, options, run};
use holloway_abi::Kind;
use holloway_format::{Count, FunctionMap, FunctionPlan, ModuleMap, Plan};
use holloway_weave::OptLevel::O2;
use holloway_weave::{EarlyBuild, WovenModule, weave_module};

/// A loop whose iterations are marked by an instruction.
const LOOP: &str = "
    struct node { struct node *next; int key; };
    int find(struct node *node, int key) {
        int found = 0;
        while (node) {
            asm volatile(\"pause\");
            found ^= node->key * key;
            node = node->next;
        }
        return found;
    }";

/// A loop that LLVM vectorizes and unrolls, unless it usually runs a few times.
const SUM: &str = "
    int sum(int *numbers, unsigned long count) {
        int sum = 0;
        for (unsigned long i = 0; i < count; i++) sum += numbers[i];
        return sum;
    }";

fn build(llvm: &str, bitcode: &[u8], early: EarlyBuild) -> WovenModule {
    let mut options = options("m.o", O2);
    options.probes = early == EarlyBuild::Training;
    options.early = Some(early);
    options.collect = Kind::Edges;
    weave_module(&library(llvm), bitcode, &options, &mut |_| {}).unwrap()
}

/// A plan in which the loop of the only function has so many iterations in 1,000 calls.
fn plan(map: &FunctionMap, turns: u64) -> Plan {
    let edges = map.edges.iter().filter(|edge| edge.is_always_there());
    let ends: Vec<(u32, u32)> = edges.map(|edge| (edge.from, edge.to)).collect();
    let reaches = |from: u32, to: u32| {
        let mut reached = vec![from];
        let mut next = 0;
        while let Some(&block) = reached.get(next) {
            let ends = ends.iter().filter(|(from, _)| *from == block);
            let new: Vec<u32> = ends.map(|(_, to)| *to).collect();
            reached.extend(
                new.into_iter()
                    .filter(|to| !reached.contains(to))
                    .collect::<Vec<_>>(),
            );
            next += 1;
        }
        reached.contains(&to)
    };
    let counts = ends.iter().map(|&(from, to)| match reaches(to, from) {
        true => Count(turns),
        false => Count(1000),
    });
    let function = FunctionPlan::new(Count(1000), counts);
    [(map.linkage_name.clone(), map.graph_hash(), function)]
        .into_iter()
        .collect()
}

/// The machine instructions of a module whose loop has so many iterations in 1,000 calls.
fn instructions(setup: &Setup, source: &str, turns: u64) -> Vec<String> {
    let workspace = Workspace::new();
    let args = ["-O2", "-Xclang", "-disable-llvm-passes"];
    let bitcode = workspace.compile(setup.clang, "m.c", source, &args);
    let training = build(setup.llvm, &bitcode, EarlyBuild::Training);
    let (map, _) = ModuleMap::decode(&training.fragment).unwrap();
    let plan = plan(&map.functions[0], turns);
    let optimized = build(setup.llvm, &bitcode, EarlyBuild::Optimized(plan));
    assert_eq!(optimized.planned_functions, 1);
    let file = workspace.write("m.o", &optimized.object);
    let mut dump = Command::new("llvm-objdump-22");
    let output = run(dump.args(["-d", "--no-show-raw-insn"]).arg(file));
    let text = String::from_utf8(output.stdout).unwrap();
    let words = text
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1));
    words.map(str::to_owned).collect()
}

#[test]
fn the_first_iterations_of_short_loops_are_peeled() {
    for setup in &SETUPS {
        let copies = [1200, 2000, 3000, 100_000].map(|turns| {
            let instructions = instructions(setup, LOOP, turns);
            instructions.iter().filter(|word| *word == "pause").count()
        });
        assert_eq!(copies, [2, 3, 4, 1], "{setup:?}");
    }
}

#[test]
fn only_long_loops_are_vectorized() {
    for setup in &SETUPS {
        let is_vectorized = [2000, 100_000].map(|turns| {
            let instructions = instructions(setup, SUM, turns);
            instructions.iter().any(|word| word == "paddd")
        });
        assert_eq!(is_vectorized, [false, true], "{setup:?}");
    }
}
