//! The stack machine. Its loop has a path for each kind of instruction.

use crate::compiler::Instruction;

/// The size of the stack. A program that needs more overwrites the oldest values.
const STACK: usize = 32;

/// The variables and the stack. They keep their values between runs.
pub struct Machine {
    variables: [i64; 16],
    stack: [i64; STACK],
    top: usize,
}

impl Machine {
    /// A machine with all variables 0.
    pub fn new() -> Self {
        Self {
            variables: [0; 16],
            stack: [0; STACK],
            top: 0,
        }
    }

    /// Runs a program with variable 0 set to `round`. Returns the program's result, or 0.
    #[inline(never)]
    pub fn run(&mut self, code: &[Instruction], round: i64) -> i64 {
        self.variables[0] = round;
        let mut at = 0;
        while at < code.len() {
            let instruction = code[at];
            at += 1;
            match instruction {
                Instruction::Push(value) => self.push(value),
                Instruction::Load(variable) => self.push(self.variables[variable]),
                Instruction::Store(variable) => self.variables[variable] = self.pop(),
                Instruction::Add => self.combine(i64::wrapping_add),
                Instruction::Subtract => self.combine(i64::wrapping_sub),
                Instruction::Multiply => self.combine(i64::wrapping_mul),
                Instruction::Divide => {
                    self.combine(|a, b| if b == 0 { 0 } else { a.wrapping_div(b) })
                }
                Instruction::Remainder => {
                    self.combine(|a, b| if b == 0 { 0 } else { a.wrapping_rem(b) })
                }
                Instruction::Less => self.combine(|a, b| i64::from(a < b)),
                Instruction::Equal => self.combine(|a, b| i64::from(a == b)),
                Instruction::Swap => {
                    let (b, a) = (self.pop(), self.pop());
                    self.push(b);
                    self.push(a);
                }
                Instruction::JumpIfZero(target) => {
                    if self.pop() == 0 {
                        at = target;
                    }
                }
                Instruction::Jump(target) => at = target,
                Instruction::Return => return self.pop(),
            }
        }
        0
    }

    fn push(&mut self, value: i64) {
        self.stack[self.top % STACK] = value;
        self.top += 1;
    }

    fn pop(&mut self) -> i64 {
        self.top = self.top.wrapping_sub(1);
        self.stack[self.top % STACK]
    }

    fn combine(&mut self, operation: impl Fn(i64, i64) -> i64) {
        let (b, a) = (self.pop(), self.pop());
        self.push(operation(a, b));
    }
}
