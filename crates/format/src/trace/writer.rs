//! Writes a file of traces, block by block.
//!
//! Cost: the time of [`super::model`], and a few MB of memory for each stream.

use std::io::{self, Write};

use super::block::{Block, Terminal};
use super::coder::Encoder;
use super::file::{
    BLOCK, INDEX, MAGIC, MAX_TOKENS_PER_BYTE, STREAM, TRAILER, TraceHead, VERSION, record_crc,
};
use super::model::Model;
use crate::varint;

/// The number of a stream in a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StreamId(pub u32);

/// Writes a file of traces. If the writer never finishes the file, the written blocks can still be
/// read.
pub struct TraceWriter<W> {
    out: W,
    /// Number of bytes that were written.
    offset: u64,
    streams: Vec<OpenStream>,
    /// Payload of the index, without the number of blocks.
    index: Vec<u8>,
    /// Number of blocks.
    blocks: u64,
}

/// A stream that is being written.
struct OpenStream {
    model: Model,
    /// Number of events.
    length: u64,
}

impl<W: Write> TraceWriter<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// If writing to `out` fails.
    pub fn new(mut out: W, head: &TraceHead) -> io::Result<Self> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&head.process.to_le_bytes());
        bytes.extend_from_slice(&head.build_id);
        bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
        out.write_all(&bytes)?;
        Ok(Self {
            out,
            offset: bytes.len() as u64,
            streams: Vec::new(),
            index: Vec::new(),
            blocks: 0,
        })
    }

    /// Number of bytes that were written.
    pub fn size(&self) -> u64 {
        self.offset
    }

    /// Begins the stream of a thread.
    ///
    /// # Errors
    /// If writing to the file fails.
    pub fn stream(&mut self, thread: u32) -> io::Result<StreamId> {
        let id = self.streams.len() as u32;
        self.streams.push(OpenStream {
            model: Model::new(),
            length: 0,
        });
        let mut payload = Vec::new();
        varint::put(&mut payload, u64::from(thread));
        self.write_record(STREAM, &payload)?;
        Ok(StreamId(id))
    }

    /// Appends a block to a stream.
    ///
    /// # Errors
    /// If writing to the file fails.
    ///
    /// # Panics
    /// If the stream belongs to another file, or if the block has 2^22 tokens or more.
    pub fn block(&mut self, stream: StreamId, block: &Block) -> io::Result<()> {
        assert!(
            block.tokens.len() < super::file::TOKEN_LIMIT,
            "a block is below 2^22 tokens"
        );
        let open_stream = &mut self.streams[stream.0 as usize];
        if block.is_fresh {
            open_stream.model = Model::new();
        }
        for number in [
            self.offset,
            u64::from(stream.0),
            open_stream.length << 1 | u64::from(block.is_fresh),
        ] {
            varint::put(&mut self.index, number);
        }
        self.blocks += 1;
        open_stream.length += block.length;
        let payload = payload(stream, block, &mut open_stream.model);
        self.write_record(BLOCK, &payload)
    }

    /// Ends the file with an index of its blocks.
    ///
    /// # Errors
    /// If writing to the file fails.
    pub fn finish(mut self) -> io::Result<W> {
        let offset = self.offset;
        let mut payload = Vec::new();
        varint::put(&mut payload, self.blocks);
        payload.append(&mut self.index);
        self.write_record(INDEX, &payload)?;
        self.out.write_all(&offset.to_le_bytes())?;
        self.out.write_all(&TRAILER)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn write_record(&mut self, kind: u8, payload: &[u8]) -> io::Result<()> {
        let length = u32::try_from(payload.len()).expect("a record is below 4 GiB");
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.extend_from_slice(&record_crc(self.offset, kind, payload).to_le_bytes());
        bytes.push(kind);
        bytes.extend_from_slice(payload);
        self.out.write_all(&bytes)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }
}

fn payload(stream: StreamId, block: &Block, model: &mut Model) -> Vec<u8> {
    let mut out = Vec::new();
    varint::put(
        &mut out,
        u64::from(stream.0) << 1 | u64::from(block.is_fresh),
    );
    varint::put(&mut out, block.length);
    out.extend_from_slice(&block.hash.value().to_le_bytes());
    varint::put(&mut out, varint::zigzag(block.change));
    varint::put(&mut out, block.terminals.len() as u64);
    for terminal in &block.terminals {
        match *terminal {
            Terminal::Gap => out.push(0),
            Terminal::Left(count) => {
                out.push(1);
                varint::put(&mut out, u64::from(count));
            }
            Terminal::Path { function, path } => {
                varint::put(&mut out, u64::from(function) + 2);
                varint::put(&mut out, u64::from(path));
            }
        }
    }
    varint::put(&mut out, block.tokens.len() as u64);
    let mut encoder = Encoder::new();
    model.write(&mut encoder, &block.tokens);
    let mut code = encoder.finish();
    let min_length = block.tokens.len() / MAX_TOKENS_PER_BYTE as usize;
    code.resize(code.len().max(min_length), 0);
    out.append(&mut code);
    out
}
