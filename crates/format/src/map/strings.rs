//! The strings of a module. Each string is stored once and has its own checksum, so a damaged
//! string costs only the functions that use it.
//!
//! A flipped bit in the text costs one string. A flipped bit in an end costs the two strings that
//! meet there.

use std::collections::HashMap;

use crate::error::FormatError;
use crate::text::Text;

/// Numbers strings in the order of their first use.
#[derive(Default)]
pub(super) struct StringWriter<'a> {
    numbers: HashMap<&'a str, u32>,
    table: Vec<u8>,
    text: Vec<u8>,
}

impl<'a> StringWriter<'a> {
    /// The string's number.
    ///
    /// # Panics
    /// If all strings together reach 4 GiB.
    pub(super) fn number(&mut self, string: &'a str) -> u32 {
        if let Some(&number) = self.numbers.get(string) {
            return number;
        }
        let number = u32::try_from(self.numbers.len()).expect("fewer than 2^32 strings");
        self.numbers.insert(string, number);
        self.text.extend_from_slice(string.as_bytes());
        let end = u32::try_from(self.text.len()).expect("the strings of a module are below 4 GiB");
        self.table.extend_from_slice(&end.to_le_bytes());
        self.table
            .extend_from_slice(&crc32fast::hash(string.as_bytes()).to_le_bytes());
        number
    }

    /// Table and text.
    pub(super) fn finish(self) -> (Vec<u8>, Vec<u8>) {
        (self.table, self.text)
    }
}

/// The intact strings of a module.
pub(super) struct Strings(Vec<Option<Text>>);

impl Strings {
    /// `table` holds whole entries of 8 bytes.
    pub(super) fn read(table: &[u8], text: &[u8]) -> Self {
        let mut start = 0;
        let strings = table.as_chunks::<8>().0.iter().map(|entry| {
            let end = u32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]) as usize;
            let crc = u32::from_le_bytes([entry[4], entry[5], entry[6], entry[7]]);
            let bytes = text.get(start..end);
            start = end;
            let bytes = bytes.filter(|bytes| crc32fast::hash(bytes) == crc)?;
            std::str::from_utf8(bytes).ok().map(Text::from)
        });
        Self(strings.collect())
    }

    /// String number `number`; `offset` is where it is used.
    pub(super) fn get(&self, number: u32, offset: u64) -> Result<Text, FormatError> {
        let error = FormatError::Text {
            index: number.into(),
            offset,
        };
        self.0.get(number as usize).cloned().flatten().ok_or(error)
    }

    /// The same for a hint, which may be lost without harm.
    pub(super) fn find(&self, number: u32) -> Text {
        self.0
            .get(number as usize)
            .cloned()
            .flatten()
            .unwrap_or_default()
    }
}
