//! The copy of a function's blocks.

use std::collections::HashMap;

use holloway_flow::Action;
use holloway_llvm::{Block, Builder, Function, Instruction, Opcode, Type, Value};

use super::super::sites::{Sites, Stop};
use super::parts::{Begin, Parts};
use crate::lower::{BlockInfo, Layout};

/// The timed code.
pub(super) struct Twin<'m> {
    /// Its blocks, by part; where a part has no copy, the part itself.
    pub(super) layout: Layout<'m>,
    /// What its probes do.
    pub(super) sites: Sites,
    /// Instructions with their copies, in order.
    pub(super) pairs: Vec<(Instruction<'m>, Instruction<'m>)>,
}

impl<'m> Twin<'m> {
    /// Copies all parts but those that stand in the checking code only.
    pub(super) fn new(function: Function<'m>, parts: &Parts<'m>) -> Self {
        let mut twin = Self {
            layout: Layout {
                function,
                blocks: Vec::with_capacity(parts.all.len()),
            },
            sites: Vec::with_capacity(parts.all.len()),
            pairs: Vec::new(),
        };
        let mut blocks = HashMap::new();
        for index in 0..parts.all.len() {
            let block = twin.copy(parts, index);
            if block != parts.all[index].block {
                blocks.insert(parts.all[index].block, block);
            }
        }
        let values = twin.pairs.iter();
        let values: HashMap<Value<'m>, Value<'m>> = values
            .map(|(old, new)| (old.value(), new.value()))
            .collect();
        for &(old, new) in &twin.pairs {
            rename(old, new, &values, &blocks);
        }
        twin
    }

    /// Copies a part; its block there.
    fn copy(&mut self, parts: &Parts<'m>, index: usize) -> Block<'m> {
        let part = &parts.all[index];
        // By instruction of the part: the number of its copy, or of the next.
        let mut number = Vec::with_capacity(part.instructions.len());
        let (block, instructions) = if part.is_single(index) {
            number.extend(0..part.instructions.len());
            (part.block, part.instructions.clone())
        } else {
            let block = self.layout.function.append_block("holloway.timed");
            let builder = Builder::at_end(block);
            let mut copies = Vec::with_capacity(part.instructions.len());
            for &instruction in &part.instructions {
                number.push(copies.len());
                if !is_left_out(instruction) {
                    let copy = builder.copy(instruction);
                    forget_scopes(copy);
                    self.pairs.push((instruction, copy));
                    copies.push(copy);
                }
            }
            (block, copies)
        };
        let head = |instruction: &&Instruction<'_>| {
            matches!(instruction.opcode(), Opcode::Phi | Opcode::LandingPad)
        };
        let top = instructions.iter().take_while(head).count();
        let mut stops = Vec::new();
        if matches!(part.begin, Begin::Turn | Begin::Fresh) {
            // What the register was belongs to another path.
            stops.push(Stop {
                index: top,
                actions: vec![Action::Set(0)],
            });
        }
        stops.extend(part.actions.iter().map(|&(at, action)| Stop {
            index: number[at],
            actions: vec![action],
        }));
        self.sites.push(stops);
        self.layout.blocks.push(BlockInfo {
            block,
            instructions,
            top,
            cuts: Vec::new(),
            leave: None,
            targets: Vec::new(),
            sources: Vec::new(),
        });
        block
    }
}

/// Whether it says something of variables to the debugger, of which the copy says nothing, or declares a scope ([`forget_scopes`]).
fn is_left_out(instruction: Instruction<'_>) -> bool {
    let name = instruction.intrinsic();
    name.is_some_and(|name| {
        name.starts_with("llvm.dbg.") || name == "llvm.experimental.noalias.scope.decl"
    })
}

/// Takes away what an access is said not to touch of other accesses: that holds among those of one run of a scope's code, and the next may run in the other code. The checking code
/// keeps it, as it says nothing of the copies.
fn forget_scopes(copy: Instruction<'_>) {
    for name in ["alias.scope", "noalias"] {
        copy.remove_metadata(copy.module().metadata_kind(name));
    }
}

/// Makes a copy use and lead to copies.
fn rename<'m>(
    old: Instruction<'m>,
    new: Instruction<'m>,
    values: &HashMap<Value<'m>, Value<'m>>,
    blocks: &HashMap<Block<'m>, Block<'m>>,
) {
    if old.opcode() == Opcode::Phi {
        for (value, block) in old.incoming() {
            let value = values.get(&value).copied().unwrap_or(value);
            new.add_incoming(value, blocks.get(&block).copied().unwrap_or(block));
        }
        return;
    }
    for index in 0..new.value().operand_count() {
        if let Some(&value) = values.get(&new.value().operand(index)) {
            new.set_operand(index, value);
        }
    }
    let mut targets = Vec::new();
    for (index, target) in (0..).zip(new.successors()) {
        if let Some(&block) = blocks.get(&target) {
            new.set_successor(index, block);
            targets.push((target, block));
        }
    }
    if new.opcode() == Opcode::IndirectBr {
        look_up(new, &targets);
    }
}

/// Makes a computed goto that was given the address of a label go to the label's copy.
fn look_up<'m>(goto: Instruction<'m>, targets: &[(Block<'m>, Block<'m>)]) {
    let builder = Builder::before(goto);
    let label = goto.value().operand(0);
    let mut address = label;
    let mut seen = std::collections::HashSet::new();
    for &(old, new) in targets {
        if seen.insert(old) {
            let same = builder.is_equal(label, old.address());
            address = builder.select(same, new.address(), address);
        }
    }
    assert_eq!(
        address.kind(),
        Type::pointer(goto.module()),
        "labels have addresses"
    );
    goto.set_operand(0, address);
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use holloway_llvm::{Context, Library, Module};

    use crate::instrument::Leaves;
    use crate::instrument::globals::Globals;
    use crate::instrument::plan::plan;
    use crate::lower::Attributes;
    use crate::{LinkKind, ModuleOptions};
    use holloway_abi::Kind;

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
        let attributes = Attributes::of(&module);
        let function = module.function(name).unwrap();
        let Ok(plan) = plan(function, &attributes, &options) else {
            panic!("it can be timed");
        };
        let globals = Globals::declare(&module, "base", options.kind);
        plan.insert_bursts(1, &globals, &Leaves::default()).unwrap();
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
