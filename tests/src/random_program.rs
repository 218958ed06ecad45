//! Generates random programs with a tracer that counts their blocks: loops, switches, gotos,
//! recursion, and calls through pointers. Some leave frames by longjmp and `exit` (in C) or by
//! exceptions (in C++). Others leave no frames and have loops without calls, whose counters
//! Holloway keeps in registers.
//!
//! Each block begins with a call of the tracer, with the id of the block and its frame. Nothing
//! before that call can leave the frame. The tracer keeps a stack of frames. So it detects left
//! frames, and the blocks that they were left in, as soon as control returns to an older frame. The
//! tracer is compiled without instrumentation, and writes its counts when the program ends. A
//! budget of function entries, turns of loops, and labels (`fuel`) makes every program end.

use crate::corpus::Random;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// The language of a program, and how it leaves frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// C, with setjmp and longjmp.
    C,
    /// C++, with exceptions and destructors.
    Cpp,
    /// C that never leaves a frame and makes few calls. Its tracer is a single instruction.
    Quiet,
}

/// A generated program.
#[derive(Debug, Clone)]
pub struct Source {
    /// The source text.
    pub text: String,
    /// Its functions.
    pub functions: Vec<Traced>,
}

/// A function with its tracer calls.
#[derive(Debug, Clone, Default)]
pub struct Traced {
    /// The symbol.
    pub name: String,
    /// Lines with a tracer call, each with its id.
    pub lines: BTreeMap<u32, u32>,
    /// The id of the function's first block.
    pub entry: u32,
    /// The ids of the blocks that return.
    pub returns: Vec<u32>,
}

/// The counts of the tracer, by id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// Executions of each block. No block has the id 0: its element is the number of function
    /// entries, or 0 in [`Dialect::Quiet`].
    pub runs: Vec<u64>,
    /// Frames that were left in each block.
    pub left: Vec<u64>,
    /// Further returns of a setjmp in each block.
    pub again: Vec<u64>,
}

/// Maximum number of ids.
const IDS: usize = 8192;
/// Maximum number of setjmp or try statements in a function.
const SITES: u64 = 20;
/// Number of loop counters of a function. More loops share them.
const LOOPS: u32 = 40;

impl Dialect {
    /// The name of the source file.
    #[must_use]
    pub fn file(self) -> &'static str {
        match self {
            Self::C | Self::Quiet => "random.c",
            Self::Cpp => "random.cpp",
        }
    }

    /// The compiler, and the command of Holloway that replaces it.
    #[must_use]
    pub fn compiler(self) -> (&'static str, &'static str) {
        match self {
            Self::C | Self::Quiet => ("clang", "cc"),
            Self::Cpp => ("clang++", "c++"),
        }
    }
}

/// Declarations that the generated text and the tracer share.
const HEADER: &str = r#"#ifdef __cplusplus
extern "C" {
#endif
extern long top;
#define TRACER __attribute__((nomerge, nothrow))
TRACER long enter(unsigned id);
TRACER void trace(long frame, unsigned id);
TRACER void again(long frame, unsigned id, unsigned site);
TRACER void leave(long frame, unsigned id);
TRACER int spent(void);
TRACER unsigned draw(void);
TRACER void lower(long to);
TRACER int may_jump(void);
TRACER int may_end(void);
#ifdef __cplusplus
}
#endif
"#;

/// The shared declarations for programs without calls in loops.
const QUIET_HEADER: &str = r#"struct counts { unsigned long runs[8192], left[8192], again[8192]; };
extern struct counts counts;
void start(void);
static long fuel = 60000, top;
static unsigned long state = 88172645463325252ul;
#define trace(frame, id) __asm__ volatile("incq %0" : "+m"(counts.runs[id]) : : "cc")
#define enter(id) 0; trace(0, id)
#define leave(frame, id) trace(frame, id)
#define spent() (fuel-- <= 0)
static unsigned draw(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)(state >> 33);
}
"#;

/// An entry in the file that SEQUENCE names: the innermost frame has returned.
pub const RETURNED: u32 = 1 << 30;
/// An entry in the file that SEQUENCE names, plus a number: this many innermost frames were left.
pub const LEFT: u32 = 1 << 31;

/// The source of the tracer. It writes its counts to the file that TRACE names. If SEQUENCE is set,
/// it writes all ids in order, with [`RETURNED`] and [`LEFT`], to the file that SEQUENCE names, as
/// 4 bytes each.
pub const TRACER: &str = r#"#include <stdio.h>
#include <stdlib.h>
enum { IDS = 8192, FRAMES = 4096 };
struct counts { unsigned long runs[IDS], left[IDS], again[IDS]; };
struct counts counts;
static unsigned last[FRAMES];
static long depth, fuel = 6000;
static unsigned long state = 88172645463325252ul;
long top;
static FILE *sequence;
enum { RETURNED = 1 << 30, LEFT = 1 << 31 };
static void tell(unsigned word) {
  if (sequence && fwrite(&word, sizeof word, 1, sequence) != 1)
    _Exit(98);
}
static void drop_to(long to) {
  if (depth > to)
    tell(LEFT | (unsigned)(depth - to));
  while (depth > to)
    counts.left[last[--depth]]++;
}
static void finish(void) {
  drop_to(0);
  if (sequence && fclose(sequence))
    _Exit(98);
  FILE *file = fopen(getenv("TRACE"), "wb");
  if (!file || fwrite(&counts, sizeof counts, 1, file) != 1 || fclose(file))
    _Exit(99);
}
void start(void) {
  atexit(finish);
  const char *name = getenv("SEQUENCE");
  if (name && !(sequence = fopen(name, "wb")))
    _Exit(98);
}
static void drop_above(long frame) { drop_to(frame + 1); }
long enter(unsigned id) {
  if (depth == FRAMES)
    abort();
  if (!counts.runs[0]++)
    start();
  tell(id);
  last[depth] = id;
  counts.runs[id]++;
  return depth++;
}
void trace(long frame, unsigned id) {
  drop_above(frame);
  tell(id);
  last[frame] = id;
  counts.runs[id]++;
}
void again(long frame, unsigned id, unsigned site) {
  drop_above(frame);
  counts.left[last[frame]]++;
  counts.again[site]++;
  trace(frame, id);
}
void leave(long frame, unsigned id) {
  trace(frame, id);
  tell(RETURNED);
  depth = frame;
}
int spent(void) { return fuel-- <= 0; }
unsigned draw(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)(state >> 33);
}
/* Never raises `top`: after a goto, `to` may be out of date, and the targets above `top` may belong
 * to functions that have returned. */
void lower(long to) { if (to < top) top = to; }
int may_jump(void) { return top > 0 && draw() % 8 == 0; }
int may_end(void) { return draw() % 4000 == 0; }
"#;

impl Counts {
    /// Reads the counts that the tracer has written.
    ///
    /// # Errors
    /// If the file cannot be read, or is too short.
    pub fn read(file: &Path) -> Result<Self> {
        let bytes =
            std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let words: Vec<u64> = bytes
            .chunks_exact(8)
            .map(|b| u64::from_le_bytes(b.try_into().expect("chunks of 8")))
            .collect();
        let table = |at: usize| -> Result<Vec<u64>> {
            let range = at * IDS..(at + 1) * IDS;
            Ok(words.get(range).context("the trace is cut off")?.to_vec())
        };
        Ok(Self {
            runs: table(0)?,
            left: table(1)?,
            again: table(2)?,
        })
    }
}

/// A program of `functions` functions.
#[must_use]
pub fn generate(seed: u64, functions: u64, dialect: Dialect) -> Source {
    let mut text = match dialect {
        Dialect::C | Dialect::Cpp => HEADER,
        Dialect::Quiet => QUIET_HEADER,
    }
    .to_owned();
    text += match dialect {
        Dialect::Quiet => "",
        Dialect::C => "#include <setjmp.h>\nextern jmp_buf targets[];\njmp_buf targets[64];\n",
        Dialect::Cpp => {
            "struct Guard { long *sum; ~Guard() { *sum += 1; } };\nstatic long guards;\n"
        }
    };
    text += "#include <stdio.h>\n#include <stdlib.h>\n";
    for index in 0..functions {
        writeln!(text, "long f{index}(long, long);").expect("a string takes everything");
    }
    let names: Vec<String> = (0..functions).map(|i| format!("f{i}")).collect();
    writeln!(
        text,
        "static long (*const volatile table[])(long, long) = {{{}}};",
        names.join(", ")
    )
    .expect("a string takes everything");
    let mut writer = Writer {
        line: 1 + text.matches('\n').count() as u32,
        text,
        random: Random(seed),
        dialect,
        functions,
        next: 1,
        labels: 0,
        sites: 0,
        loops: 0,
        traced: Traced::default(),
    };
    let traced = (0..functions).map(|index| writer.function(index)).collect();
    writer.main();
    Source {
        text: writer.text,
        functions: traced,
    }
}

struct Writer {
    text: String,
    line: u32,
    random: Random,
    dialect: Dialect,
    functions: u64,
    /// The next id.
    next: u32,
    /// Labels, setjmp sites and loops of the function being written.
    labels: u64,
    sites: u64,
    loops: u32,
    traced: Traced,
}

impl Writer {
    fn add(&mut self, line: &str) {
        writeln!(self.text, "{line}").expect("a string takes everything");
        self.line += 1;
    }

    /// Adds a line that calls the tracer with a new id. Returns the id.
    fn trace_by(&mut self, call: impl FnOnce(u32) -> String) -> u32 {
        let id = self.next;
        assert!(
            (id as usize) < IDS,
            "the tracer has no room for that many blocks"
        );
        self.next += 1;
        self.traced.lines.insert(self.line, id);
        self.add(&call(id));
        id
    }

    fn trace(&mut self) -> u32 {
        self.trace_by(|id| format!("trace(me, {id}u);"))
    }

    fn leave(&mut self, before: &str) {
        let id = self.trace_by(|id| format!("{before}leave(me, {id}u);"));
        self.traced.returns.push(id);
        self.add("top = base;");
        self.add("return x;");
    }

    fn function(&mut self, index: u64) -> Traced {
        (self.labels, self.sites, self.loops) = (1 + self.random.below(3), 0, 0);
        self.traced = Traced {
            name: match self.dialect {
                Dialect::C | Dialect::Quiet => format!("f{index}"),
                Dialect::Cpp => format!("_Z2f{index}ll"),
            },
            ..Traced::default()
        };
        self.add(&format!(
            "__attribute__((noinline)) long f{index}(long given, long depth) {{"
        ));
        let bases = vec!["base"; SITES as usize].join(", ");
        self.add(&format!(
            "volatile long x = given, base = top, mine[] = {{{bases}}};"
        ));
        self.add(&format!("volatile int i[{LOOPS}];"));
        self.traced.entry = self.trace_by(|id| format!("long me = enter({id}u);"));
        self.add("if (depth > 9 || spent()) {");
        self.leave("");
        self.add("}");
        self.trace();
        let statements = 3 + self.random.below(4);
        self.block(statements, 3);
        for label in 0..self.labels {
            self.label(label);
            let statements = 1 + self.random.below(2);
            self.block(statements, 2);
        }
        self.add("goto out;");
        self.leave("out:; ");
        self.add("}");
        std::mem::take(&mut self.traced)
    }

    /// A place that gotos lead to; fuel may end the function there.
    fn label(&mut self, label: u64) {
        self.add(&format!("l{label}:;"));
        self.trace();
        self.guard_fuel();
    }

    fn guard_fuel(&mut self) {
        self.add("if (spent()) {");
        self.trace();
        self.add("goto out;");
        self.add("}");
        self.trace();
    }

    fn block(&mut self, statements: u64, depth: u64) {
        for _ in 0..statements {
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: u64) {
        let kinds = if depth == 0 { 5 } else { 13 };
        let quiet = self.dialect == Dialect::Quiet;
        match self.random.below(kinds) {
            1 | 2 if !quiet || depth == 3 => self.call(),
            3 if !quiet => self.jump(),
            4 => self.goto(),
            5 | 6 => self.branch(depth),
            7 | 8 => self.turns(depth),
            9 => self.switch(depth),
            10 if !quiet => self.end(),
            11 | 12 if !quiet => self.protect(depth),
            n if n > 9 => self.turns(depth),
            _ => {
                let (a, b) = (self.random.below(1000) | 1, self.random.below(100));
                self.add(&format!("x = (x * {a} + {b}) & 0xffffff;"));
            }
        }
    }

    fn call(&mut self) {
        let callee = self.random.below(self.functions);
        let line = if self.random.below(4) == 0 && self.dialect != Dialect::Quiet {
            format!("x += table[draw() % {}](x, depth + 1);", self.functions)
        } else {
            format!("x += f{callee}(x, depth + 1);")
        };
        self.add(&line);
    }

    /// Jumps or throws to the innermost frame that waits for this, if there is one.
    fn jump(&mut self) {
        self.add("if (may_jump()) {");
        self.trace();
        self.add(match self.dialect {
            Dialect::C | Dialect::Quiet => "longjmp(targets[top - 1], 1 + draw() % 3);",
            Dialect::Cpp => "throw (int)(draw() % 5);",
        });
        self.add("}");
        self.trace();
    }

    fn end(&mut self) {
        self.add("if (may_end()) {");
        self.trace();
        self.add("exit(draw() % 50);");
        self.add("}");
        self.trace();
    }

    fn goto(&mut self) {
        let label = self.random.below(self.labels);
        // A jump past the start of a guard's life, or into a try block, is not C++.
        if self.dialect != Dialect::Cpp {
            self.add("if (draw() % 6 == 0) {");
            self.trace();
            self.add(&format!("goto l{label};"));
            self.add("}");
            self.trace();
        }
    }

    fn branch(&mut self, depth: u64) {
        self.add("if (draw() & 1) {");
        self.trace();
        self.inner(depth);
        if self.random.below(2) == 0 {
            self.add("} else {");
            self.trace();
            self.inner(depth);
        }
        self.add("}");
        self.trace();
    }

    fn turns(&mut self, depth: u64) {
        let i = format!("i[{}]", self.loops % LOOPS);
        self.loops += 1;
        let most = 1 + self.random.below(6);
        if self.dialect == Dialect::Quiet {
            // Two copies of a line in one block would look like one.
            self.add("#pragma clang loop unroll(disable)");
        }
        let tail = match self.random.below(3) {
            0 => {
                self.add(&format!("for ({i} = 0; {i} < {most}; {i}++) {{"));
                "}"
            }
            1 => {
                self.add("while (draw() % 3) {");
                "}"
            }
            _ => {
                self.add("do {");
                "} while (draw() & 1);"
            }
        };
        self.trace();
        self.guard_fuel();
        self.inner(depth);
        for way in ["break", "continue"] {
            if self.random.below(3) == 0 {
                self.add("if (draw() % 5 == 0) {");
                self.trace();
                self.add(&format!("{way};"));
                self.add("}");
                self.trace();
            }
        }
        self.add(tail);
        self.trace();
    }

    fn switch(&mut self, depth: u64) {
        let cases = 2 + self.random.below(4);
        self.add(&format!("switch (draw() % {}) {{", cases + 2));
        for case in 0..cases {
            self.add(&format!("case {case}: {{"));
            self.trace();
            self.inner(depth);
            let tail = if self.random.below(3) > 0 {
                "} break;"
            } else {
                "}"
            };
            self.add(tail);
        }
        self.add("default:;");
        self.trace();
        self.add("}");
        self.trace();
    }

    /// A setjmp or try statement, to which callees may jump or throw.
    fn protect(&mut self, depth: u64) {
        let site = self.sites;
        if site == SITES {
            return;
        }
        self.sites += 1;
        self.add(&format!("mine[{site}] = top;"));
        self.add(&format!("if (mine[{site}] < 60) {{"));
        let here = self.trace();
        self.add(&format!("top = mine[{site}] + 1;"));
        match self.dialect {
            Dialect::C | Dialect::Quiet => {
                self.add(&format!("if (setjmp(targets[mine[{site}]]) == 0) {{"));
                self.trace();
                self.inner(depth);
                self.add("} else {");
                self.trace_by(|id| format!("again(me, {id}u, {here}u);"));
            }
            Dialect::Cpp => {
                self.add("try {");
                if self.random.below(2) == 0 {
                    self.add("Guard guard = {&guards};");
                }
                self.inner(depth);
                self.add("} catch (int code) {");
                self.trace();
                self.add("x += code;");
            }
        }
        self.add(&format!("lower(mine[{site}]);"));
        if depth > 1 {
            self.block(1, depth - 1);
        }
        self.add("}");
        self.trace();
        self.add(&format!("lower(mine[{site}]);"));
        self.add("}");
        self.trace();
    }

    fn inner(&mut self, depth: u64) {
        let statements = 1 + self.random.below(3);
        self.block(statements, depth - 1);
    }

    fn main(&mut self) {
        self.add("int main(void) {");
        if self.dialect == Dialect::Quiet {
            self.add("start();");
        }
        self.add("long sum = 0;");
        self.add("for (int turn = 0; turn < 40; turn++) {");
        for index in 0..self.functions {
            self.add(&format!("sum = (sum * 31 + f{index}(turn, 0)) & 0xffffff;"));
        }
        self.add("printf(\"%ld\\n\", sum);");
        self.add("}");
        self.add("}");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use crate::tool::{clean, installed, run, run_ok, scratch};
    use std::process::Command;

    /// The behavior of a program and its counts are defined, so they do not depend on the
    /// optimizer.
    #[test]
    fn programs_count_the_same_at_all_levels() {
        for (seed, dialect) in [
            (1, Dialect::C),
            (2, Dialect::C),
            (3, Dialect::C),
            (4, Dialect::Cpp),
            (5, Dialect::Cpp),
            (6, Dialect::Quiet),
            (7, Dialect::Quiet),
        ] {
            let scratch = scratch("random-program").unwrap();
            let (file, (compiler, _)) = (dialect.file(), dialect.compiler());
            let compiler = &format!("{compiler}-22");
            std::fs::write(scratch.path().join(file), generate(seed, 8, dialect).text).unwrap();
            std::fs::write(scratch.path().join("tracer.c"), TRACER).unwrap();
            let mut runs = Vec::new();
            for level in ["-O0", "-O2"] {
                let start = |compiler: &str| {
                    let mut command = Command::new(installed(compiler).unwrap());
                    clean(&mut command);
                    command.current_dir(scratch.path()).args([level, "-w"]);
                    command
                };
                run_ok(start("clang-22").args(["-c", "tracer.c"])).unwrap();
                run_ok(start(compiler).args([file, "tracer.o", "-o", "program"])).unwrap();
                let mut program = Command::new(scratch.path().join("program"));
                let output = run(program.env("TRACE", scratch.path().join("trace"))).unwrap();
                let counts = Counts::read(&scratch.path().join("trace")).unwrap();
                runs.push((output.ending(), output.text(), counts));
            }
            assert_eq!(runs[0], runs[1], "seed {seed}");
            let (ending, _, counts) = &runs[0];
            assert!(ending.starts_with("exit"), "seed {seed}: {ending}");
            println!(
                "seed {seed}: {ending}, {} blocks, {} left, {} again",
                counts.runs.iter().sum::<u64>(),
                counts.left.iter().sum::<u64>(),
                counts.again.iter().sum::<u64>()
            );
        }
    }
}
