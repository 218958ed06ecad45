//! Finds functions whose code cannot be copied. Timing in bursts requires a copy.

use holloway_llvm::{AttributeKind, Function, Instruction, Opcode, TypeKind};

use crate::lower::{CallAttributes, FunctionParts};
use crate::reason::CopyObstacle;

/// Why a function's code cannot be copied. `None` if it can.
pub(crate) fn copy_obstacle(
    parts: &FunctionParts<'_>,
    attributes: &CallAttributes,
) -> Option<CopyObstacle> {
    let obstacles = CopyObstacles::new(parts.function, attributes);
    let mut instructions = parts.blocks.iter().flat_map(|info| &info.instructions);
    instructions.find_map(|&instruction| obstacles.of(instruction))
}

/// Finds instructions that cannot be copied.
pub(crate) struct CopyObstacles<'a> {
    attributes: &'a CallAttributes,
    /// The attributes of calls that must stay the only ones.
    single_call: [Option<AttributeKind>; 2],
}

impl<'a> CopyObstacles<'a> {
    pub(crate) fn new(function: Function<'_>, attributes: &'a CallAttributes) -> Self {
        let named = |name| AttributeKind::named(function.module(), name);
        Self {
            attributes,
            single_call: [named("noduplicate"), named("convergent")],
        }
    }

    /// Why an instruction cannot be copied. `None` if it can.
    pub(crate) fn of(&self, instruction: Instruction<'_>) -> Option<CopyObstacle> {
        match instruction.opcode() {
            Opcode::CallBr => Some(CopyObstacle::AsmGoto),
            _ if instruction.value().kind().kind() == TypeKind::Token => Some(CopyObstacle::Tokens),
            Opcode::Invoke if self.attributes.returns_twice(instruction) => {
                Some(CopyObstacle::InvokeReturnsTwice)
            }
            _ if self
                .single_call
                .iter()
                .flatten()
                .any(|&kind| has_attribute(instruction, kind)) =>
            {
                Some(CopyObstacle::SingleCall)
            }
            _ if escapes_frame(instruction) => Some(CopyObstacle::EscapedFrame),
            _ if has_label(instruction) => Some(CopyObstacle::AssemblyLabel),
            _ => None,
        }
    }
}

fn has_attribute(instruction: Instruction<'_>, kind: AttributeKind) -> bool {
    instruction.is_call() && instruction.call_has(kind)
}

fn escapes_frame(instruction: Instruction<'_>) -> bool {
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
/// labels with `${:uid}` need not be unique. A colon usually ends a label. But it may also follow a
/// segment register, or be in an operand's modifier, a string, or a comment. Colons in strings and
/// comments are mistaken for the ends of labels.
fn defines_name(assembly: &str) -> bool {
    const DEFINITIONS: [&str; 8] = [
        ".macro", ".equiv", ".globl", ".global", ".type", ".comm", ".lcomm", ".symver",
    ];
    let assembly = without_operands(assembly);
    assembly.split(['\n', ';']).any(|statement| {
        let mut remaining = statement;
        while let Some((before, after)) = remaining.split_once(':') {
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
            remaining = after;
        }
        let mut words = remaining.split_whitespace();
        words.any(|word| DEFINITIONS.contains(&word))
    })
}

/// Replaces `${:uid}`, which is a different number in each copy of the assembly.
const UNIQUE: char = '\u{1}';

/// The assembly with each operand `${…}` replaced by `_`, because its value is the same in each
/// copy.
fn without_operands(assembly: &str) -> String {
    let mut plain = String::with_capacity(assembly.len());
    let mut remaining = assembly;
    while let Some((before, after)) = remaining.split_once("${") {
        plain.push_str(before);
        let (operand, after) = after.split_once('}').unwrap_or((after, ""));
        plain.push(if operand == ":uid" { UNIQUE } else { '_' });
        remaining = after;
    }
    plain + remaining
}

#[cfg(test)]
mod tests {
    use super::defines_name;

    #[test]
    fn definitions_of_unique_names_are_found() {
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
