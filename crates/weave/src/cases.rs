//! Names the cases of a switch: enumerators, variants, characters, or numbers, according to the
//! debug information of the switch's operand.
//!
//! A compiled switch compares its operand with numbers. A number has the meaning that the source
//! gave it only if the operand is a source value: the value of a variable, or a value loaded from
//! the variable's address or through its pointer, in all cases without calculation. Then the
//! variable's type gives the numbers' meaning. If the optimizer shifts or narrows the cases, it
//! also changes the operand, which then is no variable's value. Such a switch has no names.
//!
//! These switches have no names either:
//! - switches on a value that two variables of different types have;
//! - switches on a variant that an unused value of another variant encodes (a niche), because the
//!   operand may instead be the value inside that other variant;
//! - switches on a member of a union, or on a bit field.
//!
//! An enumerator's name is used only if no other enumerator has the same value.

use std::collections::HashMap;

use holloway_flow::BlockId;
use holloway_format::CaseNames;
use holloway_llvm::{
    Block, DebugType, Encoding, Form, Instruction, Opcode, TypeKind, Value, Variable,
};

use crate::lower::LoweredFunction;

/// The maximum number of steps from a value back to a variable.
const STEPS: u32 = 8;

/// The named cases of a function, in order of their edges. This must be called before probes are
/// inserted.
pub(crate) fn names(lowered: &LoweredFunction<'_>) -> Vec<CaseNames> {
    let parts = &lowered.parts;
    let mut variables = None;
    let mut named_cases = Vec::new();
    for (node, part) in lowered.nodes.iter().enumerate() {
        let block = &parts.blocks[part.block];
        let terminator = block.terminator();
        let is_last_part = part.to == block.instructions.len();
        if !is_last_part || terminator.opcode() != Opcode::Switch {
            continue;
        }
        let variables = variables.get_or_insert_with(|| Variables::new(parts.function.variables()));
        let Some(names) = variables.names(terminator) else {
            continue;
        };
        // The cases that lead to each block. Successor 0 is the default.
        let mut cases_to: HashMap<Block<'_>, Vec<u32>> = HashMap::new();
        for (successor, block) in (0u32..).zip(terminator.successors()) {
            cases_to.entry(block).or_default().push(successor);
        }
        let id = BlockId(u32::try_from(node).expect("the nodes were counted"));
        for &edge in lowered.cfg.successors(id) {
            let to = lowered.nodes.get(lowered.cfg.edge(edge).to.index());
            let to = to.filter(|to| to.cuts_before == 0);
            let cases = to.and_then(|to| cases_to.get(&parts.blocks[to.block].block));
            let Some(cases) = cases else {
                continue;
            };
            let edge_names: Option<Vec<String>> = cases
                .iter()
                .map(|&successor| names.name(terminator.case_value(successor)?))
                .collect();
            if let Some(edge_names) = edge_names {
                named_cases.push(CaseNames {
                    edge: edge.0,
                    names: edge_names.into_iter().map(Into::into).collect(),
                });
            }
        }
    }
    named_cases.sort_by_key(|case| case.edge);
    named_cases
}

/// The debug information of a function's variables.
struct Variables<'m> {
    /// Variables by their value.
    values: HashMap<Value<'m>, Vec<Variable<'m>>>,
    /// Variables by their address.
    addresses: HashMap<Value<'m>, Vec<Variable<'m>>>,
}

impl<'m> Variables<'m> {
    fn new(all: Vec<Variable<'m>>) -> Self {
        let (mut values, mut addresses) = (HashMap::new(), HashMap::new());
        for variable in all {
            let map = match variable.is_address {
                true => &mut addresses,
                false => &mut values,
            };
            let list: &mut Vec<Variable<'m>> = map.entry(variable.value).or_default();
            list.push(variable);
        }
        Self { values, addresses }
    }

    /// The names of the values that a switch compares its operand with. `None` if the operand is no
    /// source value.
    fn names(&self, switch: Instruction<'m>) -> Option<Names> {
        let mut value = switch.value().operand(0);
        let switch_bits = bits(value)?;
        // A case of a widened number is a case of the number before widening.
        while let Some(inner) = before_widening(value) {
            value = inner;
        }
        let source_bits = bits(value)?;
        let kind = self.kind(value, STEPS)?;
        Names::new(kind, source_bits, switch_bits)
    }

    /// The type that the source gives a value. `None` if the value is no source value.
    fn kind(&self, value: Value<'m>, steps: u32) -> Option<DebugType<'m>> {
        let steps = steps.checked_sub(1)?;
        let bits = bits(value)?;
        if let Some(variables) = self.values.get(&value) {
            let kinds = variables.iter().map(|variable| {
                let first = variable.part.map_or(0, |(first, _)| first);
                type_of_bits(variable.kind, first, bits)
            });
            return common_type(kinds);
        }
        if let Some(kind) = self.stored(value, bits) {
            return Some(kind);
        }
        let load = value.as_instruction()?;
        match load.opcode() {
            Opcode::Freeze => self.kind(load.value().operand(0), steps),
            Opcode::Load => self.loaded(load, bits, steps),
            _ => None,
        }
    }

    /// The type of the variable to which the value is stored. Unoptimized code stores parameters to
    /// variables, and rustc stores values that it has in registers.
    fn stored(&self, value: Value<'m>, bits: u64) -> Option<DebugType<'m>> {
        let stores = value.users().into_iter().filter_map(Value::as_instruction);
        let stores = stores
            .filter(|user| user.opcode() == Opcode::Store && user.value().operand(0) == value);
        let mut kinds = stores
            .filter_map(|store| self.slot(store.value().operand(1)))
            .map(|variable| type_of_bits(variable.kind, 0, bits))
            .peekable();
        kinds.peek()?;
        common_type(kinds)
    }

    /// The variable at an address in the frame. `None` if several variables share the address.
    fn slot(&self, address: Value<'m>) -> Option<&Variable<'m>> {
        let variables = self.addresses.get(&address)?;
        let first = variables.first()?;
        let is_same_variable = variables
            .iter()
            .all(|other| other.identity == first.identity);
        (is_same_variable && first.part.is_none()).then_some(first)
    }

    /// The type of a value that is loaded from a variable's address or through its pointer.
    fn loaded(&self, load: Instruction<'m>, bits: u64, steps: u32) -> Option<DebugType<'m>> {
        let (mut base, mut offset) = (load.value().operand(0), 0i64);
        let mut strides = Vec::new();
        while let Some(address) = base.as_instruction().and_then(Instruction::address) {
            offset = offset.checked_add(address.constant)?;
            strides.extend(address.terms.into_iter().map(|(_, bytes)| bytes));
            base = address.base;
        }
        let offset = u64::try_from(offset).ok()?.checked_mul(8)?;
        if self.addresses.contains_key(&base) {
            let variable = self.slot(base).filter(|_| strides.is_empty())?;
            return type_of_bits(variable.kind, offset, bits);
        }
        let pointer = plain(self.kind(base, steps)?);
        let target = match pointer.form() {
            Form::Pointer => plain(pointer.base()?),
            _ => return None,
        };
        let size = target.bits();
        let is_inside = size > 0 && offset.checked_add(bits)? <= size;
        let are_items = strides.iter().all(|stride| {
            let stride = stride.unsigned_abs().checked_mul(8);
            stride.is_some_and(|stride| stride % size.max(1) == 0)
        });
        match is_inside && are_items {
            true => type_of_bits(target, offset, bits),
            false => None,
        }
    }
}

/// The type that all of `kinds` are. `None` if they differ or if one is unknown.
fn common_type<'m>(
    mut kinds: impl Iterator<Item = Option<DebugType<'m>>>,
) -> Option<DebugType<'m>> {
    let first = kinds.next()??;
    kinds.all(|kind| kind == Some(first)).then_some(first)
}

/// A type without typedefs and qualifiers.
fn plain(kind: DebugType<'_>) -> DebugType<'_> {
    let mut kind = kind;
    while kind.form() == Form::Alias
        && let Some(base) = kind.base()
    {
        kind = base;
    }
    kind
}

/// The type of the `bits` bits from bit `first` of a type. For a complete number, enumeration, or
/// pointer this is its type. For the tag of an enum with variants it is the list of variants.
/// `None` if the bits are anything else.
fn type_of_bits(kind: DebugType<'_>, first: u64, bits: u64) -> Option<DebugType<'_>> {
    let kind = plain(kind);
    match kind.form() {
        Form::Basic(_) | Form::Enumeration | Form::Pointer => {
            (first == 0 && kind.bits() == bits).then_some(kind)
        }
        Form::Structure => {
            let elements = kind.elements().into_iter();
            let mut types = elements.filter_map(|element| match element.form() {
                Form::Variants => variants(element, first, bits),
                Form::Member => {
                    let bit = first.checked_sub(element.offset())?;
                    type_of_bits(element.base()?, bit, bits)
                }
                _ => None,
            });
            let only_type = types.next()?;
            types.next().is_none().then_some(only_type)
        }
        Form::Array => {
            let item = kind.base()?;
            let size = plain(item).bits();
            type_of_bits(item, first.checked_rem(size)?, bits)
        }
        Form::Variants | Form::Member | Form::Alias | Form::Other => None,
    }
}

/// The variants `kind`, if the `bits` bits from bit `first` are their tag and each variant has a
/// tag value.
fn variants(kind: DebugType<'_>, first: u64, bits: u64) -> Option<DebugType<'_>> {
    let tag = kind.discriminator()?;
    let is_tag = tag.offset() == first && plain(tag.base()?).bits() == bits;
    let elements = kind.elements();
    let all_have_values = elements
        .iter()
        .all(|element| element.discriminant().is_some());
    (is_tag && all_have_values).then_some(kind)
}

/// The number of bits of an integer or a pointer.
fn bits(value: Value<'_>) -> Option<u64> {
    match value.kind().kind() {
        TypeKind::Integer(bits) if bits <= 64 => Some(bits.into()),
        TypeKind::Pointer => Some(64),
        _ => None,
    }
}

/// The operand of an instruction that widens an integer.
fn before_widening(value: Value<'_>) -> Option<Value<'_>> {
    let resize = value.as_instruction()?;
    if resize.opcode() != Opcode::Resize {
        return None;
    }
    let inner = resize.value().operand(0);
    (bits(inner)? < bits(value)?).then_some(inner)
}

/// The names of a type's values.
struct Names {
    /// The name of each value. `None` if several names have the same value.
    by_value: HashMap<u64, Option<String>>,
    /// How values of a type without names are printed.
    encoding: Option<Encoding>,
    /// The number of bits of the source value.
    source_bits: u64,
    /// The number of bits of the switch's operand.
    switch_bits: u64,
}

impl Names {
    fn new(kind: DebugType<'_>, source_bits: u64, switch_bits: u64) -> Option<Self> {
        let mask = mask(source_bits);
        let named: Vec<(u64, String)> = match kind.form() {
            Form::Enumeration => {
                let all = kind.enumerators()?.into_iter();
                all.map(|(value, name)| (value as u64 & mask, name))
                    .collect()
            }
            Form::Variants => {
                let all = kind.elements().into_iter();
                let named =
                    |element: DebugType<'_>| Some((element.discriminant()? & mask, element.name()));
                all.map(named).collect::<Option<_>>()?
            }
            Form::Basic(Encoding::Other) => return None,
            Form::Basic(_) => Vec::new(),
            Form::Structure
            | Form::Array
            | Form::Member
            | Form::Pointer
            | Form::Alias
            | Form::Other => return None,
        };
        let mut by_value: HashMap<u64, Option<String>> = HashMap::new();
        for (value, name) in named.into_iter().filter(|(_, name)| !name.is_empty()) {
            // If two names have the same value, it is unknown which one the source uses.
            let name = (!by_value.contains_key(&value)).then_some(name);
            by_value.insert(value, name);
        }
        let encoding = match kind.form() {
            Form::Basic(encoding) => Some(encoding),
            _ => None,
        };
        Some(Self {
            by_value,
            encoding,
            source_bits,
            switch_bits,
        })
    }

    /// The name of a case's value. `None` if the source value cannot have this value, or if the
    /// value's name is unknown.
    fn name(&self, value: i64) -> Option<String> {
        let wide = value as u64 & mask(self.switch_bits);
        let narrow = wide & mask(self.source_bits);
        let unused_bits = 64 - self.source_bits;
        let signed = ((narrow << unused_bits) as i64) >> unused_bits;
        let is_zero_extended = wide == narrow;
        let is_sign_extended = signed as u64 & mask(self.switch_bits) == wide;
        if !is_zero_extended && !is_sign_extended {
            return None;
        }
        let Some(encoding) = self.encoding else {
            return self.by_value.get(&narrow)?.clone();
        };
        let character = u32::try_from(narrow).ok().and_then(char::from_u32);
        let quoted = |character: char| format!("'{}'", character.escape_debug());
        Some(match encoding {
            Encoding::Signed => signed.to_string(),
            Encoding::Unsigned => narrow.to_string(),
            Encoding::SignedCharacter => match character.filter(char::is_ascii) {
                Some(character) => quoted(character),
                None => signed.to_string(),
            },
            Encoding::UnsignedCharacter => match character.filter(char::is_ascii) {
                Some(character) => quoted(character),
                None => narrow.to_string(),
            },
            Encoding::Unicode => quoted(character?),
            Encoding::Other => return None,
        })
    }
}

fn mask(bits: u64) -> u64 {
    u64::MAX >> (64 - bits.clamp(1, 64))
}
