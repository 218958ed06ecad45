//! Reads the variables of the source from debug information: their values or addresses, and their
//! types.
//!
//! Since LLVM 22, the C API can read the debug records of a function. With older versions,
//! functions appear to have no variables. The C API also cannot read an enumerator's value, a basic
//! type's encoding, or an expression's operations. This module prints such a debug node as text and
//! parses the text. Printing a node is fast, because LLVM does not print the rest of the module.

use std::collections::HashMap;

use crate::context::take_message;
use crate::metadata::Metadata;
use crate::value::{Function, Instruction, Value};

/// A variable's value or address at one point of a function.
#[derive(Clone, Copy)]
pub struct Variable<'m> {
    /// The value or the address.
    pub value: Value<'m>,
    /// Whether `value` is the address of the variable.
    pub is_address: bool,
    /// The debug node that identifies the variable.
    pub identity: Metadata<'m>,
    /// The type of the variable.
    pub kind: DebugType<'m>,
    /// The part of the variable that `value` describes: the first bit and the number of bits.
    /// `None`: the whole variable.
    pub part: Option<(u64, u64)>,
}

/// A type of the source. Handles are equal if they refer to the same node.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DebugType<'m>(Metadata<'m>);

/// The form of a type, or of a part of a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// A number, a character, or a Boolean.
    Basic(Encoding),
    /// An enumeration of named numbers (C, C++, and Rust enums without data).
    Enumeration,
    /// A struct or class.
    Structure,
    /// An array.
    Array,
    /// The variant part of a struct (Rust enums).
    Variants,
    /// A member or a base class. Static members and bit fields are [`Form::Other`].
    Member,
    /// A pointer or reference.
    Pointer,
    /// Another name for a type, or a qualified type.
    Alias,
    /// Any other type or part.
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
    /// Any other encoding.
    Other,
}

/// The indices of operands of debug nodes since LLVM 21. Older versions do not get here, because
/// they have no debug records in the C API.
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

    /// Returns the form of the type.
    pub fn form(self) -> Form {
        /// `DIFlagStaticMember` and `DIFlagBitField`.
        const STATIC_OR_BITS: i32 = 1 << 12 | 1 << 19;
        let api = self.0.module().api();
        // SAFETY: a type, which is a node with a tag.
        let (tag, flags) = unsafe {
            (
                (api.LLVMGetDINodeTag)(self.0.raw()),
                (api.LLVMDITypeGetFlags)(self.0.raw()),
            )
        };
        // The tags are the DWARF constants `DW_TAG_…`.
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

    /// Returns the size of the type in bits, or 0 if it is unknown.
    pub fn bits(self) -> u64 {
        // SAFETY: a type.
        unsafe { (self.0.module().api().LLVMDITypeGetSizeInBits)(self.0.raw()) }
    }

    /// Returns the offset of a member in bits.
    pub fn offset(self) -> u64 {
        // SAFETY: a type.
        unsafe { (self.0.module().api().LLVMDITypeGetOffsetInBits)(self.0.raw()) }
    }

    /// Returns the name of the type. It is empty if the type has no name.
    pub fn name(self) -> String {
        let name = self.0.operand(NAME);
        name.and_then(Metadata::as_string).unwrap_or_default()
    }

    /// Returns the operand `baseType`: the type of a member or of an array's items, the target of a
    /// pointer, or the type that an alias names.
    pub fn base(self) -> Option<DebugType<'m>> {
        self.0.operand(BASE).and_then(DebugType::new)
    }

    /// Returns the members and other elements of a structure or variant part.
    pub fn elements(self) -> Vec<DebugType<'m>> {
        let elements = self.0.operand(ELEMENTS).map(Metadata::operands);
        let elements = elements.unwrap_or_default().into_iter().flatten();
        elements.filter_map(DebugType::new).collect()
    }

    /// Returns the member of a variant part that selects the active variant.
    pub fn discriminator(self) -> Option<DebugType<'m>> {
        self.0.operand(DISCRIMINATOR).and_then(DebugType::new)
    }

    /// Returns the discriminator's value for this variant. Returns `None` if this variant is active
    /// for all values that no other variant has.
    pub fn discriminant(self) -> Option<u64> {
        self.0.operand(EXTRA).and_then(Metadata::as_int)
    }

    /// Returns the values of an enumeration with their names. Returns `None` if a value cannot be
    /// read.
    pub fn enumerators(self) -> Option<Vec<(i128, String)>> {
        let elements = self.0.operand(ELEMENTS)?.operands().into_iter();
        elements
            .map(|element| {
                let element = element?;
                let name = element.operand(0)?.as_string()?;
                let text = element.printed();
                let (_, after_label) = text.rsplit_once("value: ")?;
                let value = after_label.split([',', ')']).next()?;
                Some((value.parse().ok()?, name))
            })
            .collect()
    }

    fn encoding(self) -> Encoding {
        let text = self.0.printed();
        let after_label = text.rsplit_once("encoding: DW_ATE_").map(|(_, text)| text);
        match after_label.and_then(|text| text.split([',', ')']).next()) {
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
    /// Prints the node as LLVM assembly. The text refers to other nodes by their addresses.
    fn printed(self) -> String {
        let api = self.module().api();
        // SAFETY: a live value; the message is a new string, which must be freed here.
        unsafe { take_message(api, (api.LLVMPrintValueToString)(self.as_value().raw())) }
    }
}

impl<'m> Function<'m> {
    /// Returns the variables in the function's debug records, in order. Leaves out variables whose
    /// value must be computed by an expression.
    pub fn variables(self) -> Vec<Variable<'m>> {
        let mut parsed_expressions = HashMap::new();
        let blocks = self.blocks();
        let instructions = blocks.flat_map(|block| block.instructions().collect::<Vec<_>>());
        instructions
            .flat_map(|instruction| instruction.variables(&mut parsed_expressions))
            .collect()
    }
}

/// The result of [`parse_part`] for each expression node that has been parsed.
type ParsedExpressions<'m> = HashMap<Metadata<'m>, Option<Option<(u64, u64)>>>;

impl<'m> Instruction<'m> {
    /// Returns the variables in the debug records before this instruction.
    fn variables(self, parsed_expressions: &mut ParsedExpressions<'m>) -> Vec<Variable<'m>> {
        // The kinds of debug records.
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
            // SAFETY: a live record; variable and expression are read only of records of variables.
            // The value with index 0 exists, because the expression does not combine several
            // values.
            unsafe {
                let record_kind = kind_of(record);
                if matches!(record_kind, DECLARE | VALUE) {
                    let variable = Metadata::new(variable_of(record), module);
                    let expression = Metadata::new(expression_of(record), module);
                    let part = expression.and_then(|expression| {
                        *parsed_expressions
                            .entry(expression)
                            .or_insert_with(|| parse_part(&expression.printed()))
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

/// Parses a printed expression. Returns:
///
/// - `Some(None)` if a value describes the whole variable: `!DIExpression()`.
/// - `Some(Some((first bit, number of bits)))` if a value describes a part:
///   `!DIExpression(DW_OP_LLVM_fragment, 64, 32)`.
/// - `None` if the variable must be computed from the value.
#[expect(
    clippy::option_option,
    reason = "the whole variable, a part, or a computed value"
)]
fn parse_part(text: &str) -> Option<Option<(u64, u64)>> {
    let (_, after_label) = text.split_once("!DIExpression(")?;
    let operations = after_label.strip_suffix(')')?;
    if operations.is_empty() {
        return Some(None);
    }
    let numbers = operations.strip_prefix("DW_OP_LLVM_fragment, ")?;
    let (first_bit, bit_count) = numbers.split_once(", ")?;
    Some(Some((first_bit.parse().ok()?, bit_count.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::parse_part;

    #[test]
    fn expressions_describe_a_whole_variable_or_a_part_or_a_computation() {
        assert_eq!(parse_part("!DIExpression()"), Some(None));
        assert_eq!(
            parse_part("!DIExpression(DW_OP_LLVM_fragment, 64, 32)"),
            Some(Some((64, 32)))
        );
        assert_eq!(parse_part("!DIExpression(DW_OP_plus_uconst, 8)"), None);
        assert_eq!(
            parse_part("!DIExpression(DW_OP_deref, DW_OP_LLVM_fragment, 0, 8)"),
            None
        );
    }
}
