//! Formats single fields of JSON documents: units, bounds, and places.

use holloway_abi::Unit;
use holloway_analysis::bounds::Bound;
use holloway_analysis::{Exits, Function};
use holloway_format::Place;

use crate::places::inlined_at;

/// The word for a unit of counts in JSON.
pub(super) fn collected(unit: Unit) -> &'static str {
    match unit {
        Unit::Paths => "paths",
        Unit::Edges => "edges",
    }
}

/// The word in JSON for whether frames left in a call are counted.
pub(super) fn exits(exits: Exits) -> &'static str {
    match exits {
        Exits::On => "on",
        Exits::Off => "off",
        Exits::Mixed => "mixed",
    }
}

/// The places of each block as `file:line:column`.
pub(super) fn places(function: &Function) -> Vec<Vec<String>> {
    let blocks = function.map.blocks.iter();
    blocks
        .map(|block| places_of(function, &block.places))
        .collect()
}

/// The places that have a line, as `file:line:column`.
pub(super) fn places_of(function: &Function, places: &[Place]) -> Vec<String> {
    let with_line = places.iter().filter(|place| place.line != 0);
    with_line.map(|place| place_of(function, place)).collect()
}

/// The places like [`places_of`], but code of libraries at the line of the user's code that it was
/// inlined into. `None` if this is no difference.
pub(super) fn user_places_of(function: &Function, places: &[Place]) -> Option<Vec<String>> {
    let inlined = |place: &Place| inlined_at(&function.map, *place);
    if places.iter().all(|place| inlined(place).is_none()) {
        return None;
    }
    let with_line = places.iter().filter(|place| place.line != 0);
    let user = with_line.map(|place| inlined(place).unwrap_or(*place));
    let mut user: Vec<String> = user.map(|place| place_of(function, &place)).collect();
    user.dedup();
    Some(user)
}

fn place_of(function: &Function, place: &Place) -> String {
    let scope = function.map.scopes.get(place.scope as usize);
    let file = scope.map_or("", |scope| &scope.file);
    format!("{file}:{}:{}", place.line, place.column)
}

/// The word in JSON for how a count may differ from the executions, or `None` if the count is
/// exact.
pub(super) fn bound(bound: Bound) -> Option<&'static str> {
    match bound {
        Bound::Exact => None,
        Bound::AtLeast => Some("at_least"),
        Bound::AtMost => Some("at_most"),
        Bound::Either => Some("either"),
    }
}
