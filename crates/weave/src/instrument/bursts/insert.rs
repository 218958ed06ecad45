//! Bursts of timed paths: checking code and instrumented code (Perelman, Chilimbi, Calder 2005,
//! section 4.1, after Arnold and Ryder 2001).
//!
//! A function's code stands there twice. The *checking code* is what it was, with a check wherever a path begins: one is taken from the thread's
//! countdown, and where that leaves less than 0 the runtime is asked whether this path is to be timed. If so, the same place of the *timed code* is gone
//! to: a copy of the blocks which has the path register, reads the clock where a path begins, and tells the runtime where it ends; the runtime says whether to
//! go on there with the next path or back in the checking code. So a path runs in one code from its beginning to its end.
//!
//! ```text
//!   checking code            out of the way                 timed code
//!     …                                                        …
//!     countdown -= 1                                           sample(word, start, inner, end)
//!     below 0? ──────yes──▶  burst() ─────ring──▶ enter: ◀──ring── answer
//!     │                        │ null             begin ─────▶ …          │ null
//!     │ no                     ▼                                          │
//!     ▼ ◀─────────────────── back ◀───────────────────────────────────────┘
//!     …
//! ```
//!
//! The stages: [`parts`] splits blocks where paths begin, [`sink`] makes cheap values anew in each block that uses them, [`frame`] keeps values of large functions in the frame,
//! [`twin`] copies the parts, [`kept`] chooses the loops that keep the countdown in a register, [`check`] puts the checks and the ways over, [`join`] mends the values that
//! live where the two codes meet. [`dispatch`] gives interpreters their jumps back. [`refusal`] says what can't stand there twice, [`leaf`] what needn't.
//!
//! A call of `setjmp` stands in the checking code only: the path before it ends there, so a timed one goes back. Computed gotos of the timed code go to the timed code:
//! the address is looked up among the labels.
//!
//! Where a path begins and the block has nothing else to do but jump to a loop's head, those who come back go to the head themselves. So a loop of the checking code keeps
//! one way in, and one back, as the code generator wants it.

use super::super::clock::{Clock, StartStorage};
use super::super::frequencies::TransitionFrequencies;
use super::super::globals::{Globals, countdown};
use super::super::graph::{BlockGraph, positions};
use super::super::sites::{Sites, with_nonnegative_increments};
use super::super::word::FirstWord;
use super::computed_gotos;
use super::countdown_loops::CountdownLoops;
use super::crossings::Crossings;
use super::leaves::{ShortLeaves, is_bulk};
use super::parts::Parts;
use super::spill;
use super::ssa_repair::SsaRepair;
use super::timed_code::TimedCode;
use crate::lower::{Layout, calls};

/// Inserts a function's second code; `first` is the word of its path 0, less the module's base.
pub(in crate::instrument) fn insert<'m>(
    layout: &Layout<'m>,
    sites: &Sites,
    frequencies: &TransitionFrequencies,
    first: FirstWord,
    globals: &Globals<'m>,
    leaves: &ShortLeaves,
) {
    let sites = with_nonnegative_increments(sites);
    let module = layout.function.module();
    let graph = BlockGraph::of_layout(layout, &positions(layout));
    let mut parts = Parts::split(layout, &graph, &sites);
    spill::spill(layout, &mut parts, frequencies);
    let clock = Clock::new(layout.function, globals, first);
    let places = start_storage(layout, &parts);
    let timed = TimedCode::new(layout, &parts, &clock, &places);
    let countdown = countdown(module, globals.tls);
    let mut kept = CountdownLoops::new(layout, &graph, &parts, countdown, leaves);
    let ways = Crossings {
        layout,
        parts: &parts,
        timed: &timed,
        clock: &clock,
        places: &places,
        countdown,
    };
    let mut between = Vec::new();
    for group in ways.shared(&kept) {
        ways.place(&group, &mut kept, &mut between);
    }
    let join = SsaRepair::new(layout.function, &between);
    join.join(&timed.copy.pairs);
    for mended in kept.variables() {
        join.write(mended);
    }
    for mended in places.variables() {
        join.write(&mended);
    }
    computed_gotos::spread(&parts);
}

/// Where it is kept when a path began.
fn start_storage<'m>(layout: &Layout<'m>, parts: &Parts<'m>) -> StartStorage<'m> {
    let blocks = layout.blocks.iter();
    let mut instructions = blocks.flat_map(|info| &info.instructions);
    match instructions.any(|&instruction| calls(instruction) || is_bulk(instruction)) {
        true => StartStorage::frame(parts.all[0].block),
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

    /// A function's text, with its second code.
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
        let attributes = CallAttributes::of(&module);
        let function = module.function(name).unwrap();
        let Ok(plan) = plan(function, &attributes, &options) else {
            panic!("it can be timed");
        };
        let globals = Globals::declare(&module, "base", options.kind);
        let sites = sites(&plan.lowered, &plan.probes, |_| Destination::Usual).unwrap();
        let frequencies = TransitionFrequencies::new(&plan.lowered, &plan.weights);
        let (layout, leaves) = (&plan.lowered.layout, ShortLeaves::default());
        insert(
            layout,
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
    fn copies_have_no_scopes() {
        let text = "extern void see(long);
static inline void move(long *restrict to, const long *restrict from) { to[0] = from[0]; see(to[1]); to[1] = from[1]; }
void run(long *p, const long *q, long n) { for (long i = 0; i < n; i++) move(p + (i & q[0]), q + i); }
";
        let woven = woven(text, "run");
        let said = |timed: bool| {
            let blocks = woven.split("\n\n").map(str::trim_start);
            let blocks = blocks.filter(|block| block.starts_with("holloway.timed") == timed);
            blocks.filter(|block| block.contains("noalias")).count()
        };
        assert!(said(false) > 0 && said(true) == 0, "{woven}");
    }

    /// A path that begins right before a computed goto ends in a block behind it, also where labels stand before nothing but that goto: its start is what reaches
    /// the top of the block it ends in.
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

    /// It would be made wherever the function is entered.
    #[test]
    fn what_calls_nothing_has_no_frame() {
        let find =
            "long find(const long *p, long n) { while (*p != n && p[1]) p += p[1]; return *p; }";
        let called = "long see(long); long find(const long *p, long n) { while (*p != n && p[1]) p += see(p[1]); return *p; }";
        let frames = [find, called].map(|text| woven(text, "find").matches("alloca").count());
        assert_eq!(frames, [0, 2]);
    }
}
