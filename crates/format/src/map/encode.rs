//! Encodes a fragment. [`crate::map`] has the layout. Equal modules have equal bytes.

use crate::checksum::numbered_crc;
use crate::frames::FrameWriter;
use crate::map::cases::put_cases;
use crate::map::contents::put_contents;
use crate::map::facts::put_facts;
use crate::map::function::{Counters, FunctionMap};
use crate::map::graph::{BlockMap, DagEdgeMap, DagKind, EdgeMap, Outcome};
use crate::map::layout::{CHORD, FRAGMENT_MAGIC, IN_SOURCE_ORDER, SOURCE_GRAPH, WITH_VALUES};
use crate::map::loads::put_loads;
use crate::map::loops::put_loops;
use crate::map::module::ModuleMap;
use crate::map::place::{Scope, put_place};
use crate::map::strings::StringWriter;
use crate::varint::{put, put_signed};
use crate::version::MAP_VERSION;

impl ModuleMap {
    /// Encodes the module as a fragment.
    ///
    /// # Panics
    /// If the strings of the module, or a function's record, have 4 GiB or more.
    pub fn encode(&self) -> Vec<u8> {
        let mut strings = StringWriter::default();
        let name = strings.number(&self.name);
        let producer = strings.number(&self.producer);
        let mut functions = FrameWriter::default();
        let mut payload = Vec::new();
        for function in &self.functions {
            payload.clear();
            put_function(&mut payload, &mut strings, function);
            let keys = [
                strings.number(&function.linkage_name),
                strings.number(&function.name),
            ];
            functions.push(keys, &payload);
        }
        let skipped = checksummed_entries(self.skipped.iter().map(|skipped| {
            [&skipped.name, &skipped.linkage_name, &skipped.reason]
                .map(|string| strings.number(string))
        }));
        let gone = checksummed_entries(
            self.gone
                .iter()
                .map(|gone| [&gone.name, &gone.linkage_name].map(|string| strings.number(string))),
        );
        let sources = checksummed_entries(self.sources.iter().map(|source| {
            let mut words = [strings.number(&source.file), 0, 0, 0, 0];
            for (word, bytes) in words[1..].iter_mut().zip(source.md5.as_chunks().0) {
                *word = u32::from_le_bytes(*bytes);
            }
            words
        }));
        let function_count = functions.len();
        let (index, records) = functions.finish();
        let (table, text) = strings.finish();
        let length = |bytes: usize| {
            u32::try_from(bytes)
                .expect("a table has fewer than 2^32 entries")
                .to_le_bytes()
        };

        let mut out =
            Vec::with_capacity(64 + table.len() + text.len() + index.len() + records.len());
        out.extend_from_slice(&FRAGMENT_MAGIC);
        out.extend_from_slice(&MAP_VERSION.to_le_bytes());
        out.extend_from_slice(&function_count.to_le_bytes());
        out.extend_from_slice(&self.counters_size.to_le_bytes());
        out.extend_from_slice(&length(table.len() / 8));
        out.extend_from_slice(&length(text.len()));
        out.extend_from_slice(&name.to_le_bytes());
        out.extend_from_slice(&producer.to_le_bytes());
        out.extend_from_slice(&length(self.skipped.len()));
        out.extend_from_slice(&length(self.gone.len()));
        out.extend_from_slice(&(records.len() as u64).to_le_bytes());
        let ring_counters = self.functions.iter().filter_map(|function| {
            Some(function.ring_counters? / 8 + function.ring_counter_count())
        });
        out.extend_from_slice(&length(ring_counters.max().unwrap_or(0) as usize));
        let crc = crc32fast::hash(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        for part in [table, text, index, skipped, gone, records, sources] {
            out.extend_from_slice(&part);
        }
        out
    }
}

/// Writes entries of fixed size, each with a checksum of its number and content.
fn checksummed_entries<const N: usize>(entries: impl Iterator<Item = [u32; N]>) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, entry) in entries.enumerate() {
        let start = out.len();
        for word in entry {
            out.extend_from_slice(&word.to_le_bytes());
        }
        let crc = numbered_crc(number, &out[start..]);
        out.extend_from_slice(&crc.to_le_bytes());
    }
    out
}

fn put_function<'a>(out: &mut Vec<u8>, strings: &mut StringWriter<'a>, function: &'a FunctionMap) {
    put(out, strings.number(&function.name).into());
    put(out, strings.number(&function.linkage_name).into());
    put(out, strings.number(&function.file).into());
    put(out, function.line.into());
    out.extend_from_slice(&function.hash.to_le_bytes());
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    let flags = flag(function.in_source_order, IN_SOURCE_ORDER)
        | flag(function.is_source_graph, SOURCE_GRAPH);
    match function.counters {
        Counters::Array { offset, len } => {
            out.push(
                flags
                    | if function.ring_counters.is_some() {
                        3
                    } else {
                        0
                    },
            );
            put(out, offset);
            put(out, len);
            put(out, function.path_count);
            if let Some(ring_counters) = function.ring_counters {
                put(out, ring_counters);
            }
        }
        Counters::Hash { offset } => {
            out.push(flags | 1);
            put(out, offset);
            put(out, function.path_count);
        }
        Counters::Edges {
            offset,
            len,
            has_values,
        } => {
            out.push(flags | if has_values { WITH_VALUES } else { 2 });
            put(out, offset);
            put(out, len);
        }
    }
    put_scopes(out, strings, &function.scopes);
    let mut last_line = 0;
    put_blocks(out, function, &mut last_line);
    put_edges(out, &function.edges, &mut last_line);
    match function.counters {
        Counters::Array { .. } | Counters::Hash { .. } => put_dag(out, function),
        Counters::Edges { .. } => {
            put_list(out, &function.counted);
            put_list(out, &function.tree);
        }
    }
    if has_optional_lists(function) {
        put_loads(out, &function.loads, &mut last_line);
        put_loops(out, function.selects, &function.loops, &mut last_line);
        put_cases(out, strings, &function.cases);
        put_list(out, &function.leaks);
    }
    if !function.facts.is_empty() || !function.contents.is_empty() {
        put_facts(out, &function.facts, &mut last_line);
    }
    if !function.contents.is_empty() {
        put_contents(out, strings, &function.contents);
    }
}

/// Whether the record has the optional lists at its end.
fn has_optional_lists(function: &FunctionMap) -> bool {
    !function.loads.is_empty()
        || function.selects > 0
        || !function.loops.is_empty()
        || !function.cases.is_empty()
        || !function.leaks.is_empty()
        || !function.facts.is_empty()
        || !function.contents.is_empty()
}

/// Writes a list of numbers. Each number is written as the difference from its predecessor + 1.
fn put_list(out: &mut Vec<u8>, numbers: &[u32]) {
    put(out, numbers.len() as u64);
    let mut next = 0u32;
    for &number in numbers {
        put_signed(out, i64::from(number) - i64::from(next));
        next = number.wrapping_add(1);
    }
}

fn put_scopes<'a>(out: &mut Vec<u8>, strings: &mut StringWriter<'a>, scopes: &'a [Scope]) {
    put(out, scopes.len() as u64);
    for scope in scopes {
        put(out, strings.number(&scope.name).into());
        put(out, strings.number(&scope.linkage_name).into());
        put(out, strings.number(&scope.file).into());
        put(out, scope.line.into());
        put(out, scope.parent.map_or(0, |parent| u64::from(parent) + 1));
        put(out, scope.call_line.into());
        put(out, scope.call_column.into());
    }
}

fn put_blocks(out: &mut Vec<u8>, function: &FunctionMap, last_line: &mut u32) {
    put(out, function.blocks.len() as u64);
    put(out, function.entry.into());
    put(out, function.exit.into());
    for BlockMap {
        instructions,
        places,
    } in &function.blocks
    {
        put(out, (*instructions).into());
        put(out, places.len() as u64);
        for &place in places {
            put_place(out, place, last_line);
        }
    }
}

fn put_edges(out: &mut Vec<u8>, edges: &[EdgeMap], last_line: &mut u32) {
    put(out, edges.len() as u64);
    let mut last_from = 0;
    for edge in edges {
        put_signed(out, i64::from(edge.from) - i64::from(last_from));
        put_signed(out, i64::from(edge.to) - i64::from(edge.from));
        last_from = edge.from;
        out.push(edge.kind.code() | edge.outcome.code() << 2 | u8::from(edge.place.is_some()) << 7);
        if let Outcome::Case(value) = edge.outcome {
            put_signed(out, value);
        }
        if let Some(place) = edge.place {
            put_place(out, place, last_line);
        }
    }
}

fn put_dag(out: &mut Vec<u8>, function: &FunctionMap) {
    put(out, function.dag.len() as u64);
    let mut next = 0u32;
    let mut chords = function.chords.iter().peekable();
    for (number, edge) in (0u32..).zip(&function.dag) {
        let &DagEdgeMap {
            from,
            to,
            kind,
            value,
        } = edge;
        let chord = match chords.next_if_eq(&&number) {
            Some(_) => CHORD,
            None => 0,
        };
        let has_implied_ends = function.implied_ends(kind) == Some((from, to));
        let (code, index) = kind.code();
        out.push(code | u8::from(!has_implied_ends) << 2 | chord);
        if matches!(kind, DagKind::Start(_)) {
            put(out, index.into());
        } else {
            put_signed(out, i64::from(index) - i64::from(next));
            next = index.wrapping_add(1);
        }
        if !has_implied_ends {
            put(out, from.into());
            put(out, to.into());
        }
        put(out, value);
    }
}
