//! Finds functions that the compiler generated, and that only seem to have lines of the source.
//!
//! `rustc --test` adds a `main` that runs the tests, and a closure for each test. Their
//! declarations have the places of the file and of the test:
//!
//! ```text
//!                            declared  code
//! tests/it.rs:1–9            line 1    all on line 0                    main
//! tests/it.rs:5–8  fn zero   line 5    lines 6 to 8, returns at 8:2     zero
//!                            line 5    calls zero, and returns at 8:2   zero::{closure#0}
//! ```
//!
//! Counts of such functions say nothing about these lines. Two rules find them:
//! - No instruction has a line. So the declaration's line is not known to be source of the
//!   function.
//! - A closure calls a function of the same declaration, and returns where that function returns. A
//!   closure in the source ends before the function around it does.

use holloway_llvm::{Block, Function, Instruction, Location, Opcode, Subprogram};

/// How rustc begins the name of a closure in debug information.
const CLOSURE: &str = "{closure#";

/// Whether the compiler generated a function that has debug information.
pub(super) fn is_generated<'m>(function: Function<'m>, subprogram: Subprogram<'m>) -> bool {
    let lines = locations(function).map(|(_, location)| location.line());
    let has_line = lines.into_iter().any(|line| line != 0);
    !has_line || is_closure_around_function(function, subprogram)
}

/// Whether a closure calls the function whose declaration it spans.
fn is_closure_around_function<'m>(function: Function<'m>, closure: Subprogram<'m>) -> bool {
    if !closure.name().starts_with(CLOSURE) {
        return false;
    }
    let calls = locations(function).filter(|(instruction, _)| instruction.is_call());
    let mut callees = calls.filter_map(|(call, _)| call.callee().as_function());
    callees.any(|callee| {
        let is_same = |other: Subprogram<'m>| {
            (other.line(), other.file()) == (closure.line(), closure.file())
        };
        callee != function
            && callee.subprogram().is_some_and(is_same)
            && return_place(function).is_some()
            && return_place(function) == return_place(callee)
    })
}

/// Line and column of the first return.
fn return_place(function: Function<'_>) -> Option<(u32, u32)> {
    let mut returns =
        locations(function).filter(|(instruction, _)| instruction.opcode() == Opcode::Ret);
    returns
        .next()
        .map(|(_, location)| (location.line(), location.column()))
}

/// The instructions that have debug locations.
fn locations<'m>(function: Function<'m>) -> impl Iterator<Item = (Instruction<'m>, Location<'m>)> {
    let instructions = function.blocks().flat_map(Block::instructions);
    instructions.filter_map(|instruction| Some((instruction, instruction.location()?)))
}
