//! The code of a function, from its path map.

use holloway_format::map::hash_of_words;
use holloway_format::{BlockCode, FunctionCode, FunctionMap, Outcome};

use super::names::{low_half, name_hash};

/// The code of a function, with the parts of each block joined. `None` if the map is not that of a
/// build for training.
pub fn function_code(map: &FunctionMap) -> Option<FunctionCode> {
    if map.contents.len() != map.blocks.len() {
        return None;
    }
    let parts = map
        .edges
        .iter()
        .filter(|edge| edge.outcome == Outcome::Returned);
    let mut later_parts: Vec<u32> = parts.map(|edge| edge.to).collect();
    later_parts.sort_unstable();
    later_parts.dedup();
    let joined = |block: u32| block - later_parts.partition_point(|&part| part <= block) as u32;
    let is_later_part = |block: u32| later_parts.binary_search(&block).is_ok();
    let contents = (0..).zip(&map.contents);
    let blocks: Vec<BlockCode> = contents
        .filter(|(block, _)| !is_later_part(*block))
        .map(|(_, content)| BlockCode {
            hash: content.hash,
            callees: content.callees.iter().map(|name| name_hash(name)).collect(),
        })
        .collect();
    if is_later_part(map.entry) || joined(map.entry) != 0 || is_later_part(map.exit) {
        return None;
    }
    if joined(map.exit) as usize + 1 != blocks.len() {
        return None;
    }
    let edges = map.edges.iter().filter(|edge| edge.is_always_there());
    Some(FunctionCode {
        places: places(map),
        blocks,
        edges: edges
            .map(|edge| (joined(edge.from), joined(edge.to)))
            .collect(),
    })
}

/// A hash of the places of a function in the source.
fn places(map: &FunctionMap) -> u32 {
    let scopes = map.scopes.iter();
    let mut words: Vec<u64> = scopes
        .flat_map(|scope| [scope.line, scope.call_line, scope.call_column])
        .map(u64::from)
        .collect();
    for place in map.blocks.iter().flat_map(|block| &block.places) {
        words.extend([place.scope, place.line, place.column].map(u64::from));
    }
    low_half(hash_of_words(&words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use holloway_format::{BlockContent, BlockMap, EdgeKind, EdgeMap};

    /// Block 1 is the second part of block 0, after a call that may not come back.
    #[test]
    fn parts_are_joined() {
        let edge = |from, to, kind, outcome| EdgeMap {
            from,
            to,
            kind,
            outcome,
            place: None,
        };
        let mut map = FunctionMap {
            exit: 3,
            blocks: vec![BlockMap::default(); 4],
            edges: vec![
                edge(0, 3, EdgeKind::Exit, Outcome::Left),
                edge(0, 1, EdgeKind::Plain, Outcome::Returned),
                edge(1, 2, EdgeKind::Plain, Outcome::True),
                edge(1, 3, EdgeKind::Plain, Outcome::Return),
                edge(2, 3, EdgeKind::Plain, Outcome::Return),
            ],
            ..FunctionMap::default()
        };
        assert_eq!(function_code(&map), None);
        map.contents = vec![BlockContent::default(); 4];
        map.contents[0] = BlockContent {
            hash: 7,
            callees: vec!["f".into()],
            ..BlockContent::default()
        };
        map.contents[2].hash = 8;
        let code = function_code(&map).expect("code");
        assert_eq!(code.edges, [(0, 1), (0, 2), (1, 2)]);
        let hashes: Vec<u32> = code.blocks.iter().map(|block| block.hash).collect();
        assert_eq!(hashes, [7, 8, 0]);
        assert_eq!(code.blocks[0].callees, [name_hash("f")]);
    }
}
