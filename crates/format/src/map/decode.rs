//! Reads a fragment: the layout is in [`crate::map`].
//!
//! Total: any bytes give a module, with what is damaged listed, or an error when the head is. A function is taken only
//! if every index in it is in range and its counters lie in the module's own, over nobody else's; otherwise its place is
//! kept by an empty one. Allocations are bounded by the bytes that are there (a few dozen times at worst).
//!
//! Cost: linear, but for the sort that finds overlapping counters.

use crate::cursor::Cursor;
use crate::damage::{Damage, DamagedFile};
use crate::error::FormatError;
use crate::frames::{Frames, index_size};
use crate::map::encode::entry_crc;
use crate::map::strings::Strings;
use crate::map::{
    BlockMap, Counters, DagEdgeMap, DagKind, EdgeKind, EdgeMap, FRAGMENT_MAGIC, FunctionMap, Gone,
    MAP_VERSION, ModuleMap, Outcome, Place, Scope, Skipped, implied_ends,
};
use crate::repair;
use crate::text::Text;

/// Bytes of a fragment's head.
const HEAD: usize = 64;

impl ModuleMap {
    /// Reads a fragment and lists what is damaged in it.
    ///
    /// # Errors
    /// If the bytes are no fragment, of another version, or damaged in the head or the sizes of the tables.
    pub fn decode(bytes: &[u8]) -> Result<(Self, Vec<Damage>), FormatError> {
        Self::decode_at(bytes, 0)
    }

    /// The same for a fragment at offset `base` of its file.
    pub(crate) fn decode_at(bytes: &[u8], base: u64) -> Result<(Self, Vec<Damage>), FormatError> {
        let head = Head::read(bytes, base)?;
        let parts = head.split(bytes, base)?;
        let strings = Strings::read(parts.strings.0, parts.text);
        let mut damage = Vec::new();
        let note = |offset, what: &str| Damage::of_file(DamagedFile::Map, offset, what);
        if strings.get(head.name, base).is_err() {
            damage.push(note(base, "the module's name is damaged"));
        }
        if strings.get(head.producer, base).is_err() {
            damage.push(note(base, "the producer's name is damaged"));
        }
        let frames = Frames::new(
            parts.index.0,
            parts.records.0,
            head.functions,
            parts.records.1,
        );
        if !frames.index_intact() {
            damage.push(note(
                parts.index.1,
                "the index of functions is damaged; the functions were found without it",
            ));
        }
        let mut functions = Vec::with_capacity(head.functions as usize);
        let mut offsets = Vec::with_capacity(head.functions as usize);
        for frame in frames {
            offsets.push(frame.offset);
            let function = frame
                .payload
                .and_then(|cursor| read_function(cursor, &strings, head.counters_size));
            functions.push(function.unwrap_or_else(|error| {
                let keys = frame.keys.map(|keys| keys.map(|key| strings.find(key)));
                let lost = placeholder(keys);
                let what = Damage::of_file(
                    DamagedFile::Map,
                    error.offset().unwrap_or(frame.offset),
                    error,
                );
                damage.push(what.of_function(functions_len(&offsets), lost.display_name()));
                lost
            }));
        }
        refuse_overlaps(&mut functions, &offsets, &mut damage);
        let skipped = read_entries(
            parts.skipped,
            &strings,
            &mut damage,
            |[name, linkage_name, reason]| Skipped {
                name,
                linkage_name,
                reason,
            },
        );
        let gone = read_entries(parts.gone, &strings, &mut damage, |[name, linkage_name]| {
            Gone { name, linkage_name }
        });
        let (name, producer) = (strings.find(head.name), strings.find(head.producer));
        Ok((
            Self {
                name,
                producer,
                counters_size: head.counters_size,
                functions,
                skipped,
                gone,
            },
            damage,
        ))
    }
}

/// Number of the function whose offset was pushed last.
fn functions_len(offsets: &[u64]) -> usize {
    offsets.len() - 1
}

fn placeholder(keys: Option<[Text; 2]>) -> FunctionMap {
    let [linkage_name, name] = keys.unwrap_or_default();
    FunctionMap {
        name,
        linkage_name,
        ..FunctionMap::default()
    }
}

struct Head {
    functions: u32,
    counters_size: u64,
    strings: u32,
    text: u32,
    name: u32,
    producer: u32,
    skipped: u32,
    gone: u32,
    records: u64,
}

/// Bytes and their offset in the file.
type Part<'a> = (&'a [u8], u64);

struct Parts<'a> {
    strings: Part<'a>,
    text: &'a [u8],
    index: Part<'a>,
    skipped: Part<'a>,
    gone: Part<'a>,
    records: Part<'a>,
}

impl Head {
    fn read(bytes: &[u8], base: u64) -> Result<Self, FormatError> {
        let mut cursor = Cursor::new(bytes, base);
        if cursor.bytes(8)? != FRAGMENT_MAGIC {
            return Err(FormatError::NotAFragment);
        }
        let found = cursor.u32()?;
        if found != MAP_VERSION {
            return Err(FormatError::Version {
                found,
                reads: MAP_VERSION,
            });
        }
        let functions = cursor.u32()?;
        let counters_size = cursor.u64()?;
        let mut word = || cursor.u32();
        let (strings, text, name, producer, skipped, gone) =
            (word()?, word()?, word()?, word()?, word()?, word()?);
        let records = cursor.u64()?;
        let zero = cursor.u32()?;
        if cursor.u32()? != crc32fast::hash(&bytes[..HEAD - 4]) || zero != 0 {
            return Err(FormatError::Head { offset: base });
        }
        Ok(Self {
            functions,
            counters_size,
            strings,
            text,
            name,
            producer,
            skipped,
            gone,
            records,
        })
    }

    /// The parts behind the head. Only the function records, which come last, may be cut short.
    fn split<'a>(&self, bytes: &'a [u8], base: u64) -> Result<Parts<'a>, FormatError> {
        let mut at = HEAD as u64;
        let mut take = |size: u64| -> Result<Part<'a>, FormatError> {
            let end = at.saturating_add(size);
            let truncated = FormatError::Truncated {
                offset: base + bytes.len() as u64,
            };
            let (Ok(from), Ok(to)) = (usize::try_from(at), usize::try_from(end)) else {
                return Err(truncated);
            };
            let part = (bytes.get(from..to).ok_or(truncated)?, base + at);
            at = end;
            Ok(part)
        };
        let strings = take(8 * u64::from(self.strings))?;
        let text = take(self.text.into())?.0;
        let index = take(index_size(self.functions.into()))?;
        let skipped = take(16 * u64::from(self.skipped))?;
        let gone = take(12 * u64::from(self.gone))?;
        let rest = bytes.len() as u64 - (gone.1 - base) - gone.0.len() as u64;
        let records = take(self.records.min(rest))?;
        Ok(Parts {
            strings,
            text,
            index,
            skipped,
            gone,
            records,
        })
    }
}

/// Puts the checksums of a fragment right ([`crate::repair`]).
pub(crate) fn repair(bytes: &mut [u8]) {
    if bytes.len() < HEAD {
        return;
    }
    repair::store(bytes, HEAD - 8, 0);
    repair::checksum(bytes, 0, HEAD - 4);
    let Ok(head) = Head::read(bytes, 0) else {
        return;
    };
    let Ok(parts) = head.split(bytes, 0) else {
        return;
    };
    let text = HEAD + 8 * head.strings as usize;
    let [index, skipped, gone, records] = [
        parts.index.1,
        parts.skipped.1,
        parts.gone.1,
        parts.records.1,
    ]
    .map(|at| at as usize);
    let mut start = 0;
    for string in 0..head.strings as usize {
        let end = repair::load(bytes, HEAD + 8 * string) as usize;
        let content = bytes[text..].get(start..end).unwrap_or_default();
        let crc = crc32fast::hash(content);
        repair::store(bytes, HEAD + 8 * string + 4, crc);
        start = end;
    }
    repair::records(bytes, index, records, head.functions);
    for (list, count, size) in [(skipped, head.skipped, 12), (gone, head.gone, 8)] {
        for number in 0..count as usize {
            let at = list + number * (size + 4);
            let crc = entry_crc(number, &bytes[at..at + size]);
            repair::store(bytes, at + size, crc);
        }
    }
}

/// Entries of `4 * (N + 1)` bytes: `N` strings and a checksum.
fn read_entries<T, const N: usize>(
    part: Part<'_>,
    strings: &Strings,
    damage: &mut Vec<Damage>,
    make: impl Fn([Text; N]) -> T,
) -> Vec<T> {
    let size = 4 * (N + 1);
    let mut entries = Vec::with_capacity(part.0.len() / size);
    for (number, bytes) in part.0.chunks_exact(size).enumerate() {
        let offset = part.1 + (number * size) as u64;
        match read_entry(number, bytes, strings, offset) {
            Ok(texts) => entries.push(make(texts)),
            Err(error) => {
                let what =
                    format!("a function that is not instrumented is left out of the list: {error}");
                damage.push(Damage::of_file(DamagedFile::Map, offset, what));
            }
        }
    }
    entries
}

fn read_entry<const N: usize>(
    number: usize,
    bytes: &[u8],
    strings: &Strings,
    offset: u64,
) -> Result<[Text; N], FormatError> {
    let (entry, crc) = bytes.split_at(4 * N);
    if Cursor::new(crc, offset).u32()? != entry_crc(number, entry) {
        return Err(FormatError::Checksum { offset });
    }
    let mut cursor = Cursor::new(entry, offset);
    let mut texts: [Text; N] = std::array::from_fn(|_| Text::default());
    for text in &mut texts {
        *text = strings.get(cursor.u32()?, offset)?;
    }
    Ok(texts)
}

/// Of functions whose counters overlap, those that start later are refused.
fn refuse_overlaps(functions: &mut [FunctionMap], offsets: &[u64], damage: &mut Vec<Damage>) {
    let counters = functions.iter().map(|function| function.counters);
    let mut order: Vec<(u64, usize)> = counters
        .enumerate()
        .map(|(index, counters)| (counters.offset(), index))
        .collect();
    order.sort_unstable();
    let mut end = 0;
    for (start, index) in order {
        let function = &mut functions[index];
        if function.is_damaged() {
            continue;
        }
        if start < end {
            let what = FormatError::Counters {
                offset: offsets[index],
            };
            let what = Damage::of_file(DamagedFile::Map, offsets[index], what);
            damage.push(what.of_function(index, function.display_name()));
            *function = placeholder(Some([function.linkage_name.clone(), function.name.clone()]));
        } else {
            end = start.saturating_add(function.counters.size());
        }
    }
}

fn read_function(
    mut cursor: Cursor<'_>,
    strings: &Strings,
    counters_size: u64,
) -> Result<FunctionMap, FormatError> {
    let cursor = &mut cursor;
    let name = read_text(cursor, strings)?;
    let linkage_name = read_text(cursor, strings)?;
    let file = read_text(cursor, strings)?;
    let line = cursor.var32()?;
    let hash = cursor.u64()?;
    let (counters, path_count) = read_counters(cursor, counters_size)?;
    let scopes = read_scopes(cursor, strings)?;
    let block_count = cursor.count(2, "number of blocks")?;
    let entry = cursor.index(block_count, "entry block")?;
    let exit = cursor.index(block_count, "exit block")?;
    let mut places = Places {
        scopes: scopes.len(),
        line: 0,
    };
    let mut blocks = Vec::with_capacity(block_count);
    for _ in 0..block_count {
        blocks.push(read_block(cursor, &mut places)?);
    }
    let edges = read_edges(cursor, block_count, &mut places)?;
    let dag = read_dag(cursor, block_count, &edges, (entry, exit))?;
    cursor.end()?;
    Ok(FunctionMap {
        name,
        linkage_name,
        file,
        line,
        hash,
        counters,
        path_count,
        entry,
        exit,
        blocks,
        edges,
        dag,
        scopes,
    })
}

#[inline]
fn read_text(cursor: &mut Cursor<'_>, strings: &Strings) -> Result<Text, FormatError> {
    let offset = cursor.offset();
    strings.get(cursor.var32()?, offset)
}

fn read_counters(
    cursor: &mut Cursor<'_>,
    counters_size: u64,
) -> Result<(Counters, u64), FormatError> {
    let start = cursor.offset();
    let counters = match cursor.u8()? {
        0 => Counters::Array {
            offset: cursor.var()?,
            len: cursor.var()?,
        },
        1 => Counters::Hash {
            offset: cursor.var()?,
        },
        code => {
            return Err(FormatError::Code {
                what: "kind of counters",
                code: code.into(),
                offset: start,
            });
        }
    };
    let count_offset = cursor.offset();
    let path_count = cursor.var()?;
    if path_count == 0 {
        return Err(FormatError::Code {
            what: "path count",
            code: 0,
            offset: count_offset,
        });
    }
    let inside = counters
        .offset()
        .checked_add(counters.size())
        .is_some_and(|end| end <= counters_size);
    let enough = match counters {
        Counters::Array { len, .. } => path_count <= len,
        Counters::Hash { .. } => true,
    };
    if !inside || !enough || !counters.offset().is_multiple_of(8) {
        return Err(FormatError::Counters { offset: start });
    }
    Ok((counters, path_count))
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

/// What the places of a function depend on.
struct Places {
    scopes: usize,
    line: u32,
}

#[inline]
fn read_place(cursor: &mut Cursor<'_>, places: &mut Places) -> Result<Place, FormatError> {
    let scope = cursor.index(places.scopes, "scope")?;
    let line = cursor.near(places.line, 1 << 32, "line")?;
    places.line = line;
    Ok(Place {
        scope,
        line,
        column: cursor.var32()?,
    })
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
        let unknown = FormatError::Code {
            what: "kind of edge",
            code: code.into(),
            offset,
        };
        let (kind, outcome) = (
            EdgeKind::from_code(code & 3),
            Outcome::from_code(code >> 2 & 31),
        );
        let (Some(kind), Some(mut outcome)) = (kind, outcome) else {
            return Err(unknown);
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

fn read_dag(
    cursor: &mut Cursor<'_>,
    blocks: usize,
    edges: &[EdgeMap],
    (entry, exit): (u32, u32),
) -> Result<Vec<DagEdgeMap>, FormatError> {
    let count = cursor.count(3, "number of dag edges")?;
    let mut dag = Vec::with_capacity(count);
    let mut next = 0u32;
    for _ in 0..count {
        let offset = cursor.offset();
        let code = cursor.u8()?;
        if code > 7 {
            return Err(FormatError::Code {
                what: "kind of dag edge",
                code: code.into(),
                offset,
            });
        }
        let mut edge = |cursor: &mut Cursor<'_>| -> Result<u32, FormatError> {
            let edge = cursor.near(next, edges.len() as u64, "edge")?;
            next = edge.wrapping_add(1);
            Ok(edge)
        };
        let kind = match code & 3 {
            0 => DagKind::Edge(edge(cursor)?),
            1 => DagKind::Start(cursor.index(blocks, "start block")?),
            2 => DagKind::Back(edge(cursor)?),
            _ => DagKind::Cut(edge(cursor)?),
        };
        let (from, to) = if code & 4 == 0 {
            implied_ends(kind, edges, entry, exit).expect("the edge is in range")
        } else {
            (
                cursor.index(blocks, "source of a dag edge")?,
                cursor.index(blocks, "target of a dag edge")?,
            )
        };
        dag.push(DagEdgeMap {
            from,
            to,
            kind,
            value: cursor.var()?,
        });
    }
    Ok(dag)
}
