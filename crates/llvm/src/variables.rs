//! The variables of the source: their values, their locations, and their types.
//!
//! LLVM 22 exposes the debug records of a function. The C API of older versions does not, so no
//! variables are known there. The C API also cannot read an enumerator's value, a basic type's
//! encoding, or an expression's operations. This file reads them from the printed node; printing a
//! node does not visit the module.

use std::collections::HashMap;

use crate::context::take_message;
use crate::metadata::Metadata;
use crate::value::{Function, Instruction, Value};

/// The value of a variable, or its address.
#[derive(Clone, Copy)]
pub struct Variable<'m> {
    /// The value or the address.
    pub value: Value<'m>,
    /// Whether `value` is the address.
    pub is_address: bool,
    /// The debug node that identifies the variable.
    pub identity: Metadata<'m>,
    /// The type of the variable.
    pub kind: DebugType<'m>,
    /// The part of the variable that has this value, in bits: first bit and number of bits. `None`
    /// for the whole variable.
    pub part: Option<(u64, u64)>,
}

/// A type of the source. Handles are equal if they refer to the same node.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DebugType<'m>(Metadata<'m>);

/// The form of a type, or of a part of a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// A number, a character, or a truth value.
    Basic(Encoding),
    /// Numbers with names.
    Enumeration,
    /// A struct or class.
    Structure,
    /// An array: items of one type.
    Array,
    /// The variant part of a struct (Rust enums).
    Variants,
    /// A member at an offset, or a base class. Not a static member and not a bit field.
    Member,
    /// A pointer or reference.
    Pointer,
    /// Another name for a type, or a qualified type.
    Alias,
    /// Anything else.
    Other,
}

/// The meaning of the bits of a basic type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// A signed number.
    Signed,
    /// An unsigned number.
    Unsigned,
    /// A signed character of one byte.
    SignedCharacter,
    /// An unsigned character of one byte.
    UnsignedCharacter,
    /// A Unicode character.
    Unicode,
    /// Anything else.
    Other,
}

/// Operand indices, since LLVM 21.
const NAME: usize = 2;
const VARIABLE_TYPE: usize = 3;
const BASE: usize = 5;
const ELEMENTS: usize = 6;
const EXTRA: usize = 6;
const DISCRIMINATOR: usize = 10;

impl<'m> DebugType<'m> {
    fn new(node: Metadata<'m>) -> Option<Self> {
        /// Basic, derived, and composite types.
        const TYPES: std::ops::RangeInclusive<u32> = 11..=13;
        TYPES.contains(&node.kind()).then_some(Self(node))
    }

    /// The form of the type.
    pub fn form(self) -> Form {
        const STATIC_OR_BITS: i32 = 1 << 12 | 1 << 19;
        let api = self.0.module().api();
        // SAFETY: a type, which is a node with a tag.
        let (tag, flags) = unsafe {
            (
                (api.LLVMGetDINodeTag)(self.0.raw()),
                (api.LLVMDITypeGetFlags)(self.0.raw()),
            )
        };
        match tag {
            0x24 => Form::Basic(self.encoding()),
            0x04 => Form::Enumeration,
            0x02 | 0x13 => Form::Structure,
            0x01 => Form::Array,
            0x33 => Form::Variants,
            0x0d | 0x1c if flags & STATIC_OR_BITS == 0 => Form::Member,
            0x0f | 0x10 | 0x42 => Form::Pointer,
            // Typedef, const, volatile, restrict, atomic.
            0x16 | 0x26 | 0x35 | 0x37 | 0x47 => Form::Alias,
            _ => Form::Other,
        }
    }

    /// The size of the type in bits; 0 if unknown.
    pub fn bits(self) -> u64 {
        // SAFETY: a type.
        unsafe { (self.0.module().api().LLVMDITypeGetSizeInBits)(self.0.raw()) }
    }

    /// The offset of a member, in bits.
    pub fn offset(self) -> u64 {
        // SAFETY: a type.
        unsafe { (self.0.module().api().LLVMDITypeGetOffsetInBits)(self.0.raw()) }
    }

    /// The name of the type; empty if it has no name.
    pub fn name(self) -> String {
        let name = self.0.operand(NAME);
        name.and_then(Metadata::as_string).unwrap_or_default()
    }

    /// The type that this type points to, renames, has as items, or is a member of.
    pub fn base(self) -> Option<DebugType<'m>> {
        self.0.operand(BASE).and_then(DebugType::new)
    }

    /// The members and other elements of a structure or variant part.
    pub fn elements(self) -> Vec<DebugType<'m>> {
        let elements = self.0.operand(ELEMENTS).map(Metadata::operands);
        let elements = elements.unwrap_or_default().into_iter().flatten();
        elements.filter_map(DebugType::new).collect()
    }

    /// The member of a variant part that selects the active variant.
    pub fn discriminator(self) -> Option<DebugType<'m>> {
        self.0.operand(DISCRIMINATOR).and_then(DebugType::new)
    }

    /// The discriminator's value for this variant. `None` if this variant is the default for all
    /// other values.
    pub fn discriminant(self) -> Option<u64> {
        self.0.operand(EXTRA).and_then(Metadata::as_int)
    }

    /// The values of an enumeration with their names. `None` if a value cannot be read.
    pub fn enumerators(self) -> Option<Vec<(i128, String)>> {
        let elements = self.0.operand(ELEMENTS)?.operands().into_iter();
        elements
            .map(|element| {
                let element = element?;
                let name = element.operand(0)?.as_string()?;
                let text = element.printed();
                let (_, value) = text.rsplit_once("value: ")?;
                let value = value.split([',', ')']).next()?;
                Some((value.parse().ok()?, name))
            })
            .collect()
    }

    fn encoding(self) -> Encoding {
        let text = self.0.printed();
        let word = text.rsplit_once("encoding: DW_ATE_").map(|(_, word)| word);
        match word.and_then(|word| word.split([',', ')']).next()) {
            Some("signed") => Encoding::Signed,
            Some("unsigned") => Encoding::Unsigned,
            Some("signed_char") => Encoding::SignedCharacter,
            Some("unsigned_char") => Encoding::UnsignedCharacter,
            Some("UTF") => Encoding::Unicode,
            _ => Encoding::Other,
        }
    }
}

impl Metadata<'_> {
    /// The node as LLVM prints it. It refers to other nodes by their addresses.
    fn printed(self) -> String {
        let api = self.module().api();
        // SAFETY: a live value; the message is ours.
        unsafe { take_message(api, (api.LLVMPrintValueToString)(self.as_value().raw())) }
    }
}

impl<'m> Function<'m> {
    /// The variables that the function's debug records describe, in order. Variables that are
    /// computed from a value are left out.
    pub fn variables(self) -> Vec<Variable<'m>> {
        let mut parts = HashMap::new();
        let blocks = self.blocks();
        let instructions = blocks.flat_map(|block| block.instructions().collect::<Vec<_>>());
        instructions
            .flat_map(|instruction| instruction.variables(&mut parts))
            .collect()
    }
}

/// The part of a variable that each expression describes; `None` if the expression computes
/// something.
type Parts<'m> = HashMap<Metadata<'m>, Option<Option<(u64, u64)>>>;

impl<'m> Instruction<'m> {
    /// The variables in the debug records before this instruction.
    fn variables(self, parts: &mut Parts<'m>) -> Vec<Variable<'m>> {
        const DECLARE: i32 = 1;
        const VALUE: i32 = 2;
        let (api, module) = (self.module().api(), self.module());
        let (
            Some(first),
            Some(next),
            Some(kind_of),
            Some(value_of),
            Some(variable_of),
            Some(expression_of),
        ) = (
            api.LLVMGetFirstDbgRecord,
            api.LLVMGetNextDbgRecord,
            api.LLVMDbgRecordGetKind,
            api.LLVMDbgVariableRecordGetValue,
            api.LLVMDbgVariableRecordGetVariable,
            api.LLVMDbgVariableRecordGetExpression,
        )
        else {
            return Vec::new();
        };
        let mut variables = Vec::new();
        // SAFETY: an instruction; null if it has no records.
        let mut record = unsafe { first(self.raw()) };
        while !record.is_null() {
            // SAFETY: a live record; variable and expression are asked of records of variables
            // only, and the value where there is one, as the expression is not about a list.
            unsafe {
                let record_kind = kind_of(record);
                if matches!(record_kind, DECLARE | VALUE) {
                    let variable = Metadata::new(variable_of(record), module);
                    let expression = Metadata::new(expression_of(record), module);
                    let part = expression.and_then(|expression| {
                        *parts
                            .entry(expression)
                            .or_insert_with(|| part(&expression.printed()))
                    });
                    if let (Some(variable), Some(part)) = (variable, part)
                        && let Some(value) = Value::new(value_of(record, 0), module)
                        && let Some(type_node) = variable.operand(VARIABLE_TYPE)
                        && let Some(kind) = DebugType::new(type_node)
                    {
                        variables.push(Variable {
                            value,
                            is_address: record_kind == DECLARE,
                            identity: variable,
                            kind,
                            part,
                        });
                    }
                }
                record = next(record);
            }
        }
        variables
    }
}

/// Parses an expression. `!DIExpression()` describes the whole variable, and
/// `!DIExpression(DW_OP_LLVM_fragment, 64, 32)` a part. Other expressions compute something.
#[expect(clippy::option_option, reason = "no part, a part, or nothing to tell")]
fn part(text: &str) -> Option<Option<(u64, u64)>> {
    let (_, inside) = text.split_once("!DIExpression(")?;
    let inside = inside.strip_suffix(')')?;
    if inside.is_empty() {
        return Some(None);
    }
    let numbers = inside.strip_prefix("DW_OP_LLVM_fragment, ")?;
    let (first, number) = numbers.split_once(", ")?;
    Some(Some((first.parse().ok()?, number.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn expressions_are_about_all_a_part_or_something_calculated() {
        assert_eq!(part("!DIExpression()"), Some(None));
        assert_eq!(
            part("!DIExpression(DW_OP_LLVM_fragment, 64, 32)"),
            Some(Some((64, 32)))
        );
        assert_eq!(part("!DIExpression(DW_OP_plus_uconst, 8)"), None);
        assert_eq!(
            part("!DIExpression(DW_OP_deref, DW_OP_LLVM_fragment, 0, 8)"),
            None
        );
    }
}
