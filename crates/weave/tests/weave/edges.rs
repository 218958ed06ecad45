//! Tests edge profiles: the counted edges, exit edges, functions whose paths are counted instead,
//! and the effect of a guide.

use std::collections::BTreeMap;

use crate::support::{
    Case, KINDS, KINDS_WITH_EXITS, PatchedModule, ProgramRun, Workspace, assert_agree, flow, guide,
    library, options,
};
use holloway_abi::Kind::Edges;
use holloway_format::{Count, Counters, EdgeKind, FunctionMap, Guide, GuideFunction, Outcome};
use holloway_weave::OptLevel::{self, O0, O2};

fn case<'a>(workspace: &'a Workspace, name: &'a str, source: &str, level: OptLevel) -> Case<'a> {
    let flag = format!("-{level}");
    Case {
        context: format!("{name} at {level}"),
        workspace,
        llvm: library("22"),
        bitcode: workspace.compile("clang-22", name, source, &[&flag, "-fPIE"]),
        options: options(name, level),
        link: vec!["-pie".into()],
        status: 0,
        file: name,
        traced: &[],
    }
}

fn function<'a>(patched: &'a PatchedModule, name: &str) -> &'a FunctionMap {
    let mut functions = patched.map.functions.iter();
    functions
        .find(|function| &*function.linkage_name == name)
        .unwrap()
}

/// The number of calls of a function, and the counts of its edges by outcome.
fn counts(
    (patched, program_run): &(PatchedModule, ProgramRun),
    name: &str,
) -> (i64, BTreeMap<String, i64>) {
    let function = function(patched, name);
    let flow = flow(function, &program_run.dump.counts(patched.base, function));
    let mut sums = BTreeMap::new();
    for (edge, count) in function.edges.iter().zip(flow.edges) {
        *sums.entry(format!("{:?}", edge.outcome)).or_default() += count;
    }
    (flow.calls, sums)
}

/// Burger and Dybvig's Figure 3: `fact 5`, whose base case leaves all calls.
#[test]
fn figure_3_fact_left_early() {
    let source = r#"
#include <setjmp.h>
static jmp_buf done;
__attribute__((noinline)) int fact(int n) {
    if (n == 1) longjmp(done, 1);
    int rest = fact(n - 1);
    __asm__("" : "+r"(rest));
    return n * rest;
}
int main(void) { return setjmp(done) ? 0 : fact(5); }
"#;
    for level in [O0, O2] {
        let workspace = Workspace::new();
        let case = case(&workspace, "fact.c", source, level);
        for run in case.check(&KINDS_WITH_EXITS) {
            let (calls, counted) = counts(&run, "fact");
            assert_eq!(calls, 5, "{}", case.context);
            let counted = ["Left", "Noreturn", "Return"].map(|outcome| counted[outcome]);
            assert_eq!(counted, [4, 1, 0], "{}", case.context);
        }
    }
}

/// Burger and Dybvig's Figure 4, adapted to C: the four frames of `fact 4` return twice, the second
/// time in a child process that never entered them.
#[test]
fn figure_4_fact_entered_again() {
    let source = r#"
#include <unistd.h>
#include <sys/wait.h>
static volatile int child;
__attribute__((noinline)) int fact(int n) {
    if (n == 1) {
        child = fork();
        if (child) wait(0);
        return 1;
    }
    int rest = fact(n - 1);
    __asm__("" : "+r"(rest));
    return n * rest;
}
int main(void) {
    fact(4);
    if (child == 0) _exit(0);
    return 0;
}
"#;
    for level in [O0, O2] {
        let workspace = Workspace::new();
        let case = case(&workspace, "fork.c", source, level);
        for run in case.check(&KINDS_WITH_EXITS) {
            let (calls, counted) = counts(&run, "fact");
            assert_eq!(calls, 4, "{}", case.context);
            let counted = ["Left", "Return"].map(|outcome| counted[outcome]);
            assert_eq!(counted, [-4, 8], "{}", case.context);
        }
    }
}

/// LLVM marks some calls `tail` that cannot become jumps, because the function returns another
/// value. If such a call jumps out of the frame, the frame is left and does not return.
#[test]
fn a_call_before_another_return_value_can_be_left() {
    let source = r#"
#include <setjmp.h>
static jmp_buf out;
static volatile int x;
__attribute__((noinline)) void leave(int n) { x = n; if (n % 3 == 0) longjmp(out, 1); }
__attribute__((noinline)) int relay(int n) { x = n; leave(n); return 7; }
__attribute__((noinline)) void jump(int n) { x = n; leave(n); }
int main(void) {
    volatile int sum = 0;
    for (volatile int i = 0; i < 9; i++) if (!setjmp(out)) sum += relay(i);
    for (volatile int i = 0; i < 9; i++) if (!setjmp(out)) jump(i);
    return sum - 42;
}
"#;
    let workspace = Workspace::new();
    let case = case(&workspace, "tail.c", source, O2);
    for run in case.check(&KINDS_WITH_EXITS) {
        let relay = counts(&run, "relay");
        let counted = ["Left", "Return"].map(|outcome| relay.1[outcome]);
        assert_eq!((relay.0, counted), (9, [3, 6]));
        // This call becomes a jump, so the function's path returns before the call.
        let jump = counts(&run, "jump");
        assert_eq!((jump.0, jump.1["Return"]), (9, 9));
    }
}

/// Two calls unwind to one handler. The weaver gives each call a separate landing pad, so each
/// unwind edge can carry a counter.
#[test]
fn unwind_edges_are_not_pinned() {
    let source = r#"
__attribute__((noinline)) static void may(int n, int of) { if (n % of == 0) throw n; }
__attribute__((noinline)) int both(int n) {
    try { may(n, 3); may(n, 5); } catch (int) { return 1; }
    return 0;
}
int main() { int s = 0; for (int i = 1; i <= 30; i++) s += both(i); return s - 14; }
"#;
    for level in [O0, O2] {
        let workspace = Workspace::new();
        let case = case(&workspace, "both.cpp", source, level);
        for (patched, program_run) in case.check(&KINDS) {
            let edges = patched.map.functions.iter().flat_map(|f| &f.edges);
            assert!(edges.clone().all(|edge| edge.kind != EdgeKind::Pinned));
            let both = function(&patched, "_Z4bothi");
            let counts = flow(both, &program_run.dump.counts(patched.base, both)).edges;
            let unwound = both.edges.iter().zip(counts);
            let unwound = unwound.filter(|(edge, _)| edge.outcome == Outcome::Unwind);
            // Multiples of 3, and multiples of 5 that are not multiples of 3. The ends of the
            // handler could unwind too, but do not.
            let mut unwound: Vec<i64> = unwound.map(|(_, count)| count).collect();
            unwound.retain(|&count| count != 0);
            assert_eq!(unwound, [10, 4], "{}", case.context);
        }
    }
}

/// In `sign`, two assembly jumps lead to the same two labels. Their edges can carry no counter.
/// They close a cycle if directions are ignored, so no spanning tree contains them all, and the
/// function counts paths. In `run`, clang merges the computed gotos into one, which closes no
/// cycle.
#[test]
fn functions_count_paths_if_no_tree_contains_all_pinned_edges() {
    let source = r#"
__attribute__((noinline)) int sign(int x, int y) {
    __asm__ goto("testl %0, %0; js %l1; jz %l2" : : "r"(x) : "cc" : negative, zero);
    x += y;
    __asm__ goto("testl %0, %0; js %l1; jz %l2" : : "r"(y) : "cc" : negative, zero);
    return x;
negative: return y - 1;
zero: return y * 2;
}
__attribute__((noinline)) int run(const unsigned char *pc, int x) {
    static void *const labels[] = { &&inc, &&dbl, &&halt };
    goto *labels[*pc];
inc: x++; pc++; goto *labels[*pc];
dbl: x *= 2; pc++; goto *labels[*pc];
halt: return x;
}
int main(void) {
    const unsigned char code[] = { 0, 1, 0, 0, 1, 2 };
    int sum = 0;
    for (int i = -3; i < 4; i++) sum += sign(i, i * i - 4) > 0;
    return run(code, 3) != 20 || sum != 2;
}
"#;
    for level in [O0, O2] {
        let workspace = Workspace::new();
        let case = case(&workspace, "goto.c", source, level);
        let runs = case.check(&KINDS_WITH_EXITS);
        let counters = |name| function(&runs[0].0, name).counters;
        assert!(
            matches!(counters("sign"), Counters::Array { .. }),
            "{level}"
        );
        assert!(matches!(counters("run"), Counters::Edges { .. }), "{level}");
        assert!(
            matches!(counters("main"), Counters::Edges { .. }),
            "{level}"
        );
    }
}

/// After a call that returns twice, assembly jumps lead to calls. The edges of these jumps can
/// carry no counter. Together with the calls' exit edges they close cycles, if directions are
/// ignored. So no spanning tree contains all of them, and some exit edges must have a counter,
/// which counts how often control reached the call. In the block to which control returns twice,
/// that count would be too high, so the exit edge of this block must stay on the tree.
#[test]
fn counts_are_exact_although_pinned_and_exit_edges_close_cycles() {
    let source = r#"
#include <setjmp.h>
static jmp_buf env;
__attribute__((noinline)) void back(int n) { if (n) longjmp(env, n); }
__attribute__((noinline)) int twice(int x) {
    static volatile int tries;
    tries = 0;
    if (x == 7) goto negative;
    if (x == 8) goto zero;
    setjmp(env);
    __asm__ goto("testl %0, %0; js %l1; jz %l2" : : "r"(x - tries) : "cc" : negative, zero);
    return tries;
negative:
    back(0);
    return -1;
zero:
    back(++tries);
    return 1;
}
int main(void) {
    int sum = 0;
    for (int i = -2; i < 3; i++) sum += twice(i);
    return sum != -3;
}
"#;
    for level in [O0, O2] {
        let workspace = Workspace::new();
        let case = case(&workspace, "twice.c", source, level);
        for run in case.check(&KINDS_WITH_EXITS) {
            let (calls, counted) = counts(&run, "twice");
            assert_eq!((calls, counted["Return"]), (5, 5), "{}", case.context);
            let (calls, counted) = counts(&run, "back");
            assert_eq!((calls, counted["Noreturn"]), (4, 1), "{}", case.context);
        }
    }
}

/// An edge profile has one counter per edge off a spanning tree: the number of edges, plus one for
/// the virtual edge from exit to entry, minus the number of tree edges.
#[test]
fn only_chords_are_counted() {
    let source = "
__attribute__((noinline)) int f(int n) {
    int s = 0;
    for (int i = 0; i < n; i++) { if (i % 3) s += i; else s -= n; }
    return s;
}
int main(void) { return f(10) == 0; }
";
    let workspace = Workspace::new();
    let case = case(&workspace, "chords.c", source, O0);
    let (patched, _) = case.run((Edges, true), None);
    let f = function(&patched, "f");
    assert_eq!(f.counted.len() + f.tree.len(), f.edges.len());
    assert_eq!(f.counted.len(), f.edges.len() + 1 - (f.blocks.len() - 1));
    assert!(f.dag.is_empty() && f.path_count == 0);
}

const GUIDED: &str = r#"
__attribute__((noinline)) int pick(unsigned n) {
    switch (n % 7) {
        case 0: return 5;
        case 1: return n & 1 ? 3 : 4;
        case 2: { int s = 0; for (unsigned i = 0; i < n; i++) s += i & 4 ? 3 : 1; return s; }
        case 3: return 7;
        default: return 1;
    }
}
int main(void) { int s = 0; for (unsigned i = 0; i < 300; i++) s += pick(i % 5 ? i / 7 * 7 + 1 : i); return s < 0; }
"#;

/// A guide changes which edges have counters and which numbers paths have, but not the counts.
#[test]
fn a_guide_changes_numbers_and_not_counts() {
    for level in [O0, O2] {
        let workspace = Workspace::new();
        let case = case(&workspace, "guided.c", GUIDED, level);
        for kind in KINDS {
            let plain = case.run(kind, None);
            let known = guide(&plain);
            assert_eq!(known.matched(&plain.0.map), plain.0.map.functions.len());
            for other in KINDS {
                let unguided = case.run(other, None);
                let guided = case.run(other, Some(known.clone()));
                assert_agree(&unguided, &guided, &case.context);
                let hash = |patched: &PatchedModule| function(patched, "pick").hash;
                assert_ne!(hash(&unguided.0), hash(&guided.0), "{}", case.context);
            }
        }
    }
}

/// A guide with counts of another graph, or with only zeros, has no effect.
#[test]
fn a_guide_of_another_graph_is_ignored() {
    let workspace = Workspace::new();
    let case = case(&workspace, "guided.c", GUIDED, O2);
    for kind in KINDS {
        let plain = case.run(kind, None);
        let changed = |change: &dyn Fn(&mut GuideFunction)| -> Guide {
            let functions = guide(&plain).functions().to_vec();
            let changed = functions.into_iter().map(|mut function| {
                change(&mut function);
                function
            });
            changed.collect()
        };
        let other_graphs = changed(&|function| function.graph_hash ^= 1);
        let other_lengths = changed(&|function| function.edges.push(Count(9)));
        let never_ran = changed(&|function| function.edges.fill(Count::ZERO));
        assert_eq!(other_graphs.matched(&plain.0.map), 0);
        for guide in [other_graphs, other_lengths, never_ran] {
            let guided = case.run(kind, Some(guide));
            assert_eq!(guided.0.woven, plain.0.woven);
        }
    }
}
