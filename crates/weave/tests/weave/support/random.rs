//! Generates random C programs with branches, loops, switches, gotos into and out of any statement,
//! computed gotos, `longjmp`, and calls.

use std::fmt::Write as _;

/// A small random generator. It is in this file so that a seed always gives the same program.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
}

/// A program under construction.
pub struct Program {
    random: Random,
    /// The source of the program.
    pub text: String,
    labels: u64,
    functions: u64,
    /// Whether calls may jump out of any number of frames. Then a branch follows each call, with a
    /// tracer in each of its arms ([`BRANCH`]). So the tracer is not in the block of the call, and
    /// control that enters the tracer's block reaches the tracer.
    jumps_out: bool,
}

/// The code after a call that may not come back.
const BRANCH: &str = "if (fuel & 1) {\nT;\n} else {\nT;\n}\n";

/// Every statement uses one unit of fuel. Without fuel a function returns, so programs end.
const FUEL: &str = "if (--fuel < 0) return x;\n";

impl Program {
    pub fn new(seed: u64, jumps_out: bool) -> Self {
        let mut program = Self {
            random: Random(seed),
            text: String::new(),
            labels: 0,
            functions: 0,
            jumps_out,
        };
        program.text += "#include <stdio.h>\n#include <setjmp.h>\nstatic volatile int fuel;\nstatic jmp_buf env;\n";
        if jumps_out {
            program.text += "static jmp_buf out;\n__attribute__((noinline)) static void hop(unsigned x) { if (x % 11 == 3) longjmp(out, 1); }\n";
        }
        let count = 3 + program.random.below(3);
        for index in 0..count {
            program.function(index);
        }
        program.text += if jumps_out {
            "int main(int argc, char **argv) {\nvolatile unsigned r = 0;\n"
        } else {
            "int main(int argc, char **argv) {\nunsigned r = 0;\n"
        };
        for index in 0..count {
            let fuel = 50 + program.random.below(2000);
            for call in ["(r, argc)", "(r ^ 0x5555, argc + 1)"] {
                let call = format!("r = r * 31 + f{index}{call};");
                let _ = if jumps_out {
                    writeln!(
                        program.text,
                        "fuel = {fuel}; if (setjmp(out) == 0) {{ {call} {BRANCH} }} else {{\nT;\n}}"
                    )
                } else {
                    writeln!(program.text, "fuel = {fuel}; {call}")
                };
            }
        }
        program.text += "printf(\"%u\\n\", r);\nreturn 0;\n}\n";
        program
    }

    fn function(&mut self, index: u64) {
        self.functions = index;
        let first = self.labels;
        let inline = if self.random.below(3) == 0 {
            "__attribute__((noinline)) "
        } else {
            ""
        };
        let _ = write!(
            self.text,
            "{inline}static unsigned f{index}(unsigned x, unsigned y) {{\nunsigned i = y;\n"
        );
        let jumps = self.random.below(4) == 0;
        let start = self.text.len();
        let size = 3 + self.random.below(5);
        self.block(size, 3);
        self.text += "T;\nreturn x;\n";
        // Labels that only a `goto` uses are placed at the end of the function.
        let body = self.text.split_off(start);
        let mut tail = String::new();
        for label in first..self.labels {
            if !body.contains(&format!("\nl{label}:")) {
                let _ = write!(tail, "\nl{label}:;\nT;\n{FUEL}");
            }
        }
        if jumps && self.labels > first + 1 {
            let table: Vec<String> = (first..self.labels)
                .map(|label| format!("&&l{label}"))
                .collect();
            let _ = writeln!(
                self.text,
                "static void *const table[] = {{ {} }};",
                table.join(", ")
            );
            let _ = writeln!(tail, "if (x & 1) goto *table[x / 2 % {}];", table.len());
            let _ = writeln!(
                self.text,
                "if (x % 5 == 3) {{ T; {FUEL} goto *table[y % {}]; }}",
                table.len()
            );
        }
        self.text += &body;
        self.text += &tail;
        self.text += "return x + i;\n}\n";
    }

    fn block(&mut self, statements: u64, depth: u64) {
        for _ in 0..statements {
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: u64) {
        let kind = if depth == 0 {
            self.random.below(4)
        } else {
            self.random.below(16)
        };
        self.text += "T;\n";
        self.text += FUEL;
        match kind {
            0 if self.jumps_out => {
                self.text += "hop(x);\n";
                self.text += BRANCH;
            }
            0 | 1 => {
                let (a, b) = (self.random.below(1 << 20) | 1, self.random.below(100));
                let _ = writeln!(self.text, "x = x * {a}u + {b}u + (i ^ y);");
            }
            2 if self.functions > 0 => {
                let callee = self.random.below(self.functions);
                let _ = writeln!(self.text, "x += f{callee}(x, i);");
                if self.jumps_out {
                    self.text += BRANCH;
                }
            }
            3 => {
                let label = self.labels;
                if self.random.below(2) == 0 && label > 0 {
                    self.labels += 1;
                    let _ = writeln!(self.text, "if (x >> 7 & 1) goto l{label};");
                } else {
                    self.labels += 1;
                    let _ = write!(self.text, "\nl{label}:;\n");
                }
            }
            4..=7 => {
                let bit = self.random.below(30);
                let _ = writeln!(self.text, "if (x >> {bit} & 1) {{");
                self.nested_block(depth);
                if self.random.below(2) == 0 {
                    self.text += "} else {\n";
                    self.nested_block(depth);
                }
                self.text += "}\n";
            }
            8 | 9 => {
                let steps = 1 + self.random.below(9);
                let _ = writeln!(self.text, "for (i = x % {steps}; i < {steps}; i++) {{");
                self.nested_block(depth);
                if self.random.below(3) == 0 {
                    self.text += "if (x >> 3 & 1) { T; break; }\n";
                }
                if self.random.below(3) == 0 {
                    self.text += "if (x >> 4 & 1) { T; continue; }\n";
                }
                self.text += "T;\n}\n";
            }
            10 => {
                self.text += "do {\n";
                self.nested_block(depth);
                self.text += "x = x * 1664525u + 1013904223u;\n} while (x >> 28);\n";
            }
            11 | 12 => {
                let cases = 2 + self.random.below(6);
                let _ = writeln!(self.text, "switch (x / 3 % {}) {{", cases + 2);
                for case in 0..cases {
                    let _ = writeln!(self.text, "case {case}:");
                    if self.random.below(3) > 0 {
                        self.nested_block(depth);
                    }
                    if self.random.below(3) > 0 {
                        self.text += "break;\n";
                    }
                }
                self.text += "default: T;\n}\n";
            }
            13 => self.text += "x = (x & 4 ? x * 3 : x ^ y) + (x && y || i);\n",
            14 => self.text += "if (x % 7 == 5) { T; return x; }\n",
            _ => {
                self.text += "if (setjmp(env) == 0) {\nT;\nif (x & 2) { T; fuel -= 3; longjmp(env, 1); }\n} else {\nT;\n}\n";
            }
        }
    }

    fn nested_block(&mut self, depth: u64) {
        let count = 1 + self.random.below(3);
        self.block(count, depth - 1);
    }
}
