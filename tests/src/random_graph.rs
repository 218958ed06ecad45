//! Random programs whose blocks call a tracer: graphs of any shape, with counts by other means.
//!
//! Each function is a set of labelled blocks that call `trace(ID)` and go on to blocks drawn at random: by an `if`, a
//! `switch` with several cases to one block, a `goto`. Irreducible loops, self loops, unreachable blocks and multi-edges
//! come by themselves. Fuel ends every call. The tracer is compiled plain, so that one run gives both counts.

use crate::corpus::Random;
use std::fmt::Write;

/// A generated source file.
#[derive(Debug, Clone)]
pub struct Source {
    /// The C text.
    pub text: String,
    /// For each function: name, and for each line with a tracer call its id.
    pub functions: Vec<Traced>,
}

/// One function and where its tracer calls stand.
#[derive(Debug, Clone)]
pub struct Traced {
    /// Its name.
    pub name: String,
    /// (line, id) of each tracer call: the function's number × 256 + block, or + [`ENTER`], [`LEAVE`].
    pub lines: Vec<(u32, u32)>,
}

/// Low byte of the id traced at a function's entry.
pub const ENTER: u32 = 254;
/// Low byte of the id traced before a function's return.
pub const LEAVE: u32 = 255;

/// The tracer, compiled plain: writes each id, 4 bytes, to the file that TRACE names.
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

/// A program of `functions` functions with up to `blocks` blocks each, and a main that calls each `calls` times.
#[must_use]
pub fn generate(seed: u64, functions: u64, blocks: u64, calls: u64) -> Source {
    let mut random = Random(seed);
    let mut writer = Writer {
        text: String::new(),
        line: 1,
    };
    writer.add("__attribute__((nomerge)) void trace(unsigned); void refuel(long); int spent(void); unsigned draw(void); void finish(void);");
    let mut traced = Vec::new();
    for index in 0..functions {
        let name = format!("f{index}");
        let lines = function(&mut writer, &mut random, &name, index, blocks);
        traced.push(Traced { name, lines });
    }
    writer.add("int main(void) {");
    writer.add(&format!("  for (int i = 0; i < {calls}; i++) {{"));
    for f in &traced {
        writer.add(&format!("    refuel(draw() % 50); {}();", f.name));
    }
    writer.add("  }");
    writer.add("  finish();");
    writer.add("  return 0;");
    writer.add("}");
    Source {
        text: writer.text,
        functions: traced,
    }
}

struct Writer {
    text: String,
    line: u32,
}

impl Writer {
    fn add(&mut self, line: &str) {
        writeln!(self.text, "{line}").expect("a string takes everything");
        self.line += 1;
    }

    /// A line with a tracer call, remembered.
    fn trace(&mut self, before: &str, id: u32, lines: &mut Vec<(u32, u32)>) {
        lines.push((self.line, id));
        self.add(&format!("{before}  trace({id}u);"));
    }
}

fn function(
    writer: &mut Writer,
    random: &mut Random,
    name: &str,
    index: u64,
    most: u64,
) -> Vec<(u32, u32)> {
    let blocks = 1 + random.below(most.min(200));
    let first = index as u32 * 256;
    let mut lines = Vec::new();
    writer.add(&format!("__attribute__((noinline)) void {name}(void) {{"));
    writer.trace("", first + ENTER, &mut lines);
    writer.add(&format!("  goto b{};", random.below(blocks)));
    for block in 0..blocks {
        writer.trace(&format!("b{block}:"), first + block as u32, &mut lines);
        if index > 0 && random.below(6) == 0 {
            writer.add(&format!("  f{}();", random.below(index)));
        }
        writer.add("  if (spent()) goto out;");
        let mut target = || match random.below(blocks + 1) {
            n if n == blocks => "out".to_owned(),
            n => format!("b{n}"),
        };
        let targets: Vec<String> = (0..5).map(|_| target()).collect();
        match random.below(5) {
            0 => writer.add(&format!("  goto {};", targets[0])),
            1 | 2 => writer.add(&format!(
                "  if (draw() & 1) goto {}; else goto {};",
                targets[0], targets[1]
            )),
            3 => writer.add(&format!("  if (draw() % 5 == 0) goto {};", targets[0])),
            _ => {
                writer.add("  switch (draw() % 6) {");
                for (case, to) in targets.iter().enumerate() {
                    writer.add(&format!("  case {case}: goto {to};"));
                }
                writer.add(&format!("  default: goto {};", targets[0]));
                writer.add("  }");
            }
        }
    }
    writer.trace("out:", first + LEAVE, &mut lines);
    writer.add("}");
    lines
}
