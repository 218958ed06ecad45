//! Generates random programs whose blocks call a tracer: graphs of any shape, with independent
//! counts.
//!
//! Each function is a set of labeled blocks. A block calls `trace(ID)` and continues to random
//! blocks by an `if`, a `switch` with several cases for one block, or a `goto`. So there are
//! irreducible loops, self-loops, unreachable blocks, and multi-edges. A limit on the number of
//! blocks ends every call. The tracer is compiled without instrumentation, so one run gives both
//! the traced and the profiled counts.

use crate::corpus::Random;
use std::fmt::Write;

/// A generated source file.
#[derive(Debug, Clone)]
pub struct Source {
    /// The C text.
    pub text: String,
    /// The functions with their tracer calls.
    pub functions: Vec<Traced>,
}

/// A function with its tracer calls.
#[derive(Debug, Clone)]
pub struct Traced {
    /// Its name.
    pub name: String,
    /// (line, id) of each tracer call. The id is the function's number × [`IDS`] + a number in the
    /// function. [`ENTER`] and [`LEAVE`] are such numbers.
    pub lines: Vec<(u32, u32)>,
}

/// Number of ids per function.
pub const IDS: u32 = 4096;
/// Number traced at a function's entry.
pub const ENTER: u32 = 4094;
/// Number traced before a function's return.
pub const LEAVE: u32 = 4095;

/// The source of the tracer. It writes each id as 4 bytes to the file that the variable TRACE
/// names.
pub const TRACER: &str = r#"#include <stdio.h>
#include <stdlib.h>
static FILE *file;
static unsigned long state = 88172645463325252ul;
static long fuel;
void trace(unsigned id) {
  if (!file && !(file = fopen(getenv("TRACE"), "wb")))
    abort();
  fwrite(&id, 4, 1, file);
}
void refuel(long amount) { fuel = amount; }
int spent(void) { return fuel-- <= 0; }
unsigned draw(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)(state >> 33);
}
void finish(void) {
  if (file && fclose(file))
    abort();
}
"#;

/// Generates a program of `functions` functions with up to `blocks` blocks each, and a `main` that
/// calls each function `calls` times.
#[must_use]
pub fn generate(seed: u64, functions: u64, blocks: u64, calls: u64) -> Source {
    let mut random = Random(seed);
    let (mut text, mut line) = (String::new(), 1);
    let tracer = "__attribute__((nomerge)) void trace(unsigned); void refuel(long); int spent(void); unsigned draw(void);";
    add(&mut text, &mut line, tracer);
    add(&mut text, &mut line, "void finish(void);");
    let mut traced = Vec::new();
    for index in 0..functions {
        let first = index as u32 * IDS;
        let mut writer = Writer {
            text: &mut text,
            line: &mut line,
            first,
            next: 0,
            lines: Vec::new(),
        };
        function(&mut writer, &mut random, index, blocks);
        traced.push(Traced {
            name: format!("f{index}"),
            lines: writer.lines,
        });
    }
    text += "int main(void) {\n";
    writeln!(text, "  for (int i = 0; i < {calls}; i++) {{")
        .expect("writing to a string cannot fail");
    for f in &traced {
        writeln!(text, "    refuel(draw() % 50); {}();", f.name)
            .expect("writing to a string cannot fail");
    }
    text += "  }\n  finish();\n  return 0;\n}\n";
    Source {
        text,
        functions: traced,
    }
}

/// Writes the text of a function and collects its tracer calls.
struct Writer<'a> {
    text: &'a mut String,
    line: &'a mut u32,
    first: u32,
    next: u32,
    lines: Vec<(u32, u32)>,
}

impl Writer<'_> {
    fn add(&mut self, line: &str) {
        add(self.text, self.line, line);
    }

    /// A line with a tracer call: `before trace(…); after`.
    fn trace(&mut self, before: &str, number: u32, after: &str) {
        let id = self.first + number;
        self.lines.push((*self.line, id));
        self.add(&format!("{before} trace({id}u); {after}"));
    }

    /// Writes a traced jump on a separate line, so that two edges to the same block can be
    /// distinguished.
    fn jump(&mut self, before: &str, target: &str) {
        self.next += 1;
        self.add(before);
        self.trace("   ", self.next - 1, &format!("goto {target}; }}"));
    }
}

fn add(text: &mut String, number: &mut u32, line: &str) {
    writeln!(text, "{line}").expect("writing to a string cannot fail");
    *number += 1;
}

fn function(writer: &mut Writer, random: &mut Random, index: u64, max_blocks: u64) {
    let blocks = 1 + random.below(max_blocks.min(200));
    writer.next = blocks as u32;
    writer.add(&format!("__attribute__((noinline)) void f{index}(void) {{"));
    writer.trace("", ENTER, "");
    writer.add(&format!("  goto b{};", random.below(blocks)));
    for block in 0..blocks {
        writer.trace(&format!("b{block}:"), block as u32, "");
        if index > 0 && random.below(6) == 0 {
            writer.add(&format!("  f{}();", random.below(index)));
        }
        writer.jump("  if (spent()) {", "out");
        let mut target = || match random.below(blocks + 1) {
            n if n == blocks => "out".to_owned(),
            n => format!("b{n}"),
        };
        let targets: Vec<String> = (0..5).map(|_| target()).collect();
        match random.below(5) {
            0 => writer.jump("  {", &targets[0]),
            1 | 2 => {
                writer.jump("  if (draw() & 1) {", &targets[0]);
                writer.jump("  else {", &targets[1]);
            }
            3 => writer.jump("  if (draw() % 5 == 0) {", &targets[0]),
            _ => {
                writer.add("  switch (draw() % 13) {");
                for (case, to) in targets.iter().enumerate() {
                    // Two cases lead to one block: a multi-edge.
                    writer.jump(&format!("  case {case}: case {}: {{", case + 6), to);
                }
                writer.jump("  case 5: default: {", &targets[0]);
                writer.add("  }");
            }
        }
    }
    writer.trace("out:", LEAVE, "");
    writer.add("}");
}
