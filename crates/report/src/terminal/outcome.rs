//! Branch outcomes in words.

use holloway_format::Outcome;

/// What leads along an edge.
pub(super) fn word(outcome: Outcome) -> String {
    let word = match outcome {
        Outcome::Case(value) => return format!("case {value}"),
        Outcome::Jump => "jump",
        Outcome::True => "true",
        Outcome::False => "false",
        Outcome::Default => "default",
        Outcome::Normal => "returns",
        Outcome::Unwind => "unwinds",
        Outcome::Indirect => "computed goto",
        Outcome::AsmGoto => "asm goto",
        Outcome::Return => "return",
        Outcome::Noreturn => "does not return",
        Outcome::Resume => "unwinds on",
        Outcome::TailCall => "tail call",
        Outcome::Again => "may return again",
        Outcome::Split => "split",
        Outcome::Left => "left in a call",
        Outcome::Returned => "came back",
    };
    word.to_owned()
}
