//! Names of a switch's cases: enumerators, variants, characters, numbers, if debug information
//! describes the value that is switched on.
//!
//! A case's value is that of the compiled switch. It is the source's value only if the value
//! switched on is known to be one of the source's: a variable's value, or a value loaded from a
//! variable's address or through its pointer, both without calculation. Then the variable's type
//! says what the number means. The optimizer shifts and narrows cases only together with the value,
//! which then is no variable's value any more. Such a switch has no names. A switch has no names
//! either
//! - on a value that two variables of different types have;
//! - on a variant that an unused value of another variant encodes (a niche): the value switched on
//!   may as well be the variant inside;
//! - on a member of a union, or on a bit field.
//!
//! An enumerator's name is used if no other enumerator has its value.

use std::collections::HashMap;

use holloway_flow::BlockId;
use holloway_format::CaseNames;
use holloway_llvm::{
    Block, DebugType, Encoding, Form, Instruction, Opcode, TypeKind, Value, Variable,
};

use crate::lower::LoweredFunction;

/// The most steps from a value back to a variable.
const STEPS: u32 = 8;

/// The named cases of a function, in order of their edges. To be called before probes are inserted.
pub(crate) fn names(lowered: &LoweredFunction<'_>) -> Vec<CaseNames> {
    let parts = &lowered.parts;
    let mut variables = None;
    let mut found = Vec::new();
    // The last part of each block, from which its switch leads on.
    for (node, place) in lowered.nodes.iter().enumerate() {
        let block = &parts.blocks[place.block];
        let terminator = block.terminator();
        if place.to < block.instructions.len() || terminator.opcode() != Opcode::Switch {
            continue;
        }
        let variables = variables.get_or_insert_with(|| Variables::new(parts.function.variables()));
        let Some(names) = variables.names(terminator) else {
            continue;
        };
        // The cases that lead to each block; the default is successor 0.
        let mut leading: HashMap<Block<'_>, Vec<u32>> = HashMap::new();
        for (successor, block) in (0u32..).zip(terminator.successors()) {
            leading.entry(block).or_default().push(successor);
        }
        let id = BlockId(u32::try_from(node).expect("the nodes were counted"));
        for &edge in lowered.cfg.successors(id) {
            let to = lowered.nodes.get(lowered.cfg.edge(edge).to.index());
            let to = to.filter(|to| to.place == 0);
            let Some(cases) = to.and_then(|to| leading.get(&parts.blocks[to.block].block)) else {
                continue;
            };
            let own: Option<Vec<String>> = cases
                .iter()
                .map(|&successor| names.name(terminator.case_value(successor)?))
                .collect();
            if let Some(own) = own {
                found.push(CaseNames {
                    edge: edge.0,
                    names: own.into_iter().map(Into::into).collect(),
                });
            }
        }
    }
    found.sort_by_key(|case| case.edge);
    found
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

    /// The meaning of a switch's cases.
    fn names(&self, switch: Instruction<'m>) -> Option<Names> {
        let mut value = switch.value().operand(0);
        let width = bits(value)?;
        // A case of a widened number is a case of the number.
        while let Some(inner) = widened(value) {
            value = inner;
        }
        let narrow = bits(value)?;
        let kind = self.kind(value, STEPS)?;
        Names::new(kind, narrow, width)
    }

    /// The source's type of a value, if it is a source value.
    fn kind(&self, value: Value<'m>, steps: u32) -> Option<DebugType<'m>> {
        let steps = steps.checked_sub(1)?;
        let bits = bits(value)?;
        if let Some(variables) = self.values.get(&value) {
            let kinds = variables.iter().map(|variable| {
                let first = variable.part.map_or(0, |(first, _)| first);
                part(variable.kind, first, bits)
            });
            return agreed(kinds);
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

    /// The type of the variable that the whole value is stored to. Unoptimized code keeps
    /// parameters so, and rustc the values that it has in registers.
    fn stored(&self, value: Value<'m>, bits: u64) -> Option<DebugType<'m>> {
        let stores = value.users().into_iter().filter_map(Value::as_instruction);
        let stores = stores
            .filter(|user| user.opcode() == Opcode::Store && user.value().operand(0) == value);
        let mut kinds = stores
            .filter_map(|store| self.slot(store.value().operand(1)))
            .map(|variable| part(variable.kind, 0, bits))
            .peekable();
        kinds.peek()?;
        agreed(kinds)
    }

    /// The only variable of a slot of the frame.
    fn slot(&self, address: Value<'m>) -> Option<&Variable<'m>> {
        let variables = self.addresses.get(&address)?;
        let first = variables.first()?;
        // A slot that several variables share has no known type.
        let is_one = variables
            .iter()
            .all(|other| other.identity == first.identity);
        (is_one && first.part.is_none()).then_some(first)
    }

    /// The type of a loaded value.
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
            return part(variable.kind, offset, bits);
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
            true => part(target, offset, bits),
            false => None,
        }
    }
}

/// The type that all of `kinds` have in common.
fn agreed<'m>(mut kinds: impl Iterator<Item = Option<DebugType<'m>>>) -> Option<DebugType<'m>> {
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

/// The type of `bits` bits of a type, from bit `first` on: of a whole number, enumeration or
/// pointer its type, of a tag its variants.
fn part(kind: DebugType<'_>, first: u64, bits: u64) -> Option<DebugType<'_>> {
    let kind = plain(kind);
    match kind.form() {
        Form::Basic(_) | Form::Enumeration | Form::Pointer => {
            (first == 0 && kind.bits() == bits).then_some(kind)
        }
        Form::Structure => {
            let elements = kind.elements().into_iter();
            let mut found = elements.filter_map(|element| match element.form() {
                Form::Variants => variants(element, first, bits),
                Form::Member => {
                    let at = first.checked_sub(element.offset())?;
                    part(element.base()?, at, bits)
                }
                _ => None,
            });
            let one = found.next()?;
            found.next().is_none().then_some(one)
        }
        Form::Array => {
            let item = kind.base()?;
            let size = plain(item).bits();
            part(item, first.checked_rem(size)?, bits)
        }
        Form::Variants | Form::Member | Form::Alias | Form::Other => None,
    }
}

/// The variants, if these bits are their tag and each has a tag value of its own.
fn variants(kind: DebugType<'_>, first: u64, bits: u64) -> Option<DebugType<'_>> {
    let tag = kind.discriminator()?;
    let is_tag = tag.offset() == first && plain(tag.base()?).bits() == bits;
    let elements = kind.elements();
    let are_told = elements.iter().all(|one| one.discriminant().is_some());
    (is_tag && are_told).then_some(kind)
}

/// The width of an integer or a pointer.
fn bits(value: Value<'_>) -> Option<u64> {
    match value.kind().kind() {
        TypeKind::Integer(bits) if bits <= 64 => Some(bits.into()),
        TypeKind::Pointer => Some(64),
        _ => None,
    }
}

/// The integer before it was widened.
fn widened(value: Value<'_>) -> Option<Value<'_>> {
    let resize = value.as_instruction()?;
    if resize.opcode() != Opcode::Resize {
        return None;
    }
    let inner = resize.value().operand(0);
    (bits(inner)? < bits(value)?).then_some(inner)
}

/// The names of a type's values.
struct Names {
    /// By the value's bits: its name, or `None` if several names share the value.
    known: HashMap<u64, Option<String>>,
    /// The encoding of values without a name.
    encoding: Option<Encoding>,
    narrow: u64,
    width: u64,
}

impl Names {
    fn new(kind: DebugType<'_>, narrow: u64, width: u64) -> Option<Self> {
        let mask = mask(narrow);
        let named: Vec<(u64, String)> = match kind.form() {
            Form::Enumeration => {
                let all = kind.enumerators()?.into_iter();
                all.map(|(value, name)| (value as u64 & mask, name))
                    .collect()
            }
            Form::Variants => {
                let all = kind.elements().into_iter();
                let named = |one: DebugType<'_>| Some((one.discriminant()? & mask, one.name()));
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
        let mut known: HashMap<u64, Option<String>> = HashMap::new();
        for (value, name) in named.into_iter().filter(|(_, name)| !name.is_empty()) {
            // Which of two names of one value the source uses isn't known.
            let name = (!known.contains_key(&value)).then_some(name);
            known.insert(value, name);
        }
        let encoding = match kind.form() {
            Form::Basic(encoding) => Some(encoding),
            _ => None,
        };
        Some(Self {
            known,
            encoding,
            narrow,
            width,
        })
    }

    /// The name of a case's value.
    fn name(&self, value: i64) -> Option<String> {
        let wide = value as u64 & mask(self.width);
        let narrow = wide & mask(self.narrow);
        let sign = 64 - self.narrow;
        let signed = ((narrow << sign) as i64) >> sign;
        let is_narrow = wide == narrow || signed as u64 & mask(self.width) == wide;
        if !is_narrow {
            return None;
        }
        let Some(encoding) = self.encoding else {
            return self.known.get(&narrow)?.clone();
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
