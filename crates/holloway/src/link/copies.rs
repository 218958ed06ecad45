//! Functions that a link has twice: woven, and without probes in an object that is linked as it is.
//!
//! An inline function or template is compiled into each object that uses it, as a weak symbol, and the linker keeps
//! one of the copies: the first on the line, or a strong one. When that is a copy without probes the woven one counts
//! nothing, and a report would say it did not run. So such functions are listed. A copy behind a woven object of the
//! line is left out: that object's own copy is kept. Woven members of archives are linked when something needs them,
//! in an order only the linker knows: theirs are listed wherever the other copy stands.

use std::collections::HashMap;

use holloway_format::ModuleMap;
use object::{Object as _, ObjectSymbol as _, SymbolKind};

/// A function that an object defines for others.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Definition {
    name: Box<[u8]>,
    weak: bool,
}

/// Where in a link an object stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stand {
    /// At this word of the line.
    Line(usize),
    /// In an archive at this word.
    Archive(usize),
}

/// The functions of an object without probes.
#[derive(Debug)]
pub(crate) struct Unwoven {
    shown: String,
    stand: Stand,
    functions: Vec<Definition>,
}

impl Unwoven {
    /// The functions of the object `bytes`, which messages call `shown`.
    pub(crate) fn new(shown: String, stand: Stand, bytes: &[u8]) -> Self {
        Self {
            shown,
            stand,
            functions: definitions(bytes),
        }
    }
}

/// The copies without probes in a link, by symbol.
#[derive(Debug, Default)]
pub(crate) struct Copies<'a>(HashMap<&'a [u8], Vec<(&'a Unwoven, bool)>>);

impl<'a> Copies<'a> {
    /// All of `objects`.
    pub(crate) fn new(objects: impl IntoIterator<Item = &'a Unwoven>) -> Self {
        let mut copies: HashMap<_, Vec<_>> = HashMap::new();
        for object in objects {
            for function in &object.functions {
                let known = copies.entry(&*function.name).or_default();
                known.push((object, function.weak));
            }
        }
        Self(copies)
    }

    /// The functions with probes in a woven object that the linker may drop for a copy without: source name, symbol,
    /// and the object that has the copy.
    pub(crate) fn of(
        &self,
        object: &[u8],
        fragment: &[u8],
        stand: Stand,
    ) -> Vec<(String, String, &'a str)> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let mut rivals: HashMap<Box<[u8]>, &str> = HashMap::new();
        for function in definitions(object).into_iter().filter(|own| own.weak) {
            let copies = self.0.get(&*function.name).into_iter().flatten();
            let rival = copies
                .filter(|(copy, weak)| !weak || comes_first(copy.stand, stand))
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
            let (name, symbol) = (function.name.to_string(), function.linkage_name.to_string());
            Some((name, symbol, *rival))
        });
        listed.collect()
    }
}

/// Whether a weak copy of an object standing at `copy` may be taken for that of one standing at `woven`.
fn comes_first(copy: Stand, woven: Stand) -> bool {
    match (copy, woven) {
        (Stand::Line(copy) | Stand::Archive(copy), Stand::Line(woven)) => copy < woven,
        (_, Stand::Archive(_)) => true,
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
