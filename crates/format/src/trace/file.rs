//! Reads the file of traces, `*.hwt`: the events of each thread of one process in one image.
//!
//! ```text
//! OFFSET SIZE MEANING
//!      0    8  HLWTRACE
//!      8    4  version, 3
//!     12    4  process id
//!     16   16  build id of the image
//!     32    4  crc32 of all bytes before it
//! records, one after the other
//!      0    4  length of the payload
//!      4    4  crc32 of the record's offset (8 bytes), the kind and the payload
//!      8    1  kind
//!      9    …  payload, numbers as in varint.rs
//!   kind 1, a stream begins: id of its thread. Streams are numbered in the order of these records.
//!   kind 2, a block: stream × 2 (+ 1 if fresh), number of events, hash (8 bytes), change of the
//!           number of open activations (zigzag), number of new terminals, each of them
//!           (0: a gap; 1 n: n frames left; function + 2, path: a path), number of tokens, and the
//!           tokens as arithmetic code
//!   kind 3, the index: number of blocks; for each block its offset, its stream, and
//!           the number of events before it × 2 (+ 1 if fresh)
//! at the end of a finished file
//!      0    8  offset of the index
//!      8    8  HLWTREND
//! ```
//! The model that codes tokens keeps what it has learned from one block of a stream to the next. At
//! a *fresh* block, it starts again. To read the events at a position, the parser decodes from the
//! last fresh block before this position. If a file is unfinished, or damaged from some offset on,
//! the parser reads the records before this offset.
//!
//! Cost: reading keeps one block in memory at a time. Decoding takes 20-100 ns per token.

use super::block::{Block, Terminal};
use super::coder::Decoder;
use super::hash::StringHash;
use super::model::Model;
use super::symbol::{Part, Symbol};
use super::token::{Step, Token};
use crate::cursor::Cursor;
use crate::error::FormatError;
use crate::varint;

pub(super) const MAGIC: [u8; 8] = *b"HLWTRACE";
pub(super) const TRAILER: [u8; 8] = *b"HLWTREND";
pub(super) const VERSION: u32 = 3;
pub(super) const STREAM: u8 = 1;
pub(super) const BLOCK: u8 = 2;
pub(super) const INDEX: u8 = 3;
/// A block has fewer tokens than this number.
pub(super) const TOKEN_LIMIT: usize = 1 << 22;
/// Maximum number of tokens per byte of code, so that a small file cannot require unlimited memory.
/// Because repetitions become rules, a few tokens per byte are usual. The writer pads the code of a
/// denser block with zeros.
pub(super) const MAX_TOKENS_PER_BYTE: u64 = 1 << 8;
const HEAD_SIZE: usize = 36;
const RECORD_HEAD_SIZE: usize = 9;

/// The head of a file of traces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceHead {
    /// Process id.
    pub process: u32,
    /// Build id of the image.
    pub build_id: [u8; 16],
}

/// A file of traces.
#[derive(Clone, Debug)]
pub struct TraceFile<'a> {
    /// The head.
    pub head: TraceHead,
    /// The threads' traces, in the order in which they began.
    pub streams: Vec<TraceStream<'a>>,
    /// The damage at which reading stopped, if there is any.
    pub damage: Option<FormatError>,
    /// Whether the writer finished the file. Otherwise blocks may be missing at its end.
    pub is_finished: bool,
}

/// A thread's trace in a file.
#[derive(Clone, Debug)]
pub struct TraceStream<'a> {
    /// The thread's id.
    pub thread: u32,
    /// The terminals of the stream, by number.
    pub terminals: Vec<Terminal>,
    /// Number of events.
    pub length: u64,
    /// Hash of the events' terminal numbers, computed from the hashes of the blocks.
    pub hash: StringHash,
    /// Bytes of the stream's blocks in the file.
    pub bytes: u64,
    /// Number of activations that the events open, minus the number that they close, according to
    /// the blocks.
    pub change: i64,
    blocks: Vec<StoredBlock<'a>>,
}

/// The state of a trace before an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TracePosition {
    /// Number of events before it.
    pub events: u64,
    /// Number of activations that these events open, minus the number that they close.
    pub depth: i64,
}

/// A block in the file, before its tokens are decoded.
#[derive(Clone, Debug)]
struct StoredBlock<'a> {
    /// Number of events before the block.
    position: u64,
    /// Number of terminals before the block.
    terminals_before: usize,
    is_fresh: bool,
    length: u64,
    hash: StringHash,
    /// Number of open activations at the start of the block, relative to the start of the trace.
    depth: i64,
    /// Change of the number of open activations in the block.
    change: i64,
    /// Number of terminals that occur in the block for the first time.
    new_terminals: usize,
    /// A cursor at the number of tokens.
    tokens: Cursor<'a>,
}

pub(super) fn record_crc(offset: u64, kind: u8, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&offset.to_le_bytes());
    hasher.update(&[kind]);
    hasher.update(payload);
    hasher.finalize()
}

impl<'a> TraceFile<'a> {
    /// Reads the streams of a file. Their blocks are decoded on demand. [`TraceFile::damage`] has
    /// the damage after the head.
    ///
    /// # Errors
    /// If the bytes are not a file of traces, have another version, or if the head is damaged.
    pub fn read(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let head = read_head(bytes)?;
        let mut file = Self {
            head,
            streams: Vec::new(),
            damage: None,
            is_finished: false,
        };
        file.damage = file.read_records(bytes).err();
        Ok(file)
    }

    fn read_records(&mut self, bytes: &'a [u8]) -> Result<(), FormatError> {
        let mut position = HEAD_SIZE;
        while position < bytes.len() {
            let offset = position as u64;
            let mut cursor = Cursor::new(&bytes[position..], offset);
            let (length, crc, kind) = (cursor.u32()?, cursor.u32()?, cursor.u8()?);
            let start = cursor.offset();
            let payload = cursor.bytes(length as usize)?;
            if record_crc(offset, kind, payload) != crc {
                return Err(FormatError::Checksum { offset });
            }
            position += RECORD_HEAD_SIZE + payload.len();
            let payload = Cursor::new(payload, start);
            match kind {
                STREAM => self.begin_stream(payload)?,
                BLOCK => self.add_block(payload, RECORD_HEAD_SIZE as u64 + u64::from(length))?,
                INDEX => {
                    check_end(&bytes[position..], position as u64, offset)?;
                    self.is_finished = true;
                    return Ok(());
                }
                _ => {
                    let kind = u32::from(kind);
                    return Err(FormatError::UnknownKind { kind, offset });
                }
            }
        }
        Ok(())
    }

    fn begin_stream(&mut self, mut payload: Cursor<'a>) -> Result<(), FormatError> {
        let thread = payload.var32()?;
        payload.end()?;
        self.streams.push(TraceStream {
            thread,
            terminals: Vec::new(),
            length: 0,
            hash: StringHash::default(),
            bytes: 0,
            change: 0,
            blocks: Vec::new(),
        });
        Ok(())
    }

    /// Adds a block to its stream. `bytes` is the size of the block's record.
    fn add_block(&mut self, mut payload: Cursor<'a>, bytes: u64) -> Result<(), FormatError> {
        let stream_and_fresh = payload.var()?;
        let offset = payload.offset();
        let limit = self.streams.len() as u64;
        let out_of_range = FormatError::Range {
            what: "stream",
            value: stream_and_fresh >> 1,
            limit,
            offset,
        };
        let stream = usize::try_from(stream_and_fresh >> 1).ok();
        let stream = stream.and_then(|stream| self.streams.get_mut(stream));
        let stream = stream.ok_or(out_of_range)?;
        let is_fresh = stream_and_fresh & 1 != 0;
        if stream.blocks.is_empty() && !is_fresh {
            let what = "first block of a stream";
            return Err(FormatError::Order { what, offset });
        }
        let length = payload.var()?;
        let total = stream.length.checked_add(length);
        let total = total
            .filter(|&total| total < 1 << 63)
            .ok_or(FormatError::Number {
                offset: payload.offset(),
            })?;
        let hash = StringHash::new(payload.u64()?, length);
        let change = varint::unzigzag(payload.var()?);
        let terminals_before = stream.terminals.len();
        for _ in 0..payload.count(1, "terminal")? {
            stream.terminals.push(read_terminal(&mut payload)?);
        }
        stream.blocks.push(StoredBlock {
            position: stream.length,
            terminals_before,
            is_fresh,
            length,
            hash,
            depth: stream.change,
            change,
            new_terminals: stream.terminals.len() - terminals_before,
            tokens: payload,
        });
        stream.length = total;
        stream.hash = stream.hash.then(hash);
        stream.change = stream.change.saturating_add(change);
        stream.bytes += bytes;
        Ok(())
    }
}

fn read_head(bytes: &[u8]) -> Result<TraceHead, FormatError> {
    if !bytes.starts_with(&MAGIC) {
        return Err(FormatError::NotATrace);
    }
    let mut cursor = Cursor::new(bytes, 0);
    cursor.bytes(MAGIC.len())?;
    let version = cursor.u32()?;
    if version != VERSION {
        return Err(FormatError::Version {
            found: version,
            reads: VERSION..=VERSION,
        });
    }
    let (process, build_id) = (cursor.u32()?, cursor.id()?);
    match crc32fast::hash(&bytes[..HEAD_SIZE - 4]) == cursor.u32()? {
        true => Ok(TraceHead { process, build_id }),
        false => Err(FormatError::Head { offset: 0 }),
    }
}

fn read_terminal(cursor: &mut Cursor<'_>) -> Result<Terminal, FormatError> {
    let offset = cursor.offset();
    Ok(match cursor.var()? {
        0 => Terminal::Gap,
        1 => Terminal::Left(cursor.var32()?),
        function => Terminal::Path {
            function: u32::try_from(function - 2).map_err(|_| FormatError::Number { offset })?,
            path: cursor.var32()?,
        },
    })
}

/// Checks the end of the file after the index. The index is at the offset `index`, and `bytes` at
/// the offset `base`.
fn check_end(bytes: &[u8], base: u64, index: u64) -> Result<(), FormatError> {
    let mut cursor = Cursor::new(bytes, base);
    let offset = cursor.offset();
    if cursor.u64()? != index || cursor.u64()?.to_le_bytes() != TRAILER {
        return Err(FormatError::Head { offset });
    }
    cursor.end()
}

impl<'a> TraceStream<'a> {
    /// Decodes the blocks one by one. The iterator ends after the first damaged block.
    pub fn blocks(&self) -> Blocks<'_, 'a> {
        Blocks::new(&self.blocks, &self.terminals)
    }

    /// Decodes the blocks from the last fresh block that begins at or before `position`. Also
    /// returns the state of the trace before this block.
    pub fn blocks_at(&self, position: u64) -> (TracePosition, Blocks<'_, 'a>) {
        let end = self
            .blocks
            .partition_point(|block| block.position <= position);
        let first = self.blocks[..end].iter().rposition(|block| block.is_fresh);
        let first = first.unwrap_or(0);
        let before = |block: &StoredBlock<'_>| TracePosition {
            events: block.position,
            depth: block.depth,
        };
        let before = self.blocks.get(first).map(before).unwrap_or_default();
        (before, Blocks::new(&self.blocks[first..], &self.terminals))
    }
}

/// Iterator over the blocks of a stream.
pub struct Blocks<'s, 'a> {
    stored: std::slice::Iter<'s, StoredBlock<'a>>,
    terminals: &'s [Terminal],
    model: Model,
    /// Number of rules since the last fresh block.
    rules: u32,
}

impl<'s, 'a> Blocks<'s, 'a> {
    fn new(stored: &'s [StoredBlock<'a>], terminals: &'s [Terminal]) -> Self {
        Self {
            stored: stored.iter(),
            terminals,
            model: Model::new(),
            rules: 0,
        }
    }

    fn decode(&mut self, stored: &StoredBlock<'a>) -> Result<Block, FormatError> {
        if stored.is_fresh {
            self.model = Model::new();
            self.rules = 0;
        }
        let terminals_after = stored.terminals_before + stored.new_terminals;
        Ok(Block {
            is_fresh: stored.is_fresh,
            terminals: self.terminals[stored.terminals_before..terminals_after].to_vec(),
            tokens: self.tokens(stored.tokens.clone(), terminals_after)?,
            length: stored.length,
            hash: stored.hash,
            change: stored.change,
        })
    }

    /// Decodes the tokens of a block, and checks that they use only known terminals and rules.
    fn tokens(
        &mut self,
        mut cursor: Cursor<'a>,
        terminals: usize,
    ) -> Result<Vec<Token>, FormatError> {
        let count = cursor.index(TOKEN_LIMIT, "number of tokens")?;
        let offset = cursor.offset();
        let code = cursor.remaining();
        let limit = MAX_TOKENS_PER_BYTE * (code.len() as u64 + 1);
        if u64::from(count) >= limit {
            return Err(FormatError::Range {
                what: "number of tokens",
                value: u64::from(count),
                limit,
                offset,
            });
        }
        let mut decoder = Decoder::new(code);
        let mut tokens = Vec::with_capacity(count as usize);
        let mut open_right_sides = 0u32;
        for _ in 0..count {
            let token = Token::from_bits(self.model.read(&mut decoder));
            let range = |what, value: u32, limit| FormatError::Range {
                what,
                value: u64::from(value),
                limit,
                offset,
            };
            match token.step() {
                Step::Open => open_right_sides += 1,
                Step::Close if open_right_sides > 0 && self.rules < Symbol::LIMIT => {
                    open_right_sides -= 1;
                    self.rules += 1;
                }
                Step::Close => return Err(range("end of a right side", 0, 0)),
                Step::Symbol(symbol) => self.check(symbol, terminals, range)?,
            }
            tokens.push(token);
        }
        match open_right_sides {
            0 => Ok(tokens),
            _ => Err(FormatError::Leftover { offset }),
        }
    }

    fn check(
        &self,
        symbol: Symbol,
        terminals: usize,
        range: impl Fn(&'static str, u32, u64) -> FormatError,
    ) -> Result<(), FormatError> {
        match symbol.part() {
            Part::Terminal(id) if (id as usize) < terminals => Ok(()),
            Part::Terminal(id) => Err(range("terminal", id, terminals as u64)),
            Part::Rule(rule) if rule < self.rules => Ok(()),
            Part::Rule(rule) => Err(range("rule", rule, u64::from(self.rules))),
        }
    }
}

impl Iterator for Blocks<'_, '_> {
    type Item = Result<Block, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        let stored = self.stored.next()?;
        let block = self.decode(stored);
        if block.is_err() {
            self.stored = [].iter();
        }
        Some(block)
    }
}
