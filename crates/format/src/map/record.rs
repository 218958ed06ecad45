//! Decodes a function's record. [`crate::map`] has the layout.
//!
//! The parser checks that every index is in range.

use crate::cursor::Cursor;
use crate::error::FormatError;
use crate::map::cases::read_cases;
use crate::map::contents::read_contents;
use crate::map::counters::FunctionCounters;
use crate::map::facts::read_facts;
use crate::map::function::{Counters, FunctionMap};
use crate::map::graph::{BlockMap, DagEdgeMap, DagKind, EdgeKind, EdgeMap, Outcome, implied_ends};
use crate::map::layout::{CHORD, IN_SOURCE_ORDER, WITH_VALUES};
use crate::map::loads::read_loads;
use crate::map::loops::read_loops;
use crate::map::place::{Places, Scope, read_place};
use crate::map::strings::Strings;
use crate::text::Text;

/// Reads a function of a module with `counters_size` bytes of counters and `ring_counter_limit`
/// ring counters.
pub(super) fn read_function(
    mut cursor: Cursor<'_>,
    strings: &Strings,
    counters_size: u64,
    ring_counter_limit: u32,
) -> Result<FunctionMap, FormatError> {
    let cursor = &mut cursor;
    let name = read_text(cursor, strings)?;
    let linkage_name = read_text(cursor, strings)?;
    let file = read_text(cursor, strings)?;
    let line = cursor.var32()?;
    let hash = cursor.u64()?;
    let (start, code) = (cursor.offset(), cursor.u8()?);
    let in_source_order = code & IN_SOURCE_ORDER != 0;
    let kind = (code & !IN_SOURCE_ORDER, start);
    let (counters, path_count, ring_counters) =
        read_counters(cursor, kind, counters_size, ring_counter_limit)?;
    let scopes = read_scopes(cursor, strings)?;
    let block_count = cursor.count(2, "number of blocks")?;
    let entry = cursor.index(block_count, "entry block")?;
    let exit = cursor.index(block_count, "exit block")?;
    let mut places = Places::new(scopes.len());
    let mut blocks = Vec::with_capacity(block_count);
    for _ in 0..block_count {
        blocks.push(read_block(cursor, &mut places)?);
    }
    let edges = read_edges(cursor, block_count, &mut places)?;
    let (mut dag, mut chords) = (Vec::new(), Vec::new());
    let (mut counted, mut tree) = (Vec::new(), Vec::new());
    if let Counters::Edges { len, .. } = counters {
        let offset = cursor.offset();
        counted = read_list(cursor, edges.len(), "number of counted edges")?;
        tree = read_list(cursor, edges.len(), "number of tree edges")?;
        if counted.len() as u64 != len {
            return Err(FormatError::Counters { offset });
        }
    } else {
        (dag, chords) = read_dag(cursor, block_count, &edges, (entry, exit))?;
    }
    let loads = read_loads(cursor, block_count, &mut places)?;
    let (selects, loops) = read_loops(cursor, block_count, &mut places)?;
    let cases = read_cases(cursor, edges.len(), strings)?;
    let leaks = match cursor.end() {
        Ok(()) => Vec::new(),
        Err(_) => read_list(cursor, block_count, "number of leaks")?,
    };
    let facts = read_facts(cursor, block_count, &mut places)?;
    let contents = read_contents(cursor, strings)?;
    cursor.end()?;
    Ok(FunctionMap {
        name,
        linkage_name,
        file,
        line,
        hash,
        in_source_order,
        counters,
        ring_counters,
        path_count,
        entry,
        exit,
        blocks,
        edges,
        dag,
        chords,
        counted,
        tree,
        scopes,
        loads,
        selects,
        loops,
        cases,
        leaks,
        facts,
        contents,
    })
}

/// Reads the counters of the function at `cursor`, and nothing after them.
pub(super) fn read_counters_only(
    mut cursor: Cursor<'_>,
    counters_size: u64,
    ring_counter_limit: u32,
) -> Result<FunctionCounters, FormatError> {
    for _ in ["name", "linkage name", "file", "line"] {
        cursor.var32()?;
    }
    let hash = cursor.u64()?;
    let (start, code) = (cursor.offset(), cursor.u8()?);
    let kind = (code & !IN_SOURCE_ORDER, start);
    let (counters, path_count, _) =
        read_counters(&mut cursor, kind, counters_size, ring_counter_limit)?;
    Ok(FunctionCounters {
        counters,
        hash,
        path_count,
    })
}

#[inline]
fn read_text(cursor: &mut Cursor<'_>, strings: &Strings) -> Result<Text, FormatError> {
    let offset = cursor.offset();
    strings.get(cursor.var32()?, offset)
}

/// Reads the position of the counters, the number of paths, and the offset of the ring counters.
/// `code` is the kind of the counters, which was read at the offset `start`.
fn read_counters(
    cursor: &mut Cursor<'_>,
    (code, start): (u8, u64),
    counters_size: u64,
    ring_counter_limit: u32,
) -> Result<(Counters, u64, Option<u64>), FormatError> {
    let offset = cursor.var()?;
    let (counters, path_count) = match code {
        0 | 3 => {
            let len = cursor.var()?;
            (Counters::Array { offset, len }, read_path_count(cursor)?)
        }
        1 => (Counters::Hash { offset }, read_path_count(cursor)?),
        2 | WITH_VALUES => {
            let len = cursor.var()?;
            let has_values = code == WITH_VALUES;
            let counters = Counters::Edges {
                offset,
                len,
                has_values,
            };
            (counters, 0)
        }
        code => {
            return Err(FormatError::Code {
                what: "kind of counters",
                code: code.into(),
                offset: start,
            });
        }
    };
    let is_inside = offset
        .checked_add(counters.size())
        .is_some_and(|end| end <= counters_size);
    let has_enough_counters = match counters {
        Counters::Array { len, .. } => path_count <= len,
        Counters::Hash { .. } | Counters::Edges { .. } => true,
    };
    let ring_counters = if code == 3 { Some(cursor.var()?) } else { None };
    let ring_counters_fit = ring_counters
        .is_none_or(|offset| offset.is_multiple_of(8) && offset / 8 <= ring_counter_limit.into());
    if !is_inside || !has_enough_counters || !ring_counters_fit || !offset.is_multiple_of(8) {
        return Err(FormatError::Counters { offset: start });
    }
    Ok((counters, path_count, ring_counters))
}

fn read_path_count(cursor: &mut Cursor<'_>) -> Result<u64, FormatError> {
    let offset = cursor.offset();
    match cursor.var()? {
        0 => Err(FormatError::Code {
            what: "path count",
            code: 0,
            offset,
        }),
        count => Ok(count),
    }
}

fn read_scopes(cursor: &mut Cursor<'_>, strings: &Strings) -> Result<Vec<Scope>, FormatError> {
    let count = cursor.count(7, "number of scopes")?;
    let mut scopes = Vec::with_capacity(count);
    for index in 0..count {
        scopes.push(Scope {
            name: read_text(cursor, strings)?,
            linkage_name: read_text(cursor, strings)?,
            file: read_text(cursor, strings)?,
            line: cursor.var32()?,
            parent: cursor.index(index + 1, "parent scope + 1")?.checked_sub(1),
            call_line: cursor.var32()?,
            call_column: cursor.var32()?,
        });
    }
    Ok(scopes)
}

fn read_block(cursor: &mut Cursor<'_>, places: &mut Places) -> Result<BlockMap, FormatError> {
    let instructions = cursor.var32()?;
    let count = cursor.count(3, "number of places")?;
    let mut list = Vec::with_capacity(count);
    for _ in 0..count {
        list.push(read_place(cursor, places)?);
    }
    Ok(BlockMap {
        instructions,
        places: list,
    })
}

fn read_edges(
    cursor: &mut Cursor<'_>,
    blocks: usize,
    places: &mut Places,
) -> Result<Vec<EdgeMap>, FormatError> {
    let count = cursor.count(3, "number of edges")?;
    let mut edges = Vec::with_capacity(count);
    let mut last_from = 0;
    for _ in 0..count {
        let from = cursor.near(last_from, blocks as u64, "source of an edge")?;
        let to = cursor.near(from, blocks as u64, "target of an edge")?;
        last_from = from;
        let offset = cursor.offset();
        let code = cursor.u8()?;
        let unknown_code = FormatError::Code {
            what: "kind of edge",
            code: code.into(),
            offset,
        };
        let (kind, outcome) = (
            EdgeKind::from_code(code & 3),
            Outcome::from_code(code >> 2 & 31),
        );
        let (Some(kind), Some(mut outcome)) = (kind, outcome) else {
            return Err(unknown_code);
        };
        if let Outcome::Case(value) = &mut outcome {
            *value = cursor.signed()?;
        }
        let place = if code & 0x80 != 0 {
            Some(read_place(cursor, places)?)
        } else {
            None
        };
        edges.push(EdgeMap {
            from,
            to,
            kind,
            outcome,
            place,
        });
    }
    Ok(edges)
}

/// Reads a list of numbers below `limit`. `noun` names the length of the list in errors.
fn read_list(
    cursor: &mut Cursor<'_>,
    limit: usize,
    noun: &'static str,
) -> Result<Vec<u32>, FormatError> {
    let count = cursor.count(1, noun)?;
    let mut list = Vec::with_capacity(count);
    let mut next = 0u32;
    for _ in 0..count {
        let number = cursor.near(next, limit as u64, "number in a list")?;
        next = number.wrapping_add(1);
        list.push(number);
    }
    Ok(list)
}

fn read_dag(
    cursor: &mut Cursor<'_>,
    blocks: usize,
    edges: &[EdgeMap],
    (entry, exit): (u32, u32),
) -> Result<(Vec<DagEdgeMap>, Vec<u32>), FormatError> {
    let count = cursor.count(3, "number of dag edges")?;
    let mut dag = Vec::with_capacity(count);
    let mut chords = Vec::new();
    let mut next = 0u32;
    for _ in 0..count {
        let offset = cursor.offset();
        let code = cursor.u8()?;
        if code >= 2 * CHORD {
            return Err(FormatError::Code {
                what: "kind of dag edge",
                code: code.into(),
                offset,
            });
        }
        let mut read_edge = |cursor: &mut Cursor<'_>| -> Result<u32, FormatError> {
            let edge = cursor.near(next, edges.len() as u64, "edge")?;
            next = edge.wrapping_add(1);
            Ok(edge)
        };
        let kind = match code & 3 {
            0 => DagKind::Edge(read_edge(cursor)?),
            1 => DagKind::Start(cursor.index(blocks, "start block")?),
            2 => DagKind::Back(read_edge(cursor)?),
            _ => DagKind::Cut(read_edge(cursor)?),
        };
        let (from, to) = if code & 4 == 0 {
            implied_ends(kind, edges, entry, exit).expect("the edge is in range")
        } else {
            (
                cursor.index(blocks, "source of a dag edge")?,
                cursor.index(blocks, "target of a dag edge")?,
            )
        };
        if code & CHORD != 0 {
            chords.push(dag.len() as u32);
        }
        dag.push(DagEdgeMap {
            from,
            to,
            kind,
            value: cursor.var()?,
        });
    }
    Ok((dag, chords))
}
