//! Bursts of timed paths: checking code and timed code (Perelman, Chilimbi, Calder 2005, section
//! 4.1, after Arnold and Ryder 2001).
//!
//! The weaver copies a function's code, so that the function has two codes:
//! - The *checking code* is the original, with a check wherever a path begins. The check decrements
//!   the thread's countdown. If the countdown is below 0, the check asks the runtime whether to
//!   time the path. If so, control continues at the corresponding position of the timed code.
//! - The *timed code* is the copy. It computes the path register, reads the clock where a path
//!   begins, and calls the runtime where a path ends. By the runtime's answer, the next path runs
//!   in the timed code or in the checking code.
//!
//! So each path runs in one of the two codes from its beginning to its end.
//!
//! ```text
//!   checking code            crossing                       timed code
//!     …                                                        …
//!     countdown -= 1                                           sample(word, start, inner, end)
//!     below 0? ──────yes──▶  burst() ─────ring──▶ enter: ◀──ring── answer
//!     │                        │ null             begin ─────▶ …          │ null
//!     │ no                     ▼                                          │
//!     ▼ ◀─────────────────── back ◀───────────────────────────────────────┘
//!     …
//! ```
//!
//! The stages:
//! 1. `spans` splits blocks where paths begin.
//! 2. `sink` recomputes cheap values in each block that uses them.
//! 3. `spill` keeps values of large functions in the frame.
//! 4. `copy` copies the spans, and `timed_code` gives the copy its probes.
//! 5. `countdown_loops` chooses the loops that keep the countdown in a register.
//! 6. `crossings` makes the checks and the blocks between the two codes.
//! 7. `ssa_repair` repairs the values that are live where control changes the code.
//! 8. `computed_gotos` gives each operation of an interpreter a separate jump.
//!
//! `duplication` finds functions that cannot be copied, and `leaves` finds functions that are too
//! short to be timed.
//!
//! A call of `setjmp` is in the checking code only. The path before the call ends there, so control
//! returns to the checking code. A computed goto of the timed code stays in the timed code: it
//! compares the address with the labels, and jumps to the label's copy.
//!
//! If a path begins in a block that only jumps to a loop's head, control comes back from the timed
//! code to the head, not to the block. So a loop of the checking code keeps a single back edge,
//! which the code generator's optimizations require.

use super::super::clock::{Clock, StartStorage};
use super::super::frequencies::TransitionFrequencies;
use super::super::globals::{Globals, countdown};
use super::super::graph::{BlockGraph, positions};
use super::super::sites::{Sites, with_nonnegative_increments};
use super::super::ssa_repair::SsaRepair;
use super::super::word::FirstWord;
use super::computed_gotos;
use super::countdown_loops::CountdownLoops;
use super::crossings::Crossings;
use super::leaves::{ShortLeaves, is_bulk};
use super::spans::Spans;
use super::spill;
use super::timed_code::TimedCode;
use crate::lower::{FunctionParts, calls};

/// Inserts the timed code of a function, and the checks that lead to it.
pub(in crate::instrument) fn insert<'m>(
    parts: &FunctionParts<'m>,
    sites: &Sites,
    frequencies: &TransitionFrequencies,
    first: FirstWord,
    globals: &Globals<'m>,
    leaves: &ShortLeaves,
) {
    let sites = with_nonnegative_increments(sites);
    let module = parts.function.module();
    let graph = BlockGraph::of_parts(parts, &positions(parts));
    let mut spans = Spans::split(parts, &graph, &sites);
    spill::spill(parts, &mut spans, frequencies);
    let clock = Clock::new(parts.function, globals, first);
    let storage = start_storage(parts, &spans);
    let timed = TimedCode::new(parts, &spans, &clock, &storage);
    let countdown = countdown(module, globals.tls);
    let mut loops = CountdownLoops::new(parts, &graph, &spans, countdown, leaves);
    let crossings = Crossings {
        parts,
        spans: &spans,
        timed: &timed,
        clock: &clock,
        storage: &storage,
        countdown,
    };
    let mut crossing_blocks = Vec::new();
    for group in crossings.groups(&loops) {
        crossings.insert(&group, &mut loops, &mut crossing_blocks);
    }
    let repair = SsaRepair::new(parts.function, &crossing_blocks);
    repair.repair_copies(&timed.copy.pairs);
    for variable in loops.variables() {
        repair.repair_variable(variable);
    }
    for variable in storage.variables() {
        repair.repair_variable(&variable);
    }
    computed_gotos::duplicate_checks(&spans);
}

/// Where the start of the running path is stored: in the frame if the function makes calls.
fn start_storage<'m>(parts: &FunctionParts<'m>, spans: &Spans<'m>) -> StartStorage<'m> {
    let blocks = parts.blocks.iter();
    let mut instructions = blocks.flat_map(|info| &info.instructions);
    match instructions.any(|&instruction| calls(instruction) || is_bulk(instruction)) {
        true => StartStorage::frame(spans.all[0].block),
        false => StartStorage::registers(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use holloway_abi::Kind;
    use holloway_llvm::{Context, Library, Module};

    use super::*;
    use crate::instrument::plan::plan;
    use crate::instrument::sites::{Destination, sites};
    use crate::lower::CallAttributes;
    use crate::{LinkKind, ModuleOptions};

    /// Weaves a function of a C program. Returns its LLVM assembly.
    fn woven(text: &str, name: &str) -> String {
        let dir = tempfile::tempdir().unwrap();
        let [source, bitcode] = ["a.c", "a.bc"].map(|name| dir.path().join(name));
        std::fs::write(&source, text).unwrap();
        let mut clang = Command::new("clang-22");
        clang.args(["-O2", "-c", "-emit-llvm"]).arg(&source);
        assert!(clang.arg("-o").arg(&bitcode).status().unwrap().success());
        let llvm = Library::find(None, Some(Path::new("rustc"))).unwrap();
        let context = Context::new(&llvm);
        let module = Module::parse(&context, "a", &std::fs::read(bitcode).unwrap()).unwrap();
        let options = ModuleOptions::new("a", LinkKind::Executable, Kind::Variation);
        let attributes = CallAttributes::lookup(&module);
        let function = module.function(name).unwrap();
        let Ok(plan) = plan(function, &attributes, &options) else {
            panic!("it can be timed");
        };
        let globals = Globals::declare(&module, "base", options.kind);
        let sites = sites(&plan.lowered, &plan.probes, |_| Destination::Usual).unwrap();
        let frequencies = TransitionFrequencies::new(&plan.lowered, &plan.weights);
        let (parts, leaves) = (&plan.lowered.parts, ShortLeaves::default());
        insert(
            parts,
            &sites,
            &frequencies,
            FirstWord::at(0),
            &globals,
            &leaves,
        );
        module.verify("testing").unwrap();
        let all = module.to_text();
        let body = all.split(&format!("@{name}(")).nth(1).unwrap();
        body.split("\n}").next().unwrap().to_owned()
    }

    #[test]
    fn copies_have_no_noalias_scopes() {
        let text = "extern void see(long);
static inline void move(long *restrict to, const long *restrict from) { to[0] = from[0]; see(to[1]); to[1] = from[1]; }
void run(long *p, const long *q, long n) { for (long i = 0; i < n; i++) move(p + (i & q[0]), q + i); }
";
        let woven = woven(text, "run");
        let scoped_blocks = |timed: bool| {
            let blocks = woven.split("\n\n").map(str::trim_start);
            let blocks = blocks.filter(|block| block.starts_with("holloway.timed") == timed);
            blocks.filter(|block| block.contains("noalias")).count()
        };
        assert!(
            scoped_blocks(false) > 0 && scoped_blocks(true) == 0,
            "{woven}"
        );
    }

    /// A path that begins right before a computed goto ends in a block after the goto, even if the
    /// label's block has only that goto. The path's start is the value at the top of the block
    /// where it ends.
    #[test]
    fn no_path_begins_and_ends_in_one_block() {
        let gotos = [
            "a: goto *next; b: goto *next;",
            "a: goto *next; b: if (n & 1) goto *next; else goto *labels[n & 3];",
            "a: b: n += 3; goto *labels[n & 3];",
            "for (;;) { a: b: goto *labels[n]; }",
            "a: for (; n > 0; n--) { b: goto *next; }",
        ];
        let mut lone = 0;
        for gotos in gotos {
            let text = format!(
                "long find(void **other, long n) {{ static void *const labels[] = {{&&a, &&b, &&over, &&a}};
  void *next = other ? *other : labels[n & 3]; goto *next; {gotos} over: return n; }}"
            );
            let woven = woven(&text, "find");
            assert!(!woven.contains("alloca") && woven.contains("indirectbr"));
            let blocks = woven.split("\n\n");
            let begins = |block: &&str| block.contains("lfence\\0A    rdtsc\\0A    lfence");
            let (begin, others): (Vec<&str>, Vec<&str>) = blocks.partition(begins);
            let ends = |blocks: &[&str]| blocks.concat().matches("__holloway_sample").count();
            assert!(!begin.is_empty(), "{woven}");
            assert!(ends(&begin) == 0 && ends(&others) > 0, "{woven}");
            lone += begin.concat().matches("indirectbr").count();
        }
        assert!(lone > 0, "no such goto");
    }

    /// With slots in the frame, a function without calls would set up a frame at each entry.
    #[test]
    fn a_function_without_calls_has_no_frame() {
        let find =
            "long find(const long *p, long n) { while (*p != n && p[1]) p += p[1]; return *p; }";
        let called = "long see(long); long find(const long *p, long n) { while (*p != n && p[1]) p += see(p[1]); return *p; }";
        let frames = [find, called].map(|text| woven(text, "find").matches("alloca").count());
        assert_eq!(frames, [0, 2]);
    }
}
