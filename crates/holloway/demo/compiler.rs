//! Translates tokens into instructions for a stack machine.

use crate::tokens::Token;

/// An instruction; variables and jump targets are numbers.
#[derive(Clone, Copy, Debug)]
pub enum Instruction {
    Push(i64),
    Load(usize),
    Store(usize),
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Less,
    Equal,
    Swap,
    JumpIfZero(usize),
    Jump(usize),
    Return,
}

/// An open `while` or `if`.
enum Open {
    While { start: usize, exit: usize },
    If { jump: usize },
}

struct Compiler<'a> {
    tokens: &'a [Token],
    position: usize,
    code: Vec<Instruction>,
    names: Vec<String>,
    open: Vec<Open>,
}

/// Compiles a program. Variable 0 is `round`.
#[inline(never)]
pub fn compile(tokens: &[Token]) -> Vec<Instruction> {
    let names = vec!["round".to_owned()];
    let mut compiler = Compiler {
        tokens,
        position: 0,
        code: Vec::new(),
        names,
        open: Vec::new(),
    };
    while compiler.position < tokens.len() {
        compiler.statement();
    }
    compiler.code
}

impl Compiler<'_> {
    fn statement(&mut self) {
        match self.next() {
            Token::NewLine => {}
            Token::Name(word) => match word.as_str() {
                "while" => {
                    let start = self.code.len();
                    self.comparison();
                    self.open.push(Open::While {
                        start,
                        exit: self.code.len(),
                    });
                    self.code.push(Instruction::JumpIfZero(0));
                }
                "if" => {
                    self.comparison();
                    self.open.push(Open::If {
                        jump: self.code.len(),
                    });
                    self.code.push(Instruction::JumpIfZero(0));
                }
                "else" => self.else_branch(),
                "end" => self.end(),
                "return" => {
                    self.comparison();
                    self.code.push(Instruction::Return);
                }
                _ => {
                    assert_eq!(
                        self.next(),
                        Token::Symbol("="),
                        "only assignments start with a name"
                    );
                    self.comparison();
                    let variable = self.variable(&word);
                    self.code.push(Instruction::Store(variable));
                }
            },
            other => panic!("a statement cannot start with {other:?}"),
        }
    }

    fn else_branch(&mut self) {
        let Some(Open::If { jump }) = self.open.pop() else {
            panic!("else without if")
        };
        self.open.push(Open::If {
            jump: self.code.len(),
        });
        self.code.push(Instruction::Jump(0));
        self.code[jump] = Instruction::JumpIfZero(self.code.len());
    }

    fn end(&mut self) {
        match self.open.pop().expect("end without while or if") {
            Open::While { start, exit } => {
                self.code.push(Instruction::Jump(start));
                self.code[exit] = Instruction::JumpIfZero(self.code.len());
            }
            Open::If { jump } => {
                let next = self.code.len();
                match &mut self.code[jump] {
                    Instruction::JumpIfZero(target) | Instruction::Jump(target) => *target = next,
                    other => panic!("{other:?} is no jump"),
                }
            }
        }
    }

    fn comparison(&mut self) {
        self.sum();
        if let Some(Token::Symbol(symbol @ ("<" | ">" | "=="))) = self.peek() {
            self.position += 1;
            self.sum();
            if symbol == ">" {
                self.code.push(Instruction::Swap);
            }
            self.code.push(if symbol == "==" {
                Instruction::Equal
            } else {
                Instruction::Less
            });
        }
    }

    fn sum(&mut self) {
        self.product();
        while let Some(Token::Symbol(symbol @ ("+" | "-"))) = self.peek() {
            self.position += 1;
            self.product();
            self.code.push(if symbol == "+" {
                Instruction::Add
            } else {
                Instruction::Subtract
            });
        }
    }

    fn product(&mut self) {
        self.value();
        while let Some(Token::Symbol(symbol @ ("*" | "/" | "%"))) = self.peek() {
            self.position += 1;
            self.value();
            self.code.push(match symbol {
                "*" => Instruction::Multiply,
                "/" => Instruction::Divide,
                _ => Instruction::Remainder,
            });
        }
    }

    fn value(&mut self) {
        match self.next() {
            Token::Number(number) => self.code.push(Instruction::Push(number)),
            Token::Name(name) => {
                let variable = self.variable(&name);
                self.code.push(Instruction::Load(variable));
            }
            Token::Symbol("(") => {
                self.comparison();
                assert_eq!(self.next(), Token::Symbol(")"), "a parenthesis stays open");
            }
            other => panic!("{other:?} is no value"),
        }
    }

    fn variable(&mut self, name: &str) -> usize {
        match self.names.iter().position(|known| known == name) {
            Some(variable) => variable,
            None => {
                self.names.push(name.to_owned());
                self.names.len() - 1
            }
        }
    }

    fn peek(&self) -> Option<Token> {
        self.tokens.get(self.position).cloned()
    }

    fn next(&mut self) -> Token {
        self.position += 1;
        self.tokens
            .get(self.position - 1)
            .cloned()
            .unwrap_or(Token::NewLine)
    }
}
