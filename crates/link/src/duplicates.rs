//! Functions that a link has twice: woven, and without probes in an object that is linked as it is.
//!
//! An inline function or template is compiled into each object that uses it, as a weak symbol. The
//! linker keeps one of the copies: the first on the line, or a strong one. If it keeps a copy
//! without probes, the woven copy counts nothing, and a report would say that the function did not
//! run. So such functions are listed.
//!
//! - A copy behind a woven object of the line is not listed, because that object's own copy is
//!   kept.
//! - Woven members of archives are linked when something needs them, in an order that only the
//!   linker knows. Their functions are listed wherever the other copy stands.

use std::collections::HashMap;

use holloway_format::ModuleMap;
use object::{Object as _, ObjectSymbol as _, SymbolKind};

/// A function that an object defines for others.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Definition {
    name: Box<[u8]>,
    weak: bool,
}

/// An object's position in a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// At this word of the line.
    Line(usize),
    /// In an archive at this word.
    Archive(usize),
}

/// An object without probes, with its functions.
#[derive(Debug)]
pub(crate) struct UnwovenObject {
    shown: String,
    position: Position,
    functions: Vec<Definition>,
}

impl UnwovenObject {
    /// The functions of the object `bytes`, which messages call `shown`.
    pub(crate) fn new(shown: String, position: Position, bytes: &[u8]) -> Self {
        Self {
            shown,
            position,
            functions: definitions(bytes),
        }
    }
}

/// A woven function that the linker may drop for a copy without probes.
#[derive(Debug)]
pub(crate) struct DroppedFunction<'a> {
    /// Name in the source.
    pub(crate) name: String,
    /// Name of its symbol.
    pub(crate) symbol: String,
    /// The object that has the other copy.
    pub(crate) rival: &'a str,
}

/// The copies without probes in a link, by symbol. Each with its object and whether it is weak.
#[derive(Debug, Default)]
pub(crate) struct Duplicates<'a>(HashMap<&'a [u8], Vec<(&'a UnwovenObject, bool)>>);

impl<'a> Duplicates<'a> {
    /// All of `objects`.
    pub(crate) fn new(objects: impl IntoIterator<Item = &'a UnwovenObject>) -> Self {
        let mut copies: HashMap<_, Vec<_>> = HashMap::new();
        for object in objects {
            for function in &object.functions {
                let known = copies.entry(&*function.name).or_default();
                known.push((object, function.weak));
            }
        }
        Self(copies)
    }

    /// The functions of a woven object that the linker may drop for a copy without probes.
    pub(crate) fn in_object(
        &self,
        object: &[u8],
        fragment: &[u8],
        position: Position,
    ) -> Vec<DroppedFunction<'a>> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let mut rivals: HashMap<Box<[u8]>, &str> = HashMap::new();
        for function in definitions(object).into_iter().filter(|own| own.weak) {
            let copies = self.0.get(&*function.name).into_iter().flatten();
            let rival = copies
                .filter(|(copy, weak)| !weak || comes_first(copy.position, position))
                .map(|(copy, _)| copy.shown.as_str())
                .next();
            if let Some(rival) = rival {
                rivals.insert(function.name, rival);
            }
        }
        if rivals.is_empty() {
            return Vec::new();
        }
        let functions =
            ModuleMap::decode(fragment).map_or_else(|_| Vec::new(), |map| map.0.functions);
        let listed = functions.iter().filter_map(|function| {
            let rival = rivals.get(function.linkage_name.as_bytes())?;
            Some(DroppedFunction {
                name: function.name.to_string(),
                symbol: function.linkage_name.to_string(),
                rival,
            })
        });
        listed.collect()
    }
}

/// Whether the linker may take a weak function of the object at `copy` in place of the same
/// function of the object at `woven`.
fn comes_first(copy: Position, woven: Position) -> bool {
    match (copy, woven) {
        (Position::Line(copy) | Position::Archive(copy), Position::Line(woven)) => copy < woven,
        (_, Position::Archive(_)) => true,
    }
}

fn definitions(bytes: &[u8]) -> Vec<Definition> {
    let Ok(file) = object::File::parse(bytes) else {
        return Vec::new();
    };
    let functions = file.symbols().filter(|symbol| {
        symbol.is_definition() && symbol.is_global() && symbol.kind() == SymbolKind::Text
    });
    let named = functions.filter_map(|symbol| {
        Some(Definition {
            name: symbol.name_bytes().ok()?.into(),
            weak: symbol.is_weak(),
        })
    });
    named.collect()
}
