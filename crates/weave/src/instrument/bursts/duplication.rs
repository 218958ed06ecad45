//! Functions whose code cannot be copied.

use holloway_llvm::{AttributeKind, Function, Instruction, Opcode, TypeKind};

use crate::lower::{CallAttributes, FunctionParts};
use crate::reason::CopyObstacle;

/// Why a function's code cannot be copied, if it cannot.
pub(crate) fn copy_obstacle(
    parts: &FunctionParts<'_>,
    attributes: &CallAttributes,
) -> Option<CopyObstacle> {
    let function: Function<'_> = parts.function;
    let named = |name| AttributeKind::named(function.module(), name);
    let single = [named("noduplicate"), named("convergent")];
    let instructions = parts.blocks.iter().flat_map(|info| &info.instructions);
    for &instruction in instructions {
        let obstacle = match instruction.opcode() {
            Opcode::CallBr => CopyObstacle::AsmGoto,
            _ if instruction.value().kind().kind() == TypeKind::Token => CopyObstacle::Tokens,
            Opcode::Invoke if attributes.returns_twice(instruction) => {
                CopyObstacle::InvokeReturnsTwice
            }
            _ if single.iter().flatten().any(|&kind| has(instruction, kind)) => {
                CopyObstacle::SingleCall
            }
            _ if is_single(instruction) => CopyObstacle::EscapedFrame,
            _ if has_label(instruction) => CopyObstacle::AssemblyLabel,
            _ => continue,
        };
        return Some(obstacle);
    }
    None
}

fn has(instruction: Instruction<'_>, kind: AttributeKind) -> bool {
    instruction.is_call() && instruction.call_has(kind)
}

fn is_single(instruction: Instruction<'_>) -> bool {
    let name = instruction.intrinsic();
    name.is_some_and(|name| name == "llvm.localescape")
}

fn has_label(instruction: Instruction<'_>) -> bool {
    instruction.is_call()
        && instruction
            .callee()
            .inline_assembly()
            .is_some_and(|text| defines_name(&text))
}

/// Whether assembly may define a name that must be unique in the object. Local labels (numbers) and
/// labels with `${:uid}` need not be. A colon may also follow a segment register, or stand in an
/// operand's modifier, a string or a comment. Of these, only strings and comments are mistaken for
/// labels.
fn defines_name(assembly: &str) -> bool {
    const ONCE: [&str; 8] = [
        ".macro", ".equiv", ".globl", ".global", ".type", ".comm", ".lcomm", ".symver",
    ];
    let assembly = without_operands(assembly);
    assembly.split(['\n', ';']).any(|statement| {
        let mut rest = statement;
        while let Some((before, behind)) = rest.split_once(':') {
            let before = before.trim_end();
            let name = before
                .rsplit(char::is_whitespace)
                .next()
                .unwrap_or_default();
            let local = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
            let register = name.rsplit([',', '(', '*']).next().unwrap_or_default();
            if !local && !name.contains(UNIQUE) && !register.starts_with('%') {
                return true;
            }
            rest = behind;
        }
        let mut words = rest.split_whitespace();
        words.any(|word| ONCE.contains(&word))
    })
}

/// Stands for `${:uid}`, a number that differs in each copy of the assembly.
const UNIQUE: char = '\u{1}';

/// The assembly without `${…}`: an operand's value is the same in each copy.
fn without_operands(assembly: &str) -> String {
    let mut plain = String::with_capacity(assembly.len());
    let mut rest = assembly;
    while let Some((before, behind)) = rest.split_once("${") {
        plain.push_str(before);
        let (operand, behind) = behind.split_once('}').unwrap_or((behind, ""));
        plain.push(if operand == ":uid" { UNIQUE } else { '_' });
        rest = behind;
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::defines_name;

    #[test]
    fn names_that_may_be_defined_once_are_found() {
        let check = |text, expect| assert_eq!(defines_name(text), expect, "{text}");
        check("nop", false);
        check("1: decl $0; jnz 1b", false);
        check("movl ${1:k}, %fs:8", false);
        check(".Lhere${:uid}: nop", false);
        check("nop\n\tmarker: nop", true);
        check("1: 2: target: nop", true);
        check(".macro twice x\n.endm", true);
        check(".globl here", true);
        check(".Lhere${0:c}: nop", true);
        check("\"a b\": nop", true);
        check("nop /* before */ here: nop", true);
        check("rep; here : nop", true);
        check("movq %gs:0, $0; lock; jmp *%fs:(%rax)", false);
        check("leaq 1f(%rip), $0\n1:movb $$0, %es:(%rdi)", false);
        check(".pushsection .note\n.popsection", false);
    }
}
