//! A guide: the executions of each function's edges in an earlier run, for the next weaving.
//!
//! The link step makes a guide from a run, and the weaver uses its counts as weights instead of
//! estimates. A function is identified by its linkage name and the hash of its graph
//! ([`FunctionMap::graph_hash`]). So a function whose code has changed gets no counts, rather than
//! wrong counts. Functions of several modules or programs with equal names and graphs share one
//! entry with the sums of their counts.
//!
//! ```text
//! OFFSET SIZE MEANING
//!      0    8  "HLWGUIDE"
//!      8    4  format version, 5
//!     12    4  n: number of functions
//!     16    …  n functions, ascending by name and hash:
//!              v length of the linkage name, name (UTF-8)  8 bytes hash  v edges, v count of each
//!      …    4  crc32 of all bytes before it
//! ```
//! `v`: varint. A guide is made for one build and used only there, so a damaged guide is not used
//! at all.
//!
//! Example, a function `f` (hash 0) with two edges. The first edge ran 300 times, the second
//! never: `01 66 00×8 02 ac 02 00`.

use std::collections::BTreeMap;

use crate::cursor::Cursor;
use crate::error::FormatError;
use crate::map::{FunctionMap, ModuleMap};
use crate::text::Text;
use crate::units::Count;
use crate::varint::put;
use crate::version::{MAP_VERSION, check_version};

/// First eight bytes of a guide.
pub const GUIDE_MAGIC: [u8; 8] = *b"HLWGUIDE";

/// Measured counts of functions' edges. Its [`FromIterator`] accepts functions in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guide {
    /// Ascending by name and hash, without duplicates.
    functions: Vec<GuideFunction>,
}

/// The measured counts of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuideFunction {
    /// Linkage name.
    pub linkage_name: Text,
    /// [`FunctionMap::graph_hash`].
    pub graph_hash: u64,
    /// Executions of each edge that exists in every graph ([`crate::EdgeMap::is_always_there`]), in
    /// the order of the map.
    pub edges: Vec<Count>,
}

impl FromIterator<GuideFunction> for Guide {
    fn from_iter<I: IntoIterator<Item = GuideFunction>>(functions: I) -> Self {
        let mut sums: BTreeMap<(Text, u64), Vec<Count>> = BTreeMap::new();
        for function in functions {
            let sum = sums
                .entry((function.linkage_name, function.graph_hash))
                .or_default();
            if sum.len() < function.edges.len() {
                sum.resize(function.edges.len(), Count::ZERO);
            }
            for (sum, count) in sum.iter_mut().zip(function.edges) {
                *sum = sum.saturating_add(count);
            }
        }
        let functions = sums
            .into_iter()
            .map(|((linkage_name, graph_hash), edges)| GuideFunction {
                linkage_name,
                graph_hash,
                edges,
            });
        Self {
            functions: functions.collect(),
        }
    }
}

impl Guide {
    /// The functions, ascending by name and hash.
    pub fn functions(&self) -> &[GuideFunction] {
        &self.functions
    }

    /// Returns the counts of the edges of the function with this name and graph.
    pub fn find(&self, linkage_name: &str, graph_hash: u64) -> Option<&[Count]> {
        let index = self.functions.binary_search_by(|function| {
            (function.linkage_name.as_str(), function.graph_hash).cmp(&(linkage_name, graph_hash))
        });
        index
            .ok()
            .map(|index| self.functions[index].edges.as_slice())
    }

    /// Returns how many functions of a module have counts in the guide.
    pub fn matched(&self, module: &ModuleMap) -> usize {
        let has_counts = |function: &&FunctionMap| {
            let counts = self.find(&function.linkage_name, function.graph_hash());
            !function.is_damaged() && counts.is_some()
        };
        module.functions.iter().filter(has_counts).count()
    }

    /// Encodes the guide. Equal guides have equal bytes.
    ///
    /// # Panics
    /// If there are 2^32 or more functions.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = GUIDE_MAGIC.to_vec();
        let count = u32::try_from(self.functions.len()).expect("fewer than 2^32 functions");
        for word in [MAP_VERSION, count] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        for function in &self.functions {
            put(&mut out, function.linkage_name.len() as u64);
            out.extend_from_slice(function.linkage_name.as_bytes());
            out.extend_from_slice(&function.graph_hash.to_le_bytes());
            put(&mut out, function.edges.len() as u64);
            function
                .edges
                .iter()
                .for_each(|count| put(&mut out, count.0));
        }
        let crc = crc32fast::hash(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        out
    }

    /// Decodes a guide.
    ///
    /// # Errors
    /// If the bytes are not a guide, have another version, or are damaged.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        if !bytes.starts_with(&GUIDE_MAGIC) {
            return Err(FormatError::NotAGuide);
        }
        let mut head = Cursor::new(bytes, 0);
        head.bytes(8)?;
        let version = head.u32()?;
        check_version(version)?;
        let offset = bytes.len() as u64;
        let (content, crc) = bytes
            .split_last_chunk::<4>()
            .ok_or(FormatError::Truncated { offset })?;
        if crc32fast::hash(content) != u32::from_le_bytes(*crc) {
            return Err(FormatError::Checksum { offset: 0 });
        }
        let mut cursor = Cursor::new(content, 0);
        cursor.bytes(12)?;
        let count = cursor.u32()?;
        let mut functions: Vec<GuideFunction> = Vec::new();
        for _ in 0..count {
            let offset = cursor.offset();
            let function = read_function(&mut cursor)?;
            let key =
                |function: &GuideFunction| (function.linkage_name.clone(), function.graph_hash);
            if functions
                .last()
                .is_some_and(|last| key(last) >= key(&function))
            {
                return Err(FormatError::Order {
                    what: "function",
                    offset,
                });
            }
            functions.push(function);
        }
        cursor.end()?;
        Ok(Self { functions })
    }
}

fn read_function(cursor: &mut Cursor<'_>) -> Result<GuideFunction, FormatError> {
    let offset = cursor.offset();
    let length = cursor.count(1, "length of a name")?;
    let name = str::from_utf8(cursor.bytes(length)?);
    let linkage_name = name
        .map_err(|_| FormatError::Text { index: 0, offset })?
        .into();
    let graph_hash = cursor.u64()?;
    let count = cursor.count(1, "number of edges")?;
    let edges = (0..count).map(|_| cursor.var().map(Count));
    Ok(GuideFunction {
        linkage_name,
        graph_hash,
        edges: edges.collect::<Result<_, _>>()?,
    })
}
