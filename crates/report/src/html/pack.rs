//! Packs the lines of a document: gzip, then base64.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;

/// The lines of a document, compressed as they are added.
pub(super) struct Document {
    encoder: GzEncoder<Vec<u8>>,
}

impl Default for Document {
    fn default() -> Self {
        Self {
            encoder: GzEncoder::new(Vec::new(), Compression::default()),
        }
    }
}

impl Document {
    /// Adds a value as a line.
    ///
    /// # Errors
    /// If the value is no JSON.
    pub(super) fn add(&mut self, value: &impl Serialize) -> io::Result<()> {
        self.add_line(&serde_json::to_string(value)?)
    }

    /// Adds a JSON text as a line. Line breaks between its values become spaces.
    ///
    /// # Errors
    /// Never: the document is in memory.
    pub(super) fn add_line(&mut self, line: &str) -> io::Result<()> {
        self.encoder.write_all(line.replace('\n', " ").as_bytes())?;
        self.encoder.write_all(b"\n")
    }

    /// The packed document.
    ///
    /// # Errors
    /// Never: the document is in memory.
    pub(super) fn packed(self) -> io::Result<String> {
        Ok(STANDARD.encode(self.encoder.finish()?))
    }
}
